//! The record of a run from its final state, and the check that every packet is accounted for.

use super::Recorder;
use crate::{
    error::RunError,
    flow::{Application, ArrivalColumns, Endpoint, Flow, Hosts, WarmupSnapshot},
    packet::Packet,
    path::{Impaired, Network, Route, Wires},
    queue::Port,
    record::{DeliveryColumns, DropColumns, FlowColumns, FlowSeriesColumns, PacketColumns, Record, Window},
};

/// The state of a run at the end of its window.
pub(crate) struct RunResult<'a> {
    pub(crate) window: Window,
    pub(crate) network: &'a mut Network,
    pub(crate) ports: &'a [Port],
    pub(crate) hosts: &'a mut Hosts,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) measured: u32,
    pub(crate) traces: Traces,
}

/// What was recorded at single moments.
pub(crate) struct Traces {
    pub(crate) drops: DropColumns,
    pub(crate) packets: PacketColumns,
    pub(crate) flow_series: FlowSeriesColumns,
}

impl RunResult<'_> {
    /// The record of the window, without transfers and pages.
    pub(crate) fn record(mut self) -> Record {
        let RunResult { hosts, traces, .. } = &mut self;
        let mut cwnd = hosts.cwnd.take().unwrap_or_default();
        let Traces { drops, packets, flow_series } = traces;
        let numbers = [&mut drops.flow, &mut cwnd.flow, &mut packets.flow, &mut flow_series.flow];
        for flow in numbers.into_iter().flatten() {
            let group = hosts.flows[*flow as usize].group;
            *flow = hosts.index.of(*flow, &hosts.groups[group as usize]);
        }
        let kinds = &mut self.network.kinds;
        let record = self.recorder.columns(self.window, self.measured as usize, self.ports, kinds);
        let flows = flow_columns(&self);
        let links = self.network.wires.columns();
        let deliveries = delivery_columns(self.hosts);
        let groups = &self.hosts.groups;
        let traffic_of = |number: usize| (!groups[number].is_requests()).then_some(groups[number].traffic);
        let ArrivalColumns { delays, round_trips, losses } = self.hosts.arrivals.columns(traffic_of);
        let Traces { drops, packets, flow_series } = self.traces;
        Record {
            flows,
            links,
            deliveries,
            delays,
            round_trips,
            losses,
            drops,
            cwnd,
            packets,
            flow_series,
            ..record
        }
    }
}

/// The counters of `flows` when the measurement window opens.
pub(crate) fn warmup_snapshots(flows: &[Flow], measured: &Port) -> Vec<WarmupSnapshot> {
    flows.iter().zip(offered(flows, measured)).map(|(flow, offered)| flow.snapshot(offered)).collect()
}

/// Packets of each flow offered to the `measured` queue so far: those that left it and those still queued.
fn offered(flows: &[Flow], measured: &Port) -> Vec<u32> {
    let mut offered: Vec<u32> = flows.iter().map(|flow| flow.counts.queue_left).collect();
    for packet in measured.waiting() {
        offered[packet.flow as usize] += 1;
    }
    offered
}

