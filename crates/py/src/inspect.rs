//! What an algorithm or a scheduler costs: counted, and by the clock.

use crate::{errors::spec_error, own};
use pyo3::{prelude::*, types::PyDict};
use sojourn_aqm::{
    Context, Spec,
    inspect::{ARRIVALS, Driver, LIMIT, PACKET, Subject},
};
use std::time::Instant;

/// What was counted over `packets` packets of `flows` flows on a link of `rate` bit/s.
#[pyfunction]
pub(crate) fn inspect<'py>(
    py: Python<'py>,
    spec: &str,
    rate: u64,
    flows: u32,
    packets: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let mut driver = driver(py, spec, rate, flows)?;
    driver.watch();
    let cost = own::guarded(py, || Ok(py.detach(|| driver.run(packets, &mut || 0))))?;
    let dict = PyDict::new(py);
    dict.set_item("state_bytes", driver.state_bytes())?;
    dict.set_item("packets", cost.packets)?;
    dict.set_item("departures", cost.departures)?;
    dict.set_item("draws", cost.draws)?;
    dict.set_item("looks", cost.looks)?;
    dict.set_item("timers", cost.timers)?;
    dict.set_item("moves", cost.moves)?;
    dict.set_item("elapsed_ns", cost.elapsed.0)?;
    Ok(dict)
}

/// Nanoseconds of an arrival, a departure and a timer, with the queue around them; None where none came.
#[pyfunction]
pub(crate) fn stopwatch(
    py: Python<'_>,
    spec: &str,
    rate: u64,
    flows: u32,
    packets: u32,
) -> PyResult<[Option<f64>; 3]> {
    let mut driver = driver(py, spec, rate, flows)?;
    #[allow(clippy::disallowed_methods, reason = "this is what is measured")]
    let begun = Instant::now();
    let mut clock = || begun.elapsed().as_nanos() as u64;
    let timed = || {
        let look = (0..100).map(|_| look(&mut clock)).fold(f64::INFINITY, f64::min);
        let cost = driver.run(packets, &mut clock);
        let steps = cost.packets / ARRIVALS;
        let each = |part: usize, looks: u64, times: u64| {
            let spent = cost.spent[part] as f64 - looks as f64 * look;
            (times > 0).then(|| spent.max(0.0) / times as f64)
        };
        [each(0, steps, cost.packets), each(1, steps, cost.departures), each(2, cost.timers, cost.timers)]
    };
    own::guarded(py, || Ok(py.detach(timed)))
}

/// Nanoseconds of one look at the clock.
fn look(clock: &mut impl FnMut() -> u64) -> f64 {
    const LOOKS: u64 = 100;
    let first = clock();
    let last = (0..LOOKS).fold(first, |_, _| clock());
    (last - first) as f64 / LOOKS as f64
}

fn driver(py: Python<'_>, spec: &str, link_rate: u64, flows: u32) -> PyResult<Driver> {
    let context =
        Context { link_rate, limit: LIMIT, mean_packet: PACKET, ecn: true, ns2: false, ns2_2001: false };
    let name = spec.split_whitespace().next().unwrap_or_default();
    let is_scheduler = sojourn_aqm::registry::SCHEDULERS.iter().any(|s| s.algorithm.name == name);
    let subject = if is_scheduler {
        Spec::parse_scheduler(spec).and_then(|spec| spec.schedule(context)).map(Subject::Scheduler)
    } else {
        own::parse(py, spec)?.build(context).map(Subject::Aqm)
    };
    let subject = subject.map_err(|e| spec_error(py, &e))?;
    own::guarded(py, || Ok(py.detach(|| Driver::new(subject, link_rate, flows))))
}
