//! Time as integer nanoseconds: [`Time`] is a point in (virtual) time, [`Span`] a duration.
//!
//! This crate reads no clock; the time is an argument of every handler.

use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A duration: nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);

    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);

    /// Seconds since the start, for printing and for formulas.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Time since `earlier`, or zero if `earlier` is later than `self`.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// As `self + span`, in one instruction: the caller guarantees that the sum does not overflow, for
    /// example by bounds of all times and spans.
    #[inline(always)]
    pub const fn add_exact(self, span: Span) -> Time {
        debug_assert!(span.0 <= u64::MAX - self.0, "the sum overflows");
        Time(self.0.wrapping_add(span.0))
    }

    /// As [`Time::since`], in one instruction: the caller guarantees that `earlier` is not later.
    #[inline(always)]
    pub const fn since_exact(self, earlier: Time) -> Span {
        debug_assert!(earlier.0 <= self.0, "the difference is negative");
        Span(self.0.wrapping_sub(earlier.0))
    }
}

impl Span {
    /// A duration of zero.
    pub const ZERO: Span = Span(0);

    /// A span of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }

    /// The nearest whole nanosecond to `seconds`; negative values and NaN become zero, too large values
    /// saturate.
    pub fn from_secs_f64(seconds: f64) -> Span {
        Span((seconds * 1e9 + 0.5) as u64)
    }

    /// Seconds, for printing and for formulas.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}
