//! fq: vectors, worked out by hand from Linux's rules.
//!
//! Mutants that are detected: new queues after old ones; an empty new queue that becomes inactive at once; a
//! wait after each packet; a wait for a packet instead of a quantum; lateness that is not credited, or
//! credited in full; a refill without a delay, or above the credit left; a delay counted from the arrival of
//! a packet that was held back; a flow limit that is one higher; waits of more than 1 s.

use crate::queueing::{A, B, N, THIRD, dequeue, enqueue, order, probe};
use crate::schedulers::build;
use crate::support::{at, context};
use sojourn_aqm::{Cause, Ecn, Limit, Outcome, Scheduler};

/// The packet that leaves at `now`.
fn next(fq: &mut dyn Scheduler, now: f64) -> Option<u64> {
    dequeue(fq, now, &[]).0
}

#[test]
fn fq_v1_new_queues_first_and_a_credit_of_ten_packets_at_the_start() {
    let mut fq = build("fq perturbation 0 quantum 1500B initial_quantum 3000B", context());
    let arrivals = [A, A, A, B, THIRD, THIRD].map(|flow| (flow, 0, 1500, N));
    assert!(enqueue(&mut *fq, 0.0, &arrivals).is_empty());
    assert_eq!(probe(&*fq, "new"), 3.0);
    // A sends 3000 bytes, then gets 1500 and moves to the old list. B sends one and is empty: old list. The
    // third sends two. Then A.
    assert_eq!(order(&mut *fq), [0, 1, 3, 4, 5, 2]);
    assert_eq!((probe(&*fq, "new"), probe(&*fq, "old")), (0.0, 0.0));

    let mut fq = build("fq perturbation 0", context());
    let arrivals: Vec<_> = (0..14).map(|i| (if i < 13 { A } else { B }, 0, 1514, N)).collect();
    enqueue(&mut *fq, 0.0, &arrivals);
    assert_eq!(order(&mut *fq), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 10, 11, 12]);
}

/// B was empty when the old list had A: it has its turn after A, not before.
#[test]
fn fq_v2_an_empty_new_queue_passes_through_the_old_list() {
    let mut fq = build("fq perturbation 0 quantum 1500B initial_quantum 1500B", context());
    enqueue(&mut *fq, 0.0, &[(A, 0, 1500, N), (A, 0, 1500, N), (B, 0, 100, N)]);
    assert_eq!(next(&mut *fq, 0.0), Some(0));
    assert_eq!(next(&mut *fq, 0.0), Some(2), "A has no credit");
    assert_eq!(next(&mut *fq, 0.0), Some(1), "B is empty");
    assert_eq!((probe(&*fq, "new"), probe(&*fq, "old")), (0.0, 2.0));
    // B is still on the old list, behind A, so that its packet is not that of a new queue.
    enqueue(&mut *fq, 0.0, &[(B, 0, 100, N)]);
    assert_eq!((probe(&*fq, "new"), probe(&*fq, "old")), (0.0, 2.0));
}

#[test]
fn fq_v3_a_queue_and_all_queues_have_a_limit() {
    let mut fq = build("fq perturbation 0 flow_limit 2", context().with_limit(Limit::Packets(3)));
    let arrivals = [A, A, A, B, B].map(|flow| (flow, 0, 1500, N));
    let dropped = |token, cause| (token, Outcome::Dropped(cause));
    let expected = [dropped(2, Cause::FlowLimit), dropped(4, Cause::Overflow)];
    assert_eq!(enqueue(&mut *fq, 0.0, &arrivals), expected);
}

/// 3000 bytes at 12 Mbit/s last 2 ms.
#[test]
fn fq_v4_a_flow_waits_for_the_time_of_a_quantum() {
    let spec = "fq perturbation 0 quantum 3000B initial_quantum 3000B maxrate 12Mbit/s";
    let mut fq = build(spec, context());
    enqueue(&mut *fq, 0.0, &[(A, 0, 1500, N); 7]);
    for (now, sent, held) in [
        (0.0, [0, 1], 2.0),
        (0.0024, [2, 3], 4.0), // 0.4 ms late: the next wait is shorter by that
        (0.006, [4, 5], 7.0),  // 2 ms late: by half of the wait
    ] {
        assert_eq!(sent.map(|_| next(&mut *fq, now).unwrap()), sent);
        assert_eq!(fq.held_until(at(now)), Some(at(held / 1e3)));
        assert_eq!(next(&mut *fq, now), None);
        assert_eq!(fq.held_until(at(now)), Some(at(held / 1e3)));
        assert_eq!(probe(&*fq, "throttled"), 1.0);
    }
    enqueue(&mut *fq, 0.0065, &[(B, 0, 1500, N)]);
    assert_eq!(fq.held_until(at(0.0065)), None, "B may send");
    assert_eq!(next(&mut *fq, 0.0065), Some(0));
    assert_eq!(fq.held_until(at(0.0065)), Some(at(0.007)));
    assert_eq!(next(&mut *fq, 0.007), Some(6));
    assert_eq!(fq.held_until(at(0.007)), None, "nothing waits");
}

