//! Profile markers: they meter a flow (or an aggregate) against its traffic profile and set the class of each
//! packet by its conformance. They are used at the edge of a network; RIO and BIO inside it act on the
//! classes.
//!
//! The class is a drop precedence: 0 = in profile (green), 1 = out of profile (yellow), 2 = red. One instance
//! measures one flow or aggregate.
//!
//! | marker | from | classes | rule |
//! |---|---|---|---|
//! | [`TokenBucket`] | Clark and Fang 1998 | 0, 1 | in profile while the bucket holds enough tokens |
//! | [`SrTcm`] | RFC 2697 | 0, 1, 2 | one rate, two bursts: the second bucket gets what the first cannot hold |
//! | [`TrTcm`] | RFC 2698 | 0, 1, 2 | two rates: above the peak rate red, above the committed one yellow |
//! | [`Tsw`] | RFC 2859 | 0, 1, 2 | a rate averaged over a sliding window; the excess is marked at random |
//!
//! # When it decides
//! At each packet, of b bytes: buckets are first filled for the time since the last one, up to their size,
//! then the packet takes b tokens from a bucket that holds at least b. A packet larger than a bucket is never
//! in profile. Tokens are integers (billionths of a bit), so that none are lost to rounding at any rate. A
//! packet with an earlier time than the last one adds no tokens.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | filling | continuous | RFC 2697, 2698: one token at a time | the same mean and bursts, independent of the phase of a timer |
//! | colours on arrival | used with `colour_aware` | ns-2 dsPolicy.cc: never | the RFCs define both modes |
//! | rates | bit/s | ns-2: bit/s, stored in bytes/s | one unit everywhere |
//! | TSW with two classes | `Tsw::two_colour` | RFC 2859 has three | Clark and Fang; ns-2 TSW2CM |
//!
//! # References
//! RFC 2697, RFC 2698, RFC 2859. D. Clark, W. Fang: Explicit Allocation of Best-Effort Packet Delivery
//! Service, IEEE/ACM ToN 6(4), 1998. ns-2 `diffserv/dsPolicy.cc`.

use crate::{Class, Random, Time};

/// In profile, or green.
pub const GREEN: Class = Class(0);
/// Out of profile, or yellow.
pub const YELLOW: Class = Class(1);
/// Red.
pub const RED: Class = Class(2);

/// A marker that assigns classes to packets.
pub trait Marker: Send {
    /// The class of a packet of `bytes` that arrives at `now` with class `class_in`. Only markers that mark
    /// at random draw from `rng`.
    fn mark(&mut self, now: Time, bytes: u32, class_in: Class, rng: &mut dyn Random) -> Class;
}

/// Billionths of a bit in a byte, the unit of tokens.
const BYTE: u128 = 8_000_000_000;

/// Tokens that accumulate at a rate up to a size.
#[derive(Clone, Debug)]
struct Bucket {
    /// Bit/s, which is billionths of a bit in a nanosecond.
    rate: u64,
    size: u128,
    /// Present content.
    tokens: u128,
}

impl Bucket {
    /// A full bucket.
    fn new(rate: u64, bytes: u64) -> Bucket {
        let size = u128::from(bytes) * BYTE;
        Bucket { rate, size, tokens: size }
    }

    /// Add the tokens of this many nanoseconds; returns the excess.
    fn fill(&mut self, ns: u64) -> u128 {
        self.pour(u128::from(self.rate) * u128::from(ns))
    }

    /// Add the `tokens` that fit; returns the excess.
    fn pour(&mut self, tokens: u128) -> u128 {
        let accepted = tokens.min(self.size - self.tokens);
        self.tokens += accepted;
        tokens - accepted
    }

    fn holds(&self, bytes: u32) -> bool {
        self.tokens >= u128::from(bytes) * BYTE
    }

    fn take(&mut self, bytes: u32) {
        self.tokens -= u128::from(bytes) * BYTE;
    }

    /// Take `bytes` if the bucket holds as many; returns whether it did.
    fn try_take(&mut self, bytes: u32) -> bool {
        let holds = self.holds(bytes);
        if holds {
            self.take(bytes);
        }
        holds
    }

    fn bytes(&self) -> f64 {
        self.tokens as f64 / BYTE as f64
    }
}

/// Nanoseconds since the last packet; 0 if `now` is earlier.
fn pass(last: &mut Time, now: Time) -> u64 {
    let elapsed = now.since(*last).0;
    *last = now.max(*last);
    elapsed
}

/// A token bucket: in profile (class 0) while it holds a packet's bytes, else out (1), which takes no tokens.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    bucket: Bucket,
    last: Time,
}

impl TokenBucket {
    /// Committed information rate in bit/s and burst size in bytes; starts full.
    pub fn new(cir: u64, cbs: u64) -> TokenBucket {
        TokenBucket { bucket: Bucket::new(cir, cbs), last: Time::ZERO }
    }

    /// Tokens, in bytes, as of the last packet.
    pub fn tokens(&self) -> f64 {
        self.bucket.bytes()
    }
}

impl Marker for TokenBucket {
    fn mark(&mut self, now: Time, bytes: u32, _: Class, _: &mut dyn Random) -> Class {
        let elapsed = pass(&mut self.last, now);
        self.bucket.fill(elapsed);
        if self.bucket.try_take(bytes) { GREEN } else { YELLOW }
    }
}

