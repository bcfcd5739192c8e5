//! The retransmission timer's value: RFC 6298 in exact time, counted in clock ticks as in BSD and ns-2, or
//! as in Linux. One packet is timed at a time, or with [`Rto::measured`] any; what is retransmitted is
//! never timed (Karn).

use super::options::{TcpOptions, Timer};
use std::num::NonZero;

/// Round-trip estimate and time-out of one flow. What every acknowledgement touches comes last.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Rto {
    estimate: Estimate,
    /// How often the time-out has been doubled.
    doubled: u8,
    /// One beyond the packet that is timed; 0: none is.
    timed: u32,
    /// When that packet was sent.
    sent: u64,
    /// The time-out that follows from the rest.
    timeout: u64,
}

/// There may be very many, so the two small ones are packed into words; which of them it is, the options know.
#[derive(Clone, Debug)]
enum Estimate {
    /// [`Exact`] or [`Ticks`].
    Packed(NonZero<u64>, u64),
    /// As Linux does it.
    Linux(Box<Linux>),
}

/// Nanoseconds; before the first sample `srtt` is below 0, and `rttvar` the least time-out.
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

    /// The time-out before back-off, after the first sample.
    fn base(&self, tick: u64) -> u64 {
        (self.srtt + (4.0 * self.rttvar).max(tick as f64) + 0.5) as u64
    }
}

/// In ticks: srtt times 8, rttvar times 4 (0 before the first sample); and the clock's phase at the start, less than
/// a tick.
struct Ticks {
    srtt: u64,
    rttvar: u64,
    phase: u64,
}

impl Ticks {
    /// Both words; the first holds `srtt` above as many bits as a tick has.
    fn pack(&self, tick: u64) -> Estimate {
        let first = self.srtt << Ticks::bits(tick) | self.phase;
        Estimate::Packed(NonZero::<u64>::MIN.saturating_add(first), self.rttvar)
    }

    fn unpack(first: NonZero<u64>, rttvar: u64, tick: u64) -> Ticks {
        let (first, bits) = (first.get() - 1, Ticks::bits(tick));
        Ticks { srtt: first >> bits, rttvar, phase: first & ((1 << bits) - 1) }
    }

    fn bits(tick: u64) -> u32 {
        u64::BITS - tick.leading_zeros()
    }

    /// The time-out before back-off.
    fn base(&self, tick: u64) -> u64 {
        (self.rttvar + (self.srtt >> 3)) * tick
    }
}

/// Nanoseconds: the deviation used is the largest of a round trip, sinks by a quarter of the difference a round
/// trip, and has the floor; `srtt` is 0 before the first sample.
#[derive(Clone, Debug, Default)]
struct Linux {
    srtt: f64,
    mdev: f64,
    most: f64,
    rttvar: f64,
    until: u32,
    /// The time-out since the last sample, before back-off.
    base: u64,
}

impl Rto {
    /// `phase`: where in a tick the flow's clock starts, 0 <= phase < 1 (asked for by ticks only).
    pub(crate) fn new(o: &TcpOptions, phase: impl FnOnce() -> f64) -> Rto {
        let tick = o.granularity.max(1);
        let estimate = match o.timer {
            Timer::Rfc6298 => Exact { srtt: -1.0, rttvar: 0.0 }.pack(),
            Timer::Ticks => {
                Ticks { srtt: 0, rttvar: 0, phase: (phase() * o.granularity as f64) as u64 }.pack(tick)
            }
            Timer::Linux => Estimate::Linux(Box::new(Linux { base: o.initial_rto, ..Linux::default() })),
        };
        let mut rto = Rto { timeout: 0, sent: 0, timed: 0, doubled: 0, estimate };
        rto.set_timeout(o, o.initial_rto);
        rto
    }

    /// How long to wait from now.
    #[inline]
    pub(crate) fn timeout(&self) -> u64 {
        self.timeout
    }

    fn set_timeout(&mut self, o: &TcpOptions, base: u64) {
        let floor = if o.timer == Timer::Ticks { 2 * o.granularity.max(1) } else { 0 };
        self.timeout = self.backed_off(o, base).min(o.max_rto).max(floor);
    }

    fn backed_off(&self, o: &TcpOptions, base: u64) -> u64 {
        let base = base.max(o.min_rto);
        if self.doubled == 0 { base } else { base.saturating_mul(1 << self.doubled) }
    }

