//! Small plans whose results can be computed without a simulator, compared exactly.

use crate::support::{MBIT, MS, SECOND, access, cases, dumbbell, options, plan, queue, run, tcp, traffic};
use proptest::{collection::vec, prelude::*, sample::select};
use sojourn_aqm::{Span, Time};
use sojourn_sim::{
    Record,
    plan::{Access, Draw, Dumbbell, Trace, TrafficKind},
};
use std::collections::{BTreeMap, VecDeque};

const OVERFLOW: usize = 0;

/// A constant-rate source of the model.
#[derive(Clone, Debug)]
struct Source {
    start: u64,
    rate: u64,
    bytes: u32,
}

/// Transmission time of `bytes` in ns, which is an integer for all rates here.
fn sending(bytes: u32, rate: u64) -> u64 {
    assert_eq!(u64::from(bytes) * 8_000_000_000 % rate, 0);
    u64::from(bytes) * 8_000_000_000 / rate
}

/// The counters of a queue and its flows in [warm-up, end).
#[derive(Debug, Default, PartialEq)]
struct Counts {
    arrivals: u64,
    arrived_bytes: u64,
    drops: u64,
    dropped_bytes: u64,
    departures: u64,
    departed_bytes: u64,
    delay: u128,
    delay_squared: u128,
    packet_ns: u128,
    packet_squared_ns: u128,
    byte_ns: u128,
    idle_ns: u64,
    max_packets: u64,
    runs: BTreeMap<u64, u64>,
    flow_arrivals: Vec<u64>,
    flow_drops: Vec<u64>,
    received: Vec<u64>,
    received_bytes: Vec<u64>,
    sent: Vec<u64>,
    sampled: Vec<u32>,
}

/// A model of a tail-drop or head-drop queue.
struct Model {
    window: (u64, u64),
    rate: u64,
    limit: Limit,
    drops_head: bool,
    /// (arrived, bytes, flow, number).
    waiting: VecDeque<(u64, u32, usize, u64)>,
    free: u64,
    now: u64,
    /// The last arrival.
    last: u64,
    offered: u64,
    dropped: Vec<u64>,
    /// End of transmission, bytes, flow.
    sent: Vec<(u64, u32, usize)>,
    counts: Counts,
    interval: u64,
    /// Whether two events happened at the same time, whose order the model does not define.
    tie: bool,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Packets(usize),
    Bytes(u64),
}

