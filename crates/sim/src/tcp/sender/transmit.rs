//! What may go now: by the window, by RFC 6675's pipe, by ns-2's counter.

use super::{Flags, NEVER, Segment, Sender, rack_tlp::Detection};
use crate::tcp::options::{Marks, Scoreboard, TcpOptions};

impl Sender {
    pub(super) fn restart_timer(&mut self, o: &TcpOptions, now: u64) {
        let must_wait = self.is(Flags::APP_OPEN) && self.cwnd < 1.0; // only the timer opens the window again
        let needed = self.una < self.snd_max() || self.una < self.end || must_wait;
        self.deadline = if needed { o.expiry(now, self.rto.timeout()) } else { NEVER };
    }

    /// Send what the window, or in SACK recovery the pipe, allows.
    pub(super) fn send_allowed(&mut self, o: &TcpOptions, burst: u32, now: u64, out: &mut Vec<Segment>) {
        if !o.sack {
            return self.send(o, burst, now, out);
        }
        if self.uses_rack() {
            self.send_rack(o, now, out);
            return self.arm(o, now, false, true, Detection::Fine);
        }
        match (self.is(Flags::RECOVERY), o.scoreboard) {
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
        if self.nxt < limit && self.must_jitter(o, now) {
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
        let mut pipe = self.scoreboard().pipe(nxt);
        if pipe < self.cwnd as u32 && self.must_jitter(o, now) {
            return;
        }
        while pipe < self.cwnd as u32 {
            let may_send_new = nxt < self.end && nxt < self.una.saturating_add(o.receiver_window);
            if let Some(hole) = self.scoreboard().hole(true) {
                self.scoreboard().mark_retransmitted(hole);
                self.rto.forget();
                self.emit(o, hole, now, out);
            } else if may_send_new {
                self.emit(o, nxt, now, out);
                nxt += 1;
                self.nxt = nxt;
            } else if let Some(hole) = self.scoreboard().hole(false) {
                self.scoreboard().mark_retransmitted(hole);
                self.rto.forget();
                self.emit(o, hole, now, out);
            } else if self.una > self.scoreboard().rescue.saturating_add(1)
                && let Some(last) = self.scoreboard().last_missing(nxt)
            {
                self.scoreboard().rescue = u32::MAX;
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
        if self.scoreboard().counted >= window || self.must_jitter(o, now) {
            return;
        }
        loop {
            let (nxt, scoreboard) = (self.nxt, self.scoreboard());
            if scoreboard.counted >= window {
                return;
            }
            if let Some(hole) = scoreboard.hole(false) {
                scoreboard.counted += 1;
                scoreboard.mark_retransmitted(hole);
                self.emit(o, hole, now, out);
            } else if nxt < last {
                scoreboard.counted += 1;
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
        let (una, top) = (self.una, self.snd_max());
        let is_retransmission = sequence < top;
        let mut times = !is_retransmission;
        let mut cwr = false;
        if !self.is_open() {
            self.recovery_state.snd_max = top.max(sequence + 1);
            cwr = self.is(Flags::CWR) && (!is_retransmission || o.marks == Marks::Ns2);
            if cwr {
                self.recovery_state.flags.remove(Flags::CWR);
            }
            if let Some(extensions) = self.try_extensions_mut() {
                extensions.prr.sent();
                if let Some(rack_tlp) = &mut extensions.rack_tlp {
                    rack_tlp.sent(sequence, una, now, is_retransmission);
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
