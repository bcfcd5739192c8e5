//! Prague: DCTCP made fit for the Internet, the reference congestion control of L4S
//! (draft-briscoe-iccrg-prague-congestion-control-04, as in its implementation for Linux, version 0.7).
//!
//! The share of marked packets reduces a window with a fraction, once per virtual round trip of at least
//! 25 ms; each unmarked packet increases it, also while it is being reduced. Flows with round trips below
//! 25 ms so get the rate of one with 25 ms. With a window of up to four packets, the pacing rate takes the
//! place of the window. `docs/prague.md` has the rules and the differences.

use super::{AckEvent, CongestionControl, CongestionEvent, Decision, ModelEvent, OpenEvent, Phase};
use crate::tcp::options::TcpOptions;
use sojourn_aqm::{Span, Time};

/// Weight of the latest round trip in alpha.
const GAIN: f64 = 1.0 / 16.0;
/// The least virtual round trip, in seconds (`prague_rtt_target`).
const TARGET_RTT: f64 = 0.025;
const TARGET_SPAN: Span = Span::from_millis(25);
/// The increase is not scaled above this round trip, in seconds (`MAX_SCALED_RTT`).
const MAX_SCALED_RTT: f64 = 0.1;
/// Round trips after slow start from which on the virtual round trip is used (`prague_rtt_transition`).
const TRANSITION: u32 = 4;
/// The window in full-sized Ethernet packets up to which the rate is controlled (`prague_cwnd_transit`).
const RATE_CONTROL_WINDOW: f64 = 4.0;
const MIN_WINDOW: f64 = 2.0;
/// What the window grows by in a round trip, in bytes (`MTU_SYS`).
const INCREASE: f64 = 1500.0;
/// Bytes of the headers of IP and TCP, with timestamps.
const HEADERS: f64 = 52.0;
/// The least rate, in bytes per second: 100 kbit/s.
const MIN_RATE: f64 = 12_500.0;
/// With the rate controlled, the first half of a virtual round trip is faster by this share, the second half
/// slower (`RATE_OFFSET`).
const RATE_OFFSET: f64 = 4.0 / 128.0;
/// Weight of the latest round trip in the smoothed one that turns a rate into a window (`HSRTT_SHIFT`).
const SLOW_RTT_GAIN: f64 = 1.0 / 128.0;

#[derive(Clone, Debug)]
pub(super) struct Prague {
    /// Bytes of a full packet with its headers.
    packet_bytes: f64,
    /// The window with its fraction. That of the sender follows it by one packet per ACK.
    window: f64,
    /// Packets per second: what `window` amounts to, or the variable that is controlled.
    rate: f64,
    controls_rate: bool,
    ssthresh: f64,
    /// Estimated share of marked packets; 0 until the first mark.
    alpha: f64,
    saw_mark: bool,
    /// After a loss the window does not grow until all that was sent before is acknowledged.
    in_loss: bool,
    /// A mark has begun a reduction, which the next [`CongestionControl::on_model`] makes.
    must_reduce: bool,
    /// The ACK at hand.
    ack: AckEvent,
    round: Round,
    /// Round trips since slow start.
    rounds: u32,
    /// When alpha was updated last, and when a mark reduced the window last.
    updated: Time,
    reduced: Option<Time>,
    /// In seconds; 0 without a sample.
    srtt: f64,
    slow_rtt: f64,
    /// Packets per second; 0: not limited.
    pacing_rate: f64,
}

/// A window of data, over which the share of marked packets is taken.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// It ends when all packets below are acknowledged.
    end: u32,
    delivered: u32,
    marked: u32,
}

