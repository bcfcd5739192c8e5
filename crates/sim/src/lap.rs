//! A lap: a packet that leaves its last queue, its receiver, the acknowledgement, its sender, and what that sends
//! then, in one go.
//!
//! It does what [`Simulation::carry`], [`Simulation::receive`] and [`Simulation::react`] do one after the other
//! where no step on the way needs an event ([`Step::laps`]), with the flow at hand all the time. Whatever is out
//! of the ordinary is left to them.

use crate::{
    engine::{Event, Kind},
    flow::Agent,
    net::{Link, Packet, Step},
    simulation::Simulation,
    tcp::{self, Ack},
};
use std::num::NonZero;

impl Simulation {
    /// `packet` reaches the end of the link of its `step` at `at`.
    #[inline(always)]
    pub(crate) fn lap(&mut self, mut at: u64, step: Step, packet: &Packet) {
        let number = packet.flow;
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let (Agent::Tcp(connection), Some(tcp)) = (&mut flow.agent, group.tcp()) else { return };
        let (steps, links) = (&self.network.steps[..], &mut self.network.links[..]);
        let mut crossed = 0;
        if !step.last {
            let way = &steps[packet.step as usize + 1..];
            (at, crossed) = cross_all(links, way, packet.host, at, packet.bytes);
        }

        let in_window = flow.counts.receive(at, packet.stamp, self.warmup, self.end);
        let received = connection.receiver.receive(packet.number, packet.is_marked(), packet.flag);
        if in_window && received.is_new {
            flow.counts.goodput_bytes += u64::from(connection.payload(tcp, packet.number));
        }
        connection.receiver.acknowledges();
        let backward = (packet.step + 1 + crossed, packet.host);
        let mut packet = connection.answer(number, backward, group.class, tcp, &mut self.sacks);
        (at, crossed) = cross_all(links, &steps[packet.step as usize..], packet.host, at, packet.bytes);
        packet.step += crossed - 1;

        let expires_before = connection.sender.deadline().is_some_and(|deadline| deadline <= at);
        if at >= self.horizon || connection.awaited > 0 || expires_before {
            return self.react(at, &packet);
        }
        let ack = Ack { next: packet.number, echo: packet.flag, sack: self.sacks.take(packet.stamp) };
        let window = || tcp::initial_window(&tcp.options, tcp.payload);
        connection.sender.on_ack(&tcp.options, window, ack, at, &mut self.released);
        if let Some(deadline) = connection.sender.deadline()
            && connection.filed.is_none_or(|filed| filed.get() > deadline)
        {
            connection.filed = NonZero::new(deadline);
            self.calendar.push(Event::new(deadline, u64::MAX, Kind::Retransmit, number));
        }
        for segment in &self.released {
            let mut packet = connection.packet(number, flow.route, group.class, tcp, *segment, at);
            if let Some(marker) = &mut flow.marker {
                packet.class = marker.mark(at, packet.bytes, packet.class);
            }
            let first = steps[packet.step as usize].link(packet.host);
            let link = &mut links[first as usize];
            let arrival = link.cross(at, packet.bytes);
            self.calendar.push_with(Event::arrival(arrival, link.age(), link.place(), first), packet);
        }
        self.released.clear();
    }
}

/// Cross the links of `way` one after the other, to the end of the route: when the packet is there, and how many
/// links there were.
#[inline(always)]
fn cross_all(links: &mut [Link], way: &[Step], host: u32, mut at: u64, bytes: u32) -> (u64, u32) {
    let mut crossed = 0;
    for step in way {
        at = links[step.link(host) as usize].cross(at, bytes);
        crossed += 1;
        if step.last {
            break;
        }
    }
    (at, crossed)
}
