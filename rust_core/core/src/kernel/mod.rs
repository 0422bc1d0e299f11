//! The columnar kernel: bytes in, bytes out, one block at a time.
//!
//! One walk over the blocks is compiled once for each instruction set and picked at run time. The
//! vector paths blend in 16-bit integers where the policy allows it (`integer.rs` says why that
//! gives the same bits), everything else is one plain loop body that the compiler vectorises; rustc
//! never fuses a multiplication with an addition. `Path::Portable` is different code on purpose: the
//! function for one task in a loop. It is the fallback that needs nothing and the oracle of the rest.

use std::ops::Range;

use crate::policy::{Arithmetic, Policy};

mod integer;
#[cfg(target_arch = "x86_64")]
mod x86;

use integer::{BlendPlan, SumPlan};

/// How many tasks one pass works on: the block's columns and sums stay in the first-level cache.
const BLOCK: usize = 1_024;

/// Which compiled form of the kernel runs. All give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// One task after the other, in plain scalar code.
    Portable,
    /// Blocks, compiled for the target's baseline (SSE2 on x86-64, NEON on AArch64).
    Baseline,
    /// Blocks, compiled for AVX2.
    Avx2,
    /// Blocks, compiled for AVX-512 F, BW, DQ, VL and VBMI.
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
                    && std::arch::is_x86_feature_detected!("avx512vbmi")
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

/// A policy, ready to score columns.
#[derive(Debug, Clone)]
pub struct Kernel {
    policy: Policy,
    blend_plan: Option<BlendPlan>,
    sum_plan: Option<SumPlan>,
    /// The band of each score 0..=100; the rest is unused.
    band_of: [u8; 128],
}

