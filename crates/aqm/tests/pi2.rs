//! PI2: its vectors and its options.

use crate::support::{Bench, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Class, Contents, Ecn, FlowId, PacketView, Random, Stream, Time, Verdict};

/// A queue whose head has waited since `.0`.
pub(crate) struct Head(pub(crate) Time);

impl Contents for Head {
    fn at(&self, position: u32) -> Option<PacketView> {
        (position == 0).then_some(packet(1000).with_arrived(self.0))
    }
    fn of_flow(&self, _: FlowId) -> u32 {
        0
    }
    fn of_class(&self, _: Class) -> u32 {
        0
    }
}

/// One update, with a head that has waited for `delay` seconds; 1 s late, so that the head arrived after time
/// 0.
fn update(bench: &mut Bench, delay: f64) {
    let now = Time(bench.aqm.next_timer().expect("a timer").0 + 1_000_000_000);
    let head = Head(Time(now.0 - (delay * 1e9).round() as u64));
    let queue = bench.queue(5).with_contents(&head);
    if delay == 0.0 {
        bench.aqm.on_timer(now, &bench.queue(0), &mut Scripted::new(&[]));
    } else {
        bench.aqm.on_timer(now, &queue, &mut Scripted::new(&[]));
    }
}

fn leave(bench: &mut Bench, packet: PacketView, packets: u32, numbers: &[f64]) -> Verdict {
    let queue = bench.queue(packets);
    let mut rng = Scripted::new(numbers);
    let verdict = bench.aqm.on_departure(at(0.0), &packet, &queue, &mut rng);
    rng.assert_used("departure");
    verdict
}

/// A PI2 with this p', set by one update.
fn at_p_prime(p_prime: f64, options: &str) -> Bench {
    let spec = format!("pi2 target 0s t_update 10ms alpha 0 beta 1 {options}");
    let mut bench = Bench::new(&spec, context().with_ecn(true));
    update(&mut bench, p_prime);
    near(bench.probe("p_prime"), p_prime, "p'");
    near(bench.probe("p"), p_prime * p_prime, "p");
    bench
}

const DROP: Verdict = Verdict::Drop(Cause::Early);
const MARK: Verdict = Verdict::Mark(Cause::Early);

#[test]
fn pi2_v1_controller() {
    let mut bench = Bench::new("pi2 alpha 0.16 beta 3.2 t_update 16ms", context());
    assert_eq!(bench.aqm.next_timer(), Some(at(0.016)));
    for row in table("pi2_v1").rows() {
        update(&mut bench, row.number("delay (s)"));
        row.check("p'", bench.probe("p_prime"));
        row.check("p_C", bench.probe("p"));
        row.check("p_CL", 2.0 * bench.probe("p_prime"));
    }
}

#[test]
fn pi2_v2_gains_from_the_largest_rtt() {
    for (options, t_update, alpha, beta) in [
        ("", 0.015, 0.15, 3.0),
        ("rtt_max 30ms", 0.010, 0.1 * 0.010 / 0.0009, 10.0),
        ("t_update 20ms", 0.020, 0.2, 3.0),
        ("alpha 0.5", 0.015, 0.5, 3.0),
        ("beta 0.5", 0.015, 0.15, 0.5),
    ] {
        let mut bench = Bench::new(&format!("pi2 {options}"), context());
        assert_eq!(bench.aqm.next_timer(), Some(at(t_update)), "{options}");
        update(&mut bench, 0.025);
        near(bench.probe("p_prime"), alpha * 0.010 + beta * 0.025, options);
        update(&mut bench, 0.025);
        near(bench.probe("p_prime"), 2.0 * alpha * 0.010 + beta * 0.025, options);
    }
}

#[test]
fn pi2_v4_two_draws() {
    let mut bench = at_p_prime(0.5, "k 1");
    for (numbers, signal) in
        [([0.4, 0.6], false), ([0.4, 0.3], true), ([0.6, 0.4], false), ([0.5, 0.1], false)]
    {
        let (marked, dropped) = if signal { (MARK, DROP) } else { (Verdict::Pass, Verdict::Pass) };
        assert_eq!(leave(&mut bench, ect(1000), 5, &numbers), marked);
        assert_eq!(leave(&mut bench, packet(1000), 5, &numbers), dropped);
    }
}

#[test]
fn pi2_marks_only_below_p_c_max() {
    for (p_prime, options, verdict) in [
        (0.499, "", MARK),
        (0.501, "", DROP),
        (0.501, "p_c_max 0.26", MARK),
        (0.26, "k 4", DROP),
        (0.24, "k 4", MARK),
    ] {
        let mut bench = at_p_prime(p_prime, options);
        assert_eq!(leave(&mut bench, ect(1000), 5, &[0.0, 0.0]), verdict, "{p_prime} {options}");
    }
}

