//! Score: a ScoreRequest's bytes to a ScoreResponse's bytes.
//!
//! `proto/steelyard/v1/score.proto` is the manual. ScoreStreamRequest and ScoreStreamResponse have
//! the same fields, so the same code serves both.

use crate::error::{Error, Malformed};
use crate::kernel::{Kernel, Layout, Output, Path};
use crate::policy::Policy;
use crate::wire::protobuf::{
    Reader, Value, packed, put_bytes, put_double, put_element, put_head, put_uint, text, varint_len,
};

/// The most AI samples that one category of one task may have.
pub const MAX_SAMPLES: usize = 1_024;

/// Room before the results for what is written last: a tag and a length.
const HEAD: usize = 11;

/// An encoded ScoreResponse.
#[derive(Debug)]
pub struct Response {
    buffer: Vec<u8>,
    start: usize,
}

impl Response {
    /// The message.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

/// The loaded policies and limits, with everything that can be encoded ahead of a request.
#[derive(Debug)]
pub struct Engine {
    policies: Vec<Prepared>,
    max_tasks: usize,
}

/// A policy with the parts of a response that depend on nothing else.
#[derive(Debug)]
struct Prepared {
    kernel: Kernel,
    /// The field ScoreResponse.provenance.
    provenance: Vec<u8>,
    /// The field TaskScore.categories for each category and final score without a spread.
    categories: Fragments,
    /// The fields TaskScore.overall_score and overall_band for each score.
    overalls: Fragments,
    /// The fields ColumnResults.category_names and band_names.
    names: Vec<u8>,
}

/// Many short byte strings in one allocation.
#[derive(Debug, Default)]
struct Fragments {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Fragments {
    fn push(&mut self, fragment: &[u8]) {
        self.bytes.extend_from_slice(fragment);
        self.ends.push(self.bytes.len() as u32);
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }
}

impl Prepared {
    fn new(policy: Policy, engine_version: &str, engine_digest: &str) -> Prepared {
        let mut message = Vec::new();
        put_bytes(&mut message, 1, policy.name().as_bytes());
        put_uint(&mut message, 2, u64::from(policy.version()));
        put_bytes(&mut message, 3, policy.digest().as_bytes());
        put_bytes(&mut message, 4, engine_version.as_bytes());
        put_bytes(&mut message, 5, engine_digest.as_bytes());
        let mut provenance = Vec::new();
        put_element(&mut provenance, 1, &message);

        let mut categories = Fragments::default();
        for category in 0..policy.categories().len() {
            for score in 0..=100 {
                let mut fragment = Vec::new();
                put_element(&mut fragment, 1, &category_score(&policy, category, score, None));
                categories.push(&fragment);
            }
        }
        let mut overalls = Fragments::default();
        for score in 0..=100_u8 {
            let mut fragment = Vec::new();
            put_uint(&mut fragment, 2, u64::from(score));
            put_bytes(&mut fragment, 3, band_name(&policy, score).as_bytes());
            overalls.push(&fragment);
        }
        let mut names = Vec::new();
        for category in policy.categories() {
            put_element(&mut names, 7, category.name.as_bytes());
        }
        for band in policy.bands() {
            put_element(&mut names, 8, band.name.as_bytes());
        }
        Prepared { kernel: Kernel::new(policy), provenance, categories, overalls, names }
    }

