//! The sending end of TCP: when a packet may go, what a loss or a mark does to the window, how holes
//! are repaired. One state machine serves Reno, NewReno and SACK; [`TcpOptions`] says which.
//!
//! Windows count packets. Packet 0 is the SYN where there is one. `window` = floor(`cwnd`) +
//! `inflation`, where inflation stands for packets known to have left the network during recovery, so
//! that `cwnd` itself is always the window that recovery will leave behind.

use super::{
    board::{Board, THRESHOLD},
    options::{Exit, Halve, Marks, Scoreboard, TcpOptions, Variant},
    rto::Rto,
};
use crate::net::Sack;
use sojourn_aqm::{Random, Stream};

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
    rto: Rto,
    deadline: Option<u64>,
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
            rto: Rto::new(o, phase),
            deadline: None,
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
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.deadline
    }
    /// Whether everything that was to be sent is acknowledged.
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
        self.send(o, 0, now, out);
    }

    /// When to call [`Sender::release`], if that was not told yet.
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
    pub(crate) fn on_ack(&mut self, o: &TcpOptions, window: u32, ack: Ack, now: u64, out: &mut Vec<Segment>) {
        if ack.next < self.una || self.is_done() {
            return; // old, overtaken by a later one
        }
        // ns-2's answer to a SYN looks like an echo; it is heard only where the SYN had to be repeated.
        let negotiates = o.marks == Marks::Ns2 && self.una == 0 && self.lost_syn;
        let ack = Ack { echo: o.ecn && (ack.echo || negotiates), ..ack };
        if ack.echo {
            self.on_echo(o, ack.next);
        }
        let in_order = ack.next > self.una && !self.in_recovery;
        let news = match o.variant {
            Variant::Sack if in_order && o.scoreboard == Scoreboard::Sack1 => {
                self.board.clear();
                true
            }
            Variant::Sack => !self.deaf && self.board.report(&ack.sack),
            _ => true,
        };
        if ack.next > self.una {
            self.on_new(o, window, ack, now, out);
        } else if self.top > self.una && !self.deaf {
            self.on_duplicate(o, news, now, out);
        }
    }

    /// The retransmission timer is due.
    pub(crate) fn on_timeout(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
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
                self.halve_ssthresh(o);
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
        self.deaf = o.variant == Variant::Sack && o.scoreboard == Scoreboard::Sack1;
        self.restart_timer(now);
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
        let is_partial = i64::from(self.una) <= self.recover && o.variant != Variant::Reno;
        if self.in_recovery && is_partial {
            self.on_partial(o, acked, now, out);
            burst = if o.variant == Variant::Newreno { o.recovery_burst } else { 0 };
        } else {
            self.marked_at_one &= ack.echo;
            self.rto.acknowledged(self.una, now, self.marked_at_one);
            let ends_recovery = self.in_recovery;
            if ends_recovery {
                self.leave_recovery(o);
            }
            let grows = !ends_recovery || o.recovery_exit == Exit::Grow && o.variant != Variant::Sack;
            self.inflation = 0;
            self.dupacks = 0;
            self.limited = 0;
            if was_syn && self.lost_syn {
                self.cwnd = 1.0;
                self.rto.after_lost_syn();
            } else if was_syn {
                self.cwnd = f64::from(window);
            } else if grows && !ack.echo {
                self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
            }
            self.restart_timer(now);
        }
        if self.is_done() {
            return self.restart_timer(now);
        }
        self.send_allowed(o, burst, now, out);
    }

    fn on_duplicate(&mut self, o: &TcpOptions, news: bool, now: u64, out: &mut Vec<Segment>) {
        if self.in_recovery {
            match o.variant {
                Variant::Sack => self.pipe -= 1,
                _ => self.inflation += 1,
            }
            let burst = if o.variant == Variant::Newreno { o.recovery_burst } else { 0 };
            self.send_allowed(o, burst, now, out);
            return;
        }
        if !news {
            return;
        }
        self.dupacks += 1;
        let lost = match (o.variant, o.scoreboard) {
            (Variant::Sack, Scoreboard::Rfc6675) => self.dupacks >= THRESHOLD || self.board.first_is_lost(),
            _ => self.dupacks == THRESHOLD,
        };
        if lost && self.is_past_gate(o) {
            self.enter_recovery(o, now, out);
        } else if self.dupacks < THRESHOLD
            && o.limited_transmit
            && (o.limited_retransmit || self.nxt == self.top)
        {
            let most = (self.cwnd as u32).saturating_add(self.dupacks).min(o.receiver_window);
            if self.nxt < self.una.saturating_add(most) && self.nxt < self.end {
                self.limited += 1;
                self.emit(o, self.nxt, now, out);
                self.nxt += 1;
            }
        }
    }

    /// Whether a loss here is news: RFC 6582 asks for more than `gate` to be acknowledged, RFC 6675 (5.1)
    /// for `gate` itself; ns-2 repairs any loss whose window was last cut for a mark.
    fn is_past_gate(&self, o: &TcpOptions) -> bool {
        let by_rfc6675 = o.variant == Variant::Sack && o.scoreboard == Scoreboard::Rfc6675;
        let acknowledged = i64::from(self.una) - 1;
        let is_marked = o.marks == Marks::Ns2 && self.last_cut == Cut::Mark;
        if by_rfc6675 { acknowledged >= self.gate } else { acknowledged > self.gate || is_marked }
    }

    /// Fast retransmit: cut the window, unless this window was already cut for a mark, and repair the
    /// first hole.
    fn enter_recovery(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        self.pipe = i64::from(self.top - self.una) - i64::from(THRESHOLD);
        if self.last_cut == Cut::Mark && i64::from(self.una) - 1 <= self.cut_until {
            self.last_cut = Cut::Loss;
        } else {
            self.halve(o);
            self.note_cut(Cut::Loss);
        }
        self.recover = self.cut_until;
        if !(o.variant == Variant::Reno && o.repeat_fast_retransmit) {
            self.gate = self.recover;
        }
        self.in_recovery = true;
        self.seen_partial = false;
        self.rescue = self.una;
        self.limited = 0;
        self.rto.forget();
        self.deadline = Some(now + self.rto.timeout());
        self.emit(o, self.una, now, out);
        if o.variant == Variant::Sack {
            if o.scoreboard == Scoreboard::Rfc6675 {
                self.board.forget_retransmissions();
            }
            self.board.retransmitted(self.una);
            if o.scoreboard == Scoreboard::Rfc6675 {
                self.send_allowed(o, 0, now, out);
            }
        } else {
            self.inflation = THRESHOLD;
            self.send_allowed(o, o.recovery_burst, now, out);
        }
    }

    /// Part of what was lost has arrived: repair the next hole.
    fn on_partial(&mut self, o: &TcpOptions, acked: u32, now: u64, out: &mut Vec<Segment>) {
        if o.variant == Variant::Sack {
            self.pipe -= 2;
            if o.scoreboard == Scoreboard::Sack1 {
                self.rto.end_back_off();
            }
            self.restart_timer(now);
            return;
        }
        // The packets that left: deflate by what was acknowledged, less the one sent now.
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.cwnd -= f64::from(acked - self.inflation);
            self.inflation = 1;
        }
        self.cwnd = self.cwnd.max(1.0);
        if !self.seen_partial {
            self.seen_partial = true;
            self.restart_timer(now);
        }
        self.emit(o, self.una, now, out);
        if o.marks == Marks::Rfc3168 {
            self.nxt = self.nxt.max(self.una + 1); // ns-2, going back after a time-out, sends it twice
        }
    }

    fn leave_recovery(&mut self, o: &TcpOptions) {
        self.in_recovery = false;
        if self.last_cut == Cut::Loss {
            self.last_cut = Cut::Nothing;
        }
        if o.recovery_exit == Exit::Deflate {
            self.cwnd = match o.variant {
                Variant::Newreno => self.ssthresh.min(f64::from((self.nxt - self.una).max(1)) + 1.0),
                Variant::Reno | Variant::Sack => self.ssthresh.min(self.cwnd.max(1.0)),
            };
        }
        if o.variant == Variant::Sack && o.scoreboard == Scoreboard::Sack1 {
            self.gate = -2;
            self.cut_until = -1;
            self.board.clear();
        }
    }

    /// The receiver saw a mark: one cut a window of data.
    fn on_echo(&mut self, o: &TcpOptions, next: u32) {
        let by_ns2 = o.marks == Marks::Ns2;
        let after_timeout = by_ns2 && self.last_cut == Cut::Timeout;
        if i64::from(next) - 1 <= self.cut_until && !after_timeout {
            return;
        }
        let at_one = self.cwnd <= 1.0;
        if at_one && (self.marked_at_one || !by_ns2 && self.cwnd < 1.0) {
            self.rto.back_off();
        }
        if by_ns2 {
            self.marked_at_one = at_one;
        }
        if by_ns2 || !at_one {
            self.halve(o);
        } else {
            // No window left to halve: wait for the timer before the next packet (RFC 3168, 6.1.2).
            self.cwnd = 0.5;
            self.ssthresh = 2.0;
            self.cwr = true;
            self.tally.cuts += 1;
        }
        self.note_cut(Cut::Mark);
        if o.variant == Variant::Sack && o.scoreboard == Scoreboard::Sack1 {
            self.recover = self.cut_until;
        }
    }

    fn halve(&mut self, o: &TcpOptions) {
        let window = self.effective_window(o);
        self.halve_ssthresh(o);
        self.cwnd = match o.halve {
            Halve::Flight => self.ssthresh,
            Halve::Window => window / 2.0,
        };
        self.inflation = 0;
        self.cwr = true;
        self.tally.cuts += 1;
    }

    fn halve_ssthresh(&mut self, o: &TcpOptions) {
        let whole = match o.halve {
            Halve::Flight => (self.nxt - self.una).saturating_sub(self.limited) / 2,
            Halve::Window => (self.effective_window(o) / 2.0) as u32,
        };
        self.ssthresh = f64::from(whole.max(2));
    }

    fn effective_window(&self, o: &TcpOptions) -> f64 {
        (self.cwnd + f64::from(self.inflation)).min(f64::from(o.receiver_window))
    }

    fn note_cut(&mut self, cut: Cut) {
        self.last_cut = cut;
        self.cut_until = i64::from(self.top) - 1;
    }

    fn restart_timer(&mut self, now: u64) {
        let must_wait = self.is_open && self.cwnd < 1.0; // only the timer opens the window again
        let needed = self.una < self.top || self.una < self.end || must_wait;
        self.deadline = needed.then(|| now + self.rto.timeout());
    }

    /// Send what the window, or in SACK recovery the pipe, allows.
    fn send_allowed(&mut self, o: &TcpOptions, burst: u32, now: u64, out: &mut Vec<Segment>) {
        match (o.variant, self.in_recovery, o.scoreboard) {
            (Variant::Sack, true, Scoreboard::Rfc6675) => self.send_by_pipe(o, now, out),
            (Variant::Sack, true, Scoreboard::Sack1) => self.send_by_counter(o, now, out),
            _ => self.send(o, burst, now, out),
        }
    }

    fn send(&mut self, o: &TcpOptions, burst: u32, now: u64, out: &mut Vec<Segment>) {
        let window = (self.cwnd as u32).saturating_add(self.inflation).min(o.receiver_window);
        let limit = self.una.saturating_add(window).min(self.end);
        let limit = if burst > 0 { limit.min(self.nxt.saturating_add(burst)) } else { limit };
        if self.nxt < limit && self.holds_back(o, now) {
            return;
        }
        while self.nxt < limit {
            self.emit(o, self.nxt, now, out);
            self.nxt += 1;
        }
    }

    /// RFC 6675, NextSeg: lost holes, then new data, then holes that may not be lost, then the last packet.
    fn send_by_pipe(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        let mut pipe = self.board.pipe(self.nxt);
        if pipe < self.cwnd as u32 && self.holds_back(o, now) {
            return;
        }
        while pipe < self.cwnd as u32 {
            let may_send_new = self.nxt < self.end && self.nxt < self.una.saturating_add(o.receiver_window);
            if let Some(hole) = self.board.hole(true) {
                self.board.retransmitted(hole);
                self.rto.forget();
                self.emit(o, hole, now, out);
            } else if may_send_new {
                self.emit(o, self.nxt, now, out);
                self.nxt += 1;
            } else if let Some(hole) = self.board.hole(false) {
                self.board.retransmitted(hole);
                self.rto.forget();
                self.emit(o, hole, now, out);
            } else if self.una > self.rescue.saturating_add(1)
                && let Some(last) = self.board.last_missing(self.nxt)
            {
                self.rescue = u32::MAX;
                self.rto.forget();
                self.emit(o, last, now, out);
            } else {
                break;
            }
            pipe += 1;
        }
    }

    /// ns-2's Sack1: every hole once, then new data, while the counter is below the window.
    fn send_by_counter(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        if self.pipe < self.cwnd as i64 && self.holds_back(o, now) {
            return;
        }
        while self.pipe < self.cwnd as i64 {
            if let Some(hole) = self.board.hole(false) {
                self.board.retransmitted(hole);
                self.emit(o, hole, now, out);
            } else if self.nxt < self.end && self.nxt < self.una.saturating_add(o.receiver_window) {
                self.emit(o, self.nxt, now, out);
                self.nxt += 1;
            } else {
                break;
            }
            self.pipe += 1;
        }
    }

    fn emit(&mut self, o: &TcpOptions, sequence: u32, now: u64, out: &mut Vec<Segment>) {
        let is_retransmission = sequence < self.top;
        let is_alone = self.una == self.top;
        let cwr = self.cwr && (!is_retransmission || o.marks == Marks::Ns2);
        self.cwr &= !cwr;
        if is_retransmission {
            self.tally.retransmitted += 1;
        } else {
            self.top = sequence + 1;
            self.rto.sent(sequence, now);
        }
        self.tally.sent += 1;
        if is_alone || self.deadline.is_none() {
            self.deadline = Some(now + self.rto.timeout());
        }
        out.push(Segment { sequence, is_retransmission, cwr });
    }
}

#[cfg(test)]
mod tests;
