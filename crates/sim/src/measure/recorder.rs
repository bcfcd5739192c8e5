//! Samples queues during a run, and their columns at its end.

use crate::{
    engine::{CalendarQueue, Event, EventKind},
    link::LinkKind,
    packet::Packet,
    plan::Phase,
    queue::{Port, Sampled},
    record::{Counters, QueueRecord, QueueSeries, Record, Series, Window},
};
use sojourn_aqm::{Limit, Span, Time};

/// Samples that memory is allocated for in advance, at most, if the end of the run is known.
const MAX_RESERVED: u64 = 1 << 16;
/// Samples of a run without a known end; an even number. Scenarios have the same limit by default.
const MAX_SAMPLES: usize = 100_000;
/// Parts of a run whose mean queues are recorded, at most; at least half of this number if there are as many
/// samples.
const PARTS: usize = 128;

/// The samples of every queue, and its counters when the window opened.
pub(crate) struct Recorder {
    interval: Span,
    /// Whether the samples are part of the record; otherwise only the parts of the run that follow from them.
    keeps_samples: bool,
    /// With this number of samples, neighbouring ones are merged.
    max_samples: usize,
    queues: Vec<QueueRecorder>,
    phases: Vec<PhaseRecorder>,
}

/// The counters of the measured queue at the ends of a phase, as far as they were reached.
struct PhaseRecorder {
    name: String,
    span: Window,
    start: Counters,
    end: Option<Counters>,
}

/// The samples of one queue.
#[derive(Default)]
pub(super) struct QueueRecorder {
    at_start: Counters,
    series: QueueSeries,
    /// The counters at the previous sample.
    integrals: (u128, u128),
    arrivals: u64,
    drops: u64,
    departed_bytes: u64,
}

impl QueueRecorder {
    /// Open the window of a queue with `packets` packets.
    pub(super) fn open_window(&mut self, counters: &mut Counters, packets: u32) {
        self.at_start = counters.open_window(packets);
    }

    /// The counters since the window opened, and the parts of the run.
    pub(super) fn record(&self, counters: &Counters, interval: Span) -> QueueRecord {
        let width = self.series.mean_packets.len().div_ceil(PARTS).max(1);
        QueueRecord {
            part_ns: interval.0 * width as u64,
            part_packets: parts(&self.series.mean_packets, width),
            ..counters.since(&self.at_start)
        }
    }

    /// The samples.
    pub(super) fn take_series(&mut self) -> QueueSeries {
        std::mem::take(&mut self.series)
    }

    /// Take a sample at `now`, one `interval` after the previous one.
    #[inline(always)]
    pub(super) fn sample(&mut self, now: Time, interval: Span, queue: &mut impl Sampled) {
        let span = interval.0 as f64;
        let (packets_now, bytes) = queue.pass(now);
        let counters = queue.counters();
        let (packets, squared) = counters.integrals();
        let (arrivals, drops, departed_bytes) =
            (counters.arrivals, counters.total_drops(), counters.departed_bytes);
        let series = &mut self.series;
        series.packets.push(packets_now);
        series.bytes.push(bytes);
        series.mean_packets.push(float(packets - self.integrals.0) / span);
        series.mean_square_packets.push(float(squared - self.integrals.1) / span);
        series.arrivals.push((arrivals - self.arrivals) as u32);
        series.drops.push((drops - self.drops) as u32);
        series.departed_bytes.push(departed_bytes - self.departed_bytes);
        if counters.has_classes() {
            sample_classes(series, counters.queued_by_class(packets_now));
        }
        self.integrals = (packets, squared);
        (self.arrivals, self.drops, self.departed_bytes) = (arrivals, drops, departed_bytes);
        let mut column = 0;
        queue.probe(|name, value| {
            match series.probes.get_mut(column) {
                Some((_, values)) => values.push(value),
                None => add_probe(&mut series.probes, name, value, series.packets.capacity()),
            }
            column += 1;
        });
    }
}

/// Sample the queued packets of each class.
#[inline(never)]
fn sample_classes(series: &mut QueueSeries, queued: impl Iterator<Item = (u8, u32)>) {
    for (class, packets) in queued {
        let column = match series.class_packets.iter().position(|(known, _)| *known == class) {
            Some(column) => column,
            None => {
                // Before its first packet, no packet of this class was queued: all were of class 0.
                let mut before = Vec::with_capacity(series.packets.capacity());
                before.extend_from_slice(&series.packets[..series.packets.len() - 1]);
                if class > 0 {
                    before.fill(0);
                }
                series.class_packets.push((class, before));
                series.class_packets.len() - 1
            }
        };
        series.class_packets[column].1.push(packets);
    }
}

