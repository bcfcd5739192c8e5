//! One line of packets and the algorithm that decides about them.
//!
//! The order for an arriving packet: the algorithm's estimators see it, then it must fit (else somebody
//! is dropped with cause `overflow`), then the algorithm decides, then it waits. At the head the algorithm is
//! asked again, until it lets one go.

use super::{
    Packet,
    clerk::{Clerk, Waiting},
};
use sojourn_aqm::{
    Aqm, Asked, Cause, Census, Class, Contents, FlowId, Limit, Overflow, PacketView, QueueView, Random,
    Stream, Time, Verdict,
};
use std::collections::VecDeque;

/// First in, first out, as far as the algorithm lets it.
pub(super) struct Fifo {
    aqm: Box<dyn Aqm>,
    asked: Asked,
    limit: Limit,
    overflow: Overflow,
    link_rate: u64,
    waiting: Line,
    bytes: u64,
    rng: Stream,
    victims: Stream,
}

/// The waiting packets, head first.
#[derive(Default)]
struct Line {
    packets: VecDeque<Waiting>,
    census: Census,
}

impl Line {
    fn push(&mut self, packet: &Packet, arrived: u64, number: u64) {
        self.census.enter(FlowId(packet.flow), packet.class);
        self.packets.push_back(Waiting { packet: *packet, arrived, number });
    }

    /// Take the head: the packet, when it came and its number.
    fn pop(&mut self, packet: &mut Packet) -> Option<(u64, u64)> {
        let Waiting { packet: head, arrived, number } = self.packets.front()?;
        let (arrived, number) = (*arrived, *number);
        *packet = *head;
        self.packets.pop_front();
        self.census.leave(FlowId(packet.flow), packet.class);
        Some((arrived, number))
    }

    fn remove(&mut self, position: usize) -> Option<Waiting> {
        let one = self.packets.remove(position)?;
        self.census.leave(FlowId(one.packet.flow), one.packet.class);
        Some(one)
    }

    fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// The flow and class of everybody.
    fn members(&self) -> impl Iterator<Item = (FlowId, Class)> {
        self.packets.iter().map(|w| (FlowId(w.packet.flow), w.packet.class))
    }
}

