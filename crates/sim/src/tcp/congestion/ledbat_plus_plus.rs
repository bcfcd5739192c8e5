//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT by round trips, with a gain that depends on the base
//! delay, a multiplicative decrease, and slowdowns in which the base delay can be seen. `docs/ledbat.md` has
//! the rules and the differences.

use super::{
    AckEvent, CongestionControl, CongestionEvent, GrowEvent, delays::Delays, half, ledbat::MIN_CWND,
};
use sojourn_aqm::{Span, Time};

/// Queuing delay that it steers at, in nanoseconds.
const TARGET: u64 = 60_000_000;
/// Queuing delay that ends the first slow start.
const SLOW_START_END: u64 = TARGET / 4 * 3;
const MIN_GAIN: f64 = 1.0 / 16.0;
/// Round trips between the first slow start and the first slowdown, and of a slowdown before slow start.
const WAIT: u64 = 2;
/// Durations of a slowdown from its end to the next one.
const INTERVAL: u64 = 9;

/// Where the connection is between two slowdowns.
#[derive(Clone, Copy, Debug, Default)]
enum Cycle {
    /// The first slow start.
    #[default]
    Opening,
    /// The next slowdown is at this time.
    Steady(Time),
    /// Two packets until `held`, then slow start to ssthresh, the window before.
    Slowdown { began: Time, held: Time },
}

#[derive(Clone, Debug, Default)]
pub(super) struct LedbatPlusPlus {
    round_trips: Delays,
    cycle: Cycle,
}

fn gain(base: Span) -> f64 {
    (1.0 / (2 * TARGET).div_ceil(base.0.max(1)) as f64).max(MIN_GAIN)
}

fn after(now: Time, count: u64, span: Span) -> Time {
    now + Span(span.0.saturating_mul(count))
}

