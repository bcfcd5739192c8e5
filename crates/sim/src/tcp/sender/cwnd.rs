//! What a mark or a loss does to the window: how much is left, and not twice for one window of data.

use super::{Cut, Flags, Halve, Marks, Scoreboard, Sender, Signal};
use crate::tcp::{congestion, options::TcpOptions};

impl Sender {
    #[inline(never)]
    /// The receiver saw a mark: one cut a window of data.
    pub(super) fn on_echo(&mut self, o: &TcpOptions, next: u32) {
        let by_ns2 = o.marks == Marks::Ns2;
        let after_timeout = by_ns2 && self.recovery_state.last_cut == Cut::Timeout;
        if next <= self.cwr_end && !after_timeout {
            return;
        }
        let at_one = self.cwnd <= 1.0;
        if at_one && (self.is(Flags::MARKED_AT_ONE) || !by_ns2 && self.cwnd < 1.0) {
            self.rto.back_off(o);
        }
        if by_ns2 {
            self.recovery_state().flags.set(Flags::MARKED_AT_ONE, at_one);
        }
        if by_ns2 || !at_one {
            self.reduce(o, Signal::Mark);
        } else {
            // No window left to halve: wait for the timer before the next packet (RFC 3168, 6.1.2).
            self.cwnd = 0.5;
            self.ssthresh = 2.0;
            self.recovery_state().flags.insert(Flags::CWR);
            self.cuts += 1;
        }
        self.note_cut(Cut::Mark);
        if o.sack && o.scoreboard == Scoreboard::Sack1 && self.is(Flags::RECOVERY) {
            self.recover = self.cwr_end;
        }
    }

    /// Cut the window: to a half, or whatever the control leaves.
    pub(super) fn reduce(&mut self, o: &TcpOptions, signal: Signal) {
        let window = self.effective_window(o);
        let share = self.try_extensions().map_or(window / 2.0, |extensions| extensions.control.share(window));
        self.cut_ssthresh(o, signal);
        self.cwnd = match o.halve {
            Halve::Flight => self.ssthresh,
            Halve::Window => share,
        };
        self.inflation = 0;
        self.recovery_state().flags.insert(Flags::CWR);
        self.cuts += 1;
    }

    pub(super) fn cut_ssthresh(&mut self, o: &TcpOptions, signal: Signal) {
        let amount = match o.halve {
            Halve::Flight => {
                f64::from((self.nxt - self.una).saturating_sub(u32::from(self.recovery_state.limited)))
            }
            Halve::Window => self.effective_window(o),
        };
        let cwnd = self.cwnd;
        self.ssthresh = match self.try_extensions_mut() {
            None => congestion::half(amount),
            Some(extensions) => {
                extensions.prr.start(amount);
                extensions.control.cut(signal, cwnd, amount)
            }
        };
    }

    pub(super) fn effective_window(&self, o: &TcpOptions) -> f64 {
        (self.cwnd + f64::from(self.inflation)).min(f64::from(o.receiver_window))
    }

    pub(super) fn note_cut(&mut self, cut: Cut) {
        self.recovery_state.last_cut = cut;
        self.cwr_end = self.snd_max();
    }
}
