//! The sending end of TCP: its state. What happens to it is beside it: acknowledgements and the timer (`ack`),
//! what may be sent (`transmit`), how holes are repaired (`recovery`), what a signal costs (`cwnd`). What is needed only
//! then is in `state`; what few senders do is in `extensions`, loss detection by time instead of counting in `rack_tlp`.
//! [`TcpOptions`] says which rules hold.
//!
//! Windows count packets. Packet 0 is the SYN where there is one. `window` = floor(`cwnd`) +
//! `inflation`, where inflation stands for packets known to have left the network during recovery, so
//! that `cwnd` itself is always the window that recovery will leave behind.

mod ack;
mod cwnd;
mod extensions;
mod rack_tlp;
mod recovery;
mod state;
mod transmit;

use super::{
    congestion::Signal,
    options::{Halve, Marks, Scoreboard, TcpOptions},
    rto::Rto,
};
use crate::packet::Sack;
use extensions::Extensions;
use sojourn_aqm::{Random, Stream};
pub(crate) use state::ColdStatePool;
use state::{ColdState, Flags, RecoveryState};

/// No timer runs.
pub(crate) const NEVER: u64 = u64::MAX;

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

/// The same, with its blocks where they are.
#[derive(Clone, Copy)]
pub(crate) struct AckView<'a> {
    pub(crate) next: u32,
    pub(crate) echo: bool,
    pub(crate) sack: Option<&'a Sack>,
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

/// A TCP sender. There may be very many: what only few need is set aside, and what a plain acknowledgement touches comes
/// last (see [`crate::flow::Flow`]).
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    retransmitted: u32,
    timeouts: u32,
    cuts: u32,
    /// Recovery ends when everything below is acknowledged, and losses do not start another before (0: at once).
    recover: u32,
    /// Marks and losses below this do not cut the window again.
    cwr_end: u32,
    inflation: u32,
    cold: Option<Box<ColdState>>,
    rto: Rto,
    recovery_state: RecoveryState,
    /// First packet not acknowledged, and next one to send.
    una: u32,
    nxt: u32,
    /// Number of packets to send in all, as far as is known.
    end: u32,
    /// Acknowledgements that come in their own time, though others need not.
    pub(crate) pending_acks: u32,
    cwnd: f64,
    ssthresh: f64,
    deadline: u64,
}

impl Sender {
    /// A sender of `end` packets (`u32::MAX`: endless). `draw` gives the random numbers for a purpose.
    pub(crate) fn new(o: &TcpOptions, end: u32, draw: impl Fn(&str) -> Stream) -> Sender {
        let rto = Rto::new(o, || draw("clock").uniform());
        let extensions = Extensions::new(o, draw).map(Box::new);
        Sender {
            cwnd: 1.0,
            ssthresh: f64::from(o.receiver_window),
            deadline: NEVER,
            rto,
            recovery_state: if extensions.is_some() {
                RecoveryState { snd_max: 0, ..RecoveryState::NONE }
            } else {
                RecoveryState::NONE
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

    /// With nothing to send until the application writes.
    pub(crate) fn waiting_for_data(mut self) -> Sender {
        self.end = 0;
        self.recovery_state().flags.insert(Flags::APP_OPEN);
        self
    }

    /// The application hands over so many packets more.
    pub(crate) fn write(&mut self, packets: u32) {
        if self.is(Flags::APP_OPEN) {
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
        (self.deadline < NEVER).then_some(self.deadline)
    }
    /// The same, or [`NEVER`].
    #[inline(always)]
    pub(crate) fn expires(&self) -> u64 {
        self.deadline
    }
    /// What it has done so far.
    pub(crate) fn tally(&self) -> Tally {
        let [retransmitted, timeouts, cuts] = [self.retransmitted, self.timeouts, self.cuts].map(u64::from);
        Tally { sent: u64::from(self.snd_max()) + retransmitted, retransmitted, timeouts, cuts }
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
        self.end = self.end.min(self.snd_max());
        self.recovery_state.flags.remove(Flags::APP_OPEN);
        if self.is_done() {
            self.deadline = NEVER;
        }
    }

    /// Nobody wants what it sends any more: it falls silent.
    pub(crate) fn abandon(&mut self) {
        self.recovery_state(); // it is out of the ordinary that more was sent than is to be
        self.end = self.una;
        self.deadline = NEVER;
    }
}

#[cfg(test)]
mod tests;