impl Prague {
    pub(super) fn new(o: &TcpOptions, payload: u32) -> Prague {
        Prague {
            packet_bytes: f64::from(payload) + HEADERS,
            window: MIN_WINDOW,
            rate: 0.0,
            controls_rate: false,
            ssthresh: f64::from(o.receiver_window).max(MIN_WINDOW),
            alpha: 0.0,
            saw_mark: false,
            in_loss: false,
            must_reduce: false,
            ack: AckEvent::default(),
            round: Round::default(),
            rounds: 0,
            updated: Time::ZERO,
            reduced: None,
            srtt: 0.0,
            slow_rtt: 0.0,
            pacing_rate: 0.0,
        }
    }

    fn is_rtt_independent(&self, cwnd: f64) -> bool {
        cwnd >= self.ssthresh && self.rounds >= TRANSITION
    }

    fn virtual_rtt(&self) -> f64 {
        self.srtt.max(TARGET_RTT)
    }

    fn min_rate(&self) -> f64 {
        MIN_RATE / self.packet_bytes
    }

    fn rate_of_window(&self) -> f64 {
        if self.srtt > 0.0 { (self.window / self.srtt).max(self.min_rate()) } else { self.min_rate() }
    }

    fn window_of_rate(&self) -> f64 {
        self.rate * self.slow_rtt
    }

    /// Take `share` from the window, or from the rate if that is controlled.
    fn reduce(&mut self, share: f64, by_rate: bool) {
        if by_rate {
            self.rate = (self.rate * (1.0 - share)).max(self.min_rate());
            self.window = self.window_of_rate();
        } else {
            self.window *= 1.0 - share;
            self.rate = self.rate_of_window();
        }
    }

    fn on_loss(&mut self) {
        let by_rate = self.controls_rate && self.rounds >= TRANSITION;
        self.reduce(0.5, by_rate);
        self.in_loss = true;
    }

    /// The increase of the window in a round trip with no mark, in packets: that of a flow with the virtual
    /// round trip, whose rate grows in proportion to 1/RTT^2.
    fn increase(&self) -> f64 {
        let scales = self.rounds >= TRANSITION && self.srtt > 0.0 && self.srtt <= MAX_SCALED_RTT;
        let share = if scales { (self.srtt / TARGET_RTT).min(1.0) } else { 1.0 };
        share * share * INCREASE / self.packet_bytes
    }

    /// Grow for `packets` unmarked ones; returns the sender's window.
    fn grow(&mut self, cwnd: f64, packets: f64) -> f64 {
        let mut cwnd = cwnd;
        let mut packets = packets;
        if cwnd < self.ssthresh {
            let grown = (cwnd + packets).min(self.ssthresh);
            packets -= grown - cwnd;
            cwnd = grown;
            self.window = grown;
        }
        if packets <= 0.0 {
            return cwnd;
        }
        if self.controls_rate && self.is_rtt_independent(cwnd) {
            let rtt = self.virtual_rtt();
            let virtual_window = libm::ceil(self.rate * rtt).max(1.0);
            self.rate += packets * INCREASE / self.packet_bytes / rtt / virtual_window;
            self.window = self.window.max(self.window_of_rate());
        } else {
            self.window += packets * self.increase() / self.window.max(1.0);
            self.rate = self.rate.max(self.rate_of_window());
        }
        cwnd
    }

    /// Update alpha if a round trip is over, and with RTT independence 25 ms have passed.
    fn end_round(&mut self, ack: &AckEvent, cwnd: f64, now: Time) {
        let waits = self.is_rtt_independent(cwnd) && now.since(self.updated) < TARGET_SPAN;
        if ack.una < self.round.end || waits {
            return;
        }
        if self.saw_mark {
            let share = f64::from(self.round.marked) / f64::from(self.round.delivered.max(1));
            self.alpha = ((1.0 - GAIN) * self.alpha + GAIN * share).min(1.0);
            self.updated = now;
        }
        self.slow_rtt += (self.srtt - self.slow_rtt) * SLOW_RTT_GAIN;
        self.round = Round { end: ack.nxt, delivered: 0, marked: 0 };
        self.rounds = self.rounds.saturating_add(u32::from(cwnd >= self.ssthresh));
    }

