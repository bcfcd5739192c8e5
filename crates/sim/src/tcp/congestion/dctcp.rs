//! DCTCP (RFC 8257): the window is cut by half of the share of packets that were marked, so a few marks
//! cost little and a steady trickle of them holds a shallow queue. With ECT(1) it is the scalable sender of
//! L4S (RFC 9331). Growth and losses are Reno's.

use super::{Signal, reno};

/// Weight of the newest window in alpha.
const G: f64 = 1.0 / 16.0;

/// The state of DCTCP, with the RFC's names.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    /// Estimate of the share of packets that are marked.
    alpha: f64,
    /// Packets acknowledged in this observation window, and those of them that were marked.
    acked: f64,
    marked: f64,
    /// The window ends when this packet is acknowledged.
    window_end: u32,
    /// Whole windows towards the next packet.
    counted: reno::Counted,
}

impl Default for Dctcp {
    /// Alpha starts at 1: the first mark is answered as a loss (3.3).
    fn default() -> Dctcp {
        Dctcp { alpha: 1.0, acked: 0.0, marked: 0.0, window_end: 0, counted: reno::Counted::default() }
    }
}

impl Dctcp {
    /// Count, and estimate alpha anew once a window of data is acknowledged (3.3).
    pub(super) fn acknowledged(&mut self, packets: u32, echo: bool, una: u32, nxt: u32) {
        self.acked += f64::from(packets);
        if echo {
            self.marked += f64::from(packets);
        }
        if una > self.window_end && self.acked > 0.0 {
            self.alpha = (1.0 - G) * self.alpha + G * self.marked / self.acked;
            (self.acked, self.marked) = (0.0, 0.0);
            self.window_end = nxt;
        }
    }

    pub(super) fn avoid(&mut self, cwnd: f64, packets: f64) -> f64 {
        self.counted.avoid(cwnd, packets)
    }

    pub(super) fn share(&self, window: f64) -> f64 {
        window * (1.0 - self.alpha / 2.0)
    }

    /// A mark costs alpha / 2 of the window (3.4), a loss half of it (3.5).
    pub(super) fn cut(&mut self, signal: Signal, cwnd: f64, amount: f64) -> f64 {
        match signal {
            Signal::Mark => self.share(cwnd).max(2.0),
            Signal::Loss | Signal::Timeout => self.counted.cut(amount),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: alpha 1, then windows of ten packets with 0, 5 and 10 marked.
    #[test]
    fn alpha_is_a_moving_average_of_the_share_of_marks() {
        let mut dctcp = Dctcp::default();
        dctcp.acknowledged(1, true, 1, 10); // ends the empty first window: 15/16 + 1/16
        assert_eq!(dctcp.alpha, 1.0);
        let mut una = 1;
        let mut alphas = Vec::new();
        for marked in [0, 5, 10] {
            for i in 0..5 {
                una += 2;
                dctcp.acknowledged(2, 2 * i < marked, una, una + 9);
            }
            alphas.push(dctcp.alpha);
        }
        // 0.9375; 15/16 of it + 6/10 of 1/16 (acknowledgements of two: 0, 2, 4); 15/16 of that + 1/16.
        for (alpha, expected) in alphas.into_iter().zip([0.9375, 0.916_406_25, 0.921_630_859_375]) {
            assert!((alpha - expected).abs() < 1e-12, "{alpha} {expected}");
        }
    }

    #[test]
    fn a_mark_costs_half_of_alpha_and_a_loss_half() {
        let mut dctcp = Dctcp { alpha: 0.25, ..Dctcp::default() };
        assert_eq!(dctcp.cut(Signal::Mark, 20.0, 19.0), 17.5);
        assert_eq!(dctcp.cut(Signal::Loss, 20.0, 19.0), 9.0);
        assert_eq!(dctcp.cut(Signal::Mark, 2.0, 2.0), 2.0);
        assert_eq!(Dctcp::default().cut(Signal::Mark, 20.0, 19.0), 10.0, "the first mark halves");
    }

    #[test]
    fn a_window_ends_once_all_that_was_out_at_its_start_is_acknowledged() {
        let mut dctcp = Dctcp { alpha: 0.0, window_end: 10, ..Dctcp::default() };
        dctcp.acknowledged(10, true, 10, 30);
        assert_eq!(dctcp.alpha, 0.0);
        dctcp.acknowledged(1, true, 11, 31);
        assert_eq!((dctcp.alpha, dctcp.window_end), (0.0625, 31));
    }
}