    fn policy(&self) -> &Policy {
        self.kernel.policy()
    }
}

fn band_name(policy: &Policy, score: u8) -> &str {
    &policy.bands()[usize::from(policy.band(score))].name
}

/// What the samples of one category say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Lowest final score over the samples.
    pub min: u8,
    /// Highest final score over the samples.
    pub max: u8,
    /// Number of samples.
    pub count: usize,
    /// Share of samples whose final score is in the band of the reported one.
    pub band_stability: f64,
}

/// The final score over several AI samples (each 0..=100, at least one) and their spread: the blend
/// uses the samples' mean, rounded half up; the spread blends each sample on its own.
pub fn blend_samples(policy: &Policy, deterministic: u8, samples: &[u8]) -> (u8, Spread) {
    let count = samples.len();
    let sum: usize = samples.iter().copied().map(usize::from).sum();
    let mean = ((2 * sum + count) / (2 * count)) as u8;
    let score = policy.blend(deterministic, mean);
    let band = policy.band(score);
    let (mut min, mut max, mut stable) = (u8::MAX, 0, 0_usize);
    for sample in samples {
        let sampled = policy.blend(deterministic, *sample);
        min = min.min(sampled);
        max = max.max(sampled);
        stable += usize::from(policy.band(sampled) == band);
    }
    (score, Spread { min, max, count, band_stability: stable as f64 / count as f64 })
}

fn category_score(policy: &Policy, category: usize, score: u8, spread: Option<Spread>) -> Vec<u8> {
    let definition = &policy.categories()[category];
    let mut message = Vec::new();
    put_bytes(&mut message, 1, definition.name.as_bytes());
    put_uint(&mut message, 2, u64::from(score));
    put_bytes(&mut message, 3, band_name(policy, score).as_bytes());
    if let Some(spread) = spread {
        let mut nested = Vec::new();
        put_uint(&mut nested, 1, u64::from(spread.min));
        put_uint(&mut nested, 2, u64::from(spread.max));
        put_uint(&mut nested, 3, spread.count as u64);
        put_double(&mut nested, 4, spread.band_stability);
        put_element(&mut message, 4, &nested);
    }
    let below = definition.floor.is_some_and(|floor| score < floor);
    put_uint(&mut message, 5, u64::from(below));
    message
}

#[derive(Default)]
struct Request<'a> {
    policy_name: &'a str,
    policy_version: u32,
    input: Input<'a>,
}

#[derive(Default)]
enum Input<'a> {
    #[default]
    None,
    /// The pieces of the rows message, in order: a repeated singular message is merged.
    Rows(Vec<&'a [u8]>),
    Columns(Columns<'a>),
}

#[derive(Default)]
struct Columns<'a> {
    deterministic: &'a [u8],
    ai: &'a [u8],
    task_ids: Vec<&'a str>,
}

fn parse(bytes: &[u8]) -> Result<Request<'_>, Malformed> {
    let mut request = Request::default();
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next_field()? {
        let Value::Bytes(bytes) = value else { continue };
        match number {
            1 => parse_policy(reader.nested(bytes), &mut request)?,
            2 => {
                if let Input::Rows(pieces) = &mut request.input {
                    pieces.push(bytes);
                } else {
                    request.input = Input::Rows(vec![bytes]);
                }
            }
            3 => {
                if !matches!(request.input, Input::Columns(_)) {
                    check_rows(&request.input)?;
                    request.input = Input::Columns(Columns::default());
                }
                if let Input::Columns(columns) = &mut request.input {
                    parse_columns(reader.nested(bytes), columns)?;
                }
            }
            _ => {}
        }
    }
    Ok(request)
}

/// Rows that a later `columns` field replaces must still be well-formed.
fn check_rows(input: &Input<'_>) -> Result<(), Malformed> {
    if let Input::Rows(pieces) = input {
        let mut entries = Entries::default();
        for_each_row(pieces, |row| entries.parse(row).map(drop))?;
    }
    Ok(())
}

fn parse_policy<'a>(mut reader: Reader<'a>, request: &mut Request<'a>) -> Result<(), Malformed> {
    while let Some((number, value)) = reader.next_field()? {
        match (number, value) {
            (1, Value::Bytes(bytes)) => request.policy_name = text(bytes)?,
            (2, Value::Varint(value)) => request.policy_version = value as u32,
            _ => {}
        }
    }
    Ok(())
}

