//! A flow: one source and its destination, TCP or datagrams.

use crate::{
    check::LARGEST,
    error::PlanError,
    net::{Carries, Packet, Route, Sacks},
    plan::{self, Draw, Kind, Tcp, Traffic, Web},
    tcp::{self, Receiver, Segment, Sender, Tally},
    traffic::{Datagrams, Demand, Edge, EdgeMarker},
};
use sojourn_aqm::{Class, Ecn, Stream};
use std::collections::VecDeque;

/// What the flows of one traffic group share.
pub(crate) struct Group {
    pub(crate) kind: Kind,
    /// The TCP connection of its flows.
    tcp: Option<Tcp>,
    /// Number of its traffic in the plan: the requests of web traffic are a group of their own.
    pub(crate) traffic: u32,
    pub(crate) class: Class,
    pub(crate) edge: Option<Edge>,
    /// ECN field of datagrams.
    pub(crate) ecn: Ecn,
    pub(crate) demand: Demand,
    pub(crate) routes: Vec<Route>,
    /// How many nodes send, the group of the requests, when they are answered (web traffic).
    pub(crate) senders: u32,
    pub(crate) requests: u32,
    pub(crate) responds_late: bool,
    /// Shape of its on and off times, sizes of its datagrams.
    pub(crate) pareto: Option<f64>,
    pub(crate) sizes: Option<Draw>,
    is_request: bool,
    /// Nothing new is sent from here on.
    pub(crate) stop: u64,
    /// Rows of this group's flows.
    pub(crate) flows: Vec<u32>,
}

impl Group {
    /// # Errors
    /// A marker that cannot be.
    pub(crate) fn new(
        plan: &Traffic,
        traffic: u32,
        routes: Vec<Route>,
        senders: u32,
        seed: u64,
    ) -> Result<Group, PlanError> {
        let mut tcp = plan.kind.tcp().cloned();
        if let (Kind::Web(_), Some(tcp)) = (&plan.kind, &mut tcp) {
            tcp.options.syn = false; // the request has opened the connection
        }
        let demand = Demand::new(seed, &plan.name);
        Ok(Group {
            kind: plan.kind.clone(),
            tcp,
            traffic,
            senders,
            requests: 0,
            responds_late: false,
            pareto: plan.pareto,
            sizes: plan.sizes,
            is_request: false,
            class: Class(plan.class),
            ecn: match plan.ecn {
                plan::Ecn::Off => Ecn::NotEct,
                plan::Ecn::Ect0 => Ecn::Ect0,
                plan::Ecn::Ect1 => Ecn::Ect1,
            },
            edge: Edge::new(plan, &demand)?,
            demand,
            routes,
            stop: plan.stop.unwrap_or(u64::MAX),
            flows: Vec::new(),
        })
    }

    /// The group of the requests for what web traffic `plan` sends.
    pub(crate) fn of_requests(
        plan: &Traffic,
        web: &Web,
        traffic: u32,
        routes: Vec<Route>,
        seed: u64,
    ) -> Result<Group, PlanError> {
        let tcp = Tcp { payload: web.request, payloads: None, ..web.tcp.clone() };
        let group = Group::new(plan, traffic, routes, 1, seed)?;
        Ok(Group {
            kind: Kind::Tcp(tcp.clone()),
            tcp: Some(tcp),
            responds_late: web.respond_late,
            is_request: true,
            ..group
        })
    }

    /// Whether sources are sessions that look at pages.
    pub(crate) fn is_web(&self) -> bool {
        matches!(self.kind, Kind::Web(_))
    }

    /// Whether its flows carry requests only.
    pub(crate) fn is_requests(&self) -> bool {
        self.is_request
    }

    /// The TCP connection of this group's flows.
    pub(crate) fn tcp(&self) -> Option<&Tcp> {
        self.tcp.as_ref()
    }
}

/// A row of the record: one source, all flows of which are counted together.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) group: u32,
    pub(crate) index: u32,
    pub(crate) start: u64,
}

/// One flow.
pub(crate) struct Flow {
    pub(crate) group: u32,
    /// Its row in the record: its own, or that of all flows of a session.
    pub(crate) row: u32,
    pub(crate) route: Route,
    pub(crate) agent: Agent,
    /// What stands between it and the network.
    pub(crate) marker: Option<EdgeMarker>,
    pub(crate) counts: Counts,
}

