//! A one-way link: a transmitter and a wire.
//!
//! A link without a finite queue never loses a packet, so its queue need not be simulated: a packet
//! leaves at max(arrival, previous departure) + size / rate (the Lindley recursion), exactly. A link with
//! a [`crate::queue::Port`] is served by that port instead and only adds its delay. If its wire loses or
//! delays packets, that is a link of its own behind it ([`Entry::Wire`]).
//!
//! A network may have very many links but has few different rates and delays, so links of equal rate and
//! delay share a [`LinkKind`]. The serialization delay of the last packet size is cached in the steps of
//! routes, each a [`TxTime`]: most packets of a step have the same size, since they are either data or
//! acknowledgements.

mod impairment;
mod medium;
mod rate_trace;
mod wire;

pub use impairment::Fate;
pub(crate) use medium::{Contention, Medium, Turn};
pub(crate) use rate_trace::RateTrace;
pub use wire::Wire;

use crate::engine::{MAX_BURST_INDEX, MAX_EVENT_TIME, TieKey};
use sojourn_aqm::{Span, Time};

/// The serialization delay of a byte at 1 bit/s, ns.
const BYTE_NS: u64 = 8_000_000_000;

/// What links of the same rate and delay have in common.
#[derive(Clone, Debug)]
pub(crate) struct LinkKind {
    /// Rate in bit/s.
    rate: u64,
    /// Propagation delay.
    delay: Span,
    /// The rate over time, if it varies, instead of `rate`; such a kind belongs to one link.
    capacity: Option<Box<RateTrace>>,
    /// What its packets meet first. Unless that is the transmitter, the kind belongs to one link, too.
    pub(crate) entry: Entry,
}

/// What a packet that enters a link meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The transmitter, whose queue has no limit.
    Transmitter,
    /// The finite queue of this number.
    Port(u32),
    /// The impaired wire of this number: the link has no transmitter.
    Wire(u32),
}

impl LinkKind {
    pub(crate) fn new(rate: u64, delay: Span) -> LinkKind {
        LinkKind { rate, delay, capacity: None, entry: Entry::Transmitter }
    }

    /// Make its rate vary with time.
    pub(crate) fn vary(&mut self, capacity: RateTrace) {
        self.capacity = Some(Box::new(capacity));
    }

    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// The finite queue in front of it.
    pub(crate) fn port(&self) -> Option<u32> {
        if let Entry::Port(port) = self.entry { Some(port) } else { None }
    }

    /// Whether its rate varies with time.
    pub(crate) fn varies(&self) -> bool {
        self.capacity.is_some()
    }

    /// Its rate at `at`, if it varies with time.
    pub(crate) fn rate_at(&mut self, at: Time) -> Option<u64> {
        self.capacity.as_mut().map(|capacity| capacity.rate(at))
    }

    /// The bits that it can carry from `from` to `to`.
    pub(crate) fn bits(&mut self, from: Time, to: Time) -> f64 {
        match &mut self.capacity {
            Some(capacity) => capacity.bits(from, to),
            None => self.rate as f64 * to.since_exact(from).as_secs_f64(),
        }
    }
}

/// A cache of the serialization delay: that of the last packet size on links of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TxTime {
    /// The serialization delay: whole nanoseconds...
    whole: Span,
    /// ...and a fraction, in units of 1 / `parts` nanoseconds.
    fraction: u32,
    parts: u32,
    /// The packet size that it holds for.
    bytes: u32,
    /// The kind of the links, and its propagation delay.
    pub(crate) kind: u32,
    delay: Span,
    /// The tie key of the packet's arrival.
    tie_key: TieKey,
}

impl TxTime {
    /// An empty cache for links of `kinds[kind]`.
    pub(crate) fn new(kind: u32, kinds: &[LinkKind]) -> TxTime {
        let LinkKind { rate, delay, .. } = kinds[kind as usize];
        // Every serialization delay is a multiple of 1 / parts ns. Above 4 Gbit/s `parts` may not fit into 32
        // bits; the error is then 2^-32 ns a packet.
        let parts = u32::try_from(rate / gcd(rate, BYTE_NS)).unwrap_or(u32::MAX);
        TxTime { whole: Span::ZERO, fraction: 0, parts, bytes: 0, kind, delay, tie_key: TieKey::default() }
    }

