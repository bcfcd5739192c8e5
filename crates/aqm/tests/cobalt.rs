//! COBALT: its vectors, its options, and a comparison with a transcription of CAKE's function over a million
//! random steps.

use crate::support::{Bench, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Ecn, PacketView, Random, Stream, Time, Verdict};

const DROP: Verdict = Verdict::Drop(Cause::Early);
const MARK: Verdict = Verdict::Mark(Cause::Early);

fn full(bench: &mut Bench, ms: f64) {
    bench.aqm.on_drop(at(ms / 1e3), &packet(1000), Cause::Overflow, &bench.queue(100));
}

fn leave(bench: &mut Bench, ms: f64, sojourn: f64, packet: PacketView, numbers: &[f64]) -> Verdict {
    let packet = packet.with_arrived(at((ms - sojourn) / 1e3));
    let mut rng = Scripted::new(numbers);
    let verdict = bench.aqm.on_departure(at(ms / 1e3), &packet, &bench.queue(50), &mut rng);
    rng.assert_used("departure");
    verdict
}

fn ms_next(bench: &Bench) -> f64 {
    bench.probe("drop_next") * 1e3
}

#[test]
fn cobalt_v1_blue() {
    let mut bench = Bench::new("cobalt", context());
    let mut before = 0.0;
    for row in table("cobalt_v1").rows() {
        let ms = row.number("t (ms)");
        match row.word("event") {
            "full" => full(&mut bench, ms),
            _ => bench.aqm.on_idle(at(ms / 1e3)),
        }
        row.check("p_drop", bench.probe("p"));
        assert_eq!(bench.probe("p") != before, row.word("updated") == "yes", "at {ms} ms");
        before = bench.probe("p");
    }
}

#[test]
fn cobalt_v2_a_full_buffer_starts_dropping() {
    let mut bench = Bench::new("cobalt", context());
    full(&mut bench, 1000.0);
    assert_eq!((bench.probe("dropping"), bench.probe("count"), ms_next(&bench)), (1.0, 1.0, 1000.0));
    // The next late head is dropped at once, and count continues from there.
    assert_eq!(leave(&mut bench, 1000.0, 8.0, packet(1000), &[0.9]), DROP);
    assert_eq!(bench.probe("count"), 2.0);
    assert!((ms_next(&bench) - 1070.710678).abs() < 1e-5);
    full(&mut bench, 1001.0);
    assert_eq!(bench.probe("count"), 2.0);
    near(ms_next(&bench), 1001.0, "drop_next");
}

#[test]
fn cobalt_v3_a_marked_packet_may_still_be_dropped() {
    let mut bench = Bench::new("cobalt p_inc 0.5", context().with_ecn(true));
    full(&mut bench, 1000.0);
    assert_eq!(leave(&mut bench, 1000.0, 8.0, ect(1000), &[0.5]), MARK);
    full(&mut bench, 1001.0);
    assert_eq!(leave(&mut bench, 1001.0, 8.0, ect(1000), &[0.49]), DROP);
    // And one that CoDel lets pass.
    assert_eq!(leave(&mut bench, 1002.0, 1.0, ect(1000), &[0.49]), DROP);
    // Without p nothing is drawn.
    let mut bench = Bench::new("cobalt", context());
    assert_eq!(leave(&mut bench, 1002.0, 1.0, ect(1000), &[]), Verdict::Pass);
}

#[test]
fn cobalt_spaces_and_relaxes() {
    let mut bench = Bench::new("cobalt", context());
    assert_eq!(leave(&mut bench, 1000.0, 6.0, packet(1000), &[]), Verdict::Pass);
    assert_eq!((bench.probe("count"), ms_next(&bench)), (1.0, 1100.0));
    let mut due = 1100.0;
    for count in 2..=9 {
        assert_eq!(leave(&mut bench, due - 0.001, 6.0, packet(1000), &[]), Verdict::Pass);
        assert_eq!(leave(&mut bench, due, 6.0, packet(1000), &[]), DROP);
        assert_eq!(bench.probe("count"), f64::from(count));
        assert!((ms_next(&bench) - due - 100.0 / f64::from(count).sqrt()).abs() < 1e-5);
        due = ms_next(&bench);
    }
    // Below target: 80 ms later count has decreased twice (after 35.36 ms at 8, and 37.80 ms at 7).
    assert_eq!(leave(&mut bench, due + 40.0, 5.0, packet(1000), &[]), Verdict::Pass);
    assert_eq!(bench.probe("dropping"), 0.0);
    assert_eq!(bench.probe("count"), 7.0);
    near(ms_next(&bench), due + 100.0 / 8f64.sqrt() + 100.0 / 7f64.sqrt(), "drop_next");
    // A departure from an empty queue decreases it by at most one.
    bench.aqm.on_idle(at((due + 500.0) / 1e3));
    assert_eq!(bench.probe("count"), 6.0);
    // After a long time count is 0, and the next interval begins at that time.
    assert_eq!(leave(&mut bench, due + 5000.0, 1.0, packet(1000), &[]), Verdict::Pass);
    assert_eq!((bench.probe("count"), ms_next(&bench)), (0.0, due + 5100.0));
}

#[test]
fn cobalt_target_floor_and_delay_of_blue() {
    for (option, sojourn, dropping) in [
        ("", 5.0, 0.0),
        ("", 5.001, 1.0),
        ("floor 10", 7.9, 0.0),
        ("floor 10", 8.1, 1.0),
        ("floor 1.5", 5.1, 1.0),
    ] {
        // 1000 bytes at 10 Mbit/s: 0.8 ms.
        let mut bench = Bench::new(&format!("cobalt {option}"), context());
        leave(&mut bench, 1000.0, sojourn, packet(1000), &[]);
        assert_eq!(bench.probe("dropping"), dropping, "{option} {sojourn}");
    }
    let mut bench = Bench::new("cobalt blue_delay 400ms", context());
    leave(&mut bench, 1000.0, 400.0, packet(1000), &[]);
    assert_eq!(bench.probe("p"), 0.0);
    leave(&mut bench, 1000.0, 400.1, packet(1000), &[0.9]);
    assert_eq!(bench.probe("p"), 1.0 / 256.0);
}

