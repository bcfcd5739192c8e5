//! The contract of a scheduler, and the common parts of schedulers: a store of packets, queues in it, an
//! algorithm on each.
//!
//! A [`Scheduler`] can replace an [`Aqm`] with its queue. It owns the order of the queued packets and one
//! shared limit, but not the packets: the caller stores those under a [`Token`], a small number of its choice
//! (an index in a table of packets or of buffers). The same scheduler therefore serves simulated packets and
//! the buffers of a gateway, without an allocation per packet.

use crate::{
    Algorithm, Aqm, Cause, Class, Contents, Context, Ecn, FlowId, Hooks, Limit, Occupancy, PacketView,
    QueueView, Random, Settings, SpecError, Time, Verdict,
};
use alloc::{borrow::ToOwned, boxed::Box, format, vec::Vec};
use core::mem;

/// The caller's number of a packet; a scheduler only returns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// What happened to a packet other than its departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is dropped: the token may be reused.
    Dropped(Cause),
    /// It is marked CE and stays queued, or is departing.
    Marked(Cause),
}

/// Receives every drop and mark.
pub type EventSink<'a> = &'a mut dyn FnMut(Token, Outcome);

/// Several queues, one limit, and an order between them.
///
/// `now` never decreases. Every packet passed to [`Scheduler::enqueue`] is returned exactly once: by
/// [`Scheduler::dequeue`], or through `events` with [`Outcome::Dropped`], in the same call or later.
pub trait Scheduler: Send {
    /// A packet arrives. Every packet dropped because of it, itself included, is reported.
    fn enqueue(
        &mut self,
        now: Time,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    );

    /// The transmitter is free: the next packet and its bytes, or nothing. A scheduler that holds packets
    /// back may return nothing while packets are queued.
    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, events: EventSink) -> Option<(Token, u32)>;

    /// Drop a queued packet, because space is needed elsewhere (cause `Overflow`); returns its bytes, 0 if
    /// empty.
    fn evict(&mut self, now: Time, events: EventSink) -> u64;

    /// Queued packets.
    fn packets(&self) -> u32;

    /// Queued bytes.
    fn bytes(&self) -> u64;

    /// Time of the next call of [`Scheduler::on_timer`].
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Called at the time that [`Scheduler::next_timer`] returned.
    fn on_timer(&mut self, _now: Time, _rng: &mut dyn Random) {}

    /// Whether it may hold packets back while the transmitter is free, as a shaper does.
    fn holds_back(&self) -> bool {
        false
    }

    /// Until when it holds all packets back; `None`: it does not, or there are none.
    fn held_until(&self, _now: Time) -> Option<Time> {
        None
    }

    /// Whether it needs to know the hosts of packets.
    fn sees_hosts(&self) -> bool {
        false
    }

    /// The run ends: see [`Aqm::on_end`]; the names of one class are `CLASS.NAME`.
    fn on_end(&mut self, _now: Time, _export: &mut dyn FnMut(&str, &str)) {}

    /// Report the state for plots; every name is in the `probes` of the registry entry, except those of one
    /// class: `CLASS.NAME`.
    fn probe(&self, _field: &mut dyn FnMut(&str, f64)) {}

    /// An independent copy that continues from here.
    fn clone_box(&self) -> Box<dyn Scheduler>;
}

impl Clone for Box<dyn Scheduler> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// The index of no packet.
const NONE: u32 = u32::MAX;

/// A slot of the store: a packet and its neighbours in its queue.
#[derive(Clone, Debug)]
struct Node {
    token: Token,
    view: PacketView,
    before: u32,
    after: u32,
}

/// All queued packets of a scheduler, in reusable slots.
#[derive(Clone, Debug)]
struct Store {
    nodes: Vec<Node>,
    /// The first free slot; `after` links it to the next one.
    free: u32,
}

impl Store {
    fn put(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return (self.nodes.len() - 1) as u32;
        }
        let place = self.free;
        self.free = self.nodes[place as usize].after;
        self.nodes[place as usize] = node;
        place
    }
}

/// One queue: a linked list in the store.
#[derive(Clone, Debug)]
struct Line {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
    occupancy: Occupancy,
}

/// The view of a queue for its algorithm.
struct Look<'a> {
    store: &'a Store,
    line: &'a Line,
}

