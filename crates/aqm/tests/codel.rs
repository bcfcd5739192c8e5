//! CoDel: its vectors, its options, and a comparison with a transcription of the RFC's loop over a million
//! random dequeues.

use crate::support::{Bench, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Aqm, Cause, Ecn, Limit, PacketView, Random, Spec, Stream, Time, Verdict};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

/// A head that has waited `sojourn` ms departs at `now` ms from a long queue.
fn depart(bench: &mut Bench, now: f64, sojourn: f64, packet: PacketView) -> Verdict {
    let queue = bench.queue(50);
    let packet = packet.with_arrived(at((now - sojourn) / 1e3));
    bench.aqm.on_departure(at(now / 1e3), &packet, &queue, &mut Scripted::new(&[]))
}

/// Heads depart at `now` until one passes; returns how many were dropped.
fn drops(bench: &mut Bench, now: f64, sojourn: f64) -> u32 {
    let mut count = 0;
    while depart(bench, now, sojourn, packet(1000)) == Verdict::Drop(Cause::Early) {
        count += 1;
        assert!(count < 1000, "endless drops at {now} ms");
    }
    count
}

/// A bench that has been above target since 1000 ms and drops for the first time at 1100 ms.
fn dropping(options: &str) -> Bench {
    let mut bench = Bench::new(&format!("codel {options}"), context().with_ecn(true));
    assert_eq!(drops(&mut bench, 1000.0, 8.0), 0);
    assert_eq!(drops(&mut bench, 1100.0, 8.0), 1);
    bench
}

#[test]
fn codel_v1_control_law() {
    let mut bench = dropping("");
    let mut now = 1100.0;
    for count in 1..=100 {
        assert_eq!(bench.probe("count"), f64::from(count));
        let gap = bench.probe("drop_next") * 1e3 - now;
        for row in table("codel_v1").rows().filter(|row| row.whole("count") == count) {
            assert!((gap - row.number("interval/sqrt(count) (ms)")).abs() < 1e-6 + 1e-7, "{count}: {gap} ms");
        }
        now = bench.probe("drop_next") * 1e3;
        assert_eq!(drops(&mut bench, now - 1e-6, 8.0), 0);
        assert_eq!(drops(&mut bench, now, 8.0), 1);
    }
}

#[test]
fn codel_v2_state_machine() {
    let mut bench = Bench::new("codel", context());
    for row in table("codel_v2").rows() {
        let now = row.number("now (ms)");
        assert_eq!(drops(&mut bench, now, row.number("sojourn")), row.whole("drops here"), "at {now}");
        for name in ["count", "lastcount"] {
            row.check(name, bench.probe(name));
        }
        assert_eq!(bench.probe("dropping") == 1.0, row.word("dropping") == "yes", "at {now}");
        row.check("first_above_time", bench.probe("first_above_time") * 1e3);
        let drop_next = bench.probe("drop_next") * 1e3;
        assert!((drop_next - row.number("drop_next")).abs() < 1e-4, "at {now}: {drop_next}");
    }
}

#[test]
fn codel_v3_newton_step() {
    let mut bench = dropping("sqrt newton");
    let mut expected = 1.0f64;
    near(bench.probe("drop_next") * 1e3, 1200.0 - 100.0 / 65536.0, "16 bits stand for 1");
    for count in 2..=20 {
        let due = bench.probe("drop_next") * 1e3;
        assert_eq!(drops(&mut bench, due, 8.0), 1);
        expected = expected * (3.0 - f64::from(count) * expected * expected) / 2.0;
        let gap = (bench.probe("drop_next") * 1e3 - due) / 100.0;
        assert!((gap - expected).abs() < 2e-4, "count {count}: {gap} instead of {expected}");
        if count == 2 {
            assert_eq!(expected, 0.5);
        }
    }
}

/// `drop_next` moves only after the next head was found above target, not at the drop itself.
#[test]
fn codel_moves_drop_next_only_after_the_next_head() {
    let mut bench = dropping("");
    assert_eq!(depart(&mut bench, 1250.0, 8.0, packet(1000)), Verdict::Drop(Cause::Early));
    assert_eq!(depart(&mut bench, 1250.0, 4.0, packet(1000)), Verdict::Pass);
    assert_eq!((bench.probe("dropping"), bench.probe("count")), (0.0, 2.0));
    near(bench.probe("drop_next"), 1.2, "not moved");
    // A mark moves it at once, and the marked packet is sent.
    let mut bench = dropping("");
    assert_eq!(depart(&mut bench, 1250.0, 8.0, ect(1000)), Verdict::Mark(Cause::Early));
    assert!((bench.probe("drop_next") * 1e3 - 1270.710678).abs() < 1e-5);
    // The packet after the first drop is sent, even if `drop_next` has been reached.
    let mut bench = Bench::new("codel interval 1ms", context());
    assert_eq!(drops(&mut bench, 1000.0, 0.0), 0);
    assert_eq!(drops(&mut bench, 1010.0, 8.0), 0);
    assert_eq!(depart(&mut bench, 1012.0, 8.0, packet(1000)), Verdict::Drop(Cause::Early));
    assert_eq!(depart(&mut bench, 1012.0, 8.0, packet(1000)), Verdict::Pass);
}

