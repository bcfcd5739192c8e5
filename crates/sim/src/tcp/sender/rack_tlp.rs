//! Loss detection by time (RACK-TLP, RFC 8985) as Linux does it: the sender is in one of four phases, sends
//! whenever fewer packets are on their way than the window allows, lost ones first, and so needs no
//! inflation, no limited transmit and no going back.
//!
//! The timer serves three ends: to look again at packets that may only be late, to probe for a lost tail
//! after two round trips without an acknowledgement, and to time out.

use super::{Ack, Flags, NEVER, Segment, Sender, Signal};
use crate::tcp::{
    options::{Recovery, TcpOptions, Timer},
    rack::Rack,
};

/// What the receiver may wait with the acknowledgement of a single packet (WCDelAckT).
const DELAYED: u64 = 200_000_000;
/// Linux adds so many ticks to the short timers.
const SLACK: u64 = 2;

/// How things stand, with Linux's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing was lost or marked lately.
    #[default]
    Open,
    /// The window comes down for a mark.
    Cwr,
    /// It comes down for a loss, and holes are repaired.
    Recovery,
    /// After a time-out.
    Loss,
}

/// What the timer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Due {
    #[default]
    Timeout,
    Probe,
    Reorder,
}

/// A tail loss probe on its way: the end of what was sent then, when it went, and whether it was a copy.
#[derive(Clone, Copy, Debug)]
struct Probe {
    high: u32,
    at: u64,
    is_copy: bool,
}

/// The state of it.
#[derive(Clone, Debug, Default)]
pub(super) struct RackTlp {
    pub(super) rack: Rack,
    pub(super) phase: Phase,
    /// The phase ends once all packets below are acknowledged.
    high: u32,
    due: Due,
    probe: Option<Probe>,
    /// The first hole was just sent again: the time-out starts anew.
    repaired_first: bool,
}

impl RackTlp {
    /// Packet `sequence` leaves.
    pub(super) fn sent(&mut self, sequence: u32, una: u32, now: u64, is_retransmission: bool) {
        self.rack.sent(sequence, now);
        self.repaired_first |= is_retransmission && sequence == una;
    }

    fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Cwr | Phase::Recovery)
    }
}

impl Sender {
    fn rack_tlp(&mut self) -> &mut RackTlp {
        self.extensions().rack_tlp.as_mut().expect("only a sender with RACK comes here")
    }

    #[inline(never)]
    pub(super) fn on_ack_rack(
        &mut self,
        o: &TcpOptions,
        window: u32,
        ack: Ack,
        now: u64,
        out: &mut Vec<Segment>,
    ) {
        let advances = ack.next > self.una;
        let was_syn = advances && o.syn && self.una == 0;
        let flight = self.rack_tlp().rack.pipe();
        let delivery = self.rack_tlp().rack.acknowledge(ack.next, &ack.sack, now);
        self.una = ack.next;
        if let Some(sent) = delivery.sample {
            self.rto.measured(o, sent, now, self.una, self.snd_max());
        }
        let (una, nxt) = (self.una, self.nxt);
        self.extensions().control.acknowledged(delivery.packets, ack.echo, una, nxt);
        self.answer_probe(o, now);
        self.leave_phase();
        let again = self.look_for_losses(o, now, ack.echo);
        let is_safe = advances && !matches!(again, Detection::Lost);
        if was_syn && self.is(Flags::LOST_SYN) {
            self.cwnd = 1.0;
            self.rto.after_lost_syn(o);
        } else if was_syn {
            self.cwnd = f64::from(window);
        } else if self.rack_tlp().is_reducing() {
            self.reduce_cwnd(o, delivery.packets, is_safe);
        } else if advances && !ack.echo && self.is_limited(flight) {
            self.grow(o, delivery.packets, now);
        }
        if self.is_done() {
            self.deadline = NEVER;
            return;
        }
        let before = out.len();
        self.send_rack(o, now, out);
        self.arm(o, now, advances, out.len() > before, again);
    }

    /// The timer is due: what for?
    pub(super) fn on_timeout_rack(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        match self.rack_tlp().due {
            Due::Reorder => {
                let again = self.look_for_losses(o, now, false);
                if self.rack_tlp().is_reducing() {
                    self.reduce_cwnd(o, 1, false);
                }
                self.send_rack(o, now, out);
                self.arm(o, now, true, false, again);
            }
            Due::Probe => self.send_probe(o, now, out),
            Due::Timeout => self.time_out(o, now, out),
        }
    }

