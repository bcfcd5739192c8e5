//! The raw results of a run, as columns of numbers.
//!
//! Metrics are computed from a [`Record`] elsewhere, with formulas that all worlds share. Times are
//! nanoseconds. The window is [warm-up, end]; everything but the series and the traces covers the window
//! only.

mod classes;
mod counters;
mod delivery;
mod fast_path;
mod histogram;
mod integrals;
mod reserve;

pub use classes::ClassColumns;
pub(crate) use counters::Counters;
pub use counters::Totals;
pub use delivery::{DelayColumns, DeliveryColumns, LossColumns};
pub use fast_path::{FastPath, SlowPathReason};
pub use histogram::Histogram;
pub(crate) use integrals::Backlog;

use sojourn_aqm::{Cause, Span, Time};

/// Everything measured in one run.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The measurement window.
    pub window: Window,
    /// Every queue with a limit, the measured one first.
    pub queues: Vec<QueueRecord>,
    /// Counters of the measured queue in each phase of the plan, by the name of the phase; maxima are those
    /// of the run until its end.
    pub phases: Vec<QueueRecord>,
    /// One row per flow.
    pub flows: FlowColumns,
    /// One row per source of datagrams.
    pub deliveries: DeliveryColumns,
    /// One-way delays of each traffic.
    pub delays: DelayColumns,
    /// Round-trip times of each traffic whose datagrams are returned.
    pub round_trips: DelayColumns,
    /// Loss periods of each traffic of datagrams.
    pub losses: LossColumns,
    /// One row per finite transfer.
    pub objects: ObjectColumns,
    /// One row per page of web traffic.
    pub pages: PageColumns,
    /// One row per segment of a video.
    pub segments: SegmentColumns,
    /// One row per impaired link.
    pub links: LinkColumns,
    /// Samples of the queues.
    pub series: Series,
    /// Drops at the measured queue, if recorded.
    pub drops: DropColumns,
    /// Changes of congestion windows, if recorded.
    pub cwnd: CwndColumns,
    /// Packets at the measured queue, if recorded.
    pub packets: PacketColumns,
    /// Samples of flows, if recorded.
    pub flow_series: FlowSeriesColumns,
    /// What algorithms keep of their state at the end of the run.
    pub exports: Vec<Export>,
    /// Events handled, for benchmarks.
    pub events: u64,
    /// Whether the run took the fast path, or why not.
    pub fast_path: FastPath,
}

/// A value that the algorithm of a queue exports when the run ends ([`sojourn_aqm::Aqm::on_end`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The queue: `R1-R2`.
    pub queue: String,
    /// The name of the value; in a class of a scheduler `CLASS.NAME`.
    pub name: String,
    /// The value as JSON.
    pub value: String,
}

/// The time that statistics cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The end of the warm-up.
    pub start: Time,
    /// The end of the run.
    pub end: Time,
}

/// Counters of one queue over the window.
#[derive(Clone, Debug, Default)]
pub struct QueueRecord {
    /// `R1-R2`.
    pub name: String,
    /// The canonical algorithm spec in force.
    pub spec: String,
    /// The buffer limit in packets (0 if it is in bytes).
    pub limit_packets: u64,
    /// The buffer limit in bytes (0 if it is in packets).
    pub limit_bytes: u64,
    /// Integral of the link rate over the window, bits.
    pub capacity_bits: f64,
    /// Packets offered.
    pub arrivals: u64,
    /// Bytes offered.
    pub arrived_bytes: u64,
    /// Packets handed to the transmitter.
    pub departures: u64,
    /// Bytes handed to the transmitter.
    pub departed_bytes: u64,
    /// Drops by cause, in the order of [`Cause::ALL`].
    pub drops: [u64; Cause::ALL.len()],
    /// Bytes dropped, all causes.
    pub dropped_bytes: u64,
    /// Marks by cause, in the order of [`Cause::ALL`].
    pub marks: [u64; Cause::ALL.len()],
    /// Integral of queued packets, packet nanoseconds.
    pub packet_ns: f64,
    /// Integral of the square of queued packets.
    pub packet_squared_ns: f64,
    /// Integral of queued bytes.
    pub byte_ns: f64,
    /// Maximum of queued packets.
    pub max_packets: u64,
    /// Time without a packet in transmission.
    pub idle_ns: u64,
    /// Sum of queueing delays (start of transmission - arrival) over departures.
    pub delay_sum_ns: f64,
    /// Sum of their squares.
    pub delay_squared_ns: f64,
    /// Histogram of queueing delays: lower edges of the buckets that are not empty...
    pub delay_edges_ns: Vec<u64>,
    /// ...and their counts (a bucket is at most 1/64 of its edge wide).
    pub delay_counts: Vec<u64>,
    /// The largest of these delays.
    pub delay_max_ns: u64,
    /// Lengths of runs of drops (consecutive arrivals of any flow)...
    pub run_lengths: Vec<u64>,
    /// ...and the number of runs of each length.
    pub run_counts: Vec<u64>,
    /// Length of the parts that the whole run is divided into, warm-up included; 0 without parts.
    pub part_ns: u64,
    /// Mean of queued packets in each part: recorded without samples, too.
    pub part_packets: Vec<f64>,
    /// The same counters for each class.
    pub classes: ClassColumns,
}

