//! BBR version 1 as in Linux 6.1 (`tcp_bbr.c`): the window and the pacing rate follow a model of the path,
//! the largest delivery rate of ten round trips and the shortest round trip of ten seconds. `docs/bbr.md` has
//! the rules, the differences and vectors; the names in parentheses are those of Linux.
//!
//! All arithmetic is in integers, as in Linux: bandwidths in packets per microsecond with 24 fractional bits,
//! gains with 8.

use super::{
    CongestionControl, CongestionEvent, Decision, ModelEvent, OpenEvent, Phase, RestartEvent, TimeoutEvent,
};
use crate::tcp::{
    options::TcpOptions,
    rate::{RateSample, us_between},
};
use sojourn_aqm::{Random, Span, Stream, Time};

const BW_UNIT: u64 = 1 << 24;
const GAIN_UNIT: u64 = 1 << 8;
/// 2 / ln 2, the least gain that doubles the delivery rate per round trip (`bbr_high_gain`).
const HIGH_GAIN: u64 = GAIN_UNIT * 2885 / 1000 + 1;
/// Its inverse (`bbr_drain_gain`).
const DRAIN_GAIN: u64 = GAIN_UNIT * 1000 / 2885;
/// `bbr_cwnd_gain`
const CWND_GAIN: u64 = 2 * GAIN_UNIT;
/// The pacing gains of the phases of ProbeBW (`bbr_pacing_gain`).
const CYCLE: [u64; 8] = {
    let one = GAIN_UNIT;
    [one * 5 / 4, one * 3 / 4, one, one, one, one, one, one]
};
/// The cycle begins with any phase but the second one (`bbr_cycle_rand`).
const FIRST_PHASES: f64 = 7.0;
/// Round trips of the maximum of bandwidth (`bbr_bw_rtts`).
const BW_ROUNDS: u32 = 10;
/// Time of the minimum of the round trip (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW: Span = Span::from_millis(10_000);
/// The least time in ProbeRTT (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT: Span = Span::from_millis(200);
/// `bbr_cwnd_min_target`
const MIN_CWND: u32 = 4;
/// Below this number of packets delivered the window grows in Startup anyway (`TCP_INIT_CWND`).
const INIT_CWND: u32 = 10;
/// The pacing rate is this part of the bandwidth, per cent (`bbr_pacing_margin_percent`).
const PACING_PERCENT: u64 = 99;
/// The pipe is full if the bandwidth grew by less than a quarter in three round trips (`bbr_full_bw_cnt`).
const FULL_ROUNDS: u8 = 3;
/// Round trips of an interval for the rate of a policer, and with it (`bbr_lt_intvl_min_rtts`,
/// `bbr_lt_bw_max_rtts`).
const POLICER_ROUNDS: u32 = 4;
const POLICED_ROUNDS: u32 = 48;
/// Losses per delivery, in 256ths, that a policer causes (`bbr_lt_loss_thresh`).
const POLICER_LOSS: u64 = 50;
/// Two rates are equal within an eighth, or within 4 kbit/s (`bbr_lt_bw_ratio`, `bbr_lt_bw_diff`, bytes/s).
const SAME_RATE_PART: u64 = 8;
const SAME_RATE: u64 = 4000 / 8;
/// Round trips of each half of the maximum of aggregation (`bbr_extra_acked_win_rtts`), and bounds of it.
const EXTRA_ROUNDS: u32 = 5;
const EXTRA_MOST_US: u64 = 100_000;
const EPOCH_ACKED_MOST: u32 = 1 << 20;
/// Segments have at least two packets above this rate, bytes/s (`bbr_min_tso_rate`), and at most 64 kB less
/// the headers.
const TWO_SEGMENTS: u64 = 1_200_000 / 8;
const SEGMENT_BYTES: u64 = 65_535 - 320;
const INFINITE_SSTHRESH: f64 = 2_147_483_647.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate every round trip until the pipe is full.
    Startup,
    /// Drains the queue that Startup has made.
    Drain,
    /// Cycles the gain around one.
    ProbeBw,
    /// Sends little, to see the round trip without a queue.
    ProbeRtt,
}

