//! Events and their order.
//!
//! Of two events at the same time, the one whose cause is older comes first, as in a simulator that schedules
//! every event when its cause happens and keeps equal times in FIFO order (as ns-2 does). Ties are common:
//! ACK-clocked packets arrive at the queue exactly when a transmission ends, and whether a full buffer
//! handles the arrival or the departure first decides which packet is dropped. Of two arrivals of the same
//! age, a packet that found its link idle comes before one that had to wait for the transmitter, and the
//! second packet of a burst before the third of another, so a full buffer drops the packet that a growing
//! window has added last. Kind and number break the remaining ties, so the order does not depend on how many
//! steps the simulator combines into one event.

use sojourn_aqm::{Span, Time};

/// The kind of an event; the discriminant orders events of equal time and age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EventKind {
    /// The run ends.
    End = 0,
    /// The measurement window opens (number 0), or a phase begins or ends.
    Warmup,
    /// The transmitter of a queue has sent a packet.
    Departure,
    /// The timer of an algorithm expires.
    AqmTimer,
    /// A retransmission timer expires.
    Retransmit,
    /// A delayed acknowledgement is sent.
    DelayedAck,
    /// A flow, or a group of flows, stops sending new data.
    Stop,
    /// The send jitter of a sender is over, or its pacing allows the next packet.
    Release,
    /// A source starts, or sends the next packet.
    Source,
    /// A web session requests a page, or the next object of one.
    Page,
    /// A web object has arrived.
    Object,
    /// The shaper of a connection releases the next packet.
    Paced,
    /// A packet reaches the end of a link.
    Arrival,
    /// The queues are sampled.
    Sample,
    /// The retransmission timers are scanned.
    RtoScan,
    /// The fast path returns to the main loop, which polls for cancellation.
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

/// The largest age that is distinguished: about a second.
const MAX_AGE: u64 = (1 << 30) - 1;

/// An age greater than that of any other event at the same time.
pub(crate) const OLDEST: Span = Span(u64::MAX);

/// The latest time of an event: half a year.
pub(crate) const MAX_EVENT_TIME: Time = Time((1 << 54) - 1);
/// The largest index in a burst that is distinguished.
pub(crate) const MAX_BURST_INDEX: u32 = (1 << 14) - 1;
/// A flag in the number of a `Source` or `Stop` event: the number is that of a group, not of a flow; of a
/// `Page` event: that of a page, not of a session; of an `Object` event: that of the client of a video; of a
/// `Departure` event: the queue held packets back.
pub(crate) const OF_GROUP: u32 = 1 << 25;
const MAX_NUMBER: u32 = (1 << 26) - 1;

/// The part of an arrival that depends on its age alone: the two halves of an [`Event`] whose time, burst
/// index and number are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TieKey(u64, u64);

impl TieKey {
    /// The key of arrivals whose cause is `age` old.
    pub(crate) fn of(age: Span) -> TieKey {
        let event = Event::new(Time::ZERO, age, EventKind::Arrival, 0).0;
        TieKey((event >> 64) as u64, event as u64)
    }
}

/// An event: time, recency, burst index, kind and number, packed so that one comparison orders two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

impl Event {
    /// Compares after every other event.
    pub(crate) const NEVER: Event = Event(u128::MAX);

    /// An event at `time` whose cause is `age` old.
    pub(crate) fn new(time: Time, age: Span, kind: EventKind, number: u32) -> Event {
        let recency = MAX_AGE - age.0.min(MAX_AGE);
        debug_assert!(number <= MAX_NUMBER);
        let rest = u128::from(recency) << 44 | (kind as u128) << 26 | u128::from(number);
        Event(u128::from(time.min(MAX_EVENT_TIME).0) << 74 | rest)
    }
    /// The arrival of a packet at the end of link `number`, sent after `burst_index` others of its burst; at
    /// most [`MAX_EVENT_TIME`] and [`MAX_BURST_INDEX`].
    #[inline(always)]
    pub(crate) fn arrival(time: Time, tie_key: TieKey, burst_index: u32, number: u32) -> Event {
        debug_assert!(time <= MAX_EVENT_TIME && burst_index <= MAX_BURST_INDEX);
        let first = time.0 << 10 | tie_key.0;
        let second = tie_key.1 | u64::from(burst_index) << 30 | u64::from(number);
        Event(u128::from(first) << 64 | u128::from(second))
    }
    /// The least event after `event`.
    pub(crate) fn after(event: Event) -> Event {
        Event(event.0.saturating_add(1))
    }
    pub(crate) fn time(self) -> Time {
        Time((self.0 >> 74) as u64)
    }
    #[inline]
    pub(crate) fn kind(self) -> EventKind {
        KINDS[(self.0 >> 26) as usize & 15]
    }
    /// Whether it is an arrival, whose item is a packet.
    #[inline]
    pub(crate) fn is_arrival(self) -> bool {
        (self.0 >> 26) as usize & 15 == EventKind::Arrival as usize
    }
    pub(crate) fn number(self) -> u32 {
        self.0 as u32 & MAX_NUMBER
    }
}

/// The transmission in progress at the measured queue. It is an event that is kept beside the calendar queue;
/// the packed form is computed only to break ties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// When it ends.
    pub(crate) time: Time,
    /// When it began: the age of the event counts from here.
    pub(crate) since: Time,
}

impl Service {
    /// The transmitter is idle.
    pub(crate) const NONE: Service = Service { time: Time::NEVER, since: Time::ZERO };

    /// The event of queue `port`.
    pub(crate) fn event(self, port: u32) -> Event {
        if self.time == Time::NEVER {
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
    fn of_equal_times_the_older_event_comes_first() {
        let order = [
            Event::new(Time(5), Span::ZERO, EventKind::Sample, 9),
            Event::new(Time(6), OLDEST, EventKind::Warmup, 0),
            Event::new(Time(6), Span(5_000_000), EventKind::Arrival, 3),
            Event::new(Time(6), Span(800_000), EventKind::Departure, 0),
            Event::new(Time(6), Span(800_000), EventKind::Departure, 1),
            Event::arrival(Time(6), TieKey::of(Span(800_000)), 0, 7),
            Event::arrival(Time(6), TieKey::of(Span(800_000)), 1, 3),
            Event::arrival(Time(6), TieKey::of(Span(800_000)), 2, 2),
            Event::new(Time(7), Span(1), EventKind::Source, 1 << 25),
        ];
        assert!(order.is_sorted());
        let event = order[8];
        assert_eq!((event.time(), event.kind(), event.number()), (Time(7), EventKind::Source, 1 << 25));
    }
}
