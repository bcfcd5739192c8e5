//! Westwood+ as in Linux 6.1 (`tcp_westwood.c`): Reno whose window after a loss is the estimated bandwidth
//! times the shortest round trip. `docs/vegas-westwood.md` has the rules; the names in parentheses are those
//! of Linux.
//!
//! Times are in clock ticks and data in bytes, as in Linux.

use super::{AckEvent, CongestionControl, CongestionEvent, OpenEvent, reno::ByteCounting};
use crate::tcp::options::TcpOptions;
use sojourn_aqm::{Span, Time};

/// A sample of the bandwidth takes a round trip, and at least this time (`TCP_WESTWOOD_RTT_MIN`).
const LEAST: Span = Span::from_millis(50);
/// The round trip before the first sample (`TCP_WESTWOOD_INIT_RTT`).
const INITIAL_RTT: Span = Span::from_millis(20_000);

/// `struct westwood`
#[derive(Clone, Debug)]
pub(crate) struct Westwood {
    mss: u64,
    tick: Span,
    /// The bandwidth filtered once and twice, bytes per tick (`bw_ns_est`, `bw_est`).
    bw_once: u64,
    bw: u64,
    /// The tick at which the sample begins, and the bytes in it (`rtt_win_sx`, `bk`).
    since_tick: u64,
    bytes: u64,
    /// The first unacknowledged packet; `None` before the first ACK.
    una: Option<u32>,
    /// Bytes that duplicate ACKs have counted (`accounted`).
    accounted: u64,
    /// The last and the shortest round trip in ticks; the next one replaces the shortest.
    rtt_ticks: u64,
    rtt_min_ticks: u64,
    resets_rtt_min: bool,
    reno: ByteCounting,
}

impl Westwood {
    pub(crate) fn new(o: &TcpOptions, payload: u32) -> Westwood {
        let tick = o.tick();
        let rtt_ticks = INITIAL_RTT.0 / tick.0;
        Westwood {
            mss: u64::from(payload),
            tick,
            bw_once: 0,
            bw: 0,
            since_tick: 0,
            bytes: 0,
            una: None,
            accounted: 0,
            rtt_ticks,
            rtt_min_ticks: rtt_ticks,
            resets_rtt_min: true,
            reno: ByteCounting::default(),
        }
    }

    /// `westwood_update_window`: the end of a sample.
    fn end_sample(&mut self, now: Time) {
        let tick = now.0 / self.tick.0;
        let ticks = tick - self.since_tick;
        if self.rtt_ticks == 0 || ticks <= self.rtt_ticks.max(LEAST.0 / self.tick.0) {
            return;
        }
        let sample = self.bytes / ticks;
        if self.bw_once == 0 && self.bw == 0 {
            (self.bw_once, self.bw) = (sample, sample);
        } else {
            self.bw_once = (7 * self.bw_once + sample) / 8;
            self.bw = (7 * self.bw + self.bw_once) / 8;
        }
        (self.bytes, self.since_tick) = (0, tick);
    }

    /// Bytes of an ACK with SACK blocks (`westwood_acked_count`): a duplicate counts a packet, and a later
    /// ACK of it does not count it again.
    fn acked_bytes(&mut self, acked: u64) -> u64 {
        if acked == 0 {
            self.accounted += self.mss;
            return self.mss;
        }
        if acked <= self.mss {
            return acked;
        }
        if self.accounted >= acked {
            self.accounted -= acked;
            return self.mss;
        }
        acked - std::mem::take(&mut self.accounted)
    }

    /// Packets of the bandwidth times the shortest round trip (`tcp_westwood_bw_rttmin`).
    fn window(&self) -> f64 {
        (self.bw * self.rtt_min_ticks / self.mss).max(2) as f64
    }
}

impl CongestionControl for Westwood {
    fn on_open(&mut self, open: &OpenEvent) {
        self.since_tick = open.now.0 / self.tick.0;
    }

