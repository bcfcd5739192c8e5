//! sfq: vectors and options, worked out by hand from Linux's rules.
//!
//! Mutants that are detected: a new queue is served first; a turn ends below a credit of 0; the longest
//! queue loses a packet if all have one; one packet more than `depth`, one queue more than `flows`; a
//! list that keeps its first neighbour; a credit in packets.

use crate::queueing::{A, B, N, THIRD, dequeue, enqueue, order};
use crate::schedulers::build;
use crate::support::context;
use sojourn_aqm::{Cause, Limit, Outcome, Scheduler};

fn lost(tokens: &[u64]) -> Vec<(u64, Outcome)> {
    tokens.iter().map(|token| (*token, Outcome::Dropped(Cause::Overflow))).collect()
}

fn probes(sfq: &dyn Scheduler) -> (f64, f64) {
    let mut found = (0.0, 0.0);
    sfq.probe(&mut |name, value| if name == "active" { found.0 = value } else { found.1 = value });
    found
}

#[test]
fn sfq_v1_a_new_flow_waits_for_its_turn_and_a_large_packet_takes_two() {
    let mut sfq = build("sfq perturbation 0 quantum 1500B", context());
    let arrivals = [
        (A, 0, 1500, N),
        (A, 0, 1500, N),
        (B, 0, 3000, N),
        (B, 0, 100, N),
        (THIRD, 0, 100, N),
        (THIRD, 0, 100, N),
    ];
    assert!(enqueue(&mut *sfq, 0.0, &arrivals).is_empty());
    assert_eq!(probes(&*sfq), (3.0, 2.0));
    // A: 1500 - 1500 = 0. B: 1500 - 3000 = -1500. The third sends both packets and leaves. A gets 1500, sends
    // its last one. B: 0, no turn; then 1500.
    let mut sent = Vec::new();
    for (token, active) in [(0, 3.0), (2, 3.0), (4, 3.0), (5, 2.0), (1, 1.0), (3, 0.0)] {
        assert_eq!(dequeue(&mut *sfq, 0.0, &[]).0, Some(token), "after {sent:?}");
        assert_eq!(probes(&*sfq).0, active, "after {token}");
        sent.push(token);
    }
    assert_eq!(dequeue(&mut *sfq, 0.0, &[]).0, None);
}

#[test]
fn sfq_v2_the_longest_queue_loses_its_last_packet() {
    let limit = context().with_limit(Limit::Packets(4));
    let arrivals = [(A, 0, 3000, N), (B, 0, 100, N), (B, 0, 100, N), (THIRD, 0, 100, N), (A, 0, 100, N)];
    // A and B have two packets each; A reached this length last, with the packet that is dropped.
    let mut sfq = build("sfq perturbation 0", limit);
    assert_eq!(enqueue(&mut *sfq, 0.0, &arrivals), lost(&[4]));
    assert_eq!(order(&mut *sfq), [0, 1, 2, 3]);
    let mut sfq = build("sfq perturbation 0 headdrop on", limit);
    assert_eq!(enqueue(&mut *sfq, 0.0, &arrivals), lost(&[0]));
    // B has the most packets, although A has the most bytes.
    let arrivals = [(A, 0, 3000, N), (B, 0, 100, N), (B, 0, 100, N), (THIRD, 0, 100, N), (7, 0, 100, N)];
    let mut sfq = build("sfq perturbation 0", limit);
    assert_eq!(enqueue(&mut *sfq, 0.0, &arrivals), lost(&[2]));
}

#[test]
fn sfq_v3_if_all_queues_have_one_packet_the_next_one_loses_it() {
    let mut sfq = build("sfq perturbation 0", context().with_limit(Limit::Packets(2)));
    assert_eq!(enqueue(&mut *sfq, 0.0, &[(A, 0, 100, N), (B, 0, 100, N), (THIRD, 0, 100, N)]), lost(&[0]));
    assert_eq!(order(&mut *sfq), [1, 2]);
    let mut sfq = build("sfq perturbation 0", context().with_limit(Limit::Packets(0)));
    assert_eq!(enqueue(&mut *sfq, 0.0, &[(A, 0, 100, N)]), lost(&[0]));
    assert_eq!(probes(&*sfq), (0.0, 0.0));
}

#[test]
fn sfq_v4_depth_and_flows_limit_a_queue_and_the_number_of_queues() {
    let arrivals = [(A, 0, 100, N), (A, 0, 100, N), (A, 0, 100, N), (B, 0, 100, N), (THIRD, 0, 100, N)];
    let mut sfq = build("sfq perturbation 0 depth 2 flows 2", context());
    assert_eq!(enqueue(&mut *sfq, 0.0, &arrivals), lost(&[2, 4]));
    assert_eq!(order(&mut *sfq), [0, 1, 3]);
    let mut sfq = build("sfq perturbation 0 depth 2 headdrop on", context());
    assert_eq!(enqueue(&mut *sfq, 0.0, &arrivals), lost(&[0]));
    assert_eq!(order(&mut *sfq), [1, 2, 3, 4]);
}

/// The longest queue is known after any sequence of arrivals and departures.
#[test]
fn sfq_drops_from_a_longest_queue() {
    use sojourn_aqm::{FlowId, Random, Stream, Time, Token};
    use std::collections::BTreeMap;

    let mut rng = Stream::new(1, "sfq");
    let mut sfq = build("sfq perturbation 0 depth 9", context().with_limit(Limit::Packets(40)));
    let (mut lengths, mut flow_of) = (BTreeMap::<u32, u32>::new(), BTreeMap::new());
    let mut drops = 0;
    for step in 0..20_000u64 {
        if rng.uniform() < 0.55 {
            let flow = (rng.uniform() * rng.uniform() * 12.0) as u32;
            let view = crate::support::packet(500).with_flow(FlowId(flow));
            *lengths.entry(flow).or_default() += 1;
            flow_of.insert(step, flow);
            let longest = *lengths.values().max().unwrap();
            sfq.enqueue(Time(step), Token(step), &view, &mut Stream::new(0, ""), &mut |token, _| {
                let victim = flow_of[&token.0];
                let own = lengths[&victim];
                assert!(own == longest || (own > 9 && victim == flow), "{own} of {longest}");
                *lengths.get_mut(&victim).unwrap() -= 1;
                drops += 1;
            });
        } else if let Some((token, _)) = sfq.dequeue(Time(step), &mut Stream::new(0, ""), &mut |_, _| {}) {
            *lengths.get_mut(&flow_of[&token.0]).unwrap() -= 1;
        }
        assert_eq!(sfq.packets(), lengths.values().sum::<u32>());
        assert_eq!(probes(&*sfq).1, f64::from(lengths.values().copied().max().unwrap_or(0)));
    }
    assert!(drops > 500, "{drops}");
}
