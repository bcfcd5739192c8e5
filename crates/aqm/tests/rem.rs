//! REM: the vectors of the reference model, and each option.

use crate::support::{Bench, Scripted, at, context, ect, near, packet, table, with_probability};
use sojourn_aqm::{Cause, Verdict};

/// `x` packets of 1000 bytes are offered to a full queue; they count as arrivals, although none is accepted.
fn offer(bench: &mut Bench, x: u32) {
    for _ in 0..x {
        let queue = bench.queue(100);
        bench.aqm.on_offered(at(0.0), &packet(1000), &queue);
        bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &queue);
    }
}

#[test]
fn v1_and_v2_price() {
    for (name, queue, spec) in [
        ("rem_v1", "q at end", "rem gamma 0.001 alpha 0.1 b_star 20 phi 1.001 w_in 1 period 2ms"),
        ("rem_v2", "q", "rem gamma 0.005 w_in 0.002"),
    ] {
        let arrivals = if name == "rem_v1" { "arrivals x" } else { "x" };
        let mut bench = Bench::new(spec, context());
        for row in table(name).rows() {
            offer(&mut bench, row.whole(arrivals));
            let now = bench.tick(&bench.queue(row.whole(queue)));
            assert_eq!(now, at(0.002 * row.number("interval")));
            row.check("x_avg", bench.probe("x_avg"));
            row.check("price", bench.probe("price"));
            row.check("prob", bench.probe("p"));
        }
    }
}

#[test]
fn v3_probability_of_a_price() {
    for row in table("rem_v3").rows() {
        // With alpha 1 and target 0 one queued packet increases the price by gamma.
        let price = row.word("price");
        let mut bench = Bench::new(&format!("rem form queue gamma {price} alpha 1 b_star 0p"), context());
        bench.tick(&bench.queue(1));
        row.check("price", bench.probe("price"));
        row.check("p", bench.probe("p"));
        let p = bench.probe("p");
        let queue = bench.queue(1);
        assert_eq!(bench.arrive(at(1.0), &packet(1000), &queue, &[p * (1.0 + 1e-12)]), Verdict::Pass);
        assert_eq!(
            bench.arrive(at(1.0), &packet(1000), &queue, &[p * (1.0 - 1e-12)]),
            Verdict::Drop(Cause::Early)
        );
    }
}

#[test]
fn v4_queue_only() {
    let mut bench = Bench::new("rem form queue gamma 0.001 alpha 0.1 b_star 20p", context());
    for row in table("rem_v4").rows() {
        offer(&mut bench, 7); // the rate must have no effect
        bench.tick(&bench.queue(row.whole("b")));
        row.check("price", bench.probe("price"));
        row.check("prob", bench.probe("p"));
    }
}

#[test]
fn byte_mode_counts_bytes() {
    let mut bench = Bench::new("rem b_star 20kB", context());
    for _ in 0..5 {
        bench.aqm.on_offered(at(0.0), &packet(500), &bench.queue(0));
    }
    bench.tick(&bench.queue_bytes(30_500));
    near(bench.probe("x_avg"), 2.5, "five half packets");
    near(bench.probe("price"), 0.001 * (2.5 + 0.1 * 10.5 - 2.5), "price");
    let half = bench.probe("p") / 2.0;
    let queue = bench.queue(0);
    assert_eq!(bench.arrive(at(0.0), &packet(500), &queue, &[half]), Verdict::Pass);
    assert_eq!(bench.arrive(at(0.0), &packet(500), &queue, &[half * 0.999]), Verdict::Drop(Cause::Early));
}

#[test]
fn may_mark_at_the_head_but_drops_on_arrival() {
    let mut bench = with_probability("rem ecn mark_at departure gamma 100", 100);
    assert!(bench.probe("p") > 0.1);
    let queue = bench.queue(1);
    let mark = Verdict::Mark(Cause::Early);
    assert_eq!(bench.arrive(at(1.0), &ect(1000), &queue, &[]), Verdict::Pass);
    assert_eq!(bench.aqm.on_departure(at(1.0), &ect(1000), &queue, &mut Scripted::new(&[0.05])), mark);
    assert_eq!(
        bench.aqm.on_departure(at(1.0), &ect(1000), &queue, &mut Scripted::new(&[0.999])),
        Verdict::Pass
    );
    assert_eq!(bench.arrive(at(1.0), &packet(1000), &queue, &[0.05]), Verdict::Drop(Cause::Early));
    assert_eq!(
        bench.aqm.on_departure(at(1.0), &packet(1000), &queue, &mut Scripted::new(&[])),
        Verdict::Pass
    );

    let mut bench = with_probability("rem ecn gamma 100", 100);
    assert_eq!(bench.arrive(at(1.0), &ect(1000), &queue, &[0.05]), mark);
    assert_eq!(bench.aqm.on_departure(at(1.0), &ect(1000), &queue, &mut Scripted::new(&[])), Verdict::Pass);

    let mut bench = with_probability("rem ecn off mark_at departure gamma 100", 100);
    assert_eq!(bench.arrive(at(1.0), &ect(1000), &queue, &[0.05]), Verdict::Drop(Cause::Early));
}

#[test]
fn uses_its_rate_and_its_price_max() {
    // c = 2 ms at 5 Mbit/s = 1.25 packets of 1000 B, or 2.5 of 500 B.
    for (spec, c) in [("rem rate 5Mbit/s", 1.25), ("rem rate 5Mbit/s mean_packet 500B", 2.5)] {
        let bench = with_probability(&format!("{spec} gamma 1 alpha 1 b_star 0p"), 10);
        near(bench.probe("price"), 10.0 - c, spec);
    }
    let bench = with_probability("rem gamma 100 price_max 7", 100);
    assert_eq!(bench.probe("price"), 7.0);
}
