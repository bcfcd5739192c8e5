//! **RED (Random Early Detection; Floyd and Jacobson 1993)** drops or marks arrivals at random, with a
//! probability that increases with the *average* queue, so that senders slow down one by one before the
//! buffer is full.
//!
//! Each arrival updates `avg`, an exponentially weighted average of the queue. Below `min_th` no packet is
//! signalled. Between the thresholds the base probability p_b increases from 0 to `max_p`; from p_b and a
//! counter of packets since the last signal follows the probability p_a, which spaces the signals evenly
//! instead of in bursts. From `max_th` on every packet is signalled; `gentle` replaces that jump by a second,
//! steeper line. `sojourn.rules.redopt` computes thresholds, `max_p` and `w_q` from the load.
//!
//! # When it decides
//! On arrival. The average is updated at every arrival, even of a packet that does not fit; after an idle
//! time it decays as if floor(idle time / time of a mean packet) packets had found an empty queue. Thresholds
//! in bytes select byte mode: the average is over bytes and p_b is scaled by packet size / `max_packet`.
//! Random signals are `early`; where every packet is signalled they are `forced`. An overflow restarts the
//! counter.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | increment of count | before the test | FJ93's text: after it (`count after`) | FJ93's listing: the first packet after a mark has count 1, gaps are uniform on 1..1/p_b - 1 |
//! | minimum gap after a signal | none | ns-2: no signal before 1/p_b packets have passed (`wait`) | FJ93; preset `ns2` |
//! | arrival procedure | FJ93 | `listing ns2`: every arrival counts, the one on which avg crosses min_th is not tested, no packet is dropped at a queue of at most one packet, one more decay step after an idle time | agreement with traces of ns-2.35; preset `ns2` |
//! | byte mode | p_b scaled by the largest packet, before the count correction | `listing ns2`: p_a scaled by the mean packet, count in whole mean packets of bytes | FJ93, section on byte mode |
//! | ECN above max_th | mark | RFC 3168 allows a drop, ns-2 drops (`ecn_forced drop`) | FJ93 does not distinguish mark and drop |
//! | `gentle` | off by default | ns-2.35: on by default | `gred` is RED with `gentle` |
//! | end of the gentle line | 2 max_th | the buffer (`gentle_end limit`) | Floyd's note; the text of Brandauer et al. can be read as the other |
//! | `mark_p` | 1: every random signal marks | ns-2.35: from p_b = 0.1 on, ECN-capable packets are dropped | FJ93 does not distinguish mark and drop; preset `ns2` |
//! | random test | u < p | ns-2: u <= p | u is in [0, 1): no signal at p = 0, a certain one at p = 1 |
//!
//! # References
//! S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993
//! ("FJ93"). S. Floyd: notes on RED parameters, 1997, and on gentle RED, 2000. RFC 2309. ns-2 `queue/red.cc`.

use crate::{
    Algorithm, Aqm, Cause, Context, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random,
    Range, SpecError, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    red_family::{self, Average, EcnForced, Thresholds, spread},
    units::{Bytes, Size},
};
use alloc::boxed::Box;
use variant::{Counting, FJ93, NS2, Usual, Variant};

mod variant;

pub(crate) const GENTLE: Param = Param::fixed("off").source("FJ93; the line is Floyd 2000");
pub(crate) const GENTLE_END: Param = Param::fixed("2max_th").source("Floyd 2000");
pub(crate) const GENTLE_LINE: Param = Param::fixed("follow").source("Floyd 2000").ns2("first");
pub(crate) const COUNT: Param = Param::fixed("before").source("FJ93, listing").linux("after");
pub(crate) const MARK_P: Param =
    Param::fixed("1").range(Range::SHARE).source("FJ93").ns2("0.1").ns2_2001("1");
pub(crate) const LISTING: Param = Param::fixed("fj93").source("FJ93").ns2("ns2");

choice! {
    /// Where the gentle line reaches 1.
    pub enum GentleEnd {
        /// At twice `max_th`.
        TwiceMaxTh = "2max_th",
        /// At the buffer limit.
        Limit = "limit",
    }
}

