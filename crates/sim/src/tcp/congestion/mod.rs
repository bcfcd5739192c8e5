//! Congestion control: how the window grows, and what a congestion event leaves of it. Loss detection and
//! retransmission are the sender's ([`super::sender`]).
//!
//! An algorithm implements [`CongestionControl`]; [`Control`] calls that of a flow. Windows are in packets
//! and may have fractions. Slow start is the same for all: one packet per ACK (RFC 5681, section 3.1), or
//! with `byte_counting` one per packet acknowledged (RFC 3465, without its limit L); HyStart ends it earlier.

mod bbr;
#[cfg(test)]
mod conformance;
mod cubic;
mod cubic_linux;
mod dctcp;
mod dctcp_linux;
mod delays;
mod hystart;
mod ledbat;
mod ledbat_plus_plus;
mod prague;
mod reno;
mod vegas;
mod westwood;

pub(crate) use reno::half;

use super::{
    options::{CubicForm, DctcpForm, HyStartForm, TcpOptions, Variant},
    rate::RateSample,
};
use bbr::Bbr;
use cubic::Cubic;
use cubic_linux::CubicLinux;
use dctcp::Dctcp;
use dctcp_linux::DctcpLinux;
use hystart::HyStartPlusPlus;
use ledbat::Ledbat;
use ledbat_plus_plus::LedbatPlusPlus;
use prague::Prague;
use reno::{ByteCounting, Reno};
use sojourn_aqm::{Span, Stream, Time};
use vegas::Vegas;
use westwood::Westwood;

/// An ACK of new data that may increase the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GrowEvent {
    pub(crate) now: Time,
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    /// Packets acknowledged.
    pub(crate) packets: f64,
    /// The first unacknowledged packet, and the next packet to send.
    pub(crate) una: u32,
    pub(crate) nxt: u32,
    /// The window limits the sender.
    pub(crate) is_limited: bool,
}

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

/// Linux's `tcp_ca_state`, in the order of severity; Disorder is not distinguished from Open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Open,
    /// The window is being reduced for a mark.
    Cwr,
    /// The window is being reduced for a loss, and lost packets are retransmitted.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// The connection is established.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenEvent {
    pub(crate) now: Time,
    pub(crate) cwnd: u32,
    /// 0: no round trip was measured.
    pub(crate) srtt_us: u64,
    pub(crate) min_rtt_us: Option<u64>,
    /// Packets delivered, the SYN included.
    pub(crate) delivered: u32,
}

/// What an ACK reports to an algorithm that sets the window itself, after the detection of losses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelEvent {
    pub(crate) now: Time,
    /// This and the delivered ones are 0 unless [`Variant::samples_rate`]. Packets delivered and lost in all,
    /// and when the last one was delivered.
    pub(crate) rate: RateSample,
    pub(crate) delivered: u32,
    pub(crate) lost: u32,
    pub(crate) delivered_at: Time,
    /// Packets in flight before this ACK and after it.
    pub(crate) prior_in_flight: u32,
    pub(crate) in_flight: u32,
    pub(crate) phase: Phase,
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: f64,
    /// The window limits the sender.
    pub(crate) is_limited: bool,
    pub(crate) srtt_us: u64,
    /// When pacing allows the next packet.
    pub(crate) next_send: Time,
}

/// What such an algorithm decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decision {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    /// The packets in flight are few on purpose: their rate samples do not show the rate of the path.
    pub(crate) is_limited: bool,
}

/// An application that had no more data sends again, with nothing in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RestartEvent {
    pub(crate) now: Time,
    pub(crate) cwnd: u32,
    pub(crate) srtt_us: u64,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimeoutEvent {
    pub(crate) now: Time,
    /// The next packet to send.
    pub(crate) nxt: u32,
    /// As in [`ModelEvent`]; 0 without rate samples.
    pub(crate) delivered: u32,
    pub(crate) lost: u32,
    pub(crate) delivered_at: Time,
}

