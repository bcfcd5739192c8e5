//! A TCP connection: sender, receiver and application, and how its packets are made.

use crate::{
    packet::{Carries, Packet, Sack, Sacks, block_count},
    path::Route,
    plan::validate::MAX_PACKET_BYTES,
    plan::{Draw, Tcp},
    tcp::{self, ColdStatePool, EcnBits, ReassemblyPool, Received, Receiver, Segment, Sender},
    traffic::{Datagrams, Demand, EdgeMarker},
};
use sojourn_aqm::{Class, Ecn, Span, Stream, Time};
use std::collections::VecDeque;

/// The two ends of a connection.
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    /// It also holds the application state. Bulk transfers without end or rate limit have none.
    pub(crate) receiver: Receiver<Box<AppState>>,
}

/// What only some connections have, from their start on.
#[derive(Default)]
pub(crate) struct AppState {
    /// The last packet, if the transfer has an end; the sender may be stopped before.
    last: Option<LastPacket>,
    /// Random payloads, if they are not all full.
    payloads: Option<Payloads>,
    task: Task,
    /// When the application writes packets, and how many it has written, if it writes them one by one.
    writer: Option<Box<(Datagrams, u64)>>,
    shaper: Option<Box<Shaper>>,
    /// The marker at the edge of the network.
    marker: Option<Box<EdgeMarker>>,
    /// Payload bytes received for the first time, in the measurement window.
    goodput: u64,
}

/// The last packet of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastPacket {
    sequence: u32,
    /// In bytes.
    payload: u32,
}

/// A flow and the start of a route: that of its data, or that of its ACKs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRoute {
    pub(crate) flow: u32,
    pub(crate) route: Route,
}

/// State that endpoints have returned, for other endpoints of the run.
#[derive(Default)]
pub(crate) struct Pools {
    pub(crate) senders: ColdStatePool,
    pub(crate) receivers: ReassemblyPool<Box<AppState>>,
}

/// What to do when a connection has delivered all of its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Task {
    /// Nothing: it has no end, or its end was recorded.
    #[default]
    Nothing,
    /// Record the end of a transfer, a row of the record's objects.
    Transfer(u32),
    /// Start the response to a web request, which is the next flow.
    Request(u32),
    /// Record the end of an object of a web page.
    Response(u32),
}

impl Connection {
    /// Connection `index` of its group, which sends `bytes` (`None`: no end).
    pub(crate) fn new(tcp: &Tcp, demand: &Demand, index: u64, bytes: Option<u64>) -> Connection {
        let payloads = tcp.payloads.map(|draw| {
            let own = demand.stream("payload").indexed(index);
            Payloads { draw, own }
        });
        let syn = u32::from(tcp.options.syn);
        let last = bytes.map(|bytes| match &payloads {
            Some(drawn) => drawn.last_packet(syn, bytes.max(1)),
            None => {
                let payload = u64::from(tcp.payload);
                let packets = bytes.div_ceil(payload).max(1);
                let end = (packets + u64::from(syn)).min(u64::from(u32::MAX) - 1) as u32;
                LastPacket { sequence: end - 1, payload: (bytes.max(1) - (packets - 1) * payload) as u32 }
            }
        });
        let end = last.map_or(u32::MAX, |last| last.sequence + 1);
        let shaper = tcp.max_rate.map(|rate| Box::new(Shaper::new(rate)));
        let has_app = last.is_some() || payloads.is_some() || shaper.is_some();
        let app = AppState { last, payloads, shaper, ..AppState::default() };
        Connection {
            sender: Sender::new(&tcp.options, end, |purpose| demand.stream(purpose).indexed(index)),
            receiver: Receiver::new(&tcp.options, has_app.then(|| Box::new(app))),
        }
    }

    /// A connection whose application writes packets one by one, at the times of `writer`.
    pub(crate) fn written(tcp: &Tcp, demand: &Demand, index: u64, writer: Datagrams) -> Connection {
        let mut connection = Connection::new(tcp, demand, index, None);
        connection.sender = connection.sender.waiting_for_data();
        connection.receiver.app_or_default().writer = Some(Box::new((writer, 0)));
        connection
    }

