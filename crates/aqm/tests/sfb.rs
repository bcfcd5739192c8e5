//! SFB: its decisions, its penalty, its change of hashes. (Vector V1 specifies bins; a unit test in
//! `sfb/bins.rs` checks it.)

use crate::support::{Bench, Scripted, at, context, ect, near, packet};
use sojourn_aqm::{Cause, FlowId, PacketView, Verdict, registry};

/// The hash of a table is the first number drawn.
const HASH: f64 = 0.3;

/// One bin for all flows: the probes are its p and its length.
fn one_bin(options: &str) -> Bench {
    let given: Vec<&str> = options.split(' ').collect();
    let ours = [("bin_size", "2p"), ("d1", "0.25"), ("d2", "0.25"), ("max", "1000p")];
    let rest =
        ours.iter().filter(|(name, _)| !given.contains(name)).map(|(name, word)| format!(" {name} {word}"));
    Bench::new(&format!("sfb levels 1 bins 1{} {options}", rest.collect::<String>()), context())
}

fn arrive(bench: &mut Bench, seconds: f64, packet: PacketView, numbers: &[f64]) -> Verdict {
    let queue = bench.queue(0);
    bench.arrive(at(seconds), &packet.with_arrived(at(seconds)), &queue, numbers)
}

fn depart(bench: &mut Bench, packet: PacketView) {
    let queue = bench.queue(0);
    bench.aqm.on_departure(at(1000.0), &packet, &queue, &mut Scripted::new(&[]));
}

/// V3: Linux's steps.
#[test]
fn v3_default_steps() {
    let sfb = registry::find("sfb").expect("a registered algorithm");
    for (name, step) in [("d1", 66.0 / 65535.0), ("d2", 11.0 / 65535.0)] {
        let param = sfb.param(name).expect("a parameter");
        let sojourn_aqm::DefaultValue::Value(word) = param.default else { panic!("{name} is fixed") };
        near(word.parse().expect("a number"), step, name);
    }
    let mut bench = Bench::new("sfb levels 1 bins 1 bin_size 1p", context());
    arrive(&mut bench, 0.0, packet(1), &[HASH, 0.9]);
    arrive(&mut bench, 0.0, packet(1), &[0.9]);
    near(bench.probe("p"), 66.0 / 65535.0, "one step up");
    depart(&mut bench, packet(1));
    depart(&mut bench, packet(1));
    arrive(&mut bench, 0.0, packet(1), &[0.9]);
    near(bench.probe("p"), 55.0 / 65535.0, "one step down");
}

#[test]
fn one_number_marks_and_drops() {
    for (ecn, packet, u, verdict) in [
        ("ecn", ect(1), 0.74, Verdict::Mark(Cause::Early)),
        ("ecn", packet(1), 0.74, Verdict::Drop(Cause::Early)),
        ("", ect(1), 0.74, Verdict::Drop(Cause::Early)),
        ("ecn", ect(1), 0.75, Verdict::Pass),
        ("ecn", ect(1), 0.5, Verdict::Mark(Cause::Early)),
        // Above 1/2 some packets are dropped instead of marked: u < 2 (p - 1/2).
        ("ecn", ect(1), 0.49, Verdict::Drop(Cause::Early)),
    ] {
        let mut bench = one_bin(ecn);
        arrive(&mut bench, 0.0, packet, &[HASH, 0.9]);
        for _ in 0..3 {
            arrive(&mut bench, 0.0, packet, &[0.9]); // 0, 1/4, 1/2: all pass
        }
        assert_eq!(arrive(&mut bench, 0.0, packet, &[u]), verdict, "{ecn} {u}");
        near(bench.probe("p"), 0.75, "p_min");
        // Accepted packets count, dropped ones do not.
        arrive(&mut bench, 0.0, packet, &[]);
        let entered = if matches!(verdict, Verdict::Drop(_)) { 4.0 } else { 5.0 };
        assert_eq!(bench.probe("q_min"), entered);
    }
}

/// V2: the packets of a flow at p_min = 1 pass at a limited rate instead of at random.
#[test]
fn v2_a_flow_that_does_not_respond_is_rate_limited() {
    let mut bench = one_bin("d1 1 penalty_rate 10 penalty_burst 3");
    arrive(&mut bench, 0.0, packet(1), &[HASH, 0.9]);
    arrive(&mut bench, 0.0, packet(1), &[0.9]);
    let passed = |bench: &mut Bench, seconds: f64, times: usize| {
        let verdicts: Vec<_> = (0..times).map(|_| arrive(bench, seconds, ect(1), &[])).collect();
        assert_eq!(bench.probe("p"), 1.0);
        assert!(verdicts.iter().all(|v| matches!(v, Verdict::Pass | Verdict::Drop(Cause::FlowLimit))));
        verdicts.iter().filter(|v| **v == Verdict::Pass).count()
    };
    assert_eq!(passed(&mut bench, 0.0, 10), 3, "the burst");
    assert_eq!(passed(&mut bench, 0.0999, 10), 0);
    assert_eq!(passed(&mut bench, 0.1001, 10), 1);
    assert_eq!(passed(&mut bench, 50.0, 10), 3, "never more than the burst");
}

