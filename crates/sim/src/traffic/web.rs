//! People who look at pages: sessions ask for pages, pages are made of objects, and every object comes over
//! a connection of its own (HTTP/1.0), as in ns-2's WebTraf.
//!
//! ```text
//! page:    the first object is asked for at once, each other one object_gap after the one before it
//! object:  a request of one packet, client to server; then the object, server to client, over the same
//!          opened connection: here a second one without SYN, since the two ways have windows of their own
//! over:    an object when its last byte is at the client (or it was given up), a page when all of them are
//! next:    page_gap after the page is over (or after it began)
//! ```
//!
//! What a session wants (when, which server, how many objects, how large) is drawn by its number, the page's
//! and the object's; only *when* it wants the next page depends on how fast the last one came.

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

/// A user.
struct Session {
    group: u32,
    index: u32,
    /// Source of its flows in the record.
    row: u32,
    /// Which of the client nodes it sits at.
    client: u32,
    pages: u64,
    objects: u64,
}

/// A page that was asked for.
struct Page {
    session: u32,
    number: u64,
    /// Which of the server nodes has it.
    server: u32,
    /// Number of its first object in the session, how many it has, how many were asked for...
    first: u64,
    objects: u64,
    asked: u64,
    /// ...and how many of those are under way.
    open: u64,
    /// Some were given up.
    is_short: bool,
}

/// Whose object it is, its row in the record, the flow that brings it.
struct Object {
    page: u32,
    row: u32,
    response: u32,
}

/// All sessions, pages and objects of a run.
#[derive(Default)]
pub(crate) struct WebSessions {
    sessions: Vec<Session>,
    pages: Vec<Page>,
    objects: Vec<Object>,
    pub(crate) columns: PageColumns,
    /// Connections were refused because there were too many.
    pub(crate) is_full: bool,
}

/// The stream of `purpose` for the `number`-th page or object of a session.
fn drawn(demand: &Demand, purpose: &str, session: u32, number: u64) -> Stream {
    demand.stream(purpose).indexed(u64::from(session)).indexed(number)
}

/// One of `among`, each as likely.
fn one_of(among: u32, mut stream: Stream) -> u32 {
    ((stream.uniform() * f64::from(among)) as u32).min(among - 1)
}

impl Simulation {
    /// A session of web group `group`, whose first page is asked for at `start`.
    pub(crate) fn add_session(&mut self, group: u32, index: u32, start: u64) {
        let of = &self.groups[group as usize];
        let clients = of.routes.len() as u32 / of.senders;
        let client = one_of(clients, of.demand.stream("client").indexed(u64::from(index)));
        let row = of.first_row + index;
        let number = self.web.sessions.len() as u32;
        self.web.sessions.push(Session { group, index, row, client, pages: 0, objects: 0 });
        self.calendar.push(Event::new(start, start, EventKind::Page, number));
    }

    /// A page of a session is due, or (`OF_GROUP`) the next object of a page.
    pub(crate) fn on_page(&mut self, now: u64, number: u32) {
        if number & OF_GROUP != 0 { self.ask(now, number & !OF_GROUP) } else { self.begin(now, number) }
    }

