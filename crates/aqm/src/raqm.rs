//! **RAQM (rate-based AQM; Wang, Li, Hou, Sohraby and Long 2005)** measures the input rate and multiplies its
//! drop probability in each period by an exponential of the difference between input rate and target rate; a
//! queue term, computed for every packet, drives the queue to `q_0`.
//!
//! The exponential rule changes p in proportion to p itself, so that it converges equally fast to p = 0.0002
//! and p = 0.2. Its gain follows from a stability bound that increases with the distance from the target
//! (`alpha adaptive`), or is fixed (`alpha static`).
//!
//! # When it decides
//! Every `period` T: r <- (1 - f_prime) bytes/T + f_prime r, then p_k <- p_k g. With x = r/r_0 the adaptive
//! form's g is (x/(2 - x))^(2 eps), the static one's exp(m (x - 1)); the first period always uses the static
//! form with `m_0`. Each arrival is signalled with p = p_k (`mode independent`) or p_k q/q_0 (`mode
//! dependent`, the default); the cause is `early`. With `q_0` in bytes, q is in bytes too.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | exponent | alpha (r - r_0), equation 3 | the listing: r - r_0 alone | without alpha, e to the power of bytes/s overflows at once |
//! | adaptive alpha at r = r_0, 0, 2 r_0 | closed form of exp(eps alpha-hat (r - r_0)), x limited to [x_min, x_max] | the formula: 0/0 or the logarithm of 0 | the closed form has no singularity at r_0, the clamp none at the ends |
//! | floor of p_k | `p_min` = 1e-5 | the listing: 0 (`p_min 0`) | 0 is absorbing: p_k could never increase again |
//! | bytes counted | all that arrive, dropped ones too | `count admitted`: without those that RAQM itself dropped; `count accepted`: without any dropped | the listing counts before it decides |
//! | r_0 on a busy link | the rate C | options `gamma`, `loss_corrected` | the paper; the input rate C/(1 - loss) exceeds C, so that p_k increases to 1 and the queue settles at q_0 times the loss ratio. `loss_corrected` sets r_0 = C/(1 - loss) of the period |
//! | random test | u < p | the listing: u <= p | u is in [0, 1): no signal at an empty queue |
//!
//! # References
//! C. Wang, B. Li, Y. T. Hou, K. Sohraby, K. Long: A stable rate-based algorithm for active queue management,
//! Computer Communications, 2005.

use crate::{
    Algorithm, Aqm, Cause, Context, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random,
    Range, Span, SpecError, Ticks, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    units::Size,
};
use alloc::boxed::Box;

const PAPER: &str = "RAQM paper";
const X: Range = Range { min: 0.0, max: 2.0, above: true, below: true };

choice! {
    /// How p_k applies to an arrival.
    pub enum Mode {
        /// Scaled by q/q_0.
        Dependent = "dependent",
        /// Unscaled.
        Independent = "independent",
    }
}

choice! {
    /// The gain.
    pub enum Alpha {
        /// `eps` times the stability bound.
        Adaptive = "adaptive",
        /// m/r_0.
        Static = "static",
    }
}

choice! {
    /// The bytes that the input rate counts.
    pub enum Count {
        /// All that arrive.
        Arrived = "arrived",
        /// Those that RAQM does not drop, whether or not they fit.
        Admitted = "admitted",
        /// Those that are not dropped at all.
        Accepted = "accepted",
    }
}

