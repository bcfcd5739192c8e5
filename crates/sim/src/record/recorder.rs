//! Takes samples while a run goes on, and turns what is left of it into a [`Record`].

use super::{Counters, CwndColumns, DropColumns, FlowColumns, PageColumns, QueueSeries, Record, Series};
use crate::{
    engine::{CalendarQueue, Event, EventKind},
    error::RunError,
    flow::{Endpoint, Flow, Hosts, WarmupSnapshot},
    link::LinkKind,
    packet::Packet,
    path::{Network, Route},
    queue::Port,
};
use sojourn_aqm::Limit;

/// Columns have room for so many samples at once, if there will be as many; with more they grow.
const ROOM: u64 = 1 << 16;

/// Samples so far, and the counters of every queue when the window opened.
pub(crate) struct Recorder {
    interval: u64,
    queues: Vec<Watched>,
}

#[derive(Default)]
struct Watched {
    at_start: Counters,
    series: QueueSeries,
    integrals: (u128, u128),
    arrivals: u64,
    drops: u64,
    departed_bytes: u64,
}

/// A queue that samples are taken of.
pub(crate) trait Sampled {
    /// Account for the time up to `now`: packets and bytes that wait.
    fn pass(&mut self, now: u64) -> (u32, u64);
    /// What was counted.
    fn counters(&self) -> &Counters;
    /// Report the state worth plotting.
    fn probe(&self, field: impl FnMut(&str, f64));
}

impl Watched {
    /// It is `now`, and the last sample was taken `span` ns ago.
    #[inline(always)]
    fn sample(&mut self, now: u64, span: f64, queue: &mut impl Sampled) {
        let (waiting, bytes) = queue.pass(now);
        let counters = queue.counters();
        let (packets, squared) = counters.integrals();
        let (arrivals, drops, departed_bytes) =
            (counters.arrivals, counters.total_drops(), counters.departed_bytes);
        let series = &mut self.series;
        series.packets.push(waiting);
        series.bytes.push(bytes);
        series.mean_packets.push(float(packets - self.integrals.0) / span);
        series.mean_square_packets.push(float(squared - self.integrals.1) / span);
        series.arrivals.push((arrivals - self.arrivals) as u32);
        series.drops.push((drops - self.drops) as u32);
        series.departed_bytes.push(departed_bytes - self.departed_bytes);
        if counters.has_classes() {
            sample_classes(series, counters.waiting_by_class(waiting));
        }
        self.integrals = (packets, squared);
        (self.arrivals, self.drops, self.departed_bytes) = (arrivals, drops, departed_bytes);
        let mut column = 0;
        queue.probe(|name, value| {
            match series.probes.get_mut(column) {
                Some((_, values)) => values.push(value),
                None => begin(&mut series.probes, name, value, series.packets.capacity()),
            }
            column += 1;
        });
    }
}

/// Packets that wait of each class.
#[inline(never)]
fn sample_classes(series: &mut QueueSeries, waiting: impl Iterator<Item = (u8, u32)>) {
    for (class, packets) in waiting {
        let column = match series.class_packets.iter().position(|(known, _)| *known == class) {
            Some(column) => column,
            None => {
                // Until its first packet nothing of a class waited; class 0 was all there was.
                let mut before = Vec::with_capacity(series.packets.capacity());
                before.extend_from_slice(&series.packets[..series.packets.len() - 1]);
                if class > 0 {
                    before.fill(0);
                }
                series.class_packets.push((class, before));
                series.class_packets.len() - 1
            }
        };
        series.class_packets[column].1.push(packets);
    }
}

/// A probe is seen for the first time.
#[cold]
#[inline(never)]
fn begin(probes: &mut Vec<(String, Vec<f64>)>, name: &str, value: f64, room: usize) {
    let mut values = Vec::with_capacity(room);
    values.push(value);
    probes.push((name.to_owned(), values));
}

/// Columns with room for so many samples.
fn columns_for(samples: usize) -> QueueSeries {
    QueueSeries {
        packets: Vec::with_capacity(samples),
        bytes: Vec::with_capacity(samples),
        mean_packets: Vec::with_capacity(samples),
        mean_square_packets: Vec::with_capacity(samples),
        arrivals: Vec::with_capacity(samples),
        drops: Vec::with_capacity(samples),
        departed_bytes: Vec::with_capacity(samples),
        ..QueueSeries::default()
    }
}

