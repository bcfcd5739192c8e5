//! What a sender needs only outside of the open state, which is Linux's `TCP_CA_Open` in a narrower sense:
//! the connection is established, no packet is known to be missing or was sent again, and no window reduction
//! has to be announced. Most ACKs meet a sender in the open state and touch nothing of this. What few senders
//! need at all is in a box, [`ColdState`], so that a flow is small.

use super::{CongestionEvent, Sender, extensions::Extensions};
use crate::tcp::{POOL_SIZE, scoreboard::SackScoreboard};
use bitflags::bitflags;

/// The value of [`RecoveryState::snd_max`] in the open state.
const OPEN: u32 = u32::MAX;

bitflags! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Flags: u8 {
        /// The application may write more.
        const APP_OPEN = 1;
        /// Fast recovery.
        const RECOVERY = 1 << 1;
        /// A partial ACK has arrived in this recovery.
        const PARTIAL = 1 << 2;
        /// The window was reduced, and the next packet must carry CWR.
        const CWR = 1 << 3;
        /// The last mark met a window of one packet or less, and every ACK since has ECE (ns-2).
        const MARKED_AT_ONE = 1 << 4;
        /// The SYN was retransmitted: the initial window is one packet.
        const LOST_SYN = 1 << 5;
        /// Duplicate ACKs are ignored until new data are acknowledged (Sack1 after a timeout).
        const IGNORE_DUPACKS = 1 << 6;
        /// The first unacknowledged packet was retransmitted by the timer.
        const TIMED_OUT = 1 << 7;
    }
}

impl Flags {
    /// The flags that exclude the open state.
    const NOT_OPEN: Flags = Flags::all().difference(Flags::PARTIAL.union(Flags::LOST_SYN));
}

/// State outside of the open state; of its fields the open state keeps `last_reduction`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RecoveryState {
    /// One beyond the highest packet ever sent, or [`OPEN`]: in the open state that is the next packet.
    pub(super) snd_max: u32,
    /// Duplicate ACKs since the last ACK of new data; saturates, as only the comparison with DupThresh
    /// matters.
    pub(super) dupacks: u8,
    /// Packets sent by limited transmit since then, at most two.
    pub(super) limited: u8,
    pub(super) flags: Flags,
    /// Why the window was reduced last; `None` also after the recovery from a loss.
    pub(super) last_reduction: Option<CongestionEvent>,
}

impl RecoveryState {
    pub(super) const OPEN: RecoveryState =
        RecoveryState { snd_max: OPEN, dupacks: 0, limited: 0, flags: Flags::empty(), last_reduction: None };
}

/// What few senders have.
#[derive(Clone, Debug, Default)]
pub(super) struct ColdState {
    pub(super) extensions: Option<Box<Extensions>>,
    pub(super) scoreboard: Option<SackScoreboard>,
}

impl ColdState {
    #[inline(never)]
    fn new() -> Box<ColdState> {
        Box::default()
    }
}

/// Boxes that senders have returned after SACK recovery, for the next sender that needs one. A scoreboard
/// keeps its allocation.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the allocations are what is reused")]
pub(crate) struct ColdStatePool(Vec<Box<ColdState>>);

impl ColdStatePool {
    #[inline(never)]
    fn take(&mut self, una: u32) -> Box<ColdState> {
        let Some(mut cold) = self.0.pop() else { return ColdState::new() };
        if let Some(scoreboard) = &mut cold.scoreboard {
            scoreboard.reset(una);
        }
        cold
    }

    fn put(&mut self, cold: Option<Box<ColdState>>) {
        if self.0.len() < POOL_SIZE {
            self.0.extend(cold);
        }
    }
}

