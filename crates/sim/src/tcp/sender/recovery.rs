//! How holes are repaired: duplicates, fast retransmit, partial acknowledgements, the end of recovery
//! (RFC 5681, 6582, 6675; ns-2's).

use super::{Ack, ColdStatePool, Cut, Flags, NEVER, RecoveryState, Segment, Sender, Signal};
use crate::{
    packet::Sack,
    tcp::{
        options::{Exit, Marks, Recovery, Repair, Scoreboard, TcpOptions},
        scoreboard::THRESHOLD,
    },
};

impl Sender {
    #[inline(always)]
    pub(super) fn on_duplicate(&mut self, o: &TcpOptions, news: bool, now: u64, out: &mut Vec<Segment>) {
        if self.is(Flags::RECOVERY) {
            if !o.sack {
                let limit = self.inflate(o);
                return self.send_below(o, limit, now, out);
            }
            self.scoreboard().counted -= 1;
            self.proportion(o, false);
            return self.send_allowed(o, 0, now, out);
        }
        if !news {
            return;
        }
        let recovery_state = self.recovery_state();
        recovery_state.dupacks = recovery_state.dupacks.saturating_add(1);
        let dupacks = u32::from(recovery_state.dupacks);
        let lost = match (o.sack, o.scoreboard) {
            (true, Scoreboard::Rfc6675) => dupacks >= THRESHOLD || self.scoreboard().first_is_lost(),
            _ => dupacks == THRESHOLD,
        };
        if lost && self.is_past_recover(o) {
            self.enter_recovery(o, now, out);
        } else if self.nxt < self.limited_transmit(o) {
            self.emit(o, self.nxt, now, out);
            self.nxt += 1;
        }
    }

    /// A duplicate, not the first one and without selective acknowledgements, that repairs nothing and lets nothing go
    /// but packets never sent before: the limit below which these are.
    #[inline(never)]
    pub(super) fn on_usual_duplicate(&mut self, o: &TcpOptions) -> Option<u32> {
        let Sender { una, nxt, deadline, .. } = *self;
        let has_more = o.sack || self.cold.is_some() || self.is(Flags::CWR) || nxt < self.snd_max();
        if has_more || una == 0 || una >= nxt || deadline == NEVER || self.is_done() {
            return None;
        }
        let recovery_state = self.recovery_state();
        let limit = if recovery_state.flags.contains(Flags::RECOVERY) {
            self.inflate(o)
        } else if u32::from(recovery_state.dupacks) + 1 == THRESHOLD {
            return None;
        } else {
            recovery_state.dupacks = recovery_state.dupacks.saturating_add(1);
            self.limited_transmit(o)
        };
        self.recovery_state.snd_max = limit.max(nxt);
        Some(limit)
    }

    /// Whether this is a duplicate that reports blocks, and nothing else is out of the ordinary than what is missing.
    #[inline(always)]
    pub(super) fn is_usual_report(&self, ack: &Ack) -> bool {
        let is_bare = ack.next == self.una && self.una > 0 && !ack.echo && ack.sack[0].1 > 0;
        is_bare && !self.is(Flags::IGNORE_DUPACKS) && self.try_extensions().is_none() && !self.is_done()
    }

    /// That: a packet more has left the network.
    #[inline(always)]
    pub(super) fn on_usual_report(
        &mut self,
        o: &TcpOptions,
        ack: &Ack,
        now: u64,
        (out, pool): (&mut Vec<Segment>, &mut ColdStatePool),
    ) {
        self.recovery_state();
        let scoreboard = self.scoreboard_from(pool);
        let news = scoreboard.on_sack(&ack.sack);
        if !self.is(Flags::RECOVERY) {
            return self.on_duplicate(o, news, now, out);
        }
        self.scoreboard().counted -= 1;
        match o.scoreboard {
            Scoreboard::Rfc6675 => self.send_by_pipe(o, now, out),
            Scoreboard::Sack1 => self.send_by_counter(o, now, out),
        }
    }

