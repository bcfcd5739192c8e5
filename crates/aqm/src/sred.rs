//! **SRED (Stabilized RED)** estimates how many flows there are, without counting them, and drops so that the
//! queue settles at a level that does not depend on that number.
//!
//! It keeps a list of `m` flows seen of late ("zombies") and compares each arrival with a random one. Of N
//! equal flows one arrival in N hits, so that the frequency of hits P(t) estimates 1/N. TCP's share falls
//! with the root of the drop probability, hence the square in the formula. A hit itself points to a flow that
//! sends much: the full form drops it more often.
//!
//! # When it decides
//! On arrival, with three random numbers at most. While the list fills: append the flow, drop with p_sred.
//! Then: pick a zombie; the same flow is a hit, another is a miss that takes its place with probability `p`;
//! P <- (1 - alpha) P + alpha hit; drop with p_sred min(1, 1/(256 P)^2), times (1 + hit/P) in the full form.
//! p_sred is `p_max` from a third of the buffer on, a quarter of that from a sixth on, else 0, by the queue
//! as it is. The cause is `early`. Packets that find no room update list and P as well.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | alpha | 1/m | a port to ns-3: p/m (`alpha 0.00025`) | another port, which cites the paper's equations, has 1/m, as J-Sim |
//! | while the list fills | p_sred alone | other code: P = 0 (the same p_sred), or accepts everything | the paper defines nothing there; the factor for a P that is not known is the one for many flows |
//! | 256 | the paper's | J-Sim: a third of the buffer | the paper's constant is for up to 256 flows, whatever the buffer |
//! | P(t) and hit | P moves first | - | a hit then means P >= alpha, so that hit/P is finite |
//! | time of a zombie | not kept | the paper stores it | nothing in the algorithm reads it |
//! | thresholds in bytes | with a limit in bytes | the paper's queue counts bytes of equal packets | ratios to the buffer need its unit only |
//!
//! # References
//! T. J. Ott, T. V. Lakshman, L. H. Wong: SRED: Stabilized RED, INFOCOM 1999. J-Sim `SRED.java`.

use crate::{
    Algorithm, Aqm, Cause, Context, FlowId, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView,
    Random, Range, SpecError, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    units::Size,
};
use alloc::{boxed::Box, vec::Vec};

const PAPER: &str = "Ott, Lakshman and Wong 1999";

choice! {
    /// Which packets are dropped.
    pub enum Form {
        /// Packets that hit more often.
        Full = "full",
        /// All alike.
        Simple = "simple",
    }
}

