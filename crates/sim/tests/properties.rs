//! Properties of every run.

use crate::{
    plans::{any_plan, specs},
    support::{MBIT, MS, SECOND, cases, difference, dumbbell, options, plan, queue, run, tcp, text, traffic},
    video::check_playing,
};
use proptest::prelude::*;
use sojourn_aqm::{Span, Time};
use sojourn_sim::{
    Control, Plan, QueueRecord, Record, RunError, Simulation, Window,
    plan::{Draw, Medium, Topology, Traffic, TrafficKind},
};
use std::{collections::BTreeMap, sync::atomic::Ordering};

/// The record of `plan`; `None` if an algorithm refuses a link or a limit. Any other error is a failure.
fn try_run(plan: &Plan, seed: u64) -> Option<Record> {
    match Simulation::new(plan, seed) {
        Ok(simulation) => Some(simulation.run(&Control::default()).unwrap()),
        Err(error) if error.key.ends_with(".aqm") => None,
        Err(error) => panic!("{error}"),
    }
}

/// Histograms hold every packet that was received, and no more datagrams are lost than were sent.
fn deliveries_are_sane(plan: &Plan, record: &Record) -> Result<(), TestCaseError> {
    let (flows, arrived, losses) = (&record.flows, &record.deliveries, &record.losses);
    let is_udp = |i: u32| {
        matches!(
            plan.traffic[i as usize].kind,
            TrafficKind::UdpCbr { .. } | TrafficKind::UdpPoisson { .. } | TrafficKind::UdpOnoff { .. }
        )
    };
    let has_requests =
        |i: u32| matches!(plan.traffic[i as usize].kind, TrafficKind::Web(_) | TrafficKind::Video(_));
    for traffic in 0..plan.traffic.len() as u32 {
        let rows = || (0..flows.traffic.len()).filter(|row| flows.traffic[*row] == traffic);
        let of = |column: &[u32], values: &[u64]| -> u64 {
            column.iter().zip(values).filter(|(i, _)| **i == traffic).map(|(_, value)| value).sum()
        };
        let counted = of(&record.delays.traffic, &record.delays.count);
        let received: u64 = rows().map(|row| flows.received_packets[row]).sum();
        if is_udp(traffic) || plan.trace.delays && !has_requests(traffic) {
            prop_assert_eq!(counted, received);
        } else if !plan.trace.delays {
            prop_assert_eq!(counted, 0);
        }
        let periods = of(&losses.traffic, &losses.count);
        let mine = || (0..arrived.flow.len()).filter(|i| flows.traffic[arrived.flow[*i] as usize] == traffic);
        prop_assert_eq!(periods, mine().map(|i| arrived.loss_periods[i]).sum::<u64>());
        let lost: u64 = losses
            .traffic
            .iter()
            .zip(losses.length.iter().zip(&losses.count))
            .filter(|(i, _)| **i == traffic)
            .map(|(_, (length, count))| length * count)
            .sum();
        prop_assert_eq!(lost, mine().map(|i| arrived.lost_packets[i]).sum::<u64>());
        let returned = of(&record.round_trips.traffic, &record.round_trips.count);
        prop_assert_eq!(returned, mine().map(|i| arrived.echoes[i]).sum::<u64>());
    }
    for (traffic, number) in plan.traffic.iter().zip(0..) {
        if let TrafficKind::Video(video) = &traffic.kind {
            for client in 0..traffic.count {
                check_playing(&record.segments, (number, client), video, plan.duration.0);
            }
        }
    }
    let copies = record.links.copied_packets.iter().sum::<u64>();
    for (i, row) in arrived.flow.iter().map(|row| *row as usize).enumerate() {
        let (received, most) = (flows.received_packets[row], flows.delay_max_ns[row]);
        let in_order = received - arrived.reordered_packets[i];
        prop_assert!(arrived.delay_min_ns[i] <= most);
        prop_assert!(arrived.jitter_pairs[i] <= received && arrived.jitter_ns[i] <= most * received);
        prop_assert!(arrived.late_packets[i] <= in_order);
        prop_assert!(arrived.unusable_periods[i] <= arrived.late_packets[i] + arrived.loss_periods[i]);
        let Traffic { sink, echo, .. } = plan.traffic[flows.traffic[row] as usize];
        let (echoes, longest) = (arrived.echoes[i], arrived.round_trip_max_ns[i]);
        prop_assert!(echo || echoes == 0);
        prop_assert!(longest <= arrived.round_trip_ns[i] && arrived.round_trip_ns[i] <= longest * echoes);
        let used = if sink.is_some() { in_order } else { 0 };
        prop_assert!(arrived.playout_packets[i] <= used);
        if plan.warmup == Time::ZERO {
            // Otherwise a copy from before the window may arrive in it.
            prop_assert!(used <= arrived.playout_packets[i] + copies);
            // A datagram that is neither received nor dropped is in the network.
            let missing = arrived.lost_packets[i].saturating_sub(arrived.reordered_packets[i]);
            prop_assert!(received + missing <= flows.sent_packets[row] + copies);
            prop_assert!(echoes <= received + copies);
        }
    }
    Ok(())
}

