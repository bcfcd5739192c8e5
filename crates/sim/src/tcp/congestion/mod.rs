//! Congestion control: how the window opens, and how much of it a loss or a mark leaves. What is lost and
//! how it is repaired is no concern of these files.
//!
//! Windows count packets and may have fractions. Slow start is the same for all: one packet more for each
//! acknowledgement, or with `byte_counting` for each packet that it acknowledges.

mod cubic;
mod dctcp;
mod reno;

pub(crate) use reno::half;

use super::options::{TcpOptions, Variant};
use cubic::Cubic;
use dctcp::Dctcp;

/// What the window is cut for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Loss,
    Mark,
    Timeout,
}

/// What an acknowledgement says about growth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Packets that it counts for.
    pub(crate) packets: u32,
    pub(crate) now: u64,
    /// Smoothed round-trip time in nanoseconds; 0 if unknown.
    pub(crate) srtt: f64,
}

/// The control of one flow.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// RFC 5681, an acknowledgement at a time; it has no state.
    Reno,
    /// RFC 5681 with RFC 3465's counting: what the present window still lacks is kept.
    Counted(reno::Counted),
    Cubic(Cubic),
    Dctcp(Dctcp),
}

/// Reno's window after an acknowledgement of something new.
#[inline]
pub(crate) fn reno(cwnd: f64, ssthresh: f64) -> f64 {
    cwnd + if cwnd < ssthresh { 1.0 } else { 1.0 / cwnd }
}

impl Control {
    pub(crate) fn new(o: &TcpOptions) -> Control {
        match o.variant {
            Variant::Cubic => Control::Cubic(Cubic::default()),
            Variant::Dctcp => Control::Dctcp(Dctcp::default()),
            Variant::Reno | Variant::Newreno | Variant::Sack if o.byte_counting => {
                Control::Counted(reno::Counted::default())
            }
            Variant::Reno | Variant::Newreno | Variant::Sack => Control::Reno,
        }
    }

    /// Whether [`reno`] and [`half`] say it all.
    pub(crate) fn is_reno(&self) -> bool {
        matches!(self, Control::Reno)
    }

    /// The window after an acknowledgement of something new.
    pub(crate) fn grow(&mut self, cwnd: f64, ssthresh: f64, progress: Progress) -> f64 {
        if self.is_reno() {
            return reno(cwnd, ssthresh);
        }
        let mut packets = f64::from(progress.packets);
        let mut cwnd = cwnd;
        if cwnd < ssthresh {
            let step = packets.min(ssthresh - cwnd);
            cwnd += step;
            packets -= step;
            if packets <= 0.0 {
                return cwnd;
            }
        }
        match self {
            Control::Reno => reno(cwnd, ssthresh),
            Control::Counted(counted) => counted.avoid(cwnd, packets),
            Control::Cubic(cubic) => cubic.avoid(cwnd, packets, progress.now, progress.srtt),
            Control::Dctcp(dctcp) => dctcp.avoid(cwnd, packets),
        }
    }

    /// The threshold after `signal`, at least two packets; `amount` is what a loss is a share of, the data
    /// in flight or the window.
    pub(crate) fn cut(&mut self, signal: Signal, cwnd: f64, amount: f64) -> f64 {
        match self {
            Control::Reno => half(amount),
            Control::Counted(counted) => counted.cut(amount),
            Control::Cubic(cubic) => cubic.cut(signal, cwnd, amount),
            Control::Dctcp(dctcp) => dctcp.cut(signal, cwnd, amount),
        }
    }

    /// What a loss or a mark leaves of `window`, not rounded.
    pub(crate) fn share(&self, window: f64) -> f64 {
        match self {
            Control::Cubic(_) => cubic::BETA * window,
            Control::Dctcp(dctcp) => dctcp.share(window),
            Control::Reno | Control::Counted(_) => window / 2.0,
        }
    }

    /// An acknowledgement of `packets`, echoing marks or not; everything below `una` is acknowledged, `nxt`
    /// is sent next. Asked before the window grows or is cut.
    pub(crate) fn acknowledged(&mut self, packets: u32, echo: bool, una: u32, nxt: u32) {
        if let Control::Dctcp(dctcp) = self {
            dctcp.acknowledged(packets, echo, una, nxt);
        }
    }

    /// The window did not limit the sender: this time does not count for growth.
    pub(crate) fn idle(&mut self) {
        if let Control::Cubic(cubic) = self {
            cubic.pause();
        }
    }
}
