//! FRED compared with a second FRED, transcribed line by line from the paper's blocks without code of the
//! crate: the same decisions, random numbers and records over a million random steps.

use crate::support::{Bench, Scripted, context, ect, packet};
use sojourn_aqm::{Cause, Ecn, FlowId, Limit, PacketView, Random, Stream, Time, Verdict};
use std::collections::{BTreeMap, VecDeque};

/// The variables under the paper's names.
struct Oracle {
    w: f64,
    minth: f64,
    maxth: f64,
    maxp: f64,
    minq: f64,
    a: bool,
    bc: bool,
    avg: f64,
    avgcq: f64,
    count: i64,
    q: f64,
    nactive: u32,
    q_time: Option<u64>,
    flows: BTreeMap<u32, (u32, u32)>,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Accept,
    FlowLimit,
    Early,
    Forced,
}

impl Oracle {
    fn calculate(&mut self) {
        self.avg = (1.0 - self.w) * self.avg + self.w * self.q;
        self.share();
    }

    fn share(&mut self) {
        self.avgcq = if self.nactive > 0 { self.avg / f64::from(self.nactive) } else { self.avg };
        if self.avgcq < 1.0 {
            self.avgcq = 1.0;
        }
    }

    /// One arrival; returns its outcome, and whether `u` was used.
    fn arrival(&mut self, i: u32, now: u64, u: f64, can_mark: bool) -> (Outcome, bool) {
        let idle = self.q_time;
        let busy_avg = self.avg;
        if let Some(since) = idle {
            for _ in 0..(now - since) / 1_000_000 {
                self.avg *= 1.0 - self.w;
            }
            self.share();
        }
        let (qlen, strike) = self.flows.get(&i).copied().unwrap_or((0, 0));
        let mut maxq = self.minth;
        if self.a && self.avg >= self.maxth {
            maxq = 2.0;
        }
        let mut outcome = Outcome::Accept;
        let mut drawn = false;
        if f64::from(qlen) >= maxq
            || (self.bc && self.avg >= self.maxth && f64::from(qlen) > 2.0 * self.avgcq)
            || (f64::from(qlen) >= self.avgcq && strike > 1)
        {
            self.flows.get_mut(&i).expect("it has packets").1 += 1;
            return (Outcome::FlowLimit, false);
        }
        if self.minth <= self.avg && self.avg < self.maxth {
            self.count += 1;
            if f64::from(qlen) >= self.minq && f64::from(qlen) >= self.avgcq {
                let pb = self.maxp * (self.avg - self.minth) / (self.maxth - self.minth);
                let room = 1.0 - self.count as f64 * pb;
                drawn = true;
                if room <= 0.0 || u < pb / room {
                    self.count = 0;
                    outcome = Outcome::Early;
                }
            }
        } else if self.avg < self.minth {
            self.count = -1;
        } else if self.bc {
            self.count = 0;
            outcome = Outcome::Forced;
        }
        if outcome == Outcome::Accept || outcome == Outcome::Early && can_mark {
            if qlen == 0 {
                self.nactive += 1;
            }
            self.flows.insert(i, (qlen + 1, strike));
            self.q += 1.0;
            self.q_time = None;
            self.calculate();
        } else if idle.is_some() {
            self.avg = busy_avg; // the idle time continues
        }
        (outcome, drawn)
    }

    fn leave(&mut self, i: u32) {
        self.q -= 1.0;
        let flow = self.flows.get_mut(&i).expect("it has packets");
        flow.0 -= 1;
        if flow.0 == 0 {
            self.nactive -= 1;
            self.flows.remove(&i);
        }
    }

    fn departure(&mut self, i: u32) {
        self.leave(i);
        self.calculate();
    }
}

