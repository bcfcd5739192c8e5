//! `Exam`: any algorithm in a random world that watches what it must hold, for `sojourn.testing`.

use crate::{errors::spec_error, own};
use pyo3::{exceptions::PyValueError, prelude::*};
use sojourn_aqm::{Aqm, Context, Conventions, Limit, Settings, Span, exam::Event, exam::World, units};

/// An algorithm in a random world.
#[pyclass(unsendable, module = "sojourn._core")]
pub(crate) struct Exam {
    world: World,
    instance: Option<Py<PyAny>>,
}

#[pymethods]
impl Exam {
    /// `spec` on a link of `rate` bit/s with this buffer limit, packets of `mean_packet` bytes.
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
    ) -> PyResult<Exam> {
        let limit: Limit = units::limit(limit).map_err(PyValueError::new_err)?;
        let context = Context { link_rate: rate, limit, mean_packet, ecn, conventions: Conventions::Default };
        let spec = own::parse(py, spec)?;
        own::guarded(py, || {
            let settings = Settings { spec: &spec, context };
            let refused = |error| spec_error(py, &error);
            let (aqm, instance): (Box<dyn Aqm>, _) = if own::is_own(spec.algorithm.name) {
                let aqm = own::make(&settings).map_err(refused)?;
                let instance = aqm.instance().clone_ref(py);
                (Box::new(aqm), Some(instance))
            } else {
                (spec.build(context).map_err(refused)?, None)
            };
            Ok(Exam { world: World::around(aqm, spec, context, seed), instance })
        })
    }

    /// `steps` random events, `pace` packet times apart on average.
    fn run(&mut self, py: Python<'_>, steps: usize, pace: f64) -> PyResult<()> {
        own::guarded(py, || {
            self.world.run(steps, pace);
            Ok(())
        })
    }

    /// Let `ns` pass, with the timers that come due.
    fn advance(&mut self, py: Python<'_>, ns: u64) -> PyResult<()> {
        own::guarded(py, || {
            self.world.advance(Span(ns));
            Ok(())
        })
    }

    /// So many departures, or attempts.
    fn depart(&mut self, py: Python<'_>, times: usize) -> PyResult<()> {
        own::guarded(py, || {
            for _ in 0..times {
                self.world.depart();
            }
            Ok(())
        })
    }

    /// An independent copy that continues from here.
    fn copy(&self, py: Python<'_>) -> PyResult<Exam> {
        own::guarded(py, || Ok(Exam { world: self.world.clone(), instance: None }))
    }

    /// What happened so far, one word an event, comparable between exams.
    fn log(&self) -> Vec<String> {
        let word = |event: &Event| match event {
            Event::Timer(time) => format!("Timer({})", time.0),
            event => format!("{event:?}"),
        };
        self.world.log.iter().map(word).collect()
    }

    /// The rules that were broken so far: name, and what was seen first.
    fn faults(&self) -> Vec<(&'static str, String)> {
        self.world.faults.iter().map(|fault| (fault.rule, fault.what.clone())).collect()
    }

    /// Most packets that one departure dropped.
    #[getter]
    fn most_drops(&self) -> u32 {
        self.world.most_drops
    }

    /// Packets that wait.
    #[getter]
    fn waiting(&self) -> usize {
        self.world.waiting()
    }

    /// The Python object under examination; None for a built-in algorithm or a copy.
    #[getter]
    fn instance(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.instance.as_ref().map(|instance| instance.clone_ref(py))
    }
}
