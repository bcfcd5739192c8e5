//! LEDBAT (RFC 6817): background transfers that keep the queue at a target by the delay of their own packets,
//! and so yield to others. `docs/ledbat.md` has the rules and the differences.

use super::{AckEvent, CongestionControl, CongestionEvent, GrowEvent, delays::Delays, half};
use sojourn_aqm::{Span, Time};

/// Queuing delay that it steers at; 100 ms are the most that section 2.5 allows.
const TARGET: Span = Span(100_000_000);
/// Packets per round trip by which the window grows in an empty queue, at most 1 (section 2.5).
const GAIN: f64 = 1.0;
/// Packets by which the window may exceed the packets in flight.
const ALLOWED_INCREASE: f64 = 1.0;
pub(super) const MIN_CWND: f64 = 2.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Ledbat {
    one_way: Delays,
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, ack: &AckEvent) -> bool {
        if let Some(delay) = ack.one_way {
            self.one_way.on_sample(delay, ack.now);
        }
        false
    }

    /// Section 2.4.2, "on acknowledgement". ssthresh follows the window: there is no slow start.
    fn grow(&mut self, growth: &GrowEvent) -> Option<(f64, f64)> {
        let GrowEvent { cwnd, ssthresh, packets, una, nxt, .. } = *growth;
        let Some((_, queuing)) = self.one_way.base_and_queuing() else { return Some((cwnd, ssthresh)) };
        let off_target = 1.0 - queuing.0 as f64 / TARGET.0 as f64;
        let in_flight = f64::from(nxt - una) + packets;
        let window = cwnd + GAIN * off_target * packets / cwnd;
        let window = window.min(in_flight + ALLOWED_INCREASE).max(MIN_CWND);
        Some((window, ssthresh.min(window)))
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

    /// The window after four samples of `ms`, with a base of 50 ms, and an ACK of one of `in_flight` packets.
    fn after(cwnd: f64, ms: u64, in_flight: u32) -> f64 {
        let mut ledbat = Ledbat::default();
        for ms in [50, ms, ms, ms, ms] {
            let one_way = Some(Span::from_millis(ms));
            ledbat.on_ack(&AckEvent { one_way, rtt: Some(Span(1)), ..AckEvent::default() });
        }
        let growth = GrowEvent {
            cwnd,
            ssthresh: 1000.0,
            packets: 1.0,
            una: 101,
            nxt: 100 + in_flight,
            ..GrowEvent::default()
        };
        let (window, ssthresh) = ledbat.grow(&growth).unwrap();
        assert_eq!(ssthresh, window);
        window
    }

    /// By hand, 20 packets: queuing delays of 0, 50, 100 and 200 ms are +1, +1/2, 0 and -1 packet per round
    /// trip, a twentieth of it per ACK.
    #[test]
    fn the_window_moves_in_proportion_to_the_distance_from_the_target() {
        let windows = [50, 100, 150, 250].map(|ms| after(20.0, ms, 20));
        assert_eq!(windows, [20.05, 20.025, 20.0, 19.95]);
    }

    #[test]
    fn the_window_is_two_packets_at_least_and_one_above_those_in_flight_at_most() {
        assert_eq!(after(2.0, 3_000, 2), 2.0);
        assert_eq!(after(1.0, 50, 2), 2.0);
        assert_eq!(after(20.0, 50, 7), 8.0);
    }

    #[test]
    fn without_a_sample_nothing_changes() {
        let growth = GrowEvent { cwnd: 5.0, ssthresh: 9.0, packets: 1.0, ..GrowEvent::default() };
        assert_eq!(Ledbat::default().grow(&growth), Some((5.0, 9.0)));
    }
}
