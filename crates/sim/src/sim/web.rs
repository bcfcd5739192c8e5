//! Web traffic: sessions request pages, a page has objects, and each object is sent over a connection of its
//! own (HTTP/1.0), as in ns-2's WebTraf.
//!
//! ```text
//! page:    the first object is requested at once, each other one object_gap after the one before it
//! object:  a request of one packet, client to server; then the object, server to client, over the same
//!          opened connection: here a second one without SYN, since each direction has a window of its own
//! end:     of an object when its last byte is at the client (or it was given up), of a page with its last object
//! next:    page_gap after the end of the page (or after its start)
//! ```
//!
//! The demand of a session (servers, numbers and sizes of objects, gaps) is drawn by the numbers of session,
//! page and object. Only the time of the next page depends on how fast the last one arrived.

use crate::{
    engine::{CalendarQueue, Event, EventKind, OF_GROUP},
    flow::{Endpoint, Hosts, Task},
    packet::Packet,
    plan::{self, validate::MAX_FLOWS},
    record::PageColumns,
    traffic::Demand,
};
use sojourn_aqm::{Random, Stream};

/// A user.
struct Session {
    group: u32,
    index: u32,
    /// The row of its flows in the record.
    row: u32,
    /// Index of its client node.
    client: u32,
    pages: u64,
    objects: u64,
}

/// A page that was requested.
struct Page {
    session: u32,
    number: u64,
    /// Index of its server node.
    server: u32,
    /// The number of its first object in the session, the number of its objects, of those requested...
    first: u64,
    objects: u64,
    asked: u64,
    /// ...and of those requested that have not ended.
    open: u64,
    /// Some were given up.
    is_short: bool,
}

/// An object: its page, its row in the record, and the flow that carries it.
struct Object {
    page: u32,
    row: u32,
    response: u32,
}

/// All sessions, pages and objects of a run.
#[derive(Default)]
pub(super) struct WebSessions {
    sessions: Vec<Session>,
    pages: Vec<Page>,
    objects: Vec<Object>,
    pub(super) columns: PageColumns,
    /// Connections were refused because there were too many.
    pub(super) is_full: bool,
}

/// The stream of `purpose` for the `number`-th page or object of a session.
fn drawn(demand: &Demand, purpose: &str, session: u32, number: u64) -> Stream {
    demand.stream(purpose).indexed(u64::from(session)).indexed(number)
}

/// One of `among`, each as likely.
fn one_of(among: u32, mut stream: Stream) -> u32 {
    ((stream.uniform() * f64::from(among)) as u32).min(among - 1)
}

impl WebSessions {
    /// Add a session of web group `group`, which requests its first page at `start`.
    pub(super) fn add_session(
        &mut self,
        hosts: &Hosts,
        calendar: &mut CalendarQueue<Packet>,
        group: u32,
        index: u32,
        start: u64,
    ) {
        let of = &hosts.groups[group as usize];
        let clients = of.routes.len() as u32 / of.senders;
        let client = one_of(clients, of.demand.stream("client").indexed(u64::from(index)));
        let row = of.first_row + index;
        let number = self.sessions.len() as u32;
        self.sessions.push(Session { group, index, row, client, pages: 0, objects: 0 });
        calendar.push(Event::new(start, start, EventKind::Page, number));
    }

    /// The time of a session's next page, or (`OF_GROUP`) of a page's next object: the flow that starts with
    /// the request.
    pub(super) fn on_page(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: u64,
        number: u32,
    ) -> Option<u32> {
        if number & OF_GROUP != 0 {
            self.request(hosts, calendar, now, number & !OF_GROUP)
        } else {
            self.begin(hosts, calendar, now, number)
        }
    }