fn parse_columns<'a>(mut reader: Reader<'a>, columns: &mut Columns<'a>) -> Result<(), Malformed> {
    while let Some((number, value)) = reader.next_field()? {
        let Value::Bytes(bytes) = value else { continue };
        match number {
            1 => columns.deterministic = bytes,
            2 => columns.ai = bytes,
            3 => columns.task_ids.push(text(bytes)?),
            _ => {}
        }
    }
    Ok(())
}

fn for_each_row<'a>(
    pieces: &[&'a [u8]],
    mut visit: impl FnMut(Reader<'a>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let root = Reader::new(&[]);
    for piece in pieces {
        let mut reader = root.nested(piece);
        while let Some((number, value)) = reader.next_field()? {
            if let (1, Value::Bytes(bytes)) = (number, value) {
                visit(reader.nested(bytes))?;
            }
        }
    }
    Ok(())
}

/// The categories of one row; reused from row to row so that no row allocates.
#[derive(Default)]
struct Entries<'a> {
    entries: Vec<Entry<'a>>,
    samples: Vec<i32>,
    finals: Vec<u8>,
    seen: Vec<bool>,
    spreads: Vec<Option<Spread>>,
    sample_scores: Vec<u8>,
}

struct Entry<'a> {
    category: &'a str,
    deterministic: Option<i32>,
    ai: Option<i32>,
    /// Where the entry's samples end in `Entries::samples`; they start where the previous ones end.
    samples_end: usize,
}