config! {
    /// The parameters of SRED.
    pub struct Config {
        /// Drop probability of a long queue before it is divided by the square of the flows
        p_max: f64 = Param::fixed("0.15").range(Range::SHARE).source(PAPER);
        /// Flows in the list
        m: u32 = Param::fixed("1000")
            .unit("flows")
            .range(Range { min: 1.0, max: 1e6, above: false, below: false })
            .source(PAPER);
        /// Probability that a miss takes the zombie's place
        p: f64 = Param::fixed("0.25").range(Range::SHARE).source(PAPER);
        /// Weight of the last comparison in the hit frequency
        alpha: Option<f64> = Param::derived("1/m, with m the length of the list")
            .range(Range::FRACTION)
            .source(PAPER);
        /// Drop packets that hit more often, or all alike
        form: Form = Param::fixed("full").source(PAPER);
        /// Buffer size with which the queue is compared
        buffer: Option<Size> = Param::derived("the buffer limit")
            .unit("packets or bytes")
            .range(Range::POSITIVE)
            .source(PAPER);
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "sred",
    title: "Stabilized RED",
    alias_of: None,
    source: PAPER,
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "probability that the last arrival met" },
        Probe { name: "p_sred", unit: "", doc: "what the queue alone makes of it" },
        Probe { name: "hit_frequency", unit: "", doc: "P(t); its inverse estimates the number of flows" },
        Probe { name: "zombies", unit: "flows", doc: "how full the list is" },
        Probe { name: "zombie_hits", unit: "", doc: "hits of the zombie that was met last" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("sred.rs"),
    instance: crate::instance!(Sred),
    build: |s| s.build(|config| Sred::new(config, &s.context)),
};

/// A flow seen of late.
#[derive(Clone, Copy, Debug)]
struct Zombie {
    flow: FlowId,
    /// How often an arrival hit it: many hits, a greedy flow.
    hits: u32,
}

/// The state of SRED.
#[derive(Clone, Debug)]
pub struct Sred {
    p_max: f64,
    /// Room in the list.
    m: usize,
    overwrite: f64,
    alpha: f64,
    full: bool,
    buffer: Size,
    ecn: bool,
    /// At most `m` of them.
    zombies: Vec<Zombie>,
    /// Which was met last.
    met: usize,
    /// P(t), how often an arrival hits.
    frequency: f64,
    /// What the queue alone makes of the last arrival.
    p_sred: f64,
    /// Probability that the last arrival met.
    p: f64,
}

impl Sred {
    /// SRED at an empty queue of `link`.
    ///
    /// # Errors
    /// A value outside its range; a list of one flow without `alpha`.
    pub fn new(config: Config, link: &Context) -> Result<Sred, SpecError> {
        config.check()?;
        let Config { p_max, m, p, alpha, form, buffer, ecn } = config;
        if m == 1 && alpha.is_none() {
            let allowed = "alpha below 1, or m above 1";
            return Err(SpecError::about("alpha", "= 1/m = 1 keeps no average", allowed));
        }
        Ok(Sred {
            p_max,
            m: m as usize,
            overwrite: p,
            alpha: alpha.unwrap_or(1.0 / f64::from(m)),
            full: form == Form::Full,
            buffer: buffer.unwrap_or(common::limit(link)),
            ecn,
            zombies: Vec::with_capacity(m as usize),
            met: 0,
            frequency: 0.0,
            p_sred: 0.0,
            p: 0.0,
        })
    }

    /// Compare the arrival with a zombie: whether it hit, or `None` while the list fills.
    fn meet(&mut self, flow: FlowId, rng: &mut dyn Random) -> Option<bool> {
        if self.zombies.len() < self.m {
            self.met = self.zombies.len();
            self.zombies.push(Zombie { flow, hits: 0 });
            return None;
        }
        self.met = (rng.uniform() * self.m as f64) as usize;
        let zombie = &mut self.zombies[self.met];
        let hit = zombie.flow == flow;
        if hit {
            zombie.hits = zombie.hits.saturating_add(1);
        } else if rng.happens(self.overwrite) {
            *zombie = Zombie { flow, hits: 0 };
        }
        self.frequency += self.alpha * (f64::from(u8::from(hit)) - self.frequency);
        Some(hit)
    }

    /// What the queue alone says: three levels.
    fn by_queue(&self, queue: &QueueView) -> f64 {
        let (queue, buffer) = match self.buffer {
            Size::Packets(buffer) => (f64::from(queue.packets), buffer),
            Size::Bytes(buffer) => (queue.bytes as f64, buffer),
        };
        if 3.0 * queue >= buffer {
            self.p_max
        } else if 6.0 * queue >= buffer {
            self.p_max / 4.0
        } else {
            0.0
        }
    }

    /// p_zap: divided by the square of the number of flows, and higher for a packet that hits.
    fn by_flows(&self, p_sred: f64, hit: bool) -> f64 {
        let per_flow = 256.0 * self.frequency;
        let mut p = if per_flow > 1.0 { p_sred / (per_flow * per_flow) } else { p_sred };
        if self.full && hit && p > 0.0 {
            p *= 1.0 + 1.0 / self.frequency;
        }
        p.min(1.0)
    }
}

impl IgnoresContents for Sred {}

impl Aqm for Sred {
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    fn on_arrival(
        &mut self,
        _: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        let hit = self.meet(packet.flow, rng);
        self.p_sred = self.by_queue(queue);
        self.p = hit.map_or(self.p_sred, |hit| self.by_flows(self.p_sred, hit));
        if rng.happens(self.p) { Verdict::signal(packet, self.ecn, Cause::Early) } else { Verdict::Pass }
    }

    fn on_refused(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) {
        self.meet(packet.flow, rng);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p);
        field("p_sred", self.p_sred);
        field("hit_frequency", self.frequency);
        field("zombies", self.zombies.len() as f64);
        field("zombie_hits", self.zombies.get(self.met).map_or(0.0, |zombie| f64::from(zombie.hits)));
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
