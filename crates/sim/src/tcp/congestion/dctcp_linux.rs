//! DCTCP as in Linux 6.1 (`tcp_dctcp.c`), in whole packets and 1024ths: RFC 8257 with what integers leave of
//! it.
//!
//! A share of marks below 1/64 of a window adds nothing to alpha, alpha below 16 becomes 0 at the next window
//! without a larger share, and a cut of less than a packet is none. So with windows of more than 64 packets
//! it takes several marks in a round trip where real numbers need two.

use super::{AckEvent, CongestionControl, CongestionEvent, reno::ByteCounting};
use sojourn_aqm::Time;

/// `DCTCP_MAX_ALPHA`: all packets are marked.
const ALL: u32 = 1024;
/// Base-2 logarithm of 1 / g (`dctcp_shift_g`).
const G: u32 = 4;

/// The variables of `struct dctcp`.
#[derive(Clone, Debug)]
pub(crate) struct DctcpLinux {
    /// Estimated share of marked packets.
    alpha: u32,
    /// Packets delivered in this observation window, and those among them that were marked.
    delivered: u32,
    marked: u32,
    /// The observation window ends when all packets below this one are acknowledged (`next_seq`).
    window_end: u32,
    growth: ByteCounting,
}

impl Default for DctcpLinux {
    /// `dctcp_alpha_on_init`: the first mark halves the window.
    fn default() -> DctcpLinux {
        DctcpLinux { alpha: ALL, delivered: 0, marked: 0, window_end: 0, growth: ByteCounting::default() }
    }
}

impl DctcpLinux {
    /// The window after a mark, without a minimum.
    fn after_mark(&self, cwnd: u32) -> u32 {
        cwnd - ((u64::from(cwnd) * u64::from(self.alpha)) >> 11) as u32
    }
}

impl CongestionControl for DctcpLinux {
    /// `dctcp_update_alpha`, which precedes the counters of the ACK.
    fn on_ack(&mut self, ack: &AckEvent) -> bool {
        if ack.una >= self.window_end {
            // alpha - min_not_zero(alpha, alpha >> g)
            self.alpha -= if self.alpha < 1 << G { self.alpha } else { self.alpha >> G };
            let share = (u64::from(self.marked) << (10 - G)) / u64::from(self.delivered.max(1));
            self.alpha = (self.alpha + share as u32).min(ALL);
            (self.delivered, self.marked, self.window_end) = (0, 0, ack.nxt);
        }
        self.delivered += ack.packets;
        self.marked += ack.marked;
        false
    }

    fn cong_avoid(&mut self, cwnd: f64, packets: f64, now: Time, srtt_ns: f64) -> f64 {
        self.growth.cong_avoid(cwnd, packets, now, srtt_ns)
    }

    /// `dctcp_ssthresh`, and `dctcp_react_to_loss` for a loss and a timeout.
    fn ssthresh(&mut self, event: CongestionEvent, cwnd: f64, _base: f64) -> f64 {
        let cwnd = cwnd as u32;
        let left = if event == CongestionEvent::Mark { self.after_mark(cwnd) } else { cwnd / 2 };
        f64::from(left.max(2))
    }

    fn reduced(&self, window: f64) -> f64 {
        f64::from(self.after_mark(window as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 100 packets, with this many marked in each; alpha after each.
    fn alphas(start: u32, marked: &[u32]) -> Vec<u32> {
        let mut dctcp = DctcpLinux { alpha: start, window_end: 1, ..DctcpLinux::default() };
        let mut found = Vec::new();
        for (i, marked) in (0..).zip(marked) {
            let una = 100 * i;
            dctcp.on_ack(&AckEvent {
                packets: 100,
                marked: *marked,
                una,
                nxt: una + 100,
                ..AckEvent::default()
            });
            dctcp.window_end = una + 100;
            dctcp.on_ack(&AckEvent { una: una + 100, nxt: una + 200, ..AckEvent::default() });
            found.push(dctcp.alpha);
            (dctcp.delivered, dctcp.marked, dctcp.window_end) = (0, 0, una + 300);
        }
        found
    }

    /// By hand: 1024 - 64; 960 - 60 + 64 * 50 / 100; 932 - 58 + 64.
    #[test]
    fn alpha_is_a_moving_average_in_1024ths() {
        assert_eq!(alphas(1024, &[0, 50, 100]), [960, 932, 938]);
    }

    /// 64 * 1 / 100 is 0; 20 - 1; below 16 nothing is left, but 64 * 2 / 100 is added.
    #[test]
    fn small_shares_are_lost() {
        assert_eq!(alphas(20, &[1, 1, 1, 1, 1]), [19, 18, 17, 16, 15]);
        assert_eq!(alphas(15, &[1, 2, 2]), [0, 1, 1]);
        assert_eq!(alphas(32, &[2, 2, 2]), [31, 31, 31]);
    }

    /// 100 * 20 / 2048 is less than a packet, 21 is not.
    #[test]
    fn a_mark_costs_whole_packets() {
        let mut dctcp = DctcpLinux { alpha: 20, ..DctcpLinux::default() };
        assert_eq!(dctcp.ssthresh(CongestionEvent::Mark, 100.7, 0.0), 100.0);
        dctcp.alpha = 21;
        assert_eq!(dctcp.ssthresh(CongestionEvent::Mark, 100.7, 0.0), 99.0);
        assert_eq!(dctcp.ssthresh(CongestionEvent::Loss, 101.0, 80.0), 50.0);
        dctcp.alpha = ALL;
        assert_eq!(dctcp.ssthresh(CongestionEvent::Mark, 3.0, 3.0), 2.0);
    }

    /// The ACK that ends a window belongs to the next one.
    #[test]
    fn the_last_ack_is_counted_in_the_next_window() {
        let mut dctcp = DctcpLinux { alpha: 0, window_end: 10, ..DctcpLinux::default() };
        dctcp.on_ack(&AckEvent { packets: 9, marked: 0, una: 9, nxt: 20, ..AckEvent::default() });
        dctcp.on_ack(&AckEvent { packets: 1, marked: 1, una: 10, nxt: 21, ..AckEvent::default() });
        assert_eq!((dctcp.alpha, dctcp.delivered, dctcp.marked, dctcp.window_end), (0, 1, 1, 21));
    }
}
