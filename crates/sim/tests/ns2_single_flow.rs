//! One flow through ns-2's dumbbell: it is deterministic, so every drop and every window must agree.
//!
//! The traces of ns-2 are in `validation/ns2/traces`, with their origin in the README.

use crate::support::{SECOND, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::Conventions;
use sojourn_sim::{
    Plan, Record,
    plan::{QueueConfig, Trace, TrafficKind},
};
use std::{fs, path::Path};

/// Case, buffer (including the packet in transmission), algorithm, options of TCP.
type Case = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

const VARIANTS: [Case; 5] = [
    ("S1-newreno", "20p", "droptail", &[]),
    ("S1-reno", "20p", "droptail", &[("variant", "reno")]),
    ("S1-sack", "20p", "droptail", &[("variant", "sack")]),
    ("S1-newreno-win40", "20p", "droptail", &[("receiver_window", "40")]),
    ("S1-newreno-avq", "20p", "avq", &[]),
];

const DELAYED: [Case; 3] = [
    ("S1-newreno-delack", "20p", "droptail", &[("delayed_ack", "100ms")]),
    ("S1-sack-delack", "20p", "droptail", &[("delayed_ack", "100ms"), ("variant", "sack")]),
    ("S1-reno-buf3-delack", "3p", "droptail", &[("delayed_ack", "100ms"), ("variant", "reno")]),
];

const SMALL: [Case; 4] = [
    ("S1-newreno-buf3", "3p", "droptail", &[]),
    ("S1-reno-buf5", "5p", "droptail", &[("variant", "reno")]),
    ("S1-sack-buf3", "3p", "droptail", &[("variant", "sack")]),
    ("S1-newreno-buf5-minrto1", "5p", "droptail", &[("min_rto", "1s")]),
];

const MARKED: [Case; 7] = [
    ("S1-newreno-ecn-gk", "20p", "gkvq", &[("ecn", "on")]),
    ("S1-reno-ecn-gk", "20p", "gkvq", &[("ecn", "on"), ("variant", "reno")]),
    ("S1-sack-ecn-gk", "20p", "gkvq", &[("ecn", "on"), ("variant", "sack")]),
    ("S1-newreno-ecn-gk04", "20p", "gkvq theta 0.04", &[("ecn", "on")]),
    ("S1-newreno-ecn-gk33", "20p", "gkvq theta 0.3333", &[("ecn", "on")]),
    ("S1-reno-ecn-buf10-gk13", "10p", "gkvq theta 0.1371", &[("ecn", "on"), ("variant", "reno")]),
    ("S1-sack-ecn-avq", "20p", "avq", &[("ecn", "on"), ("variant", "sack")]),
];

#[test]
fn each_variant_of_tcp_drops_and_opens_its_window_as_ns_2_does() {
    VARIANTS.iter().for_each(agree);
}

#[test]
fn delayed_acknowledgements_do_as_in_ns_2() {
    DELAYED.iter().for_each(agree);
}

#[test]
fn small_buffers_do_as_in_ns_2() {
    SMALL.iter().for_each(agree);
}

#[test]
fn marks_do_as_in_ns_2() {
    MARKED.iter().for_each(agree);
}

fn agree(case: &Case) {
    let record = run(&plan_of(case), 1);
    windows_agree(case.0, &record);
    drops_agree(case.0, &record);
}

/// 960 bytes of payload, 30 s.
fn plan_of(&(_, limit, aqm, set): &Case) -> Plan {
    let flow = traffic("ftp", 1, TrafficKind::Tcp(tcp(960, options("ns2", set))));
    let ecn = set.contains(&("ecn", "on"));
    let mut plan = plan(dumbbell(QueueConfig { ecn, ..queue(limit, aqm) }), vec![flow], 30 * SECOND);
    plan.trace = Trace { interval: None, drops: true, cwnd: true, ..Trace::default() };
    plan.conventions = Conventions::Ns2;
    plan
}

/// Time to the microsecond, sequence number, number of the arrival (ns-2 counts from 1), queue length.
fn drops_agree(name: &str, record: &Record) {
    let drops = &record.drops;
    let theirs = rows(&format!("{name}.drops.csv"));
    for (i, theirs) in theirs.iter().enumerate() {
        assert!(i < drops.time_ns.len(), "{name}: we did not drop {theirs:?}");
        let time = drops.time_ns[i] as f64 * 1e-9;
        let ours =
            [f64::from(drops.sequence[i]), drops.arrival[i] as f64 + 1.0, f64::from(drops.queue_packets[i])];
        let equal = (time - theirs[0]).abs() <= 1.001e-6 && ours == theirs[1..];
        assert!(equal, "{name}: we dropped {ours:?} at {time}, ns-2 {theirs:?}");
    }
    assert_eq!(drops.time_ns.len(), theirs.len(), "{name}");
}

/// Time, window and threshold, to the digits that ns-2 prints.
fn windows_agree(name: &str, record: &Record) {
    let windows = &record.cwnd;
    let theirs = rows(&format!("{name}.cwnd.csv"));
    for row in &theirs {
        let i = row[0] as usize;
        assert!(i < windows.time_ns.len(), "{name}: our window never reached {row:?}");
        let ours = [windows.time_ns[i] as f64 * 1e-9, windows.cwnd[i], windows.ssthresh[i]];
        let near = |k: usize, digit: f64| (ours[k] - row[k + 1]).abs() <= 0.5001 * digit;
        assert!(near(0, 1e-5) && near(1, 1e-3) && near(2, 1e-9), "{name}: we have {ours:?}, ns-2 {row:?}");
    }
    let last = theirs.last().expect("a trace has rows")[0] as usize;
    assert_eq!(windows.time_ns.len(), last + 1, "{name}: the trace ends with the last change");
}

/// The rows of a table of numbers, without the heading.
fn rows(name: &str) -> Vec<Vec<f64>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/ns2/traces").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{name}: {word:?} is not a number"));
    text.lines().skip(1).map(|line| line.split(',').map(number).collect()).collect()
}
