//! Policies, the columnar kernel and the wire path.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use steelyard_core::kernel::{BadScore, Kernel, Layout, Output, Path};
use steelyard_core::wire;
use steelyard_core::{Error, Policy as CorePolicy};

use crate::errors::to_python;

/// Work smaller than this keeps the GIL: taking it back can cost a thread switch interval, 5 ms,
/// where other threads are busy; 16 KiB of input is about 5 microseconds of work.
const RELEASE_GIL_BYTES: usize = 16 * 1024;

#[pyclass(module = "steelyard._core", frozen)]
#[derive(Clone)]
struct Policy(Kernel);

#[pymethods]
impl Policy {
    #[staticmethod]
    fn task_evaluation() -> Policy {
        Policy(Kernel::new(CorePolicy::task_evaluation()))
    }

    #[staticmethod]
    fn from_toml(py: Python<'_>, text: &str) -> PyResult<Policy> {
        CorePolicy::from_toml(text)
            .map(|policy| Policy(Kernel::new(policy)))
            .map_err(|error| to_python(py, &error))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.policy().name()
    }

    #[getter]
    fn version(&self) -> u32 {
        self.0.policy().version()
    }

    #[getter]
    fn digest(&self) -> &str {
        self.0.policy().digest()
    }

    #[getter]
    fn document(&self) -> &str {
        self.0.policy().document()
    }

    #[getter]
    fn arithmetic(&self) -> &'static str {
        self.0.policy().arithmetic().name()
    }

    #[getter]
    fn blend_weights(&self) -> (u32, u32) {
        self.0.policy().blend_points()
    }

    #[getter]
    fn categories<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.policy().categories().iter().map(|category| category.name.as_str()))
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.policy().weights_points())
    }

    #[getter]
    fn floors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.policy().categories().iter().map(|category| category.floor))
    }

    #[getter]
    fn bands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(
            py,
            self.0.policy().bands().iter().map(|band| (band.name.as_str(), band.min, band.max)),
        )
    }

    fn blend(&self, deterministic: u8, ai: u8) -> PyResult<u8> {
        Ok(self.0.policy().blend(valid(deterministic)?, valid(ai)?))
    }

    fn blend_samples(
        &self,
        deterministic: u8,
        samples: &[u8],
    ) -> PyResult<(u8, u8, u8, usize, f64)> {
        valid(deterministic)?;
        samples.iter().try_for_each(|sample| valid(*sample).map(drop))?;
        if samples.is_empty() {
            return Err(PyValueError::new_err("samples: at least one is needed"));
        }
        let (score, spread) = wire::score::blend_samples(self.0.policy(), deterministic, samples);
        Ok((score, spread.min, spread.max, spread.count, spread.band_stability))
    }

    fn overall(&self, finals: &[u8]) -> PyResult<u8> {
        if finals.len() != self.0.policy().categories().len() {
            return Err(PyValueError::new_err("finals: one for each category is needed"));
        }
        finals.iter().try_for_each(|score| valid(*score).map(drop))?;
        Ok(self.0.policy().overall(finals))
    }

    fn band(&self, score: u8) -> PyResult<u8> {
        Ok(self.0.policy().band(valid(score)?))
    }

    fn band_name(&self, score: u8) -> PyResult<&str> {
        let policy = self.0.policy();
        Ok(&policy.bands()[usize::from(policy.band(valid(score)?))].name)
    }

    fn __repr__(&self) -> String {
        format!("<Policy {}@{}>", self.0.policy().name(), self.0.policy().version())
    }
}

fn valid(score: u8) -> PyResult<u8> {
    if score > 100 {
        return Err(PyValueError::new_err(format!("{score} is not a score 0..100")));
    }
    Ok(score)
}

