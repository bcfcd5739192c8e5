//! RED and Gentle RED: the vectors of the reference model, and each option.

use crate::support::{Bench, Row, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Conventions, Limit, Stream, Time, Verdict};

const RED: &str = "red min_th 2p max_th 6p max_p 0.4 w_q 0.5";

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
fn v1_averages_spreads_and_drops() {
    let mut bench = Bench::new(RED, context());
    bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]); // the link starts idle; avg stays 0
    for row in table("red_v1").rows() {
        red_row(&mut bench, &row, at(1.0));
    }
}

#[test]
fn v2_decays_while_idle() {
    let context = context().with_link_rate(800_000); // 10 ms per packet
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
fn v3_spreads_by_count() {
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
fn v4_scales_by_size_in_byte_mode() {
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
fn v5_is_ns2_arrival_procedure() {
    let mut bench = Bench::new(&format!("{RED} gentle wait listing ns2"), context());
    // The packet that is transmitted at once leaves the count at 1, the vector starts at 0.
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
        ("gentle_v1", 1000.0, "min_th 5kB max_th 15kB"), // in bytes, for the three decimals of avg
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

/// p_b = 0.1 at four queued packets.
const STEADY: &str = "red min_th 2p max_th 6p max_p 0.2 w_q 1";

fn steady(options: &str) -> Bench {
    let mut bench = Bench::new(&format!("{STEADY} {options}"), context());
    bench.arrive(at(0.0), &packet(1000), &bench.queue(0), &[]);
    bench
}

fn p_a(bench: &mut Bench, packets: u32, number: f64) -> f64 {
    bench.arrive(at(0.0), &packet(1000), &bench.queue(packets), &[number]);
    bench.probe("p_a")
}

#[test]
fn count_increases_before_or_after_the_test() {
    for (option, after_a_mark) in [("count before", 0.1 / 0.9), ("count after", 0.1)] {
        let mut bench = steady(option);
        near(p_a(&mut bench, 4, 0.9), 0.1, option);
        near(p_a(&mut bench, 4, 0.0), 0.1 / 0.9, option);
        near(p_a(&mut bench, 4, 0.9), after_a_mark, option);
    }
}

/// The purpose of the counter: at a constant p_b the gaps between signals are uniform, not geometric.
#[test]
fn gaps_are_uniform() {
    for (option, gaps) in [("count before", 1..=9), ("count after", 1..=10), ("wait", 10..=19)] {
        let mut bench = steady(option);
        let mut rng = Stream::new(1, option);
        let mut seen = [0u32; 32];
        let (mut gap, total) = (0, 50_000);
        for _ in 0..=total {
            loop {
                gap += 1;
                assert!(gap < seen.len(), "{option}: no signal in sight");
                bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(4));
                if bench.aqm.on_arrival(at(0.0), &packet(1000), &bench.queue(4), &mut rng) != Verdict::Pass {
                    break;
                }
            }
            seen[gap] += 1;
            gap = 0;
        }
        let share = f64::from(total) / gaps.clone().count() as f64;
        for gap in gaps.clone() {
            // Five standard deviations; the first gap of all counts from the start.
            assert!(
                (f64::from(seen[gap]) - share).abs() < 5.0 * share.sqrt() + 1.0,
                "{option} {gap}: {seen:?}"
            );
        }
        let outside: u32 = seen.iter().enumerate().filter(|(g, _)| !gaps.contains(g)).map(|(_, n)| n).sum();
        assert!(outside <= 1, "{option}: {seen:?}");
    }
}

#[test]
fn gentle_line_may_end_at_the_limit() {
    // From 0.1 at 50 packets to 1 at 100.
    for (spec, limit, p) in [
        ("gred min_th 10p max_th 50p w_q 1 gentle_end limit", Limit::Packets(100), 0.55),
        ("gred min_th 10kB max_th 50kB w_q 1 gentle_end limit", Limit::Packets(100), 0.55),
        ("gred min_th 10p max_th 50p w_q 1 gentle_end limit", Limit::Bytes(100_000), 0.55),
        ("gred min_th 10p max_th 50p w_q 1", Limit::Packets(60), 0.1 + 0.9 * 0.5),
        (
            "red gentle min_th 10p max_th 40p w_q 1 gentle_end limit",
            Limit::Packets(80),
            0.1 + 0.9 * 35.0 / 40.0,
        ),
    ] {
        let mut bench = Bench::new(spec, context().with_limit(limit));
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(75));
        near(bench.probe("p"), p, spec);
    }
}

#[test]
fn byte_mode_of_ns2_counts_whole_mean_packets() {
    let mut bench = Bench::new("red min_th 3kB max_th 9kB w_q 1 listing ns2", context());
    bench.arrive(at(0.0), &packet(500), &bench.queue_bytes(0), &[]);
    bench.arrive(at(0.0), &packet(500), &bench.queue_bytes(6000), &[]); // the crossing
    for p_a in [0.05 / 0.95 / 2.0, 0.05 / 0.95 / 2.0, 0.05 / 0.9 / 2.0] {
        bench.arrive(at(0.0), &packet(500), &bench.queue_bytes(6000), &[0.9]);
        near(bench.probe("p_a"), p_a, "1000, 1500, 2000 bytes since the last drop");
    }
}

#[test]
fn upper_threshold_follows_the_lower() {
    // Just below 3 min_th the probability is just below max_p; there it is 1 (gentle: max_p).
    for (spec, below, p, at_it) in [
        ("red min_th 10kB w_q 1", 29_999, 0.1 * 19_999.0 / 20_000.0, 1.0),
        ("gred min_th 10kB w_q 1", 29_999, 0.1 * 19_999.0 / 20_000.0, 0.1),
        ("red min_th 10p w_q 1", 29_000, 0.1 * 19.0 / 20.0, 1.0),
        ("gred min_th 10p w_q 1", 29_000, 0.1 * 19.0 / 20.0, 0.1),
    ] {
        let mut bench = Bench::new(spec, context());
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue_bytes(below));
        near(bench.probe("p"), p, spec);
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue_bytes(30_000));
        near(bench.probe("p"), at_it, spec);
    }
}

