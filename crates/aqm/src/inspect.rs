//! The cost of an algorithm: its operations per packet, the number of state changes, and its time.
//!
//! A [`Driver`] runs an algorithm, or a scheduler, on a link with an offered load of 9/8 of its rate, with
//! packets of several flows in turn, so that the algorithm is in steady state after the [`WARM_UP`]. A step
//! is nine arrivals, then eight departures. Random numbers, reads of the queue's contents and timers are
//! counted; equal counts for few and for many flows show that the work does not depend on their number. The
//! clock is the caller's. Valgrind counts instructions by the names of the functions `arrival_at_queue`,
//! `departure_at_queue` and so on, which make every decision.

use crate::{
    Aqm, Cause, Class, Contents, Ecn, FlowId, Limit, Outcome, PacketView, QueueView, Random, Scheduler, Span,
    Stream, Time, Token, Verdict,
};
use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};
use core::{cell::Cell, mem::size_of_val};

/// Packets before the counted ones.
pub const WARM_UP: u32 = 20_000;

/// The buffer of the link.
pub const LIMIT: Limit = Limit::Packets(100);

/// Size of every packet in bytes.
pub const PACKET: u32 = 500;

/// Arrivals of one step.
pub const ARRIVALS: u64 = 9;
/// Departures of one step.
const DEPARTURES: u64 = 8;

/// The counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Packets that arrived.
    pub packets: u64,
    /// Departures decided by the algorithm, or departures from a scheduler.
    pub departures: u64,
    /// Random numbers drawn.
    pub draws: u64,
    /// Reads of the queue's contents: a packet, or the backlog of a flow or a class; reads by a scheduler of
    /// its own queues are not counted.
    pub looks: u64,
    /// Timers that expired.
    pub timers: u64,
    /// Arrivals and departures at which one of its probes changed; 0 unless watched.
    pub moves: u64,
    /// Time on the link.
    pub elapsed: Span,
    /// Time of the caller's clock spent in arrivals, in departures and in timers.
    pub spent: [u64; 3],
}

/// The measured subject.
pub enum Subject {
    /// An algorithm on one queue.
    Aqm(Box<dyn Aqm>),
    /// A scheduler.
    Scheduler(Box<dyn Scheduler>),
}

impl Clone for Subject {
    fn clone(&self) -> Subject {
        match self {
            Subject::Aqm(aqm) => Subject::Aqm(aqm.clone_box()),
            Subject::Scheduler(scheduler) => Subject::Scheduler(scheduler.clone_box()),
        }
    }
}

/// A link with its load.
pub struct Driver {
    subject: Subject,
    link_rate: u64,
    flows: u32,
    queue: Queue,
    rng: Counted,
    now: Time,
    /// Packets so far.
    number: u64,
    /// A packet was sent since the queue was last found empty.
    busy: bool,
    /// The last values of the probes, if they are watched.
    watched: Option<Vec<f64>>,
    cost: Cost,
}

impl Driver {
    /// `subject` on a link of `link_rate` bit/s, with packets of `flows` flows.
    pub fn new(subject: Subject, link_rate: u64, flows: u32) -> Driver {
        let flows = flows.max(1);
        let mut driver = Driver {
            subject,
            link_rate,
            flows,
            queue: Queue { line: VecDeque::new(), of_flow: vec![0; flows as usize], looks: Cell::new(0) },
            rng: Counted { stream: Stream::new(1, "inspect"), draws: 0 },
            now: Time::ZERO,
            number: 0,
            busy: false,
            watched: None,
            cost: Cost::default(),
        };
        driver.run(WARM_UP, &mut || 0);
        driver
    }

    /// Also count the packets that change a probe, which is slow.
    pub fn watch(&mut self) {
        self.watched = Some(self.probes());
    }

    /// Bytes of the instance itself, without what it keeps on the heap.
    pub fn state_bytes(&self) -> usize {
        match &self.subject {
            Subject::Aqm(aqm) => size_of_val(&**aqm),
            Subject::Scheduler(scheduler) => size_of_val(&**scheduler),
        }
    }

    /// The measured subject in its current state.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Run at least `packets` packets; returns their cost. `clock` is read around the arrivals, departures
    /// and timers of each step.
    pub fn run(&mut self, packets: u32, clock: &mut dyn FnMut() -> u64) -> Cost {
        self.cost = Cost::default();
        (self.rng.draws, self.queue.looks) = (0, Cell::new(0));
        let begun = self.now;
        while self.cost.packets < u64::from(packets) {
            self.step(clock);
        }
        let (draws, looks) = (self.rng.draws, self.queue.looks.get());
        Cost { draws, looks, elapsed: self.now.since(begun), ..self.cost }
    }

    fn step(&mut self, clock: &mut dyn FnMut() -> u64) {
        let begun = clock();
        for _ in 0..ARRIVALS {
            self.arrive();
            self.note_move();
        }
        let arrived = clock();
        for _ in 0..DEPARTURES {
            self.depart();
            self.note_move();
        }
        let departed = clock();
        self.cost.spent[0] += arrived - begun;
        self.cost.spent[1] += departed - arrived;
        while self.next_timer().is_some_and(|due| due <= self.now) {
            let begun = clock();
            self.on_timer();
            self.cost.spent[2] += clock() - begun;
        }
    }

