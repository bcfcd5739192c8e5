//! The TCP sender: its state, and what the application does to it.
//!
//! - `ack`: processing of ACKs and of the retransmission timer
//! - `recovery`: duplicate ACKs, fast retransmit and fast recovery
//! - `cwnd`: reductions of the congestion window
//! - `transmit`: what may be sent
//! - `model`: the congestion controls that set the window themselves, and their rate samples
//! - `rack_tlp`: loss detection and recovery with RACK-TLP, which replaces most of the above
//! - `state`: state that a sender has only outside of the open state
//! - `extensions`: state that only some options need
//!
//! Windows and sequence numbers count packets; packet 0 is the SYN if there is one. The usable window is
//! floor(`cwnd`) + `inflation`. Fast recovery inflates the window for each packet that has left the network
//! (RFC 5681, section 3.2, steps 3 and 4); `inflation` holds that part, so `cwnd` itself is the window that
//! recovery will end with.

mod ack;
mod cwnd;
mod extensions;
mod model;
mod rack_tlp;
mod recovery;
mod state;
mod transmit;

use super::{
    congestion::CongestionEvent,
    options::{Halve, Marks, Scoreboard, TcpOptions},
    rto::Rto,
};
use crate::packet::Sack;
use extensions::Extensions;
use sojourn_aqm::{Random, Stream, Time};
pub(crate) use state::ColdStatePool;
use state::{ColdState, Flags, RecoveryState};

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) sequence: u32,
    pub(crate) is_retransmission: bool,
    /// The CWR flag: the window was reduced.
    pub(crate) cwr: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ack {
    /// The cumulative acknowledgement: the first packet not received.
    pub(crate) next: u32,
    /// It echoes a mark; with `accurate_ecn`, it reports more marks than the ACKs before.
    pub(crate) ece: bool,
    pub(crate) sack: Sack,
    /// As in [`crate::packet::Report`].
    pub(crate) sent: Time,
    /// As in [`crate::packet::Report`]; once the sender has read it, only the marks that are new.
    pub(crate) marks: u32,
}

impl Ack {
    /// Packets that it reports as marked, of `packets` delivered: by `accurate_ecn` the number of marks,
    /// otherwise all or none.
    fn marked(&self, packets: u32) -> u32 {
        match self.marks {
            0 if self.ece => packets,
            marks => marks,
        }
    }
}

/// An acknowledgement whose blocks are borrowed from the receiver.
#[derive(Clone, Copy)]
pub(crate) struct AckView<'a> {
    pub(crate) next: u32,
    pub(crate) ece: bool,
    pub(crate) sack: Option<&'a Sack>,
    pub(crate) sent: Time,
    pub(crate) marks: u32,
}

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sent: u64,
    pub(crate) retransmitted: u64,
    pub(crate) timeouts: u64,
    pub(crate) cuts: u64,
}

/// A TCP sender. It is kept small, because there may be very many: what few senders need is in [`ColdState`].
/// The fields that an ACK in the open state touches come last (see [`crate::flow::Flow`]).
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    retransmitted: u32,
    timeouts: u32,
    /// Reductions of the window.
    cuts: u32,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675: recovery ends when all packets below are
    /// acknowledged, and no other starts before (0: no bound).
    recover: u32,
    /// snd_max at the last reduction: until it is acknowledged, no mark or loss reduces the window again.
    cwr_end: u32,
    /// Packets by which fast recovery inflates the window.
    inflation: u32,
    cold: Option<Box<ColdState>>,
    rto: Rto,
    recovery_state: RecoveryState,
    /// The first unacknowledged packet (SND.UNA).
    una: u32,
    /// The next packet to send (SND.NXT).
    nxt: u32,
    /// Packets to send in all, as far as the application has written them; `u32::MAX`: no end.
    end: u32,
    /// ACKs in flight that arrive as events; while there are some, later ACKs must do so too, to keep the
    /// order.
    pub(crate) pending_acks: u32,
    cwnd: f64,
    ssthresh: f64,
    /// When the retransmission timer expires.
    deadline: Time,
}

