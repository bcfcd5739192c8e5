//! CUBIC as in Linux 6.1 (`tcp_cubic.c`), in whole packets and clock ticks. `docs/senders.md` lists where it
//! differs from RFC 9438 ([`super::cubic`]); the names in parentheses are those of Linux.
//!
//! The curve is evaluated at most once per tick, and while the window is unchanged only every 1/32 s. It
//! yields `cnt`, the packets to be acknowledged before the window grows by one.

use super::{
    AckEvent, CongestionControl, CongestionEvent, TimeoutEvent, hystart::HyStart, reno::WindowCounter,
};
use crate::tcp::options::{HyStartForm, TcpOptions};
use sojourn_aqm::{Span, Time};

/// The share of the window that a congestion event leaves, in 1024ths (`beta`): 0.7002.
const BETA: u64 = 717;
const ONE: u64 = 1024;
/// 10 C in 1024ths (`cube_rtt_scale`): C is 0.4004 packets per second cubed.
const SCALE: u64 = 410;
/// Time is in 1/1024 s (`BICTCP_HZ`), so a cube of a time has 30 fractional bits, and [`SCALE`] ten.
const CUBE_BITS: u32 = 40;
/// Packets acknowledged, in eighths of a window, for each packet by which the window of Reno grows
/// (`beta_scale`): 15/8 of a window.
const RENO_EIGHTHS: u64 = 8 * (ONE + BETA) / 3 / (ONE - BETA);
/// The least `cnt`: the window grows by at most half per round trip.
const MIN_CNT: u64 = 2;
/// The largest `cnt` while no loss has shown the size of the path: the window grows by 5 % per round trip.
const MAX_CNT_BEFORE_LOSS: u64 = 20;
const SECOND: Span = Span::from_millis(1000);

/// `struct bictcp`; windows are whole packets, times of the curve clock ticks.
#[derive(Clone, Debug)]
pub(crate) struct CubicLinux {
    tick: Span,
    cnt: u64,
    /// The plateau of the curve (`last_max_cwnd`); 0: no congestion event yet, or a timeout.
    w_max: u64,
    /// The window and the tick of the last evaluation.
    last_cwnd: u64,
    last_tick: u64,
    /// The window at the inflection of the curve (`bic_origin_point`), and 1/1024 s from the start of the
    /// epoch until then (`bic_K`).
    origin: u64,
    k: u64,
    /// The shortest round trip (`delay_min`).
    min_rtt: Option<Span>,
    /// The tick of the first ACK in congestion avoidance.
    epoch_start: Option<u64>,
    /// Packets acknowledged that `w_est` does not count yet (`ack_cnt`).
    acked: u64,
    /// The window that Reno would have (`tcp_cwnd`).
    w_est: u64,
    counter: WindowCounter,
    /// When the last packet was sent (`lsndtime`).
    last_sent: Time,
    hystart: Option<HyStart>,
    is_paced: bool,
}

impl CubicLinux {
    pub(crate) fn new(o: &TcpOptions) -> CubicLinux {
        let hystart = (o.hystart == HyStartForm::Linux).then(|| HyStart::beginning(0, Time::ZERO, o.pacing));
        CubicLinux { hystart, is_paced: o.pacing, ..CubicLinux::with_tick(o.tick()) }
    }

    fn with_tick(tick: Span) -> CubicLinux {
        CubicLinux {
            tick,
            cnt: 0,
            w_max: 0,
            last_cwnd: 0,
            last_tick: 0,
            origin: 0,
            k: 0,
            min_rtt: None,
            epoch_start: None,
            acked: 0,
            w_est: 0,
            counter: WindowCounter::default(),
            last_sent: Time::ZERO,
            hystart: None,
            is_paced: false,
        }
    }

    fn ticks(&self, time: Time) -> u64 {
        time.0 / self.tick.0
    }

    /// The length of a span of whole ticks, in 1/1024 s.
    fn units(&self, ticks: u64) -> u64 {
        (u128::from(ticks * self.tick.0) * u128::from(ONE) / u128::from(SECOND.0)) as u64
    }

