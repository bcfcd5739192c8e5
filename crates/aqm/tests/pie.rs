//! PIE: its vectors, its options, and a comparison with a transcription of the RFC's listing over a million
//! random steps.

use crate::support::{Bench, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Class, Contents, Context, Ecn, FlowId, PacketView, Random, Stream, Time, Verdict};

/// A link of 8 kbit/s: 1000 bytes take a second.
fn slow() -> Context {
    context().with_link_rate(8000)
}

/// The controller alone: no burst allowance, and the delay computed from the backlog.
fn controller(options: &str) -> Bench {
    Bench::new(&format!("pie max_burst 0s delay backlog {options}"), slow())
}

/// One update with a delay of `seconds`.
fn update(bench: &mut Bench, seconds: f64) {
    let queue = bench.queue_bytes((seconds * 1000.0).round() as u64);
    bench.tick(&queue);
}

fn arrive(bench: &mut Bench, bytes: u64, packet: PacketView, numbers: &[f64]) -> Verdict {
    let queue = bench.queue_bytes(bytes);
    bench.arrive(at(0.0), &packet, &queue, numbers)
}

const DROP: Verdict = Verdict::Drop(Cause::Early);
const MARK: Verdict = Verdict::Mark(Cause::Early);

#[test]
fn pie_v1_probability() {
    let mut bench = controller("");
    let mut p = 0.0;
    for row in table("pie_v1").rows() {
        update(&mut bench, row.number("delay (s)"));
        row.check("p", bench.probe("p"));
        if bench.probe("p") > 0.0 {
            assert!((bench.probe("p") - p - row.number("step")).abs() < 1e-9);
        }
        p = bench.probe("p");
    }
}

#[test]
fn pie_v2_exemptions() {
    let gains = "target 100ms alpha 0 beta 2048";
    // Exempt if the old delay is below half the target and p is below 0.2; otherwise a number is drawn.
    let mut bench = controller(gains);
    update(&mut bench, 0.049);
    assert_eq!(arrive(&mut bench, 5000, packet(1000), &[]), Verdict::Pass);
    near(bench.probe("p"), 0.049, "p");
    let mut bench = controller(gains);
    update(&mut bench, 0.05);
    assert_eq!(arrive(&mut bench, 5000, packet(1000), &[0.051]), Verdict::Pass);
    assert_eq!(arrive(&mut bench, 5000, packet(1000), &[0.049]), DROP);
    let p = bench.probe("p");
    assert_eq!(arrive(&mut bench, 5000, packet(1000), &[p]), Verdict::Pass);
    let mut bench = controller("target 100ms alpha 0 beta 10240");
    update(&mut bench, 0.049);
    near(bench.probe("p"), 0.245, "p");
    assert_eq!(arrive(&mut bench, 5000, packet(1000), &[0.24]), DROP);
    // Two mean packets are exempt, even at p = 1; one more byte is not.
    let mut bench = controller("target 0s alpha 1e9");
    update(&mut bench, 100.0);
    assert_eq!(bench.probe("p"), 1.0);
    assert_eq!(arrive(&mut bench, 2000, packet(1000), &[]), Verdict::Pass);
    assert_eq!(arrive(&mut bench, 2001, packet(1000), &[0.9999]), DROP);
    // Ten updates of 15 ms use the allowance up.
    let mut bench = Bench::new("pie delay backlog", slow());
    for k in 0..10 {
        assert!((bench.probe("burst") - (0.15 - 0.015 * f64::from(k))).abs() < 1e-9, "{k}");
        update(&mut bench, 10.0);
        let numbers: &[f64] = if bench.probe("burst") > 0.0 { &[] } else { &[0.9999] };
        arrive(&mut bench, 10_000, packet(1000), numbers);
    }
    assert!(bench.probe("burst") < 1e-9);
}

