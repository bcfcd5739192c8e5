//! fq_codel and fq_pie: vectors and options.

use crate::queueing::{A, B, N, THIRD, dequeue, enqueue, lists, order};
use crate::schedulers::build;
use crate::support::{context, packet};
use sojourn_aqm::{Cause, Conventions, Ecn, FlowId, Limit, Outcome, Span, Stream, Time, Token, fq_codel};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn fq_v1_rounds_with_new_flows_first() {
    for turn in ["zero", "below_zero"] {
        let mut fq = build(&format!("fq_codel perturbation 0 quantum 1500B turn {turn}"), context());
        let arrivals = [
            (A, 0, 1500, N),
            (A, 0, 1500, N),
            (A, 0, 1500, N),
            (B, 0, 100, N),
            (B, 0, 100, N),
            (THIRD, 0, 3000, N),
        ];
        assert!(enqueue(&mut *fq, 0.0, &arrivals).is_empty());
        assert_eq!(lists(&*fq), (3.0, 0.0));
        if turn == "below_zero" {
            // A's turn continues at a credit of 0: a second packet.
            assert_eq!(order(&mut *fq), [0, 1, 3, 4, 5, 2]);
            continue;
        }
        // The departing packet, and the lengths of the two lists (new, old) after it, as in the vector's
        // rows.
        for (token, new, old) in
            [(0, 3.0, 0.0), (3, 2.0, 1.0), (4, 2.0, 1.0), (5, 1.0, 2.0), (1, 0.0, 3.0), (2, 0.0, 2.0)]
        {
            assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, Some(token));
            assert_eq!(lists(&*fq), (new, old), "after {token}");
        }
        assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, None);
        assert_eq!(lists(&*fq), (0.0, 0.0));
    }
}

#[test]
fn fq_v2_an_emptied_new_flow_passes_through_the_old_list() {
    let mut fq = build("fq_codel perturbation 0", context());
    enqueue(&mut *fq, 0.0, &[(A, 0, 100, N), (B, 0, 1000, N), (B, 0, 1000, N), (B, 0, 1000, N)]);
    assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, Some(0));
    assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, Some(1)); // A was found empty: it moves to the old list
    assert_eq!(lists(&*fq), (1.0, 1.0));
    // A becomes active again, but is not new: B has its turn first.
    enqueue(&mut *fq, 0.0, &[(A, 0, 100, N)]);
    assert_eq!(lists(&*fq), (1.0, 1.0));
    assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, Some(2));
}

#[test]
fn fq_v3_the_longest_queue_is_dropped_at_its_head() {
    let arrivals = [(A, 0, 3000, N), (B, 0, 3000, N), (B, 0, 3000, N), (B, 0, 3000, N), (THIRD, 0, 4500, N)];
    let overflow = |token| (token, Outcome::Dropped(Cause::Overflow));
    let limit = context().with_limit(Limit::Packets(4));
    // Half of B's 9000 bytes: two packets; one if the batch is 1.
    for (options, gone) in [("", vec![overflow(1), overflow(2)]), ("drop_batch 1", vec![overflow(1)])] {
        let mut fq = build(&format!("fq_codel perturbation 0 {options}"), limit);
        assert_eq!(enqueue(&mut *fq, 0.0, &arrivals), gone);
    }
    let mut fq = build("fq_codel perturbation 0 memory 16kB", context().with_limit(Limit::Packets(10_240)));
    assert_eq!(enqueue(&mut *fq, 0.0, &arrivals), [overflow(1), overflow(2)]);
    let mut fq = build("fq_pie perturbation 0", limit);
    assert_eq!(enqueue(&mut *fq, 0.0, &arrivals), [overflow(4)], "FQ-PIE refuses the arrival");
}

/// A flow above its share is signalled; a sparse one is not, and is sent at once.
#[test]
fn fq_signals_only_flows_that_fill_their_queue() {
    for (spec, ecn) in [("fq_codel", N), ("fq_codel", Ecn::Ect0), ("fq_pie", N), ("fq_pie", Ecn::Ect0)] {
        let mut scheduler = build(spec, context().with_limit(Limit::Packets(10_240)));
        let mut rng = Stream::new(1, spec);
        let (mut drops, mut marks, mut longest) = (0, 0, Span::ZERO);
        let mut sent = BTreeMap::new();
        for step in 0..20_000u64 {
            let now = Time(step * 800_000); // the time of 1000 bytes
            if scheduler.next_timer().is_some_and(|due| due <= now) {
                scheduler.on_timer(now, &mut rng);
            }
            let mut record_outcome = |token: Token, outcome| {
                assert_eq!(token.0 % 2, 0, "{spec}: the sparse flow loses nothing");
                match outcome {
                    Outcome::Dropped(cause) => {
                        assert_eq!(cause, Cause::Early);
                        drops += 1;
                    }
                    Outcome::Marked(_) => marks += 1,
                }
            };
            for copy in 0..(if step % 4 == 0 { 2 } else { 1 }) {
                let view = packet(1000).with_ecn(ecn).with_arrived(now);
                scheduler.enqueue(now, Token(4 * step + 2 * copy), &view, &mut rng, &mut record_outcome);
            }
            if step % 20 == 0 {
                let view = packet(100).with_flow(FlowId(1)).with_ecn(ecn).with_arrived(now);
                scheduler.enqueue(now, Token(4 * step + 1), &view, &mut rng, &mut record_outcome);
                sent.insert(4 * step + 1, now);
            }
            if let Some(arrived) =
                scheduler.dequeue(now, &mut rng, &mut record_outcome).and_then(|(t, _)| sent.remove(&t.0))
            {
                longest = Span(longest.0.max(now.since(arrived).0));
            }
        }
        assert!(longest.0 <= 2_000_000, "{spec}: {longest:?}");
        assert_eq!(ecn == N, marks == 0, "{spec}: {marks} marks");
        assert!(drops + marks > 100, "{spec}: {drops} drops, {marks} marks");
    }
}

