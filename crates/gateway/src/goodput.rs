//! Goodput of a TCP connection: the payload bytes that reach the receiver for the first time.

/// Holes that are remembered in each direction of a connection; beyond that, the oldest is forgotten.
const MAX_HOLES: usize = 4096;
/// Holes that all connections of a gateway together may have: 16 MiB.
const MAX_ALL_HOLES: usize = 1 << 20;

/// The holes that may be remembered, and how many were not. A hole that is forgotten counts as filled: its
/// bytes are no goodput when they arrive.
#[derive(Clone, Debug)]
pub(crate) struct HoleBudget {
    left: usize,
    /// Holes that were forgotten.
    pub(crate) forgotten: u64,
}

impl Default for HoleBudget {
    fn default() -> HoleBudget {
        HoleBudget { left: MAX_ALL_HOLES, forgotten: 0 }
    }
}

/// The bytes of one direction that have arrived: all below `next` except the holes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    /// A sequence number that does not wrap.
    next: u64,
    /// Ranges in ascending order that do not overlap.
    holes: Vec<(u64, u64)>,
}

impl Arrived {
    /// No byte has arrived, and `sequence` is the first one sent, which may be lost.
    pub(crate) fn from(sequence: u32) -> Arrived {
        Arrived { next: (1 << 32) + u64::from(sequence), holes: Vec::new() }
    }

    /// `bytes` from `sequence` on arrive; returns the number of new ones.
    pub(crate) fn take(&mut self, sequence: u32, bytes: u32, budget: &mut HoleBudget) -> u32 {
        let next = self.next;
        let from = unwrapped(next, sequence);
        let to = from + u64::from(bytes);
        let mut new = to.saturating_sub(from.max(next));
        self.next = next.max(to);
        let before = self.holes.len();
        if from > next {
            self.holes.push((next, from));
        } else if from < next && before > 0 {
            new += self.fill(from, to);
        }
        if self.holes.len() != before {
            self.limit(before, budget);
        }
        new as u32
    }

    /// Remove `from..to` from the holes; returns the number of bytes removed.
    fn fill(&mut self, from: u64, to: u64) -> u64 {
        let first = self.holes.partition_point(|hole| hole.1 <= from);
        let end = self.holes.partition_point(|hole| hole.0 < to);
        if first >= end {
            return 0;
        }
        let (low, high) = (self.holes[first].0, self.holes[end - 1].1);
        let filled = self.holes[first..end].iter().map(|(a, b)| (*b).min(to) - (*a).max(from)).sum();
        let left = [(low, from), (to, high)].into_iter().filter(|(a, b)| a < b);
        self.holes.splice(first..end, left);
        filled
    }

    /// Forget the oldest hole if there are too many; `before`: those that `budget` knows of.
    fn limit(&mut self, before: usize, budget: &mut HoleBudget) {
        if self.holes.len() > MAX_HOLES.min(before + budget.left) {
            self.holes.remove(0);
            budget.forgotten += 1;
        }
        budget.left = budget.left + before - self.holes.len();
        if self.holes.capacity() > 4 * self.holes.len() + 8 {
            self.holes.shrink_to(2 * self.holes.len());
        }
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
    use sojourn_aqm::{Random, Stream};

    #[test]
    fn duplicates_count_once_in_any_order_and_across_the_wrap() {
        let start = u32::MAX - 1500;
        let (mut arrived, mut budget) = (Arrived::from(start), HoleBudget::default());
        let at = |k: u32| start.wrapping_add(k * 1000);
        let new: Vec<u32> =
            [0, 1, 3, 3, 5, 2, 2, 4, 0, 6].iter().map(|k| arrived.take(at(*k), 1000, &mut budget)).collect();
        assert_eq!(new, [1000, 1000, 1000, 0, 1000, 1000, 0, 1000, 0, 1000]);
        assert!(arrived.holes.is_empty());
    }

    #[test]
    fn lost_bytes_count_when_they_are_retransmitted() {
        let (mut arrived, mut budget) = (Arrived::from(5000), HoleBudget::default());
        assert_eq!(
            [7000, 5000, 6000, 5000].map(|sequence| arrived.take(sequence, 1000, &mut budget)),
            [1000, 1000, 1000, 0]
        );
    }

    #[test]
    fn a_segment_fills_a_part_of_a_hole() {
        let (mut arrived, mut budget) = (Arrived::from(0), HoleBudget::default());
        let mut take = |sequence, bytes| arrived.take(sequence, bytes, &mut budget);
        assert_eq!([take(0, 100), take(1000, 100), take(400, 100)], [100; 3]);
        assert_eq!(take(50, 1000), 950 - 50 - 100);
        assert_eq!(take(0, 1100), 0);
    }

    #[test]
    fn any_segments_count_as_in_a_list_of_all_bytes() {
        let mut random = Stream::new(1, "segments");
        for _ in 0..300 {
            let (mut arrived, mut budget) = (Arrived::from(0), HoleBudget::default());
            let mut bytes = [false; 1000];
            for _ in 0..60 {
                let from = (random.uniform() * 900.0) as usize;
                let to = from + 1 + (random.uniform() * 99.0) as usize;
                let new = bytes[from..to].iter().filter(|byte| !**byte).count();
                bytes[from..to].fill(true);
                assert_eq!(arrived.take(from as u32, (to - from) as u32, &mut budget), new as u32);
            }
            assert_eq!((MAX_ALL_HOLES - budget.left, budget.forgotten), (arrived.holes.len(), 0));
        }
    }

    #[test]
    fn holes_are_limited_in_each_direction_and_in_all() {
        let mut budget = HoleBudget { left: 6000, forgotten: 0 };
        let mut every: Vec<Arrived> = (0..3).map(|_| Arrived::from(0)).collect();
        for one in &mut every {
            for k in 0..5000 {
                one.take(20 * k + 10, 10, &mut budget);
            }
        }
        let lengths: Vec<usize> = every.iter().map(|one| one.holes.len()).collect();
        assert_eq!((lengths, budget.left), (vec![4096, 1904, 0], 0));
        assert_eq!(budget.forgotten, 15_000 - 6000);
        // The latest are remembered, and give their place back when they are filled.
        assert_eq!(every[0].take(20 * 4999, 10, &mut budget), 10);
        assert_eq!(every[0].take(0, 10, &mut budget), 0, "its first hole was forgotten");
        assert_eq!(every[2].take(200_000, 10, &mut budget), 10);
        assert_eq!((every[2].holes.len(), budget.left), (1, 0));
        assert_eq!(every[0].take(0, 100_000, &mut budget), 40_950);
        assert_eq!((every[0].holes.capacity(), budget.left), (0, 4095));
    }
}
