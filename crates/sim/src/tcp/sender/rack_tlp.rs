//! Loss recovery with RACK-TLP (RFC 8985), as in Linux: the sender is in one of the states of `tcp_ca_state`
//! and sends while fewer packets are in flight than the window allows, lost packets first. It needs no
//! inflation, no limited transmit and no go-back-N.
//!
//! One timer has three uses, as Linux's `icsk_pending`: the retransmission timeout, the tail loss probe
//! (section 7) and the reordering timer (section 6.2, step 5).

use super::{Ack, CongestionEvent, Extensions, Flags, Segment, Sender, model::AckedFlight};
use crate::tcp::{
    congestion::Phase,
    options::{Recovery, TcpOptions, Timer},
    rack::{Detected, Rack},
};
use sojourn_aqm::{Span, Time};

/// TLP.max_ack_delay (section 7.2): how long a receiver may delay the ACK of a single packet.
const MAX_ACK_DELAY: Span = Span::from_millis(200);
/// Ticks that Linux adds to the probe and reordering timers (TCP_TIMEOUT_MIN).
const TIMEOUT_MIN_TICKS: u64 = 2;

/// What the timer is set for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pending {
    #[default]
    Rto,
    LossProbe,
    ReoTimeout,
}

/// A tail loss probe that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct LossProbe {
    /// snd_max after the probe (TLP.end_seq).
    high_seq: u32,
    sent: Time,
    /// TLP.is_retrans
    is_retransmission: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RackTlp {
    pub(super) rack: Rack,
    pub(super) ca_state: Phase,
    /// snd_max when the state was entered; its acknowledgement ends the state.
    high_seq: u32,
    pending: Pending,
    probe: Option<LossProbe>,
    /// The first unacknowledged packet was just retransmitted, which restarts the retransmission timer.
    head_retransmitted: bool,
}

impl RackTlp {
    pub(super) fn on_send(&mut self, sequence: u32, una: u32, now: Time, is_retransmission: bool) {
        self.rack.on_send(sequence, now);
        self.head_retransmitted |= is_retransmission && sequence == una;
    }

    /// Linux: tcp_in_cwnd_reduction.
    fn in_cwnd_reduction(&self) -> bool {
        matches!(self.ca_state, Phase::Cwr | Phase::Recovery)
    }
}

/// The result of loss detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossCheck {
    None,
    Lost,
    /// Packets may be lost: check again at this time.
    ReoTimeout(Time),
}

impl Sender {
    fn rack_tlp(&mut self) -> &mut RackTlp {
        self.extensions().rack_tlp.as_mut().expect("called only with loss_detection rack")
    }

    /// Process an ACK without ECE and without SACK blocks if it is one of new data while no packet is known
    /// to be missing and nothing has to be announced: see [`Sender::ack_fast_path`].
    #[inline(never)]
    pub(super) fn rack_fast_path(&mut self, o: &TcpOptions, next: u32, sent: Time, now: Time) -> Option<u32> {
        let Sender { una, nxt, end, .. } = *self;
        let extensions = self.cold.as_deref_mut()?.extensions.as_deref_mut()?;
        let rack_tlp = extensions.rack_tlp.as_mut()?;
        let is_open = rack_tlp.ca_state == Phase::Open
            && rack_tlp.probe.is_none()
            && !rack_tlp.head_retransmitted
            && rack_tlp.rack.is_clean()
            && !self.recovery_state.flags.contains(Flags::CWR);
        let is_news = 0 < una && una < next && next <= nxt && next < end;
        if !is_open || !is_news || o.overhead > Span::ZERO || o.pacing || o.accurate_ecn {
            return None;
        }
        let delivery = rack_tlp.rack.on_clean_ack(next, now);
        self.una = next;
        if let Some(sent) = delivery.sample {
            self.rto.on_rtt_sample(o, sent, now, next, nxt);
        }
        let ack = Ack { next, sent, ..Ack::default() };
        self.report_ack(delivery.packets, &ack, delivery.latest.map(|sent| now - sent), now);
        let is_limited = self.is_cwnd_limited(o, nxt - una);
        self.grow(o, delivery.packets, is_limited, now);
        let window = (self.cwnd as u32).min(o.receiver_window);
        let limit = next.saturating_add(window).min(end).max(nxt);
        if limit > nxt {
            self.recovery_state.snd_max = limit;
            let extensions = self.extensions();
            extensions.control.on_send(now, next == nxt);
            if let Some(rack_tlp) = &mut extensions.rack_tlp {
                for sequence in nxt..limit {
                    extensions.prr.on_send();
                    rack_tlp.rack.on_send(sequence, now);
                }
            }
        }
        self.arm_timer(o, now, true, limit > nxt, LossCheck::None);
        Some(limit)
    }