    /// The serialization delay of packets of `bytes` at a constant rate (whole nanoseconds and a fraction),
    /// and the propagation delay.
    pub(super) fn with_size(&mut self, kinds: &[LinkKind], bytes: u32) -> (Span, u32, Span) {
        self.set_size(kinds[self.kind as usize].rate, bytes);
        (self.whole, self.fraction, self.delay)
    }

    #[inline(never)]
    fn set_size(&mut self, rate: u64, bytes: u32) {
        let bits = u64::from(bytes) * BYTE_NS;
        (self.bytes, self.fraction) = (bytes, 0);
        let rest = bits % rate;
        if rest > 0 {
            self.fraction = (u128::from(rest) * u128::from(self.parts) / u128::from(rate)) as u32;
        }
        self.set_whole(Span(bits / rate));
    }

    /// Set the whole nanoseconds. The cause of the arrival is the start of the transmission.
    fn set_whole(&mut self, whole: Span) {
        (self.whole, self.tie_key) = (whole, TieKey::of(whole + self.delay));
    }

    /// The tie key of the arrival of the packet transmitted last.
    #[inline(always)]
    pub(crate) fn tie_key(&self) -> TieKey {
        self.tie_key
    }

    /// The propagation delay.
    pub(super) fn delay(&self) -> Span {
        self.delay
    }

    /// When a packet whose transmission ended at `sent` reaches the other end.
    pub(crate) fn arrival(&self, sent: Time) -> Time {
        sent.add_exact(self.delay)
    }
}

/// The state of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    /// When the transmitter becomes idle: whole nanoseconds...
    free: Time,
    /// ...and a fraction, in the units of the [`TxTime`], so that rounding errors do not accumulate.
    fraction: u32,
    /// Packets sent before the last one since the link was idle; wraps at 2^32.
    burst_index: u32,
}

