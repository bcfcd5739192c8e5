//! **PI (proportional-integral controller; Hollot, Misra, Towsley and Gong 2001)** samples the queue at a
//! fixed rate and adapts one drop probability until the queue is at `q_ref`, independently of the load.
//!
//! The integral part removes the steady-state error that RED has. PI converges slowly: with the published
//! constants the probability changes by about 1e-5 per second for each packet of error. `sojourn.rules.pi`
//! computes the gains from the number of flows, the capacity and the round-trip time.
//!
//! # When it decides
//! At `f_s` samples per second: p <- p + a (q - q_ref) - b (q_old - q_ref), limited to [0, 1], which also
//! prevents integrator wind-up. Each arrival is then signalled with probability p; the cause is `early`. A
//! `q_ref` in bytes selects byte mode: q is counted in mean packets of bytes and p is scaled by packet size /
//! `mean_packet`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | sampling, target | 160 Hz, 200 packets | ns-2: 170 Hz, 50 packets | the paper; preset `ns2` |
//! | first sample | after one period | ns-2: also at the start | the queue is empty then, so that p stays 0: no effect |
//! | sample times | exact multiples of 1/f_s, to the nanosecond | ns-2: a sum of rounded periods | no drift |
//! | random test | u < p | ns-2: u <= p | u is in [0, 1): no signal at p = 0 |
//!
//! # References
//! C. Hollot, V. Misra, D. Towsley, W. Gong: On Designing Improved Controllers for AQM Routers Supporting
//! TCP Flows, INFOCOM 2001. ns-2 `queue/pi.cc`.

use crate::{
    Algorithm, Aqm, Cause, Context, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random,
    Range, SpecError, Ticks, Time, Verdict, common,
    config::{Fields, config, meaning},
    units::{Bytes, Size},
};
use alloc::boxed::Box;

config! {
    /// The parameters of PI.
    pub struct Config {
        /// Gain of the current error
        a: f64 = Param::fixed("0.00001822").unit("1/packet").range(Range::SHARE).source("Hollot et al. 2001");
        /// Gain of the previous error, less than a
        b: f64 = Param::fixed("0.00001816").unit("1/packet").range(Range::SHARE).source("Hollot et al. 2001");
        /// Samples per second (ns-2: w)
        f_s: f64 = Param::fixed("160")
            .unit("Hz")
            .range(Range { min: 1e-3, max: 1e6, above: false, below: false })
            .source("Hollot et al. 2001")
            .ns2("170");
        /// Target queue
        q_ref: Size = Param::fixed("200p")
            .unit("packets or bytes")
            .range(Range::NOT_NEGATIVE)
            .source("Hollot et al. 2001")
            .ns2("50p");
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = common::MEAN_PACKET;
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "pi",
    title: "Proportional-integral controller",
    alias_of: None,
    source: "Hollot, Misra, Towsley and Gong 2001",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "drop probability" },
        Probe { name: "q_old", unit: "packets", doc: "queue at the last sample" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("pi.rs"),
    instance: crate::instance!(Pi),
    build: |s| s.build(|config| Pi::new(config, &s.context)),
};

/// The state of the controller.
#[derive(Clone, Debug)]
pub struct Pi {
    a: f64,
    b: f64,
    /// Target, in packets.
    q_ref: f64,
    /// Mean packet size in byte mode; `None` counts packets.
    byte_mode: Option<f64>,
    ecn: bool,
    /// When to sample.
    samples: Ticks,
    /// Drop probability.
    p: f64,
    /// Queue at the last sample, in packets.
    q_old: f64,
}

impl Pi {
    /// PI for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; `b` not less than `a`.
    pub fn new(config: Config, link: &Context) -> Result<Pi, SpecError> {
        config.check()?;
        let Config { a, b, f_s, q_ref, ecn, .. } = config;
        if b >= a {
            let allowed = "b < a: their difference is the integral gain";
            return Err(SpecError::about("b", "is not less than a", allowed));
        }
        let mean_packet = common::mean_packet(config.mean_packet, link);
        let (q_ref, byte_mode) = match q_ref {
            Size::Bytes(bytes) => (bytes / mean_packet, Some(mean_packet)),
            Size::Packets(packets) => (packets, None),
        };
        Ok(Pi { a, b, q_ref, byte_mode, ecn, samples: Ticks::per_second(f_s), p: 0.0, q_old: 0.0 })
    }

    /// One step of the controller.
    fn update(&mut self, q: f64) {
        let step = self.a * (q - self.q_ref) - self.b * (self.q_old - self.q_ref);
        self.p = (self.p + step).clamp(0.0, 1.0);
        self.q_old = q;
    }
}

impl IgnoresContents for Pi {}

impl Aqm for Pi {
    #[inline]
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    #[inline(always)]
    fn on_arrival(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        let p = self.byte_mode.map_or(self.p, |mean| self.p * f64::from(packet.bytes) / mean);
        if rng.happens(p) { Verdict::signal(packet, self.ecn, Cause::Early) } else { Verdict::Pass }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.samples.due())
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _: &mut dyn Random) {
        let q = self.byte_mode.map_or(f64::from(queue.packets), |mean| queue.bytes as f64 / mean);
        self.update(q);
        self.samples.advance(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p);
        field("q_old", self.q_old);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
