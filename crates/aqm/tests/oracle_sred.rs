//! SRED compared with a second SRED, written from the paper's formulas without code of the crate: the same
//! decisions, random numbers and list over a million random arrivals.

use crate::support::{Bench, Scripted, at, context, ect, packet};
use sojourn_aqm::{Cause, Ecn, FlowId, Limit, Random, Stream, Verdict};

struct Oracle {
    m: usize,
    p: f64,
    pmax: f64,
    alpha: f64,
    full: bool,
    b: f64,
    list: Vec<(u32, u32)>,
    pt: f64,
}

impl Oracle {
    /// The random numbers used, the zombie drawn, and p_zap for a queue of `q`.
    fn arrival(&mut self, flow: u32, q: f64, u1: f64, u2: f64) -> (Vec<f64>, usize, f64) {
        let psred = if q < self.b / 6.0 {
            0.0
        } else if q < self.b / 3.0 {
            self.pmax / 4.0
        } else {
            self.pmax
        };
        if self.list.len() < self.m {
            self.list.push((flow, 0));
            return (vec![], self.list.len() - 1, psred);
        }
        let mut used = vec![u1];
        let k = (u1 * self.m as f64).floor() as usize;
        let mut hit = 0.0;
        if self.list[k].0 == flow {
            hit = 1.0;
            self.list[k].1 += 1;
        } else {
            used.push(u2);
            if u2 < self.p {
                self.list[k] = (flow, 0);
            }
        }
        self.pt = (1.0 - self.alpha) * self.pt + self.alpha * hit;
        let flows = if self.pt > 0.0 { 1.0 / self.pt } else { f64::INFINITY };
        let mut pzap = psred * f64::min(1.0, (flows / 256.0) * (flows / 256.0));
        if self.full && hit == 1.0 {
            pzap *= 1.0 + hit / self.pt;
        }
        (used, k, f64::min(pzap, 1.0))
    }
}

fn compare(seed: u64, steps: u32) -> [u32; 4] {
    let mut rng = Stream::new(seed, "oracle");
    let mut draw = |low: f64, high: f64| low + rng.uniform() * (high - low);
    let m = [2, 10, 100, 1000][draw(0.0, 4.0) as usize];
    let (p, pmax, full, ecn) = (draw(0.01, 1.0), draw(0.01, 1.0), draw(0.0, 1.0) < 0.5, draw(0.0, 1.0) < 0.5);
    let alpha = if draw(0.0, 1.0) < 0.5 { 1.0 / m as f64 } else { draw(0.0001, 0.1) };
    let flows = draw(1.0, 300.0);
    // Buffer sizes for which no queue is exactly on a threshold.
    let limit = draw(10.0, 200.0) as u32 * 6 + 1;
    let form = if full { "full" } else { "simple" };
    let on = if ecn { "on" } else { "off" };
    let spec = format!("sred m {m} p {p} p_max {pmax} alpha {alpha} form {form} ecn {on}");
    let mut bench = Bench::new(&spec, context().with_limit(Limit::Packets(limit)));
    let b = f64::from(limit);
    let mut oracle = Oracle { m, p, pmax, alpha, full, b, list: vec![], pt: 0.0 };
    let mut tally = [0; 4];
    let mut q = 0u32;
    for step in 0..steps {
        let place = format!("seed {seed} step {step}: {spec}");
        let x = draw(0.0, 1.0);
        let flow = (x * x * flows) as u32;
        let packet = (if draw(0.0, 1.0) < 0.5 { ect(1000) } else { packet(1000) }).with_flow(FlowId(flow));
        let (u1, u2, u3) = (draw(0.0, 1.0), draw(0.0, 1.0), draw(0.0, 1.0));
        let (mut numbers, met, pzap) = oracle.arrival(flow, f64::from(q), u1, u2);
        let queue = bench.queue(q);
        if q == limit {
            let mut numbers = Scripted::new(&numbers);
            bench.aqm.on_offered(at(0.0), &packet, &queue);
            bench.aqm.on_drop(at(0.0), &packet, Cause::Overflow, &queue);
            bench.aqm.on_refused(at(0.0), &packet, &queue, &mut numbers);
            numbers.assert_used(&place);
            tally[3] += 1;
        } else {
            numbers.push(u3);
            let verdict = bench.arrive(at(0.0), &packet, &queue, &numbers);
            let expected = match (u3 < pzap, ecn && packet.ecn == Ecn::Ect0) {
                (false, _) => Verdict::Pass,
                (true, true) => Verdict::Mark(Cause::Early),
                (true, false) => Verdict::Drop(Cause::Early),
            };
            assert_eq!(verdict, expected, "{place}");
            let probe = bench.probe("p");
            assert!((probe - pzap).abs() <= 1e-9 * pzap, "{place}: {probe} instead of {pzap}");
            tally[match expected {
                Verdict::Pass => 0,
                Verdict::Mark(_) => 1,
                _ => 2,
            }] += 1;
        }
        assert_eq!(bench.probe("zombie_hits"), f64::from(oracle.list[met].1), "{place}");
        assert_eq!(bench.probe("zombies"), oracle.list.len() as f64, "{place}");
        let change = if draw(0.0, 1.0) < 0.02 { draw(-1.0, 1.0) * b } else { draw(-3.0, 3.0) };
        q = (f64::from(q) + change.round()).clamp(0.0, b) as u32;
    }
    tally
}

#[test]
fn the_formulas_of_ott_lakshman_and_wong() {
    let mut total = [0; 4];
    for seed in 0..200 {
        let tally = compare(seed, 5000);
        (0..4).for_each(|i| total[i] += tally[i]);
    }
    assert_eq!(total.iter().sum::<u32>(), 1_000_000);
    assert!(total.iter().all(|n| *n > 5000), "every outcome is common: {total:?}");
}