    fn begin(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: u64,
        number: u32,
    ) -> Option<u32> {
        let session = &mut self.sessions[number as usize];
        let group = &hosts.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return None };
        if now >= group.stop || web.pages.is_some_and(|most| session.pages >= u64::from(most)) {
            return None;
        }
        let page = session.pages;
        let objects = web.objects.count(&mut drawn(&group.demand, "objects", session.index, page));
        let server = one_of(group.senders, drawn(&group.demand, "server", session.index, page));
        let row = self.pages.len() as u32;
        let first = session.objects;
        self.pages.push(Page {
            session: number,
            number: page,
            server,
            first,
            objects,
            asked: 0,
            open: 0,
            is_short: false,
        });
        session.pages += 1;
        session.objects += objects;
        let columns = &mut self.columns;
        columns.traffic.push(group.traffic);
        columns.index.push(session.index);
        columns.start_ns.push(now);
        columns.end_ns.push(u64::MAX);
        columns.objects.push(objects);
        columns.bytes.push(0);
        if web.from_start {
            self.schedule_next_page(hosts, calendar, number, page, now);
        }
        self.request(hosts, calendar, now, row)
    }

    /// Schedule the next page of a session, `page_gap` after `from`; its last one was `page`.
    fn schedule_next_page(
        &self,
        hosts: &Hosts,
        calendar: &mut CalendarQueue<Packet>,
        number: u32,
        page: u64,
        from: u64,
    ) {
        let session = &self.sessions[number as usize];
        let group = &hosts.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return };
        let gap = web.page_gap.span(&mut drawn(&group.demand, "page_gap", session.index, page));
        calendar.push(Event::new(from + gap, gap, EventKind::Page, number));
    }

    /// Request the next object of a page: add the connections of request and response. Returns the flow of
    /// the request.
    fn request(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: u64,
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
        let object = page.first + page.asked;
        let bytes = web.size.count(&mut drawn(&group.demand, "size", index, object));
        page.asked += 1;
        page.open += 1;
        if page.asked < page.objects {
            let gap = web.object_gap.span(&mut drawn(&group.demand, "object_gap", index, object));
            calendar.push(Event::new(now + gap, gap, EventKind::Page, OF_GROUP | number));
        }
        self.columns.bytes[number as usize] += bytes;
        let patience =
            web.patience.map(|patience| patience.span(&mut drawn(&group.demand, "patience", index, object)));
        let (size, requests) = (u64::from(web.request), group.requests);
        let route = (session.client * group.senders + page.server) as usize;
        let own = u64::from(index) << 32 | object & 0xffff_ffff;
        let object_row = hosts.add_object(group.traffic, index, now, bytes);
        let id = self.objects.len() as u32;
        let request = hosts.flows.len() as u32;
        self.objects.push(Object { page: number, row: object_row, response: request + 1 });
        hosts.add_connection(requests, own, size, Task::Request(id), route, row);
        hosts.add_connection(owner, own, bytes, Task::Response(id), route, row);
        if let Some(patience) = patience {
            calendar.push_timer(Event::new(now + patience, patience, EventKind::Stop, request));
        }
        Some(request)
    }

    /// An object has arrived.
    pub(super) fn on_object(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: u64,
        object: u32,
    ) {
        let Object { response, row, .. } = self.objects[object as usize];
        if hosts.take_task(response) {
            hosts.objects.end_ns[row as usize] = now;
            self.finish(hosts, calendar, now, object, true);
        }
    }

    /// The session gives up the object of `request`: whether it still waited for it. Then both ends must
    /// stop.
    pub(super) fn give_up(
        &mut self,
        hosts: &mut Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: u64,
        request: u32,
    ) -> bool {
        let Endpoint::Tcp(response) = &hosts.flows[request as usize + 1].endpoint else { return false };
        let Task::Response(object) = response.task() else { return false };
        hosts.take_task(request);
        hosts.take_task(request + 1);
        self.finish(hosts, calendar, now, object, false);
        true
    }

    /// An object has ended: it arrived or was given up.
    fn finish(
        &mut self,
        hosts: &Hosts,
        calendar: &mut CalendarQueue<Packet>,
        now: u64,
        object: u32,
        arrived: bool,
    ) {
        let number = self.objects[object as usize].page;
        let page = &mut self.pages[number as usize];
        page.open -= 1;
        page.is_short |= !arrived;
        if page.open > 0 || page.asked < page.objects {
            return;
        }
        let (session, last) = (page.session, page.number);
        if !page.is_short {
            self.columns.end_ns[number as usize] = now;
        }
        let group = &hosts.groups[self.sessions[session as usize].group as usize];
        if let plan::TrafficKind::Web(web) = &group.kind
            && !web.from_start
        {
            self.schedule_next_page(hosts, calendar, session, last, now);
        }
    }
}

/// All that one end of an object's connection had to send has arrived at `at`, perhaps ahead of the clock:
/// the server has the request, or the client the object.
pub(super) fn delivered(hosts: &Hosts, calendar: &mut CalendarQueue<Packet>, at: u64, number: u32) {
    let flow = &hosts.flows[number as usize];
    let Endpoint::Tcp(connection) = &flow.endpoint else { return };
    match connection.task() {
        Task::Request(_) if !hosts.groups[flow.group as usize].responds_late => respond(calendar, at, number),
        // As an event at that time: the object may be given up before.
        Task::Response(object) => calendar.push(Event::new(at, 0, EventKind::Object, object)),
        Task::Request(_) | Task::Nothing | Task::Transfer(_) => {}
    }
}

/// The server starts the response to `request` at `at`.
pub(super) fn respond(calendar: &mut CalendarQueue<Packet>, at: u64, request: u32) {
    calendar.push(Event::new(at, 0, EventKind::Source, request + 1));
}
