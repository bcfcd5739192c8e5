//! The player of a video: when each segment is played, and what is in the buffer.

use sojourn_aqm::{Span, Time};

/// A player. A segment is played behind the one before it, or, if that has ended, when enough of them wait.
pub(crate) struct Player {
    /// Playing time of a segment.
    segment: Span,
    /// What must be in the buffer for playing to begin.
    startup: Span,
    state: State,
}

enum State {
    /// Nothing is played until more segments have arrived.
    Paused { segments: u64 },
    /// The buffer is empty at this time, or has been since.
    Playing { until: Time },
}

/// The last `segments` that have arrived are played from `at` on, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Playing {
    pub(crate) segments: u64,
    pub(crate) at: Time,
}

impl Player {
    pub(crate) fn new(segment: Span, startup: Span) -> Player {
        Player { segment, startup, state: State::Paused { segments: 0 } }
    }

    /// Playing time in the buffer.
    pub(crate) fn buffered(&self, now: Time) -> Span {
        match self.state {
            State::Paused { segments } => self.segment * segments,
            State::Playing { until } => until.since(now),
        }
    }

    /// A segment arrives: what is now known about its playing and that of those before it.
    pub(crate) fn arrive(&mut self, now: Time) -> Option<Playing> {
        let (segments, at) = match self.state {
            State::Playing { until } if until >= now => (1, until),
            State::Playing { .. } => (1, now),
            State::Paused { segments } => (segments + 1, now),
        };
        let is_behind = matches!(self.state, State::Playing { until } if until >= now);
        let length = self.segment * segments;
        if !is_behind && length < self.startup {
            self.state = State::Paused { segments };
            return None;
        }
        self.state = State::Playing { until: at + length };
        Some(Playing { segments, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 4 s, playing begins with 6 s. By hand: the second one arrives at 3 s, and both are played
    /// until 11 s. The third one arrives at 11 s, just in time, the fourth one at 12 s; they last until 19 s.
    /// The fifth one arrives at 21 s and waits for the sixth one, at 22 s: a stall of 3 s.
    #[test]
    fn segments_play_one_behind_the_other_until_the_buffer_is_empty() {
        let second = |n: u64| Time(n * 1_000_000_000);
        let mut player = Player::new(Span::from_millis(4000), Span::from_millis(6000));
        let playing = |segments, at| Some(Playing { segments, at: second(at) });
        let arrivals = [(1, None), (3, playing(2, 3)), (11, playing(1, 11)), (12, playing(1, 15))];
        for (at, expected) in arrivals {
            assert_eq!(player.arrive(second(at)), expected, "{at} s");
        }
        assert_eq!([12, 18, 19, 20].map(|at| player.buffered(second(at)).0 / 1_000_000_000), [7, 1, 0, 0]);
        assert_eq!(player.arrive(second(21)), None);
        assert_eq!(player.buffered(second(22)), Span::from_millis(4000));
        assert_eq!(player.arrive(second(22)), playing(2, 22));
        assert_eq!(player.buffered(second(23)), Span::from_millis(7000));
    }
}
