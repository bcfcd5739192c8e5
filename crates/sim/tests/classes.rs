//! Classes and schedulers in small plans, with expected counts derived by hand.
//!
//! Mutants that are detected: class 0 counts all packets; datagrams are not marked; the marker loses the AF
//! class; a packet that a scheduler marks departs unmarked.

use crate::support::{MBIT, MS, SECOND, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::Span;
use sojourn_sim::{
    Plan, Record, Simulation,
    plan::{Draw, Trace, TrafficKind},
};

/// Packets of 1000 bytes, one every 0.8 ms, on a link that needs 1 ms for each.
fn two_streams(aqm: &str, marker: Option<&str>) -> Plan {
    let cbr = TrafficKind::UdpCbr { rate: 5 * MBIT, size: 1000, jitter: 0.0 };
    let mut groups = vec![traffic("a", 1, cbr.clone()), traffic("b", 1, cbr)];
    groups[0].class = 1;
    groups[1].start = Draw::Constant(0.8 * MS as f64);
    groups[1].marker = marker.map(str::to_owned);
    let mut dumbbell = dumbbell(queue("10p", aqm));
    dumbbell.rate = 8 * MBIT;
    Plan {
        trace: Trace { interval: Some(Span(100 * MS)), ..Trace::default() },
        ..plan(dumbbell, groups, SECOND)
    }
}

fn class(record: &Record, number: u8) -> (u64, u64, f64) {
    let classes = &record.queues[0].classes;
    let row = classes.number.iter().position(|n| *n == number).expect("it occurs");
    (
        classes.arrivals[row],
        classes.drops[row],
        classes.delay_sum_ns[row] / classes.departures[row] as f64 / 1e6,
    )
}

#[test]
fn strict_priority_is_strict() {
    let record = run(&two_streams("prio evict lowest", None), 1);
    let (arrivals, drops, delay) = class(&record, 0);
    assert_eq!((arrivals, drops), (622, 0), "994.12 ms, one every 1.6 ms");
    assert!(delay <= 1.0, "it waits for at most one packet, {delay} ms");
    let (arrivals, drops, delay) = class(&record, 1);
    assert!(arrivals == 622 && (226..=240).contains(&drops), "{arrivals} {drops}");
    assert!((20.0..27.0).contains(&delay), "ten packets at 3/8 of the link, {delay} ms");
    let series = &record.series.queues[0];
    assert_eq!(series.class_packets[0].0, 0);
    assert!(series.class_packets[1].1.iter().skip(2).all(|n| *n >= 8));
    let names: Vec<&str> = series.probes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["0.packets", "1.packets", "2.packets"]);
    assert!(series.probes[1].1.iter().zip(&series.class_packets[1].1).all(|(a, b)| *a == f64::from(*b)));
}

#[test]
fn round_robin_is_fair_to_classes() {
    let record = run(&two_streams("drr w_0 3", None), 1);
    let (_, drops, _) = class(&record, 0);
    assert_eq!(drops, 0, "3/4 of the link are more than its demand");
    let record = run(&two_streams("drr", None), 1);
    let served = |class: usize| record.queues[0].classes.departures[class];
    assert!(served(0).abs_diff(served(1)) <= 1);
}

/// A token bucket of 2 Mbit/s and three packets: with one packet every 1.6 ms, 40 % of the bytes are in
/// profile.
#[test]
fn a_marker_at_the_edge_gives_classes() {
    let mut plan = two_streams("droptail", Some("token_bucket cir 2Mbit/s cbs 3kB"));
    plan.traffic.remove(0);
    let record = run(&plan, 1);
    assert_eq!(class(&record, 0).0 + class(&record, 1).0, 622);
    assert!(class(&record, 0).0.abs_diff(622 * 4 / 10 + 3) <= 1, "{:?}", class(&record, 0));
    // The class stays AF2; a packet that arrives yellow cannot become green.
    plan.traffic[0].class = 4;
    plan.traffic[0].marker = Some("srtcm cir 2Mbit/s cbs 3kB ebs 3kB colour_aware".to_owned());
    assert_eq!(run(&plan, 1).queues[0].classes.number, [4, 5]);
}

/// Each flow has a bucket of its own, also of TCP; acknowledgements are not marked.
#[test]
fn every_flow_has_its_own_profile() {
    let mut group = traffic("ftp", 4, TrafficKind::Tcp(tcp(960, options("rfc", &[]))));
    group.marker = Some("token_bucket cir 1Mbit/s cbs 100kB".to_owned());
    let mut dumbbell = dumbbell(queue("200p", "droptail"));
    dumbbell.reverse_queue = Some(queue("200p", "droptail"));
    let record = run(&plan(dumbbell, vec![group], 20 * SECOND), 1);
    let in_profile = record.queues[0].classes.departed_bytes[0] as f64 * 8.0 / 20.0;
    assert!((in_profile / 4e6 - 1.0).abs() < 0.06, "{in_profile} bit/s of 4 x 1 Mbit/s are in profile");
    assert_eq!(record.queues[0].classes.number, [0, 1]);
    assert_eq!(record.queues[1].classes.number, [0]);
}

#[test]
fn a_marker_that_cannot_be_is_refused() {
    for (marker, number, key, problem) in [
        ("red", 0, "traffic.b.marker", "is not a marker"),
        ("token_bucket cir 1Mbit", 0, "traffic.b.marker", "token_bucket.cbs is missing"),
        ("tsw2cm cir 1Mbit", 253, "traffic.b.class", "leaves no room"),
    ] {
        let mut plan = two_streams("droptail", Some(marker));
        plan.traffic[1].class = number;
        let Err(error) = Simulation::new(&plan, 1) else { panic!("{marker} was not refused") };
        let text = error.to_string();
        assert!(error.key.starts_with(key) && text.contains(problem), "{text}");
    }
}

/// Marks of a scheduler reach the receiver: senders slow down although no packet is lost.
#[test]
fn marks_of_a_scheduler_reach_the_senders() {
    let tcp = tcp(960, options("rfc", &[("ecn", "on")]));
    let plan = plan(
        dumbbell(queue("1000p", "fq_codel")),
        vec![traffic("ftp", 2, TrafficKind::Tcp(tcp))],
        20 * SECOND,
    );
    let record = run(&plan, 1);
    let (marks, drops): (u64, u64) =
        (record.queues[0].marks.iter().sum(), record.queues[0].drops.iter().sum());
    assert!(marks > 5 && drops == 0, "{marks} marks, {drops} drops");
    assert!(record.flows.window_cuts.iter().all(|cuts| *cuts > 2), "{:?}", record.flows.window_cuts);
}
