//! **ARED (Adaptive RED)** is gentle RED that finds its own `max_p`: every half second it moves `max_p` a little,
//! up when the average queue is too long and down when it is too short, to hold it midway between the thresholds.
//!
//! How many packets RED must drop depends on how many flows there are, which nobody knows in advance; a fixed
//! `max_p` therefore holds a long queue for many flows and a short one for few. The other parameters follow from
//! the link rate and a target delay, so that nothing has to be set.
//!
//! # When it decides
//! On arrival, as `gred`, with the present `max_p`. With D = max_th - min_th, every `interval`: avg above
//! min_th + 0.6 D and max_p < `top`: max_p <- max_p + min(`alpha`, max_p/4); avg below min_th + 0.4 D and
//! max_p > `bottom`: max_p <- `beta` max_p. The test comes before the step, so that max_p may end a step outside
//! [bottom, top]. With `hysteresis` n a decrease needs n such periods in a row; any other period, and the decrease
//! itself, start the count again.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | when max_p moves | a timer | ns-2, ns-3: at an arrival, once `interval` has passed since the last *change* (`adapt arrival`) | the paper says every 0.5 s; preset `ns2` |
//! | average at the timer of an idle link | decayed as for an arrival | ns-2 does not adapt without arrivals | a stale average would let max_p rise on an idle link |
//! | gentle line | begins at the present max_p | ns-2: at the first max_p for ever (`gentle_line first`), so that the probability jumps at max_th | the paper's figure is one line; preset `ns2`: with 400 flows the mean queue is half as long again |
//! | floor of max_p | 0.01 | ns-2.35: min(0.01, 80 kbit/s / rate) (`adapt arrival`) | the paper; preset `ns2` |
//! | w_q for a long link | 1 - exp(-1/C) | ns-2: a longer memory if 3 (delay + packet time) exceeds 100 ms | a queue does not know the delay of its link; the paper assumes 100 ms |
//! | w_q in powers of two | real | Linux: 2^-n | no need in floating point |
//! | hysteresis | off (1) | Byun and Baras 2007: a decrease needs n periods, n not printed | Floyd's own; their reading is `hysteresis 10` |
//!
//! # References
//! S. Floyd, R. Gummadi, S. Shenker: Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//! Management, 2001. D. Byun, J. Baras: AVQRED, 2007 (hysteresis). ns-2 `queue/red.cc` (`adaptive_`).

use crate::{
    Algorithm, Aqm, Cause,
    DefaultValue::Derived,
    DefaultValue::Value as Fixed,
    Hooks, IgnoresContents, Kind, PacketView, Param, Probe, QueueView, Random, Range, Settings, Span,
    SpecError, Ticks, Time, Verdict, common,
    red::{self, Red},
    red_family::{self, Thresholds},
    units::Size,
};
use alloc::boxed::Box;

const PAPER: &str = "Floyd, Gummadi and Shenker 2001";

const TARGET_DELAY: Param = Param::new(
    "target_delay",
    Kind::Span,
    Fixed("5ms"),
    "Mean queueing delay d aimed at: min_th is half the packets that the link sends in it, at least 5",
)
.unit("s")
.range(common::PERIOD)
.source(PAPER);
const MIN_TH: Param = Param::new(
    "min_th",
    Kind::Size,
    Derived("max(5, target_delay C/2) packets"),
    "Average queue below which nothing is dropped",
)
.unit("packets or bytes")
.range(Range::POSITIVE)
.source(PAPER)
.tc("min");
const W_Q: Param = Param::new(
    "w_q",
    Kind::Number,
    Derived("1 - exp(-1/C), C in packets/s"),
    "Weight of the present queue in the average",
)
.range(Range::SHARE)
.source(PAPER);
const MAX_P: Param =
    Param::new("max_p", Kind::Number, Fixed("0.1"), "Base probability just below max_th at the start")
        .range(Range::SHARE)
        .source("ns-2 red.cc; Linux");
const INTERVAL: Param =
    Param::new("interval", Kind::Span, Fixed("500ms"), "Time between two adaptations of max_p")
        .unit("s")
        .range(common::PERIOD)
        .source(PAPER);
const ALPHA: Param =
    Param::new("alpha", Kind::Number, Fixed("0.01"), "Largest increase of max_p, at most max_p/4")
        .range(Range::SHARE)
        .source(PAPER);
const BETA: Param = Param::new(
    "beta",
    Kind::Number,
    Fixed("0.9"),
    "What a decrease multiplies max_p by; above 0.83 one step stays inside the target band",
)
.range(Range::FRACTION)
.source(PAPER);
const TOP: Param = Param::new("top", Kind::Number, Fixed("0.5"), "max_p does not rise from here on")
    .range(Range::SHARE)
    .source(PAPER);
