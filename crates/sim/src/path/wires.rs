//! The wires of impaired links: what they do to packets, and what is counted about that.

use crate::{
    link::{Fate, Impairer},
    packet::Packet,
    plan::Impairment,
    record::LinkColumns,
};
use sojourn_aqm::Time;

/// All impaired wires.
#[derive(Default)]
pub(crate) struct Wires {
    each: Vec<Wire>,
    /// What happened to the forward packets of each flow, as far as anything did.
    flows: Vec<Impaired>,
}

/// The forward packets of a flow that were lost on links, and their copies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Impaired {
    pub(crate) lost: u32,
    pub(crate) copies: u32,
}

/// The wire of one direction of a link.
struct Wire {
    /// The link in front of it, and the link that it is in routes.
    behind: u32,
    link: u32,
    name: String,
    impairer: Impairer,
    /// Counters of the measurement window.
    counts: Counts,
    /// The arrival scheduled last, and how many before it are at the same time.
    last: (Time, u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: u64,
    lost: u64,
    lost_bytes: u64,
    copies: u64,
}

impl Wires {
    pub(crate) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Add the wire of link `behind`, called `name`, as `link`: its number.
    pub(super) fn add(&mut self, behind: u32, link: u32, name: &str, plan: &Impairment, seed: u64) -> u32 {
        let (name, impairer) = (name.to_owned(), Impairer::new(plan, name, seed));
        let (counts, last) = (Counts::default(), (Time::ZERO, 0));
        self.each.push(Wire { behind, link, name, impairer, counts, last });
        self.each.len() as u32 - 1
    }

    /// The links of a route with the wires, each behind its link.
    pub(super) fn inserted(&self, links: Vec<u32>) -> Vec<u32> {
        if self.is_empty() {
            return links;
        }
        let wire = |link: u32| self.each.iter().find(|wire| wire.behind == link).map(|wire| wire.link);
        links.into_iter().flat_map(|link| [Some(link), wire(link)]).flatten().collect()
    }

    /// `packet` enters wire `number` at `now`.
    pub(crate) fn pass(&mut self, number: u32, now: Time, packet: &Packet) -> Fate {
        let Wire { impairer, counts, .. } = &mut self.each[number as usize];
        let fate = impairer.pass(now);
        let (lost, copies) = (u32::from(fate.packet.is_none()), u32::from(fate.copy.is_some()));
        counts.packets += 1;
        counts.lost += u64::from(lost);
        counts.lost_bytes += u64::from(lost) * u64::from(packet.bytes);
        counts.copies += u64::from(copies);
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
        let Wire { link, last, .. } = &mut self.each[number as usize];
        *last = (arrival, if last.0 == arrival { last.1 + 1 } else { 0 });
        (*link, last.1)
    }

    /// What happened to the forward packets of a flow in the whole run.
    pub(crate) fn of_flow(&self, flow: usize) -> Impaired {
        self.flows.get(flow).copied().unwrap_or_default()
    }

    /// The measurement window opens.
    pub(crate) fn open_window(&mut self) {
        self.each.iter_mut().for_each(|wire| wire.counts = Counts::default());
    }

    /// The counters of the measurement window.
    pub(crate) fn columns(&self) -> LinkColumns {
        let mut columns = LinkColumns::default();
        for (number, Wire { name, counts, .. }) in (0..).zip(&self.each) {
            columns.name.push(name.clone());
            columns.link.push(number);
            columns.packets.push(counts.packets);
            columns.lost_packets.push(counts.lost);
            columns.lost_bytes.push(counts.lost_bytes);
            columns.copied_packets.push(counts.copies);
        }
        columns
    }
}
