//! A one-way link: a transmitter and a wire.
//!
//! A link without a finite queue never loses a packet, so its queue need not be simulated: a packet
//! leaves at max(arrival, previous departure) + size / rate (the Lindley recursion), exactly. A link with
//! a [`super::Port`] is served by that port instead and only adds its delay.

use super::Capacity;

/// A link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Rate in bit/s.
    rate: u64,
    /// Propagation delay.
    delay: u64,
    /// When the transmitter has sent everything it was given...
    free: u64,
    /// ...and the fraction of a nanosecond beyond that, in 1/rate: rounding errors do not add up.
    fraction: u64,
    /// Whole nanoseconds and fraction for the size seen last.
    last: (u32, u64, u64),
    /// What it can carry instead of `rate`, where that changes.
    capacity: Option<Box<Capacity>>,
    /// Packets sent before the one transmitted last since the link was idle.
    place: u64,
    /// The finite queue in front of it, if any.
    pub(crate) port: Option<u32>,
}

impl Link {
    pub(crate) fn new(rate: u64, delay: u64) -> Link {
        Link { rate, delay, free: 0, fraction: 0, last: (0, 0, 0), capacity: None, place: 0, port: None }
    }

    /// Let its rate change with time.
    pub(crate) fn vary(&mut self, capacity: Capacity) {
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

    /// Hand over `bytes` at time `at`; returns when the transmitter is done with them.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, at: u64, bytes: u32) -> u64 {
        if self.last.0 != bytes {
            if self.capacity.is_some() {
                return self.transmit_varying(at, bytes); // and the size seen last stays 0
            }
            self.look_at_size(bytes);
        }
        let (_, lasts, beyond) = self.last;
        if at > self.free {
            (self.free, self.fraction, self.place) = (at + lasts, beyond, 0);
            return self.free;
        }
        self.place += 1;
        self.free += lasts;
        if beyond > 0 {
            self.fraction += beyond;
            if self.fraction >= self.rate {
                self.fraction -= self.rate;
                self.free += 1;
            }
        }
        self.free
    }

    /// As [`Link::transmit`], but returns when they reach the other end.
    #[inline(always)]
    pub(crate) fn cross(&mut self, at: u64, bytes: u32) -> u64 {
        self.transmit(at, bytes) + self.delay
    }

    #[inline(never)]
    fn look_at_size(&mut self, bytes: u32) {
        let bits = u64::from(bytes) * 8_000_000_000;
        self.last = (bytes, bits / self.rate, bits % self.rate);
    }

    #[cold]
    fn transmit_varying(&mut self, at: u64, bytes: u32) -> u64 {
        let Some(capacity) = &mut self.capacity else { return at };
        let follows = at <= self.free;
        let start = at.max(self.free);
        self.place = if follows { self.place + 1 } else { 0 };
        self.free = capacity.send(start, bytes, follows);
        self.last.1 = self.free - start;
        self.free
    }

    /// How long the arrival of the packet transmitted last was certain: since its transmission began.
    pub(crate) fn age(&self) -> u64 {
        self.last.1 + self.delay
    }

    /// How many packets went before the one transmitted last since the link was idle.
    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    /// When a packet whose transmission ended at `sent` reaches the other end.
    pub(crate) fn arrival(&self, sent: u64) -> u64 {
        sent + self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::Link;

    #[test]
    fn a_busy_link_sends_back_to_back_and_an_idle_one_at_once() {
        let mut link = Link::new(10_000_000, 5);
        assert_eq!(link.transmit(100, 1000), 800_100);
        assert_eq!(link.transmit(200, 1000), 1_600_100);
        assert_eq!(link.transmit(9_000_000, 500), 9_400_000);
        assert_eq!(link.arrival(9_400_000), 9_400_005);
    }

    #[test]
    fn rounding_errors_do_not_add_up() {
        let mut link = Link::new(3_000_000, 0);
        let mut sent = 0;
        for _ in 0..3000 {
            sent = link.transmit(0, 1000); // 2,666,666.67 ns each
        }
        assert_eq!(sent, 8_000_000_000);
    }
}
