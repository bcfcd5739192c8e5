//! Virtual time: the events that are due, in order.
//!
//! At equal times departures come first, then timers, then arrivals; within a kind the lower number
//! (queue, flow, link) first. Each (kind, number) has at most one event that counts, and links and
//! queues keep their packets in order themselves, so the order of events never depends on the order in
//! which they were filed, nor on how many steps the simulator takes at once.

mod heap;

pub(crate) use heap::Heap;

/// What is due; the discriminant is the order at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The window of statistics opens.
    Warmup = 0,
    /// A queue's transmitter has finished a packet.
    Departure = 1,
    /// An algorithm's own timer.
    AqmTimer = 2,
    /// A retransmission timer.
    Retransmit = 3,
    /// A receiver's delayed acknowledgement.
    DelayedAck = 4,
    /// A flow has nothing new to send from now on.
    Stop = 5,
    /// A source starts, or emits.
    Source = 6,
    /// The first packet on a link reaches its end.
    Arrival = 7,
    /// Queues are sampled.
    Sample = 8,
}

const KINDS: [Kind; 9] = [
    Kind::Warmup,
    Kind::Departure,
    Kind::AqmTimer,
    Kind::Retransmit,
    Kind::DelayedAck,
    Kind::Stop,
    Kind::Source,
    Kind::Arrival,
    Kind::Sample,
];

/// An event: time, kind and number packed so that one comparison orders two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

impl Event {
    pub(crate) fn new(time: u64, kind: Kind, number: u32) -> Event {
        Event(u128::from(time) << 64 | u128::from(kind as u8) << 32 | u128::from(number))
    }
    pub(crate) fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }
    pub(crate) fn kind(self) -> Kind {
        KINDS[(self.0 >> 32) as u8 as usize]
    }
    pub(crate) fn number(self) -> u32 {
        self.0 as u32
    }
}
