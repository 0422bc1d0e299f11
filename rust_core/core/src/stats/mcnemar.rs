//! Exact test of paired outcomes that are 0 or 1.

use super::distribution::binomial_at_least;
use super::proportion::upper_bound;
use super::{out_of_range, size};
use crate::error::Error;

/// The p-values of one paired test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedTest {
    /// Small when baseline and candidate differ.
    pub two_sided: f64,
    /// Small when the candidate is worse than the baseline.
    pub worse: f64,
    /// Small when the candidate is not worse than the baseline by the margin or more.
    pub non_inferior: f64,
}

/// Probability that the bound on the share of discordant pairs is wrong; part of `non_inferior`.
const BOUND_ERROR: f64 = 1e-4;

/// The exact test of McNemar, "Note on the Sampling Error of the Difference Between Correlated
/// Proportions" (1947): given the discordant pairs, the losses among them are binomial.
///
/// `losses` counts the pairs that only the baseline passes, `wins` those that only the candidate
/// passes; `pairs` counts all. `margin` is the excess of the loss rate over the win rate, 0 up to 1,
/// that counts as inferior.
///
/// * `two_sided`: twice the smaller tail under equal chances, at most 1.
/// * `worse`: P(losses or more) under equal chances.
/// * `non_inferior` with margin 0: P(wins or more) under equal chances, the one-sided test that the
///   candidate is better.
/// * `non_inferior` with a margin: P(wins or more) under the least favourable chances at the margin.
///   These depend on the share of discordant pairs, of which only an upper confidence bound is known;
///   the bound's error of 0.0001 is added, as in Berger and Boos, "P Values Maximized Over a Confidence
///   Set for the Nuisance Parameter" (1994), so the level holds exactly.
///
/// # Errors
/// `SAMPLE_EMPTY`, `SAMPLE_TOO_LARGE`, `PARAMETER_OUT_OF_RANGE`.
pub fn mcnemar(losses: u64, wins: u64, pairs: u64, margin: f64) -> Result<PairedTest, Error> {
    size("pairs", pairs)?;
    for (path, count) in [("losses", losses), ("wins", wins)] {
        if count > pairs {
            return Err(out_of_range(path, "at most the number of pairs", count));
        }
    }
    let discordant = losses + wins;
    if discordant > pairs {
        return Err(out_of_range("wins", "with the losses at most the number of pairs", wins));
    }
    if !(0.0..1.0).contains(&margin) {
        return Err(out_of_range("margin", "a number from 0 up to but not 1", margin));
    }
    let even = |at_least| binomial_at_least(at_least, discordant, 0.5, 0.5);
    Ok(PairedTest {
        two_sided: (2.0 * even(losses.max(wins))).min(1.0),
        worse: even(losses),
        non_inferior: if margin == 0.0 {
            even(wins)
        } else {
            // Of the discordant pairs the losses exceed the wins by this share, or by more where fewer
            // pairs are discordant.
            let excess = margin / upper_bound(discordant, pairs, BOUND_ERROR);
            let tail = if excess >= 1.0 {
                0.0
            } else {
                binomial_at_least(wins, discordant, (1.0 - excess) / 2.0, (1.0 + excess) / 2.0)
            };
            (tail + BOUND_ERROR).min(1.0)
        },
    })
}