    fn set_pacing_rate(&mut self, cwnd: f64, in_flight: u32, now: Time) {
        let mut pacing_rate = self.rate;
        if self.controls_rate && self.is_rtt_independent(cwnd) {
            let is_first_half = now.since(self.updated).0 as f64 * 1e-9 < self.virtual_rtt() / 2.0;
            pacing_rate *= if is_first_half { 1.0 + RATE_OFFSET } else { 1.0 - RATE_OFFSET };
        } else if self.srtt > 0.0 {
            let window = libm::floor(self.window).max(f64::from(in_flight));
            pacing_rate = (window / self.srtt).max(self.min_rate());
            self.rate = pacing_rate;
        } else {
            pacing_rate = 0.0;
        }
        self.pacing_rate =
            if cwnd < libm::floor(self.ssthresh / 2.0) { 2.0 * pacing_rate } else { pacing_rate };
    }

    /// Small windows are too coarse, so the rate is controlled instead.
    fn choose_variable(&mut self, cwnd: f64) {
        let is_small = cwnd * self.packet_bytes <= RATE_CONTROL_WINDOW * INCREASE;
        self.controls_rate = self.saw_mark && is_small;
        if self.controls_rate {
            self.window = self.window_of_rate();
        } else {
            self.rate = self.rate_of_window();
        }
    }
}

impl CongestionControl for Prague {
    fn on_open(&mut self, open: &OpenEvent) {
        self.window = f64::from(open.cwnd);
        self.srtt = open.srtt_us as f64 * 1e-6;
        self.slow_rtt = self.srtt;
        self.rate = self.rate_of_window();
        self.updated = open.now;
    }

    fn on_ack(&mut self, ack: &AckEvent) -> bool {
        self.ack = *ack;
        self.round.delivered += ack.packets;
        self.round.marked += ack.marked;
        false
    }

    fn on_model(&mut self, event: &ModelEvent) -> Decision {
        let ack = std::mem::take(&mut self.ack);
        let mut cwnd = f64::from(event.cwnd);
        self.ssthresh = event.ssthresh;
        self.srtt = event.srtt_us as f64 * 1e-6;
        if self.slow_rtt == 0.0 {
            self.slow_rtt = self.srtt;
        }
        if std::mem::take(&mut self.must_reduce) {
            let is_independent = self.is_rtt_independent(cwnd);
            let is_due = self.reduced.is_none_or(|reduced| event.now.since(reduced) >= TARGET_SPAN);
            if is_due || !is_independent {
                self.reduced = Some(event.now);
                self.reduce(self.alpha / 2.0, self.controls_rate && is_independent);
            }
        }
        if ack.marked > 0 && !self.saw_mark {
            // The first mark ends slow start.
            self.saw_mark = true;
            self.window /= 2.0;
            self.ssthresh = self.ssthresh.min(self.window).max(MIN_WINDOW);
        }
        let unmarked = f64::from(ack.packets.saturating_sub(ack.marked));
        if unmarked > 0.0 && !self.in_loss && event.is_limited {
            cwnd = self.grow(cwnd, unmarked);
        }
        let window = libm::ceil(self.window).max(MIN_WINDOW);
        if cwnd > window {
            cwnd -= 1.0;
            self.ssthresh = cwnd;
        } else if cwnd < window {
            cwnd += 1.0;
        }
        self.end_round(&ack, cwnd, event.now);
        self.set_pacing_rate(cwnd, event.in_flight, event.now);
        self.choose_variable(cwnd);
        Decision { cwnd, ssthresh: self.ssthresh, is_limited: false }
    }

    fn on_phase(&mut self, phase: Phase, _nxt: u32) {
        match phase {
            Phase::Open => self.in_loss = false,
            Phase::Cwr => self.must_reduce = true,
            Phase::Recovery => self.on_loss(),
            Phase::Loss => {}
        }
    }

