//! One line of packets and the algorithm that decides about them, whichever that is.

use super::{
    Packet,
    clerk::Clerk,
    gate::{Desk, Gate},
    line::Line,
};
use sojourn_aqm::{Aqm, Hooks, IgnoresContents, Limit, Overflow, Stream, Time};
use std::any::Any;

/// First in, first out, as far as the algorithm lets it.
pub(crate) struct Fifo {
    desk: Desk,
    hooks: Hooks,
    aqm: Box<dyn Aqm>,
}

impl Fifo {
    pub(super) fn new(
        name: &str,
        link_rate: u64,
        limit: Limit,
        overflow: Overflow,
        aqm: Box<dyn Aqm>,
        seed: u64,
    ) -> Fifo {
        Fifo {
            desk: Desk {
                line: Line::new(limit, link_rate),
                overflow,
                rng: Stream::new(seed, &format!("queue/{name}/aqm")),
                victims: Stream::new(seed, &format!("queue/{name}/victims")),
            },
            hooks: aqm.hooks(),
            aqm,
        }
    }

    pub(super) fn set_link_rate(&mut self, rate: u64) {
        self.desk.line.link_rate = rate;
    }

    /// Packets and bytes that wait.
    #[inline]
    pub(crate) fn backlog(&self) -> (u32, u64) {
        (self.desk.line.len(), self.desk.line.bytes())
    }
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.desk.line.iter().map(|one| &one.packet)
    }
    pub(super) fn aqm(&self) -> &dyn Aqm {
        &*self.aqm
    }

    /// The way in and out, whatever the algorithm is.
    #[inline(always)]
    pub(super) fn gate<'a>(&'a mut self, clerk: &'a mut Clerk) -> Gate<'a, dyn Aqm> {
        Gate { desk: &mut self.desk, clerk, aqm: &mut *self.aqm, hooks: self.hooks, looks: true }
    }

    /// The way in and out if the algorithm is an `A`: the line keeps no occupancy for it.
    pub(super) fn gate_of<'a, A: IgnoresContents>(&'a mut self, clerk: &'a mut Clerk) -> Option<Gate<'a, A>> {
        let aqm = (&mut *self.aqm as &mut dyn Any).downcast_mut::<A>()?;
        let hooks = aqm.hooks();
        Some(Gate { desk: &mut self.desk, clerk, aqm, hooks, looks: false })
    }

    pub(super) fn on_timer(&mut self, now: u64) {
        self.aqm.on_timer(Time(now), &self.desk.line.view());
    }
}
