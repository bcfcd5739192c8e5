//! Duplicate ACKs, fast retransmit and fast recovery: RFC 5681, section 3.2 (Reno), RFC 6582 (NewReno), RFC
//! 6675 (SACK), and ns-2's variants of these.

use super::{Ack, ColdStatePool, CongestionEvent, Flags, RecoveryState, Segment, Sender};
use crate::{
    packet::Sack,
    tcp::{
        options::{Exit, Marks, Recovery, Repair, Scoreboard, TcpOptions},
        scoreboard::DUP_THRESH,
    },
};
use sojourn_aqm::Time;

impl Sender {
    /// A duplicate ACK. `is_news`: with SACK, it reports a packet for the first time; others are no
    /// duplicates (RFC 6675, section 2).
    #[inline(always)]
    pub(super) fn on_dupack(&mut self, o: &TcpOptions, is_news: bool, now: Time, out: &mut Vec<Segment>) {
        if self.is(Flags::RECOVERY) {
            if !o.sack {
                let limit = self.inflate(o);
                return self.send_below(o, limit, now, out);
            }
            self.scoreboard().sack1_pipe -= 1;
            self.apply_prr(o, false);
            return self.send_allowed(o, 0, now, out);
        }
        if !is_news {
            return;
        }
        let recovery_state = self.recovery_state();
        recovery_state.dupacks = recovery_state.dupacks.saturating_add(1);
        let dupacks = u32::from(recovery_state.dupacks);
        let is_lost = match (o.sack, o.scoreboard) {
            (true, Scoreboard::Rfc6675) => dupacks >= DUP_THRESH || self.scoreboard().first_is_lost(),
            _ => dupacks == DUP_THRESH,
        };
        if is_lost && self.is_past_recover(o) {
            self.enter_recovery(o, now, out);
        } else if self.nxt < self.limited_transmit(o) {
            self.emit(o, self.nxt, now, out);
            self.nxt += 1;
        }
    }

    /// Process a duplicate ACK without SACK if it allows nothing but new data: see [`Sender::ack_fast_path`].
    #[inline(never)]
    pub(super) fn dupack_fast_path(&mut self, o: &TcpOptions) -> Option<u32> {
        let Sender { una, nxt, deadline, .. } = *self;
        let needs_slow_path = o.sack || self.cold.is_some() || self.is(Flags::CWR) || nxt < self.snd_max();
        if needs_slow_path || una == 0 || una >= nxt || deadline == Time::NEVER || self.is_done() {
            return None;
        }
        let recovery_state = self.recovery_state();
        let limit = if recovery_state.flags.contains(Flags::RECOVERY) {
            self.inflate(o)
        } else if u32::from(recovery_state.dupacks) + 1 == DUP_THRESH {
            return None;
        } else {
            recovery_state.dupacks = recovery_state.dupacks.saturating_add(1);
            self.limited_transmit(o)
        };
        self.recovery_state.snd_max = limit.max(nxt);
        Some(limit)
    }

    /// Whether `ack` is a duplicate with SACK blocks at a sender without extensions.
    #[inline(always)]
    pub(super) fn is_sack_dupack(&self, ack: &Ack) -> bool {
        let is_dupack = ack.next == self.una && self.una > 0 && !ack.ece && ack.sack[0].1 > 0;
        is_dupack && !self.is(Flags::IGNORE_DUPACKS) && self.try_extensions().is_none() && !self.is_done()
    }

    /// Process such a duplicate.
    #[inline(always)]
    pub(super) fn on_sack_dupack(
        &mut self,
        o: &TcpOptions,
        ack: &Ack,
        now: Time,
        out: &mut Vec<Segment>,
        pool: &mut ColdStatePool,
    ) {
        self.recovery_state();
        let scoreboard = self.scoreboard_from(pool);
        let is_news = scoreboard.on_sack(&ack.sack);
        if !self.is(Flags::RECOVERY) {
            return self.on_dupack(o, is_news, now, out);
        }
        self.scoreboard().sack1_pipe -= 1;
        match o.scoreboard {
            Scoreboard::Rfc6675 => self.send_by_pipe(o, now, out),
            Scoreboard::Sack1 => self.send_by_sack1_pipe(o, now, out),
        }
    }

