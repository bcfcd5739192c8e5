//! The vectors of the reference model, put through the real algorithms: every number that it printed
//! is read from a verdict or a probe, and exactly the random numbers that it prints are drawn.

use crate::support::{Bench, Row, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Context, Limit, Time, Verdict};

const RED: &str = "red min_th 2p max_th 6p max_p 0.4 w_q 0.5";

/// A link of `bytes_per_second`.
fn link(bytes_per_second: u64, limit: Limit) -> Context {
    context().with_link_rate(8 * bytes_per_second).with_limit(limit)
}

/// One arrival of RED's tables: averages, probabilities, verdict, counter.
fn red_row(bench: &mut Bench, row: &Row, now: Time) {
    let queue = bench.queue(row.whole("q"));
    let verdict = bench.arrive(now, &packet(1000), &queue, &row.draws());
    row.check("avg", bench.probe("avg"));
    row.check("p_b", bench.probe("p"));
    row.check("p_a", bench.probe("p_a"));
    row.check_signal("mark/drop", verdict);
    row.check("count after", bench.probe("count"));
    match (verdict, row.option("u")) {
        (Verdict::Pass, _) => {}
        (verdict, Some(_)) => assert_eq!(verdict, Verdict::Drop(Cause::Early)),
        (verdict, None) => assert_eq!(verdict, Verdict::Drop(Cause::Forced)),
    }
}

#[test]
fn red_v1_averages_spreads_and_drops() {
    let mut bench = Bench::new(RED, context());
    bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]); // the link starts idle; avg stays 0
    for row in table("red_v1").rows() {
        red_row(&mut bench, &row, at(1.0));
    }
}

#[test]
fn red_v2_decays_while_idle() {
    let context = context().with_link_rate(800_000); // 10 ms a packet
    for (listing, first) in [("fj93", 0.5), ("ns2", 0.25)] {
        let mut bench = Bench::new(&format!("{RED} listing {listing}"), context);
        bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]);
        let draws: &[f64] = if listing == "ns2" { &[] } else { &[0.9] };
        bench.arrive(at(0.5), &packet(1000), &bench.queue(8), draws);
        assert_eq!(bench.probe("avg"), 4.0);
        bench.aqm.on_idle(at(1.0));
        if listing == "ns2" {
            bench.arrive(at(1.035), &packet(1000), &bench.queue(0), &[]);
            assert_eq!(bench.probe("avg"), first);
            continue;
        }
        for (row, now) in table("red_v2").rows().zip([1.035, 1.036]) {
            red_row(&mut bench, &row, at(now));
        }
    }
}

#[test]
fn red_v3_spreads_by_count() {
    for (flag, column) in [("", "p_a wait off"), ("wait", "p_a wait on")] {
        for row in table("red_v3").rows() {
            // max_p and thresholds such that p_b = 0 at q = 2 and 0.1 at q = 4; avg = q.
            let mut bench = Bench::new(&format!("red min_th 2p max_th 6p max_p 0.2 w_q 1 {flag}"), context());
            bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]);
            for _ in 0..row.whole("count") {
                bench.arrive(at(0.0), &packet(1000), &bench.queue(2), &[0.0]);
            }
            let verdict = bench.arrive(at(0.0), &packet(1000), &bench.queue(4), &[0.9999]);
            near(bench.probe("p"), 0.1, "p_b");
            row.check(column, bench.probe("p_a"));
            assert_eq!(verdict != Verdict::Pass, row.number(column) == 1.0);
        }
    }
}

#[test]
fn red_v4_scales_by_size_in_byte_mode() {
    for row in table("red_v4").rows() {
        let mut bench = Bench::new("red min_th 3000B max_th 9000B max_p 0.1 w_q 1", context());
        let packet = packet(row.whole("packet size"));
        bench.arrive(at(0.0), &packet, &bench.queue(0), &[]);
        for count in 0..=20 {
            let queue = bench.queue_bytes(4500);
            assert_eq!(bench.arrive(at(0.0), &packet, &queue, &[0.9999]), Verdict::Pass);
            assert_eq!(bench.probe("count"), f64::from(count));
            match count {
                0 => {
                    row.check("p_b", bench.probe("p_a"));
                    row.check("p_a (count 0)", bench.probe("p_a"));
                }
                20 => row.check("p_a (count 20)", bench.probe("p_a")),
                _ => {}
            }
        }
        near(bench.probe("p"), 0.025, "p_b of the average alone");
    }
}