/// The largest packet of these plans, in bytes.
const LARGEST: f64 = 1000.0;

fn sane(plan: &Plan, record: &Record) -> Result<(), TestCaseError> {
    let text = text(record);
    prop_assert!(!text.contains("NaN") && !text.contains(" inf") && !text.contains("-inf"));
    prop_assert_eq!(record.window, Window { start: plan.warmup, end: Time::ZERO + plan.duration });
    let span = (plan.duration.0 - plan.warmup.0) as f64;
    for queue in &record.queues {
        let name = &queue.name;
        queue_is_sane(queue, span, plan.warmup == Time::ZERO, varies(plan, name), aggregated(plan, name))?;
    }
    for (queue, series) in record.queues.iter().zip(&record.series.queues) {
        let samples = (plan.duration.0 / record.series.interval.0) as usize;
        prop_assert_eq!(series.packets.len(), samples);
        prop_assert!(series.probes.iter().all(|(_, values)| values.len() == samples));
        if queue.limit_packets > 0 {
            let room = queue.limit_packets * limits(queue);
            prop_assert!(series.packets.iter().all(|n| u64::from(*n) <= room));
        }
        let classes = &series.class_packets;
        prop_assert!(classes.iter().all(|(_, column)| column.len() == samples));
        for (i, packets) in series.packets.iter().enumerate() {
            let sum: u32 = classes.iter().map(|(_, column)| column[i]).sum();
            prop_assert!(classes.is_empty() || sum == *packets, "{sum} of {packets}");
        }
        for (mean, square) in series.mean_packets.iter().zip(&series.mean_square_packets) {
            prop_assert!(mean * mean <= square + 1e-9, "{mean} {square}");
        }
    }
    let flows = &record.flows;
    let sum = |column: &[u64]| column.iter().sum::<u64>();
    let measured = &record.queues[0];
    prop_assert_eq!(sum(&flows.queue_arrivals), measured.arrivals);
    prop_assert_eq!(sum(&flows.queue_drops), sum(&measured.drops));
    prop_assert_eq!(sum(&flows.queue_marks), sum(&measured.marks));
    for i in 0..flows.traffic.len() {
        let (received, delay, most) = (flows.received_packets[i], flows.delay_ns[i], flows.delay_max_ns[i]);
        prop_assert!(most <= delay && delay <= received * most);
        prop_assert!(flows.goodput_bytes[i] as f64 <= flows.received_packets[i] as f64 * LARGEST);
        if plan.warmup == Time::ZERO {
            prop_assert!(
                flows.received_packets[i] <= flows.sent_packets[i] + sum(&record.links.copied_packets)
            );
            prop_assert!(flows.retransmitted_packets[i] <= flows.sent_packets[i]);
        }
    }
    deliveries_are_sane(plan, record)?;
    let drops = &record.drops;
    prop_assert!(drops.time_ns.is_sorted());
    prop_assert!(drops.flow.iter().all(|flow| (*flow as usize) < flows.traffic.len()));
    if plan.warmup == Time::ZERO {
        prop_assert_eq!(drops.time_ns.len() as u64, sum(&measured.drops));
        prop_assert!(drops.arrival.iter().all(|number| *number < measured.arrivals));
    }
    prop_assert!(record.cwnd.time_ns.is_sorted());
    prop_assert!(record.cwnd.cwnd.iter().all(|cwnd| *cwnd > 0.0));
    let pages = &record.pages;
    for i in 0..pages.start_ns.len() {
        prop_assert!(pages.start_ns[i] < plan.duration.0 && pages.start_ns[i] <= pages.end_ns[i]);
        prop_assert!(pages.end_ns[i] < plan.duration.0 || pages.end_ns[i] == u64::MAX);
    }
    let objects = &record.objects;
    for i in 0..objects.start_ns.len() {
        prop_assert!(objects.start_ns[i] < plan.duration.0 && objects.start_ns[i] <= objects.end_ns[i]);
        let TrafficKind::TcpShort { size: Some(Draw::Constant(bytes)), .. } =
            plan.traffic[objects.traffic[i] as usize].kind
        else {
            continue;
        };
        let is_done =
            objects.end_ns[i] < u64::MAX && plan.traffic[objects.traffic[i] as usize].stop.is_none();
        prop_assert!(!is_done || objects.bytes[i] == bytes as u64);
    }
    Ok(())
}

