//! One line of packets and the algorithm that decides about them.
//!
//! The order for an arriving packet: the algorithm's estimators see it, then it must fit (else somebody
//! is dropped with cause `overflow`), then the algorithm decides, then it waits. At the head the algorithm is
//! asked again, until it lets one go.

use super::{
    Packet,
    clerk::{Clerk, Waiting},
    decider::Decider,
    line::Line,
};
use sojourn_aqm::{Aqm, Asked, Cause, Limit, Overflow, Random, Stream, Time, Verdict};

/// First in, first out, as far as the algorithm lets it.
pub(crate) struct Fifo {
    desk: Desk,
    asked: Asked,
    decider: Decider,
}

/// What does not depend on the algorithm.
struct Desk {
    line: Line,
    overflow: Overflow,
    rng: Stream,
    victims: Stream,
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
            desk: Desk {
                line: Line::new(limit, link_rate),
                overflow,
                rng: Stream::new(seed, &format!("queue/{name}/aqm")),
                victims: Stream::new(seed, &format!("queue/{name}/victims")),
            },
            asked: aqm.asked(),
            decider: Decider::new(aqm),
        }
    }

    pub(super) fn set_link_rate(&mut self, rate: u64) {
        self.desk.line.link_rate = rate;
    }

    /// Packets and bytes that wait.
    #[inline]
    pub(crate) fn backlog(&self) -> (u32, u64) {
        (self.desk.line.len(), self.desk.line.bytes())
    }
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.desk.line.iter().map(|one| &one.packet)
    }
    pub(super) fn aqm(&self) -> &dyn Aqm {
        self.decider.aqm()
    }

    /// A packet arrives.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: u64, packet: &mut Packet, clerk: &mut Clerk) {
        clerk.arrival(now, packet);
        let has_room = self.desk.line.has_room(packet.bytes);
        if self.asked.arrivals || !has_room {
            let desk = &mut self.desk;
            let is_let_in = if let Decider::Red(red) = &mut self.decider {
                desk.lets_in(red, now, packet, has_room, clerk)
            } else if let Decider::Pi(pi) = &mut self.decider {
                desk.lets_in_far(pi, now, packet, has_room, clerk)
            } else {
                desk.lets_in_far(self.decider.aqm_mut(), now, packet, has_room, clerk)
            };
            if !is_let_in {
                if !clerk.busy && desk.line.len() == 0 {
                    self.on_idle(now); // it came and did not stay: the idle time goes on
                }
                return;
            }
        }
        clerk.counters.enter(now, self.desk.line.len(), packet.bytes);
        self.desk.line.push(packet, now, clerk.latest());
    }

    /// Take the next packet to send; whether there is one.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: u64, packet: &mut Packet, clerk: &mut Clerk) -> bool {
        while let Some((arrived, number)) = self.desk.line.pop(packet) {
            clerk.counters.leave(now, self.desk.line.len(), packet.bytes);
            if self.asked.departures {
                let desk = &mut self.desk;
                let may_go = if let Decider::CoDel(codel) = &mut self.decider {
                    desk.lets_go(codel, now, packet, arrived, number, clerk)
                } else {
                    desk.lets_go_far(&mut self.decider, now, packet, arrived, number, clerk)
                };
                if !may_go {
                    continue;
                }
            }
            clerk.departure(now, packet, arrived);
            return true;
        }
        clerk.rest(now);
        false
    }

    #[inline(never)]
    pub(crate) fn on_idle(&mut self, now: u64) {
        self.decider.aqm_mut().on_idle(Time(now));
    }

    pub(super) fn on_timer(&mut self, now: u64) {
        self.decider.aqm_mut().on_timer(Time(now), &self.desk.line.view());
    }
}

