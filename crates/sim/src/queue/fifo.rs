//! A FIFO with an algorithm.
//!
//! The estimators of the algorithm see an arriving packet first. Then the packet must fit, else a packet is
//! dropped with cause `overflow`. Then the algorithm decides, and the packet is enqueued. At the head of the
//! queue the algorithm decides again, until it lets a packet pass.

use super::{
    QueueOps, Sampled,
    packet_ring::PacketRing,
    stats::{QueueStats, QueuedPacket},
};
use crate::{packet::Packet, record::Counters};
use sojourn_aqm::{Aqm, Cause, Hooks, IgnoresContents, Limit, Overflow, Random, Stream, Time, Verdict};
use std::any::Any;

/// The FIFO and its algorithm.
pub(crate) struct Fifo {
    buffer: Buffer,
    hooks: Hooks,
    aqm: Box<dyn Aqm>,
}

impl Fifo {
    pub(super) fn new(
        name: &str,
        link_rate: u64,
        limit: Limit,
        overflow: Overflow,
        aqm: Box<dyn Aqm>,
        seed: u64,
    ) -> Fifo {
        Fifo {
            buffer: Buffer {
                ring: PacketRing::new(limit, link_rate),
                overflow,
                rng: Stream::new(seed, &format!("queue/{name}/aqm")),
                victims: Stream::new(seed, &format!("queue/{name}/victims")),
            },
            hooks: aqm.hooks(),
            aqm,
        }
    }

    pub(super) fn set_link_rate(&mut self, rate: u64) {
        self.buffer.ring.link_rate = rate;
    }

    /// Packets and bytes that wait.
    #[inline]
    pub(crate) fn backlog(&self) -> (u32, u64) {
        (self.buffer.ring.len(), self.buffer.ring.bytes())
    }
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.buffer.ring.iter().map(|one| &one.packet)
    }
    #[inline(always)]
    pub(super) fn taken(&self, slot: usize) -> &QueuedPacket {
        self.buffer.ring.popped(slot)
    }
    pub(super) fn aqm(&self) -> &dyn Aqm {
        &*self.aqm
    }

    /// The queue, with any algorithm.
    #[inline(always)]
    pub(super) fn access<'a>(&'a mut self, stats: &'a mut QueueStats) -> FifoRef<'a, dyn Aqm> {
        FifoRef {
            buffer: &mut self.buffer,
            stats,
            aqm: &mut *self.aqm,
            hooks: self.hooks,
            counts_occupancy: true,
        }
    }

    /// The queue with its algorithm known to be an `A`: the ring keeps no occupancy for it.
    pub(super) fn fifo_with<'a, A: IgnoresContents>(
        &'a mut self,
        stats: &'a mut QueueStats,
    ) -> Option<FifoRef<'a, A>> {
        let aqm = (&mut *self.aqm as &mut dyn Any).downcast_mut::<A>()?;
        let hooks = aqm.hooks();
        Some(FifoRef { buffer: &mut self.buffer, stats, aqm, hooks, counts_occupancy: false })
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        let Buffer { ring, rng, .. } = &mut self.buffer;
        self.aqm.on_timer(now, &ring.view(), rng);
    }

    pub(super) fn on_end(&mut self, now: Time, export: &mut dyn FnMut(&str, &str)) {
        self.aqm.on_end(now, export);
    }
}

/// What does not depend on the algorithm: packets, the drop policy of a full buffer, random numbers.
pub(super) struct Buffer {
    pub(super) ring: PacketRing,
    pub(super) overflow: Overflow,
    pub(super) rng: Stream,
    pub(super) victims: Stream,
}

/// A FIFO with its statistics. If the type of the algorithm is known, so is which hooks it has, and whether
/// it reads what the queue contains.
pub(crate) struct FifoRef<'a, A: ?Sized> {
    pub(super) buffer: &'a mut Buffer,
    pub(crate) stats: &'a mut QueueStats,
    pub(super) aqm: &'a mut A,
    pub(super) hooks: Hooks,
    pub(super) counts_occupancy: bool,
}