impl Cycle {
    /// The window has reached ssthresh.
    fn settle(self, now: Time, round_trip: Span) -> Cycle {
        match self {
            Cycle::Opening => Cycle::Steady(after(now, WAIT, round_trip)),
            Cycle::Slowdown { began, .. } => Cycle::Steady(after(now, INTERVAL, now - began)),
            Cycle::Steady(_) => self,
        }
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn on_ack(&mut self, ack: &AckEvent) -> bool {
        if let Some(rtt) = ack.rtt {
            self.round_trips.on_sample(rtt, ack.now);
        }
        false
    }

    fn grow(&mut self, growth: &GrowEvent) -> Option<(f64, f64)> {
        let GrowEvent { now, cwnd, mut ssthresh, packets, is_limited, .. } = *growth;
        let Some((base, queuing)) = self.round_trips.base_and_queuing() else {
            return Some((cwnd, ssthresh));
        };
        let (gain, round_trip) = (gain(base), Span(base.0 + queuing.0));
        match self.cycle {
            Cycle::Slowdown { held, .. } if now < held => return Some((cwnd, ssthresh)),
            Cycle::Steady(slowdown) if now >= slowdown && cwnd >= ssthresh => {
                self.cycle = Cycle::Slowdown { began: now, held: after(now, WAIT, round_trip) };
                return Some((MIN_CWND, cwnd.max(MIN_CWND)));
            }
            Cycle::Opening if queuing.0 > SLOW_START_END => ssthresh = ssthresh.min(cwnd.max(MIN_CWND)),
            _ => {}
        }
        let per_round_trip = if queuing.0 > TARGET {
            (gain - cwnd * (queuing.0 as f64 / TARGET as f64 - 1.0)).max(-cwnd / 2.0)
        } else {
            gain
        };
        let window = match per_round_trip {
            step if step > 0.0 && !is_limited => cwnd,
            _ if cwnd < ssthresh => (cwnd + gain * packets).min(ssthresh),
            step => (cwnd + step * packets.min(cwnd) / cwnd).max(MIN_CWND),
        };
        if window >= ssthresh || cwnd >= ssthresh {
            self.cycle = self.cycle.settle(now, round_trip);
            ssthresh = ssthresh.min(window);
        }
        Some((window, ssthresh))
    }

    fn ssthresh(&mut self, _event: CongestionEvent, _cwnd: f64, base: f64) -> f64 {
        half(base)
    }

    fn cong_avoid(&mut self, cwnd: f64, _packets: f64, _now: Time, _srtt_ns: f64) -> f64 {
        cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE_MS: u64 = 50;

    /// A connection at `ms` after its begin whose last round trips were `BASE_MS` and `rtt_ms`.
    struct Path {
        control: LedbatPlusPlus,
        windows: (f64, f64),
    }

    impl Path {
        fn new(cycle: Cycle, cwnd: f64, ssthresh: f64) -> Path {
            let mut round_trips = Delays::default();
            round_trips.on_sample(Span::from_millis(BASE_MS), Time::ZERO);
            Path { control: LedbatPlusPlus { round_trips, cycle }, windows: (cwnd, ssthresh) }
        }

        /// Four ACKs before this one had the same round trip.
        fn ack(&mut self, at_ms: u64, rtt_ms: u64) -> (f64, f64) {
            let now = Time(at_ms * 1_000_000);
            for _ in 0..4 {
                let rtt = Some(Span::from_millis(rtt_ms));
                self.control.on_ack(&AckEvent { now, rtt, ..AckEvent::default() });
            }
            let (cwnd, ssthresh) = self.windows;
            let growth =
                GrowEvent { now, cwnd, ssthresh, packets: 1.0, is_limited: true, ..GrowEvent::default() };
            self.windows = self.control.grow(&growth).unwrap();
            self.windows
        }
    }

    fn near(is: f64, expected: f64) {
        assert!((is - expected).abs() < 1e-9, "{is}, not {expected}");
    }

    /// By hand: 120 ms / 50 ms, rounded up, is 3; 120 / 5 is 24, so 16; 120 / 200 is 1.
    #[test]
    fn the_gain_is_that_of_the_base_delay() {
        assert_eq!(
            [50, 5, 200, 120].map(|ms| gain(Span::from_millis(ms))),
            [1.0 / 3.0, 1.0 / 16.0, 1.0, 1.0]
        );
        assert_eq!(gain(Span::ZERO), 1.0 / 16.0);
    }

    /// By hand, 30 packets and a gain of 1/3: below the target a third of a packet per round trip; 90 ms are
    /// half above it, 1/3 - 15 packets; 180 ms would be 1/3 - 60, at most a half is 15.
    #[test]
    fn the_window_decreases_by_a_share_above_the_target() {
        for (queuing, per_round_trip) in
            [(30, 1.0 / 3.0), (60, 1.0 / 3.0), (90, 1.0 / 3.0 - 15.0), (180, -15.0)]
        {
            let (window, ssthresh) =
                Path::new(Cycle::Steady(Time::NEVER), 30.0, 20.0).ack(0, BASE_MS + queuing);
            near(window, 30.0 + per_round_trip / 30.0);
            assert_eq!(ssthresh, 20.0);
        }
        let windows = Path::new(Cycle::Steady(Time::NEVER), 2.0, 2.0).ack(0, 900);
        assert_eq!(windows, (2.0, 2.0));
    }

    /// Slow start adds a third of a packet per packet; above 45 ms it ends, and two round trips of 100 ms
    /// later the first slowdown begins. It holds two packets for two round trips of 50 ms, and 30 packets are
    /// reached after 300 ms; the next one is 2700 ms later.
    #[test]
    fn slowdowns_follow_the_first_slow_start_and_each_other() {
        let mut path = Path::new(Cycle::Opening, 29.0, 1000.0);
        near(path.ack(1_000, BASE_MS + 45).0, 29.0 + 1.0 / 3.0);
        path.windows = (30.0, 1000.0);
        let (window, ssthresh) = path.ack(2_000, 100);
        near(window, 30.0 + 1.0 / 90.0);
        assert_eq!(ssthresh, 30.0);
        path.windows = (30.0, 30.0);
        path.control.cycle = Cycle::Steady(Time(2_200_000_000));
        assert!(path.ack(2_199, 100).0 > 30.0);
        path.windows = (30.0, 30.0);
        assert_eq!(path.ack(2_200, 50), (2.0, 30.0));
        assert_eq!(path.ack(2_299, 50), (2.0, 30.0));
        near(path.ack(2_300, 50).0, 2.0 + 1.0 / 3.0);
        path.windows.0 = 29.9;
        assert_eq!(path.ack(2_500, 50), (30.0, 30.0));
        let Cycle::Steady(next) = path.control.cycle else { panic!("{:?}", path.control.cycle) };
        assert_eq!(next, Time(5_200_000_000));
    }

    #[test]
    fn the_first_slowdown_is_two_round_trips_after_slow_start_or_a_loss() {
        for (rtt_ms, ssthresh) in [(100, 1000.0), (60, 30.0)] {
            let mut path = Path::new(Cycle::Opening, 30.0, ssthresh);
            path.ack(1_000, rtt_ms);
            let Cycle::Steady(slowdown) = path.control.cycle else { panic!("{:?}", path.control.cycle) };
            assert_eq!(slowdown, Time((1_000 + 2 * rtt_ms) * 1_000_000));
        }
    }

    #[test]
    fn an_idle_application_does_not_grow_the_window() {
        let mut path = Path::new(Cycle::Steady(Time::NEVER), 30.0, 20.0);
        let growth = |cwnd| GrowEvent { cwnd, ssthresh: 20.0, packets: 1.0, ..GrowEvent::default() };
        assert_eq!(path.control.grow(&growth(30.0)), Some((30.0, 20.0)));
        path.ack(0, 50 + 180);
        assert!(path.control.grow(&growth(30.0)).unwrap().0 < 30.0);
    }
}