    fn arrive(&mut self) {
        // Classes, and a quarter of scalable packets, in turn.
        let ecn = if self.number % 4 == 3 { Ecn::Ect1 } else { Ecn::NotEct };
        let (flow, class) = (FlowId((self.number % u64::from(self.flows)) as u32), (self.number % 3) as u8);
        self.now += Span(crate::transmission(u64::from(PACKET) * DEPARTURES, self.link_rate).0 / ARRIVALS);
        let packet = PacketView::new(PACKET, self.now).with_ecn(ecn).with_flow(flow).with_class(Class(class));
        self.number += 1;
        self.cost.packets += 1;
        match &mut self.subject {
            Subject::Aqm(aqm) => {
                let fits = self.queue.line.len() < 100;
                let view = self.queue.view(self.link_rate);
                match arrival_at_queue(&mut **aqm, self.now, &packet, fits, &view, &mut self.rng) {
                    Verdict::Pass => self.queue.enter(packet),
                    Verdict::Mark(_) => self.queue.enter(PacketView { ecn: Ecn::Ce, ..packet }),
                    Verdict::Drop(_) => {}
                    Verdict::DropBoth { victim, .. } => drop(self.queue.leave(victim as usize)),
                }
            }
            Subject::Scheduler(scheduler) => {
                arrival_at_scheduler(&mut **scheduler, self.now, self.number, &packet, &mut self.rng);
            }
        }
    }

    fn depart(&mut self) {
        match &mut self.subject {
            Subject::Aqm(aqm) => {
                while let Some(packet) = self.queue.leave(0) {
                    self.cost.departures += 1;
                    let view = self.queue.view(self.link_rate);
                    let verdict = departure_at_queue(&mut **aqm, self.now, &packet, &view, &mut self.rng);
                    if !matches!(verdict, Verdict::Drop(_)) {
                        self.busy = true;
                        return;
                    }
                }
                if core::mem::replace(&mut self.busy, false) {
                    aqm.on_idle(self.now);
                }
            }
            Subject::Scheduler(scheduler) => {
                let sent = departure_at_scheduler(&mut **scheduler, self.now, &mut self.rng);
                self.cost.departures += u64::from(sent.is_some());
            }
        }
    }

    fn next_timer(&self) -> Option<Time> {
        match &self.subject {
            Subject::Aqm(aqm) => aqm.next_timer(),
            Subject::Scheduler(scheduler) => scheduler.next_timer(),
        }
    }

    fn on_timer(&mut self) {
        self.cost.timers += 1;
        match &mut self.subject {
            Subject::Aqm(aqm) => {
                timer_at_queue(&mut **aqm, self.now, &self.queue.view(self.link_rate), &mut self.rng);
            }
            Subject::Scheduler(scheduler) => timer_at_scheduler(&mut **scheduler, self.now, &mut self.rng),
        }
        if self.watched.is_some() {
            self.watch(); // the changes of a timer are not those of a packet
        }
    }

    fn note_move(&mut self) {
        let Some(before) = &self.watched else { return };
        let probes = self.probes();
        self.cost.moves += u64::from(probes != *before);
        self.watched = Some(probes);
    }

    fn probes(&self) -> Vec<f64> {
        let mut values = Vec::new();
        match &self.subject {
            Subject::Aqm(aqm) => aqm.probe(&mut |_, value| values.push(value)),
            Subject::Scheduler(scheduler) => scheduler.probe(&mut |_, value| values.push(value)),
        }
        values
    }
}

#[inline(never)]
fn arrival_at_queue(
    aqm: &mut dyn Aqm,
    now: Time,
    packet: &PacketView,
    fits: bool,
    queue: &QueueView,
    rng: &mut dyn Random,
) -> Verdict {
    if fits {
        return aqm.on_fit(now, packet, queue, rng);
    }
    aqm.on_offered(now, packet, queue);
    aqm.on_drop(now, packet, Cause::Overflow, queue);
    aqm.on_refused(now, packet, queue, rng);
    Verdict::Drop(Cause::Overflow)
}

#[inline(never)]
fn departure_at_queue(
    aqm: &mut dyn Aqm,
    now: Time,
    packet: &PacketView,
    queue: &QueueView,
    rng: &mut dyn Random,
) -> Verdict {
    aqm.on_departure(now, packet, queue, rng)
}

#[inline(never)]
fn timer_at_queue(aqm: &mut dyn Aqm, now: Time, queue: &QueueView, rng: &mut dyn Random) {
    aqm.on_timer(now, queue, rng);
}

/// The cost does not depend on outcomes.
fn ignore(_: Token, _: Outcome) {}

