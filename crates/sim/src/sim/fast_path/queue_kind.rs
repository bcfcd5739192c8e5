//! The measured queue as the fast path sees it: by the type of its algorithm, or any.

use crate::{
    engine::CalendarQueue,
    flow::Flow,
    packet::{Packet, Sacks},
    queue::{FifoRef, Port, QueueStats},
    queue::{LossContext, LossLog},
    record::Recorder,
};
use sojourn_aqm::{Aqm, IgnoresContents};
use std::marker::PhantomData;

/// The measured queue as the loop sees it.
pub(super) trait QueueOps {
    fn enqueue(&mut self, now: u64, packet: &mut Packet) -> bool;
    fn dequeue(&mut self, now: u64) -> Option<&Packet>;
    fn on_idle(&mut self, now: u64);
    fn stats(&mut self) -> &mut QueueStats;
    /// Packets that wait.
    fn len(&self) -> u32;
    /// Whether departures may leave something to tell.
    fn drops_late(&self) -> bool;
    /// A sample is due, and it is the only queue.
    fn sample(&mut self, now: u64, recorder: &mut Recorder, calendar: &mut CalendarQueue<Packet>);
    /// Let flows hear of packets that were dropped or marked.
    #[inline(always)]
    fn report_outcomes(&mut self, now: u64, loss_log: &mut LossLog, flows: &mut [Flow], sacks: &mut Sacks) {
        if !self.stats().outcomes.is_empty() {
            let context = LossContext { now, is_measured: true, waiting: self.len() };
            loss_log.record(context, self.stats(), flows, sacks);
        }
    }
}

/// Which kind of queue it is: there is a loop for each, so that what nearly everybody simulates is settled when that is
/// compiled.
pub(super) trait Which {
    type QueueOps<'a>: QueueOps;
    fn of(port: &mut Port) -> Option<Self::QueueOps<'_>>;
}

/// One line with this algorithm.
pub(super) struct One<A: IgnoresContents>(PhantomData<A>);

/// Any.
pub(super) struct Any;

impl<A: Aqm> QueueOps for FifoRef<'_, A> {
    #[inline(always)]
    fn enqueue(&mut self, now: u64, packet: &mut Packet) -> bool {
        self.enqueue(now, packet)
    }
    #[inline(always)]
    fn dequeue(&mut self, now: u64) -> Option<&Packet> {
        self.reborrow().dequeue(now)
    }
    fn on_idle(&mut self, now: u64) {
        self.on_idle(now);
    }
    fn stats(&mut self) -> &mut QueueStats {
        self.stats
    }
    fn len(&self) -> u32 {
        self.len()
    }
    fn drops_late(&self) -> bool {
        self.drops_late()
    }
    #[inline(always)]
    fn sample(&mut self, now: u64, recorder: &mut Recorder, calendar: &mut CalendarQueue<Packet>) {
        recorder.sample_one(now, self.reborrow(), calendar);
    }
}

impl QueueOps for &mut Port {
    #[inline(always)]
    fn enqueue(&mut self, now: u64, packet: &mut Packet) -> bool {
        (**self).enqueue(now, packet)
    }
    #[inline(always)]
    fn dequeue(&mut self, now: u64) -> Option<&Packet> {
        (**self).dequeue(now)
    }
    fn on_idle(&mut self, now: u64) {
        (**self).on_idle(now);
    }
    fn stats(&mut self) -> &mut QueueStats {
        &mut self.stats
    }
    fn len(&self) -> u32 {
        self.backlog().0
    }
    fn drops_late(&self) -> bool {
        true
    }
    fn sample(&mut self, now: u64, recorder: &mut Recorder, calendar: &mut CalendarQueue<Packet>) {
        recorder.sample(now, std::slice::from_mut(*self));
        recorder.file_next(now, calendar);
    }
}

impl<A: IgnoresContents> Which for One<A> {
    type QueueOps<'a> = FifoRef<'a, A>;
    fn of(port: &mut Port) -> Option<FifoRef<'_, A>> {
        port.fifo_with()
    }
}

impl Which for Any {
    type QueueOps<'a> = &'a mut Port;
    fn of(port: &mut Port) -> Option<&mut Port> {
        Some(port)
    }
}
