//! A finite queue in front of a link's transmitter. It counts packets, and leaves every decision to an
//! algorithm or to a scheduler.
//!
//! The packet in transmission has left the queue.

mod classful;
mod fifo;
mod host_pairs;
mod observed;
mod ops;
mod packet_ring;
mod stats;

pub(crate) use fifo::FifoRef;
pub(crate) use host_pairs::HostPairs;
pub(crate) use observed::Observations;
pub use observed::States;
pub(crate) use ops::{QueueOps, Sampled};
pub use stats::Outcome;
pub(crate) use stats::{QueueStats, QueuedPacket};

use crate::{
    error::PlanError,
    link::Medium,
    packet::Packet,
    plan,
    record::{Backlog, Counters, Export},
};
use classful::Classful;
use fifo::Fifo;
use observed::Observed;
use sojourn_aqm::{
    Algorithm, Aqm, Context, Conventions, IgnoresContents, Limit, Overflow, Scheduler, Spec, Time, units,
};
use std::sync::Arc;

/// What is the same for all queues of a run.
pub(crate) struct QueueContext<'a> {
    pub(crate) mean_packet: u32,
    pub(crate) conventions: Conventions,
    /// Algorithms in addition to those of the registry.
    pub(crate) algorithms: &'a [&'static Algorithm],
}

/// What decides about packets.
enum Decider {
    /// An algorithm for a FIFO, and the drop policy of a full buffer.
    Aqm(Box<dyn Aqm>, Overflow),
    /// A scheduler.
    Scheduler(Box<dyn Scheduler>),
}

/// The packets with what decides about them.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every queue is a FIFO, and a box would be one more indirection"
)]
enum Backend {
    Fifo(Fifo),
    Classful(Classful),
    /// One of the others, whose packets are recorded.
    Observed(Box<Observed>),
}

impl Backend {
    /// The run ends.
    fn on_end(&mut self, now: Time, export: &mut dyn FnMut(&str, &str)) {
        match self {
            Backend::Fifo(fifo) => fifo.on_end(now, export),
            Backend::Classful(classful) => classful.on_end(now, export),
            Backend::Observed(observed) => observed.queue.on_end(now, export),
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: &mut Packet, stats: &mut QueueStats) -> bool {
        match self {
            Backend::Fifo(fifo) => fifo.access(stats).enqueue(now, packet),
            Backend::Classful(classful) => {
                classful.enqueue(now, packet, stats);
                stats.outcomes.is_empty()
            }
            Backend::Observed(observed) => observed.enqueue(now, packet, stats),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, stats: &mut QueueStats) -> Option<usize> {
        match self {
            Backend::Fifo(fifo) => fifo.access(stats).dequeue(now),
            Backend::Classful(classful) => classful.dequeue(now, stats).then_some(0),
            Backend::Observed(observed) => observed.dequeue(now, stats),
        }
    }

    /// The packet taken last, from `slot`.
    #[inline(always)]
    fn taken(&self, slot: usize) -> &QueuedPacket {
        match self {
            Backend::Fifo(fifo) => fifo.taken(slot),
            Backend::Classful(classful) => classful.taken(),
            Backend::Observed(observed) => observed.taken(slot),
        }
    }

    #[inline(always)]
    fn backlog(&self) -> (u32, u64) {
        match self {
            Backend::Fifo(fifo) => fifo.backlog(),
            Backend::Classful(classful) => {
                let Backlog { packets, bytes } = classful.backlog();
                (packets, bytes)
            }
            Backend::Observed(observed) => observed.backlog(),
        }
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Backend::Fifo(fifo) => Box::new(fifo.waiting()),
            Backend::Classful(classful) => Box::new(classful.waiting()),
            Backend::Observed(observed) => observed.queue.waiting(),
        }
    }

    /// The FIFO, unless there is a scheduler, which needs neither the rate of the link nor idle times.
    #[inline(always)]
    fn fifo(&mut self) -> Option<&mut Fifo> {
        match self {
            Backend::Fifo(fifo) => Some(fifo),
            Backend::Classful(_) => None,
            Backend::Observed(observed) => observed.fifo(),
        }
    }

    /// The scheduler, if there is one.
    fn scheduler(&self) -> Option<&dyn Scheduler> {
        match self {
            Backend::Fifo(_) => None,
            Backend::Classful(classful) => Some(classful.scheduler()),
            Backend::Observed(observed) => observed.queue.scheduler(),
        }
    }

    fn show_hosts(&mut self, hosts: &Arc<HostPairs>) {
        match self {
            Backend::Fifo(_) => {}
            Backend::Classful(classful) => classful.show_hosts(hosts),
            Backend::Observed(observed) => observed.queue.show_hosts(hosts),
        }
    }

    #[inline(always)]
    fn next_timer(&self) -> Option<Time> {
        match self {
            Backend::Fifo(fifo) => fifo.aqm().next_timer(),
            Backend::Classful(classful) => classful.scheduler().next_timer(),
            Backend::Observed(observed) => observed.next_timer(),
        }
    }

    fn on_timer(&mut self, now: Time) {
        match self {
            Backend::Fifo(fifo) => fifo.on_timer(now),
            Backend::Classful(classful) => classful.on_timer(now),
            Backend::Observed(observed) => observed.queue.on_timer(now),
        }
    }

    #[inline(always)]
    fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        match self {
            Backend::Fifo(fifo) => fifo.aqm().probe(field),
            Backend::Classful(classful) => classful.scheduler().probe(field),
            Backend::Observed(observed) => observed.probe(field),
        }
    }
}

