//! A gateway that runs in a native thread, from Python.

use crate::{
    errors::{ConservationError, plan_error},
    own,
    record::{column, record_dict},
};
use pyo3::{
    exceptions::{PyOSError, PyRuntimeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use sojourn_gateway::{GatewayError, Outcome, Plan, Tally};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

/// Real packets through the simulator's queues, in a native thread that holds no GIL.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Gateway {
    running: Mutex<Option<sojourn_gateway::Gateway>>,
}

#[pymethods]
impl Gateway {
    /// Start it; `plan_json` is the plan of `crates/gateway`, with the descriptors of open devices.
    #[new]
    fn new(py: Python<'_>, plan_json: &str) -> PyResult<Gateway> {
        let plan: Plan = serde_json::from_str(plan_json)
            .map_err(|e| PyValueError::new_err(format!("the plan cannot be read: {e}")))?;
        let plan = Plan { algorithms: own::known(), ..plan };
        own::guarded(py, || {
            let running = sojourn_gateway::Gateway::start(&plan).map_err(|error| raise(py, error))?;
            Ok(Gateway { running: Mutex::new(Some(running)) })
        })
    }

    /// How it stands: ``now_ns``, ``queues`` (forward, backward), counts outside the queues.
    fn live<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = &*running else { return Ok(None) };
        let live = running.live();
        let dict = PyDict::new(py);
        dict.set_item("now_ns", live.now)?;
        let mut queues = Vec::new();
        for totals in live.queues {
            let queue = PyDict::new(py);
            queue.set_item("arrivals", totals.arrivals)?;
            queue.set_item("drops", totals.drops)?;
            queue.set_item("marks", totals.marks)?;
            queue.set_item("departures", totals.departures)?;
            queue.set_item("departed_bytes", totals.departed_bytes)?;
            queue.set_item("delay_sum_ns", totals.delay_sum as f64)?;
            queue.set_item("waiting", totals.waiting)?;
            queues.push(queue);
        }
        dict.set_item("queues", queues)?;
        dict.set_item("tally", tally_dict(py, live.tally)?)?;
        dict.set_item("is_realtime", live.is_realtime)?;
        dict.set_item("gone", live.gone)?;
        Ok(Some(dict))
    }

    /// Ask it to end now.
    fn stop(&self) {
        if let Some(running) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            running.stop();
        }
    }

    /// Whether it has ended.
    #[getter]
    fn finished(&self) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().is_none_or(sojourn_gateway::Gateway::is_finished)
    }

    /// Wait for its end; returns the record (as a simulation's, with ``ends`` of its flows (protocol, source, port,
    /// destination, port; the source sends the data), ``lateness_edges_ns``, ``lateness_counts``,
    /// ``standstill_ns``, ``tally``).
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(running) = running else { return Err(PyRuntimeError::new_err("it was finished already")) };
        own::guarded(py, || {
            let wait = || catch_unwind(AssertUnwindSafe(|| running.finish()));
            match py.detach(wait) {
                Ok(outcome) => outcome_dict(py, &outcome.map_err(|error| raise(py, error))?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop();
    }
}

fn outcome_dict<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = record_dict(py, &outcome.record)?;
    let ends = outcome.ends.iter().map(|(protocol, from, a, to, b)| {
        let name = match protocol {
            6 => "tcp".to_owned(),
            17 => "udp".to_owned(),
            other => other.to_string(),
        };
        (name, from.to_string(), *a, to.to_string(), *b)
    });
    dict.set_item("ends", ends.collect::<Vec<_>>())?;
    dict.set_item("lateness_edges_ns", column(py, &outcome.lateness_edges_ns)?)?;
    dict.set_item("lateness_counts", column(py, &outcome.lateness_counts)?)?;
    dict.set_item("standstill_ns", outcome.standstill_ns)?;
    dict.set_item("tally", tally_dict(py, outcome.tally)?)?;
    Ok(dict)
}

fn tally_dict(py: Python<'_>, tally: Tally) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("read", tally.read)?;
    dict.set_item("delivered", tally.delivered)?;
    dict.set_item("dropped", tally.dropped)?;
    dict.set_item("lost", tally.lost)?;
    dict.set_item("malformed", tally.malformed)?;
    dict.set_item("unroutable", tally.unroutable)?;
    dict.set_item("undelivered", tally.undelivered)?;
    dict.set_item("odd", tally.odd)?;
    dict.set_item("super_packets", tally.super_packets)?;
    Ok(dict)
}

fn raise(py: Python<'_>, error: GatewayError) -> PyErr {
    match error {
        GatewayError::Plan(error) => plan_error(py, &error),
        GatewayError::Device(name, error) => {
            PyOSError::new_err((error.raw_os_error(), format!("{name}: {error}")))
        }
        GatewayError::Run(error) => ConservationError::new_err(error.to_string()),
    }
}

/// Processors that do not sleep until it is closed: a thread for each spins when nobody else wants to.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Awake {
    kept: Mutex<Option<sojourn_gateway::Awake>>,
}

#[pymethods]
impl Awake {
    /// Keep `processors` awake.
    #[new]
    fn new(processors: Vec<usize>) -> Awake {
        Awake { kept: Mutex::new(Some(sojourn_gateway::Awake::keep(&processors))) }
    }

    /// Let them sleep.
    fn close(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
