//! RED compared with a second RED, written from the paper's listing and ns-2's description without code of
//! the crate: the same decisions and random numbers over a million random arrivals.

use crate::support::{Bench, at, context, ect, packet};
use sojourn_aqm::{Cause, Limit, Random, Stream, Time, Verdict};

/// The listing's variables under the listing's names.
struct Oracle {
    w: f64,
    min: f64,
    max: f64,
    maxp: f64,
    gentle: bool,
    wait: bool,
    smax: Option<f64>,
    avg: f64,
    count: i64,
    /// ns-2 only.
    old: bool,
}

/// The outcome of an arrival: whether a number was drawn, and the decision.
#[derive(Debug, PartialEq)]
enum Outcome {
    Accept { drawn: bool },
    Early,
    Forced,
}

impl Oracle {
    fn pa(&self, p: f64, c: i64) -> f64 {
        let x = c as f64 * p;
        if self.wait {
            if x < 1.0 {
                0.0
            } else if x < 2.0 {
                f64::min(1.0, p / (2.0 - x))
            } else {
                1.0
            }
        } else if x < 1.0 {
            f64::min(1.0, p / (1.0 - x))
        } else {
            1.0
        }
    }

    /// The listing's arrival; `idle` is m if the link was idle.
    fn arrival(&mut self, q: f64, idle: Option<u64>, b: f64, full: bool, u: f64) -> Option<Outcome> {
        match idle {
            Some(m) => (0..m).for_each(|_| self.avg *= 1.0 - self.w),
            None => self.avg = (1.0 - self.w) * self.avg + self.w * q,
        }
        if full {
            self.count = 0;
            return None;
        }
        let mut p_b = if self.avg < self.min {
            self.count = -1;
            return Some(Outcome::Accept { drawn: false });
        } else if self.avg < self.max {
            self.maxp * (self.avg - self.min) / (self.max - self.min)
        } else if self.gentle && self.avg < 2.0 * self.max {
            self.maxp + (1.0 - self.maxp) * (self.avg - self.max) / self.max
        } else {
            self.count = 0;
            return Some(Outcome::Forced);
        };
        self.count += 1;
        if let Some(smax) = self.smax {
            p_b = p_b * b / smax;
        }
        if u < self.pa(p_b, self.count) {
            self.count = 0;
            Some(Outcome::Early)
        } else {
            Some(Outcome::Accept { drawn: true })
        }
    }

    /// ns-2's arrival, packet mode.
    fn arrival_ns2(&mut self, q: f64, idle: Option<u64>, full: bool, u: f64) -> Option<Outcome> {
        for _ in 0..idle.unwrap_or(0) {
            self.avg *= 1.0 - self.w;
        }
        self.avg = self.avg * (1.0 - self.w) + self.w * q;
        self.count += 1;
        let mut outcome = Outcome::Accept { drawn: false };
        if self.avg >= self.min && q > 1.0 {
            let top = if self.gentle { 2.0 * self.max } else { self.max };
            if self.avg >= top {
                outcome = Outcome::Forced;
            } else if !self.old {
                self.count = 1;
                self.old = true;
            } else if !full {
                let p = if self.avg >= self.max {
                    (1.0 - self.maxp) / self.max * self.avg + (2.0 * self.maxp - 1.0)
                } else {
                    (self.avg - self.min) / (self.max - self.min) * self.maxp
                };
                outcome =
                    if u < self.pa(p, self.count) { Outcome::Early } else { Outcome::Accept { drawn: true } };
            }
        } else {
            self.old = false;
        }
        if full || matches!(outcome, Outcome::Early | Outcome::Forced) {
            self.count = 0;
        }
        (!full).then_some(outcome)
    }
}

