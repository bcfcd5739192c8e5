//! Retransmission timers of all connections.
//!
//! Nearly every acknowledgement puts its connection's timer off, and hardly one ever expires. So they are no events
//! while they are far away: every tenth of a second all that run are looked at, as BSD's slow timer does, and only
//! those that expire before the next look become events, each at its own time.

use crate::{
    connection::Connection,
    engine::{Calendar, Event, Kind},
    flow::{Agent, Flow},
    net::Packet,
};
use std::num::NonZero;

/// Time between two looks: below usual time-outs, so that a connection that hears acknowledgements needs no event.
const PERIOD: u64 = 100_000_000;

/// No event is filed for the timer, but it is looked at.
const WATCHED: Option<NonZero<u64>> = NonZero::new(u64::MAX);

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

    /// See to the timer of `connection`, which is flow `number`, after something that happened at `at`. `before`: what
    /// it was set for then, or never, if it has not been seen to since.
    #[inline(always)]
    pub(crate) fn watch(
        &mut self,
        calendar: &mut Calendar<Packet>,
        (connection, number): (&mut Connection, u32),
        before: u64,
        at: u64,
    ) {
        let deadline = connection.sender.expires();
        if deadline < before {
            self.watch_new(calendar, (connection, number), deadline, at);
        }
    }

    #[inline(never)]
    fn watch_new(
        &mut self,
        calendar: &mut Calendar<Packet>,
        (connection, number): (&mut Connection, u32),
        deadline: u64,
        at: u64,
    ) {
        if self.running.is_empty() {
            self.next = at + PERIOD;
            calendar.push_timer(Event::new(self.next, u64::MAX, Kind::Timers, 0));
        }
        if connection.filed.is_none() {
            self.running.push(number);
            connection.filed = WATCHED;
        }
        self.file(calendar, (connection, number), deadline);
    }

    /// File an event for a timer that expires before the next look.
    fn file(
        &self,
        calendar: &mut Calendar<Packet>,
        (connection, number): (&mut Connection, u32),
        deadline: u64,
    ) {
        let is_later = |filed: NonZero<u64>| filed.get() > deadline;
        if deadline <= self.next && connection.filed.is_some_and(is_later) {
            connection.filed = NonZero::new(deadline);
            calendar.push_timer(Event::new(deadline, u64::MAX, Kind::Retransmit, number));
        }
    }

    /// Look at all of them: it is time.
    pub(crate) fn look(&mut self, calendar: &mut Calendar<Packet>, flows: &mut [Flow], now: u64) {
        self.next = now + PERIOD;
        let mut running = std::mem::take(&mut self.running);
        running.retain(|number| {
            let Agent::Tcp(connection) = &mut flows[*number as usize].agent else { return false };
            match connection.sender.deadline() {
                Some(deadline) => self.file(calendar, (connection, *number), deadline),
                None => connection.filed = None,
            }
            connection.filed.is_some()
        });
        self.running = running;
        if !self.running.is_empty() {
            calendar.push_timer(Event::new(self.next, u64::MAX, Kind::Timers, 0));
        }
    }

    /// The event of a timer is due; whether it was not replaced by an earlier one.
    pub(crate) fn takes(connection: &mut Connection, now: u64) -> bool {
        let takes = connection.filed == NonZero::new(now);
        if takes {
            connection.filed = WATCHED;
        }
        takes
    }
}