    /// The same, up to the sending, where all the news is one packet, and nothing goes but packets never sent before: the
    /// limit below which these are.
    #[inline(always)]
    pub(crate) fn on_one_more(
        &mut self,
        o: &TcpOptions,
        next: u32,
        sack: &Sack,
        pool: &mut ColdStatePool,
    ) -> Option<u32> {
        let Sender { una, nxt, end, .. } = *self;
        let RecoveryState { snd_max: top, flags, dupacks, .. } = self.recovery_state;
        if next != una || una >= end {
            return None;
        }
        if self.is_open() {
            return self.on_first_report(o, sack, pool);
        }
        let flags = flags.intersection(Flags::RECOVERY.union(Flags::IGNORE_DUPACKS).union(Flags::CWR));
        let scoreboard = self.cold.as_mut().filter(|cold| cold.extensions.is_none())?.scoreboard.as_mut()?;
        let limit = if nxt < top || o.scoreboard != Scoreboard::Sack1 {
            return None;
        } else if flags == Flags::RECOVERY {
            let more = i64::from(self.cwnd as u32) - (scoreboard.counted - 1);
            if !scoreboard.on_sack_of_one(sack, more > 0) {
                return None;
            }
            scoreboard.counted -= 1;
            if more <= 0 {
                return Some(nxt);
            }
            let last = end.min(una.saturating_add(o.receiver_window));
            let limit = nxt.saturating_add(more as u32).min(last).max(nxt);
            scoreboard.counted += i64::from(limit - nxt);
            limit
        } else if flags.is_empty()
            && u32::from(dupacks) + 1 != THRESHOLD
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

    /// That at a sender that was plain before: something is missing now.
    #[inline(never)]
    fn on_first_report(&mut self, o: &TcpOptions, sack: &Sack, pool: &mut ColdStatePool) -> Option<u32> {
        let [(first, end), (_, others), _] = *sack;
        if end != first + 1 || others > 0 {
            return None;
        }
        self.recovery_state().dupacks = 1;
        self.scoreboard_from(pool).on_sack(sack);
        self.recovery_state.snd_max = self.limited_transmit(o);
        Some(self.recovery_state.snd_max)
    }

    /// A packet more has left the network while a hole is repaired without selective acknowledgements: the limit of
    /// what may be sent.
    #[inline(always)]
    fn inflate(&mut self, o: &TcpOptions) -> u32 {
        self.inflation += 1;
        let burst = if o.repair() == Repair::Partial { o.recovery_burst } else { 0 };
        self.limit(o, burst)
    }

    /// Two packets have left the network, perhaps because of a loss: each lets a new one go (RFC 3042). The limit of
    /// what may be sent.
    #[inline(always)]
    fn limited_transmit(&mut self, o: &TcpOptions) -> u32 {
        let nxt = self.nxt;
        let (dupacks, top) = (u32::from(self.recovery_state.dupacks), self.snd_max());
        if dupacks < THRESHOLD && o.limited_transmit && (o.limited_retransmit || nxt == top) {
            let most = (self.cwnd as u32).saturating_add(dupacks).min(o.receiver_window);
            if nxt < self.una.saturating_add(most).min(self.end) {
                self.recovery_state.limited += 1;
                return nxt + 1;
            }
        }
        nxt
    }

    /// Whether a loss here is news: RFC 6582 asks for more than `recover` to be acknowledged, RFC 6675 (5.1)
    /// for `recover` itself; ns-2 repairs any loss whose window was last cut for a mark.
    pub(super) fn is_past_recover(&self, o: &TcpOptions) -> bool {
        let by_rfc6675 = o.sack && o.scoreboard == Scoreboard::Rfc6675;
        let is_marked = o.marks == Marks::Ns2 && self.recovery_state.last_cut == Cut::Mark;
        let is_past = self.recover == 0 || self.una > self.recover;
        if by_rfc6675 { self.una >= self.recover } else { is_past || is_marked }
    }

    #[inline(never)]
    /// Fast retransmit: cut the window, unless this window was already cut for a mark, and repair the
    /// first hole.
    pub(super) fn enter_recovery(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        if self.recovery_state.last_cut == Cut::Mark && self.una <= self.cwr_end {
            self.recovery_state.last_cut = Cut::Loss;
        } else {
            self.reduce(o, Signal::Loss);
            self.note_cut(Cut::Loss);
        }
        if !(o.repair() == Repair::OneHole && o.repeat_fast_retransmit) {
            self.recover = self.cwr_end;
        }
        let recovery_state = self.recovery_state();
        recovery_state.flags.insert(Flags::RECOVERY);
        recovery_state.flags.remove(Flags::PARTIAL);
        recovery_state.limited = 0;
        self.rto.forget();
        self.deadline = o.expiry(now, self.rto.timeout());
        self.emit(o, self.una, now, out);
        if o.sack {
            let (una, flight) = (self.una, self.snd_max() - self.una);
            let scoreboard = self.scoreboard();
            (scoreboard.counted, scoreboard.rescue) = (i64::from(flight) - i64::from(THRESHOLD), una);
            if o.scoreboard == Scoreboard::Rfc6675 {
                scoreboard.forget_retransmissions();
            }
            scoreboard.mark_retransmitted(una);
            if o.scoreboard == Scoreboard::Rfc6675 {
                self.proportion(o, false);
                self.send_allowed(o, 0, now, out);
            }
        } else {
            self.inflation = THRESHOLD;
            self.send_allowed(o, o.recovery_burst, now, out);
        }
    }

    /// Part of what was lost has arrived: repair the next hole.
    pub(super) fn on_partial(&mut self, o: &TcpOptions, acked: u32, now: u64, out: &mut Vec<Segment>) {
        if o.sack {
            self.proportion(o, true);
            self.scoreboard().counted -= 2;
            if o.scoreboard == Scoreboard::Sack1 {
                self.rto.end_back_off(o);
            }
            self.restart_timer(o, now);
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
        if !self.is(Flags::PARTIAL) {
            self.recovery_state().flags.insert(Flags::PARTIAL);
            self.restart_timer(o, now);
        }
        self.emit(o, self.una, now, out);
        if o.marks == Marks::Rfc3168 {
            self.nxt = self.nxt.max(self.una + 1); // ns-2, going back after a time-out, sends it twice
        }
    }

    pub(super) fn leave_recovery(&mut self, o: &TcpOptions) {
        let recovery_state = self.recovery_state();
        recovery_state.flags.remove(Flags::RECOVERY);
        if recovery_state.last_cut == Cut::Loss {
            recovery_state.last_cut = Cut::Nothing;
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
            self.forget_blocks();
        }
    }

    /// Proportional rate reduction: the window that lets this acknowledgement send its share.
    fn proportion(&mut self, o: &TcpOptions, advances: bool) {
        if o.recovery == Recovery::Prr {
            let (nxt, ssthresh) = (self.nxt, self.ssthresh);
            let pipe = self.scoreboard().pipe(nxt);
            let extensions = self.extensions();
            self.cwnd = extensions.prr.window(pipe, ssthresh, extensions.delivered, advances);
        }
    }
}
