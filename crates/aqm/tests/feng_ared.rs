//! Self-configuring RED: its vectors, both triggers, its bounds.

use crate::contract;
use crate::support::{Bench, at, context, near, packet, table};
use sojourn_aqm::{Cause, Spec};

const PAPER: &str = "feng_ared min_th 5kB max_th 15kB w_q 1"; // in bytes, for the decimals of avg

/// The average is 0 at the first arrival, which divides max_p once.
fn begin(spec: &str) -> Bench {
    let mut bench = Bench::new(spec, context());
    assert_eq!(bench.probe("status"), 0.0);
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
    bench
}

fn see(bench: &mut Bench, avg: f64) {
    let queue = bench.queue_bytes((avg * 1000.0).round() as u64);
    bench.aqm.on_offered(at(0.0), &packet(1000), &queue);
    assert_eq!(bench.probe("avg"), (avg * 1000.0).round());
}

#[test]
fn v1_crossing_a_threshold_changes_max_p() {
    let mut bench = begin(&format!("{PAPER} max_p 0.3"));
    assert_eq!(bench.probe("status"), -1.0);
    for row in table("feng_ared_v1").rows() {
        see(&mut bench, row.number("avg"));
        let status = ["Below", "Between", "Above"][(bench.probe("status") + 1.0) as usize];
        assert_eq!(status, row.word("status after"));
        row.check("max_p after", bench.probe("max_p"));
    }
}

#[test]
fn v2_overflows_and_idle_periods_change_max_p() {
    let mut bench = begin(&format!("{PAPER} trigger overflow_idle alpha 3 beta 2"));
    for row in table("feng_ared_v2").rows() {
        see(&mut bench, 20.0); // thresholds have no effect
        match row.word("event") {
            "overflow" => {
                let queue = bench.queue(100);
                bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &queue);
            }
            _ => bench.aqm.on_idle(at(0.0)),
        }
        row.check("max_p after", bench.probe("max_p"));
    }
}

#[test]
fn thresholds_ignore_overflows() {
    let mut bench = begin(&format!("{PAPER} max_p 0.3"));
    bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &bench.queue(100));
    bench.aqm.on_idle(at(0.0));
    near(bench.probe("max_p"), 0.1, "max_p");
}

#[test]
fn v3_max_p_stays_within_its_bounds() {
    let mut bench = begin(&format!("{PAPER} max_p 0.9 alpha 1.5"));
    for (avg, max_p) in [(10.0, 0.6), (16.0, 1.0), (10.0, 1.0), (16.0, 1.0)] {
        see(&mut bench, avg);
        near(bench.probe("max_p"), max_p, "cap");
    }
    let mut bench = begin(&format!("{PAPER} max_p 0.0002"));
    near(bench.probe("max_p"), 0.0001, "floor");
    see(&mut bench, 10.0);
    see(&mut bench, 4.0);
    near(bench.probe("max_p"), 0.0001, "floor");
    see(&mut bench, 16.0);
    near(bench.probe("max_p"), 0.0002, "off the floor");
    let built = Spec::parse("feng_ared max_p 0.2 top 0.1").and_then(|s| s.build(context()));
    assert_eq!(built.map(|_| ()).expect_err("above the top").key, "feng_ared.max_p");
}

#[test]
fn the_probability_follows_max_p() {
    let mut bench = begin(&format!("{PAPER} max_p 0.3"));
    see(&mut bench, 10.0);
    near(bench.probe("p"), 0.05, "half of 0.1");
    see(&mut bench, 16.0);
    assert_eq!(bench.probe("p"), 1.0);
    see(&mut bench, 10.0);
    near(bench.probe("p"), 0.1, "half of 0.2");
}

#[test]
fn unusual_settings_satisfy_the_contract() {
    for spec in [
        "feng_ared trigger overflow_idle alpha 1000000 beta 1000000 bottom 0",
        "feng_ared min_th 1p w_q 1 gentle max_p 1 wait",
    ] {
        contract::check(spec);
    }
}
