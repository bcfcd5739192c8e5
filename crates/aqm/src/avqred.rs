//! **AVQRED (Adaptive Virtual Queue RED; Byun and Baras 2007)** is RED on the length of a virtual queue that
//! is drained at the smoothed departure rate of the real one.
//!
//! The virtual capacity is measured, because a fixed one is wrong if the rate of a link or a processor
//! varies. RED uses the virtual queue without averaging and with max_p = 1, so that neither w_q nor max_p has
//! to be tuned, and the real buffer may be arbitrarily small.
//!
//! # When it decides
//! On arrival. If the last measurement ended more than `interval` ago, with dt the time since then: out =
//! bits sent / dt, v_capacity <- alpha out + (1 - alpha) v_capacity, limited to [min_capacity, max_capacity],
//! and the virtual queue VQ decreases by gamma v_capacity dt. With x = VQ / `unit`: strictly between the
//! thresholds, p_b = (x - min_th)/(max_th - min_th), and the packet is signalled with the p_a that RED's
//! counter computes from p_b (`early`); from max_th on every packet is signalled (`forced`). An accepted
//! packet, marked or not, adds its size to VQ.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | start of a measurement | the end of the last one | the paper's listing: every arrival (`listing literal`) | with arrivals less than 1 ms apart, the usual case, VQ would never drain |
//! | packets added to VQ | every accepted packet | the listing: only those that find VQ at or below min_th (`listing literal`) | with the listing VQ exceeds min_th by at most one packet and never reaches max_th |
//! | p_a at count p_b >= 1 | 1 | the listing: p_b/(1 - count p_b), infinite or negative (`listing literal`) | p_a is a probability |
//! | unit of time | nanoseconds | the listing: milliseconds | in whole milliseconds "more than 1" would mean at least 2 |
//! | VQ / 1500 | a real number | not specified | in whole packets p_b would change in steps of 1/11 |
//! | initial v_capacity | min_capacity | not specified | the paper states that with a low min_capacity the rate is found later |
//! | max_capacity, min_capacity | the link rate, and 13/25 of it | the paper, Table 1: 25 and 13 Mbit/s | the paper's values are those of its gateway's processor; the ratio is kept |
//! | desired utilization | `gamma`, 1 | in the text, not in the listing | the listing drains VQ at v_capacity |
//! | rate of signals | 2 p_b, and 1 above the midpoint of the thresholds | the paper's fluid model: p_b | the effect of RED's counter, which the listing has |
//!
//! # References
//! D. J. Byun, J. S. Baras: A New Rate-based Active Queue Management: Adaptive Virtual Queue RED, CNSR 2007.

use crate::{
    Algorithm, Aqm, Cause, Context, IgnoresContents, PacketView, Param, Probe, QueueView, Random, Range,
    Span, SpecError, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    red_family::spread,
    units::{Bytes, Size},
};
use alloc::boxed::Box;

const PAPER: &str = "Byun and Baras 2007";

choice! {
    /// How the printed listing is read.
    pub enum Listing {
        /// The intended algorithm.
        Cleaned = "cleaned",
        /// The listing as printed, which cannot work (for demonstration).
        Literal = "literal",
    }
}

