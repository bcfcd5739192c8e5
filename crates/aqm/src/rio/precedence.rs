//! The RED of one precedence of RIO: its thresholds, average and counter.

use super::Constants;
use crate::{
    PacketView,
    classes::Classes,
    red_family::{Average, spread},
};

/// The RED of one precedence.
#[derive(Clone, Debug)]
pub(super) struct Precedence {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) max_p: f64,
    /// The classes whose packets it averages.
    pub(super) classes: Classes,
    /// Their average.
    pub(super) average: Average,
    /// Packets of this precedence since the last signal to one; -1 (ns-2: 0) while the average is below min.
    pub(super) count: i64,
    /// Bytes since then (ns-2's byte mode).
    pub(super) count_bytes: u64,
    /// ns-2: the first arrival with an average above min, which is not tested, is over.
    pub(super) crossed: bool,
}

impl Precedence {
    /// Average from which every packet is signalled.
    pub(super) fn certain(&self, gentle: bool) -> f64 {
        if gentle { 2.0 * self.max } else { self.max }
    }

    /// RED's base probability p_b of the current average.
    pub(super) fn base(&self, gentle: bool) -> f64 {
        let avg = self.average.avg;
        if avg < self.min {
            0.0
        } else if avg < self.max {
            self.max_p * (avg - self.min) / (self.max - self.min)
        } else if avg < self.certain(gentle) {
            self.max_p + (1.0 - self.max_p) * (avg - self.max) / self.max
        } else {
            1.0
        }
    }

    /// RED's p_a of the packet; counts the packet.
    pub(super) fn probability(&mut self, packet: &PacketView, config: &Constants) -> f64 {
        let (base, size) = (self.base(config.gentle), f64::from(packet.bytes));
        if !config.ns2 {
            self.count += 1;
            let scale = if config.bytes { size / config.max_packet } else { 1.0 };
            return spread(base * scale, self.count as f64, config.wait);
        }
        if !config.bytes {
            return spread(base, self.count as f64, config.wait);
        }
        let p_a = spread(base, libm::floor(self.count_bytes as f64 / config.mean_packet), config.wait);
        if p_a < 1.0 { (p_a * size / config.mean_packet).min(1.0) } else { 1.0 }
    }

    /// ns-2 counts every arrival of a precedence, and exempts from the test one that finds at most one packet
    /// (byte) and the first one above min; returns whether it exempts this one.
    pub(super) fn count_as_ns2(&mut self, packet: &PacketView, queue: f64, gentle: bool) -> bool {
        self.count += 1;
        self.count_bytes += u64::from(packet.bytes);
        let above = self.average.avg >= self.min && queue > 1.0;
        let crossing = above && !self.crossed && self.average.avg < self.certain(gentle);
        if crossing {
            self.count = 1;
            self.count_bytes = u64::from(packet.bytes);
        }
        self.crossed = above && (self.crossed || crossing);
        crossing || !above
    }

    pub(super) fn restart_count(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }
}
