//! The gateway in virtual time.
//!
//! A packet crosses the link of the sending host, the queue and the link of the bottleneck, and the link of
//! the receiving host. All these times are computed, not measured, and events are handled in order, even if
//! the caller is late. Rates are therefore exact, and an algorithm behaves as in the simulator. Time and
//! packets are arguments: there is no clock and no file descriptor here.

use crate::{
    events::{Event, EventKind, EventQueue},
    flows::Flows,
    packet::{self, Header, Malformed, Tcp},
    plan::{Host, Plan, Side},
    record::{GatewayRecord, Stats},
    routes::Routes,
    segment::{self, OFFLOAD, Offload},
    setup,
};
use sojourn_aqm::{Class, Ecn, Span, Time};
use sojourn_sim::{
    DropColumns, Histogram, LinkColumns, PlanError, Record, RunError, Window, Wire,
    testbed::{Options, Outcome, PacketDesc, QueueSet, UnboundedLink},
};

/// A packet in the gateway.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// The packet behind its `virtio_net_hdr`.
    bytes: Vec<u8>,
    ecn: Ecn,
    class: Class,
    flow: u32,
    /// When it entered, and how much earlier it had arrived.
    entered: Time,
    shifted: Span,
    link: u8,
    to: u32,
    tcp: Option<Tcp>,
    payload: u32,
}

/// The link of a host, in both directions.
struct Access {
    device: u32,
    side: Side,
    up: Option<UnboundedLink>,
    down: Option<UnboundedLink>,
    delay: Span,
}

/// The path of a packet.
#[derive(Clone, Copy)]
struct PacketPath {
    flow: u32,
    from: u32,
    to: u32,
}

/// The gateway without devices.
pub struct Engine {
    queues: QueueSet,
    hosts: Vec<Access>,
    routes: Routes,
    flows: Flows,
    classes: [u8; 64],
    wires: [Option<Wire>; 2],
    overhead: u32,
    events: EventQueue,
    slots: Vec<Slot>,
    free: Vec<u32>,
    warmup: Time,
    is_counting: bool,
    measured: Option<u8>,
    now: Time,
    drops: DropColumns,
    lateness: Histogram,
    waiting: Histogram,
    stalled: Span,
    stats: Stats,
}

impl Engine {
    /// Check `plan` and build the gateway.
    ///
    /// # Errors
    /// The first key with an invalid value.
    pub fn new(plan: &Plan) -> Result<Engine, PlanError> {
        let options = Options {
            mean_packet: plan.mean_packet,
            interval: plan.interval,
            end: plan.duration.map(|duration| Time::ZERO + duration),
            conventions: plan.conventions,
            algorithms: &plan.algorithms,
            seed: plan.seed,
        };
        let queues = QueueSet::new(&[plan.forward.clone(), plan.backward.clone()], &options)?;
        let wires = setup::wires(plan)?;
        // Behind an impaired wire, a packet may be delivered without further delay.
        let min_delay =
            if wires.iter().any(Option::is_some) && plan.hosts.iter().any(|host| host.rate.is_some()) {
                Span::ZERO
            } else {
                plan.forward.delay.min(plan.backward.delay)
            };
        let mut engine = Engine {
            queues,
            hosts: plan.hosts.iter().map(Access::new).collect(),
            routes: setup::routes(plan)?,
            flows: Flows::new(setup::rules(plan)?),
            classes: setup::classes(plan)?,
            wires,
            overhead: plan.overhead,
            events: EventQueue::new(min_delay),
            slots: Vec::new(),
            free: Vec::new(),
            warmup: plan.warmup,
            is_counting: plan.warmup == Time::ZERO,
            measured: plan.measured,
            now: Time::ZERO,
            drops: DropColumns::default(),
            lateness: Histogram::default(),
            waiting: Histogram::default(),
            stalled: Span::ZERO,
            stats: Stats::default(),
        };
        if plan.warmup > Time::ZERO {
            engine.events.schedule(plan.warmup, EventKind::Warmup, 0);
        }
        if plan.interval > Span::ZERO {
            engine.events.schedule(Time::ZERO + plan.interval, EventKind::Sample, 0);
        }
        for link in 0..2 {
            if let Some(time) = engine.queues.next_timer(link) {
                engine.events.schedule(time, EventKind::Timer, link as u32);
            }
        }
        Ok(engine)
    }

