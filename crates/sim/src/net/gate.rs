//! The way into a line and out of it, past its algorithm.
//!
//! The order for an arriving packet: the algorithm's estimators see it, then it must fit (else somebody
//! is dropped with cause `overflow`), then the algorithm decides, then it waits. At the head the algorithm is
//! asked again, until it lets one go.

use super::{
    Packet,
    clerk::{Clerk, Waiting},
    line::Line,
};
use crate::record::{Counters, Sampled};
use sojourn_aqm::{Aqm, Cause, Hooks, Limit, Overflow, Random, Stream, Time, Verdict};

/// Who waits, who goes when there is no room, and chance: what does not depend on the algorithm.
pub(super) struct Desk {
    pub(super) line: Line,
    pub(super) overflow: Overflow,
    pub(super) rng: Stream,
    pub(super) victims: Stream,
}

/// A line, its notes and its algorithm at hand. Where that is known by its type, so is when it is asked and whether it
/// looks at who waits: nothing of it is looked up for a packet.
pub(crate) struct Gate<'a, A: ?Sized> {
    pub(super) desk: &'a mut Desk,
    pub(crate) clerk: &'a mut Clerk,
    pub(super) aqm: &'a mut A,
    pub(super) hooks: Hooks,
    pub(super) looks: bool,
}

