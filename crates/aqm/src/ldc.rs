//! **LDC (Load/Delay Controller; Kwon and Fahmy 2002)** adds two drop probabilities: one increases with the
//! ratio of the averaged queue to the queue at the target delay, the other with the ratio of the averaged
//! load to the target load.
//!
//! The load increases before a queue builds up; the queue determines the delay. Both ratios are limited to 1,
//! so that each part contributes at most its weight. The exponent `n` = 3 keeps both parts small until the
//! target is near. The probability is computed once per `tau`; an arrival only adds its bytes.
//!
//! # When it decides
//! Every `tau`, with A the bytes that arrived in it, C the output rate and q the queued bytes: R = A/(tau C),
//! R_avg <- (1 - w_r) R_avg + w_r R, Q_avg <- (1 - w_q) Q_avg + w_q q, and, with Q_target = d_target C, P =
//! w_d min(1, (Q_avg/Q_target)^n) + w_l min(1, (R_avg/r_target)^n). Each arrival of the next `tau` is
//! signalled with probability P, cause `early`. A includes dropped arrivals.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | sample that `w_r` weights | the current one | section 4.1 of the paper can be read as a weight of 0.998 of the history | its table 2 and section 5.3: "weights for the current sample" |
//! | output rate C | the configured rate | the measured rate (`output measured`) | on a link that is not busy the measured rate decreases with the load, and their ratio does not depend on the load |
//! | averaging of rates | the ratio is averaged | `output measured`: both rates are averaged, then divided | with a constant output rate it is the same |
//! | `tau` | 2 ms | about 10 packet times | the paper's value; on a slow link most periods have no arrival: at 0.1 Mbit/s R jumps between 0 and 40, and the load part affects only packets less than 2 ms apart. Set a longer `tau` there |
//! | `d_target` | 4 s, for every link | 0.2 s at 1 Mbit/s in the paper's FTP runs | its table 2, for links of 0.1 Mbit/s; set the target delay for each link |
//!
//! # References
//! M. Kwon, S. Fahmy: A Comparison of Load-based and Queue-based Active Queue Management Algorithms, SPIE
//! ITCom, 2002.

use crate::{
    Algorithm, Aqm, Cause, Context, IgnoresContents, PacketView, Param, Probe, QueueView, Random, Range,
    Span, SpecError, Ticks, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
};
use alloc::boxed::Box;

const PAPER: &str = "Kwon and Fahmy 2002, table 2";

choice! {
    /// The output rate C.
    pub enum Output {
        /// As configured.
        Configured = "configured",
        /// As measured in every `tau` at whose end packets are queued.
        Measured = "measured",
    }
}

