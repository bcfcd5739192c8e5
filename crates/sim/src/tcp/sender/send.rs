//! What may go now: by the window, by RFC 6675's pipe, by ns-2's counter.

use super::{NEVER, Segment, Sender, Signs, timed::Look};
use crate::tcp::options::{Marks, Scoreboard, TcpOptions};

impl Sender {
    pub(super) fn restart_timer(&mut self, o: &TcpOptions, now: u64) {
        let must_wait = self.is(Signs::OPEN) && self.cwnd < 1.0; // only the timer opens the window again
        let needed = self.una < self.top() || self.una < self.end || must_wait;
        self.deadline = if needed { o.expiry(now, self.rto.timeout()) } else { NEVER };
    }

    /// Send what the window, or in SACK recovery the pipe, allows.
    pub(super) fn send_allowed(&mut self, o: &TcpOptions, burst: u32, now: u64, out: &mut Vec<Segment>) {
        if !o.sack {
            return self.send(o, burst, now, out);
        }
        if self.is_timed() {
            self.send_timed(o, now, out);
            return self.arm(o, now, false, true, Look::Fine);
        }
        match (self.is(Signs::RECOVERY), o.scoreboard) {
            (true, Scoreboard::Rfc6675) => self.send_by_pipe(o, now, out),
            (true, Scoreboard::Sack1) => self.send_by_counter(o, now, out),
            (false, _) => self.send(o, burst, now, out),
        }
    }

    /// Send what the window allows, at most `burst` packets unless that is 0.
    #[inline]
    pub(super) fn send(&mut self, o: &TcpOptions, burst: u32, now: u64, out: &mut Vec<Segment>) {
        let limit = self.limit(o, burst);
        self.send_below(o, limit, now, out);
    }

    /// The number below which it allows to send.
    #[inline]
    pub(super) fn limit(&self, o: &TcpOptions, burst: u32) -> u32 {
        let window = (self.cwnd as u32).saturating_add(self.inflation).min(o.receiver_window);
        let limit = self.una.saturating_add(window).min(self.end);
        if burst > 0 { limit.min(self.nxt.saturating_add(burst)) } else { limit }
    }

    pub(super) fn send_below(&mut self, o: &TcpOptions, limit: u32, now: u64, out: &mut Vec<Segment>) {
        if self.nxt < limit && self.holds_back(o, now) {
            return;
        }
        while self.nxt < limit {
            self.emit(o, self.nxt, now, out);
            self.nxt += 1;
        }
    }

    /// RFC 6675, NextSeg: lost holes, then new data, then holes that may not be lost, then the last packet.
    pub(super) fn send_by_pipe(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        let mut nxt = self.nxt;
        let mut pipe = self.board().pipe(nxt);
        if pipe < self.cwnd as u32 && self.holds_back(o, now) {
            return;
        }
        while pipe < self.cwnd as u32 {
            let may_send_new = nxt < self.end && nxt < self.una.saturating_add(o.receiver_window);
            if let Some(hole) = self.board().hole(true) {
                self.board().retransmitted(hole);
                self.rto.forget();
                self.emit(o, hole, now, out);
            } else if may_send_new {
                self.emit(o, nxt, now, out);
                nxt += 1;
                self.nxt = nxt;
            } else if let Some(hole) = self.board().hole(false) {
                self.board().retransmitted(hole);
                self.rto.forget();
                self.emit(o, hole, now, out);
            } else if self.una > self.board().rescue.saturating_add(1)
                && let Some(last) = self.board().last_missing(nxt)
            {
                self.board().rescue = u32::MAX;
                self.rto.forget();
                self.emit(o, last, now, out);
            } else {
                break;
            }
            pipe += 1;
        }
    }

    /// ns-2's Sack1: every hole once, then new data, while the counter is below the window.
    #[inline(always)]
    pub(super) fn send_by_counter(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        let window = self.cwnd as i64;
        let last = self.end.min(self.una.saturating_add(o.receiver_window));
        if self.board().counted >= window || self.holds_back(o, now) {
            return;
        }
        loop {
            let (nxt, board) = (self.nxt, self.board());
            if board.counted >= window {
                return;
            }
            if let Some(hole) = board.hole(false) {
                board.counted += 1;
                board.retransmitted(hole);
                self.emit(o, hole, now, out);
            } else if nxt < last {
                board.counted += 1;
                self.emit(o, nxt, now, out);
                self.nxt += 1;
            } else {
                return;
            }
        }
    }

    /// After [`Sender::on_usual_ack`]: the next packet, if it is below `limit`. It was never sent before, and the timer
    /// runs.
    #[inline(always)]
    pub(crate) fn emit_next(&mut self, limit: u32, now: u64) -> Option<Segment> {
        let sequence = self.nxt;
        if sequence >= limit {
            return None;
        }
        self.nxt += 1;
        self.rto.sent(sequence, now);
        Some(Segment { sequence, is_retransmission: false, cwr: false })
    }

    /// Packet `sequence` leaves, which is the next one or was sent before.
    #[inline(always)]
    pub(super) fn emit(&mut self, o: &TcpOptions, sequence: u32, now: u64, out: &mut Vec<Segment>) {
        let (una, top) = (self.una, self.top());
        let is_retransmission = sequence < top;
        let mut times = !is_retransmission;
        let mut cwr = false;
        if !self.is_plain() {
            self.trouble.top = top.max(sequence + 1);
            cwr = self.is(Signs::CWR) && (!is_retransmission || o.marks == Marks::Ns2);
            if cwr {
                self.trouble.signs.remove(Signs::CWR);
            }
            if let Some(special) = self.specially_mut() {
                special.prr.sent();
                if let Some(timed) = &mut special.timed {
                    timed.sent(sequence, una, now, is_retransmission);
                    times = false;
                }
            }
        }
        self.retransmitted += u32::from(is_retransmission);
        if times {
            self.rto.sent(sequence, now);
        }
        if una == top || self.deadline == NEVER {
            self.deadline = o.expiry(now, self.rto.timeout());
        }
        out.push(Segment { sequence, is_retransmission, cwr });
    }
}
