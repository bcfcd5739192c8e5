//! **SFB (Stochastic Fair BLUE)** runs one BLUE for each of many bins, hashes every flow into one bin on each of several
//! levels, and signals with the smallest probability that it finds there.
//!
//! A flow that does not slow down fills its bins and drives their probabilities to 1. Others share some
//! of these bins, but hardly all of them: their smallest probability stays low. Which flows are told apart is
//! thus known without a state per flow; new hashes from time to time part those that met by accident.
//!
//! # When it decides
//! On arrival. Each of the flow's bins steps: down by `d2` if it holds no packet, up by `d1` if `bin_size` or more.
//! With q_min and p_min the smallest length and probability among them: q_min >= `max` drops (`flow-limit`);
//! p_min = 1 lets `penalty_rate` packets a second pass, for all such flows together, and drops the rest (`flow-limit`);
//! else the packet is signalled if u < p_min (`early`), and dropped, ECN or not, if u < 2 p_min - 1. A packet that enters
//! counts in its bins until it leaves. Every `rehash` new bins with new hashes take over; they have been filled
//! for `warmup` before. An overflow touches no bin.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | steps of a bin | at every arrival | the paper: at most one in a `freeze_time` | Linux, the form in use; set `freeze_time` for the paper's |
//! | probabilities | real numbers | Linux: 16 bits, a step is a 65535th | the same steps |
//! | warm-up | every packet counts in the new bins too | Linux: only flows with p_min = 1 | a packet's bins then follow from its flow and the time at which it came |
//! | bins of a new hash | empty, probability 0 | Linux: what they held before the last change | old numbers belong to other flows |
//! | tokens of the penalty | flow in evenly | Linux: counted afresh when none is left, from at most 10 s; none pass at rate 0 or burst 0 | the same rate and burst |
//! | hash | drawn from the run's random numbers | Linux: of addresses and ports with a random seed | who meets whom is chance, and the seeds of a study must see it vary |
//!
//! # References
//! W. Feng, D. Kandlur, D. Saha, K. Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness,
//! INFOCOM 2001. Linux `sch_sfb.c`.

mod bins;

use crate::{
    Algorithm, Aqm, Cause, DefaultValue::Value as Fixed, IgnoresContents, Kind, PacketView, Param, Probe,
    QueueView, Random, Range, Settings, Span, SpecError, Time, Verdict, common, units::Size,
};
use alloc::boxed::Box;
use bins::{Bins, Shape};

const LINUX: &str = "Linux sch_sfb";

const LEVELS: Param = Param::new("levels", Kind::Integer, Fixed("8"), "Levels L: bins of each flow")
    .range(Range { min: 1.0, max: 16.0, above: false, below: false })
    .source(LINUX);
const BINS: Param = Param::new("bins", Kind::Integer, Fixed("16"), "Bins N on each level")
    .range(Range { min: 1.0, max: 4096.0, above: false, below: false })
    .source(LINUX);
const BIN_SIZE: Param =
    Param::new("bin_size", Kind::Size, Fixed("20p"), "Length from which a bin's probability rises")
        .unit("packets")
        .range(Range::POSITIVE)
        .source(LINUX)
        .tc("target");
const MAX: Param =
    Param::new("max", Kind::Size, Fixed("25p"), "Length of all its bins at which a flow is cut off")
        .unit("packets")
        .range(Range::POSITIVE)
        .source(LINUX)
        .tc("max");
const D1: Param = Param::new("d1", Kind::Number, Fixed("0.00100709545"), "Step up of a bin's probability")
    .range(Range::SHARE)
    .source("Linux sch_sfb: 66/65535")
    .tc("increment");
const D2: Param = Param::new("d2", Kind::Number, Fixed("0.000167849241"), "Step down of a bin's probability")
    .range(Range::SHARE)
    .source("Linux sch_sfb: 11/65535")
    .tc("decrement");
const FREEZE_TIME: Param = Param::new(
    "freeze_time",
    Kind::Span,
    Fixed("0s"),
    "Least time between two steps of a bin, exclusive; 0 steps at every arrival",
)
.unit("s")
.range(Range::NOT_NEGATIVE)
.source(LINUX);
const REHASH: Param = Param::new(
    "rehash",
    Kind::Span,
    Fixed("600s"),
    "Time between two changes of the hash; 0 never changes it",
)
.unit("s")
.range(Range::NOT_NEGATIVE)
.source(LINUX)
.tc("rehash");
const WARMUP: Param =
    Param::new("warmup", Kind::Span, Fixed("60s"), "How long new bins are filled before they take over")
        .unit("s")
        .range(Range::NOT_NEGATIVE)
        .source(LINUX)
        .tc("db");
