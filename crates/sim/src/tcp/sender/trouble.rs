//! What is out of the ordinary at a sender: the connection is not open yet, packets are missing or sent again, a cut
//! was not told, or the sender is special for good. Most of the time nothing is, then it is plain, and nothing of this
//! need be asked. What only few senders have at all is set aside, so that a flow is small.

use super::{Cut, Sender, special::Special};
use crate::tcp::{SPARE, board::Board};
use bitflags::bitflags;

/// In place of [`Trouble::top`]: there is none.
const PLAIN: u32 = u32::MAX;

bitflags! {
    /// What may be so.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Signs: u8 {
        /// The application may write more.
        const OPEN = 1;
        const RECOVERY = 1 << 1;
        /// In it, part of what was lost has arrived.
        const PARTIAL = 1 << 2;
        /// The window was cut and the receiver has not been told (CWR).
        const CWR = 1 << 3;
        /// A mark met a window of one packet or less, and marks have gone on since (ns-2).
        const MARKED_AT_ONE = 1 << 4;
        /// The SYN was lost: the first window is one packet.
        const LOST_SYN = 1 << 5;
        /// Duplicates mean nothing until something new is acknowledged (Sack1 after a time-out).
        const DEAF = 1 << 6;
        /// The timer has sent the first packet not acknowledged again.
        const TIMED_OUT = 1 << 7;
    }
}

impl Signs {
    /// Those with which a sender is not plain.
    const LASTING: Signs = Signs::all().difference(Signs::PARTIAL.union(Signs::LOST_SYN));
}

/// See above; only `last_cut` has a meaning without any.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Trouble {
    /// One beyond the highest packet ever sent; where the sender is plain, that is the next one to send.
    pub(super) top: u32,
    /// Duplicates since the last new acknowledgement, up to 255: all that matters is whether they are three.
    pub(super) dupacks: u8,
    /// Packets sent by limited transmit since then, at most one for each of the first two duplicates.
    pub(super) limited: u8,
    pub(super) signs: Signs,
    /// What the window was last cut for.
    pub(super) last_cut: Cut,
}

impl Trouble {
    /// There is none.
    pub(super) const NONE: Trouble =
        Trouble { top: PLAIN, dupacks: 0, limited: 0, signs: Signs::empty(), last_cut: Cut::Nothing };
}

/// What few senders have.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    /// `None`: Reno's window, losses by counting, no waits.
    pub(super) special: Option<Box<Special>>,
    /// What selective acknowledgements say.
    pub(super) board: Option<Board>,
}

impl Extra {
    #[inline(never)]
    fn new() -> Box<Extra> {
        Box::default()
    }
}

/// What senders needed once for selective acknowledgements and need no more: the next that does takes it.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is saved")]
pub(crate) struct SpareExtras(Vec<Box<Extra>>);

impl SpareExtras {
    #[inline(never)]
    fn take(&mut self, una: u32) -> Box<Extra> {
        let Some(mut extra) = self.0.pop() else { return Extra::new() };
        if let Some(board) = &mut extra.board {
            board.restart(una);
        }
        extra
    }

    /// Its board keeps its room.
    fn put(&mut self, extra: Option<Box<Extra>>) {
        if self.0.len() < SPARE {
            self.0.extend(extra);
        }
    }
}

impl Sender {
    /// Whether nothing is out of the ordinary.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.trouble.top == PLAIN
    }

    /// Whether one of `signs` is there.
    #[inline(always)]
    pub(super) fn is(&self, signs: Signs) -> bool {
        self.trouble.signs.intersects(signs)
    }

    /// Something is out of the ordinary now: what is, to be changed.
    #[inline(always)]
    pub(super) fn trouble(&mut self) -> &mut Trouble {
        if self.is_plain() {
            self.trouble.top = self.nxt;
        }
        &mut self.trouble
    }

    /// If all is as usual again, the sender is plain.
    pub(super) fn settle(&mut self, spare: &mut SpareExtras) {
        let Trouble { top, dupacks, limited, last_cut, .. } = self.trouble;
        let counts = self.inflation + u32::from(dupacks) + u32::from(limited);
        let is_behind = self.nxt < top || self.una == 0;
        let is_special = self.extra.as_ref().is_some_and(|extra| extra.special.is_some());
        if !self.is(Signs::LASTING) && counts == 0 && !is_behind && !is_special && self.knows_nothing() {
            self.trouble = Trouble { last_cut, ..Trouble::NONE };
            spare.put(self.extra.take());
        }
    }

    /// One beyond the highest packet ever sent.
    #[inline]
    pub(super) fn top(&self) -> u32 {
        if self.is_plain() { self.nxt } else { self.trouble.top }
    }

    /// What makes it special, if something does.
    #[inline]
    pub(super) fn specially(&self) -> Option<&Special> {
        self.extra.as_ref()?.special.as_deref()
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn specially_mut(&mut self) -> Option<&mut Special> {
        self.extra.as_mut()?.special.as_deref_mut()
    }

    /// What the options promise to be there.
    pub(super) fn special(&mut self) -> &mut Special {
        self.specially_mut().expect("only a sender that is special comes here")
    }

    pub(super) fn is_timed(&self) -> bool {
        self.specially().is_some_and(|special| special.timed.is_some())
    }

    /// The scoreboard, which begins at the first packet not acknowledged.
    #[inline]
    pub(super) fn board(&mut self) -> &mut Board {
        debug_assert!(!self.is_plain(), "then nobody tells it what is acknowledged");
        let una = self.una;
        let extra = self.extra.get_or_insert_with(Extra::new);
        extra.board.get_or_insert_with(|| Board::new(una))
    }

    /// The same, of what is spare if there is something.
    #[inline]
    pub(super) fn board_of(&mut self, spare: &mut SpareExtras) -> &mut Board {
        let una = self.una;
        self.extra.get_or_insert_with(|| spare.take(una));
        self.board()
    }

    /// The scoreboard, if there is one.
    #[inline]
    pub(super) fn known(&self) -> Option<&Board> {
        self.extra.as_ref()?.board.as_ref()
    }

    #[inline]
    fn known_mut(&mut self) -> Option<&mut Board> {
        self.extra.as_mut()?.board.as_mut()
    }

    /// How many packets are selectively acknowledged.
    pub(super) fn sacked(&self) -> u32 {
        self.known().map_or(0, |board| board.sacked())
    }

    /// Whether the scoreboard says nothing of any packet.
    fn knows_nothing(&self) -> bool {
        self.known().is_none_or(|board| board.is_empty())
    }

    /// Everything below `una` is acknowledged.
    pub(super) fn advance_board(&mut self) {
        let una = self.una;
        if let Some(board) = self.known_mut() {
            board.advance(una);
        }
    }

    /// The scoreboard says nothing any more.
    pub(super) fn forget_blocks(&mut self) {
        if let Some(board) = self.known_mut() {
            board.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With selective acknowledgements, most senders have one where losses are many.
    #[test]
    fn what_is_set_aside_is_small() {
        assert!(size_of::<Extra>() <= 88, "{} bytes", size_of::<Extra>());
    }
}
