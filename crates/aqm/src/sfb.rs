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
//! | tokens of the penalty | flow in evenly | Linux: counted afresh when none is left, from at most 10 s | the same rate and burst |
//! | hash | drawn from the run's random numbers | Linux: of addresses and ports with a random seed | who meets whom is chance, and the seeds of a study must see it vary |
//!
//! # References
//! W. Feng, D. Kandlur, D. Saha, K. Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness,
//! INFOCOM 2001. Linux `sch_sfb.c`.

use crate::{
    Algorithm, Aqm, Cause, DefaultValue::Value as Fixed, FlowId, Kind, PacketView, Param, Probe, QueueView,
    Random, Range, Settings, Span, SpecError, Stream, Time, Verdict, common, units::Size,
};
use alloc::{boxed::Box, vec, vec::Vec};

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

/// What was configured.
#[derive(Clone, Debug)]
struct Config {
    levels: usize,
    bins: usize,
    bin_size: f64,
    max: f64,
    d1: f64,
    d2: f64,
    freeze_time: Span,
    rehash: Span,
    warmup: Span,
    penalty_rate: f64,
    penalty_burst: f64,
    ecn: bool,
}

/// One BLUE.
#[derive(Clone, Debug, Default)]
struct Bin {
    /// Waiting packets of its flows.
    packets: u32,
    /// Its probability.
    p: f64,
    /// When that was last moved.
    last_update: Option<Time>,
}

/// The bins of one hash, in force for one `rehash`.
#[derive(Clone, Debug)]
struct Table {
    /// Which `rehash` of the run it belongs to.
    epoch: u64,
    /// The hash: a stream of numbers for each flow.
    hash: Stream,
    /// Level after level.
    bins: Vec<Bin>,
}

