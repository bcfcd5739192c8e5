//! **ARED (Adaptive RED; Floyd, Gummadi and Shenker 2001)** is gentle RED with adaptive `max_p`: every 0.5 s
//! it increases `max_p` if the average queue is above a target band midway between the thresholds, and
//! decreases it if the average is below the band.
//!
//! The drop probability that RED needs depends on the number of flows, which is not known in advance; with a
//! fixed `max_p` the queue is therefore long for many flows and short for few. The thresholds and `w_q` are
//! derived from the link rate and a target delay, so that no parameter has to be set.
//!
//! # When it decides
//! On arrival, as `gred`, with the current `max_p`. With D = max_th - min_th, every `interval`: if avg >
//! min_th + 0.6 D and max_p < `top`, max_p <- max_p + min(`alpha`, max_p/4); if avg < min_th + 0.4 D and
//! max_p > `bottom`, max_p <- `beta` max_p. max_p is compared with the bounds before the step, so that it may
//! exceed them by one step. With `hysteresis` n, max_p decreases only after n such periods in a row; any
//! other period and the decrease itself restart the count.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | when max_p changes | at a timer | ns-2, ns-3: at an arrival, once `interval` has passed since the last *change* (`adapt arrival`) | the paper: every 0.5 s; preset `ns2` |
//! | average at the timer of an idle link | decayed as for an arrival | ns-2 does not adapt without arrivals | a stale average would let max_p rise on an idle link |
//! | gentle line | starts at the current max_p | ns-2: at the initial max_p (`gentle_line first`), so that the probability jumps at max_th | the line in the paper's figure is continuous; preset `ns2`: with 400 flows the mean queue is 1.5 times as long |
//! | floor of max_p | 0.01 | ns-2.35: min(0.01, 80 kbit/s / rate) (`adapt arrival`) | the paper; preset `ns2` |
//! | w_q for a long link | 1 - exp(-1/C) | ns-2: a longer memory if 3 (delay + packet time) exceeds 100 ms | the delay of the link is not a parameter of the queue; the paper assumes 100 ms |
//! | values of w_q | any real number | Linux: powers of two, 2^-n | floating point needs no shift |
//! | hysteresis | off (1) | Byun and Baras 2007: a decrease needs n periods, n not printed | the paper has none; `hysteresis 10` runs the reading of Byun and Baras |
//!
//! # References
//! S. Floyd, R. Gummadi, S. Shenker: Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active
//! Queue Management, 2001. D. J. Byun, J. S. Baras: AVQRED, 2007 (hysteresis). ns-2 `queue/red.cc`
//! (`adaptive_`).

use crate::{
    Algorithm, Aqm, Cause, Context, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random,
    Range, Span, SpecError, Ticks, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    red::{self, Count, GentleEnd, GentleLine, Listing, Red},
    red_family::{self, EcnForced, Thresholds},
    units::{Bytes, Size},
};
use alloc::boxed::Box;

const PAPER: &str = "Floyd, Gummadi and Shenker 2001";

choice! {
    /// When max_p may change.
    pub enum Adapt {
        /// Every `interval`.
        Timer = "timer",
        /// At the first arrival an `interval` after the last change.
        Arrival = "arrival",
    }
}

