//! What a sender keeps only while something is out of the ordinary: the connection is not open yet, packets are
//! missing or sent again, a cut was not told, or it is special for good. Most of the time nothing is, then there
//! is no [`Aside`], nothing of it need be asked, and a flow is small.

use super::{Sender, special::Special};
use crate::tcp::{SPARE, board::Board};

/// See above.
#[derive(Clone, Debug, Default)]
pub(super) struct Aside {
    /// `None`: Reno's window, losses by counting, no waits.
    pub(super) special: Option<Box<Special>>,
    pub(super) board: Option<Box<Board>>,
    /// One beyond the highest packet ever sent; without an [`Aside`] that is the next one to send.
    pub(super) top: u32,
    pub(super) inflation: u32,
    /// Recovery ends when everything below is acknowledged.
    pub(super) recover: u32,
    /// Duplicates since the last new acknowledgement, up to 255: all that matters is whether they are three.
    pub(super) dupacks: u8,
    /// Packets sent by limited transmit since then, at most one for each of the first two duplicates.
    pub(super) limited: u8,
    /// The timer has sent the first packet not acknowledged again.
    pub(super) timed_out: bool,
    /// The application may write more.
    pub(super) is_open: bool,
    pub(super) in_recovery: bool,
    /// The window was cut and the receiver has not been told (CWR).
    pub(super) cwr: bool,
    /// A mark met a window of one packet or less, and marks have gone on since (ns-2).
    pub(super) marked_at_one: bool,
    pub(super) seen_partial: bool,
    /// The SYN was lost: the first window is one packet.
    pub(super) lost_syn: bool,
    /// Duplicates mean nothing until something new is acknowledged (Sack1 after a time-out).
    pub(super) deaf: bool,
}

/// What senders have set aside once and need no more: the next that does takes it.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is saved")]
pub(crate) struct SpareAsides(Vec<Box<Aside>>);

static NOTHING: Aside = Aside {
    special: None,
    board: None,
    top: 0,
    inflation: 0,
    recover: 0,
    dupacks: 0,
    limited: 0,
    timed_out: false,
    is_open: false,
    in_recovery: false,
    cwr: false,
    marked_at_one: false,
    seen_partial: false,
    lost_syn: false,
    deaf: false,
};

impl Aside {
    #[inline(never)]
    fn new(top: u32) -> Box<Aside> {
        Box::new(Aside { top, ..Aside::default() })
    }
}

impl SpareAsides {
    #[inline(never)]
    fn take(&mut self, una: u32, top: u32) -> Box<Aside> {
        let Some(mut aside) = self.0.pop() else { return Aside::new(top) };
        let mut board = aside.board.take();
        if let Some(board) = &mut board {
            board.restart(una);
        }
        *aside = Aside { board, top, ..Aside::default() };
        aside
    }

    /// Its board keeps its room.
    fn put(&mut self, aside: Option<Box<Aside>>) {
        if self.0.len() < SPARE {
            self.0.extend(aside);
        }
    }
}

impl Sender {
    /// How things stand out of the ordinary; not for `top`.
    pub(super) fn aside(&self) -> &Aside {
        self.aside.as_deref().unwrap_or(&NOTHING)
    }

    /// The same to be changed.
    #[inline]
    pub(super) fn keep(&mut self) -> &mut Aside {
        let top = self.nxt;
        self.aside.get_or_insert_with(|| Aside::new(top))
    }

    /// As [`Sender::keep`], of what is spare if there is something.
    #[inline]
    pub(super) fn keep_of(&mut self, spare: &mut SpareAsides) -> &mut Aside {
        let (una, top) = (self.una, self.nxt);
        self.aside.get_or_insert_with(|| spare.take(una, top))
    }

    /// If all is as usual again, there is nothing to be kept.
    pub(super) fn settle(&mut self, spare: &mut SpareAsides) {
        let Some(aside) = &self.aside else { return };
        let is_busy = aside.in_recovery || aside.cwr || aside.marked_at_one || aside.deaf || aside.is_open;
        let counts = aside.inflation + u32::from(aside.dupacks) + u32::from(aside.limited);
        let is_behind = self.nxt < aside.top || aside.timed_out || self.una == 0;
        if !is_busy && counts == 0 && !is_behind && aside.special.is_none() && self.knows_nothing() {
            spare.put(self.aside.take());
        }
    }

    /// One beyond the highest packet ever sent.
    #[inline]
    pub(super) fn top(&self) -> u32 {
        self.aside.as_ref().map_or(self.nxt, |aside| aside.top)
    }

    /// What the options promise to be there.
    pub(super) fn special(&mut self) -> &mut Special {
        let special = self.aside.as_mut().and_then(|aside| aside.special.as_deref_mut());
        special.expect("only a sender that is special comes here")
    }

    pub(super) fn is_timed(&self) -> bool {
        self.aside().special.as_ref().is_some_and(|special| special.timed.is_some())
    }

    /// The scoreboard, which begins at the first packet not acknowledged.
    pub(super) fn board(&mut self) -> &mut Board {
        let una = self.una;
        self.keep().board.get_or_insert_with(|| Box::new(Board::new(una)))
    }

    /// How many packets are selectively acknowledged.
    pub(super) fn sacked(&self) -> u32 {
        self.aside().board.as_ref().map_or(0, |board| board.sacked())
    }

    /// Whether the scoreboard says nothing of any packet.
    fn knows_nothing(&self) -> bool {
        self.aside().board.as_ref().is_none_or(|board| board.is_empty())
    }

    /// Everything below `una` is acknowledged.
    pub(super) fn advance_board(&mut self) {
        let una = self.una;
        if let Some(board) = &mut self.keep().board {
            board.advance(una);
        }
    }

    /// The scoreboard says nothing any more.
    pub(super) fn forget_blocks(&mut self) {
        if let Some(board) = &mut self.keep().board {
            board.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where losses are many, most senders have one.
    #[test]
    fn it_is_small() {
        assert!(size_of::<Aside>() <= 40, "{} bytes", size_of::<Aside>());
    }
}
