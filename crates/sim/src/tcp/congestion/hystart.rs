//! HyStart: leaves slow start before the queue overflows, when the round-trip time grows.
//!
//! [`HyStart`] is that of Linux's CUBIC; [`HyStartPlusPlus`] is RFC 9406, for every congestion control.

use super::AckEvent;
use sojourn_aqm::{Span, Time};

/// Both: a round trip is longer if it exceeds the shortest one by an eighth of it, at least 4 ms and at
/// most 16 ms.
fn threshold(rtt: Span) -> Span {
    (rtt / 8).clamp(Span::from_millis(4), Span::from_millis(16))
}

/// Linux: smaller windows stay in slow start (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// Linux: ACKs at most this far apart are a train (`hystart_ack_delta_us`).
const ACK_DELTA: Span = Span::from_millis(2);
/// Linux: time for the aggregation of segments, four segments of 64 kB at the pacing rate, at most 1 ms
/// (`hystart_ack_delay`). It is less only where a flow has more than 1 Gbit/s.
const ACK_DELAY: Span = Span::from_millis(1);
/// Both: samples in a round trip before its delay is judged.
const SAMPLES: u8 = 8;

/// HyStart of Linux 6.1 (`hystart_update`).
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    /// Slow start has ended; until a timeout HyStart does nothing more.
    found: bool,
    /// The round trip ends when this packet is acknowledged (`end_seq`).
    end: u32,
    /// When the round trip began.
    start: Time,
    /// The last ACK of the train.
    last_ack: Time,
    /// The shortest RTT of this round trip, and the number of its samples.
    min_rtt: Span,
    samples: u8,
    is_paced: bool,
}

impl HyStart {
    /// A round trip that begins now and ends when packet `end` is acknowledged (`bictcp_hystart_reset`).
    pub(crate) fn beginning(end: u32, now: Time, is_paced: bool) -> HyStart {
        HyStart {
            found: false,
            end,
            start: now,
            last_ack: now,
            min_rtt: Span(u64::MAX),
            samples: 0,
            is_paced,
        }
    }

    /// An ACK in slow start with the sample `rtt`; `min_rtt` is the shortest of the connection. Returns
    /// whether slow start ends.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, rtt: Span, min_rtt: Span) -> bool {
        if self.found {
            return false;
        }
        if ack.una > self.end {
            *self = HyStart::beginning(ack.nxt, ack.now, self.is_paced);
        }
        if ack.cwnd < LOW_WINDOW {
            return false;
        }
        // The packets of a round trip are sent in a train; if its ACKs take longer than half of the shortest
        // round trip, the window fills the path. Pacing spreads it over up to half a round trip more.
        if ack.now - self.last_ack <= ACK_DELTA {
            self.last_ack = ack.now;
            let longest = min_rtt + ACK_DELAY;
            self.found |= ack.now - self.start > if self.is_paced { longest } else { longest / 2 };
        }
        self.min_rtt = self.min_rtt.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            self.found |= self.min_rtt > min_rtt + threshold(min_rtt);
        }
        self.found
    }
}

/// RFC 9406: growth in Conservative Slow Start (CSS) is divided by this.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// RFC 9406: round trips of CSS until slow start ends.
const CSS_ROUNDS: u8 = 5;
/// RFC 9406: the packets of an ACK that count, unless the sender paces (section 4.3).
const LIMIT: f64 = 8.0;

/// HyStart++ (RFC 9406, section 4.2), which acts in the first slow start only (section 4.3).
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStartPlusPlus {
    is_over: bool,
    is_paced: bool,
    /// windowEnd: the round ends when all packets below are acknowledged.
    window_end: u32,
    last_round_min_rtt: Option<Span>,
    current_round_min_rtt: Option<Span>,
    rtt_samples: u8,
    css: Option<Css>,
}

/// Conservative Slow Start.
#[derive(Clone, Copy, Debug)]
struct Css {
    baseline_min_rtt: Span,
    /// Rounds so far, with that in which it began.
    rounds: u8,
}

impl HyStartPlusPlus {
    pub(crate) fn new(is_paced: bool) -> HyStartPlusPlus {
        HyStartPlusPlus { is_paced, ..HyStartPlusPlus::default() }
    }

