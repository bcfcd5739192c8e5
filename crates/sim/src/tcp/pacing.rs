//! Pacing: packets leave at a rate, not in the bursts that ACKs allow. As Linux 6.1 paces without the
//! discipline `fq`, with a timer of each sender (`tcp_pacing_check`, `tcp_update_skb_after_send`); the names
//! in parentheses are those of Linux.
//!
//! A packet occupies its interval from the time at which it was allowed, so a late one shortens the interval
//! that follows, by at most half. The first ten data packets are not paced.

use sojourn_aqm::{Span, Time};

/// Data packets that leave at once, the last of which begins an interval.
const UNPACED: u8 = 10;
/// The rate in windows per smoothed round trip, per cent: below half of ssthresh, and otherwise
/// (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_RATIO: f64 = 200.0;
const AVOIDANCE_RATIO: f64 = 120.0;

/// The pacing of a sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    /// Time from a packet to the next one; 0: no limit, as before the first round-trip sample.
    interval: Span,
    /// When the next packet may leave (`tcp_wstamp_ns`).
    next: Time,
    /// Data packets sent, up to [`UNPACED`].
    sent: u8,
    /// When the timer expires that sends the next packet, if one waits.
    timer: Option<Time>,
    /// The simulator has not set that timer yet.
    is_new: bool,
    pub(crate) window: WindowUse,
}

/// Whether the congestion window limits the sender. Packets that wait for pacing are not in flight, so this
/// is judged over a window of data (`tcp_cwnd_validate`).
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowUse {
    is_limited: bool,
    most_outstanding: u32,
    /// The window of data ends when this packet is acknowledged.
    end: u32,
}

impl WindowUse {
    /// What the window allows has been sent, up to below `nxt`; `is_limited`: it allows no more.
    pub(crate) fn on_sent(&mut self, una: u32, nxt: u32, is_limited: bool) {
        let outstanding = nxt - una;
        let is_more = !self.is_limited && outstanding > self.most_outstanding;
        if una >= self.end || is_limited || is_more {
            *self = WindowUse { is_limited, most_outstanding: outstanding, end: nxt };
        }
    }

    /// Linux: tcp_is_cwnd_limited; in slow start half of the window may be unused.
    pub(crate) fn limits(&self, cwnd: f64, ssthresh: f64) -> bool {
        self.is_limited || cwnd < ssthresh && cwnd < 2.0 * f64::from(self.most_outstanding)
    }
}

/// The interval at the rate of Linux's congestion controls that set none (`tcp_update_pacing_rate`).
/// `outstanding`: packets not acknowledged.
pub(crate) fn interval(cwnd: f64, ssthresh: f64, outstanding: u32, srtt_ns: f64) -> Span {
    let window = libm::floor(cwnd).max(f64::from(outstanding)).max(1.0);
    let is_slow_start = libm::floor(cwnd) < libm::floor(ssthresh / 2.0);
    let ratio = if is_slow_start { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
    Span((srtt_ns * 100.0 / (ratio * window)) as u64)
}

impl Pacer {
    pub(crate) fn set_interval(&mut self, interval: Span) {
        self.interval = interval;
    }

    /// Whether the next packet must wait at `now`; then a timer will end the wait.
    pub(crate) fn must_wait(&mut self, now: Time) -> bool {
        if self.next <= now {
            return false;
        }
        if self.timer.is_none() {
            (self.timer, self.is_new) = (Some(self.next), true);
        }
        true
    }

    /// A packet with data is sent.
    pub(crate) fn on_send(&mut self, now: Time) {
        self.sent = self.sent.saturating_add(1);
        let late = now.since(self.next);
        self.next = self.next.max(now);
        if self.sent >= UNPACED {
            self.next += self.interval - late.min(self.interval / 2);
        }
    }

    /// When the next packet may leave.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// When the simulator must set a timer, returned once.
    pub(crate) fn take_timer(&mut self) -> Option<Time> {
        std::mem::take(&mut self.is_new).then_some(self.timer).flatten()
    }

    /// That timer has expired.
    pub(crate) fn on_timer(&mut self) {
        self.timer = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// By hand: 10 packets per 40 ms are one per 4 ms; twice that rate below half of ssthresh, 1.2 times it
    /// otherwise, and by the packets outstanding if they are more.
    #[test]
    fn the_rate_is_a_multiple_of_windows_per_round_trip() {
        let of = |cwnd, ssthresh, outstanding| interval(cwnd, ssthresh, outstanding, 40e6);
        assert_eq!(of(10.0, 100.0, 10), MS * 2);
        assert_eq!(of(49.9, 100.0, 0), Span(408_163), "40 ms / (2 * 49)");
        assert_eq!(of(50.0, 100.0, 50), Span(666_666), "40 ms / (1.2 * 50)");
        assert_eq!(of(10.0, 5.0, 20), Span(1_666_666), "40 ms / (1.2 * 20)");
        assert_eq!(interval(10.0, 100.0, 10, 0.0), Span::ZERO, "no sample yet");
    }

    /// By hand, with 4 ms: the tenth packet, at 0, begins the first interval. A packet 1 ms late, at 9 ms,
    /// shortens the next interval to 3 ms; one 7 ms late, at 23 ms, by half.
    #[test]
    fn a_late_packet_shortens_the_next_interval_by_at_most_half() {
        let mut pacer = Pacer::default();
        pacer.set_interval(MS * 4);
        for _ in 0..10 {
            assert!(!pacer.must_wait(at(0)));
            pacer.on_send(at(0));
        }
        let mut next = Vec::new();
        for ms in [4, 9, 12, 23] {
            assert!(pacer.must_wait(at(ms - 1)) || ms == 9 || ms == 23, "{ms} ms");
            assert!(!pacer.must_wait(at(ms)));
            pacer.on_send(at(ms));
            next.push(pacer.next);
        }
        assert_eq!(next, [at(8), at(12), at(16), at(25)]);
    }

    /// Ten packets fill the window of ten once, so it limits until they are acknowledged; then at most four
    /// were outstanding, which is enough in slow start for a window of seven.
    #[test]
    fn a_window_filled_once_limits_until_its_data_are_acknowledged() {
        let mut window = WindowUse::default();
        window.on_sent(0, 10, true);
        window.on_sent(5, 12, false);
        assert!(window.limits(10.0, 5.0));
        window.on_sent(10, 14, false);
        assert!(!window.limits(10.0, 5.0) && window.limits(7.0, 20.0) && !window.limits(8.0, 20.0));
        window.on_sent(12, 15, false);
        assert!(window.limits(7.0, 20.0), "the most of this window of data");
    }

    #[test]
    fn one_timer_ends_a_wait() {
        let mut pacer = Pacer { interval: MS * 4, sent: UNPACED, ..Pacer::default() };
        pacer.on_send(at(0));
        assert!(pacer.must_wait(at(1)) && pacer.must_wait(at(2)));
        assert_eq!((pacer.take_timer(), pacer.take_timer()), (Some(at(4)), None));
        assert!(pacer.must_wait(at(3)));
        assert_eq!(pacer.take_timer(), None, "it is running");
        pacer.on_timer();
        assert!(!pacer.must_wait(at(4)));
    }
}
