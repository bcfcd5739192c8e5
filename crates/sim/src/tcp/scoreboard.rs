//! The scoreboard of selective acknowledgements: which packets above the cumulative acknowledgement
//! have arrived, which were sent retransmitted, what is still on its way (RFC 6675).
//!
//! Two bits a packet, in words of 64 packets: what is asked about all of them takes a few operations a word, and
//! mostly there are one or two.

use crate::packet::Sack;

/// Packets that a later one has overtaken this often count as lost.
pub(crate) const THRESHOLD: u32 = 3;

/// Sixty-four packets, from a multiple of 64 on: whose bit is set here or there.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    sacked: u64,
    retransmitted: u64,
}

/// What is known of packets from the first unacknowledged one on.
#[derive(Clone, Debug)]
pub(crate) struct SackScoreboard {
    /// The first unacknowledged packet, and one beyond the highest of which something is known, if any is.
    base: u32,
    end: u32,
    /// The words from that of `base` on to that of the last packet.
    words: Vec<Word>,
    sacked: u32,
    /// What was reported last: most blocks are reported retransmitted and retransmitted.
    reported: Sack,
    /// Packets on their way, as Sack1 counts them.
    pub(crate) counted: i64,
    /// RescueRxt: once more than this is acknowledged, the last packet may be sent retransmitted (RFC 6675).
    pub(crate) rescue: u32,
}

impl SackScoreboard {
    /// Of packets from `base` on.
    #[inline(never)]
    pub(crate) fn new(base: u32) -> SackScoreboard {
        let reported = Sack::default();
        SackScoreboard { base, end: 0, words: Vec::new(), sacked: 0, reported, counted: 0, rescue: 0 }
    }