    #[inline(never)]
    pub(super) fn on_ack_rack(
        &mut self,
        o: &TcpOptions,
        initial_window: u32,
        mut ack: Ack,
        now: Time,
        out: &mut Vec<Segment>,
    ) {
        if o.accurate_ecn {
            ack.marks = self.extensions().new_marks(ack.marks);
            ack.ece = o.ecn && ack.marks > 0;
        }
        let advances = ack.next > self.una;
        let was_syn = advances && o.syn && self.una == 0;
        let prior_in_flight = self.rack_tlp().rack.pipe();
        let prior_lost = self.rack_tlp().rack.lost();
        let delivery = self.rack_tlp().rack.on_ack(ack.next, &ack.sack, now);
        self.una = ack.next;
        if let Some(sent) = delivery.sample {
            self.rto.on_rtt_sample(o, sent, now, self.una, self.snd_max());
        }
        if !was_syn {
            let rtt = delivery.latest.map(|sent| now - sent);
            self.report_ack(delivery.packets, &ack, rtt, now);
        }
        self.process_probe_ack(o, now);
        self.try_to_open(o);
        let losses = self.detect_losses(o, now, ack.ece);
        let is_safe_ack = advances && losses != LossCheck::Lost;
        if was_syn && self.is(Flags::LOST_SYN) {
            self.cwnd = 1.0; // RFC 5681, section 3.1
            self.rto.after_lost_syn(o);
        } else if was_syn {
            self.cwnd = f64::from(initial_window);
        } else if o.variant.sets_window() {
            // below
        } else if self.rack_tlp().in_cwnd_reduction() {
            self.reduce_cwnd(o, delivery.packets, is_safe_ack);
        } else if advances && !ack.ece {
            let is_limited = self.is_cwnd_limited(o, prior_in_flight);
            self.grow(o, delivery.packets, is_limited, now);
        }
        if o.variant.sets_window() {
            self.apply_model(o, &AckedFlight { delivery, prior_in_flight, prior_lost }, was_syn, now);
        } else if was_syn {
            self.open_control(o, now);
        }
        if self.is_done() {
            self.deadline = Time::NEVER;
            return;
        }
        let before = out.len();
        self.update_pacing(o);
        self.send_rack(o, now, out);
        self.arm_timer(o, now, advances, out.len() > before, losses);
    }

    /// The timer expired.
    pub(super) fn on_timer_rack(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        match self.rack_tlp().pending {
            Pending::ReoTimeout => {
                let losses = self.detect_losses(o, now, false);
                if self.rack_tlp().in_cwnd_reduction() && !o.variant.sets_window() {
                    self.reduce_cwnd(o, 1, false);
                }
                self.send_rack(o, now, out);
                self.arm_timer(o, now, true, false, losses);
            }
            Pending::LossProbe => self.send_probe(o, now, out),
            Pending::Rto => self.enter_loss(o, now, out),
        }
    }

