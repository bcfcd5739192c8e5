//! Virtual time: the pending events, the measurement window, and the time up to which senders may react.

use crate::{
    engine::{CalendarQueue, Event, EventKind, OLDEST, Service},
    packet::Packet,
    plan::Plan,
    record::Window,
};
use sojourn_aqm::Time;

/// Virtual time.
pub(super) struct Clock {
    /// Pending events, and the packets that arrive with some of them.
    pub(super) calendar: CalendarQueue<Packet>,
    /// The end of the transmission at the measured queue: it is nearly always among the next events, so it is
    /// kept beside the others.
    pub(super) service: Service,
    /// The window of statistics: warm-up, and the end without a drain.
    pub(super) window: Window,
    /// The end of the run: that of the window, or of the drain.
    pub(super) end: Time,
    /// Before this time a sender meets nothing but acknowledgements and its timer: no warm-up ends, no
    /// traffic stops.
    pub(super) horizon: Time,
    /// When traffic stops, the window opens and the run ends, latest first.
    horizons: Vec<Time>,
}

impl Clock {
    /// Time zero of a run of `plan`, without events.
    pub(super) fn new(plan: &Plan) -> Clock {
        let window = Window { start: plan.warmup, end: Time::ZERO + plan.duration };
        let stops = plan.traffic.iter().filter_map(|traffic| traffic.stop);
        let mut horizons: Vec<Time> = [window.start, window.end].into_iter().chain(stops).collect();
        horizons.sort_unstable_by(|a, b| b.cmp(a));
        let (calendar, service) = (CalendarQueue::new(), Service::NONE);
        let mut clock = Clock { calendar, service, window, end: window.end, horizon: Time::ZERO, horizons };
        clock.move_horizon(Time::ZERO);
        clock
    }

    /// The next event, with `measured` as the number of the measured queue.
    #[inline(always)]
    pub(super) fn peek(&self, measured: u32) -> Event {
        self.calendar.peek().min(self.service.event(measured))
    }

    /// Move the horizon to the next time after `now` at which the window opens, traffic stops or the run
    /// ends.
    pub(super) fn move_horizon(&mut self, now: Time) {
        while self.horizons.pop_if(|time| *time <= now).is_some() {}
        self.horizon = self.horizons.last().copied().unwrap_or(Time::ZERO).min(self.end);
    }

    /// Move the end of the run to `end`, after the window.
    pub(super) fn extend(&mut self, end: Time) {
        if self.calendar.peek().kind() == EventKind::End {
            self.calendar.pop();
        }
        self.end = end;
        self.calendar.push_timer(Event::new(end, OLDEST, EventKind::End, 0));
        self.horizons.push(end);
        self.horizons.sort_unstable_by(|a, b| b.cmp(a));
        self.move_horizon(self.window.end);
    }
}