impl Model {
    fn in_window(&self, at: u64) -> bool {
        self.window.0 <= at && at < self.window.1
    }

    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|w| u64::from(w.1)).sum()
    }

    /// The queue does not change until `at`.
    fn pass(&mut self, at: u64) {
        let (first, end) = (self.now.max(self.window.0), at.min(self.window.1));
        if first < end {
            let (span, packets) = (u128::from(end - first), self.waiting.len() as u128);
            self.counts.packet_ns += span * packets;
            self.counts.packet_squared_ns += span * packets * packets;
            self.counts.byte_ns += span * u128::from(self.bytes());
            let idle_from = first.max(self.free);
            if self.waiting.is_empty() && idle_from < end {
                self.counts.idle_ns += end - idle_from;
            }
            self.counts.max_packets = self.counts.max_packets.max(packets as u64);
        }
        while self.interval > 0
            && let next = (self.counts.sampled.len() as u64 + 1) * self.interval
            && next <= at
        {
            self.counts.sampled.push(self.waiting.len() as u32);
        }
        self.now = at;
    }

    fn transmit(&mut self, at: u64) {
        let (arrived, bytes, flow, _) = self.waiting.pop_front().expect("a packet is queued");
        self.free = at + sending(bytes, self.rate);
        self.sent.push((self.free, bytes, flow));
        if self.in_window(at) {
            let delay = u128::from(at - arrived);
            self.counts.departures += 1;
            self.counts.departed_bytes += u64::from(bytes);
            self.counts.delay += delay;
            self.counts.delay_squared += delay * delay;
        }
    }

    fn serve_until(&mut self, at: u64) {
        while !self.waiting.is_empty() && self.free < at {
            let start = self.free;
            self.pass(start);
            self.transmit(start);
        }
        self.pass(at);
    }

    fn drop(&mut self, bytes: u32, flow: usize, number: u64) {
        if self.in_window(self.now) {
            self.dropped.push(number);
            self.counts.drops += 1;
            self.counts.dropped_bytes += u64::from(bytes);
            self.counts.flow_drops[flow] += 1;
        }
    }

    fn arrive(&mut self, at: u64, bytes: u32, flow: usize) {
        self.tie |= self.offered > 0 && at == self.last;
        self.tie |= at == self.window.0 || self.interval > 0 && at.is_multiple_of(self.interval);
        self.last = at;
        self.serve_until(at);
        self.tie |= at == self.free;
        let number = self.offered;
        self.offered += 1;
        if self.in_window(at) {
            self.counts.arrivals += 1;
            self.counts.arrived_bytes += u64::from(bytes);
            self.counts.flow_arrivals[flow] += 1;
        }
        let fits = |model: &Model| match model.limit {
            Limit::Packets(limit) => model.waiting.len() < limit,
            Limit::Bytes(limit) => model.bytes() + u64::from(bytes) <= limit,
        };
        let never = matches!(self.limit, Limit::Bytes(limit) if u64::from(bytes) > limit);
        while !fits(self) {
            if never || !self.drops_head {
                return self.drop(bytes, flow, number);
            }
            let (_, bytes, flow, number) = self.waiting.pop_front().expect("a full queue has a head");
            self.drop(bytes, flow, number);
        }
        self.waiting.push_back((at, bytes, flow, number));
        if self.in_window(at) {
            self.counts.max_packets = self.counts.max_packets.max(self.waiting.len() as u64);
        }
        if self.free <= at {
            self.transmit(at);
        }
    }
}

/// The expected counters for `sources` on `dumbbell`, unless two events happen at the same time.
fn expect(
    dumbbell: &Dumbbell,
    limit: Limit,
    drops_head: bool,
    sources: &[Source],
    window: (u64, u64),
    interval: u64,
) -> Option<Counts> {
    let flows = sources.len();
    let counts = Counts {
        flow_arrivals: vec![0; flows],
        flow_drops: vec![0; flows],
        received: vec![0; flows],
        received_bytes: vec![0; flows],
        sent: vec![0; flows],
        ..Counts::default()
    };
    let mut emissions = Vec::new();
    for (flow, source) in sources.iter().enumerate() {
        let gap = u128::from(source.bytes) * 8_000_000_000;
        let times = (0u128..).map(|k| source.start + (k * gap / u128::from(source.rate)) as u64);
        emissions.extend(times.take_while(|at| *at < window.1).map(|at| (at, flow)));
    }
    emissions.sort_unstable();
    let meet = emissions.windows(2).any(|pair| pair[0].0 == pair[1].0);
    // One host per flow, or one for all.
    let hosts = if dumbbell.access.nodes.is_some() { 1 } else { flows };
    let mut free = vec![0u64; hosts];
    let mut arrivals = Vec::new();
    let mut counts = counts;
    for (at, flow) in emissions {
        counts.sent[flow] += u64::from(window.0 <= at);
        let host = flow % hosts;
        let Span(delay) = dumbbell.access.delays[host % dumbbell.access.delays.len()];
        free[host] = free[host].max(at) + sending(sources[flow].bytes, dumbbell.access.rate);
        arrivals.push((free[host] + delay, flow));
    }
    arrivals.retain(|(at, _)| *at < window.1);
    arrivals.sort_unstable();
    let mut model = Model {
        window,
        rate: dumbbell.rate,
        limit,
        drops_head,
        waiting: VecDeque::new(),
        free: 0,
        now: 0,
        last: 0,
        offered: 0,
        dropped: Vec::new(),
        sent: Vec::new(),
        counts,
        interval,
        tie: meet,
    };
    for (at, flow) in arrivals {
        model.arrive(at, sources[flow].bytes, flow);
    }
    model.serve_until(window.1);
    let mut counts = model.counts;
    // Runs of consecutive arrivals among the drops in the window.
    model.dropped.sort_unstable();
    for run in model.dropped.chunk_by(|a, b| a + 1 == *b) {
        *counts.runs.entry(exact(run.len() as u64)).or_default() += 1;
    }
    let mut free = 0;
    for (sent, bytes, flow) in model.sent {
        let server = &dumbbell.server;
        free = (sent + dumbbell.delay.0).max(free) + sending(bytes, server.rate);
        let received = free + server.delays[0].0;
        if window.0 <= received && received < window.1 {
            counts.received[flow] += 1;
            counts.received_bytes[flow] += u64::from(bytes);
        }
    }
    // Sums in a record are floats.
    let Counts { delay, delay_squared, packet_ns, packet_squared_ns, byte_ns, .. } = &mut counts;
    for sum in [delay, delay_squared, packet_ns, packet_squared_ns, byte_ns] {
        *sum = *sum as f64 as u128;
    }
    (!model.tie).then_some(counts)
}

