//! A TCP connection: sender and receiver, and how its packets are made.

use super::{Application, Applications, Group};
use crate::{
    packet::{Carries, Packet, Report, Reports, Sack, block_count},
    path::Route,
    plan::Tcp,
    tcp::{self, ColdStatePool, EcnBits, ReassemblyPool, Received, Receiver, Segment, Sender},
    traffic::Demand,
};
use sojourn_aqm::{Class, Ecn, Span, Time};

/// The two ends of a connection.
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
}

/// A flow and the start of a route: that of its data, or that of its ACKs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRoute {
    pub(crate) flow: u32,
    pub(crate) route: Route,
}

/// A packet, and when it reaches its receiver.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) packet: &'a Packet,
    pub(crate) at: Time,
}

/// How a packet is acknowledged.
pub(crate) enum Answer {
    /// Not before another packet arrives or this time is reached.
    Later(Time),
    /// At once; the cumulative ACK is the only content.
    Plain(u32),
    /// At once.
    Any,
}

/// State that endpoints have returned, for other endpoints of the run.
#[derive(Default)]
pub(crate) struct Pools {
    pub(crate) senders: ColdStatePool,
    pub(crate) receivers: ReassemblyPool,
}

impl Connection {
    /// Connection `index` of its group, which sends `end` packets (`u32::MAX`: no end).
    pub(super) fn new(tcp: &Tcp, demand: &Demand, index: u64, end: u32) -> Connection {
        Connection {
            sender: Sender::new(&tcp.options, tcp.payload, end, |purpose| {
                demand.stream(purpose).indexed(index)
            }),
            receiver: Receiver::new(&tcp.options),
        }
    }

    /// Receive a packet at a receiver that delays no ACKs. If the cumulative ACK is the only content of the
    /// ACK to send, returns it; otherwise the receiver has more to report.
    #[inline(always)]
    pub(crate) fn receive<const SACK: bool>(
        &mut self,
        group: &Group,
        tcp: &Tcp,
        packet: &Packet,
        in_window: bool,
        applications: &mut Applications,
        pool: &mut ReassemblyPool,
    ) -> Option<u32> {
        let ce = packet.is_marked();
        if !group.has_applications() {
            let next = self.receiver.receive_fast_path::<SACK>(packet.number, ce, pool);
            if next.is_some() || SACK && self.receiver.extend_latest_block(&tcp.options, packet.number, ce) {
                return next;
            }
        }
        self.receive_any(tcp, packet, in_window, applications, pool);
        None
    }

    /// Receive a packet at `at` at a receiver that may delay ACKs, unless it causes two of them
    /// ([`Connection::answers_twice`]).
    #[inline(always)]
    pub(crate) fn receive_and_delay(
        &mut self,
        group: &Group,
        tcp: &Tcp,
        arrival: Arrival,
        in_window: bool,
        applications: &mut Applications,
        pool: &mut ReassemblyPool,
    ) -> Answer {
        let Arrival { packet, at } = arrival;
        if !group.has_applications() {
            match self.receiver.receive_second(packet.number, packet.is_marked() || packet.flag) {
                Some(true) => return Answer::Plain(self.receiver.next()),
                Some(false) => {
                    let until = tcp.options.expiry(at, tcp.options.delayed_ack);
                    self.receiver.set_delayed_ack(Some(until));
                    return Answer::Later(until);
                }
                None => {}
            }
        }
        let (_, until) = self.receive_and_decide(tcp, arrival, in_window, applications, pool);
        until.map_or(Answer::Any, Answer::Later)
    }

    /// Receive any packet at `at`: when its ACK must be sent, if that may be delayed.
    #[inline(never)]
    pub(crate) fn receive_and_decide(
        &mut self,
        tcp: &Tcp,
        arrival: Arrival,
        in_window: bool,
        applications: &mut Applications,
        pool: &mut ReassemblyPool,
    ) -> (Received, Option<Time>) {
        let Arrival { packet, at } = arrival;
        let o = &tcp.options;
        let turns = self.receiver.acknowledges_mark(o, packet.is_marked());
        let was_held = self.receiver.delayed_ack().is_some();
        let received = self.receive_any(tcp, packet, in_window, applications, pool);
        let is_syn = o.syn && packet.number == 0;
        let may_wait = received.in_order && !is_syn && !turns && self.receiver.may_delay_ack();
        let at_once = packet.flag && o.quick_acks > 0; // the sender's window may be very small
        let waits = o.delayed_ack > Span::ZERO && may_wait && !at_once && !was_held;
        let until = waits.then(|| o.expiry(at, o.delayed_ack));
        self.receiver.set_delayed_ack(until);
        if !waits {
            self.receiver.on_ack_sent();
        }
        (received, until)
    }

