//! A TCP connection: sender, receiver and their timers, and what its packets look like.

use crate::{
    packet::{Carries, Packet, Sack, Sacks, block_count},
    path::Route,
    plan::validate::MAX_PACKET_BYTES,
    plan::{Draw, Tcp},
    tcp::{self, ColdStatePool, ReassemblyPool, Received, Receiver, Segment, Sender},
    traffic::{Datagrams, Demand, EdgeMarker},
};
use sojourn_aqm::{Class, Ecn, Stream};
use std::collections::VecDeque;

/// Sender and receiver.
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    /// With what is app about the connection: nothing where it sends full packets without end as fast as it may.
    pub(crate) receiver: Receiver<Box<AppState>>,
}

/// What only some connections have, from their start on.
#[derive(Default)]
pub(crate) struct AppState {
    /// Number and payload of the last packet, where the transfer has an end; it may be stopped before.
    last: Option<(u32, u32)>,
    /// Where the payloads of its packets are drawn, if they differ.
    payloads: Option<Payloads>,
    /// What waits for its end.
    task: Task,
    /// When the application writes packets, if it does so one by one, and how many it has written.
    writer: Option<Box<(Datagrams, u64)>>,
    /// What keeps its rate down.
    shaper: Option<Box<Shaper>>,
    /// What stands between it and the network.
    marker: Option<Box<EdgeMarker>>,
    /// Payload that reached the receiver for the first time, in the window.
    goodput: u64,
}

/// What connections have set aside in trouble and need no more: the next that does takes it.
#[derive(Default)]
pub(crate) struct Pools {
    pub(crate) senders: ColdStatePool,
    pub(crate) receivers: ReassemblyPool<Box<AppState>>,
}

/// What it means that a connection has sent everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Task {
    /// Nothing: it is endless, or its end was noted.
    #[default]
    Nothing,
    /// The end of a finite transfer, a row of the record's.
    Transfer(u32),
    /// The next flow is the answer, which may begin now.
    Request(u32),
    /// The end of an object of a page.
    Response(u32),
}

impl Connection {
    /// Connection `index` of its group, which sends `bytes` (`None`: endless).
    pub(crate) fn new(tcp: &Tcp, demand: &Demand, index: u64, bytes: Option<u64>) -> Connection {
        let payloads = tcp.payloads.map(|draw| {
            let own = demand.stream("payload").indexed(index);
            Payloads { draw, own }
        });
        let syn = u32::from(tcp.options.syn);
        let last = bytes.map(|bytes| match &payloads {
            Some(drawn) => drawn.last(syn, bytes.max(1)),
            None => {
                let payload = u64::from(tcp.payload);
                let packets = bytes.div_ceil(payload).max(1);
                let end = (packets + u64::from(syn)).min(u64::from(u32::MAX) - 1) as u32;
                (end - 1, (bytes.max(1) - (packets - 1) * payload) as u32)
            }
        });
        let end = last.map_or(u32::MAX, |(number, _)| number + 1);
        let shaper = tcp.max_rate.map(|rate| Box::new(Shaper::new(rate)));
        let has_app = last.is_some() || payloads.is_some() || shaper.is_some();
        let app = AppState { last, payloads, shaper, ..AppState::default() };
        Connection {
            sender: Sender::new(&tcp.options, end, |purpose| demand.stream(purpose).indexed(index)),
            receiver: Receiver::new(&tcp.options, has_app.then(|| Box::new(app))),
        }
    }

    /// A connection whose application writes packets one by one, as `writer` says.
    pub(crate) fn written(tcp: &Tcp, demand: &Demand, index: u64, writer: Datagrams) -> Connection {
        let mut connection = Connection::new(tcp, demand, index, None);
        connection.sender = connection.sender.waiting_for_data();
        connection.receiver.app_or_default().writer = Some(Box::new((writer, 0)));
        connection
    }

    /// Let `marker` stand between it and the network.
    pub(crate) fn marked_by(mut self, marker: Option<Box<EdgeMarker>>) -> Connection {
        if marker.is_some() {
            self.receiver.app_or_default().marker = marker;
        }
        self
    }

    /// What stands between it and the network, if anything.
    #[inline]
    pub(crate) fn marker(&mut self) -> Option<&mut EdgeMarker> {
        self.receiver.app_mut()?.marker.as_deref_mut()
    }