    /// Nothing is known any more: as [`SackScoreboard::new`].
    pub(crate) fn restart(&mut self, base: u32) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        *self = SackScoreboard { words, ..SackScoreboard::new(base) };
    }

    /// Whether nothing is known of any packet.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Everything below `una` is acknowledged.
    #[inline]
    pub(crate) fn advance(&mut self, una: u32) {
        if una <= self.base {
            return;
        }
        if una >= self.end {
            self.forget();
        } else {
            self.words.drain(..(una / 64 - self.base / 64) as usize);
            let below = !(u64::MAX << (una % 64));
            self.words[0].sacked &= !below;
            self.words[0].retransmitted &= !below;
            self.sacked = self.words.iter().map(|word| word.sacked.count_ones()).sum();
        }
        self.base = una;
    }

    /// Nothing is known of any packet.
    fn forget(&mut self) {
        self.words.clear();
        (self.end, self.sacked) = (0, 0);
    }

    /// Note what an acknowledgement reports; whether it was news.
    #[inline(always)]
    pub(crate) fn on_sack(&mut self, sack: &Sack) -> bool {
        let before = self.sacked;
        let reported = std::mem::replace(&mut self.reported, *sack);
        // Nearly always the latest block has become longer, or there is a new one before those that were first.
        if sack[0].0 == reported[0].0 && sack[1..] == reported[1..] {
            self.mark(reported[0].1, sack[0].1);
        } else if sack[1..] == reported[..2] {
            self.mark(sack[0].0, sack[0].1);
        } else {
            sack.iter().for_each(|&(first, end)| self.mark(first, end));
        }
        self.sacked > before
    }

    /// If all the news of an acknowledgement is one packet, with which the latest block ends, and where `sends` no hole is
    /// to be sent: note it. If not, nothing is done, and it is for [`SackScoreboard::on_sack`].
    #[inline(always)]
    pub(crate) fn on_sack_of_one(&mut self, sack: &Sack, sends: bool) -> bool {
        let ((first, end), before) = (sack[0], self.reported.map(word_of));
        let (sequence, older) = (end - 1, [word_of(sack[1]), word_of(sack[2])]);
        let is_longer = word_of((first, sequence)) == before[0] && older == [before[1], before[2]];
        let is_another = first == sequence && older == [before[0], before[1]];
        if !(is_longer || is_another) || sends && self.may_have_hole(self.end.max(sequence)) {
            return false;
        }
        let (bit, i) = (1 << (sequence % 64), sequence / 64 - self.base / 64);
        let Some(word) = self.words.get_mut(i as usize).filter(|word| word.sacked & bit == 0) else {
            return false;
        };
        word.sacked |= bit;
        self.sacked += 1;
        self.end = self.end.max(end);
        self.reported = *sack;
        true
    }

    /// Whether a packet below `end` is perhaps a hole.
    #[inline(always)]
    fn may_have_hole(&self, end: u32) -> bool {
        let mut known = from(self.base);
        for (first, word) in self.numbered() {
            let missing = !(word.sacked | word.retransmitted) & known;
            if missing > 0 {
                return first + missing.trailing_zeros() < end;
            }
            known = u64::MAX;
        }
        false
    }

    /// Packets `first..end` have arrived, if there are any.
    #[inline]
    fn mark(&mut self, first: u32, end: u32) {
        if end == first.wrapping_add(1) && first >= self.base {
            let word = self.word(first, end);
            let is_new = word.sacked >> (first % 64) & 1 == 0;
            word.sacked |= 1 << (first % 64);
            self.sacked += u32::from(is_new);
        } else {
            self.mark_many(first, end);
        }
    }

    #[inline(never)]
    fn mark_many(&mut self, first: u32, end: u32) {
        let mut first = first.max(self.base);
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

    /// The word of packet `sequence`; something is known of those below `end`.
    #[inline]
    fn word(&mut self, sequence: u32, end: u32) -> &mut Word {
        let i = (sequence / 64 - self.base / 64) as usize;
        self.end = self.end.max(end);
        while i >= self.words.len() {
            self.words.push(Word::default());
        }
        &mut self.words[i]
    }

    /// How many packets are selectively acknowledged...
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// ... and how many of them are below `sequence`.
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

    /// What was sent retransmitted in an earlier recovery counts for nothing in this one.
    pub(crate) fn forget_retransmissions(&mut self) {
        self.words.iter_mut().for_each(|word| word.retransmitted = 0);
    }

    /// Forget everything (after a time-out).
    pub(crate) fn clear(&mut self) {
        self.forget();
        self.reported = Sack::default();
    }

    /// Whether so many packets above the first missing one have arrived that it must be lost.
    pub(crate) fn first_is_lost(&self) -> bool {
        self.sacked >= THRESHOLD
    }

    /// SetPipe: packets believed to be on their way, of those below `nxt`.
    pub(crate) fn pipe(&self, nxt: u32) -> u32 {
        let (base, end) = (self.base, self.end.max(self.base));
        // Below the third of those that have arrived, from above, all others are lost.
        let not_lost = match self.third() {
            Some(third) => end - third - THRESHOLD,
            None => end - base - self.sacked,
        };
        let retransmitted: u32 =
            self.words.iter().map(|word| (word.retransmitted & !word.sacked).count_ones()).sum();
        nxt.saturating_sub(end) + not_lost + retransmitted
    }

    /// The highest packet that counts as many above it that have arrived, itself included, as make others lost.
    fn third(&self) -> Option<u32> {
        let mut above = 0;
        for (first, word) in self.numbered().rev() {
            let mut sacked = word.sacked;
            while sacked > 0 {
                above += 1;
                if above == THRESHOLD {
                    return Some(first + sacked.ilog2());
                }
                sacked &= !(1 << sacked.ilog2());
            }
        }
        None
    }

    /// The lowest packet below the highest reported one that neither arrived nor was sent retransmitted; with
    /// `lost`, only one that counts as lost.
    #[inline]
    pub(crate) fn hole(&self, lost: bool) -> Option<u32> {
        let mut above = self.sacked;
        let mut known = from(self.base);
        for (first, word) in self.numbered() {
            let missing = !(word.sacked | word.retransmitted) & known;
            if missing > 0 {
                let place = missing.trailing_zeros();
                above -= (word.sacked & !from(place)).count_ones();
                return (above >= if lost { THRESHOLD } else { 1 }).then_some(first + place);
            }
            above -= word.sacked.count_ones();
            known = u64::MAX;
        }
        None
    }

    /// The highest packet below `nxt` that has not arrived.
    pub(crate) fn last_missing(&self, nxt: u32) -> Option<u32> {
        if nxt > self.end.max(self.base) {
            return Some(nxt - 1);
        }
        let missing = |sequence: &u32| {
            self.words[(sequence / 64 - self.base / 64) as usize].sacked >> (sequence % 64) & 1 == 0
        };
        (self.base..self.end).rev().find(missing)
    }

    /// The words, each with the number of its first packet.
    fn numbered(&self) -> impl DoubleEndedIterator<Item = (u32, &Word)> {
        let first = self.base / 64;
        self.words.iter().enumerate().map(move |(i, word)| ((first + i as u32) * 64, word))
    }
}

/// A block as one number, which is quicker to compare.
fn word_of((first, end): (u32, u32)) -> u64 {
    u64::from(end) << 32 | u64::from(first)
}

/// The bits of packet `sequence` and those behind it in its word.
fn from(sequence: u32) -> u64 {
    u64::MAX << (sequence % 64)
}