#[test]
fn pie_resets_the_burst_allowance_for_a_short_queue() {
    for (first, second, burst) in [(0.007, 0.007, 0.15), (0.008, 0.007, 0.12), (0.007, 0.008, 0.12)] {
        let mut bench = Bench::new("pie delay backlog alpha 0 beta 0", slow());
        update(&mut bench, first);
        update(&mut bench, second);
        arrive(&mut bench, 10, packet(1000), &[]);
        // The RFC's test is at the arrival, where the old delay is that of the last update.
        let burst = if second < 0.0075 { 0.15 } else { burst };
        assert!((bench.probe("burst") - burst).abs() < 1e-9, "{first} {second}: {}", bench.probe("burst"));
    }
    let mut bench = Bench::new("pie delay backlog", slow());
    update(&mut bench, 1.0);
    update(&mut bench, 0.007);
    assert!(bench.probe("p") == 0.0);
    update(&mut bench, 1.0);
    assert!(bench.probe("p") > 0.0);
    arrive(&mut bench, 10, packet(1000), &[]);
    assert!((bench.probe("burst") - 0.105).abs() < 1e-9);
}

#[test]
fn pie_v3_derandomized() {
    let mut bench = controller("target 0s alpha 1 beta 0 derandomize ecn");
    update(&mut bench, 0.3 * 2048.0);
    near(bench.probe("p"), 0.3, "p");
    for (numbers, verdict, accu) in [
        (&[][..], Verdict::Pass, 0.3),
        (&[], Verdict::Pass, 0.6),
        (&[0.31], Verdict::Pass, 0.9),
        (&[0.29], DROP, 0.0),
        (&[], Verdict::Pass, 0.3),
    ] {
        assert_eq!(arrive(&mut bench, 5000, packet(1000), numbers), verdict);
        assert!((bench.probe("accu") - accu).abs() < 1e-9);
    }
    for _ in 0..27 {
        let numbers: &[f64] = if bench.probe("accu") + 0.3 >= 0.85 { &[0.99] } else { &[] };
        assert_eq!(arrive(&mut bench, 5000, packet(1000), numbers), Verdict::Pass);
    }
    near(bench.probe("accu"), 8.4, "just below");
    assert_eq!(arrive(&mut bench, 5000, packet(1000), &[]), DROP);
    arrive(&mut bench, 5000, packet(1000), &[]);
    bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &bench.queue(0));
    assert_eq!(bench.probe("accu"), 0.0);
}

/// 142 packets at p = 0.06 without a hit: the sum is 8.52. In Linux a mark does not restart it, a drop does.
#[test]
fn pie_v3b_a_certain_mark_restarts_the_sum_unless_as_in_linux() {
    for (restarts, after) in [("on", 0.0), ("off", 8.52)] {
        let spec = format!("target 0s alpha 1 beta 0 derandomize ecn mark_restarts {restarts}");
        let mut bench = controller(&spec);
        update(&mut bench, 0.06 * 2048.0);
        near(bench.probe("p"), 0.06, "p");
        let (capable, mark) = (packet(1000).with_ecn(Ecn::Ect0), Verdict::Mark(Cause::Early));
        for i in 1..142 {
            let numbers: &[f64] = if i >= 15 { &[0.99] } else { &[] };
            assert_eq!(arrive(&mut bench, 5000, capable, numbers), Verdict::Pass, "packet {i}");
        }
        assert_eq!(arrive(&mut bench, 5000, capable, &[]), mark);
        near(bench.probe("accu"), after, "after the mark");
        if restarts == "on" {
            assert_eq!(arrive(&mut bench, 5000, capable, &[]), Verdict::Pass);
            continue;
        }
        assert_eq!(arrive(&mut bench, 5000, capable, &[]), mark, "and every further one");
        assert_eq!(arrive(&mut bench, 5000, capable, &[]), mark);
        assert_eq!(arrive(&mut bench, 5000, packet(1000), &[]), DROP);
        assert_eq!(bench.probe("accu"), 0.0);
    }
}