/// The state of SFB.
#[derive(Clone, Debug)]
struct Sfb {
    config: Config,
    /// The bins in force and those of the next or last hash, by the epoch's parity; `None` before they
    /// are first needed.
    tables: [Option<Table>; 2],
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
        let config = Config {
            levels: settings.integer("levels") as usize,
            bins: settings.integer("bins") as usize,
            bin_size: packets(settings, "bin_size")?,
            max: packets(settings, "max")?,
            d1: settings.number("d1"),
            d2: settings.number("d2"),
            freeze_time: settings.span("freeze_time"),
            rehash,
            warmup,
            penalty_rate: settings.number("penalty_rate"),
            penalty_burst: settings.number("penalty_burst"),
            ecn: settings.ecn(),
        };
        Ok(Sfb {
            tokens: config.penalty_burst,
            config,
            tables: [None, None],
            waiting: 0,
            tokens_since: Time::ZERO,
            p_min: 0.0,
            q_min: 0,
        })
    }

    /// The epoch that is in force at `time`, and whether the bins of the next are being filled.
    fn epoch(&self, time: Time) -> (u64, bool) {
        if self.config.rehash == Span::ZERO {
            return (0, false);
        }
        let (epoch, into) = (time.0 / self.config.rehash.0, time.0 % self.config.rehash.0);
        (epoch, into >= self.config.rehash.0 - self.config.warmup.0)
    }

    /// The bins of `epoch`, made if they are needed for the first time.
    fn open(&mut self, epoch: u64, rng: &mut dyn Random) -> &mut Table {
        let empty = || vec![Bin::default(); self.config.levels * self.config.bins];
        let slot = &mut self.tables[(epoch % 2) as usize];
        let hash = |rng: &mut dyn Random| Stream::new((rng.uniform() * (1u64 << 53) as f64) as u64, "sfb");
        match slot {
            Some(table) if table.epoch == epoch => {}
            Some(table) => {
                table.epoch = epoch;
                table.hash = hash(rng);
                table.bins.fill(Bin::default());
            }
            None => *slot = Some(Table { epoch, hash: hash(rng), bins: empty() }),
        }
        slot.as_mut().expect("it has just been made")
    }

    /// Step the bins of `flow` in the table of `epoch`; their smallest probability and length.
    fn step(&mut self, now: Time, epoch: u64, flow: FlowId, rng: &mut dyn Random) -> (f64, u32) {
        let Config { levels, bins, bin_size, d1, d2, freeze_time, .. } = self.config;
        let table = self.open(epoch, rng);
        let mut smallest = (1.0, u32::MAX);
        for index in places(&table.hash, flow, levels, bins) {
            let bin = &mut table.bins[index];
            bin.step(now, bin_size, (d1, d2), freeze_time);
            smallest = (bin.p.min(smallest.0), bin.packets.min(smallest.1));
        }
        smallest
    }

    /// A packet of `flow` that came at `arrived` enters its bins or leaves them.
    fn count(&mut self, flow: FlowId, arrived: Time, enters: bool) {
        let (epoch, next_too) = self.epoch(arrived);
        for table in self.tables.iter_mut().flatten() {
            if table.epoch != epoch && !(next_too && table.epoch == epoch + 1) {
                continue;
            }
            for index in places(&table.hash, flow, self.config.levels, self.config.bins) {
                let packets = &mut table.bins[index].packets;
                *packets = if enters { *packets + 1 } else { packets.saturating_sub(1) };
            }
        }
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

impl Bin {
    /// BLUE, with the bin's own length for events.
    fn step(&mut self, now: Time, bin_size: f64, (d1, d2): (f64, f64), freeze_time: Span) {
        let by = match self.packets {
            0 => -d2,
            n if f64::from(n) >= bin_size => d1,
            _ => return,
        };
        let thawed = |last: Time| freeze_time == Span::ZERO || now.since(last) > freeze_time;
        if self.last_update.is_none_or(thawed) {
            self.p = (self.p + by).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }
}

/// Where the bins of `flow` are: one on each level.
fn places(hash: &Stream, flow: FlowId, levels: usize, bins: usize) -> impl Iterator<Item = usize> + use<> {
    let mut numbers = hash.indexed(u64::from(flow.0));
    (0..levels).map(move |level| level * bins + (numbers.bits() % bins as u64) as usize)
}

impl Aqm for Sfb {
    fn on_arrival(&mut self, now: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        let (epoch, next_too) = self.epoch(now);
        (self.p_min, self.q_min) = self.step(now, epoch, packet.flow, rng);
        if next_too {
            self.step(now, epoch + 1, packet.flow, rng);
        }
        let verdict = self.decide(now, packet, rng);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.count(packet.flow, now, true);
        }
        verdict
    }

    fn on_departure(&mut self, _: Time, packet: &PacketView, _: &QueueView, _: &mut dyn Random) -> Verdict {
        self.count(packet.flow, packet.arrived, false);
        Verdict::Pass
    }

    fn on_drop(&mut self, _: Time, packet: &PacketView, _: Cause, queue: &QueueView) {
        if queue.packets < self.waiting {
            self.count(packet.flow, packet.arrived, false); // it had been let in
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Contents, Context, Ecn, Limit, Spec};
    use alloc::{format, string::String};

    struct Nothing;
    impl Contents for Nothing {
        fn at(&self, _: u32) -> Option<PacketView> {
            None
        }
        fn of_flow(&self, _: FlowId) -> u32 {
            0
        }
        fn of_class(&self, _: Class) -> u32 {
            0
        }
    }

    struct Always(f64);
    impl Random for Always {
        fn uniform(&mut self) -> f64 {
            self.0
        }
    }

    fn link() -> Context {
        let limit = Limit::Packets(100);
        Context { link_rate: 10_000_000, limit, mean_packet: 1000, ecn: false, ns2: false, ns2_2001: false }
    }

    /// Vector V1, which names the bins of its flows.
    #[test]
    fn v1_steps_the_bins_of_a_flow() {
        let spec = Spec::parse("sfb levels 2 bins 2 bin_size 2p d1 0.1 d2 0.05").expect("a valid spec");
        let mut sfb = Sfb::new(&Settings { spec: &spec, context: link() }).expect("a valid spec");
        let hash = sfb.open(0, &mut Always(0.5)).hash.clone();
        let flow_in = |bins: [usize; 2]| {
            let mut flows = (0..1000).map(FlowId);
            flows.find(|flow| places(&hash, *flow, 2, 2).eq(bins)).expect("one of many flows")
        };
        let table = include_str!("../tests/vectors/sfb_v1.csv");
        for row in table.lines().skip(2) {
            let cells: Vec<&str> = row.split(',').collect();
            let number = |i: usize| cells[i].parse::<f64>().expect("a number");
            let flow = match cells[1] {
                "A" => flow_in([0, 2]),
                "B" => flow_in([1, 2]),
                _ => flow_in([0, 3]),
            };
            let queue =
                QueueView { packets: 0, bytes: 0, limit: link().limit, link_rate: 0, contents: &Nothing };
            let now = Time::ZERO;
            let packet = PacketView { bytes: 1000, ecn: Ecn::NotEct, flow, class: Class(0), arrived: now };
            let verdict = sfb.on_arrival(now, &packet, &queue, &mut Always(number(3)));
            assert_eq!(verdict == Verdict::Pass, cells[4] == "enqueue", "{row}");
            assert!((sfb.p_min - number(2)).abs() < 1e-9, "{row}: {}", sfb.p_min);
            let bins = &sfb.tables[0].as_ref().expect("it is in use").bins;
            let show = |i: usize| format!("{}/{}", bins[i].packets, bins[i + 1].packets);
            assert_eq!((show(0), show(2)), (String::from(cells[5]), String::from(cells[6])), "{row}");
            for (level, column) in [(0, 7), (2, 8)] {
                let (left, right) = cells[column].split_once('/').expect("two bins");
                for (i, p) in [(level, left), (level + 1, right)] {
                    let p: f64 = p.parse().expect("a number");
                    assert!((bins[i].p - p).abs() < 1e-9, "{row}: bin {i} at {}", bins[i].p);
                }
            }
        }
    }
}