impl<'a> Entries<'a> {
    /// Reads a TaskRow and returns its task_id.
    fn parse(&mut self, mut row: Reader<'a>) -> Result<&'a str, Malformed> {
        self.entries.clear();
        self.samples.clear();
        let mut task_id = "";
        while let Some((number, value)) = row.next_field()? {
            let Value::Bytes(bytes) = value else { continue };
            match number {
                1 => task_id = text(bytes)?,
                2 => self.parse_entry(row.nested(bytes))?,
                _ => {}
            }
        }
        Ok(task_id)
    }

    fn parse_entry(&mut self, mut reader: Reader<'a>) -> Result<(), Malformed> {
        let mut entry = Entry { category: "", deterministic: None, ai: None, samples_end: 0 };
        while let Some((number, value)) = reader.next_field()? {
            match (number, value) {
                (1, Value::Bytes(bytes)) => entry.category = text(bytes)?,
                (2, Value::Varint(value)) => entry.deterministic = Some(value as i32),
                (3, Value::Varint(value)) => entry.ai = Some(value as i32),
                (4, Value::Varint(value)) => self.samples.push(value as i32),
                (4, Value::Bytes(bytes)) => {
                    for value in packed(bytes) {
                        self.samples.push(value? as i32);
                    }
                }
                (5 | 6, Value::Bytes(bytes)) => text(bytes).map(drop)?,
                _ => {}
            }
        }
        entry.samples_end = self.samples.len();
        self.entries.push(entry);
        Ok(())
    }

    /// Scores what `parse` has read into `finals` and `spreads`. True when any spread is set.
    fn score(&mut self, policy: &Policy, row: usize) -> Result<bool, Error> {
        let categories = policy.categories();
        self.finals.clear();
        self.finals.resize(categories.len(), 0);
        self.seen.clear();
        self.seen.resize(categories.len(), false);
        let mut sampled = false;
        let mut samples_start = 0;
        for (position, entry) in self.entries.iter().enumerate() {
            let at = |field: &str| format!("rows.tasks[{row}].categories[{position}].{field}");
            let samples = &self.samples[samples_start..entry.samples_end];
            samples_start = entry.samples_end;
            // Callers tend to keep the policy's order: look there first.
            let index = if categories.get(position).is_some_and(|c| c.name == entry.category) {
                position
            } else {
                categories.iter().position(|c| c.name == entry.category).ok_or_else(|| {
                    Error::CategoryUnknown {
                        path: at("category"),
                        category: entry.category.to_owned(),
                    }
                })?
            };
            let name = || categories[index].name.clone();
            if std::mem::replace(&mut self.seen[index], true) {
                return Err(Error::CategoryDuplicate { path: at("category"), category: name() });
            }
            let valid = |value: i32, field: &dyn Fn() -> String| {
                u8::try_from(value).ok().filter(|score| *score <= 100).ok_or_else(|| {
                    Error::ScoreOutOfRange { path: field(), value: i64::from(value) }
                })
            };
            let deterministic = entry.deterministic.ok_or_else(|| Error::ScoreMissing {
                path: at("deterministic_score"),
                category: name(),
            })?;
            let deterministic = valid(deterministic, &|| at("deterministic_score"))?;
            match (entry.ai, samples) {
                (Some(ai), []) => {
                    let ai = valid(ai, &|| at("ai_score"))?;
                    self.finals[index] = policy.blend(deterministic, ai);
                }
                (None, []) => {
                    return Err(Error::ScoreMissing { path: at("ai_score"), category: name() });
                }
                (Some(_), _) => {
                    return Err(Error::ScoreAmbiguous { path: at("ai_samples"), category: name() });
                }
                (None, samples) if samples.len() > MAX_SAMPLES => {
                    return Err(Error::SamplesTooMany {
                        path: at("ai_samples"),
                        count: samples.len(),
                        limit: MAX_SAMPLES,
                    });
                }
                (None, samples) => {
                    self.sample_scores.clear();
                    for (k, sample) in samples.iter().enumerate() {
                        let field = || at(&format!("ai_samples[{k}]"));
                        self.sample_scores.push(valid(*sample, &field)?);
                    }
                    let (score, spread) = blend_samples(policy, deterministic, &self.sample_scores);
                    self.finals[index] = score;
                    if !sampled {
                        sampled = true;
                        self.spreads.clear();
                        self.spreads.resize(categories.len(), None);
                    }
                    self.spreads[index] = Some(spread);
                }
            }
        }
        match self.seen.iter().position(|seen| !seen) {
            None => Ok(sampled),
            Some(index) => Err(Error::CategoryMissing {
                path: format!("rows.tasks[{row}].categories"),
                category: categories[index].name.clone(),
            }),
        }
    }
}

impl Engine {
    /// An engine with the built-in policy and the given ones.
    ///
    /// `engine_digest` identifies the rules that the engine was built from; a batch may have at most
    /// `max_tasks` tasks.
    pub fn new(
        policies: Vec<Policy>,
        engine_version: &str,
        engine_digest: &str,
        max_tasks: usize,
    ) -> Result<Engine, Error> {
        let mut all = vec![Policy::task_evaluation()];
        for policy in policies {
            let same = |known: &Policy| {
                (known.name(), known.version()) == (policy.name(), policy.version())
            };
            if all.iter().any(same) {
                return Err(Error::PolicyDuplicate {
                    name: policy.name().to_owned(),
                    version: policy.version(),
                });
            }
            all.push(policy);
        }
        let policies = all
            .into_iter()
            .map(|policy| Prepared::new(policy, engine_version, engine_digest))
            .collect();
        Ok(Engine { policies, max_tasks })
    }

    /// All policies, the built-in one first.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.policies.iter().map(Prepared::policy)
    }

    /// The policy of that name and version. An empty name is the built-in policy's; version 0 is the
    /// highest version under the name.
    pub fn policy(&self, name: &str, version: u32) -> Result<&Policy, Error> {
        self.prepared(name, version).map(Prepared::policy)
    }

    fn prepared(&self, name: &str, version: u32) -> Result<&Prepared, Error> {
        let wanted = if name.is_empty() { self.policies[0].policy().name() } else { name };
        self.policies
            .iter()
            .filter(|prepared| {
                prepared.policy().name() == wanted
                    && (version == 0 || prepared.policy().version() == version)
            })
            .max_by_key(|prepared| prepared.policy().version())
            .ok_or_else(|| Error::PolicyNotFound { name: wanted.to_owned(), version })
    }

