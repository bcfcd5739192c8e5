//! The retransmission timeout: RFC 6298 in exact time, in clock ticks as in BSD and ns-2, or as in Linux.
//!
//! One packet is timed at a time, which RFC 6298, section 3, permits; RACK passes its own samples
//! ([`Rto::on_rtt_sample`]). Retransmitted packets give no sample (Karn's algorithm).

use super::options::{TcpOptions, Timer};
use sojourn_aqm::{Span, Time};
use std::num::NonZero;

/// RTT estimate and timeout of one flow. The fields that every ACK reads come last, beside those of the
/// sender.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Rto {
    estimate: Estimate,
    /// How often the timeout has been doubled (Linux: icsk_backoff).
    backoff: u8,
    /// One beyond the packet that is timed; 0: none is.
    timed_end: u32,
    /// When the timed packet was sent.
    timed_at: Time,
    /// The current timeout, back-off and bounds included.
    timeout: Span,
}

/// Packed to two words, because there is one per flow; the options say which of the two packed forms it is.
#[derive(Clone, Debug)]
enum Estimate {
    /// [`Exact`] or [`Ticks`].
    Packed(NonZero<u64>, u64),
    Linux(Box<Linux>),
}

/// RFC 6298, section 2, in nanoseconds. Before the first sample `srtt` is negative and `rttvar` is a lower
/// bound of the timeout.
struct Exact {
    srtt: f64,
    rttvar: f64,
}

impl Exact {
    fn pack(&self) -> Estimate {
        Estimate::Packed(NonZero::<u64>::MIN.saturating_add(self.srtt.to_bits()), self.rttvar.to_bits())
    }

    fn unpack(first: NonZero<u64>, second: u64) -> Exact {
        Exact { srtt: f64::from_bits(first.get() - 1), rttvar: f64::from_bits(second) }
    }

    /// RFC 6298, section 2.3: SRTT + max(G, 4 RTTVAR), for use after the first sample.
    fn base(&self, tick: Span) -> Span {
        Span((self.srtt + (4.0 * self.rttvar).max(tick.0 as f64) + 0.5) as u64)
    }
}

/// BSD's integer estimate, in ticks: 8 srtt and 4 rttvar, 0 before the first sample; and the phase of the
/// flow's clock at the start of the run, less than a tick, in nanoseconds.
struct Ticks {
    srtt: u64,
    rttvar: u64,
    phase: u64,
}

impl Ticks {
    /// The first word holds `srtt` above the bits that a phase takes.
    fn pack(&self, tick: Span) -> Estimate {
        let first = self.srtt << Ticks::phase_bits(tick) | self.phase;
        Estimate::Packed(NonZero::<u64>::MIN.saturating_add(first), self.rttvar)
    }

    fn unpack(first: NonZero<u64>, rttvar: u64, tick: Span) -> Ticks {
        let (first, bits) = (first.get() - 1, Ticks::phase_bits(tick));
        Ticks { srtt: first >> bits, rttvar, phase: first & ((1 << bits) - 1) }
    }

    fn phase_bits(tick: Span) -> u32 {
        u64::BITS - tick.0.leading_zeros()
    }

    fn base(&self, tick: Span) -> Span {
        Span((self.rttvar + (self.srtt >> 3)) * tick.0)
    }
}

/// Linux (`tcp_rtt_estimator`), in nanoseconds: rttvar is the largest mdev of a round trip, at least min_rto,
/// and decays by a quarter of the difference per round trip. `srtt` is 0 before the first sample.
#[derive(Clone, Debug, Default)]
struct Linux {
    srtt: f64,
    mdev: f64,
    mdev_max: f64,
    rttvar: f64,
    /// The round trip that `mdev_max` belongs to ends when this packet is acknowledged.
    rtt_seq: u32,
    /// Timeout before back-off.
    base: Span,
}

