//! Proportional rate reduction (RFC 6937, with the growth of RFC 9937 as Linux has it since 6.0): in recovery a
//! sender lets go a share of what the receiver gets, so that by its end the flight is `ssthresh`, instead of
//! falling silent for half a round trip or bursting at once.

/// Counters of one recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// The flight or window when it began (RecoverFS).
    prior: f64,
    /// Packets that the receiver got since, and packets sent since.
    delivered: u32,
    out: u32,
}

impl Prr {
    /// Recovery begins with `prior` packets in flight.
    pub(crate) fn start(&mut self, prior: f64) {
        *self = Prr { prior, ..Prr::default() };
    }

    /// A packet leaves.
    #[inline]
    pub(crate) fn sent(&mut self) {
        self.out = self.out.saturating_add(1);
    }

    /// Whether nothing was sent since it began.
    pub(crate) fn is_silent(&self) -> bool {
        self.out == 0
    }

    /// The window after an acknowledgement that says that `delivered` packets more have arrived while `pipe`
    /// are still out; `is_safe`: it acknowledges something new and shows no new loss.
    pub(crate) fn window(&mut self, pipe: u32, ssthresh: f64, delivered: u32, is_safe: bool) -> f64 {
        self.delivered += delivered;
        let pipe = f64::from(pipe);
        let (out, all) = (f64::from(self.out), f64::from(self.delivered));
        let budget = if pipe > ssthresh {
            libm::ceil(all * ssthresh / self.prior.max(1.0)) - out
        } else {
            let bound = (all - out).max(f64::from(delivered)) + f64::from(u8::from(is_safe));
            bound.min(ssthresh - pipe)
        };
        // The first retransmission goes whatever the sums say.
        let least = f64::from(u8::from(self.out == 0));
        pipe + budget.max(least).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flight of 20, ssthresh 10, one packet lost, each acknowledgement delivers one: every other one sends.
    #[test]
    fn every_second_acknowledgement_sends_while_the_flight_is_too_large() {
        let mut prr = Prr::default();
        prr.start(20.0);
        let mut pipe = 16; // three arrived, one was lost
        let mut sent = Vec::new();
        for _ in 0..8 {
            let budget = prr.window(pipe, 10.0, 1, false) as u32 - pipe;
            for _ in 0..budget {
                prr.sent();
            }
            sent.push(budget);
            pipe = pipe + budget - 1;
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0]);
    }

    /// Half of the flight was lost: below ssthresh it sends what was delivered, one more where that is safe,
    /// and never beyond ssthresh.
    #[test]
    fn below_ssthresh_packets_are_conserved_and_then_grow() {
        let mut prr = Prr::default();
        prr.start(20.0);
        assert_eq!(prr.window(5, 10.0, 1, false), 6.0);
        prr.sent();
        assert_eq!(prr.window(5, 10.0, 1, false), 6.0);
        prr.sent();
        assert_eq!(prr.window(5, 10.0, 1, true), 7.0, "slow start");
        prr.sent();
        prr.sent();
        assert_eq!(prr.window(6, 10.0, 3, false), 9.0);
        assert_eq!(prr.window(9, 10.0, 3, true), 10.0, "ssthresh is the bound");
    }

    #[test]
    fn the_first_retransmission_goes_at_once() {
        let mut prr = Prr::default();
        prr.start(100.0);
        assert_eq!(prr.window(90, 50.0, 0, false), 91.0);
        prr.sent();
        assert_eq!(prr.window(90, 50.0, 0, false), 90.0);
    }
}