/// Start the column of a probe.
#[cold]
#[inline(never)]
fn add_probe(probes: &mut Vec<(String, Vec<f64>)>, name: &str, value: f64, capacity: usize) {
    let mut values = Vec::with_capacity(capacity);
    values.push(value);
    probes.push((name.to_owned(), values));
}

/// Merge samples 1 and 2, 3 and 4, ... as if the interval had been twice as long. Their number is even.
#[cold]
#[inline(never)]
fn merge_pairs(series: &mut QueueSeries) {
    fn merge<T: Copy>(column: &mut Vec<T>, of: impl Fn(T, T) -> T) {
        let half = column.len() / 2;
        for i in 0..half {
            column[i] = of(column[2 * i], column[2 * i + 1]);
        }
        column.truncate(half);
    }
    let QueueSeries {
        packets,
        bytes,
        mean_packets,
        mean_square_packets,
        arrivals,
        drops,
        departed_bytes,
        class_packets,
        probes,
    } = series;
    // States at the time of the sample, ...
    merge(packets, |_, last| last);
    merge(bytes, |_, last| last);
    class_packets.iter_mut().for_each(|(_, packets)| merge(packets, |_, last| last));
    probes.iter_mut().for_each(|(_, values)| merge(values, |_, last| last));
    // ...and means and sums since the previous one.
    merge(mean_packets, f64::midpoint);
    merge(mean_square_packets, f64::midpoint);
    merge(arrivals, |a, b| a + b);
    merge(drops, |a, b| a + b);
    merge(departed_bytes, |a, b| a + b);
}

/// The means of `width` values each; values at the end that fill no part are left out.
fn parts(values: &[f64], width: usize) -> Vec<f64> {
    values.chunks_exact(width).map(|part| part.iter().sum::<f64>() / width as f64).collect()
}

/// Empty columns with memory for this number of samples.
fn empty_columns(samples: usize) -> QueueSeries {
    QueueSeries {
        packets: Vec::with_capacity(samples),
        bytes: Vec::with_capacity(samples),
        mean_packets: Vec::with_capacity(samples),
        mean_square_packets: Vec::with_capacity(samples),
        arrivals: Vec::with_capacity(samples),
        drops: Vec::with_capacity(samples),
        departed_bytes: Vec::with_capacity(samples),
        ..QueueSeries::default()
    }
}

/// The nearest number. Most differences of integrals fit into 64 bits, whose conversion is faster.
fn float(integral: u128) -> f64 {
    #[cold]
    #[inline(never)]
    fn long(integral: u128) -> f64 {
        integral as f64
    }
    match u64::try_from(integral) {
        Ok(short) => short as f64,
        Err(_) => long(integral),
    }
}

impl Recorder {
    /// Samples a number of `queues` every `interval` (0: never); `end`: the end of the run. Without one, the
    /// interval doubles whenever there are [`MAX_SAMPLES`], so the memory is bounded.
    pub(crate) fn new(interval: Span, end: Option<Time>, queues: usize) -> Recorder {
        let (reserved, max_samples) = match end {
            _ if interval == Span::ZERO => (0, usize::MAX),
            Some(end) => ((end.0 / interval.0).min(MAX_RESERVED) as usize, usize::MAX),
            None => (MAX_SAMPLES, MAX_SAMPLES),
        };
        let recorder = || QueueRecorder { series: empty_columns(reserved), ..QueueRecorder::default() };
        let queues = (0..queues).map(|_| recorder()).collect();
        Recorder { interval, keeps_samples: true, max_samples, queues, phases: Vec::new() }
    }

    /// Also count in these phases, whose number is that of their events.
    pub(crate) fn with_phases(mut self, phases: &[Phase]) -> Recorder {
        let recorder = |phase: &Phase| PhaseRecorder {
            name: phase.name.clone(),
            span: Window { start: phase.from, end: phase.to },
            start: Counters::default(),
            end: None,
        };
        self.phases = phases.iter().map(recorder).collect();
        self
    }

    /// Phase `number` begins or ends; `port` is the measured queue.
    pub(crate) fn mark_phase(&mut self, now: Time, number: usize, port: &mut Port) {
        port.pass(now);
        let (phase, counters) = (&mut self.phases[number], port.stats.counters.clone());
        if now == phase.span.start {
            phase.start = counters;
        } else {
            phase.end = Some(counters);
        }
    }

