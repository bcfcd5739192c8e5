//! A ring buffer of waiting packets. Its size is a power of two, so that an index needs one mask.

use super::stats::QueuedPacket;
use crate::packet::Packet;
use sojourn_aqm::{Class, Contents, FlowId, Limit, Occupancy, PacketView, QueueView, Time};

/// The waiting packets and the limit of the buffer.
pub(super) struct PacketRing {
    places: Vec<QueuedPacket>,
    /// Index of the head, modulo the size.
    head: usize,
    len: u32,
    bytes: u64,
    limit: Limit,
    /// This number of packets of any size fits.
    min_capacity: u32,
    pub(super) link_rate: u64,
    occupancy: Occupancy,
}

impl PacketRing {
    pub(super) fn new(limit: Limit, link_rate: u64) -> PacketRing {
        let min_capacity = if let Limit::Packets(packets) = limit { packets } else { 0 };
        let places = vec![QueuedPacket::default(); 16];
        PacketRing {
            places,
            head: 0,
            len: 0,
            bytes: 0,
            limit,
            min_capacity,
            link_rate,
            occupancy: Occupancy::default(),
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    /// Whether a packet of `bytes` fits.
    #[inline(always)]
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        self.len < self.min_capacity || self.limit.has_room(self.len, self.bytes, bytes)
    }

    /// The queue as an algorithm sees it.
    #[inline(always)]
    pub(super) fn view(&self) -> QueueView<'_> {
        QueueView::new(self.len, self.bytes, self.limit, self.link_rate, self)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedPacket> {
        (0..self.len).map(|position| &self.places[self.place(position)])
    }

    /// The index of the packet at `position` (the head is 0), or of the next one to be enqueued.
    #[inline(always)]
    fn place(&self, position: u32) -> usize {
        self.head.wrapping_add(position as usize) & (self.places.len() - 1)
    }

    /// Append a packet. `counts_occupancy`: the algorithm may ask for packets by flow and class.
    #[inline(always)]
    pub(super) fn push(&mut self, packet: &Packet, arrived: Time, number: u64, counts_occupancy: bool) {
        if counts_occupancy {
            self.occupancy.enter(FlowId(packet.flow), packet.class);
        }
        self.bytes += u64::from(packet.bytes);
        if self.len as usize >= self.places.len() {
            self.grow();
        }
        let place = self.place(self.len);
        let one = &mut self.places[place];
        one.packet = *packet;
        (one.arrived, one.number) = (arrived, number);
        self.len += 1;
    }

    /// Remove the head, which must exist: its index, for [`PacketRing::popped`].
    #[inline(always)]
    pub(super) fn pop(&mut self, counts_occupancy: bool) -> usize {
        let place = self.place(0);
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        let Packet { bytes, flow, class, .. } = self.places[place].packet;
        self.bytes -= u64::from(bytes);
        if counts_occupancy {
            self.occupancy.leave(FlowId(flow), class);
        }
        place
    }

    /// The packet removed last. It stays until the next one is appended.
    #[inline(always)]
    pub(super) fn popped(&self, place: usize) -> &QueuedPacket {
        &self.places[place]
    }

    #[inline(always)]
    pub(super) fn popped_mut(&mut self, place: usize) -> &mut QueuedPacket {
        &mut self.places[place]
    }

    /// Remove the packet at `position`, if there is one.
    pub(super) fn remove(&mut self, position: usize) -> Option<QueuedPacket> {
        if position >= self.len as usize {
            return None;
        }
        let position = position as u32;
        let one = self.places[self.place(position)];
        if position < self.len / 2 {
            (0..position).rev().for_each(|ahead| self.step(ahead, ahead + 1));
            self.head = self.head.wrapping_add(1);
        } else {
            (position + 1..self.len).for_each(|behind| self.step(behind, behind - 1));
        }
        self.len -= 1;
        self.bytes -= u64::from(one.packet.bytes);
        self.occupancy.leave(FlowId(one.packet.flow), one.packet.class);
        Some(one)
    }

    fn step(&mut self, from: u32, to: u32) {
        let (from, to) = (self.place(from), self.place(to));
        self.places[to] = self.places[from];
    }

    /// Double the size.
    #[cold]
    fn grow(&mut self) {
        let head = self.place(0);
        self.places.rotate_left(head);
        self.head = 0;
        self.places.resize(2 * self.places.len(), QueuedPacket::default());
    }

    /// Flow and class of each packet.
    fn members(&self) -> impl Iterator<Item = (FlowId, Class)> {
        self.iter().map(|w| (FlowId(w.packet.flow), w.packet.class))
    }
}

impl Contents for PacketRing {
    fn at(&self, position: u32) -> Option<PacketView> {
        let one = (position < self.len).then(|| &self.places[self.place(position)])?;
        Some(one.packet.view(one.arrived))
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        self.occupancy.of_flow(flow, || self.members())
    }
    fn of_class(&self, class: Class) -> u32 {
        self.occupancy.of_class(class, || self.members())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_ring_is_a_list(steps in prop::collection::vec((0u8..8, 0usize..40), 0..300)) {
            let (mut ring, mut list) = (PacketRing::new(Limit::Packets(1), 1), VecDeque::new());
            for (number, (what, position)) in steps.into_iter().enumerate() {
                let number = number as u32;
                match what {
                    0..5 => {
                        let packet = Packet { flow: number, bytes: number, ..Packet::default() };
                        ring.push(&packet, Time(u64::from(number)), 0, true);
                        list.push_back(number);
                    }
                    5..7 => {
                        let place = (ring.len() > 0).then(|| ring.pop(true));
                        let popped = place.map(|place| ring.popped(place).packet.flow);
                        prop_assert_eq!(popped, list.pop_front());
                    }
                    _ => prop_assert_eq!(ring.remove(position).map(|one| one.packet.flow), list.remove(position)),
                }
                let there: Vec<u32> = (0..).map_while(|i| ring.at(i)).map(|packet| packet.flow.0).collect();
                prop_assert_eq!(&there, list.make_contiguous());
                prop_assert_eq!(ring.bytes(), list.iter().map(|bytes| u64::from(*bytes)).sum::<u64>());
            }
        }
    }
}
