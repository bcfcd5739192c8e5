//! Random numbers are an argument: one stream per object, each a function of (seed, name).
//!
//! Because a stream depends on a name and not on the order of events, two algorithms under one seed have the
//! same demand (common random numbers).

/// A source of uniform numbers in [0, 1).
pub trait Random {
    /// The next number, 0 <= u < 1.
    fn uniform(&mut self) -> f64;

    /// Whether an event of probability `p` happens: the next number is below `p`.
    #[inline]
    fn happens(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
}

/// SplitMix64 (Steele, Lea, Flood: OOPSLA 2014): 64 bits of state, one multiply-xor chain per draw.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The stream that belongs to `name` under `seed`; any change of either gives an unrelated one.
    #[inline]
    pub fn new(seed: u64, name: &str) -> Stream {
        Stream(mix(seed.wrapping_add(GOLDEN)) ^ hash(name))
    }

    /// Stream number `index` derived from this one. It does not depend on the numbers drawn from other
    /// derived streams.
    pub fn indexed(&self, index: u64) -> Stream {
        Stream(mix(self.0 ^ mix(index.wrapping_mul(GOLDEN).wrapping_add(1))))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

impl Random for Stream {
    #[inline]
    fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The number for a probability of 0 is skipped without being computed.
    #[inline(always)]
    fn happens(&mut self, p: f64) -> bool {
        if p == 0.0 {
            self.0 = self.0.wrapping_add(GOLDEN);
            return false;
        }
        self.uniform() < p
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a over the name, mixed: short names differ in few bits, streams must not.
#[inline]
fn hash(name: &str) -> u64 {
    let fnv = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    mix(fnv)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event is decided by the next number, which is consumed for every probability.
    #[test]
    fn an_event_takes_one_number() {
        let (mut events, mut numbers) = (Stream::new(1, "events"), Stream::new(1, "events"));
        for p in [0.0, 0.3, 0.0, -0.0, 1.0, 0.5, 1e-300, 0.7].repeat(100) {
            assert_eq!(events.happens(p), numbers.uniform() < p);
        }
    }
}
