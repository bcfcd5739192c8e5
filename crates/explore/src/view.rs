//! What the page draws of one run: curves over time, the distribution of delays, flows, numbers.
//!
//! Samples are combined into at most [`BINS`] bins of equal length, so that an answer is small for
//! runs of any length: means of means, maxima of maxima, sums of counts, the last of states.

use crate::summary::Summary;
use serde::Serialize;
use sojourn_aqm::Cause;
use sojourn_sim::{CwndColumns, Plan, QueueSeries, Record};

/// Points of a curve, at most.
const BINS: usize = 800;
/// Flows whose windows are drawn, at most.
const WINDOWS: usize = 8;
/// Drops that are drawn as points, at most.
const DROPS: usize = 2000;

/// One run.
#[derive(Serialize)]
pub(crate) struct View {
    digest: String,
    events: u64,
    spec: String,
    /// The window of the numbers, s.
    window: [f64; 2],
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
    /// Delays that were not exceeded by a share of the packets: `[share, s]`.
    distribution: Vec<[f64; 2]>,
    flows: Flows,
    /// Time in s and cause of single drops, if they are recorded.
    dropped: Vec<(f64, u8)>,
    causes: Vec<&'static str>,
    summary: Summary,
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
        let empty = QueueSeries::default();
        let series = record.series.queues.first().unwrap_or(&empty);
        let per_bin = series.packets.len().div_ceil(BINS).max(1);
        let bin = record.series.interval.0 as f64 * 1e-9 * per_bin as f64;
        let rate = queue.capacity_bits / (window[1] - window[0]);
        let last = |values: &[f64]| values.chunks(per_bin).map(|x| x.last().copied()).collect();
        let probes = series.probes.iter();
        View {
            digest,
            events: record.events,
            spec: queue.spec.clone(),
            window,
            bin,
            queue: bins(&series.mean_packets, per_bin, |x| x.iter().sum::<f64>() / x.len() as f64),
            queue_max: bins(&series.packets, per_bin, |x| x.iter().copied().max().unwrap_or(0)),
            delay: bins(&series.bytes, per_bin, |x| x.last().map_or(0.0, |b| *b as f64 * 8.0 / rate)),
            throughput: bins(&series.departed_bytes, per_bin, |x| x.iter().sum::<u64>() as f64 * 8.0 / bin),
            drops: bins(&series.drops, per_bin, |x| x.iter().sum()),
            arrivals: bins(&series.arrivals, per_bin, |x| x.iter().sum()),
            probes: probes.map(|(name, v)| Curve { name: name.clone(), values: last(v) }).collect(),
            windows: windows(&record.cwnd, bin, series.packets.len().div_ceil(per_bin)),
            distribution: distribution(&queue.delay_edges_ns, &queue.delay_counts),
            flows: Flows::new(record, window[1] - window[0]),
            dropped: dropped(record),
            causes: Cause::ALL.iter().map(|cause| cause.name()).collect(),
            summary: Summary::new(plan, record),
        }
    }
}

fn bins<T, U>(values: &[T], per_bin: usize, of: impl Fn(&[T]) -> U) -> Vec<U> {
    values.chunks(per_bin).map(of).collect()
}

/// The last window of each bin, for the first flows of the trace.
fn windows(trace: &CwndColumns, bin: f64, bins: usize) -> Vec<Curve> {
    let mut curves: Vec<(u32, Vec<Option<f64>>)> = Vec::new();
    for ((time, flow), cwnd) in trace.time_ns.iter().zip(&trace.flow).zip(&trace.cwnd) {
        let place = match curves.iter().position(|(known, _)| known == flow) {
            Some(place) => place,
            None if curves.len() < WINDOWS => {
                curves.push((*flow, vec![None; bins]));
                curves.len() - 1
            }
            None => continue,
        };
        let at = (*time as f64 * 1e-9 / bin) as usize;
        if let Some(slot) = curves[place].1.get_mut(at) {
            *slot = Some(*cwnd);
        }
    }
    for (_, values) in &mut curves {
        let mut held = None;
        values.iter_mut().for_each(|value| {
            held = value.or(held);
            *value = held;
        });
    }
    curves.sort_by_key(|(flow, _)| *flow);
    curves.into_iter().map(|(flow, values)| Curve { name: format!("flow {flow}"), values }).collect()
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

fn dropped(record: &Record) -> Vec<(f64, u8)> {
    let every = record.drops.time_ns.len().div_ceil(DROPS).max(1);
    let rows = record.drops.time_ns.iter().zip(&record.drops.cause).step_by(every);
    rows.map(|(time, cause)| (*time as f64 * 1e-9, *cause)).collect()
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
