//! The conformance harness, for `sojourn.testing`.

use crate::{errors::spec_error, user_aqm};
use pyo3::{exceptions::PyValueError, prelude::*};
use sojourn_aqm::{Aqm, Context, Limit, Settings, Span, conformance, conformance::Event, units};

/// An algorithm under random traffic, with its contract checked.
#[pyclass(unsendable, module = "sojourn._core")]
pub(crate) struct Harness {
    inner: conformance::Harness,
    instance: Option<Py<PyAny>>,
}

#[pymethods]
impl Harness {
    /// Test `spec` on a link of `rate` bit/s with a buffer `limit` and packets of `mean_packet` bytes.
    #[new]
    #[pyo3(signature = (spec, rate, limit, mean_packet = 1000, ecn = true, seed = 1))]
    fn new(
        py: Python<'_>,
        spec: &str,
        rate: u64,
        limit: &str,
        mean_packet: u32,
        ecn: bool,
        seed: u64,
    ) -> PyResult<Harness> {
        let limit: Limit = units::limit(limit).map_err(PyValueError::new_err)?;
        let context = Context::new(rate, limit).with_mean_packet(mean_packet).with_ecn(ecn);
        let spec = user_aqm::parse(py, spec)?;
        user_aqm::guarded(py, || {
            let settings = Settings { spec: &spec, context };
            let refused = |error| spec_error(py, &error);
            let (aqm, instance): (Box<dyn Aqm>, _) = if user_aqm::is_class(spec.algorithm.name) {
                let aqm = user_aqm::instantiate(&settings).map_err(refused)?;
                let instance = aqm.instance().clone_ref(py);
                (Box::new(aqm), Some(instance))
            } else {
                (spec.build(context).map_err(refused)?, None)
            };
            Ok(Harness { inner: conformance::Harness::around(aqm, spec, context, seed), instance })
        })
    }

    /// Run `steps` random events, on average `pace` packet times apart.
    fn run(&mut self, py: Python<'_>, steps: usize, pace: f64) -> PyResult<()> {
        user_aqm::guarded(py, || {
            self.inner.run(steps, pace);
            Ok(())
        })
    }

    /// Advance the clock by `ns` and run the timers that expire.
    fn advance(&mut self, py: Python<'_>, ns: u64) -> PyResult<()> {
        user_aqm::guarded(py, || {
            self.inner.advance(Span(ns));
            Ok(())
        })
    }

    /// Try `times` departures.
    fn depart(&mut self, py: Python<'_>, times: usize) -> PyResult<()> {
        user_aqm::guarded(py, || {
            for _ in 0..times {
                self.inner.depart();
            }
            Ok(())
        })
    }

    /// Return an independent copy of the current state.
    fn copy(&self, py: Python<'_>) -> PyResult<Harness> {
        user_aqm::guarded(py, || Ok(Harness { inner: self.inner.clone(), instance: None }))
    }

    /// Return the events so far, one word each, to compare runs.
    fn log(&self) -> Vec<String> {
        let word = |event: &Event| match event {
            Event::Timer(time) => format!("Timer({})", time.0),
            event => format!("{event:?}"),
        };
        self.inner.log.iter().map(word).collect()
    }

    /// Return the rules violated so far: the name, and the first occurrence.
    fn violations(&self) -> Vec<(&'static str, String)> {
        self.inner.violations.iter().map(|one| (one.rule, one.what.clone())).collect()
    }

    /// The maximum number of drops at one departure.
    #[getter]
    fn most_drops(&self) -> u32 {
        self.inner.most_drops
    }

    /// Packets in the queue.
    #[getter]
    fn waiting(&self) -> usize {
        self.inner.waiting()
    }

    /// The Python object under test; None for a built-in algorithm or a copy.
    #[getter]
    fn instance(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.instance.as_ref().map(|instance| instance.clone_ref(py))
    }
}