    /// Add a marker at the edge of the network, if there is one.
    pub(crate) fn marked_by(mut self, marker: Option<Box<EdgeMarker>>) -> Connection {
        if marker.is_some() {
            self.receiver.app_or_default().marker = marker;
        }
        self
    }

    /// The marker at the edge of the network.
    #[inline]
    pub(crate) fn marker(&mut self) -> Option<&mut EdgeMarker> {
        self.receiver.app_mut()?.marker.as_deref_mut()
    }

    /// Receive a packet at a receiver that delays no ACKs. If the cumulative ACK is the only content of the
    /// ACK to send, returns it; otherwise the receiver has more to report.
    #[inline(always)]
    pub(crate) fn receive<const SACK: bool>(
        &mut self,
        tcp: &Tcp,
        packet: &Packet,
        in_window: bool,
        pool: &mut ReassemblyPool<Box<AppState>>,
    ) -> Option<u32> {
        let ce = packet.is_marked();
        let next = self.receiver.receive_fast_path::<SACK>(packet.number, ce, pool);
        if next.is_none() && !(SACK && self.receiver.extend_latest_block(&tcp.options, packet.number, ce)) {
            self.receive_any(tcp, packet, in_window, pool);
        }
        next
    }

    /// Receive any packet.
    #[inline(never)]
    pub(crate) fn receive_any(
        &mut self,
        tcp: &Tcp,
        packet: &Packet,
        in_window: bool,
        pool: &mut ReassemblyPool<Box<AppState>>,
    ) -> Received {
        let ecn = EcnBits { ce: packet.is_marked(), cwr: packet.flag };
        let received = self.receiver.receive(&tcp.options, packet.number, ecn, pool);
        if in_window {
            self.count(tcp, packet.number, received.is_new);
        }
        received
    }

    /// Count the payload of packet `sequence`, received in the measurement window.
    #[inline]
    pub(crate) fn count(&mut self, tcp: &Tcp, sequence: u32, is_new: bool) {
        if !is_new || tcp.options.syn && sequence == 0 {
            self.receiver.without_payload += 1;
        } else if let Some(app) = self.receiver.app_mut() {
            app.goodput += u64::from(app.payload(tcp, sequence));
        }
    }

    /// Payload bytes received for the first time, of `received` packets in the measurement window.
    pub(crate) fn goodput(&self, tcp: &Tcp, received: u32) -> u64 {
        let if_all_full = u64::from(received - self.receiver.without_payload) * u64::from(tcp.payload);
        self.receiver.app().map_or(if_all_full, |app| app.goodput)
    }

    /// What to do when all data are delivered.
    #[inline]
    pub(crate) fn task(&self) -> Task {
        self.receiver.app().map_or(Task::Nothing, |app| app.task)
    }

    /// Replace the task; returns the previous one.
    pub(crate) fn replace_task(&mut self, task: Task) -> Task {
        std::mem::replace(&mut self.receiver.app_or_default().task, task)
    }

    /// When its application writes packets, and how many it has written, if it writes them one by one.
    pub(crate) fn writer(&mut self) -> Option<&mut (Datagrams, u64)> {
        self.receiver.app_mut()?.writer.as_deref_mut()
    }

    /// The shaper of its rate.
    #[inline]
    pub(crate) fn shaper(&mut self) -> Option<&mut Shaper> {
        self.receiver.app_mut()?.shaper.as_deref_mut()
    }

    /// Packets that wait in the shaper.
    pub(crate) fn shaped(&self) -> usize {
        let shaper = self.receiver.app().and_then(|app| app.shaper.as_ref());
        shaper.map_or(0, |shaper| shaper.waiting.len())
    }

    /// Whether the receiver has all data.
    pub(crate) fn has_all(&self) -> bool {
        self.receiver.next() >= self.sender.end()
    }

    /// Payload bytes of packet `sequence`; a SYN has none.
    #[inline]
    pub(crate) fn payload(&self, tcp: &Tcp, sequence: u32) -> u32 {
        if tcp.options.syn && sequence == 0 {
            return 0;
        }
        self.receiver.app().map_or(tcp.payload, |app| app.payload(tcp, sequence))
    }

