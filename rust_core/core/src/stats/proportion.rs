//! Confidence intervals of a proportion.

use super::distribution::{binomial_at_least, last_where, normal_upper};
use super::{level, out_of_range, size};
use crate::error::Error;

/// A two-sided confidence interval within 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The score interval of Wilson, "Probable Inference, the Law of Succession, and Statistical
/// Inference" (1927), without continuity correction. Its coverage is near 1 - alpha on average and may
/// fall below for single proportions.
///
/// # Errors
/// `SAMPLE_EMPTY`, `SAMPLE_TOO_LARGE`, `PARAMETER_OUT_OF_RANGE`.
pub fn wilson(successes: u64, trials: u64, alpha: f64) -> Result<Interval, Error> {
    check(successes, trials, alpha)?;
    let (x, n) = (successes as f64, trials as f64);
    let z = normal_upper(alpha / 2.0);
    let center = (x + z * z / 2.0) / (n + z * z);
    let half = z / (n + z * z) * (x * (n - x) / n + z * z / 4.0).sqrt();
    Ok(Interval {
        low: if successes == 0 { 0.0 } else { (center - half).max(0.0) },
        high: if successes == trials { 1.0 } else { (center + half).min(1.0) },
    })
}

/// The exact interval of Clopper and Pearson, "The Use of Confidence or Fiducial Limits Illustrated in
/// the Case of the Binomial" (1934). Its coverage is at least 1 - alpha for every proportion.
///
/// # Errors
/// `SAMPLE_EMPTY`, `SAMPLE_TOO_LARGE`, `PARAMETER_OUT_OF_RANGE`.
pub fn clopper_pearson(successes: u64, trials: u64, alpha: f64) -> Result<Interval, Error> {
    check(successes, trials, alpha)?;
    let failures = trials - successes;
    Ok(Interval {
        low: lower_bound(successes, trials, alpha / 2.0),
        high: 1.0 - lower_bound(failures, trials, alpha / 2.0),
    })
}

/// The exact upper confidence bound of a proportion, wrong with probability at most `alpha`.
pub(super) fn upper_bound(successes: u64, trials: u64, alpha: f64) -> f64 {
    1.0 - lower_bound(trials - successes, trials, alpha)
}

/// The greatest proportion under which so many successes have a probability of at most `alpha`.
fn lower_bound(successes: u64, trials: u64, alpha: f64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    last_where(0.0, 1.0, |p| binomial_at_least(successes, trials, p, 1.0 - p) <= alpha)
}

fn check(successes: u64, trials: u64, alpha: f64) -> Result<(), Error> {
    size("trials", trials)?;
    if successes > trials {
        return Err(out_of_range("successes", "at most the number of trials", successes));
    }
    level(alpha)
}
