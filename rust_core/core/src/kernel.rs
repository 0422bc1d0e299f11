//! The columnar kernel: bytes in, bytes out, one block at a time.
//!
//! One loop body is compiled several times, once for each instruction set, and picked at run time.
//! The body holds no intrinsics and rustc never fuses a multiplication with an addition, so every
//! path gives the same bits. `Path::Portable` is different code on purpose: the plain function for
//! one task in a loop. It is the fallback that needs nothing and the oracle of the other paths.

use crate::policy::{Arithmetic, Policy};

/// How many tasks one pass works on: the block's columns and accumulators stay in the first-level
/// cache (512 tasks: 4 KiB of accumulators beside 14 bytes a task).
const BLOCK: usize = 512;

/// Which compiled form of the kernel runs. All give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// One task after the other, in plain scalar code.
    Portable,
    /// Blocks, compiled for the target's baseline (SSE2 on x86-64, NEON on AArch64).
    Baseline,
    /// Blocks, compiled for AVX2.
    Avx2,
    /// Blocks, compiled for AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Path {
    /// Every path, whether this machine has it or not.
    pub const ALL: [Path; 4] = [Path::Portable, Path::Baseline, Path::Avx2, Path::Avx512];

    /// The name that benches, tests and `steelyard version` show.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Portable => "portable",
            Path::Baseline => "baseline",
            Path::Avx2 => "avx2",
            Path::Avx512 => "avx512",
        }
    }

    /// True when this machine can run the path.
    pub fn is_available(self) -> bool {
        match self {
            Path::Portable | Path::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => {
                std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Path::Avx2 | Path::Avx512 => false,
        }
    }

    /// The fastest path that this machine has.
    pub fn best() -> Path {
        if Path::Avx512.is_available() {
            Path::Avx512
        } else if Path::Avx2.is_available() {
            Path::Avx2
        } else {
            Path::Baseline
        }
    }
}

/// The two ways in which the scores of a batch lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// C columns of N bytes: the score of task i in category c is at `c * N + i`.
    Columns,
    /// N rows of C bytes: the score of task i in category c is at `i * C + c`.
    Rows,
}

impl Layout {
    fn index(self, tasks: usize, categories: usize, task: usize, category: usize) -> usize {
        match self {
            Layout::Columns => category * tasks + task,
            Layout::Rows => task * categories + category,
        }
    }
}

/// Where the results go. `final_scores` and `bands` are N * C bytes in the layout of the input,
/// `overall_scores` and `overall_bands` are N bytes.
#[derive(Debug)]
pub struct Output<'a> {
    /// Final score of each task and category.
    pub final_scores: &'a mut [u8],
    /// Index of the band of each final score.
    pub bands: &'a mut [u8],
    /// Overall score of each task.
    pub overall_scores: &'a mut [u8],
    /// Index of the band of each overall score.
    pub overall_bands: &'a mut [u8],
}

/// A byte that is not a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadScore {
    /// True when it is among the AI scores, false when among the deterministic ones.
    pub is_ai: bool,
    /// Its task, counted from 0.
    pub task: usize,
    /// Its category, counted from 0 in policy order.
    pub category: usize,
    /// Its value, 101..=255.
    pub value: u8,
}

