//! NLRED: its vectors, and the start of its gentle line.

use crate::contract;
use crate::support::{Bench, at, context, near, packet, table};
use sojourn_aqm::{Cause, Spec, Verdict};

#[test]
fn v1_squares_the_line() {
    for row in table("nlred_v1").rows() {
        for (algorithm, column) in [("red", "RED p_b"), ("nlred", "NLRED p_b")] {
            // A packet of the table is 10 MB here, for the digits of avg.
            let mut bench =
                Bench::new(&format!("{algorithm} min_th 50MB max_th 150MB max_p 0.1 w_q 1"), context());
            bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
            let queue = bench.queue_bytes((row.number("avg") * 1e7).round() as u64);
            bench.aqm.on_offered(at(0.0), &packet(1000), &queue);
            row.check(column, bench.probe("p"));
        }
    }
}

#[test]
fn v2_the_mean_between_the_thresholds_is_that_of_red() {
    let mean = |algorithm: &str| {
        let mut bench = Bench::new(&format!("{algorithm} min_th 1kB max_th 101kB w_q 1"), context());
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        let sum: f64 = (0..10_000)
            .map(|i| {
                bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue_bytes(1005 + 10 * i));
                bench.probe("p")
            })
            .sum();
        sum / 10_000.0
    };
    assert!((mean("red") - 0.05).abs() < 1e-9);
    assert!((mean("nlred") - 0.05).abs() < 1e-9);
}

#[test]
fn v3_run() {
    let mut bench = Bench::new("nlred min_th 2p max_th 6p max_p 0.4 w_q 1", context());
    bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]);
    for row in table("nlred_v3").rows() {
        let queue = bench.queue(row.whole("q"));
        let verdict = bench.arrive(at(1.0), &packet(1000), &queue, &row.draws());
        row.check("avg", bench.probe("avg"));
        row.check("p_b", bench.probe("p"));
        row.check("p_a", bench.probe("p_a"));
        row.check_signal("mark/drop", verdict);
        row.check("count after", bench.probe("count"));
        if verdict != Verdict::Pass {
            let forced = row.option("u").is_none();
            assert_eq!(verdict, Verdict::Drop(if forced { Cause::Forced } else { Cause::Early }));
        }
    }
}

#[test]
fn the_gentle_line_begins_where_the_curve_ends() {
    let mut bench = Bench::new("nlred gentle min_th 5p max_th 15p max_p 0.4 w_q 1", context());
    bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]);
    for (q, p) in [(10, 0.15), (15, 0.6), (18, 0.68), (30, 1.0)] {
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(q));
        near(bench.probe("p"), p, "p");
    }
}

#[test]
fn the_curve_must_end_below_one() {
    for (max_p, fits) in [("0.6666", true), ("0.667", false)] {
        let built = Spec::parse(&format!("nlred max_p {max_p}")).and_then(|s| s.build(context()));
        assert_eq!(built.is_ok(), fits);
        if let Err(error) = built {
            assert_eq!(error.key, "nlred.max_p");
        }
    }
}

#[test]
fn unusual_settings_satisfy_the_contract() {
    for spec in ["nlred min_th 1p w_q 1 max_p 0.6666 gentle", "nlred min_th 10kB listing ns2 wait"] {
        contract::check(spec);
    }
}
