//! All links, and how a packet crosses one.

use super::{FixedPath, Hop, Step};
use crate::link::{Link, LinkKind};
use sojourn_aqm::Time;

/// All links. Those of the fixed path may be out of date ([`FixedPath::flush`]).
pub(crate) struct Links<'a> {
    pub(crate) each: &'a mut [Link],
    pub(crate) kinds: &'a mut [LinkKind],
    pub(crate) fixed_path: &'a mut FixedPath,
}

impl Links<'_> {
    /// A copy for one call that is not inlined: then the original need not be in memory.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Links<'_> {
        Links { each: self.each, kinds: self.kinds, fixed_path: self.fixed_path }
    }

    /// The transmitter of `link` starts to send a packet of `bytes`, on a step with `hop`: when it has sent
    /// the packet, and when that reaches the other end.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, link: u32, hop: &mut Hop, now: Time, bytes: u32) -> (Time, Time) {
        let end = self.each[link as usize].transmit(&mut hop.tx_time, self.kinds, now, bytes);
        (end, hop.tx_time.arrival(end))
    }

    /// A packet of `bytes` enters the link of `hop` at `at`: when it reaches the other end.
    #[inline(always)]
    pub(crate) fn cross(&mut self, hop: &mut Hop, host: u32, at: Time, bytes: u32) -> Time {
        self.each[hop.link(host) as usize].cross(&mut hop.tx_time, self.kinds, at, bytes)
    }

    /// The same on a link that may be part of the fixed path.
    #[inline(always)]
    pub(crate) fn cross_step(&mut self, step: &mut Step, host: u32, at: Time, bytes: u32) -> Time {
        if step.on_fixed_path {
            self.fixed_path.flush(self.each);
        }
        let arrival = self.cross(&mut step.hop, host, at, bytes);
        if step.on_fixed_path {
            self.fixed_path.refresh(self.each);
        }
        arrival
    }

    /// Cross the links of `hops` one after the other.
    pub(super) fn cross_all(&mut self, hops: &mut [Hop], host: u32, at: Time, bytes: u32) -> Time {
        hops.iter_mut().fold(at, |at, hop| self.cross(hop, host, at, bytes))
    }
}
