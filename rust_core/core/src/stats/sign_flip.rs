//! Resampling test of paired scores.

use std::ops::Range;
use std::thread;

use super::mcnemar::PairedTest;
use super::{out_of_range, size};
use crate::error::Error;

/// Up to so many differences, every one of the 2^n sign patterns is tried.
const MAX_ENUMERATED: usize = 20;
/// The most random sign patterns of one call.
pub const MAX_FLIPS: u64 = 1 << 24;
/// The most threads of one call.
pub const MAX_THREADS: usize = 256;
/// The most differences times patterns of one call: a few seconds of one core.
pub const MAX_WORK: u64 = 1 << 33;
/// Greatest size of a score or a margin, so that no sum of differences overflows.
const MAX_SCORE: f64 = 1e300;
/// The greatest difference as an integer; [`super::MAX_PAIRS`] of them still sum without overflow.
const UNIT: f64 = (1_u64 << 41) as f64;

/// How sign patterns are drawn where there are too many to try all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// Number of random patterns, 1 to [`MAX_FLIPS`].
    pub flips: u64,
    /// The patterns are a function of the seed: the same on every machine.
    pub seed: u64,
    /// Threads to use, 1 to [`MAX_THREADS`]; the result does not depend on them.
    pub threads: usize,
}

/// The result of [`sign_flip`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlip {
    /// Mean of candidate - baseline.
    pub mean_difference: f64,
    /// The p-values.
    pub p: PairedTest,
    /// Number of sign patterns looked at.
    pub patterns: u64,
    /// Whether these were all of them.
    pub exact: bool,
}

/// The paired permutation test of Fisher, "The Design of Experiments" (1935), section 21, on the mean
/// difference of paired scores.
///
/// If baseline and candidate are exchangeable, each difference is as likely with the opposite sign. A
/// p-value is the share of sign patterns with a mean at least as extreme as the one observed. With up to
/// 20 differences other than zero, all patterns are tried; otherwise `flips` random ones, and the observed
/// one counts as one more, which keeps the level (Phipson and Smyth, "Permutation P-values Should Never
/// Be Zero", 2010).
///
/// `non_inferior` tests the differences plus `margin`, which must be symmetric about zero at the margin
/// for the level to hold. Outcomes of 0 and 1 are not; [`super::mcnemar`] is for those.
///
/// Means closer than 2^-40 of the greatest difference count as equal, so that the rounding of 0.8 - 0.7
/// breaks no tie.
///
/// # Errors
/// `SAMPLE_EMPTY`, `SAMPLE_TOO_LARGE`, `LENGTH_MISMATCH`, `PARAMETER_OUT_OF_RANGE` (a score or a
/// margin beyond 1e300 or not a number, a negative margin, flips or threads beyond their limits), `RESAMPLING_TOO_LARGE`.
pub fn sign_flip(
    baseline: &[f64],
    candidate: &[f64],
    margin: f64,
    resampling: Resampling,
) -> Result<SignFlip, Error> {
    let differences = differences(baseline, candidate)?;
    if !(0.0..=MAX_SCORE).contains(&margin) {
        return Err(out_of_range("margin", "a number from 0 to 1e300", margin));
    }
    let Resampling { flips, seed, threads } = resampling;
    if !(1..=MAX_FLIPS).contains(&flips) {
        return Err(out_of_range("flips", "1 to 16777216", flips));
    }
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(out_of_range("threads", "1 to 256", threads));
    }
    let test = Statistic::new(&differences, margin);
    let exact = test.items <= MAX_ENUMERATED;
    let patterns = if exact { 1 << test.items } else { flips };
    let work = patterns.saturating_mul(test.items as u64);
    if work > MAX_WORK {
        return Err(Error::ResamplingTooLarge { work, limit: MAX_WORK });
    }
    let extreme = if exact {
        in_threads(patterns, threads, |range| test.count(range, |pattern, _| pattern))
    } else {
        let (start, words) = (mix(seed), test.tables.len() as u64);
        in_threads(patterns, threads, |range| {
            test.count(range, |pattern, word| random(start, pattern * words + word))
        })
    };
    // The observed pattern is one of all, but none of the random ones.
    let observed = u64::from(!exact);
    let [two_sided, worse, non_inferior] =
        extreme.map(|count| (count + observed) as f64 / (patterns + observed) as f64);
    Ok(SignFlip {
        mean_difference: differences.iter().sum::<f64>() / differences.len() as f64,
        p: PairedTest { two_sided, worse, non_inferior },
        patterns,
        exact,
    })
}

fn differences(baseline: &[f64], candidate: &[f64]) -> Result<Vec<f64>, Error> {
    size("baseline", baseline.len() as u64)?;
    if baseline.len() != candidate.len() {
        return Err(Error::LengthMismatch {
            path: "candidate".to_owned(),
            message: format!("{} scores for {} of the baseline", candidate.len(), baseline.len()),
        });
    }
    for (path, scores) in [("baseline", baseline), ("candidate", candidate)] {
        let within = -MAX_SCORE..=MAX_SCORE;
        if let Some(at) = scores.iter().position(|score| !within.contains(score)) {
            let path = format!("{path}[{at}]");
            return Err(out_of_range(&path, "a number from -1e300 to 1e300", scores[at]));
        }
    }
    Ok(baseline.iter().zip(candidate).map(|(baseline, candidate)| candidate - baseline).collect())
}

