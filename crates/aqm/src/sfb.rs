//! **SFB (Stochastic Fair BLUE; Feng, Kandlur, Saha and Shin 2001)** hashes every flow to one bin on each of
//! several levels, runs a BLUE in each bin, and signals with the smallest probability of the flow's bins.
//!
//! An unresponsive flow fills its bins and increases their probabilities to 1. Other flows share some of
//! these bins, but rarely all of them, so that their smallest probability stays low. Unresponsive flows are
//! thus detected without per-flow state. The hash changes periodically, so that flows that share all their
//! bins do not do so permanently.
//!
//! # When it decides
//! On arrival. The probability of each of the flow's bins decreases by `d2` if the bin holds no packet, and
//! increases by `d1` if it holds `bin_size` or more. With q_min and p_min the smallest length and probability
//! of these bins: if q_min >= `max`, the packet is dropped (`flow-limit`); if p_min = 1, `penalty_rate`
//! packets per second of all such flows together pass and the others are dropped (`flow-limit`); otherwise,
//! with u uniform in [0, 1), the packet is signalled if u < p_min (`early`), and dropped, ECN or not, if u <
//! 2 p_min - 1. An accepted packet counts in its bins until it leaves the queue. Every `rehash`, bins with a
//! new hash replace the old ones; they are filled for `warmup` before that. An overflow changes no bin.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | steps of a bin | at every arrival | the paper: at most one per `freeze_time` | Linux, the form in use; set `freeze_time` for that of the paper |
//! | probabilities | real numbers | Linux: 16 bits, multiples of 1/65535 | the same steps |
//! | warm-up | every packet counts in the new bins too | Linux: only flows with p_min = 1 | the bins of a packet then follow from its flow and its arrival time |
//! | bins of a new hash | empty, probability 0 | Linux: the values from before the last change | old values belong to other flows |
//! | tokens of the penalty | accumulate continuously | Linux: computed when none is left, for at most 10 s; no packet passes at rate 0 or burst 0 | the same rate and burst |
//! | hash | of the flow's number, with a seed from the run's random numbers | Linux: of addresses and ports, with a random seed | collisions have to differ between the seeds of a study |
//!
//! # References
//! W. Feng, D. Kandlur, D. Saha, K. Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing
//! Fairness, INFOCOM 2001. Linux `sch_sfb.c`.

mod bins;

use crate::{
    Algorithm, Aqm, Cause, IgnoresContents, PacketView, Param, Probe, QueueView, Random, Range, Span,
    SpecError, Time, Verdict, common,
    config::{Fields, config, meaning},
    units::Size,
};
use alloc::boxed::Box;
use bins::{Bins, Shape};

const LINUX: &str = "Linux sch_sfb";

