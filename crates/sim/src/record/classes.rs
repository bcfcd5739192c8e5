//! Counters of a queue for each traffic class. Those of class 0 are the totals less all other classes, so
//! traffic without classes costs nothing.

use super::{Counters, QueueRecord};
use sojourn_aqm::{Class, Time};

/// Counters of class 1, 2, ...
#[derive(Clone, Debug, Default)]
pub(super) struct Classes(Vec<ClassCounters>);

/// The counters of one class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassCounters {
    pub(super) arrivals: u64,
    pub(super) arrived_bytes: u64,
    pub(super) departures: u64,
    pub(super) departed_bytes: u64,
    pub(super) drops: u64,
    pub(super) dropped_bytes: u64,
    pub(super) marks: u64,
    pub(super) delay_sum: u128,
    /// Integral of queued packets up to `until`.
    pub(super) packet_ns: u128,
    until: Time,
}

impl ClassCounters {
    /// Queued packets, including one that is being enqueued: its integral does not change at that time.
    fn queued(&self) -> u64 {
        self.arrivals - self.departures - self.drops
    }

    /// Extend the integral to `now`.
    fn pass(&mut self, now: Time) {
        self.packet_ns += u128::from(self.queued()) * u128::from(now.since_exact(self.until).0);
        self.until = now;
    }

    fn minus(&self, other: &ClassCounters) -> ClassCounters {
        ClassCounters {
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
    /// Update the counters of a class other than 0.
    #[inline(always)]
    pub(super) fn count(&mut self, class: Class, now: Time, add: impl FnOnce(&mut ClassCounters)) {
        if class.0 > 0 {
            add(self.row(class, now));
        }
    }

    #[cold]
    #[inline(never)]
    fn row(&mut self, class: Class, now: Time) -> &mut ClassCounters {
        let index = usize::from(class.0) - 1;
        if index >= self.0.len() {
            self.0.resize(index + 1, ClassCounters { until: now, ..ClassCounters::default() });
        }
        self.0[index].pass(now);
        &mut self.0[index]
    }

    pub(super) fn pass(&mut self, now: Time) {
        self.0.iter_mut().for_each(|row| row.pass(now));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Queued packets of each class that has occurred, of `packets` in total; nothing if only class 0 has.
    pub(super) fn queued(&self, packets: u32) -> impl Iterator<Item = (u8, u32)> {
        let mut rest = packets;
        let others = self.0.iter().zip(1..=u8::MAX).filter(|(row, _)| row.arrivals > 0);
        let mut all: Vec<(u8, u32)> = others.map(|(row, class)| (class, row.queued() as u32)).collect();
        all.iter().for_each(|(_, queued)| rest -= queued);
        if !all.is_empty() {
            all.insert(0, (0, rest));
        }
        all.into_iter()
    }
}

/// Counters of each class with a packet in the window, ordered by `number`.
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
    /// The totals, as counters of one class.
    fn total(&self) -> ClassCounters {
        ClassCounters {
            arrivals: self.arrivals,
            arrived_bytes: self.arrived_bytes,
            departures: self.departures,
            departed_bytes: self.departed_bytes,
            drops: self.total_drops(),
            dropped_bytes: self.dropped_bytes,
            marks: self.marks.iter().sum(),
            delay_sum: self.delay_sum,
            packet_ns: self.integrals.packets,
            until: Time::ZERO,
        }
    }

    /// Write the columns of the window: the difference from the snapshot `start`.
    pub(super) fn classes_since(&self, start: &Counters, record: &mut QueueRecord) {
        let row = |of: &Counters, index: usize| of.classes.0.get(index).copied().unwrap_or_default();
        let others: Vec<ClassCounters> =
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