impl Sender {
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.recovery_state.snd_max == OPEN
    }

    /// Whether one of `flags` is set.
    #[inline(always)]
    pub(super) fn is(&self, flags: Flags) -> bool {
        self.recovery_state.flags.intersects(flags)
    }

    /// Leave the open state; returns the state to be changed.
    #[inline(always)]
    pub(super) fn recovery_state(&mut self) -> &mut RecoveryState {
        if self.is_open() {
            self.recovery_state.snd_max = self.nxt;
        }
        &mut self.recovery_state
    }

    /// Return to the open state if its conditions hold.
    pub(super) fn reopen(&mut self, pool: &mut ColdStatePool) {
        let RecoveryState { snd_max, dupacks, limited, last_reduction, .. } = self.recovery_state;
        let counts = self.inflation + u32::from(dupacks) + u32::from(limited);
        let is_behind = self.nxt < snd_max || self.una == 0;
        let has_extensions = self.cold.as_ref().is_some_and(|cold| cold.extensions.is_some());
        let scoreboard_is_empty = self.try_scoreboard().is_none_or(SackScoreboard::is_empty);
        if !self.is(Flags::NOT_OPEN) && counts == 0 && !is_behind && !has_extensions && scoreboard_is_empty {
            self.recovery_state = RecoveryState { last_reduction, ..RecoveryState::OPEN };
            pool.put(self.cold.take());
        }
    }

    /// One beyond the highest packet ever sent.
    #[inline]
    pub(super) fn snd_max(&self) -> u32 {
        if self.is_open() { self.nxt } else { self.recovery_state.snd_max }
    }

    #[inline]
    pub(super) fn try_extensions(&self) -> Option<&Extensions> {
        self.cold.as_ref()?.extensions.as_deref()
    }

    #[inline]
    pub(super) fn try_extensions_mut(&mut self) -> Option<&mut Extensions> {
        self.cold.as_mut()?.extensions.as_deref_mut()
    }

    /// The extensions, which the options require here.
    pub(super) fn extensions(&mut self) -> &mut Extensions {
        self.try_extensions_mut().expect("called only with options that need extensions")
    }

    pub(super) fn uses_rack(&self) -> bool {
        self.try_extensions().is_some_and(|extensions| extensions.rack_tlp.is_some())
    }

    /// The scoreboard; a new one starts at the first unacknowledged packet.
    #[inline]
    pub(super) fn scoreboard(&mut self) -> &mut SackScoreboard {
        debug_assert!(!self.is_open(), "the open state does not advance a scoreboard");
        let una = self.una;
        let cold = self.cold.get_or_insert_with(ColdState::new);
        cold.scoreboard.get_or_insert_with(|| SackScoreboard::new(una))
    }

    /// The same, with a box from `pool` if the sender has none.
    #[inline]
    pub(super) fn scoreboard_from(&mut self, pool: &mut ColdStatePool) -> &mut SackScoreboard {
        let una = self.una;
        self.cold.get_or_insert_with(|| pool.take(una));
        self.scoreboard()
    }

    #[inline]
    pub(super) fn try_scoreboard(&self) -> Option<&SackScoreboard> {
        self.cold.as_ref()?.scoreboard.as_ref()
    }

    #[inline]
    fn try_scoreboard_mut(&mut self) -> Option<&mut SackScoreboard> {
        self.cold.as_mut()?.scoreboard.as_mut()
    }

    /// The number of SACKed packets.
    pub(super) fn sacked(&self) -> u32 {
        self.try_scoreboard().map_or(0, SackScoreboard::sacked)
    }

    /// Drop the packets below `una` from the scoreboard.
    pub(super) fn advance_scoreboard(&mut self) {
        let una = self.una;
        if let Some(scoreboard) = self.try_scoreboard_mut() {
            scoreboard.advance(una);
        }
    }

    pub(super) fn clear_scoreboard(&mut self) {
        if let Some(scoreboard) = self.try_scoreboard_mut() {
            scoreboard.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where losses are frequent, most senders with SACK have one.
    #[test]
    fn cold_state_is_small() {
        assert!(size_of::<ColdState>() <= 88, "{} bytes", size_of::<ColdState>());
    }
}
