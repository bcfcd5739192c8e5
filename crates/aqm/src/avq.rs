//! **AVQ (Adaptive Virtual Queue; Kunniyur and Srikant 2001)** simulates a virtual queue with the same
//! arrivals in front of a link of a lower rate, and signals the packets that overflow the *virtual* queue, so
//! that the real queue stays short.
//!
//! The virtual rate decreases with every arriving byte that AVQ does not drop, and increases with time; it is
//! in equilibrium when the arrivals use the share `gamma` of the real link. AVQ controls the load, not the
//! queue length, and draws no random numbers.
//!
//! # When it decides
//! On arrival of b bytes, dt after the last arrival, with C~ the virtual rate: VQ <- max(0, VQ - C~ dt); if
//! VQ + b > `buffer` the packet is signalled (cause `early`) and does not enter VQ, else VQ <- VQ + b. Then
//! C~ <- max(0, min(C, C~ + alpha gamma C dt) - alpha b). A packet that this rule drops changes neither C~
//! nor the time of its last update, so that the next accepted packet adds the increase of the whole gap: C~
//! depends on the accepted rate. A packet that does not fit into the real buffer has already changed VQ and
//! C~.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | limit of C~ to C | before the decrease by alpha b | ns-2: after it | the paper; C~ differs by alpha b on an idle link, 0.01 % of C at 10 Mbit/s, and not at all on a busy one |
//! | units | bytes (`mode packet`: every packet counts as a mean packet) | ns-2: the same two, in units of mean packets | bytes need no conversion |
//! | alpha | a parameter | ns-2: 0.15, fixed in its source | its stable range depends on load, delay and rate |
//! | packet without ECN while `ecn` is on | dropped | ns-2: passes untouched | RFC 3168: a signal to it is a drop; otherwise flows without ECN would get no signal |
//! | which packet is marked | the arriving one | ns-2 can mark the head (`markfront_`) | the paper; it is off in ns-2 too |
//!
//! # References
//! S. Kunniyur, R. Srikant: Analysis and Design of an Adaptive Virtual Queue Algorithm for Active Queue
//! Management, SIGCOMM 2001; IEEE/ACM ToN 12(2), 2004. ns-2 `queue/vq.cc`.

use crate::{
    Algorithm, Aqm, Cause, Context, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random,
    Range, SpecError, Time, Verdict,
    common::{self, VirtualMode},
    config::{Fields, config, meaning},
    units::{Bytes, Size},
};
use alloc::boxed::Box;

config! {
    /// The parameters of AVQ.
    pub struct Config {
        /// Target utilization of the link
        gamma: f64 = Param::fixed("0.98").range(Range::SHARE).source("Kunniyur and Srikant 2001");
        /// Speed of adaptation of the virtual rate
        alpha: f64 = Param::fixed("0.15")
            .unit("1/s")
            .range(Range::POSITIVE)
            .source("Kunniyur and Srikant 2001");
        /// Initial virtual rate as a share of C
        start: f64 = Param::fixed("0.8").range(Range::PROBABILITY).source("ns-2 vq.cc");
        /// Size of the virtual buffer
        buffer: Option<Size> = Param::derived("the buffer limit")
            .unit("packets or bytes")
            .range(Range::POSITIVE)
            .source("Kunniyur and Srikant 2001");
        #[doc = meaning!(rate)]
        rate: Option<u64> = common::RATE;
        #[doc = meaning!(virtual_mode)]
        mode: VirtualMode = common::VIRTUAL_MODE;
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = common::MEAN_PACKET;
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "avq",
    title: "Adaptive Virtual Queue",
    alias_of: None,
    source: "Kunniyur and Srikant 2001",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "vq", unit: "B", doc: "length of the virtual queue" },
        Probe { name: "capacity", unit: "bit/s", doc: "virtual rate C~" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("avq.rs"),
    instance: crate::instance!(Avq),
    build: |s| s.build(|config| Avq::new(config, &s.context)),
};

/// The state of the virtual queue; rates in bytes/s, lengths in bytes.
#[derive(Clone, Debug)]
pub struct Avq {
    gamma: f64,
    alpha: f64,
    /// Real link rate C.
    rate: f64,
    /// Size of the virtual buffer.
    buffer: f64,
    /// In packet mode the size of every packet in bytes; `None`: its own size.
    packet_mode: Option<f64>,
    ecn: bool,
    /// Length of the virtual queue.
    vq: f64,
    /// Virtual rate C~.
    capacity: f64,
    /// When the virtual queue was last drained; `None` before the first arrival.
    drained: Option<Time>,
    /// When C~ was last adapted.
    adapted: Time,
    /// The verdict on the current arrival.
    verdict: Verdict,
}

impl Avq {
    /// AVQ for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<Avq, SpecError> {
        config.check()?;
        let mean_packet = common::mean_packet(config.mean_packet, link);
        let rate = config.rate.unwrap_or(link.link_rate) as f64 / 8.0;
        Ok(Avq {
            gamma: config.gamma,
            alpha: config.alpha,
            rate,
            buffer: common::amount(config.buffer.unwrap_or(common::limit(link)), true, mean_packet),
            packet_mode: (config.mode == VirtualMode::Packet).then_some(mean_packet),
            ecn: config.ecn,
            vq: 0.0,
            capacity: config.start * rate,
            drained: None,
            adapted: Time::ZERO,
            verdict: Verdict::Pass,
        })
    }

    /// Drain the virtual queue for the time since the last update.
    fn drain(&mut self, now: Time) {
        match self.drained.replace(now) {
            Some(last) => self.vq = (self.vq - self.capacity * now.since(last).as_secs_f64()).max(0.0),
            None => self.adapted = now,
        }
    }

    /// Whether the packet overflows the virtual queue; if not, it is added.
    fn overflows(&mut self, size: f64) -> bool {
        let overflow = self.vq + size > self.buffer;
        if !overflow {
            self.vq += size;
        }
        overflow
    }

    /// C~ increases by alpha gamma C per second and decreases by alpha per byte.
    fn adapt(&mut self, now: Time, size: f64) {
        let earned = self.alpha * (self.gamma * self.rate * now.since(self.adapted).as_secs_f64());
        self.capacity = ((self.capacity + earned).min(self.rate) - self.alpha * size).max(0.0);
        self.adapted = now;
    }
}

impl IgnoresContents for Avq {}

impl Aqm for Avq {
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    fn on_offered(&mut self, now: Time, packet: &PacketView, _: &QueueView) {
        let size = self.packet_mode.unwrap_or(f64::from(packet.bytes));
        self.drain(now);
        self.verdict = if self.overflows(size) {
            Verdict::signal(packet, self.ecn, Cause::Early)
        } else {
            Verdict::Pass
        };
        if !matches!(self.verdict, Verdict::Drop(_)) {
            self.adapt(now, size);
        }
    }

    fn on_arrival(&mut self, _: Time, _: &PacketView, _: &QueueView, _: &mut dyn Random) -> Verdict {
        self.verdict
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("vq", self.vq);
        field("capacity", self.capacity * 8.0);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