/// Whether the rate of the link of a queue varies.
fn varies(plan: &Plan, queue: &str) -> bool {
    match &plan.topology {
        Topology::Dumbbell(dumbbell) => dumbbell.capacity.is_some() && queue == "R1-R2",
        Topology::Graph(links) => {
            links.iter().any(|l| l.capacity.is_some() && format!("{}-{}", l.from, l.to) == queue)
        }
    }
}

/// The most packets of an aggregate on the link of a queue; 0: it has no medium by contention.
fn aggregated(plan: &Plan, queue: &str) -> u32 {
    let medium = match &plan.topology {
        Topology::Dumbbell(bell) if queue == "R1-R2" => bell.queue.medium,
        Topology::Dumbbell(bell) => bell.reverse_queue.as_ref().and_then(|queue| queue.medium),
        Topology::Graph(links) => {
            let mut found = links.iter().filter(|l| format!("{}-{}", l.from, l.to) == queue);
            found.find_map(|link| link.queue.as_ref()?.medium)
        }
    };
    if let Some(Medium::Contention { packets, .. }) = medium { packets } else { 0 }
}

/// How often the queue may hold its limit: once, or once for each of at most eight classes.
fn limits(queue: &QueueRecord) -> u64 {
    let spec = &queue.spec;
    let is_shared = spec.contains("limits shared") || spec.contains("evict lowest");
    if spec.starts_with("prio") && !is_shared { 8 } else { 1 }
}

