//! The operations of a queue in the packet cycle.

use super::QueueStats;
use crate::{packet::Packet, record::Counters};
use sojourn_aqm::Time;

/// A queue: a [`super::Port`] with any algorithm, or a [`super::FifoRef`] with a known one, for which the
/// loop of the fast path is compiled separately.
pub(crate) trait QueueOps {
    /// A packet arrives. False: there may be an outcome to report.
    fn enqueue(&mut self, now: Time, packet: &mut Packet) -> bool;
    /// Take the next packet to transmit, if there is one: its slot.
    fn dequeue(&mut self, now: Time) -> Option<usize>;
    /// The packet taken last, which stays in its slot until the next one arrives.
    fn packet(&self, slot: usize) -> &Packet;
    /// The transmitter has finished a packet and there is no other.
    fn on_idle(&mut self, now: Time);
    fn stats(&mut self) -> &mut QueueStats;
    /// Packets that wait.
    fn len(&self) -> u32;
    /// Whether packets may be dropped or marked when they leave.
    fn drops_at_dequeue(&self) -> bool;
    /// The queue to take a sample of.
    fn sampled(&mut self) -> impl Sampled;
}

/// A queue that can be sampled.
pub(crate) trait Sampled {
    /// Extend the integrals to `now`; returns the queued packets and bytes.
    fn pass(&mut self, now: Time) -> (u32, u64);
    /// Its counters.
    fn counters(&self) -> &Counters;
    /// Report the probes of the algorithm.
    fn probe(&self, field: impl FnMut(&str, f64));
}

impl<Q: Sampled> Sampled for &mut Q {
    #[inline(always)]
    fn pass(&mut self, now: Time) -> (u32, u64) {
        (**self).pass(now)
    }

    fn counters(&self) -> &Counters {
        (**self).counters()
    }

    fn probe(&self, field: impl FnMut(&str, f64)) {
        (**self).probe(field);
    }
}