/// The defaults of ns-2 until late 2001, where the schema has other values than for version 2.35.
#[test]
fn the_preset_of_2001_marks_above_max_th_where_later_ns_2_drops() {
    for (conventions, expected) in [
        (Conventions::Ns2, Verdict::Drop(Cause::Forced)),
        (Conventions::Ns2_2001, Verdict::Mark(Cause::Forced)),
    ] {
        let preset = context().with_conventions(conventions);
        let mut bench = Bench::new("red min_th 2p max_th 4p w_q 1 ecn", preset);
        assert_eq!(bench.arrive(at(0.0), &ect(1000), &bench.queue(90), &[]), expected);
    }
}

/// Arrivals that are dropped at an idle link less than a packet time apart do not stop the decay of the
/// average.
#[test]
fn decays_while_an_idle_link_drops_every_arrival() {
    // 1000 bytes at 10 Mbit/s are 0.8 ms; avg = 90 halves with each packet that could have been sent.
    let mut bench = Bench::new("red min_th 2p max_th 4p w_q 0.5", context());
    for _ in 0..20 {
        bench.arrive(at(0.0), &packet(1000), &bench.queue(90), &[]);
    }
    bench.aqm.on_idle(at(1.0));
    for i in 1..=40 {
        let (now, empty) = (at(1.0 + f64::from(i) * 0.0002), bench.queue(0));
        bench.aqm.on_offered(now, &packet(1000), &empty);
        if bench.probe("avg") < 2.0 {
            let packets = f64::from(i) * 0.2 / 0.8;
            assert!((5.0..=6.5).contains(&packets), "90 / 2^6 < 2 after 6 packets' times, not {packets}");
            return;
        }
        bench.aqm.on_idle(now);
    }
    panic!("the average did not decay below min_th");
}

/// From a base probability of `mark_p` on, a random signal drops an ECN-capable packet, too.
#[test]
fn marks_only_below_mark_p() {
    let mark = Verdict::Mark(Cause::Early);
    let drop = Verdict::Drop(Cause::Early);
    // p_b = 0.1 at a queue of 3.
    for (spec, expected) in
        [("red", mark), ("red mark_p 0.11", mark), ("red mark_p 0.1", drop), ("gred mark_p 0.1", drop)]
    {
        let mut bench = Bench::new(&format!("{spec} min_th 2p max_th 6p max_p 0.4 w_q 1 ecn"), context());
        bench.arrive(at(0.0), &ect(1000), &bench.queue(0), &[]); // the link starts idle; avg stays 0
        assert_eq!(bench.arrive(at(1.0), &ect(1000), &bench.queue(3), &[0.0]), expected, "{spec}");
    }
}
