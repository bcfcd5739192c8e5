//! The record of a run of the Linux kernel, from its trace of packets and the headers at two routers.
//!
//! The trace names packets by the address of their `sk_buff`, which stays the same from the sender to the
//! receiver. It has events when a host sends a packet, when the packet enters and leaves the queue of a
//! router, when it is freed because it was dropped, and when the other host receives it. The headers come
//! from a packet socket of each router: one for every packet that enters its queue, and one for every packet
//! that leaves it, in the same order. Formats: `kernel/trace/ring_buffer.c` and
//! `include/uapi/linux/if_packet.h` of Linux.

use crate::{
    flows::{Flows, ParsedRule},
    packet::{self, Header},
    plan::Rule,
    record::{GatewayRecord, HistogramColumns, Stats},
};
use serde::Deserialize;
use sojourn_aqm::{Cause, Class, Ecn, Limit, Span, Time};
use sojourn_sim::{DropColumns, Record, Series, Window, testbed::ObservedQueue};
use std::collections::BTreeMap;

/// Bytes of a page of the trace.
const PAGE: usize = 4096;
/// `PACKET_OUTGOING`.
const OUTGOING: u8 = 4;

/// The description of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedRun {
    /// Start of the traffic on the clock of the trace, ns.
    pub start: u64,
    /// End of the warm-up after the start, ns.
    pub warmup: u64,
    /// End of the run after the start, ns.
    pub duration: u64,
    /// Time between samples, ns; 0: none.
    pub interval: u64,
    /// The traffic of each connection; the first rule that matches applies.
    pub rules: Vec<Rule>,
    /// The queues of the routers `q0` and `q1`; the first is measured.
    pub queues: Vec<TracedQueue>,
    /// Bytes on the wire beyond the IP packet.
    pub overhead: u32,
    /// Whether each drop is part of the record.
    pub drops: bool,
    /// The events of the trace.
    pub events: TracedEvents,
}

/// A queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedQueue {
    /// Its name.
    pub name: String,
    /// Its algorithm.
    pub spec: String,
    /// Its limit: packets, or bytes.
    pub packets: Option<u32>,
    /// Bytes.
    pub bytes: Option<u64>,
    /// Rate of its link, bit/s.
    pub rate: u64,
}

/// The events that are read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedEvents {
    /// `net_dev_queue`: a device `h...` of a host or `q...` of a router gets a packet.
    pub queued: EventFormat,
    /// `net_dev_start_xmit`.
    pub transmitted: EventFormat,
    /// `netif_receive_skb`.
    pub received: EventFormat,
    /// `kfree_skb`.
    pub freed: EventFormat,
}

/// The format of an event: its number, and the offsets of its fields in bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventFormat {
    /// `common_type`.
    pub id: u16,
    /// The address of the packet.
    pub skb: usize,
    /// The location of the device's name, if it has one.
    pub name: Option<usize>,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sent,
    Enters(u8),
    Leaves(u8),
    Dropped,
    Received,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    time: Time,
    kind: Kind,
    packet: u32,
}

/// A packet in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Traced {
    header: Option<Header>,
    sent: Option<Time>,
    marked: bool,
}

/// Compute the record of a run.
///
/// # Errors
/// A trace that is damaged, or does not agree with the headers.
pub fn traced_record(run: &TracedRun, trace: &[u8], headers: [&[u8]; 2]) -> Result<GatewayRecord, String> {
    let (events, packets) = Reader::new(run, headers)?.read(trace)?;
    Counter::new(run, &packets).count(&events)
}

/// Reads the trace, and assigns headers to its packets.
struct Reader<'a> {
    run: &'a TracedRun,
    entering: [std::vec::IntoIter<Header>; 2],
    leaving: [std::vec::IntoIter<Header>; 2],
    /// Packets in the network by address.
    known: BTreeMap<u64, u32>,
    packets: Vec<Traced>,
    events: Vec<Event>,
}

