//! AVQRED compared with a second one, transcribed line by line from the paper's listing without code of the
//! crate: the same decisions, random numbers and virtual queue over a million random arrivals, in the
//! intended and in the literal form.

use crate::support::{Bench, Scripted, context, ect, packet};
use sojourn_aqm::{Cause, Ecn, Random, Stream, Time, Verdict};

/// The names of the listing; times in nanoseconds, so that "more than 1 ms" is exact.
struct Oracle {
    alpha: f64,
    min_capacity: f64,
    max_capacity: f64,
    min_th: f64,
    max_th: f64,
    literal: bool,
    count: i64,
    last_measure: u64,
    prev_tx_bytes: u64,
    bytes_transmitted: u64,
    v_capacity: f64,
    vq: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Accept,
    Early,
    Forced,
}

impl Oracle {
    fn arrival(&mut self, curr_time: u64) {
        let delta_time = (curr_time - self.last_measure) as f64 / 1e6;
        if curr_time - self.last_measure > 1_000_000 {
            let tx_bytes = self.bytes_transmitted;
            let output_rate = (tx_bytes - self.prev_tx_bytes) as f64 * 8000.0 / delta_time;
            self.prev_tx_bytes = tx_bytes;
            self.v_capacity = self.alpha * output_rate + (1.0 - self.alpha) * self.v_capacity;
            self.v_capacity = f64::max(f64::min(self.max_capacity, self.v_capacity), self.min_capacity);
            let serviced_bytes = self.v_capacity / 1000.0 / 8.0 * delta_time;
            if self.vq > serviced_bytes {
                self.vq -= serviced_bytes;
            } else {
                self.vq = 0.0;
            }
            if !self.literal {
                self.last_measure = curr_time;
            }
        }
        if self.literal {
            self.last_measure = curr_time;
        }
    }

    /// The outcome, and whether `u` was used.
    fn red(&mut self, b: u32, u: f64, can_mark: bool) -> (Outcome, bool) {
        let q_size = self.vq / 1500.0;
        let (mut outcome, mut drawn) = (Outcome::Accept, false);
        if self.min_th < q_size && q_size < self.max_th {
            self.count += 1;
            let p_b = (q_size - self.min_th) / (self.max_th - self.min_th);
            let room = 1.0 - self.count as f64 * p_b;
            drawn = true;
            let fires = if room > 0.0 { u < p_b / room } else { !self.literal };
            if fires {
                outcome = Outcome::Early;
                self.count = 0;
            }
        } else if self.max_th <= q_size {
            outcome = Outcome::Forced;
            self.count = 0;
        } else {
            self.count = -1;
            if self.literal {
                self.vq += f64::from(b);
            }
        }
        if !self.literal && (outcome == Outcome::Accept || can_mark) {
            self.vq += f64::from(b);
        }
        (outcome, drawn)
    }
}

fn compare(seed: u64, steps: u32, literal: bool) -> [u32; 4] {
    let mut rng = Stream::new(seed, "oracle");
    let mut draw = |low: f64, high: f64| low + rng.uniform() * (high - low);
    let alpha = draw(0.001, 1.0);
    let min_capacity = draw(1e6, 13e6).round();
    let max_capacity = min_capacity + draw(0.0, 12e6).round();
    let min_th = draw(1.0, 10.0).round();
    let max_th = min_th + draw(1.0, 12.0).round();
    let ecn = draw(0.0, 1.0) < 0.5;
    let (listing, on) = (if literal { "literal" } else { "cleaned" }, if ecn { "on" } else { "off" });
    let spec = format!(
        "avqred alpha {alpha} min_capacity {min_capacity}bit max_capacity {max_capacity}bit min_th {min_th} \
         max_th {max_th} listing {listing} ecn {on}"
    );
    let mut bench = Bench::new(&spec, context());
    let mut oracle = Oracle {
        alpha,
        min_capacity,
        max_capacity,
        min_th,
        max_th,
        literal,
        count: -1,
        last_measure: 0,
        prev_tx_bytes: 0,
        bytes_transmitted: 0,
        v_capacity: min_capacity,
        vq: 0.0,
    };
    let mut tally = [0; 4];
    let mut now = 0u64;
    let mut gap = 1e6;
    for step in 0..steps {
        let place = format!("seed {seed} step {step}: {spec}");
        if step % 100 == 0 {
            gap = draw(2e5, 3e6); // periods of overload and of low load
        }
        now += draw(0.0, gap) as u64;
        let queue = bench.queue(0);
        while draw(0.0, 1.0) < 0.5 {
            let size = draw(40.0, 1500.0) as u32;
            bench.aqm.on_departure(Time(now), &packet(size), &queue, &mut Scripted::new(&[]));
            oracle.bytes_transmitted += u64::from(size);
        }
        let size = draw(40.0, 1500.0) as u32;
        let packet = if draw(0.0, 1.0) < 0.5 { ect(size) } else { packet(size) };
        let (u, can_mark) = (draw(0.0, 1.0), ecn && packet.ecn == Ecn::Ect0);
        oracle.arrival(now);
        if draw(0.0, 1.0) < 0.05 {
            bench.aqm.on_offered(Time(now), &packet, &queue);
            bench.aqm.on_drop(Time(now), &packet, Cause::Overflow, &queue);
            tally[3] += 1;
        } else {
            let (outcome, drawn) = oracle.red(size, u, can_mark);
            let numbers = if drawn { &[u][..] } else { &[] };
            let verdict = bench.arrive(Time(now), &packet, &queue, numbers);
            let expected = match (outcome, can_mark) {
                (Outcome::Accept, _) => Verdict::Pass,
                (Outcome::Early, true) => Verdict::Mark(Cause::Early),
                (Outcome::Early, false) => Verdict::Drop(Cause::Early),
                (Outcome::Forced, true) => Verdict::Mark(Cause::Forced),
                (Outcome::Forced, false) => Verdict::Drop(Cause::Forced),
            };
            assert_eq!(verdict, expected, "{place}");
            tally[outcome as usize] += 1;
        }
        let vq = bench.probe("vq");
        assert!((vq - oracle.vq).abs() <= 1e-6, "{place}: {vq} instead of {}", oracle.vq);
        let capacity = bench.probe("v_capacity");
        assert!((capacity - oracle.v_capacity).abs() <= 1e-9 * capacity, "{place}: {capacity}");
        assert_eq!(bench.probe("count"), oracle.count as f64, "{place}");
    }
    tally
}

#[test]
fn the_listing_of_byun_and_baras() {
    for literal in [false, true] {
        let mut total = [0; 4];
        for seed in 0..100 {
            let tally = compare(seed, 5000, literal);
            (0..4).for_each(|i| total[i] += tally[i]);
        }
        assert_eq!(total.iter().sum::<u32>(), 500_000);
        assert!(total[0] > 5000 && total[1] > 5000 && total[3] > 5000, "every outcome is common: {total:?}");
        assert!(literal || total[2] > 5000, "every outcome is common: {total:?}");
    }
}
