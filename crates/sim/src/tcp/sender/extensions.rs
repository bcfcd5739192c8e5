//! State that only some options need: a congestion control other than Reno, RACK-TLP, PRR, send jitter.

use super::{Segment, Sender, rack_tlp::RackTlp};
use crate::tcp::{
    congestion::Control,
    options::{LossDetection, Recovery, TcpOptions},
    prr::Prr,
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
    pub(super) fn new(o: &TcpOptions, draw: impl Fn(&str) -> Stream) -> Option<Extensions> {
        let control = Control::new(o);
        let uses_rack = o.loss_detection == LossDetection::Rack;
        let is_needed =
            !control.is_reno() || uses_rack || o.recovery != Recovery::Window || o.overhead > Span::ZERO;
        is_needed.then(|| Extensions {
            control,
            rack_tlp: uses_rack.then(RackTlp::default),
            prr: Prr::default(),
            delivered: 0,
            jitter: SendJitter { until: None, is_new: false, is_over: false, draws: draw("overhead") },
        })
    }
}

impl Sender {
    /// When to call [`Sender::end_jitter`], returned once.
    #[inline]
    pub(crate) fn take_jitter_timer(&mut self) -> Option<Time> {
        let jitter = &mut self.try_extensions_mut()?.jitter;
        core::mem::take(&mut jitter.is_new).then_some(jitter.until).flatten()
    }

    /// The delay has passed: send what the window allows.
    pub(crate) fn end_jitter(&mut self, o: &TcpOptions, now: Time, out: &mut Vec<Segment>) {
        let jitter = &mut self.extensions().jitter;
        (jitter.until, jitter.is_over) = (None, true);
        self.send_allowed(o, 0, now, out);
        self.extensions().jitter.is_over = false;
    }

    /// Whether sending must wait for the delay; starts the delay. As in ns-2, fast retransmits,
    /// retransmissions on partial ACKs and limited transmit do not wait.
    pub(super) fn must_jitter(&mut self, o: &TcpOptions, now: Time) -> bool {
        if o.overhead == Span::ZERO {
            return false;
        }
        let jitter = &mut self.extensions().jitter;
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
