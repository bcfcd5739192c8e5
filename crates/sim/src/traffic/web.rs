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
//! object. Only the start of the next page depends on how fast the previous one was transferred.

use crate::{
    engine::{Event, EventKind},
    flow::{Connection, Task},
    flow::{Endpoint, Flow},
    plan,
    plan::validate::MAX_FLOWS,
    record::PageColumns,
    sim::{OF_GROUP, Simulation},
    traffic::Demand,
};
use sojourn_aqm::{Random, Stream};

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
pub(crate) struct WebSessions {
    sessions: Vec<Session>,
    pages: Vec<Page>,
    objects: Vec<Object>,
    pub(crate) columns: PageColumns,
    /// Whether the limit of connections was reached.
    pub(crate) is_full: bool,
}

/// The stream of `purpose` for page or object `number` of a session.
fn stream_of(demand: &Demand, purpose: &str, session: u32, number: u64) -> Stream {
    demand.stream(purpose).indexed(u64::from(session)).indexed(number)
}

/// A uniform index below `count`.
fn pick(count: u32, mut stream: Stream) -> u32 {
    ((stream.uniform() * f64::from(count)) as u32).min(count - 1)
}

impl Simulation {
    /// Add a session of web group `group`, whose first page starts at `start`.
    pub(crate) fn add_session(&mut self, group: u32, index: u32, start: u64) {
        let of = &self.groups[group as usize];
        let clients = of.routes.len() as u32 / of.senders;
        let client = pick(clients, of.demand.stream("client").indexed(u64::from(index)));
        let row = of.first_row + index;
        let number = self.web.sessions.len() as u32;
        self.web.sessions.push(Session { group, index, row, client, pages: 0, objects: 0 });
        self.calendar.push(Event::new(start, start, EventKind::Page, number));
    }

    /// A session starts a page, or (`OF_GROUP`) a page requests its next object.
    pub(crate) fn on_page(&mut self, now: u64, number: u32) {
        if number & OF_GROUP != 0 {
            self.request_object(now, number & !OF_GROUP)
        } else {
            self.start_page(now, number)
        }
    }

    fn start_page(&mut self, now: u64, number: u32) {
        let session = &mut self.web.sessions[number as usize];
        let group = &self.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return };
        if now >= group.stop || web.pages.is_some_and(|max| session.pages >= u64::from(max)) {
            return;
        }
        let page = session.pages;
        let objects = web.objects.count(&mut stream_of(&group.demand, "objects", session.index, page));
        let server = pick(group.senders, stream_of(&group.demand, "server", session.index, page));
        let row = self.web.pages.len() as u32;
        let first = session.objects;
        self.web.pages.push(Page {
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
        let columns = &mut self.web.columns;
        columns.traffic.push(group.traffic);
        columns.index.push(session.index);
        columns.start_ns.push(now);
        columns.end_ns.push(u64::MAX);
        columns.objects.push(objects);
        columns.bytes.push(0);
        if web.from_start {
            self.schedule_next_page(number, page, now);
        }
        self.request_object(now, row);
    }

    /// Schedule the page after `page` of a session, one `page_gap` after `from`.
    fn schedule_next_page(&mut self, number: u32, page: u64, from: u64) {
        let session = &self.web.sessions[number as usize];
        let group = &self.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return };
        let gap = web.page_gap.span(&mut stream_of(&group.demand, "page_gap", session.index, page));
        self.calendar.push(Event::new(from + gap, gap, EventKind::Page, number));
    }