/// The queue and its transmitter.
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) spec: String,
    pub(crate) link: u32,
    pub(crate) kind: u32,
    /// The link's rate changes with time.
    pub(crate) varies: bool,
    pub(crate) stats: QueueStats,
    /// The scheduler may hold packets back; when it will be asked again, if that is an event.
    holds_back: bool,
    asked_at: Time,
    /// How the link gets the medium.
    pub(crate) medium: Option<Box<Medium>>,
    limit: Limit,
    queue: Backend,
}

impl Port {
    /// The port that `queue`, at `key` of the plan, describes, in front of `link` with its rate.
    ///
    /// # Errors
    /// A bad limit or spec.
    pub(crate) fn of(
        name: String,
        key: &str,
        queue: &plan::QueueConfig,
        link: u32,
        link_rate: u64,
        setting: &QueueContext,
        seed: u64,
    ) -> Result<Port, PlanError> {
        let at_aqm = |error| PlanError::spec(&format!("{key}.aqm"), error);
        let spec = Spec::parse_with(&queue.aqm, setting.algorithms).map_err(at_aqm)?;
        let limit = match spec.limit {
            Some(limit) => limit,
            None => units::limit(&queue.limit).map_err(|why| {
                PlanError::new(format!("{key}.limit"), format!("= {} {why}", queue.limit))
                    .allowed("packets (100p) or bytes (120kB)")
            })?,
        };
        // ns-2's limit counts the packet in service for some queues, so one fewer may wait.
        let waiting = match limit {
            Limit::Packets(n) if setting.conventions.is_ns2() && spec.algorithm.ns2_limit_counts_service => {
                Limit::Packets((n - 1).max(1))
            }
            limit => limit,
        };
        let context = Context::new(link_rate, limit)
            .with_mean_packet(setting.mean_packet)
            .with_ecn(queue.ecn)
            .with_conventions(setting.conventions);
        let decider = if spec.is_scheduler() {
            Decider::Scheduler(spec.schedule(context).map_err(at_aqm)?)
        } else {
            let overflow = spec.overflow.unwrap_or(Overflow::Tail);
            Decider::Aqm(spec.build(context).map_err(at_aqm)?, overflow)
        };
        let medium = queue.medium.map(|medium| Box::new(Medium::new(medium, &name, seed)));
        Ok(Port { medium, ..Port::new(name, spec.to_string(), link, link_rate, waiting, decider, seed) })
    }

    fn new(
        name: String,
        spec: String,
        link: u32,
        link_rate: u64,
        limit: Limit,
        decider: Decider,
        seed: u64,
    ) -> Port {
        let holds_back = matches!(&decider, Decider::Scheduler(scheduler) if scheduler.holds_back());
        let queue = match decider {
            Decider::Aqm(aqm, overflow) => {
                Backend::Fifo(Fifo::new(&name, link_rate, limit, overflow, aqm, seed))
            }
            Decider::Scheduler(scheduler) => Backend::Classful(Classful::new(&name, scheduler, seed)),
        };
        let (stats, asked_at) = (QueueStats::default(), Time::NEVER);
        let (kind, varies, medium) = (0, false, None);
        Port { name, spec, link, kind, varies, stats, holds_back, asked_at, medium, limit, queue }
    }

    pub(crate) fn limit(&self) -> Limit {
        self.limit
    }

    /// The same queue, which also keeps a log of its packets, and counts what it carries for each flow.
    pub(crate) fn observed(self, packets: bool) -> Port {
        Port { queue: Backend::Observed(Box::new(Observed::new(self.queue, packets))), ..self }
    }

    /// What an observed queue has recorded.
    pub(crate) fn observations(&mut self) -> Option<&mut Observations> {
        match &mut self.queue {
            Backend::Observed(observed) => Some(&mut observed.seen),
            Backend::Fifo(_) | Backend::Classful(_) => None,
        }
    }