    /// The time-out before back-off.
    fn base(&self, o: &TcpOptions) -> u64 {
        let tick = o.granularity.max(1);
        match (&self.estimate, o.timer) {
            (Estimate::Linux(linux), _) => linux.base,
            (Estimate::Packed(first, second), Timer::Ticks) => {
                let ticks = Ticks::unpack(*first, *second, tick);
                if ticks.rttvar == 0 { o.initial_rto } else { ticks.base(tick) }
            }
            (Estimate::Packed(first, second), _) => match Exact::unpack(*first, *second) {
                Exact { srtt, rttvar } if srtt < 0.0 => o.initial_rto.max(rttvar as u64),
                exact => exact.base(tick),
            },
        }
    }

    /// A packet never sent before goes out.
    #[inline]
    pub(crate) fn sent(&mut self, sequence: u32, now: u64) {
        if self.timed == 0 {
            (self.timed, self.sent) = (sequence + 1, now);
        }
    }

    /// Stop timing: a retransmission makes the answer ambiguous.
    pub(crate) fn forget(&mut self) {
        self.timed = 0;
    }

    /// Everything below `next` is acknowledged; takes the sample if the timed packet is among it, and
    /// ends back-off unless it is `held`.
    #[inline]
    pub(crate) fn acknowledged(&mut self, o: &TcpOptions, next: u32, now: u64, held: bool) {
        if self.timed > 0 && self.timed <= next {
            self.take(o, next, now, held);
        }
    }

    #[inline(never)]
    fn take(&mut self, o: &TcpOptions, next: u32, now: u64, held: bool) {
        self.timed = 0;
        if !held {
            self.doubled = 0;
        }
        let base = self.sample(o, self.sent, now);
        self.end_round(o, next, 0);
        self.set_timeout(o, base);
    }

    /// A packet sent at `sent` was acknowledged now; everything below `una` is, up to `nxt` is sent.
    pub(crate) fn measured(&mut self, o: &TcpOptions, sent: u64, now: u64, una: u32, nxt: u32) {
        self.doubled = 0;
        self.timed = 0;
        let base = self.sample(o, sent, now);
        self.end_round(o, una, nxt);
        self.set_timeout(o, base);
    }

