//! What may be sent: by the window, by the pipe of RFC 6675, or by that of ns-2's Sack1.

use super::{Flags, Segment, Sender, rack_tlp::LossCheck};
use crate::tcp::options::{Marks, Scoreboard, TcpOptions};
use sojourn_aqm::Time;

impl Sender {
    /// Restart the retransmission timer while data are outstanding (RFC 6298, sections 5.2 and 5.3).
    pub(super) fn restart_timer(&mut self, o: &TcpOptions, now: Time) {
        let must_wait = self.is(Flags::APP_OPEN) && self.cwnd < 1.0; // only the timer opens this window again
        let needed = self.una < self.snd_max() || self.una < self.end || must_wait;
        self.deadline = if needed { o.expiry(now, self.rto.timeout()) } else { Time::NEVER };
    }

    /// Send what the window, or in SACK recovery the pipe, allows. `burst`: see [`Sender::limit`].
    pub(super) fn send_allowed(&mut self, o: &TcpOptions, burst: u32, now: Time, out: &mut Vec<Segment>) {
        self.update_pacing(o);
        if !o.sack {
            return self.send(o, burst, now, out);
        }
        if self.uses_rack() {
            self.send_rack(o, now, out);
            return self.arm_timer(o, now, false, true, LossCheck::None);
        }
        match (self.is(Flags::RECOVERY), o.scoreboard) {
            (true, Scoreboard::Rfc6675) => self.send_by_pipe(o, now, out),
            (true, Scoreboard::Sack1) => self.send_by_sack1_pipe(o, now, out),
            (false, _) => self.send(o, burst, now, out),
        }
    }

    /// Send what the window allows.
    #[inline]
    pub(super) fn send(&mut self, o: &TcpOptions, burst: u32, now: Time, out: &mut Vec<Segment>) {
        let limit = self.limit(o, burst);
        self.send_below(o, limit, now, out);
    }

    /// The first packet that the window does not allow, at most `burst` packets from the next one (0: no
    /// limit).
    #[inline]
    pub(super) fn limit(&self, o: &TcpOptions, burst: u32) -> u32 {
        let window = (self.cwnd as u32).saturating_add(self.inflation).min(o.receiver_window);
        let limit = self.una.saturating_add(window).min(self.end);
        if burst > 0 { limit.min(self.nxt.saturating_add(burst)) } else { limit }
    }

    pub(super) fn send_below(&mut self, o: &TcpOptions, limit: u32, now: Time, out: &mut Vec<Segment>) {
        while self.nxt < limit && !self.must_wait(o, now) {
            self.emit(o, self.nxt, now, out);
            self.nxt += 1;
        }
    }

    /// RFC 6675, section 5, step C, with the rules of NextSeg (section 4): lost packets, new data, packets
    /// that may not be lost, the rescue retransmission.
    pub(super) fn send_by_pipe(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        let mut nxt = self.nxt;
        let mut pipe = self.scoreboard().pipe(nxt);
        while pipe < self.cwnd as u32 && !self.must_wait(o, now) {
            let may_send_new = nxt < self.end && nxt < self.una.saturating_add(o.receiver_window);
            if let Some(hole) = self.scoreboard().hole(true) {
                self.scoreboard().mark_retransmitted(hole);
                self.rto.cancel_timing();
                self.emit(o, hole, now, out);
            } else if may_send_new {
                self.emit(o, nxt, now, out);
                nxt += 1;
                self.nxt = nxt;
            } else if let Some(hole) = self.scoreboard().hole(false) {
                self.scoreboard().mark_retransmitted(hole);
                self.rto.cancel_timing();
                self.emit(o, hole, now, out);
            } else if self.una > self.scoreboard().rescue_rxt.saturating_add(1)
                && let Some(last) = self.scoreboard().last_missing(nxt)
            {
                self.scoreboard().rescue_rxt = u32::MAX;
                self.rto.cancel_timing();
                self.emit(o, last, now, out);
            } else {
                break;
            }
            pipe += 1;
        }
    }

    /// ns-2's Sack1: each hole once, then new data, while its pipe is below the window.
    #[inline(always)]
    pub(super) fn send_by_sack1_pipe(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        let window = self.cwnd as i64;
        let last = self.end.min(self.una.saturating_add(o.receiver_window));
        while self.scoreboard().sack1_pipe < window && !self.must_wait(o, now) {
            let (nxt, scoreboard) = (self.nxt, self.scoreboard());
            if let Some(hole) = scoreboard.hole(false) {
                scoreboard.sack1_pipe += 1;
                scoreboard.mark_retransmitted(hole);
                self.emit(o, hole, now, out);
            } else if nxt < last {
                scoreboard.sack1_pipe += 1;
                self.emit(o, nxt, now, out);
                self.nxt += 1;
            } else {
                return;
            }
        }
    }

    /// The next packet below `limit`, which a function of the fast path has returned: new data, with the
    /// timer running and nothing to announce.
    #[inline(always)]
    pub(crate) fn emit_next(&mut self, limit: u32, now: Time) -> Option<Segment> {
        let sequence = self.nxt;
        if sequence >= limit {
            return None;
        }
        self.nxt += 1;
        self.rto.on_send(sequence, now);
        Some(Segment { sequence, is_retransmission: false, cwr: false })
    }

    /// Send packet `sequence`, which is the next one or a retransmission.
    #[inline(always)]
    pub(super) fn emit(&mut self, o: &TcpOptions, sequence: u32, now: Time, out: &mut Vec<Segment>) {
        let (una, snd_max) = (self.una, self.snd_max());
        let is_retransmission = sequence < snd_max;
        let mut is_timed = !is_retransmission;
        let mut cwr = false;
        if !self.is_open() {
            self.recovery_state.snd_max = snd_max.max(sequence + 1);
            cwr = self.is(Flags::CWR) && (!is_retransmission || o.marks == Marks::Ns2);
            if cwr {
                self.recovery_state.flags.remove(Flags::CWR);
            }
            cwr &= !o.accurate_ecn; // RFC 9768 has no CWR
            if o.variant.samples_rate() {
                self.sample_send(o, sequence, una == snd_max, now);
            }
            if let Some(extensions) = self.try_extensions_mut() {
                extensions.prr.on_send();
                extensions.control.on_send(now, una == snd_max);
                if let Some(pacer) = &mut extensions.pacer
                    && !(o.syn && sequence == 0)
                {
                    pacer.on_send(now);
                }
                if let Some(rack_tlp) = &mut extensions.rack_tlp {
                    rack_tlp.on_send(sequence, una, now, is_retransmission);
                    is_timed = false;
                }
            }
        }
        self.retransmitted += u32::from(is_retransmission);
        if is_timed {
            self.rto.on_send(sequence, now);
        }
        if una == snd_max || self.deadline == Time::NEVER {
            self.deadline = o.expiry(now, self.rto.timeout());
        }
        out.push(Segment { sequence, is_retransmission, cwr });
    }
}
