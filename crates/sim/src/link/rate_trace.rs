//! The rate of a link as a function of time.
//!
//! The whole function is known in advance, so the end of a transmission is computed when it begins, exactly
//! and across changes of the rate, without events. The rate depends on seed, link and time, not on the
//! traffic.

use crate::{
    plan::validate::MAX_TIME,
    plan::{self, Draw},
};
use sojourn_aqm::{Span, Stream, Time};

const SECOND: u128 = 1_000_000_000;

/// How rates are defined.
#[derive(Clone, Debug)]
enum Source {
    /// A random rate for each interval `every`.
    Redrawn { every: Span, rate: Draw, stream: Stream },
    /// The ends of the steps and their rates. After the last step the first one follows, or the last rate
    /// stays.
    Steps { ends: Vec<Span>, rates: Vec<u64>, repeats: bool },
}

/// The rate of a link over time.
#[derive(Clone, Debug)]
pub(crate) struct RateTrace {
    source: Source,
    /// The step looked up last.
    step: Step,
    /// The unused capacity of the last nanosecond of the previous transmission, in bits times nanoseconds.
    left: u128,
}

/// A constant rate from `start` to before `end`.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    start: Time,
    end: Time,
    rate: u64,
}

impl RateTrace {
    pub(crate) fn new(plan: &plan::Capacity, link: &str, seed: u64) -> RateTrace {
        let source = match plan {
            plan::Capacity::Redraw { every, rate } => {
                let stream = Stream::new(seed, &format!("link/{link}/capacity"));
                Source::Redrawn { every: *every, rate: *rate, stream }
            }
            plan::Capacity::Steps { steps, repeats } => {
                let mut end = Span::ZERO;
                let ends = steps.iter().map(|(span, _)| {
                    end += *span;
                    end
                });
                let ends = ends.collect();
                Source::Steps {
                    ends,
                    rates: steps.iter().map(|(_, rate)| *rate).collect(),
                    repeats: *repeats,
                }
            }
        };
        RateTrace { source, step: Step::default(), left: 0 }
    }

    /// The step that contains `at`.
    fn seek(&mut self, at: Time) -> Step {
        if at >= self.step.start && at < self.step.end {
            return self.step;
        }
        self.step = match &self.source {
            Source::Redrawn { every, rate, stream } => {
                let number = at.0 / every.0;
                let rate = rate.value(&mut stream.indexed(number)) as u64;
                let start = Time(number * every.0);
                Step { start, end: start + *every, rate }
            }
            Source::Steps { ends, rates, repeats } => {
                let period = ends[ends.len() - 1];
                let period_start = Time(if *repeats { at.0 / period.0 * period.0 } else { 0 });
                let i = ends.partition_point(|end| period_start + *end <= at).min(ends.len() - 1);
                let is_last = !repeats && i + 1 == ends.len();
                let start = if i == 0 { period_start } else { period_start + ends[i - 1] };
                Step {
                    start,
                    end: if is_last { Time::NEVER } else { period_start + ends[i] },
                    rate: rates[i],
                }
            }
        };
        self.step
    }

    /// The rate at `at`, bit/s.
    pub(crate) fn rate(&mut self, at: Time) -> u64 {
        self.seek(at).rate
    }

    /// The end of a transmission of `bytes` that begins at `start`; `back_to_back`: another one ends there.
    pub(crate) fn send(&mut self, start: Time, bytes: u32, back_to_back: bool) -> Time {
        let mut work = u128::from(bytes) * 8 * SECOND;
        if back_to_back {
            work = work.saturating_sub(self.left);
        }
        let mut at = start;
        while at < Time::ZERO + MAX_TIME {
            let step = self.seek(at);
            let (span, rate) = (u128::from((step.end - at).0), u128::from(step.rate));
            if span * rate >= work {
                let lasts = if rate == 0 { 0 } else { work.div_ceil(rate) };
                self.left = lasts * rate - work;
                return at + Span(lasts as u64);
            }
            work -= span * rate;
            at = step.end;
        }
        at
    }

    /// The bits that the link can carry from `from` to `to`.
    pub(crate) fn bits(&mut self, from: Time, to: Time) -> f64 {
        let (mut at, mut sum) = (from, 0);
        while at < to {
            let step = self.seek(at);
            let end = step.end.min(to);
            sum += u128::from((end - at).0) * u128::from(step.rate);
            at = end;
        }
        sum as f64 * 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn steps(steps: &[(u64, u64)], repeats: bool) -> RateTrace {
        let steps = steps.iter().map(|(ms, rate)| (Span(ms * MS), *rate)).collect();
        RateTrace::new(&plan::Capacity::Steps { steps, repeats }, "a-b", 1)
    }

    /// 1000 bytes at 1 Mbit/s take 8 ms; 3 ms of them, a pause, and the rest at twice the rate.
    #[test]
    fn a_transmission_continues_across_changes_of_the_rate() {
        let mut link = steps(&[(3, 1_000_000), (10, 0), (7, 2_000_000)], true);
        assert_eq!(link.send(Time::ZERO, 1000, false), Time(15 * MS + MS / 2));
        // 4.5 ms of the last step carry 9000 bits, of the next period 3 ms 3000 bits; 4000 are left after 13
        // ms.
        assert_eq!(link.send(Time(15 * MS + MS / 2), 2000, true), Time(35 * MS));
        assert_eq!(
            [0, 3, 13, 22, 25, 39].map(|ms| link.rate(Time(ms * MS)) / 1000),
            [1000, 0, 2000, 1000, 0, 2000]
        );
        assert_eq!(link.bits(Time::ZERO, Time(40 * MS)), 2.0 * 17_000.0);
        assert_eq!(link.bits(Time(2 * MS), Time(14 * MS)), 3000.0);
    }

    #[test]
    fn a_trace_that_does_not_repeat_keeps_its_last_rate() {
        let mut link = steps(&[(3, 1_000_000), (1, 2_000_000)], false);
        assert_eq!(
            (link.rate(Time(100 * MS)), link.send(Time(100 * MS), 1000, false)),
            (2_000_000, Time(104 * MS))
        );
    }

    /// 3,000 packets of 2,666,666.67 ns each.
    #[test]
    fn rounding_errors_do_not_accumulate() {
        let mut link = steps(&[(1, 3_000_000)], true);
        let end = (0..3000).fold(Time::ZERO, |at, i| link.send(at, 1000, i > 0));
        assert_eq!(end, Time(8_000 * MS));
    }

    #[test]
    fn a_redrawn_rate_is_a_function_of_seed_link_and_time() {
        let plan = plan::Capacity::Redraw { every: Span(33 * MS), rate: Draw::Uniform(16.8e6, 21e6) };
        let [mut a, mut b, mut c] = [("x", 1), ("x", 1), ("y", 1)].map(|(l, s)| RateTrace::new(&plan, l, s));
        let later = b.rate(Time(330 * MS));
        assert_eq!(a.rate(Time::ZERO), b.rate(Time::ZERO));
        assert_eq!(a.rate(Time(340 * MS)), later);
        assert_ne!(a.rate(Time::ZERO), c.rate(Time::ZERO));
        let mean = a.bits(Time::ZERO, Time(100_000 * MS)) / 100.0;
        assert!((mean / 18.9e6 - 1.0).abs() < 0.01, "{mean}");
    }
}
