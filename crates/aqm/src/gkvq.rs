//! **GKVQ (the virtual queue of Gibbens and Kelly 1999)** simulates the same arrivals at a link with a
//! slightly lower rate and a slightly smaller buffer, and signals the packets that overflow there, before the
//! real buffer overflows.
//!
//! The virtual rate is constant, while that of `avq` adapts. GKVQ draws no random numbers.
//!
//! # When it decides
//! On arrival of b bytes, dt after the last update: VQ <- max(0, VQ - rate dt); if VQ + b > `buffer` the
//! packet overflows the virtual queue, else VQ <- VQ + b. `form packet` signals the packet that overflows, on
//! arrival, cause `early`; an empty virtual queue takes any packet. With `form until_empty` an overflow
//! starts the marking of every packet that *departs*, until the virtual queue is empty; this form can only
//! mark, so that without ECN it is DropTail.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | what is signalled | the packet that overflows | Gibbens and Kelly, ns-2: all departures until the virtual queue is empty (`form until_empty`) | the description of Byun and Baras, and the only form that can drop; preset `ns2` |
//! | units | bytes | ns-2: packets (`mode packet`) | a link sends bytes; preset `ns2` |
//! | time of the last drain | always updated | ns-2: not while the virtual queue is empty (`stale_clock`), so that the whole idle time drains the next packets at once: too few marks | an error in the accounting; preset `ns2` |
//! | packet larger than `buffer` | an empty virtual queue takes it | ns-2: overflows it, so that every packet is marked (`form until_empty`) | `buffer` derived from a limit of one packet is smaller than a packet |
//! | packet without ECN, `until_empty` | passes | ns-2: same | a drop at departure no longer shortens the queue; ns-2's class has no drops |
//!
//! # References
//! R. Gibbens, F. Kelly: Distributed Connection Acceptance Control for a Connectionless Network, ITC 16,
//! 1999, and Resource Pricing and the Evolution of Congestion Control, Automatica 35, 1999. Form `packet`: D.
//! J. Byun, J. S. Baras: AVQRED, 2007. ns-2 `queue/gk.cc`.

use crate::{
    Algorithm, Aqm, Cause, Context, Ecn, IgnoresContents, PacketView, Param, Probe, QueueView, Random, Range,
    SpecError, Time, Verdict,
    common::{self, VirtualMode},
    config::{Fields, choice, config, meaning},
    units::{Bytes, Size},
};
use alloc::boxed::Box;

choice! {
    /// What an overflow of the virtual queue signals.
    pub enum Form {
        /// The packet that overflows it.
        Packet = "packet",
        /// All departures until it is empty.
        UntilEmpty = "until_empty",
    }
}

config! {
    /// The parameters of GKVQ.
    pub struct Config {
        /// Virtual rate and buffer as a share of the real ones
        theta: f64 = Param::fixed("0.95").range(Range::SHARE).source("ns-2 gk.cc");
        /// Virtual link rate
        rate: Option<u64> = Param::derived("theta x the link rate")
            .unit("bit/s")
            .source("Gibbens and Kelly 1999");
        /// Size of the virtual buffer
        buffer: Option<Size> = Param::derived("theta x the buffer limit")
            .unit("packets or bytes")
            .range(Range::POSITIVE)
            .source("Gibbens and Kelly 1999");
        /// Signal the packet that overflows, or mark all departures until the virtual queue is empty
        form: Form = Param::fixed("packet").source("Byun and Baras 2007").ns2("until_empty");
        #[doc = meaning!(virtual_mode)]
        mode: VirtualMode = common::VIRTUAL_MODE.ns2("packet");
        /// Do not update the time of the last drain while the virtual queue is empty
        stale_clock: bool = Param::fixed("off").source("Gibbens and Kelly 1999").ns2("on");
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = common::MEAN_PACKET;
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "gkvq",
    title: "Virtual queue of Gibbens and Kelly",
    alias_of: None,
    source: "Gibbens and Kelly 1999",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "vq", unit: "B", doc: "length of the virtual queue" },
        Probe { name: "flag", unit: "", doc: "1 while departures are marked (`form until_empty`)" },
    ],
    ns2_limit_counts_service: true,
    file: include_str!("gkvq.rs"),
    instance: crate::instance!(Gkvq),
    build: |s| s.build(|config| Gkvq::new(config, &s.context)),
};

/// The state of the virtual queue; the rate in bytes/s, lengths in bytes.
#[derive(Clone, Debug)]
pub struct Gkvq {
    /// Virtual link rate.
    rate: f64,
    /// Size of the virtual buffer.
    buffer: f64,
    until_empty: bool,
    /// In packet mode the size of every packet in bytes; `None`: its own size.
    packet_mode: Option<f64>,
    stale_clock: bool,
    ecn: bool,
    /// Length of the virtual queue.
    vq: f64,
    /// When it was last drained.
    drained: Time,
    /// It has overflowed and has not been empty since then.
    flag: bool,
    /// The current arrival overflows it.
    overflow: bool,
}

impl Gkvq {
    /// GKVQ for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<Gkvq, SpecError> {
        config.check()?;
        let theta = config.theta;
        let mean_packet = common::mean_packet(config.mean_packet, link);
        let rate = config.rate.map_or(theta * link.link_rate as f64, |rate| rate as f64) / 8.0;
        let buffer = match config.buffer {
            Some(buffer) => common::amount(buffer, true, mean_packet),
            None => theta * common::amount(common::limit(link), true, mean_packet),
        };
        Ok(Gkvq {
            rate,
            buffer,
            until_empty: config.form == Form::UntilEmpty,
            packet_mode: (config.mode == VirtualMode::Packet).then_some(mean_packet),
            stale_clock: config.stale_clock,
            ecn: config.ecn,
            vq: 0.0,
            drained: Time::ZERO,
            flag: false,
            overflow: false,
        })
    }

    /// Drain the virtual queue for the time since the last update; once it is empty, marking ends.
    fn drain(&mut self, now: Time) {
        if self.stale_clock && self.vq == 0.0 {
            return;
        }
        self.vq = (self.vq - self.rate * now.since(self.drained).as_secs_f64()).max(0.0);
        self.drained = now;
        self.flag &= self.vq > 0.0;
    }
}

impl IgnoresContents for Gkvq {}

impl Aqm for Gkvq {
    fn on_offered(&mut self, now: Time, packet: &PacketView, _: &QueueView) {
        self.drain(now);
        let size = self.packet_mode.unwrap_or(f64::from(packet.bytes));
        let takes_any = !self.until_empty && self.vq == 0.0;
        self.overflow = !takes_any && self.vq + size > self.buffer;
        if self.overflow {
            self.flag = self.until_empty;
        } else {
            self.vq += size;
        }
    }

    fn on_arrival(&mut self, _: Time, packet: &PacketView, _: &QueueView, _: &mut dyn Random) -> Verdict {
        if self.overflow && !self.until_empty {
            Verdict::signal(packet, self.ecn, Cause::Early)
        } else {
            Verdict::Pass
        }
    }

    fn on_departure(&mut self, now: Time, packet: &PacketView, _: &QueueView, _: &mut dyn Random) -> Verdict {
        if !self.until_empty {
            return Verdict::Pass;
        }
        self.drain(now);
        if self.flag && self.ecn && packet.ecn != Ecn::NotEct {
            Verdict::Mark(Cause::Early)
        } else {
            Verdict::Pass
        }
    }

    fn on_idle(&mut self, now: Time) {
        self.drain(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("vq", self.vq);
        field("flag", f64::from(u8::from(self.flag)));
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
