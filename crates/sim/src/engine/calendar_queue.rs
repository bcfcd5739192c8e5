//! A calendar queue (R. Brown, CACM 31(10), 1988): enqueue and dequeue take constant time, however many
//! events are pending.
//!
//! Time is divided into buckets of 2^shift nanoseconds, each with a linked list of events. Sixty-four buckets
//! form a year, with a bitmap of those that are not empty. Events beyond the last year wait in a heap and
//! move to a bucket when their year is reached. A large number of timers is kept in a second heap, at sixteen
//! bytes each. A bucket is about half as long as the mean gap between pending events, so few buckets hold
//! more than one.
//!
//! The lists of a year are sorted when the year becomes current. Until then an insertion reads no other
//! event, which would be a cache miss. Equal events are interchangeable; only timers may be equal. In a
//! sorted list an event is inserted behind its equals: the first one may already be the next event.
//!
//! Bucket length and the number of years affect the cost, never the order.

use super::{event::Event, heap::Heap};
use sojourn_aqm::{Span, Time};
use std::{hint::black_box, iter::successors, mem::replace};

const NONE: u32 = u32::MAX;
/// Up to this number, timers are kept in the buckets: they fit into a cache, and buckets cost less than the
/// heap.
const MAX_TIMERS_IN_BUCKETS: usize = 1000;
/// Nodes that are allocated in advance at most: 64 MiB.
const MAX_RESERVED: usize = 1 << 20;
/// With more nodes than this, a pending event has left the L1 cache by the time it is dequeued.
const MIN_PREFETCHED: usize = 4096;
/// A longer list is not sorted by insertion.
const MAX_INSERTION_SORT: usize = 16;
/// Buckets of a year, and its base-2 logarithm.
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
    /// Bitmap of the buckets that hold an event.
    occupied: u64,
    /// Bitmap of the buckets that hold several events in arbitrary order.
    unsorted: u64,
    /// The first node of each list.
    buckets: [u32; BUCKETS],
}

const EMPTY: Year = Year { occupied: 0, unsorted: 0, buckets: [NONE; BUCKETS] };

/// The place of a bucket: an index into `CalendarQueue::years` and one into `Year::buckets`.
#[derive(Clone, Copy)]
struct Slot {
    year: usize,
    bucket: usize,
}

