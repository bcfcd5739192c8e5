//! Retransmission timers of all connections.
//!
//! Nearly every acknowledgement puts its connection's timer off, and hardly one ever expires. So they are no events
//! while they are far away: every tenth of a second all that run are looked at, as BSD's slow timer does, and only
//! those that expire before the next look become events, each at its own time.

use crate::{
    engine::{Calendar, Event, Kind},
    flow::{Agent, Flow},
    net::Packet,
};

/// Time between two looks: below usual time-outs, so that a connection that hears acknowledgements needs no event.
const PERIOD: u64 = 100_000_000;

/// What is done about a flow's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filed(u32);

impl Filed {
    /// It is not looked at.
    pub(crate) const NOTHING: Filed = Filed(0);
    /// It is looked at, but no event is filed.
    const WATCHED: Filed = Filed(1);

    /// An event is filed for it then. That is always so soon that it need not be known in full.
    fn at(time: u64) -> Filed {
        Filed(1 << 31 | time as u32)
    }

    /// Whether no event is filed before `time` or then, which is about as soon. It is looked at.
    fn is_later(self, time: u64) -> bool {
        let ahead = self.0.wrapping_sub(time as u32) << 1;
        self == Filed::WATCHED || ahead.cast_signed() > 0
    }
}

/// The timers that run.
#[derive(Default)]
pub(crate) struct Timers {
    /// Flows whose timer has run since the last look.
    running: Vec<u32>,
    /// The next look, as long as there are any.
    next: u64,
}

impl Timers {
    /// Make room for so many.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.running.reserve_exact(count);
    }

    /// See to the timer of flow `number`, of which `filed` says what is done about it, after something that happened at
    /// `at`. It is set for `deadline` now; `before`: what it was set for then, or never, if it has not been seen to since.
    #[inline(always)]
    pub(crate) fn watch(
        &mut self,
        calendar: &mut Calendar<Packet>,
        (filed, number): (&mut Filed, u32),
        (before, deadline): (u64, u64),
        at: u64,
    ) {
        if deadline < before {
            self.watch_new(calendar, (filed, number), deadline, at);
        }
    }

    #[inline(never)]
    fn watch_new(
        &mut self,
        calendar: &mut Calendar<Packet>,
        (filed, number): (&mut Filed, u32),
        deadline: u64,
        at: u64,
    ) {
        if self.running.is_empty() {
            self.next = at + PERIOD;
            calendar.push_timer(Event::new(self.next, u64::MAX, Kind::Timers, 0));
        }
        if *filed == Filed::NOTHING {
            self.running.push(number);
            *filed = Filed::WATCHED;
        }
        self.file(calendar, (filed, number), deadline);
    }

    /// File an event for a timer that expires before the next look.
    fn file(&self, calendar: &mut Calendar<Packet>, (filed, number): (&mut Filed, u32), deadline: u64) {
        if deadline <= self.next && filed.is_later(deadline) {
            *filed = Filed::at(deadline);
            calendar.push_timer(Event::new(deadline, u64::MAX, Kind::Retransmit, number));
        }
    }

    /// Look at all of them: it is time.
    pub(crate) fn look(&mut self, calendar: &mut Calendar<Packet>, flows: &mut [Flow], now: u64) {
        self.next = now + PERIOD;
        let mut running = std::mem::take(&mut self.running);
        running.retain(|number| {
            let Flow { agent: Agent::Tcp(connection), filed, .. } = &mut flows[*number as usize] else {
                return false;
            };
            match connection.sender.deadline() {
                Some(deadline) => self.file(calendar, (filed, *number), deadline),
                None => *filed = Filed::NOTHING,
            }
            *filed != Filed::NOTHING
        });
        self.running = running;
        if !self.running.is_empty() {
            calendar.push_timer(Event::new(self.next, u64::MAX, Kind::Timers, 0));
        }
    }

    /// The event of a timer is due; whether it was not replaced by an earlier one.
    pub(crate) fn takes(filed: &mut Filed, now: u64) -> bool {
        let takes = *filed == Filed::at(now);
        if takes {
            *filed = Filed::WATCHED;
        }
        takes
    }
}
