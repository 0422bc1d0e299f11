//! Scoring policies: which categories there are, how scores blend, weigh and fall into bands.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::error::Error;
use crate::hash::sha256_hex;

/// The most categories a policy may have.
pub const MAX_CATEGORIES: usize = 32;
/// The most bands a policy may have.
pub const MAX_BANDS: usize = 16;
/// All weights of a policy, and its two blend weights, sum to this: they are basis points.
pub const WHOLE: u32 = 10_000;

const MAX_NAME: usize = 64;
const BUILT_IN: &str = include_str!("task-evaluation.toml");

/// How sums are computed and rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// IEEE-754 binary64, weights as the doubles nearest to basis points / 10,000, summed left to
    /// right, rounded with floor(x + 0.5). The default.
    Binary64,
    /// Exact integers, rounded half up.
    Decimal,
}

impl Arithmetic {
    /// The name in policy files and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Arithmetic::Binary64 => "binary64",
            Arithmetic::Decimal => "decimal",
        }
    }
}

/// One category of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Its name, unique in the policy.
    pub name: String,
    /// Its share of the overall, in basis points, 1..=10,000.
    pub weight: u32,
    /// Final scores under this are marked, 1..=100. None: no floor.
    pub floor: Option<u8>,
}

/// One band: a name for a range of scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    /// Its name, unique in the policy.
    pub name: String,
    /// The lowest score in it.
    pub min: u8,
    /// The highest score in it.
    pub max: u8,
}