/// Two queues of less than one packet each, whose packets wait for too long: Linux's test sees both.
#[test]
fn fq_codel_may_see_the_backlog_of_all_queues() {
    let arrivals = [(A, 0, 1000, N), (B, 0, 1000, N), (THIRD, 0, 1000, N)];
    for (backlog, expected) in [("own", 0), ("all", 1)] {
        let spec = format!("fq_codel perturbation 0 quantum 1000B max_packet 500B backlog {backlog}");
        let (mut fq, mut drops) = (build(&spec, context()), 0);
        // Flow A has one packet at a time, which waits for 10 ms behind those of the others.
        for round in 0..15 {
            let now = f64::from(round) * 0.01;
            enqueue(&mut *fq, now, &arrivals);
            for _ in 0..3 {
                drops += dequeue(&mut *fq, now + 0.009, &[]).1.len();
            }
        }
        assert_eq!(drops > 0, expected > 0, "{backlog}: {drops} drops");
    }
    let backlog = |preset| fq_codel::Config::under(preset).backlog;
    assert_eq!(backlog(Conventions::Linux), fq_codel::Backlog::All);
    assert_eq!(backlog(Conventions::Rfc), fq_codel::Backlog::Own);
}

/// A packet that is dropped above the limit raises the count of its queue's CoDel, as in Linux: the dropping
/// state then starts at a higher rate.
#[test]
fn fq_codel_may_count_drops_above_the_limit() {
    let arrivals: Vec<_> = (0..400).map(|_| (A, 0, 1000, N)).collect();
    let drops = |option: &str| {
        let spec = format!("fq_codel perturbation 0 flows 1 overflow_drop {option}");
        let mut fq = build(&spec, context().with_limit(Limit::Packets(200)));
        let lost = enqueue(&mut *fq, 0.0, &arrivals).len();
        let late = (1..100).map(|i| dequeue(&mut *fq, 0.2 + 0.004 * f64::from(i), &[]).1.len());
        (lost, late.sum::<usize>())
    };
    let (ignored, counted) = (drops("ignore"), drops("count"));
    assert_eq!(ignored.0, counted.0);
    assert!(counted.1 > ignored.1, "{counted:?} {ignored:?}");
}

/// Which flows share a queue differs between the seeds of a study, unless `perturbation` is set.
#[test]
fn the_hash_of_flows_is_drawn() {
    let queue_sharers = |spec: &str, seed: u64| {
        let (mut fq, mut rng) = (build(spec, context()), Stream::new(seed, "run"));
        for flow in 0..8 {
            let view = packet(100).with_flow(FlowId(flow)).with_arrived(Time::ZERO);
            fq.enqueue(Time::ZERO, Token(u64::from(flow)), &view, &mut rng, &mut |_, _| {});
        }
        order(&mut *fq)
    };
    for name in ["fq_codel", "fq_pie"] {
        let orders = |spec: &str| (1..20).map(|seed| queue_sharers(spec, seed)).collect::<BTreeSet<_>>();
        assert!(orders(&format!("{name} flows 4 quantum 256B")).len() > 10);
        assert_eq!(orders(&format!("{name} flows 4 quantum 256B perturbation 7")).len(), 1);
    }
}

/// With `ce_select ect1`, the threshold concerns packets of L4S only. (Mutants: the selection is ignored; any
/// packet is marked.)
#[test]
fn fq_codel_marks_what_waited_longer_than_its_threshold() {
    let marked = |token| vec![(token, Outcome::Marked(Cause::Forced))];
    for (select, classic) in [("any", marked(0)), ("ect1", vec![])] {
        let spec = format!("fq_codel perturbation 0 ce_threshold 1ms ce_select {select} ecn on");
        let mut fq = build(&spec, context());
        enqueue(&mut *fq, 0.0, &[(A, 0, 1000, Ecn::Ect0), (B, 0, 1000, Ecn::Ect1), (THIRD, 0, 1000, N)]);
        let departures = [(); 3].map(|()| dequeue(&mut *fq, 0.002, &[]));
        assert_eq!(departures, [(Some(0), classic), (Some(1), marked(1)), (Some(2), vec![])], "{select}");
    }
}
