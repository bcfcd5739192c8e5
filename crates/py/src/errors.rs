//! Maps errors of the core to Python exceptions.

use crate::python_aqm::Violation;
use pyo3::{
    create_exception, exceptions::PyException, exceptions::PyKeyboardInterrupt, exceptions::PyValueError,
    prelude::*,
};
use sojourn_aqm::{SpecError as CoreSpecError, units};
use sojourn_sim::PlanError as CorePlanError;

create_exception!(sojourn._core, SpecError, PyValueError, "An algorithm spec that is refused.");
create_exception!(sojourn._core, PlanError, PyValueError, "A scenario that the simulator refuses.");
create_exception!(sojourn._core, Cancelled, PyException, "The run was cancelled.");
create_exception!(
    sojourn._core,
    ConservationError,
    PyException,
    "Packet counts are inconsistent: a defect of the simulator."
);
create_exception!(
    sojourn._core,
    AlgorithmError,
    PyException,
    "An algorithm written in Python violated a rule."
);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SpecError", py.get_type::<SpecError>())?;
    module.add("PlanError", py.get_type::<PlanError>())?;
    module.add("Cancelled", py.get_type::<Cancelled>())?;
    module.add("AlgorithmError", py.get_type::<AlgorithmError>())?;
    module.add("ConservationError", py.get_type::<ConservationError>())
}

/// The violation of a handler, with the rule as an attribute; Ctrl-C becomes KeyboardInterrupt.
pub(crate) fn algorithm_error(py: Python<'_>, violation: &Violation) -> PyErr {
    if violation.interrupted {
        return PyKeyboardInterrupt::new_err(());
    }
    let raised = AlgorithmError::new_err(violation.text.clone());
    match raised.value(py).setattr("rule", violation.rule) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

/// The error of a spec, with its parts as attributes.
pub(crate) fn spec_error(py: Python<'_>, error: &CoreSpecError) -> PyErr {
    // The nearest choice is determined here, for algorithms, markers and TCP alike.
    let choice = error.problem.strip_prefix("= ").and_then(|rest| rest.strip_suffix(UNKNOWN_CHOICE));
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

/// The end of the problem that the core reports for an unknown choice.
const UNKNOWN_CHOICE: &str = " is not one of the allowed words";

/// The error of a plan, with its parts as attributes.
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
