//! One packet on its way.

use sojourn_aqm::{Class, Ecn, FlowId, PacketView, Time};

/// Up to three selective-acknowledgement blocks, `first..end`; an empty one ends the list.
pub(crate) type Sack = [(u32, u32); 3];

/// The blocks of the acknowledgements that are on their way; hardly any has some, so packets stay small.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sacks {
    places: Vec<Sack>,
    free: Vec<u32>,
}

impl Sacks {
    /// Keep `sack`; its place, counted from 1, or 0 if it is empty.
    pub(crate) fn put(&mut self, sack: Sack) -> u32 {
        if sack == Sack::default() {
            return 0;
        }
        if let Some(place) = self.free.pop() {
            self.places[place as usize - 1] = sack;
            return place;
        }
        self.places.push(sack);
        self.places.len() as u32
    }

    /// What is at `place`, which is free from now on.
    #[inline]
    pub(crate) fn take(&mut self, place: u32) -> Sack {
        if place == 0 {
            return Sack::default();
        }
        self.free.push(place);
        self.places[place as usize - 1]
    }
}

/// What it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Packet `sequence` of a TCP flow; 0 is the SYN where there is one.
    Data {
        /// Its number.
        sequence: u32,
        /// The sender has cut its window since the last mark that it heard of (CWR).
        cwr: bool,
        /// When it was sent.
        sent: u64,
    },
    /// An acknowledgement: every packet below `next` has arrived.
    Ack {
        /// First packet still missing.
        next: u32,
        /// Congestion was experienced (ECE).
        echo: bool,
        /// What arrived above `next`: a place among [`Sacks`], 0 if there is nothing.
        sack: u32,
    },
    /// A datagram that nobody answers.
    Datagram {
        /// Its number.
        sequence: u32,
        /// When it was sent.
        sent: u64,
    },
}

/// A packet: where it belongs, what it carries, how far it has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Its flow.
    pub(crate) flow: u32,
    /// The step of its route that it is on (an index into the network's steps).
    pub(crate) step: u32,
    /// Size on the wire.
    pub(crate) bytes: u32,
    /// ECN field.
    pub(crate) ecn: Ecn,
    /// Traffic class.
    pub(crate) class: Class,
    /// Contents.
    pub(crate) body: Body,
}

impl Default for Packet {
    /// What goes with events that are about no packet.
    fn default() -> Packet {
        Packet {
            flow: u32::MAX,
            step: 0,
            bytes: 0,
            ecn: Ecn::NotEct,
            class: Class(0),
            body: Body::Datagram { sequence: 0, sent: 0 },
        }
    }
}

impl Packet {
    /// What an algorithm may know of it.
    pub(crate) fn view(&self, arrived: u64) -> PacketView {
        PacketView {
            bytes: self.bytes,
            ecn: self.ecn,
            flow: FlowId(self.flow),
            class: self.class,
            arrived: Time(arrived),
        }
    }

    /// Its number within the flow, for traces.
    pub(crate) fn sequence(&self) -> u32 {
        match self.body {
            Body::Data { sequence, .. } | Body::Datagram { sequence, .. } => sequence,
            Body::Ack { next, .. } => next,
        }
    }

    /// Whether it counts as sent data (acknowledgements do not).
    pub(crate) fn is_forward(&self) -> bool {
        !matches!(self.body, Body::Ack { .. })
    }
}
