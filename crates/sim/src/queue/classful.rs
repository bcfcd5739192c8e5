//! A queue with a scheduler. The scheduler decides the order, and which packets are dropped or marked; it
//! knows packets by tokens, and the packets are stored here.

use super::{
    HostPairs,
    stats::{QueueStats, QueuedPacket},
};
use crate::{packet::Packet, record::Backlog};
use sojourn_aqm::{Outcome, Scheduler, Stream, Time, Token};
use std::sync::Arc;

/// A scheduler and its packets.
pub(super) struct Classful {
    scheduler: Box<dyn Scheduler>,
    slab: PacketSlab,
    rng: Stream,
    /// What waits. It changes only when a packet is enqueued or dequeued.
    backlog: Backlog,
    /// The packet taken last.
    taken: QueuedPacket,
    /// The hosts of packets, if the scheduler needs them.
    hosts: Option<Arc<HostPairs>>,
}

/// Packets by token. Free slots are reused.
#[derive(Default)]
struct PacketSlab {
    places: Vec<Option<QueuedPacket>>,
    free: Vec<usize>,
}

impl PacketSlab {
    fn put(&mut self, one: QueuedPacket) -> Token {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(one);
        Token(place as u64)
    }

    fn take(&mut self, token: Token) -> QueuedPacket {
        self.free.push(token.0 as usize);
        self.places[token.0 as usize].take().expect("a scheduler returns each token once")
    }

    fn get(&mut self, token: Token) -> &mut QueuedPacket {
        self.places[token.0 as usize].as_mut().expect("a scheduler reports on queued packets only")
    }

    /// Carry out what the scheduler decided about a packet.
    fn apply(&mut self, now: Time, token: Token, outcome: Outcome, stats: &mut QueueStats) {
        match outcome {
            Outcome::Dropped(cause) => {
                let one = self.take(token);
                stats.discard(now, &one.packet, cause, one.number);
            }
            Outcome::Marked(cause) => {
                let QueuedPacket { packet, number, .. } = self.get(token);
                stats.mark(now, packet, cause, *number);
            }
        }
    }
}

impl Classful {
    pub(super) fn new(name: &str, scheduler: Box<dyn Scheduler>, seed: u64) -> Classful {
        let rng = Stream::new(seed, &format!("queue/{name}/aqm"));
        let (slab, backlog, taken) = Default::default();
        Classful { scheduler, slab, rng, backlog, taken, hosts: None }
    }

    /// Packets and bytes that wait.
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.slab.places.iter().flatten().map(|one| &one.packet)
    }
    pub(super) fn scheduler(&self) -> &dyn Scheduler {
        &*self.scheduler
    }

    /// The scheduler sees these hosts, if it needs any.
    pub(super) fn show_hosts(&mut self, hosts: &Arc<HostPairs>) {
        self.hosts = self.scheduler.sees_hosts().then(|| hosts.clone());
    }

    /// A packet arrives.
    #[inline(never)]
    pub(super) fn enqueue(&mut self, now: Time, packet: &Packet, stats: &mut QueueStats) {
        stats.arrival(now, packet);
        let token = self.slab.put(QueuedPacket { packet: *packet, arrived: now, number: stats.latest() });
        let slab = &mut self.slab;
        let mut view = packet.view(now);
        if let Some(hosts) = &self.hosts {
            let (source, destination) = hosts.of(packet);
            view = view.with_hosts(source, destination);
        }
        self.scheduler.enqueue(now, token, &view, &mut self.rng, &mut |token, outcome| {
            slab.apply(now, token, outcome, stats);
        });
        self.count(now, stats);
    }

    /// Count the change of the backlog.
    #[inline(always)]
    fn count(&mut self, now: Time, stats: &mut QueueStats) {
        let before = self.backlog;
        self.backlog = Backlog { packets: self.scheduler.packets(), bytes: self.scheduler.bytes() };
        stats.counters.change(now, before, self.backlog);
    }

    /// Take the next packet to send, if there is one.
    #[inline(never)]
    pub(super) fn dequeue(&mut self, now: Time, stats: &mut QueueStats) -> bool {
        let slab = &mut self.slab;
        let next = self.scheduler.dequeue(now, &mut self.rng, &mut |token, outcome| {
            slab.apply(now, token, outcome, stats);
        });
        self.count(now, stats);
        let Some((token, _)) = next else {
            stats.rest(now);
            return false;
        };
        let one = self.slab.take(token);
        self.taken = one;
        stats.departure(now, one.packet.bytes, one.packet.class, one.arrived);
        true
    }

    /// The packet taken last.
    #[inline(always)]
    pub(super) fn taken(&self) -> &QueuedPacket {
        &self.taken
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.scheduler.on_timer(now, &mut self.rng);
    }

    pub(super) fn on_end(&mut self, now: Time, export: &mut dyn FnMut(&str, &str)) {
        self.scheduler.on_end(now, export);
    }
}