    /// Whether a timer has expired since the last valid sample.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.doubled > 0
    }

    /// Smoothed round-trip time in nanoseconds; 0 before the first sample.
    pub(crate) fn srtt(&self, o: &TcpOptions) -> f64 {
        let tick = o.granularity.max(1);
        match (&self.estimate, o.timer) {
            (Estimate::Linux(linux), _) => linux.srtt,
            (Estimate::Packed(first, second), Timer::Ticks) => {
                (Ticks::unpack(*first, *second, tick).srtt as f64 / 8.0) * tick as f64
            }
            (Estimate::Packed(first, second), _) => Exact::unpack(*first, *second).srtt.max(0.0),
        }
    }

    /// The next time-out is the plain one again.
    pub(crate) fn end_back_off(&mut self, o: &TcpOptions) {
        self.doubled = 0;
        self.set_timeout(o, self.base(o));
    }

    /// Data begin after a SYN that timed out: wait at least three seconds (RFC 6298, 5.7).
    pub(crate) fn after_lost_syn(&mut self, o: &TcpOptions) {
        if let Estimate::Packed(first, second) = self.estimate
            && o.timer == Timer::Rfc6298
            && Exact::unpack(first, second).srtt < 0.0
            && self.base(o) < 3_000_000_000
        {
            self.estimate = Exact { srtt: -1.0, rttvar: 3e9 }.pack();
            self.doubled = 0;
            self.set_timeout(o, self.base(o));
        }
    }

    /// Wait twice as long the next time.
    pub(crate) fn back_off(&mut self, o: &TcpOptions) {
        if self.backed_off(o, self.base(o)) < o.max_rto {
            self.doubled += 1;
            self.set_timeout(o, self.base(o));
        }
        if let Estimate::Packed(first, second) = self.estimate
            && o.timer == Timer::Ticks
            && self.doubled > 3
        {
            // BSD: the estimate may be far off; keep its size in the deviation and start anew.
            let tick = o.granularity.max(1);
            let Ticks { srtt, rttvar, phase } = Ticks::unpack(first, second, tick);
            self.estimate = Ticks { srtt: 0, rttvar: rttvar + (srtt >> 3), phase }.pack(tick);
        }
    }

    /// Linux: once a round trip the deviation sinks towards the largest of that round trip.
    fn end_round(&mut self, o: &TcpOptions, una: u32, nxt: u32) {
        if let Estimate::Linux(linux) = &mut self.estimate
            && una > linux.until
        {
            linux.rttvar -= (linux.rttvar - linux.most).max(0.0) / 4.0;
            (linux.until, linux.most) = (nxt, o.min_rto as f64);
        }
    }

    /// Take a sample; the time-out before back-off that follows from it.
    #[inline(always)]
    fn sample(&mut self, o: &TcpOptions, sent: u64, now: u64) -> u64 {
        let tick = o.granularity.max(1);
        match (&mut self.estimate, o.timer) {
            (Estimate::Packed(first, second), Timer::Ticks) => {
                let Ticks { mut srtt, mut rttvar, phase } = Ticks::unpack(*first, *second, tick);
                let sample = (((now - sent) + (sent + phase) % tick) / tick).max(1);
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
                let sample = (now - sent) as f64;
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
                let Linux { srtt, mdev, most, rttvar, base, .. } = &mut **linux;
                let sample = ((now - sent) as f64).max(1000.0);
                let floor = o.min_rto as f64;
                if *srtt == 0.0 {
                    *srtt = sample;
                    *mdev = 2.0 * sample; // four times the deviation of half a sample
                    *rttvar = mdev.max(floor);
                    *most = *rttvar;
                } else {
                    let error = sample - *srtt;
                    *srtt += error / 8.0;
                    let change = error.abs() - *mdev / 4.0;
                    // A sample far below the average says little about the deviation.
                    *mdev += if error < 0.0 && change > 0.0 { change / 8.0 } else { change };
                    *most = most.max(*mdev);
                    *rttvar = rttvar.max(*most);
                }
                *base = (*srtt + *rttvar + 0.5) as u64;
                *base
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::schema;

    const S: u64 = 1_000_000_000;

    /// Vector TV1: samples 0.5, 0.7, 0.4, 1.0 s with a clock of 0.1 s, without and with the 1 s floor.
    #[test]
    fn the_estimate_follows_rfc_6298() {
        let mut options = schema::resolve("default", &[]).unwrap();
        options.granularity = S / 10;
        let rows =
            [(0.5, 1.5, 3.0), (0.7, 1.475, 2.95), (0.4, 1.346875, 2.69375), (1.0, 1.68945312, 3.37890625)];
        for floor in [0, S] {
            options.min_rto = floor;
            let mut rto = Rto::new(&options, || 0.0);
            assert_eq!(rto.timeout(), S.max(floor), "1 s before the first sample");
            let mut now = 0;
            for (i, (sample, timeout, backed_off)) in rows.into_iter().enumerate() {
                rto.sent(i as u32, now);
                now += (sample * S as f64) as u64;
                rto.acknowledged(&options, i as u32 + 1, now, false);
                let near = |ns: u64, s: f64| (ns as f64 / S as f64 - s).abs() < 1e-8;
                assert!(near(rto.timeout(), timeout), "{} {timeout}", rto.timeout());
                let mut later = rto.clone();
                later.back_off(&options);
                assert!(near(later.timeout(), backed_off));
            }
        }
    }

    #[test]
    fn back_off_stays_until_a_valid_sample_and_below_the_ceiling() {
        let options = schema::resolve("default", &[]).unwrap();
        let mut rto = Rto::new(&options, || 0.0);
        for _ in 0..20 {
            rto.back_off(&options);
        }
        assert_eq!(rto.timeout(), options.max_rto);
        rto.sent(0, 0);
        rto.forget(); // retransmitted: no sample, no reset
        rto.acknowledged(&options, 1, 5, false);
        assert_eq!(rto.timeout(), options.max_rto);
        rto.sent(1, 0);
        rto.acknowledged(&options, 2, S / 10, false);
        assert_eq!(rto.timeout(), options.min_rto);
    }

    #[test]
    fn ticks_count_the_boundaries_that_were_crossed() {
        let options = schema::resolve("ns2", &[("min_rto".into(), "0s".into())]).unwrap();
        let mut rto = Rto::new(&options, || 0.0);
        rto.sent(0, 9_000_000); // 9 ms into a 10 ms tick
        rto.acknowledged(&options, 1, 60_000_000, false); // 51 ms later: 6 boundaries; rttvar 3: 6 + 4 * 3 = 18 ticks
        assert_eq!(rto.timeout(), 180_000_000);
        rto.sent(1, 60_000_000);
        rto.acknowledged(&options, 2, 111_000_000, false); // 5: srtt8 47, rttvar4 10 = 12 + |5 - 6| - 3; (80 + 47) >> 3 = 15
        assert_eq!(rto.timeout(), 150_000_000);
    }
}
