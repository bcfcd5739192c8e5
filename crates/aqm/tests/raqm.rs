//! RAQM: the vectors of the reference model, and each option.

use crate::support::{Bench, Scripted, at, context, ect, link, near, packet, table};
use sojourn_aqm::{Cause, Limit, Verdict};

/// A period in which `bytes` arrive.
fn raqm_period(bench: &mut Bench, bytes: u32) {
    bench.aqm.on_offered(at(0.0), &packet(bytes), &bench.queue(0));
    bench.tick(&bench.queue(0));
}

/// The signalling probability of an arrival at queue `q`.
fn raqm_probability(bench: &mut Bench, q: u32) -> f64 {
    let queue = bench.queue(q);
    let mut rng = Scripted::new(&[0.999_999]);
    bench.aqm.on_arrival(at(0.0), &packet(0), &queue, &mut rng);
    bench.probe("p")
}

#[test]
fn v1_factor() {
    for row in table("raqm_v1").rows() {
        let link = link(1_000_000, Limit::Packets(100));
        let mut bench = Bench::new("raqm f_prime 0 eps 0.9 p_0 0.001 p_min 0", link);
        raqm_period(&mut bench, 1_000_000); // the first period has its own gain: x = 1 does not change p
        near(bench.probe("p_k"), 0.001, "p_0");
        raqm_period(&mut bench, (row.number("x") * 1e6).round() as u32);
        near(bench.probe("x"), row.number("x"), "x");
        row.check("factor exp(alpha (r_k - r0))", bench.probe("p_k") / 0.001);
    }
}

#[test]
fn v2_run() {
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
fn v3_static() {
    for (x, factor) in [(0.5, 0.367879441), (1.0, 1.0), (1.5, libm::exp(1.0)), (3.0, 54.59815)] {
        let link = link(1_000_000, Limit::Packets(100));
        let mut bench = Bench::new("raqm alpha static m 2 f_prime 0 p_0 0.001", link);
        for _ in 0..2 {
            let before = bench.probe("p_k");
            raqm_period(&mut bench, (x * 1e6) as u32);
            near(bench.probe("p_k") / before, factor, "factor"); // the first period's gain is 2 as well
            if x == 3.0 {
                break; // p reaches 1 otherwise
            }
        }
    }
}

#[test]
fn v4_queue_part() {
    let mut dependent = Bench::new("raqm p_0 0.02 q_0 50p", context());
    let mut independent = Bench::new("raqm p_0 0.02 mode independent", context());
    for (q, p) in [(0, 0.0), (25, 0.01), (50, 0.02), (100, 0.04), (2500, 1.0), (9999, 1.0)] {
        near(raqm_probability(&mut dependent, q), p, "dependent");
        near(raqm_probability(&mut independent, q), 0.02, "independent");
        // A number below p drops, p itself does not: there is no drop at an empty queue.
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

/// Two packets of 1000 bytes in the second period, at a target rate of 1000 bytes/s; `second` decides the
/// outcome of the second one.
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
fn may_correct_for_drops() {
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
fn without_a_lower_bound_p_stays_zero_and_finite() {
    let mut bench = Bench::new("raqm p_min 0 alpha static m 1000", context());
    for _ in 0..5 {
        bench.tick(&bench.queue(0)); // nothing arrives: x = 0
    }
    assert_eq!(bench.probe("p_k"), 0.0);
    for _ in 0..1000 {
        bench.aqm.on_offered(at(0.0), &packet(u32::MAX), &bench.queue(0));
    }
    bench.tick(&bench.queue(0)); // exp(m (x - 1)) exceeds the range of numbers
    assert_eq!(bench.probe("p_k"), 0.0);
}

#[test]
fn queue_term_in_bytes() {
    let mut bench = Bench::new("raqm p_0 0.02 q_0 50kB", context());
    let queue = bench.queue_bytes(25_500);
    bench.arrive(at(0.0), &packet(1000), &queue, &[0.9]);
    near(bench.probe("p"), 0.02 * 0.51, "p");
}
