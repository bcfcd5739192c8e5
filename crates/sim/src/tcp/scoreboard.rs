//! The SACK scoreboard (RFC 6675): which packets above the cumulative acknowledgement were received, which
//! were retransmitted, and how many are in flight.
//!
//! It has two bits per packet, in words of 64 packets. Functions over all packets take a few operations per
//! word, and most scoreboards have one or two words.

use crate::packet::{Block, Sack};

/// DupThresh of RFC 6675, section 2: a packet is lost when this number of packets above it was received.
pub(crate) const DUP_THRESH: u32 = 3;

/// Bit masks of 64 packets; the first packet is a multiple of 64.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    sacked: u64,
    retransmitted: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct SackScoreboard {
    /// The first unacknowledged packet.
    una: u32,
    /// One beyond the highest packet with a bit set; 0: none has been set.
    end: u32,
    /// The words from that of `una` to that of packet `end` - 1.
    words: Vec<Word>,
    /// Packets with the SACKed bit.
    sacked: u32,
    /// The blocks of the last ACK: most ACKs repeat most of them.
    last_sack: Sack,
    /// The pipe of ns-2's Sack1: set at the start of recovery and counted up and down.
    pub(crate) sack1_pipe: i64,
    /// RescueRxt (RFC 6675, section 2): the rescue retransmission is allowed when more is acknowledged.
    pub(crate) rescue_rxt: u32,
}

impl SackScoreboard {
    /// An empty scoreboard for packets from `una` on.
    #[inline(never)]
    pub(crate) fn new(una: u32) -> SackScoreboard {
        let last_sack = Sack::default();
        SackScoreboard { una, end: 0, words: Vec::new(), sacked: 0, last_sack, sack1_pipe: 0, rescue_rxt: 0 }
    }

