//! Web traffic: sessions request pages, a page consists of objects, and each object is fetched over a
//! connection of its own (HTTP/1.0), as in ns-2's WebTraf.
//!
//! ```text
//! page:    requests its first object at once, every other object one object_gap after the previous one
//! object:  a request of one packet from client to server, then the response from server to client; the
//!          response is a second connection without SYN, as each direction has a congestion window of its own
//! end:     of an object when its last byte reaches the client or the client aborts it; of a page with its
//!          last object
//! next:    the next page starts page_gap after the end of the page, or after its start
//! ```
//!
//! All demand (times, servers, numbers of objects, sizes) is drawn by the numbers of session, page and
//! object. Only the start of the next page depends on the transfer time of the previous one.

use crate::{
    engine::{CalendarQueue, Event, EventKind, OF_GROUP},
    flow::{Hosts, Task},
    packet::Packet,
    plan::{self, validate::MAX_FLOWS},
    record::PageColumns,
    traffic::Demand,
};
use sojourn_aqm::{Random, Stream, Time};

/// A web client and its pages.
struct Session {
    group: u32,
    index: u32,
    /// The row of its flows in the record.
    row: u32,
    /// Its client node.
    client: u32,
    pages: u64,
    objects: u64,
}

/// A page that was requested.
struct Page {
    session: u32,
    number: u64,
    /// Its server node.
    server: u32,
    /// The number of its first object within the session.
    first: u64,
    /// Its objects, those requested so far, and those being transferred.
    objects: u64,
    requested: u64,
    in_transfer: u64,
    /// Whether an object was aborted.
    is_incomplete: bool,
}

/// An object of a page.
struct Object {
    page: u32,
    /// Its row in the record.
    row: u32,
    /// The flow that carries it.
    response: u32,
}

/// All sessions, pages and objects of a run.
#[derive(Default)]
pub(super) struct WebSessions {
    sessions: Vec<Session>,
    pages: Vec<Page>,
    objects: Vec<Object>,
    pub(super) columns: PageColumns,
    /// Whether the limit of connections was reached.
    pub(super) is_full: bool,
}

/// The stream of `purpose` for page or object `number` of a session.
fn stream_of(demand: &Demand, purpose: &str, session: u32, number: u64) -> Stream {
    demand.stream(purpose).indexed(u64::from(session)).indexed(number)
}

/// A uniform index below `count`.
fn pick(count: u32, mut stream: Stream) -> u32 {
    ((stream.uniform() * f64::from(count)) as u32).min(count - 1)
}

impl WebSessions {
    /// Add a session of web group `group`, whose first page starts at `start`.
    pub(super) fn add_session(
        &mut self,
        hosts: &Hosts,
        calendar: &mut CalendarQueue<Packet>,
        group: u32,
        index: u32,
        start: Time,
    ) {
        let of = &hosts.groups[group as usize];
        let clients = of.routes.len() as u32 / of.senders;
        let client = pick(clients, of.demand.stream("client").indexed(u64::from(index)));
        let row = of.first_row + index;
        let number = self.sessions.len() as u32;
        self.sessions.push(Session { group, index, row, client, pages: 0, objects: 0 });
        calendar.push(Event::new(start, start - Time::ZERO, EventKind::Page, number));
    }

    /// A session starts a page, or (`OF_GROUP`) a page requests its next object; returns the flow of the
    /// request.
    pub(super) fn on_page(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: Time,
        number: u32,
    ) -> Option<u32> {
        if number & OF_GROUP != 0 {
            self.request_object(hosts, calendar, now, number & !OF_GROUP)
        } else {
            self.start_page(hosts, calendar, now, number)
        }
    }