impl<'a> Reader<'a> {
    fn new(run: &'a TracedRun, headers: [&[u8]; 2]) -> Result<Reader<'a>, String> {
        let [first, second] = headers.map(read_headers);
        let ((a, b), (c, d)) = (first?, second?);
        Ok(Reader {
            run,
            entering: [a.into_iter(), c.into_iter()],
            leaving: [b.into_iter(), d.into_iter()],
            known: BTreeMap::new(),
            packets: Vec::new(),
            events: Vec::new(),
        })
    }

    fn read(mut self, trace: &[u8]) -> Result<(Vec<Event>, Vec<Traced>), String> {
        for page in trace.chunks(PAGE) {
            self.page(page).ok_or("a page of the trace is damaged")??;
        }
        Ok((self.events, self.packets))
    }

    /// Read the events of a page; `None` if it is too short.
    fn page(&mut self, page: &[u8]) -> Option<Result<(), String>> {
        let mut time = u64::from_le_bytes(*page.first_chunk()?);
        let used = (u32_at(page, 8)? & 0xf_ffff) as usize;
        let data = page.get(16..16 + used)?;
        let mut at = 0;
        while at + 4 <= data.len() {
            let head = u32_at(data, at)?;
            let (kind, delta) = (head & 31, u64::from(head >> 5));
            let long = |offset| u32_at(data, at + offset);
            let (skip, body) = match kind {
                29 if delta == 0 => break,
                29 => (4 + long(4)? as usize, None),
                30 => {
                    time += u64::from(long(4)?) << 27;
                    (8, None)
                }
                31 => {
                    time = (u64::from(long(4)?) << 27) + delta;
                    (8, None)
                }
                0 => (4 + long(4)? as usize, Some(at + 8)),
                words => (4 + words as usize * 4, Some(at + 4)),
            };
            if kind != 31 {
                time += delta;
            }
            if let Some(body) = body
                && let Err(error) = self.event(time, data.get(body..at + skip)?)?
            {
                return Some(Err(error));
            }
            at += skip;
        }
        Some(Ok(()))
    }

    fn event(&mut self, time: u64, event: &[u8]) -> Option<Result<(), String>> {
        let id = u16::from_le_bytes(*event.first_chunk()?);
        let formats = &self.run.events;
        let Some(format) = [&formats.queued, &formats.transmitted, &formats.received, &formats.freed]
            .into_iter()
            .find(|format| format.id == id)
        else {
            return Some(Ok(()));
        };
        let address = u64::from_le_bytes(*event.get(format.skb..)?.first_chunk()?);
        let name: &[u8] = match format.name {
            Some(offset) => event.get((u32_at(event, offset)? & 0xffff) as usize..)?,
            None => b"",
        };
        let router = u8::from(name.get(1) == Some(&b'1'));
        let is_router = name.first() == Some(&b'q');
        let time = Time(time.saturating_sub(self.run.start));
        let kind = if id == formats.freed.id {
            Kind::Dropped
        } else if id == formats.received.id {
            Kind::Received
        } else if id == formats.transmitted.id {
            Kind::Leaves(router)
        } else if is_router {
            Kind::Enters(router)
        } else {
            Kind::Sent
        };
        Some(self.take(time, kind, address))
    }

    fn take(&mut self, time: Time, kind: Kind, address: u64) -> Result<(), String> {
        let packet = match (kind, self.known.get(&address)) {
            (Kind::Sent, _) => {
                let number = self.packets.len() as u32;
                self.packets.push(Traced { sent: Some(time), ..Traced::default() });
                self.known.insert(address, number);
                number
            }
            (_, Some(number)) => *number,
            // Freed outside the network, or received from the own host.
            (Kind::Dropped | Kind::Received, None) => return Ok(()),
            (Kind::Enters(_) | Kind::Leaves(_), None) => return Err("a packet that no host sent".to_owned()),
        };
        let traced = &mut self.packets[packet as usize];
        match kind {
            Kind::Enters(router) => {
                let next = self.entering[usize::from(router)].next();
                traced.header = Some(next.ok_or("a packet that enters a queue has no header")?);
            }
            Kind::Leaves(router) => {
                let next = self.leaving[usize::from(router)].next();
                let (now, before) =
                    (next.ok_or("a packet that leaves a queue has no header")?, traced.header);
                if before.is_none_or(|before| !is_same(&before, &now)) {
                    return Err("the headers are not in the order of the trace".to_owned());
                }
                traced.marked |= now.ecn == Ecn::Ce && before.is_some_and(|before| before.ecn != Ecn::Ce);
            }
            Kind::Dropped | Kind::Received => {
                self.known.remove(&address);
            }
            Kind::Sent => {}
        }
        self.events.push(Event { time, kind, packet });
        Ok(())
    }
}

/// Whether two headers belong to one packet.
fn is_same(a: &Header, b: &Header) -> bool {
    (a.source, a.destination, a.protocol, a.ports, a.length)
        == (b.source, b.destination, b.protocol, b.ports, b.length)
        && a.tcp.map(|tcp| tcp.sequence) == b.tcp.map(|tcp| tcp.sequence)
}

/// The headers of the packets that enter a router, and of those that leave it, from blocks of `TPACKET_V3`.
fn read_headers(blocks: &[u8]) -> Result<(Vec<Header>, Vec<Header>), String> {
    let (mut entering, mut leaving) = (Vec::new(), Vec::new());
    let mut whole = vec![0; 1 << 16];
    let mut at = 0;
    while at < blocks.len() {
        let read = |block: &[u8]| -> Option<usize> {
            let (count, length) = (u32_at(block, 12)?, u32_at(block, 20)? as usize);
            let mut at = u32_at(block, 16)? as usize;
            for _ in 0..count {
                let kept = u32_at(block, at + 12)? as usize;
                let network = usize::from(u16_at(block, at + 26)?);
                let link = usize::from(u16_at(block, at + 24)?);
                let kind = *block.get(at + 48 + 10)?;
                let bytes = block.get(at + network..at + link + kept)?;
                let length = usize::from(packet::word(bytes.get(..4)?, 2)).max(bytes.len());
                // The rest of the packet was not kept: zeros, which no header contains.
                whole[..length].fill(0);
                whole[..bytes.len()].copy_from_slice(bytes);
                let header = packet::parse(&whole[..length]).ok()?;
                if kind == OUTGOING {
                    leaving.push(header)
                } else {
                    entering.push(header)
                }
                at += u32_at(block, at)? as usize;
            }
            Some(length)
        };
        let mut read = read;
        match read(&blocks[at..]) {
            Some(length) if length > 0 => at += length,
            _ => return Err("a block of headers is damaged".to_owned()),
        }
    }
    Ok((entering, leaving))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The drop of a packet.
struct Drop {
    now: Time,
    flow: u32,
    token: u32,
    cause: Cause,
    /// Its number among all that arrived, from 1.
    arrival: u64,
}

/// Counts events in the order of time.
struct Counter<'a> {
    run: &'a TracedRun,
    packets: &'a [Traced],
    queues: Vec<ObservedQueue>,
    flows: Flows,
    drops: DropColumns,
    /// Packets that each flow has sent, and the number of each packet in its flow.
    sent: Vec<u32>,
    numbers: Vec<u32>,
    stats: Stats,
    counting: bool,
}

impl<'a> Counter<'a> {
    fn new(run: &'a TracedRun, packets: &'a [Traced]) -> Counter<'a> {
        let rules = run.rules.iter().map(|rule| ParsedRule { rule: rule.clone(), prefixes: Vec::new() });
        let queues = run.queues.iter().map(|queue| {
            let limit = match (queue.packets, queue.bytes) {
                (Some(packets), _) => Limit::Packets(packets),
                (None, bytes) => Limit::Bytes(bytes.unwrap_or(u64::MAX)),
            };
            ObservedQueue::new(limit, queue.rate, Span(run.interval))
        });
        Counter {
            run,
            packets,
            queues: queues.collect(),
            flows: Flows::new(rules.collect()),
            drops: DropColumns::default(),
            sent: Vec::new(),
            numbers: vec![0; packets.len()],
            stats: Stats::default(),
            counting: false,
        }
    }

