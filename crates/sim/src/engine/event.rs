//! Virtual time: the events that are due, in order.
//!
//! Of two events at the same instant, the one that was certain earlier comes first, as in a simulator
//! that files every event when its cause happens and keeps equal times in order (ns-2 does). Ties are
//! common, not rare: ACK-clocked packets meet the queue exactly when a transmission ends, and whether the
//! full buffer sees the arrival or the departure first decides who is dropped. Of two equally old
//! arrivals, the packet that went straight onto its link was certain before the one that had to wait for
//! the transmitter, and the second of a burst before the third of another: so a full buffer hits the
//! packet that a growing window has added last. Then the kind and the number decide, so nothing depends on
//! how many steps the simulator takes at once.

/// What is due; the discriminant is the order of equally old events at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EventKind {
    /// The run ends.
    End = 0,
    /// The window of statistics opens.
    Warmup,
    /// A queue's transmitter has finished a packet.
    Departure,
    /// An algorithm's own timer.
    AqmTimer,
    /// A retransmission timer.
    Retransmit,
    /// A receiver's delayed acknowledgement.
    DelayedAck,
    /// A flow has nothing new to send from now on.
    Stop,
    /// A sender has waited long enough.
    Release,
    /// A source starts, or emits.
    Source,
    /// Somebody asks for a page, or for the next object of one.
    Page,
    /// An object of a page has come.
    Object,
    /// A connection whose rate is capped may send again.
    Paced,
    /// The first packet on a link reaches its end.
    Arrival,
    /// Queues are sampled.
    Sample,
    /// Retransmission timers are looked at.
    RtoScan,
    /// It is time to look outside, since nothing else that is rare has happened for long.
    Poll,
}

const KINDS: [EventKind; 16] = [
    EventKind::End,
    EventKind::Warmup,
    EventKind::Departure,
    EventKind::AqmTimer,
    EventKind::Retransmit,
    EventKind::DelayedAck,
    EventKind::Stop,
    EventKind::Release,
    EventKind::Source,
    EventKind::Page,
    EventKind::Object,
    EventKind::Paced,
    EventKind::Arrival,
    EventKind::Sample,
    EventKind::RtoScan,
    EventKind::Poll,
];

/// How long an event was certain before it happens; beyond a second all are alike.
const OLDEST: u64 = (1 << 30) - 1;

/// Half a year, the latest time.
pub(crate) const LATEST: u64 = (1 << 54) - 1;
/// The place in a burst from which all are alike.
pub(crate) const LAST: u32 = (1 << 14) - 1;
/// In the number of a `Source` or `Stop` event: it is a group's, not a flow's; of a `Page` event: a page's, not a session's.
pub(crate) const OF_GROUP: u32 = 1 << 25;
/// The largest number.
const NUMBER: u32 = (1 << 26) - 1;

/// Where arrivals stand among other events at the same time, but for place and number: what their age makes of the
/// two halves of an [`Event`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TieKey(u64, u64);

impl TieKey {
    /// Of arrivals that were certain `age` before.
    pub(crate) fn of(age: u64) -> TieKey {
        let event = Event::new(0, age, EventKind::Arrival, 0).0;
        TieKey((event >> 64) as u64, event as u64)
    }
}

/// An event: time, age, place, kind and number packed so that one comparison orders two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

impl Event {
    /// After all others.
    pub(crate) const NEVER: Event = Event(u128::MAX);

    /// An event at `time` that was certain `age` before.
    pub(crate) fn new(time: u64, age: u64, kind: EventKind, number: u32) -> Event {
        let recency = OLDEST - age.min(OLDEST);
        debug_assert!(number <= NUMBER);
        let rest = u128::from(recency) << 44 | (kind as u128) << 26 | u128::from(number);
        Event(u128::from(time.min(LATEST)) << 74 | rest)
    }
    /// The arrival of a packet of that tie key at the end of link `number`, sent after `place` others of its burst; no later
    /// than [`LATEST`], and no farther behind than [`LAST`].
    #[inline(always)]
    pub(crate) fn arrival(time: u64, tie_key: TieKey, place: u32, number: u32) -> Event {
        debug_assert!(time <= LATEST && place <= LAST);
        let first = time << 10 | tie_key.0;
        let second = tie_key.1 | u64::from(place) << 30 | u64::from(number);
        Event(u128::from(first) << 64 | u128::from(second))
    }
    pub(crate) fn time(self) -> u64 {
        (self.0 >> 74) as u64
    }
    #[inline]
    pub(crate) fn kind(self) -> EventKind {
        KINDS[(self.0 >> 26) as usize & 15]
    }
    /// Whether a packet comes with it.
    #[inline]
    pub(crate) fn is_arrival(self) -> bool {
        (self.0 >> 26) as usize & 15 == EventKind::Arrival as usize
    }
    pub(crate) fn number(self) -> u32 {
        self.0 as u32 & NUMBER
    }
}

/// The end of a transmission that is going on: when it is, and when it began, from when on that was certain. Seldom does
/// another event come at the same time, so it is put together when one does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) time: u64,
    pub(crate) since: u64,
}

impl Service {
    /// Nothing is transmitted.
    pub(crate) const NONE: Service = Service { time: u64::MAX, since: 0 };

    /// As an event of queue `port`.
    pub(crate) fn event(self, port: u32) -> Event {
        if self.time == u64::MAX {
            Event::NEVER
        } else {
            Event::new(self.time, self.time - self.since, EventKind::Departure, port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_equal_times_what_was_certain_earlier_comes_first() {
        let order = [
            Event::new(5, 0, EventKind::Sample, 9),
            Event::new(6, u64::MAX, EventKind::Warmup, 0),
            Event::new(6, 5_000_000, EventKind::Arrival, 3),
            Event::new(6, 800_000, EventKind::Departure, 0),
            Event::new(6, 800_000, EventKind::Departure, 1),
            Event::arrival(6, TieKey::of(800_000), 0, 7),
            Event::arrival(6, TieKey::of(800_000), 1, 3),
            Event::arrival(6, TieKey::of(800_000), 2, 2),
            Event::new(7, 1, EventKind::Source, 1 << 25),
        ];
        assert!(order.is_sorted());
        let event = order[8];
        assert_eq!((event.time(), event.kind(), event.number()), (7, EventKind::Source, 1 << 25));
    }
}