impl Rto {
    /// `phase`: where in a tick the flow's clock starts, 0 <= phase < 1 (called for [`Timer::Ticks`] only).
    pub(crate) fn new(o: &TcpOptions, phase: impl FnOnce() -> f64) -> Rto {
        let tick = o.tick();
        let estimate = match o.timer {
            Timer::Rfc6298 => Exact { srtt: -1.0, rttvar: 0.0 }.pack(),
            Timer::Ticks => {
                Ticks { srtt: 0, rttvar: 0, phase: (phase() * o.granularity.0 as f64) as u64 }.pack(tick)
            }
            Timer::Linux => Estimate::Linux(Box::new(Linux { base: o.initial_rto, ..Linux::default() })),
        };
        let mut rto = Rto { timeout: Span::ZERO, timed_at: Time::ZERO, timed_end: 0, backoff: 0, estimate };
        rto.set_timeout(o, o.initial_rto);
        rto
    }

    /// The current timeout.
    #[inline]
    pub(crate) fn timeout(&self) -> Span {
        self.timeout
    }

    /// ns-2 has a floor of two ticks, which holds above max_rto too.
    fn set_timeout(&mut self, o: &TcpOptions, base: Span) {
        let floor = if o.timer == Timer::Ticks { o.tick() * 2 } else { Span::ZERO };
        self.timeout = self.backed_off(o, base).min(o.max_rto).max(floor);
    }

    fn backed_off(&self, o: &TcpOptions, base: Span) -> Span {
        let base = base.max(o.min_rto);
        if self.backoff == 0 { base } else { base * (1 << self.backoff) }
    }

    /// The timeout before back-off and bounds.
    fn base(&self, o: &TcpOptions) -> Span {
        let tick = o.tick();
        match (&self.estimate, o.timer) {
            (Estimate::Linux(linux), _) => linux.base,
            (Estimate::Packed(first, second), Timer::Ticks) => {
                let ticks = Ticks::unpack(*first, *second, tick);
                if ticks.rttvar == 0 { o.initial_rto } else { ticks.base(tick) }
            }
            (Estimate::Packed(first, second), _) => match Exact::unpack(*first, *second) {
                Exact { srtt, rttvar } if srtt < 0.0 => o.initial_rto.max(Span(rttvar as u64)),
                exact => exact.base(tick),
            },
        }
    }

    /// Packet `sequence` is sent for the first time.
    #[inline]
    pub(crate) fn on_send(&mut self, sequence: u32, now: Time) {
        if self.timed_end == 0 {
            (self.timed_end, self.timed_at) = (sequence + 1, now);
        }
    }

    /// Stop timing a packet, because a retransmission makes the sample ambiguous (Karn's algorithm).
    pub(crate) fn cancel_timing(&mut self) {
        self.timed_end = 0;
    }

    /// The sample that an ACK of all packets below `una` gives.
    pub(crate) fn sample(&self, una: u32, now: Time) -> Option<Span> {
        (self.timed_end > 0 && self.timed_end <= una).then(|| now - self.timed_at)
    }

    /// All packets below `una` are acknowledged. If the timed packet is among them, take the sample and end
    /// back-off (RFC 6298, section 5), unless `keep_backoff`.
    #[inline]
    pub(crate) fn on_ack(&mut self, o: &TcpOptions, una: u32, now: Time, keep_backoff: bool) {
        if self.timed_end > 0 && self.timed_end <= una {
            self.take_sample(o, una, now, keep_backoff);
        }
    }

    #[inline(never)]
    fn take_sample(&mut self, o: &TcpOptions, una: u32, now: Time, keep_backoff: bool) {
        self.timed_end = 0;
        if !keep_backoff {
            self.backoff = 0;
        }
        let base = self.update_estimate(o, self.timed_at, now);
        self.end_round(o, una, 0);
        self.set_timeout(o, base);
    }

    /// A packet sent at `sent` was acknowledged at `now`.
    pub(crate) fn on_rtt_sample(&mut self, o: &TcpOptions, sent: Time, now: Time, una: u32, nxt: u32) {
        self.backoff = 0;
        self.timed_end = 0;
        let base = self.update_estimate(o, sent, now);
        self.end_round(o, una, nxt);
        self.set_timeout(o, base);
    }

