//! What few senders need: windows that grow otherwise than Reno's, loss detection by time, proportional rate
//! reduction, waits before sending.

use super::{Segment, Sender, rack_tlp::RackTlp};
use crate::tcp::{
    congestion::Control,
    options::{LossDetection, Recovery, TcpOptions},
    prr::Prr,
};
use sojourn_aqm::{Random, Stream};

/// The state of it.
#[derive(Clone, Debug)]
pub(super) struct Extensions {
    pub(super) control: Control,
    /// Loss detection by time (`loss_detection rack`).
    pub(super) rack_tlp: Option<RackTlp>,
    /// How the window is brought down in recovery (`recovery prr`), and what this acknowledgement delivered.
    pub(super) prr: Prr,
    pub(super) delivered: u32,
    /// Until when nothing is sent (`overhead`), whether that is news, how long the waits are.
    jitter_until: Option<u64>,
    is_jitter_new: bool,
    jitter_draws: Stream,
    /// The wait is over.
    jitter_is_over: bool,
}

impl Extensions {
    /// `None` if the options ask for nothing of it.
    pub(super) fn new(o: &TcpOptions, draw: impl Fn(&str) -> Stream) -> Option<Extensions> {
        let control = Control::new(o);
        let uses_rack = o.loss_detection == LossDetection::Rack;
        let is_open = control.is_reno() && !uses_rack && o.recovery == Recovery::Window && o.overhead == 0;
        (!is_open).then(|| Extensions {
            control,
            rack_tlp: uses_rack.then(RackTlp::default),
            prr: Prr::default(),
            delivered: 0,
            jitter_until: None,
            is_jitter_new: false,
            jitter_draws: draw("overhead"),
            jitter_is_over: false,
        })
    }
}

impl Sender {
    /// When to call [`Sender::end_jitter`], if that was not told yet.
    #[inline]
    pub(crate) fn take_jitter_timer(&mut self) -> Option<u64> {
        let extensions = self.try_extensions_mut()?;
        core::mem::take(&mut extensions.is_jitter_new).then_some(extensions.jitter_until).flatten()
    }

    /// The wait is over: send all that is allowed by now.
    pub(crate) fn end_jitter(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        (self.extensions().jitter_until, self.extensions().jitter_is_over) = (None, true);
        self.send_allowed(o, 0, now, out);
        self.extensions().jitter_is_over = false;
    }

    /// Whether what the window allows must wait; begins the wait. Fast retransmissions, repairs by partial
    /// acknowledgements and limited transmit do not ask, as in ns-2.
    pub(super) fn must_jitter(&mut self, o: &TcpOptions, now: u64) -> bool {
        if o.overhead == 0 {
            return false;
        }
        let extensions = self.extensions();
        if extensions.jitter_is_over {
            return false;
        }
        if extensions.jitter_until.is_none() {
            extensions.jitter_until =
                Some(now + (extensions.jitter_draws.uniform() * o.overhead as f64) as u64);
            extensions.is_jitter_new = true;
        }
        true
    }
}