/// Sums of signed differences as integers: exact, and the same in whatever order they are added.
struct Statistic {
    /// Number of differences that a sign matters to.
    items: usize,
    /// For each 64 items, for each 4 of them, the sum of every subset of these 4.
    tables: Vec<[[i64; 16]; 16]>,
    /// Which bits of the last word are items.
    last_word: u64,
    sum: i64,
    margin: i64,
    tolerance: i64,
}

impl Statistic {
    fn new(differences: &[f64], margin: f64) -> Self {
        let largest = differences.iter().fold(margin, |largest, d| largest.max(d.abs()));
        // Where all is zero, so are the integers: NaN becomes 0.
        let integer = |d: f64| (d / largest * UNIT).round() as i64;
        let items: Vec<i64> = differences
            .iter()
            .map(|&d| integer(d))
            .filter(|&item| margin != 0.0 || item != 0)
            .collect();
        let tables = items.chunks(64).map(|word| {
            let mut tables = [[0; 16]; 16];
            for (table, four) in tables.iter_mut().zip(word.chunks(4)) {
                for (subset, sum) in table.iter_mut().enumerate() {
                    *sum = (0..4)
                        .filter(|at| subset >> at & 1 == 1)
                        .filter_map(|at| four.get(at))
                        .sum();
                }
            }
            tables
        });
        Self {
            items: items.len(),
            tables: tables.collect(),
            last_word: u64::MAX >> ((64 - items.len() % 64) % 64),
            sum: items.iter().sum(),
            margin: integer(margin),
            // Each item and each margin is off by at most half a unit, in both sums.
            tolerance: 2 * items.len() as i64,
        }
    }

    /// How many of the patterns are at least as extreme as the observed one: two-sided, towards worse,
    /// towards better than the margin. `signs` gives 64 signs of a pattern; a set bit keeps the sign.
    fn count(&self, patterns: Range<u64>, signs: impl Fn(u64, u64) -> u64) -> [u64; 3] {
        let items = self.items as i64;
        let shifted = self.sum + items * self.margin;
        let mut counts = [0; 3];
        for pattern in patterns {
            let mut kept = 0;
            let mut ones = 0;
            for (word, tables) in self.tables.iter().enumerate() {
                let mut bits = signs(pattern, word as u64);
                if word + 1 == self.tables.len() {
                    bits &= self.last_word;
                }
                ones += i64::from(bits.count_ones());
                for table in tables {
                    kept += table[(bits & 15) as usize];
                    bits >>= 4;
                }
            }
            let sum = 2 * kept - self.sum;
            let sum_shifted = sum + self.margin * (2 * ones - items);
            counts[0] += u64::from(sum.abs() >= self.sum.abs() - self.tolerance);
            counts[1] += u64::from(sum <= self.sum + self.tolerance);
            counts[2] += u64::from(sum_shifted >= shifted - self.tolerance);
        }
        counts
    }
}

/// The sum of `count` over the ranges into which `0..patterns` is cut, one for each thread.
fn in_threads(
    patterns: u64,
    threads: usize,
    count: impl Fn(Range<u64>) -> [u64; 3] + Sync,
) -> [u64; 3] {
    let share = patterns.div_ceil(threads as u64);
    let range = |thread: u64| (thread * share).min(patterns)..((thread + 1) * share).min(patterns);
    let count = &count;
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads as u64)
            .map(range)
            .filter(|range| !range.is_empty())
            .map(|range| {
                let spawned = thread::Builder::new().spawn_scoped(scope, {
                    let range = range.clone();
                    move || count(range)
                });
                // Where the system has no more threads, this one does the work.
                spawned.map_err(|_| range)
            })
            .collect();
        others.into_iter().fold(count(range(0)), |total, other| {
            let counted = match other {
                Ok(thread) => {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                }
                Err(range) => count(range),
            };
            [0, 1, 2].map(|at| total[at] + counted[at])
        })
    })
}

/// The word at `index` of the SplitMix64 sequence (Steele, Lea and Flood, "Fast Splittable Pseudorandom
/// Number Generators", 2014) that starts at `start`.
fn random(start: u64, index: u64) -> u64 {
    mix(start.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::MAX_PAIRS;

    #[test]
    fn published_words_of_splitmix64() {
        let words: Vec<_> = (0..3).map(|index| random(1_234_567, index)).collect();
        assert_eq!(
            words,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn the_largest_sums_do_not_overflow() {
        let ones = vec![1.0; MAX_PAIRS as usize];
        let test = Statistic::new(&ones, 1.0);
        assert_eq!(test.count(0..1, |_, _| u64::MAX), [1, 1, 1]);
        assert_eq!(test.count(0..1, |_, _| 0), [1, 1, 0]);
    }
}
