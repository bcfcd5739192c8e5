//! Adaptive video: clients fetch segments and play them.
//!
//! ```text
//! client:   requests a segment, with a bitrate that follows from its buffer, over a connection of its own
//! server:   writes the segment to a second connection without SYN, as each direction has a congestion window
//!           of its own; both connections stay open
//! arrival:  of the last byte of a segment; the next one is requested at once if it fits into the buffer,
//!           else as soon as it does
//! ```

use crate::{
    engine::{CalendarQueue, Event, EventKind},
    flow::{Hosts, Player, Playing, Task},
    packet::Packet,
    plan::{self, Video},
    record::SegmentColumns,
    traffic::next_rate,
};
use sojourn_aqm::{Span, Time};

/// A client and its player.
struct Client {
    group: u32,
    index: u32,
    /// The flow of its requests; that of the segments is the next one.
    request: u32,
    player: Player,
    /// The index in the ladder of the bitrate that was requested last.
    rate: usize,
    /// Rows of segments that have been requested, and whose playing has not been decided yet.
    waiting: Vec<u32>,
}

/// All clients and segments of a run.
#[derive(Default)]
pub(super) struct VideoClients {
    clients: Vec<Client>,
    segments: SegmentColumns,
}

fn video_of<'a>(hosts: &'a Hosts, client: &Client) -> Option<&'a Video> {
    match &hosts.groups[client.group as usize].kind {
        plan::TrafficKind::Video(video) => Some(video),
        _ => None,
    }
}

impl VideoClients {
    /// Add client `index` of group `group`, which requests its first segment at `start`.
    pub(super) fn add_client(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        video: &Video,
        group: u32,
        index: u32,
        start: Time,
    ) {
        let of = &hosts.groups[group as usize];
        let (row, requests, routes) = (of.first_row + index, of.requests, of.routes.len());
        let (number, request, route) =
            (self.clients.len() as u32, hosts.flows.len() as u32, index as usize % routes);
        let own = u64::from(index);
        hosts.add_connection(requests, own, None, Task::SegmentRequest(number), route, row);
        hosts.add_connection(group, own, None, Task::Segment(number), route, row);
        let player = Player::new(video.segment, video.startup);
        self.clients.push(Client { group, index, request, player, rate: 0, waiting: Vec::new() });
        calendar.push_timer(Event::new(start, start - Time::ZERO, EventKind::Source, request));
    }

    /// A client requests its next segment, unless its traffic has stopped; whether it does.
    pub(super) fn request(&mut self, hosts: &Hosts, now: Time, number: u32) -> bool {
        let client = &mut self.clients[number as usize];
        let (group, Some(video)) = (&hosts.groups[client.group as usize], video_of(hosts, client)) else {
            return false;
        };
        if now >= group.stop {
            return false;
        }
        client.rate = next_rate(video, client.rate, client.player.buffered(now));
        let bitrate = video.ladder[client.rate];
        client.waiting.push(self.segments.start_ns.len() as u32);
        self.segments.traffic.push(group.traffic);
        self.segments.index.push(client.index);
        self.segments.start_ns.push(now.0);
        self.segments.end_ns.push(u64::MAX);
        self.segments.play_ns.push(u64::MAX);
        self.segments.bitrate_bps.push(bitrate);
        self.segments.bytes.push(video.packets(bitrate) * u64::from(video.tcp.payload));
        true
    }

    /// Packets of the segment that a client has requested.
    pub(super) fn packets(&self, hosts: &Hosts, number: u32) -> u32 {
        let client = &self.clients[number as usize];
        video_of(hosts, client).map_or(0, |video| video.packets(video.ladder[client.rate]) as u32)
    }

    /// A segment has arrived at its client.
    pub(super) fn on_segment(
        &mut self,
        hosts: &Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: Time,
        number: u32,
    ) {
        let client = &mut self.clients[number as usize];
        let Some(video) = video_of(hosts, client) else { return };
        if let Some(row) = client.waiting.last() {
            self.segments.end_ns[*row as usize] = now.0;
        }
        if let Some(Playing { mut at, .. }) = client.player.arrive(now) {
            for row in client.waiting.drain(..) {
                self.segments.play_ns[row as usize] = at.0;
                at += video.segment;
            }
        }
        let full = client.player.buffered(now) + video.segment;
        let wait = Span(full.0.saturating_sub(video.buffer.0));
        calendar.push(Event::new(now + wait, wait, EventKind::Source, client.request));
    }

    /// The segments that were requested before `end`; what happens later than that is unknown.
    pub(super) fn columns(&self, end: Time) -> SegmentColumns {
        let mut columns = self.segments.clone();
        for time in columns.play_ns.iter_mut().filter(|time| **time >= end.0) {
            *time = u64::MAX;
        }
        columns
    }
}
