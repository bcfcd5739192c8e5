//! Schedulers on a class of another, and class numbers with precedences.

use crate::queueing::{N, dequeue, enqueue, order, probe};
use crate::schedulers::build;
use crate::support::{at, context, packet};
use sojourn_aqm::{Cause, Class, Limit, Outcome, Stream, Token};

/// The weights divide the bytes between classes; inside a class, fq_codel divides them equally between flows.
#[test]
fn a_class_may_have_a_scheduler() {
    let roomy = context().with_limit(Limit::Packets(10_000));
    for spec in [
        "drr classes 2 w_0 3 aqm_1 (fq_codel perturbation 0 quantum 1000B)",
        "drr classes 2 w_0 3 aqm (fq_codel perturbation 0)",
    ] {
        let mut drr = build(spec, roomy);
        // Class 0: one flow. Class 1: flow 1 sends four times as much as flow 2.
        let arrivals: Vec<_> = (0..5000)
            .map(|i| ([0, 0, 0, 0, 0, 1, 1, 1, 1, 2][i % 10], u8::from(i % 10 >= 5), 1000, N))
            .collect();
        enqueue(&mut *drr, 0.0, &arrivals);
        let sent: Vec<_> = (0..800).filter_map(|_| dequeue(&mut *drr, 0.0, &[]).0).collect();
        let of = |flow: u32| sent.iter().filter(|i| arrivals[**i as usize].0 == flow).count() as i64;
        assert!((of(0) - 600).abs() <= 3, "{spec}: {} of class 0", of(0));
        assert!((of(1) - 100).abs() <= 3 && (of(2) - 100).abs() <= 3, "{spec}: {} and {}", of(1), of(2));
        let field = |name: &str| probe(&*drr, name);
        assert_eq!((field("0.packets") + field("1.packets")) as u32, drr.packets());
        assert_eq!(field("1.new") + field("1.old"), 2.0, "{spec}");
    }
}

/// In a full buffer the victim is the last packet of a queue, in fq_codel the head of its longest flow.
#[test]
fn a_scheduler_of_a_class_frees_space() {
    let full = context().with_limit(Limit::Packets(4));
    let arrivals = [(0, 1, 100, N), (1, 1, 500, N), (0, 1, 100, N), (1, 1, 500, N), (2, 0, 100, N)];
    for (spec, gone) in [
        ("prio evict lowest aqm_1 (fq_codel perturbation 0)", 1),
        ("prio evict lowest aqm_1 (fq_pie perturbation 0)", 3),
        ("prio evict lowest aqm_1 prio", 3),
        ("prio evict lowest", 3),
        ("prio limits shared aqm_1 (fq_codel perturbation 0)", 4),
        ("drr classes 2 aqm_1 (fq_codel perturbation 0)", 1),
        ("drr classes 2 aqm_1 drr", 3),
        ("prio evict lowest aqm_1 dualpi2", 3),
    ] {
        let outcomes = enqueue(&mut *build(spec, full), 0.0, &arrivals);
        assert_eq!(outcomes, [(gone, Outcome::Dropped(Cause::Overflow))], "{spec}");
    }
}

/// Six class numbers are two classes of three precedences: AF1 yellow is 1, AF2 green 3.
#[test]
fn class_numbers_hold_precedences() {
    // BIO passes every green packet; yellow and red ones are dropped while one is queued.
    let bio = "bio max_in 100p min_in 50p max_out 0.5p min_out 0.4p d_i_out 1";
    let mut prio = build(&format!("prio classes 2 precedences 3 aqm ({bio})"), context());
    let mut drops = Vec::new();
    let mut rng = Stream::new(1, "prio");
    for (i, class) in [0, 1, 3, 4, 2, 5, 0, 3, 9].into_iter().enumerate() {
        let view = packet(100).with_class(Class(class));
        prio.enqueue(at(0.0), Token(i as u64), &view, &mut rng, &mut |token, _| drops.push(token.0));
    }
    // The first yellow packet passes with p = 0 and then increases p; number 9 is beyond the last class: a
    // green packet of it.
    assert_eq!(drops, [4, 5]);
    assert_eq!(order(&mut *prio), [0, 1, 6, 2, 3, 7, 8]);
}
