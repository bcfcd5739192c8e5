//! **RIO (RED with In and Out; Clark and Fang 1998)** runs a RED for each drop precedence on one queue: that
//! of out-of-profile packets is stricter, so that these are dropped before in-profile packets are.
//!
//! The class of a packet is its precedence: 0 = in (green), 1 = out (yellow of three), 2 = red; with two
//! precedences every class but 0 is out. If coupled, the average of a precedence includes all packets of the
//! same or a better precedence: that of in packets includes in packets only, that of out packets all.
//!
//! # When it decides
//! On arrival, as RED, with the average, thresholds and counter of the packet's precedence. An arrival
//! updates the average of its precedence and, if coupled, those of worse precedences; that of all packets is
//! thus updated at every arrival. An average without queued packets decays as RED's on an idle link; that of
//! all packets decays while the link is idle. With `average decoupled` a precedence averages its own packets,
//! with `average total` every precedence averages the whole queue (WRED). If the buffer is full, the queue
//! chooses the packet to drop (`overflow`), independently of the class.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | averages at an out arrival | that of all packets is updated | ns-2 rio.cc: none is updated (`listing ns2`) | Clark and Fang; the header of rio.cc calls it a bug |
//! | arrival procedure | RED's | `listing ns2`: every arrival of a precedence counts, the first above its threshold is not tested, no packet is dropped at a queue of at most one packet, every average decays while the link is idle | agreement with ns-2; preset `ns2` |
//! | counters | a packet counts in that of its precedence | ALTQ: in all whose average includes it, and a drop resets them | each precedence spaces its own signals |
//! | above the threshold with ECN | mark | ns-2: drop (`ecn_forced drop`) | as `red` |
//! | averages of three precedences | coupled: green; green and yellow; all | ns-2 dsredq.cc: also separate (`decoupled`) or one (`total`) | Clark and Fang, extended to three |
//! | average equal to the lower threshold | tested | ns-2 dsredq.cc: only above it | as `red`: there p_b = 0 |
//! | p_a | in [0, 1] | ns-2 dsredq.cc: can be negative | p_a is a probability |
//!
//! # References
//! D. Clark, W. Fang: Explicit Allocation of Best-Effort Packet Delivery Service, IEEE/ACM ToN 6(4), 1998.
//! ns-2 `queue/rio.cc`, `diffserv/dsredq.cc`; ALTQ `altq_rio.c`.

use crate::{
    Algorithm, Aqm, Cause, Class, Context, PacketView, Param, Probe, QueueView, Random, Range, SpecError,
    Time, Verdict,
    classes::Classes,
    common,
    config::{Fields, choice, config, meaning},
    red::Listing,
    red_family::{self, Average, EcnForced},
    units::{Bytes, Size},
};
use alloc::{boxed::Box, format};
use precedence::Precedence;

mod precedence;

const CLARK: &str = "Clark and Fang 1998";
const OURS: &str = "ours: between the other two";

const fn threshold(default: &'static str) -> Param {
    Param::fixed(default).unit("packets or bytes").range(Range::POSITIVE).source(CLARK)
}
const fn probability(default: &'static str) -> Param {
    Param::fixed(default).range(Range::SHARE).source(CLARK)
}

choice! {
    /// The packets that a precedence averages.
    pub enum Coupling {
        /// Its own and those of better precedences.
        Coupled = "coupled",
        /// Its own.
        Decoupled = "decoupled",
        /// All.
        Total = "total",
    }
}

