//! The sending end of TCP: its state, and what an acknowledgement and the timer do to it. The parts are
//! beside it: what may be sent (`send`), how holes are repaired (`repair`), what a signal costs (`reduce`), and
//! loss detection by time instead of counting (`timed`). How windows grow is [`Control`]'s affair;
//! [`TcpOptions`] says which rules hold.
//!
//! Windows count packets. Packet 0 is the SYN where there is one. `window` = floor(`cwnd`) +
//! `inflation`, where inflation stands for packets known to have left the network during recovery, so
//! that `cwnd` itself is always the window that recovery will leave behind.

mod reduce;
mod repair;
mod send;
mod timed;

use super::{
    board::Board,
    congestion::{Control, Progress, Signal},
    options::{Exit, Halve, LossDetection, Marks, Recovery, Repair, Scoreboard, TcpOptions},
    prr::Prr,
    rto::Rto,
};
use crate::net::Sack;
use sojourn_aqm::{Random, Stream};
use timed::Timed;

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

/// A TCP sender.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// First packet not acknowledged, next one to send, one beyond the highest ever sent.
    una: u32,
    nxt: u32,
    top: u32,
    /// Number of packets to send in all, as far as is known.
    end: u32,
    /// The application may write more.
    is_open: bool,
    cwnd: f64,
    ssthresh: f64,
    control: Control,
    inflation: u32,
    dupacks: u32,
    /// Packets sent by limited transmit since the last new acknowledgement.
    limited: u32,
    in_recovery: bool,
    /// Recovery ends when this packet is acknowledged.
    recover: i64,
    /// Losses up to here do not start another recovery.
    gate: i64,
    /// Marks and losses up to here do not cut the window again.
    cut_until: i64,
    last_cut: Cut,
    /// The window was cut and the receiver has not been told (CWR).
    cwr: bool,
    /// A mark met a window of one packet or less, and marks have gone on since (ns-2).
    marked_at_one: bool,
    seen_partial: bool,
    /// RescueRxt: once more than this is acknowledged, the last packet may be sent again (RFC 6675).
    rescue: u32,
    /// The packet that the timer sent again last.
    timed_out: Option<u32>,
    /// The SYN was lost: the first window is one packet.
    lost_syn: bool,
    /// Duplicates mean nothing until something new is acknowledged (Sack1 after a time-out).
    deaf: bool,
    board: Board,
    /// Packets on their way, as Sack1 counts them.
    pipe: i64,
    /// How the window is brought down in recovery (`recovery prr`), and what this acknowledgement delivered.
    prr: Prr,
    delivered: u32,
    /// State of loss detection by time (`loss_detection rack`).
    timed: Option<Box<Timed>>,
    rto: Rto,
    deadline: Option<u64>,
    /// Reno's window, losses by counting, no waits: see [`Sender::on_plain`].
    is_simple: bool,
    /// Until when nothing is sent (`overhead`), whether that is news, how long the waits are.
    held: Option<u64>,
    is_hold_new: bool,
    holds: Stream,
    /// The wait is over.
    is_released: bool,
    pub(crate) tally: Tally,
}

impl Sender {
    /// A sender of `end` packets (`u32::MAX`: endless). `phase`: see [`Rto::new`].
    pub(crate) fn new(o: &TcpOptions, end: u32, phase: f64) -> Sender {
        Sender {
            una: 0,
            nxt: 0,
            top: 0,
            end,
            is_open: false,
            cwnd: 1.0,
            ssthresh: f64::from(o.receiver_window),
            control: Control::new(o),
            inflation: 0,
            dupacks: 0,
            limited: 0,
            in_recovery: false,
            recover: -1,
            gate: -2,
            cut_until: -1,
            last_cut: Cut::Nothing,
            cwr: false,
            marked_at_one: false,
            seen_partial: false,
            rescue: 0,
            timed_out: None,
            lost_syn: false,
            deaf: false,
            board: Board::default(),
            pipe: 0,
            prr: Prr::default(),
            delivered: 0,
            timed: (o.loss_detection == LossDetection::Rack).then(Box::default),
            rto: Rto::new(o, phase),
            deadline: None,
            is_simple: matches!(Control::new(o), Control::Reno)
                && o.loss_detection == LossDetection::Dupack
                && o.recovery == Recovery::Window
                && o.overhead == 0,
            held: None,
            is_hold_new: false,
            holds: Stream::new(0, ""),
            is_released: false,
            tally: Tally::default(),
        }
    }