choice! {
    /// Where the gentle line begins, for the algorithms that adapt `max_p`.
    pub enum GentleLine {
        /// At the current `max_p`.
        Follow = "follow",
        /// At the initial `max_p`.
        First = "first",
    }
}

choice! {
    /// Whether the counter counts a packet before its test.
    pub enum Count {
        /// Before, as FJ93's listing.
        Before = "before",
        /// After, as FJ93's text.
        After = "after",
    }
}

choice! {
    /// The arrival procedure.
    pub enum Listing {
        /// The paper's.
        Fj93 = "fj93",
        /// That of ns-2.35.
        Ns2 = "ns2",
    }
}

config! {
    /// The parameters of RED.
    pub struct Config {
        #[doc = meaning!(min_th)]
        min_th: Size = red_family::MIN_TH;
        #[doc = meaning!(max_th)]
        max_th: Option<Size> = red_family::MAX_TH;
        #[doc = meaning!(max_p)]
        max_p: f64 = red_family::MAX_P;
        #[doc = meaning!(w_q)]
        w_q: f64 = red_family::W_Q;
        #[doc = meaning!(gentle)]
        gentle: bool = GENTLE;
        #[doc = meaning!(gentle_end)]
        gentle_end: GentleEnd = GENTLE_END;
        #[doc = meaning!(wait)]
        wait: bool = red_family::WAIT;
        #[doc = meaning!(count)]
        count: Count = COUNT;
        #[doc = meaning!(listing)]
        listing: Listing = LISTING;
        #[doc = meaning!(max_packet)]
        max_packet: Bytes = red_family::MAX_PACKET;
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = red_family::MEAN_PACKET;
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
        #[doc = meaning!(ecn_forced)]
        ecn_forced: EcnForced = red_family::ECN_FORCED;
        #[doc = meaning!(mark_p)]
        mark_p: f64 = MARK_P;
    }
}

pub(crate) const PROBES: &[Probe] = &[
    Probe { name: "avg", unit: "packets or bytes", doc: "average queue" },
    Probe { name: "p", unit: "", doc: "base probability p_b at avg" },
    Probe {
        name: "p_a",
        unit: "",
        doc: "signalling probability of the last arrival, 0 if it was not tested",
    },
    Probe {
        name: "count",
        unit: "packets",
        doc: "packets since the last signal; -1 below min_th (`count after`: 0)",
    },
];

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "red",
    title: "Random Early Detection",
    alias_of: None,
    source: "Floyd and Jacobson 1993",
    params: Config::PARAMS,
    probes: PROBES,
    ns2_limit_counts_service: false,
    file: include_str!("red.rs"),
    instance: crate::instance!(Red),
    build: |s| s.build(|config| Red::new(config, &s.context)),
};

/// Constant parameters, except an adapted `max_p`.
#[derive(Clone, Debug)]
struct Constants {
    variant: Variant,
    usual: Usual,
    thresholds: Thresholds,
    /// Average from which every packet is signalled.
    certain: f64,
    max_p: f64,
    /// Where the gentle line begins, if not at the current max_p.
    gentle_start: Option<f64>,
    max_packet: f64,
    mean_packet: f64,
    ecn: bool,
    mark_forced: bool,
    /// Base probability from which a random signal is a drop; above 1 if none is.
    mark_p: f64,
}

/// The state of RED.
#[derive(Clone, Debug)]
pub struct Red {
    config: Constants,
    /// Average of the queue.
    pub(crate) average: Average,
    /// Packets since the last signal; at its start value while avg is below min_th.
    count: i64,
    /// ns-2: the first arrival with avg above min_th, which is not tested, is over.
    crossed: bool,
    /// ns-2: the current arrival is not tested.
    untested: bool,
    /// Signalling probability of the last arrival.
    p_a: f64,
    /// Bytes since the last signal (ns-2's byte mode).
    count_bytes: u64,
}