#[test]
fn a_flow_that_fills_all_its_bins_is_blocked() {
    let mut bench = one_bin("max 4p d1 0.001");
    arrive(&mut bench, 0.0, packet(1), &[HASH, 0.9]);
    for _ in 0..3 {
        assert_eq!(arrive(&mut bench, 0.0, packet(1), &[0.9]), Verdict::Pass);
    }
    assert_eq!(arrive(&mut bench, 0.0, packet(1), &[]), Verdict::Drop(Cause::FlowLimit));
    depart(&mut bench, packet(1));
    assert_eq!(arrive(&mut bench, 0.0, packet(1), &[0.9]), Verdict::Pass);
}

#[test]
fn an_overflow_changes_no_bin_and_a_victim_leaves_its_own() {
    let mut bench = one_bin("");
    arrive(&mut bench, 0.0, packet(1), &[HASH, 0.9]);
    arrive(&mut bench, 0.0, packet(1), &[0.9]);
    // First the arrival is dropped: the queue is as long as before. Then a queued packet is dropped: it is
    // one shorter.
    for (waiting, q_min) in [(2, 2.0), (1, 1.0)] {
        let view = bench.queue(waiting);
        bench.aqm.on_offered(at(0.0), &packet(1), &view);
        bench.aqm.on_drop(at(0.0), &packet(1), Cause::Overflow, &view);
        let mut copy = Bench { aqm: bench.aqm.clone(), context: bench.context };
        arrive(&mut copy, 0.0, packet(1), &[0.9]);
        assert_eq!(copy.probe("q_min"), q_min);
    }
}

#[test]
fn a_freeze_time_applies_to_each_bin() {
    let mut bench = one_bin("freeze_time 100ms");
    arrive(&mut bench, 0.0, packet(1), &[HASH, 0.9]);
    for (seconds, p) in [(0.05, 0.0), (0.2, 0.25), (0.3, 0.25), (0.3001, 0.5), (0.35, 0.5)] {
        arrive(&mut bench, seconds, packet(1), &[0.9]);
        near(bench.probe("p"), p, &format!("{seconds} s"));
    }
}

#[test]
fn new_bins_start_with_the_counts_of_their_warm_up() {
    // Ten seconds each, the last two of which also fill the next bins.
    let mut bench = one_bin("rehash 10s warmup 2s bin_size 1000p");
    arrive(&mut bench, 1.0, packet(1), &[HASH, 0.9]);
    arrive(&mut bench, 7.999, packet(1), &[0.9]);
    arrive(&mut bench, 8.0, packet(1), &[0.6, 0.9]); // a second hash is drawn
    arrive(&mut bench, 9.0, packet(1), &[0.9]);
    assert_eq!(bench.probe("q_min"), 3.0);
    arrive(&mut bench, 10.0, packet(1), &[0.9]);
    assert_eq!(bench.probe("q_min"), 2.0, "two packets arrived in the warm-up of the new bins");
    // The departure of a packet from before the warm-up does not change the new bins, that of a later one
    // does.
    for (arrived, q_min) in [(1.0, 3.0), (7.999, 4.0), (8.0, 4.0), (9.0, 4.0), (10.0, 4.0)] {
        depart(&mut bench, packet(1).with_arrived(at(arrived)));
        arrive(&mut bench, 10.5, packet(1), &[0.9]);
        assert_eq!(bench.probe("q_min"), q_min, "after the packet of {arrived} s has left");
    }
    arrive(&mut bench, 604_800.0, packet(1), &[0.1, 0.9]);
    assert_eq!(bench.probe("q_min"), 0.0, "a week later");
}

/// On few levels flows share all bins; on eight a responsive flow is not mistaken for an unresponsive one.
#[test]
fn a_responsive_flow_is_distinguished() {
    let mut harmed = 0;
    for seed in 0..20 {
        let hash = f64::from(seed) / 20.0;
        let mut bench = Bench::new("sfb d1 0.1 bin_size 5p", context());
        let of = |flow: u32| packet(1).with_flow(FlowId(flow));
        arrive(&mut bench, 0.0, of(0), &[hash, 0.999]);
        let queue = bench.queue(0);
        let mut rng = sojourn_aqm::Stream::new(seed as u64, "sfb test");
        for _ in 0..200 {
            for flow in [0, 1, 2] {
                bench.aqm.on_arrival(at(0.0), &of(flow), &queue, &mut rng);
            }
        }
        assert_eq!(bench.probe("p"), 1.0, "three unresponsive flows");
        arrive(&mut bench, 0.0, of(3), &[0.999]);
        harmed += u32::from(bench.probe("p") > 0.0);
    }
    assert_eq!(harmed, 0);
}

#[test]
fn inconsistent_values_are_refused() {
    for (spec, key) in [
        ("sfb bin_size 20kB", "sfb.bin_size"),
        ("sfb max 20kB", "sfb.max"),
        ("sfb rehash 10s warmup 11s", "sfb.warmup"),
    ] {
        let built = sojourn_aqm::Spec::parse(spec).and_then(|s| s.build(context()));
        assert_eq!(built.map(|_| ()).expect_err(spec).key, key);
    }
}