impl Contents for Line {
    fn at(&self, position: u32) -> Option<PacketView> {
        self.packets.get(position as usize).map(|w| w.packet.view(w.arrived))
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        self.census.of_flow(flow, || self.members())
    }
    fn of_class(&self, class: Class) -> u32 {
        self.census.of_class(class, || self.members())
    }
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
            rng: Stream::new(seed, &format!("queue/{name}/aqm")),
            victims: Stream::new(seed, &format!("queue/{name}/victims")),
            waiting: Line::default(),
            bytes: 0,
            asked: aqm.asked(),
            aqm,
            limit,
            overflow,
            link_rate,
        }
    }

    pub(super) fn set_link_rate(&mut self, rate: u64) {
        self.link_rate = rate;
    }

    /// Packets and bytes that wait.
    pub(super) fn backlog(&self) -> (u32, u64) {
        (self.waiting.len(), self.bytes)
    }
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.packets.iter().map(|w| &w.packet)
    }
    pub(super) fn aqm(&self) -> &dyn Aqm {
        &*self.aqm
    }

    /// A packet arrives.
    #[inline(always)]
    pub(super) fn offer(&mut self, now: u64, packet: &mut Packet, clerk: &mut Clerk) {
        let number = clerk.arrival(now, packet);
        let has_room = self.fits(packet.bytes);
        if (self.asked.arrivals || !has_room) && !self.lets_in(now, packet, number, has_room, clerk) {
            if !clerk.busy && self.waiting.len() == 0 {
                self.aqm.on_idle(Time(now)); // it came and did not stay: the idle time goes on
            }
            return;
        }
        clerk.counters.enter(now, self.waiting.len(), packet.bytes);
        self.bytes += u64::from(packet.bytes);
        self.waiting.push(packet, now, number);
    }

    /// Whether an arriving packet may wait, for which there is room now or not.
    fn lets_in(
        &mut self,
        now: u64,
        packet: &mut Packet,
        number: u64,
        has_room: bool,
        clerk: &mut Clerk,
    ) -> bool {
        let view = packet.view(now);
        let mut queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
        if self.asked.arrivals {
            self.aqm.on_offered(Time(now), &view, &queue);
        }
        if !has_room {
            let has_room = self.make_room(now, packet, number, clerk);
            queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
            if !has_room {
                self.aqm.on_refused(Time(now), &view, &queue, &mut self.rng);
                return false;
            }
        }
        if !self.asked.arrivals {
            return true;
        }
        match self.aqm.on_arrival(Time(now), &view, &queue, &mut self.rng) {
            Verdict::Pass => true,
            Verdict::Mark(cause) => {
                clerk.mark(now, packet, cause);
                true
            }
            Verdict::Drop(cause) => {
                clerk.discard(now, packet, cause, number);
                false
            }
            Verdict::DropBoth { victim, cause } => {
                if let Some(other) = self.remove(now, victim as usize, clerk) {
                    clerk.discard(now, &other.packet, cause, other.number);
                }
                clerk.discard(now, packet, cause, number);
                false
            }
        }
    }

    /// A packet gives up its place.
    fn remove(&mut self, now: u64, position: usize, clerk: &mut Clerk) -> Option<Waiting> {
        let one = self.waiting.remove(position)?;
        self.bytes -= u64::from(one.packet.bytes);
        clerk.counters.leave(now, self.waiting.len(), one.packet.bytes);
        Some(one)
    }

    /// Take the next packet to send; whether there is one.
    #[inline(always)]
    pub(super) fn take(&mut self, now: u64, packet: &mut Packet, clerk: &mut Clerk) -> bool {
        while let Some((arrived, number)) = self.waiting.pop(packet) {
            self.bytes -= u64::from(packet.bytes);
            clerk.counters.leave(now, self.waiting.len(), packet.bytes);
            if !self.asked.departures || self.lets_go(now, packet, arrived, number, clerk) {
                clerk.departure(now, packet, arrived);
                return true;
            }
        }
        clerk.rest(now);
        false
    }

    /// Whether the packet at the head, which waits no longer, may be sent.
    fn lets_go(
        &mut self,
        now: u64,
        packet: &mut Packet,
        arrived: u64,
        number: u64,
        clerk: &mut Clerk,
    ) -> bool {
        let queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
        match self.aqm.on_departure(Time(now), &packet.view(arrived), &queue, &mut self.rng) {
            Verdict::Pass => true,
            Verdict::Mark(cause) => {
                clerk.mark(now, packet, cause);
                true
            }
            Verdict::Drop(cause) | Verdict::DropBoth { cause, .. } => {
                clerk.discard(now, packet, cause, number);
                false
            }
        }
    }

    pub(super) fn on_idle(&mut self, now: u64) {
        self.aqm.on_idle(Time(now));
    }

    pub(super) fn on_timer(&mut self, now: u64) {
        let queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
        self.aqm.on_timer(Time(now), &queue);
    }

    fn fits(&self, bytes: u32) -> bool {
        self.limit.has_room(self.waiting.len(), self.bytes, bytes)
    }

    /// The buffer is full: drop the arrival or, if it can ever fit, others until it does.
    #[inline(never)]
    fn make_room(&mut self, now: u64, packet: &Packet, number: u64, clerk: &mut Clerk) -> bool {
        let hopeless = matches!(self.limit, Limit::Bytes(limit) if u64::from(packet.bytes) > limit);
        while !self.fits(packet.bytes) {
            let position = match self.overflow {
                Overflow::Head if !hopeless => 0,
                Overflow::Random if !hopeless => {
                    (self.victims.uniform() * f64::from(self.waiting.len())) as usize
                }
                _ => usize::MAX,
            };
            let (victim, is_arrival) = match self.remove(now, position, clerk) {
                Some(one) => (one, false),
                None => (Waiting { packet: *packet, arrived: now, number }, true),
            };
            clerk.discard(now, &victim.packet, Cause::Overflow, victim.number);
            let queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
            let view = victim.packet.view(victim.arrived);
            self.aqm.on_drop(Time(now), &view, Cause::Overflow, &queue);
            if is_arrival {
                return false;
            }
        }
        true
    }
}

fn view_of(waiting: &Line, bytes: u64, limit: Limit, link_rate: u64) -> QueueView<'_> {
    QueueView { packets: waiting.len(), bytes, limit, link_rate, contents: waiting }
}