impl<A: Aqm + ?Sized> QueueOps for FifoRef<'_, A> {
    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: &mut Packet) -> bool {
        self.stats.arrival(now, packet);
        let mut just_waits = true;
        if !self.buffer.ring.has_room(packet.bytes) {
            just_waits = false;
            if !self.enqueue_full(now, packet) {
                return false;
            }
        } else if self.hooks.arrivals {
            let Buffer { ring, rng, .. } = &mut *self.buffer;
            let verdict = self.aqm.on_fit(now, &packet.view(now), &ring.view(), rng);
            if verdict != Verdict::Pass {
                just_waits = false;
                if !self.decide_at_enqueue(verdict, now, packet) {
                    return false;
                }
            }
        }
        self.stats.counters.enter(now, self.buffer.ring.len(), packet.bytes);
        self.buffer.ring.push(packet, now, self.stats.latest(), self.counts_occupancy);
        just_waits
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time) -> Option<usize> {
        self.reborrow().take(now)
    }

    #[inline(always)]
    fn packet(&self, slot: usize) -> &Packet {
        &self.buffer.ring.popped(slot).packet
    }

    #[inline(never)]
    fn on_idle(&mut self, now: Time) {
        self.aqm.on_idle(now);
    }

    #[inline(always)]
    fn stats(&mut self) -> &mut QueueStats {
        self.stats
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.buffer.ring.len()
    }

    #[inline(always)]
    fn drops_at_dequeue(&self) -> bool {
        self.hooks.departures
    }

    #[inline(always)]
    fn sampled(&mut self) -> impl Sampled {
        self.reborrow()
    }
}

