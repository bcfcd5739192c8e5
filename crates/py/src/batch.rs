//! Parallel runs in native threads without the GIL, with a queue of finished records.

use crate::{
    errors::{Cancelled, ConservationError, algorithm_error, plan_error},
    python_aqm::Violation,
    record::record_dict,
    user_aqm,
};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use sojourn_sim::{Control, Plan, PlanError, Record, RunError, Simulation};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Refuse a plan that cannot run.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, plan_json: &str) -> PyResult<()> {
    user_aqm::guarded(py, || {
        parse(plan_json)
            .and_then(|plan| Simulation::new(&plan, 1).map(|_| ()).map_err(Failure::Plan))
            .map_err(|failure| failure.raise(py))
    })
}

/// Execute one run in the calling thread, so that Ctrl-C interrupts handlers in Python.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, plan_json: String, seed: u64) -> PyResult<Bound<'_, PyAny>> {
    user_aqm::guarded(py, || {
        let record = Job::new(plan_json, seed).simulate().map_err(|failure| failure.raise(py))?;
        Ok(record_dict(py, &record)?.into_any())
    })
}

/// Runs in native threads, until all are finished or cancelled.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Batch {
    shared: Arc<Shared>,
}

struct Shared {
    jobs: Vec<Job>,
    next: AtomicUsize,
    cancelled: AtomicBool,
    done: Mutex<Done>,
    finished: Condvar,
}

struct Job {
    plan: Arc<str>,
    seed: u64,
    duration: u64,
    control: Control,
}

#[derive(Default)]
struct Done {
    fresh: Vec<(usize, Result<Box<Record>, Failure>)>,
    count: usize,
}

/// Why a job has no record.
enum Failure {
    Json(String),
    Plan(PlanError),
    Run(RunError),
    Algorithm(Violation),
    Panic(String),
}

impl Failure {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Json(why) => PyValueError::new_err(format!("the plan cannot be read: {why}")),
            Failure::Plan(error) => plan_error(py, error),
            Failure::Run(RunError::Cancelled) => Cancelled::new_err("cancelled"),
            Failure::Run(error) => ConservationError::new_err(error.to_string()),
            Failure::Algorithm(violation) => algorithm_error(py, violation),
            Failure::Panic(why) => PyRuntimeError::new_err(format!("the simulator failed: {why}")),
        }
    }
}

#[pymethods]
impl Batch {
    /// Start `jobs` (plan and seed) on `workers` threads.
    #[new]
    fn new(jobs: Vec<(String, u64)>, workers: usize) -> PyResult<Batch> {
        if workers == 0 {
            return Err(PyValueError::new_err("workers must be at least 1"));
        }
        let shared = Arc::new(Shared {
            jobs: jobs.into_iter().map(|(plan, seed)| Job::new(plan, seed)).collect(),
            next: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            done: Mutex::default(),
            finished: Condvar::new(),
        });
        for _ in 0..workers.min(shared.jobs.len()) {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("sojourn-run".to_owned())
                .spawn(move || shared.work())
                .map_err(|e| PyRuntimeError::new_err(format!("no thread could be started: {e}")))?;
        }
        Ok(Batch { shared })
    }

    /// Return the jobs that finished since the last call: the index of each, and its record or exception.
    /// Waits at most `timeout` seconds for the first.
    #[pyo3(signature = (timeout = 0.0))]
    fn poll<'py>(&self, py: Python<'py>, timeout: f64) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
        let fresh = py.detach(|| self.shared.take(timeout));
        fresh
            .into_iter()
            .map(|(index, outcome)| match outcome {
                Ok(record) => Ok((index, record_dict(py, &record)?.into_any())),
                Err(failure) => Ok((index, failure.raise(py).into_value(py).into_bound(py).into_any())),
            })
            .collect()
    }

    /// Return the fraction of the total virtual time that is simulated, 0 to 1.
    fn progress(&self) -> f64 {
        let shares = self.shared.jobs.iter().map(|job| {
            let now = job.control.now_ns.load(Ordering::Relaxed);
            if job.duration == 0 { 0.0 } else { (now as f64 / job.duration as f64).min(1.0) }
        });
        shares.sum::<f64>() / self.shared.jobs.len().max(1) as f64
    }

    /// Cancel all runs: those in progress end with `Cancelled`, the others never start.
    fn cancel(&self) {
        self.shared.cancel();
    }

    /// Whether every job has finished.
    #[getter]
    fn finished(&self) -> bool {
        self.shared.lock().count == self.shared.jobs.len()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.shared.cancel();
    }
}

impl Job {
    fn new(plan: String, seed: u64) -> Job {
        let duration = serde_json::from_str::<Horizon>(&plan).map_or(0, |plan| plan.duration);
        Job { plan: plan.into(), seed, duration, control: Control::default() }
    }

    /// Run the job. With an algorithm in Python the GIL is held, which makes calls cheap; the interpreter
    /// still switches threads while handlers run.
    fn run(&self) -> Result<Box<Record>, Failure> {
        if user_aqm::registered().iter().any(|algorithm| self.plan.contains(algorithm.name)) {
            return Python::attach(|_| self.simulate());
        }
        self.simulate()
    }

    fn simulate(&self) -> Result<Box<Record>, Failure> {
        let plan = parse(&self.plan)?;
        let simulation = Simulation::new(&plan, self.seed).map_err(Failure::Plan)?;
        let record = simulation.run(&self.control).map_err(Failure::Run)?;
        self.control.now_ns.store(self.duration, Ordering::Relaxed);
        Ok(Box::new(record))
    }
}

/// The part of a plan that progress depends on.
#[derive(serde::Deserialize)]
struct Horizon {
    duration: u64,
}

impl Shared {
    fn work(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(index) else { return };
            let outcome = if self.cancelled.load(Ordering::Relaxed) {
                Err(Failure::Run(RunError::Cancelled))
            } else {
                catch_unwind(AssertUnwindSafe(|| job.run())).unwrap_or_else(|panic| Err(failure_of(panic)))
            };
            let mut done = self.lock();
            done.fresh.push((index, outcome));
            done.count += 1;
            self.finished.notify_all();
        }
    }

    fn take(&self, timeout: f64) -> Vec<(usize, Result<Box<Record>, Failure>)> {
        let limit = Duration::try_from_secs_f64(timeout).unwrap_or_default();
        let is_waiting = |done: &mut Done| done.fresh.is_empty() && done.count < self.jobs.len();
        let (mut done, _) = self
            .finished
            .wait_timeout_while(self.lock(), limit, is_waiting)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut done.fresh)
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        for job in &self.jobs {
            job.control.cancel.store(true, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(plan: &str) -> Result<Plan, Failure> {
    let plan: Plan = serde_json::from_str(plan).map_err(|e| Failure::Json(e.to_string()))?;
    Ok(Plan { algorithms: user_aqm::registered(), ..plan })
}

fn failure_of(panic: Box<dyn Any + Send>) -> Failure {
    let panic = match panic.downcast::<Violation>() {
        Ok(violation) => return Failure::Algorithm(*violation),
        Err(panic) => panic,
    };
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    Failure::Panic(text.unwrap_or("no reason given").to_owned())
}
