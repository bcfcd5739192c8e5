//! CUBIC (RFC 9438): the window is a cubic function of the time since the last congestion event, so that
//! growth does not depend on the round-trip time, and never smaller than Reno's would be.
//!
//! Slow start is that of RFC 5681 (RFC 9438, section 4.10, permits it); HyStart++ is not implemented.

use super::{CongestionControl, CongestionEvent};
use sojourn_aqm::Time;

/// The RFC's constant C, in packets per second cubed.
const C: f64 = 0.4;
/// The RFC's beta_cubic: the share of the window that a congestion event leaves.
const BETA: f64 = 0.7;
/// The RFC's alpha_cubic: with this increment a Reno-like window that is cut to `BETA` averages as much as
/// Reno's.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The variables of RFC 9438, section 4.1.2.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cubic {
    /// The plateau of the curve, in packets.
    w_max: f64,
    /// Time from the start of the epoch to the plateau, in seconds.
    k: f64,
    /// Start of the current congestion-avoidance stage; `None` before its first ACK.
    epoch_start: Option<Time>,
    /// When the window grew last.
    last_growth: Time,
    /// The flow has been application-limited since `last_growth`.
    is_app_limited: bool,
    /// The window that Reno would have.
    w_est: f64,
    /// The window before the last reduction.
    cwnd_prior: f64,
}

impl Cubic {
    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        C * d * d * d + self.w_max
    }

    /// Section 4.3: W_est grows by alpha_cubic per window, by 1 once it has reached the window before the
    /// cut.
    fn grow_w_est(&mut self, cwnd: f64, packets: f64) {
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        self.w_est += alpha * packets / cwnd;
    }
}

impl CongestionControl for Cubic {
    /// Sections 4.2 to 4.5.
    fn cong_avoid(&mut self, cwnd: f64, packets: f64, now: Time, srtt_ns: f64) -> f64 {
        let epoch_start = *self.epoch_start.get_or_insert_with(|| {
            self.w_est = cwnd;
            if self.w_max <= cwnd {
                // Sections 4.8 and 4.10: after a timeout, or after slow start without a loss, K is 0.
                (self.k, self.w_max) = (0.0, cwnd);
            } else {
                self.k = libm::cbrt((self.w_max - cwnd) / C);
            }
            now
        });
        // Section 5.8: application-limited time does not advance the curve.
        let was_app_limited = core::mem::take(&mut self.is_app_limited);
        let epoch_start = if was_app_limited { epoch_start + (now - self.last_growth) } else { epoch_start };
        (self.epoch_start, self.last_growth) = (Some(epoch_start), now);
        self.grow_w_est(cwnd, packets);
        let t = (now - epoch_start).as_secs_f64();
        if self.w_cubic(t) < self.w_est {
            return self.w_est.max(cwnd); // the Reno-friendly region
        }
        let target = self.w_cubic(t + srtt_ns * 1e-9).clamp(cwnd, 1.5 * cwnd);
        cwnd + packets * (target - cwnd) / cwnd
    }

    /// Sections 4.6 (multiplicative decrease), 4.7 (fast convergence) and 4.8 (timeout).
    fn ssthresh(&mut self, event: CongestionEvent, cwnd: f64, base: f64) -> f64 {
        self.cwnd_prior = cwnd;
        self.w_max = match event {
            CongestionEvent::Timeout => 0.0,
            _ if cwnd < self.w_max => cwnd * (1.0 + BETA) / 2.0,
            _ => cwnd,
        };
        (self.epoch_start, self.is_app_limited) = (None, false);
        (BETA * base).max(2.0)
    }

    fn reduced(&self, window: f64) -> f64 {
        BETA * window
    }