/// CAKE's variables and functions.
#[derive(Default)]
struct Cake {
    target: u64,
    interval: u64,
    count: u32,
    drop_next: u64,
    blue_timer: Option<u64>,
    p_drop: f64,
    dropping: bool,
}

impl Cake {
    fn control(&self, t: u64) -> u64 {
        let wanted = u128::from(self.interval).pow(2) / u128::from(self.count.max(1));
        let mut root = (wanted as f64).sqrt() as u128;
        while root * root > wanted {
            root -= 1;
        }
        while (root + 1) * (root + 1) <= wanted {
            root += 1;
        }
        t + root as u64
    }

    fn blue_may(&self, now: u64) -> bool {
        self.blue_timer.is_none_or(|t| now - t > self.target)
    }

    fn queue_full(&mut self, now: u64) {
        if self.blue_may(now) {
            self.p_drop = f64::min(1.0, self.p_drop + 1.0 / 256.0);
            self.blue_timer = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    fn queue_empty(&mut self, now: u64) {
        if self.p_drop > 0.0 && self.blue_may(now) {
            self.p_drop = f64::max(0.0, self.p_drop - 1.0 / 4096.0);
            self.blue_timer = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.control(self.drop_next);
        }
    }

    /// (drop, marked)
    fn should_drop(&mut self, now: u64, sojourn: u64, ect: bool, u: f64) -> (bool, bool) {
        let (mut drop, mut marked) = (false, false);
        let over_target = sojourn > self.target;
        let mut next_due = self.count > 0 && now >= self.drop_next;
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else if self.dropping {
            self.dropping = false;
        }
        if next_due && self.dropping {
            marked = ect;
            drop = !ect;
            self.count += 1;
            self.drop_next = self.control(self.drop_next);
        } else {
            while next_due {
                self.count -= 1;
                self.drop_next = self.control(self.drop_next);
                next_due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.p_drop > 0.0 {
            drop |= u < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + self.interval;
        } else if now > self.drop_next && !drop {
            self.drop_next = now;
        }
        (drop, marked)
    }
}

#[test]
fn cobalt_equals_the_function_of_cake() {
    let mut tally = [0; 5];
    for seed in 0..200 {
        let mut rng = Stream::new(seed, "cobalt");
        let mut draw = |low: f64, high: f64| low + rng.uniform() * (high - low);
        let (target, interval) = (draw(1.0, 10.0) as u64 * 1_000_000, draw(10.0, 120.0) as u64 * 1_000_000);
        let ecn = draw(0.0, 1.0) < 0.5;
        let spec =
            format!("cobalt target {target}ns interval {interval}ns ecn {}", if ecn { "on" } else { "off" });
        let mut bench = Bench::new(&spec, context());
        let mut cake = Cake { target, interval, ..Cake::default() };
        let (mut now, mut sojourn) = (1_000_000_000u64, 0.0f64);
        for step in 0..5000 {
            let place = format!("seed {seed} step {step}: {spec}");
            now += draw(0.0, 2e6) as u64;
            if draw(0.0, 1.0) < 0.003 {
                now += draw(0.0, 2e9) as u64;
            }
            let wander = draw(-1e6, 1e6) + if (step / 300) % 2 == 0 { 1e5 } else { -1e5 };
            sojourn = (sojourn + wander).clamp(0.0, 4e7);
            match draw(0.0, 1.0) {
                x if x < 0.02 => {
                    bench.aqm.on_drop(Time(now), &packet(1000), Cause::Overflow, &bench.queue(100));
                    cake.queue_full(now);
                }
                x if x < 0.08 => {
                    bench.aqm.on_idle(Time(now));
                    cake.queue_empty(now);
                    tally[4] += u32::from(cake.count > 0);
                }
                _ => {
                    let wait = sojourn as u64;
                    let p = if draw(0.0, 1.0) < 0.5 { ect(1000) } else { packet(1000) };
                    let p = p.with_arrived(Time(now - wait));
                    let u = draw(0.0, 1.0);
                    let numbers: &[f64] = if cake.p_drop > 0.0 { &[u] } else { &[] };
                    let before = cake.count;
                    let (drop, marked) = cake.should_drop(now, wait, ecn && p.ecn != Ecn::NotEct, u);
                    let mut script = Scripted::new(numbers);
                    let verdict = bench.aqm.on_departure(Time(now), &p, &bench.queue(50), &mut script);
                    script.assert_used(&place);
                    let expected = if drop {
                        DROP
                    } else if marked {
                        MARK
                    } else {
                        Verdict::Pass
                    };
                    assert_eq!(verdict, expected, "{place}");
                    tally[0] += u32::from(drop && marked);
                    tally[1] += u32::from(drop);
                    tally[2] += u32::from(verdict == MARK);
                    tally[3] += u32::from(cake.count < before);
                }
            }
            let flag = f64::from(u8::from(cake.dropping));
            assert_eq!(
                (bench.probe("dropping"), bench.probe("count")),
                (flag, f64::from(cake.count)),
                "{place}"
            );
            assert_eq!(bench.probe("drop_next"), cake.drop_next as f64 * 1e-9, "{place}");
            assert_eq!(bench.probe("p"), cake.p_drop, "{place}");
        }
    }
    assert!(tally.iter().all(|n| *n > 300), "every case is common: {tally:?}");
}
