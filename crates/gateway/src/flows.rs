//! The connections: identified by addresses, protocol and ports, each assigned to a traffic of the plan, with
//! counters of both directions.
//!
//! A connection has one row in the record. The row covers the direction that carried more payload: the data,
//! not the acknowledgements.

use crate::{
    goodput::{Arrived, HoleBudget},
    packet::{FRAGMENT, Header, Ports, TCP, Tcp, UDP},
    plan::{Rule, Transport},
    routes::Prefix,
};
use sojourn_aqm::{Span, Time};
use sojourn_sim::FlowColumns;
use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
};

/// Maximum number of connections with a row of their own; the others count as one connection per rule,
/// without addresses.
const MAX_CONNECTIONS: usize = 1 << 17;
/// The value of columns that only the end systems can measure.
const UNKNOWN: u64 = u64::MAX;
/// Maximum number of first fragments whose ports are stored for the later fragments.
const MAX_FRAGMENTS: usize = 256;

/// An end point of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port; 0 for protocols without ports.
    pub port: u16,
}

/// The end points of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Number of the protocol (IANA).
    pub protocol: u8,
    /// The end point that sends the data.
    pub source: Endpoint,
    /// The end point that receives it.
    pub destination: Endpoint,
}

/// An address and a port, in the order of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    address: u128,
    port: u16,
}

/// A connection, with its end points in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    low: End,
    high: End,
    protocol: u8,
}

/// The packet of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FragmentKey {
    source: u128,
    destination: u128,
    id: u32,
}

/// A rule of the plan and its parsed prefixes.
#[derive(Clone, Debug)]
pub(crate) struct ParsedRule {
    pub(crate) rule: Rule,
    pub(crate) prefixes: Vec<Prefix>,
}

/// Counters of one direction since the window opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) offered: u64,
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    pub(crate) lost: u64,
    pub(crate) sent: u64,
    pub(crate) resent: u64,
    pub(crate) received: u64,
    pub(crate) delay: Span,
    pub(crate) delay_max: Span,
    pub(crate) goodput: u64,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    pub(crate) counts: Counts,
    /// The link that it crosses, 0 or 1.
    pub(crate) link: u8,
    /// The end of the highest segment that was sent.
    snd_max: Option<u32>,
    arrived: Arrived,
    payload: u64,
}

impl Direction {
    /// Count a packet that was read.
    pub(crate) fn on_sent(&mut self, header: &Header) {
        self.counts.sent += 1;
        self.payload += header.payload as u64;
        if let (Some(tcp), true) = (header.tcp, header.payload > 0) {
            let end = tcp.sequence.wrapping_add(header.payload as u32);
            match self.snd_max {
                Some(to) if end.wrapping_sub(to) as i32 <= 0 => self.counts.resent += 1,
                Some(_) => self.snd_max = Some(end),
                None => {
                    self.arrived = Arrived::from(tcp.sequence);
                    self.snd_max = Some(end);
                }
            }
        }
    }

    /// Count a packet that was delivered `delay` after it was read.
    fn on_received(&mut self, tcp: Option<Tcp>, payload: u32, delay: Span, holes: &mut HoleBudget) {
        self.counts.received += 1;
        self.counts.delay += delay;
        self.counts.delay_max = self.counts.delay_max.max(delay);
        self.counts.goodput += match tcp {
            Some(tcp) if payload > 0 => u64::from(self.arrived.take(tcp.sequence, payload, holes)),
            _ => u64::from(payload),
        };
    }
}

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) rule: u32,
    index: u32,
    start: Time,
    /// From the lower end point to the higher one, and back.
    pub(crate) directions: [Direction; 2],
}

impl Connection {
    /// The direction that carried more payload.
    fn data(&self) -> usize {
        usize::from(self.directions[1].payload > self.directions[0].payload)
    }
}

