//! Many runs at once: native threads that hold no GIL, a queue of finished records.

use crate::{
    errors::{Cancelled, ConservationError, algorithm_error, plan_error},
    own,
    python_aqm::Misbehaved,
    record::record_dict,
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
    own::guarded(py, || {
        parse(plan_json)
            .and_then(|plan| Simulation::new(&plan, 1).map(|_| ()).map_err(Failure::Plan))
            .map_err(|failure| failure.raise(py))
    })
}

/// Make one run here and now, so that Ctrl-C reaches the handlers of an algorithm in Python.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, plan_json: String, seed: u64) -> PyResult<Bound<'_, PyAny>> {
    own::guarded(py, || {
        let record = Job::new(plan_json, seed).simulate().map_err(|failure| failure.raise(py))?;
        Ok(record_dict(py, &record)?.into_any())
    })
}

/// Runs that go on in native threads until all are finished, or cancelled.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Batch {
    shared: Arc<Shared>,
}

struct Shared {
    jobs: Vec<Job>,
    next: AtomicUsize,
    cancelled: AtomicBool,
    done: Mutex<Done>,
    news: Condvar,
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

/// Why a job gave no record.
enum Failure {
    Json(String),
    Plan(PlanError),
    Run(RunError),
    Algorithm(Misbehaved),
    Panic(String),
}

impl Failure {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Json(why) => PyValueError::new_err(format!("the plan cannot be read: {why}")),
            Failure::Plan(error) => plan_error(py, error),
            Failure::Run(RunError::Cancelled) => Cancelled::new_err("cancelled"),
            Failure::Run(error) => ConservationError::new_err(error.to_string()),
            Failure::Algorithm(misbehaved) => algorithm_error(py, misbehaved),
            Failure::Panic(why) => PyRuntimeError::new_err(format!("the simulator broke: {why}")),
        }
    }
}

#[pymethods]
impl Batch {
    /// Start to run `jobs` (plan and seed) on `workers` threads.
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
            news: Condvar::new(),
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

    /// What finished since the last call: index of the job, and its record or the exception. Waits at
    /// most `timeout` seconds for the first.
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

    /// The share of all virtual time that is done, 0 to 1.
    fn progress(&self) -> f64 {
        let shares = self.shared.jobs.iter().map(|job| {
            let now = job.control.now_ns.load(Ordering::Relaxed);
            if job.duration == 0 { 0.0 } else { (now as f64 / job.duration as f64).min(1.0) }
        });
        shares.sum::<f64>() / self.shared.jobs.len().max(1) as f64
    }

    /// Ask every run to stop; those under way end with `Cancelled`, the others never start.
    fn cancel(&self) {
        self.shared.cancel();
    }

    /// Whether every job has finished and been handed over or is waiting to be.
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

    /// Run; with an algorithm in Python the GIL is held, so that a call into it costs little. The
    /// interpreter still lets other threads have a turn while its handlers run.
    fn run(&self) -> Result<Box<Record>, Failure> {
        if own::known().iter().any(|algorithm| self.plan.contains(algorithm.name)) {
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

/// As much of a plan as progress needs.
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
                catch_unwind(AssertUnwindSafe(|| job.run())).unwrap_or_else(|panic| Err(broken(panic)))
            };
            let mut done = self.lock();
            done.fresh.push((index, outcome));
            done.count += 1;
            self.news.notify_all();
        }
    }

    fn take(&self, timeout: f64) -> Vec<(usize, Result<Box<Record>, Failure>)> {
        let limit = Duration::try_from_secs_f64(timeout).unwrap_or_default();
        let nothing_new = |done: &mut Done| done.fresh.is_empty() && done.count < self.jobs.len();
        let (mut done, _) = self
            .news
            .wait_timeout_while(self.lock(), limit, nothing_new)
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
    Ok(Plan { algorithms: own::known(), ..plan })
}

fn broken(panic: Box<dyn Any + Send>) -> Failure {
    let panic = match panic.downcast::<Misbehaved>() {
        Ok(misbehaved) => return Failure::Algorithm(*misbehaved),
        Err(panic) => panic,
    };
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    Failure::Panic(text.unwrap_or("no reason given").to_owned())
}
