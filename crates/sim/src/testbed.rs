//! QueueSet and their links without a network around them: for a world that has senders and a clock of its
//! own.
//!
//! The caller says what arrives and when; a link that is busy says when it must be served again. Time is
//! virtual here as everywhere: whoever comes late serves what was due in the order in which it was due.

use crate::{
    error::{PlanError, RunError},
    link::{Link, LinkKind, RateTrace, TxTime},
    packet::{Carries, Packet},
    plan,
    queue::{Port, QueueContext, QueueOps},
    record::{Record, Recorder},
};
pub use crate::{queue::Outcome, record::Totals};
use sojourn_aqm::{Algorithm, Class, Conventions, Ecn};

/// A packet as a queue knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDesc {
    /// The caller's name for it.
    pub token: u32,
    /// Its flow: dense small numbers.
    pub flow: u32,
    /// Size on the wire.
    pub bytes: u32,
    /// ECN field; marked ones come out as [`Ecn::Ce`].
    pub ecn: Ecn,
    /// Traffic class.
    pub class: Class,
}

/// A transmission that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// What is sent, marks included.
    pub packet: PacketDesc,
    /// When the transmitter is done and the link must be served again.
    pub end: u64,
    /// When it reaches the other end.
    pub arrival: u64,
}

/// Links, and the queues in front of them.
pub struct QueueSet {
    links: Vec<(Link, TxTime)>,
    kinds: Vec<LinkKind>,
    ports: Vec<Port>,
    recorder: Recorder,
}

/// A link that never loses a packet: its queue has no end.
pub struct UnboundedLink(Link, TxTime, [LinkKind; 1]);

impl UnboundedLink {
    /// A link of `rate` bit/s.
    pub fn new(rate: u64) -> UnboundedLink {
        let kinds = [LinkKind::new(rate.max(1), 0)];
        UnboundedLink(Link::default(), TxTime::new(0, &kinds), kinds)
    }

    /// Hand over `bytes` at `now`, which is no earlier than before; when they have been sent.
    pub fn transmit(&mut self, now: u64, bytes: u32) -> u64 {
        self.0.transmit(&mut self.1, &mut self.2, now, bytes)
    }
}

/// What all queues share.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Size on the wire that algorithms count in.
    pub mean_packet: u32,
    /// Samples this often; 0: none.
    pub interval: u64,
    /// Whose defaults algorithms have.
    pub conventions: Conventions,
    /// Algorithms beside the registry's.
    pub algorithms: &'a [&'static Algorithm],
    /// Of their random numbers.
    pub seed: u64,
}

impl QueueSet {
    /// One queue for each of `links`, which are called `FROM-TO`.
    ///
    /// # Errors
    /// A link without rate or queue, a bad spec or limit.
    pub fn new(links: &[plan::Link], options: &Options) -> Result<QueueSet, PlanError> {
        let setting = QueueContext {
            mean_packet: options.mean_packet,
            conventions: options.conventions,
            algorithms: options.algorithms,
        };
        let mut queues = QueueSet {
            links: Vec::new(),
            kinds: Vec::new(),
            ports: Vec::new(),
            recorder: Recorder::new(options.interval, None, links.len()),
        };
        for (i, one) in links.iter().enumerate() {
            let name = format!("{}-{}", one.from, one.to);
            let key = format!("link.{name}");
            if one.rate == 0 {
                return Err(
                    PlanError::new(format!("{key}.rate"), "is zero").allowed("a rate of at least 1bit/s")
                );
            }
            let Some(queue) = &one.queue else {
                return Err(PlanError::new(format!("{key}.queue"), "is missing"));
            };
            let mut kind = LinkKind::new(one.rate, one.delay);
            if let Some(capacity) = &one.capacity {
                kind.vary(RateTrace::new(capacity, &name, options.seed));
            }
            let key = format!("{key}.queue");
            let mut port = Port::of(name, &key, queue, (i as u32, one.rate), &setting, options.seed)?;
            port.kind = i as u32;
            queues.ports.push(port);
            queues.kinds.push(kind);
            queues.links.push((Link::default(), TxTime::new(i as u32, &queues.kinds)));
        }
        Ok(queues)
    }