const BOTTOM: Param = Param::new(
    "bottom",
    Kind::Number,
    Derived("0.01; with `adapt arrival` min(0.01, 80 kbit/s / rate)"),
    "max_p does not fall from here on",
)
.range(Range::PROBABILITY)
.source(PAPER);
const HYSTERESIS: Param = Param::new(
    "hysteresis",
    Kind::Integer,
    Fixed("1"),
    "How many periods in a row the average must be too short before max_p falls",
)
.unit("periods")
.range(Range { min: 1.0, max: 1e6, above: false, below: false })
.source(PAPER);
const ADAPT: Param = Param::new(
    "adapt",
    Kind::Choice(&["timer", "arrival"]),
    Fixed("timer"),
    "Adapt max_p every interval, or at the first arrival an interval after the last change",
)
.source(PAPER)
.ns2("arrival");
const GENTLE: Param = Param::new(
    "gentle",
    Kind::Flag,
    Fixed("on"),
    "Above max_th rise on a line from max_p to 1 instead of jumping to 1",
)
.source(PAPER);

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "ared",
    title: "Adaptive RED",
    alias_of: None,
    source: PAPER,
    params: &[
        TARGET_DELAY,
        MIN_TH,
        red_family::MAX_TH,
        MAX_P,
        W_Q,
        INTERVAL,
        ALPHA,
        BETA,
        TOP,
        BOTTOM,
        HYSTERESIS,
        ADAPT,
        GENTLE,
        red::GENTLE_END,
        red::GENTLE_LINE,
        red_family::WAIT,
        red::COUNT,
        red::LISTING,
        red_family::MAX_PACKET,
        red_family::MEAN_PACKET,
        common::ECN,
        red_family::ECN_FORCED,
    ],
    probes: &[
        red::PROBES[0],
        red::PROBES[1],
        red::PROBES[2],
        red::PROBES[3],
        Probe { name: "max_p", unit: "", doc: "present max_p" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("ared.rs"),
    build,
};

/// When max_p may move.
#[derive(Clone, Debug)]
enum Adapt {
    /// At these ticks.
    Timer(Ticks),
    /// At an arrival more than `interval` after the last change.
    Arrival { interval: Span, changed: Time },
}

/// The state of ARED.
#[derive(Clone, Debug)]
struct Ared {
    /// The queue that is tuned; max_p lives there.
    red: Red,
    adapt: Adapt,
    alpha: f64,
    beta: f64,
    top: f64,
    bottom: f64,
    hysteresis: i64,
    /// Periods in a row in which the average was too short.
    below: i64,
}

fn build(settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    let mean_packet = common::packet_bytes(settings, "mean_packet")?;
    let in_target =
        settings.span("target_delay").as_secs_f64() * settings.context.link_rate as f64 / (8.0 * mean_packet);
    let min_th = settings.size("min_th").unwrap_or(Size::Packets((in_target / 2.0).max(5.0)));
    let at_arrival = settings.choice("adapt") == "arrival";
    let interval = settings.span("interval");
    let hysteresis = settings.integer("hysteresis");
    if at_arrival && hysteresis > 1 {
        return Err(settings.error("hysteresis", "counts periods of the timer", "adapt timer"));
    }
    let floor = if at_arrival { (80_000.0 / settings.context.link_rate as f64).min(0.01) } else { 0.01 };
    Ok(Box::new(Ared {
        red: Red::new(settings, Thresholds::above(settings, min_th)?, settings.flag("gentle"))?
            .with_gentle_line(settings),
        adapt: if at_arrival {
            Adapt::Arrival { interval, changed: Time::ZERO }
        } else {
            Adapt::Timer(Ticks::every(interval))
        },
        alpha: settings.number("alpha"),
        beta: settings.number("beta"),
        top: settings.number("top"),
        bottom: settings.number_or("bottom", floor),
        hysteresis,
        below: 0,
    }))
}

impl Ared {
    /// One step of max_p towards an average in the middle of the thresholds; says whether it moved.
    fn adapt(&mut self, now: Time) -> bool {
        let avg = self.red.average.at(now);
        let Thresholds { min, max, .. } = *self.red.thresholds();
        let band = 0.4 * (max - min);
        let max_p = self.red.max_p_mut();
        if avg > max - band && *max_p < self.top {
            *max_p = (*max_p + (*max_p / 4.0).min(self.alpha)).min(1.0);
        } else if avg < min + band && *max_p > self.bottom {
            self.below += 1;
            if self.below < self.hysteresis {
                return false;
            }
            *max_p *= self.beta;
        } else {
            self.below = 0;
            return false;
        }
        self.below = 0;
        true
    }
}

impl IgnoresContents for Ared {}

impl Aqm for Ared {
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        self.red.on_offered(now, packet, queue);
        let Adapt::Arrival { interval, changed } = self.adapt else { return };
        if now.since(changed) > interval && self.adapt(now) {
            self.adapt = Adapt::Arrival { interval, changed: now };
        }
    }

    fn on_arrival(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        self.red.on_arrival(now, packet, queue, rng)
    }

    fn on_drop(&mut self, now: Time, packet: &PacketView, cause: Cause, queue: &QueueView) {
        self.red.on_drop(now, packet, cause, queue);
    }

    fn on_idle(&mut self, now: Time) {
        self.red.on_idle(now);
    }

    fn next_timer(&self) -> Option<Time> {
        match &self.adapt {
            Adapt::Timer(ticks) => Some(ticks.due()),
            Adapt::Arrival { .. } => None,
        }
    }

    fn on_timer(&mut self, now: Time, _: &QueueView) {
        self.adapt(now);
        if let Adapt::Timer(ticks) = &mut self.adapt {
            ticks.advance(now);
        }
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        self.red.probe(field);
        field("max_p", self.red.max_p());
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
