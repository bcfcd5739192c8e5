//! What few senders need: windows that grow otherwise than Reno's, loss detection by time, proportional rate
//! reduction, waits before sending.

use super::{Segment, Sender, timed::Timed};
use crate::tcp::{
    congestion::Control,
    options::{LossDetection, Recovery, TcpOptions},
    prr::Prr,
};
use sojourn_aqm::{Random, Stream};

/// The state of it.
#[derive(Clone, Debug)]
pub(super) struct Special {
    pub(super) control: Control,
    /// Loss detection by time (`loss_detection rack`).
    pub(super) timed: Option<Timed>,
    /// How the window is brought down in recovery (`recovery prr`), and what this acknowledgement delivered.
    pub(super) prr: Prr,
    pub(super) delivered: u32,
    /// Until when nothing is sent (`overhead`), whether that is news, how long the waits are.
    held: Option<u64>,
    is_hold_new: bool,
    holds: Stream,
    /// The wait is over.
    is_released: bool,
}

impl Special {
    /// `None` if the options ask for nothing of it.
    pub(super) fn new(o: &TcpOptions, draw: impl Fn(&str) -> Stream) -> Option<Special> {
        let control = Control::new(o);
        let is_timed = o.loss_detection == LossDetection::Rack;
        let is_plain = control.is_reno() && !is_timed && o.recovery == Recovery::Window && o.overhead == 0;
        (!is_plain).then(|| Special {
            control,
            timed: is_timed.then(Timed::default),
            prr: Prr::default(),
            delivered: 0,
            held: None,
            is_hold_new: false,
            holds: draw("overhead"),
            is_released: false,
        })
    }
}

impl Sender {
    /// When to call [`Sender::release`], if that was not told yet.
    #[inline]
    pub(crate) fn take_hold(&mut self) -> Option<u64> {
        let special = self.specially_mut()?;
        core::mem::take(&mut special.is_hold_new).then_some(special.held).flatten()
    }

    /// The wait is over: send all that is allowed by now.
    pub(crate) fn release(&mut self, o: &TcpOptions, now: u64, out: &mut Vec<Segment>) {
        (self.special().held, self.special().is_released) = (None, true);
        self.send_allowed(o, 0, now, out);
        self.special().is_released = false;
    }

    /// Whether what the window allows must wait; begins the wait. Fast retransmissions, repairs by partial
    /// acknowledgements and limited transmit do not ask, as in ns-2.
    pub(super) fn holds_back(&mut self, o: &TcpOptions, now: u64) -> bool {
        if o.overhead == 0 {
            return false;
        }
        let special = self.special();
        if special.is_released {
            return false;
        }
        if special.held.is_none() {
            special.held = Some(now + (special.holds.uniform() * o.overhead as f64) as u64);
            special.is_hold_new = true;
        }
        true
    }
}
