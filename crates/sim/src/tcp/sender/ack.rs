//! Processing of ACKs and of the retransmission timer.
//!
//! Most ACKs need little: [`Sender::ack_fast_path`] and [`Sender::sack_fast_path`] handle them up to the
//! transmission of new data, and change nothing if an ACK is not of these kinds. [`Sender::on_ack`] handles
//! any.

use super::{Ack, AckView, ColdStatePool, CongestionEvent, Flags, Segment, Sender};
use crate::tcp::{
    congestion::{self, AckEvent, GrowEvent},
    options::{Exit, Halve, Marks, Recovery, Repair, Scoreboard, TcpOptions},
};
use sojourn_aqm::{Span, Time};

impl Sender {
    /// Process an ACK; what it allows to send is appended to `out`. `initial_window` is called if the ACK may
    /// open the connection.
    #[inline(always)]
    pub(crate) fn on_ack(
        &mut self,
        o: &TcpOptions,
        initial_window: impl FnOnce() -> u32,
        ack: Ack,
        now: Time,
        out: &mut Vec<Segment>,
        pool: &mut ColdStatePool,
    ) {
        let sack = (ack.sack[0].1 > 0).then_some(&ack.sack);
        let view = AckView { next: ack.next, ece: ack.ece, sack, sent: ack.sent, marks: ack.marks };
        if let Some(limit) = self.react(o, initial_window, view, now, out, pool) {
            while let Some(segment) = self.emit_next(limit, now) {
                out.push(segment);
            }
        }
    }

    /// Process an ACK. If it allows nothing but new data: the limit up to which [`Sender::emit_next`] sends
    /// them. Otherwise the segments are appended to `out`.
    #[inline(always)]
    pub(crate) fn react(
        &mut self,
        o: &TcpOptions,
        initial_window: impl FnOnce() -> u32,
        ack: AckView,
        now: Time,
        out: &mut Vec<Segment>,
        pool: &mut ColdStatePool,
    ) -> Option<u32> {
        let limit = match ack.sack {
            _ if ack.ece => None,
            None => self.ack_fast_path(o, ack.next, now),
            Some(sack) => self.sack_fast_path(o, ack.next, sack, pool),
        };
        if limit.is_some() {
            return limit;
        }
        if ack.sack.is_none()
            && !ack.ece
            && let Some(limit) = self.rack_fast_path(o, ack.next, ack.sent, now)
        {
            return Some(limit);
        }
        let sack = ack.sack.copied().unwrap_or_default();
        let ack = Ack { next: ack.next, ece: ack.ece, sack, sent: ack.sent, marks: ack.marks };
        self.ack_general(o, initial_window(), ack, now, out, pool);
        None
    }

    /// Process an ACK that no fast path has handled.
    #[inline(never)]
    pub(super) fn ack_general(
        &mut self,
        o: &TcpOptions,
        initial_window: u32,
        ack: Ack,
        now: Time,
        out: &mut Vec<Segment>,
        pool: &mut ColdStatePool,
    ) {
        if self.is_sack_dupack(&ack) {
            self.on_sack_dupack(o, &ack, now, out, pool);
        } else {
            self.ack_slow_path(o, initial_window, ack, now, out, pool);
        }
    }

    /// Process an ACK without ECE and without SACK blocks if it is one of new data in the open state, or a
    /// duplicate that causes no retransmission. Then [`Sender::emit_next`] sends what it allows, up to the
    /// limit returned. If it is another ACK: `None`, and nothing has changed.
    #[inline(always)]
    pub(crate) fn ack_fast_path(&mut self, o: &TcpOptions, next: u32, now: Time) -> Option<u32> {
        if next == self.una {
            return self.dupack_fast_path(o);
        }
        (self.is_open() && next > self.una && self.una > 0).then(|| self.on_new_ack_open(o, next, now))
    }

    /// An ACK of new data in the open state.
    #[inline(always)]
    fn on_new_ack_open(&mut self, o: &TcpOptions, next: u32, now: Time) -> u32 {
        self.una = next;
        self.rto.on_ack(o, next, now, false);
        self.cwnd = congestion::reno(self.cwnd, self.ssthresh);
        let is_done = next == self.end;
        self.deadline = if is_done { Time::NEVER } else { o.expiry(now, self.rto.timeout()) };
        let window = (self.cwnd as u32).min(o.receiver_window);
        (u64::from(next) + u64::from(window)).min(u64::from(self.end)) as u32
    }

