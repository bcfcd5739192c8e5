//! A one-way link: a transmitter and a wire.
//!
//! A link without a finite queue never loses a packet, so its queue need not be simulated: a packet
//! leaves at max(arrival, previous departure) + size / rate (the Lindley recursion), exactly. A link with
//! a [`crate::queue::Port`] is served by that port instead and only adds its delay.
//!
//! There may be very many links, but only few rates and delays: what equal ones have in common is kept once, in a
//! [`LinkKind`]. What the size seen last takes is kept in the steps of routes, each a [`TxTime`], since a step meets
//! packets of one size most of the time: either data or acknowledgements.

mod rate_trace;

pub(crate) use rate_trace::RateTrace;

use crate::engine::{MAX_BURST_INDEX, MAX_EVENT_TIME, TieKey};

/// A byte at 1 bit/s, in nanoseconds.
const BYTE: u64 = 8_000_000_000;

/// What links of the same rate and delay have in common.
#[derive(Clone, Debug)]
pub(crate) struct LinkKind {
    /// Rate in bit/s.
    rate: u64,
    /// Propagation delay.
    delay: u64,
    /// What it can carry instead of `rate`, where that changes: then it is the only link of its kind.
    capacity: Option<Box<RateTrace>>,
    /// The finite queue in front of it, if any: then, too.
    pub(crate) port: Option<u32>,
}

impl LinkKind {
    pub(crate) fn new(rate: u64, delay: u64) -> LinkKind {
        LinkKind { rate, delay, capacity: None, port: None }
    }

    /// Let its rate change with time.
    pub(crate) fn vary(&mut self, capacity: RateTrace) {
        self.capacity = Some(Box::new(capacity));
    }

    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// Whether its rate changes with time.
    pub(crate) fn varies(&self) -> bool {
        self.capacity.is_some()
    }

    /// Its rate at `at`, if that changes with time.
    pub(crate) fn rate_at(&mut self, at: u64) -> Option<u64> {
        self.capacity.as_mut().map(|capacity| capacity.rate(at))
    }

    /// Bits that it can carry from `from` to `to`.
    pub(crate) fn bits(&mut self, from: u64, to: u64) -> f64 {
        match &mut self.capacity {
            Some(capacity) => capacity.bits(from, to),
            None => self.rate as f64 * ((to - from) as f64 * 1e-9),
        }
    }
}

/// How long a packet takes across a link of some kind, if it is as long as the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TxTime {
    /// What the size seen last takes: whole nanoseconds...
    lasts: u64,
    /// ...and a fraction, of which `parts` are one nanosecond...
    beyond: u32,
    parts: u32,
    /// ...and that size.
    bytes: u32,
    /// The number of the kind, and its delay.
    pub(crate) kind: u32,
    delay: u64,
    /// That of its arrival.
    tie_key: TieKey,
}

impl TxTime {
    /// On links of `kinds[kind]`.
    pub(crate) fn new(kind: u32, kinds: &[LinkKind]) -> TxTime {
        let LinkKind { rate, delay, .. } = kinds[kind as usize];
        // All sizes take multiples of this. Only above 4 Gbit/s it may not fit: 1/2^32 ns are neglected then.
        let parts = u32::try_from(rate / gcd(rate, BYTE)).unwrap_or(u32::MAX);
        TxTime { lasts: 0, beyond: 0, parts, bytes: 0, kind, delay, tie_key: TieKey::default() }
    }

    /// What packets of `bytes` take, if the rate does not change: whole nanoseconds, a fraction, and the delay.
    pub(super) fn with_size(&mut self, kinds: &[LinkKind], bytes: u32) -> (u64, u32, u64) {
        self.look_at_size(kinds[self.kind as usize].rate, bytes);
        (self.lasts, self.beyond, self.delay)
    }

    #[inline(never)]
    fn look_at_size(&mut self, rate: u64, bytes: u32) {
        let bits = u64::from(bytes) * BYTE;
        (self.bytes, self.beyond) = (bytes, 0);
        let rest = bits % rate;
        if rest > 0 {
            self.beyond = (u128::from(rest) * u128::from(self.parts) / u128::from(rate)) as u32;
        }
        self.took(bits / rate);
    }

    /// The transmission takes so long. From its beginning on the arrival is certain.
    fn took(&mut self, lasts: u64) {
        (self.lasts, self.tie_key) = (lasts, TieKey::of(lasts + self.delay));
    }

    /// The tie key of the arrival of the packet transmitted last.
    #[inline(always)]
    pub(crate) fn tie_key(&self) -> TieKey {
        self.tie_key
    }

    /// The delay of its links.
    pub(super) fn delay(&self) -> u64 {
        self.delay
    }

    /// When a packet whose transmission ended at `sent` reaches the other end.
    pub(crate) fn arrival(&self, sent: u64) -> u64 {
        sent + self.delay
    }
}

/// The state of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    /// When the transmitter has sent everything it was given...
    free: u64,
    /// ...and the fraction of a nanosecond beyond that, in parts of its transmission time: rounding errors do not add up.
    fraction: u32,
    /// Packets sent before the one transmitted last since the link was idle; from 0 again after 2^32.
    place: u32,
}

