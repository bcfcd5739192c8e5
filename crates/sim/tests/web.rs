//! Web traffic: response times that can be computed by hand, and demand that does not depend on the
//! algorithm.

use crate::support::{MBIT, MS, SECOND, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_sim::{
    Plan, Record,
    plan::{Draw, Stagger, Tcp, TrafficKind, Web},
};
use std::collections::BTreeMap;

/// Requests of 100 bytes on the wire, objects of 2880 bytes in three packets of 1000.
fn three_packets() -> Web {
    Web {
        pages: None,
        page_gap: Draw::Constant(100.0 * MS as f64),
        from_start: false,
        objects: Draw::Constant(1.0),
        object_gap: Draw::Constant(10.0 * MS as f64),
        size: Draw::Constant(2880.0),
        patience: None,
        request: 60,
        respond_late: false,
        tcp: tcp(960, options("rfc", &[("syn", "off")])),
    }
}

fn look(web: Web, sessions: u32, aqm: &str, duration: u64) -> Plan {
    plan(dumbbell(queue("100p", aqm)), vec![traffic("web", sessions, TrafficKind::Web(web))], duration)
}

/// One-way delay across an idle dumbbell: 100, 10 and 100 Mbit/s, 5 + 15 + 5 ms.
fn crossing(bytes: u64) -> u64 {
    25 * MS + bytes * 8 * (10 + 100 + 10)
}

/// Transmission time on the bottleneck.
const PACKET: u64 = 1000 * 800;
/// Transmission time of the acknowledgement of the request on the link of the server, before the object.
const ACK: u64 = 40 * 80;

fn times(record: &Record) -> Vec<(u64, u64)> {
    record.pages.start_ns.iter().copied().zip(record.pages.end_ns.iter().copied()).collect()
}

/// Sessions are rows without flows at the start, so that rows and flows of later traffic have different
/// numbers. Detects that flows count in the row of their own number.
#[test]
fn every_flow_counts_in_the_row_of_its_source() {
    let short = TrafficKind::TcpShort {
        tcp: tcp(960, options("rfc", &[])),
        size: Some(Draw::Constant(5000.0)),
        arrivals: 5.0,
        lifetime: None,
    };
    let groups = vec![
        traffic("web", 3, TrafficKind::Web(three_packets())),
        traffic("greedy", 2, TrafficKind::Tcp(tcp(960, options("rfc", &[])))),
        traffic("short", 1, short),
    ];
    let mut plan = plan(dumbbell(queue("10p", "droptail")), groups, 4 * SECOND);
    plan.trace.drops = true;
    let Record { flows, drops, .. } = run(&plan, 1);
    assert!(flows.traffic.len() > 10 && flows.traffic[..6] == [0, 0, 0, 1, 1, 2]);
    let sent: Vec<u64> = flows.sent_packets[..6].to_vec();
    assert!(sent[3].min(sent[4]) > 500 && sent[5] < 20 && sent[..3].iter().all(|n| *n < 400), "{sent:?}");
    for (row, counted) in flows.queue_drops.iter().enumerate() {
        let traced = drops.flow.iter().filter(|flow| **flow as usize == row).count();
        assert_eq!(traced as u64, *counted, "row {row}");
    }
}

#[test]
fn a_response_time_is_that_of_the_request_and_of_the_object() {
    let object = crossing(1000) + 2 * PACKET;
    let now = crossing(100) + ACK + object;
    let late = crossing(100) + crossing(40) + object;
    let record = run(&look(three_packets(), 1, "droptail", SECOND), 1);
    assert_eq!(record.objects.start_ns[0], 0);
    assert_eq!(record.objects.end_ns[0], now);
    assert_eq!(record.objects.bytes[0], 2880);
    let web = Web { respond_late: true, ..three_packets() };
    assert_eq!(run(&look(web, 1, "droptail", SECOND), 1).objects.end_ns[0], late);
    // A SYN exchange precedes the request, but not the object.
    let web = Web { tcp: tcp(960, options("rfc", &[])), ..three_packets() };
    assert_eq!(run(&look(web, 1, "droptail", SECOND), 1).objects.end_ns[0], 2 * crossing(40) + now);
}

#[test]
fn a_page_is_over_when_all_its_objects_are_and_the_next_one_begins_a_gap_later() {
    let alone = crossing(100) + ACK + crossing(1000) + 2 * PACKET;
    let page = 2 * 10 * MS + alone; // the third object is requested 20 ms after the first
    let web = Web { objects: Draw::Constant(2.5), ..three_packets() };
    let record = run(&look(web.clone(), 1, "droptail", SECOND), 1);
    let period = page + 100 * MS;
    for (i, (start, end)) in times(&record).into_iter().enumerate().take(5) {
        assert_eq!((start, end), (i as u64 * period, i as u64 * period + page));
    }
    assert_eq!(record.pages.objects[0], 3);
    assert_eq!(record.pages.bytes[0], 3 * 2880);
    let web = Web { from_start: true, pages: Some(4), ..web };
    let record = run(&look(web, 1, "droptail", SECOND), 1);
    assert_eq!(times(&record), (0..4).map(|i| (i * 100 * MS, i * 100 * MS + page)).collect::<Vec<_>>());
    assert_eq!(record.objects.start_ns.len(), 12);
}

/// A session is one row, which sums the counters of its flows; requests do not count as goodput.
#[test]
fn goodput_is_what_arrived_of_the_objects() {
    let web = Web { size: Draw::Lomax(8000.0, 1.5), objects: Draw::Pareto(3.0, 1.2), ..three_packets() };
    let record = run(&look(web, 20, "red", 20 * SECOND), 1);
    assert_eq!(record.flows.index, (0..20).collect::<Vec<_>>());
    assert!(record.flows.crosses.iter().all(|crosses| *crosses == 1));
    for session in 0..20 {
        let (mut done, mut asked, mut requests) = (0, 0, 0);
        for i in (0..record.objects.index.len()).filter(|i| record.objects.index[*i] == session) {
            asked += record.objects.bytes[i];
            done += record.objects.bytes[i] * u64::from(record.objects.end_ns[i] < u64::MAX);
            requests += 1;
        }
        let goodput = record.flows.goodput_bytes[session as usize];
        assert!(done <= goodput && goodput <= asked, "{done} {goodput} {asked}");
        assert!(requests > 10 && record.flows.sent_packets[session as usize] > 2 * requests);
    }
}

/// Numbers, servers and sizes depend on session, page and object only, not on the network.
#[test]
fn what_a_session_wants_does_not_depend_on_the_algorithm() {
    let web = Web {
        size: Draw::Lomax(12_000.0, 1.2),
        objects: Draw::Pareto(4.0, 1.2),
        page_gap: Draw::Pareto(SECOND as f64, 2.0),
        ..three_packets()
    };
    let wanted = |aqm: &str| {
        let mut plan = look(web.clone(), 60, aqm, 20 * SECOND);
        plan.traffic[0].start = Draw::Uniform(0.0, SECOND as f64);
        if let sojourn_sim::plan::Topology::Dumbbell(d) = &mut plan.topology {
            d.rate = 3 * MBIT;
        }
        let record = run(&plan, 1);
        let mut pages: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for i in 0..record.pages.index.len() {
            let whole = if record.pages.end_ns[i] < u64::MAX { record.pages.bytes[i] } else { 0 };
            pages.entry(record.pages.index[i]).or_default().push((record.pages.objects[i], whole));
        }
        (pages, record.pages.start_ns)
    };
    let ((one, begun), (two, other)) = (wanted("droptail"), wanted("red min_th 2p max_th 5p max_p 0.5"));
    assert_ne!(begun, other);
    let mut compared = 0;
    for (session, pages) in &one {
        for (a, b) in pages.iter().zip(&two[session]) {
            assert_eq!(a.0, b.0);
            if a.1 > 0 && b.1 > 0 {
                assert_eq!(a.1, b.1);
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Means of draws: 4 objects rounded up are 4.44, and the sessions offer their share.
#[test]
fn sessions_offer_what_the_model_says() {
    let web = Web {
        size: Draw::Uniform(1000.0, 3000.0),
        objects: Draw::Pareto(4.0, 1.2),
        page_gap: Draw::Exponential(SECOND as f64),
        object_gap: Draw::Constant(MS as f64),
        from_start: true,
        ..three_packets()
    };
    let record = run(&look(web, 30, "droptail", 100 * SECOND), 1);
    let pages = record.pages.start_ns.len() as f64;
    assert!((pages / 3000.0 - 1.0).abs() < 0.05, "{pages}");
    let size = record.objects.bytes.iter().sum::<u64>() as f64 / record.objects.bytes.len() as f64;
    assert!((size / 2000.5 - 1.0).abs() < 0.02, "{size}");
    // The variance is infinite, so shares are compared: 38.5 % of pages have one object (1 - (2/3)^1.2).
    let one = record.pages.objects.iter().filter(|n| **n == 1).count() as f64 / pages;
    assert!((one - 0.3853).abs() < 0.03, "{one}");
}

/// Objects are aborted after 40 ms, with the response in flight: the next page starts at once, no object
/// counts as arrived, and packets in flight are still forwarded.
#[test]
fn an_object_that_takes_too_long_is_given_up() {
    let patience = Some(Draw::Constant(40.0 * MS as f64));
    let web = Web { patience, page_gap: Draw::Constant(0.0), pages: Some(3), ..three_packets() };
    let record = run(&look(web.clone(), 1, "droptail", SECOND), 1);
    assert_eq!(record.objects.start_ns, [0, 40 * MS, 80 * MS]);
    assert_eq!(record.objects.end_ns, [u64::MAX; 3]);
    assert_eq!(record.pages.end_ns, [u64::MAX; 3]);
    assert_eq!(record.flows.sent_packets, [3 * (1 + 3)]);
    assert_eq!(record.flows.goodput_bytes, [3 * 2880]);
    // An object arrives if the patience is a little longer than the transfer; if the request is aborted
    // before it reaches the server, there is no response.
    let ended = |ms: u64| {
        let patience = Some(Draw::Constant((ms * MS) as f64));
        let record = run(&look(Web { patience, ..web.clone() }, 1, "droptail", SECOND), 1);
        (record.objects.end_ns[0], record.flows.sent_packets[0])
    };
    let alone = crossing(100) + ACK + crossing(1000) + 2 * PACKET;
    assert_eq!(ended(53), (alone, 12));
    assert_eq!(ended(52), (u64::MAX, 12));
    assert_eq!(ended(20), (u64::MAX, 3));
}

/// Connections that are replaced when they end: their number is that of the sessions, which grows in steps.
#[test]
fn a_number_of_connections_grows_in_steps_and_is_held() {
    let web = Web {
        page_gap: Draw::Constant(0.0),
        size: Draw::Uniform(5_000.0, 50_000.0),
        patience: Some(Draw::Exponential(SECOND as f64)),
        ..three_packets()
    };
    let mut plan = look(web, 30, "red", 10 * SECOND);
    plan.traffic[0].stagger = Some(Stagger { every: Draw::Constant(0.5 * SECOND as f64), by: 10 });
    let record = run(&plan, 1);
    let steps: Vec<u64> = (0..30).map(|i| i / 10 * SECOND / 2).collect();
    assert_eq!(record.flows.start_ns, steps);
    let objects = &record.objects;
    for at in [0, SECOND / 4, SECOND * 3 / 4, 2 * SECOND, 7 * SECOND] {
        let begun = (0..objects.start_ns.len()).filter(|i| objects.start_ns[*i] <= at);
        let sessions: std::collections::BTreeSet<u32> = begun.map(|i| objects.index[i]).collect();
        assert_eq!(sessions.len() as u64, (10 * (at / (SECOND / 2) + 1)).min(30));
    }
    // One object per session at a time: the next one starts when the previous one ends.
    for session in 0..30 {
        let own: Vec<usize> = (0..objects.index.len()).filter(|i| objects.index[*i] == session).collect();
        assert!(own.len() > 3);
        for pair in own.windows(2) {
            let (end, next) = (objects.end_ns[pair[0]], objects.start_ns[pair[1]]);
            assert!(end == u64::MAX || end == next);
        }
    }
}

/// Ten packets of 1000 bytes at 1 Mbit/s: one every 8 ms with any window.
#[test]
fn a_connection_sends_no_faster_than_its_cap() {
    let tcp =
        Tcp { max_rate: Some(MBIT), ..tcp(960, options("rfc", &[("syn", "off"), ("initial_window", "10")])) };
    let web = Web { tcp, size: Draw::Constant(9600.0), pages: Some(1), ..three_packets() };
    let record = run(&look(web, 1, "droptail", SECOND), 1);
    assert_eq!(record.objects.end_ns[0], crossing(100) + 9 * 8 * MS + crossing(1000));
    assert!(record.queues[0].packet_ns < 1.0, "nothing waits");
}