/// All connections.
pub(crate) struct Flows {
    rules: Vec<ParsedRule>,
    keys: BTreeMap<Key, u32>,
    pub(crate) connections: Vec<Connection>,
    /// Connections of each rule so far.
    counts: Vec<u32>,
    max_connections: usize,
    /// The packets of recent first fragments, and their ports.
    fragments: VecDeque<(FragmentKey, Ports)>,
    /// The connection of the last packet.
    last: Option<(Key, u32)>,
    holes: HoleBudget,
}

impl Flows {
    pub(crate) fn new(rules: Vec<ParsedRule>) -> Flows {
        let counts = vec![0; rules.len()];
        Flows {
            rules,
            keys: BTreeMap::new(),
            connections: Vec::new(),
            counts,
            max_connections: MAX_CONNECTIONS,
            fragments: VecDeque::new(),
            last: None,
            holes: HoleBudget::default(),
        }
    }

    /// The flow of a packet: twice the number of its connection, plus 1 if the higher end point sent it.
    pub(crate) fn of(&mut self, now: Time, header: &Header) -> u32 {
        // A fragment of an unknown packet belongs to no connection: it counts as a separate protocol.
        let (ports, protocol) = match self.ports(header) {
            Some(ports) => (ports, header.protocol),
            None => (Ports::default(), FRAGMENT),
        };
        let from = End { address: header.source, port: ports.source };
        let to = End { address: header.destination, port: ports.destination };
        let is_reverse = from > to;
        let key = Key { low: from.min(to), high: from.max(to), protocol };
        let number = match self.last {
            Some((known, number)) if known == key => number,
            _ => self.find(now, key),
        };
        self.last = Some((key, number));
        number * 2 + u32::from(is_reverse)
    }

    fn find(&mut self, now: Time, mut key: Key) -> u32 {
        if let Some(number) = self.keys.get(&key) {
            return *number;
        }
        let rule = self.rule(&key);
        if self.connections.len() >= self.max_connections {
            // Protocol 255 is reserved (IANA); the "port" is the number of the rule.
            let end = End { address: 0, port: rule as u16 };
            key = Key { low: end, high: end, protocol: u8::MAX };
            if let Some(number) = self.keys.get(&key) {
                return *number;
            }
        }
        let number = self.connections.len() as u32;
        let index = self.counts[rule];
        self.counts[rule] += 1;
        self.connections.push(Connection {
            rule: rule as u32,
            index,
            start: now,
            directions: Default::default(),
        });
        self.keys.insert(key, number);
        number
    }

    /// The ports of a packet; those of a later fragment are the stored ones of the first fragment, if it was
    /// read.
    fn ports(&mut self, header: &Header) -> Option<Ports> {
        let Some(fragment) = header.fragment else { return Some(header.ports) };
        let key = FragmentKey { source: header.source, destination: header.destination, id: fragment.id };
        if fragment.is_first {
            if self.fragments.len() == MAX_FRAGMENTS {
                self.fragments.pop_front();
            }
            self.fragments.push_back((key, header.ports));
            return Some(header.ports);
        }
        self.fragments.iter().rev().find(|(one, _)| *one == key).map(|(_, ports)| *ports)
    }

    /// The first rule that matches.
    fn rule(&self, key: &Key) -> usize {
        let ends = [key.low, key.high];
        let matches = |ParsedRule { rule, prefixes }: &ParsedRule| {
            let transport = match rule.transport {
                Transport::Any => true,
                Transport::Tcp => key.protocol == TCP,
                Transport::Udp => key.protocol == UDP,
            };
            let in_range =
                |end: &End| rule.ports.iter().any(|(low, high)| (*low..=*high).contains(&end.port));
            let has_port = matches!(key.protocol, TCP | UDP) && ends.iter().any(in_range);
            let is_inside = |end: &End| prefixes.iter().any(|prefix| prefix.contains(end.address));
            transport
                && (rule.ports.is_empty() || has_port)
                && (prefixes.is_empty() || ends.iter().any(is_inside))
        };
        self.rules.iter().position(matches).unwrap_or(self.rules.len() - 1)
    }