    #[inline(never)]
    fn ack_slow_path(
        &mut self,
        o: &TcpOptions,
        initial_window: u32,
        mut ack: Ack,
        now: Time,
        out: &mut Vec<Segment>,
        pool: &mut ColdStatePool,
    ) {
        if ack.next < self.una || self.is_done() {
            return; // an old ACK
        }
        // In ns-2 the ACK of a SYN has ECE set to negotiate ECN, and the sender takes it for an echo if the
        // SYN was retransmitted.
        let negotiates = o.marks == Marks::Ns2 && self.una == 0 && self.is(Flags::LOST_SYN);
        ack.ece = o.ecn && (ack.ece || negotiates);
        if self.uses_rack() {
            return self.on_ack_rack(o, initial_window, ack, now, out);
        }
        self.recovery_state(); // leaves the open state until `reopen`
        if self.try_extensions().is_some() && !(o.syn && self.una == 0) {
            let rtt = self.rto.sample(ack.next, now);
            self.report_ack(ack.next - self.una, &ack, rtt, now);
        }
        if ack.ece {
            self.on_ece(o, ack.next);
        }
        let is_news = !o.sack || self.update_scoreboard(o, &ack, pool);
        if ack.next > self.una {
            self.on_new_ack(o, initial_window, &ack, now, out);
            self.reopen(pool);
        } else if self.snd_max() > self.una && !self.is(Flags::IGNORE_DUPACKS) {
            self.on_dupack(o, is_news, now, out);
        }
    }

    /// Take the SACK blocks into the scoreboard; returns whether they report a packet for the first time.
    #[inline(never)]
    fn update_scoreboard(&mut self, o: &TcpOptions, ack: &Ack, pool: &mut ColdStatePool) -> bool {
        let in_order = ack.next > self.una && !self.is(Flags::RECOVERY);
        let sacked = self.sacked();
        let is_news = if in_order && o.scoreboard == Scoreboard::Sack1 {
            self.clear_scoreboard();
            true
        } else {
            !self.is(Flags::IGNORE_DUPACKS)
                && ack.sack[0].1 > 0
                && self.scoreboard_from(pool).on_sack(&ack.sack)
        };
        if o.recovery == Recovery::Prr {
            // RFC 6937, section 3.1: DeliveredData is the advance of SND.UNA and the change of SACKed data.
            let below = self.try_scoreboard().map_or(0, |scoreboard| scoreboard.sacked_below(ack.next));
            let delivered = (ack.next - self.una + self.sacked()).saturating_sub(sacked + below);
            self.extensions().delivered = delivered;
        }
        is_news
    }

    /// The retransmission timer expired (RFC 5681, section 3.1; RFC 6298, sections 5.4 to 5.6).
    pub(crate) fn on_timeout(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        if self.uses_rack() {
            return self.on_timer_rack(o, now, out);
        }
        // Nothing is outstanding if the sender was waiting with a window below one packet.
        let nothing_lost = self.una == self.snd_max();
        self.cwnd = self.cwnd.max(1.0);
        self.inflation = 0;
        if !nothing_lost {
            // RFC 5681, section 3.1: ssthresh is kept if the same packet times out again. RFC 3168, section
            // 6.1.2: a window that was reduced for a mark is not reduced again.
            let again = o.halve == Halve::Flight && self.is(Flags::TIMED_OUT);
            let already_reduced = self.recovery_state.last_reduction == Some(CongestionEvent::Mark)
                && (o.marks == Marks::Ns2 || self.una < self.cwr_end);
            self.timeouts += u32::from(!already_reduced || o.marks == Marks::Rfc3168);
            self.recovery_state().flags.insert(Flags::TIMED_OUT);
            if !already_reduced && !again {
                self.set_ssthresh(o, CongestionEvent::Timeout);
                self.cuts += 1;
            }
            if o.syn && self.una == 0 {
                self.recovery_state().flags.insert(Flags::LOST_SYN);
            }
            self.report_timeout(self.nxt, now);
            self.rto.cancel_timing();
            self.rto.back_off(o);
        }
        let recovery_state = self.recovery_state();
        (recovery_state.dupacks, recovery_state.limited) = (0, 0);
        recovery_state.flags.insert(Flags::CWR);
        recovery_state.flags.remove(Flags::RECOVERY);
        recovery_state.flags.set(Flags::IGNORE_DUPACKS, o.sack && o.scoreboard == Scoreboard::Sack1);
        self.note_reduction(CongestionEvent::Timeout);
        self.clear_scoreboard(); // RFC 2018, section 8: the receiver may have discarded SACKed data
        self.go_back_n(o, now, out);
    }