#[test]
fn codel_never_drops_a_single_packet() {
    for (option, bytes, signal) in [("", 1500, false), ("", 1501, true), ("max_packet 500B", 501, true)] {
        let mut bench = Bench::new(&format!("codel {option}"), context());
        let queue = bench.queue_bytes(bytes);
        let mut leave = |now| bench.aqm.on_departure(at(now), &packet(1000), &queue, &mut Scripted::new(&[]));
        assert_eq!(leave(1.0), Verdict::Pass);
        assert_eq!(leave(1.1) != Verdict::Pass, signal, "{option} {bytes}");
    }
}

#[test]
fn codel_restarts_after_an_empty_queue() {
    let mut bench = dropping("");
    bench.aqm.on_idle(at(1.15));
    assert_eq!((bench.probe("dropping"), bench.probe("first_above_time")), (0.0, 0.0));
    assert_eq!(drops(&mut bench, 1300.0, 8.0), 0);
    near(bench.probe("first_above_time"), 1.4, "a new interval");
}

/// Dropping continues at the last rate if it starts again within 16 intervals after the last `drop_next`.
#[test]
fn codel_resumes_at_the_last_rate() {
    for (option, pause, count) in
        [("", 0.0, 9.0), ("restart less_two", 0.0, 8.0), ("", 2000.0, 1.0), ("restart less_two", 2000.0, 1.0)]
    {
        let mut bench = dropping(option);
        for _ in 0..9 {
            let due = bench.probe("drop_next") * 1e3;
            drops(&mut bench, due, 8.0);
        }
        let now = bench.probe("drop_next") * 1e3 + pause;
        assert_eq!(drops(&mut bench, now, 1.0), 0);
        assert_eq!(drops(&mut bench, now, 8.0), 0);
        assert_eq!(drops(&mut bench, now + 100.0, 8.0), 1);
        assert_eq!(bench.probe("count"), count, "{option} {pause}");
        near(bench.probe("drop_next") * 1e3, now + 100.0 + 100.0 / count.sqrt(), option);
    }
}

/// RFC 8289, section 5, transcribed, with Linux's ECN.
#[derive(Default)]
struct Rfc {
    target: u64,
    interval: u64,
    maxpacket: u64,
    ecn: bool,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    dropped: u32,
    marked: bool,
}

type Queue = VecDeque<PacketView>;

impl Rfc {
    fn control_law(&self, t: u64, count: u32) -> u64 {
        let wanted = u128::from(self.interval) * u128::from(self.interval) / u128::from(count);
        let (mut low, mut high) = (0u128, u128::from(self.interval) + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle * middle <= wanted { low = middle } else { high = middle }
        }
        t + low as u64
    }

    fn dodequeue(&mut self, now: u64, queue: &mut Queue) -> (Option<PacketView>, bool) {
        let Some(p) = queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let bytes: u64 = queue.iter().map(|p| u64::from(p.bytes)).sum();
        let mut ok_to_drop = false;
        if now - p.arrived.0 < self.target || bytes <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(p), ok_to_drop)
    }

    fn can_mark(&self, p: Option<PacketView>) -> bool {
        self.ecn && p.is_some_and(|p| p.ecn != Ecn::NotEct)
    }

    fn deque(&mut self, now: u64, queue: &mut Queue) -> Option<PacketView> {
        (self.dropped, self.marked) = (0, false);
        let (mut p, mut ok_to_drop) = self.dodequeue(now, queue);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if self.can_mark(p) {
                    self.marked = true;
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    return p;
                }
                self.dropped += 1;
                (p, ok_to_drop) = self.dodequeue(now, queue);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            if self.can_mark(p) {
                self.marked = true;
            } else {
                self.dropped += 1;
                (p, _) = self.dodequeue(now, queue);
            }
            self.dropping = true;
            let delta = i64::from(self.count) - i64::from(self.lastcount);
            self.count = 1;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 16 * self.interval as i64 {
                self.count = delta as u32;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        p
    }
}

/// A departure from a queue with the tested CoDel: heads are dropped until one passes.
fn take(aqm: &mut dyn Aqm, link: &Bench, now: u64, queue: &mut Queue) -> (Option<PacketView>, u32, bool) {
    let mut dropped = 0;
    while let Some(p) = queue.pop_front() {
        let bytes: u64 = queue.iter().map(|p| u64::from(p.bytes)).sum();
        let view = link.queue_of(queue.len() as u32, bytes);
        match aqm.on_departure(Time(now), &p, &view, &mut Scripted::new(&[])) {
            Verdict::Pass => return (Some(p), dropped, false),
            Verdict::Mark(Cause::Early) => return (Some(p), dropped, true),
            Verdict::Drop(Cause::Early) => dropped += 1,
            other => panic!("{other:?}"),
        }
    }
    aqm.on_idle(Time(now));
    (None, dropped, false)
}

