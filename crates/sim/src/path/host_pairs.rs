//! The two hosts of a packet, for schedulers that are fair to hosts.

use super::Route;
use crate::packet::Packet;
use sojourn_aqm::HostId;
use std::collections::BTreeMap;

/// The nodes at the ends of every route, by the first link of its host and by its first step.
#[derive(Debug, Default)]
pub(crate) struct HostPairs(BTreeMap<(u32, u32), Pair>);

/// The sending and the receiving node, and the first step of acknowledgements.
#[derive(Clone, Copy, Debug)]
struct Pair {
    from: u32,
    to: u32,
    backward: u32,
}

impl HostPairs {
    /// Add a route from node `from` to node `to`, whose acknowledgements begin at step `backward`.
    pub(super) fn add(&mut self, route: Route, from: u32, to: u32, backward: u32) {
        self.0.insert((route.host, route.first), Pair { from, to, backward });
    }

    /// The host that has sent `packet`, and the host that it goes to.
    pub(crate) fn of(&self, packet: &Packet) -> (HostId, HostId) {
        let found = self.0.range(..=(packet.host, packet.step)).next_back();
        let Some((_, Pair { from, to, backward })) = found else { return Default::default() };
        let (source, destination) = if packet.step < *backward { (from, to) } else { (to, from) };
        (HostId(*source), HostId(*destination))
    }
}
