//! The hosts of a run: all flows, and the state that they share.

use super::{
    Application, Applications, Arrivals, Connection, Delivery, Endpoint, Flow, FlowIndex, Group, Playout,
    Pools, Source, Task, Udp, WarmupSnapshot, Writer,
};
use crate::{
    engine::{DelayedAcks, RtoScan},
    packet::Reports,
    plan::Plan,
    record::{CwndColumns, ObjectColumns},
    tcp::Segment,
    traffic::Datagrams,
};
use sojourn_aqm::Time;

/// Flows, their groups, and state that is kept once for all of them.
pub(crate) struct Hosts {
    pub(crate) groups: Vec<Group>,
    pub(crate) flows: Vec<Flow>,
    /// The applications of connections that have one.
    pub(crate) applications: Applications,
    pub(crate) index: FlowIndex,
    /// What arrived of each group.
    pub(crate) arrivals: Arrivals,
    /// Finite transfers.
    pub(crate) objects: ObjectColumns,
    pub(crate) rto_scan: RtoScan,
    /// Acknowledgements that receivers delay ahead of the clock.
    pub(crate) delayed_acks: DelayedAcks,
    /// Segments that a sender has just released; kept to save allocations.
    pub(crate) released: Vec<Segment>,
    /// What acknowledgements in flight report.
    pub(crate) reports: Reports,
    pub(crate) pools: Pools,
    /// The trace of congestion windows, if they are traced.
    pub(crate) cwnd: Option<CwndColumns>,
    /// Of the flows that existed when the measurement window opened.
    pub(crate) at_warmup: Vec<WarmupSnapshot>,
}

impl Hosts {
    /// No flows yet, with capacity for those that exist from the start of the run.
    pub(crate) fn new(plan: &Plan, groups: Vec<Group>) -> Hosts {
        let count = plan.traffic.iter().map(|traffic| traffic.count as usize).sum();
        let mut rto_scan = RtoScan::default();
        rto_scan.reserve(count);
        let mut flows = Vec::new();
        flows.reserve_exact(count);
        Hosts {
            applications: Applications::default(),
            index: FlowIndex::new(&groups),
            arrivals: Arrivals::new(groups.len(), plan.trace.delays),
            groups,
            flows,
            objects: ObjectColumns::default(),
            rto_scan,
            delayed_acks: DelayedAcks::default(),
            released: Vec::new(),
            reports: Reports::default(),
            pools: Pools::default(),
            cwnd: plan.trace.cwnd.then(CwndColumns::default),
            at_warmup: Vec::new(),
        }
    }

    /// Whether flow `number` carries web requests.
    pub(crate) fn is_request(&self, number: u32) -> bool {
        self.groups[self.flows[number as usize].group as usize].is_requests()
    }

    /// Add the flow of source `index` of group `number`, which starts at `start` and sends `bytes` (`None`:
    /// no end); returns its number.
    pub(crate) fn add_flow(&mut self, number: u32, index: u32, start: Time, bytes: Option<u64>) -> u32 {
        let group = &mut self.groups[number as usize];
        let route = group.routes[index as usize % group.routes.len()];
        let paced = Datagrams::new(&group.kind, &group.demand, index, start).map(|(source, size)| {
            (group.pareto.map_or(source.clone(), |shape| source.with_pareto(shape)), size)
        });
        let marker = group.edge.as_ref().map(|edge| edge.marker(u64::from(index)));
        let flow = self.flows.len() as u32;
        let endpoint = match (group.tcp(), paced) {
            (Some(tcp), paced) => {
                let writer = paced.map(|(source, _)| Writer { source, written: 0 });
                let has_writer = writer.is_some();
                let application = group.has_applications().then(|| {
                    let mut application = Application::new(tcp, &group.demand, u64::from(index), bytes);
                    (application.writer, application.marker) = (writer, marker);
                    application
                });
                let end = application.as_ref().map_or(u32::MAX, Application::end);
                let mut connection = Connection::new(tcp, &group.demand, u64::from(index), end);
                if has_writer {
                    connection.sender = connection.sender.waiting_for_data();
                }
                if let Some(application) = application {
                    self.applications.insert(flow, application);
                }
                Endpoint::Tcp(connection)
            }
            (None, Some((source, size))) => {
                let delivery = Delivery::new(group.sink.map(Playout::new));
                Endpoint::Udp(Box::new(Udp {
                    source,
                    size,
                    sent: 0,
                    goodput: 0,
                    received: 0,
                    marker,
                    delivery,
                }))
            }
            (None, None) => unreachable!("traffic is TCP or datagrams"),
        };
        group.count += 1;
        if group.starts.sources() == 0 {
            self.index.add_source(Source { group: number, index, start });
        }
        self.flows.push(Flow::new(endpoint, number, route));
        flow
    }

    /// Add connection `own` of group `number`, which sends `bytes` (`None`: what its application writes
    /// later) and then performs `task`. It counts in `row` of the record.
    pub(crate) fn add_connection(
        &mut self,
        number: u32,
        own: u64,
        bytes: Option<u64>,
        task: Task,
        route: usize,
        row: u32,
    ) {
        let group = &self.groups[number as usize];
        let Some(tcp) = group.tcp() else { return };
        let marker = group.edge.as_ref().map(|edge| edge.marker(own));
        let mut application = Application::new(tcp, &group.demand, own, bytes);
        (application.task, application.marker) = (task, marker);
        let mut connection = Connection::new(tcp, &group.demand, own, application.end());
        if bytes.is_none() {
            connection.sender = connection.sender.waiting_for_data();
        }
        let (endpoint, route) = (Endpoint::Tcp(connection), group.routes[route]);
        self.index.add_flow(row);
        self.applications.insert(self.flows.len() as u32, application);
        self.flows.push(Flow::new(endpoint, number, route));
    }

    /// Add a finite transfer that starts; returns its row.
    pub(crate) fn add_object(&mut self, traffic: u32, index: u32, start: Time, bytes: u64) -> u32 {
        let row = self.objects.start_ns.len() as u32;
        self.objects.traffic.push(traffic);
        self.objects.index.push(index);
        self.objects.start_ns.push(start.0);
        self.objects.end_ns.push(u64::MAX);
        self.objects.bytes.push(bytes);
        row
    }
}