config! {
    /// The parameters of RIO.
    pub struct Config {
        /// Number of drop precedences: two (in, out) or three (green, yellow, red)
        precedences: u32 =
            Param::fixed("2").range(Range { min: 2.0, max: 3.0, above: false, below: false }).source(CLARK);
        /// Packets that a precedence averages: its own and those of better precedences, its own, or all
        average: Coupling = Param::fixed("coupled").source(CLARK);
        /// In or green: average below which no packet is signalled
        min_in: Size = threshold("40p").ns2("15p");
        /// In or green: average from which every packet is signalled
        max_in: Size = threshold("70p").ns2("30p");
        /// In or green: base probability just below max_in
        max_p_in: f64 = probability("0.02");
        /// Yellow of three: average below which no packet is signalled
        min_yellow: Size = threshold("15p").source(OURS);
        /// Yellow of three: average from which every packet is signalled
        max_yellow: Size = threshold("40p").source(OURS);
        /// Yellow of three: base probability just below max_yellow
        max_p_yellow: f64 = probability("0.1").source(OURS);
        /// Out or red: average below which no packet is signalled
        min_out: Size = threshold("10p").ns2("5p");
        /// Out or red: average from which every packet is signalled
        max_out: Size = threshold("30p").ns2("15p");
        /// Out or red: base probability just below max_out
        max_p_out: f64 = probability("0.2").ns2("0.1");
        #[doc = meaning!(w_q)]
        w_q: f64 = red_family::W_Q;
        /// Above the upper threshold the probability rises linearly to 1 at twice the threshold
        gentle: bool = Param::fixed("off").source(CLARK);
        #[doc = meaning!(wait)]
        wait: bool = red_family::WAIT;
        /// Arrival procedure: RED's, or that of ns-2's rio.cc with all its differences
        listing: Listing = Param::fixed("fj93").source(CLARK).ns2("ns2");
        #[doc = meaning!(max_packet)]
        max_packet: Bytes = red_family::MAX_PACKET;
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = red_family::MEAN_PACKET;
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
        #[doc = meaning!(ecn_forced)]
        ecn_forced: EcnForced = red_family::ECN_FORCED;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "rio",
    title: "RED with In and Out",
    alias_of: None,
    source: CLARK,
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "base probability of the last arrival's precedence" },
        Probe {
            name: "p_a",
            unit: "",
            doc: "signalling probability of the last arrival, 0 if it was not tested",
        },
        Probe { name: "avg_in", unit: "packets or bytes", doc: "average for in or green packets" },
        Probe {
            name: "avg_yellow",
            unit: "packets or bytes",
            doc: "average for yellow packets; 0 with two precedences",
        },
        Probe { name: "avg_out", unit: "packets or bytes", doc: "average for out or red packets" },
        Probe {
            name: "count_in",
            unit: "packets",
            doc: "in packets since the last signal to one; -1 below min_in",
        },
        Probe { name: "count_yellow", unit: "packets", doc: "yellow packets since the last signal to one" },
        Probe { name: "count_out", unit: "packets", doc: "out packets since the last signal to one" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("rio.rs"),
    instance: crate::instance!(Rio),
    build: |s| s.build(|config| Rio::new(config, &s.context)),
};

/// Constant parameters.
#[derive(Clone, Debug)]
struct Constants {
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
    config: Constants,
    /// Best precedence first: in, out or green, yellow, red.
    precedences: [Precedence; 3],
    /// Whether three precedences are used; with two, the middle one is not.
    three: bool,
    /// Probabilities p_b and p_a of the last arrival.
    p: f64,
    p_a: f64,
    /// ns-2: the current arrival is not tested.
    untested: bool,
}

/// The classes that precedence `index` averages.
fn averaged(coupling: Coupling, three: bool, index: u8) -> Classes {
    match (coupling, index) {
        (Coupling::Total, _) | (Coupling::Coupled, 2) => Classes::ALL,
        (Coupling::Coupled, _) => Classes { from: 0, to: index },
        (Coupling::Decoupled, 2) => Classes { from: if three { 2 } else { 1 }, to: u8::MAX },
        (Coupling::Decoupled, _) => Classes { from: index, to: index },
    }
}

impl Rio {
    /// RIO for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; thresholds in two units or out of order.
    pub fn new(config: Config, link: &Context) -> Result<Rio, SpecError> {
        config.check()?;
        let three = config.precedences == 3;
        let coupling = config.average;
        let ns2 = config.listing == Listing::Ns2;
        let bytes = matches!(config.min_in, Size::Bytes(_));
        let mean_packet = common::mean_packet(config.mean_packet, link);
        let precedence = |index, name, [min, max]: [Size; 2], max_p| {
            let used = three || index != 1;
            let (min, max, max_p) =
                if used { (min, max, max_p) } else { (Size::Bytes(0.0), Size::Bytes(1.0), 0.0) };
            for (end, size) in [("min", min), ("max", max)] {
                if used && matches!(size, Size::Bytes(_)) != bytes {
                    let allowed = "all thresholds in packets, or all in bytes";
                    let key = format!("{end}_{name}");
                    return Err(SpecError::about(&key, "is not in the unit of min_in", allowed));
                }
            }
            let (min, max) = (min.plain(), max.plain());
            if max <= min {
                let (key, problem) = (format!("max_{name}"), format!("is not above min_{name}"));
                return Err(SpecError::about(&key, problem, "a threshold above the lower one"));
            }
            Ok(Precedence {
                min,
                max,
                max_p,
                classes: averaged(coupling, three, index),
                average: Average::new(config.w_q, mean_packet, link, bytes, ns2),
                count: if ns2 { 0 } else { -1 },
                count_bytes: 0,
                crossed: false,
            })
        };
        let precedences = [
            precedence(0, "in", [config.min_in, config.max_in], config.max_p_in)?,
            precedence(1, "yellow", [config.min_yellow, config.max_yellow], config.max_p_yellow)?,
            precedence(2, "out", [config.min_out, config.max_out], config.max_p_out)?,
        ];
        let constants = Constants {
            coupling,
            bytes,
            gentle: config.gentle,
            wait: config.wait,
            ns2,
            max_packet: config.max_packet.0,
            mean_packet,
            ecn: config.ecn,
            mark_forced: config.ecn_forced == EcnForced::Mark,
        };
        Ok(Rio { config: constants, precedences, three, p: 0.0, p_a: 0.0, untested: false })
    }

    /// The precedence of a class.
    fn index(&self, class: Class) -> usize {
        match class.0 {
            0 => 0,
            1 if self.three => 1,
            _ => 2,
        }
    }

    /// Update the averages that include precedence `index`, at an arrival.
    fn update_averages(&mut self, now: Time, index: usize, queue: &QueueView) {
        let Constants { coupling, bytes, ns2, .. } = self.config;
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

    /// Start the decay of averages without queued packets.
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
            // A packet in service ends the idle time of the averages that include its class.
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
