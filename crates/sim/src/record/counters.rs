//! The counters of a queue. The measurement window is the difference of two snapshots, so counting does not
//! depend on the time.

use super::{
    QueueRecord,
    classes::Classes,
    histogram::Histogram,
    integrals::{Backlog, Changes, Integrals},
};
use sojourn_aqm::{Cause, Class, Span, Time};

/// The counters of a queue since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets offered.
    pub arrivals: u64,
    /// Packets dropped, all causes.
    pub drops: u64,
    /// Packets marked, all causes.
    pub marks: u64,
    /// Packets handed to the transmitter.
    pub departures: u64,
    /// Bytes handed to the transmitter.
    pub departed_bytes: u64,
    /// Sum of their queueing delays.
    pub delay_sum_ns: u128,
    /// Packets in the queue.
    pub queued: u32,
}

/// Counters since the start of the run, and integrals of the queue over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) arrivals: u64,
    pub(crate) departures: u64,
    pub(super) arrived_bytes: u64,
    pub(crate) departed_bytes: u64,
    drops: [u64; Cause::ALL.len()],
    pub(super) dropped_bytes: u64,
    pub(super) marks: [u64; Cause::ALL.len()],
    pub(super) delay_sum: u128,
    delay_squared: u128,
    delays: Histogram,
    runs: Runs,
    pub(super) classes: Classes,
    max_packets: u32,
    max_delay: Span,
    changes: Changes,
    /// The integrals up to the last [`Counters::pass`].
    pub(super) integrals: Integrals,
}

impl Counters {
    #[inline(always)]
    pub(crate) fn arrival(&mut self, now: Time, bytes: u32, class: Class) {
        self.arrivals += 1;
        self.arrived_bytes += u64::from(bytes);
        self.classes.count(class, now, |row| {
            row.arrivals += 1;
            row.arrived_bytes += u64::from(bytes);
        });
    }

