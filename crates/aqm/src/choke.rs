//! **CHOKe (Pan, Prabhakar and Psounis 2000)** compares each arrival with a packet drawn at random from the
//! queue and, if both belong to the same flow, drops both; other arrivals are subject to RED.
//!
//! A packet of a flow with a large share of the queue is drawn often, so that an unresponsive flow is limited
//! without per-flow state.
//!
//! # When it decides
//! On arrival, if RED's average is at least `min_th` and the queue is not empty: the packet at position
//! floor(q u), with u uniform in [0, 1), is drawn, up to `candidates` times until a flow matches; a match
//! drops both packets (cause `flow-limit`), even if they are ECN-capable, and does not change RED's counter.
//! Otherwise RED decides: the packet is signalled with p_a between the thresholds (`early`), always from
//! `max_th` on (`forced`). A flow with the share s of the queue loses an arrival with probability s + (1 - s)
//! p_a, and two packets per match.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | draw | one random number per candidate | Linux: up to three if its array has holes, then the head | the queue here has no holes |
//! | avg equal to a threshold | compared at `min_th`, signalled at `max_th` | Linux: only above | as `red`, where p_b is then 0 and 1 |
//! | several candidates | the arrival and the first match are dropped | the paper's variant drops every match | a verdict has one victim; the purpose of the variant, a higher probability of a match, is kept |
//! | flow | the flow number of the simulator or gateway | Linux: a hash of addresses, ports and protocol, or the class from a filter | the same packets match |
//! | RED's counter | as in `red` | Linux: R drawn in advance, R/p_b packets between signals | the same distribution of gaps; one RED for all algorithms |
//!
//! # References
//! R. Pan, B. Prabhakar, K. Psounis: CHOKe, a stateless active queue management scheme for approximating fair
//! bandwidth allocation, INFOCOM 2000. Linux `sch_choke.c`.

use crate::{
    Algorithm, Aqm, Cause, Context, Hooks, PacketView, Param, Probe, QueueView, Random, Range, SpecError,
    Time, Verdict, common,
    config::{Fields, config, meaning},
    red_family::{self, Average, EcnForced, Thresholds, spread},
    units::{Bytes, Size},
};
use alloc::boxed::Box;

config! {
    /// The parameters of CHOKe.
    pub struct Config {
        #[doc = meaning!(min_th)]
        min_th: Size = red_family::MIN_TH;
        #[doc = meaning!(max_th)]
        max_th: Option<Size> = red_family::MAX_TH;
        #[doc = meaning!(max_p)]
        max_p: f64 = red_family::MAX_P;
        #[doc = meaning!(w_q)]
        w_q: f64 = red_family::W_Q;
        /// Maximum number of packets, each drawn at random, with which an arrival is compared
        candidates: u32 = Param::fixed("1")
            .unit("packets")
            .range(Range { min: 1.0, max: 1000.0, above: false, below: false })
            .source("Pan, Prabhakar and Psounis 2000: m");
        #[doc = meaning!(wait)]
        wait: bool = red_family::WAIT;
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
    name: "choke",
    title: "CHOKe",
    alias_of: None,
    source: "Pan, Prabhakar and Psounis 2000",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "avg", unit: "packets or bytes", doc: "average queue" },
        Probe { name: "p", unit: "", doc: "RED's base probability p_b at avg" },
        Probe {
            name: "p_a",
            unit: "",
            doc: "RED's drop probability of the last arrival, 0 if RED did not test it",
        },
        Probe { name: "count", unit: "packets", doc: "packets since RED's last signal; -1 below min_th" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("choke.rs"),
    instance: crate::instance!(Choke),
    build: |s| s.build(|config| Choke::new(config, &s.context)),
};

/// The state of CHOKe: that of RED.
#[derive(Clone, Debug)]
pub struct Choke {
    thresholds: Thresholds,
    max_p: f64,
    candidates: u32,
    wait: bool,
    max_packet: f64,
    ecn: bool,
    mark_forced: bool,
    /// Average of the queue.
    average: Average,
    /// Packets since RED's last signal; -1 while avg is below min_th.
    count: i64,
    /// RED's probability for the last arrival.
    p_a: f64,
}

impl Choke {
    /// CHOKe for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; thresholds in two units or out of order.
    pub fn new(config: Config, link: &Context) -> Result<Choke, SpecError> {
        config.check()?;
        let thresholds = Thresholds::new(config.min_th, config.max_th)?;
        let mean_packet = common::mean_packet(config.mean_packet, link);
        Ok(Choke {
            average: Average::new(config.w_q, mean_packet, link, thresholds.bytes, false),
            thresholds,
            max_p: config.max_p,
            candidates: config.candidates,
            wait: config.wait,
            max_packet: config.max_packet.0,
            ecn: config.ecn,
            mark_forced: config.ecn_forced == EcnForced::Mark,
            count: -1,
            p_a: 0.0,
        })
    }

    /// The position of a packet of the same flow, if one is drawn.
    fn pick(&self, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) -> Option<u32> {
        let candidates = if queue.packets > 0 { self.candidates } else { 0 };
        (0..candidates)
            .map(|_| (f64::from(queue.packets) * rng.uniform()) as u32)
            .find(|position| queue.contents.at(*position).is_some_and(|other| other.flow == packet.flow))
    }

    /// RED's base probability p_b.
    fn base(&self) -> f64 {
        let Thresholds { min, max, .. } = self.thresholds;
        let avg = self.average.avg;
        if avg < max { (self.max_p * (avg - min) / (max - min)).max(0.0) } else { 1.0 }
    }

    /// RED's decision, at an average of min_th or more.
    fn red(&mut self, packet: &PacketView, rng: &mut dyn Random) -> Verdict {
        if self.average.avg >= self.thresholds.max {
            self.p_a = 1.0;
            self.count = 0;
            return Verdict::signal(packet, self.ecn && self.mark_forced, Cause::Forced);
        }
        self.count += 1;
        let scale = if self.thresholds.bytes { f64::from(packet.bytes) / self.max_packet } else { 1.0 };
        self.p_a = spread(self.base() * scale, self.count as f64, self.wait);
        if rng.happens(self.p_a) {
            self.count = 0;
            Verdict::signal(packet, self.ecn, Cause::Early)
        } else {
            Verdict::Pass
        }
    }
}

impl Aqm for Choke {
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    fn on_offered(&mut self, now: Time, _: &PacketView, queue: &QueueView) {
        let queue = self.average.amount(queue);
        self.average.update(now, queue);
    }

    fn on_arrival(
        &mut self,
        _: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        self.p_a = 0.0;
        if self.average.avg < self.thresholds.min {
            self.count = -1;
            return Verdict::Pass;
        }
        match self.pick(packet, queue, rng) {
            Some(victim) => Verdict::DropBoth { victim, cause: Cause::FlowLimit },
            None => self.red(packet, rng),
        }
    }

    fn on_drop(&mut self, _: Time, _: &PacketView, _: Cause, _: &QueueView) {
        self.count = 0;
    }

    fn on_idle(&mut self, now: Time) {
        self.average.idle(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("avg", self.average.avg);
        field("p", self.base());
        field("p_a", self.p_a);
        field("count", self.count as f64);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