    fn time_out(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        self.timeouts += 1;
        let (una, top) = (self.una, self.snd_max());
        if o.syn && una == 0 {
            self.recovery_state().flags.insert(Flags::LOST_SYN);
        }
        let is_first = !self.rto.is_backed_off();
        let rack_tlp = self.rack_tlp();
        let is_news = match rack_tlp.phase {
            Phase::Open => true,
            Phase::Loss => is_first || rack_tlp.high <= una,
            Phase::Cwr | Phase::Recovery => rack_tlp.high <= una,
        };
        rack_tlp.rack.lose_all(now);
        (rack_tlp.phase, rack_tlp.high, rack_tlp.probe) = (Phase::Loss, top, None);
        if is_news {
            self.cut_ssthresh(o, Signal::Timeout);
            self.cuts += 1;
        }
        let flags = &mut self.recovery_state().flags;
        flags.remove(Flags::RECOVERY);
        flags.insert(Flags::CWR);
        self.cwnd = f64::from(self.rack_tlp().rack.pipe()) + 1.0;
        self.rto.back_off(o);
        self.send_rack(o, now, out);
        self.rack_tlp().due = Due::Timeout;
        self.deadline = o.expiry(now, self.rto.timeout());
    }

    /// A lost tail shows by nothing but silence: send one packet more, so that an acknowledgement comes.
    fn send_probe(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        let may_send_new = self.nxt < self.end && self.nxt < self.una.saturating_add(o.receiver_window);
        let last = self.rack_tlp().rack.last();
        if may_send_new {
            self.emit(o, self.nxt, now, out);
            self.nxt += 1;
        } else if let Some(last) = last {
            self.emit(o, last, now, out);
        }
        let high = self.snd_max();
        let rack_tlp = self.rack_tlp();
        rack_tlp.probe = Some(Probe { high, at: now, is_copy: !may_send_new });
        rack_tlp.due = Due::Timeout;
        let sent = rack_tlp.rack.head_sent().unwrap_or(now);
        self.deadline = o.expiry(sent, self.rto.timeout()).max(now + 1);
    }

    /// The probe was acknowledged: if it was a copy and its answer took a round trip, the packet itself had
    /// been lost, which costs a cut (RFC 8985, 7.4; there a duplicate SACK tells).
    fn answer_probe(&mut self, o: &TcpOptions, now: u64) {
        let una = self.una;
        let rack_tlp = self.rack_tlp();
        let Some(probe) = rack_tlp.probe.filter(|probe| una >= probe.high) else { return };
        rack_tlp.probe = None;
        let was_lost = probe.is_copy && rack_tlp.rack.min_rtt().is_some_and(|least| now - probe.at >= least);
        if was_lost && rack_tlp.phase == Phase::Open {
            self.begin(o, Phase::Cwr, Signal::Loss);
            self.cwnd = self.ssthresh;
            self.rack_tlp().phase = Phase::Open;
        }
    }

    /// A phase ends when what was sent before it is acknowledged; after a mark one packet more, so that the
    /// receiver has heard of the cut.
    fn leave_phase(&mut self) {
        let una = self.una;
        let rack_tlp = self.rack_tlp();
        let is_over = match rack_tlp.phase {
            Phase::Open => false,
            Phase::Cwr => una > rack_tlp.high,
            Phase::Recovery | Phase::Loss => una >= rack_tlp.high,
        };
        if is_over {
            if rack_tlp.is_reducing() {
                self.cwnd = self.ssthresh;
            }
            self.rack_tlp().phase = Phase::Open;
            self.recovery_state().flags.remove(Flags::RECOVERY);
        }
    }

    /// Find what is lost by now, and begin to repair it or to answer a mark.
    fn look_for_losses(&mut self, o: &TcpOptions, now: u64, echo: bool) -> Detection {
        let srtt = self.rto.srtt(o);
        let rack_tlp = self.rack_tlp();
        let is_repairing = matches!(rack_tlp.phase, Phase::Recovery | Phase::Loss);
        let (found, again) = rack_tlp.rack.detect(is_repairing, srtt, now);
        match rack_tlp.phase {
            Phase::Open if found > 0 => self.begin(o, Phase::Recovery, Signal::Loss),
            // Already cut for a mark of this window.
            Phase::Cwr if found > 0 => rack_tlp.phase = Phase::Recovery,
            Phase::Open if echo => self.begin(o, Phase::Cwr, Signal::Mark),
            _ => {}
        }
        let in_recovery = self.rack_tlp().phase == Phase::Recovery;
        self.recovery_state().flags.set(Flags::RECOVERY, in_recovery);
        match (found, again) {
            (1.., _) => Detection::Lost,
            (_, Some(at)) => Detection::Again(at),
            _ => Detection::Fine,
        }
    }

