//! State that only some options need: a congestion control other than Reno, RACK-TLP, PRR, pacing, send
//! jitter.

use super::{Segment, Sender, rack_tlp::RackTlp};
use crate::tcp::{
    congestion::Control,
    options::{LossDetection, Recovery, TcpOptions},
    pacing::{self, Pacer},
    prr::Prr,
    rate::RateSampler,
};
use sojourn_aqm::{Random, Span, Stream, Time};

#[derive(Clone, Debug)]
pub(super) struct Extensions {
    pub(super) control: Control,
    /// `loss_detection rack`
    pub(super) rack_tlp: Option<RackTlp>,
    /// `recovery prr`
    pub(super) prr: Prr,
    /// Packets that the current ACK delivered (DeliveredData of RFC 6937).
    pub(super) delivered: u32,
    /// `pacing on`
    pub(super) pacer: Option<Pacer>,
    /// For a congestion control that sets the window itself.
    pub(super) sampler: Option<RateSampler>,
    /// Marks that ACKs have reported, with `accurate_ecn` (s.cep of RFC 9768).
    pub(super) marks: u32,
    jitter: SendJitter,
}

/// ns-2's `overhead_`: a random delay before the sender uses the window, against phase effects.
#[derive(Clone, Debug)]
struct SendJitter {
    /// Nothing is sent before.
    until: Option<Time>,
    /// The simulator has not set the timer for `until` yet.
    is_new: bool,
    /// The delay has passed: what the window allows is being sent.
    is_over: bool,
    draws: Stream,
}

impl Extensions {
    /// `None` if the options need none of them.
    pub(super) fn new(o: &TcpOptions, payload: u32, draw: impl Fn(&str) -> Stream) -> Option<Extensions> {
        let control = Control::new(o, payload, &draw);
        let uses_rack = o.loss_detection == LossDetection::Rack;
        let is_needed = !control.is_reno()
            || uses_rack
            || o.recovery != Recovery::Window
            || o.overhead > Span::ZERO
            || o.pacing;
        is_needed.then(|| Extensions {
            sampler: o.variant.samples_rate().then(RateSampler::default),
            marks: 0,
            control,
            rack_tlp: uses_rack.then(RackTlp::default),
            prr: Prr::default(),
            delivered: 0,
            pacer: o.pacing.then(Pacer::default),
            jitter: SendJitter { until: None, is_new: false, is_over: false, draws: draw("overhead") },
        })
    }
}

impl Extensions {
    /// Marks that no ACK before has reported, of `reported` in all. An ACK that was overtaken reports fewer.
    pub(super) fn new_marks(&mut self, reported: u32) -> u32 {
        let marks = reported.max(self.marks);
        marks - std::mem::replace(&mut self.marks, marks)
    }
}

impl Sender {
    /// When to call [`Sender::end_wait`], returned once.
    #[inline]
    pub(crate) fn take_send_timer(&mut self) -> Option<Time> {
        let Extensions { jitter, pacer, .. } = self.try_extensions_mut()?;
        let jittered = core::mem::take(&mut jitter.is_new).then_some(jitter.until).flatten();
        jittered.or_else(|| pacer.as_mut()?.take_timer())
    }

    /// The wait is over: send what the window allows.
    pub(crate) fn end_wait(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        let Extensions { jitter, pacer, .. } = self.extensions();
        if let Some(pacer) = pacer {
            pacer.on_timer();
            return self.send_allowed(o, 0, now, out);
        }
        (jitter.until, jitter.is_over) = (None, true);
        self.send_allowed(o, 0, now, out);
        self.extensions().jitter.is_over = false;
    }

    /// Set the pacing rate for the window of this time.
    pub(super) fn update_pacing(&mut self, o: &TcpOptions) {
        if !o.pacing {
            return;
        }
        let (outstanding, srtt_ns) = (self.snd_max() - self.una, self.rto.srtt_ns(o));
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        let Extensions { control, pacer, .. } = self.extensions();
        if let Some(pacer) = pacer {
            let by_window = || pacing::interval(cwnd, ssthresh, outstanding, srtt_ns);
            pacer.set_interval(control.pacing_interval().unwrap_or_else(by_window));
        }
    }

    /// Whether the next packet must wait for pacing or the delay of `overhead`; starts the wait. Fast
    /// retransmits, retransmissions on partial ACKs, limited transmit and tail loss probes do not wait.
    #[inline]
    pub(super) fn must_wait(&mut self, o: &TcpOptions, now: Time) -> bool {
        if o.overhead == Span::ZERO && !o.pacing {
            return false;
        }
        let Extensions { jitter, pacer, .. } = self.extensions();
        if let Some(pacer) = pacer {
            return pacer.must_wait(now);
        }
        if jitter.is_over {
            return false;
        }
        if jitter.until.is_none() {
            let delay = Span((jitter.draws.uniform() * o.overhead.0 as f64) as u64);
            jitter.until = Some(now + delay);
            jitter.is_new = true;
        }
        true
    }
}