/// A validated scoring policy. Immutable; every number that scoring needs is derived once.
#[derive(Debug, Clone)]
pub struct Policy {
    name: String,
    version: u32,
    arithmetic: Arithmetic,
    blend: (u32, u32),
    categories: Vec<Category>,
    bands: Vec<Band>,
    document: String,
    digest: String,
    blend_f64: (f64, f64),
    weights_f64: Vec<f64>,
    weights_points: Vec<u32>,
    thresholds: Vec<u8>,
    band_of: [u8; 101],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    name: Spanned<String>,
    version: Spanned<i64>,
    #[serde(default = "binary64")]
    arithmetic: Arithmetic,
    blend: Spanned<BlendFile>,
    categories: Spanned<Vec<Spanned<CategoryFile>>>,
    bands: Spanned<Vec<Spanned<BandFile>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlendFile {
    deterministic: i64,
    ai: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryFile {
    name: String,
    weight: i64,
    floor: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BandFile {
    name: String,
    min: i64,
    max: i64,
}

const fn binary64() -> Arithmetic {
    Arithmetic::Binary64
}

impl Policy {
    /// The built-in policy, `task-evaluation` version 1.
    pub fn task_evaluation() -> Policy {
        match Policy::from_toml(BUILT_IN) {
            Ok(policy) => policy,
            Err(error) => unreachable!("the built-in policy is tested: {error}"),
        }
    }

    /// Reads a policy file. Every rule it breaks is an error with the line and the key.
    pub fn from_toml(text: &str) -> Result<Policy, Error> {
        let file: PolicyFile = toml::from_str(text).map_err(|error| Error::PolicySyntax {
            line: line_of(text, &error.span().unwrap_or(0..0)),
            message: error.message().to_owned(),
        })?;
        let invalid = |span: Range<usize>, field: &str, message: String| Error::PolicyInvalid {
            line: line_of(text, &span),
            field: field.to_owned(),
            message,
        };
        let checked_name = |span: Range<usize>, field: &str, name: &str| {
            if is_name(name) {
                return Ok(());
            }
            let rule = "a name is 1 to 64 ASCII letters, digits, '_', '-' and '.', \
                        and starts with a letter or digit";
            Err(invalid(span, field, format!("{name:?}: {rule}")))
        };

        checked_name(file.name.span(), "name", file.name.get_ref())?;
        let version = match u32::try_from(*file.version.get_ref()) {
            Ok(version) if (1..=i32::MAX as u32).contains(&version) => version,
            _ => {
                let message = format!("{} is not in 1..2147483647", file.version.get_ref());
                return Err(invalid(file.version.span(), "version", message));
            }
        };

        let BlendFile { deterministic, ai } = file.blend.get_ref();
        let blend = match (u32::try_from(*deterministic), u32::try_from(*ai)) {
            (Ok(deterministic), Ok(ai)) if deterministic.checked_add(ai) == Some(WHOLE) => {
                (deterministic, ai)
            }
            _ => {
                let message = format!(
                    "deterministic {deterministic} and ai {ai} must be basis points \
                     that sum to {WHOLE}"
                );
                return Err(invalid(file.blend.span(), "blend", message));
            }
        };

        let mut names = HashSet::new();
        let mut categories = Vec::new();
        if !(1..=MAX_CATEGORIES).contains(&file.categories.get_ref().len()) {
            let message = format!("a policy has 1 to {MAX_CATEGORIES} categories");
            return Err(invalid(file.categories.span(), "categories", message));
        }
        for (index, entry) in file.categories.get_ref().iter().enumerate() {
            let (span, entry) = (entry.span(), entry.get_ref());
            let field = |key: &str| format!("categories[{index}].{key}");
            checked_name(span.clone(), &field("name"), &entry.name)?;
            if !names.insert(entry.name.clone()) {
                let message = format!("category {} is defined twice", entry.name);
                return Err(invalid(span, &field("name"), message));
            }
            let weight = match u32::try_from(entry.weight) {
                Ok(weight) if (1..=WHOLE).contains(&weight) => weight,
                _ => {
                    let message = format!("{} is not in 1..{WHOLE} basis points", entry.weight);
                    return Err(invalid(span, &field("weight"), message));
                }
            };
            let floor = match entry.floor.map(u8::try_from) {
                None => None,
                Some(Ok(floor)) if (1..=100).contains(&floor) => Some(floor),
                Some(_) => {
                    let message = format!("{} is not in 1..100", entry.floor.unwrap_or_default());
                    return Err(invalid(span, &field("floor"), message));
                }
            };
            categories.push(Category { name: entry.name.clone(), weight, floor });
        }
        let total: u32 = categories.iter().map(|category| category.weight).sum();
        if total != WHOLE {
            let message = format!("the weights sum to {total}, not to {WHOLE} basis points");
            return Err(invalid(file.categories.span(), "categories", message));
        }

        names.clear();
        let mut bands: Vec<Band> = Vec::new();
        if !(1..=MAX_BANDS).contains(&file.bands.get_ref().len()) {
            let message = format!("a policy has 1 to {MAX_BANDS} bands");
            return Err(invalid(file.bands.span(), "bands", message));
        }
        for (index, entry) in file.bands.get_ref().iter().enumerate() {
            let (span, entry) = (entry.span(), entry.get_ref());
            let field = |key: &str| format!("bands[{index}].{key}");
            checked_name(span.clone(), &field("name"), &entry.name)?;
            if !names.insert(entry.name.clone()) {
                let message = format!("band {} is defined twice", entry.name);
                return Err(invalid(span, &field("name"), message));
            }
            let expected = bands.last().map_or(0, |band| i64::from(band.max) + 1);
            if entry.min != expected {
                let message = format!(
                    "{} leaves a gap or overlap: this band must start at {expected}",
                    entry.min
                );
                return Err(invalid(span, &field("min"), message));
            }
            let (Ok(min), Ok(max)) = (u8::try_from(entry.min), u8::try_from(entry.max)) else {
                let message = format!("{} is not in {expected}..100", entry.max);
                return Err(invalid(span, &field("max"), message));
            };
            if max < min || max > 100 {
                let message = format!("{max} is not in {min}..100");
                return Err(invalid(span, &field("max"), message));
            }
            bands.push(Band { name: entry.name.clone(), min, max });
        }
        if let Some(last) = bands.last()
            && last.max != 100
        {
            let message = format!("the bands end at {}, not at 100", last.max);
            return Err(invalid(file.bands.span(), "bands", message));
        }
        let name = file.name.into_inner();
        Ok(Policy::derive(name, version, file.arithmetic, blend, categories, bands))
    }

    fn derive(
        name: String,
        version: u32,
        arithmetic: Arithmetic,
        blend: (u32, u32),
        categories: Vec<Category>,
        bands: Vec<Band>,
    ) -> Policy {
        let share = |points: u32| f64::from(points) / f64::from(WHOLE);
        let thresholds: Vec<u8> = bands.iter().skip(1).map(|band| band.min).collect();
        let band_of = std::array::from_fn(|score| {
            thresholds.iter().filter(|min| usize::from(**min) <= score).count() as u8
        });
        let document = document(&name, version, arithmetic, blend, &categories, &bands);
        Policy {
            digest: sha256_hex(document.as_bytes()).as_str().to_owned(),
            document,
            blend_f64: (share(blend.0), share(blend.1)),
            weights_f64: categories.iter().map(|category| share(category.weight)).collect(),
            weights_points: categories.iter().map(|category| category.weight).collect(),
            thresholds,
            band_of,
            name,
            version,
            arithmetic,
            blend,
            categories,
            bands,
        }
    }

    /// The policy's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The policy's version, 1 or more.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// How it computes.
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// Its categories, in policy order.
    pub fn categories(&self) -> &[Category] {
        &self.categories
    }

    /// Its bands, lowest first.
    pub fn bands(&self) -> &[Band] {
        &self.bands
    }

    /// The policy as RFC 8785 canonical JSON.
    pub fn document(&self) -> &str {
        &self.document
    }

    /// Lower-case hex SHA-256 of [`Policy::document`].
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Blend weights (deterministic, AI) in basis points.
    pub fn blend_points(&self) -> (u32, u32) {
        self.blend
    }

    /// Blend weights (deterministic, AI) as doubles.
    pub fn blend_f64(&self) -> (f64, f64) {
        self.blend_f64
    }

    /// Category weights in basis points, in policy order.
    pub fn weights_points(&self) -> &[u32] {
        &self.weights_points
    }

    /// Category weights as doubles, in policy order.
    pub fn weights_f64(&self) -> &[f64] {
        &self.weights_f64
    }

    /// The lowest score of every band but the first, ascending.
    pub fn thresholds(&self) -> &[u8] {
        &self.thresholds
    }

    /// True when any category has a floor.
    pub fn has_floors(&self) -> bool {
        self.categories.iter().any(|category| category.floor.is_some())
    }

    /// The final score of one category; both scores are 0..=100.
    pub fn blend(&self, deterministic: u8, ai: u8) -> u8 {
        debug_assert!(deterministic <= 100 && ai <= 100);
        match self.arithmetic {
            Arithmetic::Binary64 => {
                let (det_weight, ai_weight) = self.blend_f64;
                round(f64::from(deterministic) * det_weight + f64::from(ai) * ai_weight)
            }
            Arithmetic::Decimal => {
                let (det_weight, ai_weight) = self.blend;
                round_points(u32::from(deterministic) * det_weight + u32::from(ai) * ai_weight)
            }
        }
    }

    /// The overall score over final scores in policy order, one for each category.
    pub fn overall(&self, finals: &[u8]) -> u8 {
        debug_assert_eq!(finals.len(), self.categories.len());
        self.overall_of(finals.iter().copied())
    }

    /// As [`Policy::overall`], over an iterator.
    #[inline]
    pub fn overall_of(&self, finals: impl Iterator<Item = u8>) -> u8 {
        match self.arithmetic {
            Arithmetic::Binary64 => round(
                finals
                    .zip(&self.weights_f64)
                    .fold(0.0, |sum, (value, weight)| sum + f64::from(value) * weight),
            ),
            Arithmetic::Decimal => round_points(
                finals
                    .zip(&self.weights_points)
                    .map(|(value, weight)| u32::from(value) * weight)
                    .sum(),
            ),
        }
    }

    /// Index of the band that a score 0..=100 falls into.
    pub fn band(&self, score: u8) -> u8 {
        self.band_of[usize::from(score)]
    }
}

/// Half up, after a clamp to 0..=100.
fn round(sum: f64) -> u8 {
    (sum.clamp(0.0, 100.0) + 0.5).floor() as u8
}

fn round_points(sum: u32) -> u8 {
    ((sum + WHOLE / 2) / WHOLE) as u8
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    let end = span.start.min(text.len());
    1 + text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count()
}

/// Names are plain ASCII (`is_name`), so that nothing here needs an escape; keys stand sorted.
fn document(
    name: &str,
    version: u32,
    arithmetic: Arithmetic,
    blend: (u32, u32),
    categories: &[Category],
    bands: &[Band],
) -> String {
    let bands: Vec<String> = bands
        .iter()
        .map(|band| format!(r#"{{"max":{},"min":{},"name":"{}"}}"#, band.max, band.min, band.name))
        .collect();
    let categories: Vec<String> = categories
        .iter()
        .map(|category| {
            let mut entry = String::from("{");
            if let Some(floor) = category.floor {
                // Writing to a String cannot fail.
                let _ = write!(entry, r#""floor":{floor},"#);
            }
            let _ = write!(entry, r#""name":"{}","weight":{}}}"#, category.name, category.weight);
            entry
        })
        .collect();
    format!(
        r#"{{"arithmetic":"{}","bands":[{}],"blend":{{"ai":{},"deterministic":{}}},"categories":[{}],"name":"{name}","version":{version}}}"#,
        arithmetic.name(),
        bands.join(","),
        blend.1,
        blend.0,
        categories.join(","),
    )
}