impl Look<'_> {
    fn views(&self) -> impl Iterator<Item = &PacketView> {
        let mut place = self.line.head;
        core::iter::from_fn(move || {
            let node = self.store.nodes.get(place as usize)?;
            place = node.after;
            Some(&node.view)
        })
    }
}

impl Contents for Look<'_> {
    fn at(&self, position: u32) -> Option<PacketView> {
        self.views().nth(position as usize).copied()
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        self.line.occupancy.of_flow(flow, || self.views().map(|view| (view.flow, view.class)))
    }
    fn of_class(&self, class: Class) -> u32 {
        self.line.occupancy.of_class(class, || self.views().map(|view| (view.flow, view.class)))
    }
}

/// An end of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    Head,
    Tail,
}

/// A queue and its algorithm.
#[derive(Clone)]
struct Queue {
    line: Line,
    aqm: Box<dyn Aqm>,
    hooks: Hooks,
    /// A packet has departed since the last `on_idle`.
    busy: bool,
    /// Its timer is omitted until a packet arrives ([`Aqm::rests`]).
    asleep: bool,
}

/// The queues of a scheduler, under one limit.
#[derive(Clone)]
pub(crate) struct Bank {
    store: Store,
    queues: Vec<Queue>,
    limit: Limit,
    link_rate: u64,
    packets: u32,
    bytes: u64,
    /// The algorithms see the bytes of all queues as those of their own.
    whole_backlog: bool,
    /// All algorithms are alike, so that their timers expire at the same times.
    alike: bool,
    /// The queues whose timers are not omitted, in order.
    awake: Vec<u32>,
}

/// Call the algorithm of queue `$index` with a view of it.
macro_rules! ask {
    ($bank:ident, $index:expr, |$aqm:ident, $view:ident| $call:expr) => {{
        let Queue { line, aqm: $aqm, .. } = &mut $bank.queues[$index];
        let look = Look { store: &$bank.store, line };
        let $view = &QueueView {
            packets: line.packets,
            bytes: if $bank.whole_backlog { $bank.bytes } else { line.bytes },
            limit: $bank.limit,
            link_rate: $bank.link_rate,
            contents: &look,
        };
        $call
    }};
}

impl Bank {
    /// A queue for each algorithm.
    pub(crate) fn new(aqms: Vec<Box<dyn Aqm>>, context: &Context) -> Bank {
        let line = Line { head: NONE, tail: NONE, packets: 0, bytes: 0, occupancy: Occupancy::default() };
        let queue = |aqm: Box<dyn Aqm>| Queue {
            line: line.clone(),
            hooks: aqm.hooks(),
            aqm,
            busy: false,
            asleep: false,
        };
        Bank {
            store: Store { nodes: Vec::new(), free: NONE },
            awake: (0..aqms.len() as u32).collect(),
            alike: false,
            queues: aqms.into_iter().map(queue).collect(),
            limit: context.limit,
            link_rate: context.link_rate,
            packets: 0,
            bytes: 0,
            whole_backlog: false,
        }
    }

    /// `count` queues, each with a copy of `aqm`.
    pub(crate) fn alike(aqm: &dyn Aqm, count: usize, context: &Context) -> Bank {
        Bank { alike: true, ..Bank::new((0..count).map(|_| aqm.clone_box()).collect(), context) }
    }

    /// Whether the algorithms see the bytes of all queues as those of their own (Linux's `fq_codel`).
    pub(crate) fn show_whole_backlog(&mut self, yes: bool) {
        self.whole_backlog = yes;
    }

    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(crate) fn packets_of(&self, index: usize) -> u32 {
        self.queues[index].line.packets
    }
    pub(crate) fn bytes_of(&self, index: usize) -> u64 {
        self.queues[index].line.bytes
    }
    /// The head of a queue.
    pub(crate) fn head(&self, index: usize) -> Option<&PacketView> {
        self.store.nodes.get(self.queues[index].line.head as usize).map(|node| &node.view)
    }
    /// The queue with the most bytes; the first one of several.
    pub(crate) fn longest(&self) -> usize {
        let lengths = self.queues.iter().map(|queue| queue.line.bytes).enumerate();
        lengths.fold((0, 0), |best, (i, bytes)| if bytes > best.1 { (i, bytes) } else { best }).0
    }