/// `steps` arrivals at a queue that varies at random between empty and full, with pauses.
fn compare(seed: u64, steps: u32, ns2: bool) -> [u32; 4] {
    let mut rng = Stream::new(seed, "oracle");
    let mut draw = |low: f64, high: f64| low + rng.uniform() * (high - low);
    let bytes = !ns2 && draw(0.0, 1.0) < 0.3;
    let w = [1.0, 0.5, 0.1, 0.002, 0.0123][draw(0.0, 5.0) as usize];
    let min = draw(1.0, 20.0).round();
    let max = (min * draw(1.5, 4.0)).round() + 1.0;
    let maxp = draw(0.01, 1.0);
    let (gentle, wait, ecn) = (draw(0.0, 1.0) < 0.5, draw(0.0, 1.0) < 0.5, draw(0.0, 1.0) < 0.5);
    let forced_drop = draw(0.0, 1.0) < 0.5;
    let unit = if bytes { "kB" } else { "p" };
    let scale = if bytes { 1000.0 } else { 1.0 };
    let spec = format!(
        "red min_th {min}{unit} max_th {max}{unit} max_p {maxp} w_q {w} gentle {} wait {} ecn {} ecn_forced {} listing {}",
        if gentle { "on" } else { "off" },
        if wait { "on" } else { "off" },
        if ecn { "on" } else { "off" },
        if forced_drop { "drop" } else { "mark" },
        if ns2 { "ns2" } else { "fj93" },
    );
    // 8 Mbit/s: a mean packet of 1000 bytes takes 1 ms.
    let link = context().with_link_rate(8_000_000).with_limit(Limit::Packets(100));
    let mut bench = Bench::new(&spec, link);
    let smax = bytes.then_some(1500.0);
    let (min, max) = (min * scale, max * scale);
    let count = if ns2 { 0 } else { -1 };
    let mut oracle = Oracle { w, min, max, maxp, gentle, wait, smax, avg: 0.0, count, old: false };
    let mut tally = [0; 4];
    let mut now = 0u64;
    let mut idle_since = Some(0u64);
    let mut q: u32 = 0;
    for step in 0..steps {
        now += draw(0.0, 2e6) as u64;
        if draw(0.0, 1.0) < 0.002 {
            bench.aqm.on_idle(Time(now));
            (q, idle_since) = (0, Some(now));
            now += draw(0.0, 50e6) as u64;
        }
        let size = draw(40.0, 1500.0) as u32;
        let queue = if bytes { bench.queue_bytes(u64::from(q) * 1000) } else { bench.queue(q) };
        let seen = f64::from(q) * scale;
        let (full, u) = (q >= 100, draw(0.0, 1.0));
        let idle = idle_since.take().map(|since| (now - since) / 1_000_000);
        let outcome = if ns2 {
            oracle.arrival_ns2(seen, idle, full, u)
        } else {
            oracle.arrival(seen, idle, f64::from(size), full, u)
        };
        let packet = if draw(0.0, 1.0) < 0.5 { ect(size) } else { packet(size) };
        let can_mark = ecn && packet.ecn == sojourn_aqm::Ecn::Ect0;
        let place = format!("seed {seed} step {step}: {spec}");
        match outcome {
            None => {
                bench.aqm.on_offered(Time(now), &packet, &queue);
                bench.aqm.on_drop(Time(now), &packet, Cause::Overflow, &queue);
                tally[3] += 1;
            }
            Some(outcome) => {
                let numbers = if matches!(outcome, Outcome::Accept { drawn: true } | Outcome::Early) {
                    &[u][..]
                } else {
                    &[]
                };
                let verdict = bench.arrive(Time(now), &packet, &queue, numbers);
                let expected = match outcome {
                    Outcome::Accept { .. } => Verdict::Pass,
                    Outcome::Early if can_mark => Verdict::Mark(Cause::Early),
                    Outcome::Early => Verdict::Drop(Cause::Early),
                    Outcome::Forced if can_mark && !forced_drop => Verdict::Mark(Cause::Forced),
                    Outcome::Forced => Verdict::Drop(Cause::Forced),
                };
                assert_eq!(verdict, expected, "{place}");
                tally[match outcome {
                    Outcome::Accept { .. } => 0,
                    Outcome::Early => 1,
                    Outcome::Forced => 2,
                }] += 1;
            }
        }
        let avg = bench.probe("avg");
        assert!((avg - oracle.avg).abs() <= 1e-9 * avg.max(1.0), "{place}: {avg} instead of {}", oracle.avg);
        assert_eq!(bench.probe("count"), oracle.count as f64, "{place}");
        // The queue varies at random: a step up or down, sometimes a burst.
        let step = if draw(0.0, 1.0) < 0.01 { draw(-60.0, 60.0) } else { draw(-2.0, 2.0) };
        q = (f64::from(q) + step.round()).clamp(0.0, 100.0) as u32;
    }
    tally
}

fn compare_many(ns2: bool) {
    let mut total = [0; 4];
    for seed in 0..250 {
        let tally = compare(seed, 4000, ns2);
        (0..4).for_each(|i| total[i] += tally[i]);
    }
    assert_eq!(total.iter().sum::<u32>(), 1_000_000);
    assert!(total.iter().all(|n| *n > 10_000), "every outcome is common: {total:?}");
}

#[test]
fn the_listing_of_floyd_and_jacobson() {
    compare_many(false);
}

#[test]
fn the_procedure_of_ns2() {
    compare_many(true);
}

#[test]
fn an_average_with_a_weight_of_one_is_zero_after_idling() {
    let link = context().with_link_rate(8_000_000);
    for (pause, avg) in [(0.0009999, 7.0), (0.001, 0.0), (604_800.0, 0.0)] {
        let mut bench = Bench::new("red w_q 1", link);
        bench.aqm.on_offered(at(1.0), &packet(1000), &bench.queue(0));
        bench.aqm.on_offered(at(1.0), &packet(1000), &bench.queue(7));
        bench.aqm.on_idle(at(2.0));
        bench.aqm.on_offered(at(2.0 + pause), &packet(1000), &bench.queue(0));
        assert_eq!(bench.probe("avg"), avg);
    }
}
