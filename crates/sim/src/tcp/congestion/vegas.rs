//! Vegas as in Linux 6.1 (`tcp_vegas.c`): once per round trip the window grows or shrinks by a packet, so
//! that two to four packets wait in the queue. `docs/vegas-westwood.md` has the rules; the names in
//! parentheses are those of Linux.

use super::{AckEvent, CongestionControl, CongestionEvent, GrowEvent, OpenEvent, Phase, reno::ByteCounting};
use sojourn_aqm::Time;

/// Packets in the queue below which the window grows, and above which it shrinks.
const ALPHA: u64 = 2;
const BETA: u64 = 4;
/// Packets in the queue that end slow start.
const GAMMA: u64 = 1;
/// Samples of a round trip above which one of them is surely not of a delayed ACK.
const FEW_SAMPLES: u32 = 2;

/// `struct vegas`; times in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    is_active: bool,
    /// The round trip ends when a packet above this one is acknowledged (`beg_snd_nxt`).
    round_end: u32,
    samples: u32,
    /// The shortest round trip of this round trip, and of the connection (`minRTT`, `baseRTT`).
    min_rtt_us: u64,
    base_rtt_us: u64,
    /// The first unacknowledged packet.
    una: u32,
    reno: ByteCounting,
}

impl Default for Vegas {
    fn default() -> Vegas {
        Vegas {
            is_active: true,
            round_end: 0,
            samples: 0,
            min_rtt_us: u64::MAX,
            base_rtt_us: u64::MAX,
            una: 0,
            reno: ByteCounting::default(),
        }
    }
}

impl Vegas {
    /// Measure from packet `nxt` on (`vegas_enable`).
    fn begin(&mut self, nxt: u32) {
        (self.is_active, self.round_end) = (true, nxt);
        (self.samples, self.min_rtt_us) = (0, u64::MAX);
    }

    fn grow_as_reno(&mut self, growth: &GrowEvent) -> f64 {
        let GrowEvent { cwnd, ssthresh, packets, is_limited, now, .. } = *growth;
        let slow = packets.min((ssthresh - cwnd).max(0.0));
        match packets - slow {
            _ if !is_limited => cwnd,
            0.0 => cwnd + slow,
            left => self.reno.cong_avoid(cwnd + slow, left, now, 0.0),
        }
    }

    /// The window and ssthresh at the end of a round trip with enough samples.
    fn adjust(&self, growth: &GrowEvent) -> (f64, f64) {
        let GrowEvent { ssthresh, packets, .. } = *growth;
        let (cwnd, ssthresh, packets) = (growth.cwnd as u64, ssthresh as u64, packets as u64);
        let queued = cwnd * (self.min_rtt_us - self.base_rtt_us) / self.base_rtt_us;
        let (cwnd, ssthresh) = if cwnd < ssthresh && queued > GAMMA {
            let fitting = (cwnd * self.base_rtt_us / self.min_rtt_us + 1).min(cwnd);
            (fitting, ssthresh.min(fitting))
        } else if cwnd < ssthresh {
            ((cwnd + packets).min(ssthresh), ssthresh)
        } else if queued > BETA {
            (cwnd - 1, ssthresh.min(cwnd - 1))
        } else {
            (cwnd + u64::from(queued < ALPHA), ssthresh)
        };
        let cwnd = cwnd.max(2);
        (cwnd as f64, ssthresh.max((cwnd >> 1) + (cwnd >> 2)) as f64)
    }
}

impl CongestionControl for Vegas {
    fn on_open(&mut self, open: &OpenEvent) {
        self.una = open.delivered;
        self.begin(open.delivered);
    }