impl Flow {
    /// What it has sent so far.
    pub(crate) fn tally(&self) -> Tally {
        match &self.agent {
            Agent::Tcp(connection) => connection.sender.tally(),
            Agent::Udp { sent, .. } => Tally { sent: *sent, ..Tally::default() },
        }
    }

    /// A packet leaves the source: it gets the class under which the network knows it.
    pub(crate) fn mark(&mut self, now: u64, packet: &mut Packet) {
        if let Some(marker) = &mut self.marker {
            packet.class = marker.mark(now, packet.bytes, packet.class);
        }
    }
}

/// The two ends of a flow.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every flow is a connection, and a box costs a miss a packet"
)]
pub(crate) enum Agent {
    /// A connection.
    Tcp(Connection),
    /// A source that nobody answers.
    Udp {
        /// When packets leave.
        source: Datagrams,
        /// Size of each on the wire.
        size: u32,
        /// How many have left.
        sent: u64,
    },
}

/// Sender, receiver and their timers.
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// When the retransmission event is filed for.
    pub(crate) filed: Option<u64>,
    /// When an acknowledgement that was held back must go.
    pub(crate) delayed: Option<u64>,
    /// Acknowledgements that come in their own time, though others need not.
    pub(crate) awaited: u32,
    /// Number and payload of the last packet, where the transfer has an end; it may be stopped before.
    last: (u32, u32),
    /// Where the payloads of its packets are drawn, if they differ.
    payloads: Option<Box<Payloads>>,
    /// What waits for its end.
    pub(crate) task: Task,
    /// When the application writes packets, if it does so one by one, and how many it has written.
    pub(crate) writer: Option<Box<(Datagrams, u64)>>,
    /// What keeps its rate down.
    pub(crate) shaper: Option<Box<Shaper>>,
}

/// Payloads of full packets: of number, not of time, so that a packet sent again is the same.
#[derive(Clone, Debug)]
struct Payloads {
    draw: Draw,
    own: Stream,
}

impl Payloads {
    fn of(&self, sequence: u32) -> u32 {
        self.draw.count(&mut self.own.indexed(u64::from(sequence))).min(LARGEST) as u32
    }

    /// Number and payload of the last of the packets from `first` on that carry `bytes`.
    fn last(&self, first: u32, bytes: u64) -> (u32, u32) {
        let (mut sequence, mut left) = (first, bytes);
        loop {
            let full = self.of(sequence);
            if left <= u64::from(full) || sequence == u32::MAX - 2 {
                return (sequence, left.min(u64::from(full)) as u32);
            }
            left -= u64::from(full);
            sequence += 1;
        }
    }
}

/// A shaper behind a sender: packets leave one after the other, each as long after the one before as that
/// takes at the rate.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    rate: u64,
    /// When the next packet may leave.
    free: u64,
    pub(crate) waiting: VecDeque<Segment>,
}

impl Shaper {
    /// Whether a packet may leave at `now`, ahead of which nothing waits.
    pub(crate) fn is_free(&self, now: u64) -> bool {
        self.waiting.is_empty() && self.free <= now
    }

    /// A packet leaves at `now`: when the next one may.
    pub(crate) fn leave(&mut self, now: u64, bytes: u32) -> u64 {
        let bits = u128::from(bytes) * 8_000_000_000;
        self.free = now + bits.div_ceil(u128::from(self.rate)) as u64;
        self.free
    }

    /// A packet has to wait; when to come back for it, if nothing waited before.
    pub(crate) fn wait(&mut self, segment: Segment) -> Option<u64> {
        self.waiting.push_back(segment);
        (self.waiting.len() == 1).then_some(self.free)
    }
}

/// What it means that a connection has sent everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Nothing: it is endless, or its end was noted.
    Nothing,
    /// The end of a finite transfer, a row of the record's.
    Transfer(u32),
    /// The next flow is the answer, which may begin now.
    Request(u32),
    /// The end of an object of a page.
    Response(u32),
}

/// What a flow had done when the window opened: packets dropped, and the sender's tally.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    pub(crate) dropped: u64,
    pub(crate) tally: Tally,
}