    /// Packets acknowledged per packet of growth (`bictcp_update`).
    fn update(&mut self, cwnd: u64, packets: u64, now: Time) {
        self.acked += packets;
        let tick = self.ticks(now);
        let is_recent = (tick - self.last_tick) * self.tick.0 <= SECOND.0 / 32;
        if self.last_cwnd == cwnd && is_recent {
            return;
        }
        if self.epoch_start.is_none() || tick != self.last_tick {
            (self.last_cwnd, self.last_tick) = (cwnd, tick);
            self.follow_curve(cwnd, packets, tick);
        }
        // The Reno-friendly region: the increment per window stays that of alpha = 8/15.
        let per_packet = (cwnd * RENO_EIGHTHS) >> 3;
        if self.acked > per_packet {
            let grown = (self.acked - 1) / per_packet;
            self.acked -= grown * per_packet;
            self.w_est += grown;
        }
        if self.w_est > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.w_est - cwnd));
        }
        self.cnt = self.cnt.max(MIN_CNT);
    }

    fn follow_curve(&mut self, cwnd: u64, packets: u64, at_tick: u64) {
        let epoch_start = *self.epoch_start.get_or_insert_with(|| {
            (self.acked, self.w_est) = (packets, cwnd);
            self.origin = self.w_max.max(cwnd);
            self.k = libm::cbrt(((1_u64 << CUBE_BITS) / SCALE * (self.origin - cwnd)) as f64) as u64;
            at_tick
        });
        let min_rtt = self.min_rtt.unwrap_or(Span::ZERO).0.div_ceil(self.tick.0);
        let t = self.units(at_tick - epoch_start + min_rtt);
        let offset = u128::from(t.abs_diff(self.k));
        let delta = (u128::from(SCALE) * offset * offset * offset) >> CUBE_BITS;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        let target =
            if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.w_max == 0 {
            self.cnt = self.cnt.min(MAX_CNT_BEFORE_LOSS);
        }
    }

    /// `cwnd * 717 >> 10`, in whole packets.
    fn cut(cwnd: u64) -> u64 {
        cwnd * BETA / ONE
    }
}

