//! The wires of impaired links: what they do to packets, and what is counted about that.

use crate::{
    link::{Fate, Wire},
    packet::Packet,
    plan::Impairment,
    record::LinkColumns,
};
use sojourn_aqm::Time;

/// All impaired wires.
#[derive(Default)]
pub(crate) struct Wires {
    each: Vec<PlacedWire>,
    /// What happened to the forward packets of each flow, as far as anything did.
    flows: Vec<Impaired>,
}

/// The forward packets of a flow that were lost on links, and their copies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Impaired {
    pub(crate) lost: u32,
    pub(crate) copies: u32,
}

/// A wire with its place in the network.
struct PlacedWire {
    /// The link in front of it, and the link that it is in routes.
    behind: u32,
    link: u32,
    wire: Wire,
    /// The arrival scheduled last, and how many before it are at the same time.
    last: (Time, u32),
}

impl Wires {
    pub(crate) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Add the wire of link `behind`, called `name`, as `link`: its number.
    pub(super) fn add(&mut self, behind: u32, link: u32, name: &str, plan: &Impairment, seed: u64) -> u32 {
        let (wire, last) = (Wire::new(plan, name, seed), (Time::ZERO, 0));
        self.each.push(PlacedWire { behind, link, wire, last });
        self.each.len() as u32 - 1
    }

    /// The links of a route with the wires, each behind its link.
    pub(super) fn inserted(&self, links: Vec<u32>) -> Vec<u32> {
        if self.is_empty() {
            return links;
        }
        let wire = |link: u32| self.each.iter().find(|place| place.behind == link).map(|place| place.link);
        links.into_iter().flat_map(|link| [Some(link), wire(link)]).flatten().collect()
    }

    /// `packet` enters wire `number` at `now`.
    pub(crate) fn pass(&mut self, number: u32, now: Time, packet: &Packet) -> Fate {
        let fate = self.each[number as usize].wire.pass(now, packet.bytes);
        let (lost, copies) = (u32::from(fate.packet.is_none()), u32::from(fate.copy.is_some()));
        if packet.is_forward() && lost + copies > 0 {
            let flow = packet.flow as usize;
            if flow >= self.flows.len() {
                self.flows.resize(flow + 1, Impaired::default());
            }
            self.flows[flow].lost += lost;
            self.flows[flow].copies += copies;
        }
        fate
    }

    /// An arrival at the end of wire `number` is scheduled: the link, and how many were scheduled before it
    /// for the same time.
    pub(crate) fn schedule(&mut self, number: u32, arrival: Time) -> (u32, u32) {
        let PlacedWire { link, last, .. } = &mut self.each[number as usize];
        *last = (arrival, if last.0 == arrival { last.1 + 1 } else { 0 });
        (*link, last.1)
    }

    /// What happened to the forward packets of a flow in the whole run.
    pub(crate) fn of_flow(&self, flow: usize) -> Impaired {
        self.flows.get(flow).copied().unwrap_or_default()
    }

    /// The measurement window opens.
    pub(crate) fn open_window(&mut self) {
        self.each.iter_mut().for_each(|place| place.wire.open_window());
    }

    /// The counters of the measurement window.
    pub(crate) fn columns(&self) -> LinkColumns {
        LinkColumns::of(self.each.iter().map(|place| &place.wire))
    }
}
