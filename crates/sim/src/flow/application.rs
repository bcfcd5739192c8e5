//! The application of a connection, and what is configured beside it for single connections: an end, random
//! payloads, a task at the end, times at which packets are written, a shaper, a marker.
//!
//! Bulk transfers without any of these have no application ([`super::Group::has_applications`]), which saves
//! memory.

use crate::{
    plan::{Draw, Tcp, validate::MAX_PACKET_BYTES},
    tcp::Segment,
    traffic::{Datagrams, Demand, EdgeMarker},
};
use sojourn_aqm::{Span, Stream, Time};
use std::{collections::VecDeque, mem::replace};

/// The applications of a run, by the number of their flow.
#[derive(Default)]
pub(crate) struct Applications(Vec<Option<Box<Application>>>);

impl Applications {
    /// Add the application of `flow`.
    pub(super) fn insert(&mut self, flow: u32, application: Application) {
        let index = flow as usize;
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index] = Some(Box::new(application));
    }

    #[inline]
    pub(crate) fn get(&self, flow: u32) -> Option<&Application> {
        self.0.get(flow as usize)?.as_deref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, flow: u32) -> Option<&mut Application> {
        self.0.get_mut(flow as usize)?.as_deref_mut()
    }

    /// What to do when all data of `flow` are delivered.
    #[inline]
    pub(crate) fn task(&self, flow: u32) -> Task {
        self.get(flow).map_or(Task::Nothing, |application| application.task)
    }

    /// The shaper of the rate of `flow`.
    pub(crate) fn shaper(&mut self, flow: u32) -> Option<&mut Shaper> {
        self.get_mut(flow)?.shaper.as_mut()
    }

    /// Clear the task of `flow`; returns whether it had one.
    pub(crate) fn take_task(&mut self, flow: u32) -> bool {
        let task = self.get_mut(flow).map(|application| replace(&mut application.task, Task::Nothing));
        task.is_some_and(|task| task != Task::Nothing)
    }
}

/// The application of one connection.
#[derive(Default)]
pub(crate) struct Application {
    /// The last packet, if the transfer has an end; the sender may be stopped before.
    last: Option<LastPacket>,
    /// Random payloads, if they are not all full.
    payloads: Option<Payloads>,
    pub(crate) task: Task,
    /// When it writes packets, if it writes them one by one.
    pub(crate) writer: Option<Writer>,
    pub(crate) shaper: Option<Shaper>,
    /// The marker at the edge of the network.
    pub(crate) marker: Option<EdgeMarker>,
    /// Payload bytes received for the first time, in the measurement window.
    pub(super) goodput: u64,
}

/// An application that writes packets one by one.
pub(crate) struct Writer {
    /// When it does.
    pub(crate) source: Datagrams,
    /// How many it has written.
    pub(crate) written: u64,
}

/// The last packet of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastPacket {
    sequence: u32,
    /// In bytes.
    payload: u32,
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
    /// Send the segment that this client of a video requests, in the next flow.
    SegmentRequest(u32),
    /// Record the end of a segment of this client.
    Segment(u32),
}

impl Application {
    /// The application of connection `index` of its group, which sends `bytes` (`None`: no end).
    pub(super) fn new(tcp: &Tcp, demand: &Demand, index: u64, bytes: Option<u64>) -> Application {
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
        Application { last, payloads, shaper: tcp.max_rate.map(Shaper::new), ..Application::default() }
    }

    /// One beyond the last packet; `u32::MAX` if there is no end.
    pub(super) fn end(&self) -> u32 {
        self.last.map_or(u32::MAX, |last| last.sequence + 1)
    }

    /// Packets that wait in the shaper.
    pub(crate) fn shaped(&self) -> usize {
        self.shaper.as_ref().map_or(0, |shaper| shaper.waiting.len())
    }

