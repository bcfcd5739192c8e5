//! PI: the vectors of the reference model, and each option.

use crate::support::{Bench, at, context, near, packet, table, with_probability};
use sojourn_aqm::{Cause, Time, Verdict};

#[test]
fn v1_and_v2_probability() {
    for (name, spec) in [
        ("pi_v1", "pi a 1.822e-5 b 1.816e-5 q_ref 50p f_s 170"),
        ("pi_v2", "pi a 0.05 b 0.01 q_ref 22p f_s 100"),
    ] {
        let mut bench = Bench::new(spec, context());
        for row in table(name).rows() {
            bench.tick(&bench.queue(row.whole("q")));
            row.check("p", bench.probe("p"));
            let p = bench.probe("p");
            let queue = bench.queue(0);
            assert_eq!(bench.arrive(at(1.0), &packet(1000), &queue, &[p]), Verdict::Pass);
            let below = p * (1.0 - 1e-12);
            assert_eq!(bench.arrive(at(1.0), &packet(1000), &queue, &[below]), Verdict::Drop(Cause::Early));
        }
    }
}

#[test]
fn v3_clamps_an_empty_start() {
    let mut bench = Bench::new("pi q_ref 50p", context());
    bench.tick(&bench.queue(0));
    assert_eq!(bench.probe("p"), 0.0); // a(-50) - b(-50) = -3e-6
}

#[test]
fn byte_mode_counts_mean_packets_of_bytes() {
    let packets = with_probability("pi a 0.05 b 0.01 q_ref 20p", 22);
    let mut bytes = Bench::new("pi a 0.05 b 0.01 q_ref 20kB", context());
    bytes.tick(&bytes.queue_bytes(22_000));
    let p = packets.probe("p");
    near(p, 0.05 * 2.0 + 0.01 * 20.0, "p");
    near(bytes.probe("p"), p, "p in byte mode");
    let queue = bytes.queue(0);
    assert_eq!(bytes.arrive(at(0.0), &packet(500), &queue, &[p / 2.0]), Verdict::Pass);
    assert_eq!(bytes.arrive(at(0.0), &packet(500), &queue, &[p * 0.499]), Verdict::Drop(Cause::Early));
    assert_eq!(bytes.arrive(at(0.0), &packet(1500), &queue, &[p * 1.499]), Verdict::Drop(Cause::Early));
}

#[test]
fn samples_do_not_drift() {
    let mut bench = Bench::new("pi f_s 170", context());
    let times: Vec<Time> = (0..340).map(|_| bench.tick(&bench.queue(0))).collect();
    assert_eq!((times[0], times[169], times[339]), (Time(5_882_353), at(1.0), at(2.0)));
}
