//! The TCP receiver: reassembly, SACK blocks, ECN echo, and which ACKs may be delayed.
//!
//! There may be very many receivers. What one needs only while packets are missing, a mark must be echoed or
//! ACKs are delayed is in a box, [`Reassembly`]; while all packets arrive in order, there is none.

use super::{
    POOL_SIZE,
    options::{TcpOptions, Variant},
};
use crate::packet::{Block, Sack};
use sojourn_aqm::{Span, Time};

/// A TCP receiver.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Receiver {
    /// The first packet still missing (RCV.NXT).
    next: u32,
    /// Packets received in the measurement window that carried no new payload: copies, the SYN.
    pub(crate) without_payload: u32,
    reassembly: Option<Box<Reassembly>>,
}

/// The blocks received above `next`, no two of which touch, the most recently changed first (RFC 2018,
/// section 4). Usually there is one.
#[derive(Clone, Debug)]
struct Reassembly {
    /// The first three, which ACKs report; unused places are [`NO_BLOCK`].
    recent: Sack,
    /// ACKs that will not be delayed (Linux: quickack mode).
    quick_acks: u32,
    /// ECE: a mark was received and no CWR since (RFC 3168, section 6.1.3). With DCTCP and with
    /// `accurate_ecn`: the last packet was marked (DCTCP.CE; RFC 8257, section 3.2).
    ece: bool,
    cold: Option<Box<ColdState>>,
}

/// What few receivers have.
#[derive(Clone, Debug)]
struct ColdState {
    /// The blocks after the first three.
    older: Vec<Block>,
    /// When the delayed ACK must be sent; zero: none is delayed.
    delayed_ack: Time,
    /// Packets received with a CE mark, with `accurate_ecn` (r.cep of RFC 9768, section 3.2).
    marks: u32,
}

const NO_BLOCK: Block = (0, 0);

/// The ECN bits of a data packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnBits {
    /// Congestion experienced: the packet was marked.
    pub(crate) ce: bool,
    /// The sender has reduced its window.
    pub(crate) cwr: bool,
}

/// Boxes that receivers have returned, for the next one that needs one.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the allocations are what is reused")]
pub(crate) struct ReassemblyPool(Vec<Box<Reassembly>>);

/// How a packet was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// It was received for the first time.
    pub(crate) is_new: bool,
    /// It was the next one and nothing is missing: its ACK may be delayed (RFC 5681, section 4.2).
    pub(crate) in_order: bool,
}

/// Linux enters quickack mode with this number of ACKs.
fn quick_acks(o: &TcpOptions) -> u32 {
    if o.delayed_ack > Span::ZERO { o.quick_acks } else { 0 }
}

impl Receiver {
    pub(crate) fn new(o: &TcpOptions) -> Receiver {
        let mut receiver = Receiver::default();
        let quick_acks = quick_acks(o);
        if quick_acks > 0 {
            receiver.reassembly().quick_acks = quick_acks;
        }
        receiver
    }

    fn reassembly(&mut self) -> &mut Reassembly {
        self.reassembly.get_or_insert_with(Reassembly::new)
    }

    /// With DCTCP: whether a packet with this CE bit changes DCTCP.CE. Then the packets before it are
    /// acknowledged first, and it at once (RFC 8257, section 3.2).
    #[inline]
    pub(crate) fn changes_dctcp_ce(&self, o: &TcpOptions, ce: bool) -> bool {
        o.variant == Variant::Dctcp && !o.accurate_ecn && self.ece() != ce
    }

    /// Whether a packet with this CE bit is acknowledged at once for it: with DCTCP after any change of the
    /// bit, with `accurate_ecn` the first marked packet after one without a mark (RFC 9768, section
    /// 3.2.2.5.1; its limit of two marks per ACK holds because every second packet is acknowledged).
    #[inline]
    pub(crate) fn acknowledges_mark(&self, o: &TcpOptions, ce: bool) -> bool {
        self.changes_dctcp_ce(o, ce) || o.accurate_ecn && ce && !self.ece()
    }