impl Sender {
    /// A sender of `end` packets (`u32::MAX`: no end) with `payload` bytes each. `draw` returns the random
    /// numbers for a purpose.
    pub(crate) fn new(o: &TcpOptions, payload: u32, end: u32, draw: impl Fn(&str) -> Stream) -> Sender {
        let rto = Rto::new(o, || draw("clock").uniform());
        let extensions = Extensions::new(o, payload, draw).map(Box::new);
        Sender {
            cwnd: 1.0,
            ssthresh: f64::from(o.receiver_window),
            deadline: Time::NEVER,
            rto,
            recovery_state: if extensions.is_some() {
                RecoveryState { snd_max: 0, ..RecoveryState::OPEN }
            } else {
                RecoveryState::OPEN
            },
            inflation: 0,
            cold: extensions
                .map(|extensions| Box::new(ColdState { extensions: Some(extensions), scoreboard: None })),
            una: 0,
            nxt: 0,
            end,
            pending_acks: 0,
            recover: 0,
            cwr_end: 0,
            retransmitted: 0,
            timeouts: 0,
            cuts: 0,
        }
    }

    /// Make it a sender whose application has not written anything yet.
    pub(crate) fn waiting_for_data(mut self) -> Sender {
        self.end = 0;
        self.recovery_state().flags.insert(Flags::APP_OPEN);
        self
    }

    /// The application writes `packets` more.
    pub(crate) fn write(&mut self, packets: u32) {
        if self.is(Flags::APP_OPEN) {
            self.note_app_limit();
            self.end = self.end.saturating_add(packets);
        }
    }

    /// Send what has been written, as far as the window allows.
    pub(crate) fn resume(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        self.send_allowed(o, 0, now, out);
    }

    /// The congestion window without inflation.
    pub(crate) fn cwnd(&self) -> f64 {
        self.cwnd
    }
    pub(crate) fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    /// Smoothed round-trip time in nanoseconds; 0 before the first sample.
    pub(crate) fn srtt_ns(&self, o: &TcpOptions) -> f64 {
        self.rto.srtt_ns(o)
    }
    /// When the retransmission timer expires, if it is running.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        (self.deadline < Time::NEVER).then_some(self.deadline)
    }
    /// When the retransmission timer expires, or [`Time::NEVER`].
    #[inline(always)]
    pub(crate) fn expires(&self) -> Time {
        self.deadline
    }
    /// The counters so far.
    pub(crate) fn tally(&self) -> Tally {
        let [retransmitted, timeouts, cuts] = [self.retransmitted, self.timeouts, self.cuts].map(u64::from);
        Tally { sent: u64::from(self.snd_max()) + retransmitted, retransmitted, timeouts, cuts }
    }
    /// Whether all packets are acknowledged.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.una >= self.end
    }
    /// Packets to send in all.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Open the connection. `initial_window`: in packets.
    pub(crate) fn start(&mut self, o: &TcpOptions, initial_window: u32, now: Time, out: &mut Vec<Segment>) {
        if !o.syn {
            self.cwnd = f64::from(initial_window);
            self.open_control(o, now);
        }
        self.send_allowed(o, 0, now, out);
    }

    /// Send no new data from now on; what was sent is still retransmitted if lost.
    pub(crate) fn stop(&mut self) {
        self.end = self.end.min(self.snd_max());
        self.recovery_state.flags.remove(Flags::APP_OPEN);
        if self.is_done() {
            self.deadline = Time::NEVER;
        }
    }

    /// Stop sending at once, retransmissions included.
    pub(crate) fn abandon(&mut self) {
        self.recovery_state(); // with `end` below `nxt`, ACKs must take the slow path
        self.end = self.una;
        self.deadline = Time::NEVER;
    }
}

#[cfg(test)]
mod tests;