    fn start_page(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: Time,
        number: u32,
    ) -> Option<u32> {
        let session = &mut self.sessions[number as usize];
        let group = &hosts.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return None };
        if now >= group.stop || web.pages.is_some_and(|max| session.pages >= u64::from(max)) {
            return None;
        }
        let page = session.pages;
        let objects = web.objects.count(&mut stream_of(&group.demand, "objects", session.index, page));
        let server = pick(group.senders, stream_of(&group.demand, "server", session.index, page));
        let row = self.pages.len() as u32;
        let first = session.objects;
        self.pages.push(Page {
            session: number,
            number: page,
            server,
            first,
            objects,
            requested: 0,
            in_transfer: 0,
            is_incomplete: false,
        });
        session.pages += 1;
        session.objects += objects;
        let columns = &mut self.columns;
        columns.traffic.push(group.traffic);
        columns.index.push(session.index);
        columns.start_ns.push(now.0);
        columns.end_ns.push(u64::MAX);
        columns.objects.push(objects);
        columns.bytes.push(0);
        if web.from_start {
            self.schedule_next_page(hosts, calendar, number, page, now);
        }
        self.request_object(hosts, calendar, now, row)
    }

    /// Schedule the page after `page` of a session, one `page_gap` after `from`.
    fn schedule_next_page(
        &self,
        hosts: &Hosts,
        calendar: &mut CalendarQueue<Packet>,
        number: u32,
        page: u64,
        from: Time,
    ) {
        let session = &self.sessions[number as usize];
        let group = &hosts.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return };
        let gap = web.page_gap.span(&mut stream_of(&group.demand, "page_gap", session.index, page));
        calendar.push(Event::new(from + gap, gap, EventKind::Page, number));
    }

    /// Request the next object of a page: add the connections of request and response, and return the flow of
    /// the request.
    fn request_object(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: Time,
        number: u32,
    ) -> Option<u32> {
        let page = &mut self.pages[number as usize];
        let session = &self.sessions[page.session as usize];
        let group = &hosts.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return None };
        if now >= group.stop {
            return None;
        }
        if hosts.flows.len() as u64 > MAX_FLOWS {
            self.is_full = true;
            return None;
        }
        let (owner, row, index) = (session.group, session.row, session.index);
        let object = page.first + page.requested;
        let bytes = web.size.count(&mut stream_of(&group.demand, "size", index, object));
        page.requested += 1;
        page.in_transfer += 1;
        if page.requested < page.objects {
            let gap = web.object_gap.span(&mut stream_of(&group.demand, "object_gap", index, object));
            calendar.push(Event::new(now + gap, gap, EventKind::Page, OF_GROUP | number));
        }
        self.columns.bytes[number as usize] += bytes;
        let patience = web
            .patience
            .map(|patience| patience.span(&mut stream_of(&group.demand, "patience", index, object)));
        let (size, requests) = (u64::from(web.request), group.requests);
        let route = (session.client * group.senders + page.server) as usize;
        let own = u64::from(index) << 32 | object & 0xffff_ffff;
        let object_row = hosts.add_object(group.traffic, index, now, bytes);
        let id = self.objects.len() as u32;
        let request = hosts.flows.len() as u32;
        self.objects.push(Object { page: number, row: object_row, response: request + 1 });
        hosts.add_connection(requests, own, Some(size), Task::Request(id), route, row);
        hosts.add_connection(owner, own, Some(bytes), Task::Response(id), route, row);
        if let Some(patience) = patience {
            calendar.push_timer(Event::new(now + patience, patience, EventKind::Stop, request));
        }
        Some(request)
    }

    /// An object has arrived at its client.
    pub(super) fn on_object(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: Time,
        object: u32,
    ) {
        let Object { response, row, .. } = self.objects[object as usize];
        if hosts.applications.take_task(response) {
            hosts.objects.end_ns[row as usize] = now.0;
            self.finish_object(hosts, calendar, now, object, true);
        }
    }

    /// The client aborts the object of `request`, unless it has arrived; whether it did. Both ends then stop
    /// sending.
    pub(super) fn give_up(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: Time,
        request: u32,
    ) -> bool {
        let Task::Response(object) = hosts.applications.task(request + 1) else { return false };
        hosts.applications.take_task(request);
        hosts.applications.take_task(request + 1);
        self.finish_object(hosts, calendar, now, object, false);
        true
    }

    /// An object has arrived, or (`arrived` is false) was aborted.
    fn finish_object(
        &mut self,
        hosts: &Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: Time,
        object: u32,
        arrived: bool,
    ) {
        let number = self.objects[object as usize].page;
        let page = &mut self.pages[number as usize];
        page.in_transfer -= 1;
        page.is_incomplete |= !arrived;
        if page.in_transfer > 0 || page.requested < page.objects {
            return;
        }
        let (session, last) = (page.session, page.number);
        if !page.is_incomplete {
            self.columns.end_ns[number as usize] = now.0;
        }
        let group = &hosts.groups[self.sessions[session as usize].group as usize];
        if let plan::TrafficKind::Web(web) = &group.kind
            && !web.from_start
        {
            self.schedule_next_page(hosts, calendar, session, last, now);
        }
    }
}