/// At 6 Mbit/s a quantum lasts 4 ms: A may send at 4 ms, B at 5 ms, and the third at 6 ms, in this order.
#[test]
fn fq_v4b_flows_are_released_at_their_times() {
    let spec = "fq perturbation 0 quantum 3000B initial_quantum 1500B maxrate 6Mbit/s";
    let mut fq = build(spec, context());
    for (i, flow) in [A, B, THIRD].into_iter().enumerate() {
        let now = i as f64 / 1e3;
        enqueue(&mut *fq, now, &[(flow, 0, 1500, N); 2]);
        assert_eq!((next(&mut *fq, now), next(&mut *fq, now)), (Some(0), None));
    }
    assert_eq!(probe(&*fq, "throttled"), 3.0);
    for now in [4.0, 5.0, 6.0] {
        assert_eq!(fq.held_until(at((now - 0.5) / 1e3)), Some(at(now / 1e3)));
        assert_eq!((next(&mut *fq, now / 1e3), next(&mut *fq, now / 1e3)), (Some(1), None));
    }
}

/// 1500 bytes last 24 ms at 500 kbit/s, and at most 1 s.
#[test]
fn fq_v5_at_a_low_rate_a_flow_waits_after_each_packet() {
    for (rate, wait) in [("500kbit/s", 0.024), ("550kbit/s", 0.021_818_181), ("1kbit/s", 1.0)] {
        let mut fq = build(&format!("fq perturbation 0 maxrate {rate}"), context());
        enqueue(&mut *fq, 0.0, &[(A, 0, 1500, N); 2]);
        assert_eq!(next(&mut *fq, 0.0), Some(0));
        assert_eq!(fq.held_until(at(0.0)), Some(at(wait)), "{rate}");
    }
}

#[test]
fn fq_v6_a_queue_has_a_quantum_again_after_the_refill_delay() {
    for (now, expected) in [(0.04, [0, 2, 1]), (0.040_001, [0, 1, 2])] {
        let mut fq = build("fq perturbation 0 quantum 1500B initial_quantum 1500B", context());
        enqueue(&mut *fq, 0.0, &[(A, 0, 1000, N)]);
        assert_eq!((next(&mut *fq, 0.0), next(&mut *fq, 0.0)), (Some(0), None));
        // A has a credit of 500, or 1500 after more than 40 ms.
        enqueue(&mut *fq, now, &[(A, 0, 1000, N), (A, 0, 1000, N), (B, 0, 1000, N)]);
        assert_eq!(expected.map(|_| next(&mut *fq, now).unwrap()), expected);
    }
    // What is left of a larger credit is kept.
    let mut fq = build("fq perturbation 0 quantum 1500B initial_quantum 9000B", context());
    enqueue(&mut *fq, 0.0, &[(A, 0, 1500, N)]);
    assert_eq!((next(&mut *fq, 0.0), next(&mut *fq, 0.0)), (Some(0), None));
    enqueue(
        &mut *fq,
        1.0,
        &[(A, 0, 2500, N), (A, 0, 2500, N), (A, 0, 2500, N), (A, 0, 2500, N), (B, 0, 1, N)],
    );
    assert_eq!((0..5).map(|_| next(&mut *fq, 1.0).unwrap()).collect::<Vec<_>>(), [0, 1, 2, 4, 3]);
}

#[test]
fn fq_v7_marks_what_waited_longer_than_the_threshold_beyond_its_time() {
    let marked = |token| vec![(token, Outcome::Marked(Cause::Forced))];
    let arrivals =
        [(A, 0, 1500, Ecn::Ect0), (A, 0, 1500, N), (A, 0, 1500, Ecn::Ect1), (A, 0, 1500, Ecn::Ect0)];
    let mut fq = build("fq perturbation 0 ce_threshold 1ms ecn", context());
    enqueue(&mut *fq, 0.0, &arrivals);
    assert_eq!(dequeue(&mut *fq, 0.001, &[]), (Some(0), vec![]));
    assert_eq!(dequeue(&mut *fq, 0.002, &[]), (Some(1), vec![]));
    assert_eq!(dequeue(&mut *fq, 0.002, &[]), (Some(2), marked(2)));

    let spec = "fq perturbation 0 ce_threshold 1ms ecn quantum 1500B initial_quantum 1500B maxrate 12Mbit/s";
    let mut fq = build(spec, context());
    enqueue(&mut *fq, 0.0, &arrivals);
    assert_eq!(next(&mut *fq, 0.0), Some(0));
    assert_eq!(next(&mut *fq, 0.001), Some(1));
    // Token 2 may be sent from 2 ms on: at 3 ms it has waited for 1 ms.
    assert_eq!(dequeue(&mut *fq, 0.003, &[]), (Some(2), vec![]));
    // Token 3 from 3.5 ms on, half a wait after the one before.
    assert_eq!(dequeue(&mut *fq, 0.005, &[]), (Some(3), marked(3)));

    let mut fq = build("fq perturbation 0 ce_threshold 1ms", context());
    enqueue(&mut *fq, 0.0, &arrivals);
    assert_eq!(dequeue(&mut *fq, 0.1, &[]), (Some(0), vec![]), "the queue does not mark");
}
