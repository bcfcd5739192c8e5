//! **SRED (Stabilized RED; Ott, Lakshman and Wong 1999)** estimates the number of flows without counting
//! them, and drops with a probability at which the queue settles at a level that does not depend on that
//! number.
//!
//! It keeps a list of `m` recently seen flows ("zombies") and compares each arrival with a random one. With N
//! equal flows one arrival in N has the same flow (a hit), so that the frequency of hits P(t) estimates 1/N.
//! The rate of TCP is inversely proportional to the square root of the drop probability, hence the square in
//! the formula. A hit itself indicates a flow with a high rate: the full form drops such packets more often.
//!
//! # When it decides
//! On arrival, with at most three random numbers. While the list is not full: append the flow, and drop with
//! probability p_sred. After that: draw a zombie; the same flow is a hit, another flow is a miss and replaces
//! the zombie with probability `p`; P <- (1 - alpha) P + alpha hit; drop with probability p_sred min(1,
//! 1/(256 P)^2), times (1 + hit/P) in the full form. p_sred is `p_max` if the current queue is at least a
//! third of the buffer, `p_max`/4 if it is at least a sixth, else 0. The cause is `early`. Packets that do
//! not fit update list and P as well.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | alpha | 1/m | a port to ns-3: p/m (`alpha 0.00025`) | another port, which cites the paper's equations, has 1/m, as J-Sim |
//! | while the list is not full | p_sred | other code: P = 0 (the same p_sred), or no drops | not specified in the paper; as for many flows, because P is unknown |
//! | 256 | the paper's | J-Sim: a third of the buffer | the paper's constant is for up to 256 flows, independently of the buffer |
//! | order of P(t) and hit/P | P is updated first | - | after a hit P >= alpha, so that hit/P is finite |
//! | time of a zombie | not stored | the paper stores it | no rule of the algorithm reads it |
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
        /// Packets that hit with a higher probability.
        Full = "full",
        /// All with the same probability.
        Simple = "simple",
    }
}

config! {
    /// The parameters of SRED.
    pub struct Config {
        /// Largest p_sred: drop probability of a long queue before the correction for the number of flows
        p_max: f64 = Param::fixed("0.15").range(Range::SHARE).source(PAPER);
        /// Length of the list
        m: u32 = Param::fixed("1000")
            .unit("flows")
            .range(Range { min: 1.0, max: 1e6, above: false, below: false })
            .source(PAPER);
        /// Probability that the flow of a miss replaces the zombie
        p: f64 = Param::fixed("0.25").range(Range::SHARE).source(PAPER);
        /// Weight of the last comparison in the hit frequency
        alpha: Option<f64> = Param::derived("1/m, with m the length of the list")
            .range(Range::FRACTION)
            .source(PAPER);
        /// Drop packets that hit with a higher probability, or all with the same probability
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
        Probe { name: "p", unit: "", doc: "drop probability of the last arrival" },
        Probe { name: "p_sred", unit: "", doc: "drop probability by the queue alone" },
        Probe { name: "hit_frequency", unit: "", doc: "P(t); its inverse estimates the number of flows" },
        Probe { name: "zombies", unit: "flows", doc: "flows in the list" },
        Probe { name: "zombie_hits", unit: "", doc: "hits of the zombie that was drawn last" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("sred.rs"),
    instance: crate::instance!(Sred),
    build: |s| s.build(|config| Sred::new(config, &s.context)),
};

/// A recently seen flow.
#[derive(Clone, Copy, Debug)]
struct Zombie {
    flow: FlowId,
    /// Number of arrivals that hit it; large for a flow with a high rate.
    hits: u32,
}

/// The state of SRED.
#[derive(Clone, Debug)]
pub struct Sred {
    p_max: f64,
    /// Length of the full list.
    m: usize,
    overwrite: f64,
    alpha: f64,
    full: bool,
    buffer: Size,
    ecn: bool,
    /// At most `m` of them.
    zombies: Vec<Zombie>,
    /// Index of the zombie that was drawn last.
    met: usize,
    /// P(t), the frequency of hits.
    frequency: f64,
    /// Drop probability of the last arrival by the queue alone.
    p_sred: f64,
    /// Drop probability of the last arrival.
    p: f64,
}

impl Sred {
    /// SRED for an empty queue in front of `link`.
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

    /// Compare the arrival with a zombie: whether it hit, or `None` while the list is not full.
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

    /// p_sred, which depends on the queue alone: three levels.
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