#[test]
fn codel_equals_the_pseudocode_of_the_rfc() {
    let link = Bench::new("droptail", context().with_limit(Limit::Packets(1000)));
    let mut tally = [0u64; 5];
    let mut dequeues = 0;
    for seed in 0..400 {
        let mut rng = Stream::new(seed, "codel");
        let mut draw = |low: f64, high: f64| low + rng.uniform() * (high - low);
        let ecn = draw(0.0, 1.0) < 0.5;
        let (target, interval) = (draw(0.0, 8.0) as u64 * MS, draw(1.0, 120.0) as u64 * MS);
        let maxpacket = draw(1.0, 3000.0) as u64;
        let spec = format!(
            "codel target {target}ns interval {interval}ns max_packet {maxpacket}B ecn {}",
            if ecn { "on" } else { "off" }
        );
        let mut aqm = Spec::parse(&spec).and_then(|s| s.build(link.context)).expect("a valid spec");
        let mut rfc = Rfc { target, interval, maxpacket, ecn, ..Rfc::default() };
        let (mut ours, mut theirs) = (Queue::new(), Queue::new());
        let mut now = 1;
        for step in 0..2500 {
            // Up to 12 packets are queued; their delay depends on the time between steps.
            let pace = [0.2, 1.0, 1.0, 3.0][(step / 100) % 4];
            now += (draw(0.0, 2.0) * pace * MS as f64) as u64;
            if draw(0.0, 1.0) < 0.001 {
                now += (draw(0.0, 3000.0) * MS as f64) as u64;
            }
            let wanted = if step % 100 > 90 { 0.0 } else { draw(1.0, 12.0) } as usize;
            while ours.len() < wanted {
                let p = if draw(0.0, 1.0) < 0.5 { ect(1) } else { packet(1) };
                let p = p.with_bytes(draw(40.0, 1500.0) as u32).with_arrived(Time(now));
                ours.push_back(p);
                theirs.push_back(p);
            }
            let (p, dropped, marked) = take(&mut *aqm, &link, now, &mut ours);
            let expected = rfc.deque(now, &mut theirs);
            dequeues += 1;
            let place = format!("seed {seed} step {step}: {spec}");
            assert_eq!((dropped, marked), (rfc.dropped, rfc.marked), "{place}");
            assert_eq!(p.map(|p| (p.bytes, p.arrived)), expected.map(|p| (p.bytes, p.arrived)), "{place}");
            assert_eq!(ours.len(), theirs.len(), "{place}");
            aqm.probe(&mut |name, value| {
                let expected = match name {
                    "dropping" => f64::from(u8::from(rfc.dropping)),
                    "count" => f64::from(rfc.count),
                    "lastcount" => f64::from(rfc.lastcount),
                    "first_above_time" => rfc.first_above_time as f64 * 1e-9,
                    "drop_next" => rfc.drop_next as f64 * 1e-9,
                    other => panic!("unexpected {other}"),
                };
                assert_eq!(value, expected, "{place}: {name}");
            });
            tally[0] += u64::from(dropped);
            tally[1] += u64::from(dropped > 1);
            tally[2] += u64::from(marked);
            tally[3] += u64::from(p.is_none());
            tally[4] += u64::from(rfc.count > 1 && rfc.lastcount == rfc.count);
        }
    }
    assert_eq!(dequeues, 1_000_000);
    assert!(tally.iter().all(|n| *n > 1000), "every case is common: {tally:?}");
}

/// By hand, with a threshold of 1 ms: a packet that waited exactly 1 ms is not marked, one that waited longer
/// is if it is ECN-capable and ECN is on; the dropping state drops what is not. (Mutants: at least instead of
/// more; any packet; without ECN, too.)
#[test]
fn codel_marks_packets_above_its_threshold() {
    let marked = Verdict::Mark(Cause::Forced);
    let cases = [
        (1.0, Ecn::Ect0, Verdict::Pass),
        (1.001, Ecn::Ect0, marked),
        (1.001, Ecn::Ect1, marked),
        (1.001, Ecn::NotEct, Verdict::Pass),
        (8.0, Ecn::Ect0, marked),
    ];
    let mut bench = Bench::new("codel ce_threshold 1ms ecn on", context());
    for (sojourn, ecn, expected) in cases {
        let verdict = depart(&mut bench, 1000.0, sojourn, packet(1000).with_ecn(ecn));
        assert_eq!(verdict, expected, "{sojourn} ms, {ecn:?}");
    }
    assert_eq!(depart(&mut bench, 1100.0, 8.0, ect(1000)), Verdict::Mark(Cause::Early));
    assert_eq!(depart(&mut bench, 1200.0, 8.0, packet(1000)), Verdict::Drop(Cause::Early));
    let mut bench = Bench::new("codel ce_threshold 1ms ecn off", context());
    for (sojourn, ecn, _) in cases {
        let verdict = depart(&mut bench, 1000.0, sojourn, packet(1000).with_ecn(ecn));
        assert_eq!(verdict, Verdict::Pass, "{sojourn} ms, {ecn:?}");
    }
}