    /// The retransmission timeout (Linux: tcp_enter_loss).
    fn enter_loss(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        self.timeouts += 1;
        let (una, snd_max) = (self.una, self.snd_max());
        if o.syn && una == 0 {
            self.recovery_state().flags.insert(Flags::LOST_SYN);
        }
        let is_first = !self.rto.is_backed_off();
        let rack_tlp = self.rack_tlp();
        // The window is reduced once per window of data, and not again for repeated timeouts.
        let reduces = match rack_tlp.ca_state {
            Phase::Open => true,
            Phase::Loss => is_first || rack_tlp.high_seq <= una,
            Phase::Cwr | Phase::Recovery => rack_tlp.high_seq <= una,
        };
        rack_tlp.rack.mark_losses_on_rto(now);
        (rack_tlp.ca_state, rack_tlp.high_seq, rack_tlp.probe) = (Phase::Loss, snd_max, None);
        if reduces {
            self.set_ssthresh(o, CongestionEvent::Timeout);
            self.cuts += 1;
        }
        self.report_timeout(snd_max, now);
        self.extensions().control.on_phase(Phase::Loss, snd_max);
        let flags = &mut self.recovery_state().flags;
        flags.remove(Flags::RECOVERY);
        flags.insert(Flags::CWR);
        self.cwnd = f64::from(self.rack_tlp().rack.pipe()) + 1.0;
        self.rto.back_off(o);
        self.send_rack(o, now, out);
        self.rack_tlp().pending = Pending::Rto;
        self.deadline = o.expiry(now, self.rto.timeout());
    }

    /// TLP_send_probe (section 7.3): new data if allowed, otherwise the last packet again, to elicit an ACK
    /// that shows a lost tail.
    fn send_probe(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        let may_send_new = self.nxt < self.end && self.nxt < self.una.saturating_add(o.receiver_window);
        let tail = self.rack_tlp().rack.tail();
        if may_send_new {
            self.emit(o, self.nxt, now, out);
            self.nxt += 1;
        } else if let Some(tail) = tail {
            self.emit(o, tail, now, out);
        }
        let high_seq = self.snd_max();
        let rack_tlp = self.rack_tlp();
        rack_tlp.probe = Some(LossProbe { high_seq, sent: now, is_retransmission: !may_send_new });
        rack_tlp.pending = Pending::Rto;
        let head_sent = rack_tlp.rack.head_sent().unwrap_or(now);
        self.deadline = o.expiry(head_sent, self.rto.timeout()).max(now + Span(1));
    }

    /// TLP_process_ack (section 7.4): if the probe repaired a loss, reduce the window. The RFC knows that the
    /// original arrived by a DSACK; here, by an ACK less than the minimum RTT after the probe.
    fn process_probe_ack(&mut self, o: &TcpOptions, now: Time) {
        let una = self.una;
        let rack_tlp = self.rack_tlp();
        let Some(probe) = rack_tlp.probe.filter(|probe| una >= probe.high_seq) else { return };
        rack_tlp.probe = None;
        let repaired_loss = probe.is_retransmission
            && rack_tlp.rack.min_rtt().is_some_and(|min_rtt| now - probe.sent >= min_rtt);
        if repaired_loss && rack_tlp.ca_state == Phase::Open {
            self.enter(o, Phase::Cwr, CongestionEvent::Loss);
            self.finish_reduction(o);
            self.set_phase(Phase::Open);
        }
    }

    /// Return to Open if all data sent before the state are acknowledged; after a mark one packet more, so
    /// that the receiver has seen CWR.
    fn try_to_open(&mut self, o: &TcpOptions) {
        let una = self.una;
        let rack_tlp = self.rack_tlp();
        let is_over = match rack_tlp.ca_state {
            Phase::Open => false,
            Phase::Cwr => una > rack_tlp.high_seq,
            Phase::Recovery | Phase::Loss => una >= rack_tlp.high_seq,
        };
        if is_over {
            if rack_tlp.in_cwnd_reduction() {
                self.finish_reduction(o);
            }
            self.set_phase(Phase::Open);
            self.recovery_state().flags.remove(Flags::RECOVERY);
        }
    }