fn queue_is_sane(
    queue: &QueueRecord,
    span: f64,
    is_whole: bool,
    varies: bool,
    aggregated: u32,
) -> Result<(), TestCaseError> {
    let drops: u64 = queue.drops.iter().sum();
    let rate = queue.capacity_bits / (span * 1e-9);
    let one = LARGEST * 8.0;
    // The packets of an aggregate depart at once.
    let bound = one * f64::from(aggregated.max(1));
    prop_assert!(queue.departed_bytes as f64 * 8.0 <= queue.capacity_bits + bound);
    // The transmitter is either idle or busy: it sends, or contends for the medium.
    let sending = queue.departed_bytes as f64 * 8e9 / rate;
    let busy = span - queue.idle_ns as f64;
    let near = (busy - sending).abs() <= one * 1e9 / rate
        || (aggregated > 0 && sending - busy <= bound * 1e9 / rate);
    prop_assert!(near || varies, "busy {busy}, sending {sending}");
    let room = queue.limit_packets * limits(queue);
    let (most, most_bytes) = (room as f64, (queue.limit_bytes * limits(queue)) as f64);
    if queue.limit_packets > 0 {
        prop_assert!(queue.max_packets <= room);
        prop_assert!(queue.packet_ns <= most * span && queue.packet_squared_ns <= most * most * span);
        prop_assert!(queue.arrivals.abs_diff(queue.departures + drops) <= room);
    } else {
        prop_assert!(queue.byte_ns <= most_bytes * span);
    }
    prop_assert!(queue.packet_ns * queue.packet_ns <= queue.packet_squared_ns * span * 1.000_001);
    let classes = &queue.classes;
    prop_assert!(classes.number.is_sorted());
    let same = |column: &[u64], total: u64| column.iter().sum::<u64>() == total;
    prop_assert!(
        same(&classes.arrivals, queue.arrivals) && same(&classes.arrived_bytes, queue.arrived_bytes)
    );
    prop_assert!(same(&classes.departures, queue.departures));
    prop_assert!(same(&classes.departed_bytes, queue.departed_bytes));
    prop_assert!(same(&classes.drops, drops) && same(&classes.dropped_bytes, queue.dropped_bytes));
    prop_assert!(same(&classes.marks, queue.marks.iter().sum()));
    let near = |column: &[f64], total: f64| (column.iter().sum::<f64>() - total).abs() <= 1e-9 * total;
    prop_assert!(
        near(&classes.packet_ns, queue.packet_ns) && near(&classes.delay_sum_ns, queue.delay_sum_ns)
    );
    prop_assert_eq!(queue.delay_counts.iter().sum::<u64>(), queue.departures);
    prop_assert!(queue.run_counts.iter().sum::<u64>() <= drops);
    prop_assert_eq!(queue.run_counts.is_empty(), drops == 0);
    if is_whole {
        for i in 0..classes.number.len() {
            prop_assert!(classes.arrivals[i] >= classes.departures[i] + classes.drops[i]);
            prop_assert!(classes.delay_sum_ns[i] <= classes.packet_ns[i] * 1.000_001);
        }
        prop_assert_eq!(queue.arrivals >= queue.departures + drops, true);
        // Little's law: departed packets contribute their delay to the integral of the queue; packets that
        // were dropped or are still queued contribute to the integral only.
        prop_assert!(queue.delay_sum_ns <= queue.packet_ns * 1.000_001);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn every_record_is_sane_and_the_same_again(plan in any_plan(), seed in 0u64..1000) {
        let Some(record) = try_run(&plan, seed) else { return Err(TestCaseError::reject("refused")) };
        sane(&plan, &record)?;
        let again = try_run(&plan, seed).unwrap();
        prop_assert_eq!(difference(&record, &again), None);
        prop_assert_eq!(record.events, again.events);
    }

    /// The counters of the window [a, b) are the difference between a run to b and a run to a.
    #[test]
    fn a_window_is_the_difference_of_two_runs(mut plan in any_plan(), seed in 0u64..1000) {
        plan.warmup = Time::ZERO + plan.duration / 3;
        let Some(window) = try_run(&plan, seed) else { return Err(TestCaseError::reject("refused")) };
        let to = |end: Time| {
            let duration = end - Time::ZERO;
            try_run(&Plan { warmup: Time::ZERO, duration, ..plan.clone() }, seed).unwrap()
        };
        let (before, whole) = (to(plan.warmup), to(Time::ZERO + plan.duration));
        for (i, queue) in window.queues.iter().enumerate() {
            for (name, part) in additive(queue) {
                let of = |record: &Record| additive(&record.queues[i]).get(&name).copied().unwrap_or(0.0);
                let (a, b) = (of(&before), of(&whole));
                let near = (part - (b - a)).abs() <= 1e-9 * b;
                prop_assert!(near, "{}: {name} is {part}, not {b} - {a}", queue.name);
            }
        }
        let columns = |record: &Record| {
            let flows = &record.flows;
            [&flows.queue_arrivals, &flows.queue_drops, &flows.queue_marks, &flows.sent_packets,
             &flows.retransmitted_packets, &flows.timeouts, &flows.window_cuts, &flows.received_packets,
             &flows.dropped_packets, &flows.delay_ns, &flows.goodput_bytes].map(Clone::clone)
        };
        let (before, whole) = (columns(&before), columns(&whole));
        for (c, column) in columns(&window).iter().enumerate() {
            for (i, part) in column.iter().enumerate() {
                let earlier = before[c].get(i).copied().unwrap_or(0); // some flows arrive later
                prop_assert_eq!(*part, whole[c][i] - earlier, "column {}, flow {}", c, i);
            }
        }
    }

    /// Two algorithms under one seed meet the same demand: start times, sizes, and all datagrams.
    #[test]
    fn demand_does_not_depend_on_the_algorithm(plan in any_plan(), spec in specs(), seed in 0u64..1000) {
        let mut other = plan.clone();
        match &mut other.topology {
            Topology::Dumbbell(dumbbell) => dumbbell.queue.aqm = spec,
            Topology::Graph(links) => links.iter_mut().filter_map(|l| l.queue.as_mut()).for_each(|q| q.aqm.clone_from(&spec)),
        }
        let (Some(a), Some(b)) = (try_run(&plan, seed), try_run(&other, seed)) else {
            return Err(TestCaseError::reject("refused"));
        };
        prop_assert_eq!(&a.flows.start_ns, &b.flows.start_ns);
        prop_assert_eq!(&a.flows.traffic, &b.flows.traffic);
        prop_assert_eq!(&a.flows.index, &b.flows.index);
        prop_assert_eq!(short(&plan, &a), short(&plan, &b));
        let (one, two) = (pages(&a), pages(&b));
        for (who, pages) in &one {
            for ((objects, bytes), (others, other)) in pages.iter().zip(two.get(who).into_iter().flatten()) {
                prop_assert_eq!(objects, others);
                prop_assert!(bytes.is_none() || other.is_none() || bytes == other);
            }
        }
        for i in 0..a.flows.traffic.len() {
            let group = &plan.traffic[a.flows.traffic[i] as usize];
            if let TrafficKind::UdpCbr { .. } | TrafficKind::UdpPoisson { .. } | TrafficKind::UdpOnoff { .. } = group.kind {
                prop_assert_eq!(a.flows.sent_packets[i], b.flows.sent_packets[i]);
            }
        }
    }
}

/// The start times of Poisson arrivals, and their sizes unless limited by a lifetime.
fn short(plan: &Plan, record: &Record) -> Vec<(u64, Option<u64>)> {
    let objects = &record.objects;
    let known = |i: usize| match plan.traffic[objects.traffic[i] as usize] {
        Traffic { kind: TrafficKind::TcpShort { size: Some(_), .. }, stop: None, .. } => {
            Some((objects.start_ns[i], Some(objects.bytes[i])))
        }
        Traffic { kind: TrafficKind::TcpShort { .. }, .. } => Some((objects.start_ns[i], None)),
        _ => None,
    };
    (0..objects.start_ns.len()).filter_map(known).collect()
}

type Page = (u64, Option<u64>);

/// The number of objects of each page of each session, and their bytes if all arrived.
fn pages(record: &Record) -> BTreeMap<(u32, u32), Vec<Page>> {
    let mut pages: BTreeMap<_, Vec<Page>> = BTreeMap::new();
    let columns = &record.pages;
    for i in 0..columns.start_ns.len() {
        let bytes = (columns.end_ns[i] < u64::MAX).then_some(columns.bytes[i]);
        pages.entry((columns.traffic[i], columns.index[i])).or_default().push((columns.objects[i], bytes));
    }
    pages
}

/// The additive counters, by name.
fn additive(queue: &QueueRecord) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, f64> = [
        ("arrivals", queue.arrivals as f64),
        ("arrived bytes", queue.arrived_bytes as f64),
        ("departures", queue.departures as f64),
        ("departed bytes", queue.departed_bytes as f64),
        ("dropped bytes", queue.dropped_bytes as f64),
        ("packet ns", queue.packet_ns),
        ("packet squared ns", queue.packet_squared_ns),
        ("byte ns", queue.byte_ns),
        ("idle ns", queue.idle_ns as f64),
        ("delay", queue.delay_sum_ns),
        ("delay squared", queue.delay_squared_ns),
        ("capacity", queue.capacity_bits),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for i in 0..queue.drops.len() {
        sums.insert(format!("drops {i}"), queue.drops[i] as f64);
        sums.insert(format!("marks {i}"), queue.marks[i] as f64);
    }
    let classes = &queue.classes;
    for (i, class) in classes.number.iter().enumerate() {
        for (name, value) in [
            ("arrivals", classes.arrivals[i] as f64),
            ("departed bytes", classes.departed_bytes[i] as f64),
            ("drops", classes.drops[i] as f64),
            ("marks", classes.marks[i] as f64),
            ("packet ns", classes.packet_ns[i]),
            ("delay", classes.delay_sum_ns[i]),
        ] {
            sums.insert(format!("class {class} {name}"), value);
        }
    }
    sums
}

/// Forty flows and some datagrams, with random demand.
fn crowd(aqm: &str) -> Plan {
    let tcp = || tcp(460, options("rfc", &[]));
    let uniform = Draw::Uniform(0.0, SECOND as f64);
    let mut groups = vec![
        traffic("ftp", 20, TrafficKind::Tcp(tcp())),
        traffic("cbr", 2, TrafficKind::UdpCbr { rate: MBIT, size: 573, jitter: 0.5 }),
        traffic(
            "onoff",
            5,
            TrafficKind::UdpOnoff { rate: MBIT, size: 500, on: Span(50 * MS), off: Span(50 * MS) },
        ),
        traffic(
            "bursts",
            5,
            TrafficKind::TcpOnoff { rate: MBIT, on: Span(50 * MS), off: Span(50 * MS), tcp: tcp() },
        ),
        traffic(
            "short",
            1,
            TrafficKind::TcpShort {
                arrivals: 10.0,
                size: Some(Draw::Exponential(20_000.0)),
                lifetime: None,
                tcp: tcp(),
            },
        ),
    ];
    for group in &mut groups {
        group.start = uniform;
    }
    plan(dumbbell(queue("50p", aqm)), groups, 5 * SECOND)
}

/// On an idle link, an on/off application sends as much through TCP as in datagrams.
#[test]
fn what_an_application_writes_is_what_a_datagram_source_sends() {
    let (rate, on, off) = (MBIT, 50 * MS, 50 * MS);
    let sums = |kind: TrafficKind| {
        let mut bell = dumbbell(queue("10000p", "droptail"));
        bell.rate = 1000 * MBIT;
        let mut group = traffic("bursts", 10, kind);
        group.stop = Some(Time(9 * SECOND));
        let record = run(&plan(bell, vec![group], 12 * SECOND), 1);
        (record.flows.received_packets.clone(), record.flows.goodput_bytes.iter().sum::<u64>())
    };
    let tcp = tcp(960, options("rfc", &[("syn", "off"), ("initial_window", "100")]));
    let (udp, bytes) = sums(TrafficKind::UdpOnoff { rate, size: 1000, on: Span(on), off: Span(off) });
    let (written, payload) = sums(TrafficKind::TcpOnoff { rate, on: Span(on), off: Span(off), tcp });
    assert_eq!(written, udp);
    assert_eq!(payload, bytes / 1000 * 960);
    assert!(written.iter().all(|n| *n > 300), "half of 9 s at 125 packets a second: {written:?}");
}

#[test]
fn another_seed_is_another_run() {
    let plan = crowd("red");
    let (a, b) = (run(&plan, 1), run(&plan, 2));
    assert_ne!(a.flows.start_ns, b.flows.start_ns);
    assert_ne!(a.objects.bytes, b.objects.bytes);
    assert_ne!(a.queues[0].arrivals, b.queues[0].arrivals);
    // All start times differ.
    let mut starts: Vec<_> = a.flows.start_ns.clone();
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), a.flows.start_ns.len());
}