/// What is counted per flow: totals for conservation, the rest over the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Forward packets dropped anywhere, in the whole run.
    pub(crate) dropped: u64,
    /// Forward packets received before the end, in the whole run...
    pub(crate) received: u64,
    /// ...and those whose arrival after the end is already known.
    pub(crate) late: u64,
    pub(crate) queue_arrivals: u64,
    pub(crate) queue_drops: u64,
    pub(crate) queue_marks: u64,
    pub(crate) window_received: u64,
    /// Of the packets received in the window: time from sender to receiver, in all and at most.
    pub(crate) delay: u64,
    pub(crate) delay_max: u64,
    pub(crate) goodput_bytes: u64,
}

impl Counts {
    /// A packet that was sent at `sent` is received at `at`; whether that is in the window, [`warmup`, `end`).
    #[inline]
    pub(crate) fn receive(&mut self, at: u64, sent: u64, warmup: u64, end: u64) -> bool {
        if at >= end {
            self.late += 1;
            return false;
        }
        self.received += 1;
        if at < warmup {
            return false;
        }
        self.window_received += 1;
        self.delay += at - sent;
        self.delay_max = self.delay_max.max(at - sent);
        true
    }
}

impl Connection {
    /// Connection `index` of its group, which sends `bytes` (`None`: endless).
    pub(crate) fn new(tcp: &Tcp, demand: &Demand, index: u64, bytes: Option<u64>) -> Connection {
        let syn = u64::from(tcp.options.syn);
        let payload = u64::from(tcp.payload);
        let payloads = tcp.payloads.map(|draw| {
            let own = demand.stream("payload").indexed(index);
            Box::new(Payloads { draw, own })
        });
        let (end, last) = match (bytes, &payloads) {
            (None, _) => (u32::MAX, (u32::MAX, tcp.payload)),
            (Some(bytes), Some(drawn)) => {
                let last = drawn.last(syn as u32, bytes.max(1));
                (last.0 + 1, last)
            }
            (Some(bytes), None) => {
                let packets = bytes.div_ceil(payload).max(1);
                let end = (packets + syn).min(u64::from(u32::MAX) - 1) as u32;
                (end, (end - 1, (bytes.max(1) - (packets - 1) * payload) as u32))
            }
        };
        Connection {
            sender: Sender::new(&tcp.options, end, |purpose| demand.stream(purpose).indexed(index)),
            receiver: Receiver::new(&tcp.options),
            filed: None,
            delayed: None,
            awaited: 0,
            last,
            payloads,
            task: Task::Nothing,
            writer: None,
            shaper: tcp.max_rate.map(|rate| Box::new(Shaper { rate, free: 0, waiting: VecDeque::new() })),
        }
    }

    /// A connection whose application writes packets one by one, as `writer` says.
    pub(crate) fn written(tcp: &Tcp, demand: &Demand, index: u64, writer: Datagrams) -> Connection {
        let endless = Connection::new(tcp, demand, index, None);
        Connection {
            sender: endless.sender.waiting_for_data(),
            writer: Some(Box::new((writer, 0))),
            ..endless
        }
    }

    /// Whether the receiver has all that there is to send.
    pub(crate) fn has_all(&self) -> bool {
        self.receiver.next() >= self.sender.end()
    }

    /// Payload of packet `sequence`; a SYN carries none.
    #[inline]
    pub(crate) fn payload(&self, tcp: &Tcp, sequence: u32) -> u32 {
        if tcp.options.syn && sequence == 0 {
            0
        } else if sequence == self.last.0 {
            self.last.1
        } else {
            self.payloads.as_ref().map_or(tcp.payload, |drawn| drawn.of(sequence))
        }
    }

    /// Payload of everything that the sender has to send, once that is known.
    pub(crate) fn bytes(&self, tcp: &Tcp) -> u64 {
        let end = self.sender.end();
        if self.payloads.is_some() {
            return (0..end).map(|sequence| u64::from(self.payload(tcp, sequence))).sum();
        }
        let packets = u64::from(end.saturating_sub(u32::from(tcp.options.syn)));
        let short = if end > self.last.0 { tcp.payload - self.last.1 } else { 0 };
        packets * u64::from(tcp.payload) - u64::from(short)
    }