/// The maximum of the samples of the last round trips: the best three, each of them later than the one
/// before (`lib/minmax.c`, after Kathleen Nichols).
#[derive(Clone, Debug, Default)]
struct WindowedMax([(u32, u64); 3]);

impl WindowedMax {
    fn get(&self) -> u64 {
        self.0[0].1
    }

    fn update(&mut self, window: u32, round: u32, value: u64) {
        let new = (round, value);
        let best = &mut self.0;
        if value >= best[0].1 || round - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let age = round - best[0].0;
        if age > window {
            // The best is too old; the second may be, too.
            *best = [best[1], best[2], new];
            if round - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            (best[1], best[2]) = (new, new); // a quarter of the window without a second
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new; // half of the window without a third
        }
    }
}

/// The estimate of the rate of a token-bucket policer, the "long-term" bandwidth of Linux.
#[derive(Clone, Debug, Default)]
struct Policer {
    is_sampling: bool,
    /// The rate is used (`lt_use_bw`).
    is_found: bool,
    bw: u64,
    rounds: u32,
    /// Counters at the start of the interval.
    since_ms: u64,
    delivered: u32,
    lost: u32,
}

impl Policer {
    fn begin_interval(&mut self, at: Time, delivered: u32, lost: u32) {
        (self.since_ms, self.delivered, self.lost, self.rounds) = (at.0 / 1_000_000, delivered, lost, 0);
    }
}

/// The excess of deliveries over the bandwidth, caused by aggregation of packets or of their ACKs.
#[derive(Clone, Debug, Default)]
struct Aggregation {
    epoch: Time,
    acked: u32,
    /// The most in each half of the window, and which half it is.
    extra: [u32; 2],
    half: usize,
    rounds: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    /// Bytes of payload of a packet.
    mss: u64,
    tick: Span,
    draws: Stream,
    mode: Mode,
    max_bw: WindowedMax,
    rounds: u32,
    /// The round ends with a packet that was sent when this number was delivered (`next_rtt_delivered`).
    round_end: u32,
    round_start: bool,
    min_rtt_us: Option<u64>,
    /// The tick of that sample.
    min_rtt_tick: u64,
    /// The tick at which ProbeRTT may end.
    probe_rtt_end: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    cycle: usize,
    cycle_start: Time,
    pacing_gain: u64,
    cwnd_gain: u64,
    full_bw: u64,
    full_rounds: u8,
    is_full: bool,
    phase: Phase,
    packet_conservation: bool,
    /// The window before a recovery or ProbeRTT (`prior_cwnd`).
    prior_cwnd: u32,
    has_seen_rtt: bool,
    /// Bytes of payload per second.
    pacing_rate: u64,
    policer: Policer,
    aggregation: Aggregation,
}

impl Bbr {
    pub(crate) fn new(o: &TcpOptions, payload: u32, draws: Stream) -> Bbr {
        Bbr {
            mss: u64::from(payload),
            tick: o.tick(),
            draws,
            mode: Mode::Startup,
            max_bw: WindowedMax::default(),
            rounds: 0,
            round_end: 0,
            round_start: false,
            min_rtt_us: None,
            min_rtt_tick: 0,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            cycle: 0,
            cycle_start: Time::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full_bw: 0,
            full_rounds: 0,
            is_full: false,
            phase: Phase::Open,
            packet_conservation: false,
            prior_cwnd: 0,
            has_seen_rtt: false,
            pacing_rate: 0,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
        }
    }

    fn ticks(&self, time: Time) -> u64 {
        time.0 / self.tick.0
    }

    /// The bandwidth that is used: that of the policer, if one was found.
    fn bw(&self) -> u64 {
        if self.policer.is_found { self.policer.bw } else { self.max_bw.get() }
    }

    /// Bytes per second of a bandwidth, less the margin (`bbr_rate_bytes_per_sec`).
    fn bytes_per_second(&self, bw: u64, gain: u64) -> u64 {
        let rate = (u128::from(bw) * u128::from(self.mss) * u128::from(gain)) >> 8;
        ((rate * u128::from(1_000_000 / 100 * PACING_PERCENT)) >> 24) as u64
    }