#[test]
fn pie_v4_bounds() {
    for (first, second, p) in [(0.995 * 2048.0, 0.5, 1.0), (204.8, 0.3, 0.12), (184.32, 0.3, 0.24)] {
        let mut bench = controller("target 0s alpha 1 beta 0");
        update(&mut bench, first);
        near(bench.probe("p"), first / 2048.0, "start");
        update(&mut bench, second);
        near(bench.probe("p"), p, "end");
    }
    let mut bench = controller("target 0s alpha 1 beta 0 step_cap off");
    update(&mut bench, 204.8);
    update(&mut bench, 0.3);
    near(bench.probe("p"), 0.4, "no cap");
    let fast = context().with_link_rate(80_000_000);
    let mut bench = Bench::new("pie max_burst 0s delay backlog target 1s alpha 2048 beta 0", fast);
    bench.tick(&bench.queue_bytes(10_000_001));
    assert!((bench.probe("p") - 1e-7).abs() < 1e-14);
    bench.tick(&bench.queue_bytes(0));
    assert_eq!(bench.probe("p"), 0.0);
}

#[test]
fn pie_every_divisor() {
    for (p, divisor) in [
        (9.9e-7, 2048.0),
        (1.01e-6, 512.0),
        (9.9e-6, 512.0),
        (1.01e-5, 128.0),
        (9.9e-5, 128.0),
        (1.01e-4, 32.0),
        (9.9e-4, 32.0),
        (1.01e-3, 8.0),
        (9.9e-3, 8.0),
        (1.01e-2, 2.0),
        (9.9e-2, 2.0),
        (0.101, 1.0),
    ] {
        // From 0 to p in one step, then an unscaled step of 0.001; each byte is a microsecond of delay.
        let fast = context().with_link_rate(8_000_000);
        let mut bench = Bench::new("pie max_burst 0s delay backlog target 0s alpha 1 beta 0", fast);
        bench.tick(&bench.queue_bytes((p * 2048e6_f64).round() as u64));
        let start = bench.probe("p");
        bench.tick(&bench.queue_bytes(1000));
        assert!((bench.probe("p") - start - 0.001 / divisor).abs() < 1e-12, "{p}");
    }
}

#[test]
fn pie_marks_only_below_mark_ecnth() {
    for (p, verdict) in [(0.099, MARK), (0.1001, DROP)] {
        let mut bench = controller("target 0s alpha 1 beta 0 ecn");
        update(&mut bench, p * 2048.0);
        assert_eq!(arrive(&mut bench, 5000, ect(1000), &[0.0]), verdict, "{p}");
        assert_eq!(arrive(&mut bench, 5000, packet(1000), &[0.0]), DROP);
    }
    let mut bench = controller("target 0s alpha 1 beta 0 ecn mark_ecnth 1");
    update(&mut bench, 0.9 * 2048.0);
    assert_eq!(arrive(&mut bench, 5000, ect(1000), &[0.0]), MARK);
}

#[test]
fn pie_decay_and_jump() {
    for (option, delay, factor) in [
        ("", 0.001, 1.0),
        ("", 0.049, 1.0),
        ("decay half_target", 0.001, 0.98),
        ("decay half_target", 0.049, 0.98),
        ("decay half_target", 0.05, 1.0),
    ] {
        // beta alone: p increases at the first update and then changes by decay only.
        let mut bench = controller(&format!("target 100ms alpha 0 beta 1 {option}"));
        update(&mut bench, delay);
        let p = bench.probe("p");
        near(p, delay / 2048.0 * factor, option);
        update(&mut bench, delay);
        near(bench.probe("p"), p * factor, option);
    }
    // While the queue is empty only the decay changes p.
    let mut bench = controller("target 0s alpha 1 beta 0");
    update(&mut bench, 100.0);
    update(&mut bench, 0.0);
    near(bench.probe("p"), 100.0 / 2048.0, "one empty update");
    update(&mut bench, 0.0);
    near(bench.probe("p"), 0.98 * 100.0 / 2048.0, "two");
    let mut bench = controller("alpha 0 beta 0 jump");
    update(&mut bench, 0.25);
    assert_eq!(bench.probe("p"), 0.0);
    update(&mut bench, 0.251);
    near(bench.probe("p"), 0.02, "jump");
}

/// A queue whose head has waited since `.0`.
struct Head(Time);

impl Contents for Head {
    fn at(&self, position: u32) -> Option<PacketView> {
        (position == 0).then_some(packet(1000).with_arrived(self.0))
    }
    fn of_flow(&self, _: FlowId) -> u32 {
        0
    }
    fn of_class(&self, _: Class) -> u32 {
        0
    }
}

