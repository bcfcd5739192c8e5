//! The way of a packet from the measured queue on: link by link where it is held up, and what a receiver and a sender do
//! that is not as nearly always. The express has in line what nearly always happens.

use crate::{
    connection::{Connection, Special},
    engine::{Calendar, Event},
    group::Group,
    net::{Chain, Hop, Lap, Link, LinkKind, Packet, Route, Step},
    plan::Tcp,
    tcp::{self, Ack, Segment, SpareExtras, SpareReceivers},
};

/// The way of a packet from the measured queue on, round to it again.
pub(super) struct Way<'a> {
    pub(super) number: u32,
    pub(super) host: u32,
    pub(super) lap: &'a mut Lap,
    pub(super) links: &'a mut [Link],
    pub(super) kinds: &'a mut [LinkKind],
    pub(super) chain: &'a mut Chain,
}

impl Way<'_> {
    /// When a packet of `bytes` is at the receiver.
    #[cold]
    #[inline(never)]
    pub(super) fn there(&mut self, at: u64, bytes: u32) -> u64 {
        if self.chain.is_there() {
            return self.chain.there(self.links, self.kinds, at, bytes);
        }
        cross_all(&mut self.lap.there, self.links, self.kinds, self.host, at, bytes)
    }

    /// When an acknowledgement of `bytes` is at the sender's own link; `untold`: when a packet entered the chain that this
    /// does not know of yet, and its size.
    #[cold]
    #[inline(never)]
    pub(super) fn back(&mut self, untold: Option<(u64, u32)>, at: u64, bytes: u32) -> u64 {
        if let Some((entered, data)) = untold {
            self.chain.there(self.links, self.kinds, entered, data);
        }
        if self.chain.is_there() {
            return self.chain.back(self.links, self.kinds, at, bytes);
        }
        cross_all(&mut self.lap.back, self.links, self.kinds, self.host, at, bytes)
    }

    /// When an acknowledgement of `bytes` is at the sender.
    #[inline(always)]
    pub(super) fn down(&mut self, at: u64, bytes: u32) -> u64 {
        let link = &mut self.links[self.lap.down.link(self.host) as usize];
        link.cross(&mut self.lap.down.pace, self.kinds, at, bytes)
    }

    /// The same with one that reports blocks.
    #[inline(always)]
    pub(super) fn down_larger(&mut self, at: u64, bytes: u32) -> u64 {
        let link = &mut self.links[self.lap.down.link(self.host) as usize];
        link.cross(&mut self.lap.larger, self.kinds, at, bytes)
    }

    /// The acknowledgement, for a sender that cannot answer it yet; `report`: its size and blocks.
    #[inline(never)]
    pub(super) fn acknowledgement(
        &self,
        (connection, group, tcp): (&Connection, &Group, &Tcp),
        report: (u32, u64),
        steps: &mut [Step],
    ) -> Packet {
        let Lap { last, down, larger, .. } = *self.lap;
        let hop = &mut steps[last as usize].hop;
        hop.pace = if report.0 > tcp.ack { larger } else { down.pace }; // should it wait, how long it took matters
        connection.answer_with(report, self.number, (last, self.host), group.class, tcp)
    }

    /// A packet leaves the sender for its first link, and is filed for the queue.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        calendar: &mut Calendar<Packet>,
        (connection, group, tcp): (&mut Connection, &Group, &Tcp),
        segment: Segment,
        at: u64,
    ) {
        let Way { number, host, lap, links, kinds, .. } = self;
        let route = Route { first: lap.begins, host: *host };
        let first = lap.first.link(*host);
        let (link, pace) = (&mut links[first as usize], &mut lap.first.pace);
        calendar.push_with(
            #[inline(always)]
            |packet| {
                connection.write_marked(packet, (*number, route), (&group.full, tcp), segment, at);
                let (arrival, place) = link.cross_in_place(pace, kinds, at, packet.bytes);
                Event::arrival(arrival, pace.rank(), place, first)
            },
        );
    }

    /// The acknowledgement of what has arrived so far reaches the sender, which may have much to do.
    #[inline(never)]
    pub(super) fn react(
        &mut self,
        calendar: &mut Calendar<Packet>,
        (connection, group, tcp): (&mut Connection, &Group, &Tcp),
        at: u64,
        (released, spare): (&mut Vec<Segment>, &mut SpareExtras),
    ) {
        let window = || tcp::initial_window(&tcp.options, tcp.payload);
        let receiver = &connection.receiver;
        let (next, echo) = (receiver.next(), receiver.echo() && tcp.options.ecn);
        let ack = Ack { next, echo, sack: connection.report(tcp).1 };
        connection.sender.on_ack(&tcp.options, window, ack, at, (released, spare));
        for segment in &*released {
            self.send(calendar, (connection, group, tcp), *segment, at);
        }
        released.clear();
    }
}

/// A packet that is not as nearly all are reaches the receiver.
#[inline(never)]
pub(super) fn receive(
    (connection, tcp): (&mut Connection, &Tcp),
    packet: &Packet,
    in_window: bool,
    spare: &mut SpareReceivers<Box<Special>>,
) {
    let signals = (packet.is_marked(), packet.flag);
    let received = connection.receiver.receive_any(&tcp.options, packet.number, signals, spare);
    if in_window {
        connection.count(tcp, packet.number, received.is_new);
    }
}

/// Cross the links of `hops` one after the other: when the packet is there.
fn cross_all(
    hops: &mut [Hop],
    links: &mut [Link],
    kinds: &mut [LinkKind],
    host: u32,
    at: u64,
    bytes: u32,
) -> u64 {
    let cross = |at, hop: &mut Hop| links[hop.link(host) as usize].cross(&mut hop.pace, kinds, at, bytes);
    hops.iter_mut().fold(at, cross)
}