    /// The window follows [`CongestionControl::on_model`]; ssthresh stays as it is.
    fn ssthresh(&mut self, event: CongestionEvent, _cwnd: f64, _base: f64) -> f64 {
        if event == CongestionEvent::Timeout {
            self.on_loss();
        }
        self.ssthresh
    }

    fn cong_avoid(&mut self, cwnd: f64, _packets: f64, _now: Time, _srtt_ns: f64) -> f64 {
        cwnd
    }

    fn pacing_interval(&self) -> Option<Span> {
        (self.pacing_rate > 0.0).then(|| Span((1e9 / self.pacing_rate) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::schema;

    const MS: Span = Span::from_millis(1);

    /// A flow of packets with 1500 bytes and a round trip of `rtt_ms`, out of slow start.
    struct Path {
        prague: Prague,
        now: Time,
        cwnd: f64,
        ssthresh: f64,
        rtt_ms: u64,
        una: u32,
    }

    fn path(rtt_ms: u64, window: f64) -> Path {
        let options = schema::resolve("linux", &[("variant".to_owned(), "prague".to_owned())]).unwrap();
        let mut prague = Prague::new(&options, 1448);
        let now = Time::ZERO + MS * 1000;
        prague.on_open(&OpenEvent { now, cwnd: 10, srtt_us: rtt_ms * 1000, ..OpenEvent::default() });
        prague.window = window;
        Path { prague, now, cwnd: libm::ceil(window), ssthresh: 2.0, rtt_ms, una: 1 }
    }

    impl Path {
        /// An ACK of `packets`, of which `marked` are marked, at the end of a round trip of `ends`.
        fn ack(&mut self, packets: u32, marked: u32) {
            self.una += packets;
            let ack = AckEvent {
                packets,
                marked,
                una: self.una,
                nxt: self.una + self.cwnd as u32,
                now: self.now,
                ..AckEvent::default()
            };
            self.prague.on_ack(&ack);
            let decision = self.prague.on_model(&ModelEvent {
                now: self.now,
                in_flight: self.cwnd as u32,
                cwnd: self.cwnd as u32,
                ssthresh: self.ssthresh,
                is_limited: true,
                srtt_us: self.rtt_ms * 1000,
                ..ModelEvent::default()
            });
            (self.cwnd, self.ssthresh) = (decision.cwnd, decision.ssthresh);
        }

        /// A round trip: ACKs of one packet each, the last `marked` ones of marked packets.
        fn round(&mut self, packets: u32, marked: u32) {
            for i in 0..packets {
                self.now += MS * self.rtt_ms / u64::from(packets);
                self.ack(1, u32::from(i >= packets - marked));
            }
        }
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value} instead of {expected}");
    }

    /// By hand, 20 packets of 1500 bytes: one ACK adds 1/20 with a round trip of 25 ms or more; 4 round trips
    /// after slow start (1/5)^2 of that with 5 ms. Marked packets add nothing.
    #[test]
    fn the_increase_is_that_of_a_round_trip_of_25_ms() {
        for (rtt_ms, rounds, expected) in
            [(25, 4, 20.05), (100, 4, 20.05), (5, 4, 20.002), (5, 3, 20.05), (150, 4, 20.05)]
        {
            let mut path = path(rtt_ms, 20.0);
            path.prague.rounds = rounds;
            path.prague.round.end = u32::MAX;
            path.ack(1, 0);
            close(path.prague.window, expected);
            path.prague.saw_mark = true;
            path.ack(2, 2);
            close(path.prague.window, expected);
        }
    }

    /// By hand: alpha is 0 until the first mark; then 1/16 x 5/10, 15/16 of it + 1/16 x 10/10.
    #[test]
    fn alpha_is_a_moving_average_from_the_first_mark_on() {
        let mut path = path(25, 10.0);
        path.round(30, 0);
        assert_eq!(path.prague.alpha, 0.0);
        let mut alphas = Vec::new();
        for marked in [5, 10] {
            path.prague.round = Round { end: path.una + 10, ..Round::default() };
            path.round(10, marked);
            alphas.push(path.prague.alpha);
        }
        close(alphas[0], 0.03125);
        close(alphas[1], 0.091_796_875);
    }

    /// By hand: a window of 40 in slow start becomes 20, and the sender's loses one packet per ACK.
    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut path = path(50, 40.0);
        path.ssthresh = 1000.0;
        path.ack(2, 0);
        assert_eq!((path.prague.window, path.cwnd), (42.0, 42.0));
        path.ack(2, 2);
        assert_eq!((path.prague.window, path.cwnd, path.ssthresh), (21.0, 41.0, 41.0));
        path.ack(2, 2);
        assert_eq!((path.prague.window, path.cwnd), (21.0, 40.0));
    }

    /// By hand: alpha 1/2 takes a quarter of 20 packets; below 25 ms not again before 25 ms have passed.
    #[test]
    fn a_mark_takes_half_of_alpha_once_per_virtual_round_trip() {
        for (rtt_ms, second) in [(10, 15.0), (30, 11.25)] {
            let mut path = path(rtt_ms, 20.0);
            let prague = &mut path.prague;
            (prague.alpha, prague.saw_mark, prague.rounds, prague.round.end) = (0.5, true, 4, u32::MAX);
            prague.on_phase(Phase::Cwr, 0);
            path.ack(1, 1);
            close(path.prague.window, 15.0);
            path.now += MS * path.rtt_ms;
            path.prague.on_phase(Phase::Cwr, 0);
            path.ack(1, 1);
            close(path.prague.window, second);
        }
    }

    /// By hand: half of 20 packets, and no growth before the end of the recovery; a timeout does the same.
    #[test]
    fn a_loss_halves_the_window_and_stops_growth() {
        let mut path = path(30, 20.0);
        path.prague.round.end = u32::MAX;
        path.prague.on_phase(Phase::Recovery, 0);
        path.ack(1, 0);
        close(path.prague.window, 10.0);
        path.prague.on_phase(Phase::Open, 0);
        path.ack(1, 0);
        close(path.prague.window, 10.1);
        path.prague.ssthresh(CongestionEvent::Timeout, 10.0, 10.0);
        close(path.prague.window, 5.05);
    }

    /// By hand: three packets per 30 ms are 100 packets/s, so the rate is controlled; an ACK adds
    /// 1 / 30 ms / 3 = 11.1 packets/s. The first half of the round trip is paced 1/32 faster.
    #[test]
    fn the_rate_is_controlled_up_to_four_packets() {
        let mut path = path(30, 3.0);
        let prague = &mut path.prague;
        (prague.saw_mark, prague.rounds, prague.round.end) = (true, 4, u32::MAX);
        path.ack(1, 1);
        assert!(path.prague.controls_rate);
        close(path.prague.rate, 100.0);
        path.prague.updated = path.now;
        path.ack(1, 0);
        close(path.prague.rate, 100.0 + 1.0 / 0.03 / 3.0);
        assert_eq!(path.prague.pacing_interval(), Some(Span((1e9 / (111.111_111_111 * 33.0 / 32.0)) as u64)));
        path.now += MS * 15;
        path.ack(1, 1);
        close(path.prague.pacing_rate, path.prague.rate * 31.0 / 32.0);
    }

    /// By hand: 20 packets per 40 ms; twice that below half of ssthresh; none without a round-trip sample.
    #[test]
    fn the_window_is_paced_over_a_round_trip() {
        let mut path = path(40, 20.0);
        path.prague.round.end = u32::MAX;
        path.ack(0, 0);
        assert_eq!(path.prague.pacing_interval(), Some(MS * 2));
        path.ssthresh = 100.0;
        path.ack(0, 0);
        assert_eq!(path.prague.pacing_interval(), Some(MS));
        path.rtt_ms = 0;
        path.ack(0, 0);
        assert_eq!(path.prague.pacing_interval(), None);
    }
}