#[test]
fn pie_four_delay_estimates() {
    let leave = |bench: &mut Bench, now: f64, since: f64, left: u64| {
        let packet = packet(1000).with_arrived(at(since));
        let queue = bench.queue_bytes(left);
        bench.aqm.on_departure(at(now), &packet, &queue, &mut Scripted::new(&[]));
    };
    let mut bench = Bench::new("pie", context());
    leave(&mut bench, 0.010, 0.002, 5000);
    bench.tick(&bench.queue(5));
    near(bench.probe("delay"), 0.008, "last");
    leave(&mut bench, 0.020, 0.002, 0);
    bench.tick(&bench.queue(0));
    assert_eq!(bench.probe("delay"), 0.0, "the queue is empty");

    let mut bench = Bench::new("pie delay head", context());
    let head = Head(at(0.004));
    bench.tick(&bench.queue(5).with_contents(&head));
    near(bench.probe("delay"), 0.011, "head");
    bench.tick(&bench.queue(0));
    assert_eq!(bench.probe("delay"), 0.0);

    let mut bench = Bench::new("pie delay rate dq_threshold 4kB", context());
    bench.tick(&bench.queue_bytes(50_000));
    assert_eq!(bench.probe("delay"), 0.0, "not measured yet");
    leave(&mut bench, 1.0, 0.0, 3999); // too few bytes to start a measurement
    for k in 0..4 {
        leave(&mut bench, 2.0 + 0.01 * f64::from(k), 0.0, 4000);
    }
    near(bench.probe("dq_time"), 0.03, "four packets, three gaps");
    for k in 0..4 {
        leave(&mut bench, 2.05 + 0.02 * f64::from(k), 0.0, if k < 3 { 4000 } else { 3999 });
    }
    // From the end of the last measurement (2.03) to 2.11, with weight 4000/65536.
    let weight = 4000.0 / 65536.0;
    near(bench.probe("dq_time"), (1.0 - weight) * 0.03 + weight * 0.08, "average");
    for _ in 0..5 {
        leave(&mut bench, 3.0, 0.0, 3999);
    }
    near(bench.probe("dq_time"), (1.0 - weight) * 0.03 + weight * 0.08, "no measurement runs");
    bench.tick(&bench.queue_bytes(8000));
    near(bench.probe("delay"), 2.0 * bench.probe("dq_time"), "backlog over rate");
}

/// RFC 8033, appendix A, and the parts of appendix B that options turn on.
#[derive(Default)]
#[allow(non_snake_case)]
struct Rfc {
    QDELAY_REF: f64,
    MAX_BURST: f64,
    alpha: f64,
    beta: f64,
    cap: bool,
    half: bool,
    derandomize: bool,
    drop_prob_: f64,
    qdelay_old_: f64,
    current_qdelay: f64,
    burst_allowance_: f64,
    accu_prob_: f64,
}

impl Rfc {
    /// Whether the packet is dropped, and whether a number was drawn.
    fn enque(&mut self, byte_length: u64, u: f64) -> (bool, bool) {
        if self.drop_prob_ == 0.0
            && self.current_qdelay < self.QDELAY_REF / 2.0
            && self.qdelay_old_ < self.QDELAY_REF / 2.0
        {
            self.burst_allowance_ = self.MAX_BURST;
        }
        if self.burst_allowance_ > 0.0 {
            return (false, false);
        }
        if (self.qdelay_old_ < self.QDELAY_REF / 2.0 && self.drop_prob_ < 0.2) || byte_length <= 2 * 1000 {
            return (false, false);
        }
        if self.derandomize {
            if self.drop_prob_ == 0.0 {
                self.accu_prob_ = 0.0;
            }
            self.accu_prob_ += self.drop_prob_;
            if self.accu_prob_ < 0.85 {
                return (false, false);
            }
            if self.accu_prob_ >= 8.5 {
                self.accu_prob_ = 0.0;
                return (true, false);
            }
        }
        if u < self.drop_prob_ {
            self.accu_prob_ = 0.0;
            (true, true)
        } else {
            (false, true)
        }
    }

