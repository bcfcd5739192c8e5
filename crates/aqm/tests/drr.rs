//! Deficit round robin: vectors.

use crate::queueing::{N, enqueue, order};
use crate::schedulers::build;
use crate::support::{context, packet};
use sojourn_aqm::{Cause, Class, Limit, Outcome, Stream, Time, Token};

#[test]
fn drr_shares_bytes_by_weight() {
    let mut drr =
        build("drr classes 3 w_0 3 w_2 0.5 quantum 500B", context().with_limit(Limit::Packets(100_000)));
    let mut rng = Stream::new(1, "drr");
    let mut sizes = Vec::new();
    let mut bytes = [0u64; 3];
    for i in 0..9000u64 {
        let class = (i % 3) as u8;
        let view = packet([300, 1500, 700][class as usize] + (i % 50) as u32).with_class(Class(class));
        sizes.push((class, view.bytes));
        drr.enqueue(Time::ZERO, Token(i), &view, &mut rng, &mut |_, _| panic!("no packet is dropped"));
    }
    for _ in 0..2000 {
        let (token, _) = drr.dequeue(Time::ZERO, &mut rng, &mut |_, _| {}).expect("packets are queued");
        let (class, size) = sizes[token.0 as usize];
        bytes[class as usize] += u64::from(size);
    }
    let share = |class: usize| bytes[class] as f64 / bytes.iter().sum::<u64>() as f64;
    for (class, expected) in [(0, 3.0 / 4.5), (1, 1.0 / 4.5), (2, 0.5 / 4.5)] {
        assert!((share(class) - expected).abs() < 0.005, "{class}: {}", share(class));
    }
}

#[test]
fn drr_keeps_deficits_and_steals_from_the_longest() {
    // The paper's example: quantum 500; 600 has to wait for a second turn, 200 twice does not.
    let mut drr = build("drr classes 2 quantum 500B", context());
    enqueue(
        &mut *drr,
        0.0,
        &[(0, 0, 600, N), (0, 0, 300, N), (1, 1, 200, N), (1, 1, 200, N), (1, 1, 600, N)],
    );
    assert_eq!(order(&mut *drr), [2, 3, 0, 1, 4]);
    let mut drr = build("drr classes 2", context().with_limit(Limit::Packets(3)));
    let outcomes = enqueue(
        &mut *drr,
        0.0,
        &[(0, 0, 600, N), (0, 0, 600, N), (1, 1, 100, N), (1, 1, 100, N), (0, 0, 900, N)],
    );
    // The second packet of class 0 is dropped for that of class 1. Then class 0 itself is the longest, and
    // its arrival is dropped.
    assert_eq!(outcomes, [(1, Outcome::Dropped(Cause::Overflow)), (4, Outcome::Dropped(Cause::Overflow))]);
}

/// With limits of classes, the arrival of a full class is dropped, and no other class loses a packet.
#[test]
fn drr_may_have_a_limit_for_each_class() {
    let arrivals: Vec<_> = (0..8u8).map(|i| (0, i / 5, 100, N)).collect();
    let full = context().with_limit(Limit::Packets(4));
    for (limits, gone) in [("class", vec![4]), ("shared", vec![4, 3, 2, 1])] {
        let mut drr = build(&format!("drr limits {limits}"), full);
        let lost: Vec<_> = enqueue(&mut *drr, 0.0, &arrivals).iter().map(|one| one.0).collect();
        assert_eq!(lost, gone, "{limits}");
    }
}