    fn count(mut self, events: &[Event]) -> Result<GatewayRecord, String> {
        let (warmup, end) = (Time(self.run.warmup), Time(self.run.duration));
        let interval = self.run.interval;
        let mut next_sample = if interval > 0 { Time(interval) } else { Time(u64::MAX) };
        let mut number = 0;
        while let Some(event) = events.get(number) {
            if event.time > end {
                break;
            }
            while next_sample <= event.time {
                self.queues.iter_mut().for_each(|queue| queue.sample(next_sample));
                next_sample += Span(interval);
            }
            if event.time >= warmup {
                self.open(warmup);
            }
            let next = events.get(number + 1);
            // A full fair queue takes the arrival first, then drops from its longest flow: the queue is never
            // above its limit for any time, so the drop counts first.
            let victim = next.filter(|next| {
                let is_other = next.kind == Kind::Dropped && next.packet != event.packet;
                matches!(event.kind, Kind::Enters(_)) && is_other && next.time == event.time
            });
            if let Some(victim) = victim {
                self.event(victim, None);
                number += 1;
            }
            self.event(event, next);
            number += 1;
        }
        while next_sample <= end {
            self.queues.iter_mut().for_each(|queue| queue.sample(next_sample));
            next_sample += Span(interval);
        }
        self.open(warmup);
        Ok(self.finish(Window { start: warmup, end }, events.len() as u64))
    }

