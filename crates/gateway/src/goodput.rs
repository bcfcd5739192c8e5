//! Goodput of a TCP connection: the payload bytes that reach the receiver for the first time.

/// Maximum number of stored holes; beyond it, the oldest one is assumed to be filled.
const MAX_HOLES: usize = 4096;

/// The bytes of one direction that have arrived: all below `next` except the holes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    /// A sequence number that does not wrap.
    next: u64,
    holes: Vec<(u64, u64)>,
}

impl Arrived {
    /// No byte has arrived, and `sequence` is the first one sent, which may be lost.
    pub(crate) fn from(sequence: u32) -> Arrived {
        Arrived { next: (1 << 32) + u64::from(sequence), holes: Vec::new() }
    }

    /// `bytes` from `sequence` on arrive; returns the number of new ones.
    pub(crate) fn take(&mut self, sequence: u32, bytes: u32) -> u32 {
        let next = self.next;
        let from = unwrapped(next, sequence);
        let to = from + u64::from(bytes);
        let mut new = to.saturating_sub(from.max(next));
        if from > next {
            self.holes.push((next, from));
            if self.holes.len() > MAX_HOLES {
                self.holes.remove(0);
            }
        }
        self.next = next.max(to);
        if from < next && !self.holes.is_empty() {
            new += self.fill(from, to);
        }
        new as u32
    }

    /// Remove `from..to` from the holes; returns the number of bytes removed.
    fn fill(&mut self, from: u64, to: u64) -> u64 {
        let mut filled = 0;
        let mut left = Vec::new();
        for &(a, b) in &self.holes {
            let (low, high) = (a.max(from), b.min(to));
            if low >= high {
                left.push((a, b));
                continue;
            }
            filled += high - low;
            left.extend([(a, low), (high, b)].into_iter().filter(|(a, b)| a < b));
        }
        self.holes = left;
        filled
    }
}

/// The unwrapped number of `sequence` that is nearest to `next`.
fn unwrapped(next: u64, sequence: u32) -> u64 {
    let ahead = sequence.wrapping_sub(next as u32) as i32;
    next.saturating_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_count_once_in_any_order_and_across_the_wrap() {
        let start = u32::MAX - 1500;
        let mut arrived = Arrived::from(start);
        let at = |k: u32| start.wrapping_add(k * 1000);
        let new: Vec<u32> =
            [0, 1, 3, 3, 5, 2, 2, 4, 0, 6].iter().map(|k| arrived.take(at(*k), 1000)).collect();
        assert_eq!(new, [1000, 1000, 1000, 0, 1000, 1000, 0, 1000, 0, 1000]);
        assert!(arrived.holes.is_empty());
    }

    #[test]
    fn lost_bytes_count_when_they_are_retransmitted() {
        let mut arrived = Arrived::from(5000);
        assert_eq!(
            [7000, 5000, 6000, 5000].map(|sequence| arrived.take(sequence, 1000)),
            [1000, 1000, 1000, 0]
        );
    }

    #[test]
    fn a_segment_fills_a_part_of_a_hole() {
        let mut arrived = Arrived::from(0);
        arrived.take(0, 100);
        assert_eq!(arrived.take(1000, 100), 100);
        assert_eq!(arrived.take(400, 100), 100);
        assert_eq!(arrived.take(50, 1000), 950 - 50 - 100);
        assert_eq!(arrived.take(0, 1100), 0);
    }
}