/// Scores flat arrays into flat arrays: finals, bands, overalls, overall bands and, for a policy with
/// floors, marks. The caller allocates the results: numpy can leave new memory as it is, and zeroing
/// it would cost as much as the kernel.
#[pyfunction]
#[pyo3(signature = (policy, by_column, deterministic, ai, final_scores, bands, overall_scores, overall_bands, below_floors=None, path=None))]
#[expect(clippy::too_many_arguments, reason = "two inputs and five results, each an array")]
fn score_arrays<'py>(
    py: Python<'py>,
    policy: &Policy,
    by_column: bool,
    deterministic: PyReadonlyArray1<'py, u8>,
    ai: PyReadonlyArray1<'py, u8>,
    mut final_scores: PyReadwriteArray1<'py, u8>,
    mut bands: PyReadwriteArray1<'py, u8>,
    mut overall_scores: PyReadwriteArray1<'py, u8>,
    mut overall_bands: PyReadwriteArray1<'py, u8>,
    mut below_floors: Option<PyReadwriteArray1<'py, u8>>,
    path: Option<&str>,
) -> PyResult<()> {
    let kernel = &policy.0;
    let policy = kernel.policy();
    let layout = if by_column { Layout::Columns } else { Layout::Rows };
    let path = match path {
        None => Path::best(),
        Some(name) => Path::ALL
            .into_iter()
            .find(|path| path.name() == name && path.is_available())
            .ok_or_else(|| PyValueError::new_err(format!("no kernel path {name:?} here")))?,
    };
    let (det, ai) = (deterministic.as_slice()?, ai.as_slice()?);
    let mut output = Output {
        final_scores: final_scores.as_slice_mut()?,
        bands: bands.as_slice_mut()?,
        overall_scores: overall_scores.as_slice_mut()?,
        overall_bands: overall_bands.as_slice_mut()?,
    };
    let below = match &mut below_floors {
        Some(array) => Some(array.as_slice_mut()?),
        None => None,
    };
    let tasks = output.overall_scores.len();
    let cells = tasks * policy.categories().len();
    let lengths = [
        det.len(),
        ai.len(),
        output.final_scores.len(),
        output.bands.len(),
        below.as_ref().map_or(cells, |marks| marks.len()),
    ];
    if lengths != [cells; 5] || output.overall_bands.len() != tasks {
        return Err(PyValueError::new_err("the arrays' lengths do not fit the policy"));
    }
    let work = || {
        kernel.score(path, layout, det, ai, &mut output)?;
        if let Some(below) = below {
            kernel.mark_below_floors(layout, output.final_scores, below);
        }
        Ok(())
    };
    let done = if cells < RELEASE_GIL_BYTES { work() } else { py.detach(work) };
    done.map_err(|bad: BadScore| {
        let input = if bad.is_ai { "ai" } else { "deterministic" };
        let category = &policy.categories()[bad.category].name;
        let error = Error::ScoreOutOfRange {
            path: format!("{input}[{}].{category}", bad.task),
            value: i64::from(bad.value),
        };
        to_python(py, &error)
    })
}

/// Names of the kernel paths that this machine can run; the last one is used by default.
#[pyfunction]
fn kernel_paths() -> Vec<&'static str> {
    Path::ALL.into_iter().filter(|path| path.is_available()).map(Path::name).collect()
}

#[pyclass(module = "steelyard._core", frozen)]
struct Engine(wire::Engine);

#[pymethods]
impl Engine {
    #[new]
    fn new(py: Python<'_>, policies: Vec<PyRef<'_, Policy>>, max_tasks: usize) -> PyResult<Engine> {
        let policies = policies.iter().map(|policy| policy.0.policy().clone()).collect();
        wire::Engine::new(policies, crate::ENGINE_VERSION, crate::ENGINE_DIGEST, max_tasks)
            .map(Engine)
            .map_err(|error| to_python(py, &error))
    }

    #[getter]
    fn policies(&self) -> Vec<Policy> {
        self.0.policies().cloned().map(|policy| Policy(Kernel::new(policy))).collect()
    }

    #[pyo3(signature = (name="", version=0))]
    fn policy(&self, py: Python<'_>, name: &str, version: u32) -> PyResult<Policy> {
        let found = self.0.policy(name, version);
        found
            .map(|policy| Policy(Kernel::new(policy.clone())))
            .map_err(|error| to_python(py, &error))
    }

    fn score<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyBytes>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = request.as_bytes();
        let answer = if bytes.len() < RELEASE_GIL_BYTES {
            self.0.score(bytes)
        } else {
            py.detach(|| self.0.score(bytes))
        };
        answer
            .map(|response| PyBytes::new(py, response.as_bytes()))
            .map_err(|error| to_python(py, &error))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Policy>()?;
    module.add_class::<Engine>()?;
    module.add_function(wrap_pyfunction!(score_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(kernel_paths, module)?)
}
