//! Normal and binomial probabilities.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// The last number from `low` on for which a condition holds that holds up to some point and not
/// beyond; it must hold at `low`.
pub(super) fn last_where(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return low;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// P(Z <= z) of the standard normal distribution.
pub(super) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The z with P(Z > z) = `tail`, for a tail strictly between 0 and 1.
pub(super) fn normal_upper(tail: f64) -> f64 {
    if tail > 0.5 {
        return -normal_upper(1.0 - tail);
    }
    // At 40 the tail is below the least positive number.
    last_where(0.0, 40.0, |z| normal_cdf(-z) >= tail)
}

/// P(X >= `k`) for X of the binomial distribution of `n` trials with success probability `p`.
///
/// `q` is 1 - p, asked for separately so that neither loses digits when it is small. The tail that
/// does not hold the mean is summed term by term; no term is negative, so nothing cancels.
pub(super) fn binomial_at_least(k: u64, n: u64, p: f64, q: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n || p <= 0.0 {
        return 0.0;
    }
    if k as f64 <= n as f64 * p {
        return 1.0 - binomial_at_least(n - k + 1, n, q, p);
    }
    let odds = p / q;
    let mut term = binomial_point(k, n, p, q);
    let mut sum = term;
    for j in k..n {
        term *= (n - j) as f64 / (j + 1) as f64 * odds;
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum.min(1.0)
}

/// P(X = `k`), by the saddle-point expansion of Loader, "Fast and Accurate Computation of Binomial
/// Probabilities" (2000): accurate to the last digits for any number of trials.
fn binomial_point(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let (x, y, size) = (k as f64, (n - k) as f64, n as f64);
    if k == 0 {
        return libm::exp(size * libm::log1p(-p));
    }
    if k == n {
        return libm::exp(size * libm::log1p(-q));
    }
    let exponent = stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(x, size * p)
        - deviance(y, size * q);
    libm::exp(exponent) * (size / (TAU * x * y)).sqrt()
}

/// ln(n!) minus its Stirling approximation, n > 0.
fn stirling_error(n: u64) -> f64 {
    /// ln(n!) - ln(sqrt(2 pi n) (n / e)^n) for n from 1, where the series is too coarse.
    #[rustfmt::skip]
    const SMALL: [f64; 15] = [
        0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.020790672103765093,
        0.016644691189821193, 0.013876128823070748, 0.01189670994589177, 0.010411265261972096,
        0.009255462182712733, 0.00833056343336287, 0.00757367548795184, 0.00694284010720953,
        0.006408994188004207, 0.005951370112758848, 0.005554733551962801,
    ];
    let small = n.checked_sub(1).and_then(|at| SMALL.get(usize::try_from(at).ok()?));
    small.copied().unwrap_or_else(|| {
        let n = n as f64;
        let s = 1.0 / (n * n);
        (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - s / 1188.0) * s) * s) * s) / n
    })
}

/// x ln(x / mean) + mean - x, without cancellation where x is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * libm::log(x / mean) - difference;
    }
    let v = difference / (x + mean);
    let mut sum = difference * v;
    let mut term = 2.0 * x * v;
    let mut divisor = 1.0;
    loop {
        term *= v * v;
        divisor += 2.0;
        let next = sum + term / divisor;
        if next == sum {
            return sum;
        }
        sum = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-13, "{found:e} is not {expected:e}");
    }

    #[test]
    fn normal_quantiles() {
        near(normal_upper(0.025), 1.959963984540054);
        near(normal_upper(0.05), 1.6448536269514722);
        near(normal_upper(0.2), 0.8416212335729142);
        near(normal_upper(0.975), -1.959963984540054);
        near(normal_upper(1e-10), 6.361340902404056);
        assert!(normal_upper(0.5) < 1e-16);
    }

    #[test]
    fn binomial_tails_against_sums_of_exact_terms() {
        for n in 1..=60_u64 {
            for k in 0..=n {
                let mut choose = 1_u128;
                let mut sum = 0_u128;
                for j in 0..=n {
                    if j >= k {
                        sum += choose;
                    }
                    choose = choose * u128::from(n - j) / u128::from(j + 1);
                }
                near(binomial_at_least(k, n, 0.5, 0.5), sum as f64 / (1_u128 << n) as f64);
            }
        }
    }

    #[test]
    fn binomial_tails_at_the_edges() {
        assert_eq!(binomial_at_least(0, 10, 0.3, 0.7), 1.0);
        assert_eq!(binomial_at_least(11, 10, 0.3, 0.7), 0.0);
        assert_eq!(binomial_at_least(1, 10, 0.0, 1.0), 0.0);
        assert_eq!(binomial_at_least(10, 10, 1.0, 0.0), 1.0);
        near(binomial_at_least(1, 1_000_000, 1e-12, 1.0 - 1e-12), 9.999995000006668e-7);
        near(binomial_at_least(10, 10, 0.3, 0.7), 0.3_f64.powi(10));
    }
}
