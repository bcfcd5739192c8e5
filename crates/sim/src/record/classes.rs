//! Counters of a queue for each class. Class 0 is what the others leave of the totals, so traffic without classes
//! costs nothing.

use super::{Counters, QueueRecord};
use sojourn_aqm::Class;

/// Counters of class 1, 2, ...
#[derive(Clone, Debug, Default)]
pub(super) struct Classes(Vec<Source>);

/// What one class counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Source {
    pub(super) arrivals: u64,
    pub(super) arrived_bytes: u64,
    pub(super) departures: u64,
    pub(super) departed_bytes: u64,
    pub(super) drops: u64,
    pub(super) dropped_bytes: u64,
    pub(super) marks: u64,
    pub(super) delay_sum: u128,
    /// Integral of waiting packets up to `until`.
    pub(super) packet_ns: u128,
    until: u64,
}

impl Source {
    /// Packets that wait (the one that arrives just now counts, which no time passes with).
    fn waiting(&self) -> u64 {
        self.arrivals - self.departures - self.drops
    }

    fn pass(&mut self, now: u64) {
        self.packet_ns += u128::from(self.waiting()) * u128::from(now - self.until);
        self.until = now;
    }

    fn minus(&self, other: &Source) -> Source {
        Source {
            arrivals: self.arrivals - other.arrivals,
            arrived_bytes: self.arrived_bytes - other.arrived_bytes,
            departures: self.departures - other.departures,
            departed_bytes: self.departed_bytes - other.departed_bytes,
            drops: self.drops - other.drops,
            dropped_bytes: self.dropped_bytes - other.dropped_bytes,
            marks: self.marks - other.marks,
            delay_sum: self.delay_sum - other.delay_sum,
            packet_ns: self.packet_ns - other.packet_ns,
            until: self.until,
        }
    }
}

impl Classes {
    /// Count something of a class other than 0.
    #[inline(always)]
    pub(super) fn count(&mut self, class: Class, now: u64, add: impl FnOnce(&mut Source)) {
        if class.0 > 0 {
            add(self.row(class, now));
        }
    }

    #[cold]
    #[inline(never)]
    fn row(&mut self, class: Class, now: u64) -> &mut Source {
        let index = usize::from(class.0) - 1;
        if index >= self.0.len() {
            self.0.resize(index + 1, Source { until: now, ..Source::default() });
        }
        self.0[index].pass(now);
        &mut self.0[index]
    }

    pub(super) fn pass(&mut self, now: u64) {
        self.0.iter_mut().for_each(|row| row.pass(now));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Packets that wait of each class that has occurred, of `packets` in all; nothing where all are of class 0.
    pub(super) fn waiting(&self, packets: u32) -> impl Iterator<Item = (u8, u32)> {
        let mut rest = packets;
        let others = self.0.iter().zip(1..).filter(|(row, _)| row.arrivals > 0);
        let mut all: Vec<(u8, u32)> = others.map(|(row, class)| (class, row.waiting() as u32)).collect();
        all.iter().for_each(|(_, waiting)| rest -= waiting);
        if !all.is_empty() {
            all.insert(0, (0, rest));
        }
        all.into_iter()
    }
}

/// Per class that had a packet in the window; rows in the order of `number`.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they count, as in the queue's record")]
pub struct ClassColumns {
    pub number: Vec<u8>,
    pub arrivals: Vec<u64>,
    pub arrived_bytes: Vec<u64>,
    pub departures: Vec<u64>,
    pub departed_bytes: Vec<u64>,
    pub drops: Vec<u64>,
    pub dropped_bytes: Vec<u64>,
    pub marks: Vec<u64>,
    pub packet_ns: Vec<f64>,
    pub delay_sum_ns: Vec<f64>,
}

impl Counters {
    /// Everything, as one class.
    fn total(&self) -> Source {
        Source {
            arrivals: self.arrivals,
            arrived_bytes: self.arrived_bytes,
            departures: self.departures,
            departed_bytes: self.departed_bytes,
            drops: self.total_drops(),
            dropped_bytes: self.dropped_bytes,
            marks: self.marks.iter().sum(),
            delay_sum: self.delay_sum,
            packet_ns: self.integrals.packets,
            until: 0,
        }
    }

    /// The window's columns: what was counted since the snapshot `start`.
    pub(super) fn classes_since(&self, start: &Counters, record: &mut QueueRecord) {
        let row = |of: &Counters, index: usize| of.classes.0.get(index).copied().unwrap_or_default();
        let others: Vec<Source> =
            (0..self.classes.0.len()).map(|index| row(self, index).minus(&row(start, index))).collect();
        let total = self.total().minus(&start.total());
        let first = others.iter().fold(total, |rest, row| rest.minus(row));
        let columns = &mut record.classes;
        for (class, row) in [first].iter().chain(&others).enumerate() {
            if row.arrivals + row.departures + row.drops == 0 && row.packet_ns == 0 {
                continue;
            }
            columns.number.push(class as u8);
            columns.arrivals.push(row.arrivals);
            columns.arrived_bytes.push(row.arrived_bytes);
            columns.departures.push(row.departures);
            columns.departed_bytes.push(row.departed_bytes);
            columns.drops.push(row.drops);
            columns.dropped_bytes.push(row.dropped_bytes);
            columns.marks.push(row.marks);
            columns.packet_ns.push(row.packet_ns as f64);
            columns.delay_sum_ns.push(row.delay_sum as f64);
        }
    }
}
