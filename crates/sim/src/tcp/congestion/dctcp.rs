//! DCTCP (RFC 8257): a mark reduces the window by half of the estimated share of marked packets. With ECT(1)
//! it is a scalable congestion control in the sense of L4S (RFC 9331). Growth (section 3.4) and the response
//! to loss (section 3.5) are Reno's.

use super::{AckEvent, CongestionControl, CongestionEvent, reno::ByteCounting};
use sojourn_aqm::Time;

/// The RFC's g: weight of the latest window in DCTCP.Alpha.
const G: f64 = 1.0 / 16.0;

/// The variables of RFC 8257, section 3.3, in packets instead of bytes.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    /// Estimated share of marked packets.
    alpha: f64,
    /// Packets acknowledged in this observation window...
    acked: f64,
    /// ... and those among them that were marked.
    marked: f64,
    /// The observation window ends when this packet is acknowledged.
    window_end: u32,
    growth: ByteCounting,
}

impl Default for Dctcp {
    /// Section 3.3 starts Alpha at 1: the first mark halves the window.
    fn default() -> Dctcp {
        Dctcp { alpha: 1.0, acked: 0.0, marked: 0.0, window_end: 0, growth: ByteCounting::default() }
    }
}

impl CongestionControl for Dctcp {
    /// Section 3.3: Alpha is updated once per window of data.
    fn on_ack(&mut self, ack: &AckEvent) -> bool {
        self.acked += f64::from(ack.packets);
        self.marked += f64::from(ack.marked);
        if ack.una > self.window_end && self.acked > 0.0 {
            self.alpha = (1.0 - G) * self.alpha + G * self.marked / self.acked;
            (self.acked, self.marked) = (0.0, 0.0);
            self.window_end = ack.nxt;
        }
        false
    }

    fn cong_avoid(&mut self, cwnd: f64, packets: f64, now: Time, srtt_ns: f64) -> f64 {
        self.growth.cong_avoid(cwnd, packets, now, srtt_ns)
    }

    /// A mark costs Alpha / 2 of the window (section 3.3), a loss half of it (section 3.5).
    fn ssthresh(&mut self, event: CongestionEvent, cwnd: f64, base: f64) -> f64 {
        match event {
            CongestionEvent::Mark => self.reduced(cwnd).max(2.0),
            CongestionEvent::Loss | CongestionEvent::Timeout => self.growth.ssthresh(event, cwnd, base),
        }
    }

    fn reduced(&self, window: f64) -> f64 {
        window * (1.0 - self.alpha / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(packets: u32, ece: bool, una: u32, nxt: u32) -> AckEvent {
        AckEvent { packets, marked: if ece { packets } else { 0 }, una, nxt, ..AckEvent::default() }
    }

    /// By hand: alpha 1, then windows of ten packets with 0, 5 and 10 marked.
    #[test]
    fn alpha_is_a_moving_average_of_the_share_of_marks() {
        let mut dctcp = Dctcp::default();
        dctcp.on_ack(&ack(1, true, 1, 10)); // ends the first window, which is empty: 15/16 + 1/16
        assert_eq!(dctcp.alpha, 1.0);
        let mut una = 1;
        let mut alphas = Vec::new();
        for marked in [0, 5, 10] {
            for i in 0..5 {
                una += 2;
                dctcp.on_ack(&ack(2, 2 * i < marked, una, una + 9));
            }
            alphas.push(dctcp.alpha);
        }
        // 0.9375; 15/16 of it + 6/10 of 1/16 (acknowledgements of two: 0, 2, 4); 15/16 of that + 1/16.
        for (alpha, expected) in alphas.into_iter().zip([0.9375, 0.916_406_25, 0.921_630_859_375]) {
            assert!((alpha - expected).abs() < 1e-12, "{alpha} {expected}");
        }
    }

    #[test]
    fn a_mark_costs_half_of_alpha_and_a_loss_half() {
        let mut dctcp = Dctcp { alpha: 0.25, ..Dctcp::default() };
        assert_eq!(dctcp.ssthresh(CongestionEvent::Mark, 20.0, 19.0), 17.5);
        assert_eq!(dctcp.ssthresh(CongestionEvent::Loss, 20.0, 19.0), 9.0);
        assert_eq!(dctcp.ssthresh(CongestionEvent::Mark, 2.0, 2.0), 2.0);
        assert_eq!(
            Dctcp::default().ssthresh(CongestionEvent::Mark, 20.0, 19.0),
            10.0,
            "the first mark halves"
        );
    }

    #[test]
    fn an_observation_window_ends_when_its_data_are_acknowledged() {
        let mut dctcp = Dctcp { alpha: 0.0, window_end: 10, ..Dctcp::default() };
        dctcp.on_ack(&ack(10, true, 10, 30));
        assert_eq!(dctcp.alpha, 0.0);
        dctcp.on_ack(&ack(1, true, 11, 31));
        assert_eq!((dctcp.alpha, dctcp.window_end), (0.0625, 31));
    }
}