impl Link {
    /// Hand over `bytes` at time `at`, on a link with this transmission time; returns when the transmitter is done with them.
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        tx_time: &mut TxTime,
        kinds: &mut [LinkKind],
        at: u64,
        bytes: u32,
    ) -> u64 {
        if tx_time.bytes != bytes {
            let kind = &mut kinds[tx_time.kind as usize];
            if let Some(capacity) = &mut kind.capacity {
                return self.transmit_varying(tx_time, capacity, at, bytes); // and the size seen last stays 0
            }
            tx_time.look_at_size(kind.rate, bytes);
        }
        if at > self.free {
            *self = Link { free: at + tx_time.lasts, fraction: tx_time.beyond, place: 0 };
            return self.free;
        }
        self.place = self.place.wrapping_add(1);
        self.free += tx_time.lasts;
        if tx_time.beyond > 0 {
            let mut fraction = u64::from(self.fraction) + u64::from(tx_time.beyond);
            if fraction >= u64::from(tx_time.parts) {
                fraction -= u64::from(tx_time.parts);
                self.free += 1;
            }
            self.fraction = fraction as u32;
        }
        self.free
    }

    /// As [`Link::transmit`], but returns when they reach the other end.
    #[inline(always)]
    pub(crate) fn cross(&mut self, tx_time: &mut TxTime, kinds: &mut [LinkKind], at: u64, bytes: u32) -> u64 {
        self.transmit(tx_time, kinds, at, bytes) + tx_time.delay
    }

    /// As [`Link::cross`], with the place of the packet: both as [`crate::engine::Event::arrival`] wants them. A packet that goes
    /// straight onto the link before the end of the run arrives before [`MAX_EVENT_TIME`], since rates and delays have bounds.
    #[inline(always)]
    pub(crate) fn cross_with_index(
        &mut self,
        tx_time: &mut TxTime,
        kinds: &mut [LinkKind],
        at: u64,
        bytes: u32,
    ) -> (u64, u32) {
        if tx_time.bytes == bytes && at > self.free {
            *self = Link { free: at + tx_time.lasts, fraction: tx_time.beyond, place: 0 };
            return (self.free + tx_time.delay, 0);
        }
        let arrival = self.cross(tx_time, kinds, at, bytes);
        (arrival.min(MAX_EVENT_TIME), self.place())
    }

    #[cold]
    fn transmit_varying(
        &mut self,
        tx_time: &mut TxTime,
        capacity: &mut RateTrace,
        at: u64,
        bytes: u32,
    ) -> u64 {
        let follows = at <= self.free;
        let start = at.max(self.free);
        self.place = if follows { self.place.wrapping_add(1) } else { 0 };
        self.free = capacity.send(start, bytes, follows);
        tx_time.took(self.free - start);
        self.free
    }

    /// A link whose transmitter is taken so long, by a packet that it was idle for.
    pub(super) fn taken(free: u64, fraction: u32) -> Link {
        Link { free, fraction, place: 0 }
    }

    /// When the transmitter is done: whole nanoseconds, and a fraction.
    pub(super) fn free(&self) -> (u64, u32) {
        (self.free, self.fraction)
    }

    /// How many packets went before the one transmitted last since the link was idle, up to [`MAX_BURST_INDEX`].
    pub(crate) fn place(&self) -> u32 {
        self.place.min(MAX_BURST_INDEX)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(rate: u64, delay: u64) -> ([LinkKind; 1], TxTime) {
        let kinds = [LinkKind::new(rate, delay)];
        let tx_time = TxTime::new(0, &kinds);
        (kinds, tx_time)
    }

    #[test]
    fn a_busy_link_sends_back_to_back_and_an_idle_one_at_once() {
        let (mut link, (mut kinds, mut tx_time)) = (Link::default(), kind(10_000_000, 5));
        assert_eq!(link.transmit(&mut tx_time, &mut kinds, 100, 1000), 800_100);
        assert_eq!(link.transmit(&mut tx_time, &mut kinds, 200, 1000), 1_600_100);
        assert_eq!(link.place(), 1);
        assert_eq!(link.transmit(&mut tx_time, &mut kinds, 9_000_000, 500), 9_400_000);
        assert_eq!((link.place(), tx_time.tie_key()), (0, TieKey::of(400_005)));
        assert_eq!(tx_time.arrival(9_400_000), 9_400_005);
    }

    /// 3 and 7 leave fractions; a prime needs all of 32 bits; above them, 2^-32 ns a packet may be lost.
    #[test]
    fn rounding_errors_do_not_add_up() {
        for (rate, neglected) in [(3_000_000, 0), (7_000_000_000, 0), (4_294_967_291, 0), (9_999_999_967, 1)]
        {
            let (mut link, (mut kinds, mut tx_time)) = (Link::default(), kind(rate, 0));
            let mut bits = 0;
            for bytes in [1000, 40, 1500].into_iter().cycle().take(3000) {
                bits += u128::from(bytes) * u128::from(BYTE);
                let sent = u128::from(link.transmit(&mut tx_time, &mut kinds, 0, bytes));
                let exact = bits / u128::from(rate);
                assert!(sent == exact || sent + neglected == exact, "{sent}, not {exact}, at {rate} bit/s");
            }
        }
    }

    #[test]
    fn links_of_one_kind_are_apart() {
        let ([mut one, mut other], (mut kinds, mut tx_time)) = ([Link::default(); 2], kind(8_000_000, 0));
        assert_eq!(one.cross(&mut tx_time, &mut kinds, 0, 1000), 1_000_000);
        assert_eq!(other.cross(&mut tx_time, &mut kinds, 7, 1000), 1_000_007);
        assert_eq!(one.cross(&mut tx_time, &mut kinds, 0, 1000), 2_000_000);
    }

    /// There are two for each of very many hosts.
    #[test]
    fn a_link_is_small() {
        assert_eq!(size_of::<Link>(), 16);
    }
}
