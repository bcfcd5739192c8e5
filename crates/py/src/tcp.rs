//! The options of TCP: schema, presets and resolution.

use crate::{errors::spec_error, schema::param_dict};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyList},
};
use sojourn_aqm::Conventions;
use sojourn_sim::tcp::schema;
use std::collections::BTreeMap;

/// Every option of TCP, with its value under each preset.
#[pyfunction]
pub(crate) fn tcp_schema(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for option in &schema::OPTIONS {
        let dict = param_dict(py, &option.param)?;
        let presets = PyDict::new(py);
        for preset in Conventions::ALL {
            presets.set_item(preset.name(), option.under(preset))?;
        }
        dict.set_item("presets", presets)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// The options of a preset, with overrides.
#[pyfunction]
pub(crate) fn tcp_options<'py>(
    py: Python<'py>,
    conventions: &str,
    overrides: BTreeMap<String, String>,
) -> PyResult<Bound<'py, PyAny>> {
    let set: Vec<(String, String)> = overrides.into_iter().collect();
    let options = schema::resolve(conventions, &set).map_err(|e| spec_error(py, &e))?;
    let json = serde_json::to_string(&options).map_err(|e| PyValueError::new_err(e.to_string()))?;
    py.import("json")?.call_method1("loads", (json,))
}
