//! The impaired wire of one direction of a link, and the counters of what it does to packets.

use super::impairment::{Fate, Impairer};
use crate::{plan::Impairment, record::LinkColumns};
use sojourn_aqm::Time;

/// An impaired wire. It takes packets as their size, so it serves real packets, too.
#[derive(Clone, Debug)]
pub struct Wire {
    name: String,
    impairer: Impairer,
    /// Counters of the measurement window.
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: u64,
    lost: u64,
    lost_bytes: u64,
    copies: u64,
}

impl Wire {
    /// The wire called `name` with the impairments `plan`, whose random numbers `seed` gives.
    pub fn new(plan: &Impairment, name: &str, seed: u64) -> Wire {
        let (name, impairer) = (name.to_owned(), Impairer::new(plan, name, seed));
        Wire { name, impairer, counts: Counts::default() }
    }

    /// A packet of `bytes` reaches the end of the link at `now`, which never decreases.
    pub fn pass(&mut self, now: Time, bytes: u32) -> Fate {
        let fate = self.impairer.pass(now);
        let lost = u64::from(fate.packet.is_none());
        self.counts.packets += 1;
        self.counts.lost += lost;
        self.counts.lost_bytes += lost * u64::from(bytes);
        self.counts.copies += u64::from(fate.copy.is_some());
        fate
    }

    /// The measurement window opens.
    pub fn open_window(&mut self) {
        self.counts = Counts::default();
    }
}

impl LinkColumns {
    /// The counters of these wires in the measurement window.
    pub fn of<'a>(wires: impl Iterator<Item = &'a Wire>) -> LinkColumns {
        let mut columns = LinkColumns::default();
        for (number, Wire { name, counts, .. }) in (0..).zip(wires) {
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
