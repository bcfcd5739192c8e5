//! How far packets may run ahead of the clock on their routes.

use super::{
    FixedPath, Hop, NO_INDEX, RoundTrip, Step,
    fixed_path::Sizes,
    route::{AckPolicy, RoutePlan, Routes},
};
use crate::{
    link::{Entry, LinkKind},
    record::SlowPathReason,
};
use std::ops::Range;

/// How far packets run ahead of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookahead {
    /// Not at all: every step is an event.
    None,
    /// Over links and receivers; acknowledgements reach senders as events.
    Links,
    /// Senders react ahead of the clock, too.
    Senders,
}

/// What feeds a link: a host, as events, or another link, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feeder {
    Clock,
    Link(u32),
}

/// All that feeds a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feeders {
    None,
    Only(Feeder),
    Several,
}

impl Feeders {
    pub(super) fn add(&mut self, feeder: Feeder) {
        *self = match *self {
            Feeders::None => Feeders::Only(feeder),
            Feeders::Only(known) if known == feeder => Feeders::Only(feeder),
            _ => Feeders::Several,
        };
    }
}

/// Find the steps of a route that need no event: whether its packets make round trips, or why not.
pub(super) fn find_eventless(
    routes: &Routes,
    route: &RoutePlan,
    steps: &mut [Step],
    kinds: &[LinkKind],
    lookahead: Lookahead,
) -> Result<(), SlowPathReason> {
    let entry = |step: &Step| kinds[step.hop.tx_time.kind as usize].entry;
    let has_queue = |step: &Step| matches!(entry(step), Entry::Port(_));
    let is_wire = |step: &Step| matches!(entry(step), Entry::Wire(_));
    let is_fed_by = |link: u32, feeder: Feeder| routes.feeders[link as usize] == Feeders::Only(feeder);
    let follows = |step: &Step, next: &Step| {
        entry(next) == Entry::Transmitter && is_fed_by(next.hop.link, Feeder::Link(step.hop.link))
    };
    let end = steps.len();
    for i in 1..end {
        steps[i - 1].eventless = !is_wire(&steps[i - 1]) && follows(&steps[i - 1], &steps[i]);
    }
    let backward = (route.backward - route.forward) as usize;
    if route.ack_policy == AckPolicy::None {
        steps[end - 1].eventless = !is_wire(&steps[end - 1]);
    }
    let first = steps[0].hop.link;
    let is_alone = routes.senders[first as usize] == 1 && is_fed_by(first, Feeder::Clock);
    // Without any event the packets of a flow would circulate forever.
    let waits_somewhere = steps[..backward].iter().any(|step| !step.eventless);
    route.sender?;
    if steps.iter().any(is_wire) {
        return Err(SlowPathReason::ImpairedLink);
    }
    if !is_alone {
        return Err(SlowPathReason::SharedAccess);
    } else if has_queue(&steps[0]) {
        return Err(SlowPathReason::QueueAtSender);
    } else if lookahead != Lookahead::Senders {
        return Err(SlowPathReason::WindowTrace);
    } else if !waits_somewhere {
        return Err(SlowPathReason::SharedPath);
    }
    steps[end - 1].eventless = true;
    if route.ack_policy == AckPolicy::Delayed && routes.delayed_on == Feeders::Several {
        return Err(SlowPathReason::DelayedAcks);
    } else if steps[0].eventless {
        return Err(SlowPathReason::SharedPath);
    }
    let mut is_free = steps[backward..].iter().all(|step| step.eventless);
    for step in steps[..backward].iter_mut().rev() {
        is_free &= step.eventless;
        step.round_trip = if is_free { 0 } else { NO_INDEX }; // numbered when equal routes are one
    }
    let begins = |step: &Step| step.round_trip != NO_INDEX && has_queue(step);
    if steps[1..backward].iter().any(begins) { Ok(()) } else { Err(SlowPathReason::SharedPath) }
}

/// Number the round trips of the route that begins at step `first`.
pub(super) fn number_round_trips(steps: &mut [Step], first: usize, round_trips: &mut Vec<RoundTrip>) {
    let end =
        |from: usize| steps[from..].iter().position(|step| step.last).map_or(steps.len(), |i| from + i + 1);
    let backward = end(first);
    let behind = end(backward);
    let hops = |range: Range<usize>| steps[range].iter().map(|step| step.hop).collect();
    // A round trip begins behind a queue.
    let begins =
        (first + 1..backward).filter(|i| steps[*i].round_trip != NO_INDEX && steps[*i - 1].queue != NO_INDEX);
    let new: Vec<_> = begins
        .map(|begin| {
            let (forward, reverse) = (hops(begin + 1..backward), hops(backward..behind - 1));
            let (last_hop, last_step) = (steps[behind - 1].hop, behind as u32 - 1);
            let (first_step, sack_tx_time) = (first as u32, last_hop.tx_time);
            let first_hop = steps[first].hop;
            (begin, RoundTrip { forward, reverse, last_hop, last_step, sack_tx_time, first_step, first_hop })
        })
        .collect();
    steps[first..backward].iter_mut().for_each(|step| step.round_trip = NO_INDEX);
    for (begin, round_trip) in new {
        steps[begin].round_trip = round_trips.len() as u32;
        round_trips.push(round_trip);
    }
}

/// The fixed path of a dumbbell, if all round trips share it: links whose ends need no event.
pub(super) fn fixed_path(
    steps: &mut [Step],
    round_trips: &[RoundTrip],
    sizes: Sizes,
    kinds: &[LinkKind],
) -> Option<FixedPath> {
    let all = |round_trip: &RoundTrip| {
        round_trip.forward.iter().chain(&round_trip.reverse).copied().collect::<Vec<Hop>>()
    };
    let links = |hops: &[Hop]| hops.iter().map(|hop| hop.link).collect::<Vec<u32>>();
    let first = round_trips.first()?;
    let (hops, turn) = (all(first), first.forward.len());
    let is_common =
        |round_trip: &RoundTrip| round_trip.forward.len() == turn && links(&all(round_trip)) == links(&hops);
    if hops.iter().any(|hop| hop.own > 0 || kinds[hop.tx_time.kind as usize].varies())
        || !round_trips.iter().all(is_common)
    {
        return None;
    }
    for step in &mut *steps {
        step.on_fixed_path = step.hop.own == 0 && links(&hops).contains(&step.hop.link);
    }
    if steps.iter().any(|step| step.on_fixed_path && !step.eventless) {
        steps.iter_mut().for_each(|step| step.on_fixed_path = false);
        return None;
    }
    Some(FixedPath::new(&first.forward, &first.reverse, sizes, kinds))
}