    /// Process a duplicate that reports exactly one more packet, if it allows nothing but new data: see
    /// [`Sender::ack_fast_path`].
    #[inline(always)]
    pub(crate) fn sack_fast_path(
        &mut self,
        o: &TcpOptions,
        next: u32,
        sack: &Sack,
        pool: &mut ColdStatePool,
    ) -> Option<u32> {
        let Sender { una, nxt, end, .. } = *self;
        let RecoveryState { snd_max, flags, dupacks, .. } = self.recovery_state;
        if next != una || una >= end {
            return None;
        }
        if self.is_open() {
            return self.first_sack_fast_path(o, sack, pool);
        }
        let flags = flags.intersection(Flags::RECOVERY.union(Flags::IGNORE_DUPACKS).union(Flags::CWR));
        let scoreboard = self.cold.as_mut().filter(|cold| cold.extensions.is_none())?.scoreboard.as_mut()?;
        let limit = if nxt < snd_max || o.scoreboard != Scoreboard::Sack1 {
            return None;
        } else if flags == Flags::RECOVERY {
            let room = i64::from(self.cwnd as u32) - (scoreboard.sack1_pipe - 1);
            if !scoreboard.on_sack_of_one(sack, room > 0) {
                return None;
            }
            scoreboard.sack1_pipe -= 1;
            if room <= 0 {
                return Some(nxt);
            }
            let last = end.min(una.saturating_add(o.receiver_window));
            let limit = nxt.saturating_add(room as u32).min(last).max(nxt);
            scoreboard.sack1_pipe += i64::from(limit - nxt);
            limit
        } else if flags.is_empty()
            && u32::from(dupacks) + 1 != DUP_THRESH
            && scoreboard.on_sack_of_one(sack, false)
        {
            self.recovery_state.dupacks = dupacks.saturating_add(1);
            self.limited_transmit(o)
        } else {
            return None;
        };
        self.recovery_state.snd_max = limit;
        Some(limit)
    }

    /// The same in the open state, which the sender leaves.
    #[inline(never)]
    fn first_sack_fast_path(&mut self, o: &TcpOptions, sack: &Sack, pool: &mut ColdStatePool) -> Option<u32> {
        let [(first, end), (_, second_end), _] = *sack;
        if end != first + 1 || second_end > 0 {
            return None;
        }
        self.recovery_state().dupacks = 1;
        self.scoreboard_from(pool).on_sack(sack);
        self.recovery_state.snd_max = self.limited_transmit(o);
        Some(self.recovery_state.snd_max)
    }

    /// Inflate the window for a packet that has left the network (RFC 5681, section 3.2, step 4); returns the
    /// limit.
    #[inline(always)]
    fn inflate(&mut self, o: &TcpOptions) -> u32 {
        self.inflation += 1;
        let burst = if o.repair() == Repair::Partial { o.recovery_burst } else { 0 };
        self.limit(o, burst)
    }

    /// Limited transmit (RFC 3042): the first two duplicates allow a new packet each; returns the limit. With
    /// `limited_retransmit`, as in ns-2, the next packet may be an old one after a timeout.
    #[inline(always)]
    fn limited_transmit(&mut self, o: &TcpOptions) -> u32 {
        let nxt = self.nxt;
        let (dupacks, snd_max) = (u32::from(self.recovery_state.dupacks), self.snd_max());
        if dupacks < DUP_THRESH && o.limited_transmit && (o.limited_retransmit || nxt == snd_max) {
            let window = (self.cwnd as u32).saturating_add(dupacks).min(o.receiver_window);
            if nxt < self.una.saturating_add(window).min(self.end) {
                self.recovery_state.limited += 1;
                return nxt + 1;
            }
        }
        nxt
    }

    /// Whether a loss now may start a recovery. RFC 6582, section 3.2, step 2: if the ACK covers more than
    /// `recover`; RFC 6675, section 5.1: also if it covers just that; ns-2: also if the last reduction was
    /// for a mark.
    pub(super) fn is_past_recover(&self, o: &TcpOptions) -> bool {
        let is_rfc6675 = o.sack && o.scoreboard == Scoreboard::Rfc6675;
        let is_marked =
            o.marks == Marks::Ns2 && self.recovery_state.last_reduction == Some(CongestionEvent::Mark);
        let is_past = self.recover == 0 || self.una > self.recover;
        if is_rfc6675 { self.una >= self.recover } else { is_past || is_marked }
    }

