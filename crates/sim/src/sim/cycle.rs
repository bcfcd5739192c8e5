//! The steps of the packet cycle that both engines call; the others are methods of links, connections and
//! senders (see [`super`]).
//!
//! [`super::dispatch`] calls a step for each event, with any queue. [`super::fast_path`] calls all of them in
//! a row, with a queue whose algorithm is known at compile time, so they are inlined.

use crate::{
    engine::{CalendarQueue, Event},
    flow::{Applications, Connection, Flow, FlowRoute, Group},
    measure::{LossContext, LossLog},
    packet::{Packet, Reports},
    path::{Hop, Links, Route},
    queue::QueueOps,
    tcp::{Segment, Sender},
};
use sojourn_aqm::Time;

/// The flow of the packet that is handled.
pub(super) struct ActiveFlow<'a> {
    pub(super) number: u32,
    pub(super) route: Route,
    pub(super) connection: &'a mut Connection,
    pub(super) group: &'a Group,
    pub(super) applications: &'a mut Applications,
}

impl ActiveFlow<'_> {
    /// A copy for one call that is not inlined: then the original need not be in memory.
    #[inline(always)]
    fn reborrow(&mut self) -> ActiveFlow<'_> {
        ActiveFlow { connection: self.connection, applications: self.applications, ..*self }
    }
}

/// A packet arrives at `queue`: whether its transmitter is idle, and must take a packet now.
#[inline(always)]
pub(super) fn enqueue<Q: QueueOps>(
    queue: &mut Q,
    now: Time,
    packet: &mut Packet,
    is_measured: bool,
    log: &mut LossLog,
    flows: &mut [Flow],
    reports: &mut Reports,
) -> bool {
    if !queue.enqueue(now, packet) {
        report_outcomes(queue, now, is_measured, log, flows, reports);
    }
    !queue.stats().busy
}

/// The transmitter of `queue` takes the next packet, if there is one: the packet's slot in the queue.
#[inline(always)]
pub(super) fn dequeue<Q: QueueOps>(
    queue: &mut Q,
    now: Time,
    is_measured: bool,
    log: &mut LossLog,
    flows: &mut [Flow],
    reports: &mut Reports,
) -> Option<usize> {
    let was_busy = queue.stats().busy;
    let slot = queue.dequeue(now);
    if queue.drops_at_dequeue() {
        report_outcomes(queue, now, is_measured, log, flows, reports);
    }
    if slot.is_none() && was_busy {
        queue.on_idle(now);
    }
    slot
}

/// Count and trace what `queue` has dropped and marked.
#[inline(always)]
fn report_outcomes<Q: QueueOps>(
    queue: &mut Q,
    now: Time,
    is_measured: bool,
    log: &mut LossLog,
    flows: &mut [Flow],
    reports: &mut Reports,
) {
    if !queue.stats().outcomes.is_empty() {
        let context = LossContext { now, is_measured, waiting: queue.len() };
        log.record(context, queue.stats(), flows, reports);
    }
}

/// A packet leaves its sender at `at` over `hop`, its first link. Its arrival there is an event.
#[inline(always)]
pub(super) fn transmit(
    calendar: &mut CalendarQueue<Packet>,
    links: &mut Links,
    hop: &mut Hop,
    flow: &mut ActiveFlow,
    segment: Segment,
    at: Time,
) {
    let ActiveFlow { number, route, group, applications, .. } = flow;
    let first = hop.link(route.host);
    let link = &mut links.each[first as usize];
    calendar.push_with(
        #[inline(always)]
        |packet| {
            let forward = FlowRoute { flow: *number, route: *route };
            group.write_packet(packet, forward, segment, at, applications);
            let (tx_time, at) = (&mut hop.tx_time, group.jittered(*number, segment, at));
            let (arrival, burst_index) = link.cross_with_index(tx_time, links.kinds, at, packet.bytes);
            Event::arrival(arrival, tx_time.tie_key(), burst_index, first)
        },
    );
}

/// Transmit what an acknowledgement has released: the packets below `limit`, which were never sent before, or
/// else those in `released`.
#[inline(always)]
pub(super) fn transmit_allowed(
    calendar: &mut CalendarQueue<Packet>,
    links: &mut Links,
    hop: &mut Hop,
    flow: &mut ActiveFlow,
    limit: Option<u32>,
    released: &mut Vec<Segment>,
    at: Time,
) {
    let Some(limit) = limit else {
        return transmit_released(calendar, links.reborrow(), hop, flow.reborrow(), released, at);
    };
    while let Some(segment) = flow.connection.sender.emit_next(limit, at) {
        transmit(calendar, links, hop, flow, segment, at);
    }
}

#[inline(never)]
fn transmit_released(
    calendar: &mut CalendarQueue<Packet>,
    mut links: Links,
    hop: &mut Hop,
    mut flow: ActiveFlow,
    released: &mut Vec<Segment>,
    at: Time,
) {
    for segment in released.drain(..) {
        transmit(calendar, &mut links, hop, &mut flow, segment, at);
    }
}

/// Whether an acknowledgement that arrives at `at` must wait for that time: others of the same sender wait,
/// or `at` is not before the horizon ([`super::Clock::horizon`]).
#[inline(always)]
pub(super) fn must_wait(sender: &Sender, at: Time, horizon: Time) -> bool {
    at >= horizon || sender.pending_acks > 0
}