    fn open(&mut self, warmup: Time) {
        if !self.counting {
            self.counting = true;
            self.queues.iter_mut().for_each(|queue| queue.open_window(warmup));
            self.flows.open_window();
        }
    }

    fn event(&mut self, event: &Event, next: Option<&Event>) {
        let (now, token) = (event.time, event.packet);
        let traced = self.packets[token as usize];
        let Some(header) = traced.header else { return };
        let flow = self.flows.of(now, &header);
        let bytes = header.length as u32 + self.run.overhead;
        let class = Class(self.flows.class(flow).unwrap_or(0));
        match event.kind {
            Kind::Sent => {
                self.stats.read += 1;
                if self.sent.len() <= flow as usize {
                    self.sent.resize(flow as usize + 1, 0);
                }
                self.numbers[token as usize] = self.sent[flow as usize];
                self.sent[flow as usize] += 1;
                self.flows.direction(flow).on_sent(&header);
            }
            Kind::Enters(router) => {
                let queue = &mut self.queues[usize::from(router)];
                let direction = self.flows.direction(flow);
                direction.link = router;
                direction.counts.offered += 1;
                // A packet that is dropped at its arrival never waits.
                if next.is_some_and(|next| next.kind == Kind::Dropped && next.packet == token) {
                    let cause = queue.refuse(now, bytes, class);
                    let arrival = queue.arrivals();
                    self.trace(router, Drop { now, flow, token, cause, arrival });
                } else {
                    queue.enqueue(now, token, bytes, class);
                }
            }
            Kind::Leaves(router) => {
                self.queues[usize::from(router)].dequeue(now, token, traced.marked);
                self.flows.direction(flow).counts.marked += u64::from(traced.marked);
            }
            Kind::Dropped => self.drop(now, token, flow),
            Kind::Received => {
                self.stats.delivered += 1;
                let delay = now.since_exact(traced.sent.unwrap_or(now));
                self.flows.on_received(flow, header.tcp, header.payload as u32, delay);
            }
        }
    }

    fn drop(&mut self, now: Time, token: u32, flow: u32) {
        self.stats.dropped += 1;
        self.flows.direction(flow).counts.dropped += 1;
        for router in [0, 1] {
            let queue = &mut self.queues[usize::from(router)];
            let cause = if queue.is_full(1) { Cause::Overflow } else { Cause::Early };
            if let Some(arrival) = queue.drop(now, token, cause) {
                self.trace(router, Drop { now, flow, token, cause, arrival });
            }
        }
    }

