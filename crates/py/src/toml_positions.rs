//! Positions of the keys of a TOML text. Python's parser, which reads the values, does not keep them.

use pyo3::{IntoPyObjectExt, prelude::*, types::PyTuple};
use toml::de::{DeTable, DeValue};

/// The line and column, both from 1, of every key and of every table in an array.
///
/// A path holds keys and, for elements of arrays, indices from 0. A text that is not TOML has no positions.
#[pyfunction]
pub(crate) fn toml_positions<'py>(
    py: Python<'py>,
    text: &str,
) -> PyResult<Vec<(Bound<'py, PyTuple>, usize, usize)>> {
    let Ok(document) = DeTable::parse(text) else { return Ok(Vec::new()) };
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut found = Vec::new();
    collect_table(document.get_ref(), &mut Vec::new(), &mut found);
    found
        .into_iter()
        .map(|(path, at)| {
            let line = starts.partition_point(|&start| start <= at);
            let column = text[starts[line - 1]..at].chars().count() + 1;
            let parts: Vec<_> = path.into_iter().map(|part| part.into_py(py)).collect::<PyResult<_>>()?;
            Ok((PyTuple::new(py, parts)?, line, column))
        })
        .collect()
}

/// One step from a table or an array to what is inside.
#[derive(Clone)]
enum Part {
    Key(String),
    Index(usize),
}

impl Part {
    fn into_py(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Key(key) => key.into_bound_py_any(py),
            Self::Index(index) => index.into_bound_py_any(py),
        }
    }
}

/// A path, and the offset of its key in bytes.
type Found = Vec<(Vec<Part>, usize)>;

fn collect_table(table: &DeTable<'_>, path: &mut Vec<Part>, found: &mut Found) {
    for (key, value) in table {
        path.push(Part::Key(key.get_ref().to_string()));
        found.push((path.clone(), key.span().start));
        collect_value(value.get_ref(), path, found);
        path.pop();
    }
}

fn collect_value(value: &DeValue<'_>, path: &mut Vec<Part>, found: &mut Found) {
    match value {
        DeValue::Table(table) => collect_table(table, path, found),
        DeValue::Array(array) => {
            for (index, element) in array.iter().enumerate() {
                path.push(Part::Index(index));
                found.push((path.clone(), element.span().start));
                collect_value(element.get_ref(), path, found);
                path.pop();
            }
        }
        _ => {}
    }
}
