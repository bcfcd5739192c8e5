//! Bindings of the gateway.

use crate::{
    errors::{ConservationError, plan_error},
    record::{column, record_dict},
    user_aqm,
};
use pyo3::{
    exceptions::{PyOSError, PyRuntimeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use sojourn_gateway::{GatewayError, GatewayRecord, Plan, Stats, TracedRun};
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
    /// Start a gateway; `plan_json` is a plan of `crates/gateway` with the descriptors of open devices.
    #[new]
    fn new(py: Python<'_>, plan_json: &str) -> PyResult<Gateway> {
        let plan: Plan = serde_json::from_str(plan_json)
            .map_err(|e| PyValueError::new_err(format!("the plan cannot be read: {e}")))?;
        let plan = Plan { algorithms: user_aqm::registered(), ..plan };
        user_aqm::guarded(py, || {
            let running = sojourn_gateway::Gateway::start(&plan).map_err(|error| raise(py, error))?;
            Ok(Gateway { running: Mutex::new(Some(running)) })
        })
    }

    /// Return its state: ``now_ns``, ``queues`` (forward, backward), and counters outside the queues; None
    /// after `finish`.
    fn live<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = &*running else { return Ok(None) };
        let live = running.live();
        let dict = PyDict::new(py);
        dict.set_item("now_ns", live.now.0)?;
        let mut queues = Vec::new();
        for totals in live.queues {
            let queue = PyDict::new(py);
            queue.set_item("arrivals", totals.arrivals)?;
            queue.set_item("drops", totals.drops)?;
            queue.set_item("marks", totals.marks)?;
            queue.set_item("departures", totals.departures)?;
            queue.set_item("departed_bytes", totals.departed_bytes)?;
            queue.set_item("delay_sum_ns", totals.delay_sum_ns as f64)?;
            queue.set_item("waiting", totals.queued)?;
            queues.push(queue);
        }
        dict.set_item("queues", queues)?;
        dict.set_item("tally", stats_dict(py, live.stats)?)?;
        dict.set_item("is_realtime", live.is_realtime)?;
        dict.set_item("gone", live.gone)?;
        Ok(Some(dict))
    }

    /// Request that it ends now.
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

    /// Wait for its end and return the record: that of a simulation, with ``ends`` of the flows (protocol,
    /// source, port, destination, port; the source sends the data), ``lateness`` and ``waiting``
    /// (``edges_ns`` and ``counts`` of a histogram), ``standstill_ns`` and ``tally``.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(running) = running else { return Err(PyRuntimeError::new_err("finish was called before")) };
        user_aqm::guarded(py, || {
            let wait = || catch_unwind(AssertUnwindSafe(|| running.finish()));
            match py.detach(wait) {
                Ok(result) => result_dict(py, &result.map_err(|error| raise(py, error))?),
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

fn result_dict<'py>(py: Python<'py>, result: &GatewayRecord) -> PyResult<Bound<'py, PyDict>> {
    let dict = record_dict(py, &result.record)?;
    let ends = result.ends.iter().map(|ends| {
        let name = match ends.protocol {
            6 => "tcp".to_owned(),
            17 => "udp".to_owned(),
            other => other.to_string(),
        };
        let (from, to) = (ends.source, ends.destination);
        (name, from.address.to_string(), from.port, to.address.to_string(), to.port)
    });
    dict.set_item("ends", ends.collect::<Vec<_>>())?;
    for (name, (edges, counts)) in [("lateness", &result.lateness), ("waiting", &result.waiting)] {
        let histogram = PyDict::new(py);
        histogram.set_item("edges_ns", column(py, edges)?)?;
        histogram.set_item("counts", column(py, counts)?)?;
        dict.set_item(name, histogram)?;
    }
    dict.set_item("standstill_ns", result.stalled.0)?;
    dict.set_item("tally", stats_dict(py, result.stats)?)?;
    Ok(dict)
}

fn stats_dict(py: Python<'_>, stats: Stats) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("read", stats.read)?;
    dict.set_item("unreported", stats.unreported)?;
    dict.set_item("delivered", stats.delivered)?;
    dict.set_item("dropped", stats.dropped)?;
    dict.set_item("lost", stats.lost)?;
    dict.set_item("copied", stats.copied)?;
    dict.set_item("malformed", stats.malformed)?;
    dict.set_item("unroutable", stats.unroutable)?;
    dict.set_item("undelivered", stats.undelivered)?;
    dict.set_item("odd", stats.odd)?;
    dict.set_item("super_packets", stats.super_packets)?;
    dict.set_item("forgotten_holes", stats.forgotten_holes)?;
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

/// The record of a run of the kernel, in the form of that of a gateway: from the trace of its packets and the
/// headers at its two routers. `run_json` is a ``TracedRun``; a damaged trace raises ``ValueError``.
#[pyfunction]
pub(crate) fn traced_record<'py>(
    py: Python<'py>,
    run_json: &str,
    trace: &[u8],
    first: &[u8],
    second: &[u8],
) -> PyResult<Bound<'py, PyDict>> {
    let run: TracedRun =
        serde_json::from_str(run_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let record = py.detach(|| sojourn_gateway::traced_record(&run, trace, [first, second]));
    result_dict(py, &record.map_err(PyValueError::new_err)?)
}

/// Keeps processors out of idle states until it is closed, by a spinning thread of the lowest priority on
/// each.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct IdleGuard {
    guard: Mutex<Option<sojourn_gateway::IdleGuard>>,
}

#[pymethods]
impl IdleGuard {
    /// Keep `processors` busy.
    #[new]
    fn new(processors: Vec<usize>) -> IdleGuard {
        IdleGuard { guard: Mutex::new(Some(sojourn_gateway::IdleGuard::new(&processors))) }
    }

    /// Stop the threads.
    fn close(&self) {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
