//! A flow: one source and its destination, TCP or datagrams.

mod connection;
mod group;
mod hosts;
mod index;

pub(crate) use connection::{Connection, Pools, Task};
pub(crate) use group::Group;
pub(crate) use hosts::Hosts;
pub(crate) use index::{FlowIndex, Source};

use crate::{
    engine::{FlowTimer, RtoEvent, Timers},
    packet::Packet,
    path::Route,
    tcp::Tally,
    traffic::{Datagrams, EdgeMarker},
};

/// One flow: three lines of a cache. The first has what is touched only when something goes wrong or once a round
/// trip, up to the sender's estimate of that; a plain round trip touches the other two.
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) losses: LossCounts,
    pub(crate) endpoint: Endpoint,
    pub(crate) counts: Counts,
    /// What is done about its retransmission timer.
    pub(crate) rto_event: RtoEvent,
    pub(crate) group: u32,
    pub(crate) route: Route,
}

impl Flow {
    /// A flow that has done nothing yet.
    pub(crate) fn new(endpoint: Endpoint, group: u32, route: Route) -> Flow {
        let (losses, counts) = (LossCounts::default(), Counts::default());
        Flow { losses, endpoint, counts, rto_event: RtoEvent::NOTHING, group, route }
    }

    /// What it has sent so far.
    pub(crate) fn tally(&self) -> Tally {
        match &self.endpoint {
            Endpoint::Tcp(connection) => connection.sender.tally(),
            Endpoint::Udp(udp) => Tally { sent: udp.sent, ..Tally::default() },
        }
    }

    /// Forward packets that are not on their way any more.
    pub(crate) fn accounted(&self) -> u64 {
        [self.counts.received, self.losses.outside, self.losses.dropped].map(u64::from).iter().sum()
    }

    /// Bytes that reached the receiver for the first time, in the window; `group` is its own.
    pub(crate) fn goodput(&self, group: &Group) -> u64 {
        match (&self.endpoint, group.tcp()) {
            (Endpoint::Tcp(connection), Some(tcp)) => connection.goodput(tcp, self.counts.received),
            (Endpoint::Tcp(_), None) => 0,
            (Endpoint::Udp(udp), _) => udp.goodput,
        }
    }

    /// What it has done so far, with `offered` packets at the measured queue.
    pub(crate) fn snapshot(&self, offered: u32) -> WarmupSnapshot {
        WarmupSnapshot { offered, dropped: self.losses.dropped, tally: self.tally() }
    }
}

impl Timers for [Flow] {
    fn timer(&mut self, number: u32) -> Option<(FlowTimer<'_>, Option<u64>)> {
        let flow = &mut self[number as usize];
        let Endpoint::Tcp(connection) = &flow.endpoint else { return None };
        let deadline = connection.sender.deadline();
        Some((FlowTimer { flow: number, event: &mut flow.rto_event }, deadline))
    }
}

/// The two ends of a flow.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every flow is a connection, and a box costs a miss a packet"
)]
pub(crate) enum Endpoint {
    /// A connection.
    Tcp(Connection),
    /// A source that nobody answers.
    Udp(Box<Udp>),
}

/// A source of datagrams.
pub(crate) struct Udp {
    /// When packets leave.
    pub(crate) source: Datagrams,
    /// Size of each on the wire.
    pub(crate) size: u32,
    /// How many have left.
    pub(crate) sent: u64,
    /// Bytes that have arrived, in the window.
    pub(crate) goodput: u64,
    /// What stands between it and the network.
    pub(crate) marker: Option<Box<EdgeMarker>>,
}

impl Udp {
    /// A packet leaves the source: it gets the class under which the network knows it.
    pub(crate) fn mark(&mut self, now: u64, packet: &mut Packet) {
        if let Some(marker) = &mut self.marker {
            packet.class = marker.mark(now, packet.bytes, packet.class);
        }
    }
}

/// What a flow had done when the window opened: packets offered to the measured queue, packets dropped, and the
/// sender's tally.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WarmupSnapshot {
    pub(crate) offered: u32,
    pub(crate) dropped: u32,
    pub(crate) tally: Tally,
}

/// What is counted per flow, of the packets that make their way. Packets of a flow are numbered with 32 bits, so they
/// are counted with as many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Of the packets received in the window: time from sender to receiver, in all and at most.
    pub(crate) delay: u64,
    pub(crate) delay_max: u64,
    pub(crate) received: u32,
    /// Packets that left the measured queue, sent or dropped, in the whole run: counted then, not at their arrival,
    /// since the flow is at hand then.
    pub(crate) queue_left: u32,
}

/// What is counted of the others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossCounts {
    /// At the measured queue in the window.
    pub(crate) queue_drops: u32,
    pub(crate) queue_marks: u32,
    /// Forward packets dropped anywhere, in the whole run.
    pub(crate) dropped: u32,
    /// Forward packets received outside of the window: before it, or it is already known that they arrive after it.
    pub(crate) outside: u32,
}

impl Counts {
    /// A packet that was sent at `sent` is received at `at`; whether that is in the window, [`warmup`, `end`).
    #[inline]
    pub(crate) fn receive(
        &mut self,
        losses: &mut LossCounts,
        (at, sent): (u64, u64),
        (warmup, end): (u64, u64),
    ) -> bool {
        if at.wrapping_sub(warmup) >= end - warmup {
            losses.outside += 1;
            return false;
        }
        let delay = at - sent;
        self.received += 1;
        self.delay += delay;
        if delay > self.delay_max {
            self.delay_max = delay;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There may be very many.
    #[test]
    fn a_flow_is_small() {
        assert!(size_of::<Flow>() <= 192, "{} bytes", size_of::<Flow>());
    }
}
