//! Parallel runs in native threads without the GIL, with a queue of finished records.

use crate::{
    errors::{Cancelled, ConservationError, algorithm_error, plan_error},
    python_aqm::Violation,
    record::record_dict,
    user_aqm,
};
use pyo3::{
    exceptions::{PyMemoryError, PyRuntimeError, PyValueError},
    prelude::*,
};
use sojourn_aqm::Time;
use sojourn_explore::{Scenes, Stream};
use sojourn_sim::{Control, Plan, PlanError, Record, RunError, Simulation};
use std::{
    any::Any,
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic::Ordering},
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
#[pyo3(signature = (plan_json, seed, trace_limit = None))]
pub(crate) fn run(
    py: Python<'_>,
    plan_json: String,
    seed: u64,
    trace_limit: Option<u64>,
) -> PyResult<Bound<'_, PyAny>> {
    user_aqm::guarded(py, || {
        let job = Job::new(plan_json, seed, trace_limit);
        // Without handlers in Python other threads may go on.
        let outcome = if job.calls_python() { job.simulate() } else { py.detach(|| job.simulate()) };
        let record = outcome.map_err(|failure| failure.raise(py))?;
        Ok(record_dict(py, &record)?.into_any())
    })
}

/// Return one run in the form that the live page draws, as JSON. `part` is called after each slice of the run
/// with the curves since the last call; an exception of it ends the run. `trace_limit`: bytes that its traces
/// may take.
#[pyfunction]
#[pyo3(signature = (plan_json, seed, part = None, trace_limit = None))]
pub(crate) fn view(
    py: Python<'_>,
    plan_json: String,
    seed: u64,
    part: Option<Py<PyAny>>,
    trace_limit: Option<u64>,
) -> PyResult<String> {
    in_slices(py, &Job::new(plan_json, seed, trace_limit), |plan| {
        let mut stream = Stream::new(plan, seed, trace_limit).map_err(Failure::Plan)?;
        while !stream.advance().map_err(Failure::Run)? {
            if let Some(part) = &part {
                let curves = stream.part();
                Python::attach(|py| part.call1(py, (curves,))).map_err(Failure::Raised)?;
            }
        }
        stream.finish().map_err(Failure::Run)
    })
}

/// Return FNV-1a (64 bits) of a text, in hexadecimal, as the digests of `view`.
#[pyfunction]
pub(crate) fn fnv(text: &str) -> String {
    sojourn_explore::fnv(format_args!("{text}"))
}

/// Return the packets at the measured queue of a run from `from_ns` on, about `most` events, as JSON. `slice`
/// is called after each slice of the run; an exception of it ends the run.
#[pyfunction]
#[pyo3(signature = (plan_json, seed, from_ns, most, slice = None))]
pub(crate) fn packets(
    py: Python<'_>,
    plan_json: String,
    seed: u64,
    from_ns: u64,
    most: usize,
    slice: Option<Py<PyAny>>,
) -> PyResult<String> {
    in_slices(py, &Job::new(plan_json, seed, None), |plan| {
        let mut scenes = Scenes::new(plan, seed, Time(from_ns), most).map_err(Failure::Plan)?;
        while !scenes.advance().map_err(Failure::Run)? {
            if let Some(slice) = &slice {
                Python::attach(|py| slice.call0(py)).map_err(Failure::Raised)?;
            }
        }
        Ok(scenes.finish())
    })
}

/// Call `run` with the plan of a job, without the GIL if no algorithm is in Python.
fn in_slices(
    py: Python<'_>,
    job: &Job,
    run: impl FnOnce(Plan) -> Result<String, Failure> + Send,
) -> PyResult<String> {
    let caught = || {
        catch_unwind(AssertUnwindSafe(|| parse(&job.plan).and_then(run)))
            .unwrap_or_else(|panic| Err(failure_of(panic)))
    };
    let text = if job.calls_python() { caught() } else { py.detach(caught) };
    text.map_err(|failure| failure.raise(py))
}

/// Runs in native threads: jobs may be added until the batch is dropped.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Batch {
    shared: Arc<Shared>,
    workers: usize,
    trace_limit: Option<u64>,
}

struct Shared {
    state: Mutex<State>,
    /// A job was added, or there will be no more.
    added: Condvar,
    finished: Condvar,
}

struct Job {
    plan: Arc<str>,
    seed: u64,
    duration: u64,
    control: Control,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(usize, Arc<Job>)>,
    /// Jobs that wait or run.
    open: BTreeMap<usize, Arc<Job>>,
    fresh: Vec<(usize, Result<Box<Record>, Failure>)>,
    /// Jobs added so far.
    count: usize,
    /// Threads, and those among them that wait for a job.
    threads: usize,
    idle: usize,
    cancelled: bool,
}

/// Why a job has no record.
enum Failure {
    Json(String),
    Plan(PlanError),
    Run(RunError),
    Algorithm(Violation),
    Panic(String),
    /// A function of the caller has raised an exception.
    Raised(PyErr),
}

impl Failure {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Json(why) => PyValueError::new_err(format!("the plan cannot be read: {why}")),
            Failure::Plan(error) => plan_error(py, error),
            Failure::Run(RunError::Cancelled) => Cancelled::new_err("cancelled"),
            Failure::Run(error @ RunError::Memory(_)) => PyMemoryError::new_err(error.to_string()),
            Failure::Run(error) => ConservationError::new_err(error.to_string()),
            Failure::Algorithm(violation) => algorithm_error(py, violation),
            Failure::Raised(error) => error.clone_ref(py),
            Failure::Panic(why) => PyRuntimeError::new_err(format!("the simulator failed: {why}")),
        }
    }
}

