//! What is out of the ordinary at a sender: the connection is not open yet, packets are missing or sent again, a cut
//! was not told, or the sender is extensions for good. Most of the time nothing is, then it is plain, and nothing of this
//! need be asked. What only few senders have at all is set aside, so that a flow is small.

use super::{Cut, Sender, extensions::Extensions};
use crate::tcp::{POOL_SIZE, scoreboard::SackScoreboard};
use bitflags::bitflags;

/// In place of [`RecoveryState::snd_max`]: there is none.
const OPEN: u32 = u32::MAX;

bitflags! {
    /// What may be so.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Flags: u8 {
        /// The application may write more.
        const APP_OPEN = 1;
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
        const IGNORE_DUPACKS = 1 << 6;
        /// The timer has sent the first packet not acknowledged again.
        const TIMED_OUT = 1 << 7;
    }
}

impl Flags {
    /// Those with which a sender is not plain.
    const LASTING: Flags = Flags::all().difference(Flags::PARTIAL.union(Flags::LOST_SYN));
}

/// See above; only `last_cut` has a meaning without any.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RecoveryState {
    /// One beyond the highest packet ever sent; where the sender is plain, that is the next one to send.
    pub(super) snd_max: u32,
    /// Duplicates since the last new acknowledgement, up to 255: all that matters is whether they are three.
    pub(super) dupacks: u8,
    /// Packets sent by limited transmit since then, at most one for each of the first two duplicates.
    pub(super) limited: u8,
    pub(super) flags: Flags,
    /// What the window was last cut for.
    pub(super) last_cut: Cut,
}

impl RecoveryState {
    /// There is none.
    pub(super) const NONE: RecoveryState = RecoveryState {
        snd_max: OPEN,
        dupacks: 0,
        limited: 0,
        flags: Flags::empty(),
        last_cut: Cut::Nothing,
    };
}

/// What few senders have.
#[derive(Clone, Debug, Default)]
pub(super) struct ColdState {
    /// `None`: Reno's window, losses by counting, no waits.
    pub(super) extensions: Option<Box<Extensions>>,
    /// What selective acknowledgements say.
    pub(super) scoreboard: Option<SackScoreboard>,
}

impl ColdState {
    #[inline(never)]
    fn new() -> Box<ColdState> {
        Box::default()
    }
}

/// What senders needed once for selective acknowledgements and need no more: the next that does takes it.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is saved")]
pub(crate) struct ColdStatePool(Vec<Box<ColdState>>);

impl ColdStatePool {
    #[inline(never)]
    fn take(&mut self, una: u32) -> Box<ColdState> {
        let Some(mut cold) = self.0.pop() else { return ColdState::new() };
        if let Some(scoreboard) = &mut cold.scoreboard {
            scoreboard.restart(una);
        }
        cold
    }

    /// Its scoreboard keeps its room.
    fn put(&mut self, cold: Option<Box<ColdState>>) {
        if self.0.len() < POOL_SIZE {
            self.0.extend(cold);
        }
    }
}

impl Sender {
    /// Whether nothing is out of the ordinary.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.recovery_state.snd_max == OPEN
    }

    /// Whether one of `flags` is there.
    #[inline(always)]
    pub(super) fn is(&self, flags: Flags) -> bool {
        self.recovery_state.flags.intersects(flags)
    }

    /// Something is out of the ordinary now: what is, to be changed.
    #[inline(always)]
    pub(super) fn recovery_state(&mut self) -> &mut RecoveryState {
        if self.is_open() {
            self.recovery_state.snd_max = self.nxt;
        }
        &mut self.recovery_state
    }

    /// If all is as usual again, the sender is plain.
    pub(super) fn reopen(&mut self, pool: &mut ColdStatePool) {
        let RecoveryState { snd_max: top, dupacks, limited, last_cut, .. } = self.recovery_state;
        let counts = self.inflation + u32::from(dupacks) + u32::from(limited);
        let is_behind = self.nxt < top || self.una == 0;
        let is_special = self.cold.as_ref().is_some_and(|cold| cold.extensions.is_some());
        if !self.is(Flags::LASTING) && counts == 0 && !is_behind && !is_special && self.knows_nothing() {
            self.recovery_state = RecoveryState { last_cut, ..RecoveryState::NONE };
            pool.put(self.cold.take());
        }
    }

    /// One beyond the highest packet ever sent.
    #[inline]
    pub(super) fn snd_max(&self) -> u32 {
        if self.is_open() { self.nxt } else { self.recovery_state.snd_max }
    }

    /// What makes it extensions, if something does.
    #[inline]
    pub(super) fn try_extensions(&self) -> Option<&Extensions> {
        self.cold.as_ref()?.extensions.as_deref()
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn try_extensions_mut(&mut self) -> Option<&mut Extensions> {
        self.cold.as_mut()?.extensions.as_deref_mut()
    }

    /// What the options promise to be there.
    pub(super) fn extensions(&mut self) -> &mut Extensions {
        self.try_extensions_mut().expect("only a sender that is extensions comes here")
    }

    pub(super) fn uses_rack(&self) -> bool {
        self.try_extensions().is_some_and(|extensions| extensions.rack_tlp.is_some())
    }

    /// The scoreboard, which begins at the first packet not acknowledged.
    #[inline]
    pub(super) fn scoreboard(&mut self) -> &mut SackScoreboard {
        debug_assert!(!self.is_open(), "then nobody tells it what is acknowledged");
        let una = self.una;
        let cold = self.cold.get_or_insert_with(ColdState::new);
        cold.scoreboard.get_or_insert_with(|| SackScoreboard::new(una))
    }

    /// The same, of what is spare if there is something.
    #[inline]
    pub(super) fn scoreboard_from(&mut self, pool: &mut ColdStatePool) -> &mut SackScoreboard {
        let una = self.una;
        self.cold.get_or_insert_with(|| pool.take(una));
        self.scoreboard()
    }

    /// The scoreboard, if there is one.
    #[inline]
    pub(super) fn known(&self) -> Option<&SackScoreboard> {
        self.cold.as_ref()?.scoreboard.as_ref()
    }

    #[inline]
    fn known_mut(&mut self) -> Option<&mut SackScoreboard> {
        self.cold.as_mut()?.scoreboard.as_mut()
    }

    /// How many packets are selectively acknowledged.
    pub(super) fn sacked(&self) -> u32 {
        self.known().map_or(0, |scoreboard| scoreboard.sacked())
    }

    /// Whether the scoreboard says nothing of any packet.
    fn knows_nothing(&self) -> bool {
        self.known().is_none_or(|scoreboard| scoreboard.is_empty())
    }

    /// Everything below `una` is acknowledged.
    pub(super) fn advance_scoreboard(&mut self) {
        let una = self.una;
        if let Some(scoreboard) = self.known_mut() {
            scoreboard.advance(una);
        }
    }

    /// The scoreboard says nothing any more.
    pub(super) fn forget_blocks(&mut self) {
        if let Some(scoreboard) = self.known_mut() {
            scoreboard.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With selective acknowledgements, most senders have one where losses are many.
    #[test]
    fn what_is_set_aside_is_small() {
        assert!(size_of::<ColdState>() <= 88, "{} bytes", size_of::<ColdState>());
    }
}
