//! A calendar queue (R. Brown, CACM 31(10), 1988): to file an event and to take the next one cost the same
//! however many are pending. Time is cut into buckets of a power of two nanoseconds; each day has a list. Sixty-four buckets
//! are a year, on which a bitmap says which buckets have one. What lies farther ahead than all years waits in a heap beside
//! them until its year is opened, and so do very many timers, which take sixteen bytes each there. A day is about half
//! as long as two pending events are apart, so few have more than one.
//!
//! A year is put in order when it is opened. Until then, whoever files an event looks at no other: that other has left
//! the cache long ago. Equal events, of which only timers are known, are alike.
//!
//! How long buckets are decides what it costs, never the order.

use super::{event::Event, heap::Heap};
use std::{hint::black_box, iter::successors, mem::replace};

const NONE: u32 = u32::MAX;
/// So few timers are filed on the years: a cache holds them, and years cost less than the heap.
const FEW: usize = 1000;
/// Room for no more events than this is made ahead: 64 MiB.
const MOST: usize = 1 << 20;
/// So many, pending, are no longer in a near cache when their time comes.
const MANY: usize = 4096;
/// A list that is longer is not put in order one by one.
const SHORT: usize = 16;
/// Days of a year, and the power of two that this is.
const BUCKETS: usize = 1 << YEAR_BITS;
const YEAR_BITS: u32 = 6;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node<T> {
    event: Event,
    next: u32,
    item: T,
}

#[derive(Clone, Copy, Debug)]
struct Year {
    /// Which buckets have a list, which of these more than one event in any order, and the head_index node of each.
    occupied: u64,
    unsorted: u64,
    buckets: [u32; BUCKETS],
}

const EMPTY: Year = Year { occupied: 0, unsorted: 0, buckets: [NONE; BUCKETS] };

/// The pending events, each with what it is about.
#[derive(Clone, Debug)]
pub(crate) struct CalendarQueue<T> {
    nodes: Vec<Node<T>>,
    /// The head_index node that is free.
    free: u32,
    /// A power of two of years, from the `current` one on.
    years: Vec<Year>,
    /// A day lasts 2^shift nanoseconds.
    shift: u32,
    /// The year of the event occupied last.
    current: u64,
    /// The next event, or [`Event::NEVER`], and its place; none if it is on no year.
    head: Event,
    head_index: u32,
    /// The year from which on buckets are not in order.
    unordered: u64,
    /// The event that was put in order among others last, and its place.
    insert_hint: (Event, u32),
    /// Events that were beyond the years when they were filed.
    far: Heap<(Event, u32)>,
    /// Events that were filed as timers, if those are set apart. None of these or those belongs on the year of the next
    /// event, or before.
    timers: Heap<Event>,
    sets_apart: bool,
    /// What timers are about.
    nothing: T,
}

impl<T: Copy + Default> CalendarQueue<T> {
    pub(crate) fn new() -> CalendarQueue<T> {
        CalendarQueue {
            nodes: Vec::new(),
            free: NONE,
            years: vec![EMPTY],
            shift: 20,
            current: 0,
            head: Event::NEVER,
            head_index: NONE,
            unordered: u64::MAX,
            insert_hint: (Event::NEVER, NONE),
            far: Heap::new(),
            timers: Heap::new(),
            sets_apart: false,
            nothing: T::default(),
        }
    }

    /// The next event; [`Event::NEVER`] if there is none.
    #[inline]
    pub(crate) fn peek(&self) -> Event {
        self.head
    }

