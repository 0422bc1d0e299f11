//! Python bindings of steelyard-core: conversions, GIL release and error mapping, no rules.

use pyo3::prelude::*;

mod canonical_py;
mod errors;
mod score_py;
mod stats_py;

/// The version that provenance and `steelyard version` show.
const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Fixed by `build.rs` over everything that can change a rule.
const ENGINE_DIGEST: &str = env!("STEELYARD_ENGINE_DIGEST");

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ENGINE_VERSION", ENGINE_VERSION)?;
    module.add("ENGINE_DIGEST", ENGINE_DIGEST)?;
    module.add("ERROR_CODES", steelyard_core::Error::ALL_CODES.to_vec())?;
    canonical_py::register(module)?;
    score_py::register(module)?;
    stats_py::register(module)
}
