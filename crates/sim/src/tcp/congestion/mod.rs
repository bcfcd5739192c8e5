//! Congestion control: how the window grows, and what a congestion event leaves of it. Loss detection and
//! retransmission are the sender's ([`super::sender`]).
//!
//! An algorithm implements [`CongestionControl`]; [`Control`] calls that of a flow. Windows are in packets
//! and may have fractions. Slow start is the same for all: one packet per ACK (RFC 5681, section 3.1), or
//! with `byte_counting` one per packet acknowledged (RFC 3465, without its limit L); HyStart ends it earlier.

mod cubic;
mod cubic_linux;
mod dctcp;
mod hystart;
mod reno;

pub(crate) use reno::half;

use super::options::{CubicForm, HyStartForm, TcpOptions, Variant};
use cubic::Cubic;
use cubic_linux::CubicLinux;
use dctcp::Dctcp;
use hystart::HyStartPlusPlus;
use reno::{ByteCounting, Reno};
use sojourn_aqm::{Span, Time};

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

/// What an ACK reports, before the window changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckEvent {
    /// Packets that it delivers.
    pub(crate) packets: u32,
    /// It echoes a mark.
    pub(crate) ece: bool,
    /// The first unacknowledged packet after it.
    pub(crate) una: u32,
    /// The next packet to send.
    pub(crate) nxt: u32,
    pub(crate) now: Time,
    /// Round-trip time of the packet sent last among those that it delivers, if there is a sample.
    pub(crate) rtt: Option<Span>,
    pub(crate) cwnd: f64,
    /// The window is below ssthresh.
    pub(crate) is_slow_start: bool,
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

    /// Called for every ACK, before the window grows or is reduced. Returns whether slow start ends: then
    /// ssthresh becomes the window.
    fn on_ack(&mut self, _ack: &AckEvent) -> bool {
        false
    }

    /// A packet is sent. `nothing_in_flight`: all others are acknowledged.
    fn on_send(&mut self, _now: Time, _nothing_in_flight: bool) {}

    /// The retransmission timer expired, after [`CongestionControl::ssthresh`] if the window is reduced.
    fn on_timeout(&mut self, _nxt: u32, _now: Time) {}

    /// Called instead of growth when the congestion window does not limit the sender.
    fn on_app_limited(&mut self) {}
}

#[derive(Clone, Debug)]
enum Algorithm {
    Reno(Reno),
    ByteCounting(ByteCounting),
    Cubic(Cubic),
    CubicLinux(CubicLinux),
    Dctcp(Dctcp),
}

/// Call a hook of the algorithm in use.
macro_rules! dispatch {
    ($control:expr, $algorithm:ident => $call:expr) => {
        match $control {
            Algorithm::Reno($algorithm) => $call,
            Algorithm::ByteCounting($algorithm) => $call,
            Algorithm::Cubic($algorithm) => $call,
            Algorithm::CubicLinux($algorithm) => $call,
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
    fn new(o: &TcpOptions) -> Algorithm {
        match o.variant {
            Variant::Cubic => match o.cubic {
                CubicForm::Rfc9438 => Algorithm::Cubic(Cubic::default()),
                CubicForm::Linux => Algorithm::CubicLinux(CubicLinux::new(o)),
            },
            Variant::Dctcp => Algorithm::Dctcp(Dctcp::default()),
            Variant::Reno | Variant::Newreno | Variant::Sack if o.byte_counting => {
                Algorithm::ByteCounting(ByteCounting::default())
            }
            Variant::Reno | Variant::Newreno | Variant::Sack => Algorithm::Reno(Reno),
        }
    }
}

/// The congestion control of a flow: an algorithm, and HyStart++ if it is on.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    algorithm: Algorithm,
    hystart: Option<HyStartPlusPlus>,
}

impl Control {
    pub(crate) fn new(o: &TcpOptions) -> Control {
        let hystart = (o.hystart == HyStartForm::Rfc9406).then(|| HyStartPlusPlus::new(o.pacing));
        Control { algorithm: Algorithm::new(o), hystart }
    }

    /// Whether [`reno`] and [`half`] are the whole algorithm.
    pub(crate) fn is_reno(&self) -> bool {
        matches!(self.algorithm, Algorithm::Reno(_)) && self.hystart.is_none()
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
            let packets_counted = self.hystart.as_ref().map_or(packets, |hystart| hystart.increment(packets));
            let step = packets_counted.min(ssthresh - cwnd);
            cwnd += step;
            packets -= step;
            if packets <= 0.0 || cwnd < ssthresh {
                return cwnd;
            }
        }
        dispatch!(&mut self.algorithm, algorithm => algorithm.cong_avoid(cwnd, packets, now, srtt_ns))
    }

    /// See [`CongestionControl::ssthresh`].
    pub(crate) fn ssthresh(&mut self, event: CongestionEvent, cwnd: f64, base: f64) -> f64 {
        if let Some(hystart) = &mut self.hystart {
            hystart.end();
        }
        dispatch!(&mut self.algorithm, algorithm => algorithm.ssthresh(event, cwnd, base))
    }

    /// See [`CongestionControl::reduced`].
    pub(crate) fn reduced(&self, window: f64) -> f64 {
        dispatch!(&self.algorithm, algorithm => algorithm.reduced(window))
    }

    /// See [`CongestionControl::on_ack`].
    pub(crate) fn on_ack(&mut self, ack: &AckEvent) -> bool {
        let ends = self.hystart.as_mut().is_some_and(|hystart| hystart.on_ack(ack));
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_ack(ack)) || ends
    }

    /// See [`CongestionControl::on_send`].
    pub(crate) fn on_send(&mut self, now: Time, nothing_in_flight: bool) {
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_send(now, nothing_in_flight));
    }

    /// See [`CongestionControl::on_timeout`].
    pub(crate) fn on_timeout(&mut self, nxt: u32, now: Time) {
        if let Some(hystart) = &mut self.hystart {
            hystart.end();
        }
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_timeout(nxt, now));
    }

    /// See [`CongestionControl::on_app_limited`].
    pub(crate) fn on_app_limited(&mut self) {
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_app_limited());
    }
}
