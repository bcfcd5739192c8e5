//! The hosts of a run: all flows, and the state that they share.

use super::{Connection, Endpoint, Flow, FlowIndex, Group, Pools, Source, Task, Udp};
use crate::{
    engine::RtoScan, packet::Sacks, plan::Plan, record::ObjectColumns, tcp::Segment, traffic::Datagrams,
};
use sojourn_aqm::Time;

/// Flows, their groups, and state that is kept once for all of them.
pub(crate) struct Hosts {
    pub(crate) groups: Vec<Group>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) index: FlowIndex,
    /// Finite transfers.
    pub(crate) objects: ObjectColumns,
    pub(crate) rto_scan: RtoScan,
    /// Segments that a sender has just released; kept to save allocations.
    pub(crate) released: Vec<Segment>,
    /// The blocks of acknowledgements in flight.
    pub(crate) sacks: Sacks,
    pub(crate) pools: Pools,
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
            index: FlowIndex::new(&groups),
            groups,
            flows,
            objects: ObjectColumns::default(),
            rto_scan,
            released: Vec::new(),
            sacks: Sacks::default(),
            pools: Pools::default(),
        }
    }

    /// Add the flow of source `index` of group `number`, which starts at `start` and sends `bytes` (`None`:
    /// no end); returns its number.
    pub(crate) fn add_flow(&mut self, number: u32, index: u32, start: Time, bytes: Option<u64>) -> u32 {
        let group = &mut self.groups[number as usize];
        let route = group.routes[index as usize % group.routes.len()];
        let paced = Datagrams::new(&group.kind, &group.demand, index, start).map(|(source, size)| {
            (group.pareto.map_or(source.clone(), |shape| source.with_pareto(shape)), size)
        });
        let marker = group.edge.as_ref().map(|edge| Box::new(edge.marker(u64::from(index))));
        let endpoint = match (group.tcp(), paced) {
            (Some(tcp), Some((writer, _))) => Endpoint::Tcp(
                Connection::written(tcp, &group.demand, u64::from(index), writer).marked_by(marker),
            ),
            (Some(tcp), None) => {
                Endpoint::Tcp(Connection::new(tcp, &group.demand, u64::from(index), bytes).marked_by(marker))
            }
            (None, Some((source, size))) => {
                Endpoint::Udp(Box::new(Udp { source, size, sent: 0, goodput: 0, marker }))
            }
            (None, None) => unreachable!("traffic is TCP or datagrams"),
        };
        let flow = self.flows.len() as u32;
        group.count += 1;
        if group.starts.sources() == 0 {
            self.index.add_source(Source { group: number, index, start });
        }
        self.flows.push(Flow::new(endpoint, number, route));
        flow
    }

    /// Add connection `own` of group `number`, which sends `bytes` and then performs `task`. It counts in
    /// `row` of the record.
    pub(crate) fn add_connection(
        &mut self,
        number: u32,
        own: u64,
        bytes: u64,
        task: Task,
        route: usize,
        row: u32,
    ) {
        let group = &self.groups[number as usize];
        let Some(tcp) = group.tcp() else { return };
        let mut connection = Connection::new(tcp, &group.demand, own, Some(bytes));
        connection.replace_task(task);
        let marker = group.edge.as_ref().map(|edge| Box::new(edge.marker(own)));
        let (endpoint, route) = (Endpoint::Tcp(connection.marked_by(marker)), group.routes[route]);
        self.index.add_flow(row);
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

    /// Clear the task of the connection of flow `number`; returns whether it had one.
    pub(crate) fn take_task(&mut self, number: u32) -> bool {
        let Endpoint::Tcp(connection) = &mut self.flows[number as usize].endpoint else { return false };
        connection.replace_task(Task::Nothing) != Task::Nothing
    }
}
