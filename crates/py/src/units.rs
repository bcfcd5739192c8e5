//! The parser of units, for Python.

use pyo3::{exceptions::PyValueError, prelude::*};
use sojourn_aqm::{
    Limit,
    units::{self, Size},
};

const KINDS: &str = "span, rate, bytes, size, limit";

/// Parse `word` as a span (ns), rate (bit/s), bytes, or as a size or limit (number and unit).
#[pyfunction]
pub(crate) fn parse_unit<'py>(py: Python<'py>, kind: &str, word: &str) -> PyResult<Bound<'py, PyAny>> {
    let wrong = PyValueError::new_err::<String>;
    Ok(match kind {
        "span" => units::span(word).map_err(wrong)?.0.into_pyobject(py)?.into_any(),
        "rate" => units::rate(word).map_err(wrong)?.into_pyobject(py)?.into_any(),
        "bytes" => units::bytes(word).map_err(wrong)?.into_pyobject(py)?.into_any(),
        "size" => match units::size(word).map_err(wrong)? {
            Size::Packets(n) => (n, "p").into_pyobject(py)?.into_any(),
            Size::Bytes(b) => (b, "B").into_pyobject(py)?.into_any(),
        },
        "limit" => match units::limit(word).map_err(wrong)? {
            Limit::Packets(n) => (n, "p").into_pyobject(py)?.into_any(),
            Limit::Bytes(b) => (b, "B").into_pyobject(py)?.into_any(),
        },
        _ => return Err(PyValueError::new_err(format!("{kind:?} is not a kind of unit; allowed: {KINDS}"))),
    })
}

/// The canonical spelling of a quantity: `10mbit` becomes `10Mbit/s`.
#[pyfunction]
pub(crate) fn canonical_unit(kind: &str, word: &str) -> PyResult<String> {
    let wrong = PyValueError::new_err::<String>;
    Ok(match kind {
        "span" => units::show_span(units::span(word).map_err(wrong)?),
        "rate" => units::show_rate(units::rate(word).map_err(wrong)?),
        "bytes" => Size::Bytes(units::bytes(word).map_err(wrong)?).to_string(),
        "size" => units::size(word).map_err(wrong)?.to_string(),
        "limit" => match units::limit(word).map_err(wrong)? {
            Limit::Packets(n) => Size::Packets(f64::from(n)).to_string(),
            Limit::Bytes(b) => Size::Bytes(b as f64).to_string(),
        },
        _ => return Err(PyValueError::new_err(format!("{kind:?} is not a kind of unit; allowed: {KINDS}"))),
    })
}

/// The candidate nearest to `word`, if one is near.
#[pyfunction]
pub(crate) fn nearest(word: &str, candidates: Vec<String>) -> Option<String> {
    units::nearest(word, candidates.iter().map(String::as_str))
}