    fn calculate_drop_prob(&mut self) {
        let mut p = self.alpha * (self.current_qdelay - self.QDELAY_REF)
            + self.beta * (self.current_qdelay - self.qdelay_old_);
        if self.drop_prob_ < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob_ < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob_ < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob_ < 0.001 {
            p /= 32.0;
        } else if self.drop_prob_ < 0.01 {
            p /= 8.0;
        } else if self.drop_prob_ < 0.1 {
            p /= 2.0;
        }
        if self.cap && self.drop_prob_ >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob_ += p;
        if self.half {
            if self.current_qdelay < self.QDELAY_REF / 2.0 && self.qdelay_old_ < self.QDELAY_REF / 2.0 {
                self.drop_prob_ *= 0.98;
            }
        } else if self.current_qdelay == 0.0 && self.qdelay_old_ == 0.0 {
            self.drop_prob_ *= 0.98;
        }
        self.drop_prob_ = self.drop_prob_.clamp(0.0, 1.0);
        self.qdelay_old_ = self.current_qdelay;
        self.burst_allowance_ = f64::max(0.0, self.burst_allowance_ - 15_000_000.0 * 1e-9);
    }
}

#[test]
fn pie_equals_the_pseudocode_of_the_rfc() {
    let mut tally = [0u64; 7];
    let mut steps = 0;
    for seed in 0..200 {
        let mut rng = Stream::new(seed, "pie");
        let mut draw = |low: f64, high: f64| low + rng.uniform() * (high - low);
        let word = |on| if on { "on" } else { "off" };
        let (cap, half, derandomize) = (draw(0.0, 1.0) < 0.5, draw(0.0, 1.0) < 0.5, draw(0.0, 1.0) < 0.5);
        let ecn = draw(0.0, 1.0) < 0.5;
        let (target, burst) = (draw(5.0, 30.0) as u64, draw(0.0, 100.0) as u64);
        let (alpha, beta) = (draw(0.05, 2.0), draw(0.5, 10.0));
        let spec = format!(
            "pie target {target}ms max_burst {burst}ms alpha {alpha} beta {beta} step_cap {} decay {} derandomize {} ecn {}",
            word(cap),
            if half { "half_target" } else { "empty" },
            word(derandomize),
            word(ecn),
        );
        let mut bench = Bench::new(&spec, context());
        let mut rfc = Rfc {
            QDELAY_REF: (target * 1_000_000) as f64 * 1e-9,
            MAX_BURST: (burst * 1_000_000) as f64 * 1e-9,
            alpha,
            beta,
            cap,
            half,
            derandomize,
            ..Rfc::default()
        };
        rfc.burst_allowance_ = rfc.MAX_BURST;
        let mut delay_ms = 0.0f64;
        for step in 0..5000 {
            let place = format!("seed {seed} step {step}: {spec}");
            // The delay varies at random, with pauses and bursts; the backlog follows it.
            let wander = if draw(0.0, 1.0) < 0.005 { draw(-100.0, 100.0) } else { draw(-2.0, 2.0) };
            delay_ms = (delay_ms + wander).clamp(0.0, 4.0 * target as f64);
            if step % 1000 > 900 {
                delay_ms = 0.0;
            }
            let bytes = (delay_ms * 1250.0) as u64; // 10 Mbit/s
            match draw(0.0, 1.0) {
                x if x < 0.6 => {
                    // In every fourth run few numbers are below p, so that the sum of p grows.
                    let u = if seed % 4 == 0 { draw(0.9, 1.0) } else { draw(0.0, 1.0) * draw(0.0, 1.0) };
                    let (dropped, drawn) = rfc.enque(bytes, u);
                    let packet = if draw(0.0, 1.0) < 0.5 { ect(1000) } else { packet(1000) };
                    let markable = ecn && packet.ecn != sojourn_aqm::Ecn::NotEct && rfc.drop_prob_ < 0.1;
                    let numbers: &[f64] = if drawn { &[u] } else { &[] };
                    let queue = bench.queue_bytes(bytes);
                    let verdict = bench.arrive(at(0.0), &packet, &queue, numbers);
                    let expected = match (dropped, markable) {
                        (false, _) => Verdict::Pass,
                        (true, true) => MARK,
                        (true, false) => DROP,
                    };
                    assert_eq!(verdict, expected, "{place}");
                    tally[0] += u64::from(dropped && drawn);
                    tally[1] += u64::from(dropped && !drawn);
                    tally[2] += u64::from(verdict == MARK);
                    tally[3] += u64::from(!drawn);
                }
                x if x < 0.8 => {
                    let now = Time(1_000_000_000 + step);
                    let arrived = Time(now.0 - (delay_ms * 1e6) as u64);
                    let queue = bench.queue_bytes(bytes);
                    let packet = packet(1000).with_arrived(arrived);
                    bench.aqm.on_departure(now, &packet, &queue, &mut Scripted::new(&[]));
                    let sojourn = (now.0 - arrived.0) as f64 * 1e-9;
                    rfc.current_qdelay = if queue.packets == 0 { 0.0 } else { sojourn };
                }
                x if x < 0.99 => {
                    bench.tick(&bench.queue_bytes(bytes));
                    rfc.calculate_drop_prob();
                    tally[4] += u64::from(rfc.burst_allowance_ > 0.0);
                    tally[5] += u64::from(rfc.drop_prob_ >= 0.1);
                    tally[6] += u64::from(rfc.drop_prob_ > 0.0 && rfc.drop_prob_ < 1e-3);
                }
                _ => {
                    bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &bench.queue(100));
                    rfc.accu_prob_ = 0.0;
                }
            }
            steps += 1;
            assert_eq!(bench.probe("p"), rfc.drop_prob_, "{place}");
            assert_eq!(bench.probe("burst"), rfc.burst_allowance_, "{place}");
            assert_eq!(bench.probe("accu"), rfc.accu_prob_, "{place}");
        }
    }
    assert_eq!(steps, 1_000_000);
    assert!(tally.iter().all(|n| *n > 500), "every case is common: {tally:?}");
}

