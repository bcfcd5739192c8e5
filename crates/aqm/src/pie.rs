//! **PIE (Proportional Integral controller Enhanced, RFC 8033)** is a PI controller on the queueing *delay*,
//! with smaller steps at small probabilities and an allowance for bursts, so that one set of parameters suits
//! most links.
//!
//! The gains of PI have to be chosen for a link and its load. PIE divides its gains by 2048 for the smallest
//! p, and by less for larger p up to 10 %, because a step that is right at p = 1 % is too large at 0.01 %.
//!
//! # When it decides
//! Every `t_update`, with d the current delay: s = alpha (d - target) + beta (d - d_old), divided by 2048,
//! 512, 128, 32, 8, 2 or 1 for p below 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1 or above; from p = 0.1 on s is at
//! most 0.02 (`step_cap`); p <- p + s; if both delays are 0, p <- 0.98 p. Each arrival is signalled with
//! probability p, cause `early`, except while the burst allowance is above 0, while d_old < target / 2 and p
//! < 0.2, or while at most two mean packets are queued. The allowance starts at `max_burst`, decreases by
//! `t_update` per update, and is reset when p is 0 and both delays are below half the target. ECN-capable
//! packets are marked only while p < `mark_ecnth`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | delay d | of the last departure, 0 if it left the queue empty | RFC 8033, 5.2: also by the departure rate (`delay rate`); other options: delay of the head, backlog / link rate (`delay head`, `delay backlog`) | it needs no estimate; Linux's default |
//! | decay of p | both delays 0 | RFC 8033, appendix B: both below half the target (`decay half_target`); Linux: 1/64 | RFC 8033, section 4.2 and appendix A |
//! | randomness | one random number per packet | RFC 8033, 5.4, Linux: no signal before the sum of p is 0.85, a certain one at 8.5 (`derandomize`) | RFC 8033, appendix A |
//! | certain marks | restart the sum of p (`derandomize`) | Linux: only drops do, so from a sum of 8.5 on every packet is marked, until p is 0 or above `mark_ecnth` (`mark_restarts off`) | RFC 8033, 5.4 |
//! | delays above 250 ms | no exception | Linux: p increases by 0.02 more per update (`jump`) | not in RFC 8033 |
//! | burst allowance | decreases by t_update at each update | Linux with timestamps: by the time between departures; ns-3: three states, renewed after 1.5 s | RFC 8033 |
//! | turning off | never | RFC 8033, 5.3: optionally off until a third of the buffer is full | below half the target there are no signals while p < 0.2 |
//! | mark_ecnth | p < 0.1 | Linux: p <= 0.1 | RFC 8033, 5.1 |
//! | packet size | no effect | Linux: optionally p scaled by size / MTU (`bytemode`) | RFC 8033 |
//! | short queue | at most two mean packets | Linux: less than two packets of the MTU | RFC 8033, 4.1 |
//! | units of alpha, beta | 0.125 and 1.25 per second | Linux: 2 and 20 sixteenths | the same values |
//! | DQ_THRESHOLD | 16 KiB | also read as 16,000 bytes | the listing: 2^14 bytes; the estimate's weight is 2^14 / 2^16 |
//!
//! # References
//! R. Pan et al.: PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem, HPSR 2013. RFC 8033.
//! Linux `sch_pie.c`.

use crate::{
    Algorithm, Aqm, Cause, Context, PacketView, Param, Probe, QueueView, Random, Range, Span, SpecError,
    Ticks, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    units::Bytes,
};
use alloc::boxed::Box;

choice! {
    /// Where the delay comes from.
    pub enum Delay {
        /// The delay of the last departure.
        Last = "last",
        /// The delay of the head so far.
        Head = "head",
        /// Backlog / link rate.
        Backlog = "backlog",
        /// Backlog / departure rate.
        Rate = "rate",
    }
}

choice! {
    /// When p decays.
    pub enum Decay {
        /// Both delays are 0 (RFC 8033, appendix A).
        Empty = "empty",
        /// Both are below half the target (RFC 8033, appendix B).
        HalfTarget = "half_target",
    }
}