    /// Whether the timer has expired since the last sample.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// Smoothed round-trip time in nanoseconds; 0 before the first sample.
    pub(crate) fn srtt_ns(&self, o: &TcpOptions) -> f64 {
        let tick = o.tick();
        match (&self.estimate, o.timer) {
            (Estimate::Linux(linux), _) => linux.srtt,
            (Estimate::Packed(first, second), Timer::Ticks) => {
                (Ticks::unpack(*first, *second, tick).srtt as f64 / 8.0) * tick.0 as f64
            }
            (Estimate::Packed(first, second), _) => Exact::unpack(*first, *second).srtt.max(0.0),
        }
    }

    /// End back-off without a sample.
    pub(crate) fn reset_backoff(&mut self, o: &TcpOptions) {
        self.backoff = 0;
        self.set_timeout(o, self.base(o));
    }

    /// RFC 6298, section 5.7: after a SYN that timed out, the timeout for data starts at 3 s if it was less.
    pub(crate) fn after_lost_syn(&mut self, o: &TcpOptions) {
        if let Estimate::Packed(first, second) = self.estimate
            && o.timer == Timer::Rfc6298
            && Exact::unpack(first, second).srtt < 0.0
            && self.base(o) < Span::from_millis(3000)
        {
            self.estimate = Exact { srtt: -1.0, rttvar: 3e9 }.pack();
            self.backoff = 0;
            self.set_timeout(o, self.base(o));
        }
    }

    /// Double the timeout (RFC 6298, section 5.5).
    pub(crate) fn back_off(&mut self, o: &TcpOptions) {
        if self.backed_off(o, self.base(o)) < o.max_rto {
            self.backoff += 1;
            self.set_timeout(o, self.base(o));
        }
        if let Estimate::Packed(first, second) = self.estimate
            && o.timer == Timer::Ticks
            && self.backoff > 3
        {
            // BSD discards srtt, which may be far off by now; rttvar keeps the size of the timeout until a
            // sample.
            let tick = o.tick();
            let Ticks { srtt, rttvar, phase } = Ticks::unpack(first, second, tick);
            self.estimate = Ticks { srtt: 0, rttvar: rttvar + (srtt >> 3), phase }.pack(tick);
        }
    }

    /// Linux: once per round trip rttvar decays towards mdev_max.
    fn end_round(&mut self, o: &TcpOptions, una: u32, nxt: u32) {
        if let Estimate::Linux(linux) = &mut self.estimate
            && una > linux.rtt_seq
        {
            linux.rttvar -= (linux.rttvar - linux.mdev_max).max(0.0) / 4.0;
            (linux.rtt_seq, linux.mdev_max) = (nxt, o.min_rto.0 as f64);
        }
    }

