//! The results of a gateway.

use crate::flows::Ends;
use sojourn_aqm::Span;
use sojourn_sim::Record;

/// The record of the queues and flows, lateness, and the counters outside the queues.
#[derive(Clone, Debug)]
pub struct GatewayRecord {
    /// As of a simulation; time-outs and window cuts, which only the hosts observe, are `u64::MAX`.
    pub record: Record,
    /// The end points of each flow of the record.
    pub ends: Vec<Ends>,
    /// How much later than computed from their arrivals packets were written, in the window.
    pub lateness: HistogramColumns,
    /// How long packets waited in their device to be read, in the window.
    pub waiting: HistogramColumns,
    /// Total time of the stalls of the machine in the window, each longer than a millisecond.
    pub stalled: Span,
    /// Counters outside the queues, over the whole run.
    pub stats: Stats,
}

/// A histogram of times in ns: lower edges of buckets, and their counts.
pub type HistogramColumns = (Vec<u64>, Vec<u64>);

/// Counters of packets outside the queues, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Read from devices; the segments of a super-packet count separately.
    pub read: u64,
    /// Of these, those whose arrival the kernel did not report.
    pub unreported: u64,
    /// Written to devices.
    pub delivered: u64,
    /// Dropped by the queues.
    pub dropped: u64,
    /// Lost on the wires of the bottleneck.
    pub lost: u64,
    /// Copies that these wires made.
    pub copied: u64,
    /// Not routable: too short, not IP, inconsistent lengths.
    pub malformed: u64,
    /// Without a destination on the other side.
    pub unroutable: u64,
    /// Refused by a device, or its device was deleted.
    pub undelivered: u64,
    /// Forwarded, although their transport header is invalid.
    pub odd: u64,
    /// Super-packets that were segmented.
    pub super_packets: u64,
    /// Missing ranges in the sequence numbers of TCP that were forgotten, because there were too many; their
    /// bytes are not part of the goodput.
    pub forgotten_holes: u64,
}