    fn trace(&mut self, router: u8, drop: Drop) {
        if self.run.drops && router == 0 {
            self.drops.time_ns.push(drop.now.0);
            self.drops.flow.push(drop.flow / 2);
            self.drops.sequence.push(self.numbers[drop.token as usize]);
            self.drops.cause.push(drop.cause as u8);
            self.drops.arrival.push(drop.arrival - 1);
            self.drops.queue_packets.push(self.queues[0].packets());
        }
    }

    fn finish(mut self, window: Window, events: u64) -> GatewayRecord {
        let mut record = Record {
            window,
            flows: self.flows.columns(0),
            drops: self.drops,
            events,
            series: Series { interval: Span(self.run.interval), ..Series::default() },
            ..Record::default()
        };
        for (queue, described) in self.queues.iter_mut().zip(&self.run.queues) {
            let (columns, series) = queue.record(&described.name, &described.spec, window);
            record.queues.push(columns);
            record.series.queues.push(series);
        }
        GatewayRecord {
            record,
            ends: self.flows.ends(),
            lateness: HistogramColumns::default(),
            waiting: HistogramColumns::default(),
            stalled: Span::ZERO,
            stats: self.stats,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const QUEUED: u16 = 1;
    const TRANSMITTED: u16 = 2;
    const RECEIVED: u16 = 3;
    const FREED: u16 = 4;

    /// A page with one event of 32 bytes per row: time, kind, packet, device.
    fn page(rows: &[(u64, u16, u64, &str)]) -> Vec<u8> {
        let (mut data, mut last) = (Vec::new(), 0);
        for (time, id, address, name) in rows {
            let delta = time - last;
            // A difference above 27 bits is an event of its own (RINGBUF_TYPE_TIME_EXTEND).
            if delta >> 27 > 0 {
                data.extend((30 | ((delta & 0x7ff_ffff) << 5) as u32).to_le_bytes());
                data.extend(((delta >> 27) as u32).to_le_bytes());
            }
            let near = if delta >> 27 > 0 { 0 } else { delta as u32 };
            data.extend((8 | near << 5).to_le_bytes());
            let mut event = [0; 32];
            event[..2].copy_from_slice(&id.to_le_bytes());
            event[8..16].copy_from_slice(&address.to_le_bytes());
            event[16..20].copy_from_slice(&24u32.to_le_bytes());
            event[24..24 + name.len()].copy_from_slice(name.as_bytes());
            data.extend(event);
            last = *time;
        }
        let mut page = vec![0; 16];
        page[8..12].copy_from_slice(&(data.len() as u32).to_le_bytes());
        page.extend(data);
        page.resize(PAGE, 0);
        page
    }

    /// A block with the headers of datagrams of 1000 bytes: source port, ECN field, whether it was sent.
    fn block(rows: &[(u16, u8, bool)]) -> Vec<u8> {
        let mut block = vec![0; 48];
        for (port, ecn, outgoing) in rows {
            let mut packet = vec![0; 144];
            packet[0..4].copy_from_slice(&144u32.to_le_bytes());
            packet[12..16].copy_from_slice(&42u32.to_le_bytes());
            packet[24..26].copy_from_slice(&82u16.to_le_bytes());
            packet[26..28].copy_from_slice(&96u16.to_le_bytes());
            packet[58] = if *outgoing { OUTGOING } else { 0 };
            let ip = [0x45, *ecn, 3, 232, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 1, 1];
            packet[96..116].copy_from_slice(&ip);
            packet[116..118].copy_from_slice(&port.to_be_bytes());
            packet[119] = 9;
            block.extend(packet);
        }
        let length = block.len() as u32;
        block[12..16].copy_from_slice(&(rows.len() as u32).to_le_bytes());
        block[16..20].copy_from_slice(&48u32.to_le_bytes());
        block[20..24].copy_from_slice(&length.to_le_bytes());
        block
    }

    fn run() -> TracedRun {
        let format = |id| EventFormat { id, skb: 8, name: Some(16) };
        let queue = |name: &str| TracedQueue {
            name: name.to_owned(),
            spec: "droptail".to_owned(),
            packets: Some(2),
            bytes: None,
            rate: 8_000_000,
        };
        TracedRun {
            start: 1000 * MS,
            warmup: 0,
            duration: 100 * MS,
            interval: 0,
            rules: vec![Rule { name: "all".to_owned(), ..Rule::default() }],
            queues: vec![queue("R1-R2"), queue("R2-R1")],
            overhead: 0,
            drops: true,
            events: TracedEvents {
                queued: format(QUEUED),
                transmitted: format(TRANSMITTED),
                received: format(RECEIVED),
                freed: EventFormat { name: None, ..format(FREED) },
            },
        }
    }

    /// Packet A waits 2 ms and is marked; B is dropped at its arrival; C is dropped from the queue when D
    /// arrives, which has a mark already.
    fn example() -> (Vec<u8>, Vec<u8>) {
        let rows = [
            (1000, QUEUED, 0xa, "h0"),
            (1001, QUEUED, 0xa, "q0"),
            (1002, QUEUED, 0xb, "h0"),
            (1002, QUEUED, 0xb, "q0"),
            (1002, FREED, 0xb, ""),
            (1003, TRANSMITTED, 0xa, "q0"),
            (1010, RECEIVED, 0xa, "h1"),
            (1010, FREED, 0xa, ""),
            (1020, QUEUED, 0xa, "h0"),
            (1020, QUEUED, 0xa, "q0"),
            (1021, QUEUED, 0xd, "h0"),
            (1021, QUEUED, 0xd, "q0"),
            (1021, FREED, 0xa, ""),
            (1022, TRANSMITTED, 0xd, "q0"),
            (1030, RECEIVED, 0xd, "h1"),
        ];
        let rows = rows.map(|(time, id, address, name)| (time * MS, id, address, name));
        let headers =
            [(1, 2, false), (2, 2, false), (1, 3, true), (3, 2, false), (4, 3, false), (4, 3, true)];
        (page(&rows), block(&headers))
    }

    #[test]
    fn every_packet_of_a_trace_has_one_outcome() {
        let (trace, headers) = example();
        let seen = traced_record(&run(), &trace, [&headers, &[]]).expect("a record");
        let queue = &seen.record.queues[0];
        assert_eq!((queue.arrivals, queue.departures), (4, 2));
        assert_eq!((queue.drops.iter().sum::<u64>(), queue.marks.iter().sum::<u64>()), (2, 1));
        assert_eq!(queue.delay_sum_ns, 3e6, "2 ms and 1 ms");
        assert_eq!(queue.max_packets, 1, "the victim leaves before the arrival enters");
        assert_eq!(seen.record.drops.time_ns, [2 * MS, 21 * MS]);
        assert_eq!(seen.record.drops.arrival, [1, 2]);
        assert_eq!(seen.record.flows.received_packets, [1, 0, 0, 1]);
        assert_eq!(seen.record.flows.delay_ns, [10 * MS, 0, 0, 9 * MS]);
        assert_eq!(seen.record.flows.queue_marks, [1, 0, 0, 0]);
        assert_eq!(seen.ends[0].source.port, 1);
    }

    #[test]
    fn headers_in_another_order_are_refused() {
        let (trace, _) = example();
        let headers = block(&[(1, 2, false), (2, 2, false), (2, 3, true)]);
        let refused = traced_record(&run(), &trace, [&headers, &[]]).map(|_| ());
        assert_eq!(refused, Err("the headers are not in the order of the trace".to_owned()));
    }

    #[test]
    fn a_damaged_trace_is_refused() {
        let (trace, headers) = example();
        let mut long = trace.clone();
        long[8..12].copy_from_slice(&5000u32.to_le_bytes());
        assert!(traced_record(&run(), &long, [&headers, &[]]).is_err(), "a page longer than a page");
        assert!(traced_record(&run(), &trace[..100], [&headers, &[]]).is_err(), "a part of a page");
        assert!(traced_record(&run(), &trace, [&headers[..60], &[]]).is_err(), "a part of a block");
        assert!(traced_record(&run(), &trace, [&[], &[]]).is_err(), "no headers");
    }
}
