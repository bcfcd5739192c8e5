//! What the page draws of one run: curves over time, the distribution of delays, flows, numbers.
//!
//! Samples are combined into at most [`BINS`] bins of equal length, so that an answer is small for
//! runs of any length: means of means, maxima of maxima, sums of counts, the last of states.

use crate::{counters::counters, summary::Summary};
use serde::Serialize;
use sojourn_aqm::Cause;
use sojourn_sim::{CwndColumns, DropColumns, FlowSeriesColumns, Plan, Progress, QueueSeries, Record};
use std::{collections::BTreeMap, ops::Range};

/// Points of a curve, at most.
const BINS: usize = 800;
/// Flows whose windows and rates are drawn, at most.
const FLOWS: usize = 8;
/// Drops that are drawn as points, at most; and those of a part of a run that takes place.
const DROPS: usize = 2000;
const MARKS: usize = 50;

/// One run.
#[derive(Serialize)]
pub(crate) struct View {
    digest: String,
    /// The digest of what was counted ([`counters`]).
    counters: String,
    events: u64,
    spec: String,
    /// The window of the numbers, s.
    window: [f64; 2],
    #[serde(flatten)]
    curves: Curves,
    /// Delays that were not exceeded by a share of the packets: `[share, s]`.
    distribution: Vec<[f64; 2]>,
    flows: Flows,
    causes: Vec<&'static str>,
    summary: Summary,
}

/// Some neighbouring bins of a run.
#[derive(Serialize)]
pub(crate) struct Curves {
    /// Number of the first bin.
    from: usize,
    /// Bins of the whole run.
    total: usize,
    /// Length of a bin, s; bin i covers [i, i + 1) times this.
    bin: f64,
    /// Mean and largest queue, packets.
    queue: Vec<f64>,
    queue_max: Vec<u32>,
    /// Backlog at the end of the bin over the link's mean rate, s.
    delay: Vec<f64>,
    /// Throughput, bit/s.
    throughput: Vec<f64>,
    drops: Vec<u32>,
    arrivals: Vec<u32>,
    /// The algorithm's own state.
    probes: Vec<Curve>,
    /// Congestion windows of the first flows, packets.
    windows: Vec<Curve>,
    /// What the measured queue carried for each of the first TCP flows in the interval of `trace.flows` that
    /// ended last, bit/s.
    rates: Vec<Curve>,
    /// Time in s and cause of single drops, if they are recorded.
    dropped: Vec<(f64, u8)>,
}

#[derive(Serialize)]
struct Curve {
    name: String,
    values: Vec<Option<f64>>,
}

/// One entry per flow whose data cross the measured queue.
#[derive(Serialize)]
struct Flows {
    traffic: Vec<u32>,
    goodput_bps: Vec<f64>,
    drops: Vec<u64>,
    marks: Vec<u64>,
}

impl View {
    pub(crate) fn new(plan: &Plan, record: &Record, digest: String) -> View {
        let queue = &record.queues[0];
        let window = [record.window.start.0, record.window.end.0].map(|ns| ns as f64 * 1e-9);
        let progress = Progress {
            series: record.series.queues.first(),
            drops: &record.drops,
            cwnd: Some(&record.cwnd),
            flows: Some(&record.flow_series),
        };
        let mut bins = Bins::new(plan, queue.capacity_bits);
        View {
            digest,
            counters: counters(record),
            events: record.events,
            spec: queue.spec.clone(),
            window,
            curves: bins.all(&progress),
            distribution: distribution(&queue.delay_edges_ns, &queue.delay_counts),
            flows: Flows::new(record, window[1] - window[0]),
            causes: Cause::ALL.iter().map(|cause| cause.name()).collect(),
            summary: Summary::new(plan, record),
        }
    }
}

/// Converts what a run has recorded into curves, each bin once.
pub(crate) struct Bins {
    /// Samples of a bin, and of the run.
    per_bin: usize,
    samples: usize,
    /// Length of a bin.
    bin_ns: u64,
    bin: f64,
    /// Mean rate of the link, bit/s.
    rate: f64,
    /// Bins that are done, and rows of the traces that have been read.
    done: usize,
    drops: usize,
    windows: Held,
    rates: Held,
    /// Interval of the samples of flows, s and in bins.
    sample: f64,
    bins_per_sample: usize,
}

/// Values of the first flows of a trace, each valid until the next one.
#[derive(Default)]
struct Held {
    /// Rows of the trace that have been read.
    read: usize,
    /// Values after the bins that are done: time in bins, place in `flows`, value.
    later: Vec<(usize, usize, f64)>,
    /// Row and latest value of each flow.
    flows: Vec<(u32, Option<f64>)>,
}