    /// An ACK; returns whether slow start ends.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent) -> bool {
        if self.is_over || !ack.is_slow_start {
            return false;
        }
        if ack.una >= self.window_end {
            self.window_end = ack.nxt;
            self.last_round_min_rtt = self.current_round_min_rtt.take();
            self.rtt_samples = 0;
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                self.is_over = css.rounds > CSS_ROUNDS;
            }
        }
        let Some(rtt) = ack.rtt else { return self.is_over };
        let current = self.current_round_min_rtt.map_or(rtt, |least| least.min(rtt));
        self.current_round_min_rtt = Some(current);
        self.rtt_samples = self.rtt_samples.saturating_add(1);
        if self.rtt_samples >= SAMPLES {
            match (self.css, self.last_round_min_rtt) {
                (Some(css), _) if current < css.baseline_min_rtt => self.css = None,
                (None, Some(last)) if current >= last + threshold(last) => {
                    self.css = Some(Css { baseline_min_rtt: current, rounds: 1 });
                }
                _ => {}
            }
        }
        self.is_over
    }

    /// The increment of the window in slow start for `packets` acknowledged.
    pub(crate) fn increment(&self, packets: f64) -> f64 {
        if self.is_over {
            return packets;
        }
        let counted = if self.is_paced { packets } else { packets.min(LIMIT) };
        counted / if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1.0 }
    }

    /// A congestion event: the first slow start is over.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Span = Span(1_000);

    fn ack(una: u32, nxt: u32, us: u64, rtt_us: u64, cwnd: f64) -> AckEvent {
        let (now, rtt) = (Time::ZERO + US * us, Some(US * rtt_us));
        AckEvent { packets: 1, una, nxt, now, rtt, cwnd, is_slow_start: true, ..AckEvent::default() }
    }

    /// The first of `acks`, which are (packet, time, RTT, window), at which slow start ends.
    fn linux(acks: impl Iterator<Item = (u32, u64, u64, f64)>, min_rtt_us: u64) -> Option<u32> {
        linux_paced(acks, min_rtt_us, false)
    }

    fn linux_paced(
        acks: impl Iterator<Item = (u32, u64, u64, f64)>,
        min_rtt_us: u64,
        is_paced: bool,
    ) -> Option<u32> {
        let mut hystart = HyStart::beginning(0, Time::ZERO, is_paced);
        acks.map(|(una, us, rtt_us, cwnd)| (una, ack(una, 100, us, rtt_us, cwnd)))
            .find(|(_, ack)| hystart.on_ack(ack, ack.rtt.unwrap(), US * min_rtt_us))
            .map(|(una, _)| una)
    }

    /// A round trip of 40 ms at least, ACKs every 1.2 ms: the train is longer than (40 + 1) / 2 ms with the
    /// 18th ACK after the first, at 21.6 ms. With ACKs every 2.4 ms there is no train.
    #[test]
    fn a_train_of_acks_over_half_a_round_trip_ends_slow_start() {
        let train = |gap: u64| (1..60).map(move |i| (i, 50_000 + gap * u64::from(i - 1), 41_000, 30.0));
        assert_eq!(linux(train(1200), 40_000), Some(19));
        assert_eq!(linux(train(2400), 40_000), None);
        assert_eq!(linux_paced(train(1200), 40_000, true), Some(36), "34 * 1.2 = 40.8, 35 * 1.2 = 42 ms");
    }

    /// 40 ms at least, so 45 ms and more are too long: judged from the ninth sample of the round trip on. A
    /// shorter sample in the round trip excuses the others, and small windows are not judged.
    #[test]
    fn long_round_trips_end_slow_start() {
        let spaced = |rtt: u64, cwnd: f64| (1..60).map(move |i| (i, 9_000 * u64::from(i), rtt, cwnd));
        assert_eq!(linux(spaced(45_001, 16.0), 40_000), Some(9));
        assert_eq!(linux(spaced(45_000, 16.0), 40_000), None);
        assert_eq!(linux(spaced(60_000, 15.0), 40_000), None);
        let once = spaced(60_000, 16.0).map(|(i, us, rtt, w)| (i, us, if i == 3 { 41_000 } else { rtt }, w));
        assert_eq!(linux(once, 40_000), None);
        assert_eq!((threshold(US * 8_000), threshold(US * 400_000)), (US * 4_000, US * 16_000));
    }

    /// Rounds of ten ACKs with one RTT each: the increments of the window and the round at which it ends.
    fn rounds(rtts_us: &[u64]) -> (Vec<f64>, Option<usize>) {
        let mut hystart = HyStartPlusPlus::default();
        let mut increments = Vec::new();
        let mut end = None;
        for (round, rtt_us) in rtts_us.iter().enumerate() {
            for i in 1..=10 {
                let una = round as u32 * 10 + i;
                if hystart.on_ack(&ack(una, round as u32 * 10 + 11, 0, *rtt_us, 50.0)) {
                    end = end.or(Some(round));
                }
            }
            increments.push(hystart.increment(20.0));
        }
        (increments, end)
    }

    /// RFC 9406, section 4.2: 48 ms after 40 ms is longer by more than an eighth, so growth is a quarter for
    /// five rounds, of which the first is that of the detection.
    #[test]
    fn five_conservative_rounds_follow_a_longer_round_trip() {
        let (increments, end) = rounds(&[40_000, 48_000, 50_000, 50_000, 50_000, 50_000, 50_000]);
        assert_eq!(increments[..6], [8.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(end, Some(6));
        assert_eq!(rounds(&[40_000, 44_999, 49_000]).0, [8.0; 3], "less than an eighth more than the last");
    }

    /// A round with shorter samples than that of the detection: it was jitter, and slow start continues.
    #[test]
    fn slow_start_continues_if_the_round_trip_gets_shorter() {
        let (increments, end) = rounds(&[40_000, 48_000, 47_000, 47_000]);
        assert_eq!((increments, end), (vec![8.0, 2.0, 8.0, 8.0], None));
    }

    #[test]
    fn only_the_first_slow_start_is_judged() {
        let mut hystart = HyStartPlusPlus::default();
        hystart.end();
        assert!(!hystart.on_ack(&ack(1, 10, 0, 40_000, 50.0)));
        assert_eq!(hystart.increment(20.0), 20.0);
        assert_eq!([false, true].map(|is_paced| HyStartPlusPlus::new(is_paced).increment(20.0)), [8.0, 20.0]);
    }
}