config! {
    /// The parameters of AVQRED.
    pub struct Config {
        /// Weight of the last measured rate in v_capacity
        alpha: f64 = Param::fixed("0.05").range(Range::SHARE).source(PAPER);
        /// Minimum virtual capacity
        min_capacity: Option<u64> = Param::derived("13/25 of max_capacity")
            .unit("bit/s")
            .source("the ratio of Byun and Baras 2007");
        /// Maximum virtual capacity
        max_capacity: Option<u64> = Param::derived("the configured link rate")
            .unit("bit/s")
            .source("the scenario");
        /// Virtual queue up to which no packet is signalled
        min_th: Size = Param::fixed("10p").unit("units or bytes").range(Range::POSITIVE).source(PAPER);
        /// Virtual queue from which every packet is signalled
        max_th: Size = Param::fixed("21p").unit("units or bytes").range(Range::POSITIVE).source(PAPER);
        /// Unit of the thresholds of the virtual queue
        unit: Bytes = Param::fixed("1500B").unit("B").range(common::PACKET_BYTES).source(PAPER);
        /// Minimum duration of a measurement
        interval: Span = Param::fixed("1ms").unit("s").range(common::PERIOD).source(PAPER);
        /// Desired utilization: the virtual queue is drained at gamma v_capacity
        gamma: f64 = Param::fixed("1")
            .range(Range::SHARE)
            .source("ours: the text names it, the listing does not");
        /// The intended algorithm, or the listing as printed, which cannot work (for demonstration)
        listing: Listing = Param::fixed("cleaned").source("see the differences");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "avqred",
    title: "Adaptive Virtual Queue RED",
    alias_of: None,
    source: PAPER,
    params: Config::PARAMS,
    probes: &[
        Probe { name: "vq", unit: "B", doc: "length of the virtual queue" },
        Probe { name: "v_capacity", unit: "bit/s", doc: "virtual capacity" },
        Probe { name: "p", unit: "", doc: "base probability p_b at the last arrival" },
        Probe { name: "p_a", unit: "", doc: "signalling probability of the last arrival" },
        Probe { name: "count", unit: "packets", doc: "packets since the last signal; -1 at or below min_th" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("avqred.rs"),
    instance: crate::instance!(Avqred),
    build: |s| s.build(|config| Avqred::new(config, &s.context)),
};

/// Constant parameters.
#[derive(Clone, Debug)]
struct Constants {
    alpha: f64,
    /// Bounds of the virtual capacity, bit/s.
    min_capacity: f64,
    max_capacity: f64,
    /// Thresholds in units, and the unit in bytes.
    min_th: f64,
    max_th: f64,
    unit: f64,
    interval: Span,
    gamma: f64,
    literal: bool,
    ecn: bool,
}

/// The state of AVQRED.
#[derive(Clone, Debug)]
pub struct Avqred {
    config: Constants,
    /// Length of the virtual queue, bytes.
    vq: f64,
    /// Its capacity, bit/s.
    v_capacity: f64,
    /// Packets since the last signal; -1 at or below min_th.
    count: i64,
    /// When the last measurement ended.
    last_measure: Time,
    /// Bytes sent since then.
    sent: u64,
    /// Base probability at the last arrival.
    p_b: f64,
    /// Its signalling probability.
    p_a: f64,
}

impl Avqred {
    /// AVQRED for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; thresholds or capacities out of order.
    pub fn new(config: Config, link: &Context) -> Result<Avqred, SpecError> {
        config.check()?;
        let unit = config.unit.0;
        let (min_th, max_th) =
            (common::amount(config.min_th, false, unit), common::amount(config.max_th, false, unit));
        if max_th <= min_th {
            return Err(SpecError::about("max_th", "is not above min_th", "max_th > min_th"));
        }
        let max_capacity = config.max_capacity.unwrap_or(link.link_rate) as f64;
        let min_capacity = config.min_capacity.map_or(max_capacity * 13.0 / 25.0, |rate| rate as f64);
        if min_capacity > max_capacity {
            let allowed = "min_capacity <= max_capacity";
            return Err(SpecError::about("min_capacity", "is above max_capacity", allowed));
        }
        let constants = Constants {
            alpha: config.alpha,
            min_capacity,
            max_capacity,
            min_th,
            max_th,
            unit,
            interval: config.interval,
            gamma: config.gamma,
            literal: config.listing == Listing::Literal,
            ecn: config.ecn,
        };
        Ok(Avqred {
            config: constants,
            vq: 0.0,
            v_capacity: min_capacity,
            count: -1,
            last_measure: Time::ZERO,
            sent: 0,
            p_b: 0.0,
            p_a: 0.0,
        })
    }

    /// Measure the departure rate, update the virtual capacity, and drain the virtual queue.
    fn measure(&mut self, now: Time) {
        let Constants { alpha, min_capacity, max_capacity, interval, gamma, literal, .. } = self.config;
        let elapsed = now.since(self.last_measure);
        if elapsed > interval {
            let seconds = elapsed.as_secs_f64();
            let rate = self.sent as f64 * 8.0 / seconds;
            self.sent = 0;
            self.v_capacity =
                (alpha * rate + (1.0 - alpha) * self.v_capacity).clamp(min_capacity, max_capacity);
            self.vq = (self.vq - gamma * self.v_capacity / 8.0 * seconds).max(0.0);
            self.last_measure = now;
        }
        if literal {
            self.last_measure = now;
        }
    }

    /// p_a from p_b: by RED's counter, or by the listing as printed.
    fn spread(&self) -> f64 {
        let count = self.count as f64;
        if self.config.literal {
            (self.p_b / (1.0 - count * self.p_b)).clamp(0.0, 1.0)
        } else {
            spread(self.p_b, count, false)
        }
    }

    /// RED on the virtual queue `x`.
    fn decide(&mut self, packet: &PacketView, x: f64, rng: &mut dyn Random) -> Verdict {
        let Constants { min_th, max_th, ecn, .. } = self.config;
        if x <= min_th {
            (self.p_b, self.p_a, self.count) = (0.0, 0.0, -1);
            Verdict::Pass
        } else if x < max_th {
            self.count += 1;
            self.p_b = (x - min_th) / (max_th - min_th);
            self.p_a = self.spread();
            if rng.uniform() >= self.p_a {
                return Verdict::Pass;
            }
            self.count = 0;
            Verdict::signal(packet, ecn, Cause::Early)
        } else {
            (self.p_b, self.p_a, self.count) = (1.0, 1.0, 0);
            Verdict::signal(packet, ecn, Cause::Forced)
        }
    }
}

impl IgnoresContents for Avqred {}

impl Aqm for Avqred {
    fn on_offered(&mut self, now: Time, _: &PacketView, _: &QueueView) {
        self.measure(now);
    }

    fn on_arrival(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        let x = self.vq / self.config.unit;
        let verdict = self.decide(packet, x, rng);
        let enters =
            !matches!(verdict, Verdict::Drop(_)) && (!self.config.literal || x <= self.config.min_th);
        if enters {
            self.vq += f64::from(packet.bytes);
        }
        verdict
    }

    fn on_departure(&mut self, _: Time, packet: &PacketView, _: &QueueView, _: &mut dyn Random) -> Verdict {
        self.sent += u64::from(packet.bytes);
        Verdict::Pass
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("vq", self.vq);
        field("v_capacity", self.v_capacity);
        field("p", self.p_b);
        field("p_a", self.p_a);
        field("count", self.count as f64);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
