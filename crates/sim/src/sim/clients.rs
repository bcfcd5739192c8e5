//! Clients that send requests, and what happens when the data of a connection has arrived.

use super::{video::VideoClients, web::WebSessions};
use crate::{
    engine::{CalendarQueue, Event, EventKind, OF_GROUP},
    flow::{Hosts, Task},
    packet::Packet,
};
use sojourn_aqm::{Span, Time};

/// All clients of a run.
#[derive(Default)]
pub(super) struct Clients {
    pub(super) web: WebSessions,
    pub(super) videos: VideoClients,
}

/// All data that one end of a connection has sent so far has arrived at `at`, which may be ahead of the
/// clock: the server has the request, or the client has the object or the segment.
pub(super) fn delivered(hosts: &Hosts, calendar: &mut CalendarQueue<Packet>, at: Time, number: u32) {
    let flow = &hosts.flows[number as usize];
    match hosts.applications.task(number) {
        Task::Request(_) if !hosts.groups[flow.group as usize].responds_late => respond(calendar, at, number),
        Task::SegmentRequest(_) => respond(calendar, at, number),
        // An event, since the client may abort the object before.
        Task::Response(object) => calendar.push(Event::new(at, Span::ZERO, EventKind::Object, object)),
        Task::Segment(client) => {
            calendar.push(Event::new(at, Span::ZERO, EventKind::Object, OF_GROUP | client));
        }
        Task::Request(_) | Task::Nothing | Task::Transfer(_) => {}
    }
}

/// The server starts its response to `request` at `at`.
pub(super) fn respond(calendar: &mut CalendarQueue<Packet>, at: Time, request: u32) {
    calendar.push(Event::new(at, Span::ZERO, EventKind::Source, request + 1));
}
