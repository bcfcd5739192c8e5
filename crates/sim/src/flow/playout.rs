//! When a receiver uses datagrams: a deadline after they are sent, or the jitter buffer of a call.
//!
//! The jitter buffer adapts once in each talkspurt, as do those of Moon, Kurose and Towsley (Packet audio
//! playout delay adjustment, Multimedia Systems 6, 1998): the delay from sending to playing is the largest
//! delay of the packets that arrived in the ten talkspurts before. Within a talkspurt it is constant. In the
//! first one it is the delay of the first packet and a margin.
//!
//! A packet is unusable if it is lost or arrives after it was to be used. Unusable packets in a row are one
//! period.

use crate::plan::Sink;
use sojourn_aqm::Span;

/// Talkspurts whose largest delay counts.
const MEMORY: usize = 10;

/// The state of a receiver.
pub(crate) struct Playout {
    sink: Sink,
    /// The delay from sending to use; none before the first packet.
    delay: Option<Span>,
    /// The first packet of the next talkspurt.
    next_talkspurt: u32,
    /// The largest delay of the current talkspurt, and those of the talkspurts before, cyclically.
    largest: Span,
    before: [Span; MEMORY],
    talkspurts: usize,
    /// Whether the last packet was unusable.
    was_unusable: bool,
    counts: Used,
}

/// Counters in the measurement window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// Packets that arrived too late.
    pub(crate) late: u64,
    /// Periods of unusable packets.
    pub(crate) periods: u64,
    /// Sum of the delays from sending to use, and packets that it covers: all that arrived.
    pub(crate) playout: u64,
    pub(crate) packets: u64,
}

impl Playout {
    pub(crate) fn new(sink: Sink) -> Playout {
        let delay = match sink {
            Sink::Deadline(deadline) => Some(deadline),
            Sink::JitterBuffer { .. } => None,
        };
        Playout {
            sink,
            delay,
            next_talkspurt: 0,
            largest: Span::ZERO,
            before: [Span::ZERO; MEMORY],
            talkspurts: 0,
            was_unusable: false,
            counts: Used::default(),
        }
    }

    /// Packet `number` arrives after `delay`; the `missing` packets before it are lost.
    pub(crate) fn receive(&mut self, number: u32, missing: u32, delay: Span, in_window: bool) {
        if let Sink::JitterBuffer { talkspurt, margin } = self.sink {
            self.adapt(number, delay, talkspurt, margin);
        }
        let used_after = self.delay.unwrap_or(delay);
        let is_late = delay > used_after;
        if in_window {
            let begins = missing > 0 && !self.was_unusable || missing == 0 && is_late && !self.was_unusable;
            self.counts.periods += u64::from(begins);
            self.counts.late += u64::from(is_late);
            self.counts.playout += used_after.0;
            self.counts.packets += 1;
        }
        self.was_unusable = is_late;
    }

    /// Choose the delay of a new talkspurt.
    fn adapt(&mut self, number: u32, delay: Span, talkspurt: u32, margin: Span) {
        if self.delay.is_none() {
            self.delay = Some(delay + margin);
            self.next_talkspurt = number.saturating_add(talkspurt);
        } else if number >= self.next_talkspurt {
            self.before[self.talkspurts % MEMORY] = self.largest;
            self.talkspurts += 1;
            self.delay = self.before.iter().max().copied();
            self.largest = Span::ZERO;
            self.next_talkspurt = number.saturating_add(talkspurt);
        }
        self.largest = self.largest.max(delay);
    }

    pub(crate) fn counts(&self) -> Used {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(sink: Sink, packets: &[(u32, u32, u64)]) -> Used {
        let mut playout = Playout::new(sink);
        for (number, missing, ms) in packets {
            playout.receive(*number, *missing, Span::from_millis(*ms), true);
        }
        playout.counts()
    }

    fn ms(value: u64) -> u64 {
        Span::from_millis(value).0
    }

    /// Packets 1, 2 (lost) and 3 (late) are one period, 5 (late) another; packet 4 is exactly in time.
    #[test]
    fn late_and_lost_packets_in_a_row_are_one_period() {
        let deadline = Sink::Deadline(Span::from_millis(50));
        let used = after(deadline, &[(0, 0, 10), (3, 2, 51), (4, 0, 50), (5, 0, 80)]);
        assert_eq!(used, Used { late: 2, periods: 2, playout: 4 * ms(50), packets: 4 });
        let used = after(deadline, &[(0, 0, 60), (3, 2, 10), (5, 1, 10)]);
        assert_eq!((used.late, used.periods), (1, 2), "0 to 2 are unusable, and 4");
    }

    /// Talkspurts of two packets: 10 + 40 ms for the first, then the largest delay of those before.
    #[test]
    fn the_buffer_of_a_talkspurt_is_the_largest_delay_of_those_before() {
        let sink = Sink::JitterBuffer { talkspurt: 2, margin: Span::from_millis(40) };
        let delays = [10, 30, 20, 30, 31, 25, 31, 32];
        let packets: Vec<_> = (0..).zip(delays).map(|(number, ms)| (number, 0, ms)).collect();
        let used = after(sink, &packets);
        assert_eq!(used.playout, ms(2 * 50 + 2 * 30 + 2 * 30 + 2 * 31));
        assert_eq!((used.late, used.periods), (2, 2), "the fifth and the last");
    }

    /// After ten talkspurts a large delay is forgotten.
    #[test]
    fn the_buffer_shrinks_after_ten_talkspurts() {
        let sink = Sink::JitterBuffer { talkspurt: 1, margin: Span::ZERO };
        let delay_after = |count: u32| {
            let mut playout = Playout::new(sink);
            for number in 0..count {
                let delay = Span::from_millis(if number == 0 { 200 } else { 20 });
                playout.receive(number, 0, delay, true);
            }
            playout.delay
        };
        let expected = [200, 20].map(|ms| Some(Span::from_millis(ms)));
        assert_eq!([11, 12].map(delay_after), expected);
    }
}