fn flow_columns(result: &RunResult<'_>) -> FlowColumns {
    let RunResult { network, ports, hosts, .. } = result;
    let mut columns = FlowColumns::default();
    for row in hosts.index.all(&hosts.groups) {
        columns.traffic.push(hosts.groups[row.group as usize].traffic);
        columns.index.push(row.index);
        columns.start_ns.push(row.start.0);
    }
    let rows = columns.index.len();
    columns.crosses.resize(rows, 0);
    for column in [
        &mut columns.queue_arrivals,
        &mut columns.queue_drops,
        &mut columns.queue_marks,
        &mut columns.sent_packets,
        &mut columns.retransmitted_packets,
        &mut columns.timeouts,
        &mut columns.window_cuts,
        &mut columns.dropped_packets,
        &mut columns.received_packets,
        &mut columns.delay_ns,
        &mut columns.delay_max_ns,
        &mut columns.goodput_bytes,
    ] {
        column.resize(rows, 0);
    }
    let bottleneck = ports[result.measured as usize].link;
    let crosses = |route: Route| network.links_of(route).any(|link| link == bottleneck);
    for (crossing, row) in columns.crosses.iter_mut().zip(hosts.index.all(&hosts.groups)) {
        let group = &hosts.groups[row.group as usize];
        if group.is_web() {
            *crossing = u8::from(group.routes.iter().any(|route| crosses(*route)));
        } else if group.has_sessions() {
            *crossing = u8::from(crosses(group.routes[row.index as usize % group.routes.len()]));
        }
    }
    let offered = offered(&hosts.flows, &ports[result.measured as usize]);
    for (number, (flow, offered)) in hosts.flows.iter().zip(offered).enumerate() {
        let before = hosts.at_warmup.get(number).copied().unwrap_or_default();
        let group = &hosts.groups[flow.group as usize];
        let (counts, row) = (&flow.counts, hosts.index.of(number as u32, group) as usize);
        if !group.has_sessions() && !group.is_requests() {
            columns.crosses[row] = u8::from(crosses(flow.route));
        }
        columns.queue_arrivals[row] += u64::from(offered - before.offered);
        columns.queue_drops[row] += u64::from(flow.losses.queue_drops);
        columns.queue_marks[row] += u64::from(flow.losses.queue_marks);
        let tally = flow.tally();
        columns.sent_packets[row] += tally.sent - before.tally.sent;
        columns.retransmitted_packets[row] += tally.retransmitted - before.tally.retransmitted;
        columns.timeouts[row] += tally.timeouts - before.tally.timeouts;
        columns.window_cuts[row] += tally.cuts - before.tally.cuts;
        columns.dropped_packets[row] += u64::from(flow.losses.dropped - before.dropped);
        columns.received_packets[row] += u64::from(counts.received);
        columns.delay_ns[row] += counts.delay.0;
        columns.delay_max_ns[row] = columns.delay_max_ns[row].max(counts.delay_max.0);
        if !group.is_requests() {
            columns.goodput_bytes[row] += flow.goodput(group, hosts.applications.get(number as u32));
        }
    }
    columns
}

fn delivery_columns(hosts: &Hosts) -> DeliveryColumns {
    let mut columns = DeliveryColumns::default();
    for (flow, number) in hosts.flows.iter().zip(0..) {
        if let Endpoint::Udp(udp) = &flow.endpoint {
            let row = hosts.index.of(number, &hosts.groups[flow.group as usize]);
            udp.delivery.add_to(&mut columns, row);
        }
    }
    columns
}

/// Check that every packet is accounted for, at every queue and for every flow. `in_flight`: the packets on
/// links whose arrival is a pending event.
pub(crate) fn conserved<'a>(
    ports: &'a [Port],
    hosts: &Hosts,
    wires: &Wires,
    in_flight: impl Iterator<Item = &'a Packet>,
) -> Result<(), RunError> {
    ports.iter().try_for_each(port_conserves)?;
    let Hosts { flows, applications, .. } = hosts;
    let mut in_network = vec![0u32; flows.len()];
    for packet in in_flight.chain(ports.iter().flat_map(|port| port.waiting())).filter(|p| p.is_forward()) {
        in_network[packet.flow as usize] += 1;
    }
    for (number, flow) in flows.iter().enumerate() {
        in_network[number] += applications.get(number as u32).map_or(0, Application::shaped) as u32;
        let Impaired { lost, copies } = wires.of_flow(number);
        let sent = flow.tally().sent + u64::from(copies);
        let known = flow.accounted() + u64::from(lost) + u64::from(in_network[number]);
        if sent != known {
            return Err(RunError::Conservation(format!(
                "flow {number}: {sent} sent or duplicated, {known} received, dropped, lost or in flight"
            )));
        }
    }
    Ok(())
}

/// Check that every packet is accounted for at one queue.
pub(crate) fn port_conserves(port: &Port) -> Result<(), RunError> {
    let c = &port.stats.counters;
    let known = c.departures + c.total_drops() + port.waiting().count() as u64;
    if c.arrivals != known || port.backlog().0 as usize != port.waiting().count() {
        return Err(RunError::Conservation(format!(
            "queue {}: {} arrived, {known} departed, dropped or queued",
            port.name, c.arrivals
        )));
    }
    Ok(())
}
