//! A queue of another system, such as a kernel: its packets are counted as they are seen to enter and leave.

use super::recorder::QueueRecorder;
use crate::{
    queue::Sampled,
    record::{Backlog, Counters, QueueRecord, QueueSeries, Window},
};
use sojourn_aqm::{Cause, Class, Limit, Span, Time};
use std::collections::BTreeMap;

/// A packet in the queue.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Time,
    bytes: u32,
    class: Class,
    /// Its number among all that arrived, from 1.
    arrival: u64,
}

/// The counters and samples of a queue, from the packets that enter and leave it in order of time.
#[derive(Default)]
pub struct ObservedQueue {
    limit: Option<Limit>,
    rate: u64,
    interval: Span,
    counters: Counters,
    recorder: QueueRecorder,
    waiting: BTreeMap<u32, Waiting>,
    bytes: u64,
    /// The end of the current transmission.
    busy_until: Option<Time>,
}

impl ObservedQueue {
    /// A queue in front of a link of `rate` bit/s; [`ObservedQueue::sample`] is called every `interval`.
    pub fn new(limit: Limit, rate: u64, interval: Span) -> ObservedQueue {
        ObservedQueue { limit: Some(limit), rate: rate.max(1), interval, ..ObservedQueue::default() }
    }

    /// Packets that wait.
    pub fn packets(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Packets that have arrived.
    pub fn arrivals(&self) -> u64 {
        self.counters.arrivals
    }

    /// Whether a packet of `bytes` more would exceed the limit.
    pub fn is_full(&self, bytes: u32) -> bool {
        match self.limit {
            Some(Limit::Packets(limit)) => self.packets() >= limit,
            Some(Limit::Bytes(limit)) => self.bytes + u64::from(bytes) > limit,
            None => false,
        }
    }

    /// A packet arrives and enters the queue.
    pub fn enqueue(&mut self, now: Time, token: u32, bytes: u32, class: Class) {
        self.counters.arrival(now, bytes, class);
        self.counters.enter(now, self.packets(), bytes);
        self.bytes += u64::from(bytes);
        let arrival = self.counters.arrivals;
        self.waiting.insert(token, Waiting { since: now, bytes, class, arrival });
    }

    /// A packet arrives and is dropped at once.
    pub fn refuse(&mut self, now: Time, bytes: u32, class: Class) -> Cause {
        let cause = if self.is_full(bytes) { Cause::Overflow } else { Cause::Early };
        self.counters.arrival(now, bytes, class);
        self.counters.drop(now, bytes, class, cause, self.counters.arrivals);
        cause
    }

    /// A packet of the queue is dropped; returns its number among all that arrived, from 1, or `None` if it
    /// was not there.
    pub fn drop(&mut self, now: Time, token: u32, cause: Cause) -> Option<u64> {
        let packet = self.remove(now, token)?;
        self.counters.drop(now, packet.bytes, packet.class, cause, packet.arrival);
        Some(packet.arrival)
    }

    /// A packet of the queue is transmitted, with or without a new mark; returns whether it was there.
    pub fn dequeue(&mut self, now: Time, token: u32, marked: bool) -> bool {
        let Some(packet) = self.remove(now, token) else { return false };
        if marked {
            self.counters.mark(now, packet.class, Cause::Early);
        }
        self.counters.departure(now, packet.bytes, packet.class, now.since_exact(packet.since));
        self.end_transmission(now);
        if self.busy_until.is_none() {
            self.counters.set_busy(now, true);
        }
        let time = u64::from(packet.bytes) * 8_000_000_000 / self.rate;
        self.busy_until = Some(self.busy_until.unwrap_or(now).max(now) + Span(time));
        true
    }

    fn remove(&mut self, now: Time, token: u32) -> Option<Waiting> {
        let packet = self.waiting.remove(&token)?;
        self.bytes -= u64::from(packet.bytes);
        self.counters.leave(now, self.packets(), packet.bytes);
        Some(packet)
    }

    /// The link becomes idle if its transmission has ended.
    fn end_transmission(&mut self, now: Time) {
        if let Some(end) = self.busy_until.filter(|end| *end < now) {
            self.counters.set_busy(end, false);
            self.busy_until = None;
        }
    }

    /// Start the measurement window.
    pub fn open_window(&mut self, now: Time) {
        self.pass(now);
        let packets = self.packets();
        self.recorder.open_window(&mut self.counters, packets);
    }

    /// Take a sample, one interval after the previous one.
    pub fn sample(&mut self, now: Time) {
        let mut recorder = std::mem::take(&mut self.recorder);
        recorder.sample(now, self.interval, self);
        self.recorder = recorder;
    }

    /// The record of the window.
    pub fn record(&mut self, name: &str, spec: &str, window: Window) -> (QueueRecord, QueueSeries) {
        self.pass(window.end);
        let mut record = self.recorder.record(&self.counters, self.interval);
        record.name = name.to_owned();
        record.spec = spec.to_owned();
        match self.limit {
            Some(Limit::Packets(limit)) => record.limit_packets = u64::from(limit),
            Some(Limit::Bytes(limit)) => record.limit_bytes = limit,
            None => {}
        }
        record.capacity_bits = self.rate as f64 * window.end.since_exact(window.start).as_secs_f64();
        (record, self.recorder.take_series())
    }
}

impl Sampled for ObservedQueue {
    fn pass(&mut self, now: Time) -> (u32, u64) {
        self.end_transmission(now);
        let backlog = Backlog { packets: self.packets(), bytes: self.bytes };
        self.counters.pass(now, backlog.packets, backlog.bytes, self.busy_until.is_some());
        (backlog.packets, backlog.bytes)
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn probe(&self, _field: impl FnMut(&str, f64)) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn packets_that_enter_and_leave_are_counted_as_in_a_simulation() {
        let mut queue = ObservedQueue::new(Limit::Packets(2), 8_000_000, Span(10 * MS));
        queue.enqueue(Time(0), 1, 1000, Class(0));
        assert!(queue.dequeue(Time(0), 1, false), "its transmission takes 1 ms");
        queue.open_window(Time(0));
        queue.enqueue(Time(0), 2, 1000, Class(0));
        queue.enqueue(Time(0), 3, 1000, Class(0));
        assert_eq!(queue.refuse(Time(0), 1000, Class(0)), Cause::Overflow);
        assert!(queue.dequeue(Time(MS), 2, true));
        assert_eq!(queue.drop(Time(2 * MS), 3, Cause::Early), Some(3));
        assert_eq!(queue.drop(Time(2 * MS), 3, Cause::Early), None, "it has left");
        queue.sample(Time(10 * MS));
        let window = Window { start: Time(0), end: Time(10 * MS) };
        let (record, series) = queue.record("R1-R2", "droptail", window);
        assert_eq!((record.arrivals, record.departures, record.max_packets), (3, 1, 2));
        assert_eq!(record.drops.iter().sum::<u64>(), 2);
        assert_eq!(record.marks.iter().sum::<u64>(), 1);
        assert_eq!(record.packet_ns, 3e6, "two for 1 ms, one for another");
        assert_eq!(record.delay_sum_ns, 1e6);
        assert_eq!(record.idle_ns, 8 * MS, "two transmissions of 1 ms");
        assert_eq!(record.capacity_bits, 80_000.0);
        assert_eq!((series.packets, series.mean_packets), (vec![0], vec![0.3]));
    }
}