    /// File an event that is not before the one occupied last.
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
        let year = self.day(event) >> YEAR_BITS;
        let is_behind = self.head_index != NONE && year > self.day(self.head) >> YEAR_BITS;
        if !self.sets_apart || !is_behind && !self.is_beyond(year) {
            return self.push(event);
        }
        self.timers.push(event);
        if event < self.head {
            self.set_head(event, NONE);
        }
    }

    /// So many timers are to come, and about so many other events pending at a time. Room made now need not be
    /// moved when it becomes full.
    pub(crate) fn expect(&mut self, timers: usize, others: usize) {
        self.nodes.reserve_exact(others.min(MOST));
        self.sets_apart = timers > FEW;
        if self.sets_apart {
            self.timers.reserve(timers);
        }
    }

    /// File the event that `make` says, when it has written down what that is about.
    #[inline(always)]
    pub(crate) fn push_with(&mut self, make: impl FnOnce(&mut T) -> Event) {
        while self.free as usize >= self.nodes.len() {
            self.make_room();
        }
        let (place, nodes) = (self.free, &mut self.nodes[..]);
        let node = &mut nodes[place as usize];
        self.free = node.next;
        let event = make(&mut node.item);
        node.event = event;
        self.file(event, place);
    }

    #[cold]
    fn make_room(&mut self) {
        if self.nodes.len() > 2 * BUCKETS * self.years.len() {
            self.adapt();
        }
        if self.free == NONE {
            self.add_node();
        }
    }

    /// One free node more.
    fn add_node(&mut self) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { event: Event::NEVER, next: NONE, item: T::default() });
    }

    /// The day of an event.
    #[inline(always)]
    fn day(&self, event: Event) -> u64 {
        event.time().wrapping_shr(self.shift)
    }

    /// Whether this year lies farther ahead than all there are.
    #[inline(always)]
    fn is_beyond(&self, year: u64) -> bool {
        year - self.current >= self.years.len() as u64
    }

    /// Where a year lies.
    #[inline(always)]
    fn number(&self, year: u64) -> usize {
        year as usize & (self.years.len() - 1)
    }

    /// File an event: it comes before all of its day, unless its year is in order.
    #[inline(always)]
    fn file(&mut self, event: Event, place: u32) {
        let day = self.day(event);
        if self.is_beyond(day >> YEAR_BITS) {
            return self.file_far(event, place);
        }
        if day >> YEAR_BITS < self.unordered {
            return self.file_in_order(event, place);
        }
        let number = self.number(day >> YEAR_BITS);
        let (year, slot) = (&mut self.years[number], day as usize % BUCKETS);
        year.unsorted |= year.occupied & 1 << slot;
        year.occupied |= 1 << slot;
        self.nodes[place as usize].next = replace(&mut year.buckets[slot], place);
    }

    #[inline(never)]
    fn file_in_order(&mut self, event: Event, place: u32) {
        let day = self.day(event);
        let number = self.number(day >> YEAR_BITS);
        let (year, slot) = (&mut self.years[number], day as usize % BUCKETS);
        if year.occupied >> slot & 1 == 0 {
            year.occupied |= 1 << slot;
            year.buckets[slot] = place;
            self.nodes[place as usize].next = NONE;
        } else {
            self.insert(event, place, (number, slot));
        }
        if event < self.head {
            self.set_head(event, place);
        }
    }

    /// Put an event among others of its day, which are in order.
    #[inline(never)]
    fn insert(&mut self, event: Event, place: u32, (number, slot): (usize, usize)) {
        // Very many may be filed for one time, one behind the other: so it begins with the last one, if that is pending
        // (which [`CalendarQueue::set_head`] sees to).
        let (last, behind) = replace(&mut self.insert_hint, (event, place));
        if self.head <= last && last < event && self.day(last) == self.day(event) {
            let mut next = self.nodes[behind as usize].next;
            insert(&mut self.nodes, &mut next, place);
            self.nodes[behind as usize].next = next;
        } else {
            insert(&mut self.nodes, &mut self.years[number].buckets[slot], place);
        }
    }

    /// Put the buckets of a year in order.
    fn order(&mut self, year: u64) {
        let number = self.number(year);
        let year = &mut self.years[number];
        if self.nodes.len() > MANY {
            // They lie anywhere. Read at once, they are waited for together instead of one by one.
            let behind = |place: u32| self.nodes.get(place as usize).map_or(NONE, |node| node.next);
            black_box(year.buckets.map(behind).map(behind));
        }
        let mut rest = replace(&mut year.unsorted, 0);
        while rest > 0 {
            sort(&mut self.nodes, &mut year.buckets[rest.trailing_zeros() as usize]);
            rest &= rest - 1;
        }
    }

    /// An event, which is on a year or not, becomes the next: what was filed last may have been occupied before.
    fn set_head(&mut self, event: Event, place: u32) {
        (self.head, self.head_index) = (event, place);
        self.insert_hint = (Event::NEVER, NONE);
    }

    #[inline(never)]
    fn file_far(&mut self, event: Event, place: u32) {
        self.far.push((event, place));
        if event < self.head {
            self.set_head(event, NONE);
        }
    }

    /// Take the event that [`CalendarQueue::peek`] showed, of which there must be one: what it is about, which lies there
    /// until the next is filed.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> &mut T {
        let (day, place) = (self.day(self.head), self.head_index);
        let (number, slot) = (self.number(day >> YEAR_BITS), day as usize % BUCKETS);
        let Some(node) = self.nodes.get(place as usize) else { return self.pop_far() };
        let year = &self.years[number];
        let (behind, mut occupied) = (node.next, year.occupied);
        let mut next = behind;
        if behind == NONE {
            occupied &= !(1 << slot);
            next = year.buckets[occupied.trailing_zeros() as usize % BUCKETS]; // what comes earlier on this year is over
        }
        let event = match self.nodes.get(next as usize) {
            Some(node) if occupied > 0 => node.event,
            _ => return self.pop_last(slot),
        };
        let (node, year) = (&mut self.nodes[place as usize], &mut self.years[number]);
        self.current = day >> YEAR_BITS;
        (year.buckets[slot], year.occupied) = (behind, occupied);
        (self.head, self.head_index) = (event, next);
        node.next = self.free;
        self.free = place;
        &mut node.item
    }

    /// The same where nothing else is on the year.
    #[inline(never)]
    fn pop_last(&mut self, slot: usize) -> &mut T {
        self.current = self.day(self.head) >> YEAR_BITS;
        let (number, place) = (self.number(self.current), self.head_index);
        let year = &mut self.years[number];
        (year.buckets[slot], year.occupied) = (NONE, 0);
        self.advance();
        self.release(place)
    }

    /// The node is free: what it was about.
    fn release(&mut self, place: u32) -> &mut T {
        let node = &mut self.nodes[place as usize];
        node.next = self.free;
        self.free = place;
        &mut node.item
    }

    #[inline(never)]
    fn pop_far(&mut self) -> &mut T {
        self.current = self.day(self.head) >> YEAR_BITS;
        if self.timers.peek() == Some(self.head) {
            self.timers.pop();
            self.advance();
            return &mut self.nothing;
        }
        let (_, place) = self.far.pop().expect("an event is pending");
        self.advance();
        self.release(place)
    }

    fn year(&self, number: u64) -> &Year {
        &self.years[self.number(number)]
    }

    /// Look for the next event, from the current year on.
    #[inline(never)]
    fn advance(&mut self) {
        let count = self.years.len() as u64;
        let near = (self.current..self.current + count).find(|number| self.year(*number).occupied > 0);
        let top_far = self.far.peek().map_or(Event::NEVER, |(event, _)| event);
        let top_far = self.timers.peek().map_or(top_far, |timer| timer.min(top_far));
        let far = self.day(top_far) >> YEAR_BITS;
        let next = match near {
            Some(near) if near < far => near,
            _ if self.is_beyond(far) => {
                (self.head, self.head_index, self.unordered) = (top_far, NONE, u64::MAX);
                return;
            }
            _ => {
                self.fetch(far);
                far
            }
        };
        self.order(next);
        self.unordered = next + 1;
        let year = self.year(next);
        self.head_index = year.buckets[year.occupied.trailing_zeros() as usize];
        self.head = self.nodes[self.head_index as usize].event;
    }

    /// File on its year what belongs there.
    fn fetch(&mut self, year: u64) {
        (self.head, self.head_index, self.unordered) = (Event::NEVER, NONE, self.unordered.min(year));
        while let Some((event, place)) = self.far.peek()
            && self.day(event) >> YEAR_BITS == year
        {
            self.far.pop();
            self.file(event, place);
        }
        while let Some(event) = self.timers.peek()
            && self.day(event) >> YEAR_BITS == year
        {
            self.timers.pop();
            if self.free == NONE {
                self.add_node(); // and do not adapt now
            }
            self.push(event);
        }
    }

    /// Everything that is pending but timers set apart.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (Event, &T)> {
        self.places().into_iter().map(|place| {
            let node = &self.nodes[place as usize];
            (node.event, &node.item)
        })
    }

    fn places(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for head_index in self.years.iter().flat_map(|year| year.buckets) {
            all.extend(list(&self.nodes, head_index));
        }
        all.extend(self.far.iter().map(|(_, place)| place));
        all
    }

    /// Make two buckets about as long as the next sixteenth of the events are apart (packets: timers are further away), and
    /// years enough for most of them and a quarter more. To be called now and then.
    #[cold]
    pub(crate) fn adapt(&mut self) {
        let all = self.places();
        if all.is_empty() {
            return;
        }
        let began = self.current << YEAR_BITS << self.shift;
        let mut buckets = 0;
        if let Some((gap, most)) = self.spread(&all) {
            self.shift = u64::BITS - (gap / 2).max(1).leading_zeros();
            buckets = 5 * ((most - began) >> self.shift) as usize / 4;
        }
        self.current = began >> self.shift >> YEAR_BITS;
        let buckets = buckets.clamp(2 * all.len(), 16 * all.len());
        self.years = vec![EMPTY; buckets.div_ceil(BUCKETS).next_power_of_two()];
        (self.far, self.unordered) = (Heap::new(), self.current);
        for place in all {
            self.file(self.nodes[place as usize].event, place);
        }
        self.advance();
    }

    /// How far the next sixteenth of the events at these places are apart, and the time of the last but a sixteenth.
    /// What is due at once does not count: that may be very many.
    fn spread(&self, places: &[u32]) -> Option<(u64, u64)> {
        let mut times: Vec<u64> =
            places.iter().map(|place| self.nodes[*place as usize].event.time()).collect();
        let head_index = *times.iter().min()?;
        times.retain(|time| *time > head_index);
        let few = times.len() / 16;
        let last = times.len().checked_sub(few + 1)?;
        let most = *times.select_nth_unstable(last).1;
        let near = *times.select_nth_unstable(few).1;
        Some(((near - head_index) / (few as u64).max(1), most))
    }

    /// How many events may be pending before memory for more is needed.
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.len()
    }
}

