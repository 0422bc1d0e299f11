//! Core errors as Python exceptions: one place that knows `steelyard.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use steelyard_core::{Error, Kind};

static INVALID_INPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NOT_FOUND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static LIMIT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static VIOLATION: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The exception for a core error. Should the exception itself fail to build, that failure is it.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let (cell, name) = match error.kind() {
        Kind::InvalidInput => (&INVALID_INPUT, "InvalidInputError"),
        Kind::NotFound => (&NOT_FOUND, "NotFoundError"),
        Kind::Limit => (&LIMIT, "LimitError"),
    };
    let class = cell.import(py, "steelyard.errors", name)?;
    let violation = VIOLATION.import(py, "steelyard.errors", "Violation")?;
    let message = error.to_string();
    let at = format!("{}: ", error.path());
    let text = message.strip_prefix(&at).unwrap_or(&message);
    let violations = (violation.call1((error.path(), error.code(), text))?,);
    Ok(PyErr::from_value(class.call1((error.code(), message, violations))?))
}
