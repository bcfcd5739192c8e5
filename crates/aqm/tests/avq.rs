//! AVQ: the vectors of the reference model, and each option.

use crate::support::{Bench, at, context, ect, link, near, packet, table};
use sojourn_aqm::{Cause, Limit, Verdict};

#[test]
fn v1_and_v2_marking() {
    for (name, spec) in [
        ("avq_v1", "avq ecn gamma 1 alpha 0.25 start 0.8 buffer 2500B"),
        ("avq_v2", "avq ecn gamma 0.98 alpha 1 start 0.9 buffer 2500B"),
    ] {
        let mut bench = Bench::new(spec, link(1000, Limit::Packets(100)));
        let queue = bench.queue(0);
        if name == "avq_v2" {
            bench.arrive(at(0.0), &ect(0), &queue, &[]); // "last arrival t = 0" of an empty packet
        }
        for row in table(name).rows() {
            let packet = ect(row.whole("size b"));
            let verdict = bench.arrive(at(row.number("t")), &packet, &queue, &[]);
            assert!(matches!(verdict, Verdict::Pass | Verdict::Mark(Cause::Early)), "{verdict:?}");
            row.check_signal("mark/drop", verdict);
            row.check("VQ after", bench.probe("vq"));
            row.check("C~ after", bench.probe("capacity") / 8.0);
            let entered = if verdict == Verdict::Pass { row.number("size b") } else { 0.0 };
            row.check("VQ drained", bench.probe("vq") - entered);
        }
    }
}

#[test]
fn v3_a_dropped_packet_does_not_update_the_virtual_rate() {
    // In packet mode the same packets count equally, independently of their size.
    for (mode, actual) in [("byte", 1000), ("packet", 40)] {
        let spec = format!("avq gamma 1 alpha 0.25 start 0.8 buffer 2500B mode {mode}");
        let mut bench = Bench::new(&spec, link(1000, Limit::Packets(100)));
        let queue = bench.queue(0);
        for row in table("avq_v3").rows() {
            let verdict = bench.arrive(at(row.number("t")), &packet(actual), &queue, &[]);
            assert!(matches!(verdict, Verdict::Pass | Verdict::Drop(Cause::Early)), "{verdict:?}");
            row.check_signal("drop", verdict);
            row.check("VQ after", bench.probe("vq"));
            row.check("C~ after (paper)", bench.probe("capacity") / 8.0);
        }
    }
}

#[test]
fn capacity_rises_with_time_and_falls_with_bytes() {
    // In bytes/s, C = 1.25e6: a packet subtracts 150, 100 ms add 0.15 x 0.5 x C x 0.1. Time before the first
    // arrival adds nothing.
    let mut bench = Bench::new("avq gamma 0.5", context());
    let queue = bench.queue(0);
    for (seconds, capacity) in [(5.0, 1e6 - 150.0), (5.1, 1e6 - 150.0 + 9375.0 - 150.0)] {
        bench.arrive(at(seconds), &packet(1000), &queue, &[]);
        near(bench.probe("capacity") / 8.0, capacity, "C~");
    }
}
