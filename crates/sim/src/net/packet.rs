//! One packet on its way.

use sojourn_aqm::{Class, Ecn, FlowId, PacketView, Time};

/// Up to three selective-acknowledgement blocks, `first..end`; an empty one ends the list.
pub(crate) type Sack = [(u32, u32); 3];

/// What it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Packet `sequence` of a TCP flow; 0 is the SYN where there is one.
    Data {
        /// Its number.
        sequence: u32,
        /// The sender has cut its window since the last mark that it heard of (CWR).
        cwr: bool,
    },
    /// An acknowledgement: every packet below `next` has arrived.
    Ack {
        /// First packet still missing.
        next: u32,
        /// Congestion was experienced (ECE).
        echo: bool,
        /// What arrived above `next`.
        sack: Sack,
    },
    /// A datagram that nobody answers.
    Datagram {
        /// Its number.
        sequence: u32,
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
    /// When it was sent; not kept for acknowledgements.
    pub(crate) sent: u64,
    /// Contents.
    pub(crate) body: Body,
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
            Body::Data { sequence, .. } | Body::Datagram { sequence } => sequence,
            Body::Ack { next, .. } => next,
        }
    }

    /// Whether it counts as sent data (acknowledgements do not).
    pub(crate) fn is_forward(&self) -> bool {
        !matches!(self.body, Body::Ack { .. })
    }
}
