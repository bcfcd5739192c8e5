//! Retransmission timers of all connections.
//!
//! Nearly every acknowledgement puts its connection's timer off, and hardly one ever expires. So they are no events
//! while they are far away: every tenth of a second all that run are looked at, as BSD's slow timer does, and only
//! those that expire before the next scan become events, each at its own time.

use crate::{
    engine::{CalendarQueue, Event, EventKind},
    flow::{Endpoint, Flow},
    packet::Packet,
};

/// Time between two looks: below usual time-outs, so that a connection that hears acknowledgements needs no event.
const PERIOD: u64 = 100_000_000;

/// What is done about a flow's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RtoEvent(u32);

impl RtoEvent {
    /// It is not looked at.
    pub(crate) const NOTHING: RtoEvent = RtoEvent(0);
    /// It is looked at, but no event is filed.
    const WATCHED: RtoEvent = RtoEvent(1);

    /// An event is filed for it then. That is always so soon that it need not be known in full.
    fn at(time: u64) -> RtoEvent {
        RtoEvent(1 << 31 | time as u32)
    }

    /// Whether no event is filed before `time` or then, which is about as soon. It is looked at.
    fn is_later(self, time: u64) -> bool {
        let ahead = self.0.wrapping_sub(time as u32) << 1;
        self == RtoEvent::WATCHED || ahead.cast_signed() > 0
    }
}

/// The timers that run.
#[derive(Default)]
pub(crate) struct RtoScan {
    /// Flows whose timer has run since the last scan.
    running: Vec<u32>,
    /// The next scan, as long as there are any.
    next: u64,
}

impl RtoScan {
    /// Make room for so many.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.running.reserve_exact(count);
    }

    /// See to the timer of flow `number`, of which `rto_event` says what is done about it, after something that happened at
    /// `at`. It is set for `deadline` now; `before`: what it was set for then, or never, if it has not been seen to since.
    #[inline(always)]
    pub(crate) fn arm(
        &mut self,
        calendar: &mut CalendarQueue<Packet>,
        (rto_event, number): (&mut RtoEvent, u32),
        (before, deadline): (u64, u64),
        at: u64,
    ) {
        if deadline < before {
            self.arm_new(calendar, (rto_event, number), deadline, at);
        }
    }

    #[inline(never)]
    fn arm_new(
        &mut self,
        calendar: &mut CalendarQueue<Packet>,
        (rto_event, number): (&mut RtoEvent, u32),
        deadline: u64,
        at: u64,
    ) {
        if self.running.is_empty() {
            self.next = at + PERIOD;
            calendar.push_timer(Event::new(self.next, u64::MAX, EventKind::RtoScan, 0));
        }
        if *rto_event == RtoEvent::NOTHING {
            self.running.push(number);
            *rto_event = RtoEvent::WATCHED;
        }
        self.file(calendar, (rto_event, number), deadline);
    }

    /// File an event for a timer that expires before the next scan.
    fn file(
        &self,
        calendar: &mut CalendarQueue<Packet>,
        (rto_event, number): (&mut RtoEvent, u32),
        deadline: u64,
    ) {
        if deadline <= self.next && rto_event.is_later(deadline) {
            *rto_event = RtoEvent::at(deadline);
            calendar.push_timer(Event::new(deadline, u64::MAX, EventKind::Retransmit, number));
        }
    }

    /// Look at all of them: it is time.
    pub(crate) fn scan(&mut self, calendar: &mut CalendarQueue<Packet>, flows: &mut [Flow], now: u64) {
        self.next = now + PERIOD;
        let mut running = std::mem::take(&mut self.running);
        running.retain(|number| {
            let Flow { endpoint: Endpoint::Tcp(connection), rto_event, .. } = &mut flows[*number as usize]
            else {
                return false;
            };
            match connection.sender.deadline() {
                Some(deadline) => self.file(calendar, (rto_event, *number), deadline),
                None => *rto_event = RtoEvent::NOTHING,
            }
            *rto_event != RtoEvent::NOTHING
        });
        self.running = running;
        if !self.running.is_empty() {
            calendar.push_timer(Event::new(self.next, u64::MAX, EventKind::RtoScan, 0));
        }
    }

    /// The event of a timer is due; whether it was not replaced by an earlier one.
    pub(crate) fn fires(rto_event: &mut RtoEvent, now: u64) -> bool {
        let fires = *rto_event == RtoEvent::at(now);
        if fires {
            *rto_event = RtoEvent::WATCHED;
        }
        fires
    }
}