    fn begin(&mut self, now: u64, number: u32) {
        let session = &mut self.web.sessions[number as usize];
        let group = &self.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return };
        if now >= group.stop || web.pages.is_some_and(|most| session.pages >= u64::from(most)) {
            return;
        }
        let page = session.pages;
        let objects = web.objects.count(&mut drawn(&group.demand, "objects", session.index, page));
        let server = one_of(group.senders, drawn(&group.demand, "server", session.index, page));
        let row = self.web.pages.len() as u32;
        let first = session.objects;
        self.web.pages.push(Page {
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
        let columns = &mut self.web.columns;
        columns.traffic.push(group.traffic);
        columns.index.push(session.index);
        columns.start_ns.push(now);
        columns.end_ns.push(u64::MAX);
        columns.objects.push(objects);
        columns.bytes.push(0);
        if web.from_start {
            self.file_next_page(number, page, now);
        }
        self.ask(now, row);
    }

    /// The next page of a session is due `page_gap` after `from`; its last one was `page`.
    fn file_next_page(&mut self, number: u32, page: u64, from: u64) {
        let session = &self.web.sessions[number as usize];
        let group = &self.groups[session.group as usize];
        let plan::TrafficKind::Web(web) = &group.kind else { return };
        let gap = web.page_gap.span(&mut drawn(&group.demand, "page_gap", session.index, page));
        self.calendar.push(Event::new(from + gap, gap, EventKind::Page, number));
    }

    /// Ask for the next object of a page: open its connection, and have the answer ready.
    fn ask(&mut self, now: u64, number: u32) {
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
        let object = page.first + page.asked;
        let bytes = web.size.count(&mut drawn(&group.demand, "size", session.index, object));
        page.asked += 1;
        page.open += 1;
        if page.asked < page.objects {
            let gap = web.object_gap.span(&mut drawn(&group.demand, "object_gap", session.index, object));
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
            let patience = patience.span(&mut drawn(demand, "patience", index, object));
            self.calendar.push_timer(Event::new(now + patience, patience, EventKind::Stop, request));
        }
        self.start_sender(now, request);
    }

    /// All that one end of an object's connection had to send has arrived at `at`, perhaps ahead of the
    /// clock: the server has the request, or the client the object.
    pub(crate) fn delivered(&mut self, at: u64, flow: u32) {
        let Endpoint::Tcp(connection) = &self.flows[flow as usize].endpoint else { return };
        match connection.task() {
            Task::Request(_) => {
                let group = &self.groups[self.flows[flow as usize].group as usize];
                if !group.responds_late {
                    self.file_response(at, flow);
                }
            }
            // In its own time: it may be given up before.
            Task::Response(object) => self.calendar.push(Event::new(at, 0, EventKind::Object, object)),
            Task::Nothing | Task::Transfer(_) => {}
        }
    }

    /// The server begins to answer `request` at `at`.
    pub(crate) fn file_response(&mut self, at: u64, request: u32) {
        self.calendar.push(Event::new(at, 0, EventKind::Source, request + 1));
    }

    /// An object has come.
    pub(crate) fn on_object(&mut self, now: u64, object: u32) {
        let Object { response, row, .. } = self.web.objects[object as usize];
        if self.take_task(response) {
            self.objects.end_ns[row as usize] = now;
            self.finish(now, object, true);
        }
    }

    /// Nobody waits any longer for the answer to `request`, wherever it is: both ends fall silent at once.
    pub(crate) fn give_up(&mut self, now: u64, request: u32) {
        let Endpoint::Tcp(response) = &self.flows[request as usize + 1].endpoint else { return };
        let Task::Response(object) = response.task() else { return };
        for flow in [request, request + 1] {
            self.take_task(flow);
            self.with_sender(flow, now, |sender, _, _| sender.abandon());
        }
        self.finish(now, object, false);
    }

    /// Whether somebody still waited for a flow; nobody does from now on.
    fn take_task(&mut self, flow: u32) -> bool {
        let Endpoint::Tcp(connection) = &mut self.flows[flow as usize].endpoint else { return false };
        connection.replace_task(Task::Nothing) != Task::Nothing
    }

    /// An object is over, because it came or was given up.
    fn finish(&mut self, now: u64, object: u32, came: bool) {
        let number = self.web.objects[object as usize].page;
        let page = &mut self.web.pages[number as usize];
        page.open -= 1;
        page.is_short |= !came;
        if page.open > 0 || page.asked < page.objects {
            return;
        }
        let (session, last) = (page.session, page.number);
        if !page.is_short {
            self.web.columns.end_ns[number as usize] = now;
        }
        let group = &self.groups[self.web.sessions[session as usize].group as usize];
        if let plan::TrafficKind::Web(web) = &group.kind
            && !web.from_start
        {
            self.file_next_page(session, last, now);
        }
    }
}