config! {
    /// The parameters of ARED.
    pub struct Config {
        /// Target of the mean queueing delay: min_th is half the packets sent in this time, at least 5
        target_delay: Span = Param::fixed("5ms").unit("s").range(common::PERIOD).source(PAPER);
        /// Average queue below which no packet is signalled
        min_th: Option<Size> = Param::derived("max(5, target_delay C/2) packets")
            .unit("packets or bytes")
            .range(Range::POSITIVE)
            .source(PAPER)
            .tc("min");
        #[doc = meaning!(max_th)]
        max_th: Option<Size> = red_family::MAX_TH;
        /// Initial base probability just below max_th
        max_p: f64 = Param::fixed("0.1").range(Range::SHARE).source("ns-2 red.cc; Linux");
        /// Weight of the current queue in the average
        w_q: Option<f64> = Param::derived("1 - exp(-1/C), C in packets/s").range(Range::SHARE).source(PAPER);
        /// Time between two adaptations of max_p
        interval: Span = Param::fixed("500ms").unit("s").range(common::PERIOD).source(PAPER);
        /// Largest increase of max_p, at most max_p/4
        alpha: f64 = Param::fixed("0.01").range(Range::SHARE).source(PAPER);
        /// Factor of max_p at a decrease; above 0.83 one step stays inside the target band
        beta: f64 = Param::fixed("0.9").range(Range::FRACTION).source(PAPER);
        /// max_p increases only while it is below this value
        top: f64 = Param::fixed("0.5").range(Range::SHARE).source(PAPER);
        /// max_p decreases only while it is above this value
        bottom: Option<f64> = Param::derived("0.01; with `adapt arrival` min(0.01, 80 kbit/s / rate)")
            .range(Range::PROBABILITY)
            .source(PAPER);
        /// Consecutive periods with an average below the target band before max_p decreases
        hysteresis: u32 = Param::fixed("1")
            .unit("periods")
            .range(Range { min: 1.0, max: 1e6, above: false, below: false })
            .source(PAPER);
        /// Adapt max_p every interval, or at the first arrival an interval after the last change
        adapt: Adapt = Param::fixed("timer").source(PAPER).ns2("arrival");
        #[doc = meaning!(gentle)]
        gentle: bool = Param::fixed("on").source(PAPER);
        #[doc = meaning!(gentle_end)]
        gentle_end: GentleEnd = red::GENTLE_END;
        #[doc = meaning!(gentle_line)]
        gentle_line: GentleLine = red::GENTLE_LINE;
        #[doc = meaning!(wait)]
        wait: bool = red_family::WAIT;
        #[doc = meaning!(count)]
        count: Count = red::COUNT;
        #[doc = meaning!(listing)]
        listing: Listing = red::LISTING;
        #[doc = meaning!(max_packet)]
        max_packet: Bytes = red_family::MAX_PACKET;
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = red_family::MEAN_PACKET;
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
        #[doc = meaning!(ecn_forced)]
        ecn_forced: EcnForced = red_family::ECN_FORCED;
        #[doc = meaning!(mark_p)]
        mark_p: f64 = red::MARK_P;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "ared",
    title: "Adaptive RED",
    alias_of: None,
    source: PAPER,
    params: Config::PARAMS,
    probes: &[
        red::PROBES[0],
        red::PROBES[1],
        red::PROBES[2],
        red::PROBES[3],
        Probe { name: "max_p", unit: "", doc: "current max_p" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("ared.rs"),
    instance: crate::instance!(Ared),
    build: |s| s.build(|config| Ared::new(config, &s.context)),
};

/// When max_p may change.
#[derive(Clone, Debug)]
enum Clock {
    /// At these ticks.
    Timer(Ticks),
    /// At an arrival more than `interval` after the last change.
    Arrival { interval: Span, changed: Time },
}

/// The state of ARED.
#[derive(Clone, Debug)]
pub struct Ared {
    /// RED with the current max_p.
    red: Red,
    adapt: Clock,
    alpha: f64,
    beta: f64,
    top: f64,
    bottom: f64,
    hysteresis: u32,
    /// Consecutive periods with an average below the target band.
    below: u32,
}

impl Ared {
    /// ARED for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; values that do not fit together.
    pub fn new(config: Config, link: &Context) -> Result<Ared, SpecError> {
        config.check()?;
        let mean_packet = common::mean_packet(config.mean_packet, link);
        let in_target = config.target_delay.as_secs_f64() * link.link_rate as f64 / (8.0 * mean_packet);
        let at_arrival = config.adapt == Adapt::Arrival;
        if at_arrival && config.hysteresis > 1 {
            return Err(SpecError::about("hysteresis", "counts periods of the timer", "adapt timer"));
        }
        let floor = if at_arrival { (80_000.0 / link.link_rate as f64).min(0.01) } else { 0.01 };
        let red = red::Config {
            min_th: config.min_th.unwrap_or(Size::Packets((in_target / 2.0).max(5.0))),
            max_th: config.max_th,
            max_p: config.max_p,
            w_q: config.w_q.unwrap_or_else(|| red_family::automatic_weight(mean_packet, link)),
            gentle: config.gentle,
            gentle_end: config.gentle_end,
            wait: config.wait,
            count: config.count,
            listing: config.listing,
            max_packet: config.max_packet,
            mean_packet: config.mean_packet,
            ecn: config.ecn,
            ecn_forced: config.ecn_forced,
            mark_p: config.mark_p,
        };
        Ok(Ared {
            red: Red::new(red, link)?.with_gentle_line(config.gentle_line),
            adapt: if at_arrival {
                Clock::Arrival { interval: config.interval, changed: Time::ZERO }
            } else {
                Clock::Timer(Ticks::every(config.interval))
            },
            alpha: config.alpha,
            beta: config.beta,
            top: config.top,
            bottom: config.bottom.unwrap_or(floor),
            hysteresis: config.hysteresis,
            below: 0,
        })
    }

    /// One adaptation of max_p; returns whether it changed.
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
        let Clock::Arrival { interval, changed } = self.adapt else { return };
        if now.since(changed) > interval && self.adapt(now) {
            self.adapt = Clock::Arrival { interval, changed: now };
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
            Clock::Timer(ticks) => Some(ticks.due()),
            Clock::Arrival { .. } => None,
        }
    }

    fn on_timer(&mut self, now: Time, _: &QueueView, _: &mut dyn Random) {
        self.adapt(now);
        if let Clock::Timer(ticks) = &mut self.adapt {
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
