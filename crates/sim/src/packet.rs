//! One packet on its way.

use crate::path::NO_INDEX;
use sojourn_aqm::{Class, Ecn, FlowId, PacketView, Time};

/// Up to three selective-acknowledgement blocks, `first..end`; an empty one ends the list.
pub(crate) type Sack = [(u32, u32); 3];

/// How many blocks there are, one at least.
#[inline(always)]
pub(crate) fn block_count(sack: &Sack) -> u32 {
    1 + u32::from(sack[1].1 > 0) + u32::from(sack[2].1 > 0)
}

/// The blocks of the acknowledgements that are on their way; hardly any has some, so packets stay small.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sacks {
    places: Vec<Sack>,
    free: Vec<u64>,
}

impl Sacks {
    /// Keep `sack`; its place, counted from 1, or 0 if it is empty.
    pub(crate) fn put(&mut self, sack: Sack) -> u64 {
        if sack == Sack::default() {
            return 0;
        }
        if let Some(place) = self.free.pop() {
            self.places[place as usize - 1] = sack;
            return place;
        }
        self.places.push(sack);
        self.places.len() as u64
    }

    /// What is at `place`, which is free from now on.
    #[inline(always)]
    pub(crate) fn take(&mut self, place: u64) -> Sack {
        if place == 0 { Sack::default() } else { self.give_up(place) }
    }

    fn give_up(&mut self, place: u64) -> Sack {
        self.free.push(place);
        self.places[place as usize - 1]
    }
}

/// What it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// A packet of a TCP flow; number 0 is the SYN where there is one.
    Data,
    /// An acknowledgement.
    Ack,
    /// A datagram that nobody answers.
    Datagram,
}

/// A packet: where it belongs, what it carries, how far it has come. Plain fields, because packets are copied all
/// the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When it was sent; of an acknowledgement, what arrived above `number`: a place among [`Sacks`].
    pub(crate) stamp: u64,
    /// Its flow.
    pub(crate) flow: u32,
    /// The step of its route that it is on (an index into the network's steps), and where the links of its own
    /// host begin.
    pub(crate) step: u32,
    pub(crate) host: u32,
    /// Size on the wire.
    pub(crate) bytes: u32,
    /// Its number within the flow; an acknowledgement says that every packet below has arrived.
    pub(crate) number: u32,
    pub(crate) carries: Carries,
    /// Of data: the sender has cut its window since the last mark that it heard of (CWR). Of an acknowledgement:
    /// congestion was experienced (ECE).
    pub(crate) flag: bool,
    /// ECN field.
    pub(crate) ecn: Ecn,
    /// Traffic class.
    pub(crate) class: Class,
}

impl Default for Packet {
    /// No packet: it is on no step.
    fn default() -> Packet {
        Packet {
            stamp: 0,
            flow: 0,
            step: NO_INDEX,
            host: 0,
            bytes: 0,
            number: 0,
            carries: Carries::Datagram,
            flag: false,
            ecn: Ecn::NotEct,
            class: Class(0),
        }
    }
}

impl Packet {
    /// What an algorithm may know of it.
    pub(crate) fn view(&self, arrived: u64) -> PacketView {
        PacketView::new(self.bytes, Time(arrived))
            .with_ecn(self.ecn)
            .with_flow(FlowId(self.flow))
            .with_class(self.class)
    }

    /// Whether it was marked on its way.
    pub(crate) fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce
    }

    /// Whether it counts as sent data (acknowledgements do not).
    pub(crate) fn is_forward(&self) -> bool {
        self.carries != Carries::Ack
    }
}
