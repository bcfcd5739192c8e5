//! What an acknowledgement and the timer do to a sender.

use super::{Ack, AckView, ColdStatePool, Cut, Flags, NEVER, Segment, Sender, Signal};
use crate::tcp::{
    congestion::{self, Progress},
    options::{Exit, Halve, Marks, Recovery, Repair, Scoreboard, TcpOptions},
};

impl Sender {
    /// An acknowledgement arrives; what it releases is appended to `out`.
    #[inline(always)]
    pub(crate) fn on_ack(
        &mut self,
        o: &TcpOptions,
        window: impl FnOnce() -> u32,
        ack: Ack,
        now: u64,
        (out, pool): (&mut Vec<Segment>, &mut ColdStatePool),
    ) {
        let view = AckView { next: ack.next, echo: ack.echo, sack: (ack.sack[0].1 > 0).then_some(&ack.sack) };
        if let Some(limit) = self.react(o, window, view, now, (out, pool)) {
            while let Some(segment) = self.emit_next(limit, now) {
                out.push(segment);
            }
        }
    }

    /// An acknowledgement arrives. If it releases nothing but packets never sent before: the limit below which
    /// [`Sender::emit_next`] gives them. Else they are appended to `out`.
    #[inline(always)]
    pub(crate) fn react(
        &mut self,
        o: &TcpOptions,
        window: impl FnOnce() -> u32,
        ack: AckView,
        now: u64,
        (out, pool): (&mut Vec<Segment>, &mut ColdStatePool),
    ) -> Option<u32> {
        let limit = match ack.sack {
            _ if ack.echo => None,
            None => self.on_usual_ack(o, ack.next, now),
            Some(sack) => self.on_one_more(o, ack.next, sack, pool),
        };
        if limit.is_none() {
            let sack = ack.sack.copied().unwrap_or_default();
            self.on_rare_ack(o, window(), Ack { next: ack.next, echo: ack.echo, sack }, now, (out, pool));
        }
        limit
    }

    #[inline(never)]
    fn on_rare_ack(
        &mut self,
        o: &TcpOptions,
        window: u32,
        ack: Ack,
        now: u64,
        (out, pool): (&mut Vec<Segment>, &mut ColdStatePool),
    ) {
        if self.is_usual_report(&ack) {
            self.on_usual_report(o, &ack, now, (out, pool));
        } else {
            self.on_other_ack(o, window, ack, now, (out, pool));
        }
    }

    /// An acknowledgement of all below `next`, which neither echoes a mark nor reports blocks. If it is what nearly
    /// every one is, of something new while nothing is missing, or a duplicate that releases nothing but new packets,
    /// it is dealt with, up to the sending: what [`Sender::emit_next`] gives until there is no more below the limit
    /// returned. If not, it is for [`Sender::on_other_ack`].
    #[inline(always)]
    pub(crate) fn on_usual_ack(&mut self, o: &TcpOptions, next: u32, now: u64) -> Option<u32> {
        if next == self.una {
            return self.on_usual_duplicate(o);
        }
        (self.is_open() && next > self.una && self.una > 0).then(|| self.on_plain(o, next, now))
    }

    /// Of something new, while nothing is missing.
    #[inline(always)]
    fn on_plain(&mut self, o: &TcpOptions, next: u32, now: u64) -> u32 {
        self.una = next;
        self.rto.acknowledged(o, next, now, false);
        self.cwnd = congestion::reno(self.cwnd, self.ssthresh);
        let is_done = next == self.end;
        self.deadline = if is_done { NEVER } else { o.expiry(now, self.rto.timeout()) };
        let window = (self.cwnd as u32).min(o.receiver_window);
        (u64::from(next) + u64::from(window)).min(u64::from(self.end)) as u32
    }

    /// Any acknowledgement; `window`: the initial window for this packet size.
    #[inline(never)]
    fn on_other_ack(
        &mut self,
        o: &TcpOptions,
        window: u32,
        mut ack: Ack,
        now: u64,
        (out, pool): (&mut Vec<Segment>, &mut ColdStatePool),
    ) {
        if ack.next < self.una || self.is_done() {
            return; // old, overtaken by a later one
        }
        // ns-2's answer to a SYN looks like an echo; it is heard only where the SYN had to be repeated.
        let negotiates = o.marks == Marks::Ns2 && self.una == 0 && self.is(Flags::LOST_SYN);
        ack.echo = o.ecn && (ack.echo || negotiates);
        if self.uses_rack() {
            return self.on_ack_rack(o, window, ack, now, out);
        }
        self.recovery_state(); // until it is settled
        let (una, nxt) = (self.una, self.nxt);
        if let Some(extensions) = self.try_extensions_mut() {
            extensions.control.acknowledged(ack.next - una, ack.echo, ack.next, nxt);
        }
        if ack.echo {
            self.on_echo(o, ack.next);
        }
        let news = !o.sack || self.takes_blocks(o, &ack, pool);
        if ack.next > self.una {
            self.on_new(o, window, (ack.next, ack.echo), now, out);
            self.reopen(pool);
        } else if self.snd_max() > self.una && !self.is(Flags::IGNORE_DUPACKS) {
            self.on_duplicate(o, news, now, out);
        }
    }