    /// Whether `bytes` more fit under the limit.
    pub(crate) fn fits(&self, bytes: u32) -> bool {
        self.limit.has_room(self.packets, self.bytes, bytes)
    }
    /// Whether the backlog exceeds the limit.
    pub(crate) fn is_over(&self) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.packets > limit,
            Limit::Bytes(limit) => self.bytes > limit,
        }
    }

    fn push(&mut self, index: usize, token: Token, view: PacketView) {
        let line = &mut self.queues[index].line;
        let place = self.store.put(Node { token, view, before: line.tail, after: NONE });
        match self.store.nodes.get_mut(line.tail as usize) {
            Some(last) => last.after = place,
            None => line.head = place,
        }
        line.tail = place;
        line.occupancy.enter(view.flow, view.class);
        line.packets += 1;
        line.bytes += u64::from(view.bytes);
        self.packets += 1;
        self.bytes += u64::from(view.bytes);
    }

    /// Remove the packet at `place` from its queue.
    fn remove(&mut self, index: usize, place: u32) -> Option<(Token, PacketView)> {
        let Node { token, view, before, after } = self.store.nodes.get(place as usize)?.clone();
        let line = &mut self.queues[index].line;
        match self.store.nodes.get_mut(before as usize) {
            Some(node) => node.after = after,
            None => line.head = after,
        }
        match self.store.nodes.get_mut(after as usize) {
            Some(node) => node.before = before,
            None => line.tail = before,
        }
        self.store.nodes[place as usize].after = self.store.free;
        self.store.free = place;
        line.occupancy.leave(view.flow, view.class);
        line.packets -= 1;
        line.bytes -= u64::from(view.bytes);
        self.packets -= 1;
        self.bytes -= u64::from(view.bytes);
        Some((token, view))
    }

    fn place(&self, index: usize, position: u32) -> u32 {
        let mut place = self.queues[index].line.head;
        for _ in 0..position {
            place = self.store.nodes.get(place as usize).map_or(NONE, |node| node.after);
        }
        place
    }

    /// Report an arrival to the estimators of the algorithm, even if it does not fit.
    pub(crate) fn offer(&mut self, now: Time, index: usize, packet: &PacketView) {
        if self.queues[index].asleep {
            self.wake(index);
        }
        if self.queues[index].hooks.arrivals {
            ask!(self, index, |aqm, view| aqm.on_offered(now, packet, view));
        }
    }

    /// A packet arrives at a queue whose timer was omitted. The timer of the first queue never is.
    #[cold]
    fn wake(&mut self, index: usize) {
        self.queues[index].asleep = false;
        let next = self.queues[0].aqm.next_timer();
        next.into_iter().for_each(|next| self.queues[index].aqm.resume(next));
        let place = self.awake.partition_point(|other| (*other as usize) < index);
        self.awake.insert(place, index as u32);
    }

    /// Drop an arrival that does not fit.
    pub(crate) fn refuse(
        &mut self,
        now: Time,
        index: usize,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        events(token, Outcome::Dropped(Cause::Overflow));
        ask!(self, index, |aqm, view| {
            aqm.on_drop(now, packet, Cause::Overflow, view);
            aqm.on_refused(now, packet, view, rng);
        });
        self.idle_again(now, index);
    }

    /// The algorithm decides on an arrival; returns whether the packet was enqueued.
    pub(crate) fn enter(
        &mut self,
        now: Time,
        index: usize,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) -> bool {
        let mut view = *packet;
        let verdict = if self.queues[index].hooks.arrivals {
            ask!(self, index, |aqm, view| aqm.on_arrival(now, packet, view, rng))
        } else {
            Verdict::Pass
        };
        match verdict {
            Verdict::Pass => {}
            Verdict::Mark(cause) => {
                view.ecn = Ecn::Ce;
                events(token, Outcome::Marked(cause));
            }
            Verdict::Drop(cause) => {
                events(token, Outcome::Dropped(cause));
                self.idle_again(now, index);
                return false;
            }
            Verdict::DropBoth { victim, cause } => {
                let place = self.place(index, victim);
                if let Some((other, _)) = self.remove(index, place) {
                    events(other, Outcome::Dropped(cause));
                }
                events(token, Outcome::Dropped(cause));
                self.idle_again(now, index);
                return false;
            }
        }
        self.push(index, token, view);
        true
    }

    /// Drop a queued packet to free space; returns its bytes.
    pub(crate) fn evict(&mut self, now: Time, index: usize, end: End, events: EventSink) -> u64 {
        let line = &self.queues[index].line;
        let place = if end == End::Head { line.head } else { line.tail };
        let Some((token, packet)) = self.remove(index, place) else { return 0 };
        events(token, Outcome::Dropped(Cause::Overflow));
        ask!(self, index, |aqm, view| aqm.on_drop(now, &packet, Cause::Overflow, view));
        u64::from(packet.bytes)
    }

    /// The head of a queue; the algorithm is not called.
    pub(crate) fn pop(&mut self, index: usize) -> Option<(Token, PacketView)> {
        let head = self.queues[index].line.head;
        self.remove(index, head)
    }

    /// The next packet of a queue that its algorithm does not drop.
    pub(crate) fn take(
        &mut self,
        now: Time,
        index: usize,
        rng: &mut dyn Random,
        events: EventSink,
    ) -> Option<(Token, PacketView)> {
        while let Some((token, packet)) = self.pop(index) {
            let verdict = if self.queues[index].hooks.departures {
                ask!(self, index, |aqm, view| aqm.on_departure(now, &packet, view, rng))
            } else {
                Verdict::Pass
            };
            match verdict {
                Verdict::Pass => {}
                Verdict::Mark(cause) => events(token, Outcome::Marked(cause)),
                Verdict::Drop(cause) | Verdict::DropBoth { cause, .. } => {
                    events(token, Outcome::Dropped(cause));
                    continue;
                }
            }
            self.queues[index].busy = true;
            return Some((token, packet));
        }
        self.rest(now, index);
        None
    }

    /// A departure found this queue empty: call `on_idle` of its algorithm, once.
    pub(crate) fn rest(&mut self, now: Time, index: usize) {
        let queue = &mut self.queues[index];
        if queue.busy && queue.line.packets == 0 {
            queue.busy = false;
            queue.aqm.on_idle(now);
        }
    }

    /// An arrival was dropped: if no packet is queued or in transmission, the idle time continues.
    fn idle_again(&mut self, now: Time, index: usize) {
        let queue = &mut self.queues[index];
        if !queue.busy && queue.line.packets == 0 {
            queue.aqm.on_idle(now);
        }
    }

    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.awake.iter().filter_map(|index| self.queues[*index as usize].aqm.next_timer()).min()
    }

    pub(crate) fn on_timer(&mut self, now: Time, rng: &mut dyn Random) {
        let (mut awake, may_sleep) = (mem::take(&mut self.awake), self.alike && !self.whole_backlog);
        awake.retain(|index| {
            let index = *index as usize;
            if self.queues[index].aqm.next_timer().is_some_and(|due| due <= now) {
                ask!(self, index, |aqm, view| aqm.on_timer(now, view, rng));
            }
            let queue = &mut self.queues[index];
            queue.asleep = may_sleep && index > 0 && queue.line.packets == 0 && queue.aqm.rests();
            !queue.asleep
        });
        self.awake = awake;
    }

    /// The run ends: the algorithms report what they keep, as `INDEX.NAME`.
    pub(crate) fn on_end(&mut self, now: Time, export: &mut dyn FnMut(&str, &str)) {
        for (index, queue) in self.queues.iter_mut().enumerate() {
            queue.aqm.on_end(now, &mut |name, value| export(&format!("{index}.{name}"), value));
        }
    }
}

/// A scheduler in the registry: its description and its constructor.
pub struct Discipline {
    /// Name, parameters, documentation. Its `build` returns an error: a scheduler is not an algorithm on one
    /// queue.
    pub algorithm: Algorithm,
    /// Check the settings and build an instance.
    pub build: fn(&Settings) -> Result<Box<dyn Scheduler>, SpecError>,
}

/// The error for a scheduler where an algorithm on one queue is required.
pub(crate) fn is_a_scheduler(settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    Err(SpecError {
        key: settings.spec.algorithm.name.to_owned(),
        problem: "is a scheduler, with queues of its own".to_owned(),
        allowed: "an algorithm on one queue".to_owned(),
        nearest: None,
    })
}

/// The probes of the algorithm of queue `index`, as `index.name`.
pub(crate) fn prefixed(bank: &Bank, index: usize, field: &mut dyn FnMut(&str, f64)) {
    bank.queues[index].aqm.probe(&mut |name, value| field(&format!("{index}.{name}"), value));
    field(&format!("{index}.packets"), f64::from(bank.packets_of(index)));
}