impl<'a, A: Aqm + ?Sized> Gate<'a, A> {
    /// A packet arrives; whether it just waits, and there is nothing to tell.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: u64, packet: &mut Packet) -> bool {
        self.clerk.arrival(now, packet);
        let mut just_waits = true;
        if !self.desk.line.has_room(packet.bytes) {
            just_waits = false;
            if !self.finds_room(now, packet) {
                return false;
            }
        } else if self.hooks.arrivals {
            let Desk { line, rng, .. } = &mut *self.desk;
            let verdict = self.aqm.on_fit(Time(now), &packet.view(now), &line.view(), rng);
            if verdict != Verdict::Pass {
                just_waits = false;
                if !self.carry_out(verdict, now, packet) {
                    return false;
                }
            }
        }
        self.clerk.counters.enter(now, self.desk.line.len(), packet.bytes);
        self.desk.line.push(packet, now, self.clerk.latest(), self.looks);
        just_waits
    }

    /// The same once more, to be used up.
    #[inline(always)]
    pub(crate) fn again(&mut self) -> Gate<'_, A> {
        Gate { desk: self.desk, clerk: self.clerk, aqm: self.aqm, ..*self }
    }

    /// Take the next packet to send, if there is one: it lies there until the next arrives.
    #[inline(always)]
    pub(crate) fn take(mut self, now: u64) -> Option<&'a Packet> {
        while let Some(others) = self.desk.line.len().checked_sub(1) {
            let place = self.desk.line.pop(self.looks);
            let Waiting { packet: Packet { bytes, class, .. }, arrived, .. } = *self.desk.line.popped(place);
            self.clerk.counters.leave(now, others, bytes);
            if self.hooks.departures && !self.lets_go(now, place, arrived) {
                continue;
            }
            self.clerk.departure(now, bytes, class, arrived);
            return Some(&self.desk.line.popped(place).packet);
        }
        self.clerk.rest(now);
        None
    }

    /// The transmitter has finished a packet and found nothing, or an arrival has left it idle.
    #[inline(never)]
    pub(crate) fn on_idle(&mut self, now: u64) {
        self.aqm.on_idle(Time(now));
    }

    /// Packets that wait.
    pub(crate) fn len(&self) -> u32 {
        self.desk.line.len()
    }

    /// Whether packets may be dropped or marked when they leave.
    #[inline(always)]
    pub(crate) fn drops_late(&self) -> bool {
        self.hooks.departures
    }

    /// The buffer is full: whether an arriving packet may wait after all.
    #[cold]
    #[inline(never)]
    fn finds_room(&mut self, now: u64, packet: &mut Packet) -> bool {
        if self.hooks.arrivals {
            self.aqm.on_offered(Time(now), &packet.view(now), &self.desk.line.view());
        }
        if !self.make_room(now, packet) {
            return self.refuse(now);
        }
        if !self.hooks.arrivals {
            return true;
        }
        let Desk { line, rng, .. } = &mut *self.desk;
        let verdict = self.aqm.on_arrival(Time(now), &packet.view(now), &line.view(), rng);
        self.carry_out(verdict, now, packet)
    }

    /// The algorithm does not just let an arrival pass; whether it may wait.
    #[cold]
    #[inline(never)]
    fn carry_out(&mut self, verdict: Verdict, now: u64, packet: &mut Packet) -> bool {
        let number = self.clerk.latest();
        match verdict {
            Verdict::Pass => return true,
            Verdict::Mark(cause) => {
                self.clerk.mark(now, packet, cause);
                return true;
            }
            Verdict::Drop(cause) => self.clerk.discard(now, packet, cause, number),
            Verdict::DropBoth { victim, cause } => {
                if let Some(other) = self.remove(now, victim as usize) {
                    self.clerk.discard(now, &other.packet, cause, other.number);
                }
                self.clerk.discard(now, packet, cause, number);
            }
        }
        self.refuse(now)
    }

    /// An arrival does not wait.
    fn refuse(&mut self, now: u64) -> bool {
        if !self.clerk.busy && self.desk.line.len() == 0 {
            self.on_idle(now); // it came and did not stay: the idle time goes on
        }
        false
    }

    /// Whether the packet that was at the head, in this place, may be sent.
    #[inline(always)]
    fn lets_go(&mut self, now: u64, place: usize, arrived: u64) -> bool {
        let Desk { line, rng, .. } = &mut *self.desk;
        let view = line.popped(place).packet.view(arrived);
        match self.aqm.on_departure(Time(now), &view, &line.view(), rng) {
            Verdict::Pass => true,
            verdict => self.carry_out_late(verdict, now, place),
        }
    }

    /// The algorithm does not just let a packet go; whether it may be sent.
    #[cold]
    #[inline(never)]
    fn carry_out_late(&mut self, verdict: Verdict, now: u64, place: usize) -> bool {
        let Waiting { packet, number, .. } = self.desk.line.popped(place);
        match verdict {
            Verdict::Pass => true,
            Verdict::Mark(cause) => {
                self.clerk.mark(now, packet, cause);
                true
            }
            Verdict::Drop(cause) | Verdict::DropBoth { cause, .. } => {
                self.clerk.discard(now, packet, cause, *number);
                false
            }
        }
    }

    /// The buffer is full: drop the arrival or, if it can ever fit, others until it does.
    #[inline(never)]
    fn make_room(&mut self, now: u64, packet: &Packet) -> bool {
        let number = self.clerk.latest();
        let limit = self.desk.line.limit();
        let hopeless = matches!(limit, Limit::Bytes(limit) if u64::from(packet.bytes) > limit);
        while !self.desk.line.has_room(packet.bytes) {
            let position = match self.desk.overflow {
                Overflow::Head if !hopeless => 0,
                Overflow::Random if !hopeless => {
                    (self.desk.victims.uniform() * f64::from(self.desk.line.len())) as usize
                }
                _ => usize::MAX,
            };
            let (victim, is_arrival) = match self.remove(now, position) {
                Some(one) => (one, false),
                None => (Waiting { packet: *packet, arrived: now, number }, true),
            };
            self.clerk.discard(now, &victim.packet, Cause::Overflow, victim.number);
            let (line, view) = (&self.desk.line, victim.packet.view(victim.arrived));
            self.aqm.on_drop(Time(now), &view, Cause::Overflow, &line.view());
            if is_arrival {
                self.aqm.on_refused(Time(now), &view, &line.view(), &mut self.desk.rng);
                return false;
            }
        }
        true
    }

    /// A packet gives up its place.
    fn remove(&mut self, now: u64, position: usize) -> Option<Waiting> {
        let one = self.desk.line.remove(position)?;
        self.clerk.counters.leave(now, self.desk.line.len(), one.packet.bytes);
        Some(one)
    }
}

impl<A: Aqm + ?Sized> Sampled for Gate<'_, A> {
    fn pass(&mut self, now: u64) -> (u32, u64) {
        let (packets, bytes) = (self.desk.line.len(), self.desk.line.bytes());
        self.clerk.counters.pass(now, packets, bytes, self.clerk.busy);
        (packets, bytes)
    }

    fn counters(&self) -> &Counters {
        &self.clerk.counters
    }

    fn probe(&self, mut field: impl FnMut(&str, f64)) {
        self.aqm.probe(&mut field);
    }
}