    /// Packets received with a CE mark; 0 without `accurate_ecn`.
    #[inline]
    pub(crate) fn marks(&self) -> u32 {
        self.reassembly.as_ref().and_then(|reassembly| reassembly.cold.as_ref()).map_or(0, |cold| cold.marks)
    }

    /// Whether the ACK of a packet in order may be delayed.
    pub(crate) fn may_delay_ack(&self) -> bool {
        self.reassembly.as_ref().is_none_or(|reassembly| reassembly.quick_acks == 0)
    }

    /// When the delayed ACK must be sent, if there is one.
    #[inline]
    pub(crate) fn delayed_ack(&self) -> Option<Time> {
        let delayed_ack = self.reassembly.as_ref()?.cold.as_ref()?.delayed_ack;
        (delayed_ack > Time::ZERO).then_some(delayed_ack)
    }

    /// Delay an ACK until `until`; `None`: no ACK is delayed.
    pub(crate) fn set_delayed_ack(&mut self, until: Option<Time>) {
        if let Some(until) = until {
            self.reassembly().cold().delayed_ack = until;
        } else if let Some(cold) = self.reassembly.as_mut().and_then(|reassembly| reassembly.cold.as_mut()) {
            cold.delayed_ack = Time::ZERO;
        }
    }

    /// Count an ACK that is sent.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        if let Some(reassembly) = &mut self.reassembly {
            reassembly.quick_acks = reassembly.quick_acks.saturating_sub(1);
        }
    }

    /// Receive packet `sequence` at a receiver that delays no ACKs, if it is the next one and nothing is
    /// missing, or, unless `SACK`, the first or the next one above a hole. Returns the cumulative ACK, the
    /// only content of the ACK to send. For other packets: `None`, and nothing has changed.
    #[inline(always)]
    pub(crate) fn receive_fast_path<const SACK: bool>(
        &mut self,
        sequence: u32,
        ce: bool,
        pool: &mut ReassemblyPool,
    ) -> Option<u32> {
        let next = self.next;
        match &mut self.reassembly {
            _ if ce || sequence == 0 => None,
            None if sequence == next => {
                self.next = next + 1;
                Some(next + 1)
            }
            None if sequence > next && !SACK => {
                self.open_hole(sequence, pool);
                Some(next)
            }
            Some(reassembly) if !SACK && !reassembly.ece => {
                reassembly.extend_latest(sequence).then_some(next)
            }
            _ => None,
        }
    }

    /// Receive packet `sequence` at a receiver that may delay ACKs, if it is the next one, nothing is missing
    /// and nothing has to be announced. `is_flagged`: it is marked or carries CWR. Returns whether it is
    /// acknowledged at once, because another ACK was delayed; otherwise its ACK may be delayed. For other
    /// packets: `None`, and nothing has changed.
    #[inline(always)]
    pub(crate) fn receive_second(&mut self, sequence: u32, is_flagged: bool) -> Option<bool> {
        let next = self.next;
        let reassembly = self.reassembly.as_deref_mut()?;
        let is_plain = !is_flagged && !reassembly.ece && reassembly.quick_acks == 0 && reassembly.is_empty();
        if !is_plain || sequence != next || sequence == 0 {
            return None;
        }
        let delayed_ack = &mut reassembly.cold.as_deref_mut()?.delayed_ack;
        self.next = next + 1;
        Some(std::mem::replace(delayed_ack, Time::ZERO) > Time::ZERO)
    }

    /// Receive packet `sequence` if all that it does is to extend the latest block; returns whether it does.
    #[inline(always)]
    pub(crate) fn extend_latest_block(&mut self, o: &TcpOptions, sequence: u32, ce: bool) -> bool {
        let is_simple = |reassembly: &&mut Box<Reassembly>| o.sack && !ce && !reassembly.ece;
        self.reassembly
            .as_mut()
            .filter(is_simple)
            .is_some_and(|reassembly| reassembly.extend_latest(sequence))
    }

    #[inline(never)]
    fn open_hole(&mut self, sequence: u32, pool: &mut ReassemblyPool) {
        let reassembly = self.reassembly.get_or_insert_with(|| pool.0.pop().unwrap_or_else(Reassembly::new));
        reassembly.recent[0] = (sequence, sequence + 1);
    }

    /// Receive packet `sequence`.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        o: &TcpOptions,
        sequence: u32,
        EcnBits { ce, cwr }: EcnBits,
        pool: &mut ReassemblyPool,
    ) -> Received {
        let reassembly = self.reassembly.get_or_insert_with(|| pool.0.pop().unwrap_or_else(Reassembly::new));
        if o.accurate_ecn {
            reassembly.ece = ce;
            if ce {
                reassembly.cold().marks += 1;
            }
        } else if o.variant == Variant::Dctcp {
            reassembly.ece = ce;
        } else {
            reassembly.ece &= !cwr;
            if ce && !reassembly.ece {
                reassembly.ece = true;
                // Linux: two quick ACKs after a mark, as the window may become very small.
                reassembly.quick_acks = reassembly.quick_acks.max(quick_acks(o).min(2));
            }
        }
        let (next, quick_acks) = (self.next, quick_acks(o));
        let reassembly = self.reassembly();
        let in_order = sequence == next && reassembly.is_empty();
        let is_new = if sequence == next {
            self.next = self.reassembly().take_from(next + 1).unwrap_or(next + 1);
            true
        } else if sequence < next {
            reassembly.quick_acks = quick_acks; // a duplicate packet: Linux re-enters quickack mode
            false
        } else {
            reassembly.add(sequence)
        };
        if o.delayed_ack == Span::ZERO
            && !o.accurate_ecn
            && self.reassembly.as_ref().is_some_and(|reassembly| reassembly.is_unused())
        {
            let reassembly = self.reassembly.take();
            if pool.0.len() < POOL_SIZE {
                pool.0.extend(reassembly);
            }
        }
        Received { is_new, in_order }
    }

    /// The first packet still missing.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Whether ACKs carry ECE.
    #[inline]
    pub(crate) fn ece(&self) -> bool {
        self.reassembly.as_ref().is_some_and(|reassembly| reassembly.ece)
    }

    /// The SACK blocks of an ACK, if there are any.
    #[inline]
    pub(crate) fn sack_blocks(&self) -> Option<&Sack> {
        Some(&self.reassembly.as_deref().filter(|reassembly| !reassembly.is_empty())?.recent)
    }
}