/// The histogram of runs is exact below 128.
fn exact(length: u64) -> u64 {
    length.min(128)
}

/// The same counters of a record.
fn seen(record: &Record) -> Counts {
    let queue = &record.queues[0];
    assert_eq!(queue.drops[OVERFLOW + 1..], [0; 4]);
    assert_eq!(queue.marks, [0; 5]);
    let mut runs = BTreeMap::new();
    for (length, count) in queue.run_lengths.iter().zip(&queue.run_counts) {
        *runs.entry(exact(*length)).or_default() += *count;
    }
    Counts {
        arrivals: queue.arrivals,
        arrived_bytes: queue.arrived_bytes,
        drops: queue.drops[OVERFLOW],
        dropped_bytes: queue.dropped_bytes,
        departures: queue.departures,
        departed_bytes: queue.departed_bytes,
        delay: queue.delay_sum_ns as u128,
        delay_squared: queue.delay_squared_ns as u128,
        packet_ns: queue.packet_ns as u128,
        packet_squared_ns: queue.packet_squared_ns as u128,
        byte_ns: queue.byte_ns as u128,
        idle_ns: queue.idle_ns,
        max_packets: queue.max_packets,
        runs,
        flow_arrivals: record.flows.queue_arrivals.clone(),
        flow_drops: record.flows.queue_drops.clone(),
        received: record.flows.received_packets.clone(),
        received_bytes: record.flows.goodput_bytes.clone(),
        sent: record.flows.sent_packets.clone(),
        sampled: record.series.queues.first().map(|q| q.packets.clone()).unwrap_or_default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, ..cases(300) })]

    /// Constant-rate sources through a tail-drop or head-drop queue.
    #[test]
    fn constant_rates_meet_a_queue_as_computed_by_hand(
        sources in vec((0u64..20 * MS, select(vec![300_000, MBIT, 2 * MBIT, 5 * MBIT]), select(vec![40, 573, 1000, 1500])), 1..6),
        rate in select(vec![MBIT, 2 * MBIT, 5 * MBIT]),
        delay in 0u64..20 * MS,
        host_rate in select(vec![5 * MBIT, 10 * MBIT, 100 * MBIT]),
        delays in vec(0u64..20 * MS, 1..4),
        is_shared in any::<bool>(),
        limit in prop_oneof![(1usize..9).prop_map(Limit::Packets), (900u64..6000).prop_map(Limit::Bytes)],
        drops_head in any::<bool>(),
        warmup in prop_oneof![Just(0), 1..150 * MS],
        interval in select(vec![0, 7 * MS, 50 * MS]),
    ) {
        let sources: Vec<_> = sources.into_iter().map(|(start, rate, bytes)| Source { start, rate, bytes }).collect();
        let word = match limit {
            Limit::Packets(n) => format!("{n}p"),
            Limit::Bytes(n) => format!("{n}B"),
        };
        let aqm = if drops_head { "droptail overflow head" } else { "droptail" };
        let dumbbell = Dumbbell {
            rate,
            delay: Span(delay),
            access: Access { nodes: is_shared.then_some(1), ..access(host_rate, &delays) },
            server: access(10 * MBIT, &[3 * MS]),
            ..dumbbell(queue(&word, aqm))
        };
        let window = (warmup, 300 * MS);
        let Some(mut expected) = expect(&dumbbell, limit, drops_head, &sources, window, interval) else {
            return Err(TestCaseError::reject("two events at the same time"));
        };
        let groups = sources.iter().enumerate().map(|(i, source)| {
            let mut group = traffic(&format!("s{i}"), 1, TrafficKind::UdpCbr { rate: source.rate, size: source.bytes, jitter: 0.0 });
            group.start = Draw::Constant(source.start as f64);
            group
        });
        let mut groups: Vec<_> = groups.collect();
        if !is_shared {
            for (i, group) in groups.iter_mut().enumerate() {
                group.access = Some(access(host_rate, &[delays[i % delays.len()]]));
            }
        }
        let mut plan = plan(dumbbell, groups, window.1);
        plan.warmup = Time(warmup);
        plan.trace = Trace { interval: (interval > 0).then_some(Span(interval)), ..Trace::default() };
        let mut seen = seen(&run(&plan, 1));
        // Runs are counted in the order of drops. It differs from that of arrivals if the head is dropped for
        // a packet that is dropped, too.
        if drops_head && matches!(limit, Limit::Bytes(_)) {
            expected.runs.clear();
            seen.runs.clear();
        }
        prop_assert_eq!(seen, expected);
    }
}