/// Single rate three colour marker (RFC 2697): tokens of one rate fill the committed bucket, and what it
/// cannot hold fills the excess bucket.
#[derive(Clone, Debug)]
pub struct SrTcm {
    committed: Bucket,
    excess: Bucket,
    colour_aware: bool,
    last: Time,
}

impl SrTcm {
    /// Committed information rate in bit/s, committed and excess burst size in bytes; starts full. With
    /// `colour_aware` a packet never gets a better colour than it arrived with.
    pub fn new(cir: u64, cbs: u64, ebs: u64, colour_aware: bool) -> SrTcm {
        SrTcm {
            committed: Bucket::new(cir, cbs),
            excess: Bucket::new(cir, ebs),
            colour_aware,
            last: Time::ZERO,
        }
    }

    /// Tokens of the committed and the excess bucket, in bytes, as of the last packet.
    pub fn tokens(&self) -> (f64, f64) {
        (self.committed.bytes(), self.excess.bytes())
    }
}

impl Marker for SrTcm {
    fn mark(&mut self, now: Time, bytes: u32, class_in: Class, _: &mut dyn Random) -> Class {
        let elapsed = pass(&mut self.last, now);
        let spilled = self.committed.fill(elapsed);
        self.excess.pour(spilled);
        let best = if self.colour_aware { class_in } else { GREEN };
        if best == GREEN && self.committed.try_take(bytes) {
            GREEN
        } else if best <= YELLOW && self.excess.try_take(bytes) {
            YELLOW
        } else {
            RED
        }
    }
}

/// Two rate three colour marker (RFC 2698): red above the peak rate, yellow above the committed rate.
#[derive(Clone, Debug)]
pub struct TrTcm {
    committed: Bucket,
    peak: Bucket,
    colour_aware: bool,
    last: Time,
}

impl TrTcm {
    /// Committed information rate in bit/s and its burst size in bytes, then peak information rate, at least
    /// the committed rate, and its burst size; both buckets start full. With `colour_aware` a packet never
    /// gets a better colour than it arrived with.
    pub fn new(cir: u64, cbs: u64, pir: u64, pbs: u64, colour_aware: bool) -> TrTcm {
        let (committed, peak) = (Bucket::new(cir, cbs), Bucket::new(pir.max(cir), pbs));
        TrTcm { committed, peak, colour_aware, last: Time::ZERO }
    }

    /// Tokens of the committed and the peak bucket, in bytes, as of the last packet.
    pub fn tokens(&self) -> (f64, f64) {
        (self.committed.bytes(), self.peak.bytes())
    }
}

impl Marker for TrTcm {
    fn mark(&mut self, now: Time, bytes: u32, class_in: Class, _: &mut dyn Random) -> Class {
        let elapsed = pass(&mut self.last, now);
        self.committed.fill(elapsed);
        self.peak.fill(elapsed);
        let best = if self.colour_aware { class_in } else { GREEN };
        if best >= RED || !self.peak.try_take(bytes) {
            RED
        } else if best == GREEN && self.committed.try_take(bytes) {
            GREEN
        } else {
            YELLOW
        }
    }
}

/// Time sliding window marker (RFC 2859): averages the rate and marks the excess at random, so that the marks
/// are distributed over a flow's packets and not concentrated at the end of a burst.
#[derive(Clone, Debug)]
pub struct Tsw {
    /// Rates in bytes/s; without a peak rate there are two classes.
    cir: f64,
    pir: Option<f64>,
    /// Length of the window in seconds.
    window: f64,
    /// Averaged rate in bytes/s.
    rate: f64,
    last: Time,
}

impl Tsw {
    fn new(cir: u64, pir: Option<u64>, window: crate::Span) -> Tsw {
        let bytes = |rate: u64| rate as f64 / 8.0;
        let window = window.as_secs_f64().max(1e-9);
        let pir = pir.map(|rate| bytes(rate.max(cir)));
        Tsw { cir: bytes(cir), pir, window, rate: bytes(cir), last: Time::ZERO }
    }

    /// In profile (0) up to the committed rate in bit/s; the excess is out of profile (1).
    pub fn two_colour(cir: u64, window: crate::Span) -> Tsw {
        Tsw::new(cir, None, window)
    }

    /// Green up to the committed rate in bit/s, the excess yellow up to the peak rate, the rest red.
    pub fn three_colour(cir: u64, pir: u64, window: crate::Span) -> Tsw {
        Tsw::new(cir, Some(pir), window)
    }

    /// The averaged rate, bit/s, as of the last packet.
    pub fn rate(&self) -> f64 {
        8.0 * self.rate
    }
}

impl Marker for Tsw {
    fn mark(&mut self, now: Time, bytes: u32, _: Class, rng: &mut dyn Random) -> Class {
        let elapsed = pass(&mut self.last, now) as f64 * 1e-9;
        self.rate = (self.rate * self.window + f64::from(bytes)) / (elapsed + self.window);
        if self.rate <= self.cir {
            return GREEN;
        }
        // Uniform in (0, rate]: above a threshold with probability (rate - threshold) / rate.
        let point = self.rate * (1.0 - rng.uniform());
        match self.pir {
            Some(pir) if point > pir => RED,
            _ if point > self.cir => YELLOW,
            _ => GREEN,
        }
    }
}