    /// Send again from the first unacknowledged packet on, in slow start. No recovery starts before all that
    /// was sent is acknowledged (RFC 6582, section 3.2, step 4).
    pub(super) fn go_back_n(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        self.cwnd = 1.0;
        self.nxt = self.una;
        self.recover = self.cwr_end;
        self.restart_timer(o, now);
        self.send(o, 0, now, out);
    }

    /// An ACK of new data, in any state.
    fn on_new_ack(
        &mut self,
        o: &TcpOptions,
        initial_window: u32,
        ack: &Ack,
        now: Time,
        out: &mut Vec<Segment>,
    ) {
        let acked = ack.next - self.una;
        let was_syn = o.syn && self.una == 0;
        self.una = ack.next;
        self.nxt = self.nxt.max(ack.next);
        self.advance_scoreboard();
        let una = self.una;
        self.recovery_state().flags.remove(Flags::IGNORE_DUPACKS.union(Flags::TIMED_OUT));
        let mut burst = 0;
        let in_recovery = self.is(Flags::RECOVERY);
        if in_recovery && una < self.recover && o.repair() != Repair::OneHole {
            self.on_partial_ack(o, acked, now, out);
            burst = if o.repair() == Repair::Partial { o.recovery_burst } else { 0 };
        } else {
            if !ack.ece {
                self.recovery_state.flags.remove(Flags::MARKED_AT_ONE);
            }
            self.rto.on_ack(o, una, now, self.is(Flags::MARKED_AT_ONE));
            if in_recovery {
                self.leave_recovery(o);
            }
            let grows = !in_recovery || o.recovery_exit == Exit::Grow && !o.sack;
            self.inflation = 0;
            (self.recovery_state.dupacks, self.recovery_state.limited) = (0, 0);
            if was_syn && self.is(Flags::LOST_SYN) {
                self.cwnd = 1.0; // RFC 5681, section 3.1
                self.rto.after_lost_syn(o);
            } else if was_syn {
                self.cwnd = f64::from(initial_window);
            } else if grows && !ack.ece {
                self.grow(o, acked, true, now);
            }
            self.restart_timer(o, now);
        }
        if self.is_done() {
            return self.restart_timer(o, now);
        }
        self.send_allowed(o, burst, now, out);
    }

    /// Report an ACK to the congestion control; HyStart may end slow start.
    pub(super) fn report_ack(&mut self, packets: u32, ack: &Ack, rtt: Option<Span>, now: Time) {
        let Sender { nxt, cwnd, ssthresh, .. } = *self;
        let is_slow_start = cwnd < ssthresh;
        let has_sack = ack.sack[0].1 > 0;
        let on_the_way_back = now.since(ack.sent);
        let one_way =
            rtt.filter(|_| ack.sent > Time::ZERO).map(|rtt| Span(rtt.0.saturating_sub(on_the_way_back.0)));
        let event = AckEvent {
            packets,
            has_sack,
            marked: ack.marked(packets),
            una: ack.next,
            nxt,
            now,
            rtt,
            one_way,
            cwnd,
            is_slow_start,
        };
        if self.extensions().control.on_ack(&event) {
            self.ssthresh = cwnd;
        }
    }

    /// Increase the window for an ACK of `packets` of new data. `is_limited`: the window limits the sender.
    #[inline]
    pub(super) fn grow(&mut self, o: &TcpOptions, packets: u32, is_limited: bool, now: Time) {
        let Some(extensions) = self.cold.as_mut().and_then(|cold| cold.extensions.as_mut()) else {
            self.cwnd = congestion::reno(self.cwnd, self.ssthresh);
            return;
        };
        if o.variant.grows_itself() {
            return self.grow_itself(packets, is_limited, now);
        }
        if !is_limited {
            return;
        }
        if self.cwnd >= f64::from(o.receiver_window) && !extensions.control.is_reno() {
            return extensions.control.on_app_limited(); // the receiver's window is the limit
        }
        let packets = if o.byte_counting { packets } else { 1 };
        let srtt_ns = self.rto.srtt_ns(o);
        self.cwnd = extensions.control.grow(self.cwnd, self.ssthresh, packets, now, srtt_ns);
    }

    #[inline(never)]
    fn grow_itself(&mut self, packets: u32, is_limited: bool, now: Time) {
        let Sender { cwnd, ssthresh, una, nxt, .. } = *self;
        let packets = f64::from(packets);
        let growth = GrowEvent { now, cwnd, ssthresh, packets, una, nxt, is_limited };
        if let Some(windows) = self.extensions().control.grow_itself(&growth) {
            (self.cwnd, self.ssthresh) = windows;
        }
    }
}