impl Red {
    /// RED for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; values that do not fit together.
    pub fn new(config: Config, link: &Context) -> Result<Red, SpecError> {
        config.check()?;
        let thresholds = Thresholds::new(config.min_th, config.max_th)?;
        let mean_packet = common::mean_packet(config.mean_packet, link);
        let certain = match (config.gentle, config.gentle_end) {
            (false, _) => thresholds.max,
            (true, GentleEnd::Limit) => common::amount(common::limit(link), thresholds.bytes, mean_packet),
            (true, GentleEnd::TwiceMaxTh) => 2.0 * thresholds.max,
        };
        if config.gentle && certain <= thresholds.max {
            let problem = "= limit is not above max_th";
            return Err(SpecError::about("gentle_end", problem, "a limit above max_th"));
        }
        let counting = match (config.listing, config.count) {
            (Listing::Ns2, Count::After) => {
                return Err(SpecError::about("count", "= after is not how ns-2 counts", "listing fj93"));
            }
            (Listing::Ns2, Count::Before) => Counting::Ns2,
            (Listing::Fj93, Count::After) => Counting::After,
            (Listing::Fj93, Count::Before) => Counting::Before,
        };
        let is_ns2 = counting == Counting::Ns2;
        let average = Average::new(config.w_q, mean_packet, link, thresholds.bytes, is_ns2);
        let variant = Variant { counting, bytes: thresholds.bytes, wait: config.wait, quadratic: false };
        let constants = Constants {
            variant,
            usual: Usual::of(variant),
            thresholds,
            certain,
            max_p: config.max_p,
            gentle_start: None,
            max_packet: config.max_packet.0,
            mean_packet,
            ecn: config.ecn,
            mark_forced: config.ecn_forced == EcnForced::Mark,
            mark_p: if config.mark_p < 1.0 { config.mark_p } else { f64::INFINITY },
        };
        let count = counting.start();
        let (crossed, untested) = (false, false);
        Ok(Red { config: constants, average, count, count_bytes: 0, crossed, untested, p_a: 0.0 })
    }

    /// NLRED: RED whose probability rises with the square of the average between the thresholds, up to 1.5
    /// `max_p`.
    ///
    /// # Errors
    /// As [`Red::new`]; a `max_p` above 2/3.
    pub fn nonlinear(config: Config, link: &Context) -> Result<Red, SpecError> {
        let end = 1.5 * config.max_p;
        if end > 1.0 {
            return Err(SpecError::about("max_p", "is above 2/3: the curve ends at 1.5 max_p", "(0, 2/3]"));
        }
        let mut red = Red::new(config, link)?;
        red.config.max_p = end;
        red.config.variant.quadratic = true;
        red.config.usual = Usual::Neither;
        Ok(red)
    }

    /// The gentle line begins at `line`, for the algorithms that adapt max_p.
    pub(crate) fn with_gentle_line(mut self, line: GentleLine) -> Red {
        self.config.gentle_start = (line == GentleLine::First).then_some(self.config.max_p);
        self
    }

    /// The thresholds, for algorithms that adapt max_p.
    pub(crate) fn thresholds(&self) -> &Thresholds {
        &self.config.thresholds
    }

    /// The current max_p.
    pub(crate) fn max_p(&self) -> f64 {
        self.config.max_p
    }

    /// The current max_p, for algorithms that adapt it.
    pub(crate) fn max_p_mut(&mut self) -> &mut f64 {
        &mut self.config.max_p
    }

    /// Update the average at an arrival, whether or not the packet fits.
    #[inline(always)]
    fn see(&mut self, variant: Variant, now: Time, packet: &PacketView, queue: &QueueView) {
        let queue = if variant.bytes { queue.bytes as f64 } else { f64::from(queue.packets) };
        self.average.update(now, queue);
        if variant.counting == Counting::Ns2 {
            self.count_as_ns2(variant, packet, queue);
        }
    }

    /// ns-2 counts every arrival, and exempts from the test an arrival that finds at most one
    /// packet (byte) and the first one above min_th.
    #[inline(always)]
    fn count_as_ns2(&mut self, variant: Variant, packet: &PacketView, queue: f64) {
        self.count += 1;
        if variant.bytes {
            self.count_bytes += u64::from(packet.bytes);
        }
        let above = !self.is_below() && queue > 1.0;
        self.untested = !above;
        if !above {
            self.crossed = false;
        } else if !self.crossed && self.average.avg < self.config.certain {
            self.count = 1;
            self.count_bytes = u64::from(packet.bytes);
            self.crossed = true;
            self.untested = true;
        }
    }

