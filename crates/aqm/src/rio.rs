//! **RIO (RED with In and Out)** is one queue with a RED for each drop precedence: packets outside their traffic profile
//! meet a harsher one, so that they are gone before a packet inside its profile is touched.
//!
//! The class of a packet is its precedence: 0 = in (green), 1 = out (yellow of three), 2 = red; with two
//! precedences every class but 0 is out. Coupled, the average that a precedence meets is that of
//! everything which is at least as good: in packets are judged by the in packets alone, out packets by all.
//!
//! # When it decides
//! On arrival, as RED, with the average, thresholds and counter of the packet's precedence. An arrival moves its own
//! average and, coupled, those above it: that of all packets moves at every arrival. An average whose packets are
//! all gone decays, as RED's on an idle link; that of all packets when the link is idle. `average decoupled`
//! gives each precedence its own backlog, `average total` all the same one (WRED). Full means full: who
//! leaves then is the queue's choice (`overflow`), whatever the class.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | averages at an out arrival | that of all packets moves | ns-2 rio.cc: none moves (`listing ns2`) | Clark and Fang; its own header calls it a bug |
//! | arrival procedure | RED's | `listing ns2`: every arrival of a precedence counts, the first above its threshold is not tested, nothing is dropped at one waiting packet or none, every average idles with the link | to agree with ns-2 runs; preset `ns2` |
//! | counters | the packet's own moves | ALTQ: all those whose average it belongs to, and a drop clears them | a precedence spaces its own signals |
//! | above the threshold with ECN | mark | ns-2: drop (`ecn_forced drop`) | as `red` |
//! | averages of three | coupled: green, green and yellow, all | ns-2 dsredq.cc: also own (`decoupled`), or one (`total`) | Clark and Fang, carried on |
//! | average just at the lower threshold | tested | ns-2 dsredq.cc: only above it | as `red`: there p_b = 0 |
//! | p_a | in [0, 1] | ns-2 dsredq.cc: may turn negative | it is a probability |
//!
//! # References
//! D. Clark, W. Fang: Explicit Allocation of Best-Effort Packet Delivery Service, IEEE/ACM ToN 6(4), 1998. ns-2
//! `queue/rio.cc`, `diffserv/dsredq.cc`; ALTQ `altq_rio.c`.

mod precedence;

use crate::{
    Algorithm, Aqm, Cause, Class,
    DefaultValue::Value as Fixed,
    Kind, PacketView, Param, Probe, QueueView, Random, Range, Settings, SpecError, Time, Verdict,
    classes::Classes,
    common,
    red_family::{Average, ECN_FORCED, MAX_PACKET, MEAN_PACKET, W_Q, WAIT},
    units::Size,
};
use alloc::boxed::Box;
use precedence::Precedence;

const CLARK: &str = "Clark and Fang 1998";

const fn threshold(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param::new(name, Kind::Size, Fixed(default), doc)
        .unit("packets or bytes")
        .range(Range::POSITIVE)
        .source(CLARK)
}
const fn probability(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param::new(name, Kind::Number, Fixed(default), doc).range(Range::SHARE).source(CLARK)
}

const PRECEDENCES: Param =
    Param::new("precedences", Kind::Integer, Fixed("2"), "Two (in, out) or three (green, yellow, red)")
        .range(Range { min: 2.0, max: 3.0, above: false, below: false })
        .source(CLARK);
const AVERAGE: Param = Param::new(
    "average",
    Kind::Choice(&["coupled", "decoupled", "total"]),
    Fixed("coupled"),
    "Whose queue a precedence averages: its own and the better ones', its own, or everybody's",
)
.source(CLARK);
const MIN_IN: Param =
    threshold("min_in", "40p", "In or green: average below which nothing is dropped").ns2("15p");
const MAX_IN: Param =
    threshold("max_in", "70p", "In or green: average from which every packet is").ns2("30p");
const MAX_P_IN: Param = probability("max_p_in", "0.02", "In or green: base probability just below max_in");
const MIN_YELLOW: Param =
    threshold("min_yellow", "15p", "Yellow of three: average below which nothing is dropped")
        .source("ours: between the other two");
const MAX_YELLOW: Param =
    threshold("max_yellow", "40p", "Yellow of three: average from which every packet is")
        .source("ours: between the other two");
const MAX_P_YELLOW: Param =
    probability("max_p_yellow", "0.1", "Yellow of three: base probability just below max_yellow")
        .source("ours: between the other two");
const MIN_OUT: Param =
    threshold("min_out", "10p", "Out or red: average below which nothing is dropped").ns2("5p");
const MAX_OUT: Param =
    threshold("max_out", "30p", "Out or red: average from which every packet is").ns2("15p");
const MAX_P_OUT: Param =
    probability("max_p_out", "0.2", "Out or red: base probability just below max_out").ns2("0.1");