impl CongestionControl for CubicLinux {
    /// `cubictcp_acked`: the shortest round trip, and HyStart in slow start.
    fn on_ack(&mut self, ack: &AckEvent) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        let now = self.ticks(ack.now);
        let is_recent = |start: u64| (now.saturating_sub(start)) * self.tick.0 < SECOND.0;
        if self.epoch_start.is_some_and(is_recent) {
            return false; // right after a recovery the queue is still long
        }
        let min_rtt = self.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt));
        self.min_rtt = Some(min_rtt);
        ack.is_slow_start && self.hystart.as_mut().is_some_and(|hystart| hystart.on_ack(ack, rtt, min_rtt))
    }

    /// `cubictcp_cong_avoid`.
    fn cong_avoid(&mut self, cwnd: f64, packets: f64, now: Time, _srtt_ns: f64) -> f64 {
        self.update(cwnd as u64, packets as u64, now);
        self.counter.grow(cwnd, self.cnt as f64, packets)
    }

    /// `cubictcp_recalc_ssthresh`, with fast convergence.
    fn ssthresh(&mut self, _event: CongestionEvent, cwnd: f64, _base: f64) -> f64 {
        let cwnd = cwnd as u64;
        self.w_max = if cwnd < self.w_max { cwnd * (ONE + BETA) / (2 * ONE) } else { cwnd };
        (self.epoch_start, self.counter) = (None, WindowCounter::default());
        CubicLinux::cut(cwnd).max(2) as f64
    }

    /// `cubictcp_state`: all is forgotten, and HyStart acts again.
    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        let CubicLinux { tick, last_sent, is_paced, .. } = *self;
        let hystart = self.hystart.is_some().then(|| HyStart::beginning(timeout.nxt, timeout.now, is_paced));
        *self = CubicLinux { hystart, last_sent, is_paced, ..CubicLinux::with_tick(tick) };
    }

    fn reduced(&self, window: f64) -> f64 {
        CubicLinux::cut(window as u64) as f64
    }

    /// `cubictcp_cwnd_event`: idle time does not advance the curve.
    fn on_send(&mut self, now: Time, nothing_in_flight: bool) {
        if nothing_in_flight && let Some(epoch_start) = &mut self.epoch_start {
            let idle = now.0 / self.tick.0 - self.last_sent.0 / self.tick.0;
            *epoch_start = (*epoch_start + idle).min(now.0 / self.tick.0);
        }
        self.last_sent = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::schema::resolve;

    const MS: Span = Span::from_millis(1);

    fn with_hz(tick: &str) -> CubicLinux {
        CubicLinux::new(&resolve("linux", &[("granularity".to_owned(), tick.to_owned())]).unwrap())
    }

    /// The window after every `every` of the ACKs, which arrive each millisecond from 5 s on.
    fn windows(mut cubic: CubicLinux, mut cwnd: f64, packets: f64, every: usize, rows: usize) -> Vec<f64> {
        let mut now = Time(5_000_000_000);
        let mut seen = Vec::new();
        for i in 0..=every * (rows - 1) {
            cwnd = cubic.cong_avoid(cwnd, packets, now, 0.0);
            if i % every == 0 {
                seen.push(cwnd);
            }
            now += MS;
        }
        seen
    }

    /// What `bictcp_update` and `tcp_cong_avoid_ai` of Linux 6.1.192 yield for the same ACKs. By hand: 100
    /// packets are cut to 70, so K = (2^40 / 410 * 30)^(1/3) = 4316 / 1024 s; at 0.5 s the curve is at
    /// 100 - 0.4004 (4.215 - 0.54)^3 = 80.1 packets.
    #[test]
    fn windows_are_those_of_linux() {
        let mut cut = with_hz("4ms");
        assert_eq!(cut.ssthresh(CongestionEvent::Loss, 100.0, 0.0), 70.0);
        cut.min_rtt = Some(MS * 40);
        let expected =
            [70.0, 80.0, 88.0, 93.0, 96.0, 100.0, 105.0, 110.0, 115.0, 119.0, 124.0, 128.0, 132.0, 136.0];
        assert_eq!(windows(cut, 70.0, 2.0, 500, 14), expected);

        let mut small = with_hz("1ms");
        assert_eq!(small.ssthresh(CongestionEvent::Mark, 20.0, 0.0), 14.0);
        small.min_rtt = Some(MS * 20);
        let expected = [14.0, 16.0, 19.0, 22.0, 24.0, 26.0, 28.0, 30.0, 32.0, 34.0, 35.0, 37.0, 38.0, 40.0];
        assert_eq!(windows(small, 14.0, 1.0, 100, 14), expected, "Reno-friendly, slope 8/15 throughout");

        let expected = [30.0, 40.0, 50.0, 60.0, 70.0, 80.0];
        assert_eq!(windows(with_hz("1ms"), 30.0, 2.0, 100, 6), expected, "5 % per window before a loss");
    }

    /// 717/1024 of whole packets, and fast convergence with 1741/2048.
    #[test]
    fn a_cut_is_in_whole_packets() {
        let mut cubic = with_hz("1ms");
        let cuts: Vec<f64> = [3.0, 4.0, 5.0, 10.0, 33.0, 100.0]
            .map(|cwnd| cubic.ssthresh(CongestionEvent::Loss, cwnd, 50.0))
            .to_vec();
        assert_eq!(cuts, [2.0, 2.0, 3.0, 7.0, 23.0, 70.0]);
        assert_eq!(cubic.w_max, 100);
        cubic.ssthresh(CongestionEvent::Loss, 90.0, 90.0);
        assert_eq!(cubic.w_max, 76, "90 * 1741 / 2048 = 76.5");
        assert_eq!(cubic.reduced(5.0), 3.0);
    }

    /// A second without packets in flight moves the epoch, so the curve continues where it was.
    #[test]
    fn idle_time_does_not_advance_the_curve() {
        let at = |ms: u64| Time::ZERO + MS * ms;
        let mut cubic = with_hz("1ms");
        cubic.ssthresh(CongestionEvent::Loss, 100.0, 100.0);
        cubic.cong_avoid(70.0, 1.0, at(1000), 0.0);
        cubic.on_send(at(1100), false);
        cubic.on_send(at(2100), true);
        assert_eq!(cubic.epoch_start, Some(2000));
        cubic.on_timeout(&TimeoutEvent { nxt: 7, now: at(3000), ..TimeoutEvent::default() });
        assert_eq!((cubic.epoch_start, cubic.w_max, cubic.min_rtt), (None, 0, None));
    }

    /// `cubictcp_acked`: samples of the first second of an epoch are not used.
    #[test]
    fn the_shortest_round_trip_is_not_measured_right_after_a_recovery() {
        let mut cubic = with_hz("1ms");
        let ack = |ms: u64, rtt: u64| AckEvent {
            now: Time::ZERO + MS * ms,
            rtt: Some(MS * rtt),
            ..AckEvent::default()
        };
        cubic.on_ack(&ack(0, 50));
        cubic.cong_avoid(20.0, 1.0, Time::ZERO + MS * 10, 0.0);
        cubic.on_ack(&ack(1009, 20));
        assert_eq!(cubic.min_rtt, Some(MS * 50));
        cubic.on_ack(&ack(1010, 30));
        assert_eq!(cubic.min_rtt, Some(MS * 30));
    }
}
