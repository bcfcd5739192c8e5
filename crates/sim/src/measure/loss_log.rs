//! Per-flow counts of dropped and marked packets, and the trace of drops at the measured queue.

use crate::{
    flow::Flow,
    packet::{Carries, Packet, Reports},
    queue::{Outcome, QueueStats},
    record::DropColumns,
};
use sojourn_aqm::{Cause, Time};

/// What is counted and traced.
#[derive(Default)]
pub(crate) struct LossLog {
    /// The window of statistics is open.
    pub(crate) counting: bool,
    pub(crate) traced: bool,
    pub(crate) columns: DropColumns,
}

/// The queue that reports outcomes.
#[derive(Clone, Copy)]
pub(crate) struct LossContext {
    pub(crate) now: Time,
    pub(crate) is_measured: bool,
    /// Packets that wait there.
    pub(crate) waiting: u32,
}

impl LossLog {
    /// Count the outcomes of a queue for the flows that the packets belong to.
    #[inline(never)]
    pub(crate) fn record(
        &mut self,
        context: LossContext,
        stats: &mut QueueStats,
        flows: &mut [Flow],
        reports: &mut Reports,
    ) {
        let is_measured = context.is_measured;
        let counted = u32::from(is_measured && self.counting);
        for (packet, outcome) in &stats.outcomes {
            let flow = &mut flows[packet.flow as usize];
            let Outcome::Dropped(cause, arrival) = *outcome else {
                flow.losses.queue_marks += counted;
                continue;
            };
            flow.counts.queue_left += u32::from(is_measured);
            flow.losses.dropped += u32::from(packet.is_forward());
            flow.losses.queue_drops += counted;
            if packet.carries == Carries::Ack {
                reports.take(packet.stamp);
            }
            if is_measured && self.traced {
                self.columns.push(context, packet, cause, arrival);
            }
        }
        stats.outcomes.clear();
    }
}

impl DropColumns {
    #[inline(never)]
    fn push(&mut self, context: LossContext, packet: &Packet, cause: Cause, arrival: u64) {
        self.time_ns.push(context.now.0);
        self.flow.push(packet.flow);
        self.sequence.push(packet.number);
        self.cause.push(cause as u8);
        self.arrival.push(arrival);
        self.queue_packets.push(context.waiting);
    }
}