const GENTLE: Param = Param::new(
    "gentle",
    Kind::Flag,
    Fixed("off"),
    "Above its upper threshold each rises on a line to 1 at twice that, instead of jumping to 1",
)
.source(CLARK);
const LISTING: Param = Param::new(
    "listing",
    Kind::Choice(&["fj93", "ns2"]),
    Fixed("fj93"),
    "Whose arrival procedure: RED's, or that of ns-2's rio.cc with all its differences",
)
.source(CLARK)
.ns2("ns2");

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "rio",
    title: "RED with In and Out",
    alias_of: None,
    source: CLARK,
    params: &[
        PRECEDENCES,
        AVERAGE,
        MIN_IN,
        MAX_IN,
        MAX_P_IN,
        MIN_YELLOW,
        MAX_YELLOW,
        MAX_P_YELLOW,
        MIN_OUT,
        MAX_OUT,
        MAX_P_OUT,
        W_Q,
        GENTLE,
        WAIT,
        LISTING,
        MAX_PACKET,
        MEAN_PACKET,
        common::ECN,
        ECN_FORCED,
    ],
    probes: &[
        Probe { name: "p", unit: "", doc: "base probability of the last arrival's precedence" },
        Probe { name: "p_a", unit: "", doc: "what the last arrival met, 0 where it was not tested" },
        Probe { name: "avg_in", unit: "packets or bytes", doc: "average that in or green packets meet" },
        Probe {
            name: "avg_yellow",
            unit: "packets or bytes",
            doc: "that yellow ones meet; 0 with two precedences",
        },
        Probe { name: "avg_out", unit: "packets or bytes", doc: "that out or red ones meet" },
        Probe {
            name: "count_in",
            unit: "packets",
            doc: "in packets since their last signal; -1 below min_in",
        },
        Probe { name: "count_yellow", unit: "packets", doc: "yellow ones since theirs" },
        Probe { name: "count_out", unit: "packets", doc: "out packets since theirs" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("rio.rs"),
    build,
};

/// Whose queue a precedence averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coupling {
    Coupled,
    Decoupled,
    Total,
}

/// What was configured.
#[derive(Clone, Debug)]
struct Config {
    coupling: Coupling,
    bytes: bool,
    gentle: bool,
    wait: bool,
    ns2: bool,
    max_packet: f64,
    mean_packet: f64,
    ecn: bool,
    mark_forced: bool,
}

/// The state of RIO.
#[derive(Clone, Debug)]
pub struct Rio {
    config: Config,
    /// Best precedence first: in, out or green, yellow, red.
    precedences: [Precedence; 3],
    /// How many of them are used; the middle one is not with two.
    three: bool,
    /// What the last arrival met: base probability, and spread by its counter.
    p: f64,
    p_a: f64,
    /// ns-2: the present arrival is not tested.
    untested: bool,
}

/// The names of the thresholds of each precedence.
const NAMES: [(&str, &str, &str); 3] = [
    ("min_in", "max_in", "max_p_in"),
    ("min_yellow", "max_yellow", "max_p_yellow"),
    ("min_out", "max_out", "max_p_out"),
];

/// Whose packets precedence `index` averages.
fn averaged(coupling: Coupling, three: bool, index: u8) -> Classes {
    match (coupling, index) {
        (Coupling::Total, _) | (Coupling::Coupled, 2) => Classes::ALL,
        (Coupling::Coupled, _) => Classes { from: 0, to: index },
        (Coupling::Decoupled, 2) => Classes { from: if three { 2 } else { 1 }, to: u8::MAX },
        (Coupling::Decoupled, _) => Classes { from: index, to: index },
    }
}

fn build(settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    let three = settings.integer("precedences") == 3;
    let coupling = match settings.choice("average") {
        "decoupled" => Coupling::Decoupled,
        "total" => Coupling::Total,
        _ => Coupling::Coupled,
    };
    let ns2 = settings.choice("listing") == "ns2";
    let bytes = matches!(settings.size("min_in"), Some(Size::Bytes(_)));
    let size = |name: &str| match settings.size(name) {
        Some(Size::Bytes(x)) if bytes => Ok(x),
        Some(Size::Packets(x)) if !bytes => Ok(x),
        _ => Err(settings.error(
            name,
            "is not in the unit of min_in",
            "all thresholds in packets, or all in bytes",
        )),
    };
    let precedence = |index: u8| {
        let (min, max, max_p) = NAMES[usize::from(index)];
        let (min, max, max_p) = if three || index != 1 {
            let (low, high) = (size(min)?, size(max)?);
            if high <= low {
                let problem = format_args!("is not above {min}");
                return Err(settings.error(max, problem, "a threshold above the lower one"));
            }
            (low, high, settings.number(max_p))
        } else {
            (0.0, 1.0, 0.0)
        };
        Ok(Precedence {
            min,
            max,
            max_p,
            classes: averaged(coupling, three, index),
            average: Average::new(settings, bytes, ns2)?,
            count: if ns2 { 0 } else { -1 },
            count_bytes: 0,
            crossed: false,
        })
    };
    let precedences = [precedence(0)?, precedence(1)?, precedence(2)?];
    let config = Config {
        coupling,
        bytes,
        gentle: settings.flag("gentle"),
        wait: settings.flag("wait"),
        ns2,
        max_packet: common::packet_bytes(settings, "max_packet")?,
        mean_packet: common::packet_bytes(settings, "mean_packet")?,
        ecn: settings.ecn(),
        mark_forced: settings.choice("ecn_forced") == "mark",
    };
    Ok(Box::new(Rio { config, precedences, three, p: 0.0, p_a: 0.0, untested: false }))
}