impl Reassembly {
    #[inline(never)]
    fn new() -> Box<Reassembly> {
        Box::new(Reassembly { recent: Sack::default(), quick_acks: 0, ece: false, cold: None })
    }

    /// Whether the box holds nothing.
    fn is_unused(&self) -> bool {
        self.is_empty() && !self.ece
    }

    fn cold(&mut self) -> &mut ColdState {
        self.cold.get_or_insert_with(|| {
            Box::new(ColdState { older: Vec::new(), delayed_ack: Time::ZERO, marks: 0 })
        })
    }

    /// Whether there is no block.
    #[inline]
    fn is_empty(&self) -> bool {
        self.recent[0] == NO_BLOCK
    }

    /// The index of the first block that satisfies `predicate`, which [`NO_BLOCK`] does not.
    #[inline(always)]
    fn find(&self, predicate: impl Fn(&Block) -> bool) -> Option<usize> {
        let in_older = |cold: &ColdState| Some(self.recent.len() + cold.older.iter().position(&predicate)?);
        let found = self.recent.iter().position(&predicate);
        found.or_else(|| self.cold.as_deref().and_then(in_older))
    }

    /// Extend the latest block by `sequence`, if it is the next packet and does not close the gap to another
    /// block; returns whether it did.
    #[inline]
    fn extend_latest(&mut self, sequence: u32) -> bool {
        let [latest, second, third] = self.recent;
        let is_next = latest.1 == sequence && sequence > 0;
        let end = sequence + 1;
        let closes_gap = second.0 == end || third.0 == end || self.older_begins(end);
        if is_next && !closes_gap {
            self.recent[0].1 = end;
        }
        is_next && !closes_gap
    }