impl<A: Aqm + ?Sized> FifoRef<'_, A> {
    /// A copy for one call that is not inlined: then the original need not be in memory.
    #[inline(always)]
    fn reborrow(&mut self) -> FifoRef<'_, A> {
        FifoRef { buffer: self.buffer, stats: self.stats, aqm: self.aqm, ..*self }
    }

    #[inline(always)]
    fn take(mut self, now: Time) -> Option<usize> {
        while let Some(others) = self.buffer.ring.len().checked_sub(1) {
            let slot = self.buffer.ring.pop(self.counts_occupancy);
            let QueuedPacket { packet: Packet { bytes, class, .. }, arrived, .. } =
                *self.buffer.ring.popped(slot);
            self.stats.counters.leave(now, others, bytes);
            if self.hooks.departures && !self.passes(now, slot, arrived) {
                continue;
            }
            self.stats.departure(now, bytes, class, arrived);
            return Some(slot);
        }
        self.stats.rest(now);
        None
    }

    /// The buffer is full: whether the arriving packet is enqueued after all.
    #[cold]
    #[inline(never)]
    fn enqueue_full(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.hooks.arrivals {
            self.aqm.on_offered(now, &packet.view(now), &self.buffer.ring.view());
        }
        if !self.make_room(now, packet) {
            return self.refuse(now);
        }
        if !self.hooks.arrivals {
            return true;
        }
        let Buffer { ring, rng, .. } = &mut *self.buffer;
        let verdict = self.aqm.on_arrival(now, &packet.view(now), &ring.view(), rng);
        self.decide_at_enqueue(verdict, now, packet)
    }

    /// The algorithm has decided other than to let an arriving packet pass: whether that is enqueued.
    #[cold]
    #[inline(never)]
    fn decide_at_enqueue(&mut self, verdict: Verdict, now: Time, packet: &mut Packet) -> bool {
        let number = self.stats.latest();
        match verdict {
            Verdict::Pass => return true,
            Verdict::Mark(cause) => {
                self.stats.mark(now, packet, cause, number);
                return true;
            }
            Verdict::Drop(cause) => self.stats.discard(now, packet, cause, number),
            Verdict::DropBoth { victim, cause } => {
                if let Some(other) = self.remove(now, victim as usize) {
                    self.stats.discard(now, &other.packet, cause, other.number);
                }
                self.stats.discard(now, packet, cause, number);
            }
        }
        self.refuse(now)
    }

    /// An arriving packet is not enqueued.
    fn refuse(&mut self, now: Time) -> bool {
        if !self.stats.busy && self.buffer.ring.len() == 0 {
            self.on_idle(now); // the idle time continues
        }
        false
    }

    /// Whether the packet that was at the head, now in `place`, is transmitted.
    #[inline(always)]
    fn passes(&mut self, now: Time, place: usize, arrived: Time) -> bool {
        let Buffer { ring, rng, .. } = &mut *self.buffer;
        let view = ring.popped_mut(place).packet.view(arrived);
        match self.aqm.on_departure(now, &view, &ring.view(), rng) {
            Verdict::Pass => true,
            verdict => self.decide_at_dequeue(verdict, now, place),
        }
    }

    /// The algorithm has decided other than to let a packet pass: whether that is transmitted.
    #[cold]
    #[inline(never)]
    fn decide_at_dequeue(&mut self, verdict: Verdict, now: Time, place: usize) -> bool {
        let QueuedPacket { packet, number, .. } = self.buffer.ring.popped_mut(place);
        match verdict {
            Verdict::Pass => true,
            Verdict::Mark(cause) => {
                self.stats.mark(now, packet, cause, *number);
                true
            }
            Verdict::Drop(cause) | Verdict::DropBoth { cause, .. } => {
                self.stats.discard(now, packet, cause, *number);
                false
            }
        }
    }

    /// The buffer is full: drop the arriving packet or, if it can fit at all, others until it does.
    #[inline(never)]
    fn make_room(&mut self, now: Time, packet: &Packet) -> bool {
        let number = self.stats.latest();
        let limit = self.buffer.ring.limit();
        let hopeless = matches!(limit, Limit::Bytes(limit) if u64::from(packet.bytes) > limit);
        while !self.buffer.ring.has_room(packet.bytes) {
            let position = match self.buffer.overflow {
                Overflow::Head if !hopeless => 0,
                Overflow::Random if !hopeless => {
                    (self.buffer.victims.uniform() * f64::from(self.buffer.ring.len())) as usize
                }
                _ => usize::MAX,
            };
            let (victim, is_arrival) = match self.remove(now, position) {
                Some(one) => (one, false),
                None => (QueuedPacket { packet: *packet, arrived: now, number }, true),
            };
            self.stats.discard(now, &victim.packet, Cause::Overflow, victim.number);
            let (ring, view) = (&self.buffer.ring, victim.packet.view(victim.arrived));
            self.aqm.on_drop(now, &view, Cause::Overflow, &ring.view());
            if is_arrival {
                self.aqm.on_refused(now, &view, &ring.view(), &mut self.buffer.rng);
                return false;
            }
        }
        true
    }

    /// Remove a waiting packet.
    fn remove(&mut self, now: Time, position: usize) -> Option<QueuedPacket> {
        let one = self.buffer.ring.remove(position)?;
        self.stats.counters.leave(now, self.buffer.ring.len(), one.packet.bytes);
        Some(one)
    }
}

impl<A: Aqm + ?Sized> Sampled for FifoRef<'_, A> {
    fn pass(&mut self, now: Time) -> (u32, u64) {
        let (packets, bytes) = (self.buffer.ring.len(), self.buffer.ring.bytes());
        self.stats.counters.pass(now, packets, bytes, self.stats.busy);
        (packets, bytes)
    }

    fn counters(&self) -> &Counters {
        &self.stats.counters
    }

    fn probe(&self, mut field: impl FnMut(&str, f64)) {
        self.aqm.probe(&mut field);
    }
}
