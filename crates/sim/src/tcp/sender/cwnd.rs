//! Reductions of the congestion window: by how much, and at most once per window of data.

use super::{CongestionEvent, Flags, Halve, Marks, Scoreboard, Sender};
use crate::tcp::{congestion, options::TcpOptions};

impl Sender {
    /// An ACK with ECE: reduce the window, at most once per window of data (RFC 3168, section 6.1.2).
    #[inline(never)]
    pub(super) fn on_ece(&mut self, o: &TcpOptions, next: u32) {
        let is_ns2 = o.marks == Marks::Ns2;
        let after_timeout = is_ns2 && self.recovery_state.last_reduction == Some(CongestionEvent::Timeout);
        if next <= self.cwr_end && !after_timeout {
            return;
        }
        let at_one = self.cwnd <= 1.0;
        if at_one && (self.is(Flags::MARKED_AT_ONE) || !is_ns2 && self.cwnd < 1.0) {
            self.rto.back_off(o);
        }
        if is_ns2 {
            self.recovery_state().flags.set(Flags::MARKED_AT_ONE, at_one);
        }
        if is_ns2 || !at_one {
            self.reduce(o, CongestionEvent::Mark);
        } else {
            // RFC 3168, section 6.1.2: at a window of one packet, the next packet is sent when the timer
            // expires.
            self.cwnd = 0.5;
            self.ssthresh = 2.0;
            self.recovery_state().flags.insert(Flags::CWR);
            self.cuts += 1;
        }
        self.note_reduction(CongestionEvent::Mark);
        if o.sack && o.scoreboard == Scoreboard::Sack1 && self.is(Flags::RECOVERY) {
            self.recover = self.cwr_end;
        }
    }

    /// Set ssthresh and the window as the congestion control answers `event`.
    pub(super) fn reduce(&mut self, o: &TcpOptions, event: CongestionEvent) {
        let window = self.effective_window(o);
        let reduced =
            self.try_extensions().map_or(window / 2.0, |extensions| extensions.control.reduced(window));
        self.set_ssthresh(o, event);
        self.cwnd = match o.halve {
            Halve::Flight => self.ssthresh,
            Halve::Window => reduced,
        };
        self.inflation = 0;
        self.recovery_state().flags.insert(Flags::CWR);
        self.cuts += 1;
    }

    /// RFC 5681, section 3.1, equation 4. Packets sent by limited transmit do not count (RFC 3042; RFC 5681,
    /// section 3.2, step 2).
    pub(super) fn set_ssthresh(&mut self, o: &TcpOptions, event: CongestionEvent) {
        let base = match o.halve {
            Halve::Flight => {
                f64::from((self.nxt - self.una).saturating_sub(u32::from(self.recovery_state.limited)))
            }
            Halve::Window => self.effective_window(o),
        };
        let cwnd = self.cwnd;
        self.ssthresh = match self.try_extensions_mut() {
            None => congestion::half(base),
            Some(extensions) => {
                extensions.prr.start(base);
                extensions.control.ssthresh(event, cwnd, base)
            }
        };
    }

    pub(super) fn effective_window(&self, o: &TcpOptions) -> f64 {
        (self.cwnd + f64::from(self.inflation)).min(f64::from(o.receiver_window))
    }

    pub(super) fn note_reduction(&mut self, event: CongestionEvent) {
        self.recovery_state.last_reduction = Some(event);
        self.cwr_end = self.snd_max();
    }
}
