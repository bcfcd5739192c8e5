//! The registry of algorithms as dicts: names, parameters and documentation.

use crate::{errors::spec_error, user_aqm};
use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use sojourn_aqm::{Algorithm, Context, DefaultValue, Kind, Limit, Param, Spec, Value, allowed, registry};

/// Every algorithm with its parameters, probes and documentation.
#[pyfunction]
pub(crate) fn algorithms(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    entries(py, registry::ALGORITHMS.iter().copied())
}

/// Every scheduler, in the form of `algorithms`.
#[pyfunction]
pub(crate) fn schedulers(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    entries(py, registry::SCHEDULERS.iter().map(|discipline| &discipline.algorithm))
}

/// Every marker, in the form of `algorithms`.
#[pyfunction]
pub(crate) fn markers(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    entries(py, registry::MARKERS.iter().map(|profile| &profile.algorithm))
}

fn entries(py: Python<'_>, known: impl Iterator<Item = &'static Algorithm>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for algorithm in known {
        list.append(algorithm_dict(py, algorithm)?)?;
    }
    Ok(list)
}

/// The canonical form of a spec: words in schema order, one spelling for each value.
///
/// The spec of a class whose parameters are unknown, since its code may not be executed, keeps its words.
#[pyfunction]
pub(crate) fn canonical(py: Python<'_>, spec: &str) -> PyResult<String> {
    Ok(match user_aqm::read(py, spec)? {
        Some(spec) => spec.to_string(),
        None => spec.split_whitespace().collect::<Vec<_>>().join(" "),
    })
}

/// The canonical form of the spec of a marker; an incomplete profile is refused.
#[pyfunction]
pub(crate) fn canonical_marker(py: Python<'_>, spec: &str) -> PyResult<String> {
    let read = || {
        let spec = Spec::parse_marker(spec)?;
        spec.marker(NO_LINK).map(|_| spec.to_string())
    };
    read().map_err(|e| spec_error(py, &e))
}

/// A marker does not depend on a link.
const NO_LINK: Context = Context::new(1, Limit::Packets(1));

/// The parts of a spec: `name`, `limit` (or None), the `values` that are set, `ecn`, whether it enables ECN,
/// and `known`: false for a class whose parameters are unknown, since its code may not be executed; it has no
/// `values`.
#[pyfunction]
pub(crate) fn spec_info<'py>(py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyDict>> {
    let (values, dict) = (PyDict::new(py), PyDict::new(py));
    let Some(spec) = user_aqm::read(py, spec)? else {
        let words: Vec<&str> = spec.split_whitespace().collect();
        let after = |key| words.iter().position(|word| *word == key).map(|at| words.get(at + 1).copied());
        dict.set_item("name", words[0])?;
        dict.set_item("limit", after("limit").flatten())?;
        dict.set_item("values", values)?;
        dict.set_item("known", false)?;
        dict.set_item("ecn", after("ecn").is_some_and(|next| !matches!(next, Some("off" | "no" | "false"))))?;
        return Ok(dict);
    };
    for (param, value) in &spec.values {
        match value {
            Value::Number(x) => values.set_item(param.name, x)?,
            Value::Integer(i) => values.set_item(param.name, i)?,
            Value::Flag(on) => values.set_item(param.name, on)?,
            other => values.set_item(param.name, other.to_string())?,
        }
    }
    let limit = spec.limit.map(|l| match l {
        Limit::Packets(n) => format!("{n}p"),
        Limit::Bytes(b) => format!("{b}B"),
    });
    dict.set_item("name", spec.algorithm.name)?;
    dict.set_item("limit", limit)?;
    dict.set_item("values", values)?;
    dict.set_item("known", true)?;
    dict.set_item("ecn", spec.says_ecn())?;
    Ok(dict)
}

pub(crate) fn algorithm_dict<'py>(py: Python<'py>, algorithm: &Algorithm) -> PyResult<Bound<'py, PyDict>> {
    let params = PyList::empty(py);
    for param in algorithm.params {
        params.append(param_dict(py, param)?)?;
    }
    let probes = PyList::empty(py);
    for probe in algorithm.probes {
        let dict = PyDict::new(py);
        dict.set_item("name", probe.name)?;
        dict.set_item("unit", probe.unit)?;
        dict.set_item("doc", probe.doc)?;
        probes.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("name", algorithm.name)?;
    dict.set_item("title", algorithm.title)?;
    dict.set_item("alias_of", algorithm.alias_of)?;
    dict.set_item("source", algorithm.source)?;
    dict.set_item("doc", algorithm.doc())?;
    dict.set_item("params", params)?;
    dict.set_item("probes", probes)?;
    Ok(dict)
}

/// A parameter; an infinite bound of its range is None.
pub(crate) fn param_dict<'py>(py: Python<'py>, param: &Param) -> PyResult<Bound<'py, PyDict>> {
    let (kind, choices): (&str, &[&str]) = match param.kind {
        Kind::Number => ("number", &[]),
        Kind::Integer => ("integer", &[]),
        Kind::Flag => ("flag", &[]),
        Kind::Span => ("span", &[]),
        Kind::Rate => ("rate", &[]),
        Kind::Size => ("size", &[]),
        Kind::Choice(words) => ("choice", words),
        Kind::Spec => ("spec", &[]),
    };
    let (default, derived) = match param.default {
        DefaultValue::Value(word) => (word, false),
        DefaultValue::Derived(text) => (text, true),
    };
    let range = PyDict::new(py);
    range.set_item("min", Some(param.range.min).filter(|x| x.is_finite()))?;
    range.set_item("max", Some(param.range.max).filter(|x| x.is_finite()))?;
    range.set_item("above", param.range.above)?;
    range.set_item("below", param.range.below)?;
    let dict = PyDict::new(py);
    dict.set_item("name", param.name)?;
    dict.set_item("kind", kind)?;
    dict.set_item("unit", param.unit)?;
    dict.set_item("default", default)?;
    dict.set_item("derived", derived)?;
    dict.set_item("ns2", param.ns2)?;
    dict.set_item("ns2_2001", param.ns2_2001)?;
    dict.set_item("linux", param.linux)?;
    dict.set_item("range", range)?;
    dict.set_item("allowed", allowed(param))?;
    dict.set_item("choices", choices.to_vec())?;
    dict.set_item("doc", param.doc)?;
    dict.set_item("source", param.source)?;
    dict.set_item("tc", param.tc)?;
    Ok(dict)
}
