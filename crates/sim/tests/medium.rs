//! Links that have to get their medium: aggregates with contention, requests and grants.
//!
//! Mutants that are detected: an aggregate of one packet more; no limit of its duration; no overhead, or one
//! for each packet. Those of grants are found by the tests of `link/medium.rs`.

use crate::support::{MBIT, MS, SECOND, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::Span;
use sojourn_sim::{
    FastPath, Record, SlowPathReason,
    plan::{Draw, Dumbbell, Medium, QueueConfig, TrafficKind},
};

/// Datagrams of 1000 bytes, each `gap`, for 10 s over a link of 8 Mbit/s: each takes 1 ms.
fn datagrams(medium: Medium, gap: u64) -> Record {
    let kind = TrafficKind::UdpCbr { rate: 8_000_000_000_000 / gap, size: 1000, jitter: 0.0 };
    let queue = QueueConfig { medium: Some(medium), ..queue("100p", "droptail") };
    let bell = Dumbbell { rate: 8 * MBIT, ..dumbbell(queue) };
    run(&plan(bell, vec![traffic("cbr", 1, kind)], 10 * SECOND), 1)
}

fn contention(packets: u32, time_ms: u64, overhead_ms: f64) -> Medium {
    let overhead = Draw::Constant(overhead_ms * MS as f64);
    Medium::Contention { packets, time: Span::from_millis(time_ms), overhead }
}

fn grants(cycle_ms: u64, delay_ms: u64) -> Medium {
    Medium::Grants { cycle: Span::from_millis(cycle_ms), delay: Span::from_millis(delay_ms) }
}

/// An overloaded link sends whole aggregates: four packets each 1 + 4 ms, and two where the time is 2 ms.
#[test]
fn an_aggregate_has_one_overhead_and_its_limits() {
    for (packets, time_ms, of, ms) in [(4, 100, 4, 5), (100, 2, 2, 3), (100, 3, 3, 4), (1, 100, 1, 2)] {
        let record = datagrams(contention(packets, time_ms, 1.0), MS / 2);
        let expected = 10_000 * of / ms;
        let departures = record.queues[0].departures;
        assert!(departures.abs_diff(expected) <= 8, "{departures} and {expected}");
        assert!(record.queues[0].idle_ns < 20 * MS, "the first packet arrives soon");
        assert_eq!(record.deliveries.reordered_packets[0], 0);
        assert_eq!(record.fast_path, FastPath::No(SlowPathReason::Medium));
    }
}

/// A packet each 20 ms finds the medium free: it waits for the overhead of 3 ms, which is no queueing delay.
#[test]
fn a_single_packet_waits_for_the_overhead() {
    let delay_of = |overhead_ms| {
        let record = datagrams(contention(64, 4, overhead_ms), 20 * MS);
        assert_eq!(record.queues[0].delay_max_ns, 0);
        record.deliveries.delay_min_ns[0]
    };
    assert_eq!(delay_of(3.0) - delay_of(0.0), 3 * MS);
}

/// A packet each 4 ms, an overhead of 10 ms, 1 ms a packet: aggregates have 3 1/3 packets on average, and
/// last 13 1/3 ms. Packets that arrive together were sent 4 ms apart: their delays differ by that, in 7 of 10
/// cases, else by 9 1/3 ms; the mean is 5.6 ms. One by one it would be 4.2 ms.
#[test]
fn the_packets_of_an_aggregate_arrive_together() {
    let record = datagrams(contention(64, 100, 10.0), 4 * MS);
    let jitter = record.deliveries.jitter_ns[0] as f64 / record.deliveries.jitter_pairs[0] as f64;
    assert!((5.3e6..5.7e6).contains(&jitter), "{jitter}");
}

/// A packet at a random phase: its grant begins 3 to 5 ms later, at a multiple of 2 ms.
#[test]
fn a_single_packet_waits_for_its_grant() {
    let record = datagrams(grants(2, 3), 7 * MS);
    let queue = &record.queues[0];
    assert!(queue.delay_max_ns >= 3 * MS && queue.delay_max_ns < 5 * MS, "{}", queue.delay_max_ns);
    assert_eq!(queue.drops.iter().sum::<u64>(), 0);
    let mean = queue.delay_sum_ns / queue.departures as f64 / MS as f64;
    assert!((3.5..4.5).contains(&mean), "{mean}");
}

/// An overloaded link has a grant for all of each cycle.
#[test]
fn grants_use_the_whole_link() {
    let record = datagrams(grants(2, 3), MS / 2);
    let departures = record.queues[0].departures;
    assert!(departures.abs_diff(10_000) <= 10, "{departures}");
}

/// TCP over a medium in each direction: the round trip has both.
#[test]
fn each_direction_has_its_own_medium() {
    let kind = TrafficKind::Tcp(tcp(960, options("linux", &[])));
    let with = |medium: Option<Medium>, reverse: Option<Medium>| {
        let forward = QueueConfig { medium, ..queue("100p", "droptail") };
        let back = QueueConfig { medium: reverse, ..queue("100p", "droptail") };
        let bell = Dumbbell { reverse_queue: Some(back), ..dumbbell(forward) };
        let record = run(&plan(bell, vec![traffic("ftp", 1, kind.clone())], 10 * SECOND), 1);
        let waits = |queue: usize| record.queues[queue].delay_sum_ns / record.queues[queue].departures as f64;
        (waits(0), waits(1), record.flows.goodput_bytes[0])
    };
    let (plain, granted) = (with(None, None), with(None, Some(grants(2, 3))));
    assert!(plain.1 < 1e3 && (3e6..5e6).contains(&granted.1), "{} {}", plain.1, granted.1);
    let contended = with(Some(contention(32, 4, 1.0)), None);
    assert!(contended.2 < plain.2 && contended.2 > plain.2 / 2, "{} {}", contended.2, plain.2);
}