    /// The packet that carries `segment`, sent `now`.
    #[inline]
    pub(crate) fn packet(
        &self,
        flow: u32,
        step: u32,
        class: Class,
        tcp: &Tcp,
        segment: Segment,
        now: u64,
    ) -> Packet {
        let is_syn = tcp.options.syn && segment.sequence == 0;
        let o = &tcp.options;
        let may_again = o.ect_on_retransmissions || o.variant == tcp::Variant::Dctcp;
        let may_mark = o.ecn && !is_syn && (!segment.is_retransmission || may_again);
        let ect = if o.ect == tcp::Ect::Ect1 { Ecn::Ect1 } else { Ecn::Ect0 };
        Packet {
            flow,
            step,
            bytes: if is_syn { tcp.ack } else { tcp.header + self.payload(tcp, segment.sequence) },
            ecn: if may_mark { ect } else { Ecn::NotEct },
            class,
            number: segment.sequence,
            stamp: now,
            carries: Carries::Data,
            flag: segment.cwr,
        }
    }

    /// The acknowledgement of what has arrived so far.
    #[inline(always)]
    pub(crate) fn answer(&self, flow: u32, step: u32, class: Class, tcp: &Tcp, sacks: &mut Sacks) -> Packet {
        let (mut bytes, mut sack) = (tcp.ack, 0);
        if tcp.options.sack && self.receiver.has_blocks() {
            let blocks = self.receiver.sack();
            bytes += tcp.options.sack_bytes * blocks.iter().filter(|(first, end)| first < end).count() as u32;
            sack = sacks.put(blocks);
        }
        Packet {
            stamp: sack,
            flow,
            step,
            bytes,
            number: self.receiver.next(),
            carries: Carries::Ack,
            flag: tcp.options.ecn && self.receiver.echo(),
            ecn: Ecn::NotEct,
            class,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{net::Sack, tcp::schema};

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
        connection(tcp, Some(5000)).packet(7, 3, Class(2), tcp, segment, 0)
    }

    /// 5000 bytes are five packets of 960 and one of 200, behind a SYN without payload.
    #[test]
    fn packets_have_the_size_of_what_they_carry() {
        let tcp = tcp("default", &[]);
        let sizes = [0, 1, 5, 6].map(|sequence| sent(&tcp, sequence, false).bytes);
        assert_eq!(sizes, [52, 1000, 1000, 240]);
        let packet = sent(&tcp, 1, false);
        assert_eq!((packet.flow, packet.step, packet.class), (7, 3, Class(2)));
        let ends = |bytes| connection(&tcp, bytes).sender.end();
        assert_eq!([Some(0), Some(1), Some(960), Some(961), None].map(ends), [2, 2, 2, 3, u32::MAX]);
    }

    /// RFC 3168: no SYN and no retransmission can be marked; ns-2 lets retransmissions.
    #[test]
    fn what_may_be_marked() {
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
        one.sender.start(&tcp.options, 2, 0, &mut Vec::new());
        one.sender.stop();
        assert_eq!(one.bytes(&tcp), 1920);
        let mut none = connection(&tcp, Some(5000));
        none.sender.stop();
        assert_eq!(none.bytes(&tcp), 0);
    }

    /// Packets of drawn sizes carry a transfer whole; a number has one size, sent again or for whoever.
    #[test]
    fn drawn_payloads_belong_to_the_packets_number() {
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
        let sent_again = |s| sent(&drawn, s, true).bytes;
        assert!((1..4).all(
            |s| sent(&drawn, s, false).bytes == sent_again(s) && sent_again(s) == 40 + sizes[s as usize]
        ));
        let other = Connection::new(&drawn, &Demand::new(1, "a"), 1, None);
        assert!((1..9).any(|s| other.payload(&drawn, s) != sizes[s as usize]));
    }

    /// An acknowledgement grows with the blocks that it reports.
    #[test]
    fn an_answer_reports_what_has_arrived() {
        let tcp = tcp("default", &[("variant", "sack"), ("ecn", "on")]);
        let mut connection = connection(&tcp, None);
        for sequence in [0, 2, 4] {
            connection.receiver.receive(sequence, sequence == 4, false);
        }
        let mut sacks = Sacks::default();
        let answer = connection.answer(7, 9, Class(0), &tcp, &mut sacks);
        assert_eq!((answer.carries, answer.number, answer.flag, answer.stamp), (Carries::Ack, 1, true, 1));
        let blocks: Sack = [(4, 5), (2, 3), (0, 0)];
        assert_eq!(sacks.take(1), blocks);
        assert_eq!((answer.bytes, answer.step, answer.ecn), (52 + 16, 9, Ecn::NotEct));
    }
}
