//! One flow through ns-2's dumbbell: nothing in it is random, so every drop and every window must agree.
//!
//! What ns-2 did is under `validation/ns2/traces`; its README says where it comes from.

use crate::support::{SECOND, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_sim::{
    Plan, Record,
    plan::{Kind, Trace},
};
use std::{fs, path::PathBuf};

fn file(name: &str) -> PathBuf {
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/ns2/traces");
    PathBuf::from(std::env::var("NS2_TRACES").unwrap_or_else(|_| traces.to_owned())).join(name)
}

/// The rows of a table of numbers, its heading left out.
fn rows(name: &str) -> Vec<Vec<f64>> {
    let path = file(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{name}: {word:?} is not a number"));
    text.lines().skip(1).map(|line| line.split(',').map(number).collect()).collect()
}

/// Oracle case S1: 960 bytes of payload, 30 s, a buffer of 20 of which one is for the packet in service.
fn case(aqm: &str, set: &[(&str, &str)]) -> Plan {
    let flow = traffic("ftp", 1, Kind::Tcp(tcp(960, options("ns2", set))));
    let mut plan = plan(dumbbell(queue("20p", aqm)), vec![flow], 30 * SECOND);
    plan.trace = Trace { interval: None, drops: true, cwnd: true };
    plan.ns2 = true;
    plan
}

fn drops_agree(name: &str, record: &Record) {
    let drops = &record.drops;
    let ours = (0..drops.time_ns.len()).map(|i| {
        // ns-2 counts arrivals from one.
        (drops.time_ns[i], drops.sequence[i], drops.arrival[i] + 1, drops.queue_packets[i])
    });
    let theirs = rows(&format!("{name}.drops.csv"));
    for (ours, theirs) in ours.clone().zip(&theirs) {
        let near = (ours.0 as f64 * 1e-9 - theirs[0]).abs() <= 1.001e-6;
        let equal = [f64::from(ours.1), ours.2 as f64, f64::from(ours.3)] == theirs[1..];
        assert!(near && equal, "{name}: we dropped {ours:?}, ns-2 {theirs:?}");
    }
    assert_eq!(ours.count(), theirs.len(), "{name}");
}

fn windows_agree(name: &str, record: &Record) {
    let windows = &record.cwnd;
    let theirs = rows(&format!("{name}.cwnd.csv"));
    for row in &theirs {
        let i = row[0] as usize;
        let ours = [windows.time_ns[i] as f64 * 1e-9, windows.cwnd[i], windows.ssthresh[i]];
        let near = |k: usize, digits: f64| (ours[k] - row[k + 1]).abs() <= 0.5001 * digits;
        assert!(near(0, 1e-5) && near(1, 1e-3) && near(2, 1e-9), "{name}: we have {ours:?}, ns-2 {row:?}");
    }
    let last = theirs.last().expect("a trace has rows")[0] as usize;
    assert_eq!(windows.time_ns.len(), last + 1, "{name}: the trace ends with the last change");
}

#[test]
fn newreno_drops_and_opens_its_window_as_ns_2_does() {
    let record = run(&case("droptail", &[]), 1);
    drops_agree("S1-newreno", &record);
    windows_agree("S1-newreno", &record);
}

#[test]
fn reno_drops_and_opens_its_window_as_ns_2_does() {
    let record = run(&case("droptail", &[("variant", "reno")]), 1);
    drops_agree("S1-reno", &record);
    windows_agree("S1-reno", &record);
}

#[test]
fn sack_drops_and_opens_its_window_as_ns_2_does() {
    let record = run(&case("droptail", &[("variant", "sack")]), 1);
    drops_agree("S1-sack", &record);
    windows_agree("S1-sack", &record);
}

#[test]
fn a_window_of_40_packets_is_never_full_enough_to_lose_one() {
    let record = run(&case("droptail", &[("receiver_window", "40")]), 1);
    assert_eq!(record.queues[0].drops, [0; 5]);
    windows_agree("S1-newreno-win40", &record);
}

#[test]
fn marks_of_the_virtual_queue_cut_the_window_as_in_ns_2() {
    let mut plan = case("gkvq", &[("ecn", "on")]);
    if let sojourn_sim::plan::Topology::Dumbbell(dumbbell) = &mut plan.topology {
        dumbbell.queue.ecn = true;
    }
    let record = run(&plan, 1);
    drops_agree("S1-newreno-ecn-gk", &record);
    windows_agree("S1-newreno-ecn-gk", &record);
}