    /// Make it as new, but keep the allocation.
    pub(crate) fn reset(&mut self, una: u32) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        *self = SackScoreboard { words, ..SackScoreboard::new(una) };
    }

    /// Whether no bit was set since it was cleared.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Drop the packets below `una`, which are acknowledged.
    #[inline]
    pub(crate) fn advance(&mut self, una: u32) {
        if una <= self.una {
            return;
        }
        if una >= self.end {
            self.drop_all();
        } else {
            self.words.drain(..(una / 64 - self.una / 64) as usize);
            let below = !(u64::MAX << (una % 64));
            self.words[0].sacked &= !below;
            self.words[0].retransmitted &= !below;
            self.sacked = self.words.iter().map(|word| word.sacked.count_ones()).sum();
        }
        self.una = una;
    }

    fn drop_all(&mut self) {
        self.words.clear();
        (self.end, self.sacked) = (0, 0);
    }

    /// Record the blocks of an ACK; returns whether they report a packet for the first time.
    #[inline(always)]
    pub(crate) fn on_sack(&mut self, sack: &Sack) -> bool {
        let before = self.sacked;
        let last = std::mem::replace(&mut self.last_sack, *sack);
        // Usually the first block was extended, or a new block precedes the previous first two.
        if sack[0].0 == last[0].0 && sack[1..] == last[1..] {
            self.mark_sacked(last[0].1, sack[0].1);
        } else if sack[1..] == last[..2] {
            self.mark_sacked(sack[0].0, sack[0].1);
        } else {
            sack.iter().for_each(|&(first, end)| self.mark_sacked(first, end));
        }
        self.sacked > before
    }

    /// Record the blocks of an ACK if they report exactly one more packet, the last of the first block, and,
    /// with `sends`, no hole is to be retransmitted. Otherwise return false and change nothing.
    #[inline(always)]
    pub(crate) fn on_sack_of_one(&mut self, sack: &Sack, sends: bool) -> bool {
        let ((first, end), last) = (sack[0], self.last_sack.map(as_word));
        let (sequence, older) = (end - 1, [as_word(sack[1]), as_word(sack[2])]);
        let is_extended = as_word((first, sequence)) == last[0] && older == [last[1], last[2]];
        let is_new_block = first == sequence && older == [last[0], last[1]];
        if !(is_extended || is_new_block) || sends && self.may_have_hole(self.end.max(sequence)) {
            return false;
        }
        let (bit, i) = (1 << (sequence % 64), sequence / 64 - self.una / 64);
        let Some(word) = self.words.get_mut(i as usize).filter(|word| word.sacked & bit == 0) else {
            return false;
        };
        word.sacked |= bit;
        self.sacked += 1;
        self.end = self.end.max(end);
        self.last_sack = *sack;
        true
    }

    /// Whether there may be a hole below `end`: a packet neither received nor retransmitted.
    #[inline(always)]
    fn may_have_hole(&self, end: u32) -> bool {
        let mut known = from(self.una);
        for (first, word) in self.numbered() {
            let missing = !(word.sacked | word.retransmitted) & known;
            if missing > 0 {
                return first + missing.trailing_zeros() < end;
            }
            known = u64::MAX;
        }
        false
    }

    /// Set the SACKed bits of packets `first..end`.
    #[inline]
    fn mark_sacked(&mut self, first: u32, end: u32) {
        if end == first.wrapping_add(1) && first >= self.una {
            let word = self.word(first, end);
            let is_new = word.sacked >> (first % 64) & 1 == 0;
            word.sacked |= 1 << (first % 64);
            self.sacked += u32::from(is_new);
        } else {
            self.mark_range_sacked(first, end);
        }
    }

    #[inline(never)]
    fn mark_range_sacked(&mut self, first: u32, end: u32) {
        let mut first = first.max(self.una);
        while first < end {
            let beyond = (first / 64 * 64).saturating_add(64).min(end);
            let bits = from(first) & !from_next(beyond);
            let word = self.word(first, beyond);
            let new = bits & !word.sacked;
            word.sacked |= bits;
            self.sacked += new.count_ones();
            first = beyond;
        }
    }

    /// The word of packet `sequence`, in which bits below packet `end` are about to be set.
    #[inline]
    fn word(&mut self, sequence: u32, end: u32) -> &mut Word {
        let i = (sequence / 64 - self.una / 64) as usize;
        self.end = self.end.max(end);
        while i >= self.words.len() {
            self.words.push(Word::default());
        }
        &mut self.words[i]
    }

    /// The number of SACKed packets.
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// The number of SACKed packets below `sequence`.
    pub(crate) fn sacked_below(&self, sequence: u32) -> u32 {
        let sacked = self.numbered().map_while(|(first, word)| {
            let below = sequence.checked_sub(first).filter(|below| *below > 0)?;
            Some(if below < 64 { word.sacked & !from(below) } else { word.sacked })
        });
        sacked.map(u64::count_ones).sum()
    }

    pub(crate) fn mark_retransmitted(&mut self, sequence: u32) {
        self.word(sequence, sequence + 1).retransmitted |= 1 << (sequence % 64);
    }

    /// Clear the retransmitted bits, at the start of a recovery.
    pub(crate) fn forget_retransmissions(&mut self) {
        self.words.iter_mut().for_each(|word| word.retransmitted = 0);
    }

    /// Clear all bits (after a timeout, RFC 2018, section 8).
    pub(crate) fn clear(&mut self) {
        self.drop_all();
        self.last_sack = Sack::default();
    }

    /// IsLost (RFC 6675, section 4) of the first unacknowledged packet.
    pub(crate) fn first_is_lost(&self) -> bool {
        self.sacked >= DUP_THRESH
    }

    /// SetPipe (RFC 6675, section 4): packets below `nxt` that are estimated to be in flight.
    pub(crate) fn pipe(&self, nxt: u32) -> u32 {
        let (una, end) = (self.una, self.end.max(self.una));
        // A packet is lost if it is below the third-highest SACKed packet.
        let not_lost = match self.third_highest() {
            Some(third) => end - third - DUP_THRESH,
            None => end - una - self.sacked,
        };
        let retransmitted: u32 =
            self.words.iter().map(|word| (word.retransmitted & !word.sacked).count_ones()).sum();
        nxt.saturating_sub(end) + not_lost + retransmitted
    }

    /// The third-highest SACKed packet, for a DupThresh of 3.
    fn third_highest(&self) -> Option<u32> {
        let mut above = 0;
        for (first, word) in self.numbered().rev() {
            let mut sacked = word.sacked;
            while sacked > 0 {
                above += 1;
                if above == DUP_THRESH {
                    return Some(first + sacked.ilog2());
                }
                sacked &= !(1 << sacked.ilog2());
            }
        }
        None
    }

    /// The lowest packet below the highest SACKed one that is neither SACKed nor retransmitted; with
    /// `only_lost`, only if it is lost (RFC 6675, section 4, NextSeg, rules 1 and 3).
    #[inline]
    pub(crate) fn hole(&self, only_lost: bool) -> Option<u32> {
        let mut above = self.sacked;
        let mut known = from(self.una);
        for (first, word) in self.numbered() {
            let missing = !(word.sacked | word.retransmitted) & known;
            if missing > 0 {
                let place = missing.trailing_zeros();
                above -= (word.sacked & !from(place)).count_ones();
                return (above >= if only_lost { DUP_THRESH } else { 1 }).then_some(first + place);
            }
            above -= word.sacked.count_ones();
            known = u64::MAX;
        }
        None
    }

    /// The highest packet below `nxt` that is not SACKed (NextSeg, rule 4).
    pub(crate) fn last_missing(&self, nxt: u32) -> Option<u32> {
        if nxt > self.end.max(self.una) {
            return Some(nxt - 1);
        }
        let missing = |sequence: &u32| {
            self.words[(sequence / 64 - self.una / 64) as usize].sacked >> (sequence % 64) & 1 == 0
        };
        (self.una..self.end).rev().find(missing)
    }

    /// The words, each with its first packet.
    fn numbered(&self) -> impl DoubleEndedIterator<Item = (u32, &Word)> {
        let first = self.una / 64;
        self.words.iter().enumerate().map(move |(i, word)| ((first + i as u32) * 64, word))
    }
}