    /// Packet `sequence` with payload is received for the first time, in the measurement window.
    pub(super) fn count(&mut self, tcp: &Tcp, sequence: u32) {
        self.goodput += u64::from(self.payload(tcp, sequence));
    }

    /// Payload bytes of packet `sequence`, which is not the SYN.
    pub(super) fn payload(&self, tcp: &Tcp, sequence: u32) -> u32 {
        match (self.last, &self.payloads) {
            (Some(last), _) if sequence == last.sequence => last.payload,
            (_, Some(drawn)) => drawn.of(sequence),
            _ => tcp.payload,
        }
    }

    /// Payload bytes of the packets below `end`.
    pub(crate) fn bytes(&self, tcp: &Tcp, end: u32) -> u64 {
        let first = u32::from(tcp.options.syn);
        let end = end.max(first);
        match self {
            Application { payloads: None, last: Some(last), .. } if end > last.sequence => {
                u64::from(last.sequence - first) * u64::from(tcp.payload) + u64::from(last.payload)
            }
            Application { payloads: Some(_), .. } => {
                (first..end).map(|sequence| u64::from(self.payload(tcp, sequence))).sum()
            }
            _ => u64::from(end - first) * u64::from(tcp.payload),
        }
    }

    /// Payload bytes of the packets from `begin` to below `end`.
    pub(crate) fn bytes_between(&self, tcp: &Tcp, begin: u32, end: u32) -> u64 {
        if self.payloads.is_some() {
            let first = begin.max(u32::from(tcp.options.syn));
            return (first..end).map(|sequence| u64::from(self.payload(tcp, sequence))).sum();
        }
        self.bytes(tcp, end) - self.bytes(tcp, begin)
    }
}

/// Random payloads. The payload of a packet depends on its sequence number only, so a retransmission has the
/// same.
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
    use crate::tcp::schema;

    fn tcp(set: &[(String, String)]) -> Tcp {
        let options = schema::resolve("rfc", set).unwrap();
        Tcp { payload: 960, payloads: None, header: 40, ack: 52, max_rate: None, options }
    }

    fn application(tcp: &Tcp, index: u64, bytes: Option<u64>) -> Application {
        Application::new(tcp, &Demand::new(1, "a"), index, bytes)
    }

    /// After a SYN.
    #[test]
    fn a_transfer_ends_with_the_packet_of_its_last_byte() {
        let ends = |bytes| application(&tcp(&[]), 0, bytes).end();
        assert_eq!([Some(0), Some(1), Some(960), Some(961), None].map(ends), [2, 2, 2, 3, u32::MAX]);
    }

    #[test]
    fn a_transfer_that_was_stopped_has_carried_whole_packets() {
        let tcp = tcp(&[("syn".to_owned(), "off".to_owned())]);
        let transfer = application(&tcp, 0, Some(5000));
        assert_eq!([transfer.end(), 2, 0].map(|end| transfer.bytes(&tcp, end)), [5000, 1920, 0]);
    }

    /// Random payloads add up to the transfer.
    #[test]
    fn random_payloads_depend_on_the_sequence_number() {
        let drawn = Tcp { payloads: Some(Draw::Uniform(500.0, 1000.0)), ..tcp(&[]) };
        let one = application(&drawn, 0, Some(50_000));
        let sizes: Vec<u32> = (1..one.end()).map(|sequence| one.payload(&drawn, sequence)).collect();
        assert_eq!((sizes.iter().sum::<u32>(), one.bytes(&drawn, one.end())), (50_000, 50_000));
        let full = &sizes[..sizes.len() - 1];
        assert!(full.iter().all(|size| (500..=1000).contains(size)));
        assert!((60..75).contains(&full.len()), "{} packets of 750 on average", full.len());
        assert!(full.windows(2).any(|pair| pair[0] != pair[1]));
        let other = application(&drawn, 1, None);
        assert!((1..9).any(|s| other.payload(&drawn, s) != sizes[s as usize - 1]));
    }
}
