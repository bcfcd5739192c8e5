//! Who sends: connections, known by their addresses, protocol and ports; what became of their packets; and which
//! traffic of the plan they belong to.
//!
//! A connection has two directions and one row in the record. The row is about the direction that carried more
//! payload: the data, not the acknowledgements.

use crate::{
    goodput::Arrived,
    packet::{Header, TCP, Tcp, UDP},
    plan::{Rule, Transport},
    routes::Prefix,
};
use sojourn_sim::FlowColumns;
use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
};

/// Connections that are told apart; beyond, all others count as one.
const MOST: usize = 1 << 20;
/// What only the end systems know.
const UNKNOWN: u64 = u64::MAX;
/// First fragments whose ports are remembered, for the rest of them.
const PIECES: usize = 256;

/// Source, destination and id of a fragment.
type Piece = (u128, u128, u32);
/// Protocol; address and port of who sends the data, and of who gets it.
pub type Ends = (u8, IpAddr, u16, IpAddr, u16);
/// One end of a connection.
type End = (u128, u16);
/// The lower end, the higher end, protocol.
type Key = (End, End, u8);

/// What became of the packets of one direction, since the window opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) offered: u64,
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    pub(crate) lost: u64,
    pub(crate) sent: u64,
    pub(crate) resent: u64,
    pub(crate) received: u64,
    pub(crate) delay: u64,
    pub(crate) delay_max: u64,
    pub(crate) goodput: u64,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    pub(crate) counts: Counts,
    /// The link that it takes, 0 or 1.
    pub(crate) link: u8,
    /// End of the highest sequence number that was sent.
    sent_to: Option<u32>,
    arrived: Arrived,
    payload: u64,
}

impl Direction {
    /// A packet is read: count it, and whether it brings anything new.
    pub(crate) fn sends(&mut self, header: &Header) {
        self.counts.sent += 1;
        self.payload += header.payload as u64;
        if let (Some(tcp), true) = (header.tcp, header.payload > 0) {
            let end = tcp.sequence.wrapping_add(header.payload as u32);
            match self.sent_to {
                Some(to) if end.wrapping_sub(to) as i32 <= 0 => self.counts.resent += 1,
                Some(_) => self.sent_to = Some(end),
                None => {
                    self.arrived = Arrived::from(tcp.sequence);
                    self.sent_to = Some(end);
                }
            }
        }
    }

    /// A packet is delivered `delay` after it was read.
    pub(crate) fn receives(&mut self, tcp: Option<Tcp>, payload: u32, delay: u64) {
        self.counts.received += 1;
        self.counts.delay += delay;
        self.counts.delay_max = self.counts.delay_max.max(delay);
        self.counts.goodput += match tcp {
            Some(tcp) if payload > 0 => u64::from(self.arrived.take(tcp.sequence, payload)),
            _ => u64::from(payload),
        };
    }
}

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) rule: u32,
    index: u32,
    start: u64,
    /// Of the lower end, and of the higher one.
    pub(crate) ways: [Direction; 2],
}

impl Connection {
    /// The direction that carried more payload.
    fn data(&self) -> usize {
        usize::from(self.ways[1].payload > self.ways[0].payload)
    }
}

/// All of them.
pub(crate) struct Flows {
    rules: Vec<(Rule, Vec<Prefix>)>,
    keys: BTreeMap<Key, u32>,
    pub(crate) connections: Vec<Connection>,
    /// Connections of each rule so far.
    counts: Vec<u32>,
    /// First fragments and their ports.
    pieces: VecDeque<(Piece, (u16, u16))>,
    last: Option<(Key, u32)>,
}

impl Flows {
    /// `rules` and the prefixes of each.
    pub(crate) fn new(rules: Vec<(Rule, Vec<Prefix>)>) -> Flows {
        let counts = vec![0; rules.len()];
        Flows {
            rules,
            keys: BTreeMap::new(),
            connections: Vec::new(),
            counts,
            pieces: VecDeque::new(),
            last: None,
        }
    }

    /// The flow of a packet: twice the number of its connection, plus 1 if the higher end sent it.
    pub(crate) fn of(&mut self, now: u64, header: &Header) -> u32 {
        let ports = self.ports(header);
        let (from, to) = ((header.source, ports.0), (header.destination, ports.1));
        let is_back = from > to;
        let key = if is_back { (to, from, header.protocol) } else { (from, to, header.protocol) };
        let number = match self.last {
            Some((known, number)) if known == key => number,
            _ => self.find(now, key),
        };
        self.last = Some((key, number));
        number * 2 + u32::from(is_back)
    }

