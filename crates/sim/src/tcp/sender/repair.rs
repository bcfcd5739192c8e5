//! How holes are repaired: duplicates, fast retransmit, partial acknowledgements, the end of recovery
//! (RFC 5681, 6582, 6675; ns-2's).

use super::{Ack, Cut, NEVER, Segment, Sender, Signal, Signs, SpareExtras, Trouble};
use crate::{
    net::Sack,
    tcp::{
        board::THRESHOLD,
        options::{Exit, Marks, Recovery, Repair, Scoreboard, TcpOptions},
    },
};

impl Sender {
    #[inline(always)]
    pub(super) fn on_duplicate(&mut self, o: &TcpOptions, news: bool, now: u64, out: &mut Vec<Segment>) {
        if self.is(Signs::RECOVERY) {
            if !o.sack {
                let limit = self.inflate(o);
                return self.send_below(o, limit, now, out);
            }
            self.board().counted -= 1;
            self.proportion(o, false);
            return self.send_allowed(o, 0, now, out);
        }
        if !news {
            return;
        }
        let trouble = self.trouble();
        trouble.dupacks = trouble.dupacks.saturating_add(1);
        let dupacks = u32::from(trouble.dupacks);
        let lost = match (o.sack, o.scoreboard) {
            (true, Scoreboard::Rfc6675) => dupacks >= THRESHOLD || self.board().first_is_lost(),
            _ => dupacks == THRESHOLD,
        };
        if lost && self.is_past_gate(o) {
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
        let has_more = o.sack || self.extra.is_some() || self.is(Signs::CWR) || nxt < self.top();
        if has_more || una == 0 || una >= nxt || deadline == NEVER || self.is_done() {
            return None;
        }
        let trouble = self.trouble();
        let limit = if trouble.signs.contains(Signs::RECOVERY) {
            self.inflate(o)
        } else if u32::from(trouble.dupacks) + 1 == THRESHOLD {
            return None;
        } else {
            trouble.dupacks = trouble.dupacks.saturating_add(1);
            self.limited_transmit(o)
        };
        self.trouble.top = limit.max(nxt);
        Some(limit)
    }

    /// Whether this is a duplicate that reports blocks, and nothing else is out of the ordinary than what is missing.
    #[inline(always)]
    pub(super) fn is_usual_report(&self, ack: &Ack) -> bool {
        let is_bare = ack.next == self.una && self.una > 0 && !ack.echo && ack.sack[0].1 > 0;
        is_bare && !self.is(Signs::DEAF) && self.specially().is_none() && !self.is_done()
    }

    /// That: a packet more has left the network.
    #[inline(always)]
    pub(super) fn on_usual_report(
        &mut self,
        o: &TcpOptions,
        ack: &Ack,
        now: u64,
        (out, spare): (&mut Vec<Segment>, &mut SpareExtras),
    ) {
        self.trouble();
        let board = self.board_of(spare);
        let news = board.report(&ack.sack);
        if !self.is(Signs::RECOVERY) {
            return self.on_duplicate(o, news, now, out);
        }
        self.board().counted -= 1;
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
        spare: &mut SpareExtras,
    ) -> Option<u32> {
        let Sender { una, nxt, end, .. } = *self;
        let Trouble { top, signs, dupacks, .. } = self.trouble;
        if next != una || una >= end {
            return None;
        }
        if self.is_plain() {
            return self.on_first_report(o, sack, spare);
        }
        let signs = signs.intersection(Signs::RECOVERY.union(Signs::DEAF).union(Signs::CWR));
        let board = self.extra.as_mut().filter(|extra| extra.special.is_none())?.board.as_mut()?;
        let limit = if nxt < top || o.scoreboard != Scoreboard::Sack1 {
            return None;
        } else if signs == Signs::RECOVERY {
            let more = i64::from(self.cwnd as u32) - (board.counted - 1);
            if !board.report_one(sack, more > 0) {
                return None;
            }
            board.counted -= 1;
            if more <= 0 {
                return Some(nxt);
            }
            let last = end.min(una.saturating_add(o.receiver_window));
            let limit = nxt.saturating_add(more as u32).min(last).max(nxt);
            board.counted += i64::from(limit - nxt);
            limit
        } else if signs.is_empty() && u32::from(dupacks) + 1 != THRESHOLD && board.report_one(sack, false) {
            self.trouble.dupacks = dupacks.saturating_add(1);
            self.limited_transmit(o)
        } else {
            return None;
        };
        self.trouble.top = limit;
        Some(limit)
    }

    /// That at a sender that was plain before: something is missing now.
    #[inline(never)]
    fn on_first_report(&mut self, o: &TcpOptions, sack: &Sack, spare: &mut SpareExtras) -> Option<u32> {
        let [(first, end), (_, others), _] = *sack;
        if end != first + 1 || others > 0 {
            return None;
        }
        self.trouble().dupacks = 1;
        self.board_of(spare).report(sack);
        self.trouble.top = self.limited_transmit(o);
        Some(self.trouble.top)
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
        let (dupacks, top) = (u32::from(self.trouble.dupacks), self.top());
        if dupacks < THRESHOLD && o.limited_transmit && (o.limited_retransmit || nxt == top) {
            let most = (self.cwnd as u32).saturating_add(dupacks).min(o.receiver_window);
            if nxt < self.una.saturating_add(most).min(self.end) {
                self.trouble.limited += 1;
                return nxt + 1;
            }
        }
        nxt
    }

    /// Whether a loss here is news: RFC 6582 asks for more than `gate` to be acknowledged, RFC 6675 (5.1)
    /// for `gate` itself; ns-2 repairs any loss whose window was last cut for a mark.
    pub(super) fn is_past_gate(&self, o: &TcpOptions) -> bool {
        let by_rfc6675 = o.sack && o.scoreboard == Scoreboard::Rfc6675;
        let is_marked = o.marks == Marks::Ns2 && self.trouble.last_cut == Cut::Mark;
        let is_past = self.gate == 0 || self.una > self.gate;
        if by_rfc6675 { self.una >= self.gate } else { is_past || is_marked }
    }

    #[inline(never)]
    /// Fast retransmit: cut the window, unless this window was already cut for a mark, and repair the
    /// first hole.
    pub(super) fn enter_recovery(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        if self.trouble.last_cut == Cut::Mark && self.una <= self.cut_until {
            self.trouble.last_cut = Cut::Loss;
        } else {
            self.reduce(o, Signal::Loss);
            self.note_cut(Cut::Loss);
        }
        if !(o.repair() == Repair::OneHole && o.repeat_fast_retransmit) {
            self.gate = self.cut_until;
        }
        let trouble = self.trouble();
        trouble.signs.insert(Signs::RECOVERY);
        trouble.signs.remove(Signs::PARTIAL);
        trouble.limited = 0;
        self.rto.forget();
        self.deadline = o.expiry(now, self.rto.timeout());
        self.emit(o, self.una, now, out);
        if o.sack {
            let (una, flight) = (self.una, self.top() - self.una);
            let board = self.board();
            (board.counted, board.rescue) = (i64::from(flight) - i64::from(THRESHOLD), una);
            if o.scoreboard == Scoreboard::Rfc6675 {
                board.forget_retransmissions();
            }
            board.retransmitted(una);
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
            self.board().counted -= 2;
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
        if !self.is(Signs::PARTIAL) {
            self.trouble().signs.insert(Signs::PARTIAL);
            self.restart_timer(o, now);
        }
        self.emit(o, self.una, now, out);
        if o.marks == Marks::Rfc3168 {
            self.nxt = self.nxt.max(self.una + 1); // ns-2, going back after a time-out, sends it twice
        }
    }

    pub(super) fn leave_recovery(&mut self, o: &TcpOptions) {
        let trouble = self.trouble();
        trouble.signs.remove(Signs::RECOVERY);
        if trouble.last_cut == Cut::Loss {
            trouble.last_cut = Cut::Nothing;
        }
        if o.recovery_exit == Exit::Deflate {
            self.cwnd = match o.repair() {
                Repair::Sack if o.recovery == Recovery::Prr => self.ssthresh,
                Repair::Partial => self.ssthresh.min(f64::from((self.nxt - self.una).max(1)) + 1.0),
                Repair::OneHole | Repair::Sack => self.ssthresh.min(self.cwnd.max(1.0)),
            };
        }
        if o.sack && o.scoreboard == Scoreboard::Sack1 {
            (self.gate, self.cut_until) = (0, 0);
            self.forget_blocks();
        }
    }

    /// Proportional rate reduction: the window that lets this acknowledgement send its share.
    fn proportion(&mut self, o: &TcpOptions, advances: bool) {
        if o.recovery == Recovery::Prr {
            let (nxt, ssthresh) = (self.nxt, self.ssthresh);
            let pipe = self.board().pipe(nxt);
            let special = self.special();
            self.cwnd = special.prr.window(pipe, ssthresh, special.delivered, advances);
        }
    }
}