/// Many sources that send single packets at exponential intervals approximate a Poisson process; the mean
/// queue of M/D/1 is rho^2 / (2 (1 - rho)).
#[test]
fn poisson_arrivals_wait_as_long_as_in_m_d_1() {
    let (rho, sources) = (0.8, 400);
    let mut dumbbell = dumbbell(queue("10000p", "droptail"));
    dumbbell.access = access(100 * MBIT, &[0]);
    let (interval, cycle) = (80_000.0, sources as f64 * 800_000.0 / rho);
    // Bursts with a mean length of 0.0125 packets have one packet each.
    let kind = TrafficKind::UdpOnoff {
        rate: 100 * MBIT,
        size: 1000,
        on: Span(1000),
        off: Span((cycle - interval) as u64),
    };
    let mut plan = plan(dumbbell, vec![traffic("udp", sources, kind)], 400 * SECOND);
    plan.warmup = Time(2 * SECOND);
    let record = run(&plan, 1);
    let (queue, span) = (&record.queues[0], 398.0 * 1e9);
    let load = queue.departed_bytes as f64 * 8.0 / queue.capacity_bits;
    assert!((load - rho).abs() < 0.005, "load {load}");
    let mean = queue.packet_ns / span;
    let theory = rho * rho / (2.0 * (1.0 - rho));
    assert!((mean / theory - 1.0).abs() < 0.08, "mean queue {mean}, in theory {theory}");
    // Little's law holds for any arrival process.
    let delay = queue.delay_sum_ns / queue.departures as f64;
    assert!((mean / (delay * queue.arrivals as f64 / span) - 1.0).abs() < 1e-3);
}

/// One flow without loss, with its window traced.
fn lossless(preset: &str, set: &[(&str, &str)], duration: u64) -> Record {
    let flow = traffic("ftp", 1, TrafficKind::Tcp(tcp(960, options(preset, set))));
    let mut plan = plan(dumbbell(queue("100000p", "droptail")), vec![flow], duration);
    plan.trace.cwnd = true;
    run(&plan, 1)
}

/// The SYN takes 50 ms and 2 (3.2 + 32 + 3.2) us; a packet takes 50 ms and 960 us, and its acknowledgement
/// 38.4 us.
#[test]
fn the_first_acknowledgements_arrive_to_the_nanosecond() {
    let record = lossless("ns2", &[], SECOND);
    assert_eq!(record.cwnd.time_ns[..4], [50_076_800, 101_075_200, 101_875_200, 152_073_600]);
    assert_eq!(record.cwnd.cwnd[..4], [2.0, 3.0, 4.0, 5.0]);
}

/// A series of links, each with a FIFO queue.
struct Way(Vec<(u64, u64, u64)>);