    /// Payload bytes of the whole transfer, once its end is known.
    pub(crate) fn bytes(&self, tcp: &Tcp) -> u64 {
        let first = u32::from(tcp.options.syn);
        let end = self.sender.end().max(first);
        match self.receiver.app().map(|app| &**app) {
            Some(AppState { payloads: None, last: Some(last), .. }) if end > last.sequence => {
                u64::from(last.sequence - first) * u64::from(tcp.payload) + u64::from(last.payload)
            }
            Some(AppState { payloads: Some(_), .. }) => {
                (first..end).map(|sequence| u64::from(self.payload(tcp, sequence))).sum()
            }
            _ => u64::from(end - first) * u64::from(tcp.payload),
        }
    }

    /// A full data packet that is sent for the first time: the template of the packets of a connection.
    pub(crate) fn full_packet(tcp: &Tcp, class: Class) -> Packet {
        let ect = if tcp.options.ect == tcp::Ect::Ect1 { Ecn::Ect1 } else { Ecn::Ect0 };
        Packet {
            bytes: tcp.header + tcp.payload,
            ecn: if tcp.options.ecn { ect } else { Ecn::NotEct },
            class,
            carries: Carries::Data,
            ..Packet::default()
        }
    }

    /// Write the packet of `segment`, sent at `now`, with the class that the marker at the edge of the
    /// network gives it. `full`: see [`Connection::full_packet`].
    #[inline(always)]
    pub(crate) fn write_packet(
        &mut self,
        packet: &mut Packet,
        forward: FlowRoute,
        full: &Packet,
        tcp: &Tcp,
        segment: Segment,
        now: Time,
    ) {
        *packet = full_packet_of(segment, forward, full, now);
        if self.may_differ_from_full(segment) {
            self.adapt(packet, tcp, segment);
            if let Some(marker) = self.marker() {
                packet.class = marker.mark(now, packet.bytes, packet.class);
            }
        }
    }

    /// Whether the packet of `segment` may differ from a full one, or the connection may have a marker.
    #[inline(always)]
    fn may_differ_from_full(&self, segment: Segment) -> bool {
        segment.sequence == 0 || segment.is_retransmission || segment.cwr || self.receiver.app().is_some()
    }

    /// Set size, ECN field and CWR. SYNs and retransmissions are not ECN-capable (RFC 3168, sections 6.1.1
    /// and 6.1.5), except the retransmissions of DCTCP, as in Linux.
    #[inline(never)]
    fn adapt(&self, packet: &mut Packet, tcp: &Tcp, segment: Segment) {
        let o = &tcp.options;
        let is_syn = o.syn && segment.sequence == 0;
        packet.bytes = if is_syn { tcp.ack } else { tcp.header + self.payload(tcp, segment.sequence) };
        packet.flag = segment.cwr;
        let marks_retransmissions = o.ect_on_retransmissions || o.variant == tcp::Variant::Dctcp;
        if is_syn || segment.is_retransmission && !marks_retransmissions {
            packet.ecn = Ecn::NotEct;
        }
    }

    /// The ACK of what has been received so far.
    #[inline(always)]
    pub(crate) fn ack(&self, backward: FlowRoute, class: Class, tcp: &Tcp, sacks: &mut Sacks) -> Packet {
        let FlowRoute { flow, route } = backward;
        let (bytes, sack) = self.ack_bytes_and_sack(tcp);
        Packet {
            stamp: sacks.put(sack),
            flow,
            step: route.first,
            host: route.host,
            bytes,
            number: self.receiver.next(),
            carries: Carries::Ack,
            flag: tcp.options.ecn && self.receiver.ece(),
            ecn: Ecn::NotEct,
            class,
        }
    }

    /// The bytes of that ACK, and its blocks.
    #[inline(always)]
    pub(crate) fn ack_bytes_and_sack(&self, tcp: &Tcp) -> (u32, Sack) {
        let blocks = if tcp.options.sack { self.receiver.sack_blocks() } else { None };
        let bytes = tcp.ack + tcp.options.sack_bytes * blocks.map_or(0, block_count);
        (bytes, blocks.copied().unwrap_or_default())
    }
}

