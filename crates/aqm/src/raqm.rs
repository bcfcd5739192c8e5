//! **RAQM (rate-based AQM)** measures how fast bytes arrive and multiplies its drop probability each period
//! by an exponential of the mismatch to the wanted rate; a queue term, fresh at every packet, steers the queue
//! to `q_0`.
//!
//! The exponential rule reacts in proportion to p itself, so that it finds p = 0.0002 and p = 0.2
//! equally fast. How strongly it reacts follows from a stability bound that grows with the distance from
//! the target (`alpha adaptive`), or is fixed (`alpha static`).
//!
//! # When it decides
//! Every `period` T: r <- (1 - f_prime) bytes/T + f_prime r, then p_k <- p_k g. With x = r/r_0 the adaptive form's
//! g is (x/(2 - x))^(2 eps), the static one's exp(m (x - 1)); the first period always uses the static form with
//! `m_0`. Each arrival is signalled with p = p_k (`mode independent`) or p_k q/q_0 (`mode dependent`, the default);
//! the cause is `early`. A `q_0` in bytes compares bytes with bytes.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | exponent | alpha (r - r_0), equation 3 | the listing: r - r_0 alone | without alpha, e to the power of bytes/s overflows at once |
//! | adaptive alpha at r = r_0, 0, 2 r_0 | closed form of exp(eps alpha-hat (r - r_0)), x kept in [x_min, x_max] | the formula: 0/0 or the logarithm of 0 | the closed form has no singularity at r_0, the clamp none at the ends |
//! | floor of p_k | `p_min` = 1e-5 | the listing: 0 (`p_min 0`) | 0 is absorbing: p_k could never rise again |
//! | bytes counted | all that arrive, dropped ones too | `count admitted`: without those that RAQM itself dropped; `count accepted`: without any dropped | the listing counts before it decides |
//! | r_0 on a busy link | the rate C, literally | `gamma`, `loss_corrected` | arrivals of C/(1 - loss) exceed C, so p_k climbs to 1 and the queue settles at q_0 times the loss ratio; r_0 = C/(1 - loss) of the period repairs it |
//! | event of probability p | u < p | the listing: u <= p | u is in [0, 1): an empty queue never drops |
//!
//! # References
//! C. Wang, B. Li, Y. T. Hou, K. Sohraby, K. Long: A stable rate-based algorithm for active queue management,
//! Computer Communications, 2005.

use crate::{
    Algorithm, Aqm, Cause, DefaultValue::Value as Fixed, Hooks, IgnoresContents, Kind, PacketView, Param,
    Probe, QueueView, Random, Range, Settings, SpecError, Ticks, Time, Verdict, common, units::Size,
};
use alloc::boxed::Box;

const PAPER: &str = "RAQM paper";
const X: Range = Range { min: 0.0, max: 2.0, above: true, below: true };

const MODE: Param = Param::new(
    "mode",
    Kind::Choice(&["dependent", "independent"]),
    Fixed("dependent"),
    "Scale p_k by q/q_0 at each arrival, or use it as it is",
)
.source("RAQM paper, section 3");
const ALPHA: Param = Param::new(
    "alpha",
    Kind::Choice(&["adaptive", "static"]),
    Fixed("adaptive"),
    "Gain from the stability bound (eps), or fixed at m/r_0",
)
.source("RAQM paper, section 3");
const EPS: Param =
    Param::new("eps", Kind::Number, Fixed("0.9"), "Share of the stability bound that the adaptive gain uses")
        .range(Range::FRACTION)
        .source("the paper says: smaller than 1 but close to 1");
const M: Param = Param::new("m", Kind::Number, Fixed("2"), "Static gain alpha = m/r_0; stable below 4")
    .range(Range::POSITIVE)
    .source("the paper allows 0 < m < 4");
const M_0: Param = Param::new("m_0", Kind::Number, Fixed("2"), "Gain of the first period, alpha_0 = m_0/r_0")
    .range(Range::POSITIVE)
    .source(PAPER);
const RATE: Param = common::RATE;
const GAMMA: Param = Param::new("gamma", Kind::Number, Fixed("1"), "Wanted share of the rate: r_0 = gamma C")
    .range(Range { min: 1e-3, max: 1.0, above: false, below: false })
    .source(PAPER);
const LOSS_CORRECTED: Param = Param::new(
    "loss_corrected",
    Kind::Flag,
    Fixed("off"),
    "Divide r_0 by the share of this period's bytes that were not dropped",
)
.source(PAPER);
const COUNT: Param = Param::new(
    "count",
    Kind::Choice(&["arrived", "admitted", "accepted"]),
    Fixed("arrived"),
    "Which bytes make the input rate: all, those that RAQM lets pass, those that find room too",
)
.source(PAPER);
const PERIOD: Param =
    Param::new("period", Kind::Span, Fixed("1s"), "Time T between two updates, several round trips")
        .unit("s")
        .range(common::PERIOD)
        .source("RAQM paper, section 3");