    /// Bytes were read from a device, where they had arrived at `arrived`: a packet or a super-packet.
    /// Arrivals before the time up to which events were handled count from then.
    pub fn on_read(&mut self, arrived: Time, bytes: &[u8]) {
        let now = arrived.max(self.now);
        let mut path = None;
        let mut count = 0u64;
        let result = segment::split(bytes, |header, offload, head, body| {
            count += 1;
            let path = *path.get_or_insert_with(|| self.path(now, header));
            match path {
                Some(path) => self.enter([now, arrived], path, header, offload, [head, body]),
                None => self.stats.unroutable += 1,
            }
        });
        self.stats.super_packets += u64::from(count > 1);
        self.stats.read += count;
        if let Err(Malformed::Short | Malformed::NotIp | Malformed::Length | Malformed::Offload) = result {
            self.stats.read += 1;
            self.stats.malformed += 1;
        }
    }

    /// Flow, sender and receiver of a packet, if it crosses the bottleneck.
    fn path(&mut self, now: Time, header: &Header) -> Option<PacketPath> {
        let (from, to) = (self.routes.host(header.source)?, self.routes.host(header.destination)?);
        let crosses = self.hosts[from as usize].side != self.hosts[to as usize].side;
        crosses.then(|| PacketPath { flow: self.flows.of(now, header), from, to })
    }

