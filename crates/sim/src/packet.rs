//! A packet, and the selective acknowledgements in flight.

use sojourn_aqm::{Class, Ecn, FlowId, PacketView, Time};

/// A block of packets: the first one, and one beyond the last.
pub(crate) type Block = (u32, u32);

/// Up to three SACK blocks; an empty block ends the list.
pub(crate) type Sack = [Block; 3];

/// The number of blocks; the first one must not be empty.
#[inline(always)]
pub(crate) fn block_count(sack: &Sack) -> u32 {
    1 + u32::from(sack[1].1 > 0) + u32::from(sack[2].1 > 0)
}

/// What an acknowledgement reports besides its number and ECE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) sack: Sack,
    /// The timestamp of the receiver (TSval of RFC 7323), exact; zero: the connection has no use for it.
    pub(crate) sent: Time,
    /// Packets with a CE mark that the receiver has received (RFC 9768's r.cep); 0 without `accurate_ecn`.
    pub(crate) marks: u32,
}

/// The reports of all acknowledgements in flight. Few acknowledgements have one, so they are kept outside
/// packets, which stay small.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    slots: Vec<Report>,
    free: Vec<u64>,
}

impl Reports {
    /// Store `report`; returns its index, counted from 1, or 0 if it is empty.
    pub(crate) fn put(&mut self, report: Report) -> u64 {
        if report == Report::default() {
            return 0;
        }
        if let Some(index) = self.free.pop() {
            self.slots[index as usize - 1] = report;
            return index;
        }
        self.slots.push(report);
        self.slots.len() as u64
    }

    /// Remove the report at `index`.
    #[inline(always)]
    pub(crate) fn take(&mut self, index: u64) -> Report {
        if index == 0 { Report::default() } else { self.release(index) }
    }

    /// Store the report at `index` again: the index of the copy.
    pub(crate) fn copy(&mut self, index: u64) -> u64 {
        if index == 0 { 0 } else { self.put(self.slots[index as usize - 1]) }
    }

    fn release(&mut self, index: u64) -> Report {
        self.free.push(index);
        self.slots[index as usize - 1]
    }
}

/// In place of a step: on none.
const NO_STEP: u32 = u32::MAX;

/// The type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// Data of a TCP flow; number 0 is the SYN, if the flow has one.
    Data,
    /// An acknowledgement.
    Ack,
    /// A datagram without acknowledgement.
    Datagram,
    /// A datagram that its receiver returned; it keeps number and time of sending.
    Echo,
}

/// A packet. Plain fields, because packets are copied often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When it was sent, an echo by the source; of an acknowledgement, the index of its [`Report`].
    pub(crate) stamp: u64,
    /// Its flow.
    pub(crate) flow: u32,
    /// The step of its route that it is on: an index into the steps of the network.
    pub(crate) step: u32,
    /// The first link of its host.
    pub(crate) host: u32,
    /// Size on the wire.
    pub(crate) bytes: u32,
    /// Its number within the flow; of an acknowledgement, the next expected number.
    pub(crate) number: u32,
    pub(crate) carries: Carries,
    /// CWR of data, ECE of an acknowledgement.
    pub(crate) flag: bool,
    /// ECN field.
    pub(crate) ecn: Ecn,
    /// Traffic class.
    pub(crate) class: Class,
}

impl Default for Packet {
    /// A placeholder, which is on no step.
    fn default() -> Packet {
        Packet {
            stamp: 0,
            flow: 0,
            step: NO_STEP,
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
    /// The packet as an algorithm sees it.
    pub(crate) fn view(&self, arrived: Time) -> PacketView {
        PacketView::new(self.bytes, arrived)
            .with_ecn(self.ecn)
            .with_flow(FlowId(self.flow))
            .with_class(self.class)
    }

    /// Whether it has a CE mark.
    pub(crate) fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce
    }

    /// Whether it counts as sent: data and datagrams do, what receivers send does not.
    pub(crate) fn is_forward(&self) -> bool {
        matches!(self.carries, Carries::Data | Carries::Datagram)
    }
}