    /// A packet reaches the receiver, whose acknowledgement leaves at once. If it says no more than up to where all
    /// packets have arrived: that. Else it is what the receiver reports now.
    #[inline(always)]
    pub(crate) fn receive<const SACK: bool>(
        &mut self,
        tcp: &Tcp,
        packet: &Packet,
        in_window: bool,
        pool: &mut ReassemblyPool<Box<AppState>>,
    ) -> Option<u32> {
        let is_marked = packet.is_marked();
        let next = self.receiver.receive_usual::<SACK>(packet.number, is_marked, pool);
        if next.is_none() && !(SACK && self.receiver.lengthen(&tcp.options, packet.number, is_marked)) {
            self.receive_any(tcp, packet, in_window, pool);
        }
        next
    }

    /// Any packet reaches the receiver.
    #[inline(never)]
    pub(crate) fn receive_any(
        &mut self,
        tcp: &Tcp,
        packet: &Packet,
        in_window: bool,
        pool: &mut ReassemblyPool<Box<AppState>>,
    ) -> Received {
        let signals = (packet.is_marked(), packet.flag);
        let received = self.receiver.receive(&tcp.options, packet.number, signals, pool);
        if in_window {
            self.count(tcp, packet.number, received.is_new);
        }
        received
    }

    /// Packet `sequence` has reached the receiver in the window.
    #[inline]
    pub(crate) fn count(&mut self, tcp: &Tcp, sequence: u32, is_new: bool) {
        if !is_new || tcp.options.syn && sequence == 0 {
            self.receiver.empty += 1;
        } else if let Some(app) = self.receiver.app_mut() {
            app.goodput += u64::from(app.payload(tcp, sequence));
        }
    }

    /// Payload that reached the receiver for the first time, with `received` packets in the window.
    pub(crate) fn goodput(&self, tcp: &Tcp, received: u32) -> u64 {
        let all_alike = u64::from(received - self.receiver.empty) * u64::from(tcp.payload);
        self.receiver.app().map_or(all_alike, |app| app.goodput)
    }

    /// What waits for its end.
    #[inline]
    pub(crate) fn task(&self) -> Task {
        self.receiver.app().map_or(Task::Nothing, |app| app.task)
    }

    /// Let `task` wait for its end; what waited before.
    pub(crate) fn replace_task(&mut self, task: Task) -> Task {
        std::mem::replace(&mut self.receiver.app_or_default().task, task)
    }

    /// When its application writes, if it does so one by one, and how many packets it has written.
    pub(crate) fn writer(&mut self) -> Option<&mut (Datagrams, u64)> {
        self.receiver.app_mut()?.writer.as_deref_mut()
    }

    /// What keeps its rate down, if anything.
    #[inline]
    pub(crate) fn shaper(&mut self) -> Option<&mut Shaper> {
        self.receiver.app_mut()?.shaper.as_deref_mut()
    }

    /// How many packets wait until its rate lets them go.
    pub(crate) fn shaped(&self) -> usize {
        let shaper = self.receiver.app().and_then(|app| app.shaper.as_ref());
        shaper.map_or(0, |shaper| shaper.waiting.len())
    }

    /// Whether the receiver has all that there is to send.
    pub(crate) fn has_all(&self) -> bool {
        self.receiver.next() >= self.sender.end()
    }

    /// Payload of packet `sequence`; a SYN carries none.
    #[inline]
    pub(crate) fn payload(&self, tcp: &Tcp, sequence: u32) -> u32 {
        if tcp.options.syn && sequence == 0 {
            return 0;
        }
        self.receiver.app().map_or(tcp.payload, |app| app.payload(tcp, sequence))
    }

    /// Payload of everything that the sender has to send, once that is known.
    pub(crate) fn bytes(&self, tcp: &Tcp) -> u64 {
        let first = u32::from(tcp.options.syn);
        let end = self.sender.end().max(first);
        match self.receiver.app().map(|app| &**app) {
            Some(AppState { payloads: None, last: Some((last, payload)), .. }) if end > *last => {
                u64::from(last - first) * u64::from(tcp.payload) + u64::from(*payload)
            }
            Some(AppState { payloads: Some(_), .. }) => {
                (first..end).map(|sequence| u64::from(self.payload(tcp, sequence))).sum()
            }
            _ => u64::from(end - first) * u64::from(tcp.payload),
        }
    }

    /// A packet as nearly all of its connection are: as long as can be, sent for the first time.
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

    /// Make `packet` the one that carries `segment`, sent `now`, with the class that the marker gives it; `full`: as nearly
    /// all packets of the connection are.
    #[inline(always)]
    pub(crate) fn write_packet(
        &mut self,
        packet: &mut Packet,
        (flow, route): (u32, Route),
        (full, tcp): (&Packet, &Tcp),
        segment: Segment,
        now: u64,
    ) {
        *packet = plain_packet((flow, route), full, segment, now);
        if self.is_unlike_others(segment) {
            self.change(packet, tcp, segment);
            if let Some(marker) = self.marker() {
                packet.class = marker.mark(now, packet.bytes, packet.class);
            }
        }
    }