    /// A packet crosses the link of its sender.
    fn enter(
        &mut self,
        [now, arrived]: [Time; 2],
        PacketPath { flow, from, to }: PacketPath,
        header: &Header,
        offload: Offload,
        parts: [&[u8]; 2],
    ) {
        self.stats.odd += u64::from(header.is_odd);
        let number = self.free_slot();
        let access = &mut self.hosts[from as usize];
        let slot = &mut self.slots[number as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(&offload.bytes());
        slot.bytes.extend_from_slice(parts[0]);
        slot.bytes.extend_from_slice(parts[1]);
        slot.ecn = header.ecn;
        slot.flow = flow;
        slot.entered = now;
        slot.shifted = now - arrived;
        slot.link = u8::from(access.side == Side::Right);
        slot.to = to;
        slot.tcp = header.tcp;
        slot.payload = header.payload as u32;
        slot.class = Class(self.flows.class(flow).unwrap_or(self.classes[usize::from(header.dscp)]));
        let direction = self.flows.direction(flow);
        direction.link = slot.link;
        direction.on_sent(header);
        let bytes = (slot.bytes.len() - OFFLOAD) as u32 + self.overhead;
        let sent = access.up.as_mut().map_or(now, |link| link.transmit(now, bytes));
        let arrival = sent + access.delay;
        self.events.schedule(arrival, EventKind::Arrival, number);
    }

    /// A packet waited in its device before it was read; the kernel may have reported its arrival.
    pub fn on_wait(&mut self, time: Span, is_reported: bool) {
        self.waiting.add(time.0);
        self.stats.unreported += u64::from(!is_reported);
    }

    /// The latest time to call [`Engine::advance`] so that no packet is late.
    pub fn next_deadline(&self) -> Option<Time> {
        self.events.next_deadline()
    }

    /// Handle all events up to `now`. `write` gets the number of a device, the bytes to write and their
    /// delivery time; it returns their lateness, or `None` if the device did not accept them.
    pub fn advance(&mut self, now: Time, write: &mut impl FnMut(u32, &[u8], Time) -> Option<Span>) {
        self.catch_up(now, now, write);
    }

    /// As [`Engine::advance`], while packets that arrived after `settled` may still have to be read: of the
    /// later events only deliveries are handled.
    pub fn catch_up(
        &mut self,
        settled: Time,
        now: Time,
        write: &mut impl FnMut(u32, &[u8], Time) -> Option<Span>,
    ) {
        let settled = settled.min(now);
        // Deliveries behind the warm-up count, and must not precede it.
        let deliverable = |is_counting| if is_counting { now } else { settled };
        while let Some(event) = self.events.pop(settled, deliverable(self.is_counting)) {
            let Event { time, kind, number, .. } = event;
            self.now = self.now.max(time.min(settled));
            match kind {
                EventKind::Warmup => {
                    self.is_counting = true;
                    self.queues.open_window(time);
                    self.flows.open_window();
                    self.wires.iter_mut().flatten().for_each(Wire::open_window);
                    self.lateness = Histogram::default();
                    self.waiting = Histogram::default();
                    self.stalled = Span::ZERO;
                }
                EventKind::Departure => self.serve(number as usize, time),
                EventKind::Timer => {
                    let link = number as usize;
                    self.queues.on_timer(link, time);
                    if let Some(next) = self.queues.next_timer(link) {
                        self.events.schedule(next.max(time + Span(1)), EventKind::Timer, number);
                    }
                }
                EventKind::Arrival => self.enqueue(number, time),
                EventKind::Exit => self.leave(number, time),
                EventKind::Delivery => self.deliver(number, time, write),
                EventKind::Sample => {
                    let next = self.queues.sample(time);
                    self.events.schedule(next, EventKind::Sample, 0);
                }
            }
        }
        self.now = self.now.max(settled);
    }

    /// A packet reaches the queue of the bottleneck.
    fn enqueue(&mut self, number: u32, now: Time) {
        let slot = &self.slots[number as usize];
        let (link, flow) = (usize::from(slot.link), slot.flow);
        let bytes = (slot.bytes.len() - OFFLOAD) as u32 + self.overhead;
        let packet = PacketDesc { token: number, flow, bytes, ecn: slot.ecn, class: slot.class };
        self.flows.direction(flow).counts.offered += 1;
        let mut sink = OutcomeSink {
            slots: &self.slots,
            flows: &mut self.flows,
            free: &mut self.free,
            stats: &mut self.stats,
        };
        self.queues.enqueue(link, now, packet, &mut |token, outcome| sink.on_outcome(token, outcome));
        if !self.queues.is_busy(link) {
            self.serve(link, now);
        }
    }

    /// Start the next transmission of a link.
    fn serve(&mut self, link: usize, now: Time) {
        let mut sink = OutcomeSink {
            slots: &self.slots,
            flows: &mut self.flows,
            free: &mut self.free,
            stats: &mut self.stats,
        };
        let transmission =
            self.queues.serve(link, now, &mut |token, outcome| sink.on_outcome(token, outcome));
        let Some(transmission) = transmission else { return };
        self.events.schedule(transmission.end, EventKind::Departure, link as u32);
        let number = transmission.packet.token;
        let slot = &mut self.slots[number as usize];
        if transmission.packet.ecn == Ecn::Ce && slot.ecn != Ecn::Ce {
            packet::mark(&mut slot.bytes[OFFLOAD..]);
        }
        let Some(wire) = &mut self.wires[link] else { return self.leave(number, transmission.arrival) };
        let fate = wire.pass(transmission.arrival, transmission.packet.bytes);
        let Some(time) = fate.packet else {
            self.stats.lost += 1;
            self.flows.direction(slot.flow).counts.lost += 1;
            self.free.push(number);
            return;
        };
        self.exit(number, time);
        if let Some(time) = fate.copy {
            let copy = self.copy(number);
            self.exit(copy, time);
        }
    }

    /// A packet will leave an impaired wire at `time`, in any order. The link of a host takes them in order.
    fn exit(&mut self, number: u32, time: Time) {
        if self.hosts[self.slots[number as usize].to as usize].down.is_some() {
            self.events.schedule(time, EventKind::Exit, number);
        } else {
            self.leave(number, time);
        }
    }

    /// A packet reaches the link of the receiving host at `time`, which never decreases if that has a rate.
    fn leave(&mut self, number: u32, time: Time) {
        let slot = &self.slots[number as usize];
        let bytes = (slot.bytes.len() - OFFLOAD) as u32 + self.overhead;
        let access = &mut self.hosts[slot.to as usize];
        let sent = access.down.as_mut().map_or(time, |link| link.transmit(time, bytes));
        self.events.schedule(sent + access.delay, EventKind::Delivery, number);
    }

    /// Copy a packet; returns the number of the copy.
    fn copy(&mut self, number: u32) -> u32 {
        self.stats.copied += 1;
        let copy = self.free_slot();
        self.slots[copy as usize] = self.slots[number as usize].clone();
        copy
    }

    /// The number of a slot that is free.
    fn free_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        })
    }

    fn deliver(&mut self, number: u32, now: Time, write: &mut impl FnMut(u32, &[u8], Time) -> Option<Span>) {
        let slot = &self.slots[number as usize];
        match write(self.hosts[slot.to as usize].device, &slot.bytes, now) {
            Some(lateness) => {
                self.stats.delivered += 1;
                self.lateness.add((lateness + slot.shifted).0);
                self.flows.on_received(slot.flow, slot.tcp, slot.payload, now - slot.entered);
            }
            None => self.stats.undelivered += 1,
        }
        self.free.push(number);
    }

    /// Number of packet slots: the maximum number of packets in the gateway at one time.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The machine has stalled for this time.
    pub fn on_stall(&mut self, time: Span) {
        self.stalled += time;
    }

    /// The counters outside the queues.
    pub fn stats(&self) -> Stats {
        Stats { forgotten_holes: self.flows.forgotten_holes(), ..self.stats }
    }

    /// The queues.
    pub fn queues(&self) -> &QueueSet {
        &self.queues
    }

    /// The record up to `end`; all events up to then must have been handled.
    ///
    /// # Errors
    /// Inconsistent packet counts.
    pub fn finish(mut self, end: Time) -> Result<GatewayRecord, RunError> {
        let inside = (self.slots.len() - self.free.len()) as u64;
        let s = self.stats();
        let known = s.delivered + s.dropped + s.lost + s.malformed + s.unroutable + s.undelivered + inside;
        let entered = s.read + s.copied;
        if entered != known {
            let problem = format!("gateway: {entered} read or copied, {known} accounted for");
            return Err(RunError::Conservation(problem));
        }
        let measured = self.measured.unwrap_or_else(|| {
            let carried = |link| self.queues.totals(link).departed_bytes;
            u8::from(carried(1) > carried(0))
        });
        let window = Window { start: self.warmup.min(end), end };
        let (flows, ends) = (self.flows.columns(measured), self.flows.ends());
        if !self.is_counting {
            self.queues.open_window(end);
        }
        let record = Record {
            flows,
            drops: self.drops,
            links: LinkColumns::of(self.wires.iter().flatten()),
            events: self.events.scheduled(),
            ..self.queues.record(window, usize::from(measured))?
        };
        Ok(GatewayRecord {
            record,
            ends,
            lateness: self.lateness.since(&Histogram::default()),
            waiting: self.waiting.since(&Histogram::default()),
            stalled: self.stalled,
            stats: s,
        })
    }
}

/// Counts the marks and drops of a queue, and frees dropped packets.
struct OutcomeSink<'a> {
    slots: &'a [Slot],
    flows: &'a mut Flows,
    free: &'a mut Vec<u32>,
    stats: &'a mut Stats,
}

impl OutcomeSink<'_> {
    fn on_outcome(&mut self, token: u32, outcome: Outcome) {
        let counts = &mut self.flows.direction(self.slots[token as usize].flow).counts;
        match outcome {
            Outcome::Marked(..) => counts.marked += 1,
            Outcome::Dropped(..) => {
                counts.dropped += 1;
                self.stats.dropped += 1;
                self.free.push(token);
            }
        }
    }
}

impl Access {
    fn new(host: &Host) -> Access {
        let link = || host.rate.map(UnboundedLink::new);
        Access { device: host.device, side: host.side, up: link(), down: link(), delay: host.delay }
    }
}
