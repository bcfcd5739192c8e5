//! DualPI2: vectors and options.

use crate::queueing::{N, dequeue, enqueue, probe};
use crate::schedulers::build;
use crate::support::{Scripted, at, context, near};
use sojourn_aqm::{Cause, Ecn, Limit, Outcome, Scheduler, Stream};

/// A DualPI2 with this p', set by one update with the necessary delay of C's head; C is empty afterwards.
fn dual(p_prime: f64, options: &str) -> Box<dyn Scheduler> {
    let mut dual = build(&format!("dualpi2 target 0s t_update 10ms alpha 0 beta 1 {options}"), context());
    enqueue(&mut *dual, 10.0 - p_prime, &[(0, 0, 1000, Ecn::Ect0)]);
    dual.on_timer(at(10.0), &mut Scripted::new(&[]));
    let (token, _) = dequeue(&mut *dual, 10.0, &[0.0, 1.0 - 1e-9]);
    assert_eq!(token, Some(0));
    dual
}

#[test]
fn dualpi2_v1_couples_classic_and_scalable() {
    for row in crate::support::table("pi2_v1").rows() {
        let dual = dual(row.number("p'"), "");
        assert!((probe(&*dual, "p_prime") - row.number("p'")).abs() < 1e-8);
        assert!((probe(&*dual, "c.p") - row.number("p_C")).abs() < 1e-8);
        assert!((probe(&*dual, "l.p") - row.number("p_CL")).abs() < 1e-8);
    }
}

const EARLY_MARK: Outcome = Outcome::Marked(Cause::Early);
const EARLY_DROP: Outcome = Outcome::Dropped(Cause::Early);

#[test]
fn dualpi2_v3_ramp_of_the_scalable_queue() {
    let leave = |options: &str, behind: usize, delay: f64, u: f64| {
        let mut dual = build(&format!("dualpi2 {options}"), context());
        enqueue(&mut *dual, 1.0, &vec![(0, 0, 1000, Ecn::Ect1); behind + 1]);
        dequeue(&mut *dual, 1.0 + delay, &[u]).1 == [(0, EARLY_MARK)]
    };
    for (delay, below, above) in [(0.0007, -1.0, 0.0), (0.001, 0.4999, 0.5001), (0.0012, 0.9999, 2.0)] {
        assert!(below < 0.0 || leave("", 5, delay, below), "{delay}");
        assert!(above > 1.0 || !leave("", 5, delay, above), "{delay}");
    }
    assert!(!leave("", 1, 0.1, 0.0), "only one packet is queued behind it");
    assert!(leave("", 2, 0.1, 0.999));
    assert!(leave("th_len 0p", 1, 0.1, 0.999));
    assert!(!leave("min_th 1ms range 0s", 5, 0.000999, 0.0) && leave("min_th 1ms range 0s", 5, 0.001, 0.999));
}

#[test]
fn dualpi2_signals_classic_and_scalable_packets_differently() {
    // L: k p' with one random number. C: p'^2 with two, marked below p_c_max, dropped above it or without
    // ECN.
    for (p_prime, ecn, numbers, outcome) in [
        (0.2, Ecn::Ect1, &[0.399][..], Some(EARLY_MARK)),
        (0.2, Ecn::Ect1, &[0.401], None),
        (0.2, Ecn::Ce, &[0.399], Some(EARLY_MARK)),
        (0.2, Ecn::Ect0, &[0.199, 0.1], Some(EARLY_MARK)),
        (0.2, Ecn::Ect0, &[0.201, 0.1], None),
        (0.2, N, &[0.1, 0.199], Some(EARLY_DROP)),
        // Overload: 2 p' >= 1. L is dropped with p'^2 = 0.36, the rest is marked.
        (0.6, Ecn::Ect1, &[0.359], Some(EARLY_DROP)),
        (0.6, Ecn::Ect1, &[0.361, 0.9999], Some(EARLY_MARK)),
        (0.6, Ecn::Ect0, &[0.59, 0.59], Some(EARLY_DROP)),
    ] {
        let mut dual = dual(p_prime, "");
        enqueue(&mut *dual, 10.0, &[(0, 0, 1000, ecn)]);
        let (token, outcomes) = dequeue(&mut *dual, 10.0, numbers);
        let place = format!("{p_prime} {ecn:?} {numbers:?}");
        assert_eq!(outcomes, outcome.map(|outcome| (0, outcome)).into_iter().collect::<Vec<_>>(), "{place}");
        assert_eq!(token.is_none(), outcome == Some(EARLY_DROP), "{place}");
    }
    let mut capped = dual(0.6, "overload cap");
    near(probe(&*capped, "p_prime"), 0.5, "capped at 1/k");
    enqueue(&mut *capped, 10.0, &[(0, 0, 1000, Ecn::Ect1)]);
    assert_eq!(dequeue(&mut *capped, 10.0, &[0.9999]).1, [(0, EARLY_MARK)]);
}

#[test]
fn dualpi2_follows_the_longer_delay_and_protects_classic() {
    for (follows, p_prime) in [("both", 0.3), ("classic", 0.0)] {
        let mut dual =
            build(&format!("dualpi2 target 0s alpha 0 beta 1 t_update 1s follows {follows}"), context());
        enqueue(&mut *dual, 0.7, &[(0, 0, 1000, Ecn::Ect1)]);
        dual.on_timer(at(1.0), &mut Scripted::new(&[]));
        assert!((probe(&*dual, "p_prime") - p_prime).abs() < 1e-9, "{follows}");
    }
    for (w_c, share) in [("0.0625", 1.0 / 16.0), ("0.25", 0.25)] {
        let roomy = context().with_limit(Limit::Packets(10_000));
        let mut dual = build(&format!("dualpi2 w_c {w_c} min_th 1s"), roomy);
        let arrivals: Vec<_> =
            (0..2000).map(|i| (0, 0, 1000, if i < 1000 { Ecn::Ect1 } else { N })).collect();
        enqueue(&mut *dual, 0.0, &arrivals);
        let mut rng = Stream::new(1, "dual");
        let sent: Vec<_> = (0..800).filter_map(|_| dual.dequeue(at(0.0), &mut rng, &mut |_, _| {})).collect();
        let classic = sent.iter().filter(|sent| sent.0.0 >= 1000).count();
        assert!((classic as f64 - 800.0 * share).abs() <= 1.0, "{classic} of 800");
        assert!(sent[0].0.0 < 1000, "L goes first");
    }
}
