//! The algorithms that users wrote in Python, beside the registry's, under the same schema.
//!
//! `register` turns a class and its description into an [`Algorithm`], so that specs, errors, defaults and
//! pages work as for a built-in one. A spec whose name is not known yet (`mine.py:Mine`) is looked up by
//! `sojourn.algorithms.find`, which loads the file and registers the class.

use crate::{
    errors::{algorithm_error, spec_error},
    python_aqm::{Class, Misbehaved, PythonAqm},
    schema::algorithm_dict,
    views::Link,
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use sojourn_aqm::{
    Algorithm, Aqm, Context, DefaultValue, Kind, Param, Probe, Range, Settings, Spec, SpecError, Value,
    allowed, registry, units::Size,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// One registered class.
struct Entry {
    algorithm: &'static Algorithm,
    class: Class,
    object: Py<PyAny>,
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What Python says of a class.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Description {
    title: String,
    source: String,
    doc: String,
    file: String,
    overridden: Vec<String>,
    params: Vec<ParamDescription>,
    probes: Vec<(String, String, String)>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ParamDescription {
    name: String,
    kind: String,
    unit: String,
    default: String,
    derived: bool,
    min: f64,
    max: f64,
    above: bool,
    below: bool,
    choices: Vec<String>,
    doc: String,
    source: String,
}

/// Make `class_` known as `name`; an older class of that name is forgotten.
///
/// Names and texts live as long as the process: a class is registered once a version of its file.
#[pyfunction]
pub(crate) fn register(
    py: Python<'_>,
    name: &str,
    class_: Py<PyAny>,
    description: Description,
) -> PyResult<()> {
    let name = leak(name);
    let mut params: Vec<Param> = description.params.iter().map(param).collect::<PyResult<_>>()?;
    if let Some(ecn) = registry::find("red").and_then(|red| red.param("ecn"))
        && params.iter().all(|p| p.name != "ecn")
    {
        params.push(*ecn);
    }
    for param in &params {
        if let DefaultValue::Value(word) = param.default
            && let Err(why) = Value::parse(param, word)
        {
            let key = format!("{name}.{}", param.name);
            let problem = format!("default = {word} {why}");
            return Err(spec_error(py, &SpecError { key, problem, allowed: allowed(param), nearest: None }));
        }
    }
    let probes: Vec<Probe> = description
        .probes
        .iter()
        .map(|(name, unit, doc)| Probe { name: leak(name), unit: leak(unit), doc: leak(doc) })
        .collect();
    let probes: &'static [Probe] = Box::leak(probes.into_boxed_slice());
    let page: String = description.doc.lines().map(|line| format!("//! {line}\n")).collect();
    let algorithm: &'static Algorithm = Box::leak(Box::new(Algorithm {
        name,
        title: leak(&description.title),
        alias_of: None,
        source: leak(&description.source),
        params: Box::leak(params.into_boxed_slice()),
        probes,
        ns2_limit_counts_service: false,
        file: leak(&page),
        build,
    }));
    let class_facts = Class { name, file: description.file, overridden: description.overridden, probes };
    let entry = Entry { algorithm, class: class_facts, object: class_ };
    let mut entries = entries();
    entries.retain(|other| other.algorithm.name != name);
    entries.push(entry);
    Ok(())
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn param(one: &ParamDescription) -> PyResult<Param> {
    let kind = match one.kind.as_str() {
        "number" => Kind::Number,
        "integer" => Kind::Integer,
        "flag" => Kind::Flag,
        "span" => Kind::Span,
        "rate" => Kind::Rate,
        "size" => Kind::Size,
        "choice" => {
            let words: Vec<&'static str> = one.choices.iter().map(|word| leak(word)).collect();
            Kind::Choice(Box::leak(words.into_boxed_slice()))
        }
        other => return Err(PyValueError::new_err(format!("{other:?} is no kind of parameter"))),
    };
    let default = leak(&one.default);
    let default = if one.derived { DefaultValue::Derived(default) } else { DefaultValue::Value(default) };
    Ok(Param::new(leak(&one.name), kind, default, leak(&one.doc))
        .unit(leak(&one.unit))
        .range(Range { min: one.min, max: one.max, above: one.above, below: one.below })
        .source(leak(&one.source)))
}

/// Every class that is known now.
pub(crate) fn known() -> Vec<&'static Algorithm> {
    entries().iter().map(|entry| entry.algorithm).collect()
}

/// Whether `name` can only be a class of the user's: no built-in has a colon.
pub(crate) fn is_own(name: &str) -> bool {
    name.contains(':')
}

/// Read a spec of the registry or of a class; a class that is not known yet is loaded.
pub(crate) fn parse(py: Python<'_>, text: &str) -> PyResult<Spec> {
    find(py, text.split_whitespace().next().unwrap_or_default())?;
    Spec::parse_with(text, &known()).map_err(|error| spec_error(py, &error))
}

/// Have `name` registered, if it is a class.
fn find(py: Python<'_>, name: &str) -> PyResult<()> {
    if is_own(name) {
        py.import("sojourn.algorithms")?.getattr("find")?.call1((name,))?;
    }
    Ok(())
}

/// One algorithm with its parameters, probes and documentation.
#[pyfunction]
pub(crate) fn algorithm<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    algorithm_dict(py, parse(py, name)?.algorithm)
}

