//! Reno (RFC 5681): a congestion event halves the window; congestion avoidance adds one packet per round
//! trip.

use super::{CongestionControl, CongestionEvent};
use sojourn_aqm::Time;

/// ssthresh after a loss: half of `base` in whole packets, at least two (RFC 5681, section 3.1, equation 4).
pub(crate) fn half(base: f64) -> f64 {
    f64::from(((base / 2.0) as u32).max(2))
}

/// RFC 5681 without state: each ACK adds 1 / cwnd (section 3.1, equation 3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reno;

impl CongestionControl for Reno {
    fn cong_avoid(&mut self, cwnd: f64, _packets: f64, _now: Time, _srtt_ns: f64) -> f64 {
        cwnd + 1.0 / cwnd
    }

    fn ssthresh(&mut self, _event: CongestionEvent, _cwnd: f64, base: f64) -> f64 {
        half(base)
    }
}

/// RFC 3465: the window grows by one packet when a whole window has been acknowledged. The count is in
/// packets and slow start has no limit L, as in Linux.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteCounting {
    counter: WindowCounter,
}

/// Packets acknowledged since the window grew last (Linux: `snd_cwnd_cnt`, `tcp_cong_avoid_ai`).
#[derive(Clone, Debug, Default)]
pub(super) struct WindowCounter(f64);

impl WindowCounter {
    /// The window after an ACK of `packets`, if it grows by one per `cnt` packets.
    pub(super) fn grow(&mut self, cwnd: f64, cnt: f64, packets: f64) -> f64 {
        let mut cwnd = cwnd;
        if self.0 >= cnt {
            self.0 = 0.0;
            cwnd += 1.0;
        }
        self.0 += packets;
        if self.0 >= cnt {
            let steps = libm::floor(self.0 / cnt);
            self.0 -= steps * cnt;
            cwnd += steps;
        }
        cwnd
    }
}

impl CongestionControl for ByteCounting {
    fn cong_avoid(&mut self, cwnd: f64, packets: f64, _now: Time, _srtt_ns: f64) -> f64 {
        self.counter.grow(cwnd, libm::floor(cwnd).max(1.0), packets)
    }

    fn ssthresh(&mut self, _event: CongestionEvent, _cwnd: f64, base: f64) -> f64 {
        self.counter = WindowCounter::default();
        half(base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_by_one_packet_a_window_acknowledged() {
        let mut counting = ByteCounting::default();
        let mut avoid = |cwnd, packets| counting.cong_avoid(cwnd, packets, Time::ZERO, 0.0);
        let mut windows = Vec::new();
        let mut cwnd = 4.0;
        for _ in 0..6 {
            cwnd = avoid(cwnd, 2.0);
            windows.push(cwnd);
        }
        // 2, 4: +1; 2, 4, 6: +1 and one left over; 3, 5: +1.
        assert_eq!(windows, [4.0, 5.0, 5.0, 5.0, 6.0, 6.0]);
        assert_eq!(avoid(6.0, 15.0), 9.0, "18 are three windows");
        assert_eq!((counting.ssthresh(CongestionEvent::Loss, 9.0, 9.0), half(1.0)), (4.0, 2.0));
    }
}
