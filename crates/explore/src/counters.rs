//! A hash of everything that a run has counted. It does not depend on the traces, so that a run of the page
//! and a stored one with other traces can be compared; `python/sojourn/report/lab.py` computes it from a
//! stored record.

use crate::fnv;
use sojourn_sim::Record;
use std::fmt::Write;

/// The digest of the integers of every queue, flow, transfer and page: decimal, one space after each.
pub(crate) fn counters(record: &Record) -> String {
    let mut text = String::new();
    let mut put = |values: &[u64]| {
        values.iter().for_each(|value| {
            let _ = write!(text, "{value} "); // writing to a string cannot fail
        });
    };
    for queue in &record.queues {
        put(&[queue.arrivals, queue.arrived_bytes, queue.departures, queue.departed_bytes]);
        put(&queue.drops);
        put(&[queue.dropped_bytes]);
        put(&queue.marks);
        put(&[queue.max_packets, queue.idle_ns, queue.delay_max_ns]);
        put(&queue.delay_edges_ns);
        put(&queue.delay_counts);
    }
    let flows = &record.flows;
    put(&flows.start_ns);
    put(&flows.queue_arrivals);
    put(&flows.queue_drops);
    put(&flows.queue_marks);
    put(&flows.sent_packets);
    put(&flows.retransmitted_packets);
    put(&flows.timeouts);
    put(&flows.window_cuts);
    put(&flows.dropped_packets);
    put(&flows.received_packets);
    put(&flows.delay_ns);
    put(&flows.delay_max_ns);
    put(&flows.goodput_bytes);
    put(&record.objects.start_ns);
    put(&record.objects.end_ns);
    put(&record.objects.bytes);
    put(&record.pages.start_ns);
    put(&record.pages.end_ns);
    fnv(format_args!("{text}"))
}
