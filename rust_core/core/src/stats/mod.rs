//! Statistics of paired evaluations: intervals, exact and resampling tests, power.
//!
//! A pair is one case answered by a baseline and by a candidate. Every p-value is named after what a
//! small one shows: `two_sided` a difference, `worse` a regression of the candidate, `non_inferior`
//! that the candidate is not worse than the baseline by the margin or more. A non-inferiority decision
//! looks at `non_inferior` alone, one-sided at level alpha.
//!
//! All results are the same bits on every machine and for every number of threads: transcendental
//! functions come from the `libm` crate instead of the platform, sums that are shared between threads
//! are integers, and random signs are a function of (seed, index).

mod distribution;
mod holm;
mod mcnemar;
mod power;
mod proportion;
mod sign_flip;

pub use holm::holm;
pub use mcnemar::{PairedTest, mcnemar};
pub use power::Design;
pub use proportion::{Interval, clopper_pearson, wilson};
pub use sign_flip::{MAX_FLIPS, MAX_THREADS, MAX_WORK, Resampling, SignFlip, sign_flip};

use crate::error::Error;

/// The most pairs or trials that one call takes.
pub const MAX_PAIRS: u64 = 1 << 20;

/// Checks a significance level.
fn level(alpha: f64) -> Result<(), Error> {
    if 0.0 < alpha && alpha < 1.0 {
        return Ok(());
    }
    Err(out_of_range("alpha", "a number between 0 and 1, both excluded", alpha))
}

/// Checks a number of pairs or trials.
fn size(path: &str, count: u64) -> Result<(), Error> {
    match count {
        0 => Err(Error::SampleEmpty { path: path.to_owned() }),
        1..=MAX_PAIRS => Ok(()),
        _ => Err(Error::SampleTooLarge { path: path.to_owned(), count, limit: MAX_PAIRS }),
    }
}

fn out_of_range(path: &str, expected: &'static str, found: impl ToString) -> Error {
    Error::ParameterOutOfRange { path: path.to_owned(), expected, found: found.to_string() }
}
