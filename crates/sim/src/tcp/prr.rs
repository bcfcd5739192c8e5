//! Proportional rate reduction (RFC 6937): during recovery the sender transmits in proportion to what is
//! delivered, so that pipe reaches ssthresh by the end of recovery without a pause or a burst.
//!
//! Below ssthresh it is PRR-SSRB with the SafeACK condition of RFC 9937, as in Linux since 6.0.

/// The variables of RFC 6937, section 2, in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// FlightSize or window at the start of recovery (RecoverFS).
    recover_fs: f64,
    prr_delivered: u32,
    prr_out: u32,
}

impl Prr {
    /// Start a recovery with `recover_fs` packets in flight.
    pub(crate) fn start(&mut self, recover_fs: f64) {
        *self = Prr { recover_fs, ..Prr::default() };
    }

    /// Count a transmission.
    #[inline]
    pub(crate) fn on_send(&mut self) {
        self.prr_out = self.prr_out.saturating_add(1);
    }

    /// Whether a packet was sent in this recovery.
    pub(crate) fn has_sent(&self) -> bool {
        self.prr_out > 0
    }

    /// The window after an ACK that delivers `delivered` packets and leaves `pipe` in flight (section 3.1).
    /// `is_safe_ack`: it advances the cumulative ACK and detects no further loss (RFC 9937).
    pub(crate) fn cwnd(&mut self, pipe: u32, ssthresh: f64, delivered: u32, is_safe_ack: bool) -> f64 {
        self.prr_delivered += delivered;
        let pipe = f64::from(pipe);
        let (prr_out, prr_delivered) = (f64::from(self.prr_out), f64::from(self.prr_delivered));
        let sndcnt = if pipe > ssthresh {
            libm::ceil(prr_delivered * ssthresh / self.recover_fs.max(1.0)) - prr_out
        } else {
            let limit =
                (prr_delivered - prr_out).max(f64::from(delivered)) + f64::from(u8::from(is_safe_ack));
            limit.min(ssthresh - pipe)
        };
        // RFC 9937: the fast retransmit is sent even if sndcnt is 0.
        let least = f64::from(u8::from(self.prr_out == 0));
        pipe + sndcnt.max(least).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FlightSize 20, ssthresh 10, one packet lost, one packet delivered per ACK: every second ACK sends.
    #[test]
    fn every_second_ack_sends_while_pipe_is_above_ssthresh() {
        let mut prr = Prr::default();
        prr.start(20.0);
        let mut pipe = 16; // three arrived, one was lost
        let mut sent = Vec::new();
        for _ in 0..8 {
            let sndcnt = prr.cwnd(pipe, 10.0, 1, false) as u32 - pipe;
            for _ in 0..sndcnt {
                prr.on_send();
            }
            sent.push(sndcnt);
            pipe = pipe + sndcnt - 1;
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0]);
    }

    /// Below ssthresh it sends what was delivered, one more after a SafeACK, and never beyond ssthresh.
    #[test]
    fn below_ssthresh_packets_are_conserved_and_then_grow() {
        let mut prr = Prr::default();
        prr.start(20.0);
        assert_eq!(prr.cwnd(5, 10.0, 1, false), 6.0);
        prr.on_send();
        assert_eq!(prr.cwnd(5, 10.0, 1, false), 6.0);
        prr.on_send();
        assert_eq!(prr.cwnd(5, 10.0, 1, true), 7.0, "slow start");
        prr.on_send();
        prr.on_send();
        assert_eq!(prr.cwnd(6, 10.0, 3, false), 9.0);
        assert_eq!(prr.cwnd(9, 10.0, 3, true), 10.0, "ssthresh is the bound");
    }

    #[test]
    fn the_first_retransmission_is_sent_at_once() {
        let mut prr = Prr::default();
        prr.start(100.0);
        assert_eq!(prr.cwnd(90, 50.0, 0, false), 91.0);
        prr.on_send();
        assert_eq!(prr.cwnd(90, 50.0, 0, false), 90.0);
    }
}