impl Kernel {
    /// Derives what the kernel needs from a policy.
    pub fn new(policy: Policy) -> Kernel {
        let band_of =
            std::array::from_fn(|score| if score <= 100 { policy.band(score as u8) } else { 0 });
        Kernel {
            blend_plan: BlendPlan::new(&policy),
            sum_plan: SumPlan::new(&policy),
            band_of,
            policy,
        }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Scores a batch of `output.overall_scores.len()` tasks.
    ///
    /// Every slice must have the length its documentation gives; callers check lengths, the kernel
    /// returns [`BadScore`] for the first byte above 100 (deterministic before AI, then by task,
    /// then by category) and leaves the output undefined then. A path that this machine does not
    /// have falls back to the portable one.
    pub fn score(
        &self,
        path: Path,
        layout: Layout,
        deterministic: &[u8],
        ai: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), BadScore> {
        let tasks = output.overall_scores.len();
        let cells = tasks * self.policy.categories().len();
        assert!(
            deterministic.len() == cells
                && ai.len() == cells
                && output.final_scores.len() == cells
                && output.bands.len() == cells
                && output.overall_bands.len() == tasks,
            "the caller checks the lengths of a batch"
        );
        let batch = Batch { layout, deterministic, ai };
        let path = if path.is_available() { path } else { Path::Portable };
        let highest = match path {
            Path::Portable => self.portable(batch, output),
            Path::Baseline => self.baseline(batch, output),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `is_available` has found AVX2 on this processor.
            Path::Avx2 => unsafe { self.avx2(batch, output) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `is_available` has found all five AVX-512 subsets on this processor.
            Path::Avx512 => unsafe { self.avx512(batch, output) },
            #[cfg(not(target_arch = "x86_64"))]
            Path::Avx2 | Path::Avx512 => self.portable(batch, output),
        };
        if highest <= 100 {
            return Ok(());
        }
        self.first_bad(tasks, batch).map_or(Ok(()), Err)
    }

    /// Marks every final score that is under its category's floor with 1, all others with 0.
    pub fn mark_below_floors(&self, layout: Layout, final_scores: &[u8], below_floors: &mut [u8]) {
        let categories = self.policy.categories();
        let tasks = final_scores.len() / categories.len();
        for (category, definition) in categories.iter().enumerate() {
            let floor = definition.floor.unwrap_or(0);
            for task in 0..tasks {
                let index = layout.index(tasks, categories.len(), task, category);
                below_floors[index] = u8::from(final_scores[index] < floor);
            }
        }
    }

    #[cold]
    fn first_bad(&self, tasks: usize, batch: Batch<'_>) -> Option<BadScore> {
        let categories = self.policy.categories().len();
        for (is_ai, scores) in [(false, batch.deterministic), (true, batch.ai)] {
            for task in 0..tasks {
                for category in 0..categories {
                    let value = scores[batch.layout.index(tasks, categories, task, category)];
                    if value > 100 {
                        return Some(BadScore { is_ai, task, category, value });
                    }
                }
            }
        }
        None
    }

    fn portable(&self, batch: Batch<'_>, output: &mut Output<'_>) -> u8 {
        let Batch { layout, deterministic, ai } = batch;
        let tasks = output.overall_scores.len();
        let policy = &self.policy;
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

    fn baseline(&self, batch: Batch<'_>, output: &mut Output<'_>) -> u8 {
        match self.policy.arithmetic() {
            Arithmetic::Binary64 => {
                let plain = Plain::<Binary64>::new(&self.policy);
                self.walk(&plain, &plain, batch, output)
            }
            Arithmetic::Decimal => {
                let plain = Plain::<Decimal>::new(&self.policy);
                self.walk(&plain, &plain, batch, output)
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn avx2(&self, batch: Batch<'_>, output: &mut Output<'_>) -> u8 {
        let thresholds = self.policy.thresholds();
        let cells = self.blend_plan.as_ref().map(|plan| x86::Avx2Cells { plan, thresholds });
        let sums = self.sum_plan.as_ref().map(|plan| x86::Avx2Sums { plan });
        self.planned(cells, sums, batch, output)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn avx512(&self, batch: Batch<'_>, output: &mut Output<'_>) -> u8 {
        let band_of = &self.band_of;
        let cells = self.blend_plan.as_ref().map(|plan| x86::Avx512Cells { plan, band_of });
        let sums = self.sum_plan.as_ref().map(|plan| x86::Avx512Sums { plan });
        self.planned(cells, sums, batch, output)
    }

    /// With integer arithmetic where the policy has a plan for it, in doubles where it has none.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn planned<C: Cells, S: Sums>(
        &self,
        cells: Option<C>,
        sums: Option<S>,
        batch: Batch<'_>,
        output: &mut Output<'_>,
    ) -> u8 {
        let plain = Plain::<Binary64>::new(&self.policy);
        let doubles = self.policy.arithmetic() == Arithmetic::Binary64;
        match (cells, sums) {
            (Some(cells), Some(sums)) => self.walk(&cells, &sums, batch, output),
            (Some(cells), None) if doubles => self.walk(&cells, &plain, batch, output),
            (None, Some(sums)) if doubles => self.walk(&plain, &sums, batch, output),
            _ => self.baseline(batch, output),
        }
    }

    /// Returns the highest input byte; above 100 the output means nothing.
    #[inline(always)]
    fn walk<C: Cells, S: Sums>(
        &self,
        cells: &C,
        summing: &S,
        batch: Batch<'_>,
        output: &mut Output<'_>,
    ) -> u8 {
        let tasks = output.overall_scores.len();
        let categories = self.policy.categories().len();
        let blend = |range: Range<usize>, output: &mut Output<'_>| {
            cells.blend(
                &batch.deterministic[range.clone()],
                &batch.ai[range.clone()],
                &mut output.final_scores[range.clone()],
                &mut output.bands[range],
            )
        };
        let mut sums = [S::Sum::default(); BLOCK];
        let mut column = [0_u8; BLOCK];
        let mut highest = 0_u8;
        let mut start = 0;
        while start < tasks {
            let length = BLOCK.min(tasks - start);
            let sums = &mut sums[..length];
            sums.fill(summing.start());
            match batch.layout {
                Layout::Columns => {
                    for category in 0..categories {
                        let first = category * tasks + start;
                        let range = first..first + length;
                        highest = highest.max(blend(range.clone(), output));
                        summing.add(category, &output.final_scores[range], sums);
                    }
                }
                Layout::Rows => {
                    let range = start * categories..(start + length) * categories;
                    highest = highest.max(blend(range.clone(), output));
                    for category in 0..categories {
                        let rows = output.final_scores[range.clone()].chunks_exact(categories);
                        for (slot, row) in column.iter_mut().zip(rows) {
                            *slot = row[category];
                        }
                        summing.add(category, &column[..length], sums);
                    }
                }
            }
            let range = start..start + length;
            let overall = &mut output.overall_scores[range.clone()];
            let finals = &*output.final_scores;
            summing.finish(sums, overall, |task| {
                let scores = (0..categories)
                    .map(|c| finals[batch.layout.index(tasks, categories, start + task, c)]);
                // A byte above 100 may have led here; the result is not looked at then.
                self.policy.overall_of(scores.map(|score| score.min(100)))
            });
            classify(self.policy.thresholds(), overall, &mut output.overall_bands[range]);
            start += length;
        }
        highest
    }
}

/// How to blend and classify a run of scores.
trait Cells {
    /// Returns the highest input byte; above 100 the output means nothing. All slices have the same
    /// length.
    fn blend(&self, det: &[u8], ai: &[u8], finals: &mut [u8], bands: &mut [u8]) -> u8;
}

/// How to add up finals and round the sums, one block of tasks at a time.
trait Sums {
    type Sum: Copy + Default;
    /// What a sum starts from.
    fn start(&self) -> Self::Sum;
    /// Adds one category's finals to the sums.
    fn add(&self, category: usize, finals: &[u8], sums: &mut [Self::Sum]);
    /// Rounds the sums. `recompute` gives the overall of one task of the block, slowly.
    fn finish(&self, sums: &[Self::Sum], overall: &mut [u8], recompute: impl Fn(usize) -> u8);
}

/// Plain loops over a rule, left to the compiler to vectorise.
struct Plain<'a, R: Rule> {
    rule: R,
    weights: &'a [R::Sum],
    thresholds: &'a [u8],
}

impl<'a, R: Rule> Plain<'a, R> {
    fn new(policy: &'a Policy) -> Self {
        let (rule, weights) = R::of(policy);
        Plain { rule, weights, thresholds: policy.thresholds() }
    }
}

impl<R: Rule> Cells for Plain<'_, R> {
    #[inline(always)]
    fn blend(&self, det: &[u8], ai: &[u8], finals: &mut [u8], bands: &mut [u8]) -> u8 {
        let mut highest = 0_u8;
        for ((slot, det), ai) in finals.iter_mut().zip(det).zip(ai) {
            highest = highest.max(*det).max(*ai);
            *slot = self.rule.round(self.rule.blend(*det, *ai));
        }
        classify(self.thresholds, finals, bands);
        highest
    }
}

impl<R: Rule> Sums for Plain<'_, R> {
    type Sum = R::Sum;

    #[inline(always)]
    fn start(&self) -> R::Sum {
        R::Sum::default()
    }

    #[inline(always)]
    fn add(&self, category: usize, finals: &[u8], sums: &mut [R::Sum]) {
        let weight = self.weights[category];
        for (sum, value) in sums.iter_mut().zip(finals) {
            *sum = self.rule.add(*sum, *value, weight);
        }
    }

    #[inline(always)]
    fn finish(&self, sums: &[R::Sum], overall: &mut [u8], _: impl Fn(usize) -> u8) {
        for (slot, sum) in overall.iter_mut().zip(sums) {
            *slot = self.rule.round(*sum);
        }
    }
}

/// The input of one call.
#[derive(Clone, Copy)]
struct Batch<'a> {
    layout: Layout,
    deterministic: &'a [u8],
    ai: &'a [u8],
}

#[inline(always)]
fn classify(thresholds: &[u8], scores: &[u8], bands: &mut [u8]) {
    bands.fill(0);
    for threshold in thresholds {
        for (band, score) in bands.iter_mut().zip(scores) {
            // At most 15 thresholds: this cannot wrap, and a checked addition does not vectorise.
            *band = band.wrapping_add(u8::from(score >= threshold));
        }
    }
}

/// One way to compute. `round` is total: any input byte gives some byte, never undefined behaviour.
trait Rule: Sized {
    type Sum: Copy + Default;
    /// The rule with a policy's blend, and the policy's category weights.
    fn of(policy: &Policy) -> (Self, &[Self::Sum]);
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

    fn of(policy: &Policy) -> (Self, &[f64]) {
        let (det, ai) = policy.blend_f64();
        (Binary64 { det, ai }, policy.weights_f64())
    }

    #[inline(always)]
    fn blend(&self, deterministic: u8, ai: u8) -> f64 {
        f64::from(i32::from(deterministic)) * self.det + f64::from(i32::from(ai)) * self.ai
    }

    #[inline(always)]
    fn add(&self, sum: f64, value: u8, weight: f64) -> f64 {
        sum + f64::from(i32::from(value)) * weight
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

    fn of(policy: &Policy) -> (Self, &[u32]) {
        let (det, ai) = policy.blend_points();
        (Decimal { det, ai }, policy.weights_points())
    }

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