    /// Answers one ScoreRequest (or ScoreStreamRequest).
    pub fn score(&self, request: &[u8]) -> Result<Response, Error> {
        let request = parse(request).map_err(Error::MalformedMessage)?;
        match &request.input {
            Input::Rows(pieces) => self.score_rows(&request, pieces),
            Input::Columns(columns) => self.score_columns(&request, columns),
            Input::None => {
                self.prepared(request.policy_name, request.policy_version)?;
                Err(Error::InputMissing)
            }
        }
    }

    fn check_size(&self, tasks: usize, path: &str) -> Result<(), Error> {
        if tasks == 0 {
            return Err(Error::BatchEmpty { path: path.to_owned() });
        }
        if tasks > self.max_tasks {
            return Err(Error::BatchTooLarge {
                path: path.to_owned(),
                tasks,
                limit: self.max_tasks,
            });
        }
        Ok(())
    }

    fn score_rows(&self, request: &Request<'_>, pieces: &[&[u8]]) -> Result<Response, Error> {
        let mut tasks = 0;
        for_each_row(pieces, |_| {
            tasks += 1;
            Ok(())
        })
        .map_err(Error::MalformedMessage)?;
        let ready = self
            .prepared(request.policy_name, request.policy_version)
            .and_then(|prepared| self.check_size(tasks, "rows.tasks").map(|()| prepared));
        let prepared = match ready {
            Ok(prepared) => prepared,
            Err(error) => {
                // A message that is not well-formed says so before anything else.
                check_rows(&Input::Rows(pieces.to_vec())).map_err(Error::MalformedMessage)?;
                return Err(error);
            }
        };

        let results_start = prepared.provenance.len() + HEAD;
        let input_length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut out = Vec::with_capacity(results_start + input_length + 64);
        out.resize(results_start, 0);
        let mut entries = Entries::default();
        let mut row = 0;
        for_each_row(pieces, |reader| {
            let task_id = entries.parse(reader)?;
            match entries.score(prepared.policy(), row) {
                Ok(sampled) => put_score(&mut out, prepared, task_id, &entries, sampled),
                Err(error) => put_error(&mut out, task_id, &error),
            }
            row += 1;
            Ok(())
        })
        .map_err(Error::MalformedMessage)?;

        let mut head = Vec::with_capacity(results_start);
        head.extend_from_slice(&prepared.provenance);
        put_head(&mut head, 2, out.len() - results_start);
        let start = results_start - head.len();
        out[start..results_start].copy_from_slice(&head);
        Ok(Response { buffer: out, start })
    }