/// The same of the word before, if `sequence` begins one: none.
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
        assert!(!scoreboard.on_sack(&[(12, 14), (0, 0), (0, 0)]), "no news");
        assert!(!scoreboard.first_is_lost());
        assert_eq!((scoreboard.hole(true), scoreboard.hole(false)), (None, Some(10)));
        assert!(scoreboard.on_sack(&[(15, 16), (12, 14), (0, 0)]));
        assert!(scoreboard.first_is_lost());
        // 10 and 11 are lost (12, 13, 15 came), 14 is not; 16..20 are on their way.
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

    /// What a scoreboard knows, packet by packet: has it arrived, was it sent retransmitted.
    #[derive(Default)]
    struct Plain {
        base: u32,
        flags: Vec<(bool, bool)>,
    }

    impl Plain {
        fn flag(&mut self, sequence: u32) -> &mut (bool, bool) {
            let i = (sequence - self.base) as usize;
            self.flags.resize(self.flags.len().max(i + 1), (false, false));
            &mut self.flags[i]
        }
        fn end(&self) -> u32 {
            self.base + self.flags.len() as u32
        }
        fn advance(&mut self, una: u32) {
            self.flags.drain(..((una - self.base) as usize).min(self.flags.len()));
            self.base = una;
        }
        fn above(&self, sequence: u32) -> u32 {
            (sequence + 1..self.end()).filter(|s| self.at(*s).0).count() as u32
        }
        fn at(&self, sequence: u32) -> (bool, bool) {
            self.flags[(sequence - self.base) as usize]
        }
        fn pipe(&self, nxt: u32) -> u32 {
            let on_its_way = |s: u32| match self.at(s) {
                (true, _) => 0,
                (false, retransmitted) => u32::from(self.above(s) < THRESHOLD) + u32::from(retransmitted),
            };
            nxt.saturating_sub(self.end()) + (self.base..self.end()).map(on_its_way).sum::<u32>()
        }
        fn hole(&self, above: u32) -> Option<u32> {
            (self.base..self.end())
                .find(|s| self.at(*s) == (false, false))
                .filter(|s| self.above(*s) >= above)
        }
        fn last_missing(&self, nxt: u32) -> Option<u32> {
            let known = (self.base..self.end()).rev().find(|s| !self.at(*s).0);
            if nxt > self.end() { Some(nxt - 1) } else { known }
        }
    }

    proptest! {
        /// Blocks that grow and others, short and beyond several words, packets sent retransmitted, acknowledgements, time-outs.
        /// (Mutants: a block that ends with a word marks all of the next; what is acknowledged still counts, as arrived
        /// or sent retransmitted; the first word's packets below the first missing one; others than the latest block not looked at;
        /// of one packet more: holes below it not looked at, nor whether it is known, nor how far is known.)
        #[test]
        fn agrees_with_a_list_of_packets(
            start in 0u32..200,
            steps in proptest::collection::vec((0u8..12, 0u32..150, 1u32..90), 1..80),
        ) {
            let (mut scoreboard, mut plain) = (SackScoreboard::new(start), Plain { base: start, ..Plain::default() });
            let mut sack = Sack::default();
            for (what, ahead, long) in steps {
                let first = plain.base + 1 + ahead;
                match what {
                    0..4 if sack[0].1 > plain.base => {
                        sack[0].1 += 1;
                        if what == 3 && long < 10 {
                            sack[1] = (first, first + long);
                        }
                    }
                    4 if sack[0].1 > 0 => sack[1] = (first, first + long),
                    5 => sack = [(first, first + 1), sack[0], sack[1]],
                    0..7 => sack = [(first, first + long), sack[0], sack[1]],
                    7..9 => {
                        let hole = plain.hole(1).filter(|_| what == 7).unwrap_or(first - 1);
                        scoreboard.mark_retransmitted(hole);
                        plain.flag(hole).1 = true;
                    }
                    9 => {
                        scoreboard.advance(first);
                        plain.advance(first);
                    }
                    10 => {
                        scoreboard.forget_retransmissions();
                        plain.flags.iter_mut().for_each(|flag| flag.1 = false);
                    }
                    _ => {
                        scoreboard.clear();
                        plain.flags.clear();
                        sack = Sack::default();
                    }
                }
                if what < 7 {
                    let blocks = sack.iter().flat_map(|(first, end)| *first..*end);
                    let known: Vec<u32> = blocks.filter(|s| *s >= plain.base).collect();
                    let news = known.into_iter().fold(false, |news, s| !std::mem::replace(&mut plain.flag(s).0, true) | news);
                    let sends = ahead % 2 == 0;
                    let is_one = scoreboard.on_sack_of_one(&sack, sends);
                    prop_assert!(!is_one || !sends || plain.hole(1).is_none());
                    prop_assert_eq!(is_one || scoreboard.on_sack(&sack), news);
                }
                let sacked = plain.flags.iter().filter(|flag| flag.0).count() as u32;
                prop_assert_eq!((scoreboard.sacked(), scoreboard.is_empty()), (sacked, plain.flags.is_empty()));
                let below = (plain.base..first.min(plain.end())).filter(|s| plain.at(*s).0).count();
                prop_assert_eq!(scoreboard.sacked_below(first), below as u32);
                prop_assert_eq!((scoreboard.hole(false), scoreboard.hole(true)), (plain.hole(1), plain.hole(THRESHOLD)));
                for nxt in [first, plain.end(), plain.end() + long] {
                    prop_assert_eq!(scoreboard.pipe(nxt), plain.pipe(nxt));
                    prop_assert_eq!(scoreboard.last_missing(nxt), plain.last_missing(nxt));
                }
            }
        }
    }
}
