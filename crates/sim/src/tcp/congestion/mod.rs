//! Congestion control: how the window grows, and what a congestion event leaves of it. Loss detection and
//! retransmission are the sender's ([`super::sender`]).
//!
//! An algorithm implements [`CongestionControl`]; [`Algorithm`] dispatches to that of a flow. Windows are in
//! packets and may have fractions. Slow start is the same for all: one packet per ACK (RFC 5681, section
//! 3.1), or with `byte_counting` one per packet acknowledged (RFC 3465, without its limit L).

mod cubic;
mod dctcp;
mod reno;

pub(crate) use reno::half;

use super::options::{TcpOptions, Variant};
use cubic::Cubic;
use dctcp::Dctcp;
use reno::{ByteCounting, Reno};
use sojourn_aqm::Time;

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CongestionEvent {
    /// Loss detected by ACKs.
    Loss,
    /// An ECN echo.
    Mark,
    /// The retransmission timer expired.
    Timeout,
}

/// The hooks of a congestion control algorithm.
trait CongestionControl {
    /// The window after an ACK in congestion avoidance. `packets`: those acknowledged, less what slow start
    /// used; `srtt_ns`: smoothed round-trip time, 0 if there is no sample yet.
    fn cong_avoid(&mut self, cwnd: f64, packets: f64, now: Time, srtt_ns: f64) -> f64;

    /// ssthresh after `event`, at least two packets. `base`: what a loss takes a share of, FlightSize or the
    /// window ([`super::options::Halve`]).
    fn ssthresh(&mut self, event: CongestionEvent, cwnd: f64, base: f64) -> f64;

    /// What a loss or a mark leaves of `window`, not rounded.
    fn reduced(&self, window: f64) -> f64 {
        window / 2.0
    }

    /// Called for every ACK, before the window grows or is reduced. `ece`: the ACK echoes a mark.
    fn on_ack(&mut self, _packets: u32, _ece: bool, _una: u32, _nxt: u32) {}

    /// Called instead of growth when the congestion window does not limit the sender.
    fn on_app_limited(&mut self) {}
}

/// The congestion control of a flow.
#[derive(Clone, Debug)]
pub(crate) enum Algorithm {
    Reno(Reno),
    ByteCounting(ByteCounting),
    Cubic(Cubic),
    Dctcp(Dctcp),
}

/// Call a hook of the algorithm in use.
macro_rules! dispatch {
    ($control:expr, $algorithm:ident => $call:expr) => {
        match $control {
            Algorithm::Reno($algorithm) => $call,
            Algorithm::ByteCounting($algorithm) => $call,
            Algorithm::Cubic($algorithm) => $call,
            Algorithm::Dctcp($algorithm) => $call,
        }
    };
}

/// Reno's window after an ACK of new data.
#[inline]
pub(crate) fn reno(cwnd: f64, ssthresh: f64) -> f64 {
    cwnd + if cwnd < ssthresh { 1.0 } else { 1.0 / cwnd }
}

impl Algorithm {
    pub(crate) fn new(o: &TcpOptions) -> Algorithm {
        match o.variant {
            Variant::Cubic => Algorithm::Cubic(Cubic::default()),
            Variant::Dctcp => Algorithm::Dctcp(Dctcp::default()),
            Variant::Reno | Variant::Newreno | Variant::Sack if o.byte_counting => {
                Algorithm::ByteCounting(ByteCounting::default())
            }
            Variant::Reno | Variant::Newreno | Variant::Sack => Algorithm::Reno(Reno),
        }
    }

    /// Whether [`reno`] and [`half`] are the whole algorithm.
    pub(crate) fn is_reno(&self) -> bool {
        matches!(self, Algorithm::Reno(_))
    }

    /// The window after an ACK of `packets` of new data: slow start up to `ssthresh`, then congestion
    /// avoidance.
    pub(crate) fn grow(&mut self, cwnd: f64, ssthresh: f64, packets: u32, now: Time, srtt_ns: f64) -> f64 {
        if self.is_reno() {
            return reno(cwnd, ssthresh);
        }
        let mut packets = f64::from(packets);
        let mut cwnd = cwnd;
        if cwnd < ssthresh {
            let step = packets.min(ssthresh - cwnd);
            cwnd += step;
            packets -= step;
            if packets <= 0.0 {
                return cwnd;
            }
        }
        dispatch!(self, algorithm => algorithm.cong_avoid(cwnd, packets, now, srtt_ns))
    }

    /// See [`CongestionControl::ssthresh`].
    pub(crate) fn ssthresh(&mut self, event: CongestionEvent, cwnd: f64, base: f64) -> f64 {
        dispatch!(self, algorithm => algorithm.ssthresh(event, cwnd, base))
    }

    /// See [`CongestionControl::reduced`].
    pub(crate) fn reduced(&self, window: f64) -> f64 {
        dispatch!(self, algorithm => algorithm.reduced(window))
    }

    /// See [`CongestionControl::on_ack`].
    pub(crate) fn on_ack(&mut self, packets: u32, ece: bool, una: u32, nxt: u32) {
        dispatch!(self, algorithm => algorithm.on_ack(packets, ece, una, nxt));
    }

    /// See [`CongestionControl::on_app_limited`].
    pub(crate) fn on_app_limited(&mut self) {
        dispatch!(self, algorithm => algorithm.on_app_limited());
    }
}