impl Way {
    fn new(links: &[(u64, u64)]) -> Way {
        Way(links.iter().map(|(rate, delay)| (*rate, *delay, 0)).collect())
    }
    fn cross(&mut self, mut at: u64, bytes: u32) -> u64 {
        for (rate, delay, free) in &mut self.0 {
            *free = at.max(*free) + sending(bytes, *rate);
            at = *free + *delay;
        }
        at
    }
}

/// A window that grows beyond 60: the time of every acknowledgement and the window after it, by recursion.
#[test]
fn the_window_follows_the_acknowledgement_clock() {
    let links = [(100 * MBIT, 5 * MS), (10 * MBIT, 15 * MS), (100 * MBIT, 5 * MS)];
    let (mut there, mut back) = (Way::new(&links), Way::new(&links));
    let most = 60.0;
    let mut acknowledgements = VecDeque::from([back.cross(there.cross(0, 40), 40)]);
    let (mut cwnd, mut flight, mut rows) = (1.0f64, 1u32, Vec::new());
    while let Some(at) = acknowledgements.pop_front()
        && at < 4 * SECOND
    {
        flight -= 1;
        cwnd = match rows.len() {
            0 => 2.0,
            _ if cwnd < most => cwnd + 1.0,
            _ => cwnd + 1.0 / cwnd,
        };
        rows.push((at, cwnd));
        while flight < cwnd.min(most) as u32 {
            flight += 1;
            acknowledgements.push_back(back.cross(there.cross(at, 1000), 40));
        }
    }
    assert!(rows.len() > 3000 && cwnd > 90.0);
    let record = lossless("ns2", &[("receiver_window", "60")], 4 * SECOND);
    let seen = record.cwnd.time_ns.iter().copied().zip(record.cwnd.cwnd.iter().copied());
    assert!(seen.eq(rows.iter().copied()));
}

/// A receiver that delays acknowledgements for a second packet, by at most 100 ms.
#[test]
fn every_second_packet_is_acknowledged_or_after_the_delay() {
    let record = lossless("ns2", &[("initial_window", "1"), ("delayed_ack", "100ms")], SECOND);
    let trip = 50_998_400; // of a full packet and its acknowledgement
    let syn = 50_076_800; // at once
    let first = syn + trip + 100 * MS; // no packet follows the first one
    let second = first + trip + 800_000; // the window of 2: the second one is 0.8 ms behind
    // The window of 3: the first two packets are acknowledged together; the third waits for the first of the
    // 4 - 1 = 3 packets that this acknowledgement releases.
    let third = second + trip + 800_000;
    let fourth = third + trip;
    assert_eq!(record.cwnd.time_ns[..4], [first, second, third, fourth]);
    assert_eq!(record.cwnd.cwnd[..4], [2.0, 3.0, 4.0, 5.0]);
}

/// A transfer of 5000 bytes in six packets, the last one of 200: four at first, then two after the first
/// acknowledgement.
#[test]
fn a_short_transfer_takes_as_long_as_its_packets() {
    let tcp = tcp(960, options("rfc", &[]));
    let kind =
        TrafficKind::TcpShort { arrivals: 0.5, size: Some(Draw::Constant(5000.0)), lifetime: None, tcp };
    let plan = plan(dumbbell(queue("1000p", "droptail")), vec![traffic("short", 1, kind)], 60 * SECOND);
    let record = run(&plan, 3);
    let objects = &record.objects;
    let last = 880_000 + 192_000 + 19_200; // behind the fifth, over the bottleneck and the server's link
    let whole = 50_076_800 + 50_998_400 + 50 * MS + last + 38_400;
    let mut alone = 0;
    for i in 0..objects.start_ns.len() {
        let start = objects.start_ns[i];
        let others = (0..objects.start_ns.len()).filter(|j| *j != i);
        let near = others.filter(|j| objects.start_ns[*j].abs_diff(start) < 400 * MS).count();
        if near == 0 && start < 59 * SECOND {
            alone += 1;
            assert_eq!(objects.end_ns[i] - start, whole);
            assert_eq!(objects.bytes[i], 5000);
        }
    }
    assert!(alone > 10);
    let flows = &record.flows;
    let done = objects.end_ns.iter().filter(|end| **end < u64::MAX).count() as u64;
    assert!(flows.goodput_bytes.iter().sum::<u64>() >= 5000 * done);
    assert!(flows.goodput_bytes.iter().all(|bytes| *bytes <= 5000));
}

