//! A periodic timer that does not drift: tick `n` is at `n` periods, rounded once.

use crate::{Span, Time};

/// The ticks of a fixed period, counted from the start of the run; the first tick is after one period.
///
/// The period is a rational number of nanoseconds, so that 170 ticks of 170 Hz take one second to the
/// nanosecond.
#[derive(Clone, Debug)]
pub struct Ticks {
    /// The period is `numerator / denominator` nanoseconds.
    numerator: u128,
    denominator: u128,
    /// Number of the next tick.
    next: u64,
}

impl Ticks {
    /// A tick every `period`, which is at least 1 ns.
    pub fn every(period: Span) -> Ticks {
        Ticks { numerator: u128::from(period.0.max(1)), denominator: 1, next: 1 }
    }

    /// `hertz` ticks a second, exact to a millionth of a hertz.
    pub fn per_second(hertz: f64) -> Ticks {
        let microhertz = ((hertz * 1e6 + 0.5) as u128).max(1);
        Ticks { numerator: 1_000_000_000_000_000, denominator: microhertz, next: 1 }
    }

    fn at(&self, tick: u64) -> Time {
        let ns = (u128::from(tick) * self.numerator + self.denominator / 2) / self.denominator;
        Time(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Time of the next tick.
    pub fn due(&self) -> Time {
        self.at(self.next)
    }

    /// The tick has been handled. The next one is the first that is later than `now`: a late caller skips the
    /// ticks that it missed, without a shift of phase.
    pub fn advance(&mut self, now: Time) {
        self.next += 1;
        if self.due() <= now {
            let passed = u128::from(now.0) * self.denominator / self.numerator;
            self.next = self.next.max(u64::try_from(passed).unwrap_or(u64::MAX - 1));
            while self.due() <= now && self.due().0 < u64::MAX {
                self.next += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frequency_does_not_drift() {
        let mut ticks = Ticks::per_second(170.0);
        assert_eq!(ticks.due(), Time(5_882_353)); // 1/170 s, rounded
        for n in 1..=170_000u64 {
            let exact = u128::from(n) * 1_000_000_000;
            assert!((u128::from(ticks.due().0) * 170).abs_diff(exact) * 2 <= 170, "tick {n}");
            ticks.advance(ticks.due());
        }
        assert_eq!(ticks.due().0, 1_000_000_000_000 + 5_882_353);
    }

    #[test]
    fn a_late_tick_stays_on_the_grid() {
        let mut ticks = Ticks::every(Span::from_millis(2));
        ticks.advance(Time(7_000_000));
        assert_eq!(ticks.due(), Time(8_000_000));
        ticks.advance(Time(8_000_000));
        assert_eq!(ticks.due(), Time(10_000_000));
        ticks.advance(Time(604_800_000_000_000)); // a week
        assert_eq!(ticks.due(), Time(604_800_002_000_000));
    }
}
