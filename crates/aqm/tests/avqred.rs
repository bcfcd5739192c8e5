//! AVQRED: its vectors, the listing as printed, and its options.

use crate::contract;
use crate::support::{Bench, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Spec, Verdict};

const RUN: &str = "avqred alpha 0.5 min_capacity 4Mbit/s max_capacity 16Mbit/s min_th 2p max_th 6p";

/// A packet of `bytes` is sent.
fn send(bench: &mut Bench, bytes: u32) {
    let queue = bench.queue(0);
    bench.aqm.on_departure(at(0.0), &packet(bytes), &queue, &mut Scripted::new(&[]));
}

#[test]
fn v1_run() {
    let mut bench = Bench::new(RUN, context());
    let queue = bench.queue(0);
    let mut sent = 0;
    for row in table("avqred_v1").rows() {
        if row.whole("tx") > sent {
            send(&mut bench, row.whole("tx") - sent);
            sent = row.whole("tx");
        }
        let verdict = bench.arrive(at(row.number("t (ms)") * 1e-3), &packet(1500), &queue, &row.draws());
        row.check_signal("drop", verdict);
        assert!(matches!(verdict, Verdict::Pass | Verdict::Drop(Cause::Early)));
        row.check("v_capacity (Mbit/s)", bench.probe("v_capacity") / 1e6);
        row.check("count", bench.probe("count"));
        row.check("VQ after", bench.probe("vq"));
        let entered = if verdict == Verdict::Pass { 1500.0 } else { 0.0 };
        let x = (bench.probe("vq") - entered) / 1500.0;
        assert!((x - row.number("q_size")).abs() < 1e-8);
        row.check("p_a", bench.probe("p_a"));
    }
}

#[test]
fn v2_the_counter_may_exceed_the_range_of_the_formula() {
    // p_b is 0.1 until, with `count` packets since the last signal, a large packet has made it 0.25.
    for (count, p_a) in [(2, 0.5), (3, 1.0), (4, 1.0), (5, 1.0)] {
        let mut bench = Bench::new(RUN, context());
        let queue = bench.queue(0);
        for bytes in [1500, 1500, 600] {
            bench.arrive(at(0.0), &packet(bytes), &queue, &[]);
        }
        for i in 1..=count {
            let bytes = if i == count { 900 } else { 0 };
            assert_eq!(bench.arrive(at(0.0), &packet(bytes), &queue, &[0.9]), Verdict::Pass);
        }
        let verdict = bench.arrive(at(0.0), &packet(0), &queue, &[0.9]);
        near(bench.probe("p"), 0.25, "p_b");
        near(bench.probe("p_a"), p_a, &format!("count {count}"));
        assert_eq!(verdict != Verdict::Pass, p_a == 1.0);
    }
}

#[test]
fn v3_the_printed_listing_stays_near_min_th() {
    let mut bench = Bench::new(&format!("{RUN} listing literal"), context());
    let queue = bench.queue(0);
    let mut signals = 0;
    for i in 0..50 {
        let numbers: &[f64] = if i < 3 { &[] } else { &[0.3] };
        let verdict = bench.arrive(at(0.0), &packet(1500), &queue, numbers);
        signals += usize::from(verdict != Verdict::Pass);
        assert!(bench.probe("vq") <= 4500.0 && verdict != Verdict::Drop(Cause::Forced));
    }
    assert_eq!(bench.probe("vq"), 4500.0);
    assert!(signals > 10);
    // The intended algorithm reaches the forced region.
    let mut bench = Bench::new(&format!("{RUN} ecn"), context());
    for _ in 0..3 {
        bench.arrive(at(0.0), &ect(1500), &queue, &[]);
    }
    for (p_a, u) in [(0.25, 0.9), (1.0, 0.9), (1.0, 0.9)] {
        bench.arrive(at(0.0), &ect(1500), &queue, &[u]);
        near(bench.probe("p_a"), p_a, "p_a");
    }
    assert_eq!(bench.arrive(at(0.0), &ect(1500), &queue, &[]), Verdict::Mark(Cause::Forced));
    assert_eq!(bench.probe("vq"), 7.0 * 1500.0); // marked packets are added too
}

#[test]
fn the_printed_time_of_measurement_prevents_the_drain() {
    for (listing, vq) in [("cleaned", 1100.0), ("literal", 2000.0)] {
        let mut bench = Bench::new(&format!("{RUN} listing {listing}"), context());
        let queue = bench.queue(0);
        bench.arrive(at(0.0), &packet(2000), &queue, &[]);
        for t in [0.9e-3, 1.8e-3, 2.7e-3] {
            bench.arrive(at(t), &packet(0), &queue, &[]);
        }
        near(bench.probe("vq"), vq, listing); // 4 Mbit/s drain 900 bytes in 1.8 ms
    }
}

#[test]
fn capacities_follow_the_link_unless_they_are_set() {
    let link = context().with_link_rate(25_000_000);
    for (spec, low, high) in [
        ("avqred", 13e6, 25e6),
        ("avqred max_capacity 50Mbit/s", 26e6, 50e6),
        ("avqred min_capacity 1Mbit/s", 1e6, 25e6),
    ] {
        let mut bench = Bench::new(&format!("{spec} alpha 1"), link);
        let queue = bench.queue(0);
        near(bench.probe("v_capacity"), low, spec);
        for (rate, expected) in [(0.0, low), (1e9, high), (24e6, 24e6_f64.clamp(low, high))] {
            bench = Bench::new(&format!("{spec} alpha 1"), link);
            send(&mut bench, (rate / 8.0 * 0.01) as u32);
            bench.arrive(at(0.01), &packet(0), &queue, &[]);
            near(bench.probe("v_capacity"), expected, spec);
        }
    }
    for (spec, key) in [
        ("avqred min_capacity 2Mbit/s max_capacity 1Mbit/s", "avqred.min_capacity"),
        ("avqred min_th 21p", "avqred.max_th"),
        ("avqred unit 1p", "avqred.unit"),
    ] {
        let built = Spec::parse(spec).and_then(|s| s.build(link));
        assert_eq!(built.map(|_| ()).expect_err(spec).key, key);
    }
}

#[test]
fn the_other_options() {
    // gamma slows the drain; a longer interval delays it; thresholds in bytes or in another unit are
    // equivalent.
    for (spec, vq) in [("", 1500.0), ("gamma 0.5", 2250.0), ("interval 3ms", 3000.0)] {
        let mut bench = Bench::new(&format!("{RUN} {spec}"), context());
        let queue = bench.queue(0);
        bench.arrive(at(0.0), &packet(3000), &queue, &[]);
        bench.arrive(at(0.003), &packet(0), &queue, &[]);
        near(bench.probe("vq"), vq, spec);
    }
    for spec in ["min_th 2p max_th 6p", "min_th 3000B max_th 9000B", "min_th 3p max_th 9p unit 1000B"] {
        let mut bench = Bench::new(&format!("avqred {spec}"), context());
        let queue = bench.queue(0);
        bench.arrive(at(0.0), &packet(4500), &queue, &[]);
        bench.arrive(at(0.0), &packet(0), &queue, &[0.9]);
        near(bench.probe("p"), 0.25, spec);
    }
}

#[test]
fn unusual_settings_satisfy_the_contract() {
    for spec in [
        "avqred listing literal alpha 1 interval 1us min_th 1B max_th 1MB ecn",
        "avqred min_capacity 1bit max_capacity 1000Tbit gamma 1e-300 unit 1B",
    ] {
        contract::check(spec);
    }
}