/// The demand of a flow depends on its name and number only, not on flows of other traffic.
#[test]
fn a_group_more_leaves_the_others_demand_alone() {
    let (small, mut large) = (crowd("red"), crowd("red"));
    large
        .traffic
        .insert(0, traffic("more", 7, TrafficKind::UdpCbr { rate: MBIT / 4, size: 40, jitter: 0.3 }));
    let starts = |record: &Record, plan: &Plan| {
        let flows = &record.flows;
        let key = |i: usize| (plan.traffic[flows.traffic[i] as usize].name.clone(), flows.index[i]);
        (0..flows.index.len()).map(|i| (key(i), flows.start_ns[i])).collect::<BTreeMap<_, _>>()
    };
    let (few, more) = (starts(&run(&small, 1), &small), starts(&run(&large, 1), &large));
    assert_eq!(few.len() + 7, more.len());
    assert!(few.iter().all(|(key, start)| more[key] == *start));
}

/// Short flows only: `arrivals` per second, of exponential sizes with a mean of 5000 bytes.
fn visits(arrivals: f64) -> Plan {
    let size = Some(Draw::Exponential(5_000.0));
    let kind = TrafficKind::TcpShort { arrivals, size, lifetime: None, tcp: tcp(960, options("rfc", &[])) };
    let mut group = traffic("visits", 1, kind);
    group.start = Draw::Constant(3.0 * SECOND as f64);
    plan(dumbbell(queue("100p", "droptail")), vec![group], 103 * SECOND)
}

