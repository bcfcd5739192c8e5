//! A histogram with buckets of constant relative width: 64 per octave, so a bucket is at most 1/64 of the
//! value wide.
//!
//! The index of a bucket is read from the binary64 form of a value: the exponent and the first bits of the
//! mantissa.

/// Base-2 logarithm of the number of buckets per octave.
const BITS: u32 = 6;
/// Low bits of the mantissa that are ignored.
const IGNORED_BITS: u32 = f64::MANTISSA_DIGITS - 1 - BITS;
/// The bits that stand for the bucket of the value 1.
const ONE: u64 = 1f64.to_bits() >> IGNORED_BITS;

/// A histogram of integers below 2^53.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    zeros: u64,
    counts: Vec<u64>,
}

impl Histogram {
    /// Count `value`.
    #[inline]
    pub fn add(&mut self, value: u64) {
        debug_assert!(value < 1 << f64::MANTISSA_DIGITS, "integers below 2^53 are exact in binary64");
        let bucket = ((value as i64 as f64).to_bits() >> IGNORED_BITS).wrapping_sub(ONE);
        match self.counts.get_mut(bucket as usize) {
            Some(count) => *count += 1,
            None => self.add_highest(value, bucket),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_highest(&mut self, value: u64, bucket: u64) {
        if value == 0 {
            self.zeros += 1;
            return;
        }
        self.counts.resize(bucket as usize + 1, 0);
        self.counts[bucket as usize] = 1;
    }

    /// Lower edges and counts of the buckets that have grown since `earlier`.
    pub fn since(&self, earlier: &Histogram) -> (Vec<u64>, Vec<u64>) {
        let before = |bucket: usize| earlier.counts.get(bucket).copied().unwrap_or(0);
        let counts = self.counts.iter().enumerate();
        let others = counts.map(|(bucket, count)| (edge(bucket), count - before(bucket)));
        let zeros = (0, self.zeros - earlier.zeros);
        std::iter::once(zeros).chain(others).filter(|(_, count)| *count > 0).unzip()
    }
}

/// The smallest integer in the bucket.
fn edge(bucket: usize) -> u64 {
    f64::from_bits((bucket as u64 + ONE) << IGNORED_BITS).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For values of all sizes the edge is not above the value and less than 1/64 of it below.
        #[test]
        fn an_edge_is_at_most_a_sixty_fourth_below_the_value(bits in 0u32..53, low in any::<u64>()) {
            let value = low & ((1 << bits) - 1);
            let mut histogram = Histogram::default();
            histogram.add(value);
            let (edges, counts) = histogram.since(&Histogram::default());
            prop_assert_eq!(counts, [1]);
            prop_assert!(edges[0] <= value && value - edges[0] <= value / 64, "{} for {}", edges[0], value);
            histogram.add(edges[0]);
            prop_assert_eq!(histogram.since(&Histogram::default()), (edges, vec![2]));
        }
    }
}