    /// The verdict on an arrival that fits.
    #[inline(always)]
    fn decide(&mut self, variant: Variant, packet: &PacketView, rng: &mut dyn Random) -> Verdict {
        if variant.counting == Counting::Ns2 {
            if self.untested {
                self.p_a = 0.0;
                return Verdict::Pass;
            }
        } else if self.is_below() {
            self.p_a = 0.0;
            self.count = variant.counting.start();
            return Verdict::Pass;
        }
        let Some(p_b) = self.base(variant) else {
            self.p_a = 1.0;
            self.restart_count();
            return Verdict::signal(packet, self.config.ecn && self.config.mark_forced, Cause::Forced);
        };
        self.p_a = self.probability(variant, p_b, packet.bytes);
        if rng.happens(self.p_a) {
            self.restart_count();
            Verdict::signal(packet, self.config.ecn && p_b < self.config.mark_p, Cause::Early)
        } else {
            Verdict::Pass
        }
    }

    /// An arrival that fits.
    #[inline(always)]
    fn arrive(
        &mut self,
        variant: Variant,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        self.see(variant, now, packet, queue);
        self.decide(variant, packet, rng)
    }

    /// Whether the average is in the region without signals.
    #[inline]
    fn is_below(&self) -> bool {
        self.average.avg < self.config.thresholds.min
    }

    /// The base probability p_b of the current average; `None` if every packet is signalled.
    #[inline(always)]
    fn base(&self, variant: Variant) -> Option<f64> {
        let Constants { thresholds: Thresholds { min, max, .. }, certain, max_p, gentle_start, .. } =
            self.config;
        let avg = self.average.avg;
        if self.is_below() {
            Some(0.0)
        } else if avg < max {
            let linear = max_p * (avg - min) / (max - min);
            Some(if variant.quadratic { linear * (avg - min) / (max - min) } else { linear })
        } else if avg < certain {
            let start = gentle_start.unwrap_or(max_p);
            Some(start + (1.0 - start) * (avg - max) / (certain - max))
        } else {
            None
        }
    }

    /// The probability p_a of a packet while the signal is random; counts the packet.
    #[inline(always)]
    fn probability(&mut self, variant: Variant, p_b: f64, bytes: u32) -> f64 {
        let Constants { max_packet, mean_packet, .. } = self.config;
        let Variant { wait, counting, .. } = variant;
        let size = f64::from(bytes);
        if variant.bytes && counting == Counting::Ns2 {
            let count = libm::floor(self.count_bytes as f64 / mean_packet);
            let p_a = spread(p_b, count, wait);
            return if p_a < 1.0 { (p_a * size / mean_packet).min(1.0) } else { 1.0 };
        }
        let count = self.count_one(counting);
        spread(if variant.bytes { p_b * size / max_packet } else { p_b }, count, wait)
    }

    /// Count a tested packet, unless every arrival has been counted; returns the count for its test.
    #[inline]
    fn count_one(&mut self, counting: Counting) -> f64 {
        let before = self.count;
        let found = match counting {
            Counting::Ns2 => return before as f64,
            Counting::Before => before + 1,
            Counting::After => before,
        };
        self.count += 1;
        found as f64
    }

    fn restart_count(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }
}

impl IgnoresContents for Red {}

impl Aqm for Red {
    #[inline]
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        self.see(self.config.variant, now, packet, queue);
    }

    fn on_arrival(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        self.decide(self.config.variant, packet, rng)
    }

    /// Compiled for the usual variants, so that they test no option per packet.
    #[inline(always)]
    fn on_fit(&mut self, now: Time, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) -> Verdict {
        match self.config.usual {
            Usual::Ns2 => self.arrive(NS2, now, packet, queue, rng),
            Usual::Fj93 => self.arrive(FJ93, now, packet, queue, rng),
            Usual::Neither => self.arrive(self.config.variant, now, packet, queue, rng),
        }
    }

    fn on_drop(&mut self, _: Time, _: &PacketView, _: Cause, _: &QueueView) {
        self.restart_count();
    }

    fn on_idle(&mut self, now: Time) {
        self.average.idle(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("avg", self.average.avg);
        field("p", self.base(self.config.variant).unwrap_or(1.0));
        field("p_a", self.p_a);
        field("count", self.count as f64);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