    /// Records the parts of a run until `end` only.
    pub(crate) fn of_parts(end: Time, queues: usize) -> Recorder {
        let interval = Span((end.0 / PARTS as u64).max(1));
        Recorder { keeps_samples: false, ..Recorder::new(interval, Some(end), queues) }
    }

    pub(crate) fn open_window(&mut self, ports: &mut [Port]) {
        for (queue, port) in self.queues.iter_mut().zip(ports) {
            let packets = port.backlog().0;
            queue.open_window(&mut port.stats.counters, packets);
        }
    }

    /// Take the sample at `end`, after the last event.
    pub(crate) fn sample_at_end(&mut self, end: Time, ports: &mut [Port]) {
        if self.interval > Span::ZERO && end.0.is_multiple_of(self.interval.0) {
            self.sample(end, ports);
        }
    }

    /// Take no more samples.
    pub(crate) fn stop(&mut self) {
        self.interval = Span::ZERO;
    }

    /// Take a sample of the only queue, and schedule the next one.
    #[inline(never)]
    pub(crate) fn sample_one(
        &mut self,
        now: Time,
        mut queue: impl Sampled,
        calendar: &mut CalendarQueue<Packet>,
    ) {
        if self.interval == Span::ZERO {
            return;
        }
        self.queues[0].sample(now, self.interval, &mut queue);
        self.schedule_next(now, calendar);
    }

    /// Schedule the next sample.
    pub(crate) fn schedule_next(&self, now: Time, calendar: &mut CalendarQueue<Packet>) {
        calendar.push(Event::new(now + self.interval, Span::ZERO, EventKind::Sample, 0));
    }

    /// Whether there is only one queue.
    pub(crate) fn has_one(&self) -> bool {
        self.queues.len() == 1
    }

    /// The samples of a queue so far, if they are part of the record.
    pub(crate) fn series(&self, queue: usize) -> Option<&QueueSeries> {
        self.keeps_samples.then(|| &self.queues[queue].series)
    }

    /// The number of samples.
    pub(crate) fn samples(&self) -> u64 {
        self.queues.first().map_or(0, |queue| queue.series.packets.len() as u64)
    }

    /// Take a sample of every queue, and schedule the next one.
    pub(crate) fn sample_all(&mut self, now: Time, ports: &mut [Port], calendar: &mut CalendarQueue<Packet>) {
        if self.interval > Span::ZERO {
            self.sample(now, ports);
            self.schedule_next(now, calendar);
        }
    }

    pub(crate) fn sample(&mut self, now: Time, ports: &mut [Port]) {
        for (queue, port) in self.queues.iter_mut().zip(ports) {
            queue.sample(now, self.interval, port);
        }
    }

    /// When to take the sample after that of `now`. Merges the samples first if they are too many.
    pub(crate) fn next_sample(&mut self, now: Time) -> Time {
        if self.samples() >= self.max_samples as u64 {
            self.queues.iter_mut().for_each(|queue| merge_pairs(&mut queue.series));
            self.interval = self.interval * 2;
        }
        now + self.interval
    }

    /// The columns of every queue over `window`, with the `measured` one first.
    pub(crate) fn columns(
        &mut self,
        window: Window,
        measured: usize,
        ports: &[Port],
        kinds: &mut [LinkKind],
    ) -> Record {
        let mut order: Vec<usize> = (0..ports.len()).collect();
        order.sort_by_key(|i| *i != measured);
        let mut record = Record { window, ..Record::default() };
        record.series.interval = self.interval;
        for i in order {
            let port = &ports[i];
            let recorded = &mut self.queues[i];
            let mut queue = recorded.record(&port.stats.counters, self.interval);
            queue.name.clone_from(&port.name);
            queue.spec.clone_from(&port.spec);
            match port.limit() {
                Limit::Packets(n) => queue.limit_packets = u64::from(n),
                Limit::Bytes(n) => queue.limit_bytes = n,
            }
            queue.capacity_bits = kinds[port.kind as usize].bits(window.start, window.end);
            record.queues.push(queue);
            record.series.queues.push(recorded.take_series());
        }
        for phase in &self.phases {
            let (port, Window { start, end }) = (&ports[measured], phase.span);
            let mut queue = phase.end.as_ref().unwrap_or(&port.stats.counters).since(&phase.start);
            queue.name.clone_from(&phase.name);
            queue.spec.clone_from(&port.spec);
            queue.capacity_bits = kinds[port.kind as usize].bits(start, end);
            record.phases.push(queue);
        }
        if record.series.interval == Span::ZERO || !self.keeps_samples {
            record.series = Series::default();
        }
        record
    }
}