/// Run something that may call Python's handlers; what they break becomes an exception.
pub(crate) fn guarded<T>(py: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| match panic.downcast::<Misbehaved>() {
        Ok(misbehaved) => Err(algorithm_error(py, &misbehaved)),
        Err(panic) => resume_unwind(panic),
    })
}

fn build(settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    make(settings).map(|aqm| Box::new(aqm) as Box<dyn Aqm>)
}

/// Make the instance of a run: parameters as attributes, then `start`.
pub(crate) fn make(settings: &Settings) -> Result<PythonAqm, SpecError> {
    Python::attach(|py| {
        let found = entries()
            .iter()
            .find(|entry| core::ptr::eq(entry.algorithm, settings.spec.algorithm))
            .map(|entry| (entry.class.clone(), entry.object.clone_ref(py)));
        let refused = |problem: &str| SpecError {
            key: settings.spec.algorithm.name.to_owned(),
            problem: problem.to_owned(),
            allowed: String::new(),
            nearest: None,
        };
        let Some((class, object)) = found else { return Err(refused("was replaced by a newer version")) };
        let place = format!("{}.start", class.name);
        match instance(&object.into_bound(py), settings) {
            Ok(instance) => PythonAqm::new(class, &instance).map_err(|error| refused(&error.to_string())),
            Err(error) => {
                let misbehaved = Misbehaved::raised(py, &place, &class.file, &error);
                if misbehaved.interrupted {
                    resume_unwind(Box::new(misbehaved));
                }
                // A ValueError of `start` is how a class refuses values that do not fit together.
                if error.is_instance_of::<PyValueError>(py) {
                    return Err(refused(&format!("refuses its parameters: {}", error.value(py))));
                }
                Err(refused(misbehaved.text.strip_prefix(class.name).unwrap_or(&misbehaved.text)))
            }
        }
    })
}

fn instance<'py>(class: &Bound<'py, PyAny>, settings: &Settings) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let instance = class.call_method1("__new__", (class,))?;
    for param in settings.spec.algorithm.params {
        instance.setattr(param.name, plain(py, settings, param)?)?;
    }
    instance.setattr("ecn", settings.ecn())?;
    instance.setattr("link", Link(settings.context))?;
    instance.call_method0("start")?;
    Ok(instance)
}

/// A parameter's value as a handler computes with it: ns, bit/s, packets or bytes; None if it is derived.
fn plain<'py>(py: Python<'py>, settings: &Settings, param: &Param) -> PyResult<Bound<'py, PyAny>> {
    let Context { mean_packet, .. } = settings.context;
    Ok(match settings.get(param.name) {
        None => py.None().into_bound(py),
        Some(Value::Number(x)) => x.into_pyobject(py)?.into_any(),
        Some(Value::Integer(i)) => i.into_pyobject(py)?.into_any(),
        Some(Value::Flag(on)) => on.into_pyobject(py)?.to_owned().into_any(),
        Some(Value::Span(span)) => span.0.into_pyobject(py)?.into_any(),
        Some(Value::Rate(rate)) => rate.into_pyobject(py)?.into_any(),
        Some(Value::Size(size)) => {
            let mean_packet = f64::from(mean_packet);
            let amount = match (size, param.unit) {
                (Size::Packets(n), "bytes") => n * mean_packet,
                (Size::Bytes(b), "packets") => b / mean_packet,
                (size, _) => size.plain(),
            };
            amount.into_pyobject(py)?.into_any()
        }
        Some(Value::Choice(word)) => word.into_pyobject(py)?.into_any(),
        Some(Value::Spec(text)) => text.into_pyobject(py)?.into_any(),
    })
}