/// The packet of `segment`, if it is a full one.
#[inline(always)]
fn full_packet_of(segment: Segment, forward: FlowRoute, full: &Packet, now: Time) -> Packet {
    let FlowRoute { flow, route } = forward;
    Packet { stamp: now.0, flow, step: route.first, host: route.host, number: segment.sequence, ..*full }
}

impl AppState {
    fn payload(&self, tcp: &Tcp, sequence: u32) -> u32 {
        match (self.last, &self.payloads) {
            (Some(last), _) if sequence == last.sequence => last.payload,
            (_, Some(drawn)) => drawn.of(sequence),
            _ => tcp.payload,
        }
    }
}

/// Random payloads. That of a packet depends on its sequence number only, so a retransmission has the same.
#[derive(Clone, Debug)]
struct Payloads {
    draw: Draw,
    own: Stream,
}

impl Payloads {
    fn of(&self, sequence: u32) -> u32 {
        self.draw.count(&mut self.own.indexed(u64::from(sequence))).min(MAX_PACKET_BYTES) as u32
    }

    /// The last of the packets from `first` on that carry `bytes`.
    fn last_packet(&self, first: u32, bytes: u64) -> LastPacket {
        let (mut sequence, mut left) = (first, bytes);
        loop {
            let full = self.of(sequence);
            if left <= u64::from(full) || sequence == u32::MAX - 2 {
                return LastPacket { sequence, payload: left.min(u64::from(full)) as u32 };
            }
            left -= u64::from(full);
            sequence += 1;
        }
    }
}

/// A shaper behind a sender: a packet is sent when the one before it has been transmitted at the rate.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    /// In bits per second.
    rate: u64,
    /// When the next packet may be sent.
    free: Time,
    pub(crate) waiting: VecDeque<Segment>,
}

impl Shaper {
    fn new(rate: u64) -> Shaper {
        Shaper { rate, free: Time::ZERO, waiting: VecDeque::new() }
    }

    /// Whether a packet may be sent at `now` without waiting.
    pub(crate) fn is_free(&self, now: Time) -> bool {
        self.waiting.is_empty() && self.free <= now
    }

    /// A packet is sent at `now`; returns when the next one may be.
    pub(crate) fn leave(&mut self, now: Time, bytes: u32) -> Time {
        let nanobits = u128::from(bytes) * 8_000_000_000;
        self.free = now + Span(nanobits.div_ceil(u128::from(self.rate)) as u64);
        self.free
    }