/// Wherever the timer may be omitted at an empty queue, PIE continues as if it had not been.
/// (Mutants: a burst allowance that is left is ignored; the omitted ticks are not skipped.)
#[test]
fn a_timer_that_is_omitted_at_an_empty_queue_changes_nothing() {
    for options in
        ["", "delay rate", "delay backlog max_burst 0s", "delay head derandomize on", "t_update 7ms"]
    {
        let mut draws = Stream::new(1, options);
        let mut bench = Bench::new(&format!("pie {options}"), slow());
        let mut rests = 0;
        for step in 0..20_000 {
            // Phases with a queue, and long ones without.
            let bytes = if step / 50 % 3 == 0 { 1000 + (draws.uniform() * 4000.0) as u64 } else { 0 };
            let queue = bench.queue_bytes(bytes);
            if bytes == 0 && bench.aqm.rests() {
                let mut omitted = bench.aqm.clone();
                let mut ticks = 0;
                while ticks < 1 + step % 5 {
                    bench.tick(&queue);
                    ticks += 1;
                }
                omitted.resume(bench.aqm.next_timer().unwrap());
                assert_eq!(omitted.next_timer(), bench.aqm.next_timer());
                let probes = |aqm: &dyn sojourn_aqm::Aqm| {
                    let mut all = Vec::new();
                    aqm.probe(&mut |name, value| all.push((name, value)));
                    all
                };
                assert_eq!(probes(&*omitted), probes(&*bench.aqm), "{options}");
                bench.aqm = omitted;
                rests += 1;
            } else {
                bench.tick(&queue);
            }
            let now = bench.aqm.next_timer().unwrap();
            if bytes > 0 {
                bench.aqm.on_fit(now, &packet(1000), &queue, &mut draws);
                bench.aqm.on_departure(now, &packet(1000), &queue, &mut draws);
            } else if step % 50 == 0 {
                bench.aqm.on_departure(now, &packet(1000), &queue, &mut draws); // the last packet leaves
            }
        }
        assert!(rests > 100, "{options}: {rests}");
    }
}