const F_PRIME: Param =
    Param::new("f_prime", Kind::Number, Fixed("0.1"), "Weight of the previous rate in the average")
        .range(Range { min: 0.0, max: 1.0, above: false, below: true })
        .source("RAQM paper, section 3");
const P_0: Param = Param::new("p_0", Kind::Number, Fixed("0.0002"), "Probability p_k at the start")
    .range(Range::SHARE)
    .source(PAPER);
const P_MIN: Param =
    Param::new("p_min", Kind::Number, Fixed("0.00001"), "Floor of p_k; 0 is the paper's own")
        .range(Range::PROBABILITY)
        .source("ours: 0 would be absorbing");
const X_MIN: Param =
    Param::new("x_min", Kind::Number, Fixed("0.05"), "Lower clamp of x = r/r_0 in the adaptive form")
        .range(X)
        .source("ours: the formula ends at 0");
const X_MAX: Param =
    Param::new("x_max", Kind::Number, Fixed("1.95"), "Upper clamp of x = r/r_0 in the adaptive form")
        .range(X)
        .source("ours: the formula ends at 2");
const Q_0: Param = Param::new("q_0", Kind::Size, Fixed("50p"), "Queue to be held (mode dependent)")
    .unit("packets or bytes")
    .range(Range::POSITIVE)
    .source("RAQM paper, section 3");

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "raqm",
    title: "Rate-based active queue management",
    alias_of: None,
    source: "Wang, Li, Hou, Sohraby and Long 2005",
    params: &[
        Q_0,
        MODE,
        ALPHA,
        EPS,
        M,
        M_0,
        RATE,
        GAMMA,
        LOSS_CORRECTED,
        COUNT,
        PERIOD,
        F_PRIME,
        P_0,
        P_MIN,
        X_MIN,
        X_MAX,
        common::ECN,
    ],
    probes: &[
        Probe { name: "p", unit: "", doc: "probability that the last arrival met" },
        Probe { name: "p_k", unit: "", doc: "probability of this period, before the queue term" },
        Probe { name: "r", unit: "bit/s", doc: "averaged input rate" },
        Probe { name: "x", unit: "", doc: "input rate over wanted rate, r/r_0, of the last period" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("raqm.rs"),
    build,
};

/// Which bytes make the input rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    /// All that arrive.
    Arrived,
    /// Those that RAQM lets pass, whether or not they find room.
    Admitted,
    /// Those that are not dropped by anyone.
    Accepted,
}

/// What was configured.
#[derive(Clone, Debug)]
struct Config {
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
struct Raqm {
    config: Config,
    /// When a period ends.
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
    /// Probability that the last arrival met.
    p: f64,
}

fn build(settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    let (p_0, p_min) = (settings.number("p_0"), settings.number("p_min"));
    if p_min > p_0 {
        return Err(settings.error("p_min", "is above p_0", "p_min <= p_0"));
    }
    let (x_min, x_max) = (settings.number("x_min"), settings.number("x_max"));
    if x_min >= 1.0 || x_max <= 1.0 {
        return Err(settings.error("x_min", "and x_max do not enclose 1", "x_min < 1 < x_max"));
    }
    let loss_corrected = settings.flag("loss_corrected");
    let count = match settings.choice("count") {
        "admitted" => Count::Admitted,
        "accepted" => Count::Accepted,
        _ => Count::Arrived,
    };
    if loss_corrected && count != Count::Arrived {
        let problem = "corrects for drops that count already leaves out";
        return Err(settings.error("loss_corrected", problem, "one of the two"));
    }
    let period = settings.span("period");
    let config = Config {
        q_0: settings.size("q_0").filter(|_| settings.choice("mode") == "dependent"),
        m: (settings.choice("alpha") == "static").then(|| settings.number("m")),
        m_0: settings.number("m_0"),
        eps: settings.number("eps"),
        x_min,
        x_max,
        r_0: settings.number("gamma") * settings.rate("rate") as f64 / 8.0,
        loss_corrected,
        count,
        t: period.as_secs_f64(),
        f_prime: settings.number("f_prime"),
        p_min,
        ecn: settings.ecn(),
    };
    Ok(Box::new(Raqm {
        config,
        periods: Ticks::every(period),
        is_first: true,
        arrived: 0,
        refused: 0,
        overflowed: 0,
        r: 0.0,
        x: 0.0,
        p_k: p_0,
        p: 0.0,
    }))
}

impl Raqm {
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

    /// Equation 3: what p_k is multiplied by.
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

    /// Equation 14: the queue's part.
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

    fn on_timer(&mut self, now: Time, _: &QueueView) {
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