    /// A packet enters the queue, which holds `others`.
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Time, others: u32, bytes: u32) {
        self.changes.enter(now, others, bytes);
        if others >= self.max_packets {
            self.max_packets = others + 1;
        }
    }

    /// A packet leaves the queue, which then holds `others`.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: Time, others: u32, bytes: u32) {
        self.changes.leave(now, others, bytes);
    }

    /// The backlog changes from `before` to `after`.
    pub(crate) fn change(&mut self, now: Time, before: Backlog, after: Backlog) {
        self.changes.change(now, before, after);
        self.max_packets = self.max_packets.max(after.packets);
    }

    /// The transmitter becomes busy or idle.
    pub(crate) fn set_busy(&mut self, now: Time, busy: bool) {
        self.changes.set_busy(now, busy);
    }

    /// A packet that was queued for `delay` is handed to the transmitter.
    #[inline(always)]
    pub(crate) fn departure(&mut self, now: Time, bytes: u32, class: Class, delay: Span) {
        self.departures += 1;
        self.departed_bytes += u64::from(bytes);
        self.delay_sum += u128::from(delay.0);
        self.delay_squared += u128::from(delay.0) * u128::from(delay.0);
        self.delays.add(delay.0);
        self.max_delay = self.max_delay.max(delay);
        self.classes.count(class, now, |row| {
            row.departures += 1;
            row.departed_bytes += u64::from(bytes);
            row.delay_sum += u128::from(delay.0);
        });
    }

    /// A packet is dropped, of the number `arrival` among all offered packets.
    pub(crate) fn drop(&mut self, now: Time, bytes: u32, class: Class, cause: Cause, arrival: u64) {
        self.drops[cause as usize] += 1;
        self.dropped_bytes += u64::from(bytes);
        self.runs.drop(arrival);
        self.classes.count(class, now, |row| {
            row.drops += 1;
            row.dropped_bytes += u64::from(bytes);
        });
    }

    pub(crate) fn mark(&mut self, now: Time, class: Class, cause: Cause) {
        self.marks[cause as usize] += 1;
        self.classes.count(class, now, |row| row.marks += 1);
    }

    pub(crate) fn total_drops(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Extend the integrals to `now`; `packets` and `bytes` are queued.
    pub(crate) fn pass(&mut self, now: Time, packets: u32, bytes: u64, busy: bool) {
        self.integrals = self.changes.up_to(now, packets, bytes, busy);
        self.classes.pass(now);
    }

    /// The totals since the start, without the current backlog.
    pub(crate) fn totals(&self) -> Totals {
        Totals {
            arrivals: self.arrivals,
            drops: self.total_drops(),
            marks: self.marks.iter().sum(),
            departures: self.departures,
            departed_bytes: self.departed_bytes,
            delay_sum_ns: self.delay_sum,
            queued: 0,
        }
    }

    /// The integrals of queued packets and of their square, up to the last [`Counters::pass`].
    pub(crate) fn integrals(&self) -> (u128, u128) {
        (self.integrals.packets, self.integrals.squared)
    }

    /// Open the window, with `packets` queued: reset the maxima, end the current run of drops, return a
    /// snapshot.
    pub(crate) fn open_window(&mut self, packets: u32) -> Counters {
        self.max_packets = packets;
        self.max_delay = Span::ZERO;
        self.runs.close();
        self.clone()
    }

    /// Whether a packet of a class other than 0 has occurred.
    pub(crate) fn has_classes(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Queued packets of each class that has occurred; nothing if only class 0 has.
    pub(crate) fn queued_by_class(&self, packets: u32) -> impl Iterator<Item = (u8, u32)> {
        self.classes.queued(packets)
    }

    /// The record of the window: the difference from the snapshot `start`.
    pub(crate) fn since(&self, start: &Counters) -> QueueRecord {
        let minus = |a: &[u64; 5], b: &[u64; 5]| core::array::from_fn(|i| a[i] - b[i]);
        let (delay_edges_ns, delay_counts) = self.delays.since(&start.delays);
        let (run_lengths, run_counts) = self.runs.since(&start.runs);
        let (integrals, before) = (&self.integrals, &start.integrals);
        let mut record = QueueRecord {
            arrivals: self.arrivals - start.arrivals,
            arrived_bytes: self.arrived_bytes - start.arrived_bytes,
            departures: self.departures - start.departures,
            departed_bytes: self.departed_bytes - start.departed_bytes,
            drops: minus(&self.drops, &start.drops),
            dropped_bytes: self.dropped_bytes - start.dropped_bytes,
            marks: minus(&self.marks, &start.marks),
            packet_ns: (integrals.packets - before.packets) as f64,
            packet_squared_ns: (integrals.squared - before.squared) as f64,
            byte_ns: (integrals.bytes - before.bytes) as f64,
            max_packets: u64::from(self.max_packets),
            idle_ns: (integrals.idle - before.idle).0,
            delay_sum_ns: (self.delay_sum - start.delay_sum) as f64,
            delay_squared_ns: (self.delay_squared - start.delay_squared) as f64,
            delay_edges_ns,
            delay_counts,
            delay_max_ns: self.max_delay.0,
            run_lengths,
            run_counts,
            ..QueueRecord::default()
        };
        self.classes_since(start, &mut record);
        record
    }
}

/// Runs of drops: packets that arrived consecutively and were all dropped.
#[derive(Clone, Debug, Default)]
struct Runs {
    finished: Histogram,
    length: u64,
    last: u64,
}

impl Runs {
    fn drop(&mut self, arrival: u64) {
        if arrival != self.last + 1 {
            self.close();
        }
        self.length += 1;
        self.last = arrival;
    }

    /// End the current run.
    fn close(&mut self) {
        if self.length > 0 {
            self.finished.add(self.length);
        }
        self.length = 0;
    }

    /// Lengths and counts since `start`, when no run was in progress. The current run counts with its length
    /// so far.
    fn since(&self, start: &Runs) -> (Vec<u64>, Vec<u64>) {
        let mut now = self.clone();
        now.close();
        now.finished.since(&start.finished)
    }
}