    /// Detect losses, and enter the state for a loss or a mark.
    fn detect_losses(&mut self, o: &TcpOptions, now: Time, ece: bool) -> LossCheck {
        let srtt_ns = self.rto.srtt_ns(o);
        let rack_tlp = self.rack_tlp();
        let is_recovering = matches!(rack_tlp.ca_state, Phase::Recovery | Phase::Loss);
        let Detected { lost, reo_timeout } = rack_tlp.rack.detect_loss(is_recovering, srtt_ns, now);
        match rack_tlp.ca_state {
            Phase::Open if lost > 0 => self.enter(o, Phase::Recovery, CongestionEvent::Loss),
            // Already reduced for a mark in this window of data.
            Phase::Cwr if lost > 0 => self.set_phase(Phase::Recovery),
            Phase::Open if ece => self.enter(o, Phase::Cwr, CongestionEvent::Mark),
            _ => {}
        }
        let in_recovery = self.rack_tlp().ca_state == Phase::Recovery;
        self.recovery_state().flags.set(Flags::RECOVERY, in_recovery);
        match (lost, reo_timeout) {
            (1.., _) => LossCheck::Lost,
            (_, Some(at)) => LossCheck::ReoTimeout(at),
            _ => LossCheck::None,
        }
    }

    fn enter(&mut self, o: &TcpOptions, ca_state: Phase, event: CongestionEvent) {
        let (cwnd, snd_max) = (self.cwnd, self.snd_max());
        self.reduce(o, event);
        // PRR reduces the window with the ACKs that follow.
        self.cwnd = if o.recovery == Recovery::Prr || o.variant.sets_window() { cwnd } else { self.ssthresh };
        self.set_phase(ca_state);
        let rack_tlp = self.rack_tlp();
        (rack_tlp.high_seq, rack_tlp.probe) = (snd_max, None);
    }

    /// Linux: tcp_set_ca_state.
    fn set_phase(&mut self, phase: Phase) {
        let snd_max = self.snd_max();
        let Extensions { rack_tlp: Some(rack_tlp), control, .. } = self.extensions() else { return };
        rack_tlp.ca_state = phase;
        control.on_phase(phase, snd_max);
    }

    /// The end of a reduction (Linux: tcp_end_cwnd_reduction).
    fn finish_reduction(&mut self, o: &TcpOptions) {
        if !o.variant.sets_window() {
            self.ssthresh = self.extensions().control.on_recovered().unwrap_or(self.ssthresh);
            self.cwnd = self.ssthresh;
        }
    }

    /// Linux: tcp_cwnd_reduction.
    fn reduce_cwnd(&mut self, o: &TcpOptions, delivered: u32, is_safe_ack: bool) {
        let pipe = self.rack_tlp().rack.pipe();
        if o.recovery == Recovery::Window {
            // RFC 6675, section 5, step 4.3: the first retransmission does not depend on pipe.
            let is_first = self.is(Flags::RECOVERY) && !self.extensions().prr.has_sent();
            self.cwnd = if is_first { self.ssthresh.max(f64::from(pipe) + 1.0) } else { self.ssthresh };
        } else if delivered > 0 {
            let ssthresh = self.ssthresh;
            self.cwnd = self.extensions().prr.cwnd(pipe, ssthresh, delivered, is_safe_ack);
        }
    }

    /// Linux: tcp_is_cwnd_limited; in slow start half of the window may be unused.
    #[inline]
    pub(super) fn is_cwnd_limited(&self, o: &TcpOptions, in_flight: u32) -> bool {
        if o.pacing
            && let Some(pacer) = self.try_extensions().and_then(|extensions| extensions.pacer.as_ref())
        {
            return pacer.window.limits(self.cwnd, self.ssthresh);
        }
        let in_flight = f64::from(in_flight);
        in_flight >= f64::from(self.cwnd as u32) || self.cwnd < self.ssthresh && self.cwnd < 2.0 * in_flight
    }