    /// Update the estimate with a sample; returns the timeout before back-off.
    #[inline(always)]
    fn update_estimate(&mut self, o: &TcpOptions, sent: Time, now: Time) -> Span {
        let tick = o.tick();
        match (&mut self.estimate, o.timer) {
            (Estimate::Packed(first, second), Timer::Ticks) => {
                let Ticks { mut srtt, mut rttvar, phase } = Ticks::unpack(*first, *second, tick);
                // The number of ticks of the flow's clock between sending and acknowledgement.
                let sample = (((now - sent).0 + (sent.0 + phase) % tick.0) / tick.0).max(1);
                if srtt != 0 {
                    let before = srtt >> 3;
                    srtt = (srtt + sample - before).max(1);
                    rttvar = (rttvar + sample.abs_diff(before) - (rttvar >> 2)).max(1);
                } else {
                    srtt = sample << 3;
                    rttvar = sample << 1;
                }
                let ticks = Ticks { srtt, rttvar, phase };
                self.estimate = ticks.pack(tick);
                ticks.base(tick)
            }
            (Estimate::Packed(first, second), _) => {
                // RFC 6298, sections 2.2 and 2.3.
                let sample = (now - sent).0 as f64;
                let Exact { srtt, rttvar } = Exact::unpack(*first, *second);
                let (srtt, rttvar) = if srtt < 0.0 {
                    (sample, sample / 2.0)
                } else {
                    (srtt * 0.875 + sample * 0.125, rttvar * 0.75 + (srtt - sample).abs() * 0.25)
                };
                let exact = Exact { srtt, rttvar };
                self.estimate = exact.pack();
                exact.base(tick)
            }
            (Estimate::Linux(linux), _) => {
                let Linux { srtt, mdev, mdev_max, rttvar, base, .. } = &mut **linux;
                let sample = ((now - sent).0 as f64).max(1000.0); // at least a microsecond
                let floor = o.min_rto.0 as f64;
                if *srtt == 0.0 {
                    *srtt = sample;
                    *mdev = 2.0 * sample; // mdev is scaled by 4: half of the sample
                    *rttvar = mdev.max(floor);
                    *mdev_max = *rttvar;
                } else {
                    let error = sample - *srtt;
                    *srtt += error / 8.0;
                    let change = error.abs() - *mdev / 4.0;
                    // A sample below srtt raises mdev by an eighth of the usual amount only.
                    *mdev += if error < 0.0 && change > 0.0 { change / 8.0 } else { change };
                    *mdev_max = mdev_max.max(*mdev);
                    *rttvar = rttvar.max(*mdev_max);
                }
                *base = Span((*srtt + *rttvar + 0.5) as u64);
                *base
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::schema;

    const S: Span = Span(1_000_000_000);

    /// Vector TV1: samples of 0.5, 0.7, 0.4 and 1.0 s, G = 0.1 s, without and with the floor of 1 s.
    #[test]
    fn the_estimate_follows_rfc_6298() {
        let mut options = schema::resolve("rfc", &[]).unwrap();
        options.granularity = S / 10;
        let rows =
            [(0.5, 1.5, 3.0), (0.7, 1.475, 2.95), (0.4, 1.346875, 2.69375), (1.0, 1.68945312, 3.37890625)];
        for floor in [Span::ZERO, S] {
            options.min_rto = floor;
            let mut rto = Rto::new(&options, || 0.0);
            assert_eq!(rto.timeout(), S.max(floor), "1 s before the first sample");
            let mut now = Time::ZERO;
            for (i, (sample, timeout, backed_off)) in rows.into_iter().enumerate() {
                rto.on_send(i as u32, now);
                now += Span((sample * S.0 as f64) as u64);
                rto.on_ack(&options, i as u32 + 1, now, false);
                let near = |timeout: Span, s: f64| (timeout.as_secs_f64() - s).abs() < 1e-8;
                assert!(near(rto.timeout(), timeout), "{:?} {timeout}", rto.timeout());
                let mut later = rto.clone();
                later.back_off(&options);
                assert!(near(later.timeout(), backed_off));
            }
        }
    }

    #[test]
    fn back_off_lasts_until_a_valid_sample_and_is_bounded_by_max_rto() {
        let options = schema::resolve("rfc", &[]).unwrap();
        let mut rto = Rto::new(&options, || 0.0);
        for _ in 0..20 {
            rto.back_off(&options);
        }
        assert_eq!(rto.timeout(), options.max_rto);
        rto.on_send(0, Time::ZERO);
        rto.cancel_timing(); // retransmitted: no sample, back-off stays
        rto.on_ack(&options, 1, Time(5), false);
        assert_eq!(rto.timeout(), options.max_rto);
        rto.on_send(1, Time::ZERO);
        rto.on_ack(&options, 2, Time::ZERO + S / 10, false);
        assert_eq!(rto.timeout(), options.min_rto);
    }

    #[test]
    fn ticks_count_clock_boundaries() {
        let options = schema::resolve("ns2", &[("min_rto".into(), "0s".into())]).unwrap();
        let mut rto = Rto::new(&options, || 0.0);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        // Sent 9 ms into a tick of 10 ms, acknowledged 51 ms later: 6 ticks; srtt 6, rttvar 3: 6 + 4 * 3 =
        // 18.
        rto.on_send(0, at(9));
        rto.on_ack(&options, 1, at(60), false);
        assert_eq!(rto.timeout(), Span::from_millis(180));
        // 5 ticks: 8 srtt = 48 + 5 - 6 = 47, 4 rttvar = 12 + |5 - 6| - 3 = 10; 10 + (47 >> 3) = 15.
        rto.on_send(1, at(60));
        rto.on_ack(&options, 2, at(111), false);
        assert_eq!(rto.timeout(), Span::from_millis(150));
    }
}