config! {
    /// The parameters of LDC.
    pub struct Config {
        /// Target of the queueing delay
        d_target: Span = Param::fixed("4s").unit("s").range(common::PERIOD).source(PAPER);
        /// Target of the load factor
        r_target: f64 = Param::fixed("0.95").range(Range::SHARE).source(PAPER);
        /// Weight of the delay part
        w_d: f64 = Param::fixed("0.75").range(Range::PROBABILITY).source(PAPER);
        /// Weight of the load part
        w_l: Option<f64> = Param::derived("1 - w_d").range(Range::PROBABILITY).source(PAPER);
        /// Exponent of both parts; below 4 is recommended
        n: f64 = Param::fixed("3")
            .range(Range { min: 1.0, max: 100.0, above: false, below: false })
            .source(PAPER);
        /// Time between two computations
        tau: Span = Param::fixed("2ms").unit("s").range(common::PERIOD).source(PAPER);
        /// Weight of the current queue in its average
        w_q: f64 = Param::fixed("0.002").range(Range::SHARE).source(PAPER);
        /// Weight of the current load in its average
        w_r: f64 = Param::fixed("0.998").range(Range::SHARE).source(PAPER);
        #[doc = meaning!(rate)]
        rate: Option<u64> = common::RATE;
        /// Output rate C: as configured, or as measured in every tau at whose end packets are queued
        output: Output = Param::fixed("configured").source("Kwon and Fahmy 2002, section 3.2");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "ldc",
    title: "Load/Delay Controller",
    alias_of: None,
    source: "Kwon and Fahmy 2002",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "drop probability of this interval" },
        Probe { name: "p_delay", unit: "", doc: "its delay part, weighted" },
        Probe { name: "p_load", unit: "", doc: "its load part, weighted" },
        Probe { name: "q_avg", unit: "B", doc: "averaged queue" },
        Probe { name: "r_avg", unit: "", doc: "averaged load factor" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("ldc.rs"),
    instance: crate::instance!(Ldc),
    build: |s| s.build(|config| Ldc::new(config, &s.context)),
};

/// Constant parameters; rates in bytes/s.
#[derive(Clone, Debug)]
struct Constants {
    d_target: f64,
    r_target: f64,
    w_d: f64,
    n: f64,
    tau: f64,
    w_q: f64,
    w_r: f64,
    measured: bool,
    ecn: bool,
}

/// The state of LDC.
#[derive(Clone, Debug)]
pub struct Ldc {
    config: Constants,
    /// The end of each `tau`.
    ticks: Ticks,
    /// Bytes that arrived in this interval, dropped ones included.
    arrived: u64,
    /// Bytes that left in this interval.
    departed: u64,
    /// Output rate C; with `output measured` an average.
    output: f64,
    /// Averaged input rate (`output measured`).
    input: f64,
    /// Averaged queue, bytes.
    q_avg: f64,
    /// Averaged load factor.
    r_avg: f64,
    /// The two parts of the probability, weighted.
    parts: (f64, f64),
}

/// The mean of `average` and `sample` that gives the sample the weight `w`.
fn averaged(average: f64, w: f64, sample: f64) -> f64 {
    (1.0 - w) * average + w * sample
}

/// `x` / `target`, limited to 1; 1 for a target of 0.
fn ratio(x: f64, target: f64) -> f64 {
    if x < target { x / target } else { 1.0 }
}

impl Ldc {
    /// LDC for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; weights that do not add up to 1.
    pub fn new(config: Config, link: &Context) -> Result<Ldc, SpecError> {
        config.check()?;
        let w_d = config.w_d;
        let sum = w_d + config.w_l.unwrap_or(1.0 - w_d);
        if (sum - 1.0).abs() > 1e-9 {
            return Err(SpecError::about("w_l", "and w_d do not add up to 1", "w_d + w_l = 1"));
        }
        let constants = Constants {
            d_target: config.d_target.as_secs_f64(),
            r_target: config.r_target,
            w_d,
            n: config.n,
            tau: config.tau.as_secs_f64(),
            w_q: config.w_q,
            w_r: config.w_r,
            measured: config.output == Output::Measured,
            ecn: config.ecn,
        };
        Ok(Ldc {
            config: constants,
            ticks: Ticks::every(config.tau),
            arrived: 0,
            departed: 0,
            output: config.rate.unwrap_or(link.link_rate) as f64 / 8.0,
            input: 0.0,
            q_avg: 0.0,
            r_avg: 0.0,
            parts: (0.0, 0.0),
        })
    }

    /// Equation 1: input over output.
    fn measure_load(&mut self, is_backlogged: bool) {
        let Constants { tau, w_r, measured, .. } = self.config;
        let input = self.arrived as f64 / tau;
        if measured {
            self.input = averaged(self.input, w_r, input);
            if is_backlogged {
                self.output = averaged(self.output, w_r, self.departed as f64 / tau);
            }
            self.r_avg = if self.output > 0.0 { (self.input / self.output).min(f64::MAX) } else { f64::MAX };
        } else {
            self.r_avg = averaged(self.r_avg, w_r, input / self.output);
        }
        (self.arrived, self.departed) = (0, 0);
    }

    /// Equation 3: the two parts of the drop probability.
    fn update(&mut self) {
        let Constants { d_target, r_target, w_d, n, .. } = self.config;
        self.parts = (
            w_d * libm::pow(ratio(self.q_avg, d_target * self.output), n),
            (1.0 - w_d) * libm::pow(ratio(self.r_avg, r_target), n),
        );
    }

    fn p(&self) -> f64 {
        (self.parts.0 + self.parts.1).min(1.0)
    }
}

impl IgnoresContents for Ldc {}

impl Aqm for Ldc {
    fn on_offered(&mut self, _: Time, packet: &PacketView, _: &QueueView) {
        self.arrived += u64::from(packet.bytes);
    }

    fn on_arrival(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        if rng.happens(self.p()) {
            Verdict::signal(packet, self.config.ecn, Cause::Early)
        } else {
            Verdict::Pass
        }
    }

    fn on_departure(&mut self, _: Time, packet: &PacketView, _: &QueueView, _: &mut dyn Random) -> Verdict {
        self.departed += u64::from(packet.bytes);
        Verdict::Pass
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ticks.due())
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _: &mut dyn Random) {
        self.q_avg = averaged(self.q_avg, self.config.w_q, queue.bytes as f64);
        self.measure_load(queue.packets > 0);
        self.update();
        self.ticks.advance(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p());
        field("p_delay", self.parts.0);
        field("p_load", self.parts.1);
        field("q_avg", self.q_avg);
        field("r_avg", self.r_avg);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