/// What an ACK reports, before the window changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckEvent {
    /// Packets that it delivers.
    pub(crate) packets: u32,
    /// It has SACK blocks.
    pub(crate) has_sack: bool,
    /// Packets that it reports as marked: their number with `accurate_ecn`, otherwise all that it delivers or
    /// none.
    pub(crate) marked: u32,
    /// The first unacknowledged packet after it.
    pub(crate) una: u32,
    /// The next packet to send.
    pub(crate) nxt: u32,
    pub(crate) now: Time,
    /// Round-trip time of the packet sent last among those that it delivers, if there is a sample.
    pub(crate) rtt: Option<Span>,
    /// The time from that packet's transmission to the transmission of the ACK, by the receiver's timestamp
    /// ([`Variant::needs_timestamps`]).
    pub(crate) one_way: Option<Span>,
    pub(crate) cwnd: f64,
    /// The window is below ssthresh.
    pub(crate) is_slow_start: bool,
}

/// The hooks of a congestion control algorithm: what it may react to, and what it decides.
/// `docs/own-sender.md` has an example, and lists the places that name an algorithm.
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

    /// The window and ssthresh after an ACK of new data outside of reductions, slow start included; `None`:
    /// slow start and [`CongestionControl::cong_avoid`], if the window limits the sender.
    fn grow(&mut self, _growth: &GrowEvent) -> Option<(f64, f64)> {
        None
    }

    /// Linux's state changes (with `loss_detection rack`); `nxt` is the next packet to send.
    fn on_phase(&mut self, _phase: Phase, _nxt: u32) {}

    /// A reduction ends, with the window at ssthresh: another value for both.
    fn on_recovered(&mut self) -> Option<f64> {
        None
    }

    /// Called for every ACK, before the window grows or is reduced. Returns whether slow start ends: then
    /// ssthresh becomes the window.
    fn on_ack(&mut self, _ack: &AckEvent) -> bool {
        false
    }

    /// A packet is sent. `nothing_in_flight`: all others are acknowledged.
    fn on_send(&mut self, _now: Time, _nothing_in_flight: bool) {}

    /// The retransmission timer expired, after [`CongestionControl::ssthresh`] if the window is reduced.
    fn on_timeout(&mut self, _timeout: &TimeoutEvent) {}

    /// The connection is established, with its initial window.
    fn on_open(&mut self, _open: &OpenEvent) {}

    /// The window after an ACK, if the algorithm sets it itself ([`Variant::sets_window`]).
    fn on_model(&mut self, event: &ModelEvent) -> Decision {
        Decision { cwnd: f64::from(event.cwnd), ssthresh: event.ssthresh, is_limited: false }
    }

    /// The window when an application that had no more data sends again, if
    /// [`Variant::sets_window`].
    fn on_restart(&mut self, restart: &RestartEvent) -> f64 {
        f64::from(restart.cwnd)
    }

    /// The time between two packets, if the algorithm sets the pacing rate; otherwise it follows the window
    /// ([`super::pacing::interval`]).
    fn pacing_interval(&self) -> Option<Span> {
        None
    }

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
    DctcpLinux(DctcpLinux),
    Bbr(Box<Bbr>),
    Vegas(Vegas),
    Westwood(Box<Westwood>),
    Ledbat(Box<Ledbat>),
    LedbatPlusPlus(Box<LedbatPlusPlus>),
    Prague(Box<Prague>),
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
            Algorithm::DctcpLinux($algorithm) => $call,
            Algorithm::Bbr($algorithm) => $call,
            Algorithm::Vegas($algorithm) => $call,
            Algorithm::Westwood($algorithm) => $call,
            Algorithm::Ledbat($algorithm) => $call,
            Algorithm::LedbatPlusPlus($algorithm) => $call,
            Algorithm::Prague($algorithm) => $call,
        }
    };
}

