//! The measured queue as the express sees it: by the type of its algorithm, or any.

use crate::{
    engine::Calendar,
    flow::Flow,
    losses::{Losses, Teller},
    net::{Clerk, Gate, Packet, Port, Sacks},
    record::Recorder,
};
use sojourn_aqm::{Aqm, IgnoresContents};
use std::marker::PhantomData;

/// The measured queue as the loop sees it.
pub(super) trait Queue {
    fn offer(&mut self, now: u64, packet: &mut Packet) -> bool;
    fn take(&mut self, now: u64) -> Option<&Packet>;
    fn on_idle(&mut self, now: u64);
    fn clerk(&mut self) -> &mut Clerk;
    /// Packets that wait.
    fn len(&self) -> u32;
    /// Whether departures may leave something to tell.
    fn drops_late(&self) -> bool;
    /// A sample is due, and it is the only queue.
    fn sample(&mut self, now: u64, recorder: &mut Recorder, calendar: &mut Calendar<Packet>);
    /// Let flows hear of packets that were dropped or marked.
    #[inline(always)]
    fn tell(&mut self, now: u64, losses: &mut Losses, flows: &mut [Flow], sacks: &mut Sacks) {
        if !self.clerk().fates.is_empty() {
            let teller = Teller { now, is_measured: true, waiting: self.len() };
            losses.tell(teller, self.clerk(), flows, sacks);
        }
    }
}

/// Which kind of queue it is: there is a loop for each, so that what nearly everybody simulates is settled when that is
/// compiled.
pub(super) trait Which {
    type Queue<'a>: Queue;
    fn of(port: &mut Port) -> Option<Self::Queue<'_>>;
}

/// One line with this algorithm.
pub(super) struct One<A: IgnoresContents>(PhantomData<A>);

/// Any.
pub(super) struct Any;

impl<A: Aqm> Queue for Gate<'_, A> {
    #[inline(always)]
    fn offer(&mut self, now: u64, packet: &mut Packet) -> bool {
        self.offer(now, packet)
    }
    #[inline(always)]
    fn take(&mut self, now: u64) -> Option<&Packet> {
        self.again().take(now)
    }
    fn on_idle(&mut self, now: u64) {
        self.on_idle(now);
    }
    fn clerk(&mut self) -> &mut Clerk {
        self.clerk
    }
    fn len(&self) -> u32 {
        self.len()
    }
    fn drops_late(&self) -> bool {
        self.drops_late()
    }
    #[inline(always)]
    fn sample(&mut self, now: u64, recorder: &mut Recorder, calendar: &mut Calendar<Packet>) {
        recorder.sample_one(now, self.again(), calendar);
    }
}

impl Queue for &mut Port {
    #[inline(always)]
    fn offer(&mut self, now: u64, packet: &mut Packet) -> bool {
        (**self).offer(now, packet)
    }
    #[inline(always)]
    fn take(&mut self, now: u64) -> Option<&Packet> {
        (**self).take(now)
    }
    fn on_idle(&mut self, now: u64) {
        (**self).on_idle(now);
    }
    fn clerk(&mut self) -> &mut Clerk {
        &mut self.clerk
    }
    fn len(&self) -> u32 {
        self.backlog().0
    }
    fn drops_late(&self) -> bool {
        true
    }
    fn sample(&mut self, now: u64, recorder: &mut Recorder, calendar: &mut Calendar<Packet>) {
        recorder.sample(now, std::slice::from_mut(*self));
        recorder.file_next(now, calendar);
    }
}

impl<A: IgnoresContents> Which for One<A> {
    type Queue<'a> = Gate<'a, A>;
    fn of(port: &mut Port) -> Option<Gate<'_, A>> {
        port.gate_of()
    }
}

impl Which for Any {
    type Queue<'a> = &'a mut Port;
    fn of(port: &mut Port) -> Option<&mut Port> {
        Some(port)
    }
}