#[pymethods]
impl Batch {
    /// Start `jobs` (plan and seed) on `workers` threads. `trace_limit`: bytes that the traces of a run may
    /// take.
    #[new]
    #[pyo3(signature = (jobs, workers, trace_limit = None))]
    fn new(jobs: Vec<(String, u64)>, workers: usize, trace_limit: Option<u64>) -> PyResult<Batch> {
        if workers == 0 {
            return Err(PyValueError::new_err("workers must be at least 1"));
        }
        let (state, added, finished) = Default::default();
        let batch = Batch { shared: Arc::new(Shared { state, added, finished }), workers, trace_limit };
        for (plan, seed) in jobs {
            batch.add(plan, seed)?;
        }
        Ok(batch)
    }

    /// Add a job; returns its index.
    fn add(&self, plan: String, seed: u64) -> PyResult<usize> {
        let job = Arc::new(Job::new(plan, seed, self.trace_limit));
        let mut state = self.shared.lock();
        let index = state.count;
        if state.idle <= state.waiting.len() && state.threads < self.workers {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new()
                .name("sojourn-run".to_owned())
                .spawn(move || shared.work())
                .map_err(|e| PyRuntimeError::new_err(format!("no thread could be started: {e}")))?;
            state.threads += 1;
        }
        state.count += 1;
        state.open.insert(index, Arc::clone(&job));
        state.waiting.push_back((index, job));
        self.shared.added.notify_one();
        Ok(index)
    }

    /// Return the jobs that finished since the last call: the index of each, and its record or exception.
    /// Waits at most `timeout` seconds for the first.
    #[pyo3(signature = (timeout = 0.0))]
    fn poll<'py>(&self, py: Python<'py>, timeout: f64) -> Vec<(usize, Bound<'py, PyAny>)> {
        let fresh = py.detach(|| self.shared.take(timeout));
        let convert = |outcome: Result<Box<Record>, Failure>| match outcome {
            Ok(record) => record_dict(py, &record).map(Bound::into_any),
            Err(failure) => Err(failure.raise(py)),
        };
        // A record for which Python has no memory is a failure of its run alone.
        fresh
            .into_iter()
            .map(|(index, outcome)| {
                (
                    index,
                    convert(outcome).unwrap_or_else(|error| error.into_value(py).into_bound(py).into_any()),
                )
            })
            .collect()
    }

    /// Return the fraction of the virtual time of all jobs so far that is simulated, 0 to 1.
    fn progress(&self) -> f64 {
        let state = self.shared.lock();
        let shares = state.open.values().map(|job| {
            let now = job.control.now_ns.load(Ordering::Relaxed);
            if job.duration == 0 { 0.0 } else { (now as f64 / job.duration as f64).min(1.0) }
        });
        (shares.sum::<f64>() + (state.count - state.open.len()) as f64) / state.count.max(1) as f64
    }

    /// Cancel all runs: those in progress end with `Cancelled`, the others never start.
    fn cancel(&self) {
        self.shared.cancel();
    }

    /// Whether every job has finished.
    #[getter]
    fn finished(&self) -> bool {
        self.shared.lock().open.is_empty()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.shared.cancel();
    }
}

impl Job {
    fn new(plan: String, seed: u64, trace_limit: Option<u64>) -> Job {
        let duration = serde_json::from_str::<Horizon>(&plan).map_or(0, |plan| plan.duration);
        Job { plan: plan.into(), seed, duration, control: Control { trace_limit, ..Control::default() } }
    }

    fn calls_python(&self) -> bool {
        user_aqm::registered().iter().any(|algorithm| self.plan.contains(algorithm.name))
    }

    /// Run the job. With an algorithm in Python the GIL is held, which makes calls cheap; the interpreter
    /// still switches threads while handlers run.
    fn run(&self) -> Result<Box<Record>, Failure> {
        if self.calls_python() {
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
        while let Some((index, job)) = self.next() {
            let outcome =
                catch_unwind(AssertUnwindSafe(|| job.run())).unwrap_or_else(|panic| Err(failure_of(panic)));
            self.done(&mut self.lock(), index, outcome);
        }
    }

    /// The next job; None if there will be none.
    fn next(&self) -> Option<(usize, Arc<Job>)> {
        let mut state = self.lock();
        state.idle += 1;
        let mut state = self
            .added
            .wait_while(state, |state| state.waiting.is_empty() && !state.cancelled)
            .unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        state.waiting.pop_front()
    }

    fn done(&self, state: &mut State, index: usize, outcome: Result<Box<Record>, Failure>) {
        state.open.remove(&index);
        state.fresh.push((index, outcome));
        self.finished.notify_all();
    }

    fn take(&self, timeout: f64) -> Vec<(usize, Result<Box<Record>, Failure>)> {
        let limit = Duration::try_from_secs_f64(timeout).unwrap_or_default();
        let is_waiting = |state: &mut State| state.fresh.is_empty() && !state.open.is_empty();
        let (mut state, _) = self
            .finished
            .wait_timeout_while(self.lock(), limit, is_waiting)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.fresh)
    }

    fn cancel(&self) {
        let mut state = self.lock();
        state.cancelled = true;
        for job in state.open.values() {
            job.control.cancel.store(true, Ordering::Relaxed);
        }
        while let Some((index, _)) = state.waiting.pop_front() {
            self.done(&mut state, index, Err(Failure::Run(RunError::Cancelled)));
        }
        self.added.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