/// Put the node at `place` into the list that begins with `head_index`, which is in order.
fn insert<T>(nodes: &mut [Node<T>], head_index: &mut u32, place: u32) {
    let event = nodes[place as usize].event;
    let mut before = NONE;
    let mut next = *head_index;
    while let Some(node) = nodes.get(next as usize)
        && node.event < event
    {
        (before, next) = (next, node.next);
    }
    nodes[place as usize].next = next;
    match nodes.get_mut(before as usize) {
        Some(node) => node.next = place,
        None => *head_index = place,
    }
}

/// Put the list that begins with `head_index` in order.
fn sort<T>(nodes: &mut [Node<T>], head_index: &mut u32) {
    let mut next = replace(head_index, NONE);
    for _ in 0..SHORT {
        let Some(node) = nodes.get(next as usize) else { return };
        let place = replace(&mut next, node.next);
        insert(nodes, head_index, place);
    }
    let mut all: Vec<u32> = list(nodes, *head_index).chain(list(nodes, next)).collect();
    all.sort_unstable_by_key(|place| nodes[*place as usize].event);
    *head_index = NONE;
    for place in all.into_iter().rev() {
        nodes[place as usize].next = replace(head_index, place);
    }
}

/// The places of the list that begins with `head_index`.
fn list<T>(nodes: &[Node<T>], head_index: u32) -> impl Iterator<Item = u32> {
    let place = |place: u32| (place != NONE).then_some(place);
    successors(place(head_index), move |last| place(nodes[*last as usize].next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EventKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Events close together and far apart, ties and crowds among them, timers, a few or very many: the order is that
        /// of a sorted map, whatever the buckets are like. (Mutants: years not put in order, or a year too few; long lists
        /// the wrong way round; a place to begin with that is on another day, was occupied, or lies behind.)
        #[test]
        fn agrees_with_a_sorted_map(
            steps in proptest::collection::vec((0u8..4, 0u32..45, any::<u64>()), 0..1000),
            patience in 1usize..500,
            timers in 1..2 * FEW,
        ) {
            let (mut ours, mut model) = (CalendarQueue::new(), BTreeMap::new());
            ours.expect(timers, 0);
            let (mut now, mut number) = (0, 0);
            for (step, (what, bits, ahead)) in steps.into_iter().enumerate() {
                if what < 2 {
                    for _ in 0..1 + ahead % 3 {
                        let expected = model.pop_first();
                        prop_assert_eq!(ours.peek(), expected.map_or(Event::NEVER, |(event, _)| event));
                        if let Some((event, number)) = expected {
                            prop_assert_eq!(*ours.pop(), number);
                            now = event.time();
                        }
                    }
                } else {
                    let (is_timer, is_crowd) = (ahead % 3 == 0, ahead % 16 == 0);
                    for _ in 0..if is_crowd { 40 } else { 1 } {
                        number += 1;
                        let place = if what == 2 { number } else { (1 << 16) + number * 40_503 % (1 << 16) }; // in order or not
                        let event = Event::new(now + (ahead & ((1 << bits) - 1)), 0, EventKind::Source, place);
                        if is_timer {
                            ours.push_timer(event);
                        } else {
                            ours.push_with(|item| { *item = number; event });
                        }
                        model.insert(event, if is_timer { 0 } else { number });
                    }
                }
                if step % patience == 0 {
                    ours.adapt();
                    prop_assert_eq!(ours.pending().count() + ours.timers.iter().count(), model.len());
                }
            }
            while let Some((event, number)) = model.pop_first() {
                prop_assert_eq!(ours.peek(), event);
                prop_assert_eq!(*ours.pop(), number);
            }
            prop_assert_eq!(ours.peek(), Event::NEVER);
        }
    }
}