#[test]
fn short_flows_arrive_as_a_poisson_process() {
    let record = run(&visits(50.0), 1);
    let (starts, bytes) = (&record.objects.start_ns, &record.objects.bytes);
    assert!((4800..5200).contains(&starts.len()), "{} in 100 s", starts.len());
    assert!(starts[0] > 3 * SECOND);
    let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-9).collect();
    for (what, values, mean) in
        [("gaps", gaps, 0.02), ("sizes", bytes.iter().map(|n| *n as f64).collect(), 5000.0)]
    {
        let n = values.len() as f64;
        let first = values.iter().sum::<f64>() / n;
        let second = values.iter().map(|x| x * x).sum::<f64>() / n;
        assert!((first / mean - 1.0).abs() < 0.05, "mean of {what}: {first}");
        assert!((second / (2.0 * mean * mean) - 1.0).abs() < 0.1, "{what} are exponential: {second}");
        // Consecutive values are independent.
        let product = values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / (n - 1.0);
        assert!((product / (mean * mean) - 1.0).abs() < 0.1, "neighbours of {what}: {product}");
    }
}

/// The n-th short flow has the same demand, whenever it arrives.
#[test]
fn what_a_short_flow_wants_does_not_depend_on_the_time() {
    let (slow, fast) = (run(&visits(10.0), 1), run(&visits(20.0), 1));
    let n = slow.objects.bytes.len() - 20; // the last ones may be unfinished
    assert!(n > 800);
    assert_eq!(slow.objects.bytes[..n], fast.objects.bytes[..n]);
    assert_ne!(slow.objects.start_ns[..n], fast.objects.start_ns[..n]);
}

#[test]
fn a_cancelled_run_stops_without_a_record() {
    let plan = crowd("red");
    let control = Control::default();
    control.cancel.store(true, Ordering::Relaxed);
    let result = Simulation::new(&plan, 1).unwrap().run(&control);
    assert_eq!(result.unwrap_err(), RunError::Cancelled);
    // In the middle of the run, from another thread.
    let long = Plan { duration: Span(100_000 * SECOND), ..crowd("red") };
    let control = Control::default();
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| Simulation::new(&long, 1).unwrap().run(&control));
        while control.now_ns.load(Ordering::Relaxed) < SECOND {
            std::thread::yield_now();
        }
        control.cancel.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert_eq!(result.unwrap_err(), RunError::Cancelled);
    let reached = control.now_ns.load(Ordering::Relaxed);
    assert!((SECOND..1000 * SECOND).contains(&reached), "{reached}");
}

#[test]
fn progress_ends_at_the_end() {
    let (plan, control) = (crowd("droptail"), Control::default());
    Simulation::new(&plan, 1).unwrap().run(&control).unwrap();
    assert_eq!(control.now_ns.load(Ordering::Relaxed), plan.duration.0);
}
