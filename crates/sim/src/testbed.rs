//! Queues and their links without a network, for a caller that has senders and a clock of its own.
//!
//! The caller enqueues packets and serves a link at the end of each transmission. Time is virtual: a caller
//! that is late handles events in the order of their times.

use crate::{
    error::{PlanError, RunError},
    link::{Link, LinkKind, RateTrace, TxTime},
    measure::{self, Recorder},
    packet::{Carries, Packet},
    plan,
    queue::{Port, QueueContext, QueueOps},
    record::{Record, Window},
};
pub use crate::{measure::ObservedQueue, queue::Outcome, record::Totals};
use sojourn_aqm::{Algorithm, Class, Conventions, Ecn, Span, Time};

/// A packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDesc {
    /// An identifier that the caller chooses.
    pub token: u32,
    /// Its flow, numbered from 0.
    pub flow: u32,
    /// Size on the wire.
    pub bytes: u32,
    /// ECN field; a mark sets it to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// Traffic class.
    pub class: Class,
}

/// The start of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The packet, with its mark if it was marked.
    pub packet: PacketDesc,
    /// When the transmission ends and the link must be served again.
    pub end: Time,
    /// When the packet reaches the other end.
    pub arrival: Time,
}

/// Links and the queues in front of them.
pub struct QueueSet {
    links: Vec<(Link, TxTime)>,
    kinds: Vec<LinkKind>,
    ports: Vec<Port>,
    recorder: Recorder,
}

/// A link with an unbounded queue, which never drops a packet.
pub struct UnboundedLink {
    link: Link,
    tx_time: TxTime,
    kinds: [LinkKind; 1],
}

impl UnboundedLink {
    /// A link of `rate` bit/s.
    pub fn new(rate: u64) -> UnboundedLink {
        let kinds = [LinkKind::new(rate.max(1), Span::ZERO)];
        UnboundedLink { link: Link::default(), tx_time: TxTime::new(0, &kinds), kinds }
    }

    /// Transmit a packet of `bytes` at `now`, which must not decrease; returns the end of the transmission.
    pub fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        self.link.transmit(&mut self.tx_time, &mut self.kinds, now, bytes)
    }
}

/// Options that all queues share.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The mean packet size on the wire that algorithms assume.
    pub mean_packet: u32,
    /// Time between samples; 0: no samples.
    pub interval: Span,
    /// The end of the run, if known. Without it, the interval doubles whenever there are 100,000 samples.
    pub end: Option<Time>,
    /// The preset that defaults of algorithms come from.
    pub conventions: Conventions,
    /// Algorithms in addition to those of the registry.
    pub algorithms: &'a [&'static Algorithm],
    /// The seed of their random numbers.
    pub seed: u64,
}

impl QueueSet {
    /// One queue for each of `links`, named `FROM-TO`.
    ///
    /// # Errors
    /// A link without a rate or queue, an invalid spec or limit.
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
            recorder: Recorder::new(options.interval, options.end, links.len()),
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
            let mut port = Port::of(name, &key, queue, i as u32, one.rate, &setting, options.seed)?;
            if port.holds_back() {
                let problem = "has a shaper: the link of a testbed has its rate itself";
                return Err(PlanError::new(format!("{key}.aqm"), problem).allowed("no bandwidth"));
            }
            if port.medium.is_some() {
                return Err(PlanError::new(format!("{key}.medium"), "is not possible in a testbed"));
            }
            port.kind = i as u32;
            queues.ports.push(port);
            queues.kinds.push(kind);
            queues.links.push((Link::default(), TxTime::new(i as u32, &queues.kinds)));
        }
        Ok(queues)
    }

    /// Enqueue a packet at `link`. If the link is idle, it must then be served.
    pub fn enqueue(
        &mut self,
        link: usize,
        now: Time,
        packet: PacketDesc,
        on_outcome: &mut impl FnMut(u32, Outcome),
    ) {
        self.update_rate(link, now);
        let mut packet = Packet {
            flow: packet.flow,
            step: 0,
            host: 0,
            number: packet.token,
            stamp: now.0,
            carries: Carries::Datagram,
            flag: false,
            bytes: packet.bytes,
            ecn: packet.ecn,
            class: packet.class,
        };
        self.ports[link].enqueue(now, &mut packet);
        self.report(link, on_outcome);
    }

    /// Start the next transmission of `link`, after an arrival at the idle link or at the end of a
    /// transmission. `None`: the link becomes idle.
    pub fn serve(
        &mut self,
        link: usize,
        now: Time,
        on_outcome: &mut impl FnMut(u32, Outcome),
    ) -> Option<Transmission> {
        self.update_rate(link, now);
        let was_busy = self.ports[link].stats.busy;
        let slot = self.ports[link].dequeue(now);
        self.report(link, on_outcome);
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

    /// Report the marks and drops of the queue of `link`.
    fn report(&mut self, link: usize, on_outcome: &mut impl FnMut(u32, Outcome)) {
        for (packet, outcome) in self.ports[link].stats.outcomes.drain(..) {
            on_outcome(packet.number, outcome);
        }
    }

    /// Whether `link` is transmitting.
    pub fn is_busy(&self, link: usize) -> bool {
        self.ports[link].stats.busy
    }

    /// The counters of the queue of `link` since the start.
    pub fn totals(&self, link: usize) -> Totals {
        let port = &self.ports[link];
        Totals { queued: port.backlog().0, ..port.stats.counters.totals() }
    }

    /// When [`QueueSet::on_timer`] must be called for `link`.
    pub fn next_timer(&self, link: usize) -> Option<Time> {
        self.ports[link].next_timer()
    }

    /// Run the timer of the algorithm of `link`.
    pub fn on_timer(&mut self, link: usize, now: Time) {
        self.update_rate(link, now);
        self.ports[link].on_timer(now);
    }

    /// Start the measurement window.
    pub fn open_window(&mut self, now: Time) {
        self.pass(now);
        self.recorder.open_window(&mut self.ports);
    }

    /// Take a sample; returns the time of the next one.
    pub fn sample(&mut self, now: Time) -> Time {
        self.recorder.sample(now, &mut self.ports);
        self.recorder.next_sample(now)
    }

    /// The columns of the queues over `window`, with the `measured` one first.
    ///
    /// # Errors
    /// Inconsistent packet counts.
    pub fn record(mut self, window: Window, measured: usize) -> Result<Record, RunError> {
        self.pass(window.end);
        for port in &mut self.ports {
            measure::port_conserves(port)?;
        }
        let mut record = self.recorder.columns(window, measured, &self.ports, &mut self.kinds);
        for port in &mut self.ports {
            port.on_end(window.end, &mut record.exports);
        }
        Ok(record)
    }

    fn pass(&mut self, now: Time) {
        for port in &mut self.ports {
            port.pass(now);
        }
    }

    /// Update the link rate that a queue assumes, if it varies.
    fn update_rate(&mut self, link: usize, now: Time) {
        if let Some(rate) = self.kinds[link].rate_at(now) {
            self.ports[link].set_link_rate(rate);
        }
    }
}