/// The nearest number. Most integrals over the time between two samples have 64 bits, which is quicker.
fn float(integral: u128) -> f64 {
    #[cold]
    #[inline(never)]
    fn long(integral: u128) -> f64 {
        integral as f64
    }
    match u64::try_from(integral) {
        Ok(short) => short as f64,
        Err(_) => long(integral),
    }
}

impl Recorder {
    /// Samples every `interval` (0: never) of so many queues; `end`: of the run, if that is known.
    pub(crate) fn new(interval: u64, end: Option<u64>, queues: usize) -> Recorder {
        let samples = end.and_then(|end| end.checked_div(interval)).unwrap_or(0).min(ROOM) as usize;
        let watched = || Watched { series: columns_for(samples), ..Watched::default() };
        Recorder { interval, queues: (0..queues).map(|_| watched()).collect() }
    }

    pub(crate) fn open_window(&mut self, ports: &mut [Port]) {
        for (watched, port) in self.queues.iter_mut().zip(ports) {
            watched.at_start = port.stats.counters.open_window(port.backlog().0);
        }
    }

    /// The run is over: events go up to its end, samples include it.
    pub(crate) fn sample_at_end(&mut self, end: u64, ports: &mut [Port]) {
        if self.interval > 0 && end.is_multiple_of(self.interval) {
            self.sample(end, ports);
        }
    }

    /// A sample is due, of the only queue that there is, and then the next one.
    #[inline(never)]
    pub(crate) fn sample_one(
        &mut self,
        now: u64,
        mut queue: impl Sampled,
        calendar: &mut CalendarQueue<Packet>,
    ) {
        self.queues[0].sample(now, self.interval as f64, &mut queue);
        self.file_next(now, calendar);
    }

    /// File the next sample.
    pub(crate) fn file_next(&self, now: u64, calendar: &mut CalendarQueue<Packet>) {
        calendar.push(Event::new(now + self.interval, 0, EventKind::Sample, 0));
    }

    /// Whether there is only one queue.
    pub(crate) fn has_one(&self) -> bool {
        self.queues.len() == 1
    }

    /// How many samples there are.
    pub(crate) fn samples(&self) -> u64 {
        self.queues.first().map_or(0, |watched| watched.series.packets.len() as u64)
    }

    pub(crate) fn sample(&mut self, now: u64, ports: &mut [Port]) {
        let span = self.interval as f64;
        for (watched, port) in self.queues.iter_mut().zip(ports) {
            watched.sample(now, span, port);
        }
    }

    /// The columns of every queue over `window`, the `measured` one first.
    pub(crate) fn columns(
        &mut self,
        window: (u64, u64),
        measured: usize,
        ports: &[Port],
        kinds: &mut [LinkKind],
    ) -> Record {
        let mut order: Vec<usize> = (0..ports.len()).collect();
        order.sort_by_key(|i| *i != measured);
        let mut record = Record { window, ..Record::default() };
        record.series.interval = self.interval;
        for i in order {
            let port = &ports[i];
            let watched = &mut self.queues[i];
            let mut queue = port.stats.counters.since(&watched.at_start);
            queue.name.clone_from(&port.name);
            queue.spec.clone_from(&port.spec);
            match port.limit() {
                Limit::Packets(n) => queue.limit_packets = u64::from(n),
                Limit::Bytes(n) => queue.limit_bytes = n,
            }
            queue.capacity_bits = kinds[port.kind as usize].bits(window.0, window.1);
            record.queues.push(queue);
            record.series.queues.push(std::mem::take(&mut watched.series));
        }
        if record.series.interval == 0 {
            record.series = Series::default();
        }
        record
    }
}

