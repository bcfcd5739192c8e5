//! Four small runs, compared exactly: a change of behaviour appears as a readable difference.
//!
//! After an intended change: `BLESS=1 cargo test -p sojourn-sim golden`; then review the diff of
//! `tests/golden/` and give the reason in the commit. The last line is a hash of the values of all columns.

use crate::support::{MBIT, MS, SECOND, access, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::{Conventions, Span, Time};
use sojourn_sim::{
    Plan, Record,
    plan::{Access, Draw, Dumbbell, Link, QueueConfig, Topology, Trace, TrafficKind},
};
use std::{env, fmt::Write, fs, path::Path};

/// Twelve NewReno flows and some datagrams through RED.
fn red() -> Plan {
    let tcp = tcp(960, options("rfc", &[]));
    let mut groups = vec![
        traffic("ftp", 12, TrafficKind::Tcp(tcp)),
        traffic("cbr", 2, TrafficKind::UdpCbr { rate: MBIT / 4, size: 573, jitter: 0.5 }),
    ];
    groups[0].start = Draw::Uniform(0.0, SECOND as f64);
    let mut dumbbell = dumbbell(queue("60p", "red min_th 10p max_th 30p max_p 0.1 w_q 0.005"));
    dumbbell.access = access(100 * MBIT, &[5 * MS, 20 * MS, 50 * MS]);
    Plan { warmup: Time(2 * SECOND), ..plan(dumbbell, groups, 10 * SECOND) }
}

/// SACK with ECN and delayed acknowledgements through PI, with files of 20 kB on average.
fn marks() -> Plan {
    let tcp = || tcp(1460, options("rfc", &[("variant", "sack"), ("ecn", "on"), ("delayed_ack", "100ms")]));
    let size = Some(Draw::Exponential(20_000.0));
    let files = TrafficKind::TcpShort { arrivals: 8.0, size, lifetime: None, tcp: tcp() };
    let groups = vec![traffic("ftp", 6, TrafficKind::Tcp(tcp())), traffic("files", 1, files)];
    let queue = QueueConfig { ecn: true, ..queue("100p", "pi q_ref 20p a 0.0018 b 0.0017") };
    plan(Dumbbell { rate: 5 * MBIT, ..dumbbell(queue) }, groups, 10 * SECOND)
}

/// Three congested links in a row, in both directions.
fn parking_lot() -> Plan {
    let link = |from: &str, to: &str, rate, queue| Link {
        from: from.to_owned(),
        to: to.to_owned(),
        rate,
        delay: Span(5 * MS),
        capacity: None,
        impairment: None,
        queue,
    };
    let mut links = Vec::new();
    for (i, aqm) in ["droptail", "raqm", "avq"].into_iter().enumerate() {
        let (a, b) = (format!("R{i}"), format!("R{}", i + 1));
        links.push(link(&a, &b, 2 * MBIT, Some(queue("30kB", aqm))));
        links.push(link(&b, &a, 2 * MBIT, Some(queue("30p", "droptail overflow head"))));
    }
    for i in 0..4 {
        let (host, router) = (format!("h{i}"), format!("R{i}"));
        links.push(link(&host, &router, 10 * MBIT, None));
        links.push(link(&router, &host, 10 * MBIT, None));
    }
    let tcp = |variant| tcp(960, options("ns2", &[("variant", variant)]));
    let onoff = TrafficKind::UdpOnoff { rate: MBIT, size: 500, on: Span(200 * MS), off: Span(300 * MS) };
    let mut groups = vec![
        traffic("through", 3, TrafficKind::Tcp(tcp("reno"))),
        traffic("back", 2, TrafficKind::Tcp(tcp("newreno"))),
        traffic("first", 1, TrafficKind::Tcp(tcp("sack"))),
        traffic("last", 2, onoff),
    ];
    for (group, (from, to)) in groups.iter_mut().zip([("h0", "h3"), ("h3", "h0"), ("h0", "h1"), ("h2", "h3")])
    {
        (group.from, group.to) = (vec![from.to_owned()], vec![to.to_owned()]);
    }
    Plan {
        topology: Topology::Graph(links),
        measure: Some("R1-R2".to_owned()),
        conventions: Conventions::Ns2,
        ..plan(dumbbell(queue("1p", "droptail")), groups, 15 * SECOND)
    }
}

/// ns-2's Reno through a small buffer with random drops, shared hosts, and transfers of limited duration.
fn small_buffer() -> Plan {
    let tcp = || tcp(460, options("ns2-2001", &[("variant", "reno"), ("receiver_window", "20")]));
    let lifetime = Some(Draw::Uniform(0.5 * SECOND as f64, 2.0 * SECOND as f64));
    let mut groups = vec![
        traffic("ftp", 10, TrafficKind::Tcp(tcp())),
        traffic("visits", 1, TrafficKind::TcpShort { arrivals: 2.0, size: None, lifetime, tcp: tcp() }),
        traffic("home", 2, TrafficKind::Tcp(tcp())),
    ];
    groups[2].reverse = true;
    groups[0].stop = Some(Time(8 * SECOND));
    let dumbbell = Dumbbell {
        rate: 2 * MBIT,
        access: Access { nodes: Some(3), ..access(10 * MBIT, &[2 * MS, 30 * MS]) },
        reverse_queue: Some(queue("10p", "red")),
        ..dumbbell(queue("12p", "rem b_star 4p overflow random"))
    };
    Plan { conventions: Conventions::Ns2, ..plan(dumbbell, groups, 12 * SECOND) }
}

/// A readable summary of a record.
fn table(plan: &Plan, record: &Record) -> String {
    let span = (record.window.end - record.window.start).0 as f64;
    let mut out = String::from(
        "queue        arrivals departures  overflow     early    forced    marks  mean queue  mean delay ms\n",
    );
    for q in &record.queues {
        let (mean, delay) = (q.packet_ns / span, q.delay_sum_ns / q.departures.max(1) as f64 / 1e6);
        let marks: u64 = q.marks.iter().sum();
        let (name, arrivals, departures) = (&q.name, q.arrivals, q.departures);
        let [overflow, early, forced, ..] = q.drops;
        writeln!(out, "{name:<10} {arrivals:>10} {departures:>10} {overflow:>9} {early:>9} {forced:>9} {marks:>8} {mean:>11.4} {delay:>14.4}").unwrap();
    }
    out += "\ntraffic         flows       sent retransmitted  timeouts   cuts   received   goodput B\n";
    for (number, group) in plan.traffic.iter().enumerate() {
        let rows: Vec<usize> =
            (0..record.flows.traffic.len()).filter(|i| record.flows.traffic[*i] as usize == number).collect();
        let sum = |column: &[u64]| rows.iter().map(|i| column[*i]).sum::<u64>();
        let f = &record.flows;
        let (sent, again) = (sum(&f.sent_packets), sum(&f.retransmitted_packets));
        let (timeouts, cuts, received) = (sum(&f.timeouts), sum(&f.window_cuts), sum(&f.received_packets));
        let (flows, goodput) = (rows.len(), sum(&f.goodput_bytes));
        let name = &group.name;
        writeln!(out, "{name:<10} {flows:>10} {sent:>10} {again:>13} {timeouts:>9} {cuts:>6} {received:>10} {goodput:>11}").unwrap();
    }
    let objects = &record.objects;
    let done: Vec<u64> = (0..objects.end_ns.len())
        .filter(|i| objects.end_ns[*i] < u64::MAX)
        .map(|i| objects.end_ns[i] - objects.start_ns[i])
        .collect();
    let mean = done.iter().sum::<u64>() as f64 / done.len().max(1) as f64 / 1e9;
    writeln!(out, "\ntransfers {}, done {}, mean time {mean:.6} s", objects.start_ns.len(), done.len())
        .unwrap();
    writeln!(
        out,
        "drops {}, window changes {}, samples {}",
        record.drops.time_ns.len(),
        record.cwnd.time_ns.len(),
        record.series.queues[0].packets.len()
    )
    .unwrap();
    writeln!(out, "columns {:016x}", hash(record)).unwrap();
    out
}

/// FNV-1a over the values of every column.
fn hash(record: &Record) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut one = |bits: u64| {
        for byte in bits.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for q in &record.queues {
        let whole = [
            q.arrivals,
            q.arrived_bytes,
            q.departures,
            q.departed_bytes,
            q.dropped_bytes,
            q.max_packets,
            q.idle_ns,
        ];
        let floats = [q.packet_ns, q.packet_squared_ns, q.byte_ns, q.delay_sum_ns, q.delay_squared_ns];
        let columns = [&q.delay_edges_ns, &q.delay_counts, &q.run_lengths, &q.run_counts];
        whole.into_iter().chain(q.drops).chain(q.marks).for_each(&mut one);
        floats.into_iter().map(f64::to_bits).for_each(&mut one);
        columns.into_iter().flatten().copied().for_each(&mut one);
    }
    let f = &record.flows;
    for column in [
        &f.start_ns,
        &f.queue_arrivals,
        &f.queue_drops,
        &f.queue_marks,
        &f.sent_packets,
        &f.retransmitted_packets,
        &f.timeouts,
        &f.window_cuts,
        &f.received_packets,
        &f.goodput_bytes,
    ] {
        column.iter().copied().for_each(&mut one);
    }
    let o = &record.objects;
    for column in [&o.start_ns, &o.end_ns, &o.bytes] {
        column.iter().copied().for_each(&mut one);
    }
    for s in &record.series.queues {
        s.packets.iter().chain(&s.arrivals).chain(&s.drops).map(|n| u64::from(*n)).for_each(&mut one);
        s.mean_packets
            .iter()
            .chain(&s.mean_square_packets)
            .chain(s.probes.iter().flat_map(|p| &p.1))
            .map(|x| x.to_bits())
            .for_each(&mut one);
    }
    let (d, c) = (&record.drops, &record.cwnd);
    d.time_ns.iter().chain(&d.arrival).chain(&c.time_ns).copied().for_each(&mut one);
    d.sequence.iter().chain(&d.flow).chain(&d.queue_packets).map(|n| u64::from(*n)).for_each(&mut one);
    c.cwnd.iter().chain(&c.ssthresh).map(|x| x.to_bits()).for_each(&mut one);
    hash
}

fn hold(name: &str, mut plan: Plan) {
    plan.trace = Trace { interval: Some(Span(100 * MS)), drops: true, cwnd: true, ..Trace::default() };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    let seen = table(&plan, &run(&plan, 1));
    if env::var_os("BLESS").is_some() {
        fs::write(&path, seen).unwrap();
        return;
    }
    let held = fs::read_to_string(&path).unwrap_or_default();
    assert!(held == seen, "{name} has changed (BLESS=1 accepts it)\n--- held\n{held}\n--- seen\n{seen}");
}

#[test]
fn red_is_as_it_was() {
    hold("red", red());
}

#[test]
fn marks_are_as_they_were() {
    hold("marks", marks());
}

#[test]
fn the_parking_lot_is_as_it_was() {
    hold("parking_lot", parking_lot());
}

#[test]
fn the_small_buffer_is_as_it_was() {
    hold("small_buffer", small_buffer());
}
