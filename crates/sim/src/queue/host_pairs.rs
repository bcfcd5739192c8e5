//! The two hosts of a packet, for schedulers that are fair to hosts.

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
    /// Add the route from node `from` to node `to` whose first link of its host is `host`; its data begin at
    /// step `first`, and its acknowledgements at step `backward`.
    pub(crate) fn add(&mut self, host: u32, first: u32, from: u32, to: u32, backward: u32) {
        self.0.insert((host, first), Pair { from, to, backward });
    }

    /// The host that has sent `packet`, and the host that it goes to.
    pub(crate) fn of(&self, packet: &Packet) -> (HostId, HostId) {
        let found = self.0.range(..=(packet.host, packet.step)).next_back();
        let Some((_, Pair { from, to, backward })) = found else { return Default::default() };
        let (source, destination) = if packet.step < *backward { (from, to) } else { (to, from) };
        (HostId(*source), HostId(*destination))
    }
}