    /// Whether a block after the first three begins with `first`.
    #[inline]
    fn older_begins(&self, first: u32) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.older.iter().any(|block| block.0 == first))
    }

    fn push_front(&mut self, block: Block) {
        let [latest, second, third] = self.recent;
        if third != NO_BLOCK {
            self.cold().older.insert(0, third);
        }
        self.recent = [block, latest, second];
    }

    fn remove(&mut self, i: usize) -> Block {
        let in_older = i.checked_sub(self.recent.len());
        if let Some(i) = in_older {
            return self.cold().older.remove(i);
        }
        let older = self.cold.as_mut().map(|cold| &mut cold.older).filter(|older| !older.is_empty());
        let fourth = older.map_or(NO_BLOCK, |older| older.remove(0));
        let [first, second, third] = self.recent;
        let (left, removed) = match i {
            0 => ([second, third], first),
            1 => ([first, third], second),
            _ => ([first, second], third),
        };
        self.recent = [left[0], left[1], fourth];
        removed
    }

    /// Remove the block that begins with packet `first`, which is not packet 0; returns its end.
    fn take_from(&mut self, first: u32) -> Option<u32> {
        let i = self.find(|block| block.0 == first)?;
        Some(self.remove(i).1)
    }

    /// Add packet `sequence`, which is not packet 0; returns whether no block had it.
    #[inline]
    fn add(&mut self, sequence: u32) -> bool {
        self.extend_latest(sequence) || self.add_any(sequence)
    }

    #[inline(never)]
    fn add_any(&mut self, sequence: u32) -> bool {
        if self.find(|block| block.1 >= sequence).is_none() {
            self.push_front((sequence, sequence + 1));
            return true;
        }
        if let Some(i) = self.find(|block| (block.0..block.1).contains(&sequence)) {
            let block = self.remove(i);
            self.push_front(block);
            return false;
        }
        let end = self.take_from(sequence + 1).unwrap_or(sequence + 1);
        match self.find(|block| block.1 == sequence) {
            Some(i) => {
                let (first, _) = self.remove(i);
                self.push_front((first, end));
            }
            None => self.push_front((sequence, end)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::schema;
    use proptest::prelude::*;

    fn receive(r: &mut Receiver, o: &TcpOptions, sequence: u32, ce: bool, cwr: bool) -> Received {
        r.receive(o, sequence, EcnBits { ce, cwr }, &mut ReassemblyPool::default())
    }

    fn sack_blocks(r: &Receiver) -> Sack {
        r.sack_blocks().copied().unwrap_or_default()
    }

    fn options(preset: &str, set: &[(&str, &str)]) -> TcpOptions {
        let set: Vec<_> = set.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
        schema::resolve(preset, &set).unwrap()
    }

    /// Where losses are frequent, most receivers have one.
    #[test]
    fn reassembly_state_is_small() {
        assert!(size_of::<Reassembly>() <= 40, "{} bytes", size_of::<Reassembly>());
    }

    #[test]
    fn the_latest_block_is_reported_first() {
        let (o, mut r) = (options("rfc", &[]), Receiver::default());
        for sequence in [0, 2, 4, 6, 3] {
            receive(&mut r, &o, sequence, false, false);
        }
        assert_eq!(r.next(), 1);
        assert_eq!(sack_blocks(&r), [(2, 5), (6, 7), (0, 0)]);
        receive(&mut r, &o, 6, false, false);
        assert_eq!(sack_blocks(&r), [(6, 7), (2, 5), (0, 0)], "a duplicate moves its block to the front too");
        assert_eq!(receive(&mut r, &o, 1, false, false), Received { is_new: true, in_order: false });
        assert_eq!(r.next(), 5);
        for sequence in [8, 10, 12, 6] {
            receive(&mut r, &o, sequence, false, false);
        }
        assert_eq!(sack_blocks(&r), [(6, 7), (12, 13), (10, 11)]);
        receive(&mut r, &o, 11, false, false);
        assert_eq!(sack_blocks(&r), [(10, 13), (6, 7), (8, 9)]);
        receive(&mut r, &o, 5, false, false);
        receive(&mut r, &o, 7, false, false);
        assert_eq!((r.next(), sack_blocks(&r)), (9, [(10, 13), (0, 0), (0, 0)]));
    }

    #[test]
    fn ece_is_sent_until_cwr_is_received() {
        let (o, mut r) = (options("rfc", &[]), Receiver::default());
        receive(&mut r, &o, 0, true, false);
        receive(&mut r, &o, 1, false, false);
        assert!(r.ece());
        receive(&mut r, &o, 2, false, true);
        assert!(!r.ece());
        receive(&mut r, &o, 3, true, true);
        assert!(r.ece(), "a mark on the packet that carries CWR is a new one");
    }

    /// RFC 8257, section 3.2: ECE is the CE bit of the last packet, and a change is acknowledged at once.
    #[test]
    fn dctcp_echoes_each_mark() {
        let o = options("rfc", &[("variant", "dctcp")]);
        let mut r = Receiver::new(&o);
        let mut seen = Vec::new();
        for (sequence, ce) in [false, true, true, false, true].into_iter().enumerate() {
            let changes = r.changes_dctcp_ce(&o, ce);
            receive(&mut r, &o, sequence as u32, ce, false);
            seen.push((changes, r.ece()));
        }
        assert_eq!(seen, [(false, false), (true, true), (false, true), (true, false), (true, true)]);
        assert!(!Receiver::default().changes_dctcp_ce(&options("rfc", &[]), true));
    }

    /// RFC 9768, section 3.2.2.5.1. (Mutants: an ACK at once for every mark; a counter that CWR resets.)
    #[test]
    fn accurate_ecn_counts_marks_and_acknowledges_the_first_of_a_row_at_once() {
        let set = [("loss_detection", "rack"), ("accurate_ecn", "on")];
        for variant in ["cubic", "dctcp"] {
            let o = options("linux", &[set[0], set[1], ("variant", variant)]);
            let mut r = Receiver::new(&o);
            let mut seen = Vec::new();
            for (sequence, ce) in [false, true, true, false, true].into_iter().enumerate() {
                let at_once = r.acknowledges_mark(&o, ce);
                assert!(!r.changes_dctcp_ce(&o, ce), "no second ACK for the packets before");
                receive(&mut r, &o, sequence as u32, ce, true);
                seen.push((at_once, r.marks()));
            }
            assert_eq!(seen, [(false, 0), (true, 1), (false, 2), (false, 2), (true, 3)]);
        }
    }

    #[test]
    fn the_first_acknowledgements_are_quick() {
        let o = options("linux", &[]);
        let mut r = Receiver::new(&o);
        for _ in 0..16 {
            assert!(!r.may_delay_ack());
            r.on_ack_sent();
        }
        assert!(r.may_delay_ack());
        receive(&mut r, &o, 0, true, false);
        assert!(!r.may_delay_ack(), "two after a mark");
    }

    proptest! {
        /// Against a list of all blocks. (Mutants: the third block is lost when there is a fourth; the fourth
        /// does not move up; a block is found among the older ones, but another is removed.)
        #[test]
        fn every_packet_is_new_once_in_any_order(order in Just((0u32..60).collect::<Vec<_>>()).prop_shuffle(),
                                                 again in proptest::collection::vec(0u32..60, 0..60)) {
            let (o, mut r) = (options("rfc", &[]), Receiver::default());
            let mut seen = [false; 60];
            let mut blocks: Vec<(u32, u32)> = Vec::new();
            for sequence in again.into_iter().chain(order) {
                let next = r.next();
                prop_assert_eq!(receive(&mut r, &o, sequence, false, false).is_new, !seen[sequence as usize]);
                seen[sequence as usize] = true;
                prop_assert_eq!(r.next() as usize, seen.iter().position(|s| !s).unwrap_or(60));
                if sequence >= next {
                    let touches = |block: &(u32, u32)| block.0 <= sequence + 1 && sequence <= block.1;
                    let joined = blocks.iter().filter(|block| touches(block));
                    let joined = joined.fold((sequence, sequence + 1), |a, b| (a.0.min(b.0), a.1.max(b.1)));
                    blocks.retain(|block| !touches(block));
                    if sequence > next {
                        blocks.insert(0, joined);
                    }
                }
                let first: Vec<_> = blocks.iter().copied().chain([NO_BLOCK; 3]).take(3).collect();
                prop_assert_eq!(sack_blocks(&r).to_vec(), first);
            }
            prop_assert_eq!(r.next(), 60);
            prop_assert!(r.reassembly.is_none());
        }
    }
}