    #[inline(never)]
    /// Selective acknowledgement: look at the blocks; whether they say something new.
    fn takes_blocks(&mut self, o: &TcpOptions, ack: &Ack, pool: &mut ColdStatePool) -> bool {
        let in_order = ack.next > self.una && !self.is(Flags::RECOVERY);
        let sacked = self.sacked();
        let news = if in_order && o.scoreboard == Scoreboard::Sack1 {
            self.forget_blocks();
            true
        } else {
            !self.is(Flags::IGNORE_DUPACKS)
                && ack.sack[0].1 > 0
                && self.scoreboard_from(pool).on_sack(&ack.sack)
        };
        if o.recovery == Recovery::Prr {
            let below = self.known().map_or(0, |scoreboard| scoreboard.sacked_below(ack.next));
            let delivered = (ack.next - self.una + self.sacked()).saturating_sub(sacked + below);
            self.extensions().delivered = delivered;
        }
        news
    }

    /// The retransmission timer is due.
    pub(crate) fn on_timeout(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        if self.uses_rack() {
            return self.on_timeout_rack(o, now, out);
        }
        let nothing_lost = self.una == self.snd_max(); // the window was below one packet: only waiting was left
        self.cwnd = self.cwnd.max(1.0);
        self.inflation = 0;
        if !nothing_lost {
            // RFC 5681: ssthresh is jitter_until while the same packet times out again; RFC 3168: a window that
            // was cut for a mark is not cut again.
            let again = o.halve == Halve::Flight && self.is(Flags::TIMED_OUT);
            let already_cut = self.recovery_state.last_cut == Cut::Mark
                && (o.marks == Marks::Ns2 || self.una < self.cwr_end);
            self.timeouts += u32::from(!already_cut || o.marks == Marks::Rfc3168);
            self.recovery_state().flags.insert(Flags::TIMED_OUT);
            if !already_cut && !again {
                self.cut_ssthresh(o, Signal::Timeout);
                self.cuts += 1;
            }
            if o.syn && self.una == 0 {
                self.recovery_state().flags.insert(Flags::LOST_SYN);
            }
            self.rto.forget();
            self.rto.back_off(o);
        }
        self.cwnd = 1.0;
        self.nxt = self.una;
        let recovery_state = self.recovery_state();
        (recovery_state.dupacks, recovery_state.limited) = (0, 0);
        recovery_state.flags.insert(Flags::CWR);
        recovery_state.flags.remove(Flags::RECOVERY);
        recovery_state.flags.set(Flags::IGNORE_DUPACKS, o.sack && o.scoreboard == Scoreboard::Sack1);
        self.note_cut(Cut::Timeout);
        self.recover = self.cwr_end;
        self.forget_blocks();
        self.restart_timer(o, now);
        self.send(o, 0, now, out);
    }

    fn on_new(
        &mut self,
        o: &TcpOptions,
        window: u32,
        (next, echo): (u32, bool),
        now: u64,
        out: &mut Vec<Segment>,
    ) {
        let acked = next - self.una;
        let was_syn = o.syn && self.una == 0;
        self.una = next;
        self.nxt = self.nxt.max(next);
        self.advance_scoreboard();
        let una = self.una;
        self.recovery_state().flags.remove(Flags::IGNORE_DUPACKS.union(Flags::TIMED_OUT));
        let mut burst = 0;
        let in_recovery = self.is(Flags::RECOVERY);
        if in_recovery && una < self.recover && o.repair() != Repair::OneHole {
            self.on_partial(o, acked, now, out);
            burst = if o.repair() == Repair::Partial { o.recovery_burst } else { 0 };
        } else {
            if !echo {
                self.recovery_state.flags.remove(Flags::MARKED_AT_ONE);
            }
            self.rto.acknowledged(o, una, now, self.is(Flags::MARKED_AT_ONE));
            if in_recovery {
                self.leave_recovery(o);
            }
            let grows = !in_recovery || o.recovery_exit == Exit::Grow && !o.sack;
            self.inflation = 0;
            (self.recovery_state.dupacks, self.recovery_state.limited) = (0, 0);
            if was_syn && self.is(Flags::LOST_SYN) {
                self.cwnd = 1.0;
                self.rto.after_lost_syn(o);
            } else if was_syn {
                self.cwnd = f64::from(window);
            } else if grows && !echo {
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
    pub(super) fn grow(&mut self, o: &TcpOptions, packets: u32, now: u64) {
        let Some(extensions) = self.cold.as_mut().and_then(|cold| cold.extensions.as_mut()) else {
            self.cwnd = congestion::reno(self.cwnd, self.ssthresh);
            return;
        };
        if self.cwnd >= f64::from(o.receiver_window) && !extensions.control.is_reno() {
            return extensions.control.idle(); // RFC 9438, 5.8: the window is not what limits
        }
        let packets = if o.byte_counting { packets } else { 1 };
        let progress = Progress { packets, now, srtt: self.rto.srtt(o) };
        self.cwnd = extensions.control.grow(self.cwnd, self.ssthresh, progress);
    }
}
