//! The pending events of the gateway, in two heaps: events inside, and deliveries at devices. Only a delivery
//! has to happen on time in real time.

use sojourn_aqm::{Span, Time};
use std::{cmp::Reverse, collections::BinaryHeap};

/// The kind of an event; events of equal times happen in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EventKind {
    Warmup,
    /// A link has sent a packet.
    Departure,
    /// The timer of an algorithm expires.
    Timer,
    /// A packet reaches the queue of the bottleneck.
    Arrival,
    /// A packet leaves an impaired wire and reaches the link of the receiving host.
    Exit,
    /// A packet reaches the receiving host.
    Delivery,
    Sample,
}

/// An event; the derived order is that of time, then kind, then scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time: Time,
    pub(crate) kind: EventKind,
    sequence: u64,
    /// Number of its link or packet.
    pub(crate) number: u32,
}

/// The pending events, in order of time.
#[derive(Debug)]
pub(crate) struct EventQueue {
    inside: BinaryHeap<Reverse<Event>>,
    deliveries: BinaryHeap<Reverse<Event>>,
    /// Minimum time from an event inside to a delivery that it causes.
    min_delay: Span,
    /// Events scheduled so far.
    scheduled: u64,
}

impl EventQueue {
    pub(crate) fn new(min_delay: Span) -> EventQueue {
        EventQueue { inside: BinaryHeap::new(), deliveries: BinaryHeap::new(), min_delay, scheduled: 0 }
    }

    pub(crate) fn schedule(&mut self, time: Time, kind: EventKind, number: u32) {
        self.scheduled += 1;
        let heap = if kind == EventKind::Delivery { &mut self.deliveries } else { &mut self.inside };
        heap.push(Reverse(Event { time, kind, sequence: self.scheduled, number }));
    }

    /// Remove the first event, if its time is not after `settled`, or that of a delivery not after `now`.
    pub(crate) fn pop(&mut self, settled: Time, now: Time) -> Option<Event> {
        let first = |heap: &BinaryHeap<Reverse<Event>>, until: Time| {
            heap.peek().map(|Reverse(event)| *event).filter(|event| event.time <= until)
        };
        let heap = match (first(&self.inside, settled), first(&self.deliveries, now)) {
            (Some(inside), Some(delivery)) if inside < delivery => &mut self.inside,
            (Some(_), None) => &mut self.inside,
            _ => &mut self.deliveries,
        };
        heap.peek().is_some_and(|Reverse(event)| event.time <= now).then(|| heap.pop())?.map(|Reverse(e)| e)
    }

    /// The latest time at which events can be handled without a late delivery.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        let first = |heap: &BinaryHeap<Reverse<Event>>| heap.peek().map(|Reverse(event)| event.time);
        let inside = first(&self.inside).map(|time| time + self.min_delay);
        [inside, first(&self.deliveries)].into_iter().flatten().min()
    }

    /// The number of events scheduled so far.
    pub(crate) fn scheduled(&self) -> u64 {
        self.scheduled
    }
}