impl Bins {
    pub(crate) fn new(plan: &Plan, capacity_bits: f64) -> Bins {
        let interval = plan.trace.interval.unwrap_or_default();
        let samples = plan.duration.0.checked_div(interval.0).unwrap_or(0) as usize;
        let per_bin = samples.div_ceil(BINS).max(1);
        let bin_ns = (interval.0 * per_bin as u64).max(1);
        let sample = plan.trace.flows.unwrap_or_default();
        let seconds = (plan.duration.0 - plan.warmup.0) as f64 * 1e-9;
        Bins {
            per_bin,
            samples,
            bin_ns,
            bin: interval.0 as f64 * 1e-9 * per_bin as f64,
            rate: capacity_bits / seconds,
            done: 0,
            drops: 0,
            windows: Held::default(),
            rates: Held::default(),
            sample: sample.0 as f64 * 1e-9,
            bins_per_sample: sample.0.div_ceil(bin_ns) as usize,
        }
    }

    /// The bins that have become complete; `row` is [`sojourn_sim::Running::row`].
    pub(crate) fn next(&mut self, progress: &Progress<'_>, row: impl Fn(u32) -> u32 + Copy) -> Curves {
        let bins = progress.series.map_or(0, |series| series.packets.len() / self.per_bin);
        self.take(progress, bins, MARKS, row)
    }

    /// The bins of a run that is over.
    fn all(&mut self, progress: &Progress<'_>) -> Curves {
        self.take(progress, self.samples.div_ceil(self.per_bin), DROPS, |row| row)
    }

    /// The bins up to number `until`, with at most this number of drops.
    fn take(
        &mut self,
        progress: &Progress<'_>,
        until: usize,
        drops: usize,
        row: impl Fn(u32) -> u32 + Copy,
    ) -> Curves {
        let empty = QueueSeries::default();
        let series = progress.series.unwrap_or(&empty);
        let (per_bin, bin, rate, from) = (self.per_bin, self.bin, self.rate, self.done);
        let samples = from * per_bin..(until * per_bin).min(series.packets.len());
        let last = |values: &[f64]| values.chunks(per_bin).map(|x| x.last().copied()).collect();
        let probes = series.probes.iter().map(|(name, values)| {
            let values = values.get(samples.clone()).unwrap_or_default();
            Curve { name: name.clone(), values: last(values) }
        });
        self.done = until;
        Curves {
            from,
            total: self.samples.div_ceil(per_bin),
            bin,
            queue: bins(&series.mean_packets[samples.clone()], per_bin, |x| {
                x.iter().sum::<f64>() / x.len() as f64
            }),
            queue_max: bins(&series.packets[samples.clone()], per_bin, |x| {
                x.iter().copied().max().unwrap_or(0)
            }),
            delay: bins(&series.bytes[samples.clone()], per_bin, |x| {
                x.last().map_or(0.0, |b| *b as f64 * 8.0 / rate)
            }),
            throughput: bins(&series.departed_bytes[samples.clone()], per_bin, |x| {
                x.iter().sum::<u64>() as f64 * 8.0 / bin
            }),
            drops: bins(&series.drops[samples.clone()], per_bin, |x| x.iter().sum()),
            arrivals: bins(&series.arrivals[samples.clone()], per_bin, |x| x.iter().sum()),
            probes: probes.collect(),
            windows: progress.cwnd.map_or_else(Vec::new, |trace| self.windows(trace, from, row)),
            rates: progress.flows.map_or_else(Vec::new, |trace| self.rates(trace, from, row)),
            dropped: self.dropped(progress.drops, drops),
        }
    }

    /// The last window of each bin from `from` on, for the first flows of the trace.
    fn windows(&mut self, trace: &CwndColumns, from: usize, row: impl Fn(u32) -> u32) -> Vec<Curve> {
        let rows = trace.time_ns.iter().zip(&trace.flow).zip(&trace.cwnd).skip(self.windows.read);
        for ((time, flow), cwnd) in rows {
            self.windows.push((*time / self.bin_ns) as usize, row(*flow), *cwnd);
        }
        self.windows.read = trace.time_ns.len();
        self.windows.curves(from..self.done)
    }

    /// The rates of the first TCP flows of the trace. A flow without a sample has sent nothing.
    fn rates(&mut self, trace: &FlowSeriesColumns, from: usize, row: impl Fn(u32) -> u32) -> Vec<Curve> {
        let held = &mut self.rates;
        for ticks in trace.time_ns[held.read..].chunk_by(|one, other| one == other) {
            let at = (ticks[0] / self.bin_ns) as usize;
            let rows = held.read..held.read + ticks.len();
            let mut bytes = BTreeMap::new(); // of a row, which may have several connections
            for i in rows.filter(|i| !trace.cwnd[*i].is_nan()) {
                *bytes.entry(row(trace.flow[i])).or_default() += trace.carried_bytes[i];
            }
            bytes.into_iter().for_each(|(flow, bytes): (u32, u64)| {
                held.push(at, flow, bytes as f64 * 8.0 / self.sample);
                held.push(at + self.bins_per_sample, flow, 0.0); // unless the flow has a sample then
            });
            held.read += ticks.len();
        }
        held.curves(from..self.done)
    }

