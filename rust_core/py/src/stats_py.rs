//! Statistics of paired evaluations.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use steelyard_core::stats::{self, Design, PairedTest, Resampling};
use steelyard_core::{Error, stats::Interval};

use crate::errors::to_python;

/// Signs to draw from which resampling takes about a millisecond; below, the GIL is kept.
const RELEASE_GIL_SIGNS: usize = 1 << 22;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(stats_wilson, module)?)?;
    module.add_function(wrap_pyfunction!(stats_clopper_pearson, module)?)?;
    module.add_function(wrap_pyfunction!(stats_holm, module)?)?;
    module.add_function(wrap_pyfunction!(stats_mcnemar, module)?)?;
    module.add_function(wrap_pyfunction!(stats_mcnemar_power, module)?)?;
    module.add_function(wrap_pyfunction!(stats_mcnemar_detectable, module)?)?;
    module.add_function(wrap_pyfunction!(stats_mcnemar_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(stats_sign_flip, module)?)?;
    module.add_function(wrap_pyfunction!(stats_sign_flip_power, module)?)?;
    module.add_function(wrap_pyfunction!(stats_sign_flip_detectable, module)?)?;
    module.add_function(wrap_pyfunction!(stats_sign_flip_pairs, module)?)
}

#[pyfunction]
fn stats_wilson(py: Python<'_>, successes: i64, trials: i64, alpha: f64) -> PyResult<(f64, f64)> {
    interval(py, successes, trials, alpha, stats::wilson)
}

#[pyfunction]
fn stats_clopper_pearson(
    py: Python<'_>,
    successes: i64,
    trials: i64,
    alpha: f64,
) -> PyResult<(f64, f64)> {
    interval(py, successes, trials, alpha, stats::clopper_pearson)
}

fn interval(
    py: Python<'_>,
    successes: i64,
    trials: i64,
    alpha: f64,
    method: fn(u64, u64, f64) -> Result<Interval, Error>,
) -> PyResult<(f64, f64)> {
    let (successes, trials) = (count(py, "successes", successes)?, count(py, "trials", trials)?);
    let interval = py.detach(|| method(successes, trials, alpha));
    raised(py, interval.map(|interval| (interval.low, interval.high)))
}

#[pyfunction]
fn stats_holm(py: Python<'_>, p_values: Vec<f64>) -> PyResult<Vec<f64>> {
    raised(py, stats::holm(&p_values))
}

#[pyfunction]
#[pyo3(signature = (losses, wins, pairs, margin=0.0))]
fn stats_mcnemar(
    py: Python<'_>,
    losses: i64,
    wins: i64,
    pairs: i64,
    margin: f64,
) -> PyResult<(f64, f64, f64)> {
    let (losses, wins) = (count(py, "losses", losses)?, count(py, "wins", wins)?);
    let pairs = count(py, "pairs", pairs)?;
    raised(py, py.detach(|| stats::mcnemar(losses, wins, pairs, margin)).map(p_values))
}

#[pyfunction]
fn stats_mcnemar_power(
    py: Python<'_>,
    pairs: i64,
    discordance: f64,
    effect: f64,
    alpha: f64,
) -> PyResult<f64> {
    let pairs = count(py, "pairs", pairs)?;
    raised(py, Design::McNemar { discordance }.power(pairs, effect, alpha))
}

#[pyfunction]
fn stats_mcnemar_detectable(
    py: Python<'_>,
    pairs: i64,
    discordance: f64,
    alpha: f64,
    power: f64,
) -> PyResult<Option<f64>> {
    let pairs = count(py, "pairs", pairs)?;
    raised(py, Design::McNemar { discordance }.detectable(pairs, alpha, power))
}

#[pyfunction]
fn stats_mcnemar_pairs(
    py: Python<'_>,
    discordance: f64,
    effect: f64,
    alpha: f64,
    power: f64,
) -> PyResult<Option<u64>> {
    raised(py, Design::McNemar { discordance }.pairs(effect, alpha, power))
}

#[pyfunction]
#[pyo3(signature = (baseline, candidate, *, seed, margin=0.0, flips=10_000, threads=1))]
fn stats_sign_flip(
    py: Python<'_>,
    baseline: Scores,
    candidate: Scores,
    seed: i64,
    margin: f64,
    flips: i64,
    threads: i64,
) -> PyResult<(f64, f64, f64, f64, u64, bool)> {
    let flips = count(py, "flips", flips)?;
    let threads = usize::try_from(count(py, "threads", threads)?).unwrap_or(usize::MAX);
    // Every integer that JSON holds is a seed, negative ones too.
    let resampling = Resampling { flips, seed: seed.cast_unsigned(), threads };
    let test = || stats::sign_flip(&baseline.0, &candidate.0, margin, resampling);
    let release = baseline.0.len().saturating_mul(flips as usize) >= RELEASE_GIL_SIGNS;
    let result = raised(py, if release { py.detach(test) } else { test() })?;
    let (two_sided, worse, non_inferior) = p_values(result.p);
    Ok((result.mean_difference, two_sided, worse, non_inferior, result.patterns, result.exact))
}

#[pyfunction]
fn stats_sign_flip_power(
    py: Python<'_>,
    pairs: i64,
    deviation: f64,
    effect: f64,
    alpha: f64,
) -> PyResult<f64> {
    let pairs = count(py, "pairs", pairs)?;
    raised(py, Design::SignFlip { deviation }.power(pairs, effect, alpha))
}

#[pyfunction]
fn stats_sign_flip_detectable(
    py: Python<'_>,
    pairs: i64,
    deviation: f64,
    alpha: f64,
    power: f64,
) -> PyResult<Option<f64>> {
    let pairs = count(py, "pairs", pairs)?;
    raised(py, Design::SignFlip { deviation }.detectable(pairs, alpha, power))
}

#[pyfunction]
fn stats_sign_flip_pairs(
    py: Python<'_>,
    deviation: f64,
    effect: f64,
    alpha: f64,
    power: f64,
) -> PyResult<Option<u64>> {
    raised(py, Design::SignFlip { deviation }.pairs(effect, alpha, power))
}

/// Scores from a buffer of binary64 numbers or a sequence of numbers.
struct Scores(Vec<f64>);

impl<'a, 'py> FromPyObject<'a, 'py> for Scores {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match PyBuffer::<f64>::get(&object) {
            Ok(buffer) => buffer.to_vec(object.py()).map(Self),
            Err(_) => object.extract().map(Self),
        }
    }
}

fn p_values(p: PairedTest) -> (f64, f64, f64) {
    (p.two_sided, p.worse, p.non_inferior)
}

fn count(py: Python<'_>, path: &str, value: i64) -> PyResult<u64> {
    raised(
        py,
        u64::try_from(value).map_err(|_| Error::ParameterOutOfRange {
            path: path.to_owned(),
            expected: "a count from 0",
            found: value.to_string(),
        }),
    )
}

fn raised<T>(py: Python<'_>, result: Result<T, Error>) -> PyResult<T> {
    result.map_err(|error| to_python(py, &error))
}
