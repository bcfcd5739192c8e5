//! Registration of algorithms that are written in Python.
//!
//! `register` converts a class and its description into an [`Algorithm`], so that specs, errors, defaults and
//! pages work as for built-in algorithms. `sojourn.algorithms.find` loads the file of an unknown name
//! (`mine.py:Mine`) and registers the class, if its code may be executed. `describe` registers a description
//! alone: specs of the class can then be read, but no run can use it.

use crate::{
    errors::{algorithm_error, spec_error},
    python_aqm::{Class, PythonAqm, Violation},
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

/// A registered class.
struct Entry {
    algorithm: &'static Algorithm,
    class: Class,
    object: Py<PyAny>,
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// Algorithms of which only the description is known.
static STAND_INS: Mutex<Vec<&'static Algorithm>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The description of a class.
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
    draws_in_timer: bool,
    exports: Vec<String>,
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

/// Register `class_` as `name`, in place of an older class of that name.
///
/// Names and texts are never freed, so a class is registered once per version of its file.
#[pyfunction]
pub(crate) fn register(
    py: Python<'_>,
    name: &str,
    class_: Py<PyAny>,
    description: Description,
) -> PyResult<()> {
    let algorithm = described(py, name, &description, build)?;
    let Description { file, overridden, draws_in_timer, exports, .. } = description;
    let (name, probes) = (algorithm.name, algorithm.probes);
    let class_facts = Class { name, file, overridden, probes, draws_in_timer, exports };
    let entry = Entry { algorithm, class: class_facts, object: class_ };
    let mut entries = entries();
    entries.retain(|other| other.algorithm.name != name);
    entries.push(entry);
    Ok(())
}

/// Register the description of the class `name`, whose code is not loaded, in place of an older one.
///
/// Names and texts are never freed, so a description is registered once per version.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>, name: &str, description: Description) -> PyResult<()> {
    let algorithm = described(py, name, &description, refuse)?;
    let mut stand_ins = STAND_INS.lock().unwrap_or_else(PoisonError::into_inner);
    stand_ins.retain(|other| other.name != name);
    stand_ins.push(algorithm);
    Ok(())
}

/// The algorithm of a description.
fn described(
    py: Python<'_>,
    name: &str,
    description: &Description,
    build: fn(&Settings) -> Result<Box<dyn Aqm>, SpecError>,
) -> PyResult<&'static Algorithm> {
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
    Ok(Box::leak(Box::new(Algorithm {
        name,
        title: leak(&description.title),
        alias_of: None,
        source: leak(&description.source),
        params: Box::leak(params.into_boxed_slice()),
        probes,
        ns2_limit_counts_service: false,
        file: leak(&page),
        instance: sojourn_aqm::instance!(crate::python_aqm::PythonAqm),
        build,
    })))
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
        other => return Err(PyValueError::new_err(format!("{other:?} is not a kind of parameter"))),
    };
    let default = leak(&one.default);
    let default = if one.derived { DefaultValue::Derived(default) } else { DefaultValue::Value(default) };
    Ok(Param::new(leak(&one.name), kind, default, leak(&one.doc))
        .unit(leak(&one.unit))
        .range(Range { min: one.min, max: one.max, above: one.above, below: one.below })
        .source(leak(&one.source)))
}

/// All registered classes.
pub(crate) fn registered() -> Vec<&'static Algorithm> {
    entries().iter().map(|entry| entry.algorithm).collect()
}

/// Whether `name` is that of a class: names of built-in algorithms have no colon.
pub(crate) fn is_class(name: &str) -> bool {
    name.contains(':')
}

/// Parse a spec of built-in algorithms and classes, which are loaded if they are not registered.
pub(crate) fn parse(py: Python<'_>, text: &str) -> PyResult<Spec> {
    for name in classes_in(text) {
        py.import("sojourn.algorithms")?.getattr("find")?.call1((name,))?;
    }
    Spec::parse_with(text, &registered()).map_err(|error| spec_error(py, &error))
}

/// Parse a spec without executing code that is not permitted; None if only the name of a class is known.
pub(crate) fn read(py: Python<'_>, text: &str) -> PyResult<Option<Spec>> {
    let mut described = Vec::new();
    for name in classes_in(text) {
        let known: String = py.import("sojourn.algorithms")?.getattr("look")?.call1((name,))?.extract()?;
        match known.as_str() {
            "loaded" => {}
            "described" => described.push(name),
            _ => return Ok(None),
        }
    }
    if described.is_empty() {
        return parse(py, text).map(Some);
    }
    // A description may be that of another version of the class: it refuses nothing.
    let stand_ins = STAND_INS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut known = registered();
    known.retain(|one| !described.contains(&one.name));
    known.extend(stand_ins.iter().filter(|one| described.contains(&one.name)));
    Ok(Spec::parse_with(text, &known).ok())
}

/// The names of classes in a spec, those in the classes of a scheduler included.
#[pyfunction]
pub(crate) fn classes_in(text: &str) -> Vec<&str> {
    let mut names = Spec::names(text);
    names.retain(|name| is_class(name));
    names
}

/// One algorithm with its parameters, probes and documentation.
#[pyfunction]
pub(crate) fn algorithm<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    algorithm_dict(py, parse(py, name)?.algorithm)
}

/// Run a function that may call handlers in Python; a violation of theirs becomes an exception.
pub(crate) fn guarded<T>(py: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| match panic.downcast::<Violation>() {
        Ok(violation) => Err(algorithm_error(py, &violation)),
        Err(panic) => resume_unwind(panic),
    })
}

fn build(settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    instantiate(settings).map(|aqm| Box::new(aqm) as Box<dyn Aqm>)
}

/// Nothing is built from a description alone.
fn refuse(settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    Err(SpecError {
        key: settings.spec.algorithm.name.to_owned(),
        problem: "is not loaded".to_owned(),
        allowed: String::new(),
        nearest: None,
    })
}

/// Create the instance of a run: set its parameters as attributes, then call `start`.
pub(crate) fn instantiate(settings: &Settings) -> Result<PythonAqm, SpecError> {
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
                let violation = Violation::raised(py, &place, &class.file, &error);
                if violation.interrupted {
                    resume_unwind(Box::new(violation));
                }
                // A class refuses inconsistent values by a ValueError of `start`.
                if error.is_instance_of::<PyValueError>(py) {
                    return Err(refused(&format!("refuses its parameters: {}", error.value(py))));
                }
                Err(refused(violation.text.strip_prefix(class.name).unwrap_or(&violation.text)))
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

/// The value of a parameter as a plain number: ns, bit/s, packets or bytes; None if it is derived.
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
        Some(Value::Spec(spec)) => spec.to_string().into_pyobject(py)?.into_any(),
    })
}