impl Record {
    /// Leave out the transfers and pages that began at `end` or later.
    pub(crate) fn keep_transfers_before(&mut self, end: Time) {
        fn keep<T: Copy>(column: &mut Vec<T>, kept: &[bool]) {
            let mut row = kept.iter();
            column.retain(|_| *row.next().unwrap_or(&false));
        }
        let ObjectColumns { traffic, index, start_ns, end_ns, bytes } = &mut self.objects;
        let kept: Vec<bool> = start_ns.iter().map(|start| *start < end.0).collect();
        keep(traffic, &kept);
        keep(index, &kept);
        [start_ns, end_ns, bytes].into_iter().for_each(|column| keep(column, &kept));
        let PageColumns { traffic, index, start_ns, end_ns, objects, bytes } = &mut self.pages;
        let kept: Vec<bool> = start_ns.iter().map(|start| *start < end.0).collect();
        keep(traffic, &kept);
        keep(index, &kept);
        [start_ns, end_ns, objects, bytes].into_iter().for_each(|column| keep(column, &kept));
    }
}

/// Counters of each flow (web traffic: of each session) over the window; queue columns refer to the measured
/// queue.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they count")]
pub struct FlowColumns {
    /// Index into the plan's traffic.
    pub traffic: Vec<u32>,
    /// Number within its traffic group.
    pub index: Vec<u32>,
    pub start_ns: Vec<u64>,
    /// 1 if its data (not only its acknowledgements) cross the measured queue.
    pub crosses: Vec<u8>,
    pub queue_arrivals: Vec<u64>,
    pub queue_drops: Vec<u64>,
    pub queue_marks: Vec<u64>,
    pub sent_packets: Vec<u64>,
    pub retransmitted_packets: Vec<u64>,
    pub timeouts: Vec<u64>,
    pub window_cuts: Vec<u64>,
    /// Packets that were dropped at any queue.
    pub dropped_packets: Vec<u64>,
    /// Packets that reached the receiver, duplicates included.
    pub received_packets: Vec<u64>,
    /// One-way delays of these packets: their sum...
    pub delay_ns: Vec<u64>,
    /// ...and their maximum.
    pub delay_max_ns: Vec<u64>,
    /// Payload bytes that reached the receiver, without duplicates.
    pub goodput_bytes: Vec<u64>,
}

/// What the wires of impaired links did to packets in the window, each direction of a link by itself.
#[derive(Clone, Debug, Default)]
pub struct LinkColumns {
    /// `R1-R2`.
    pub name: Vec<String>,
    /// Its number among the impaired directions, in the order of the plan.
    pub link: Vec<u32>,
    /// Packets that reached its end or were lost, copies not counted.
    pub packets: Vec<u64>,
    /// Packets lost.
    pub lost_packets: Vec<u64>,
    /// Bytes lost.
    pub lost_bytes: Vec<u64>,
    /// Packets that arrived twice.
    pub copied_packets: Vec<u64>,
}

/// Finite transfers that started in the run.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they hold")]
pub struct ObjectColumns {
    pub traffic: Vec<u32>,
    pub index: Vec<u32>,
    pub start_ns: Vec<u64>,
    /// When its last byte was acknowledged (web object: when its last byte reached the client, the end of the
    /// response time); `u64::MAX` if the run ended first.
    pub end_ns: Vec<u64>,
    pub bytes: Vec<u64>,
}

/// Pages that were requested in the run.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they hold")]
pub struct PageColumns {
    pub traffic: Vec<u32>,
    /// Number of the session.
    pub index: Vec<u32>,
    pub start_ns: Vec<u64>,
    /// When the last byte of its last object reached the client; `u64::MAX` if the run ended first.
    pub end_ns: Vec<u64>,
    pub objects: Vec<u64>,
    /// Payload of the requested objects.
    pub bytes: Vec<u64>,
}

