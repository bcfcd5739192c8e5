//! The way of a packet from the measured queue on: link by link where it is held up, and what a receiver and a sender do
//! that is not as nearly always. The fast path has in line what nearly always happens.

use crate::{
    engine::{CalendarQueue, Event},
    flow::Group,
    flow::{AppState, Connection},
    link::{Link, LinkKind},
    packet::Packet,
    path::{FixedPath, Hop, RoundTrip, Route, Step},
    plan::Tcp,
    tcp::{self, Ack, ColdStatePool, ReassemblyPool, Segment},
};

/// The way of a packet from the measured queue on, round to it again.
pub(super) struct RoundTripCursor<'a> {
    pub(super) number: u32,
    pub(super) host: u32,
    pub(super) round_trip: &'a mut RoundTrip,
    pub(super) links: &'a mut [Link],
    pub(super) kinds: &'a mut [LinkKind],
    pub(super) fixed_path: &'a mut FixedPath,
}

impl RoundTripCursor<'_> {
    /// When a packet of `bytes` is at the receiver.
    #[cold]
    #[inline(never)]
    pub(super) fn forward(&mut self, at: u64, bytes: u32) -> u64 {
        if self.fixed_path.is_there() {
            return self.fixed_path.forward(self.links, self.kinds, at, bytes);
        }
        cross_all(&mut self.round_trip.forward, self.links, self.kinds, self.host, at, bytes)
    }

    /// When an acknowledgement of `bytes` is at the sender's own link; `untold`: when a packet entered the fixed path that this
    /// does not know of yet, and its size.
    #[cold]
    #[inline(never)]
    pub(super) fn reverse(&mut self, untold: Option<(u64, u32)>, at: u64, bytes: u32) -> u64 {
        if let Some((entered, data)) = untold {
            self.fixed_path.forward(self.links, self.kinds, entered, data);
        }
        if self.fixed_path.is_there() {
            return self.fixed_path.reverse(self.links, self.kinds, at, bytes);
        }
        cross_all(&mut self.round_trip.reverse, self.links, self.kinds, self.host, at, bytes)
    }

    /// When an acknowledgement of `bytes` is at the sender.
    #[inline(always)]
    pub(super) fn last_hop(&mut self, at: u64, bytes: u32) -> u64 {
        let link = &mut self.links[self.round_trip.last_hop.link(self.host) as usize];
        link.cross(&mut self.round_trip.last_hop.tx_time, self.kinds, at, bytes)
    }

    /// The same with one that reports blocks.
    #[inline(always)]
    pub(super) fn last_hop_sack(&mut self, at: u64, bytes: u32) -> u64 {
        let link = &mut self.links[self.round_trip.last_hop.link(self.host) as usize];
        link.cross(&mut self.round_trip.sack_tx_time, self.kinds, at, bytes)
    }

    /// The acknowledgement, for a sender that cannot answer it yet; `report`: its size and blocks.
    #[inline(never)]
    pub(super) fn acknowledgement(
        &self,
        (connection, group, tcp): (&Connection, &Group, &Tcp),
        report: (u32, u64),
        steps: &mut [Step],
    ) -> Packet {
        let RoundTrip { last_step, last_hop, sack_tx_time, .. } = *self.round_trip;
        let hop = &mut steps[last_step as usize].hop;
        hop.tx_time = if report.0 > tcp.ack { sack_tx_time } else { last_hop.tx_time }; // should it wait, how long it took matters
        connection.answer_with(report, self.number, (last_step, self.host), group.class, tcp)
    }

    /// A packet leaves the sender for its first link, and is filed for the queue.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        calendar: &mut CalendarQueue<Packet>,
        (connection, group, tcp): (&mut Connection, &Group, &Tcp),
        segment: Segment,
        at: u64,
    ) {
        let RoundTripCursor { number, host, round_trip, links, kinds, .. } = self;
        let route = Route { first: round_trip.first_step, host: *host };
        let first = round_trip.first_hop.link(*host);
        let (link, tx_time) = (&mut links[first as usize], &mut round_trip.first_hop.tx_time);
        calendar.push_with(
            #[inline(always)]
            |packet| {
                connection.write_marked(packet, (*number, route), (&group.full, tcp), segment, at);
                let (arrival, place) = link.cross_with_index(tx_time, kinds, at, packet.bytes);
                Event::arrival(arrival, tx_time.tie_key(), place, first)
            },
        );
    }

    /// The acknowledgement of what has arrived so far reaches the sender, which may have much to do.
    #[inline(never)]
    pub(super) fn react(
        &mut self,
        calendar: &mut CalendarQueue<Packet>,
        (connection, group, tcp): (&mut Connection, &Group, &Tcp),
        at: u64,
        (released, pool): (&mut Vec<Segment>, &mut ColdStatePool),
    ) {
        let window = || tcp::initial_window(&tcp.options, tcp.payload);
        let receiver = &connection.receiver;
        let (next, echo) = (receiver.next(), receiver.echo() && tcp.options.ecn);
        let ack = Ack { next, echo, sack: connection.report(tcp).1 };
        connection.sender.on_ack(&tcp.options, window, ack, at, (released, pool));
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
    pool: &mut ReassemblyPool<Box<AppState>>,
) {
    let signals = (packet.is_marked(), packet.flag);
    let received = connection.receiver.receive_any(&tcp.options, packet.number, signals, pool);
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
    let cross = |at, hop: &mut Hop| links[hop.link(host) as usize].cross(&mut hop.tx_time, kinds, at, bytes);
    hops.iter_mut().fold(at, cross)
}