config! {
    /// The parameters of PIE.
    pub struct Config {
        /// Target queueing delay (QDELAY_REF)
        target: Span = Param::fixed("15ms")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("RFC 8033, 4.2")
            .tc("target");
        /// Time between two updates of the probability
        t_update: Span = Param::fixed("15ms")
            .unit("s")
            .range(common::PERIOD)
            .source("RFC 8033, 4.2")
            .tc("tupdate");
        /// Gain of the difference between delay and target
        alpha: f64 = Param::fixed("0.125")
            .unit("1/s")
            .range(common::GAIN)
            .source("RFC 8033, 4.2")
            .tc("alpha");
        /// Gain of the change of the delay
        beta: f64 = Param::fixed("1.25").unit("1/s").range(common::GAIN).source("RFC 8033, 4.2").tc("beta");
        /// Duration of a burst that causes no signal
        max_burst: Span = Param::fixed("150ms").unit("s").range(Range::NOT_NEGATIVE).source("RFC 8033, 4.4");
        /// Probability from which ECN-capable packets are dropped too
        mark_ecnth: f64 = Param::fixed("0.1").range(Range::PROBABILITY).source("RFC 8033, 5.1");
        /// Delay d: of the last departure, of the head, backlog / link rate, or backlog / departure rate
        delay: Delay = Param::fixed("last")
            .source("RFC 8033, 5.2; the default of Linux")
            .tc("dq_rate_estimator");
        /// Bytes over which the departure rate is measured (`delay rate`)
        dq_threshold: Bytes = Param::fixed("16KiB")
            .unit("B")
            .range(common::PACKET_BYTES)
            .source("RFC 8033, 5.2");
        /// From p = 0.1 on, p increases by at most 0.02 per update
        step_cap: bool = Param::fixed("on").source("RFC 8033, 5.5");
        /// When p also decreases by 2 %: both delays are 0, or both are below half the target
        decay: Decay = Param::fixed("empty").source("RFC 8033, appendix A; the other is appendix B");
        /// No signal before the sum of p since the last drop is 0.85, a certain one at 8.5
        derandomize: bool = Param::fixed("off").source("RFC 8033, appendix A; 5.4 allows it").linux("on");
        /// A certain signal (`derandomize`) restarts the sum of p also if it is a mark
        mark_restarts: bool = Param::fixed("on").source("RFC 8033, 5.4").linux("off");
        /// Above a delay of 250 ms, p increases by 0.02 more per update
        jump: bool = Param::fixed("off").source("RFC 8033; Linux has it").linux("on");
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = common::MEAN_PACKET;
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "pie",
    title: "Proportional Integral controller Enhanced",
    alias_of: None,
    source: "RFC 8033",
    params: Config::PARAMS,
    probes: PROBES,
    ns2_limit_counts_service: false,
    file: include_str!("pie.rs"),
    instance: crate::instance!(Pie),
    build: |s| s.build(|config| Pie::new(config, &s.context)),
};

pub(crate) const PROBES: &[Probe] = &[
    Probe { name: "p", unit: "", doc: "drop probability" },
    Probe { name: "delay", unit: "s", doc: "delay of the last update" },
    Probe { name: "burst", unit: "s", doc: "burst allowance left" },
    Probe { name: "dq_time", unit: "s", doc: "average time of dq_threshold bytes (`delay rate`)" },
    Probe { name: "accu", unit: "", doc: "sum of p since the last drop (`derandomize`)" },
];

/// The sum of p with which a signal is certain (`derandomize`).
const CERTAIN: f64 = 8.5;

/// Constant parameters; times in seconds.
#[derive(Clone, Debug)]
struct Constants {
    target: f64,
    t_update: f64,
    alpha: f64,
    beta: f64,
    max_burst: f64,
    mark_ecnth: f64,
    delay: Delay,
    dq_threshold: f64,
    step_cap: bool,
    half_target: bool,
    derandomize: bool,
    mark_restarts: bool,
    jump: bool,
    mean_packet: f64,
    ecn: bool,
}

/// Time in which `dq_threshold` bytes depart, measured while at least as many are queued.
#[derive(Clone, Debug, Default)]
struct DepartureRate {
    /// Start of the measurement and bytes since then, while one runs.
    measuring: Option<(Time, f64)>,
    /// The average; 0 before the first measurement.
    average: f64,
}

impl DepartureRate {
    /// `bytes` depart and `left` bytes stay queued.
    fn departure(&mut self, now: Time, bytes: f64, left: f64, threshold: f64) {
        if self.measuring.is_none() && left >= threshold {
            self.measuring = Some((now, 0.0));
        }
        let Some((since, count)) = &mut self.measuring else { return };
        *count += bytes;
        if *count < threshold {
            return;
        }
        let time = now.since(*since).as_secs_f64();
        let weight = (threshold / 65_536.0).min(1.0);
        self.average = if self.average == 0.0 { time } else { (1.0 - weight) * self.average + weight * time };
        self.measuring = (left >= threshold).then_some((now, 0.0));
    }
}

/// The state of PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    config: Constants,
    /// When to update.
    updates: Ticks,
    /// Drop probability.
    p: f64,
    /// The last measured delay.
    delay: f64,
    /// Delay of the last update.
    delay_old: f64,
    /// Burst allowance left.
    burst: f64,
    /// The departure rate (`delay rate`).
    rate: DepartureRate,
    /// Sum of p since the last drop (`derandomize`).
    accu: f64,
}

