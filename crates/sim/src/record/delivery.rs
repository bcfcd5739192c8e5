//! What arrived at receivers over the window: columns of the record.

/// Counters of each source of datagrams.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they count")]
pub struct DeliveryColumns {
    /// Row of [`super::FlowColumns`].
    pub flow: Vec<u32>,
    /// Datagrams that had not arrived when a later one did.
    pub lost_packets: Vec<u64>,
    /// Runs of lost datagrams (RFC 3357).
    pub loss_periods: Vec<u64>,
    /// Datagrams that arrived after a later one; they count as lost, too.
    pub reordered_packets: Vec<u64>,
    /// Smallest one-way delay; 0 if nothing arrived.
    pub delay_min_ns: Vec<u64>,
    /// Sum of the differences between the one-way delays of consecutive arrivals (RFC 3550, section
    /// 6.4.1)...
    pub jitter_ns: Vec<u64>,
    /// ...and their number.
    pub jitter_pairs: Vec<u64>,
    /// Datagrams that arrived after the time of their use; 0 without such a time.
    pub late_packets: Vec<u64>,
    /// Runs of datagrams that were late or lost; 0 without a time of use.
    pub unusable_periods: Vec<u64>,
    /// Sum of the times from sending to use...
    pub playout_ns: Vec<u64>,
    /// ...and how many there are: one for each datagram that arrived before later ones.
    pub playout_packets: Vec<u64>,
    /// Datagrams that came back to the source; 0 if the receiver does not return them.
    pub echoes: Vec<u64>,
    /// Sum of their round-trip times...
    pub round_trip_ns: Vec<u64>,
    /// ...and the largest.
    pub round_trip_max_ns: Vec<u64>,
}

/// Histograms of one-way delays, or of round-trip times, one after the other.
#[derive(Clone, Debug, Default)]
pub struct DelayColumns {
    /// Index into the plan's traffic.
    pub traffic: Vec<u32>,
    /// Lower edge of a bucket, which is at most 1/64 of it wide.
    pub edge_ns: Vec<u64>,
    /// Packets in it; duplicates of TCP count as well.
    pub count: Vec<u64>,
}

/// Loss periods.
#[derive(Clone, Debug, Default)]
pub struct LossColumns {
    /// Index into the plan's traffic.
    pub traffic: Vec<u32>,
    /// Datagrams lost in a row.
    pub length: Vec<u64>,
    /// How often.
    pub count: Vec<u64>,
}