#[inline(never)]
fn arrival_at_scheduler(
    scheduler: &mut dyn Scheduler,
    now: Time,
    number: u64,
    packet: &PacketView,
    rng: &mut dyn Random,
) {
    scheduler.enqueue(now, Token(number), packet, rng, &mut ignore);
}

#[inline(never)]
fn departure_at_scheduler(scheduler: &mut dyn Scheduler, now: Time, rng: &mut dyn Random) -> Option<Token> {
    scheduler.dequeue(now, rng, &mut ignore).map(|(token, _)| token)
}

#[inline(never)]
fn timer_at_scheduler(scheduler: &mut dyn Scheduler, now: Time, rng: &mut dyn Random) {
    scheduler.on_timer(now, rng);
}

/// A queue that counts every read and answers it without a search.
struct Queue {
    line: VecDeque<PacketView>,
    of_flow: Vec<u32>,
    looks: Cell<u64>,
}

impl Queue {
    fn view(&self, link_rate: u64) -> QueueView<'_> {
        let packets = self.line.len() as u32;
        QueueView { packets, bytes: u64::from(packets * PACKET), limit: LIMIT, link_rate, contents: self }
    }
    fn enter(&mut self, packet: PacketView) {
        self.of_flow[packet.flow.0 as usize] += 1;
        self.line.push_back(packet);
    }
    fn leave(&mut self, position: usize) -> Option<PacketView> {
        let packet = if position == 0 { self.line.pop_front() } else { self.line.remove(position) }?;
        self.of_flow[packet.flow.0 as usize] -= 1;
        Some(packet)
    }
    fn look(&self) {
        self.looks.set(self.looks.get() + 1);
    }
}

impl Contents for Queue {
    fn at(&self, position: u32) -> Option<PacketView> {
        self.look();
        self.line.get(position as usize).copied()
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        self.look();
        self.of_flow[flow.0 as usize]
    }
    fn of_class(&self, _: Class) -> u32 {
        self.look();
        self.line.len() as u32 / 3
    }
}

/// A random number generator that counts its draws.
struct Counted {
    stream: Stream,
    draws: u64,
}

impl Random for Counted {
    fn uniform(&mut self) -> f64 {
        self.draws += 1;
        self.stream.uniform()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Conventions, Spec};

    fn of(spec: &str, flows: u32) -> Driver {
        let context = Context {
            link_rate: 10_000_000,
            limit: LIMIT,
            mean_packet: PACKET,
            ecn: true,
            conventions: Conventions::Rfc,
        };
        let aqm = Spec::parse(spec).and_then(|spec| spec.build(context)).expect("a valid spec");
        Driver::new(Subject::Aqm(aqm), context.link_rate, flows)
    }

    fn cost(spec: &str, flows: u32) -> Cost {
        let mut driver = of(spec, flows);
        driver.watch();
        driver.run(18_000, &mut || 0)
    }

    #[test]
    fn raqm_draws_one_number_per_packet_for_any_number_of_flows() {
        let few = cost("raqm", 40);
        // 6.4 s of the link: six periods.
        assert_eq!((few.packets, few.looks, few.timers), (18_000, 0, 6));
        assert_eq!(few.elapsed.0 / 1_000_000, 6_399);
        assert!((16_000..=18_000).contains(&few.draws), "{few:?}");
        assert_eq!(cost("raqm", 400), few);
    }

    #[test]
    fn reads_of_the_queue_contents_are_counted() {
        #[derive(Clone)]
        struct Reader;
        impl Aqm for Reader {
            fn on_offered(&mut self, _: Time, packet: &PacketView, queue: &QueueView) {
                for flow in 0..=packet.flow.0 {
                    queue.contents.of_flow(FlowId(flow));
                }
            }
            fn clone_box(&self) -> Box<dyn Aqm> {
                Box::new(Reader)
            }
        }
        let looks = |flows| {
            let mut driver = Driver::new(Subject::Aqm(Box::new(Reader)), 10_000_000, flows);
            driver.run(36_000, &mut || 0).looks
        };
        assert_eq!(looks(40), 36_000 / 40 * (40 * 41 / 2));
        assert!(looks(400) > looks(40));
    }

    #[test]
    fn packets_that_change_the_state_are_counted() {
        // RED changes its average at every arrival, PI its probability at the timer only, DropTail nothing.
        let (red, pi, droptail) = (cost("red", 40), cost("pi", 40), cost("droptail", 40));
        assert!(red.moves * 10 > 9 * red.packets, "{red:?}");
        assert_eq!((pi.moves, pi.timers), (0, 1024));

        assert_eq!((droptail.moves, droptail.draws, droptail.timers), (0, 0, 0));
    }

    #[test]
    fn the_clock_is_read_around_arrivals_departures_and_timers() {
        let mut ticks = 0;
        let cost = of("pi", 40).run(9 * 10, &mut || {
            ticks += 1;
            ticks
        });
        assert_eq!(cost.spent, [10, 10, cost.timers]);
        assert_eq!((cost.timers, ticks), (5, 3 * 10 + 2 * 5));
    }
}