fn compare(seed: u64, steps: u32) -> [u32; 5] {
    const LIMIT: usize = 60;
    let mut rng = Stream::new(seed, "oracle");
    let mut draw = |low: f64, high: f64| low + rng.uniform() * (high - low);
    let w = [1.0, 0.5, 0.1, 0.02, 0.002][draw(0.0, 5.0) as usize];
    let minth = draw(2.0, 15.0).round();
    let maxth = minth + draw(1.0, 20.0).round();
    let (maxp, minq) = (draw(0.02, 1.0), draw(0.0, 5.0).round());
    let (a, j_sim, ecn) = (draw(0.0, 1.0) < 0.5, draw(0.0, 1.0) < 0.3, draw(0.0, 1.0) < 0.5);
    let words = match (a, j_sim) {
        (false, _) => "",
        (true, false) => "many_flow",
        (true, true) => "many_flow blocks_bc",
    };
    let on = if ecn { "on" } else { "off" };
    let spec =
        format!("fred min_th {minth} max_th {maxth} max_p {maxp} w_q {w} min_q {minq} {words} ecn {on}");
    // 8 Mbit/s: a mean packet of 1000 bytes takes 1 ms.
    let link = context().with_link_rate(8_000_000).with_limit(Limit::Packets(LIMIT as u32));
    let mut bench = Bench::new(&spec, link);
    let mut oracle = Oracle {
        w,
        minth,
        maxth,
        maxp,
        minq,
        a,
        bc: !a || j_sim,
        avg: 0.0,
        avgcq: 1.0,
        count: -1,
        q: 0.0,
        nactive: 0,
        q_time: Some(0),
        flows: BTreeMap::new(),
    };
    let mut queue: VecDeque<PacketView> = VecDeque::new();
    let mut tally = [0; 5];
    let mut now = 0u64;
    let mut load = 0.5;
    for step in 0..steps {
        let place = format!("seed {seed} step {step}: {spec}");
        now += draw(0.0, 1e6) as u64;
        if step % 200 == 0 {
            load = draw(0.2, 0.9);
        }
        let flow;
        if draw(0.0, 1.0) < load {
            // A few flows send most packets; some flow numbers are far apart.
            let x = draw(0.0, 1.0);
            flow = FlowId((x * x * 12.0) as u32 * [1, 1_000_003][usize::from(step % 2 == 0)]);
            let packet = (if draw(0.0, 1.0) < 0.5 { ect(1000) } else { packet(1000) }).with_flow(flow);
            let full = bench.queue(queue.len() as u32);
            if queue.len() == LIMIT {
                bench.aqm.on_offered(Time(now), &packet, &full);
                if draw(0.0, 1.0) < 0.5 {
                    bench.aqm.on_drop(Time(now), &packet, Cause::Overflow, &full);
                    tally[4] += 1;
                    continue;
                }
                let victim = queue.remove(draw(0.0, LIMIT as f64) as usize).expect("the queue is full");
                let left = bench.queue(queue.len() as u32);
                bench.aqm.on_drop(Time(now), &victim, Cause::Overflow, &left);
                oracle.leave(victim.flow.0);
            }
            let can_mark = ecn && packet.ecn == Ecn::Ect0;
            let u = draw(0.0, 1.0);
            let (outcome, drawn) = oracle.arrival(flow.0, now, u, can_mark);
            let numbers = if drawn { &[u][..] } else { &[] };
            let left = bench.queue(queue.len() as u32);
            let verdict = bench.arrive(Time(now), &packet, &left, numbers);
            let expected = match outcome {
                Outcome::Accept => Verdict::Pass,
                Outcome::FlowLimit => Verdict::Drop(Cause::FlowLimit),
                Outcome::Early if can_mark => Verdict::Mark(Cause::Early),
                Outcome::Early => Verdict::Drop(Cause::Early),
                Outcome::Forced => Verdict::Drop(Cause::Forced),
            };
            assert_eq!(verdict, expected, "{place}");
            tally[match outcome {
                Outcome::Accept => 0,
                Outcome::FlowLimit => 1,
                Outcome::Early => 2,
                Outcome::Forced => 3,
            }] += 1;
            if !matches!(verdict, Verdict::Drop(_)) {
                queue.push_back(packet);
            } else if oracle.q_time.is_some() && draw(0.0, 1.0) < 0.5 {
                bench.aqm.on_idle(Time(now)); // a queue may report again that the link is idle
            }
        } else if let Some(packet) = queue.pop_front() {
            flow = packet.flow;
            let left = bench.queue(queue.len() as u32);
            bench.aqm.on_departure(Time(now), &packet, &left, &mut Scripted::new(&[]));
            oracle.departure(flow.0);
        } else {
            if oracle.q_time.is_none() {
                oracle.q_time = Some(now);
                bench.aqm.on_idle(Time(now));
            }
            now += draw(0.0, 50e6) as u64;
            continue;
        }
        let avg = bench.probe("avg");
        assert!((avg - oracle.avg).abs() <= 1e-9 * avg.max(1.0), "{place}: {avg} instead of {}", oracle.avg);
        let (qlen, strike) = oracle.flows.get(&flow.0).copied().unwrap_or((0, 0));
        assert_eq!(bench.probe("count"), oracle.count as f64, "{place}");
        assert_eq!(bench.probe("n_active"), f64::from(oracle.nactive), "{place}");
        assert_eq!(bench.probe("qlen_i"), f64::from(qlen), "{place}");
        assert_eq!(bench.probe("strike_i"), f64::from(strike), "{place}");
        let avgcq = bench.probe("avgcq");
        assert!((avgcq - oracle.avgcq).abs() <= 1e-9 * avgcq, "{place}: {avgcq}, not {}", oracle.avgcq);
    }
    tally
}

#[test]
fn the_blocks_of_lin_and_morris() {
    let mut total = [0; 5];
    for seed in 0..500 {
        let tally = compare(seed, 2000);
        (0..5).for_each(|i| total[i] += tally[i]);
    }
    assert!(total[..4].iter().all(|n| *n > 10_000), "every outcome is common: {total:?}");
    assert!(total[4] > 100, "some overflow: {total:?}");
}