    /// The class that the rule of a flow assigns to its packets.
    pub(crate) fn class(&self, flow: u32) -> Option<u8> {
        self.rules[self.connections[flow as usize / 2].rule as usize].rule.class
    }

    /// One direction of a connection.
    pub(crate) fn direction(&mut self, flow: u32) -> &mut Direction {
        &mut self.connections[flow as usize / 2].directions[flow as usize & 1]
    }

    /// Count a packet of `flow` that was delivered `delay` after it was read.
    pub(crate) fn on_received(&mut self, flow: u32, tcp: Option<Tcp>, payload: u32, delay: Span) {
        let direction = &mut self.connections[flow as usize / 2].directions[flow as usize & 1];
        direction.on_received(tcp, payload, delay, &mut self.holes);
    }

    /// Missing ranges of sequence numbers that were forgotten.
    pub(crate) fn forgotten_holes(&self) -> u64 {
        self.holes.forgotten
    }

    /// Open the window: reset the counters.
    pub(crate) fn open_window(&mut self) {
        for direction in self.connections.iter_mut().flat_map(|connection| &mut connection.directions) {
            direction.counts = Counts::default();
        }
    }

    /// The end points of each row of `columns`.
    pub(crate) fn ends(&self) -> Vec<Ends> {
        let endpoint =
            |end: End| Endpoint { address: Ipv6Addr::from(end.address).to_canonical(), port: end.port };
        let mut found = vec![None; self.connections.len()];
        for (key, number) in &self.keys {
            let is_reverse = self.connections[*number as usize].data() == 1;
            let (from, to) = if is_reverse { (key.high, key.low) } else { (key.low, key.high) };
            let ends = Ends { protocol: key.protocol, source: endpoint(from), destination: endpoint(to) };
            found[*number as usize] = Some(ends);
        }
        found.into_iter().flatten().collect()
    }

    /// One row per connection, for its direction with more payload.
    pub(crate) fn columns(&self, measured: u8) -> FlowColumns {
        let mut columns = FlowColumns::default();
        for one in &self.connections {
            let direction = &one.directions[one.data()];
            let counts = direction.counts;
            let is_measured = u64::from(direction.link == measured);
            columns.traffic.push(one.rule);
            columns.index.push(one.index);
            columns.start_ns.push(one.start.0);
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
            columns.delay_ns.push(counts.delay.0);
            columns.delay_max_ns.push(counts.delay_max.0);
            columns.goodput_bytes.push(counts.goodput);
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::parse;

    /// A datagram of 28 bytes from a port of 10.0.0.1 to port 9 of 10.0.1.1.
    fn datagram(port: u16, protocol: u8) -> Header {
        let ip = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 1, 1];
        let udp = [port.to_be_bytes(), [0, 9], [0, 8], [0, 0]].concat();
        parse(&[&ip[..], &udp].concat()).expect("a datagram")
    }

    #[test]
    fn connections_beyond_the_limit_count_as_one_of_their_rule() {
        let rule = |name: &str, transport| ParsedRule {
            rule: Rule { name: name.to_owned(), transport, ..Rule::default() },
            prefixes: Vec::new(),
        };
        let mut flows = Flows::new(vec![rule("udp", Transport::Udp), rule("other", Transport::Any)]);
        flows.max_connections = 2;
        let numbers = (0..100).flat_map(|port| {
            [(port, UDP), (port, 1)]
                .map(|(port, protocol)| flows.of(Time::ZERO, &datagram(port, protocol)) / 2)
        });
        let numbers: Vec<u32> = numbers.collect();
        assert_eq!(numbers[..4], [0, 1, 2, 1], "ICMP has no ports: one connection");
        assert!(numbers[4..].chunks(2).all(|pair| pair == [2, 1]), "one connection for the other ports");
        flows.of(Time::ZERO, &datagram(0, 50));
        assert_eq!(flows.of(Time::ZERO, &datagram(0, 51)) / 2, 3, "and one for the other protocols");
        assert_eq!(flows.connections.iter().map(|one| one.rule).collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert_eq!(flows.ends().len(), flows.connections.len());
    }
}