    /// A packet reaches the queue of `link`. If that is idle then, it must be served at once.
    pub fn enqueue(
        &mut self,
        link: usize,
        now: u64,
        packet: PacketDesc,
        on_outcome: &mut impl FnMut(u32, Outcome),
    ) {
        self.note_rate(link, now);
        let mut packet = Packet {
            flow: packet.flow,
            step: 0,
            host: 0,
            number: packet.token,
            stamp: now,
            carries: Carries::Datagram,
            flag: false,
            bytes: packet.bytes,
            ecn: packet.ecn,
            class: packet.class,
        };
        self.ports[link].enqueue(now, &mut packet);
        self.tell(link, on_outcome);
    }

    /// Begin the next transmission of `link`: at an arrival at an idle one, and at the end of each. `None`:
    /// it is idle from now on.
    pub fn serve(
        &mut self,
        link: usize,
        now: u64,
        on_outcome: &mut impl FnMut(u32, Outcome),
    ) -> Option<Transmission> {
        self.note_rate(link, now);
        let was_busy = self.ports[link].stats.busy;
        let slot = self.ports[link].dequeue(now);
        self.tell(link, on_outcome);
        let Some(slot) = slot else {
            if was_busy {
                self.ports[link].on_idle(now);
            }
            return None;
        };
        let packet = *self.ports[link].packet(slot);
        let (link, tx_time) = &mut self.links[link];
        let end = link.transmit(tx_time, &mut self.kinds, now, packet.bytes);
        let packet = PacketDesc {
            token: packet.number,
            flow: packet.flow,
            bytes: packet.bytes,
            ecn: packet.ecn,
            class: packet.class,
        };
        Some(Transmission { packet, end, arrival: tx_time.arrival(end) })
    }

    /// Say what the queue of `link` has done to packets.
    fn tell(&mut self, link: usize, on_outcome: &mut impl FnMut(u32, Outcome)) {
        for (packet, outcome) in self.ports[link].stats.outcomes.drain(..) {
            on_outcome(packet.number, outcome);
        }
    }

    /// Whether `link` transmits something.
    pub fn is_busy(&self, link: usize) -> bool {
        self.ports[link].stats.busy
    }

    /// What happened at the queue of `link` since the start.
    pub fn totals(&self, link: usize) -> Totals {
        let port = &self.ports[link];
        Totals { waiting: port.backlog().0, ..port.stats.counters.totals() }
    }

    /// When the algorithm of `link` wants [`QueueSet::on_timer`].
    pub fn next_timer(&self, link: usize) -> Option<u64> {
        self.ports[link].next_timer().map(|time| time.0)
    }

    /// That time has come.
    pub fn on_timer(&mut self, link: usize, now: u64) {
        self.note_rate(link, now);
        self.ports[link].on_timer(now);
    }

    /// Statistics start.
    pub fn open_window(&mut self, now: u64) {
        self.pass(now);
        self.recorder.open_window(&mut self.ports);
    }

    /// Take a sample.
    pub fn sample(&mut self, now: u64) {
        self.recorder.sample(now, &mut self.ports);
    }

    /// The columns of the queues over `window`, the `measured` one first.
    ///
    /// # Errors
    /// Packets that appeared or vanished.
    pub fn record(mut self, window: (u64, u64), measured: usize) -> Result<Record, RunError> {
        self.pass(window.1);
        for port in &mut self.ports {
            crate::record::port_conserves(port)?;
        }
        Ok(self.recorder.columns(window, measured, &self.ports, &mut self.kinds))
    }

    fn pass(&mut self, now: u64) {
        for port in &mut self.ports {
            port.pass(now);
        }
    }

    /// Tell a queue what its link carries now, if that changes with time.
    fn note_rate(&mut self, link: usize, now: u64) {
        if let Some(rate) = self.kinds[link].rate_at(now) {
            self.ports[link].set_link_rate(rate);
        }
    }
}
