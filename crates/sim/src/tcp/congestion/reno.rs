//! Half for a loss, one packet more a round trip (RFC 5681).

/// Half of `amount` in whole packets, at least two.
pub(crate) fn half(amount: f64) -> f64 {
    f64::from(((amount / 2.0) as u32).max(2))
}

/// Growth by acknowledged packets (RFC 3465, without its bound on slow start, as Linux): a packet more
/// once a whole window has been acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// Packets acknowledged since the window grew last.
    count: f64,
}

impl Counted {
    pub(super) fn avoid(&mut self, cwnd: f64, packets: f64) -> f64 {
        let whole = libm::floor(cwnd).max(1.0);
        let mut cwnd = cwnd;
        if self.count >= whole {
            self.count = 0.0;
            cwnd += 1.0;
        }
        self.count += packets;
        if self.count >= whole {
            let more = libm::floor(self.count / whole);
            self.count -= more * whole;
            cwnd += more;
        }
        cwnd
    }

    pub(super) fn cut(&mut self, amount: f64) -> f64 {
        self.count = 0.0;
        half(amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_by_one_packet_a_window_acknowledged() {
        let mut counted = Counted::default();
        let mut windows = Vec::new();
        let mut cwnd = 4.0;
        for _ in 0..6 {
            cwnd = counted.avoid(cwnd, 2.0);
            windows.push(cwnd);
        }
        // 2, 4: one more; 2, 4, 6: five and one to spare; 3.
        assert_eq!(windows, [4.0, 5.0, 5.0, 5.0, 6.0, 6.0]);
        assert_eq!(counted.avoid(6.0, 15.0), 9.0, "18 are three windows");
        assert_eq!((counted.cut(9.0), half(1.0)), (4.0, 2.0));
    }
}