/// A block in one word, which is compared in one instruction.
fn as_word(block: Block) -> u64 {
    u64::from(block.1) << 32 | u64::from(block.0)
}

/// The bits of packet `sequence` and the packets above it in its word.
fn from(sequence: u32) -> u64 {
    u64::MAX << (sequence % 64)
}

/// The same, but none if `sequence` is the first packet of the next word.
fn from_next(sequence: u32) -> u64 {
    if sequence.is_multiple_of(64) { 0 } else { from(sequence) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_is_lost_when_three_later_ones_have_arrived() {
        let mut scoreboard = SackScoreboard::new(10);
        assert!(scoreboard.on_sack(&[(12, 14), (0, 0), (0, 0)]));
        assert!(!scoreboard.on_sack(&[(12, 14), (0, 0), (0, 0)]), "nothing new");
        assert!(!scoreboard.first_is_lost());
        assert_eq!((scoreboard.hole(true), scoreboard.hole(false)), (None, Some(10)));
        assert!(scoreboard.on_sack(&[(15, 16), (12, 14), (0, 0)]));
        assert!(scoreboard.first_is_lost());
        // 10 and 11 are lost (12, 13 and 15 were received), 14 is not; 16..20 are in flight.
        assert_eq!(scoreboard.pipe(20), 5);
        assert_eq!(scoreboard.hole(true), Some(10));
        scoreboard.mark_retransmitted(10);
        assert_eq!(scoreboard.pipe(20), 6);
        assert_eq!(scoreboard.hole(true), Some(11));
        scoreboard.mark_retransmitted(11);
        assert_eq!((scoreboard.hole(true), scoreboard.hole(false)), (None, Some(14)));
        scoreboard.advance(14);
        assert_eq!((scoreboard.pipe(20), scoreboard.hole(false)), (5, Some(14)));
        assert_eq!([20, 16, 15].map(|nxt| scoreboard.last_missing(nxt)), [Some(19), Some(14), Some(14)]);
        scoreboard.clear();
        assert_eq!((scoreboard.pipe(20), scoreboard.hole(false)), (6, None));
    }

    /// A scoreboard as a list of packets: received, retransmitted.
    #[derive(Default)]
    struct Model {
        una: u32,
        flags: Vec<(bool, bool)>,
    }

    impl Model {
        fn flag(&mut self, sequence: u32) -> &mut (bool, bool) {
            let i = (sequence - self.una) as usize;
            self.flags.resize(self.flags.len().max(i + 1), (false, false));
            &mut self.flags[i]
        }
        fn end(&self) -> u32 {
            self.una + self.flags.len() as u32
        }
        fn advance(&mut self, una: u32) {
            self.flags.drain(..((una - self.una) as usize).min(self.flags.len()));
            self.una = una;
        }
        fn above(&self, sequence: u32) -> u32 {
            (sequence + 1..self.end()).filter(|s| self.at(*s).0).count() as u32
        }
        fn at(&self, sequence: u32) -> (bool, bool) {
            self.flags[(sequence - self.una) as usize]
        }
        fn pipe(&self, nxt: u32) -> u32 {
            let copies_in_flight = |s: u32| match self.at(s) {
                (true, _) => 0,
                (false, retransmitted) => u32::from(self.above(s) < DUP_THRESH) + u32::from(retransmitted),
            };
            nxt.saturating_sub(self.end()) + (self.una..self.end()).map(copies_in_flight).sum::<u32>()
        }
        fn hole(&self, above: u32) -> Option<u32> {
            (self.una..self.end()).find(|s| self.at(*s) == (false, false)).filter(|s| self.above(*s) >= above)
        }
        fn last_missing(&self, nxt: u32) -> Option<u32> {
            let known = (self.una..self.end()).rev().find(|s| !self.at(*s).0);
            if nxt > self.end() { Some(nxt - 1) } else { known }
        }
    }

    proptest! {
        /// Blocks that are extended and new ones, within a word and across several; retransmissions,
        /// cumulative ACKs, timeouts. (Mutants: a block that ends with a word marks all of the next;
        /// acknowledged packets still count as SACKed or retransmitted; packets of the first word below the
        /// first missing one count; only the first block is read; of one packet more: holes below it, whether
        /// it is known and `end` are ignored.)
        #[test]
        fn agrees_with_a_list_of_packets(
            start in 0u32..200,
            steps in proptest::collection::vec((0u8..12, 0u32..150, 1u32..90), 1..80),
        ) {
            let (mut scoreboard, mut model) = (SackScoreboard::new(start), Model { una: start, ..Model::default() });
            let mut sack = Sack::default();
            for (what, ahead, long) in steps {
                let first = model.una + 1 + ahead;
                match what {
                    0..4 if sack[0].1 > model.una => {
                        sack[0].1 += 1;
                        if what == 3 && long < 10 {
                            sack[1] = (first, first + long);
                        }
                    }
                    4 if sack[0].1 > 0 => sack[1] = (first, first + long),
                    5 => sack = [(first, first + 1), sack[0], sack[1]],
                    0..7 => sack = [(first, first + long), sack[0], sack[1]],
                    7..9 => {
                        let hole = model.hole(1).filter(|_| what == 7).unwrap_or(first - 1);
                        scoreboard.mark_retransmitted(hole);
                        model.flag(hole).1 = true;
                    }
                    9 => {
                        scoreboard.advance(first);
                        model.advance(first);
                    }
                    10 => {
                        scoreboard.forget_retransmissions();
                        model.flags.iter_mut().for_each(|flag| flag.1 = false);
                    }
                    _ => {
                        scoreboard.clear();
                        model.flags.clear();
                        sack = Sack::default();
                    }
                }
                if what < 7 {
                    let blocks = sack.iter().flat_map(|(first, end)| *first..*end);
                    let known: Vec<u32> = blocks.filter(|s| *s >= model.una).collect();
                    let news = known.into_iter().fold(false, |news, s| !std::mem::replace(&mut model.flag(s).0, true) | news);
                    let sends = ahead % 2 == 0;
                    let is_one = scoreboard.on_sack_of_one(&sack, sends);
                    prop_assert!(!is_one || !sends || model.hole(1).is_none());
                    prop_assert_eq!(is_one || scoreboard.on_sack(&sack), news);
                }
                let sacked = model.flags.iter().filter(|flag| flag.0).count() as u32;
                prop_assert_eq!((scoreboard.sacked(), scoreboard.is_empty()), (sacked, model.flags.is_empty()));
                let below = (model.una..first.min(model.end())).filter(|s| model.at(*s).0).count();
                prop_assert_eq!(scoreboard.sacked_below(first), below as u32);
                prop_assert_eq!((scoreboard.hole(false), scoreboard.hole(true)), (model.hole(1), model.hole(DUP_THRESH)));
                for nxt in [first, model.end(), model.end() + long] {
                    prop_assert_eq!(scoreboard.pipe(nxt), model.pipe(nxt));
                    prop_assert_eq!(scoreboard.last_missing(nxt), model.last_missing(nxt));
                }
            }
        }
    }
}
