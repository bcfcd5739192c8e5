//! Measurements of algorithms and schedulers: operation counts, execution times, drop functions.

use crate::{errors::spec_error, user_aqm};
use pyo3::{prelude::*, types::PyDict};
use sojourn_aqm::{
    Class, Contents, Context, FlowId, Limit, PacketView, QueueView, Spec, Stream, Time,
    inspect::{ARRIVALS, Driver, LIMIT, PACKET, Subject},
};
use std::time::Instant;

/// Count the operations for `packets` packets of `flows` flows on a link of `rate` bit/s.
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
    let cost = user_aqm::guarded(py, || Ok(py.detach(|| driver.run(packets, &mut || 0))))?;
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

/// Nanoseconds per arrival, departure and timer, including the queue; None if there was none.
#[pyfunction]
pub(crate) fn stopwatch(
    py: Python<'_>,
    spec: &str,
    rate: u64,
    flows: u32,
    packets: u32,
) -> PyResult<[Option<f64>; 3]> {
    let mut driver = driver(py, spec, rate, flows)?;
    #[allow(clippy::disallowed_methods, reason = "measures real time")]
    let start = Instant::now();
    let mut clock = || start.elapsed().as_nanos() as u64;
    let measure = || {
        let overhead = (0..100).map(|_| clock_overhead(&mut clock)).fold(f64::INFINITY, f64::min);
        let cost = driver.run(packets, &mut clock);
        let steps = cost.packets / ARRIVALS;
        let each = |part: usize, readings: u64, times: u64| {
            let spent = cost.spent[part] as f64 - readings as f64 * overhead;
            (times > 0).then(|| spent.max(0.0) / times as f64)
        };
        [each(0, steps, cost.packets), each(1, steps, cost.departures), each(2, cost.timers, cost.timers)]
    };
    user_aqm::guarded(py, || Ok(py.detach(measure)))
}

/// Nanoseconds per reading of the clock.
fn clock_overhead(clock: &mut impl FnMut() -> u64) -> f64 {
    const READINGS: u64 = 100;
    let first = clock();
    let last = (0..READINGS).fold(first, |_, _| clock());
    (last - first) as f64 / READINGS as f64
}

fn driver(py: Python<'_>, spec: &str, link_rate: u64, flows: u32) -> PyResult<Driver> {
    let context = Context::new(link_rate, LIMIT).with_mean_packet(PACKET).with_ecn(true);
    let name = spec.split_whitespace().next().unwrap_or_default();
    let is_scheduler = sojourn_aqm::registry::SCHEDULERS.iter().any(|s| s.algorithm.name == name);
    let subject = if is_scheduler {
        Spec::parse_scheduler(spec).and_then(|spec| spec.schedule(context)).map(Subject::Scheduler)
    } else {
        user_aqm::parse(py, spec)?.build(context).map(Subject::Aqm)
    };
    let subject = subject.map_err(|e| spec_error(py, &e))?;
    user_aqm::guarded(py, || Ok(py.detach(|| Driver::new(subject, link_rate, flows))))
}

/// The drop function of an algorithm: for each queue length, the probe `p` of a new instance after two
/// arrivals of `class` at a queue of packets of the same class.
#[pyfunction]
pub(crate) fn drop_function(py: Python<'_>, spec: &str, class: u8, lengths: Vec<u32>) -> PyResult<Vec<f64>> {
    let spec = Spec::parse(spec).map_err(|e| spec_error(py, &e))?;
    let context =
        Context::new(10_000_000, spec.limit.unwrap_or(Limit::Packets(u32::MAX))).with_mean_packet(1000);
    let p_at = |length: u32| {
        let mut aqm = spec.build(context)?;
        let (now, class) = (Time::ZERO, Class(class));
        let packet = PacketView::new(1000, now).with_class(class);
        let contents = Uniform { packet, length };
        let bytes = u64::from(length) * 1000;
        let queue = QueueView::new(length, bytes, context.limit, context.link_rate, &contents);
        let mut rng = Stream::new(1, "drop_function");
        for _ in 0..2 {
            // The first arrival ends the idle period, in which averages decay.
            aqm.on_offered(now, &packet, &queue);
            aqm.on_arrival(now, &packet, &queue, &mut rng);
        }
        let mut p = 0.0;
        aqm.probe(&mut |name, value| p = if name == "p" { value } else { p });
        Ok(p)
    };
    lengths.into_iter().map(p_at).collect::<Result<_, _>>().map_err(|e| spec_error(py, &e))
}

/// A queue of equal packets, each of a flow of its own.
struct Uniform {
    packet: PacketView,
    length: u32,
}

impl Contents for Uniform {
    fn at(&self, position: u32) -> Option<PacketView> {
        (position < self.length).then_some(self.packet.with_flow(FlowId(position + 1)))
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        u32::from((1..=self.length).contains(&flow.0))
    }
    fn of_class(&self, class: Class) -> u32 {
        if class == self.packet.class { self.length } else { 0 }
    }
}
