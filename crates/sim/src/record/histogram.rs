//! A histogram with buckets of constant relative width: 64 a factor of two, so at most 1/64 of the value.

const BITS: u32 = 6;
const PER_OCTAVE: u64 = 1 << BITS;

/// Counts of whole numbers.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// Count `value`.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.add_highest(bucket),
        }
    }

    #[cold]
    fn add_highest(&mut self, bucket: usize) {
        self.counts.resize(bucket + 1, 0);
        self.counts[bucket] = 1;
    }

    /// Lower edges and counts of the buckets that gained something since `earlier`.
    pub fn since(&self, earlier: &Histogram) -> (Vec<u64>, Vec<u64>) {
        let before = |bucket: usize| earlier.counts.get(bucket).copied().unwrap_or(0);
        self.counts
            .iter()
            .enumerate()
            .map(|(bucket, count)| (edge(bucket), count - before(bucket)))
            .filter(|(_, count)| *count > 0)
            .unzip()
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    let octave = (value | PER_OCTAVE).ilog2() - BITS;
    (u64::from(octave) * PER_OCTAVE + (value >> octave)) as usize
}

fn edge(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let octave = (bucket / PER_OCTAVE).saturating_sub(1);
    (bucket - octave * PER_OCTAVE) << octave
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_what_lies_above_its_edge_and_below_the_next(value in 0u64..1 << 62) {
            let b = bucket(value);
            prop_assert!(edge(b) <= value && value < edge(b + 1));
            prop_assert!(edge(b + 1) - edge(b) <= (edge(b) / 64).max(1));
        }
    }
}