const PENALTY_RATE: Param = Param::new(
    "penalty_rate",
    Kind::Number,
    Fixed("10"),
    "Packets a second that may pass of all flows with p_min = 1",
)
.unit("packets/s")
.range(Range::NOT_NEGATIVE)
.source(LINUX)
.tc("penalty_rate");
const PENALTY_BURST: Param =
    Param::new("penalty_burst", Kind::Number, Fixed("20"), "Most of these packets that may pass at once")
        .unit("packets")
        .range(Range::NOT_NEGATIVE)
        .source(LINUX)
        .tc("penalty_burst");

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "sfb",
    title: "Stochastic Fair BLUE",
    alias_of: None,
    source: "Feng, Kandlur, Saha and Shin 2001",
    params: &[
        LEVELS,
        BINS,
        BIN_SIZE,
        MAX,
        D1,
        D2,
        FREEZE_TIME,
        REHASH,
        WARMUP,
        PENALTY_RATE,
        PENALTY_BURST,
        common::ECN,
    ],
    probes: &[
        Probe { name: "p", unit: "", doc: "smallest probability p_min among the bins of the last arrival" },
        Probe { name: "q_min", unit: "packets", doc: "smallest length among these bins" },
        Probe { name: "tokens", unit: "packets", doc: "packets that the penalty would let pass now" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("sfb.rs"),
    build: |settings| Ok(Box::new(Sfb::new(settings)?)),
};

/// What was configured, but for the bins.
#[derive(Clone, Debug)]
struct Config {
    max: f64,
    penalty_rate: f64,
    penalty_burst: f64,
    ecn: bool,
}

/// The state of SFB.
#[derive(Clone, Debug)]
struct Sfb {
    config: Config,
    bins: Bins,
    /// Packets that were let in and have not left.
    waiting: u32,
    /// Packets that the penalty would let pass, and since when.
    tokens: f64,
    tokens_since: Time,
    /// What the last arrival found in its bins.
    p_min: f64,
    q_min: u32,
}

/// A number of packets, not bytes: bins count packets.
fn packets(settings: &Settings, name: &str) -> Result<f64, SpecError> {
    match settings.size(name) {
        Some(Size::Bytes(_)) => Err(settings.error(name, "is not in packets", "packets, like 20p")),
        size => Ok(size.map_or(0.0, Size::plain)),
    }
}

impl Sfb {
    fn new(settings: &Settings) -> Result<Sfb, SpecError> {
        let (rehash, warmup) = (settings.span("rehash"), settings.span("warmup"));
        if rehash > Span::ZERO && warmup > rehash {
            return Err(settings.error("warmup", "is longer than rehash", "warmup <= rehash"));
        }
        let shape = Shape {
            levels: settings.integer("levels") as usize,
            bins: settings.integer("bins") as usize,
            bin_size: packets(settings, "bin_size")?,
            d1: settings.number("d1"),
            d2: settings.number("d2"),
            freeze_time: settings.span("freeze_time"),
            rehash,
            warmup,
        };
        let config = Config {
            max: packets(settings, "max")?,
            penalty_rate: settings.number("penalty_rate"),
            penalty_burst: settings.number("penalty_burst"),
            ecn: settings.ecn(),
        };
        Ok(Sfb {
            tokens: config.penalty_burst,
            config,
            bins: Bins::new(shape),
            waiting: 0,
            tokens_since: Time::ZERO,
            p_min: 0.0,
            q_min: 0,
        })
    }

    /// A packet that came at `arrived` enters its bins, or leaves them.
    fn count(&mut self, packet: &PacketView, arrived: Time, enters: bool) {
        self.bins.count(packet.flow, arrived, enters);
        self.waiting = if enters { self.waiting + 1 } else { self.waiting.saturating_sub(1) };
    }

    /// Whether a packet of a flow that does not respond may pass.
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
            self.count(packet, packet.arrived, false); // it had been let in
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