    /// `tcp_westwood_ack`, and then `tcp_westwood_pkts_acked`.
    fn on_ack(&mut self, ack: &AckEvent) -> bool {
        let una = *self.una.get_or_insert(ack.una);
        self.end_sample(ack.now);
        let acked = u64::from(ack.una - una) * self.mss;
        self.bytes += if ack.has_sack { self.acked_bytes(acked) } else { acked };
        self.una = Some(ack.una);
        let shortest =
            if self.resets_rtt_min { self.rtt_ticks } else { self.rtt_min_ticks.min(self.rtt_ticks) };
        (self.rtt_min_ticks, self.resets_rtt_min) = (shortest, false);
        if let Some(rtt) = ack.rtt.filter(|rtt| rtt.0 >= 1000) {
            self.rtt_ticks = rtt.0.div_ceil(self.tick.0);
        }
        false
    }

    /// After a timeout the estimate (`CA_EVENT_LOSS`), otherwise half until the end of the recovery.
    fn ssthresh(&mut self, event: CongestionEvent, cwnd: f64, base: f64) -> f64 {
        let half = self.reno.ssthresh(event, cwnd, base);
        if event != CongestionEvent::Timeout {
            return half;
        }
        self.resets_rtt_min = true;
        self.window()
    }

    /// `CA_EVENT_COMPLETE_CWR`
    fn on_recovered(&mut self) -> Option<f64> {
        Some(self.window())
    }

    fn cong_avoid(&mut self, cwnd: f64, packets: f64, now: Time, srtt_ns: f64) -> f64 {
        self.reno.cong_avoid(cwnd, packets, now, srtt_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::schema::resolve;

    const MS: Span = Span::from_millis(1);

    fn westwood() -> Westwood {
        Westwood::new(&resolve("linux", &[("granularity".to_owned(), "1ms".to_owned())]).unwrap(), 1000)
    }

    fn ack(ms: u64, una: u32, rtt_ms: u64, has_sack: bool) -> AckEvent {
        let (now, rtt) = (Time::ZERO + MS * ms, Some(MS * rtt_ms));
        AckEvent { packets: 1, una, now, rtt, has_sack, ..AckEvent::default() }
    }

    /// By hand, with one packet of 1000 bytes per 2 ms and a round trip of 60 ms. The first ACK, at 2 ms,
    /// only sets the origin. The sample ends with the ACK more than 60 ms after 0, at 62 ms: 29 packets in 62
    /// ms, 467 bytes per ms. The next one, at 124 ms, has 31: 500; once (7 * 467 + 500) / 8 = 471, twice (7 *
    /// 467 + 471) / 8 = 467. The window is 467 * 60 / 1000 = 28 packets.
    #[test]
    fn the_window_after_a_recovery_is_bandwidth_times_round_trip() {
        let mut one = westwood();
        one.on_open(&OpenEvent::default());
        let mut estimates = Vec::new();
        for i in 1..=62 {
            one.on_ack(&ack(2 * u64::from(i), i, 60, false));
            if i % 31 == 0 {
                estimates.push((one.bw_once, one.bw));
            }
        }
        assert_eq!(estimates, [(467, 467), (471, 467)]);
        assert_eq!((one.rtt_min_ticks, one.on_recovered()), (60, Some(28.0)));
        assert_eq!(one.ssthresh(CongestionEvent::Loss, 100.0, 100.0), 50.0, "half until then");
        assert_eq!(one.ssthresh(CongestionEvent::Timeout, 100.0, 100.0), 28.0);
        assert!(one.resets_rtt_min, "the next round trip is the shortest");
    }

    /// Three duplicates count a packet each; the ACK of five then counts two.
    #[test]
    fn duplicates_are_not_counted_twice() {
        let mut one = westwood();
        let mut bytes = Vec::new();
        for (ms, una, has_sack) in
            [(1, 1, false), (2, 1, true), (3, 1, true), (4, 1, true), (5, 6, true), (6, 7, true)]
        {
            one.on_ack(&ack(ms, una, 60, has_sack));
            bytes.push(one.bytes);
        }
        assert_eq!(bytes, [0, 1000, 2000, 3000, 5000, 6000]);
    }
}
