//! BIO: its vectors, and each of its rules by hand.

use crate::rio::{Waiting, of};
use crate::support::{Bench, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Class, Limit, PacketView, Verdict};

fn arrive(bench: &mut Bench, seconds: f64, packet: PacketView, waiting: [u32; 3], u: f64) -> Verdict {
    bench.arrive(at(seconds), &packet, &Waiting(waiting).view(), &[u])
}

/// The link dequeues a packet of `class` from `waiting`, which still contains it.
fn ready(bench: &mut Bench, seconds: f64, class: u8, mut waiting: [u32; 3]) {
    waiting[usize::from(class)] -= 1;
    let verdict =
        bench.aqm.on_departure(at(seconds), &of(class), &Waiting(waiting).view(), &mut Scripted::new(&[]));
    assert_eq!(verdict, Verdict::Pass);
}

fn probabilities(bench: &Bench) -> (f64, f64) {
    (bench.probe("p_in"), bench.probe("p_out"))
}

#[test]
fn v1_run() {
    let mut bench = Bench::new("bio", context());
    for row in table("bio_v1").rows() {
        let (seconds, q_in, q) = (row.number("t"), row.whole("Q_len_in"), row.whole("Q_len"));
        let waiting = [q_in, q - q_in, 0];
        match row.word("event") {
            "enq" => {
                let class = u8::from(row.whole("step") % 2 == 0); // the class of the arrival does not matter
                assert_eq!(arrive(&mut bench, seconds, of(class), waiting, 0.9), Verdict::Pass);
            }
            // A departure from an empty queue is the idle event.
            _ if q == 0 => bench.aqm.on_idle(at(seconds)),
            _ => {
                let mut copy = Bench { aqm: bench.aqm.clone(), context: bench.context };
                ready(&mut copy, seconds, 0, waiting); // nor does that of the departure
                ready(&mut bench, seconds, 1, waiting);
                assert_eq!(probabilities(&copy), probabilities(&bench));
            }
        }
        near(bench.probe("p_in"), row.number("p_m_in"), row.word("step"));
        near(bench.probe("p_out"), row.number("p_m_out"), row.word("step"));
    }
}

#[test]
fn v2_in_packets_alone_raise_p_out_to_one() {
    let mut bench = Bench::new("bio", context());
    for step in 1..=120 {
        arrive(&mut bench, 0.010_001 * f64::from(step), of(0), [60, 0, 0], 0.99);
        let expected = (f64::from(step) * 0.01).min(1.0);
        assert!((bench.probe("p_out") - expected).abs() < 1e-9, "{step}");
    }
    assert_eq!(probabilities(&bench), (0.0, 1.0));
    assert_eq!(arrive(&mut bench, 9.0, of(1), [0; 3], 0.999), Verdict::Drop(Cause::Early));
}

#[test]
fn v3_each_class_has_its_own_probability() {
    let mut bench = Bench::new("bio ecn d_i_in 0.01 d_i_out 0.4", context());
    arrive(&mut bench, 0.0, of(0), [100, 0, 0], 0.9);
    assert_eq!(probabilities(&bench), (0.01, 0.4));
    let out = ect(500).with_class(Class(1));
    let red = packet(500).with_class(Class(2));
    let mark = Verdict::Mark(Cause::Early);
    assert_eq!(arrive(&mut bench, 0.0, ect(500), [0; 3], 0.02), Verdict::Pass);
    assert_eq!(arrive(&mut bench, 0.0, ect(500), [0; 3], 0.009), mark);
    assert_eq!(arrive(&mut bench, 0.0, out, [0; 3], 0.02), mark);
    assert_eq!(arrive(&mut bench, 0.0, out, [0; 3], 0.4), Verdict::Pass);
    assert_eq!(arrive(&mut bench, 0.0, red, [0; 3], 0.39), Verdict::Drop(Cause::Early));
}

/// The decision comes before the step that the same arrival causes, and an overflow steps too.
#[test]
fn an_arrival_is_tested_before_its_own_step() {
    let mut bench = Bench::new("bio d_i_out 1", context());
    assert_eq!(arrive(&mut bench, 0.0, of(1), [0, 51, 0], 0.5), Verdict::Pass);
    assert_eq!((bench.probe("p"), bench.probe("p_out")), (0.0, 1.0));
    let mut bench = Bench::new("bio", context());
    let full = Waiting([30, 70, 0]);
    bench.aqm.on_offered(at(0.0), &of(1), &full.view());
    bench.aqm.on_drop(at(0.0), &of(1), Cause::Overflow, &full.view());
    assert_eq!(probabilities(&bench), (0.0, 0.01));
}