    fn on_app_limited(&mut self) {
        self.is_app_limited = self.epoch_start.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Span;

    fn cut_at(cwnd: f64) -> Cubic {
        let mut cubic = Cubic::default();
        assert!((cubic.ssthresh(CongestionEvent::Loss, cwnd, cwnd) - 0.7 * cwnd).abs() < 1e-12);
        cubic
    }

    /// Vector TV5: a window of 100 is cut to 70. W_cubic(t), and W_est with a round trip of 0.1 s.
    #[test]
    fn w_cubic_and_w_est_match_the_vector() {
        let mut cubic = cut_at(100.0);
        cubic.cong_avoid(70.0, 0.0, Time::ZERO, 0.0);
        assert!((cubic.k - 4.21716333).abs() < 5e-9);
        let rows = [
            (0, 70.0, 70.0),
            (1, 86.6807638, 75.2941176),
            (2, 95.6403357, 80.5882353),
            (4, 99.9959034, 91.1764706),
            (6, 102.266703, 103.333333),
            (8, 121.652735, 123.333333),
        ];
        let mut round = 0;
        for (t, w_cubic, w_est) in rows {
            while round < 10 * t {
                cubic.grow_w_est(70.0, 70.0); // ACKs of a whole window
                round += 1;
            }
            assert!((cubic.w_cubic(f64::from(t)) - w_cubic).abs() < 5e-7, "{t} s");
            // W_est reaches cwnd_prior within a round trip; the vector splits that round trip.
            let split = if t > 4 { 1.0 - ALPHA } else { 0.0 };
            assert!((cubic.w_est - w_est).abs() < split + 5e-7, "{t} s: {}", cubic.w_est);
        }
    }

    /// Ten ACKs a round trip: the window lags the curve by at most one round trip and is at least W_est.
    #[test]
    fn the_window_follows_the_curve() {
        let mut cubic = cut_at(100.0);
        let mut cwnd = 70.0;
        let rtt = 1e-2;
        let mut now = Time::ZERO;
        while now < Time(8_000_000_000) {
            for _ in 0..10 {
                cwnd = cubic.cong_avoid(cwnd, cwnd / 10.0, now, rtt * 1e9);
                now += Span::from_millis(1);
            }
            let t = now.as_secs_f64();
            let (low, high) = (cubic.w_cubic(t - 2.0 * rtt), cubic.w_cubic(t + rtt));
            assert!(cwnd >= cubic.w_est.min(low) - 1e-9, "{cwnd} at {t}");
            assert!(cwnd <= high.max(cubic.w_est) + 1e-9, "{cwnd} at {t}");
        }
        assert!(cwnd > 150.0, "{cwnd}: still in the Reno-friendly region");
    }

    #[test]
    fn fast_convergence_lowers_the_plateau_but_not_the_prior_window() {
        let mut cubic = cut_at(100.0);
        cubic.ssthresh(CongestionEvent::Mark, 80.0, 80.0);
        assert_eq!((cubic.w_max, cubic.cwnd_prior), (68.0, 80.0));
        cubic.ssthresh(CongestionEvent::Loss, 90.0, 90.0);
        assert_eq!(cubic.w_max, 90.0);
    }

    #[test]
    fn without_a_plateau_above_k_is_zero() {
        let mut cubic = cut_at(100.0);
        assert_eq!(cubic.ssthresh(CongestionEvent::Timeout, 100.0, 100.0), 70.0);
        cubic.cong_avoid(70.0, 1.0, Time(5), 0.0);
        assert_eq!((cubic.k, cubic.w_max), (0.0, 70.0));
        let mut first = Cubic::default();
        first.cong_avoid(30.0, 1.0, Time(5), 0.0);
        assert_eq!((first.k, first.w_max), (0.0, 30.0));
        assert_eq!(cut_at(100.0).ssthresh(CongestionEvent::Loss, 1.0, 1.0), 2.0);
    }

    #[test]
    fn application_limited_time_does_not_advance_the_curve() {
        let at = |seconds: u64| Time(seconds * 1_000_000_000);
        let (mut limited, mut steady) = (cut_at(100.0), cut_at(100.0));
        for cubic in [&mut limited, &mut steady] {
            cubic.cong_avoid(70.0, 1.0, at(1), 1e8);
            cubic.cong_avoid(71.0, 1.0, at(2), 1e8);
        }
        limited.on_app_limited();
        assert_eq!(limited.cong_avoid(72.0, 1.0, at(60), 1e8), steady.cong_avoid(72.0, 1.0, at(2), 1e8));
        assert_eq!(limited.cong_avoid(73.0, 1.0, at(61), 1e8), steady.cong_avoid(73.0, 1.0, at(3), 1e8));
    }

    #[test]
    fn a_target_is_at_most_half_a_window_above() {
        let mut cubic = cut_at(100.0);
        cubic.cong_avoid(70.0, 0.0, Time::ZERO, 0.0);
        assert_eq!(cubic.cong_avoid(70.0, 1.0, Time(1_000_000_000), 60e9), 70.0 + 35.0 / 70.0);
    }
}