/// Reno's window after an ACK of new data.
#[inline]
pub(crate) fn reno(cwnd: f64, ssthresh: f64) -> f64 {
    cwnd + if cwnd < ssthresh { 1.0 } else { 1.0 / cwnd }
}

impl Algorithm {
    fn new(o: &TcpOptions, payload: u32, draw: impl Fn(&str) -> Stream) -> Algorithm {
        match o.variant {
            Variant::Bbr => Algorithm::Bbr(Box::new(Bbr::new(o, payload, draw("bbr")))),
            Variant::Vegas => Algorithm::Vegas(Vegas::default()),
            Variant::Westwood => Algorithm::Westwood(Box::new(Westwood::new(o, payload))),
            Variant::Ledbat => Algorithm::Ledbat(Box::default()),
            Variant::LedbatPlusPlus => Algorithm::LedbatPlusPlus(Box::default()),
            Variant::Prague => Algorithm::Prague(Box::new(Prague::new(o, payload))),
            Variant::Cubic => match o.cubic {
                CubicForm::Rfc9438 => Algorithm::Cubic(Cubic::default()),
                CubicForm::Linux => Algorithm::CubicLinux(CubicLinux::new(o)),
            },
            Variant::Dctcp => match o.dctcp {
                DctcpForm::Rfc8257 => Algorithm::Dctcp(Dctcp::default()),
                DctcpForm::Linux => Algorithm::DctcpLinux(DctcpLinux::default()),
            },
            Variant::Tahoe | Variant::Reno | Variant::Newreno | Variant::Sack if o.byte_counting => {
                Algorithm::ByteCounting(ByteCounting::default())
            }
            Variant::Tahoe | Variant::Reno | Variant::Newreno | Variant::Sack => Algorithm::Reno(Reno),
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
    /// `payload`: bytes of a full packet; `draw` returns the random numbers for a purpose.
    pub(crate) fn new(o: &TcpOptions, payload: u32, draw: impl Fn(&str) -> Stream) -> Control {
        let hystart = (o.hystart == HyStartForm::Rfc9406).then(|| HyStartPlusPlus::new(o.pacing));
        Control { algorithm: Algorithm::new(o, payload, draw), hystart }
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

    /// See [`CongestionControl::grow`].
    pub(crate) fn grow_itself(&mut self, growth: &GrowEvent) -> Option<(f64, f64)> {
        dispatch!(&mut self.algorithm, algorithm => algorithm.grow(growth))
    }

    /// See [`CongestionControl::on_phase`].
    pub(crate) fn on_phase(&mut self, phase: Phase, nxt: u32) {
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_phase(phase, nxt));
    }

    /// See [`CongestionControl::on_recovered`].
    pub(crate) fn on_recovered(&mut self) -> Option<f64> {
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_recovered())
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
    pub(crate) fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        if let Some(hystart) = &mut self.hystart {
            hystart.end();
        }
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_timeout(timeout));
    }

    /// See [`CongestionControl::on_open`].
    pub(crate) fn on_open(&mut self, open: &OpenEvent) {
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_open(open));
    }

    /// See [`CongestionControl::on_model`].
    pub(crate) fn on_model(&mut self, event: &ModelEvent) -> Decision {
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_model(event))
    }

    /// See [`CongestionControl::on_restart`].
    pub(crate) fn on_restart(&mut self, restart: &RestartEvent) -> f64 {
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_restart(restart))
    }

    /// See [`CongestionControl::pacing_interval`].
    pub(crate) fn pacing_interval(&self) -> Option<Span> {
        dispatch!(&self.algorithm, algorithm => algorithm.pacing_interval())
    }

    /// See [`CongestionControl::on_app_limited`].
    pub(crate) fn on_app_limited(&mut self) {
        dispatch!(&mut self.algorithm, algorithm => algorithm.on_app_limited());
    }
}
