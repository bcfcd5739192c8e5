//! Delayed ACKs of receivers that run ahead of the clock.
//!
//! Such a receiver gets a packet when that enters the last link, before its arrival. An ACK that it delays
//! waits here, and is sent before the first packet that arrives at the receiving host after the timer has
//! expired. Nearly always the next packet of the flow arrives before, and its ACK makes the timer void; so a
//! timer is no event. Only the first timer is, for the time at which no packet follows.

use super::{CalendarQueue, Event};
use crate::packet::Packet;
use sojourn_aqm::{Span, Time};
use std::collections::VecDeque;

/// The timers of delayed ACKs, as events in their order; they may be void.
#[derive(Debug)]
pub(crate) struct DelayedAcks {
    /// Those of each delay: timers of the same delay mostly expire in the order in which they are set.
    by_delay: Vec<(Span, VecDeque<Event>)>,
    /// The first timer, or [`Event::NEVER`].
    first: Event,
    /// The events that are scheduled, the next one last; it is not after the first timer.
    scheduled: Vec<Event>,
}

impl Default for DelayedAcks {
    fn default() -> DelayedAcks {
        DelayedAcks { by_delay: Vec::new(), first: Event::NEVER, scheduled: Vec::new() }
    }
}

impl DelayedAcks {
    /// When the first timer expires; far ahead if there is none.
    #[inline(always)]
    pub(crate) fn next(&self) -> Time {
        self.first.time()
    }

    /// A timer of `delay` that expires with `event`.
    #[inline]
    pub(crate) fn push(&mut self, calendar: &mut CalendarQueue<Packet>, delay: Span, event: Event) {
        let timers = match self.by_delay.iter().position(|(of, _)| *of == delay) {
            Some(i) => &mut self.by_delay[i].1,
            None => {
                self.by_delay.push((delay, VecDeque::new()));
                &mut self.by_delay.last_mut().expect("just added").1
            }
        };
        match timers.back() {
            Some(last) if *last > event => {
                let place = timers.partition_point(|timer| *timer < event);
                timers.insert(place, event);
            }
            _ => timers.push_back(event),
        }
        self.first = self.first.min(event);
        self.schedule(calendar);
    }

    /// Remove the first timer, if it expires before `bound`.
    pub(crate) fn pop_before(&mut self, bound: Event) -> Option<Event> {
        let first = self.first;
        if first >= bound {
            return None;
        }
        let heads = self.by_delay.iter_mut().map(|(_, timers)| timers);
        let mut with_first = heads.filter(|timers| timers.front() == Some(&first));
        with_first.next().and_then(VecDeque::pop_front);
        let heads = self.by_delay.iter().filter_map(|(_, timers)| timers.front());
        self.first = heads.min().copied().unwrap_or(Event::NEVER);
        Some(first)
    }

    /// The event of a timer has happened, and all timers up to it are removed.
    pub(crate) fn on_event(&mut self, calendar: &mut CalendarQueue<Packet>, event: Event) {
        let next = self.scheduled.pop();
        debug_assert_eq!(next, Some(event), "events happen in their order");
        self.schedule(calendar);
    }

    #[inline]
    fn schedule(&mut self, calendar: &mut CalendarQueue<Packet>) {
        if self.first < self.scheduled.last().copied().unwrap_or(Event::NEVER) {
            self.scheduled.push(self.first);
            calendar.push(self.first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EventKind;
    use proptest::prelude::*;

    proptest! {
        /// Timers of three delays, against a sorted list; at any time the first one, or an earlier one, is
        /// scheduled. (Mutants: a timer before the last of its delay is appended; an earlier timer than the
        /// scheduled one is not scheduled.)
        #[test]
        fn timers_expire_in_order(steps in proptest::collection::vec((0usize..3, 0u64..50, any::<bool>()), 1..200)) {
            let (mut ours, mut calendar, mut model) = (DelayedAcks::default(), CalendarQueue::new(), Vec::new());
            let mut now = Time(1);
            for (number, (delay, jitter, passes)) in steps.into_iter().enumerate() {
                let delay = Span([40, 100, 30][delay]);
                let event = Event::new(now + delay + Span(jitter / 10), delay, EventKind::DelayedAck, number as u32);
                ours.push(&mut calendar, delay, event);
                model.push(event);
                model.sort();
                if passes {
                    now += Span(jitter);
                    let bound = Event::new(now, Span(1 << 30), EventKind::End, 0);
                    while calendar.peek() < bound {
                        let event = calendar.peek();
                        calendar.pop();
                        while ours.pop_before(event).is_some() || ours.pop_before(Event::after(event)).is_some() {
                            model.remove(0);
                        }
                        ours.on_event(&mut calendar, event);
                        prop_assert!(model.first().is_none_or(|first| *first > event));
                    }
                }
                prop_assert_eq!(ours.next(), model.first().copied().unwrap_or(Event::NEVER).time());
                prop_assert!(calendar.peek() <= model.first().copied().unwrap_or(Event::NEVER));
            }
        }
    }
}