    /// Whether a packet causes two ACKs: that of the packets before it, which was delayed, and its own.
    #[inline(always)]
    pub(crate) fn answers_twice(&self, tcp: &Tcp, packet: &Packet) -> bool {
        self.receiver.changes_dctcp_ce(&tcp.options, packet.is_marked())
            && self.receiver.delayed_ack().is_some()
    }

    /// Receive any packet.
    #[inline(never)]
    pub(crate) fn receive_any(
        &mut self,
        tcp: &Tcp,
        packet: &Packet,
        in_window: bool,
        applications: &mut Applications,
        pool: &mut ReassemblyPool,
    ) -> Received {
        let ecn = EcnBits { ce: packet.is_marked(), cwr: packet.flag };
        let received = self.receiver.receive(&tcp.options, packet.number, ecn, pool);
        if in_window {
            if !received.is_new || tcp.options.syn && packet.number == 0 {
                self.receiver.without_payload += 1;
            } else if let Some(application) = applications.get_mut(packet.flow) {
                application.count(tcp, packet.number);
            }
        }
        received
    }

    /// Payload bytes received for the first time, of `received` packets in the measurement window, if all
    /// packets are full.
    pub(super) fn goodput_if_full(&self, tcp: &Tcp, received: u32) -> u64 {
        u64::from(received - self.receiver.without_payload) * u64::from(tcp.payload)
    }

    /// Whether the receiver has all data.
    pub(crate) fn has_all(&self) -> bool {
        self.receiver.next() >= self.sender.end()
    }

