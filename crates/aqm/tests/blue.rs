//! BLUE: its vectors, and each of its rules by hand.

use crate::support::{Bench, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Time, Verdict};

const LDC: &str = "blue d1 0.2 d2 0.02 freeze_time 100ms";

fn overflow(bench: &mut Bench, now: Time) {
    let queue = bench.queue(100);
    bench.aqm.on_offered(now, &packet(1000), &queue);
    bench.aqm.on_drop(now, &packet(1000), Cause::Overflow, &queue);
}

/// An event of a table, at its time.
fn event(bench: &mut Bench, kind: &str, now: Time, q: u32) {
    match kind {
        "overflow" => overflow(bench, now),
        "idle" => bench.aqm.on_idle(now),
        "arr" => {
            let queue = bench.queue(q);
            assert_eq!(bench.arrive(now, &packet(1000), &queue, &[0.999]), Verdict::Pass);
        }
        other => panic!("no event {other}"),
    }
}

#[test]
fn v1_and_v2_step_at_most_once_in_a_freeze_time() {
    for (name, spec) in [("blue_v1", LDC), ("blue_v2", "blue l 30p d1 0.01 d2 0.05 freeze_time 50ms")] {
        let mut bench = Bench::new(spec, context());
        for row in table(name).rows() {
            let before = bench.probe("p");
            let q = if name == "blue_v2" { row.whole("q") } else { 0 };
            event(&mut bench, row.word("event"), at(row.number("t")), q);
            row.check("p_m after", bench.probe("p"));
            let moved = bench.probe("p") != before;
            let clamped = row.word("updated") == "yes" && bench.probe("p") == 0.0;
            assert_eq!(moved || clamped, row.word("updated") == "yes");
        }
    }
}

#[test]
fn v3_stays_a_probability_and_decides_below_it() {
    let mut bench = Bench::new("blue d1 0.2 d2 0.3 freeze_time 1ms", context());
    overflow(&mut bench, at(1.0));
    let queue = bench.queue(0);
    assert_eq!(bench.arrive(at(1.0), &packet(1000), &queue, &[0.19]), Verdict::Drop(Cause::Early));
    assert_eq!(bench.arrive(at(1.0), &packet(1000), &queue, &[0.2]), Verdict::Pass);
    bench.aqm.on_idle(at(2.0));
    assert_eq!(bench.probe("p"), 0.0);
    for second in 3..9 {
        overflow(&mut bench, at(f64::from(second)));
    }
    assert_eq!(bench.probe("p"), 1.0);
    assert_eq!(bench.arrive(at(9.0), &packet(1000), &queue, &[0.999_999]), Verdict::Drop(Cause::Early));
}

#[test]
fn a_step_needs_more_than_the_freeze_time() {
    let mut bench = Bench::new(LDC, context());
    overflow(&mut bench, Time(0));
    overflow(&mut bench, Time(100_000_000));
    near(bench.probe("p"), 0.2, "exactly one freeze time later");
    overflow(&mut bench, Time(100_000_001));
    near(bench.probe("p"), 0.4, "a nanosecond more");
    bench.aqm.on_idle(Time(150_000_000));
    near(bench.probe("p"), 0.4, "up and down share the clock");
}

#[test]
fn the_threshold_may_be_in_bytes_and_an_arrival_that_overflows_counts_once() {
    for (l, below, above) in [("30kB", 30_000, 30_001), ("30p", 30_000, 31_000)] {
        let mut bench = Bench::new(&format!("blue l {l} d1 0.5 freeze_time 1ms"), context());
        let queue = bench.queue_bytes(below);
        bench.arrive(at(1.0), &packet(1000), &queue, &[0.9]);
        assert_eq!(bench.probe("p"), 0.0, "{l}");
        let queue = bench.queue_bytes(above);
        // The step precedes the random test.
        assert_eq!(bench.arrive(at(1.0), &packet(1000), &queue, &[0.4]), Verdict::Drop(Cause::Early));
        overflow(&mut bench, at(1.5));
        assert_eq!(bench.probe("p"), 1.0, "{l}");
    }
    let mut bench = Bench::new("blue l 30p d1 0.1", context());
    overflow(&mut bench, at(1.0));
    near(bench.probe("p"), 0.1, "one step for both reasons");
}

#[test]
fn ecn_capable_packets_are_marked() {
    let mut bench = Bench::new("blue ecn d1 1", context());
    overflow(&mut bench, at(0.0));
    let queue = bench.queue(0);
    assert_eq!(bench.arrive(at(0.0), &ect(1000), &queue, &[0.5]), Verdict::Mark(Cause::Early));
    assert_eq!(bench.arrive(at(0.0), &packet(1000), &queue, &[0.5]), Verdict::Drop(Cause::Early));
}

/// The timers that expire until `end`.
fn wait(bench: &mut Bench, end: f64) {
    while bench.aqm.next_timer().is_some_and(|due| due <= at(end)) {
        bench.tick(&bench.queue(0));
    }
}

#[test]
fn an_idle_link_may_repeat_the_step_down() {
    for (option, after) in [("", 0.48), ("repeat_idle", 0.48 - 9.0 * 0.02)] {
        let mut bench = Bench::new(&format!("blue d1 0.5 d2 0.02 freeze_time 100ms {option}"), context());
        overflow(&mut bench, at(1.0));
        wait(&mut bench, 2.0);
        near(bench.probe("p"), 0.5, "a busy link keeps p");
        bench.aqm.on_idle(at(2.03));
        wait(&mut bench, 2.0301);
        near(bench.probe("p"), 0.48, "the event itself");
        wait(&mut bench, 2.95);
        near(bench.probe("p"), after, option);
        // A dropped packet leaves the link idle, an accepted one does not.
        let queue = bench.queue(0);
        bench.arrive(at(2.95), &packet(1000), &queue, &[0.0]);
        wait(&mut bench, 3.049);
        let p = bench.probe("p");
        assert_eq!(p < after - 0.01, !option.is_empty());
        bench.arrive(at(3.049), &packet(1000), &queue, &[0.99]);
        wait(&mut bench, 9.0);
        assert_eq!(bench.probe("p"), p);
    }
}

/// If p reaches 1 just before the link becomes idle, it must decrease, or no packet would ever be sent again.
#[test]
fn a_link_that_drops_everything_recovers() {
    let mut bench = Bench::new("blue d1 1 d2 0.02", context());
    overflow(&mut bench, at(1.0));
    bench.aqm.on_idle(at(1.05));
    assert_eq!(bench.probe("p"), 1.0);
    let queue = bench.queue(0);
    assert_eq!(bench.arrive(at(2.0), &packet(1000), &queue, &[0.99]), Verdict::Drop(Cause::Early));
    bench.aqm.on_idle(at(2.0));
    near(bench.probe("p"), 0.98, "p");
}
