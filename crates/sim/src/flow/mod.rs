//! A flow: one source and its destination, over TCP or as datagrams.

mod application;
mod connection;
mod delivery;
mod group;
mod hosts;
mod index;
mod player;
mod playout;

pub(crate) use application::{Application, Applications, Task, Writer};
pub(crate) use connection::{Answer, Arrival, Connection, FlowRoute, Pools};
pub(crate) use delivery::{ArrivalColumns, Arrivals, Delivery};
pub(crate) use group::Group;
pub(crate) use hosts::Hosts;
pub(crate) use index::{FlowIndex, Source};
pub(crate) use player::{Player, Playing};
pub(crate) use playout::Playout;

use crate::{
    engine::{FlowTimer, RtoEvent, Timers},
    packet::Packet,
    path::Route,
    record::Window,
    tcp::Tally,
    traffic::{Datagrams, EdgeMarker},
};
use sojourn_aqm::{Span, Time};

/// A flow. It takes three cache lines: the first has what only losses and RTT samples touch, an ordinary
/// round trip touches the other two.
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) losses: LossCounts,
    pub(crate) endpoint: Endpoint,
    pub(crate) counts: Counts,
    /// The event of its retransmission timer.
    pub(crate) rto_event: RtoEvent,
    pub(crate) group: u32,
    pub(crate) route: Route,
}

impl Flow {
    /// A flow that has not started.
    pub(crate) fn new(endpoint: Endpoint, group: u32, route: Route) -> Flow {
        let (losses, counts) = (LossCounts::default(), Counts::default());
        Flow { losses, endpoint, counts, rto_event: RtoEvent::NOTHING, group, route }
    }

    /// The counters of its sender.
    pub(crate) fn tally(&self) -> Tally {
        match &self.endpoint {
            Endpoint::Tcp(connection) => connection.sender.tally(),
            Endpoint::Udp(udp) => Tally { sent: udp.sent, ..Tally::default() },
        }
    }

    /// Forward packets that were received or dropped.
    pub(crate) fn accounted(&self) -> u64 {
        [self.counts.received, self.losses.outside, self.losses.dropped].map(u64::from).iter().sum()
    }

    /// Bytes received for the first time, in the measurement window. `group` and `application` are those of
    /// the flow.
    pub(crate) fn goodput(&self, group: &Group, application: Option<&Application>) -> u64 {
        match (&self.endpoint, group.tcp()) {
            (Endpoint::Tcp(_), Some(_)) if let Some(application) = application => application.goodput,
            (Endpoint::Tcp(connection), Some(tcp)) => connection.goodput_if_full(tcp, self.counts.received),
            (Endpoint::Tcp(_), None) => 0,
            (Endpoint::Udp(udp), _) => udp.goodput,
        }
    }

    /// The counters at the start of the measurement window, with `offered` packets at the measured queue.
    pub(crate) fn snapshot(&self, offered: u32) -> WarmupSnapshot {
        WarmupSnapshot { offered, dropped: self.losses.dropped, tally: self.tally() }
    }
}

impl Timers for [Flow] {
    fn timer(&mut self, number: u32) -> Option<(FlowTimer<'_>, Option<Time>)> {
        let flow = &mut self[number as usize];
        let Endpoint::Tcp(connection) = &flow.endpoint else { return None };
        let deadline = connection.sender.deadline();
        Some((FlowTimer { flow: number, event: &mut flow.rto_event }, deadline))
    }
}

/// The two ends of a flow.
#[allow(
    clippy::large_enum_variant,
    reason = "most flows are connections, and a box would cost a cache miss per packet"
)]
pub(crate) enum Endpoint {
    Tcp(Connection),
    /// A source of datagrams, which are not acknowledged.
    Udp(Box<Udp>),
}

/// A source of datagrams.
pub(crate) struct Udp {
    /// When it sends.
    pub(crate) source: Datagrams,
    /// Bytes of a datagram on the wire.
    pub(crate) size: u32,
    /// Datagrams sent.
    pub(crate) sent: u64,
    /// Bytes received in the measurement window, and in the whole run.
    pub(crate) goodput: u64,
    pub(crate) received: u64,
    pub(crate) marker: Option<EdgeMarker>,
    pub(crate) delivery: Delivery,
}

impl Udp {
    /// Set the class of a datagram that is sent, if there is a marker at the edge of the network.
    pub(crate) fn mark(&mut self, now: Time, packet: &mut Packet) {
        if let Some(marker) = &mut self.marker {
            packet.class = marker.mark(now, packet.bytes, packet.class);
        }
    }
}

/// The counters of a flow at the start of the measurement window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WarmupSnapshot {
    /// Packets offered to the measured queue.
    pub(crate) offered: u32,
    pub(crate) dropped: u32,
    pub(crate) tally: Tally,
}

/// Counters of delivered packets. Packets of a flow are numbered with 32 bits, so 32 bits are enough to count
/// them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Sum of the delays from sender to receiver of the packets received in the measurement window.
    pub(crate) delay: Span,
    /// The largest of these delays.
    pub(crate) delay_max: Span,
    /// Packets received in the measurement window.
    pub(crate) received: u32,
    /// Packets that left the measured queue, sent or dropped, in the whole run. They are counted as they
    /// leave and not as they arrive, because the fast path has the flow in the cache then.
    pub(crate) queue_left: u32,
}

/// Counters of other packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossCounts {
    /// Packets dropped at the measured queue in the measurement window.
    pub(crate) queue_drops: u32,
    /// Packets marked there.
    pub(crate) queue_marks: u32,
    /// Forward packets dropped anywhere, in the whole run.
    pub(crate) dropped: u32,
    /// Forward packets received before the measurement window, or known to be received after it.
    pub(crate) outside: u32,
}

impl Counts {
    /// A packet sent at `sent` is received at `at`; returns whether that is in the measurement window.
    #[inline]
    pub(crate) fn receive(&mut self, losses: &mut LossCounts, at: Time, sent: Time, window: Window) -> bool {
        // One comparison for both bounds.
        if at.0.wrapping_sub(window.start.0) >= window.end.0 - window.start.0 {
            losses.outside += 1;
            return false;
        }
        let delay = Span(at.0 - sent.0);
        self.received += 1;
        self.delay.0 += delay.0;
        if delay > self.delay_max {
            self.delay_max = delay;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run may have very many.
    #[test]
    fn a_flow_is_small() {
        assert!(size_of::<Flow>() <= 192, "{} bytes", size_of::<Flow>());
    }
}