config! {
    /// The parameters of SFB.
    pub struct Config {
        /// Number L of levels, with one bin of each flow
        levels: u32 = Param::fixed("8")
            .range(Range { min: 1.0, max: 16.0, above: false, below: false })
            .source(LINUX);
        /// Number N of bins on each level
        bins: u32 = Param::fixed("16")
            .range(Range { min: 1.0, max: 4096.0, above: false, below: false })
            .source(LINUX);
        /// Length from which a bin's probability increases
        bin_size: Size = Param::fixed("20p")
            .unit("packets")
            .range(Range::POSITIVE)
            .source(LINUX)
            .tc("target");
        /// Length of the shortest bin of a flow from which its packets are dropped
        max: Size = Param::fixed("25p").unit("packets").range(Range::POSITIVE).source(LINUX).tc("max");
        /// Step up of a bin's probability
        d1: f64 = Param::fixed("0.00100709545")
            .range(Range::SHARE)
            .source("Linux sch_sfb: 66/65535")
            .tc("increment");
        /// Step down of a bin's probability
        d2: f64 = Param::fixed("0.000167849241")
            .range(Range::SHARE)
            .source("Linux sch_sfb: 11/65535")
            .tc("decrement");
        /// Minimum time between two steps of a bin, exclusive; 0: a step at every arrival
        freeze_time: Span = Param::fixed("0s").unit("s").range(Range::NOT_NEGATIVE).source(LINUX);
        /// Time between two changes of the hash; 0: no change
        rehash: Span = Param::fixed("600s").unit("s").range(Range::NOT_NEGATIVE).source(LINUX).tc("rehash");
        /// Time for which new bins are filled before they are used
        warmup: Span = Param::fixed("60s").unit("s").range(Range::NOT_NEGATIVE).source(LINUX).tc("db");
        /// Packets per second that pass of all flows with p_min = 1 together
        penalty_rate: f64 = Param::fixed("10")
            .unit("packets/s")
            .range(Range::NOT_NEGATIVE)
            .source(LINUX)
            .tc("penalty_rate");
        /// Maximum burst of these packets
        penalty_burst: f64 = Param::fixed("20")
            .unit("packets")
            .range(Range::NOT_NEGATIVE)
            .source(LINUX)
            .tc("penalty_burst");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "sfb",
    title: "Stochastic Fair BLUE",
    alias_of: None,
    source: "Feng, Kandlur, Saha and Shin 2001",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "smallest probability p_min among the bins of the last arrival" },
        Probe { name: "q_min", unit: "packets", doc: "smallest length among these bins" },
        Probe { name: "tokens", unit: "packets", doc: "packets of flows with p_min = 1 that may pass now" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("sfb.rs"),
    instance: crate::instance!(Sfb),
    build: |settings| settings.build(Sfb::new),
};

/// Constant parameters, except those of the bins.
#[derive(Clone, Debug)]
struct Constants {
    max: f64,
    penalty_rate: f64,
    penalty_burst: f64,
    ecn: bool,
}

/// The state of SFB.
#[derive(Clone, Debug)]
pub struct Sfb {
    config: Constants,
    bins: Bins,
    /// Accepted packets that have not left.
    waiting: u32,
    /// Packets of flows with p_min = 1 that may pass, and the time of the last update of this number.
    tokens: f64,
    tokens_since: Time,
    /// The smallest probability and length of the last arrival's bins.
    p_min: f64,
    q_min: u32,
}

/// A number of packets, not bytes: bins count packets.
fn packets(name: &str, size: Size) -> Result<f64, SpecError> {
    match size {
        Size::Packets(packets) => Ok(packets),
        Size::Bytes(_) => Err(SpecError::about(name, "is not in packets", "packets, like 20p")),
    }
}

impl Sfb {
    /// SFB for an empty queue.
    ///
    /// # Errors
    /// A value outside its range; lengths in bytes; `warmup` longer than `rehash`.
    pub fn new(config: Config) -> Result<Sfb, SpecError> {
        config.check()?;
        let (rehash, warmup) = (config.rehash, config.warmup);
        if rehash > Span::ZERO && warmup > rehash {
            return Err(SpecError::about("warmup", "is longer than rehash", "warmup <= rehash"));
        }
        let shape = Shape {
            levels: config.levels as usize,
            bins: config.bins as usize,
            bin_size: packets("bin_size", config.bin_size)?,
            d1: config.d1,
            d2: config.d2,
            freeze_time: config.freeze_time,
            rehash,
            warmup,
        };
        let constants = Constants {
            max: packets("max", config.max)?,
            penalty_rate: config.penalty_rate,
            penalty_burst: config.penalty_burst,
            ecn: config.ecn,
        };
        Ok(Sfb {
            tokens: constants.penalty_burst,
            config: constants,
            bins: Bins::new(shape),
            waiting: 0,
            tokens_since: Time::ZERO,
            p_min: 0.0,
            q_min: 0,
        })
    }

    /// Count a packet that arrived at `arrived` in its bins, or remove it from them.
    fn count(&mut self, packet: &PacketView, arrived: Time, enters: bool) {
        self.bins.count(packet.flow, arrived, enters);
        self.waiting = if enters { self.waiting + 1 } else { self.waiting.saturating_sub(1) };
    }

    /// Whether a packet of an unresponsive flow may pass.
    fn is_tolerated(&mut self, now: Time) -> bool {
        let earned = self.config.penalty_rate * now.since(self.tokens_since).as_secs_f64();
        self.tokens = (self.tokens + earned).min(self.config.penalty_burst);
        self.tokens_since = now;
        let is_tolerated = self.tokens >= 1.0;
        if is_tolerated {
            self.tokens -= 1.0;
        }
        is_tolerated
    }

    fn decide(&mut self, now: Time, packet: &PacketView, rng: &mut dyn Random) -> Verdict {
        if f64::from(self.q_min) >= self.config.max {
            return Verdict::Drop(Cause::FlowLimit);
        }
        if self.p_min >= 1.0 {
            return if self.is_tolerated(now) { Verdict::Pass } else { Verdict::Drop(Cause::FlowLimit) };
        }
        let u = rng.uniform();
        if u < 2.0 * self.p_min - 1.0 {
            Verdict::Drop(Cause::Early)
        } else if u < self.p_min {
            Verdict::signal(packet, self.config.ecn, Cause::Early)
        } else {
            Verdict::Pass
        }
    }
}

impl IgnoresContents for Sfb {}

impl Aqm for Sfb {
    fn on_arrival(&mut self, now: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        (self.p_min, self.q_min) = self.bins.arrive(now, packet.flow, rng);
        let verdict = self.decide(now, packet, rng);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.count(packet, now, true);
        }
        verdict
    }

    fn on_departure(&mut self, _: Time, packet: &PacketView, _: &QueueView, _: &mut dyn Random) -> Verdict {
        self.count(packet, packet.arrived, false);
        Verdict::Pass
    }

    fn on_drop(&mut self, _: Time, packet: &PacketView, _: Cause, queue: &QueueView) {
        if queue.packets < self.waiting {
            self.count(packet, packet.arrived, false); // the victim was a queued packet
        }
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p_min);
        field("q_min", f64::from(self.q_min));
        field("tokens", self.tokens);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