    /// Fast retransmit (RFC 5681, section 3.2, steps 2 and 3; RFC 6675, section 5, step 4); slow start
    /// follows in Tahoe. The window is not reduced if it already was for a mark in the same window of data
    /// (RFC 3168, section 6.1.2).
    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        if self.recovery_state.last_reduction == Some(CongestionEvent::Mark) && self.una <= self.cwr_end {
            self.recovery_state.last_reduction = Some(CongestionEvent::Loss);
        } else {
            self.reduce(o, CongestionEvent::Loss);
            self.note_reduction(CongestionEvent::Loss);
        }
        if o.variant.goes_back() {
            self.rto.cancel_timing();
            return self.go_back_n(o, now, out);
        }
        if !(o.repair() == Repair::OneHole && o.repeat_fast_retransmit) {
            self.recover = self.cwr_end;
        }
        let recovery_state = self.recovery_state();
        recovery_state.flags.insert(Flags::RECOVERY);
        recovery_state.flags.remove(Flags::PARTIAL);
        recovery_state.limited = 0;
        self.rto.cancel_timing();
        self.deadline = o.expiry(now, self.rto.timeout());
        self.emit(o, self.una, now, out);
        if o.sack {
            let (una, flight) = (self.una, self.snd_max() - self.una);
            let scoreboard = self.scoreboard();
            scoreboard.sack1_pipe = i64::from(flight) - i64::from(DUP_THRESH);
            scoreboard.rescue_rxt = una;
            if o.scoreboard == Scoreboard::Rfc6675 {
                scoreboard.forget_retransmissions();
            }
            scoreboard.mark_retransmitted(una);
            if o.scoreboard == Scoreboard::Rfc6675 {
                self.apply_prr(o, false);
                self.send_allowed(o, 0, now, out);
            }
        } else {
            self.inflation = DUP_THRESH;
            self.send_allowed(o, o.recovery_burst, now, out);
        }
    }

    /// A partial ACK: new data, but not all that was outstanding at the start of recovery.
    pub(super) fn on_partial_ack(&mut self, o: &TcpOptions, acked: u32, now: Time, out: &mut Vec<Segment>) {
        if o.sack {
            self.apply_prr(o, true);
            self.scoreboard().sack1_pipe -= 2; // ns-2's rule: the original and the retransmission have left
            if o.scoreboard == Scoreboard::Sack1 {
                self.rto.reset_backoff(o);
            }
            self.restart_timer(o, now);
            return;
        }
        // RFC 6582, section 3.2, step 3: deflate by the data acknowledged, then add one packet back.
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.cwnd -= f64::from(acked - self.inflation);
            self.inflation = 1;
        }
        self.cwnd = self.cwnd.max(1.0);
        // The same step: only the first partial ACK restarts the timer (the Impatient variant).
        if !self.is(Flags::PARTIAL) {
            self.recovery_state().flags.insert(Flags::PARTIAL);
            self.restart_timer(o, now);
        }
        self.emit(o, self.una, now, out);
        if o.marks == Marks::Rfc3168 {
            self.nxt = self.nxt.max(self.una + 1); // ns-2, going back after a timeout, sends it twice
        }
    }

    /// Full acknowledgement: RFC 6582, section 3.2, step 3, option 1; RFC 5681, section 3.2, step 6.
    pub(super) fn leave_recovery(&mut self, o: &TcpOptions) {
        let recovery_state = self.recovery_state();
        recovery_state.flags.remove(Flags::RECOVERY);
        if recovery_state.last_reduction == Some(CongestionEvent::Loss) {
            recovery_state.last_reduction = None;
        }
        if o.recovery_exit == Exit::Deflate {
            self.cwnd = match o.repair() {
                Repair::Sack if o.recovery == Recovery::Prr => self.ssthresh,
                Repair::Partial => self.ssthresh.min(f64::from((self.nxt - self.una).max(1)) + 1.0),
                Repair::OneHole | Repair::Sack => self.ssthresh.min(self.cwnd.max(1.0)),
            };
        }
        if o.sack && o.scoreboard == Scoreboard::Sack1 {
            (self.recover, self.cwr_end) = (0, 0);
            self.clear_scoreboard();
        }
    }

    /// With PRR: set the window for the data that this ACK allows.
    fn apply_prr(&mut self, o: &TcpOptions, is_safe_ack: bool) {
        if o.recovery == Recovery::Prr {
            let (nxt, ssthresh) = (self.nxt, self.ssthresh);
            let pipe = self.scoreboard().pipe(nxt);
            let extensions = self.extensions();
            self.cwnd = extensions.prr.cwnd(pipe, ssthresh, extensions.delivered, is_safe_ack);
        }
    }
}
