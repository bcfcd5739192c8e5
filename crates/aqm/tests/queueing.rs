//! Common functions of the vectors of schedulers: arrivals, departures, drops and marks.

use crate::support::{Scripted, at, packet};
use sojourn_aqm::{Class, Ecn, FlowId, Outcome, Scheduler, Token};

/// Enqueue packets of `(flow, class, bytes)`; returns the dropped ones.
pub(crate) fn enqueue(
    scheduler: &mut dyn Scheduler,
    now: f64,
    packets: &[(u32, u8, u32, Ecn)],
) -> Vec<(u64, Outcome)> {
    let mut outcomes = Vec::new();
    for (i, (flow, class, bytes, ecn)) in packets.iter().enumerate() {
        let view = packet(*bytes)
            .with_flow(FlowId(*flow))
            .with_class(Class(*class))
            .with_ecn(*ecn)
            .with_arrived(at(now));
        scheduler.enqueue(at(now), Token(i as u64), &view, &mut Scripted::new(&[]), &mut |t, f| {
            outcomes.push((t.0, f))
        });
    }
    outcomes
}

/// One departure that draws exactly these numbers: the packet, and the reported outcomes.
pub(crate) fn dequeue(
    scheduler: &mut dyn Scheduler,
    now: f64,
    numbers: &[f64],
) -> (Option<u64>, Vec<(u64, Outcome)>) {
    let (mut outcomes, mut rng) = (Vec::new(), Scripted::new(numbers));
    let token = scheduler.dequeue(at(now), &mut rng, &mut |t, f| outcomes.push((t.0, f)));
    rng.assert_used("dequeue");
    (token.map(|(t, _)| t.0), outcomes)
}

pub(crate) fn order(scheduler: &mut dyn Scheduler) -> Vec<u64> {
    std::iter::from_fn(|| dequeue(scheduler, 0.0, &[]).0).collect()
}

pub(crate) fn lists(scheduler: &dyn Scheduler) -> (f64, f64) {
    let mut lists = (0.0, 0.0);
    scheduler.probe(&mut |name, value| match name {
        "new" => lists.0 = value,
        _ => lists.1 = value,
    });
    lists
}

pub(crate) const N: Ecn = Ecn::NotEct;
pub(crate) const A: u32 = 0;
pub(crate) const B: u32 = 1;
pub(crate) const THIRD: u32 = 2;

pub(crate) fn probe(scheduler: &dyn Scheduler, name: &str) -> f64 {
    let mut found = None;
    scheduler.probe(&mut |field, value| found = if field == name { Some(value) } else { found });
    found.unwrap_or_else(|| panic!("no probe {name}"))
}