    fn begin(&mut self, o: &TcpOptions, phase: Phase, signal: Signal) {
        let (cwnd, top) = (self.cwnd, self.snd_max());
        self.reduce(o, signal);
        // Comes down by and by, or at once.
        self.cwnd = if o.recovery == Recovery::Prr { cwnd } else { self.ssthresh };
        let rack_tlp = self.rack_tlp();
        (rack_tlp.phase, rack_tlp.high, rack_tlp.probe) = (phase, top, None);
    }

    fn reduce_cwnd(&mut self, o: &TcpOptions, delivered: u32, is_safe: bool) {
        let pipe = self.rack_tlp().rack.pipe();
        if o.recovery == Recovery::Window {
            // The first repair goes at once, whatever is on its way (RFC 6675, 5, step 4.3).
            let repairs = self.is(Flags::RECOVERY) && self.extensions().prr.is_silent();
            self.cwnd = if repairs { self.ssthresh.max(f64::from(pipe) + 1.0) } else { self.ssthresh };
        } else if delivered > 0 {
            let ssthresh = self.ssthresh;
            self.cwnd = self.extensions().prr.window(pipe, ssthresh, delivered, is_safe);
        }
    }

    /// Whether the window was what jitter_until the sender back; in slow start half of it may be unused.
    fn is_limited(&self, flight: u32) -> bool {
        let flight = f64::from(flight);
        flight >= libm::floor(self.cwnd) || self.cwnd < self.ssthresh && self.cwnd < 2.0 * flight
    }

    /// Lost packets, then new ones, while the pipe has room.
    #[inline(never)]
    pub(super) fn send_rack(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        let window = self.cwnd as u32;
        if self.rack_tlp().rack.pipe() >= window || self.must_jitter(o, now) {
            return;
        }
        while self.rack_tlp().rack.pipe() < window {
            if let Some(hole) = self.rack_tlp().rack.next_lost() {
                self.emit(o, hole, now, out);
            } else if self.nxt < self.end && self.nxt < self.una.saturating_add(o.receiver_window) {
                self.emit(o, self.nxt, now, out);
                self.nxt += 1;
            } else {
                break;
            }
        }
    }

    /// Set the timer: to look again, to probe, to time out.
    pub(super) fn arm(&mut self, o: &TcpOptions, now: u64, advances: bool, has_sent: bool, look: Detection) {
        if self.una == self.snd_max() {
            self.deadline = NEVER; // nothing is on its way
            return;
        }
        let timeout = self.rto.timeout();
        let srtt = self.rto.srtt(o);
        let is_alone = self.snd_max() - self.una == 1;
        let is_set = self.deadline < NEVER;
        let rack_tlp = self.rack_tlp();
        let restarts = std::mem::take(&mut rack_tlp.repaired_first) || advances;
        let slack = if o.timer == Timer::Linux { SLACK * o.granularity } else { 0 };
        if let Detection::Again(at) = look {
            rack_tlp.due = Due::Reorder;
            self.deadline = o.expiry(now, at.saturating_sub(now) + slack);
            return;
        }
        if !restarts && !has_sent && rack_tlp.due != Due::Reorder && is_set {
            return;
        }
        let since = if restarts { now } else { rack_tlp.rack.head_sent().unwrap_or(now) };
        let may_probe = !matches!(rack_tlp.phase, Phase::Recovery | Phase::Loss);
        let probe = (may_probe && rack_tlp.probe.is_none() && srtt > 0.0).then(|| {
            let wait = 2 * srtt as u64 + if is_alone { DELAYED } else { slack };
            o.expiry(now, wait)
        });
        let expires = o.expiry(since, timeout).max(now + 1);
        match (probe.filter(|probe| *probe < expires), rack_tlp.due) {
            (Some(probe), _) => {
                rack_tlp.due = Due::Probe;
                self.deadline = probe;
            }
            (None, Due::Timeout) if !restarts && is_set => {}
            (None, _) => {
                self.rack_tlp().due = Due::Timeout;
                self.deadline = expires;
            }
        }
    }
}

/// What a look at the packets on their way found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detection {
    Fine,
    /// Some are lost.
    Lost,
    /// Some may be; look again then.
    Again(u64),
}