/// The pending events, each with an item.
#[derive(Clone, Debug)]
pub(crate) struct CalendarQueue<T> {
    nodes: Vec<Node<T>>,
    /// The first node of the free list.
    free: u32,
    /// A power of two of years, from `current` on.
    years: Vec<Year>,
    /// A bucket lasts 2^shift nanoseconds.
    shift: u32,
    /// The year of the event dequeued last.
    current: u64,
    /// The next event, or [`Event::NEVER`].
    head: Event,
    /// Its node; [`NONE`] if it is in a heap.
    head_index: u32,
    /// The first year whose lists are not sorted.
    unsorted_from: u64,
    /// The event that was last inserted into a sorted list, and its node.
    insert_hint: (Event, u32),
    /// Events beyond the last year at the time they were enqueued. All events in the two heaps belong to a
    /// year after that of `head`, unless `head` is itself in a heap.
    far: Heap<(Event, u32)>,
    /// Timers, if they are kept apart.
    timers: Heap<Event>,
    separates_timers: bool,
    /// The item of every timer in the heap.
    timer_item: T,
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
            unsorted_from: u64::MAX,
            insert_hint: (Event::NEVER, NONE),
            far: Heap::new(),
            timers: Heap::new(),
            separates_timers: false,
            timer_item: T::default(),
        }
    }

    /// The next event; [`Event::NEVER`] if there is none.
    #[inline]
    pub(crate) fn peek(&self) -> Event {
        self.head
    }

    /// Enqueue an event that is not before the one dequeued last.
    #[inline(never)]
    pub(crate) fn push(&mut self, event: Event) {
        self.push_with(|item| {
            *item = T::default();
            event
        });
    }

    /// Enqueue an event without an item that is rare and usually far ahead.
    #[inline(never)]
    pub(crate) fn push_timer(&mut self, event: Event) {
        let year = self.year_of(event);
        let is_after_head = self.head_index != NONE && year > self.year_of(self.head);
        if !self.separates_timers || !is_after_head && !self.is_beyond(year) {
            return self.push(event);
        }
        self.timers.push(event);
        if event < self.head {
            self.set_head(event, NONE);
        }
    }

    /// Allocate memory for this number of timers and of other pending events, so that it need not grow and be
    /// copied.
    pub(crate) fn expect(&mut self, timers: usize, others: usize) {
        self.nodes.reserve_exact(others.min(MAX_RESERVED));
        self.separates_timers = timers > MAX_TIMERS_IN_BUCKETS;
        if self.separates_timers {
            self.timers.reserve(timers);
        }
    }

    /// Enqueue the event that `make` returns; `make` also writes the item in place.
    #[inline(always)]
    pub(crate) fn push_with(&mut self, make: impl FnOnce(&mut T) -> Event) {
        while self.free as usize >= self.nodes.len() {
            self.grow();
        }
        let (index, nodes) = (self.free, &mut self.nodes[..]);
        let node = &mut nodes[index as usize];
        self.free = node.next;
        let event = make(&mut node.item);
        node.event = event;
        self.enqueue(event, index);
    }

    #[cold]
    fn grow(&mut self) {
        if self.nodes.len() > 2 * BUCKETS * self.years.len() {
            self.adapt();
        }
        if self.free == NONE {
            self.add_node();
        }
    }

    /// Add one node to the free list, which is empty.
    fn add_node(&mut self) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { event: Event::NEVER, next: NONE, item: T::default() });
    }

    /// The bucket of an event, counted from time 0.
    #[inline(always)]
    fn bucket_of(&self, event: Event) -> u64 {
        event.time().0.wrapping_shr(self.shift)
    }

    /// The year of an event, counted from time 0.
    #[inline(always)]
    fn year_of(&self, event: Event) -> u64 {
        self.bucket_of(event) >> YEAR_BITS
    }

    /// Whether a year lies after the last one.
    #[inline(always)]
    fn is_beyond(&self, year: u64) -> bool {
        year - self.current >= self.years.len() as u64
    }

    /// The index of a year in `years`.
    #[inline(always)]
    fn year_index(&self, year: u64) -> usize {
        year as usize & (self.years.len() - 1)
    }

    /// Put an event at the front of its list, unless lists of its year are sorted.
    #[inline(always)]
    fn enqueue(&mut self, event: Event, index: u32) {
        let bucket = self.bucket_of(event);
        if self.is_beyond(bucket >> YEAR_BITS) {
            return self.enqueue_far(event, index);
        }
        if bucket >> YEAR_BITS < self.unsorted_from {
            return self.enqueue_sorted(event, index);
        }
        let year_index = self.year_index(bucket >> YEAR_BITS);
        let (year, bucket) = (&mut self.years[year_index], bucket as usize % BUCKETS);
        year.unsorted |= year.occupied & 1 << bucket;
        year.occupied |= 1 << bucket;
        self.nodes[index as usize].next = replace(&mut year.buckets[bucket], index);
    }

    #[inline(never)]
    fn enqueue_sorted(&mut self, event: Event, index: u32) {
        let bucket = self.bucket_of(event);
        let year_index = self.year_index(bucket >> YEAR_BITS);
        let (year, bucket) = (&mut self.years[year_index], bucket as usize % BUCKETS);
        if year.occupied >> bucket & 1 == 0 {
            year.occupied |= 1 << bucket;
            year.buckets[bucket] = index;
            self.nodes[index as usize].next = NONE;
        } else {
            self.insert(event, index, Slot { year: year_index, bucket });
        }
        if event < self.head {
            self.set_head(event, index);
        }
    }

    /// Insert an event into a sorted list.
    #[inline(never)]
    fn insert(&mut self, event: Event, index: u32, slot: Slot) {
        // Many events may be enqueued in order for one time, so the search starts at the one inserted last if
        // it is still pending (see [`CalendarQueue::set_head`]); of those equal to the next event it may be
        // the one that was dequeued.
        let (last, last_index) = replace(&mut self.insert_hint, (event, index));
        if self.head < last && last < event && self.bucket_of(last) == self.bucket_of(event) {
            let mut next = self.nodes[last_index as usize].next;
            insert(&mut self.nodes, &mut next, index);
            self.nodes[last_index as usize].next = next;
        } else {
            insert(&mut self.nodes, &mut self.years[slot.year].buckets[slot.bucket], index);
        }
    }

    /// Sort the lists of a year.
    fn sort_year(&mut self, year: u64) {
        let year_index = self.year_index(year);
        let year = &mut self.years[year_index];
        if self.nodes.len() > MIN_PREFETCHED {
            // The nodes are scattered in memory: reading them together overlaps the cache misses.
            let next = |index: u32| self.nodes.get(index as usize).map_or(NONE, |node| node.next);
            black_box(year.buckets.map(next).map(next));
        }
        let mut unsorted = replace(&mut year.unsorted, 0);
        while unsorted > 0 {
            sort(&mut self.nodes, &mut year.buckets[unsorted.trailing_zeros() as usize]);
            unsorted &= unsorted - 1;
        }
    }

    /// Make an event the next one. The insertion hint is dropped: it might name an event dequeued before.
    fn set_head(&mut self, event: Event, index: u32) {
        (self.head, self.head_index) = (event, index);
        self.insert_hint = (Event::NEVER, NONE);
    }

    #[inline(never)]
    fn enqueue_far(&mut self, event: Event, index: u32) {
        self.far.push((event, index));
        if event < self.head {
            self.set_head(event, NONE);
        }
    }

    /// Dequeue the event that [`CalendarQueue::peek`] returned, which must exist. Returns its item, which
    /// stays valid until the next event is enqueued.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> &mut T {
        let (bucket, index) = (self.bucket_of(self.head), self.head_index);
        let (year_index, slot) = (self.year_index(bucket >> YEAR_BITS), bucket as usize % BUCKETS);
        let Some(node) = self.nodes.get(index as usize) else { return self.pop_far() };
        let year = &self.years[year_index];
        let (after, mut occupied) = (node.next, year.occupied);
        let mut next = after;
        if after == NONE {
            occupied &= !(1 << slot);
            next = year.buckets[occupied.trailing_zeros() as usize % BUCKETS]; // earlier buckets are empty
        }
        let event = match self.nodes.get(next as usize) {
            Some(node) if occupied > 0 => node.event,
            _ => return self.pop_last(slot),
        };
        let (node, year) = (&mut self.nodes[index as usize], &mut self.years[year_index]);
        self.current = bucket >> YEAR_BITS;
        (year.buckets[slot], year.occupied) = (after, occupied);
        (self.head, self.head_index) = (event, next);
        node.next = self.free;
        self.free = index;
        &mut node.item
    }

    /// Dequeue the last event of a year.
    #[inline(never)]
    fn pop_last(&mut self, bucket: usize) -> &mut T {
        self.current = self.year_of(self.head);
        let (year_index, index) = (self.year_index(self.current), self.head_index);
        let year = &mut self.years[year_index];
        (year.buckets[bucket], year.occupied) = (NONE, 0);
        self.advance();
        self.release(index)
    }

    /// Return a node to the free list; its item stays readable.
    fn release(&mut self, index: u32) -> &mut T {
        let node = &mut self.nodes[index as usize];
        node.next = self.free;
        self.free = index;
        &mut node.item
    }

    /// Dequeue an event that is in a heap.
    #[inline(never)]
    fn pop_far(&mut self) -> &mut T {
        self.current = self.year_of(self.head);
        if self.timers.peek() == Some(self.head) {
            self.timers.pop();
            self.advance();
            return &mut self.timer_item;
        }
        let (_, index) = self.far.pop().expect("an event is pending");
        self.advance();
        self.release(index)
    }

    fn year(&self, number: u64) -> &Year {
        &self.years[self.year_index(number)]
    }

    /// Find the next event, from the current year on.
    #[inline(never)]
    fn advance(&mut self) {
        let count = self.years.len() as u64;
        let near = (self.current..self.current + count).find(|number| self.year(*number).occupied > 0);
        let top = self.far.peek().map_or(Event::NEVER, |(event, _)| event);
        let top = self.timers.peek().map_or(top, |timer| timer.min(top));
        let far = self.year_of(top);
        let next = match near {
            Some(near) if near < far => near,
            _ if self.is_beyond(far) => {
                (self.head, self.head_index, self.unsorted_from) = (top, NONE, u64::MAX);
                return;
            }
            _ => {
                self.fetch(far);
                far
            }
        };
        self.sort_year(next);
        self.unsorted_from = next + 1;
        let year = self.year(next);
        self.head_index = year.buckets[year.occupied.trailing_zeros() as usize];
        self.head = self.nodes[self.head_index as usize].event;
    }

    /// Move the events of a year from the heaps to their buckets.
    fn fetch(&mut self, year: u64) {
        (self.head, self.head_index) = (Event::NEVER, NONE);
        self.unsorted_from = self.unsorted_from.min(year);
        while let Some((event, index)) = self.far.peek()
            && self.year_of(event) == year
        {
            self.far.pop();
            self.enqueue(event, index);
        }
        while let Some(event) = self.timers.peek()
            && self.year_of(event) == year
        {
            self.timers.pop();
            if self.free == NONE {
                self.add_node(); // `grow` would call `adapt`, which must not run here
            }
            self.push(event);
        }
    }

    /// All pending events and their items, except timers in the heap.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (Event, &T)> {
        self.indices().into_iter().map(|index| {
            let node = &self.nodes[index as usize];
            (node.event, &node.item)
        })
    }

    /// The nodes in use.
    fn indices(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for head in self.years.iter().flat_map(|year| year.buckets) {
            all.extend(list(&self.nodes, head));
        }
        all.extend(self.far.iter().map(|(_, index)| index));
        all
    }

    /// Choose the length of a bucket and the number of years, and enqueue all events again. Two buckets are
    /// about as long as the mean gap between the next sixteenth of the events (packets: timers are farther
    /// ahead), and the years hold all but the last sixteenth and a quarter more. The caller decides how
    /// often.
    #[cold]
    pub(crate) fn adapt(&mut self) {
        let all = self.indices();
        if all.is_empty() {
            return;
        }
        let start = self.current << YEAR_BITS << self.shift;
        let mut buckets = 0;
        if let Some(spread) = self.spread(&all) {
            self.shift = u64::BITS - (spread.gap / 2).0.max(1).leading_zeros();
            buckets = 5 * ((spread.last.0 - start) >> self.shift) as usize / 4;
        }
        self.current = start >> self.shift >> YEAR_BITS;
        let buckets = buckets.clamp(2 * all.len(), 16 * all.len());
        self.years = vec![EMPTY; buckets.div_ceil(BUCKETS).next_power_of_two()];
        (self.far, self.unsorted_from) = (Heap::new(), self.current);
        for index in all {
            self.enqueue(self.nodes[index as usize].event, index);
        }
        self.advance();
    }

    /// How the events of these nodes are spread over time. Events at the earliest time are left out, since
    /// very many may share it.
    fn spread(&self, nodes: &[u32]) -> Option<Spread> {
        let mut times: Vec<Time> =
            nodes.iter().map(|index| self.nodes[*index as usize].event.time()).collect();
        let first = *times.iter().min()?;
        times.retain(|time| *time > first);
        let sixteenth = times.len() / 16;
        let last = times.len().checked_sub(sixteenth + 1)?;
        let last = *times.select_nth_unstable(last).1;
        let near = *times.select_nth_unstable(sixteenth).1;
        Some(Spread { gap: (near - first) / (sixteenth as u64).max(1), last })
    }

    /// The number of nodes: events that may be pending before memory for more is needed.
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.len()
    }
}