    /// The ACK of what has been received so far, sent at `now`.
    #[inline(always)]
    pub(crate) fn ack(
        &self,
        backward: FlowRoute,
        class: Class,
        tcp: &Tcp,
        now: Time,
        reports: &mut Reports,
    ) -> Packet {
        let FlowRoute { flow, route } = backward;
        let (bytes, sack) = self.ack_bytes_and_sack(tcp);
        let sent = if tcp.options.variant.needs_timestamps() { now } else { Time::ZERO };
        Packet {
            stamp: reports.put(Report { sack, sent, marks: self.receiver.marks() }),
            flow,
            step: route.first,
            host: route.host,
            bytes,
            number: self.receiver.next(),
            carries: Carries::Ack,
            flag: tcp.options.ecn && !tcp.options.accurate_ecn && self.receiver.ece(),
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

/// A full data packet that is sent for the first time: the template of the packets of a connection.
pub(super) fn full_packet(tcp: &Tcp, class: Class) -> Packet {
    let ect = if tcp.options.ect == tcp::Ect::Ect1 { Ecn::Ect1 } else { Ecn::Ect0 };
    Packet {
        bytes: tcp.header + tcp.payload,
        ecn: if tcp.options.ecn { ect } else { Ecn::NotEct },
        class,
        carries: Carries::Data,
        ..Packet::default()
    }
}

impl Group {
    /// Write the packet of `segment`, sent at `now`, with the class that the marker at the edge of the
    /// network gives it.
    #[inline(always)]
    pub(crate) fn write_packet(
        &self,
        packet: &mut Packet,
        forward: FlowRoute,
        segment: Segment,
        now: Time,
        applications: &mut Applications,
    ) {
        let FlowRoute { flow, route } = forward;
        let (step, host, number) = (route.first, route.host, segment.sequence);
        *packet = Packet { stamp: now.0, flow, step, host, number, ..self.full };
        let may_differ = segment.sequence == 0 || segment.is_retransmission || segment.cwr;
        if may_differ || self.has_applications() {
            self.adapt(packet, segment, now, applications.get_mut(flow));
        }
    }

    /// Set size, ECN field, CWR and class of a packet that may differ from a full one. SYNs and
    /// retransmissions are not ECN-capable (RFC 3168, sections 6.1.1 and 6.1.5), except the retransmissions
    /// of DCTCP and Prague, as in Linux.
    #[inline(never)]
    fn adapt(&self, packet: &mut Packet, segment: Segment, now: Time, application: Option<&mut Application>) {
        let Some(tcp) = self.tcp() else { return };
        let o = &tcp.options;
        let is_syn = o.syn && segment.sequence == 0;
        if is_syn {
            packet.bytes = tcp.ack;
        } else if let Some(application) = &application {
            packet.bytes = tcp.header + application.payload(tcp, segment.sequence);
        }
        packet.flag = segment.cwr;
        let marks_retransmissions = o.ect_on_retransmissions || o.variant.is_scalable();
        if is_syn || segment.is_retransmission && !marks_retransmissions {
            packet.ecn = Ecn::NotEct;
        }
        if let Some(marker) = application.and_then(|application| application.marker.as_mut()) {
            packet.class = marker.mark(now, packet.bytes, packet.class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        packet::Sack,
        plan::{Draw, Traffic, TrafficKind},
        tcp::{EcnBits, schema},
    };
    use serde_json::json;

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

    /// A group of transfers of 5000 bytes, and the application of the first.
    fn transfers(tcp: &Tcp) -> (Group, Applications) {
        let kind = json!({"tcp_short": {"arrivals": 1.0, "tcp": {
            "payload": 960, "header": 40, "ack": 52, "options": tcp.options,
        }}});
        let traffic = json!({"name": "a", "kind": kind, "class": 2, "start": {"constant": 0.0}});
        let mut plan: Traffic = serde_json::from_value(traffic).unwrap();
        if let TrafficKind::TcpShort { tcp: own, .. } = &mut plan.kind {
            *own = tcp.clone();
        }
        let mut applications = Applications::default();
        applications.insert(7, Application::new(tcp, &Demand::new(1, "a"), 0, Some(5000)));
        (Group::new(&plan, 0, Vec::new(), 1, 1).unwrap(), applications)
    }

    fn sent(tcp: &Tcp, sequence: u32, is_retransmission: bool) -> Packet {
        let segment = Segment { sequence, is_retransmission, cwr: false };
        let forward = FlowRoute { flow: 7, route: Route { first: 3, host: 5 } };
        let mut packet = Packet::default();
        let (group, mut applications) = transfers(tcp);
        group.write_packet(&mut packet, forward, segment, Time::ZERO, &mut applications);
        packet
    }

    /// 5000 bytes are five packets of 960 and one of 200, after a SYN without payload.
    #[test]
    fn packets_have_the_size_of_what_they_carry() {
        let tcp = tcp("rfc", &[]);
        let sizes = [0, 1, 5, 6].map(|sequence| sent(&tcp, sequence, false).bytes);
        assert_eq!(sizes, [52, 1000, 1000, 240]);
        let packet = sent(&tcp, 1, false);
        assert_eq!((packet.flow, packet.step, packet.host, packet.class), (7, 3, 5, Class(2)));
    }

    /// RFC 3168, sections 6.1.1 and 6.1.5: SYNs and retransmissions are not ECN-capable; in ns-2
    /// retransmissions are.
    #[test]
    fn which_packets_are_ecn_capable() {
        let fields =
            |tcp: Tcp| [(0, false), (1, false), (1, true)].map(|(s, again)| sent(&tcp, s, again).ecn);
        let (no, yes) = (Ecn::NotEct, Ecn::Ect0);
        assert_eq!(fields(tcp("rfc", &[])), [no, no, no]);
        assert_eq!(fields(tcp("rfc", &[("ecn", "on")])), [no, yes, no]);
        assert_eq!(fields(tcp("ns2", &[("ecn", "on")])), [no, yes, yes]);
    }

    #[test]
    fn a_retransmission_has_the_same_random_payload() {
        let drawn = Tcp { payloads: Some(Draw::Uniform(500.0, 1000.0)), ..tcp("rfc", &[]) };
        let application = Application::new(&drawn, &Demand::new(1, "a"), 0, Some(5000));
        assert!((1..4).all(|s| {
            [false, true]
                .iter()
                .all(|again| sent(&drawn, s, *again).bytes == 40 + application.payload(&drawn, s))
        }));
    }

    /// The size of an ACK grows with its blocks.
    #[test]
    fn an_ack_has_the_size_of_its_blocks() {
        let tcp = tcp("rfc", &[("variant", "sack"), ("ecn", "on")]);
        let mut connection = Connection::new(&tcp, &Demand::new(1, "a"), 0, u32::MAX);
        for sequence in [0, 2, 4] {
            let pool = &mut ReassemblyPool::default();
            let ecn = EcnBits { ce: sequence == 4, cwr: false };
            connection.receiver.receive(&tcp.options, sequence, ecn, pool);
        }
        let mut reports = Reports::default();
        let backward = FlowRoute { flow: 7, route: Route { first: 9, host: 5 } };
        let ack = connection.ack(backward, Class(0), &tcp, Time::ZERO, &mut reports);
        assert_eq!((ack.carries, ack.number, ack.flag, ack.stamp), (Carries::Ack, 1, true, 1));
        let blocks: Sack = [(4, 5), (2, 3), (0, 0)];
        assert_eq!(reports.take(1).sack, blocks);
        assert_eq!((ack.bytes, ack.step, ack.host, ack.ecn), (52 + 16, 9, 5, Ecn::NotEct));
    }
}