    /// `tcp_vegas_pkts_acked`
    fn on_ack(&mut self, ack: &AckEvent) -> bool {
        self.una = ack.una;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.0 / 1000 + 1;
            self.base_rtt_us = self.base_rtt_us.min(rtt);
            self.min_rtt_us = self.min_rtt_us.min(rtt);
            self.samples += 1;
        }
        false
    }

    /// `tcp_vegas_cong_avoid`
    fn grow(&mut self, growth: &GrowEvent) -> Option<(f64, f64)> {
        let GrowEvent { cwnd, ssthresh, packets, una, nxt, .. } = *growth;
        if !self.is_active {
            return Some((self.grow_as_reno(growth), ssthresh));
        }
        if una <= self.round_end {
            let window = if cwnd < ssthresh { (cwnd + packets).min(ssthresh) } else { cwnd };
            return Some((window, ssthresh));
        }
        let windows = if self.samples <= FEW_SAMPLES {
            (self.grow_as_reno(growth), ssthresh)
        } else {
            self.adjust(growth)
        };
        self.begin(nxt);
        Some(windows)
    }

    /// `tcp_vegas_state`: no measurement during a reduction.
    fn on_phase(&mut self, phase: Phase, nxt: u32) {
        if phase == Phase::Open {
            self.begin(nxt);
        } else {
            self.is_active = false;
        }
    }

    /// `tcp_vegas_cwnd_event`: after idle time everything is measured again.
    fn on_send(&mut self, _now: Time, nothing_in_flight: bool) {
        if nothing_in_flight {
            self.base_rtt_us = u64::MAX;
            self.begin(self.una);
        }
    }

    fn ssthresh(&mut self, event: CongestionEvent, cwnd: f64, base: f64) -> f64 {
        self.reno.ssthresh(event, cwnd, base)
    }

    fn cong_avoid(&mut self, cwnd: f64, packets: f64, now: Time, srtt_ns: f64) -> f64 {
        self.reno.cong_avoid(cwnd, packets, now, srtt_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Span;

    /// One round trip of `acks` ACKs of one packet each with the same RTT, from (`cwnd`, `ssthresh`); the
    /// windows after it.
    fn round(vegas: &mut Vegas, acks: u32, rtt_us: u64, windows: (f64, f64)) -> (f64, f64) {
        let (mut windows, nxt) = (windows, vegas.round_end + acks + 1);
        for una in vegas.round_end + 1 - acks.min(vegas.round_end)..=vegas.round_end + 1 {
            let rtt = Some(Span(rtt_us * 1000));
            vegas.on_ack(&AckEvent { packets: 1, una, nxt, rtt, ..AckEvent::default() });
            let (cwnd, ssthresh) = windows;
            let growth =
                GrowEvent { cwnd, ssthresh, packets: 1.0, una, nxt, is_limited: true, now: Time::ZERO };
            windows = vegas.grow(&growth).unwrap();
        }
        windows
    }

    fn vegas() -> Vegas {
        Vegas { round_end: 100, base_rtt_us: 40_001, ..Vegas::default() }
    }

    /// By hand, with 20 packets and 40 ms: 44 ms are 20 * 4000 / 40001 = 1 packet in the queue, 48 ms 3, 52
    /// ms 5. The window grows below two and shrinks above four.
    #[test]
    fn the_window_moves_by_a_packet_per_round_trip() {
        let after = |rtt_us| round(&mut vegas(), 10, rtt_us, (20.0, 10.0)).0;
        assert_eq!([44_000, 48_000, 52_000].map(after), [21.0, 20.0, 19.0]);
        assert_eq!(round(&mut vegas(), 10, 48_000, (2.0, 2.0)), (3.0, 2.0), "0 in the queue");
        assert_eq!(round(&mut vegas(), 10, 44_000, (40.0, 10.0)), (40.0, 30.0), "ssthresh is 3/4 at least");
    }

    /// 50 ms with 30 packets: 7 in the queue end slow start at 30 * 40 / 50 + 1 = 25 packets.
    #[test]
    fn a_queue_of_two_packets_ends_slow_start() {
        // The ACKs before the last one each add a packet, to 30.
        let (cwnd, ssthresh) = round(&mut vegas(), 10, 50_000, (20.0, 100.0));
        assert_eq!((cwnd, ssthresh), (25.0, 25.0));
    }

    /// Two samples per round trip: growth is Reno's, a packet per window acknowledged.
    #[test]
    fn few_samples_are_not_judged() {
        let mut one = vegas();
        assert_eq!(round(&mut one, 1, 90_000, (20.0, 10.0)).0, 20.0);
        assert_eq!(one.samples, 0, "of the next round trip");
    }

    #[test]
    fn a_reduction_and_idle_time_begin_again() {
        let mut one = vegas();
        one.on_phase(Phase::Recovery, 120);
        assert_eq!(round(&mut one, 10, 90_000, (20.0, 10.0)).0, 20.0, "as Reno: 11 of 20 acknowledged");
        one.on_phase(Phase::Open, 130);
        assert!(one.is_active && one.round_end == 130);
        one.on_send(Time::ZERO, true);
        assert_eq!(one.base_rtt_us, u64::MAX);
    }
}