impl Pie {
    /// PIE for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<Pie, SpecError> {
        config.check()?;
        let constants = Constants {
            target: config.target.as_secs_f64(),
            t_update: config.t_update.as_secs_f64(),
            alpha: config.alpha,
            beta: config.beta,
            max_burst: config.max_burst.as_secs_f64(),
            mark_ecnth: config.mark_ecnth,
            delay: config.delay,
            dq_threshold: config.dq_threshold.0,
            step_cap: config.step_cap,
            half_target: config.decay == Decay::HalfTarget,
            derandomize: config.derandomize,
            mark_restarts: config.mark_restarts,
            jump: config.jump,
            mean_packet: common::mean_packet(config.mean_packet, link),
            ecn: config.ecn,
        };
        Ok(Pie {
            updates: Ticks::every(config.t_update),
            p: 0.0,
            delay: 0.0,
            delay_old: 0.0,
            burst: constants.max_burst,
            rate: DepartureRate::default(),
            accu: 0.0,
            config: constants,
        })
    }

    /// The delay at an update.
    fn measure(&self, now: Time, queue: &QueueView) -> f64 {
        match self.config.delay {
            Delay::Last => self.delay,
            Delay::Head => queue.contents.at(0).map_or(0.0, |head| now.since(head.arrived).as_secs_f64()),
            Delay::Backlog => queue.bytes as f64 * 8.0 / queue.link_rate.max(1) as f64,
            Delay::Rate => queue.bytes as f64 * self.rate.average / self.config.dq_threshold,
        }
    }

    /// The step of p: the smaller p, the smaller the step.
    fn step(&self) -> f64 {
        let Constants { alpha, beta, target, step_cap, jump, .. } = self.config;
        const FINER: [(f64, f64); 6] =
            [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
        let divisor = FINER.iter().find(|(below, _)| self.p < *below).map_or(1.0, |(_, divisor)| *divisor);
        let step = (alpha * (self.delay - target) + beta * (self.delay - self.delay_old)) / divisor;
        let step = if step_cap && self.p >= 0.1 { step.min(0.02) } else { step };
        if jump && self.delay > 0.25 { step + 0.02 } else { step }
    }

    fn update(&mut self) {
        self.p += self.step();
        let half = self.config.target / 2.0;
        let decays = if self.config.half_target {
            self.delay < half && self.delay_old < half
        } else {
            self.delay == 0.0 && self.delay_old == 0.0
        };
        if decays {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.delay_old = self.delay;
        self.burst = (self.burst - self.config.t_update).max(0.0);
    }

    /// Reset the burst allowance if p is 0 and the delay is short.
    fn renew_allowance(&mut self) {
        let half = self.config.target / 2.0;
        if self.p == 0.0 && self.delay < half && self.delay_old < half {
            self.burst = self.config.max_burst;
        }
    }

    /// Whether this arrival is exempt.
    fn spares(&self, queue: &QueueView) -> bool {
        self.burst > 0.0
            || self.delay_old < self.config.target / 2.0 && self.p < 0.2
            || queue.bytes as f64 <= 2.0 * self.config.mean_packet
    }

    /// The random draw, or its de-randomised form.
    fn hits(&mut self, rng: &mut dyn Random) -> bool {
        if !self.config.derandomize {
            return rng.happens(self.p);
        }
        self.accu = if self.p == 0.0 { 0.0 } else { self.accu + self.p };
        if self.accu >= CERTAIN {
            return true;
        }
        let hit = self.accu >= 0.85 && rng.happens(self.p);
        if hit {
            self.accu = 0.0;
        }
        hit
    }
}

impl Aqm for Pie {
    fn on_arrival(
        &mut self,
        _: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        self.renew_allowance();
        if self.spares(queue) || !self.hits(rng) {
            return Verdict::Pass;
        }
        let verdict =
            Verdict::signal(packet, self.config.ecn && self.p < self.config.mark_ecnth, Cause::Early);
        if self.accu >= CERTAIN && (self.config.mark_restarts || !matches!(verdict, Verdict::Mark(_))) {
            self.accu = 0.0;
        }
        verdict
    }

    fn on_departure(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        _: &mut dyn Random,
    ) -> Verdict {
        match self.config.delay {
            Delay::Last if queue.packets == 0 => self.delay = 0.0,
            Delay::Last => self.delay = now.since(packet.arrived).as_secs_f64(),
            Delay::Rate => self.rate.departure(
                now,
                f64::from(packet.bytes),
                queue.bytes as f64,
                self.config.dq_threshold,
            ),
            Delay::Head | Delay::Backlog => {}
        }
        Verdict::Pass
    }

    fn on_drop(&mut self, _: Time, _: &PacketView, _: Cause, _: &QueueView) {
        self.accu = 0.0;
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.updates.due())
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _: &mut dyn Random) {
        self.delay = self.measure(now, queue);
        self.update();
        self.updates.advance(now);
    }

    /// At an empty queue the delay stays 0, and p cannot rise.
    fn rests(&self) -> bool {
        let Pie { p, delay, delay_old, burst, .. } = self;
        [*p, *delay, *delay_old, *burst] == [0.0; 4] && self.step() <= 0.0
    }

    fn resume(&mut self, next: Time) {
        if self.updates.due() < next {
            self.updates.advance(Time(next.0 - 1));
        }
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p);
        field("delay", self.delay_old);
        field("burst", self.burst);
        field("dq_time", self.rate.average);
        field("accu", self.accu);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
