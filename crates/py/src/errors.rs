//! Errors of the core as Python exceptions.

use crate::python_aqm::Misbehaved;
use pyo3::{
    create_exception, exceptions::PyException, exceptions::PyKeyboardInterrupt, exceptions::PyValueError,
    prelude::*,
};
use sojourn_aqm::{SpecError as CoreSpecError, units};
use sojourn_sim::PlanError as CorePlanError;

create_exception!(sojourn._core, SpecError, PyValueError, "An algorithm spec that is refused.");
create_exception!(sojourn._core, PlanError, PyValueError, "A scenario that the simulator refuses.");
create_exception!(sojourn._core, Cancelled, PyException, "The run was cancelled.");
create_exception!(sojourn._core, ConservationError, PyException, "Packets were lost or invented: a defect.");
create_exception!(sojourn._core, AlgorithmError, PyException, "An algorithm written in Python broke a rule.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SpecError", py.get_type::<SpecError>())?;
    module.add("PlanError", py.get_type::<PlanError>())?;
    module.add("Cancelled", py.get_type::<Cancelled>())?;
    module.add("AlgorithmError", py.get_type::<AlgorithmError>())?;
    module.add("ConservationError", py.get_type::<ConservationError>())
}

/// What a handler did, with the broken rule as attribute; Ctrl-C stays what it is.
pub(crate) fn algorithm_error(py: Python<'_>, misbehaved: &Misbehaved) -> PyErr {
    if misbehaved.interrupted {
        return PyKeyboardInterrupt::new_err(());
    }
    let raised = AlgorithmError::new_err(misbehaved.text.clone());
    match raised.value(py).setattr("rule", misbehaved.rule) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

/// What is wrong with a spec, with its parts as attributes.
pub(crate) fn spec_error(py: Python<'_>, error: &CoreSpecError) -> PyErr {
    // The near word of a misspelt choice is looked for here, once for algorithms, markers and TCP.
    let choice = error.problem.strip_prefix("= ").and_then(|rest| rest.strip_suffix(NO_CHOICE));
    let near = choice.and_then(|word| units::nearest(word, error.allowed.split(" | ")));
    let raised = SpecError::new_err(error.to_string());
    describe(
        py,
        raised,
        &error.key,
        &error.problem,
        &error.allowed,
        error.nearest.as_deref().or(near.as_deref()),
    )
}

/// How the core says that a word is none of a parameter's.
const NO_CHOICE: &str = " is not one of the allowed words";

/// What is wrong with a plan, with its parts as attributes.
pub(crate) fn plan_error(py: Python<'_>, error: &CorePlanError) -> PyErr {
    let raised = PlanError::new_err(error.to_string());
    describe(py, raised, &error.key, &error.problem, &error.allowed, error.nearest.as_deref())
}

/// Set the attributes `key`, `problem`, `allowed`, `nearest`.
fn describe(
    py: Python<'_>,
    raised: PyErr,
    key: &str,
    problem: &str,
    allowed: &str,
    nearest: Option<&str>,
) -> PyErr {
    let value = raised.value(py);
    let set = || -> PyResult<()> {
        value.setattr("key", key)?;
        value.setattr("problem", problem)?;
        value.setattr("allowed", allowed)?;
        value.setattr("nearest", nearest)
    };
    match set() {
        Ok(()) => raised,
        Err(other) => other,
    }
}