/// Segments of videos that were requested in the run.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they hold")]
pub struct SegmentColumns {
    pub traffic: Vec<u32>,
    /// Number of the client.
    pub index: Vec<u32>,
    pub start_ns: Vec<u64>,
    /// When its last byte reached the client; `u64::MAX` if the run ended first.
    pub end_ns: Vec<u64>,
    /// When its playing began; `u64::MAX` if the run ended first.
    pub play_ns: Vec<u64>,
    pub bitrate_bps: Vec<u64>,
    /// Payload; packets are full.
    pub bytes: Vec<u64>,
}

/// Samples every `interval`, from time `interval` to the end; one column per variable.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Time between samples; 0: no samples.
    pub interval: Span,
    /// Of each queue, in the order of [`Record::queues`].
    pub queues: Vec<QueueSeries>,
}

/// Samples of one queue.
#[derive(Clone, Debug, Default)]
pub struct QueueSeries {
    /// Queued packets.
    pub packets: Vec<u32>,
    /// Queued bytes.
    pub bytes: Vec<u64>,
    /// Exact mean of queued packets since the previous sample.
    pub mean_packets: Vec<f64>,
    /// Exact mean of their square.
    pub mean_square_packets: Vec<f64>,
    /// Packets offered since the previous sample.
    pub arrivals: Vec<u32>,
    /// Packets dropped since the previous sample.
    pub drops: Vec<u32>,
    /// Bytes handed to the transmitter since the previous sample.
    pub departed_bytes: Vec<u64>,
    /// Queued packets of each class that has occurred; empty if only class 0 has.
    pub class_packets: Vec<(u8, Vec<u32>)>,
    /// The algorithm's probes: name and values.
    pub probes: Vec<(String, Vec<f64>)>,
}

/// Every drop at the measured queue, over the whole run.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they hold")]
pub struct DropColumns {
    pub time_ns: Vec<u64>,
    /// Row of [`FlowColumns`].
    pub flow: Vec<u32>,
    /// Packet number within the flow; a SYN is number 0 where there is one.
    pub sequence: Vec<u32>,
    /// Index into [`Cause::ALL`].
    pub cause: Vec<u8>,
    /// Packets offered before this one.
    pub arrival: Vec<u64>,
    /// Packets that remained in the queue.
    pub queue_packets: Vec<u32>,
}

/// Every change of a congestion window, over the whole run.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they hold")]
pub struct CwndColumns {
    pub time_ns: Vec<u64>,
    /// Row of [`FlowColumns`].
    pub flow: Vec<u32>,
    pub cwnd: Vec<f64>,
    pub ssthresh: Vec<f64>,
}

/// Every packet that enters or leaves the measured queue, over the whole run, in the order of time.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they hold")]
pub struct PacketColumns {
    pub time_ns: Vec<u64>,
    /// 0: enqueued, 1: dequeued, 2: dropped, 3: marked.
    pub event: Vec<u8>,
    /// Of a drop or a mark, the index into [`Cause::ALL`]; else 255.
    pub reason: Vec<u8>,
    /// Packets offered before this one: the same in all rows of a packet.
    pub arrival: Vec<u64>,
    /// Row of [`FlowColumns`].
    pub flow: Vec<u32>,
    /// Number of the connection in the run; a row of [`FlowColumns`] may have several.
    pub connection: Vec<u32>,
    /// Packet number within the flow; of an acknowledgement, the next expected number.
    pub sequence: Vec<u32>,
    /// 0: data, 1: acknowledgement, 2: datagram.
    pub kind: Vec<u8>,
    /// Size on the wire.
    pub bytes: Vec<u32>,
    /// The ECN field of the IP header (RFC 3168, section 5).
    pub ecn: Vec<u8>,
    /// 1: the window was reduced (data; CWR with ECN), or ECE is set (acknowledgement).
    pub flag: Vec<u8>,
    /// Traffic class.
    pub class: Vec<u8>,
    /// Packets that wait afterwards.
    pub queue_packets: Vec<u32>,
}

/// Samples of the flows that are active, at multiples of an interval.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "columns named by what they hold")]
pub struct FlowSeriesColumns {
    pub time_ns: Vec<u64>,
    /// Row of [`FlowColumns`].
    pub flow: Vec<u32>,
    /// Number of the connection in the run; a row of [`FlowColumns`] may have several.
    pub connection: Vec<u32>,
    /// Payload that the receiver has delivered in order since the previous sample (datagrams: bytes received;
    /// web requests: 0).
    pub goodput_bytes: Vec<u64>,
    /// Bytes that have left the measured queue since the previous sample.
    pub carried_bytes: Vec<u64>,
    /// Congestion window in packets; NaN for datagrams.
    pub cwnd: Vec<f64>,
    /// Smoothed round-trip time; NaN for datagrams and before the first sample.
    pub srtt_ns: Vec<f64>,
}