#[test]
fn thresholds_are_exclusive_except_at_the_limit() {
    for (options, q_in, rises) in [
        ("", 100, true), // max_in is the limit
        ("", 99, false),
        ("in_at_max above", 100, false),
        ("in_at_max above", 101, true),
        ("max_in 40p", 40, false),
        ("max_in 40p", 41, true),
        ("max_in 40p in_at_max reached", 40, true),
    ] {
        let mut bench = Bench::new(&format!("bio {options}"), context());
        arrive(&mut bench, 0.0, of(0), [q_in, 0, 0], 0.9);
        assert_eq!(bench.probe("p_in") > 0.0, rises, "{options} {q_in}");
    }
    for (q, rises) in [(50, false), (51, true)] {
        let mut bench = Bench::new("bio", context());
        arrive(&mut bench, 0.0, of(0), [0, q, 0], 0.9);
        assert_eq!(bench.probe("p_out") > 0.0, rises, "{q}");
    }
    // The departing packet still counts: 50 is not below min_in, 17 not below min_out.
    for (waiting, after) in [
        ([50, 0, 0], (0.5, 0.5)),
        ([49, 1, 0], (0.25, 0.5)),
        ([17, 0, 0], (0.25, 0.5)),
        ([0, 17, 0], (0.25, 0.5)),
        ([0, 16, 0], (0.25, 0.25)),
    ] {
        let mut bench = Bench::new("bio d_i_in 0.5 d_i_out 0.5 d_d_in 0.25 d_d_out 0.25", context());
        arrive(&mut bench, 0.0, of(0), [100, 0, 0], 0.9);
        ready(&mut bench, 1.0, u8::from(waiting[0] == 0), waiting);
        assert_eq!(probabilities(&bench), after, "{waiting:?}");
    }
}

#[test]
fn each_step_has_its_own_hold_time() {
    let mut bench =
        Bench::new("bio in_hold 1s out_hold 2s d_i_in 0.1 d_i_out 0.1 d_d_in 0.01 d_d_out 0.01", context());
    let full = [100, 0, 0];
    arrive(&mut bench, 10.0, of(0), full, 0.9);
    bench.aqm.on_idle(at(10.0)); // a step down does not wait for the step up
    assert!((bench.probe("p_in") - 0.09).abs() < 1e-12 && (bench.probe("p_out") - 0.09).abs() < 1e-12);
    arrive(&mut bench, 11.0, of(0), full, 0.9);
    assert!((bench.probe("p_in") - 0.09).abs() < 1e-12, "exactly the hold time is not enough");
    arrive(&mut bench, 11.5, of(0), full, 0.9);
    assert!((bench.probe("p_in") - 0.19).abs() < 1e-12 && (bench.probe("p_out") - 0.09).abs() < 1e-12);
    bench.aqm.on_idle(at(12.5));
    assert!((bench.probe("p_in") - 0.18).abs() < 1e-12 && (bench.probe("p_out") - 0.08).abs() < 1e-12);
}

#[test]
fn may_drop_every_arrival_at_the_threshold() {
    let drop = Verdict::Drop(Cause::Forced);
    for (class, waiting, verdict) in [
        (1, [10, 39, 0], Verdict::Pass),
        (1, [10, 40, 0], drop),
        (0, [10, 40, 0], Verdict::Pass),
        (0, [100, 0, 0], drop),
    ] {
        let mut bench = Bench::new("bio drop_at_max ecn", context());
        let packet = ect(500).with_class(Class(class));
        let numbers: &[f64] = if verdict == drop { &[] } else { &[0.9] };
        let seen = bench.arrive(at(0.0), &packet, &Waiting(waiting).view(), numbers);
        assert_eq!(seen, verdict, "{class} {waiting:?}");
        let mut plain = Bench::new("bio ecn", context());
        assert_eq!(arrive(&mut plain, 0.0, packet, waiting, 0.9), Verdict::Pass);
        assert_eq!(probabilities(&bench), probabilities(&plain), "the steps are the same");
    }
}

#[test]
fn thresholds_follow_one_another_and_may_be_in_bytes() {
    let link = context().with_limit(Limit::Bytes(60_000));
    for (spec, context, inside, outside) in [
        ("bio", link, 120, 61),          // packets of 500 bytes: 60 kB, and more than 30 kB
        ("bio max_in 6kB", link, 13, 7), // 6 kB, 3 kB
        ("bio max_in 10p", context(), 11, 6),
        ("bio min_in 10p", context(), 100, 11),
    ] {
        for (class, just, name) in [(0, inside, "p_in"), (1, outside, "p_out")] {
            for (n, rises) in [(just - 1, false), (just, true)] {
                let mut bench = Bench::new(spec, context);
                let waiting = if class == 0 { [n, 0, 0] } else { [0, n, 0] };
                arrive(&mut bench, 0.0, of(0), waiting, 0.9);
                assert_eq!(bench.probe(name) > 0.0, rises, "{spec} {name} {n}");
            }
        }
    }
}

#[test]
fn inconsistent_values_are_refused() {
    for (spec, key) in [
        ("bio min_in 101p", "bio.min_in"),
        ("bio max_out 10p min_out 20p", "bio.min_out"),
        ("bio max_in 50kB max_out 20p", "bio.max_out"),
        ("bio min_in 20kB", "bio.min_in"),
    ] {
        let built = sojourn_aqm::Spec::parse(spec).and_then(|s| s.build(context()));
        assert_eq!(built.map(|_| ()).expect_err(spec).key, key);
    }
}