#[test]
fn pi2_may_count_instead_of_draw() {
    let mut bench = at_p_prime(0.5, "draw counter k 1");
    // 0.25 per packet: the sum passes 1 at the fifth packet, then at every fourth.
    let signals: Vec<u32> = (1..=16).filter(|_| leave(&mut bench, packet(1000), 5, &[]) == DROP).collect();
    assert_eq!(signals, [5, 9, 13]);
    // 0.3025 per packet: the excess over 1 remains in the sum.
    let mut bench = at_p_prime(0.55, "draw counter k 1");
    let signals: Vec<u32> = (1..=16).filter(|_| leave(&mut bench, packet(1000), 5, &[]) == DROP).collect();
    assert_eq!(signals, [4, 7, 10, 14]);
}

#[test]
fn pi2_may_decide_on_arrival_and_spare_short_queues() {
    let mut bench = at_p_prime(0.5, "at arrival");
    assert_eq!(leave(&mut bench, packet(1000), 5, &[]), Verdict::Pass);
    let queue = bench.queue(5);
    assert_eq!(bench.arrive(at(0.0), &packet(1000), &queue, &[0.1, 0.1]), DROP);
    let mut bench = at_p_prime(0.5, "");
    assert_eq!(bench.arrive(at(0.0), &packet(1000), &queue, &[]), Verdict::Pass);
    assert_eq!(leave(&mut bench, packet(1000), 0, &[0.1, 0.1]), DROP);
    for (options, packets, numbers) in [
        ("spare 3028B", 3, &[][..]),
        ("spare 3028B", 4, &[0.9, 0.9]),
        ("spare 2p", 2, &[]),
        ("spare 2p", 3, &[0.9, 0.9]),
        ("spare 0p", 0, &[0.9, 0.9]),
    ] {
        let mut bench = at_p_prime(0.5, options);
        assert_eq!(leave(&mut bench, packet(1000), packets, numbers), Verdict::Pass, "{options}");
    }
}

/// The listing of RFC 9332 for the classic queue alone, over random steps: same bits, same decisions.
#[test]
fn pi2_equals_the_pseudocode_of_the_rfc() {
    let mut rng = Stream::new(1, "pi2");
    let mut draw = |low: f64, high: f64| low + rng.uniform() * (high - low);
    let mut bench = Bench::new("pi2 alpha 0.5 beta 6", context().with_ecn(true));
    let (mut p_prime, mut prevq, mut delay) = (0.0f64, 0.0f64, 0.0f64);
    let mut tally = [0; 4];
    for step in 0..1_000_000 {
        let wander = draw(-0.004, 0.004);
        delay = (delay + wander).clamp(0.0, 0.1);
        if draw(0.0, 1.0) < 0.3 {
            let ns = (delay * 1e9).round();
            update(&mut bench, ns * 1e-9);
            let curq = ns * 1e-9;
            p_prime = p_prime + 0.5 * (curq - 15_000_000.0 * 1e-9) + 6.0 * (curq - prevq);
            p_prime = f64::max(0.0, p_prime);
            p_prime = f64::min(1.0, p_prime);
            prevq = curq;
            assert_eq!(bench.probe("p_prime"), p_prime, "step {step}");
        } else {
            let (u1, u2) = (draw(0.0, 1.0), draw(0.0, 1.0));
            let packet = if draw(0.0, 1.0) < 0.5 { ect(1000) } else { packet(1000) };
            let recur = p_prime > f64::max(u1, u2);
            let expected = match recur {
                false => Verdict::Pass,
                true if packet.ecn == sojourn_aqm::Ecn::NotEct || p_prime * p_prime >= 0.25 => DROP,
                true => MARK,
            };
            assert_eq!(leave(&mut bench, packet, 5, &[u1, u2]), expected, "step {step}");
            tally[match expected {
                Verdict::Pass => 0,
                MARK => 1,
                _ if p_prime < 0.5 => 2,
                _ => 3,
            }] += 1;
        }
    }
    assert!(tally.iter().all(|n| *n > 1000), "{tally:?}");
}

/// ECT(1) packets are marked with k p' by one number, ECT(0) ones with p'^2; beyond p_c_max both are dropped.
#[test]
fn pi2_couples_scalable_and_classic_packets() {
    let scalable = || packet(1000).with_ecn(Ecn::Ect1);
    let mut bench = at_p_prime(0.3, "");
    assert_eq!(leave(&mut bench, scalable(), 5, &[0.59]), MARK);
    assert_eq!(leave(&mut bench, scalable(), 5, &[0.61]), Verdict::Pass);
    assert_eq!(leave(&mut bench, ect(1000), 5, &[0.1, 0.31]), Verdict::Pass);
    let mut bench = at_p_prime(0.3, "coupled off");
    assert_eq!(leave(&mut bench, scalable(), 5, &[0.1, 0.31]), Verdict::Pass);
    let mut bench = at_p_prime(0.51, "");
    assert_eq!(leave(&mut bench, scalable(), 5, &[0.5, 0.5]), DROP);
    let mut bench = at_p_prime(0.3, "ecn off");
    assert_eq!(leave(&mut bench, scalable(), 5, &[0.2, 0.29]), DROP);
}