/// What is left when the clock stops.
pub(crate) struct RunResult {
    pub(crate) window: (u64, u64),
    pub(crate) network: Network,
    pub(crate) ports: Vec<Port>,
    pub(crate) hosts: Hosts,
    pub(crate) at_warmup: Vec<WarmupSnapshot>,
    pub(crate) pages: PageColumns,
    pub(crate) recorder: Recorder,
    pub(crate) measured: u32,
    pub(crate) drops: DropColumns,
    pub(crate) cwnd: CwndColumns,
}

impl RunResult {
    /// The record of the run.
    pub(crate) fn record(mut self) -> Record {
        let RunResult { hosts, drops, cwnd, .. } = &mut self;
        for flow in drops.flow.iter_mut().chain(&mut cwnd.flow) {
            let group = hosts.flows[*flow as usize].group;
            *flow = hosts.index.of(*flow, &hosts.groups[group as usize]);
        }
        let kinds = &mut self.network.kinds;
        let record = self.recorder.columns(self.window, self.measured as usize, &self.ports, kinds);
        Record {
            flows: flow_columns(&self),
            objects: self.hosts.objects,
            pages: self.pages,
            drops: self.drops,
            cwnd: self.cwnd,
            ..record
        }
    }
}

/// Packets of each flow that came to the `measured` queue so far: those that left it and those that wait in it.
pub(crate) fn offered(flows: &[Flow], measured: &Port) -> Vec<u32> {
    let mut offered: Vec<u32> = flows.iter().map(|flow| flow.counts.queue_left).collect();
    for packet in measured.waiting() {
        offered[packet.flow as usize] += 1;
    }
    offered
}

fn flow_columns(result: &RunResult) -> FlowColumns {
    let RunResult { network, ports, hosts, .. } = result;
    let mut columns = FlowColumns::default();
    for row in hosts.index.all(&hosts.groups) {
        columns.traffic.push(hosts.groups[row.group as usize].traffic);
        columns.index.push(row.index);
        columns.start_ns.push(row.start);
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
        }
    }
    let offered = offered(&hosts.flows, &ports[result.measured as usize]);
    for (number, (flow, offered)) in hosts.flows.iter().zip(offered).enumerate() {
        let before = result.at_warmup.get(number).copied().unwrap_or_default();
        let group = &hosts.groups[flow.group as usize];
        let (counts, row) = (&flow.counts, hosts.index.of(number as u32, group) as usize);
        if !group.is_web() && !group.is_requests() {
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
        columns.delay_ns[row] += counts.delay;
        columns.delay_max_ns[row] = columns.delay_max_ns[row].max(counts.delay_max);
        if !group.is_requests() {
            columns.goodput_bytes[row] += flow.goodput(group);
        }
    }
    columns
}

/// Whether every packet is accounted for, at every queue and for every flow.
/// `flying`: the packets that are on a link, as far as somebody waits for them.
pub(crate) fn conserved<'a>(
    ports: &'a [Port],
    flows: &[Flow],
    flying: impl Iterator<Item = &'a Packet>,
) -> Result<(), RunError> {
    ports.iter().try_for_each(port_conserves)?;
    let mut on_the_way = vec![0u32; flows.len()];
    for packet in flying.chain(ports.iter().flat_map(|port| port.waiting())).filter(|p| p.is_forward()) {
        on_the_way[packet.flow as usize] += 1;
    }
    for (number, flow) in flows.iter().enumerate() {
        if let Endpoint::Tcp(connection) = &flow.endpoint {
            on_the_way[number] += connection.shaped() as u32;
        }
        let sent = flow.tally().sent;
        let known = flow.accounted() + u64::from(on_the_way[number]);
        if sent != known {
            return Err(RunError::Conservation(format!(
                "flow {number}: {sent} sent, {known} received, dropped or on the way"
            )));
        }
    }
    Ok(())
}

/// Whether every packet is accounted for at one queue.
pub(crate) fn port_conserves(port: &Port) -> Result<(), RunError> {
    let c = &port.stats.counters;
    let known = c.departures + c.total_drops() + port.waiting().count() as u64;
    if c.arrivals != known || port.backlog().0 as usize != port.waiting().count() {
        return Err(RunError::Conservation(format!(
            "queue {}: {} arrived, {known} left, were dropped or wait",
            port.name, c.arrivals
        )));
    }
    Ok(())
}
