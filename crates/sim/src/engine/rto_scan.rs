//! A lazy scan of the retransmission timers of all connections.
//!
//! Nearly every acknowledgement restarts the timer of its connection, and timers rarely expire. So a timer is
//! not an event: every 100 ms all running timers are scanned, as by the slow timeout of BSD, and only those
//! that expire before the next scan become events, each at its exact time.

use crate::{
    engine::{CalendarQueue, Event, EventKind, OLDEST},
    packet::Packet,
};
use sojourn_aqm::{Span, Time};

/// The time between two scans: shorter than usual time-outs, so that a connection that receives
/// acknowledgements needs no event.
const PERIOD: Span = Span::from_millis(100);

/// The state of a flow's retransmission timer within the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RtoEvent(u32);

impl RtoEvent {
    /// The timer is not scanned.
    pub(crate) const NOTHING: RtoEvent = RtoEvent(0);
    /// The timer is scanned, and no event is scheduled.
    const SCANNED: RtoEvent = RtoEvent(1);

    /// The timer is scanned, and an event is scheduled at `time`. The low 31 bits suffice, since the event is
    /// at most one period ahead.
    fn at(time: Time) -> RtoEvent {
        RtoEvent(1 << 31 | time.0 as u32)
    }

    /// Whether a scanned timer has no event at or before `time`, which is at most one period ahead.
    fn is_later(self, time: Time) -> bool {
        let ahead = self.0.wrapping_sub(time.0 as u32) << 1;
        self == RtoEvent::SCANNED || ahead.cast_signed() > 0
    }
}

/// The retransmission timer of a flow.
pub(crate) struct FlowTimer<'a> {
    pub(crate) flow: u32,
    pub(crate) event: &'a mut RtoEvent,
}

/// The flows whose timers are scanned.
pub(crate) trait Timers {
    /// The timer of `flow`, and when it expires, if it is running; `None` if the flow has no timer.
    fn timer(&mut self, flow: u32) -> Option<(FlowTimer<'_>, Option<Time>)>;
}

/// The running timers.
#[derive(Default)]
pub(crate) struct RtoScan {
    /// Flows whose timer has run since the last scan.
    running: Vec<u32>,
    /// The time of the next scan, if any timer is running.
    next: Time,
}

impl RtoScan {
    /// Allocate memory for this number of timers.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.running.reserve_exact(count);
    }

    /// The deadline of a timer has changed at `now` from `old` to `new`. A later deadline needs no action:
    /// the next scan finds it. `old` is [`Time::NEVER`] for a timer that is not scanned yet.
    #[inline(always)]
    pub(crate) fn arm(
        &mut self,
        calendar: &mut CalendarQueue<Packet>,
        timer: FlowTimer,
        old: Time,
        new: Time,
        now: Time,
    ) {
        if new < old {
            self.arm_earlier(calendar, timer, new, now);
        }
    }

    #[inline(never)]
    fn arm_earlier(
        &mut self,
        calendar: &mut CalendarQueue<Packet>,
        timer: FlowTimer,
        deadline: Time,
        now: Time,
    ) {
        if self.running.is_empty() {
            self.next = now + PERIOD;
            calendar.push_timer(Event::new(self.next, OLDEST, EventKind::RtoScan, 0));
        }
        if *timer.event == RtoEvent::NOTHING {
            self.running.push(timer.flow);
            *timer.event = RtoEvent::SCANNED;
        }
        self.schedule(calendar, timer, deadline);
    }

    /// Schedule an event for a timer that expires before the next scan.
    fn schedule(&self, calendar: &mut CalendarQueue<Packet>, timer: FlowTimer, deadline: Time) {
        if deadline <= self.next && timer.event.is_later(deadline) {
            *timer.event = RtoEvent::at(deadline);
            calendar.push_timer(Event::new(deadline, OLDEST, EventKind::Retransmit, timer.flow));
        }
    }

    /// Scan all running timers.
    pub(crate) fn scan(
        &mut self,
        calendar: &mut CalendarQueue<Packet>,
        flows: &mut (impl Timers + ?Sized),
        now: Time,
    ) {
        self.next = now + PERIOD;
        let mut running = std::mem::take(&mut self.running);
        running.retain(|flow| {
            let Some((timer, deadline)) = flows.timer(*flow) else { return false };
            match deadline {
                Some(deadline) => {
                    self.schedule(calendar, timer, deadline);
                    true
                }
                None => {
                    *timer.event = RtoEvent::NOTHING;
                    false
                }
            }
        });
        self.running = running;
        if !self.running.is_empty() {
            calendar.push_timer(Event::new(self.next, OLDEST, EventKind::RtoScan, 0));
        }
    }

    /// Handle the event of a timer; whether it is the current one, not one that an earlier event has
    /// replaced.
    pub(crate) fn fires(rto_event: &mut RtoEvent, now: Time) -> bool {
        let fires = *rto_event == RtoEvent::at(now);
        if fires {
            *rto_event = RtoEvent::SCANNED;
        }
        fires
    }
}
