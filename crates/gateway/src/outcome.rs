//! What a gateway leaves behind.

use crate::flows::Ends;
use sojourn_sim::Record;

/// Record, lateness, and what happened outside the queues.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// As a simulation's; time-outs and window cuts, which only the hosts know, are `u64::MAX`.
    pub record: Record,
    /// Who each of the record's flows is.
    pub ends: Vec<Ends>,
    /// How late packets were written in the window: lower edges of buckets, ns...
    pub lateness_edges_ns: Vec<u64>,
    /// ...and how many fell into each.
    pub lateness_counts: Vec<u64>,
    /// How long in the window the machine stood still, by more than a millisecond each time, ns.
    pub standstill_ns: u64,
    /// What happened to packets outside the queues, over the whole run.
    pub tally: Tally,
}

/// Packets outside the queues, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Read from devices; of a super-packet, its segments.
    pub read: u64,
    /// Written to devices.
    pub delivered: u64,
    /// Dropped by the queues.
    pub dropped: u64,
    /// Lost behind the bottleneck, as the plan has it.
    pub lost: u64,
    /// Could not be routed: too short, not IP, lengths that contradict each other.
    pub malformed: u64,
    /// To an address that is not on the other side.
    pub unroutable: u64,
    /// A device refused them, or was gone.
    pub undelivered: u64,
    /// Forwarded although their transport's header makes no sense.
    pub odd: u64,
    /// Super-packets that were cut up.
    pub super_packets: u64,
}
