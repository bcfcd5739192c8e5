//! A calendar queue (R. Brown, CACM 31(10), 1988): to file an event and to take the next one cost the same
//! however many are pending. Time is cut into days of a power of two nanoseconds; each day has a short list in
//! order, a bitmap says which days have one, and what lies more than a year ahead waits in a heap beside it. Very many
//! timers have a heap of their own, where they take sixteen bytes each.
//! Days are made as long as two pending events are apart, so a list holds one or two.
//!
//! How long days are decides what it costs, never the order.

use super::{Event, Heap};

const NONE: u32 = u32::MAX;
/// So few timers are filed among the days: a cache holds them, and days cost less than the heap.
const FEW: usize = 1000;
/// A bitmap word.
const WORD: usize = u64::BITS as usize;

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    event: Event,
    next: u32,
    item: T,
}

/// The pending events, each with what it is about.
#[derive(Clone, Debug)]
pub(crate) struct Calendar<T> {
    nodes: Vec<Node<T>>,
    /// The first node that is free.
    free: u32,
    /// The first event of each day of the year, and which days have one.
    days: Vec<u32>,
    taken: Vec<u64>,
    /// A day lasts 2^shift nanoseconds.
    shift: u32,
    /// The year begins with this day, that of the event taken last.
    today: u64,
    /// The next event, or [`Event::NEVER`], and its place; none if it is among those beyond the year.
    top: Event,
    first: u32,
    /// Events that were beyond the year when they were filed.
    far: Heap<(Event, u32)>,
    /// Events that were filed as timers, if those are set apart.
    timers: Heap<Event>,
    sets_apart: bool,
    /// The first of these and those.
    far_top: Event,
    /// What timers are about.
    nothing: T,
}

impl<T: Copy + Default> Calendar<T> {
    pub(crate) fn new() -> Calendar<T> {
        Calendar {
            nodes: Vec::new(),
            free: NONE,
            days: vec![NONE; WORD],
            taken: vec![0; 1],
            shift: 20,
            today: 0,
            top: Event::NEVER,
            first: NONE,
            far: Heap::new(),
            timers: Heap::new(),
            sets_apart: false,
            far_top: Event::NEVER,
            nothing: T::default(),
        }
    }

    /// The next event; [`Event::NEVER`] if there is none.
    #[inline]
    pub(crate) fn peek(&self) -> Event {
        self.top
    }

    /// File an event that is not before the one taken last.
    #[inline(never)]
    pub(crate) fn push(&mut self, event: Event) {
        self.push_with(|item| {
            *item = T::default();
            event
        });
    }

    /// File an event that is about nothing, comes seldom and mostly long after it was filed.
    #[inline(never)]
    pub(crate) fn push_timer(&mut self, event: Event) {
        if !self.sets_apart {
            return self.push(event);
        }
        self.timers.push(event);
        if event < self.far_top {
            self.far_top = event;
            if event < self.top {
                (self.top, self.first) = (event, NONE);
            }
        }
    }

    /// Make room for so many timers.
    pub(crate) fn reserve_timers(&mut self, count: usize) {
        self.sets_apart = count > FEW;
        if self.sets_apart {
            self.timers.reserve(count);
        }
    }

    /// File the event that `make` says, when it has written down what that is about.
    #[inline(always)]
    pub(crate) fn push_with(&mut self, make: impl FnOnce(&mut T) -> Event) {
        if self.free == NONE {
            self.grow();
        }
        let place = self.free;
        let node = &mut self.nodes[place as usize];
        self.free = node.next;
        let event = make(&mut node.item);
        node.event = event;
        self.file(event, place);
    }

