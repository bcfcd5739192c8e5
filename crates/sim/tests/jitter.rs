//! Random send delays: their mean, the order of packets, and what they do to phase effects.
//!
//! Mutants that are detected: delays have half the maximum; one delay is drawn for each flow instead of each
//! packet.

use crate::support::{MBIT, MS, SECOND, access, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_sim::{
    Record,
    plan::{Draw, Dumbbell, Traffic, TrafficKind},
};

/// Two minutes of `count` connections with `extra` round trips beyond 50 ms, behind a buffer of 100 packets.
fn connections(count: u32, extra: &[u64], set: &[(&str, &str)]) -> Record {
    let kind = TrafficKind::Tcp(tcp(960, options("rfc", set)));
    let ftp = Traffic { start: Draw::Uniform(0.0, SECOND as f64), ..traffic("ftp", count, kind) };
    let delays: Vec<_> = extra.iter().map(|delay| delay / 2 + 5 * MS).collect();
    let bell = Dumbbell { access: access(100 * MBIT, &delays), ..dumbbell(queue("100p", "droptail")) };
    run(&plan(bell, vec![ftp], 120 * SECOND), 1)
}

/// Jain's index of what the flows received.
fn fairness(record: &Record) -> f64 {
    let each: Vec<_> = record.flows.goodput_bytes.iter().map(|bytes| *bytes as f64).collect();
    let sum: f64 = each.iter().sum();
    sum * sum / (each.len() as f64 * each.iter().map(|one| one * one).sum::<f64>())
}

/// A window of one packet: each round trip has one delay. Their sum has a deviation of 1 % of two minutes.
#[test]
fn a_packet_waits_for_half_of_the_jitter_on_average() {
    let trips = |jitter| {
        let set = [("receiver_window", "1"), ("send_jitter", jitter)];
        connections(1, &[0], &set).flows.received_packets[0] as f64
    };
    let (without, with) = (trips("0s"), trips("40ms"));
    let longer = 120e3 / with - 120e3 / without;
    assert!((19.0..21.0).contains(&longer), "{longer} ms");
}

/// The jitter is longer than the time of 30 packets on the sender's link.
#[test]
fn packets_of_a_flow_stay_in_order() {
    let record = connections(1, &[0], &[("send_jitter", "3ms"), ("receiver_window", "50")]);
    assert!(record.flows.received_packets[0] > 50_000);
    // A packet that overtakes others causes duplicate acknowledgements, and these a retransmission.
    assert_eq!((record.flows.retransmitted_packets[0], record.flows.timeouts[0]), (0, 0));
}

/// Floyd and Jacobson (1992): with exact round trips, the clock decides whose packets find a full buffer.
#[test]
fn a_microsecond_removes_the_phase_effects_of_drop_tail() {
    let trips = [0, 20 * MS, 40 * MS, 60 * MS, 80 * MS];
    let index =
        |jitter| fairness(&connections(100, &trips, &[("variant", "newreno"), ("send_jitter", jitter)]));
    let (without, with) = (index("0s"), index("1us"));
    assert!(without < 0.75 && with > 0.85, "{without} {with}");
}