/// A sample includes a packet that arrives at the same time.
#[test]
fn a_sample_sees_what_happens_in_its_nanosecond() {
    let mut groups: Vec<_> = [(0, "a"), (5 * MS, "b")]
        .map(|(start, name)| {
            let mut group = traffic(name, 1, TrafficKind::UdpCbr { rate: 8_000, size: 1000, jitter: 0.0 });
            group.start = Draw::Constant((start + 4_920_000) as f64);
            group
        })
        .into();
    groups[1].class = 1;
    // 0.08 ms to the queue: arrivals at 5 and 10 ms, 8 ms of transmission each.
    let mut dumbbell = Dumbbell { rate: MBIT, ..dumbbell(queue("5p", "droptail")) };
    dumbbell.access = access(100 * MBIT, &[0]);
    let mut plan = plan(dumbbell, groups, 25 * MS);
    plan.trace.interval = Some(Span(5 * MS));
    let series = &run(&plan, 1).series.queues[0];
    assert_eq!(series.packets, [0, 1, 0, 0, 0]);
    assert_eq!(series.arrivals, [1, 1, 0, 0, 0]);
    assert_eq!(series.mean_packets, [0.0, 0.0, 0.6, 0.0, 0.0]);
}

/// From sender to receiver: 0.08 ms on each access link, 8 ms and 15 ms on the bottleneck, 5 ms behind it.
/// The second packet waits 3 ms for the first, and the third is dropped.
#[test]
fn a_delay_is_counted_from_sender_to_receiver() {
    let groups = [(0, "a"), (5 * MS, "b"), (6 * MS, "c")].map(|(start, name)| {
        let mut group = traffic(name, 1, TrafficKind::UdpCbr { rate: 8_000, size: 1000, jitter: 0.0 });
        group.start = Draw::Constant(start as f64);
        group
    });
    let mut dumbbell = Dumbbell { rate: MBIT, ..dumbbell(queue("1p", "droptail")) };
    dumbbell.access = access(100 * MBIT, &[0]);
    let flows = run(&plan(dumbbell, groups.into(), 100 * MS), 1).flows;
    assert_eq!(flows.delay_ns, [28_160_000, 31_160_000, 0]);
    assert_eq!(flows.delay_max_ns, flows.delay_ns);
    assert_eq!((flows.dropped_packets, flows.received_packets), (vec![0, 0, 1], vec![1, 1, 0]));
}

/// The sums of a time series agree with the counters.
#[test]
fn samples_add_up_to_the_counters() {
    let flow = traffic("ftp", 5, TrafficKind::Tcp(tcp(960, options("rfc", &[]))));
    let mut plan = plan(dumbbell(queue("20p", "red")), vec![flow], 10 * SECOND);
    plan.trace.interval = Some(Span(10 * MS));
    let record = run(&plan, 1);
    let (queue, series) = (&record.queues[0], &record.series.queues[0]);
    assert_eq!(series.packets.len(), 1000);
    assert_eq!(series.arrivals.iter().map(|n| u64::from(*n)).sum::<u64>(), queue.arrivals);
    assert_eq!(series.drops.iter().map(|n| u64::from(*n)).sum::<u64>(), queue.drops.iter().sum::<u64>());
    assert_eq!(series.departed_bytes.iter().sum::<u64>(), queue.departed_bytes);
    let mean: f64 = series.mean_packets.iter().map(|mean| mean * 1e7).sum();
    let square: f64 = series.mean_square_packets.iter().map(|mean| mean * 1e7).sum();
    assert!((mean / queue.packet_ns - 1.0).abs() < 1e-6, "{mean} {}", queue.packet_ns);
    assert!((square / queue.packet_squared_ns - 1.0).abs() < 1e-6);
}