    /// Some of the drops that have not been returned yet, evenly chosen.
    fn dropped(&mut self, trace: &DropColumns, most: usize) -> Vec<(f64, u8)> {
        let every = (trace.time_ns.len() - self.drops).div_ceil(most).max(1);
        let rows = trace.time_ns.iter().zip(&trace.cause).skip(self.drops).step_by(every);
        self.drops = trace.time_ns.len();
        rows.map(|(time, cause)| (*time as f64 * 1e-9, *cause)).collect()
    }
}

impl Held {
    /// Add a value of a flow from bin `at` on, unless there are [`FLOWS`] others.
    fn push(&mut self, at: usize, flow: u32, value: f64) {
        let place = self.flows.iter().position(|(known, _)| *known == flow).unwrap_or(self.flows.len());
        if place == FLOWS {
            return;
        }
        if place == self.flows.len() {
            self.flows.push((flow, None));
        }
        self.later.push((at, place, value));
    }

    /// The last value of each bin of a range, by flow.
    fn curves(&mut self, range: Range<usize>) -> Vec<Curve> {
        let mut values = vec![vec![None; range.len()]; self.flows.len()];
        self.later.retain(|(at, place, value)| {
            if *at < range.end {
                values[*place][*at - range.start] = Some(*value);
            }
            *at >= range.end
        });
        let mut curves = Vec::new();
        for ((flow, held), mut values) in self.flows.iter_mut().zip(values) {
            values.iter_mut().for_each(|value| {
                *held = value.or(*held);
                *value = *held;
            });
            curves.push((*flow, values));
        }
        curves.sort_by_key(|(flow, _)| *flow);
        curves.into_iter().map(|(flow, values)| Curve { name: format!("flow {flow}"), values }).collect()
    }
}

fn bins<T, U>(values: &[T], per_bin: usize, of: impl Fn(&[T]) -> U) -> Vec<U> {
    values.chunks(per_bin).map(of).collect()
}

/// Points of the distribution function, at the upper ends of the buckets.
fn distribution(edges: &[u64], counts: &[u64]) -> Vec<[f64; 2]> {
    let total: u64 = counts.iter().sum();
    let mut below = 0;
    let points = edges.iter().zip(counts).map(|(edge, count)| {
        below += count;
        [below as f64 / total as f64, *edge as f64 * 1e-9]
    });
    points.collect()
}

impl Flows {
    fn new(record: &Record, seconds: f64) -> Flows {
        let columns = &record.flows;
        let rows = || (0..columns.crosses.len()).filter(|row| columns.crosses[*row] == 1);
        Flows {
            traffic: rows().map(|row| columns.traffic[row]).collect(),
            goodput_bps: rows().map(|row| columns.goodput_bytes[row] as f64 * 8.0 / seconds).collect(),
            drops: rows().map(|row| columns.queue_drops[row]).collect(),
            marks: rows().map(|row| columns.queue_marks[row]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples each 100 ns: time, connection, bytes; connections 10 and 11 are one row.
    const SAMPLES: [(u64, u32, u64); 6] =
        [(100, 1, 10), (100, 10, 3), (100, 11, 4), (200, 1, 20), (400, 11, 5), (400, 2, 1)];

    /// Mutants that are detected: a rate that is held when a flow has no sample; only the last connection.
    #[test]
    fn rates_of_a_row_are_added_and_end_with_its_samples() {
        let mut trace = FlowSeriesColumns::default();
        for (time, connection, bytes) in SAMPLES {
            trace.time_ns.push(time);
            trace.flow.push(connection);
            trace.carried_bytes.push(bytes);
            trace.cwnd.push(if connection == 2 { f64::NAN } else { 4.0 });
        }
        let mut bins = Bins {
            per_bin: 1,
            samples: 6,
            bin_ns: 100,
            bin: 1e-7,
            rate: 1.0,
            done: 6,
            drops: 0,
            windows: Held::default(),
            rates: Held::default(),
            sample: 8.0, // so that rates are bytes
            bins_per_sample: 1,
        };
        let found = bins.rates(&trace, 0, |connection| if connection >= 10 { 7 } else { connection });
        let found: Vec<_> = found.into_iter().map(|one| (one.name, one.values)).collect();
        let some = |values: [f64; 5]| [vec![None], values.map(Some).to_vec()].concat();
        assert_eq!(
            found,
            [
                ("flow 1".to_owned(), some([10.0, 20.0, 0.0, 0.0, 0.0])),
                ("flow 7".to_owned(), some([7.0, 0.0, 0.0, 5.0, 0.0])),
            ]
        );
    }
}
