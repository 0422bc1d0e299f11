//! Power of the paired tests: what a sample can show, and how large it must be.

use super::distribution::{last_where, normal_cdf, normal_upper};
use super::{MAX_PAIRS, level, out_of_range, size};
use crate::error::Error;

/// What is known about the pairs that a one-sided test at level alpha will be applied to.
///
/// The effect is the distance between the truth and what the test tries to reject: the size of the
/// regression for a test of `worse`; the margin for a test of `non_inferior` when baseline and candidate
/// are equally good. In the formulas n is the number of pairs, d the effect, z the upper alpha point of
/// the normal distribution and Phi its distribution function. A sample so small that even its most
/// extreme outcome is not significant, 2^-n > alpha, has no power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Design {
    /// Outcomes of 0 and 1, tested by [`super::mcnemar`]. With s for the discordance:
    ///
    /// power = Phi((d sqrt(n) - 1 / sqrt(n) - z sqrt(s)) / sqrt(s - d^2))
    ///
    /// Connor, "Sample Size for Testing Differences in Proportions for the Paired-Sample Design" (1987),
    /// with the continuity correction of Edwards, "Note on the Correction for Continuity in Testing the
    /// Significance of the Difference Between Correlated Proportions" (1948), that an exact test needs.
    /// Where fewer than about ten discordant pairs are expected, the true power may be lower by 0.05.
    McNemar {
        /// Share of pairs in which baseline and candidate differ, above 0 and at most 1; the effect is
        /// at most this.
        discordance: f64,
    },
    /// Scores, tested by [`super::sign_flip`]. With s for the deviation:
    ///
    /// power = Phi(d sqrt(n - z^2 / 2) / s - z)
    ///
    /// For large samples a permutation test has the power of the paired t-test (Lehmann and Romano,
    /// "Testing Statistical Hypotheses", 3rd edition, 2005, section 15.2), here with the sample size of
    /// Guenther, "Sample Size Formulas for Normal Theory T Tests" (1981).
    SignFlip {
        /// Standard deviation of candidate - baseline, above 0.
        deviation: f64,
    },
}

impl Design {
    /// Probability that the test rejects, 0 to 1.
    ///
    /// # Errors
    /// `SAMPLE_EMPTY`, `SAMPLE_TOO_LARGE`, `PARAMETER_OUT_OF_RANGE`.
    pub fn power(self, pairs: u64, effect: f64, alpha: f64) -> Result<f64, Error> {
        size("pairs", pairs)?;
        self.check_effect(effect)?;
        Ok(Test::new(self, alpha)?.power(pairs, effect))
    }

    /// The least effect that the test detects with a power of at least 0.5 and below 1; none where even
    /// the greatest possible effect is missed.
    ///
    /// # Errors
    /// `SAMPLE_EMPTY`, `SAMPLE_TOO_LARGE`, `PARAMETER_OUT_OF_RANGE`.
    pub fn detectable(self, pairs: u64, alpha: f64, power: f64) -> Result<Option<f64>, Error> {
        size("pairs", pairs)?;
        let greatest = self.greatest_effect()?;
        let test = Test::new(self, alpha)?;
        check_power(power)?;
        if test.power(pairs, greatest) < power {
            return Ok(None);
        }
        let missed = last_where(0.0, greatest, |effect| test.power(pairs, effect) < power);
        Ok(Some(missed.next_up()))
    }

    /// The least number of pairs that detects the effect with a power of at least 0.5 and below 1; none
    /// where [`MAX_PAIRS`] are too few.
    ///
    /// # Errors
    /// `PARAMETER_OUT_OF_RANGE`.
    pub fn pairs(self, effect: f64, alpha: f64, power: f64) -> Result<Option<u64>, Error> {
        self.check_effect(effect)?;
        let test = Test::new(self, alpha)?;
        check_power(power)?;
        let (mut few, mut enough) = (0, MAX_PAIRS + 1);
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            if test.power(middle, effect) < power {
                few = middle;
            } else {
                enough = middle;
            }
        }
        Ok((enough <= MAX_PAIRS).then_some(enough))
    }

    /// The greatest effect there can be.
    fn greatest_effect(self) -> Result<f64, Error> {
        match self {
            Self::McNemar { discordance } if 0.0 < discordance && discordance <= 1.0 => {
                Ok(discordance)
            }
            Self::McNemar { discordance } => {
                Err(out_of_range("discordance", "above 0 and at most 1", discordance))
            }
            Self::SignFlip { deviation } if 0.0 < deviation && deviation.is_finite() => {
                Ok(f64::MAX)
            }
            Self::SignFlip { deviation } => {
                Err(out_of_range("deviation", "a finite number above 0", deviation))
            }
        }
    }

    fn check_effect(self, effect: f64) -> Result<(), Error> {
        if 0.0 < effect && effect <= self.greatest_effect()? {
            return Ok(());
        }
        Err(out_of_range("effect", "above 0 and at most the greatest possible one", effect))
    }
}

fn check_power(power: f64) -> Result<(), Error> {
    if (0.5..1.0).contains(&power) {
        return Ok(());
    }
    Err(out_of_range("power", "a number from 0.5 up to but not 1", power))
}

/// A design at a level.
struct Test {
    design: Design,
    alpha: f64,
    /// Upper alpha point of the normal distribution.
    z: f64,
}

impl Test {
    fn new(design: Design, alpha: f64) -> Result<Self, Error> {
        level(alpha)?;
        Ok(Self { design, alpha, z: normal_upper(alpha) })
    }

    fn power(&self, pairs: u64, effect: f64) -> f64 {
        let n = pairs as f64;
        if pairs < 1_000 && 0.5_f64.powi(pairs as i32) > self.alpha {
            return 0.0;
        }
        let (excess, deviation) = match self.design {
            Design::McNemar { discordance } => (
                effect * n.sqrt() - 1.0 / n.sqrt() - self.z * discordance.sqrt(),
                (discordance - effect * effect).max(0.0).sqrt(),
            ),
            Design::SignFlip { deviation } => {
                let effective = (n - self.z * self.z / 2.0).max(0.0);
                (effect / deviation * effective.sqrt() - self.z, 1.0)
            }
        };
        if deviation > 0.0 {
            normal_cdf(excess / deviation)
        } else if excess >= 0.0 {
            1.0
        } else {
            0.0
        }
    }
}