/// How pending events are spread over time.
struct Spread {
    /// The mean gap between the next sixteenth of them.
    gap: Span,
    /// The time before which all but the last sixteenth lie.
    last: Time,
}

/// Insert a node into the sorted list that begins with `head`.
fn insert<T>(nodes: &mut [Node<T>], head: &mut u32, index: u32) {
    let event = nodes[index as usize].event;
    let mut before = NONE;
    let mut next = *head;
    while let Some(node) = nodes.get(next as usize)
        && node.event <= event
    {
        (before, next) = (next, node.next);
    }
    nodes[index as usize].next = next;
    match nodes.get_mut(before as usize) {
        Some(node) => node.next = index,
        None => *head = index,
    }
}

/// Sort the list that begins with `head`.
fn sort<T>(nodes: &mut [Node<T>], head: &mut u32) {
    let mut next = replace(head, NONE);
    for _ in 0..MAX_INSERTION_SORT {
        let Some(node) = nodes.get(next as usize) else { return };
        let index = replace(&mut next, node.next);
        insert(nodes, head, index);
    }
    let mut all: Vec<u32> = list(nodes, *head).chain(list(nodes, next)).collect();
    all.sort_unstable_by_key(|index| nodes[*index as usize].event);
    *head = NONE;
    for index in all.into_iter().rev() {
        nodes[index as usize].next = replace(head, index);
    }
}