    /// A packet has to wait; returns when it may be sent, if it is the only one.
    pub(crate) fn wait(&mut self, segment: Segment) -> Option<Time> {
        self.waiting.push_back(segment);
        (self.waiting.len() == 1).then_some(self.free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        packet::Sack,
        tcp::{EcnBits, schema},
    };

    fn tcp(preset: &str, set: &[(&str, &str)]) -> Tcp {
        let set: Vec<_> = set.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
        Tcp {
            payload: 960,
            payloads: None,
            header: 40,
            ack: 52,
            max_rate: None,
            options: schema::resolve(preset, &set).unwrap(),
        }
    }

    fn connection(tcp: &Tcp, bytes: Option<u64>) -> Connection {
        Connection::new(tcp, &Demand::new(1, "a"), 0, bytes)
    }

    fn sent(tcp: &Tcp, sequence: u32, is_retransmission: bool) -> Packet {
        let segment = Segment { sequence, is_retransmission, cwr: false };
        let full = Connection::full_packet(tcp, Class(2));
        let forward = FlowRoute { flow: 7, route: Route { first: 3, host: 5 } };
        let mut packet = Packet::default();
        connection(tcp, Some(5000)).write_packet(&mut packet, forward, &full, tcp, segment, Time::ZERO);
        packet
    }

    /// 5000 bytes are five packets of 960 and one of 200, after a SYN without payload.
    #[test]
    fn packets_have_the_size_of_what_they_carry() {
        let tcp = tcp("default", &[]);
        let sizes = [0, 1, 5, 6].map(|sequence| sent(&tcp, sequence, false).bytes);
        assert_eq!(sizes, [52, 1000, 1000, 240]);
        let packet = sent(&tcp, 1, false);
        assert_eq!((packet.flow, packet.step, packet.host, packet.class), (7, 3, 5, Class(2)));
        let ends = |bytes| connection(&tcp, bytes).sender.end();
        assert_eq!([Some(0), Some(1), Some(960), Some(961), None].map(ends), [2, 2, 2, 3, u32::MAX]);
    }

    /// RFC 3168, sections 6.1.1 and 6.1.5: SYNs and retransmissions are not ECN-capable; in ns-2
    /// retransmissions are.
    #[test]
    fn which_packets_are_ecn_capable() {
        let fields =
            |tcp: Tcp| [(0, false), (1, false), (1, true)].map(|(s, again)| sent(&tcp, s, again).ecn);
        let (no, yes) = (Ecn::NotEct, Ecn::Ect0);
        assert_eq!(fields(tcp("default", &[])), [no, no, no]);
        assert_eq!(fields(tcp("default", &[("ecn", "on")])), [no, yes, no]);
        assert_eq!(fields(tcp("ns2", &[("ecn", "on")])), [no, yes, yes]);
    }

    #[test]
    fn a_transfer_that_was_stopped_has_carried_whole_packets() {
        let tcp = tcp("default", &[("syn", "off")]);
        let mut one = connection(&tcp, Some(5000));
        assert_eq!(one.bytes(&tcp), 5000);
        one.sender.start(&tcp.options, 2, Time::ZERO, &mut Vec::new());
        one.sender.stop();
        assert_eq!(one.bytes(&tcp), 1920);
        let mut none = connection(&tcp, Some(5000));
        none.sender.stop();
        assert_eq!(none.bytes(&tcp), 0);
    }

    /// Random payloads add up to the transfer, and a packet has the same payload when it is retransmitted.
    #[test]
    fn random_payloads_depend_on_the_sequence_number() {
        let drawn = Tcp { payloads: Some(Draw::Uniform(500.0, 1000.0)), ..tcp("default", &[]) };
        let one = connection(&drawn, Some(50_000));
        let end = one.sender.end();
        let sizes: Vec<u32> = (0..end).map(|sequence| one.payload(&drawn, sequence)).collect();
        assert_eq!((sizes[0], sizes.iter().sum::<u32>()), (0, 50_000));
        assert_eq!(one.bytes(&drawn), 50_000);
        let full = &sizes[1..sizes.len() - 1];
        assert!(full.iter().all(|size| (500..=1000).contains(size)));
        assert!((60..75).contains(&full.len()), "{} packets of 750 on average", full.len());
        assert!(full.windows(2).any(|pair| pair[0] != pair[1]));
        let retransmitted = |s| sent(&drawn, s, true).bytes;
        assert!((1..4).all(|s| sent(&drawn, s, false).bytes == retransmitted(s)
            && retransmitted(s) == 40 + sizes[s as usize]));
        let other = Connection::new(&drawn, &Demand::new(1, "a"), 1, None);
        assert!((1..9).any(|s| other.payload(&drawn, s) != sizes[s as usize]));
    }

    /// The size of an ACK grows with its blocks.
    #[test]
    fn an_ack_has_the_size_of_its_blocks() {
        let tcp = tcp("default", &[("variant", "sack"), ("ecn", "on")]);
        let mut connection = connection(&tcp, None);
        for sequence in [0, 2, 4] {
            let pool = &mut ReassemblyPool::default();
            let ecn = EcnBits { ce: sequence == 4, cwr: false };
            connection.receiver.receive(&tcp.options, sequence, ecn, pool);
        }
        let mut sacks = Sacks::default();
        let backward = FlowRoute { flow: 7, route: Route { first: 9, host: 5 } };
        let ack = connection.ack(backward, Class(0), &tcp, &mut sacks);
        assert_eq!((ack.carries, ack.number, ack.flag, ack.stamp), (Carries::Ack, 1, true, 1));
        let blocks: Sack = [(4, 5), (2, 3), (0, 0)];
        assert_eq!(sacks.take(1), blocks);
        assert_eq!((ack.bytes, ack.step, ack.host, ack.ecn), (52 + 16, 9, 5, Ecn::NotEct));
    }
}