#[test]
fn red_v5_is_ns2_arrival_procedure() {
    let mut bench = Bench::new(&format!("{RED} gentle wait listing ns2"), context());
    // The packet that goes straight into transmission leaves the count at 1, the vector starts at 0.
    bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]);
    bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &bench.queue(0));
    for row in table("red_v5").rows() {
        let queue = bench.queue(row.whole("q"));
        let verdict = bench.arrive(at(1.0), &packet(1000), &queue, &row.draws());
        row.check("avg", bench.probe("avg"));
        row.check("p_b", bench.probe("p"));
        row.check("p_a", bench.probe("p_a"));
        row.check_signal("drop", verdict);
        row.check("count after", bench.probe("count"));
    }
}

#[test]
fn gentle_v1_and_v3_base_probability() {
    for (name, scale, thresholds) in [
        ("gentle_v1", 1000.0, "min_th 5kB max_th 15kB"), // in bytes, to give avg its three decimals
        ("gentle_v3", 1.0, "min_th 45p max_th 195p"),
    ] {
        for row in table(name).rows() {
            for (algorithm, column) in [("red", "p_b RED"), ("gred", "p_b gentle"), ("gred", "p_b")] {
                if name == "gentle_v3" && column != "p_b" || name == "gentle_v1" && column == "p_b" {
                    continue;
                }
                let mut bench = Bench::new(&format!("{algorithm} {thresholds} max_p 0.1 w_q 1"), context());
                bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
                let avg = (row.number("avg") * scale).round();
                let queue =
                    if scale == 1.0 { bench.queue(avg as u32) } else { bench.queue_bytes(avg as u64) };
                bench.aqm.on_offered(at(0.0), &packet(1000), &queue);
                assert_eq!(bench.probe("avg"), avg);
                row.check(column, bench.probe("p"));
            }
        }
    }
}

#[test]
fn gentle_v2_run() {
    for spec in ["red gentle", "gred"] {
        let mut bench = Bench::new(&format!("{spec} min_th 2p max_th 4p max_p 0.5 w_q 1"), context());
        bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]);
        for row in table("gentle_v2").rows() {
            red_row(&mut bench, &row, at(1.0));
        }
    }
}

/// `x` packets of 1000 bytes are offered to a full queue; they count as arrivals, though none is let in.
fn offer(bench: &mut Bench, x: u32) {
    for _ in 0..x {
        let queue = bench.queue(100);
        bench.aqm.on_offered(at(0.0), &packet(1000), &queue);
        bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &queue);
    }
}

