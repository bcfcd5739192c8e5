//! A lap: a packet that leaves its last queue, its receiver, the acknowledgement, its sender, and what that sends
//! then, in one go.
//!
//! It does what [`Simulation::carry`], [`Simulation::receive`] and [`Simulation::react`] do one after the other
//! where no step on the way needs an event ([`crate::net::Lap`]), with the flow at hand all the time. Whatever is out
//! of the ordinary is left to them.

use crate::{
    connection::Connection,
    engine::{Event, Kind},
    flow::Agent,
    net::Packet,
    simulation::Simulation,
    tcp::{self, Ack, Segment},
};
use std::num::NonZero;

impl Simulation {
    /// `packet` reaches the end of the link where lap `number` begins at `at`.
    #[inline(always)]
    pub(crate) fn lap(&mut self, mut at: u64, number: u32, packet: &Packet) {
        let lap = &self.network.laps[number as usize];
        let links = &mut self.network.links[..];
        let (number, host) = (packet.flow, packet.host);
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let (Agent::Tcp(connection), Some(tcp)) = (&mut flow.agent, group.tcp()) else { return };
        for hop in &lap.there {
            at = links[hop.link(host) as usize].cross(at, packet.bytes);
        }

        let in_window = flow.counts.receive(at, packet.stamp, self.warmup, self.end);
        let received = connection.receiver.receive(packet.number, packet.is_marked(), packet.flag);
        if in_window && received.is_new {
            flow.counts.goodput_bytes += u64::from(connection.payload(tcp, packet.number));
        }
        connection.receiver.acknowledges();
        let packet = connection.answer(number, (lap.last, host), group.class, tcp, &mut self.sacks);
        for hop in &lap.back {
            at = links[hop.link(host) as usize].cross(at, packet.bytes);
        }

        let expires_before = connection.sender.deadline().is_some_and(|deadline| deadline <= at);
        if at >= self.horizon || connection.awaited > 0 || expires_before {
            return self.react(at, &packet);
        }
        let (next, calendar) = (packet.number, &mut self.calendar);
        let mut launch = |connection: &Connection, segment: Segment| {
            let mut packet = connection.packet(number, flow.route, group.class, tcp, segment, at);
            if let Some(marker) = &mut flow.marker {
                packet.class = marker.mark(at, packet.bytes, packet.class);
            }
            let first = lap.first.link(host);
            let link = &mut links[first as usize];
            let arrival = link.cross(at, packet.bytes);
            calendar.push_with(Event::arrival(arrival, link.age(), link.place(), first), packet);
        };
        if connection.sender.goes_on(next) && !packet.flag && packet.stamp == 0 {
            let limit = connection.sender.on_plain(&tcp.options, next, at);
            while let Some(segment) = connection.sender.emit_next(&tcp.options, limit, at) {
                launch(connection, segment);
            }
        } else {
            let ack = Ack { next, echo: packet.flag, sack: self.sacks.take(packet.stamp) };
            let window = tcp::initial_window(&tcp.options, tcp.payload);
            connection.sender.on_any_ack(&tcp.options, window, ack, at, &mut self.released);
            self.released.drain(..).for_each(|segment| launch(connection, segment));
        }
        if let Some(deadline) = connection.sender.deadline()
            && connection.filed.is_none_or(|filed| filed.get() > deadline)
        {
            connection.filed = NonZero::new(deadline);
            self.calendar.push(Event::new(deadline, u64::MAX, Kind::Retransmit, number));
        }
    }
}
