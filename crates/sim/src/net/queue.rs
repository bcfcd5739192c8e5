//! A finite queue in front of a link: it owns the packets, the limit, the counters, and carries out
//! what its algorithm decides.
//!
//! The order for an arriving packet: the algorithm's estimators see it, then it must fit (else somebody
//! is dropped with cause `overflow`), then the algorithm decides, then it waits. The packet in
//! transmission has left the queue. At the head the algorithm is asked again, until it lets one go.

use super::Packet;
use crate::record::Counters;
use sojourn_aqm::{
    Aqm, Cause, Class, Contents, Ecn, FlowId, Limit, Overflow, PacketView, QueueView, Random, Stream, Time,
    Verdict,
};
use std::collections::VecDeque;

/// A waiting packet: when it came, and its number among all offered.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    arrived: u64,
    number: u64,
}

/// What became of somebody's packet, for per-flow counters and traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Dropped; the cause, and its number among all offered.
    Dropped(Cause, u64),
    /// Marked.
    Marked,
}

/// The queue and its transmitter.
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) spec: String,
    pub(crate) link: u32,
    pub(crate) aqm: Box<dyn Aqm>,
    pub(crate) counters: Counters,
    /// A packet is in transmission.
    pub(crate) busy: bool,
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
struct Line(VecDeque<Waiting>);

impl Contents for Line {
    fn at(&self, position: u32) -> Option<PacketView> {
        self.0.get(position as usize).map(|w| w.packet.view(w.arrived))
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        self.0.iter().filter(|w| w.packet.flow == flow.0).count() as u32
    }
    fn of_class(&self, class: Class) -> u32 {
        self.0.iter().filter(|w| w.packet.class == class).count() as u32
    }
}

impl Port {
    #[allow(clippy::too_many_arguments, reason = "a constructor of a struct with that many parts")]
    pub(crate) fn new(
        name: String,
        spec: String,
        link: u32,
        link_rate: u64,
        limit: Limit,
        overflow: Overflow,
        aqm: Box<dyn Aqm>,
        seed: u64,
    ) -> Port {
        Port {
            rng: Stream::new(seed, &format!("queue/{name}/aqm")),
            victims: Stream::new(seed, &format!("queue/{name}/victims")),
            counters: Counters::default(),
            waiting: Line::default(),
            bytes: 0,
            busy: false,
            name,
            spec,
            link,
            aqm,
            limit,
            overflow,
            link_rate,
        }
    }

    pub(crate) fn limit(&self) -> Limit {
        self.limit
    }
    pub(crate) fn packets(&self) -> u32 {
        self.waiting.0.len() as u32
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.0.iter().map(|w| &w.packet)
    }

    /// Account for the time up to `now`.
    pub(crate) fn pass(&mut self, now: u64) {
        self.counters.pass(now, self.waiting.0.len() as u32, self.bytes, self.busy);
    }

    /// A packet arrives. `told` hears of every drop and mark.
    pub(crate) fn offer(&mut self, now: u64, mut packet: Packet, told: &mut impl FnMut(&Packet, Offer)) {
        self.pass(now);
        let number = self.counters.arrivals;
        self.counters.arrival(packet.bytes);
        let view = packet.view(now);
        self.aqm.on_offered(
            Time(now),
            &view,
            &view_of(&self.waiting, self.bytes, self.limit, self.link_rate),
        );
        if !self.fits(packet.bytes) && !self.make_room(now, &packet, number, told) {
            let queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
            self.aqm.on_refused(Time(now), &view, &queue, &mut self.rng);
            self.idle_again(now);
            return;
        }
        let queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
        match self.aqm.on_arrival(Time(now), &view, &queue, &mut self.rng) {
            Verdict::Pass => {}
            Verdict::Mark(cause) => self.mark(&mut packet, cause, told),
            Verdict::Drop(cause) => {
                self.discard(&packet, cause, number, told);
                self.idle_again(now);
                return;
            }
            Verdict::DropBoth { victim, cause } => {
                if let Some(other) = self.waiting.0.remove(victim as usize) {
                    self.bytes -= u64::from(other.packet.bytes);
                    self.discard(&other.packet, cause, other.number, told);
                }
                self.discard(&packet, cause, number, told);
                self.idle_again(now);
                return;
            }
        }
        self.bytes += u64::from(packet.bytes);
        self.waiting.0.push_back(Waiting { packet, arrived: now, number });
    }