    /// Whether its packet is perhaps not as all others, or does not go as all others.
    #[inline(always)]
    fn is_unlike_others(&self, segment: Segment) -> bool {
        segment.sequence == 0 || segment.is_retransmission || segment.cwr || self.receiver.app().is_some()
    }

    /// Give it the size, the ECN field and the flag that it should have.
    #[inline(never)]
    fn change(&self, packet: &mut Packet, tcp: &Tcp, segment: Segment) {
        let o = &tcp.options;
        let is_syn = o.syn && segment.sequence == 0;
        packet.bytes = if is_syn { tcp.ack } else { tcp.header + self.payload(tcp, segment.sequence) };
        packet.flag = segment.cwr;
        let may_again = o.ect_on_retransmissions || o.variant == tcp::Variant::Dctcp;
        if is_syn || segment.is_retransmission && !may_again {
            packet.ecn = Ecn::NotEct;
        }
    }

    /// The acknowledgement of what has arrived so far, at a step for a host.
    #[inline(always)]
    pub(crate) fn answer(
        &self,
        flow: u32,
        (step, host): (u32, u32),
        class: Class,
        tcp: &Tcp,
        sacks: &mut Sacks,
    ) -> Packet {
        let (bytes, sack) = self.report(tcp);
        self.answer_with((bytes, sacks.put(sack)), flow, (step, host), class, tcp)
    }

    /// Size of the acknowledgement, and what it reports.
    #[inline(always)]
    pub(crate) fn report(&self, tcp: &Tcp) -> (u32, Sack) {
        let reported = if tcp.options.sack { self.receiver.reported() } else { None };
        let bytes = tcp.ack + tcp.options.sack_bytes * reported.map_or(0, block_count);
        (bytes, reported.copied().unwrap_or_default())
    }

    /// The acknowledgement of this size that reports what is at this place among [`Sacks`].
    pub(crate) fn answer_with(
        &self,
        (bytes, sack): (u32, u64),
        flow: u32,
        (step, host): (u32, u32),
        class: Class,
        tcp: &Tcp,
    ) -> Packet {
        Packet {
            stamp: sack,
            flow,
            step,
            host,
            bytes,
            number: self.receiver.next(),
            carries: Carries::Ack,
            flag: tcp.options.ecn && self.receiver.echo(),
            ecn: Ecn::NotEct,
            class,
        }
    }
}

/// What it is as long as nothing is app about it.
#[inline(always)]
fn plain_packet((flow, route): (u32, Route), full: &Packet, segment: Segment, now: u64) -> Packet {
    Packet { stamp: now, flow, step: route.first, host: route.host, number: segment.sequence, ..*full }
}

impl AppState {
    fn payload(&self, tcp: &Tcp, sequence: u32) -> u32 {
        match (self.last, &self.payloads) {
            (Some((last, payload)), _) if sequence == last => payload,
            (_, Some(drawn)) => drawn.of(sequence),
            _ => tcp.payload,
        }
    }
}

/// Payloads of full packets: of number, not of time, so that a packet sent again is the same.
#[derive(Clone, Debug)]
struct Payloads {
    draw: Draw,
    own: Stream,
}

impl Payloads {
    fn of(&self, sequence: u32) -> u32 {
        self.draw.count(&mut self.own.indexed(u64::from(sequence))).min(MAX_PACKET_BYTES) as u32
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
    fn new(rate: u64) -> Shaper {
        Shaper { rate, free: 0, waiting: VecDeque::new() }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{packet::Sack, tcp::schema};

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
        let (mut packet, route) = (Packet::default(), Route { first: 3, host: 5 });
        connection(tcp, Some(5000)).write_packet(&mut packet, (7, route), (&full, tcp), segment, 0);
        packet
    }

    /// 5000 bytes are five packets of 960 and one of 200, behind a SYN without payload.
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
            let pool = &mut ReassemblyPool::default();
            connection.receiver.receive(&tcp.options, sequence, (sequence == 4, false), pool);
        }
        let mut sacks = Sacks::default();
        let answer = connection.answer(7, (9, 5), Class(0), &tcp, &mut sacks);
        assert_eq!((answer.carries, answer.number, answer.flag, answer.stamp), (Carries::Ack, 1, true, 1));
        let blocks: Sack = [(4, 5), (2, 3), (0, 0)];
        assert_eq!(sacks.take(1), blocks);
        assert_eq!((answer.bytes, answer.step, answer.host, answer.ecn), (52 + 16, 9, 5, Ecn::NotEct));
    }
}
