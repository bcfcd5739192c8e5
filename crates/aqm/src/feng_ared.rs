//! **Self-configuring RED (Feng, Kandlur, Saha and Shin 1999)** was the first RED that adapts `max_p`: it
//! divides `max_p` when the average queue falls below `min_th` and multiplies it when the average rises above
//! `max_th`.
//!
//! An average below the thresholds shows that RED is too aggressive for the current load, an average above
//! them that it is not aggressive enough. `max_p` changes once when the average *enters* such a region, and
//! not while it stays there. `ared` later replaced these large steps by small periodic ones.
//!
//! # When it decides
//! On arrival, as `red`, with the current `max_p`. With `trigger thresholds`, after each update of the
//! average: if avg < min_th and it was not below before, max_p <- max_p / `alpha`; if avg > max_th and it was
//! not above before, max_p <- max_p `beta`; strictly between the thresholds it is neither below nor above.
//! With `trigger overflow_idle` an overflow multiplies max_p and a link that becomes idle divides it. max_p
//! stays in [`bottom`, `top`].
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | trigger | thresholds | the BIO paper: overflow and idle link (`trigger overflow_idle`) | the authors' paper; the other form is closer to BLUE |
//! | symbols | alpha divides, beta multiplies | the BIO paper: the reverse | the authors' notation |
//! | bounds of max_p | [0.0001, 1] | none | each entry below min_th divides max_p by 3: without a lower bound it soon becomes negligible, and stays so until avg exceeds max_th |
//! | default alpha and beta | 3 and 2 | ns-2: those of Adaptive RED, 0.01 and 0.9 | the authors do not intend a division by 0.01 |
//! | gentle line | starts at the current max_p | ns-2: at the initial max_p (`gentle_line first`) | as `ared`; preset `ns2` |
//! | initial region | between | ns-3: above | no average has been measured yet; the first arrival finds it below in both cases |
//!
//! # References
//! W. Feng, D. Kandlur, D. Saha, K. Shin: A Self-Configuring RED Gateway, INFOCOM 1999. ns-2 `queue/red.cc`
//! (`feng_adaptive_`).

use crate::{
    Algorithm, Aqm, Cause, Context, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random,
    Range, SpecError, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    red::{self, Count, GentleEnd, GentleLine, Listing, Red},
    red_family::{self, EcnForced, Thresholds},
    units::{Bytes, Size},
};
use alloc::boxed::Box;

const PAPER: &str = "Feng, Kandlur, Saha and Shin 1999";
const FACTOR: Range = Range { min: 1.0, max: 1e6, above: true, below: false };

choice! {
    /// What changes max_p.
    pub enum Trigger {
        /// The average crossing a threshold.
        Thresholds = "thresholds",
        /// Overflows and idle periods.
        OverflowIdle = "overflow_idle",
    }
}

config! {
    /// The parameters of Feng's self-configuring RED.
    pub struct Config {
        #[doc = meaning!(min_th)]
        min_th: Size = red_family::MIN_TH;
        #[doc = meaning!(max_th)]
        max_th: Option<Size> = red_family::MAX_TH;
        /// Initial base probability just below max_th
        max_p: f64 = Param::fixed("0.1").range(Range::SHARE).source("Floyd 1997");
        #[doc = meaning!(w_q)]
        w_q: f64 = red_family::W_Q;
        /// What changes max_p: the average crossing a threshold, or overflows and idle periods
        trigger: Trigger = Param::fixed("thresholds").source(PAPER);
        /// Divisor of max_p at a decrease
        alpha: f64 = Param::fixed("3").range(FACTOR).source(PAPER);
        /// Factor of max_p at an increase
        beta: f64 = Param::fixed("2").range(FACTOR).source(PAPER);
        /// Lower bound of max_p
        bottom: f64 = Param::fixed("0.0001").range(Range::PROBABILITY).source("ours: the paper has none");
        /// Upper bound of max_p
        top: f64 = Param::fixed("1").range(Range::SHARE).source("ours: a probability");
        #[doc = meaning!(gentle)]
        gentle: bool = red::GENTLE;
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
    name: "feng_ared",
    title: "Self-configuring RED (Feng)",
    alias_of: None,
    source: PAPER,
    params: Config::PARAMS,
    probes: &[
        red::PROBES[0],
        red::PROBES[1],
        red::PROBES[2],
        red::PROBES[3],
        Probe { name: "max_p", unit: "", doc: "current max_p" },
        Probe { name: "status", unit: "", doc: "last region of the average: -1 below, 0 between, 1 above" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("feng_ared.rs"),
    instance: crate::instance!(FengAred),
    build: |s| s.build(|config| FengAred::new(config, &s.context)),
};

/// The region of the average.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Status {
    /// Below min_th.
    Below,
    /// Between the thresholds.
    Between,
    /// Above max_th.
    Above,
}

/// The state of self-configuring RED.
#[derive(Clone, Debug)]
pub struct FengAred {
    /// RED with the current max_p.
    red: Red,
    /// Overflows and idle periods change max_p; thresholds do not.
    overflow_idle: bool,
    alpha: f64,
    beta: f64,
    bottom: f64,
    top: f64,
    /// The last region of the average that was not exactly on a threshold.
    status: Status,
}

impl FengAred {
    /// Self-configuring RED for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; values that do not fit together.
    pub fn new(config: Config, link: &Context) -> Result<FengAred, SpecError> {
        config.check()?;
        let (bottom, top) = (config.bottom, config.top);
        if !(bottom..=top).contains(&config.max_p) {
            let allowed = "bottom <= max_p <= top";
            return Err(SpecError::about("max_p", "is not between bottom and top", allowed));
        }
        let red = red::Config {
            min_th: config.min_th,
            max_th: config.max_th,
            max_p: config.max_p,
            w_q: config.w_q,
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
        Ok(FengAred {
            red: Red::new(red, link)?.with_gentle_line(config.gentle_line),
            overflow_idle: config.trigger == Trigger::OverflowIdle,
            alpha: config.alpha,
            beta: config.beta,
            bottom,
            top,
            status: Status::Between,
        })
    }

    fn decrease(&mut self) {
        *self.red.max_p_mut() = (self.red.max_p() / self.alpha).max(self.bottom);
    }

    fn increase(&mut self) {
        *self.red.max_p_mut() = (self.red.max_p() * self.beta).min(self.top);
    }

    /// An average that enters a region changes max_p; one exactly on a threshold keeps its region.
    fn watch(&mut self) {
        let avg = self.red.average.avg;
        let Thresholds { min, max, .. } = *self.red.thresholds();
        if min < avg && avg < max {
            self.status = Status::Between;
        } else if avg < min && self.status != Status::Below {
            self.status = Status::Below;
            self.decrease();
        } else if avg > max && self.status != Status::Above {
            self.status = Status::Above;
            self.increase();
        }
    }
}

impl IgnoresContents for FengAred {}

impl Aqm for FengAred {
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        self.red.on_offered(now, packet, queue);
        if !self.overflow_idle {
            self.watch();
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
        if self.overflow_idle {
            self.increase();
        }
    }

    fn on_idle(&mut self, now: Time) {
        self.red.on_idle(now);
        if self.overflow_idle {
            self.decrease();
        }
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        self.red.probe(field);
        field("max_p", self.red.max_p());
        field("status", f64::from(self.status as i8 - Status::Between as i8));
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
