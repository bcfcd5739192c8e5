//! The bitrate of the next segment of a video, chosen by the buffer of the player: BBA-0 (Huang, Johari,
//! McKeown, Trunnell, Watson: A Buffer-Based Approach to Rate Adaptation, SIGCOMM 2014, Algorithm 1).

use crate::plan::Video;
use sojourn_aqm::Span;

/// The index in the ladder of the next bitrate, if `previous` is that of the last one and the player has
/// `buffered`.
///
/// The rate map f rises from the lowest bitrate at the end of the reservoir to the highest one at the end of
/// the cushion. The bitrate stays until f reaches the next higher or the next lower one.
pub(crate) fn next_rate(video: &Video, previous: usize, buffered: Span) -> usize {
    let ladder = &video.ladder;
    let (lowest, highest) = (0, ladder.len() - 1);
    if buffered <= video.reservoir {
        return lowest;
    }
    let above = buffered.0 - video.reservoir.0;
    if above >= video.cushion.0 {
        return highest;
    }
    // f and a bitrate, both less the lowest one and times the cushion.
    let over = |index: usize| u128::from(ladder[index] - ladder[lowest]) * u128::from(video.cushion.0);
    let map = u128::from(ladder[highest] - ladder[lowest]) * u128::from(above);
    if map >= over((previous + 1).min(highest)) {
        (lowest..=highest).rev().find(|index| over(*index) < map).unwrap_or(lowest)
    } else if map <= over(previous.saturating_sub(1)) {
        (lowest..=highest).find(|index| over(*index) > map).unwrap_or(highest)
    } else {
        previous
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::Tcp, tcp::schema};

    /// Bitrates 1, 2, 4 and 9 Mbit/s, a reservoir of 10 s and a cushion of 16 s: f(B) = 1 + (B - 10) / 2.
    fn video() -> Video {
        let options = schema::resolve("rfc", &[]).unwrap();
        let second = |n: u64| Span::from_millis(1000 * n);
        Video {
            ladder: vec![1_000_000, 2_000_000, 4_000_000, 9_000_000],
            segment: second(4),
            buffer: second(30),
            startup: second(4),
            reservoir: second(10),
            cushion: second(16),
            request: 100,
            tcp: Tcp { payload: 1448, payloads: None, header: 52, ack: 40, max_rate: None, options },
        }
    }

    /// By hand: the next index for each previous one.
    #[test]
    fn the_bitrate_follows_the_buffer_with_hysteresis() {
        for (milliseconds, expected) in [
            (0, [0, 0, 0, 0]),
            (10_000, [0, 0, 0, 0]),
            (11_000, [0, 1, 1, 1]), // f = 1.5: from 1 not up to 2, from 2 not down to 1, from 4 and 9 down to 2
            (12_000, [0, 1, 2, 2]), // f = 2: from 1 up to the highest below 2; from 4 to the lowest above 2
            (13_000, [1, 1, 2, 2]), // f = 2.5
            (16_000, [1, 1, 2, 3]), // f = 4: from 1 and 2 to the highest below 4; from 9 to the lowest above 4
            (20_000, [2, 2, 2, 3]), // f = 6
            (25_998, [2, 2, 2, 3]), // f = 8.999
            (26_000, [3, 3, 3, 3]),
            (30_000, [3, 3, 3, 3]),
        ] {
            let next =
                [0, 1, 2, 3].map(|previous| next_rate(&video(), previous, Span::from_millis(milliseconds)));
            assert_eq!(next, expected, "{milliseconds} ms");
        }
    }

    #[test]
    fn a_ladder_of_one_bitrate_has_a_constant_one() {
        let video = Video { ladder: vec![5_000_000], ..video() };
        assert!((0..30).all(|s| next_rate(&video, 0, Span::from_millis(1000 * s)) == 0));
    }

    /// 4 s at 1 Mbit/s are 500,000 bytes: 345.3 packets of 1448.
    #[test]
    fn a_segment_has_whole_packets() {
        assert_eq!(video().packets(1_000_000), 346);
        assert_eq!(video().packets(1), 1);
    }
}