    /// `bbr_init_pacing_rate_from_rtt`: 1 ms if no round trip is known.
    fn init_pacing_rate(&mut self, cwnd: u32, srtt_us: u64) {
        self.has_seen_rtt |= srtt_us > 0;
        let rtt_us = if srtt_us > 0 { srtt_us } else { 1000 };
        self.pacing_rate = self.bytes_per_second(u64::from(cwnd) * BW_UNIT / rtt_us, HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`: in Startup the rate never falls.
    fn set_pacing_rate(&mut self, gain: u64, cwnd: u32, srtt_us: u64) {
        let rate = self.bytes_per_second(self.bw(), gain);
        if !self.has_seen_rtt && srtt_us > 0 {
            self.init_pacing_rate(cwnd, srtt_us);
        }
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Packets of a segment (`bbr_tso_segs_goal`); here each packet is sent by itself.
    fn segment(&self) -> u32 {
        let least = if self.pacing_rate < TWO_SEGMENTS { 1 } else { 2 };
        (((self.pacing_rate >> 10).min(SEGMENT_BYTES) / self.mss) as u32).clamp(least, 127)
    }

    fn save_cwnd(&mut self, cwnd: u32) {
        let is_good = self.phase < Phase::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Bandwidth-delay product in packets, rounded up (`bbr_bdp`).
    fn bdp(&self, bw: u64, gain: u64) -> u32 {
        let Some(min_rtt_us) = self.min_rtt_us else { return INIT_CWND };
        let packets =
            ((u128::from(bw) * u128::from(min_rtt_us) * u128::from(gain)) >> 8).div_ceil(u128::from(BW_UNIT));
        u32::try_from(packets).unwrap_or(u32::MAX / 2)
    }

    /// Room for whole segments and for the ACK of every second packet (`bbr_quantization_budget`).
    fn with_room(&self, cwnd: u32) -> u32 {
        let even = (cwnd.saturating_add(3 * self.segment() + 1)) & !1;
        even + if self.mode == Mode::ProbeBw && self.cycle == 0 { 2 } else { 0 }
    }

    fn inflight(&self, bw: u64, gain: u64) -> u32 {
        self.with_room(self.bdp(bw, gain))
    }

    /// Packets in flight when the next one may leave (`bbr_packets_in_net_at_edt`).
    fn in_flight_at_departure(&self, in_flight: u32, event: &ModelEvent) -> u32 {
        let until = us_between(event.now, event.next_send.max(event.now));
        let delivered = (u128::from(self.bw()) * u128::from(until)) >> 24;
        let more = if self.pacing_gain > GAIN_UNIT { self.segment() } else { 0 };
        (in_flight + more).saturating_sub(u32::try_from(delivered).unwrap_or(u32::MAX))
    }

    /// `bbr_update_bw`
    fn update_bw(&mut self, event: &ModelEvent) {
        self.round_start = false;
        let rate = &event.rate;
        let (Some(delivered), Some(interval_us)) = (rate.delivered, rate.interval_us) else { return };
        if rate.prior_delivered >= self.round_end {
            self.round_end = event.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.detect_policer(rate, event.delivered, event.lost, event.delivered_at);
        let bw = u64::from(delivered) * BW_UNIT / interval_us;
        if !rate.is_app_limited || bw >= self.max_bw.get() {
            self.max_bw.update(BW_ROUNDS, self.rounds, bw);
        }
    }

    /// `bbr_lt_bw_sampling`: two intervals with many losses and the same rate show a policer.
    fn detect_policer(&mut self, rate: &RateSample, delivered: u32, lost: u32, at: Time) {
        if self.policer.is_found {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.policer.rounds += 1;
                if self.policer.rounds >= POLICED_ROUNDS {
                    self.forget_policer(delivered, lost, at);
                    self.enter_probe_bw(at);
                }
            }
            return;
        }
        if !self.policer.is_sampling {
            if rate.losses == 0 {
                return;
            }
            self.policer.begin_interval(at, delivered, lost);
            self.policer.is_sampling = true;
        }
        if rate.is_app_limited {
            return self.forget_policer(delivered, lost, at);
        }
        self.policer.rounds += u32::from(self.round_start);
        if self.policer.rounds < POLICER_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * POLICER_ROUNDS {
            return self.forget_policer(delivered, lost, at);
        }
        let (new_lost, new) = (lost - self.policer.lost, delivered - self.policer.delivered);
        let is_lossy = new > 0 && u64::from(new_lost) * GAIN_UNIT >= POLICER_LOSS * u64::from(new);
        let ms = (at.0 / 1_000_000).saturating_sub(self.policer.since_ms);
        if rate.losses == 0 || !is_lossy || ms == 0 {
            return;
        }
        self.end_interval(u64::from(new) * BW_UNIT / (ms * 1000), delivered, lost, at);
    }

    /// `bbr_lt_bw_interval_done`
    fn end_interval(&mut self, bw: u64, delivered: u32, lost: u32, at: Time) {
        let before = self.policer.bw;
        let difference = bw.abs_diff(before);
        let is_same = difference * SAME_RATE_PART <= before
            || self.bytes_per_second(difference, GAIN_UNIT) <= SAME_RATE;
        if before > 0 && is_same {
            (self.policer.bw, self.policer.is_found, self.policer.rounds) =
                (u64::midpoint(bw, before), true, 0);
            self.pacing_gain = GAIN_UNIT;
            return;
        }
        self.policer.bw = bw;
        self.policer.begin_interval(at, delivered, lost);
    }

    fn forget_policer(&mut self, delivered: u32, lost: u32, at: Time) {
        self.policer = Policer::default();
        self.policer.begin_interval(at, delivered, lost);
    }

    /// `bbr_update_ack_aggregation`
    fn update_aggregation(&mut self, event: &ModelEvent) {
        let rate = &event.rate;
        if rate.acked == 0 || rate.delivered.is_none() || rate.interval_us.is_none() {
            return;
        }
        let bw = self.bw();
        let aggregation = &mut self.aggregation;
        if self.round_start {
            aggregation.rounds += 1;
            if aggregation.rounds >= EXTRA_ROUNDS {
                (aggregation.rounds, aggregation.half) = (0, 1 - aggregation.half);
                aggregation.extra[aggregation.half] = 0;
            }
        }
        let epoch_us = us_between(aggregation.epoch, event.delivered_at);
        let expected = (u128::from(bw) * u128::from(epoch_us) / u128::from(BW_UNIT)) as u64;
        let mut expected = u32::try_from(expected).unwrap_or(u32::MAX);
        if aggregation.acked <= expected || aggregation.acked + rate.acked >= EPOCH_ACKED_MOST {
            (aggregation.acked, aggregation.epoch, expected) = (0, event.delivered_at, 0);
        }
        aggregation.acked = (aggregation.acked + rate.acked).min(EPOCH_ACKED_MOST - 1);
        let extra = (aggregation.acked - expected).min(event.cwnd);
        let most = &mut aggregation.extra[aggregation.half];
        *most = (*most).max(extra);
    }

    /// `bbr_ack_aggregation_cwnd`
    fn aggregation_room(&self) -> u32 {
        if !self.is_full {
            return 0;
        }
        let most = u128::from(self.bw()) * u128::from(EXTRA_MOST_US) / u128::from(BW_UNIT);
        let [a, b] = self.aggregation.extra;
        a.max(b).min(u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// `bbr_update_cycle_phase`
    fn update_cycle(&mut self, event: &ModelEvent) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let length = us_between(self.cycle_start, event.delivered_at);
        let is_over = length > self.min_rtt_us.unwrap_or(u64::from(u32::MAX));
        let in_flight = self.in_flight_at_departure(event.prior_in_flight, event);
        let bw = self.max_bw.get();
        let ends = match self.pacing_gain {
            GAIN_UNIT => is_over,
            // More than a round trip, until that many packets are in flight or some are lost.
            gain if gain > GAIN_UNIT => {
                is_over && (event.rate.losses > 0 || in_flight >= self.inflight(bw, gain))
            }
            _ => is_over || in_flight <= self.inflight(bw, GAIN_UNIT),
        };
        if ends {
            self.next_phase(event.delivered_at);
        }
    }

    fn next_phase(&mut self, now: Time) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_start = now;
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() - 1 - (self.draws.uniform() * FIRST_PHASES) as usize;
        self.next_phase(now);
    }

    /// `bbr_check_full_bw_reached`
    fn check_full(&mut self, event: &ModelEvent) {
        if self.is_full || !self.round_start || event.rate.is_app_limited {
            return;
        }
        let bw = self.max_bw.get();
        if bw >= self.full_bw * (GAIN_UNIT * 5 / 4) / GAIN_UNIT {
            (self.full_bw, self.full_rounds) = (bw, 0);
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`
    fn check_drain(&mut self, event: &ModelEvent) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(event.in_flight, event)
                <= self.inflight(self.max_bw.get(), GAIN_UNIT)
        {
            self.enter_probe_bw(event.delivered_at);
        }
    }

    /// `bbr_update_min_rtt`: ProbeRTT if the minimum is ten seconds old. Returns the window if it ends, and
    /// whether samples of this time are to be ignored.
    fn update_min_rtt(&mut self, event: &ModelEvent) -> (u32, bool) {
        let tick = self.ticks(event.now);
        let is_old = tick > self.min_rtt_tick + MIN_RTT_WINDOW.0 / self.tick.0;
        if let Some(rtt_us) = event.rate.rtt_us
            && (is_old || self.min_rtt_us.is_none_or(|least| rtt_us < least))
        {
            (self.min_rtt_us, self.min_rtt_tick) = (Some(rtt_us), tick);
        }
        if is_old && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(event.cwnd);
            self.probe_rtt_end = None;
        }
        let mut cwnd = event.cwnd;
        let is_probing = self.mode == Mode::ProbeRtt;
        if is_probing {
            if self.probe_rtt_end.is_none() && event.in_flight <= MIN_CWND {
                self.probe_rtt_end = Some(tick + PROBE_RTT.0.div_ceil(self.tick.0));
                self.probe_rtt_round_done = false;
                self.round_end = event.delivered;
            } else if self.probe_rtt_end.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    cwnd = self.restored_window(cwnd, event.now, event.delivered_at);
                }
            }
        }
        if event.rate.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
        (cwnd, is_probing)
    }

    /// `bbr_check_probe_rtt_done`: the window, restored if ProbeRTT ends.
    fn restored_window(&mut self, cwnd: u32, now: Time, delivered_at: Time) -> u32 {
        let tick = self.ticks(now);
        if self.probe_rtt_end.is_none_or(|end| tick <= end) {
            return cwnd;
        }
        self.min_rtt_tick = tick;
        if self.is_full {
            self.enter_probe_bw(delivered_at);
        } else {
            self.mode = Mode::Startup;
        }
        cwnd.max(self.prior_cwnd)
    }

    /// `bbr_update_gains`
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.is_found => (GAIN_UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (GAIN_UNIT, GAIN_UNIT),
        };
    }

    /// `bbr_set_cwnd`
    fn next_cwnd(&mut self, cwnd: u32, event: &ModelEvent) -> u32 {
        let acked = event.rate.acked;
        let mut cwnd = cwnd;
        if acked > 0 {
            let conserves;
            (cwnd, conserves) = self.recover_or_restore(cwnd, event);
            if !conserves {
                let target = self.with_room(self.bdp(self.bw(), self.cwnd_gain) + self.aggregation_room());
                if self.is_full {
                    cwnd = (cwnd + acked).min(target);
                } else if cwnd < target || event.delivered < INIT_CWND {
                    cwnd += acked;
                }
                cwnd = cwnd.max(MIN_CWND);
            }
        }
        if self.mode == Mode::ProbeRtt { cwnd.min(MIN_CWND) } else { cwnd }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: the window less what was lost, and whether packets are
    /// conserved: in the first round trip of a recovery.
    fn recover_or_restore(&mut self, cwnd: u32, event: &ModelEvent) -> (u32, bool) {
        let mut cwnd = cwnd.saturating_sub(event.rate.losses).max(1);
        let released = event.in_flight + event.rate.acked;
        if event.phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.packet_conservation = true;
            self.round_end = event.delivered;
            cwnd = released;
        } else if self.phase >= Phase::Recovery && event.phase < Phase::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.phase = event.phase;
        if self.packet_conservation { (cwnd.max(released), true) } else { (cwnd, false) }
    }
}