config! {
    /// The parameters of RAQM.
    pub struct Config {
        /// Target queue (mode dependent)
        q_0: Size = Param::fixed("50p")
            .unit("packets or bytes")
            .range(Range::POSITIVE)
            .source("RAQM paper, section 3");
        /// Scale p_k by q/q_0 at each arrival, or use it unscaled
        mode: Mode = Param::fixed("dependent").source("RAQM paper, section 3");
        /// Gain from the stability bound (eps), or fixed at m/r_0
        alpha: Alpha = Param::fixed("adaptive").source("RAQM paper, section 3");
        /// Share of the stability bound that the adaptive gain uses
        eps: f64 = Param::fixed("0.9")
            .range(Range::FRACTION)
            .source("the paper says: smaller than 1 but close to 1");
        /// Static gain alpha = m/r_0; stable below 4
        m: f64 = Param::fixed("2").range(Range::POSITIVE).source("the paper allows 0 < m < 4");
        /// Gain of the first period, alpha_0 = m_0/r_0
        m_0: f64 = Param::fixed("2").range(Range::POSITIVE).source(PAPER);
        #[doc = meaning!(rate)]
        rate: Option<u64> = common::RATE;
        /// Target share of the link rate: r_0 = gamma C
        gamma: f64 = Param::fixed("1")
            .range(Range { min: 1e-3, max: 1.0, above: false, below: false })
            .source(PAPER);
        /// Divide r_0 by the share of this period's bytes that were not dropped
        loss_corrected: bool = Param::fixed("off").source(PAPER);
        /// Bytes that the input rate counts: all, those that RAQM does not drop, or those not dropped at all
        count: Count = Param::fixed("arrived").source(PAPER);
        /// Time T between two updates, several round trips
        period: Span = Param::fixed("1s").unit("s").range(common::PERIOD).source("RAQM paper, section 3");
        /// Weight of the previous rate in the average
        f_prime: f64 = Param::fixed("0.1")
            .range(Range { min: 0.0, max: 1.0, above: false, below: true })
            .source("RAQM paper, section 3");
        /// Initial probability p_k
        p_0: f64 = Param::fixed("0.0002").range(Range::SHARE).source(PAPER);
        /// Lower bound of p_k; the paper has 0
        p_min: f64 = Param::fixed("0.00001").range(Range::PROBABILITY).source("ours: 0 would be absorbing");
        /// Lower clamp of x = r/r_0 in the adaptive form
        x_min: f64 = Param::fixed("0.05").range(X).source("ours: the formula ends at 0");
        /// Upper clamp of x = r/r_0 in the adaptive form
        x_max: f64 = Param::fixed("1.95").range(X).source("ours: the formula ends at 2");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "raqm",
    title: "Rate-based active queue management",
    alias_of: None,
    source: "Wang, Li, Hou, Sohraby and Long 2005",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "signalling probability of the last arrival" },
        Probe { name: "p_k", unit: "", doc: "probability of this period, before the queue term" },
        Probe { name: "r", unit: "bit/s", doc: "averaged input rate" },
        Probe { name: "x", unit: "", doc: "input rate over target rate, r/r_0, of the last period" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("raqm.rs"),
    instance: crate::instance!(Raqm),
    build: |s| s.build(|config| Raqm::new(config, &s.context)),
};

/// Constant parameters.
#[derive(Clone, Debug)]
struct Constants {
    /// Target, in packets or bytes; `None` in the independent mode.
    q_0: Option<Size>,
    /// The static gain m; `None` in the adaptive form.
    m: Option<f64>,
    m_0: f64,
    eps: f64,
    x_min: f64,
    x_max: f64,
    /// gamma C, bytes/s.
    r_0: f64,
    loss_corrected: bool,
    count: Count,
    /// Period in seconds.
    t: f64,
    f_prime: f64,
    p_min: f64,
    ecn: bool,
}

/// The state of RAQM.
#[derive(Clone, Debug)]
pub struct Raqm {
    config: Constants,
    /// The ends of the periods.
    periods: Ticks,
    /// No period has ended yet.
    is_first: bool,
    /// Bytes that arrived in this period, dropped ones included.
    arrived: u64,
    /// Bytes that RAQM dropped in this period.
    refused: u64,
    /// Bytes that overflowed in this period.
    overflowed: u64,
    /// Averaged input rate r_k, bytes/s.
    r: f64,
    /// r_k/r_0 of the last period.
    x: f64,
    /// Probability p_k.
    p_k: f64,
    /// Signalling probability of the last arrival.
    p: f64,
}

impl Raqm {
    /// RAQM for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; values that do not fit together.
    pub fn new(config: Config, link: &Context) -> Result<Raqm, SpecError> {
        config.check()?;
        if config.p_min > config.p_0 {
            return Err(SpecError::about("p_min", "is above p_0", "p_min <= p_0"));
        }
        if config.x_min >= 1.0 || config.x_max <= 1.0 {
            return Err(SpecError::about("x_min", "and x_max do not enclose 1", "x_min < 1 < x_max"));
        }
        if config.loss_corrected && config.count != Count::Arrived {
            let problem = "corrects for drops that count already excludes";
            return Err(SpecError::about("loss_corrected", problem, "one of the two"));
        }
        let constants = Constants {
            q_0: (config.mode == Mode::Dependent).then_some(config.q_0),
            m: (config.alpha == Alpha::Static).then_some(config.m),
            m_0: config.m_0,
            eps: config.eps,
            x_min: config.x_min,
            x_max: config.x_max,
            r_0: config.gamma * config.rate.unwrap_or(link.link_rate) as f64 / 8.0,
            loss_corrected: config.loss_corrected,
            count: config.count,
            t: config.period.as_secs_f64(),
            f_prime: config.f_prime,
            p_min: config.p_min,
            ecn: config.ecn,
        };
        Ok(Raqm {
            config: constants,
            periods: Ticks::every(config.period),
            is_first: true,
            arrived: 0,
            refused: 0,
            overflowed: 0,
            r: 0.0,
            x: 0.0,
            p_k: config.p_0,
            p: 0.0,
        })
    }

    /// Equation 2, and x = r_k/r_0.
    fn measure_rate(&mut self) {
        let admitted = self.arrived.saturating_sub(self.refused);
        let passed = admitted.saturating_sub(self.overflowed);
        let counted = match self.config.count {
            Count::Arrived => self.arrived,
            Count::Admitted => admitted,
            Count::Accepted => passed,
        };
        self.r = (1.0 - self.config.f_prime) * counted as f64 / self.config.t + self.config.f_prime * self.r;
        let kept = if self.config.loss_corrected && self.arrived > 0 {
            passed as f64 / self.arrived as f64
        } else {
            1.0
        };
        self.x = self.r * kept / self.config.r_0;
        (self.arrived, self.refused, self.overflowed) = (0, 0, 0);
    }

    /// Equation 3: the factor of p_k.
    fn factor(&self) -> f64 {
        let fixed = |m: f64| libm::exp((m * (self.x - 1.0)).min(700.0));
        if self.is_first {
            return fixed(self.config.m_0);
        }
        let adaptive = || {
            let x = self.x.clamp(self.config.x_min, self.config.x_max);
            libm::pow(x / (2.0 - x), 2.0 * self.config.eps)
        };
        self.config.m.map_or_else(adaptive, fixed)
    }

    /// Equation 14: the queue term.
    fn probability(&self, queue: &QueueView) -> f64 {
        match self.config.q_0 {
            Some(Size::Packets(q_0)) => (self.p_k * f64::from(queue.packets) / q_0).min(1.0),
            Some(Size::Bytes(q_0)) => (self.p_k * queue.bytes as f64 / q_0).min(1.0),
            None => self.p_k,
        }
    }
}

impl IgnoresContents for Raqm {}

impl Aqm for Raqm {
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    fn on_offered(&mut self, _: Time, packet: &PacketView, _: &QueueView) {
        self.arrived += u64::from(packet.bytes);
    }

    fn on_arrival(
        &mut self,
        _: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        self.p = self.probability(queue);
        if rng.uniform() >= self.p {
            return Verdict::Pass;
        }
        let verdict = Verdict::signal(packet, self.config.ecn, Cause::Early);
        if verdict == Verdict::Drop(Cause::Early) {
            self.refused += u64::from(packet.bytes);
        }
        verdict
    }

    fn on_drop(&mut self, _: Time, packet: &PacketView, _: Cause, _: &QueueView) {
        self.overflowed += u64::from(packet.bytes);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.periods.due())
    }

    fn on_timer(&mut self, now: Time, _: &QueueView, _: &mut dyn Random) {
        self.measure_rate();
        self.p_k = (self.p_k * self.factor()).clamp(self.config.p_min, 1.0);
        self.is_first = false;
        self.periods.advance(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p);
        field("p_k", self.p_k);
        field("r", self.r * 8.0);
        field("x", self.x);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