    /// Packets and bytes that wait.
    #[inline]
    pub(crate) fn backlog(&self) -> (u32, u64) {
        self.queue.backlog()
    }

    pub(crate) fn waiting(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        self.queue.waiting()
    }

    /// Whether it may hold packets back while its transmitter is free.
    pub(crate) fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Its transmitter got no packet: when to ask again, unless an event does that already.
    #[inline]
    pub(crate) fn ask_again(&mut self, now: Time) -> Option<Time> {
        if !self.holds_back {
            return None;
        }
        let held = self.queue.scheduler()?.held_until(now)?;
        self.ask_at(held)
    }

    /// The transmitter is to ask for a packet at `time`: the time, unless an event does that already.
    fn ask_at(&mut self, time: Time) -> Option<Time> {
        let is_new = time < self.asked_at;
        if is_new {
            self.asked_at = time;
        }
        is_new.then_some(time)
    }

    /// Packets wait, but the link has the medium only at `time`: its transmitter is idle. As
    /// [`Port::ask_again`].
    pub(crate) fn wait_until(&mut self, now: Time, time: Time) -> Option<Time> {
        self.stats.rest(now);
        self.ask_at(time)
    }

    /// The transmitter is busy although it found the queue empty: it sends an aggregate.
    pub(crate) fn keep_busy(&mut self, now: Time) {
        self.stats.keep_busy(now);
    }

    /// The event of [`Port::ask_again`]: whether the transmitter is free.
    pub(crate) fn on_ask(&mut self) -> bool {
        self.asked_at = Time::NEVER;
        !self.stats.busy
    }

    /// Whether the scheduler needs the hosts of packets.
    pub(crate) fn sees_hosts(&self) -> bool {
        self.queue.scheduler().is_some_and(|scheduler| scheduler.sees_hosts())
    }

    /// The scheduler sees these hosts.
    pub(crate) fn show_hosts(&mut self, hosts: &Arc<HostPairs>) {
        self.queue.show_hosts(hosts);
    }

    /// The link's rate has changed.
    pub(crate) fn set_link_rate(&mut self, rate: u64) {
        if let Some(fifo) = self.queue.fifo() {
            fifo.set_link_rate(rate);
        }
    }

    /// Account for the time up to `now`.
    pub(crate) fn pass(&mut self, now: Time) {
        let (packets, bytes) = self.backlog();
        self.stats.counters.pass(now, packets, bytes, self.stats.busy);
    }

    /// The queue, if it is one FIFO with an algorithm `A`.
    pub(crate) fn fifo_with<A: IgnoresContents>(&mut self) -> Option<FifoRef<'_, A>> {
        match &mut self.queue {
            Backend::Fifo(fifo) => fifo.fifo_with(&mut self.stats),
            Backend::Classful(_) | Backend::Observed(_) => None,
        }
    }

    /// When [`Port::on_timer`] must be called next, if it must.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.queue.next_timer()
    }

    /// The timer of the algorithm expires.
    pub(crate) fn on_timer(&mut self, now: Time) {
        self.queue.on_timer(now);
    }

    /// The run ends: the algorithm adds what it keeps to `exports`.
    pub(crate) fn on_end(&mut self, now: Time, exports: &mut Vec<Export>) {
        let queue = &self.name;
        let mut export = |name: &str, value: &str| {
            exports.push(Export { queue: queue.clone(), name: name.to_owned(), value: value.to_owned() });
        };
        self.queue.on_end(now, &mut export);
    }
}

impl QueueOps for Port {
    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: &mut Packet) -> bool {
        self.queue.enqueue(now, packet, &mut self.stats)
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time) -> Option<usize> {
        self.queue.dequeue(now, &mut self.stats)
    }

    #[inline(always)]
    fn packet(&self, slot: usize) -> &Packet {
        &self.queue.taken(slot).packet
    }

    /// A scheduler needs no call.
    fn on_idle(&mut self, now: Time) {
        if let Some(fifo) = self.queue.fifo() {
            fifo.access(&mut self.stats).on_idle(now);
        }
    }

    #[inline(always)]
    fn stats(&mut self) -> &mut QueueStats {
        &mut self.stats
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.backlog().0
    }

    #[inline(always)]
    fn drops_at_dequeue(&self) -> bool {
        true
    }

    fn sampled(&mut self) -> impl Sampled {
        self
    }
}

impl Sampled for Port {
    #[inline(always)]
    fn pass(&mut self, now: Time) -> (u32, u64) {
        self.pass(now);
        self.backlog()
    }

    fn counters(&self) -> &Counters {
        &self.stats.counters
    }

    fn probe(&self, mut field: impl FnMut(&str, f64)) {
        self.queue.probe(&mut field);
    }
}
