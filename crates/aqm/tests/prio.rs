//! Strict priority: vectors.

use crate::queueing::{N, enqueue, order};
use crate::schedulers::build;
use crate::support::context;
use sojourn_aqm::{Cause, Limit, Outcome};

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
    for (options, gone) in [("", [3, 4]), ("evict lowest", [2, 4])] {
        let mut prio = build(&format!("prio {options}"), full);
        let outcomes = enqueue(&mut *prio, 0.0, &arrivals);
        assert_eq!(outcomes, gone.map(|token| (token, Outcome::Dropped(Cause::Overflow))), "{options:?}");
    }
}