impl CongestionControl for Bbr {
    /// `bbr_init`
    fn on_open(&mut self, open: &OpenEvent) {
        self.min_rtt_us = open.min_rtt_us;
        self.min_rtt_tick = self.ticks(open.now);
        self.round_end = open.delivered;
        self.aggregation.epoch = open.now;
        self.init_pacing_rate(open.cwnd, open.srtt_us);
        self.forget_policer(open.delivered, 0, open.now);
    }

    /// `bbr_main`
    fn on_model(&mut self, event: &ModelEvent) -> Decision {
        self.update_bw(event);
        self.update_aggregation(event);
        self.update_cycle(event);
        self.check_full(event);
        self.check_drain(event);
        let (cwnd, is_limited) = self.update_min_rtt(event);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, cwnd, event.srtt_us);
        let cwnd = f64::from(self.next_cwnd(cwnd, event));
        Decision { cwnd, ssthresh: event.ssthresh, is_limited }
    }

    fn pacing_interval(&self) -> Option<Span> {
        Some(Span((self.mss * 1_000_000_000).checked_div(self.pacing_rate).unwrap_or(0)))
    }

    /// `bbr_cwnd_event`
    fn on_restart(&mut self, restart: &RestartEvent) -> f64 {
        let mut cwnd = restart.cwnd;
        self.idle_restart = true;
        (self.aggregation.epoch, self.aggregation.acked) = (restart.now, 0);
        if self.mode == Mode::ProbeBw {
            self.set_pacing_rate(GAIN_UNIT, cwnd, restart.srtt_us);
        } else if self.mode == Mode::ProbeRtt {
            cwnd = self.restored_window(cwnd, restart.now, restart.now);
        }
        f64::from(cwnd)
    }

    /// `bbr_ssthresh`: nothing is reduced.
    fn ssthresh(&mut self, _event: CongestionEvent, cwnd: f64, _base: f64) -> f64 {
        self.save_cwnd(cwnd as u32);
        INFINITE_SSTHRESH
    }

    /// `bbr_set_state`: a timeout is the end of a round, with a loss.
    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        (self.phase, self.full_bw, self.round_start) = (Phase::Loss, 0, true);
        let sample = RateSample { losses: 1, ..RateSample::default() };
        self.detect_policer(&sample, timeout.delivered, timeout.lost, timeout.delivered_at);
    }

    fn cong_avoid(&mut self, cwnd: f64, _packets: f64, _now: Time, _srtt_ns: f64) -> f64 {
        cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::schema::resolve;

    const MS: Span = Span::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn bbr() -> Bbr {
        let options = resolve("linux", &[("granularity".to_owned(), "1ms".to_owned())]).unwrap();
        Bbr::new(&options, 1448, Stream::new(1, "bbr"))
    }

    /// A path of `rate` packets per millisecond and a round trip of `rtt_ms`, with `queue` packets in a
    /// queue. A round of one sample per call.
    struct Path {
        bbr: Bbr,
        now: Time,
        delivered: u32,
        cwnd: u32,
        in_flight: u32,
        phase: Phase,
        lost: u32,
    }

    impl Path {
        fn new() -> Path {
            let mut bbr = bbr();
            let (min_rtt_us, srtt_us) = (Some(40_000), 40_000);
            bbr.on_open(&OpenEvent { now: at(40), cwnd: 10, srtt_us, min_rtt_us, delivered: 1 });
            Path { bbr, now: at(40), delivered: 1, cwnd: 10, in_flight: 10, phase: Phase::Open, lost: 0 }
        }

        /// The ACK of `packets`, sent a round trip of `rtt_ms` ago: a whole round at once.
        fn round(&mut self, packets: u32, rtt_ms: u64, losses: u32) {
            let prior_delivered = self.delivered;
            self.now += MS * rtt_ms;
            self.delivered += packets;
            self.lost += losses;
            let rate = RateSample {
                delivered: Some(packets),
                interval_us: Some(rtt_ms * 1000),
                prior_delivered,
                acked: packets,
                losses,
                rtt_us: Some(rtt_ms * 1000),
                is_app_limited: false,
            };
            let decision = self.bbr.on_model(&ModelEvent {
                now: self.now,
                rate,
                delivered: self.delivered,
                lost: self.lost,
                delivered_at: self.now,
                prior_in_flight: self.in_flight + packets,
                in_flight: self.in_flight,
                phase: self.phase,
                cwnd: self.cwnd,
                srtt_us: 40_000,
                next_send: self.now,
                ..ModelEvent::default()
            });
            self.cwnd = decision.cwnd as u32;
        }
    }

    /// `BBR_UNIT * 2885 / 1000 + 1` and `BBR_UNIT * 1000 / 2885`, by hand 739.56 and 88.7.
    #[test]
    fn gains_are_those_of_linux() {
        assert_eq!((HIGH_GAIN, DRAIN_GAIN, CYCLE[0], CYCLE[1]), (739, 88, 320, 192));
    }

    /// By hand: 10 packets per 40 ms are 2^24 / 4000 = 4194 units; 4194 * 1448 * 739 / 256 = 17,530,788;
    /// times 990,000 / 2^24 = 1,034,467 bytes/s, so a packet of 1448 bytes takes 1,399,754 ns.
    #[test]
    fn the_first_rate_is_the_initial_window_per_round_trip_times_the_gain() {
        let path = Path::new();
        assert_eq!(path.bbr.pacing_rate, 1_034_467);
        assert_eq!(path.bbr.pacing_interval(), Some(Span(1399754)));
        let mut unknown = bbr();
        unknown.on_open(&OpenEvent { cwnd: 10, ..OpenEvent::default() });
        assert_eq!(unknown.pacing_rate, 41_381_651, "1 ms: 167,772 units");
    }

    /// Startup until three rounds without a quarter more: 10, 20, 40 packets per round, then 44. Then Drain
    /// with the gain 88/256 while more than a bandwidth-delay product is in flight, 44 packets and room:
    /// three segments of two packets, made even. Then ProbeBW with the window 2 x 44 + 6, and 2 more in its
    /// first phase.
    #[test]
    fn startup_ends_when_the_bandwidth_stays_and_drain_when_the_queue_is_empty() {
        let mut path = Path::new();
        path.in_flight = 100;
        let mut modes = Vec::new();
        for packets in [10, 20, 40, 44, 44, 44, 44] {
            path.round(packets, 40, 0);
            modes.push(path.bbr.mode);
        }
        let (startup, drain) = (Mode::Startup, Mode::Drain);
        assert_eq!(modes, [startup, startup, startup, startup, startup, drain, drain]);
        assert_eq!((path.bbr.pacing_gain, path.bbr.cwnd_gain), (88, 739));
        assert_eq!(path.bbr.inflight(path.bbr.max_bw.get(), GAIN_UNIT), 50);
        path.in_flight = 51;
        path.round(44, 40, 0);
        assert_eq!(path.bbr.mode, drain);
        path.in_flight = 50;
        path.round(44, 40, 0);
        assert_eq!((path.bbr.mode, path.bbr.cwnd_gain), (Mode::ProbeBw, 512));
        let phase = path.bbr.cycle;
        assert!(phase != 1, "the cycle never begins with the phase that drains");
        let extra = path.bbr.aggregation.extra[path.bbr.aggregation.half].min(path.cwnd);
        assert!(path.cwnd <= 88 + extra + 8, "{} {extra}", path.cwnd);
    }

    /// Each start of the cycle but the second phase occurs, drawn from the seed.
    #[test]
    fn the_start_of_the_cycle_is_random() {
        let mut seen = [0; 8];
        let mut one = bbr();
        for _ in 0..700 {
            one.enter_probe_bw(at(0));
            seen[one.cycle] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!(seen.iter().enumerate().all(|(i, count)| i == 1 || (60..140).contains(count)), "{seen:?}");
    }

    /// The phase that probes lasts until 5/4 of the product are in flight, that which drains until one is.
    #[test]
    fn a_phase_ends_by_time_or_by_the_packets_in_flight() {
        let mut path = Path::new();
        for packets in [44; 9] {
            path.round(packets, 40, 0);
        }
        path.bbr.mode = Mode::ProbeBw;
        (path.bbr.cycle, path.bbr.cycle_start, path.bbr.pacing_gain) = (0, path.now, 320);
        // 5/4 * 44 = 55 and 6, made even, and 2: 64 in flight, of which the segment of two leaves now.
        path.in_flight = 17;
        path.round(44, 41, 0);
        assert_eq!(path.bbr.cycle, 0, "61 and 2 in flight");
        path.in_flight = 18;
        path.round(44, 41, 0);
        assert_eq!(path.bbr.cycle, 1);
        path.in_flight = 6;
        path.round(44, 40, 0);
        assert_eq!(path.bbr.cycle, 2, "50 in flight");
        path.round(44, 40, 0);
        assert_eq!(path.bbr.cycle, 2, "40 ms are not more than 40 ms");
    }

    /// Ten seconds without a shorter round trip: four packets for 200 ms and a round, then the window before.
    #[test]
    fn probe_rtt_sends_four_packets_for_a_fifth_of_a_second() {
        let mut path = Path::new();
        for packets in [44; 9] {
            path.round(packets, 40, 0);
        }
        (path.bbr.mode, path.in_flight) = (Mode::ProbeBw, 60);
        while path.bbr.mode != Mode::ProbeRtt {
            path.round(50, 45, 0);
        }
        assert!(path.now > at(10_040) && path.now < at(10_150), "{:?}", path.now);
        assert_eq!((path.cwnd, path.bbr.min_rtt_us), (4, Some(45_000)), "the latest sample is the minimum");
        path.in_flight = 4;
        path.round(4, 40, 0);
        let begin = path.now;
        while path.bbr.mode == Mode::ProbeRtt {
            assert_eq!(path.cwnd, 4);
            path.round(4, 40, 0);
        }
        assert_eq!(path.now - begin, MS * 240, "the first round after 200 ms");
        // 50 packets per 45 ms are 44.4 per 40 ms, twice that 88.9, and the room of three segments.
        assert!(path.cwnd >= 96 && path.bbr.min_rtt_us == Some(40_000), "{}", path.cwnd);
    }

    /// In the first round of a recovery a packet is sent for each one delivered; then the window grows, and
    /// is that before at the end.
    #[test]
    fn the_first_round_of_a_recovery_conserves_packets() {
        let mut path = Path::new();
        for packets in [44; 9] {
            path.round(packets, 40, 0);
        }
        let window = path.cwnd;
        path.bbr.ssthresh(CongestionEvent::Loss, f64::from(window), 0.0);
        (path.phase, path.in_flight) = (Phase::Recovery, 30);
        path.bbr.round_end = path.delivered + 100; // the ACK is in the middle of a round
        path.round(1, 40, 2);
        assert_eq!((path.cwnd, path.bbr.packet_conservation), (31, true));
        path.bbr.round_end = path.delivered + 100;
        path.round(2, 40, 1);
        assert_eq!(path.cwnd, 32, "30 in flight and 2, more than 31 - 1");
        path.round(1, 40, 0);
        assert!(!path.bbr.packet_conservation || path.cwnd >= 31);
        path.phase = Phase::Open;
        path.round(1, 40, 0);
        assert!(path.cwnd >= window, "{} {window}", path.cwnd);
    }

    /// Two intervals of four rounds or more with a fifth lost and the same rate: a policer, whose rate is
    /// used for 48 rounds.
    #[test]
    fn a_policer_is_found_by_two_equal_lossy_intervals() {
        let mut path = Path::new();
        for packets in [44; 9] {
            path.round(packets, 40, 0);
        }
        (path.bbr.mode, path.in_flight) = (Mode::ProbeBw, 20);
        let mut rounds = 0;
        while !path.bbr.policer.is_found {
            path.round(20, 40, 6);
            rounds += 1;
            assert!(rounds < 20);
        }
        // 20 packets per 40 ms; two intervals of four rounds.
        assert_eq!((rounds, path.bbr.bw()), (8, 20 * BW_UNIT / 40_000));
        assert_eq!(path.bbr.pacing_gain, 256);
        for _ in 0..48 {
            assert!(path.bbr.policer.is_found);
            path.round(20, 40, 0);
        }
        assert!(!path.bbr.policer.is_found);
    }

    /// The best of ten rounds; when it is too old, the best of those after it.
    #[test]
    fn the_maximum_forgets_after_its_window() {
        let mut max = WindowedMax::default();
        let values = [5, 9, 4, 3, 6, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];
        let mut seen = Vec::new();
        for (round, value) in (0..).zip(values) {
            max.update(10, round, value);
            seen.push(max.get());
        }
        assert_eq!(seen, [5, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 6, 6, 6, 2, 2]);
    }
}