    /// One free node more.
    #[cold]
    fn grow(&mut self) {
        if self.nodes.len() > 2 * self.days.len() {
            self.adapt();
        }
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { event: Event::NEVER, next: NONE, item: T::default() });
    }

    /// The day of an event.
    #[inline]
    fn day(&self, event: Event) -> u64 {
        event.time().wrapping_shr(self.shift)
    }

    #[inline(always)]
    fn file(&mut self, event: Event, place: u32) {
        let day = self.day(event);
        if day - self.today >= self.days.len() as u64 {
            return self.file_far(event, place);
        }
        let slot = day as usize & (self.days.len() - 1);
        let mut next = self.days[slot];
        let mut before = NONE;
        while let Some(node) = self.nodes.get(next as usize)
            && node.event <= event
        {
            (before, next) = (next, node.next);
        }
        self.nodes[place as usize].next = next;
        if let Some(node) = self.nodes.get_mut(before as usize) {
            node.next = place;
            return;
        }
        self.days[slot] = place;
        self.taken[slot / WORD] |= 1 << (slot % WORD);
        if event < self.top {
            (self.top, self.first) = (event, place);
        }
    }

    #[inline(never)]
    fn file_far(&mut self, event: Event, place: u32) {
        self.far.push((event, place));
        self.far_top = self.far_top.min(event);
        if event < self.top {
            (self.top, self.first) = (event, NONE);
        }
    }

    /// Take the event that [`Calendar::peek`] showed, of which there must be one: what it is about, which lies there
    /// until the next is filed.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> &mut T {
        self.today = self.day(self.top);
        let place = self.first;
        let Some(node) = self.nodes.get_mut(place as usize) else { return self.pop_far() };
        let next = node.next;
        node.next = self.free;
        self.free = place;
        let slot = self.today as usize & (self.days.len() - 1);
        self.days[slot] = next;
        if next == NONE {
            self.taken[slot / WORD] &= !(1 << (slot % WORD));
        }
        self.find_next(if next == NONE { self.first_from(slot) } else { next });
        &mut self.nodes[place as usize].item
    }

    #[inline(never)]
    fn pop_far(&mut self) -> &mut T {
        let place = if self.timers.peek() == Some(self.top) {
            self.timers.pop();
            NONE
        } else {
            self.far.pop().expect("an event is pending").1
        };
        self.far_top = self.first_far();
        self.find_next(self.first_from(self.today as usize & (self.days.len() - 1)));
        let Some(node) = self.nodes.get_mut(place as usize) else { return &mut self.nothing };
        node.next = self.free;
        self.free = place;
        &mut node.item
    }

    /// The first of the events that are in no day.
    fn first_far(&self) -> Event {
        let far = self.far.peek().map_or(Event::NEVER, |(event, _)| event);
        self.timers.peek().map_or(far, |timer| timer.min(far))
    }

    /// The next event is the one at `near`, the first of this year if there is one, or the first beyond.
    #[inline(always)]
    fn find_next(&mut self, near: u32) {
        (self.top, self.first) = match self.nodes.get(near as usize) {
            Some(node) if node.event <= self.far_top => (node.event, near),
            _ => (self.far_top, NONE),
        };
    }

    /// The first event of the first day that has one, from `slot` on and round the year.
    #[inline]
    fn first_from(&self, slot: usize) -> u32 {
        let word = slot / WORD;
        let bits = self.taken[word] & (!0 << (slot % WORD));
        if bits == 0 {
            return self.first_behind(word);
        }
        self.days[word * WORD + bits.trailing_zeros() as usize]
    }

    /// The same from the bitmap word behind this one on.
    #[inline(never)]
    fn first_behind(&self, word: usize) -> u32 {
        let words = (word + 1..self.taken.len()).chain(0..=word);
        words
            .map(|word| (word, self.taken[word]))
            .find(|(_, bits)| *bits > 0)
            .map_or(NONE, |(word, bits)| self.days[word * WORD + bits.trailing_zeros() as usize])
    }

    /// Everything that is pending but timers.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (Event, &T)> {
        self.places().into_iter().map(|place| {
            let node = &self.nodes[place as usize];
            (node.event, &node.item)
        })
    }

    fn places(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for mut place in self.days.iter().copied() {
            while let Some(node) = self.nodes.get(place as usize) {
                all.push(place);
                place = node.next;
            }
        }
        all.extend(self.far.iter().map(|(_, place)| place));
        all
    }

    /// Make days as long as the next sixteenth of the events are apart (packets: timers are further away), and the
    /// year several times as long as it takes for all of them. To be called now and then.
    #[cold]
    pub(crate) fn adapt(&mut self) {
        let mut all = self.places();
        all.sort_by_key(|place| self.nodes[*place as usize].event);
        let few = all.len() / 16;
        if let (Some(first), Some(last)) = (all.first(), all.get(few)) {
            let [first, last] = [first, last].map(|place| self.nodes[*place as usize].event.time());
            let gap = (last - first) / (few as u64).max(1);
            let now = self.today << self.shift;
            self.shift = u64::BITS - gap.max(1).leading_zeros();
            self.today = now >> self.shift;
            let days = (4 * all.len()).next_power_of_two().max(WORD);
            (self.days, self.taken) = (vec![NONE; days], vec![0; days / WORD]);
            self.far = Heap::new();
            self.far_top = self.first_far();
            (self.top, self.first) = (self.far_top, NONE);
            for place in &all {
                self.file(self.nodes[*place as usize].event, *place);
            }
        }
    }

    /// How many events may be pending before memory for more is needed.
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Kind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Events close together and far apart, ties among them, timers, a few or very many: the order is that of a
        /// sorted map, whatever the days are like.
        #[test]
        fn agrees_with_a_sorted_map(
            steps in proptest::collection::vec((any::<bool>(), 0u32..45, any::<u64>()), 0..2000),
            patience in 1usize..500,
            timers in 1..2 * FEW,
        ) {
            let (mut ours, mut model) = (Calendar::new(), BTreeMap::new());
            ours.reserve_timers(timers);
            let mut now = 0;
            for (number, (takes, bits, ahead)) in steps.into_iter().enumerate() {
                if takes {
                    let expected = model.pop_first();
                    prop_assert_eq!(ours.peek(), expected.map_or(Event::NEVER, |(event, _)| event));
                    if let Some((event, number)) = expected {
                        prop_assert_eq!(*ours.pop(), number);
                        now = event.time();
                    }
                } else {
                    let event = Event::new(now + (ahead & ((1 << bits) - 1)), 0, Kind::Source, number as u32);
                    let is_timer = ahead % 3 == 0;
                    if is_timer {
                        ours.push_timer(event);
                    } else {
                        ours.push_with(|item| { *item = number; event });
                    }
                    model.insert(event, if is_timer { 0 } else { number });
                }
                if number % patience == 0 {
                    ours.adapt();
                }
                prop_assert_eq!(ours.pending().count() + ours.timers.iter().count(), model.len());
            }
        }
    }
}