impl Desk {
    /// Whether an arriving packet may wait, for which there is room now or not.
    #[inline(always)]
    fn lets_in<A: Aqm + ?Sized>(
        &mut self,
        aqm: &mut A,
        now: u64,
        packet: &mut Packet,
        has_room: bool,
        clerk: &mut Clerk,
    ) -> bool {
        let is_asked = aqm.asked().arrivals;
        if is_asked {
            aqm.on_offered(Time(now), &packet.view(now), &self.line.view());
        }
        if !has_room {
            return self.finds_room(aqm, now, packet, clerk);
        }
        if !is_asked {
            return true;
        }
        match aqm.on_arrival(Time(now), &packet.view(now), &self.line.view(), &mut self.rng) {
            Verdict::Pass => true,
            verdict => self.carry_out(verdict, now, packet, clerk),
        }
    }

    #[inline(never)]
    fn lets_in_far<A: Aqm + ?Sized>(
        &mut self,
        aqm: &mut A,
        now: u64,
        packet: &mut Packet,
        has_room: bool,
        clerk: &mut Clerk,
    ) -> bool {
        self.lets_in(aqm, now, packet, has_room, clerk)
    }

    /// The buffer is full: whether an arrival of which the estimators know may wait after all.
    #[inline(never)]
    fn finds_room<A: Aqm + ?Sized>(
        &mut self,
        aqm: &mut A,
        now: u64,
        packet: &mut Packet,
        clerk: &mut Clerk,
    ) -> bool {
        if !self.make_room(aqm, now, packet, clerk) {
            return false;
        }
        if !aqm.asked().arrivals {
            return true;
        }
        let verdict = aqm.on_arrival(Time(now), &packet.view(now), &self.line.view(), &mut self.rng);
        self.carry_out(verdict, now, packet, clerk)
    }

    /// The algorithm does not just let an arrival pass; whether it may wait.
    #[inline(never)]
    fn carry_out(&mut self, verdict: Verdict, now: u64, packet: &mut Packet, clerk: &mut Clerk) -> bool {
        let number = clerk.latest();
        match verdict {
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

    /// Whether the packet at the head, which waits no longer, may be sent.
    #[inline(always)]
    fn lets_go<A: Aqm + ?Sized>(
        &mut self,
        aqm: &mut A,
        now: u64,
        packet: &mut Packet,
        arrived: u64,
        number: u64,
        clerk: &mut Clerk,
    ) -> bool {
        match aqm.on_departure(Time(now), &packet.view(arrived), &self.line.view(), &mut self.rng) {
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

    #[inline(never)]
    fn lets_go_far(
        &mut self,
        decider: &mut Decider,
        now: u64,
        packet: &mut Packet,
        arrived: u64,
        number: u64,
        clerk: &mut Clerk,
    ) -> bool {
        self.lets_go(decider.aqm_mut(), now, packet, arrived, number, clerk)
    }

    /// The buffer is full: drop the arrival or, if it can ever fit, others until it does.
    #[inline(never)]
    fn make_room<A: Aqm + ?Sized>(
        &mut self,
        aqm: &mut A,
        now: u64,
        packet: &Packet,
        clerk: &mut Clerk,
    ) -> bool {
        let number = clerk.latest();
        let hopeless = matches!(self.line.limit(), Limit::Bytes(limit) if u64::from(packet.bytes) > limit);
        while !self.line.has_room(packet.bytes) {
            let position = match self.overflow {
                Overflow::Head if !hopeless => 0,
                Overflow::Random if !hopeless => {
                    (self.victims.uniform() * f64::from(self.line.len())) as usize
                }
                _ => usize::MAX,
            };
            let (victim, is_arrival) = match self.remove(now, position, clerk) {
                Some(one) => (one, false),
                None => (Waiting { packet: *packet, arrived: now, number }, true),
            };
            clerk.discard(now, &victim.packet, Cause::Overflow, victim.number);
            let view = victim.packet.view(victim.arrived);
            aqm.on_drop(Time(now), &view, Cause::Overflow, &self.line.view());
            if is_arrival {
                aqm.on_refused(Time(now), &view, &self.line.view(), &mut self.rng);
                return false;
            }
        }
        true
    }

    /// A packet gives up its place.
    fn remove(&mut self, now: u64, position: usize, clerk: &mut Clerk) -> Option<Waiting> {
        let one = self.line.remove(position)?;
        clerk.counters.leave(now, self.line.len(), one.packet.bytes);
        Some(one)
    }
}
