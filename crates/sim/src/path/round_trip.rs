//! The round trip of a packet from a queue over its receiver and its sender to the sender's first link.
//!
//! It exists where no step needs an event: no queue, no link that packets of other flows enter, no delayed
//! acknowledgement. Then all times up to the next packet's arrival follow from the time
//! at which the packet left the queue.

use super::{Hop, Links, Step};
use crate::link::TxTime;
use sojourn_aqm::{Span, Time};
use std::ops::Add;

/// The links of a round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    /// From the queue's link to the receiver, and from there to the sender's own link.
    pub(super) forward: Box<[Hop]>,
    pub(super) reverse: Box<[Hop]>,
    /// The sender's own link, on which acknowledgements arrive, and its step.
    pub(super) last_hop: Hop,
    pub(super) last_step: u32,
    /// The transmission time there of acknowledgements that report blocks.
    pub(super) sack_tx_time: TxTime,
    /// The step and the link on which the sender's next packet leaves.
    pub(super) first_step: u32,
    pub(super) first_hop: Hop,
}

/// A data packet that has reached its receiver.
#[derive(Clone, Copy)]
pub(crate) struct Forward {
    /// When it left the queue's link, when it reaches the receiver, and its size.
    entered: Time,
    pub(crate) arrival: Time,
    bytes: u32,
    /// The fixed path is idle: the times are known without looking at its links.
    is_free: bool,
}

/// The size of an acknowledgement: of one without blocks, of this one, and how many blocks it reports.
#[derive(Clone, Copy)]
pub(crate) struct AckSize {
    pub(crate) plain: u32,
    pub(crate) bytes: u32,
    pub(crate) blocks: u32,
}

impl RoundTrip {
    /// A data packet of `bytes` that entered at `entered` goes to its receiver.
    #[inline(always)]
    pub(crate) fn cross_to_receiver(
        &mut self,
        links: &mut Links,
        host: u32,
        entered: Time,
        bytes: u32,
    ) -> Forward {
        let is_free = links.fixed_path.is_free(entered, bytes);
        let arrival = if is_free {
            entered.add_exact(links.fixed_path.to_receiver)
        } else {
            self.cross_forward(links.reborrow(), host, entered, bytes)
        };
        Forward { entered, arrival, bytes, is_free }
    }

    /// Its acknowledgement goes to the sender: when it arrives there.
    #[inline(always)]
    pub(crate) fn cross_to_sender(
        &mut self,
        links: &mut Links,
        host: u32,
        data: Forward,
        ack: AckSize,
    ) -> Time {
        let at = if !data.is_free || ack.plain != links.fixed_path.ack {
            self.cross_reverse(links.reborrow(), host, data, ack.bytes)
        } else if ack.blocks > 0 {
            let Links { kinds, fixed_path, .. } = links;
            fixed_path.pass_with_sack(kinds, data.entered, ack.bytes, ack.blocks as usize - 1)
        } else {
            links.fixed_path.pass(data.entered)
        };
        let link = &mut links.each[self.last_hop.link(host) as usize];
        let tx_time = if ack.blocks > 0 { &mut self.sack_tx_time } else { &mut self.last_hop.tx_time };
        link.cross(tx_time, links.kinds, at, ack.bytes)
    }

    /// The link on which the sender's next packet leaves, and its step.
    #[inline(always)]
    pub(crate) fn first_hop(&mut self) -> (&mut Hop, u32) {
        (&mut self.first_hop, self.first_step)
    }

    /// The step of the sender's own link, for an acknowledgement that has to wait there as an event: its
    /// place among events at the same time depends on its transmission time.
    pub(crate) fn last_step(&self, steps: &mut [Step], reports_blocks: bool) -> u32 {
        let tx_time = if reports_blocks { self.sack_tx_time } else { self.last_hop.tx_time };
        steps[self.last_step as usize].hop.tx_time = tx_time;
        self.last_step
    }

    /// The sum of the propagation delays.
    pub(super) fn delay(&self) -> Span {
        let hops = [&self.last_hop, &self.first_hop].into_iter().chain(&self.forward).chain(&self.reverse);
        hops.map(|hop| hop.tx_time.delay()).fold(Span::ZERO, Span::add)
    }

    #[cold]
    #[inline(never)]
    fn cross_forward(&mut self, mut links: Links, host: u32, at: Time, bytes: u32) -> Time {
        if links.fixed_path.is_there() {
            return links.fixed_path.forward(links.each, links.kinds, at, bytes);
        }
        links.cross_all(&mut self.forward, host, at, bytes)
    }

    /// The acknowledgement of `data`, of `bytes`, crosses the links one by one; so does `data`, if it has not
    /// yet.
    #[cold]
    #[inline(never)]
    fn cross_reverse(&mut self, mut links: Links, host: u32, data: Forward, bytes: u32) -> Time {
        if !links.fixed_path.is_there() {
            return links.cross_all(&mut self.reverse, host, data.arrival, bytes);
        }
        let Links { each, kinds, fixed_path } = links;
        if data.is_free {
            fixed_path.forward(each, kinds, data.entered, data.bytes);
        }
        fixed_path.reverse(each, kinds, data.arrival, bytes)
    }
}
