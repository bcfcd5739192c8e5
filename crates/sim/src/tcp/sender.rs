//! The sending end of TCP: its state. What happens to it is beside it: acknowledgements and the timer (`react`),
//! what may be sent (`send`), how holes are repaired (`repair`), what a signal costs (`reduce`); what few senders
//! do is in `special`, loss detection by time instead of counting in `timed`. [`TcpOptions`] says which rules
//! hold.
//!
//! Windows count packets. Packet 0 is the SYN where there is one. `window` = floor(`cwnd`) +
//! `inflation`, where inflation stands for packets known to have left the network during recovery, so
//! that `cwnd` itself is always the window that recovery will leave behind.

mod react;
mod reduce;
mod repair;
mod send;
mod special;
mod timed;

use super::{
    board::Board,
    congestion::Signal,
    options::{Halve, Marks, Scoreboard, TcpOptions},
    rto::Rto,
};
use crate::net::Sack;
use sojourn_aqm::{Random, Stream};
use special::Special;
use std::num::NonZero;

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) sequence: u32,
    pub(crate) is_retransmission: bool,
    /// Tell the receiver that the window was cut (CWR).
    pub(crate) cwr: bool,
}

/// An acknowledgement as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) next: u32,
    pub(crate) echo: bool,
    pub(crate) sack: Sack,
}

/// What the window was last cut for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Nothing,
    Loss,
    Mark,
    Timeout,
}

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sent: u64,
    pub(crate) retransmitted: u64,
    pub(crate) timeouts: u64,
    pub(crate) cuts: u64,
}

/// A TCP sender. There may be very many, so what only some need is made when they need it.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    cwnd: f64,
    ssthresh: f64,
    deadline: Option<NonZero<u64>>,
    rto: Rto,
    board: Option<Box<Board>>,
    /// `None`: Reno's window, losses by counting, no waits.
    special: Option<Box<Special>>,
    /// First packet not acknowledged, next one to send, one beyond the highest ever sent.
    una: u32,
    nxt: u32,
    top: u32,
    /// Number of packets to send in all, as far as is known.
    end: u32,
    inflation: u32,
    dupacks: u32,
    /// Packets sent by limited transmit since the last new acknowledgement.
    limited: u32,
    /// Recovery ends when everything below is acknowledged.
    recover: u32,
    /// Losses do not start another recovery before this is acknowledged (0: at once).
    gate: u32,
    /// Marks and losses below this do not cut the window again.
    cut_until: u32,
    /// One beyond the packet that the timer sent again last.
    timed_out: u32,
    retransmitted: u32,
    timeouts: u32,
    cuts: u32,
    last_cut: Cut,
    /// The application may write more.
    is_open: bool,
    in_recovery: bool,
    /// The window was cut and the receiver has not been told (CWR).
    cwr: bool,
    /// A mark met a window of one packet or less, and marks have gone on since (ns-2).
    marked_at_one: bool,
    seen_partial: bool,
    /// The SYN was lost: the first window is one packet.
    lost_syn: bool,
    /// Duplicates mean nothing until something new is acknowledged (Sack1 after a time-out).
    deaf: bool,
}

impl Sender {
    /// A sender of `end` packets (`u32::MAX`: endless). `draw` gives the random numbers for a purpose.
    pub(crate) fn new(o: &TcpOptions, end: u32, draw: impl Fn(&str) -> Stream) -> Sender {
        Sender {
            cwnd: 1.0,
            ssthresh: f64::from(o.receiver_window),
            deadline: None,
            rto: Rto::new(o, || draw("clock").uniform()),
            board: None,
            special: Special::new(o, draw).map(Box::new),
            una: 0,
            nxt: 0,
            top: 0,
            end,
            inflation: 0,
            dupacks: 0,
            limited: 0,
            recover: 0,
            gate: 0,
            cut_until: 0,
            timed_out: 0,
            retransmitted: 0,
            timeouts: 0,
            cuts: 0,
            last_cut: Cut::Nothing,
            is_open: false,
            in_recovery: false,
            cwr: false,
            marked_at_one: false,
            seen_partial: false,
            lost_syn: false,
            deaf: false,
        }
    }

    /// With nothing to send until the application writes.
    pub(crate) fn waiting_for_data(self) -> Sender {
        Sender { end: 0, is_open: true, ..self }
    }

    /// The application hands over so many packets more.
    pub(crate) fn write(&mut self, packets: u32) {
        if self.is_open {
            self.end = self.end.saturating_add(packets);
        }
    }

    /// Send what was written since, as far as the window allows.
    pub(crate) fn resume(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        self.send_allowed(o, 0, now, out);
    }

    /// Congestion window, inflation of recovery not counted.
    pub(crate) fn cwnd(&self) -> f64 {
        self.cwnd
    }
    pub(crate) fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    /// When the retransmission timer is due.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.deadline.map(NonZero::get)
    }
    /// What it has done so far.
    pub(crate) fn tally(&self) -> Tally {
        let [retransmitted, timeouts, cuts] = [self.retransmitted, self.timeouts, self.cuts].map(u64::from);
        Tally { sent: u64::from(self.top) + retransmitted, retransmitted, timeouts, cuts }
    }
    /// Whether everything that was to be sent is acknowledged.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.una >= self.end
    }
    /// Packets to send in all.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Open the connection. `window`: the initial window for this packet size.
    pub(crate) fn start(&mut self, o: &TcpOptions, window: u32, now: u64, out: &mut Vec<Segment>) {
        if !o.syn {
            self.cwnd = f64::from(window);
        }
        self.send_allowed(o, 0, now, out);
    }

    /// Nothing new is sent from now on; what is on its way may finish.
    pub(crate) fn stop(&mut self) {
        self.end = self.end.min(self.top);
        self.is_open = false;
        if self.is_done() {
            self.deadline = None;
        }
    }

    /// Nobody wants what it sends any more: it falls silent.
    pub(crate) fn abandon(&mut self) {
        self.end = self.una;
        self.deadline = None;
    }
}

#[cfg(test)]
mod tests;