/// Scores a batch of `output.overall_scores.len()` tasks.
///
/// Every slice must have the length its documentation gives; callers check lengths, the kernel
/// returns [`BadScore`] for the first byte above 100 (deterministic before AI, then by task, then by
/// category) and leaves the output undefined then.
pub fn score(
    policy: &Policy,
    path: Path,
    layout: Layout,
    deterministic: &[u8],
    ai: &[u8],
    output: &mut Output<'_>,
) -> Result<(), BadScore> {
    let tasks = output.overall_scores.len();
    let cells = tasks * policy.categories().len();
    assert!(
        deterministic.len() == cells
            && ai.len() == cells
            && output.final_scores.len() == cells
            && output.bands.len() == cells
            && output.overall_bands.len() == tasks,
        "the caller checks the lengths of a batch"
    );
    let path = if path.is_available() { path } else { Path::Portable };
    let highest = match path {
        Path::Portable => portable(policy, layout, deterministic, ai, output),
        Path::Baseline => blocks(policy, layout, deterministic, ai, output),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `is_available` has found AVX2 on this processor.
        Path::Avx2 => unsafe { blocks_avx2(policy, layout, deterministic, ai, output) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `is_available` has found all four AVX-512 subsets on this processor.
        Path::Avx512 => unsafe { blocks_avx512(policy, layout, deterministic, ai, output) },
        #[cfg(not(target_arch = "x86_64"))]
        Path::Avx2 | Path::Avx512 => portable(policy, layout, deterministic, ai, output),
    };
    if highest <= 100 {
        return Ok(());
    }
    match first_bad(policy, layout, tasks, deterministic, ai) {
        Some(bad) => Err(bad),
        None => Ok(()),
    }
}

#[cold]
fn first_bad(
    policy: &Policy,
    layout: Layout,
    tasks: usize,
    deterministic: &[u8],
    ai: &[u8],
) -> Option<BadScore> {
    let categories = policy.categories().len();
    for (is_ai, scores) in [(false, deterministic), (true, ai)] {
        for task in 0..tasks {
            for category in 0..categories {
                let value = scores[layout.index(tasks, categories, task, category)];
                if value > 100 {
                    return Some(BadScore { is_ai, task, category, value });
                }
            }
        }
    }
    None
}

/// Marks every final score that is under its category's floor with 1, all others with 0.
pub fn mark_below_floors(
    policy: &Policy,
    layout: Layout,
    final_scores: &[u8],
    below_floors: &mut [u8],
) {
    let categories = policy.categories().len();
    let tasks = final_scores.len() / categories;
    for (category, definition) in policy.categories().iter().enumerate() {
        let floor = definition.floor.unwrap_or(0);
        for task in 0..tasks {
            let index = layout.index(tasks, categories, task, category);
            below_floors[index] = u8::from(final_scores[index] < floor);
        }
    }
}

fn portable(
    policy: &Policy,
    layout: Layout,
    deterministic: &[u8],
    ai: &[u8],
    output: &mut Output<'_>,
) -> u8 {
    let tasks = output.overall_scores.len();
    let categories = policy.categories().len();
    let highest = deterministic.iter().chain(ai).copied().max().unwrap_or(0);
    if highest > 100 {
        return highest;
    }
    let mut finals = vec![0_u8; categories];
    for task in 0..tasks {
        for (category, slot) in finals.iter_mut().enumerate() {
            let index = layout.index(tasks, categories, task, category);
            *slot = policy.blend(deterministic[index], ai[index]);
            output.final_scores[index] = *slot;
            output.bands[index] = policy.band(*slot);
        }
        let overall = policy.overall(&finals);
        output.overall_scores[task] = overall;
        output.overall_bands[task] = policy.band(overall);
    }
    highest
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn blocks_avx2(
    policy: &Policy,
    layout: Layout,
    deterministic: &[u8],
    ai: &[u8],
    output: &mut Output<'_>,
) -> u8 {
    blocks(policy, layout, deterministic, ai, output)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn blocks_avx512(
    policy: &Policy,
    layout: Layout,
    deterministic: &[u8],
    ai: &[u8],
    output: &mut Output<'_>,
) -> u8 {
    blocks(policy, layout, deterministic, ai, output)
}

/// Returns the highest input byte; above 100 the output means nothing.
#[inline(always)]
fn blocks(
    policy: &Policy,
    layout: Layout,
    deterministic: &[u8],
    ai: &[u8],
    output: &mut Output<'_>,
) -> u8 {
    match policy.arithmetic() {
        Arithmetic::Binary64 => {
            let rule = Binary64 { det: policy.blend_f64().0, ai: policy.blend_f64().1 };
            walk(&rule, policy.weights_f64(), policy, layout, deterministic, ai, output)
        }
        Arithmetic::Decimal => {
            let rule = Decimal { det: policy.blend_points().0, ai: policy.blend_points().1 };
            walk(&rule, policy.weights_points(), policy, layout, deterministic, ai, output)
        }
    }
}

#[inline(always)]
fn walk<R: Rule>(
    rule: &R,
    weights: &[R::Sum],
    policy: &Policy,
    layout: Layout,
    deterministic: &[u8],
    ai: &[u8],
    output: &mut Output<'_>,
) -> u8 {
    let tasks = output.overall_scores.len();
    let categories = weights.len();
    let thresholds = policy.thresholds();
    let mut sums = [R::Sum::default(); BLOCK];
    let mut column = [0_u8; BLOCK];
    let mut highest = 0_u8;
    let mut start = 0;
    while start < tasks {
        let length = BLOCK.min(tasks - start);
        let sums = &mut sums[..length];
        sums.fill(R::Sum::default());
        match layout {
            Layout::Columns => {
                for (category, weight) in weights.iter().enumerate() {
                    let range = category * tasks + start..category * tasks + start + length;
                    let finals = &mut output.final_scores[range.clone()];
                    highest = highest.max(blend(
                        rule,
                        &deterministic[range.clone()],
                        &ai[range.clone()],
                        finals,
                    ));
                    accumulate(rule, *weight, finals, sums);
                    classify(thresholds, finals, &mut output.bands[range]);
                }
            }
            Layout::Rows => {
                let range = start * categories..(start + length) * categories;
                let finals = &mut output.final_scores[range.clone()];
                highest = highest.max(blend(
                    rule,
                    &deterministic[range.clone()],
                    &ai[range.clone()],
                    finals,
                ));
                classify(thresholds, finals, &mut output.bands[range]);
                for (category, weight) in weights.iter().enumerate() {
                    let column = &mut column[..length];
                    for (slot, row) in column.iter_mut().zip(finals.chunks_exact(categories)) {
                        *slot = row[category];
                    }
                    accumulate(rule, *weight, column, sums);
                }
            }
        }
        let range = start..start + length;
        let overall = &mut output.overall_scores[range.clone()];
        for (slot, sum) in overall.iter_mut().zip(sums.iter()) {
            *slot = rule.round(*sum);
        }
        classify(thresholds, overall, &mut output.overall_bands[range]);
        start += length;
    }
    highest
}

#[inline(always)]
fn blend<R: Rule>(rule: &R, deterministic: &[u8], ai: &[u8], finals: &mut [u8]) -> u8 {
    let mut highest = 0_u8;
    for ((slot, det), ai) in finals.iter_mut().zip(deterministic).zip(ai) {
        highest = highest.max(*det).max(*ai);
        *slot = rule.round(rule.blend(*det, *ai));
    }
    highest
}

#[inline(always)]
fn accumulate<R: Rule>(rule: &R, weight: R::Sum, finals: &[u8], sums: &mut [R::Sum]) {
    for (sum, value) in sums.iter_mut().zip(finals) {
        *sum = rule.add(*sum, *value, weight);
    }
}

#[inline(always)]
fn classify(thresholds: &[u8], scores: &[u8], bands: &mut [u8]) {
    bands.fill(0);
    for threshold in thresholds {
        for (band, score) in bands.iter_mut().zip(scores) {
            // At most 15 thresholds: this cannot wrap, and a checked addition would not vectorise.
            *band = band.wrapping_add(u8::from(score >= threshold));
        }
    }
}

/// One way to compute. `round` is total: any input byte gives some byte, never undefined behaviour.
trait Rule {
    type Sum: Copy + Default;
    fn blend(&self, deterministic: u8, ai: u8) -> Self::Sum;
    fn add(&self, sum: Self::Sum, value: u8, weight: Self::Sum) -> Self::Sum;
    fn round(&self, sum: Self::Sum) -> u8;
}

struct Binary64 {
    det: f64,
    ai: f64,
}

impl Rule for Binary64 {
    type Sum = f64;

    #[inline(always)]
    fn blend(&self, deterministic: u8, ai: u8) -> f64 {
        f64::from(deterministic) * self.det + f64::from(ai) * self.ai
    }

    #[inline(always)]
    fn add(&self, sum: f64, value: u8, weight: f64) -> f64 {
        sum + f64::from(value) * weight
    }

    #[inline(always)]
    fn round(&self, sum: f64) -> u8 {
        // The clamp to 0..=100 is implied: weights are positive and sum to 1 within a few units in
        // the last place, so a sum of valid scores is in 0..100.0000000001 and rounds into 0..=100.
        // SAFETY: bytes times weights of at most 1 are finite, at least 0 and far below 2^31 (at
        // most 255.5 for a blend, 255 times the number of categories for an overall).
        unsafe { (sum + 0.5).to_int_unchecked::<i32>() as u8 }
    }
}

struct Decimal {
    det: u32,
    ai: u32,
}

impl Rule for Decimal {
    type Sum = u32;

    // Wrapping operations cannot wrap here (255 * 10,000 * 64 < 2^32); they only spare the loop the
    // overflow checks that keep it from vectorising.
    #[inline(always)]
    fn blend(&self, deterministic: u8, ai: u8) -> u32 {
        u32::from(deterministic)
            .wrapping_mul(self.det)
            .wrapping_add(u32::from(ai).wrapping_mul(self.ai))
    }

    #[inline(always)]
    fn add(&self, sum: u32, value: u8, weight: u32) -> u32 {
        sum.wrapping_add(u32::from(value).wrapping_mul(weight))
    }

    #[inline(always)]
    fn round(&self, sum: u32) -> u8 {
        (sum.wrapping_add(5_000) / 10_000) as u8
    }
}