    fn score_columns(
        &self,
        request: &Request<'_>,
        columns: &Columns<'_>,
    ) -> Result<Response, Error> {
        let prepared = self.prepared(request.policy_name, request.policy_version)?;
        let policy = prepared.policy();
        let categories = policy.categories().len();
        let cells = columns.deterministic.len();
        let mismatch = |path: &str, message: String| {
            Err(Error::LengthMismatch { path: path.to_owned(), message })
        };
        if !cells.is_multiple_of(categories) {
            let message = format!("{cells} bytes do not divide into {categories} columns");
            return mismatch("columns.deterministic", message);
        }
        if columns.ai.len() != cells {
            let message = format!(
                "{} bytes, but deterministic has {cells}: they must be equal",
                columns.ai.len()
            );
            return mismatch("columns.ai", message);
        }
        let tasks = cells / categories;
        self.check_size(tasks, "columns.deterministic")?;
        if !columns.task_ids.is_empty() && columns.task_ids.len() != tasks {
            let message = format!(
                "{} ids for {tasks} tasks: give one for each or none",
                columns.task_ids.len()
            );
            return mismatch("columns.task_ids", message);
        }

        let ids: usize = columns.task_ids.iter().map(|id| element_len(id.len())).sum();
        let floors = if policy.has_floors() { cells } else { 0 };
        let body = ids
            + 2 * element_len(cells)
            + 2 * element_len(tasks)
            + if floors > 0 { element_len(floors) } else { 0 }
            + prepared.names.len();
        let mut out = Vec::with_capacity(prepared.provenance.len() + HEAD + body);
        out.extend_from_slice(&prepared.provenance);
        put_head(&mut out, 3, body);
        for id in &columns.task_ids {
            put_element(&mut out, 1, id.as_bytes());
        }
        let mut reserve = |number: u32, length: usize| {
            put_head(&mut out, number, length);
            let start = out.len();
            out.resize(start + length, 0);
            start
        };
        let final_scores = reserve(2, cells);
        let bands = reserve(3, cells);
        let overall_scores = reserve(4, tasks);
        let overall_bands = reserve(5, tasks);
        let below_floors = if floors > 0 { reserve(6, floors) } else { out.len() };
        let [final_scores, bands, overall_scores, overall_bands, below_floors] = out
            .get_disjoint_mut([
                final_scores..final_scores + cells,
                bands..bands + cells,
                overall_scores..overall_scores + tasks,
                overall_bands..overall_bands + tasks,
                below_floors..below_floors + floors,
            ])
            .map_err(|_| Error::MalformedMessage(Malformed::Truncated))?;
        let mut output = Output { final_scores, bands, overall_scores, overall_bands };
        prepared
            .kernel
            .score(Path::best(), Layout::Columns, columns.deterministic, columns.ai, &mut output)
            .map_err(|bad| {
                let column = if bad.is_ai { "ai" } else { "deterministic" };
                let category = &policy.categories()[bad.category].name;
                Error::ScoreOutOfRange {
                    path: format!("columns.{column}[{}].{category}", bad.task),
                    value: i64::from(bad.value),
                }
            })?;
        if floors > 0 {
            prepared.kernel.mark_below_floors(Layout::Columns, final_scores, below_floors);
        }
        out.extend_from_slice(&prepared.names);
        Ok(Response { buffer: out, start: 0 })
    }
}

/// Bytes of a length-delimited field with a number below 16.
fn element_len(length: usize) -> usize {
    1 + varint_len(length as u64) + length
}

fn put_score(
    out: &mut Vec<u8>,
    prepared: &Prepared,
    task_id: &str,
    entries: &Entries<'_>,
    sampled: bool,
) {
    let overall = usize::from(prepared.policy().overall(&entries.finals));
    let overall = prepared.overalls.get(overall);
    let fragment = |category: usize| {
        prepared.categories.get(category * 101 + usize::from(entries.finals[category]))
    };
    let mut custom = Vec::new();
    if sampled {
        for (category, spread) in entries.spreads.iter().enumerate() {
            if spread.is_some() {
                let score = entries.finals[category];
                let message = category_score(prepared.policy(), category, score, *spread);
                put_element(&mut custom, 1, &message);
            } else {
                custom.extend_from_slice(fragment(category));
            }
        }
    }
    let categories = entries.finals.len();
    let body = overall.len()
        + if sampled {
            custom.len()
        } else {
            (0..categories).map(|category| fragment(category).len()).sum()
        };
    let id = if task_id.is_empty() { 0 } else { element_len(task_id.len()) };
    put_head(out, 1, id + element_len(body));
    put_bytes(out, 1, task_id.as_bytes());
    put_head(out, 2, body);
    if sampled {
        out.extend_from_slice(&custom);
    } else {
        for category in 0..categories {
            out.extend_from_slice(fragment(category));
        }
    }
    out.extend_from_slice(overall);
}

fn put_error(out: &mut Vec<u8>, task_id: &str, error: &Error) {
    let mut message = Vec::new();
    put_bytes(&mut message, 1, error.code().as_bytes());
    put_bytes(&mut message, 2, error.path().as_bytes());
    put_bytes(&mut message, 3, error.to_string().as_bytes());
    let mut result = Vec::new();
    put_bytes(&mut result, 1, task_id.as_bytes());
    put_element(&mut result, 3, &message);
    put_element(out, 1, &result);
}
