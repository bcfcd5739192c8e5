//! The scoreboard of selective acknowledgements: which packets above the cumulative acknowledgement
//! have arrived, which were sent again, what is still on its way (RFC 6675).

use crate::net::Sack;
use std::collections::VecDeque;

const SACKED: u8 = 1;
const RETRANSMITTED: u8 = 2;

/// Packets that a later one has overtaken this often count as lost.
pub(crate) const THRESHOLD: u32 = 3;

/// One byte a packet from the first unacknowledged one on.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    base: u32,
    flags: VecDeque<u8>,
    sacked: u32,
    /// What was reported last: most blocks are reported again and again.
    reported: Sack,
    /// Packets on their way, as Sack1 counts them.
    pub(crate) counted: i64,
    /// RescueRxt: once more than this is acknowledged, the last packet may be sent again (RFC 6675).
    pub(crate) rescue: u32,
}

impl Board {
    /// Of packets from `base` on.
    pub(crate) fn new(base: u32) -> Board {
        Board { base, flags: VecDeque::new(), sacked: 0, reported: Sack::default(), counted: 0, rescue: 0 }
    }

    /// Nothing is known any more: as [`Board::new`].
    pub(crate) fn restart(&mut self, base: u32) {
        let mut flags = std::mem::take(&mut self.flags);
        flags.clear();
        *self = Board { flags, ..Board::new(base) };
    }

    /// Whether nothing is known of any packet.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// Everything below `una` is acknowledged.
    #[inline]
    pub(crate) fn advance(&mut self, una: u32) {
        if self.flags.is_empty() {
            self.base = self.base.max(una);
            return;
        }
        while self.base < una {
            match self.flags.pop_front() {
                Some(flag) => self.sacked -= u32::from(flag & SACKED),
                None => self.base = una - 1,
            }
            self.base += 1;
        }
    }

    /// Note what an acknowledgement reports; whether it was news.
    pub(crate) fn report(&mut self, sack: &Sack) -> bool {
        let mut news = false;
        let reported = std::mem::replace(&mut self.reported, *sack);
        for &(first, end) in sack.iter().take_while(|(first, end)| first < end) {
            let mut first = first.max(self.base);
            for (from, to) in reported {
                if (from..to).contains(&first) {
                    first = to;
                }
            }
            for sequence in first..end {
                let flag = self.flag(sequence);
                if *flag & SACKED == 0 {
                    *flag |= SACKED;
                    self.sacked += 1;
                    news = true;
                }
            }
        }
        news
    }

    /// How many packets are selectively acknowledged...
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// ... and how many of them are below `sequence`.
    pub(crate) fn sacked_below(&self, sequence: u32) -> u32 {
        let known = sequence.saturating_sub(self.base) as usize;
        self.flags.iter().take(known).filter(|flag| **flag & SACKED != 0).count() as u32
    }

    pub(crate) fn retransmitted(&mut self, sequence: u32) {
        *self.flag(sequence) |= RETRANSMITTED;
    }

    /// What was sent again in an earlier recovery counts for nothing in this one.
    pub(crate) fn forget_retransmissions(&mut self) {
        for flag in &mut self.flags {
            *flag &= SACKED;
        }
    }

    /// Forget everything (after a time-out).
    pub(crate) fn clear(&mut self) {
        self.flags.clear();
        (self.sacked, self.reported) = (0, Sack::default());
    }

    /// Whether so many packets above the first missing one have arrived that it must be lost.
    pub(crate) fn first_is_lost(&self) -> bool {
        self.sacked >= THRESHOLD
    }

    /// SetPipe: packets believed to be on their way, of those below `nxt`.
    pub(crate) fn pipe(&self, nxt: u32) -> u32 {
        let mut pipe = nxt.saturating_sub(self.base.max(self.base + self.flags.len() as u32));
        let mut above = 0;
        for flag in self.flags.iter().rev() {
            if flag & SACKED != 0 {
                above += 1;
                continue;
            }
            pipe += u32::from(above < THRESHOLD) + u32::from(flag & RETRANSMITTED != 0);
        }
        pipe
    }

    /// The lowest packet below the highest reported one that neither arrived nor was sent again; with
    /// `lost`, only one that counts as lost.
    pub(crate) fn hole(&self, lost: bool) -> Option<u32> {
        let mut above = self.sacked;
        for (i, flag) in self.flags.iter().enumerate() {
            if above == 0 || lost && above < THRESHOLD {
                return None;
            }
            above -= u32::from(flag & SACKED);
            if *flag == 0 {
                return Some(self.base + i as u32);
            }
        }
        None
    }

    /// The highest packet below `nxt` that has not arrived.
    pub(crate) fn last_missing(&self, nxt: u32) -> Option<u32> {
        let known = self.flags.iter().rposition(|flag| flag & SACKED == 0).map(|i| self.base + i as u32);
        if nxt > self.base + self.flags.len() as u32 { Some(nxt - 1) } else { known }
    }

    fn flag(&mut self, sequence: u32) -> &mut u8 {
        let i = (sequence - self.base) as usize;
        if i >= self.flags.len() {
            self.flags.resize(i + 1, 0);
        }
        &mut self.flags[i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_lost_when_three_later_ones_have_arrived() {
        let mut board = Board::new(10);
        assert!(board.report(&[(12, 14), (0, 0), (0, 0)]));
        assert!(!board.report(&[(12, 14), (0, 0), (0, 0)]), "no news");
        assert!(!board.first_is_lost());
        assert_eq!((board.hole(true), board.hole(false)), (None, Some(10)));
        assert!(board.report(&[(15, 16), (12, 14), (0, 0)]));
        assert!(board.first_is_lost());
        // 10 and 11 are lost (12, 13, 15 came), 14 is not; 16..20 are on their way.
        assert_eq!(board.pipe(20), 5);
        assert_eq!(board.hole(true), Some(10));
        board.retransmitted(10);
        assert_eq!(board.pipe(20), 6);
        assert_eq!(board.hole(true), Some(11));
        board.retransmitted(11);
        assert_eq!((board.hole(true), board.hole(false)), (None, Some(14)));
        board.advance(14);
        assert_eq!((board.pipe(20), board.hole(false)), (5, Some(14)));
        assert_eq!([20, 16, 15].map(|nxt| board.last_missing(nxt)), [Some(19), Some(14), Some(14)]);
        board.clear();
        assert_eq!((board.pipe(20), board.hole(false)), (6, None));
    }
}
