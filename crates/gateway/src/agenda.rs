//! What is due: what happens inside and what must leave a device, apart, because only the second wakes anybody up.

use std::{cmp::Reverse, collections::BinaryHeap};

/// What is due; of equal times, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Warmup,
    /// A link has sent a packet.
    Departure,
    Timer,
    /// A packet reaches the bottleneck's queue.
    Arrival,
    /// A packet reaches the host that gets it.
    Delivery,
    Sample,
}

/// When, what, its number among all events, and what it is about.
pub(crate) type Event = (u64, Kind, u64, u32);

/// Events in order of time.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// What is due inside, and what is due at devices.
    inside: BinaryHeap<Reverse<Event>>,
    deliveries: BinaryHeap<Reverse<Event>>,
    /// Nothing that happens inside shows at a device sooner than this.
    slack: u64,
    /// Events so far: equal ones stay in order.
    filed: u64,
}

impl Agenda {
    /// Nothing is due yet; what happens inside takes `slack` ns to a device.
    pub(crate) fn new(slack: u64) -> Agenda {
        Agenda { inside: BinaryHeap::new(), deliveries: BinaryHeap::new(), slack, filed: 0 }
    }

    /// Something about `number` is due at `time`.
    pub(crate) fn file(&mut self, time: u64, kind: Kind, number: u32) {
        self.filed += 1;
        let heap = if kind == Kind::Delivery { &mut self.deliveries } else { &mut self.inside };
        heap.push(Reverse((time, kind, self.filed, number)));
    }

    /// The first event, if it is due at `now`.
    pub(crate) fn next(&mut self, now: u64) -> Option<Event> {
        let heap = match (self.inside.peek(), self.deliveries.peek()) {
            (Some(inside), Some(delivery)) if delivery > inside => &mut self.deliveries,
            (None, _) => &mut self.deliveries,
            _ => &mut self.inside,
        };
        heap.peek().is_some_and(|Reverse((time, ..))| *time <= now).then(|| heap.pop())?.map(|Reverse(e)| e)
    }

    /// When somebody must look so that no packet is late.
    pub(crate) fn next_due(&self) -> Option<u64> {
        let first = |heap: &BinaryHeap<Reverse<Event>>| heap.peek().map(|Reverse((time, ..))| *time);
        let inside = first(&self.inside).map(|time| time + self.slack);
        [inside, first(&self.deliveries)].into_iter().flatten().min()
    }

    /// How many there were.
    pub(crate) fn filed(&self) -> u64 {
        self.filed
    }
}