    /// Request the next object of a page: open its connection, and create the flow of its response.
    fn request_object(&mut self, now: u64, number: u32) {
        let page = &mut self.web.pages[number as usize];
        let session = &self.web.sessions[page.session as usize];
        let group = &self.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return };
        if now >= group.stop {
            return;
        }
        if self.flows.len() as u64 > MAX_FLOWS {
            self.web.is_full = true;
            return;
        }
        let object = page.first + page.requested;
        let bytes = web.size.count(&mut stream_of(&group.demand, "size", session.index, object));
        page.requested += 1;
        page.in_transfer += 1;
        if page.requested < page.objects {
            let gap = web.object_gap.span(&mut stream_of(&group.demand, "object_gap", session.index, object));
            self.calendar.push(Event::new(now + gap, gap, EventKind::Page, OF_GROUP | number));
        }
        self.web.columns.bytes[number as usize] += bytes;
        let row = self.objects.start_ns.len() as u32;
        self.objects.traffic.push(group.traffic);
        self.objects.index.push(session.index);
        self.objects.start_ns.push(now);
        self.objects.end_ns.push(u64::MAX);
        self.objects.bytes.push(bytes);
        let (owner, row_of_flows, index) = (session.group, session.row, session.index);
        let route = (session.client * group.senders + page.server) as usize;
        let own = u64::from(index) << 32 | object & 0xffff_ffff;
        let id = self.web.objects.len() as u32;
        let request = self.flows.len() as u32;
        self.web.objects.push(Object { page: number, row, response: request + 1 });
        let (size, requests) = (u64::from(web.request), group.requests);
        for (group, bytes, task) in [(requests, size, Task::Request(id)), (owner, bytes, Task::Response(id))]
        {
            let of = &self.groups[group as usize];
            let Some(tcp) = of.tcp() else { return };
            let mut connection = Connection::new(tcp, &of.demand, own, Some(bytes));
            connection.replace_task(task);
            let marker = of.edge.as_ref().map(|edge| Box::new(edge.marker(own)));
            let (endpoint, route) = (Endpoint::Tcp(connection.marked_by(marker)), of.routes[route]);
            self.rows.add_flow(row_of_flows);
            self.flows.push(Flow::new(endpoint, group, route));
        }
        if let plan::TrafficKind::Web(plan::Web { patience: Some(patience), .. }) =
            &self.groups[owner as usize].kind
        {
            let demand = &self.groups[owner as usize].demand;
            let patience = patience.span(&mut stream_of(demand, "patience", index, object));
            self.calendar.push_timer(Event::new(now + patience, patience, EventKind::Stop, request));
        }
        self.start_sender(now, request);
    }

    /// All data of one direction of a web connection has arrived at `at`, which may be ahead of the clock:
    /// the server has the request, or the client has the object.
    pub(crate) fn delivered(&mut self, at: u64, flow: u32) {
        let Endpoint::Tcp(connection) = &self.flows[flow as usize].endpoint else { return };
        match connection.task() {
            Task::Request(_) => {
                let group = &self.groups[self.flows[flow as usize].group as usize];
                if !group.responds_late {
                    self.file_response(at, flow);
                }
            }
            // An event, since the client may abort the object before.
            Task::Response(object) => self.calendar.push(Event::new(at, 0, EventKind::Object, object)),
            Task::Nothing | Task::Transfer(_) => {}
        }
    }

    /// The server starts its response to `request` at `at`.
    pub(crate) fn file_response(&mut self, at: u64, request: u32) {
        self.calendar.push(Event::new(at, 0, EventKind::Source, request + 1));
    }

    /// An object has arrived at its client.
    pub(crate) fn on_object(&mut self, now: u64, object: u32) {
        let Object { response, row, .. } = self.web.objects[object as usize];
        if self.take_task(response) {
            self.objects.end_ns[row as usize] = now;
            self.finish_object(now, object, true);
        }
    }

    /// The client aborts `request`: both ends stop sending at once.
    pub(crate) fn give_up(&mut self, now: u64, request: u32) {
        let Endpoint::Tcp(response) = &self.flows[request as usize + 1].endpoint else { return };
        let Task::Response(object) = response.task() else { return };
        for flow in [request, request + 1] {
            self.take_task(flow);
            self.with_sender(flow, now, |sender, _, _| sender.abandon());
        }
        self.finish_object(now, object, false);
    }

    /// Clear the task of a flow; whether it had one.
    fn take_task(&mut self, flow: u32) -> bool {
        let Endpoint::Tcp(connection) = &mut self.flows[flow as usize].endpoint else { return false };
        connection.replace_task(Task::Nothing) != Task::Nothing
    }

    /// An object has arrived, or (`arrived` is false) was aborted.
    fn finish_object(&mut self, now: u64, object: u32, arrived: bool) {
        let number = self.web.objects[object as usize].page;
        let page = &mut self.web.pages[number as usize];
        page.in_transfer -= 1;
        page.is_incomplete |= !arrived;
        if page.in_transfer > 0 || page.requested < page.objects {
            return;
        }
        let (session, last) = (page.session, page.number);
        if !page.is_incomplete {
            self.web.columns.end_ns[number as usize] = now;
        }
        let group = &self.groups[self.web.sessions[session as usize].group as usize];
        if let plan::TrafficKind::Web(web) = &group.kind
            && !web.from_start
        {
            self.schedule_next_page(session, last, now);
        }
    }
}