    /// Take the lengths of waits (`overhead`) from `holds`.
    pub(crate) fn with_holds(self, holds: Stream) -> Sender {
        Sender { holds, ..self }
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
        self.deadline
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

    /// When to call [`Sender::release`], if that was not told yet.
    #[inline]
    pub(crate) fn take_hold(&mut self) -> Option<u64> {
        core::mem::take(&mut self.is_hold_new).then_some(self.held).flatten()
    }

    /// The wait is over: send all that is allowed by now.
    pub(crate) fn release(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        self.held = None;
        self.is_released = true;
        self.send_allowed(o, 0, now, out);
        self.is_released = false;
    }

    /// Whether what the window allows must wait; begins the wait. Fast retransmissions, repairs by partial
    /// acknowledgements and limited transmit do not ask, as in ns-2.
    fn holds_back(&mut self, o: &TcpOptions, now: u64) -> bool {
        if o.overhead == 0 || self.is_released {
            return false;
        }
        if self.held.is_none() {
            self.held = Some(now + (self.holds.uniform() * o.overhead as f64) as u64);
            self.is_hold_new = true;
        }
        true
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

    /// An acknowledgement arrives.
    #[inline(always)]
    pub(crate) fn on_ack(
        &mut self,
        o: &TcpOptions,
        window: impl FnOnce() -> u32,
        ack: Ack,
        now: u64,
        out: &mut Vec<Segment>,
    ) {
        let is_new = ack.next > self.una && self.una > 0 && self.una < self.end;
        let is_plain = is_new && self.is_simple && !self.in_recovery && self.board.is_empty();
        if is_plain && !(ack.echo && o.ecn) && ack.sack[0].1 == 0 {
            self.on_plain(o, ack.next, now, out);
        } else {
            self.on_any_ack(o, window(), ack, now, out);
        }
    }

    /// What nearly every acknowledgement is: of something new, while nothing is missing and nothing marked. The
    /// same as [`Sender::on_any_ack`], without asking for what does not happen.
    #[inline(always)]
    fn on_plain(&mut self, o: &TcpOptions, next: u32, now: u64, out: &mut Vec<Segment>) {
        self.una = next;
        self.nxt = self.nxt.max(next);
        self.board.advance(next);
        self.deaf = false;
        self.marked_at_one = false;
        self.rto.acknowledged(next, now, false);
        (self.inflation, self.dupacks, self.limited) = (0, 0, 0);
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        self.restart_timer(o, now);
        let limit = next.saturating_add((self.cwnd as u32).min(o.receiver_window)).min(self.end);
        while self.nxt < limit {
            self.emit(o, self.nxt, now, out);
            self.nxt += 1;
        }
    }

    #[inline(never)]
    fn on_any_ack(&mut self, o: &TcpOptions, window: u32, ack: Ack, now: u64, out: &mut Vec<Segment>) {
        if ack.next < self.una || self.is_done() {
            return; // old, overtaken by a later one
        }
        // ns-2's answer to a SYN looks like an echo; it is heard only where the SYN had to be repeated.
        let negotiates = o.marks == Marks::Ns2 && self.una == 0 && self.lost_syn;
        let ack = Ack { echo: o.ecn && (ack.echo || negotiates), ..ack };
        if self.timed.is_some() {
            return self.on_ack_timed(o, window, ack, now, out);
        }
        self.control.acknowledged(ack.next - self.una, ack.echo, ack.next, self.nxt);
        if ack.echo {
            self.on_echo(o, ack.next);
        }
        let in_order = ack.next > self.una && !self.in_recovery;
        let sacked = self.board.sacked();
        let news = match o.repair() {
            Repair::Sack if in_order && o.scoreboard == Scoreboard::Sack1 => {
                self.board.clear();
                true
            }
            Repair::Sack => !self.deaf && self.board.report(&ack.sack),
            _ => true,
        };
        if o.recovery == Recovery::Prr {
            let below = self.board.sacked_below(ack.next);
            self.delivered = (ack.next - self.una + self.board.sacked()).saturating_sub(sacked + below);
        }
        if ack.next > self.una {
            self.on_new(o, window, ack, now, out);
        } else if self.top > self.una && !self.deaf {
            self.on_duplicate(o, news, now, out);
        }
    }

    /// The retransmission timer is due.
    pub(crate) fn on_timeout(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        if self.timed.is_some() {
            return self.on_timeout_timed(o, now, out);
        }
        let nothing_lost = self.una == self.top; // the window was below one packet: only waiting was left
        self.cwnd = self.cwnd.max(1.0);
        self.inflation = 0;
        if !nothing_lost {
            // RFC 5681: ssthresh is held while the same packet times out again; RFC 3168: a window that
            // was cut for a mark is not cut again.
            let again = o.halve == Halve::Flight && self.timed_out == Some(self.una);
            let already_cut = self.last_cut == Cut::Mark
                && (o.marks == Marks::Ns2 || i64::from(self.una) <= self.cut_until);
            self.tally.timeouts += u64::from(!already_cut || o.marks == Marks::Rfc3168);
            self.timed_out = Some(self.una);
            if !already_cut && !again {
                self.cut_ssthresh(o, Signal::Timeout);
                self.tally.cuts += 1;
            }
            self.lost_syn |= o.syn && self.una == 0;
            self.rto.forget();
            self.rto.back_off();
        }
        self.cwnd = 1.0;
        self.cwr = true;
        self.nxt = self.una;
        self.dupacks = 0;
        self.limited = 0;
        self.in_recovery = false;
        self.note_cut(Cut::Timeout);
        self.gate = self.cut_until;
        self.board.clear();
        self.deaf = o.sack && o.scoreboard == Scoreboard::Sack1;
        self.restart_timer(o, now);
        self.send(o, 0, now, out);
    }

    fn on_new(&mut self, o: &TcpOptions, window: u32, ack: Ack, now: u64, out: &mut Vec<Segment>) {
        let acked = ack.next - self.una;
        let was_syn = o.syn && self.una == 0;
        self.una = ack.next;
        self.nxt = self.nxt.max(self.una);
        self.board.advance(self.una);
        self.deaf = false;
        let mut burst = 0;
        let is_partial = i64::from(self.una) <= self.recover && o.repair() != Repair::OneHole;
        if self.in_recovery && is_partial {
            self.on_partial(o, acked, now, out);
            burst = if o.repair() == Repair::Partial { o.recovery_burst } else { 0 };
        } else {
            self.marked_at_one &= ack.echo;
            self.rto.acknowledged(self.una, now, self.marked_at_one);
            let ends_recovery = self.in_recovery;
            if ends_recovery {
                self.leave_recovery(o);
            }
            let grows = !ends_recovery || o.recovery_exit == Exit::Grow && !o.sack;
            self.inflation = 0;
            self.dupacks = 0;
            self.limited = 0;
            if was_syn && self.lost_syn {
                self.cwnd = 1.0;
                self.rto.after_lost_syn();
            } else if was_syn {
                self.cwnd = f64::from(window);
            } else if grows && !ack.echo {
                self.grow(o, acked, now);
            }
            self.restart_timer(o, now);
        }
        if self.is_done() {
            return self.restart_timer(o, now);
        }
        self.send_allowed(o, burst, now, out);
    }

    /// Something new was acknowledged, and nothing speaks against a larger window.
    #[inline]
    fn grow(&mut self, o: &TcpOptions, packets: u32, now: u64) {
        if self.cwnd >= f64::from(o.receiver_window) && !matches!(self.control, Control::Reno) {
            return self.control.idle(); // RFC 9438, 5.8: the window is not what limits
        }
        let packets = if o.byte_counting { packets } else { 1 };
        let progress = Progress { packets, now, srtt: self.rto.srtt() };
        self.cwnd = self.control.grow(self.cwnd, self.ssthresh, progress);
    }
}

#[cfg(test)]
mod tests;
