//! Queuing delay as RFC 6817 (section 2.4.2) measures it: the least of the last samples, above the least of
//! ten minutes.

use sojourn_aqm::{Span, Time};

/// Samples of which the least counts (CURRENT_FILTER).
const CURRENT_FILTER: usize = 4;
/// Minutes that the base delay covers (BASE_HISTORY).
const BASE_HISTORY: usize = 10;
const MINUTE: u64 = 60_000_000_000;

/// The samples of a connection.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    current: [Span; CURRENT_FILTER],
    /// The least sample of each minute.
    base: [Span; BASE_HISTORY],
    /// The minute of the last one in `base`.
    minute: Option<u64>,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            current: [Span(u64::MAX); CURRENT_FILTER],
            base: [Span(u64::MAX); BASE_HISTORY],
            minute: None,
        }
    }
}

impl Delays {
    pub(super) fn on_sample(&mut self, delay: Span, now: Time) {
        let minute = Some(now.0 / MINUTE);
        if self.minute != minute {
            self.minute = minute;
            self.base.rotate_left(1);
            self.base[BASE_HISTORY - 1] = delay;
        }
        let last = &mut self.base[BASE_HISTORY - 1];
        *last = delay.min(*last);
        self.current.rotate_left(1);
        self.current[CURRENT_FILTER - 1] = delay;
    }

    /// The base delay and the queuing delay, once there is a sample.
    pub(super) fn base_and_queuing(&self) -> Option<(Span, Span)> {
        self.minute?;
        let base = self.base.iter().copied().fold(Span(u64::MAX), Span::min);
        let current = self.current.iter().copied().fold(Span(u64::MAX), Span::min);
        Some((base, Span(current.0.saturating_sub(base.0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queuing_ms(delays: &Delays) -> Option<u64> {
        delays.base_and_queuing().map(|(_, queuing)| queuing.0 / 1_000_000)
    }

    #[test]
    fn the_least_of_four_samples_counts() {
        let mut delays = Delays::default();
        assert_eq!(queuing_ms(&delays), None);
        let seen = [50, 90, 80, 70, 60, 90, 90, 90].map(|ms| {
            delays.on_sample(Span::from_millis(ms), Time(1));
            queuing_ms(&delays).unwrap()
        });
        assert_eq!(seen, [0, 0, 0, 0, 10, 10, 10, 10]);
        delays.on_sample(Span::from_millis(90), Time(1));
        assert_eq!(queuing_ms(&delays), Some(40));
    }

    /// The sample of minute 0 leaves the history when the tenth minute after it begins.
    #[test]
    fn the_base_delay_is_that_of_ten_minutes() {
        let mut delays = Delays::default();
        delays.on_sample(Span::from_millis(50), Time(MINUTE - 1));
        let after = |delays: &mut Delays, minute: u64| {
            (0..4).for_each(|_| delays.on_sample(Span::from_millis(80), Time(minute * MINUTE)));
            queuing_ms(delays)
        };
        assert_eq!((1..10).map(|minute| after(&mut delays, minute)).collect::<Vec<_>>(), [Some(30); 9]);
        assert_eq!(after(&mut delays, 10), Some(0));
    }
}