    /// Take the next packet to send, or find nothing.
    pub(crate) fn take(&mut self, now: u64, told: &mut impl FnMut(&Packet, Offer)) -> Option<Packet> {
        self.pass(now);
        while let Some(Waiting { mut packet, arrived, number }) = self.waiting.0.pop_front() {
            self.bytes -= u64::from(packet.bytes);
            let queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
            match self.aqm.on_departure(Time(now), &packet.view(arrived), &queue, &mut self.rng) {
                Verdict::Pass => {}
                Verdict::Mark(cause) => self.mark(&mut packet, cause, told),
                Verdict::Drop(cause) | Verdict::DropBoth { cause, .. } => {
                    self.discard(&packet, cause, number, told);
                    continue;
                }
            }
            self.counters.departure(packet.bytes, now - arrived);
            self.busy = true;
            return Some(packet);
        }
        self.busy = false;
        None
    }

    /// The algorithm's timer is due.
    pub(crate) fn on_timer(&mut self, now: u64) {
        let queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
        self.aqm.on_timer(Time(now), &queue);
    }

    fn fits(&self, bytes: u32) -> bool {
        match self.limit {
            Limit::Packets(limit) => (self.waiting.0.len() as u32) < limit,
            Limit::Bytes(limit) => self.bytes + u64::from(bytes) <= limit,
        }
    }

    /// The buffer is full: drop the arrival or, if it can ever fit, others until it does.
    fn make_room(
        &mut self,
        now: u64,
        packet: &Packet,
        number: u64,
        told: &mut impl FnMut(&Packet, Offer),
    ) -> bool {
        let hopeless = matches!(self.limit, Limit::Bytes(limit) if u64::from(packet.bytes) > limit);
        while !self.fits(packet.bytes) {
            let position = match self.overflow {
                Overflow::Head if !hopeless => 0,
                Overflow::Random if !hopeless => {
                    (self.victims.uniform() * self.waiting.0.len() as f64) as usize
                }
                _ => usize::MAX,
            };
            let (victim, arrived, victim_number, is_arrival) = match self.waiting.0.remove(position) {
                Some(w) => {
                    self.bytes -= u64::from(w.packet.bytes);
                    (w.packet, w.arrived, w.number, false)
                }
                None => (*packet, now, number, true),
            };
            self.discard(&victim, Cause::Overflow, victim_number, told);
            let queue = view_of(&self.waiting, self.bytes, self.limit, self.link_rate);
            self.aqm.on_drop(Time(now), &victim.view(arrived), Cause::Overflow, &queue);
            if is_arrival {
                return false;
            }
        }
        true
    }

    fn discard(&mut self, packet: &Packet, cause: Cause, number: u64, told: &mut impl FnMut(&Packet, Offer)) {
        self.counters.drop(packet.bytes, cause, number);
        told(packet, Offer::Dropped(cause, number));
    }

    fn mark(&mut self, packet: &mut Packet, cause: Cause, told: &mut impl FnMut(&Packet, Offer)) {
        debug_assert!(packet.ecn != Ecn::NotEct, "a mark needs an ECN-capable packet");
        packet.ecn = Ecn::Ce;
        self.counters.mark(cause);
        told(packet, Offer::Marked);
    }

    /// A packet came and did not stay: if the transmitter still has nothing, the idle time goes on.
    fn idle_again(&mut self, now: u64) {
        if !self.busy && self.waiting.0.is_empty() {
            self.aqm.on_idle(Time(now));
        }
    }
}

fn view_of(waiting: &Line, bytes: u64, limit: Limit, link_rate: u64) -> QueueView<'_> {
    QueueView { packets: waiting.0.len() as u32, bytes, limit, link_rate, contents: waiting }
}
