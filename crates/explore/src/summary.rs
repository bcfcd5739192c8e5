//! The numbers beside the curves: metrics of the measured queue and of the flows over the window.
//!
//! They have the names and formulas of `python/sojourn/metrics`; `tests/explore` compares the two.

use crate::e_model::{self, Codec};
use serde::Serialize;
use sojourn_sim::{Plan, QueueRecord, Record, plan::TrafficKind};

/// Metrics of one run; `None` where there is nothing to measure.
#[derive(Serialize)]
pub(crate) struct Summary {
    utilization: Option<f64>,
    goodput_bps: f64,
    mean_delay_s: Option<f64>,
    p50_delay_s: Option<f64>,
    p95_delay_s: Option<f64>,
    p99_delay_s: Option<f64>,
    drop_ratio: Option<f64>,
    mark_ratio: Option<f64>,
    mean_queue_packets: f64,
    jain_index: Option<f64>,
    page_time_mean_s: Option<f64>,
    /// Mean over all calls.
    mos: Option<f64>,
    /// Datagrams that are lost or arrive after the time of their use, of sources other than calls.
    late_ratio: Option<f64>,
}

impl Summary {
    pub(crate) fn new(plan: &Plan, record: &Record) -> Summary {
        let queue = &record.queues[0];
        let seconds = (record.window.end.0 - record.window.start.0) as f64 * 1e-9;
        let rows = crossing(record);
        let goodput: u64 = rows.iter().map(|row| record.flows.goodput_bytes[*row]).sum();
        let total = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        Summary {
            utilization: ratio(queue.departed_bytes as f64 * 8.0, queue.capacity_bits).map(|x| x.min(1.0)),
            goodput_bps: goodput as f64 * 8.0 / seconds,
            mean_delay_s: ratio(queue.delay_sum_ns * 1e-9, queue.departures as f64),
            p50_delay_s: percentile(queue, 0.5),
            p95_delay_s: percentile(queue, 0.95),
            p99_delay_s: percentile(queue, 0.99),
            drop_ratio: ratio(total(&queue.drops), queue.arrivals as f64),
            mark_ratio: ratio(total(&queue.marks), queue.arrivals as f64),
            mean_queue_packets: queue.packet_ns * 1e-9 / seconds,
            jain_index: jain(plan, record, &rows),
            page_time_mean_s: page_time(record),
            mos: opinion(plan, record),
            late_ratio: late(plan, record),
        }
    }
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

/// The delay that a share `p` of the departures do not exceed, linear inside a bucket of the histogram.
fn percentile(queue: &QueueRecord, p: f64) -> Option<f64> {
    let total: u64 = queue.delay_counts.iter().sum();
    let rank = p * total as f64;
    let mut below = 0.0;
    for (edge, count) in queue.delay_edges_ns.iter().zip(&queue.delay_counts) {
        let count = *count as f64;
        if below + count >= rank {
            let inside = (rank - below) / count * bucket_width(*edge);
            return Some((*edge as f64 + inside).min(queue.delay_max_ns as f64) * 1e-9);
        }
        below += count;
    }
    None
}

/// The width of the bucket that begins at `edge`, ns: exact below 128, then 1/64 of the power of two.
fn bucket_width(edge: u64) -> f64 {
    if edge < 128 { 0.0 } else { (1u64 << (edge.ilog2() - 6)) as f64 }
}

/// The flows whose data cross the measured queue.
fn crossing(record: &Record) -> Vec<usize> {
    (0..record.flows.crosses.len()).filter(|row| record.flows.crosses[*row] == 1).collect()
}

/// Fairness of the goodputs of the endless TCP flows.
fn jain(plan: &Plan, record: &Record, rows: &[usize]) -> Option<f64> {
    let kind = |row: usize| &plan.traffic[record.flows.traffic[row] as usize].kind;
    let endless = rows.iter().filter(|row| matches!(kind(**row), TrafficKind::Tcp(_)));
    let x: Vec<f64> = endless.map(|row| record.flows.goodput_bytes[*row] as f64).collect();
    let (sum, squares) = x.iter().fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
    ratio(sum * sum, x.len() as f64 * squares)
}

/// Mean time of the pages that were requested in the window and finished.
fn page_time(record: &Record) -> Option<f64> {
    let pages = record.pages.start_ns.iter().zip(&record.pages.end_ns);
    let finished = pages.filter(|(start, end)| **start >= record.window.start.0 && **end != u64::MAX);
    let (sum, count) =
        finished.fold((0.0, 0.0), |(sum, n), (start, end)| (sum + (end - start) as f64, n + 1.0));
    ratio(sum * 1e-9, count)
}

/// The codec of a source of datagrams, by its row in the record of their deliveries.
fn codec(plan: &Plan, record: &Record, row: usize) -> Option<Codec> {
    let flow = record.deliveries.flow[row] as usize;
    plan.traffic[record.flows.traffic[flow] as usize].codec.as_deref().and_then(Codec::named)
}

/// Mean opinion score of the calls that were heard.
fn opinion(plan: &Plan, record: &Record) -> Option<f64> {
    let all = &record.deliveries;
    let mut found = Vec::new();
    for row in 0..all.flow.len() {
        let (Some(codec), heard) = (codec(plan, record, row), all.playout_packets[row]) else { continue };
        if heard == 0 {
            continue;
        }
        let unusable = all.lost_packets[row] + all.late_packets[row];
        let sent = heard + all.lost_packets[row];
        let loss = unusable as f64 / sent as f64;
        let burst = if 0 < unusable && unusable < sent {
            unusable as f64 / all.unusable_periods[row].max(1) as f64 * (1.0 - loss)
        } else {
            1.0 // no runs to compare
        };
        let delay = all.playout_ns[row] as f64 / heard as f64 / 1e9 + codec.delay;
        found.push(e_model::mos(delay, loss, burst, codec));
    }
    ratio(found.iter().sum(), found.len() as f64)
}

fn late(plan: &Plan, record: &Record) -> Option<f64> {
    let all = &record.deliveries;
    let rows = (0..all.flow.len())
        .filter(|row| all.playout_packets[*row] > 0 && codec(plan, record, *row).is_none());
    let (useless, sent) = rows.fold((0, 0), |(useless, sent), row| {
        let lost = all.lost_packets[row];
        (useless + lost + all.late_packets[row], sent + lost + all.playout_packets[row])
    });
    ratio(useless as f64, sent as f64)
}