/// The nodes of the list that begins with `head`.
fn list<T>(nodes: &[Node<T>], head: u32) -> impl Iterator<Item = u32> {
    let index = |index: u32| (index != NONE).then_some(index);
    successors(index(head), move |last| index(nodes[*last as usize].next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EventKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Events close together and far apart, with ties, bursts at one time, equal timers, and few or very
        /// many timers: the order is that of a sorted map at any bucket length. (Mutants: years not sorted,
        /// or one too few; long lists in reverse order; an insertion hint in another bucket, already
        /// dequeued, or after the event; a hint equal to the next event; an event inserted before an equal
        /// one.)
        #[test]
        fn agrees_with_a_sorted_map(
            steps in proptest::collection::vec((0u8..4, 0u32..45, any::<u64>()), 0..1000),
            steps_per_adapt in 1usize..500,
            timers in 1..2 * MAX_TIMERS_IN_BUCKETS,
        ) {
            // Equal timers differ by their number in the map alone.
            let (mut ours, mut model) = (CalendarQueue::new(), BTreeMap::new());
            ours.expect(timers, 0);
            let (mut now, mut number) = (Time::ZERO, 0);
            for (step, (what, bits, ahead)) in steps.into_iter().enumerate() {
                if what < 2 {
                    for _ in 0..1 + ahead % 3 {
                        let expected = model.pop_first();
                        prop_assert_eq!(ours.peek(), expected.map_or(Event::NEVER, |((event, _), _)| event));
                        if let Some(((event, _), item)) = expected {
                            prop_assert_eq!(*ours.pop(), item);
                            now = event.time();
                        }
                    }
                } else {
                    let (is_timer, is_burst) = (ahead % 3 == 0, ahead % 16 == 0);
                    for _ in 0..if is_burst { 40 } else { 1 } {
                        number += 1;
                        // Enqueued in order or not.
                        let source = if what == 2 { number } else { (1 << 16) + number * 40_503 % (1 << 16) };
                        let event = Event::new(now + Span(ahead & ((1 << bits) - 1)), Span::ZERO, EventKind::Source, source);
                        if is_timer {
                            ours.push_timer(event);
                            model.insert((event, number), 0);
                        } else {
                            ours.push_with(|item| { *item = number; event });
                            model.insert((event, number), number);
                        }
                        if is_timer && number % 2 == 0 {
                            number += 1;
                            ours.push_timer(event);
                            model.insert((event, number), 0);
                        }
                    }
                }
                if step % steps_per_adapt == 0 {
                    ours.adapt();
                    prop_assert_eq!(ours.pending().count() + ours.timers.iter().count(), model.len());
                }
            }
            while let Some(((event, _), item)) = model.pop_first() {
                prop_assert_eq!(ours.peek(), event);
                prop_assert_eq!(*ours.pop(), item);
            }
            prop_assert_eq!(ours.peek(), Event::NEVER);
        }
    }
}
