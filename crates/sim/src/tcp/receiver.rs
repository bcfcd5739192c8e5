//! The receiving end: what has arrived, what to acknowledge, whether congestion was experienced.

use super::options::{TcpOptions, Variant};
use crate::net::Sack;

/// A TCP receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    /// First packet still missing.
    next: u32,
    /// What arrived above `next`, as `first..end`; the block of the last arrival first (RFC 2018, 4).
    blocks: Vec<(u32, u32)>,
    /// Congestion was experienced and the sender has not answered with CWR yet (RFC 3168); or, where marks
    /// are echoed one by one, by the packet that came last (RFC 8257, DCTCP.CE).
    echo: bool,
    is_exact: bool,
    /// Acknowledgements that are not delayed, and what they are refilled to (Linux).
    quick: u32,
    quick_acks: u32,
}

/// What an arrival meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// It had not been here before.
    pub(crate) is_new: bool,
    /// It was the next one and nothing is missing: its acknowledgement may be delayed.
    pub(crate) in_order: bool,
}

impl Receiver {
    pub(crate) fn new(o: &TcpOptions) -> Receiver {
        Receiver {
            is_exact: o.variant == Variant::Dctcp,
            quick: o.quick_acks,
            quick_acks: o.quick_acks,
            ..Receiver::default()
        }
    }

    /// Whether a packet with or without a mark must be told from those before it: acknowledge these first,
    /// and then it, at once (RFC 8257, 3.2).
    pub(crate) fn turns(&self, ce: bool) -> bool {
        self.is_exact && self.echo != ce
    }

    /// Whether the next acknowledgement of a packet in order may wait for a second.
    pub(crate) fn may_delay(&self) -> bool {
        self.quick == 0
    }

    /// An acknowledgement leaves.
    #[inline]
    pub(crate) fn acknowledges(&mut self) {
        self.quick = self.quick.saturating_sub(1);
    }

    /// Packet `sequence` arrives; `ce`: marked, `cwr`: the sender has reduced its window.
    #[inline(always)]
    pub(crate) fn receive(&mut self, sequence: u32, ce: bool, cwr: bool) -> Received {
        if self.is_exact {
            self.echo = ce;
        } else {
            self.echo &= !cwr;
            if ce && !self.echo {
                self.echo = true;
                self.quick = self.quick.max(self.quick_acks.min(2)); // the window may become very small
            }
        }
        if sequence == self.next && self.blocks.is_empty() {
            self.next += 1;
            return Received { is_new: true, in_order: true };
        }
        Received { is_new: self.receive_out_of_order(sequence), in_order: false }
    }

    /// Something is missing, or comes again; whether the packet is new.
    #[inline(never)]
    fn receive_out_of_order(&mut self, sequence: u32) -> bool {
        if sequence == self.next {
            self.next += 1;
            while let Some(i) = self.blocks.iter().position(|b| b.0 == self.next) {
                self.next = self.blocks.remove(i).1;
            }
            return true;
        }
        if sequence < self.next {
            self.quick = self.quick_acks;
            return false;
        }
        let known = self.blocks.iter().position(|b| b.0 <= sequence && sequence < b.1);
        match known {
            Some(i) => self.blocks[..=i].rotate_right(1),
            None => self.insert(sequence),
        }
        known.is_none()
    }

    /// First packet still missing.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Whether acknowledgements carry an echo of congestion.
    #[inline]
    pub(crate) fn echo(&self) -> bool {
        self.echo
    }

    /// Whether something arrived above what is missing.
    #[inline]
    pub(crate) fn has_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// The blocks to report: the latest first.
    pub(crate) fn sack(&self) -> Sack {
        let mut sack = Sack::default();
        for (slot, block) in sack.iter_mut().zip(&self.blocks) {
            *slot = *block;
        }
        sack
    }

    fn insert(&mut self, sequence: u32) {
        let mut block = (sequence, sequence + 1);
        if let Some(i) = self.blocks.iter().position(|b| b.1 == sequence) {
            block.0 = self.blocks.remove(i).0;
        }
        if let Some(i) = self.blocks.iter().position(|b| b.0 == sequence + 1) {
            block.1 = self.blocks.remove(i).1;
        }
        self.blocks.insert(0, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_latest_block_is_reported_first() {
        let mut r = Receiver::default();
        for sequence in [0, 2, 4, 6, 3] {
            r.receive(sequence, false, false);
        }
        assert_eq!(r.next(), 1);
        assert_eq!(r.sack(), [(2, 5), (6, 7), (0, 0)]);
        r.receive(6, false, false);
        assert_eq!(r.sack(), [(6, 7), (2, 5), (0, 0)], "a duplicate brings its block to the front too");
        assert_eq!(r.receive(1, false, false), Received { is_new: true, in_order: false });
        assert_eq!(r.next(), 5);
    }

    #[test]
    fn congestion_is_echoed_until_the_sender_has_answered() {
        let mut r = Receiver::default();
        r.receive(0, true, false);
        r.receive(1, false, false);
        assert!(r.echo());
        r.receive(2, false, true);
        assert!(!r.echo());
        r.receive(3, true, true);
        assert!(r.echo(), "a mark on the packet that carries CWR is news");
    }

    /// RFC 8257, 3.2: the echo is that of the last packet, and a change is told at once.
    #[test]
    fn marks_are_echoed_one_by_one_for_dctcp() {
        let set = [("variant".to_owned(), "dctcp".to_owned())];
        let mut r = Receiver::new(&crate::tcp::schema::resolve("default", &set).unwrap());
        let mut seen = Vec::new();
        for (sequence, ce) in [false, true, true, false, true].into_iter().enumerate() {
            let turns = r.turns(ce);
            r.receive(sequence as u32, ce, false);
            seen.push((turns, r.echo()));
        }
        assert_eq!(seen, [(false, false), (true, true), (false, true), (true, false), (true, true)]);
        assert!(!Receiver::default().turns(true), "only there");
    }

    #[test]
    fn the_first_acknowledgements_are_quick() {
        let mut r = Receiver::new(&crate::tcp::schema::resolve("linux", &[]).unwrap());
        for _ in 0..16 {
            assert!(!r.may_delay());
            r.acknowledges();
        }
        assert!(r.may_delay());
        r.receive(0, true, false);
        assert!(!r.may_delay(), "two after a mark");
    }

    proptest! {
        #[test]
        fn every_packet_is_new_once_in_any_order(order in Just((0u32..60).collect::<Vec<_>>()).prop_shuffle(),
                                                 again in proptest::collection::vec(0u32..60, 0..60)) {
            let mut r = Receiver::default();
            let mut seen = [false; 60];
            for sequence in again.into_iter().chain(order) {
                prop_assert_eq!(r.receive(sequence, false, false).is_new, !seen[sequence as usize]);
                seen[sequence as usize] = true;
                prop_assert_eq!(r.next() as usize, seen.iter().position(|s| !s).unwrap_or(60));
            }
            prop_assert_eq!(r.next(), 60);
            prop_assert_eq!(r.sack(), Sack::default());
        }
    }
}
