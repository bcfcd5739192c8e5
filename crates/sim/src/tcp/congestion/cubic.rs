//! CUBIC (RFC 9438): the window is a cubic function of the time since the last cut, flat where that cut
//! happened, so that flows with long round trips are not left behind; never less than Reno would have.
//!
//! Slow start is Reno's: there is no HyStart, which leaves it before the first loss.

use super::Signal;

const C: f64 = 0.4;
/// What a cut leaves.
pub(super) const BETA: f64 = 0.7;
/// Reno's growth that makes up for cutting less: 3 (1 - beta) / (1 + beta).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of CUBIC, with the RFC's names; times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cubic {
    /// The window where the curve is flat.
    w_max: f64,
    /// Seconds until the curve is there.
    k: f64,
    /// When this stage of congestion avoidance began; `None` before its first acknowledgement.
    epoch: Option<u64>,
    /// When the window last grew, and whether it has not limited the sender since.
    last: u64,
    is_paused: bool,
    /// The window that Reno would have.
    w_est: f64,
    /// The window before the last cut.
    cwnd_prior: f64,
}

impl Cubic {
    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        C * d * d * d + self.w_max
    }

    /// Congestion avoidance (4.2 to 4.5).
    pub(super) fn avoid(&mut self, cwnd: f64, packets: f64, now: u64, srtt: f64) -> f64 {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.w_est = cwnd;
            if self.w_max <= cwnd {
                // After a time-out, or where slow start ended without a loss: from here upwards.
                (self.k, self.w_max) = (0.0, cwnd);
            } else {
                self.k = libm::cbrt((self.w_max - cwnd) / C);
            }
            now
        });
        let epoch = if core::mem::take(&mut self.is_paused) { epoch + (now - self.last) } else { epoch };
        (self.epoch, self.last) = (Some(epoch), now);
        self.grow_estimate(cwnd, packets);
        let t = (now - epoch) as f64 * 1e-9;
        if self.w_cubic(t) < self.w_est {
            return self.w_est.max(cwnd);
        }
        let target = self.w_cubic(t + srtt * 1e-9).clamp(cwnd, 1.5 * cwnd);
        cwnd + packets * (target - cwnd) / cwnd
    }

    /// Reno-friendly region (4.3).
    fn grow_estimate(&mut self, cwnd: f64, packets: f64) {
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        self.w_est += alpha * packets / cwnd;
    }

    /// Multiplicative decrease and fast convergence (4.6, 4.7).
    pub(super) fn cut(&mut self, signal: Signal, cwnd: f64, amount: f64) -> f64 {
        self.cwnd_prior = cwnd;
        self.w_max = match signal {
            Signal::Timeout => 0.0,
            _ if cwnd < self.w_max => cwnd * (1.0 + BETA) / 2.0,
            _ => cwnd,
        };
        (self.epoch, self.is_paused) = (None, false);
        (BETA * amount).max(2.0)
    }

    /// The window does not limit: t stands still until it grows again (5.8).
    pub(super) fn pause(&mut self) {
        self.is_paused = self.epoch.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_at(cwnd: f64) -> Cubic {
        let mut cubic = Cubic::default();
        assert!((cubic.cut(Signal::Loss, cwnd, cwnd) - 0.7 * cwnd).abs() < 1e-12);
        cubic
    }

    /// TV5: a window of 100 is cut to 70; what the curve is t seconds later, and how Reno would grow with a
    /// round trip of 0.1 s.
    #[test]
    fn the_curve_and_renos_window_are_those_of_the_vector() {
        let mut cubic = cut_at(100.0);
        cubic.avoid(70.0, 0.0, 0, 0.0);
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
                cubic.grow_estimate(70.0, 70.0); // a window acknowledged
                round += 1;
            }
            assert!((cubic.w_cubic(f64::from(t)) - w_cubic).abs() < 5e-7, "{t} s");
            // Reno's window crosses 100 within a round trip: the vector splits that one.
            let split = if t > 4 { 1.0 - ALPHA } else { 0.0 };
            assert!((cubic.w_est - w_est).abs() < split + 5e-7, "{t} s: {}", cubic.w_est);
        }
    }

    /// Driven by acknowledgements of a window each, the window follows the curve from below, one round trip
    /// behind at most, and never leaves Reno's behind.
    #[test]
    fn the_window_follows_the_curve() {
        let mut cubic = cut_at(100.0);
        let mut cwnd = 70.0;
        let rtt = 1e-2;
        let mut now = 0;
        while now < 8_000_000_000u64 {
            for _ in 0..10 {
                cwnd = cubic.avoid(cwnd, cwnd / 10.0, now, rtt * 1e9);
                now += 1_000_000;
            }
            let t = now as f64 * 1e-9;
            let (low, high) = (cubic.w_cubic(t - 2.0 * rtt), cubic.w_cubic(t + rtt));
            assert!(cwnd >= cubic.w_est.min(low) - 1e-9, "{cwnd} at {t}");
            assert!(cwnd <= high.max(cubic.w_est) + 1e-9, "{cwnd} at {t}");
        }
        assert!(cwnd > 150.0, "Reno's window won: {cwnd}");
    }

    #[test]
    fn fast_convergence_lowers_the_plateau_but_not_the_prior_window() {
        let mut cubic = cut_at(100.0);
        cubic.cut(Signal::Mark, 80.0, 80.0);
        assert_eq!((cubic.w_max, cubic.cwnd_prior), (68.0, 80.0));
        cubic.cut(Signal::Loss, 90.0, 90.0);
        assert_eq!(cubic.w_max, 90.0);
    }

    #[test]
    fn without_a_plateau_above_it_rises_from_where_it_is() {
        let mut cubic = cut_at(100.0);
        assert_eq!(cubic.cut(Signal::Timeout, 100.0, 100.0), 70.0);
        cubic.avoid(70.0, 1.0, 5, 0.0);
        assert_eq!((cubic.k, cubic.w_max), (0.0, 70.0));
        let mut first = Cubic::default();
        first.avoid(30.0, 1.0, 5, 0.0);
        assert_eq!((first.k, first.w_max), (0.0, 30.0));
        assert_eq!(cut_at(100.0).cut(Signal::Loss, 1.0, 1.0), 2.0);
    }

    #[test]
    fn time_stands_still_while_the_window_does_not_limit() {
        let second = 1_000_000_000;
        let (mut paused, mut steady) = (cut_at(100.0), cut_at(100.0));
        for cubic in [&mut paused, &mut steady] {
            cubic.avoid(70.0, 1.0, second, 1e8);
            cubic.avoid(71.0, 1.0, 2 * second, 1e8);
        }
        paused.pause();
        assert_eq!(paused.avoid(72.0, 1.0, 60 * second, 1e8), steady.avoid(72.0, 1.0, 2 * second, 1e8));
        assert_eq!(paused.avoid(73.0, 1.0, 61 * second, 1e8), steady.avoid(73.0, 1.0, 3 * second, 1e8));
    }

    #[test]
    fn a_target_is_at_most_half_a_window_above() {
        let mut cubic = cut_at(100.0);
        cubic.avoid(70.0, 0.0, 0, 0.0);
        assert_eq!(cubic.avoid(70.0, 1.0, 1_000_000_000, 60e9), 70.0 + 35.0 / 70.0);
    }
}
