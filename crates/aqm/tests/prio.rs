//! Strict priority: vectors.

use crate::queueing::{N, enqueue, order};
use crate::schedulers::build;
use crate::support::context;
use sojourn_aqm::{Cause, Limit, Outcome, Spec};

#[test]
fn prio_is_strict() {
    let mut prio = build("prio", context());
    enqueue(
        &mut *prio,
        0.0,
        &[(0, 7, 100, N), (0, 2, 100, N), (0, 1, 100, N), (0, 0, 100, N), (0, 1, 100, N)],
    );
    assert_eq!(order(&mut *prio), [3, 2, 4, 0, 1]);
    let arrivals = [(0, 1, 100, N), (0, 2, 100, N), (0, 2, 100, N), (0, 1, 100, N), (0, 2, 100, N)];
    let full = context().with_limit(Limit::Packets(3));
    for (options, gone) in [("limits shared", [3, 4]), ("evict lowest", [2, 4])] {
        let mut prio = build(&format!("prio {options}"), full);
        let outcomes = enqueue(&mut *prio, 0.0, &arrivals);
        assert_eq!(outcomes, gone.map(|token| (token, Outcome::Dropped(Cause::Overflow))), "{options:?}");
    }
}

/// Packets of a class that is never served fill its own limit, not that of the others.
#[test]
fn prio_has_a_limit_for_each_class() {
    let arrivals: Vec<_> = (0..10u8).map(|i| (0, if i < 8 { 2 } else { 0 }, 100, N)).collect();
    let full = context().with_limit(Limit::Packets(3));
    for (options, gone) in [("", vec![3, 4, 5, 6, 7]), ("limits shared", vec![3, 4, 5, 6, 7, 8, 9])] {
        for inside in ["", "aqm_0 (fq_codel perturbation 0)"] {
            let mut prio = build(&format!("prio {options} {inside}"), full);
            let lost: Vec<_> = enqueue(&mut *prio, 0.0, &arrivals).iter().map(|one| one.0).collect();
            assert_eq!(lost, gone, "{options} {inside}");
        }
    }
    let refused = Spec::parse_scheduler("prio limits class evict lowest").unwrap().schedule(full);
    assert!(refused.err().unwrap().to_string().contains("evict"));
}
