//! SRED: its vectors, its buffer size, and the comparison of packets that do not fit.

use crate::contract;
use crate::support::{Bench, Scripted, at, context, near, packet, table};
use sojourn_aqm::{Cause, FlowId, Limit, PacketView, Spec, Verdict};

fn of(flow: u32) -> PacketView {
    packet(1000).with_flow(FlowId(flow))
}

/// One zombie, and an arrival at queue `q` and hit frequency `frequency` that hits or not.
fn meet(form: &str, q: u32, frequency: f64, hit: bool) -> Bench {
    // The first comparison hits: P = alpha. After a miss P is (1 - alpha) alpha.
    let alpha = if hit { frequency } else { (1.0 - (1.0 - 4.0 * frequency).sqrt()) / 2.0 };
    let link = context().with_limit(Limit::Packets(120));
    let mut bench = Bench::new(&format!("sred m 1 form {form} alpha {alpha}"), link);
    let (empty, queue) = (bench.queue(0), bench.queue(q));
    bench.arrive(at(0.0), &of(1), &empty, &[0.9]);
    if hit {
        bench.arrive(at(0.0), &of(1), &queue, &[0.0, 0.999_999]);
    } else {
        bench.arrive(at(0.0), &of(1), &empty, &[0.0, 0.9]);
        bench.arrive(at(0.0), &of(2), &queue, &[0.0, 0.9, 0.999_999]);
    }
    near(bench.probe("hit_frequency"), frequency, "P(t)");
    bench
}

#[test]
fn v1_and_v3_probability() {
    for row in table("sred_v1").rows() {
        for form in ["simple", "full"] {
            let bench = meet(form, row.whole("q"), row.number("P(t)"), row.number("Hit") == 1.0);
            row.check("p_sred", bench.probe("p_sred"));
            row.check(&format!("p_zap {form}"), bench.probe("p"));
        }
    }
}

#[test]
fn v2_run() {
    let link = context().with_limit(Limit::Packets(6));
    let mut bench = Bench::new("sred m 2 p 0.25 alpha 0.5 p_max 0.4", link);
    for row in table("sred_v2").rows() {
        let numbers: Vec<f64> = ["u_i", "u_o", "u_d"].iter().filter_map(|u| row.option(u)).collect();
        let flow = of(row.word("flow").bytes().map(u32::from).sum());
        let queue = bench.queue(row.whole("q"));
        let verdict = bench.arrive(at(0.0), &flow, &queue, &numbers);
        let expected =
            if row.word("result") == "accept" { Verdict::Pass } else { Verdict::Drop(Cause::Early) };
        assert_eq!(verdict, expected);
        row.check("P after", bench.probe("hit_frequency"));
        row.check("p_zap", bench.probe("p"));
        let list: Vec<&str> = row.word("list after").split(' ').collect();
        assert_eq!(bench.probe("zombies"), list.len() as f64);
        let met = row.option("u_i").map_or(list.len() - 1, |u| (2.0 * u) as usize);
        let hits = list[met].split(':').nth(1).expect("name:hits");
        assert_eq!(bench.probe("zombie_hits"), hits.parse::<f64>().expect("a number"));
    }
}

#[test]
fn a_packet_that_does_not_fit_is_compared_but_not_tested() {
    let mut bench = Bench::new("sred m 2 alpha 0.5", context());
    let full = bench.queue(100);
    for (flow, numbers, zombies, frequency) in [
        (1, &[][..], 1.0, 0.0),
        (2, &[], 2.0, 0.0),
        (1, &[0.0], 2.0, 0.5),
        (3, &[0.0, 0.1], 2.0, 0.25), // replaces 1
        (1, &[0.0, 0.9], 2.0, 0.125),
        (3, &[0.0], 2.0, 0.5625),
    ] {
        let mut rng = Scripted::new(numbers);
        bench.aqm.on_offered(at(0.0), &of(flow), &full);
        bench.aqm.on_drop(at(0.0), &of(flow), Cause::Overflow, &full);
        bench.aqm.on_refused(at(0.0), &of(flow), &full, &mut rng);
        rng.assert_used("refused");
        assert_eq!((bench.probe("zombies"), bench.probe("hit_frequency")), (zombies, frequency));
    }
    assert_eq!(bench.probe("p"), 0.0);
}

#[test]
fn the_buffer_is_the_limit_in_its_unit() {
    for (spec, limit, third) in [
        ("sred", Limit::Packets(90), 30_000),
        ("sred", Limit::Bytes(90_000), 30_000),
        ("sred buffer 60p", Limit::Packets(90), 20_000),
        ("sred buffer 60kB", Limit::Packets(90), 20_000),
    ] {
        let mut bench = Bench::new(spec, context().with_limit(limit));
        for (bytes, p) in
            [(third / 2 - 1000, 0.0), (third / 2, 0.0375), (third - 1000, 0.0375), (third, 0.15)]
        {
            let queue = bench.queue_bytes(bytes);
            bench.arrive(at(0.0), &of(1), &queue, &[0.9]);
            assert_eq!(bench.probe("p"), p, "{spec} at {bytes}");
        }
    }
}

#[test]
fn alpha_is_one_over_the_list() {
    for (spec, alpha) in [("sred m 4", 0.25), ("sred m 4 alpha 0.1", 0.1)] {
        let mut bench = Bench::new(spec, context());
        let queue = bench.queue(0);
        for _ in 0..4 {
            bench.arrive(at(0.0), &of(1), &queue, &[0.9]);
        }
        bench.arrive(at(0.0), &of(1), &queue, &[0.5, 0.9]);
        near(bench.probe("hit_frequency"), alpha, spec);
    }
    let built = Spec::parse("sred m 1").and_then(|s| s.build(context()));
    assert_eq!(built.map(|_| ()).expect_err("1/1").key, "sred.alpha");
}

#[test]
fn unusual_settings_satisfy_the_contract() {
    for spec in [
        "sred m 1 alpha 1e-300 p 1 p_max 1",
        "sred m 2 alpha 0.999999 form simple p_max 1 buffer 1B ecn",
        "sred m 1000000",
    ] {
        contract::check(spec);
    }
}