#[test]
fn rem_v1_and_v2_price() {
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
fn rem_v3_probability_of_a_price() {
    for row in table("rem_v3").rows() {
        // With alpha 1 and target 0 one packet waiting raises the price by gamma.
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
fn rem_v4_queue_only() {
    let mut bench = Bench::new("rem form queue gamma 0.001 alpha 0.1 b_star 20p", context());
    for row in table("rem_v4").rows() {
        offer(&mut bench, 7); // the rate must not matter
        bench.tick(&bench.queue(row.whole("b")));
        row.check("price", bench.probe("price"));
        row.check("prob", bench.probe("p"));
    }
}

#[test]
fn pi_v1_and_v2_probability() {
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
fn pi_v3_clamps_an_empty_start() {
    let mut bench = Bench::new("pi q_ref 50p", context());
    bench.tick(&bench.queue(0));
    assert_eq!(bench.probe("p"), 0.0); // a(-50) - b(-50) = -3e-6
}

/// A period in which `bytes` arrive.
fn raqm_period(bench: &mut Bench, bytes: u32) {
    bench.aqm.on_offered(at(0.0), &packet(bytes), &bench.queue(0));
    bench.tick(&bench.queue(0));
}

/// The probability that an arrival meets at queue `q`.
fn raqm_probability(bench: &mut Bench, q: u32) -> f64 {
    let queue = bench.queue(q);
    let mut rng = Scripted::new(&[0.999_999]);
    bench.aqm.on_arrival(at(0.0), &packet(0), &queue, &mut rng);
    bench.probe("p")
}

#[test]
fn raqm_v1_factor() {
    for row in table("raqm_v1").rows() {
        let link = link(1_000_000, Limit::Packets(100));
        let mut bench = Bench::new("raqm f_prime 0 eps 0.9 p_0 0.001 p_min 0", link);
        raqm_period(&mut bench, 1_000_000); // the first period's gain is its own: x = 1 leaves p alone
        near(bench.probe("p_k"), 0.001, "p_0");
        raqm_period(&mut bench, (row.number("x") * 1e6).round() as u32);
        near(bench.probe("x"), row.number("x"), "x");
        row.check("factor exp(alpha (r_k - r0))", bench.probe("p_k") / 0.001);
    }
}

#[test]
fn raqm_v2_run() {
    let spec = "raqm period 1s f_prime 0.1 eps 0.9 p_min 1e-5 p_0 0.0002 q_0 50p";
    let mut bench = Bench::new(spec, link(1000, Limit::Packets(100)));
    let mut before = 0.0002;
    for row in table("raqm_v2").rows() {
        raqm_period(&mut bench, row.whole("bytes l_k"));
        row.check("r_k", bench.probe("r") / 8.0);
        row.check("p_k", bench.probe("p_k"));
        if row.number("p_k") > 1e-5 {
            row.check("factor", bench.probe("p_k") / before);
        }
        row.check("p at q = 100 and q0 = 50", raqm_probability(&mut bench, 100));
        before = bench.probe("p_k");
    }
}

#[test]
fn raqm_v3_static() {
    for (x, factor) in [(0.5, 0.367879441), (1.0, 1.0), (1.5, libm::exp(1.0)), (3.0, 54.59815)] {
        let link = link(1_000_000, Limit::Packets(100));
        let mut bench = Bench::new("raqm alpha static m 2 f_prime 0 p_0 0.001", link);
        for _ in 0..2 {
            let before = bench.probe("p_k");
            raqm_period(&mut bench, (x * 1e6) as u32);
            near(bench.probe("p_k") / before, factor, "factor"); // the first period's gain is 2 as well
            if x == 3.0 {
                break; // p would reach 1
            }
        }
    }
}

#[test]
fn raqm_v4_queue_part() {
    let mut dependent = Bench::new("raqm p_0 0.02 q_0 50p", context());
    let mut independent = Bench::new("raqm p_0 0.02 mode independent", context());
    for (q, p) in [(0, 0.0), (25, 0.01), (50, 0.02), (100, 0.04), (2500, 1.0), (9999, 1.0)] {
        near(raqm_probability(&mut dependent, q), p, "dependent");
        near(raqm_probability(&mut independent, q), 0.02, "independent");
        // A number below p drops, p itself does not: an empty queue never drops.
        let (queue, p) = (dependent.queue(q), dependent.probe("p"));
        if p < 1.0 {
            assert_eq!(dependent.arrive(at(0.0), &packet(1000), &queue, &[p]), Verdict::Pass);
        }
        if p > 0.0 {
            let verdict = dependent.arrive(at(0.0), &packet(1000), &queue, &[p * 0.999_999]);
            assert_eq!(verdict, Verdict::Drop(Cause::Early));
        }
    }
}

#[test]
fn avq_v1_and_v2_marking() {
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
fn avq_v3_dropping_has_a_second_clock() {
    // In packet mode the same packets count as much, whatever their size.
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
fn gkvq_v1_signals_the_packet_that_overflows() {
    for ecn in [false, true] {
        let spec = if ecn { "gkvq ecn rate 8kbit/s buffer 2000B" } else { "gkvq rate 8kbit/s buffer 2000B" };
        let mut bench = Bench::new(spec, link(5000, Limit::Packets(100)));
        let queue = bench.queue(0);
        for row in table("gkvq_v1").rows() {
            let packet = if ecn { ect(row.whole("size")) } else { packet(row.whole("size")) };
            let verdict = bench.arrive(at(row.number("t")), &packet, &queue, &[]);
            row.check_signal("mark/drop", verdict);
            assert_eq!(matches!(verdict, Verdict::Mark(Cause::Early)), ecn && verdict != Verdict::Pass);
            row.check("VQ after", bench.probe("vq"));
            let entered = if verdict == Verdict::Pass { row.number("size") } else { 0.0 };
            row.check("VQ drained", bench.probe("vq") - entered);
        }
    }
}

#[test]
fn gkvq_v2_marks_departures_until_empty() {
    for stale in ["off", "on"] {
        let spec = format!("gkvq form until_empty mode packet theta 0.5 ecn stale_clock {stale}");
        let mut bench = Bench::new(&spec, link(2000, Limit::Packets(4)));
        let queue = bench.queue(0);
        for row in table("gkvq_v2").rows() {
            let now = at(row.number("t"));
            match row.word("event") {
                "arr" => assert_eq!(bench.arrive(now, &ect(700), &queue, &[]), Verdict::Pass),
                _ => {
                    let verdict = bench.aqm.on_departure(now, &ect(700), &queue, &mut Scripted::new(&[]));
                    row.check_signal("departing packet", verdict);
                    let unmarked = packet(700);
                    let verdict = bench.aqm.on_departure(now, &unmarked, &queue, &mut Scripted::new(&[]));
                    assert_eq!(verdict, Verdict::Pass);
                }
            }
            row.check("VQ after", bench.probe("vq") / 1000.0);
            row.check("flag", bench.probe("flag"));
        }
        // What ns-2 does next: the departure at once drains for the second that the queue was empty.
        bench.aqm.on_departure(at(3.0), &ect(700), &queue, &mut Scripted::new(&[]));
        near(bench.probe("vq"), if stale == "on" { 0.0 } else { 1000.0 }, "VQ");
    }
}
