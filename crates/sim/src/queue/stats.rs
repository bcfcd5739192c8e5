//! Statistics of a queue: counters, outcomes of packets, whether the transmitter is busy.

use crate::{packet::Packet, record::Counters};
use sojourn_aqm::{Cause, Class, Ecn, Time};

/// A waiting packet, the time of its arrival, and its number among all that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueuedPacket {
    pub(crate) packet: Packet,
    pub(super) arrived: Time,
    pub(super) number: u64,
}

/// What a queue did to a packet other than to transmit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Dropped it: the cause, and its number among all that arrived.
    Dropped(Cause, u64),
    /// Marked it: the same.
    Marked(Cause, u64),
}

/// Statistics of one queue.
#[derive(Default)]
pub(crate) struct QueueStats {
    pub(crate) counters: Counters,
    /// A packet is in transmission.
    pub(crate) busy: bool,
    /// Packets that were dropped or marked. The caller reports and clears them after each call.
    pub(crate) outcomes: Vec<(Packet, Outcome)>,
}

impl QueueStats {
    /// `packet` arrives.
    #[inline(always)]
    pub(super) fn arrival(&mut self, now: Time, packet: &Packet) {
        self.counters.arrival(now, packet.bytes, packet.class);
    }

    /// The number of the latest packet among all that arrived.
    #[inline(always)]
    pub(super) fn latest(&self) -> u64 {
        self.counters.arrivals - 1
    }

    /// The transmitter takes a packet that arrived at `arrived`.
    #[inline(always)]
    pub(super) fn departure(&mut self, now: Time, bytes: u32, class: Class, arrived: Time) {
        self.keep_busy(now);
        self.counters.departure(now, bytes, class, now.since_exact(arrived));
    }

    /// The transmitter is busy.
    #[inline(always)]
    pub(super) fn keep_busy(&mut self, now: Time) {
        if !self.busy {
            self.busy = true;
            self.counters.set_busy(now, true);
        }
    }

    /// There is no packet to transmit.
    #[inline(never)]
    pub(super) fn rest(&mut self, now: Time) {
        if self.busy {
            self.busy = false;
            self.counters.set_busy(now, false);
        }
    }

    #[inline(always)]
    pub(super) fn discard(&mut self, now: Time, packet: &Packet, cause: Cause, number: u64) {
        self.counters.drop(now, packet.bytes, packet.class, cause, number);
        self.outcomes.push((*packet, Outcome::Dropped(cause, number)));
    }

    #[inline(never)]
    pub(super) fn mark(&mut self, now: Time, packet: &mut Packet, cause: Cause, number: u64) {
        debug_assert!(packet.ecn != Ecn::NotEct, "a mark needs an ECN-capable packet");
        packet.ecn = Ecn::Ce;
        self.counters.mark(now, packet.class, cause);
        self.outcomes.push((*packet, Outcome::Marked(cause, number)));
    }
}