impl Rio {
    /// Which precedence a class has.
    fn index(&self, class: Class) -> usize {
        match class.0 {
            0 => 0,
            1 if self.three => 1,
            _ => 2,
        }
    }

    /// The averages that an arrival of precedence `index` moves.
    fn update_averages(&mut self, now: Time, index: usize, queue: &QueueView) {
        let Config { coupling, bytes, ns2, .. } = self.config;
        if ns2 && coupling == Coupling::Coupled && index > 0 {
            return;
        }
        for (k, precedence) in self.precedences.iter_mut().enumerate() {
            let is_moved = match coupling {
                Coupling::Coupled => k >= index,
                Coupling::Decoupled => k == index,
                Coupling::Total => true,
            };
            if is_moved {
                precedence.average.update(now, precedence.classes.backlog(queue, bytes));
            }
        }
    }

    /// From now on nothing waits of some classes: their averages idle.
    fn note_empty(&mut self, now: Time, queue: &QueueView) {
        for precedence in self.precedences.iter_mut().filter(|p| p.classes != Classes::ALL) {
            let idle_since = &mut precedence.average.idle_since;
            if idle_since.is_none() && precedence.classes.backlog(queue, false) == 0.0 {
                *idle_since = Some(now);
            }
        }
    }

    /// RED's decision about a packet of precedence `index`.
    fn decide(&mut self, packet: &PacketView, index: usize, rng: &mut dyn Random) -> Verdict {
        let config = &self.config;
        let precedence = &mut self.precedences[index];
        self.p = precedence.base(config.gentle);
        self.p_a = 0.0;
        if self.untested {
            return Verdict::Pass;
        }
        if precedence.average.avg < precedence.min {
            precedence.count = -1;
            return Verdict::Pass;
        }
        if precedence.average.avg >= precedence.certain(config.gentle) {
            self.p_a = 1.0;
            if !config.ns2 || index == 0 {
                precedence.restart_count();
            }
            return Verdict::signal(packet, config.ecn && config.mark_forced, Cause::Forced);
        }
        self.p_a = precedence.probability(packet, config);
        if rng.happens(self.p_a) {
            precedence.restart_count();
            Verdict::signal(packet, config.ecn, Cause::Early)
        } else {
            Verdict::Pass
        }
    }
}

impl Aqm for Rio {
    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        let index = self.index(packet.class);
        self.update_averages(now, index, queue);
        if self.config.ns2 {
            let precedence = &mut self.precedences[index];
            let queue = precedence.classes.backlog(queue, self.config.bytes);
            self.untested = precedence.count_as_ns2(packet, queue, self.config.gentle);
        }
    }

    fn on_arrival(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        let verdict = self.decide(packet, self.index(packet.class), rng);
        if matches!(verdict, Verdict::Drop(_)) && !self.config.ns2 {
            self.note_empty(now, queue);
        }
        verdict
    }

    fn on_departure(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        _: &mut dyn Random,
    ) -> Verdict {
        if self.config.ns2 {
            // A packet on the link ends the idle time of those that average its class.
            for precedence in self.precedences.iter_mut().filter(|p| p.classes.hold(packet.class)) {
                precedence.average.idle_since = None;
            }
        } else {
            self.note_empty(now, queue);
        }
        Verdict::Pass
    }

    fn on_drop(&mut self, now: Time, packet: &PacketView, _: Cause, queue: &QueueView) {
        let index = self.index(packet.class);
        if self.config.ns2 {
            if index == 0 {
                self.precedences[0].restart_count();
            }
            return;
        }
        self.precedences[index].restart_count();
        self.note_empty(now, queue);
    }

    fn on_idle(&mut self, now: Time) {
        for precedence in &mut self.precedences {
            if self.config.ns2 || precedence.classes == Classes::ALL {
                precedence.average.idle(now);
            }
        }
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        let [inside, yellow, out] = &self.precedences;
        field("p", self.p);
        field("p_a", self.p_a);
        field("avg_in", inside.average.avg);
        field("avg_yellow", if self.three { yellow.average.avg } else { 0.0 });
        field("avg_out", out.average.avg);
        field("count_in", inside.count as f64);
        field("count_yellow", if self.three { yellow.count as f64 } else { 0.0 });
        field("count_out", out.count as f64);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
