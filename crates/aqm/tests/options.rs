//! Rules and options that no vector touches, each with a case worked out by hand.

use crate::support::{Bench, Scripted, at, context, ect, near, packet};
use sojourn_aqm::{Cause, Conventions, Limit, Stream, Time, Verdict};

/// p_b = 0.1 where four packets wait.
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
fn red_count_moves_before_or_after_the_test() {
    for (option, after_a_mark) in [("count before", 0.1 / 0.9), ("count after", 0.1)] {
        let mut bench = steady(option);
        near(p_a(&mut bench, 4, 0.9), 0.1, option);
        near(p_a(&mut bench, 4, 0.0), 0.1 / 0.9, option);
        near(p_a(&mut bench, 4, 0.9), after_a_mark, option);
    }
}

/// What the counter is for: at a steady p_b the gaps between signals are uniform, not geometric.
#[test]
fn red_gaps_are_uniform() {
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
fn red_gentle_line_may_end_at_the_limit() {
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
fn red_byte_mode_of_ns2_counts_whole_mean_packets() {
    let mut bench = Bench::new("red min_th 3kB max_th 9kB w_q 1 listing ns2", context());
    bench.arrive(at(0.0), &packet(500), &bench.queue_bytes(0), &[]);
    bench.arrive(at(0.0), &packet(500), &bench.queue_bytes(6000), &[]); // the crossing
    for p_a in [0.05 / 0.95 / 2.0, 0.05 / 0.95 / 2.0, 0.05 / 0.9 / 2.0] {
        bench.arrive(at(0.0), &packet(500), &bench.queue_bytes(6000), &[0.9]);
        near(bench.probe("p_a"), p_a, "1000, 1500, 2000 bytes since the last drop");
    }
}

#[test]
fn red_upper_threshold_follows_the_lower() {
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

/// A bench whose first update has set the probability to about `p`.
fn with_probability(spec: &str, queue: u32) -> Bench {
    let mut bench = Bench::new(spec, context());
    bench.tick(&bench.queue(queue));
    bench
}

#[test]
fn rem_byte_mode_counts_bytes() {
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
fn rem_may_mark_at_the_head_but_drops_on_arrival() {
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
fn rem_knows_its_rate_and_its_cap() {
    // c = 2 ms at 5 Mbit/s = 1.25 packets of 1000 B, or 2.5 of 500 B.
    for (spec, c) in [("rem rate 5Mbit/s", 1.25), ("rem rate 5Mbit/s mean_packet 500B", 2.5)] {
        let bench = with_probability(&format!("{spec} gamma 1 alpha 1 b_star 0p"), 10);
        near(bench.probe("price"), 10.0 - c, spec);
    }
    let bench = with_probability("rem gamma 100 price_max 7", 100);
    assert_eq!(bench.probe("price"), 7.0);
}

#[test]
fn pi_byte_mode_counts_mean_packets_of_bytes() {
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
fn pi_samples_do_not_drift() {
    let mut bench = Bench::new("pi f_s 170", context());
    let times: Vec<Time> = (0..340).map(|_| bench.tick(&bench.queue(0))).collect();
    assert_eq!((times[0], times[169], times[339]), (Time(5_882_353), at(1.0), at(2.0)));
}

/// Two packets of 1000 bytes in the second period, at a wanted rate of 1000 bytes/s; of the second one
/// becomes what `second` does.
fn raqm_x(options: &str, second: impl Fn(&mut Bench)) -> f64 {
    let link = context().with_link_rate(8000);
    let mut bench = Bench::new(&format!("raqm f_prime 0 p_0 0.5 mode independent m_0 1e-9 {options}"), link);
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
    bench.tick(&bench.queue(0)); // leaves p at 0.5
    let queue = bench.queue(0);
    assert_eq!(bench.arrive(at(1.5), &packet(1000), &queue, &[0.6]), Verdict::Pass);
    bench.aqm.on_offered(at(1.5), &packet(1000), &queue);
    second(&mut bench);
    bench.tick(&queue);
    bench.probe("x")
}

#[test]
fn raqm_may_correct_for_what_was_dropped() {
    let decide = |bench: &mut Bench, packet, number| {
        let queue = bench.queue(0);
        bench.aqm.on_arrival(at(1.5), &packet, &queue, &mut Scripted::new(&[number]))
    };
    let passes = |bench: &mut Bench| assert_eq!(decide(bench, packet(1000), 0.6), Verdict::Pass);
    let is_dropped =
        |bench: &mut Bench| assert_eq!(decide(bench, packet(1000), 0.4), Verdict::Drop(Cause::Early));
    let is_marked =
        |bench: &mut Bench| assert_eq!(decide(bench, ect(1000), 0.4), Verdict::Mark(Cause::Early));
    let overflows = |bench: &mut Bench| {
        let queue = bench.queue(0);
        bench.aqm.on_drop(at(1.5), &packet(1000), Cause::Overflow, &queue);
    };
    for (options, refused, overflown) in [
        ("", 2.0, 2.0),
        ("count admitted", 1.0, 2.0),
        ("count accepted", 1.0, 1.0),
        ("loss_corrected", 1.0, 1.0),
    ] {
        near(raqm_x(options, passes), 2.0, options);
        near(raqm_x(&format!("{options} ecn"), is_marked), 2.0, options);
        near(raqm_x(options, is_dropped), refused, options);
        near(raqm_x(options, overflows), overflown, options);
    }
    near(raqm_x("gamma 0.5", passes), 4.0, "r_0 = C/2");
    near(raqm_x("rate 16kbit/s", passes), 1.0, "r_0 = 2000 bytes/s");
}

#[test]
fn raqm_without_a_floor_stays_at_zero_without_becoming_nothing() {
    let mut bench = Bench::new("raqm p_min 0 alpha static m 1000", context());
    for _ in 0..5 {
        bench.tick(&bench.queue(0)); // nothing arrives: x = 0
    }
    assert_eq!(bench.probe("p_k"), 0.0);
    for _ in 0..1000 {
        bench.aqm.on_offered(at(0.0), &packet(u32::MAX), &bench.queue(0));
    }
    bench.tick(&bench.queue(0)); // exp(m (x - 1)) is far beyond all numbers
    assert_eq!(bench.probe("p_k"), 0.0);
}

#[test]
fn raqm_queue_term_in_bytes() {
    let mut bench = Bench::new("raqm p_0 0.02 q_0 50kB", context());
    let queue = bench.queue_bytes(25_500);
    bench.arrive(at(0.0), &packet(1000), &queue, &[0.9]);
    near(bench.probe("p"), 0.02 * 0.51, "p");
}

#[test]
fn virtual_queues_are_charged_for_what_the_real_buffer_refuses() {
    for spec in ["avq", "gkvq", "gkvq form until_empty"] {
        let mut bench = Bench::new(spec, context());
        for _ in 0..3 {
            bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(100));
            bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &bench.queue(100));
        }
        near(bench.probe("vq"), 3000.0, spec);
        if spec == "avq" {
            near(bench.probe("capacity") / 8.0, 1_000_000.0 - 3.0 * 0.15 * 1000.0, "C~");
        }
    }
}

#[test]
fn avq_capacity_earns_gamma_and_pays_for_bytes() {
    // In bytes/s, C = 1.25e6: a packet costs 150, 100 ms earn 0.15 x 0.5 x C x 0.1. Nothing is earned before the
    // first arrival.
    let mut bench = Bench::new("avq gamma 0.5", context());
    let queue = bench.queue(0);
    for (seconds, capacity) in [(5.0, 1e6 - 150.0), (5.1, 1e6 - 150.0 + 9375.0 - 150.0)] {
        bench.arrive(at(seconds), &packet(1000), &queue, &[]);
        near(bench.probe("capacity") / 8.0, capacity, "C~");
    }
}

#[test]
fn virtual_queues_take_their_size_from_the_limit() {
    for (spec, limit, room) in [
        ("avq", Limit::Packets(10), 10),
        ("avq", Limit::Bytes(10_000), 10),
        ("avq buffer 4p", Limit::Packets(10), 4),
        ("gkvq theta 0.5", Limit::Packets(10), 5),
        ("gkvq theta 0.5", Limit::Bytes(10_000), 5),
        ("gkvq theta 0.5 buffer 4kB", Limit::Packets(10), 4),
        ("avq mean_packet 500B", Limit::Packets(10), 5),
    ] {
        let mut bench = Bench::new(spec, context().with_limit(limit));
        let queue = bench.queue(0);
        let accepted = (0..20).filter(|_| bench.arrive(at(0.0), &packet(1000), &queue, &[]) == Verdict::Pass);
        assert_eq!(accepted.count(), room, "{spec}");
    }
}

#[test]
fn gkvq_drains_at_its_own_rate() {
    for (spec, left) in
        [("gkvq theta 0.5", 5000.0), ("gkvq rate 5Mbit/s", 5000.0), ("gkvq rate 10Mbit/s", 0.0)]
    {
        let mut bench = Bench::new(spec, context());
        for _ in 0..10 {
            bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        }
        bench.aqm.on_offered(at(0.008), &packet(0), &bench.queue(0)); // 8 ms at 10 Mbit/s: 10 kB
        near(bench.probe("vq"), left, spec);
    }
}

/// What ns-2 did by default until late 2001 differs from version 2.35 where the schema says so.
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

/// Arrivals that are refused at an idle link, closer together than a packet's time, do not stop the clock
/// by which the average forgets.
#[test]
fn red_forgets_while_an_idle_link_refuses_everybody() {
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
    panic!("the average never fell below min_th");
}
