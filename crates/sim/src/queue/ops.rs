//! The operations of a queue in the packet cycle.

use super::QueueStats;
use crate::{engine::CalendarQueue, packet::Packet, record::Recorder};
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
    /// Take a sample of this queue, which is the only one, and schedule the next.
    fn sample(&mut self, now: Time, recorder: &mut Recorder, calendar: &mut CalendarQueue<Packet>);
}