    /// Send lost packets, then new data, while pipe is below the window.
    #[inline(never)]
    pub(super) fn send_rack(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        let (window, before) = (self.cwnd as u32, out.len());
        while self.rack_tlp().rack.pipe() < window && !self.must_wait(o, now) {
            if let Some(lost) = self.rack_tlp().rack.next_lost() {
                self.emit(o, lost, now, out);
            } else if self.nxt < self.end && self.nxt < self.una.saturating_add(o.receiver_window) {
                self.emit(o, self.nxt, now, out);
                self.nxt += 1;
            } else {
                break;
            }
        }
        if o.pacing {
            self.note_window_use(o, window, out.len() > before);
        }
    }

    #[inline(never)]
    fn note_window_use(&mut self, o: &TcpOptions, window: u32, has_sent: bool) {
        let (una, snd_max) = (self.una, self.snd_max());
        let unused = window.saturating_sub(self.rack_tlp().rack.pipe());
        let may_send = self.end.min(una.saturating_add(o.receiver_window)).saturating_sub(self.nxt);
        // What waits for pacing in the host's queue counts as in flight.
        let is_limited = unused == 0 || o.variant.is_paced_by_queue() && may_send >= unused;
        if let Some(pacer) = &mut self.extensions().pacer
            && (has_sent || is_limited)
        {
            pacer.window.on_sent(una, snd_max, is_limited);
        }
    }

    /// Set the timer: the reordering timer if packets may be lost, the probe if it comes before the timeout
    /// (section 7.2), otherwise the timeout. `restarts`: the ACK acknowledged new data (RFC 6298, section
    /// 5.3).
    pub(super) fn arm_timer(
        &mut self,
        o: &TcpOptions,
        now: Time,
        restarts: bool,
        has_sent: bool,
        losses: LossCheck,
    ) {
        if self.una == self.snd_max() {
            self.deadline = Time::NEVER; // nothing is in flight
            return;
        }
        let timeout = self.rto.timeout();
        let srtt_ns = self.rto.srtt_ns(o);
        let flight_is_one = self.snd_max() - self.una == 1;
        let is_set = self.deadline < Time::NEVER;
        let rack_tlp = self.rack_tlp();
        let restarts = std::mem::take(&mut rack_tlp.head_retransmitted) || restarts;
        let slack = if o.timer == Timer::Linux { o.granularity * TIMEOUT_MIN_TICKS } else { Span::ZERO };
        if let LossCheck::ReoTimeout(at) = losses {
            rack_tlp.pending = Pending::ReoTimeout;
            self.deadline = o.expiry(now, at.since(now) + slack);
            return;
        }
        if !restarts && !has_sent && rack_tlp.pending != Pending::ReoTimeout && is_set {
            return;
        }
        let from = if restarts { now } else { rack_tlp.rack.head_sent().unwrap_or(now) };
        let may_probe = !matches!(rack_tlp.ca_state, Phase::Recovery | Phase::Loss);
        let probe = (may_probe && rack_tlp.probe.is_none() && srtt_ns > 0.0).then(|| {
            let allowance = if flight_is_one { MAX_ACK_DELAY } else { slack };
            o.expiry(now, Span(srtt_ns as u64) * 2 + allowance)
        });
        let expires = o.expiry(from, timeout).max(now + Span(1));
        match (probe.filter(|probe| *probe < expires), rack_tlp.pending) {
            (Some(probe), _) => {
                rack_tlp.pending = Pending::LossProbe;
                self.deadline = probe;
            }
            (None, Pending::Rto) if !restarts && is_set => {}
            (None, _) => {
                self.rack_tlp().pending = Pending::Rto;
                self.deadline = expires;
            }
        }
    }
}