    fn find(&mut self, now: u64, key: Key) -> u32 {
        if let Some(number) = self.keys.get(&key) {
            return *number;
        }
        if self.connections.len() >= MOST {
            return MOST as u32 - 1;
        }
        let number = self.connections.len() as u32;
        let rule = self.rule(&key);
        let index = self.counts[rule];
        self.counts[rule] += 1;
        self.connections.push(Connection { rule: rule as u32, index, start: now, ways: Default::default() });
        self.keys.insert(key, number);
        number
    }

    /// The ports of a packet; of the later pieces of one, those of the first.
    fn ports(&mut self, header: &Header) -> (u16, u16) {
        let Some(piece) = header.fragment else { return header.ports };
        let name = (header.source, header.destination, piece.id);
        if piece.is_first {
            if self.pieces.len() == PIECES {
                self.pieces.pop_front();
            }
            self.pieces.push_back((name, header.ports));
            return header.ports;
        }
        let known = self.pieces.iter().rev().find(|(one, _)| *one == name);
        known.map_or((0, 0), |(_, ports)| *ports)
    }

    fn rule(&self, (a, b, protocol): &Key) -> usize {
        let fits = |(rule, prefixes): &(Rule, Vec<Prefix>)| {
            let transport = match rule.transport {
                Transport::Any => true,
                Transport::Tcp => *protocol == TCP,
                Transport::Udp => *protocol == UDP,
            };
            let in_range = |port: u16| rule.ports.iter().any(|(low, high)| (*low..=*high).contains(&port));
            let has_port = matches!(*protocol, TCP | UDP) && (in_range(a.1) || in_range(b.1));
            let is_inside = |address: u128| prefixes.iter().any(|prefix| prefix.holds(address));
            transport
                && (rule.ports.is_empty() || has_port)
                && (prefixes.is_empty() || is_inside(a.0) || is_inside(b.0))
        };
        self.rules.iter().position(fits).unwrap_or(self.rules.len() - 1)
    }

    /// The class that the rule of a flow gives its packets.
    pub(crate) fn class(&self, flow: u32) -> Option<u8> {
        self.rules[self.connections[flow as usize / 2].rule as usize].0.class
    }

    /// One direction of a connection.
    pub(crate) fn way(&mut self, flow: u32) -> &mut Direction {
        &mut self.connections[flow as usize / 2].ways[flow as usize & 1]
    }

    /// The window opens: forget what was counted.
    pub(crate) fn open_window(&mut self) {
        for way in self.connections.iter_mut().flat_map(|connection| &mut connection.ways) {
            way.counts = Counts::default();
        }
    }

    /// Who each row of `columns` is about.
    pub(crate) fn ends(&self) -> Vec<Ends> {
        let mut found = vec![None; self.connections.len()];
        for ((low, high, protocol), number) in &self.keys {
            let connection = &self.connections[*number as usize];
            let (from, to) = if connection.data() == 1 { (high, low) } else { (low, high) };
            let address = |bits: u128| Ipv6Addr::from(bits).to_canonical();
            found[*number as usize] = Some((*protocol, address(from.0), from.1, address(to.0), to.1));
        }
        found.into_iter().flatten().collect()
    }

    /// The row of each connection is about its direction with more payload.
    pub(crate) fn columns(&self, measured: u8) -> FlowColumns {
        let mut columns = FlowColumns::default();
        for one in &self.connections {
            let way = &one.ways[one.data()];
            let counts = way.counts;
            let is_measured = u64::from(way.link == measured);
            columns.traffic.push(one.rule);
            columns.index.push(one.index);
            columns.start_ns.push(one.start);
            columns.crosses.push(is_measured as u8);
            columns.queue_arrivals.push(counts.offered * is_measured);
            columns.queue_drops.push(counts.dropped * is_measured);
            columns.queue_marks.push(counts.marked * is_measured);
            columns.sent_packets.push(counts.sent);
            columns.retransmitted_packets.push(counts.resent);
            columns.timeouts.push(UNKNOWN);
            columns.window_cuts.push(UNKNOWN);
            columns.dropped_packets.push(counts.dropped + counts.lost);
            columns.received_packets.push(counts.received);
            columns.delay_ns.push(counts.delay);
            columns.delay_max_ns.push(counts.delay_max);
            columns.goodput_bytes.push(counts.goodput);
        }
        columns
    }
}