impl Link {
    /// Transmit a packet of `bytes` that reaches the transmitter at `at`; returns the end of its
    /// transmission.
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        tx_time: &mut TxTime,
        kinds: &mut [LinkKind],
        at: Time,
        bytes: u32,
    ) -> Time {
        if tx_time.bytes != bytes {
            let kind = &mut kinds[tx_time.kind as usize];
            if let Some(capacity) = &mut kind.capacity {
                return self.transmit_varying(tx_time, capacity, at, bytes); // `tx_time.bytes` stays 0
            }
            tx_time.set_size(kind.rate, bytes);
        }
        if at > self.free {
            *self = Link { free: at.add_exact(tx_time.whole), fraction: tx_time.fraction, burst_index: 0 };
            return self.free;
        }
        self.burst_index = self.burst_index.wrapping_add(1);
        self.free = self.free.add_exact(tx_time.whole);
        if tx_time.fraction > 0 {
            let mut fraction = u64::from(self.fraction) + u64::from(tx_time.fraction);
            if fraction >= u64::from(tx_time.parts) {
                fraction -= u64::from(tx_time.parts);
                self.free = self.free.add_exact(Span(1));
            }
            self.fraction = fraction as u32;
        }
        self.free
    }

    /// As [`Link::transmit`], but returns when the packet reaches the other end.
    #[inline(always)]
    pub(crate) fn cross(
        &mut self,
        tx_time: &mut TxTime,
        kinds: &mut [LinkKind],
        at: Time,
        bytes: u32,
    ) -> Time {
        self.transmit(tx_time, kinds, at, bytes).add_exact(tx_time.delay)
    }

    /// As [`Link::cross`], but also returns the burst index, both within the bounds of
    /// [`crate::engine::Event::arrival`]. A packet that finds the link idle arrives before
    /// [`MAX_EVENT_TIME`], since rates and delays are bounded.
    #[inline(always)]
    pub(crate) fn cross_with_index(
        &mut self,
        tx_time: &mut TxTime,
        kinds: &mut [LinkKind],
        at: Time,
        bytes: u32,
    ) -> (Time, u32) {
        if tx_time.bytes == bytes && at > self.free {
            *self = Link { free: at.add_exact(tx_time.whole), fraction: tx_time.fraction, burst_index: 0 };
            return (self.free.add_exact(tx_time.delay), 0);
        }
        let arrival = self.cross(tx_time, kinds, at, bytes);
        (arrival.min(MAX_EVENT_TIME), self.burst_index())
    }

    #[cold]
    fn transmit_varying(
        &mut self,
        tx_time: &mut TxTime,
        capacity: &mut RateTrace,
        at: Time,
        bytes: u32,
    ) -> Time {
        let follows = at <= self.free;
        let start = at.max(self.free);
        self.burst_index = if follows { self.burst_index.wrapping_add(1) } else { 0 };
        self.free = capacity.send(start, bytes, follows);
        tx_time.set_whole(self.free.since_exact(start));
        self.free
    }

    /// A link that transmits one packet, which found it idle, until `free` and a fraction.
    pub(super) fn taken(free: Time, fraction: u32) -> Link {
        Link { free, fraction, burst_index: 0 }
    }

    /// When the transmitter becomes idle: whole nanoseconds, and a fraction.
    pub(super) fn free(&self) -> (Time, u32) {
        (self.free, self.fraction)
    }

    /// Packets sent before the last one since the link was idle, at most [`MAX_BURST_INDEX`].
    pub(crate) fn burst_index(&self) -> u32 {
        self.burst_index.min(MAX_BURST_INDEX)
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

    fn kind(rate: u64, delay: Span) -> ([LinkKind; 1], TxTime) {
        let kinds = [LinkKind::new(rate, delay)];
        let tx_time = TxTime::new(0, &kinds);
        (kinds, tx_time)
    }

    #[test]
    fn a_busy_link_sends_back_to_back_and_an_idle_one_at_once() {
        let (mut link, (mut kinds, mut tx_time)) = (Link::default(), kind(10_000_000, Span(5)));
        assert_eq!(link.transmit(&mut tx_time, &mut kinds, Time(100), 1000), Time(800_100));
        assert_eq!(link.transmit(&mut tx_time, &mut kinds, Time(200), 1000), Time(1_600_100));
        assert_eq!(link.burst_index(), 1);
        assert_eq!(link.transmit(&mut tx_time, &mut kinds, Time(9_000_000), 500), Time(9_400_000));
        assert_eq!((link.burst_index(), tx_time.tie_key()), (0, TieKey::of(Span(400_005))));
        assert_eq!(tx_time.arrival(Time(9_400_000)), Time(9_400_005));
    }

    /// 3 and 7 leave fractions; a prime needs all 32 bits; above 32 bits the error is 2^-32 ns a packet.
    #[test]
    fn rounding_errors_do_not_accumulate() {
        for (rate, neglected) in [(3_000_000, 0), (7_000_000_000, 0), (4_294_967_291, 0), (9_999_999_967, 1)]
        {
            let (mut link, (mut kinds, mut tx_time)) = (Link::default(), kind(rate, Span::ZERO));
            let mut bits = 0;
            for bytes in [1000, 40, 1500].into_iter().cycle().take(3000) {
                bits += u128::from(bytes) * u128::from(BYTE_NS);
                let sent = u128::from(link.transmit(&mut tx_time, &mut kinds, Time::ZERO, bytes).0);
                let exact = bits / u128::from(rate);
                assert!(sent == exact || sent + neglected == exact, "{sent}, not {exact}, at {rate} bit/s");
            }
        }
    }

    #[test]
    fn links_of_one_kind_have_separate_transmitters() {
        let ([mut one, mut other], (mut kinds, mut tx_time)) =
            ([Link::default(); 2], kind(8_000_000, Span::ZERO));
        assert_eq!(one.cross(&mut tx_time, &mut kinds, Time::ZERO, 1000), Time(1_000_000));
        assert_eq!(other.cross(&mut tx_time, &mut kinds, Time(7), 1000), Time(1_000_007));
        assert_eq!(one.cross(&mut tx_time, &mut kinds, Time::ZERO, 1000), Time(2_000_000));
    }

    /// Every host has two links, and a run may have very many hosts.
    #[test]
    fn a_link_is_small() {
        assert_eq!(size_of::<Link>(), 16);
    }
}
