//! The gateway in virtual time: what was read at one moment is due at another.
//!
//! A packet crosses the link of the host that sent it, the bottleneck's queue and link, and the link of the host that
//! gets it. When each of these ends is computed, not measured, and events are handled in that order however late the
//! caller is; so rates are exact, and the algorithms see what they would see in the simulator. No clock, no file
//! descriptor: time and packets come in as arguments.

use crate::{
    agenda::{Agenda, Kind},
    flows::Flows,
    outcome::{Outcome, Tally},
    packet::{self, Header, Malformed, Tcp},
    plan::{Host, Plan, Side},
    routes::Routes,
    segment::{self, OFFLOAD, Offload},
    setup,
};
use sojourn_aqm::{Class, Ecn, Random, Stream};
use sojourn_sim::{
    DropColumns, Histogram, PlanError, Record, RunError,
    testbed::{Options, Outcome as PacketOutcome, PacketDesc, QueueSet, UnboundedLink},
};

/// A packet in the gateway.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// With the ten bytes in front that a device wants.
    bytes: Vec<u8>,
    ecn: Ecn,
    class: Class,
    flow: u32,
    read: u64,
    link: u8,
    to: u32,
    tcp: Option<Tcp>,
    payload: u32,
}

/// A host's link, both ways.
struct Access {
    device: u32,
    side: Side,
    up: Option<UnboundedLink>,
    down: Option<UnboundedLink>,
    delay: u64,
}

/// The gateway without devices.
pub struct Engine {
    queues: QueueSet,
    hosts: Vec<Access>,
    routes: Routes,
    flows: Flows,
    classes: [u8; 64],
    loss: [f64; 2],
    luck: [Stream; 2],
    overhead: u32,
    agenda: Agenda,
    slots: Vec<Slot>,
    free: Vec<u32>,
    interval: u64,
    warmup: u64,
    is_counting: bool,
    measured: Option<u8>,
    now: u64,
    drops: DropColumns,
    lateness: Histogram,
    standstill: u64,
    tally: Tally,
}

impl Engine {
    /// Check `plan` and set everything up.
    ///
    /// # Errors
    /// The first key that makes it impossible.
    pub fn new(plan: &Plan) -> Result<Engine, PlanError> {
        let options = Options {
            mean_packet: plan.mean_packet,
            interval: plan.interval,
            conventions: plan.conventions,
            algorithms: &plan.algorithms,
            seed: plan.seed,
        };
        let queues = QueueSet::new(&[plan.forward.clone(), plan.backward.clone()], &options)?;
        setup::check_loss(plan)?;
        let luck = |link: &str| Stream::new(plan.seed, &format!("link/{link}/loss"));
        let mut engine = Engine {
            queues,
            hosts: plan.hosts.iter().map(Access::new).collect(),
            routes: setup::routes(plan)?,
            flows: Flows::new(setup::rules(plan)?),
            classes: setup::classes(plan)?,
            loss: plan.loss,
            luck: [luck("forward"), luck("backward")],
            overhead: plan.overhead,
            agenda: Agenda::new(plan.forward.delay.min(plan.backward.delay)),
            slots: Vec::new(),
            free: Vec::new(),
            interval: plan.interval,
            warmup: plan.warmup,
            is_counting: plan.warmup == 0,
            measured: plan.measured,
            now: 0,
            drops: DropColumns::default(),
            lateness: Histogram::default(),
            standstill: 0,
            tally: Tally::default(),
        };
        if plan.warmup > 0 {
            engine.agenda.file(plan.warmup, Kind::Warmup, 0);
        }
        if plan.interval > 0 {
            engine.agenda.file(plan.interval, Kind::Sample, 0);
        }
        for link in 0..2 {
            if let Some(time) = engine.queues.next_timer(link) {
                engine.agenda.file(time, Kind::Timer, link as u32);
            }
        }
        Ok(engine)
    }

    /// Bytes as a device gave them at `now`: one packet, or a super-packet.
    pub fn take(&mut self, now: u64, bytes: &[u8]) {
        let now = now.max(self.now);
        let mut way = None;
        let mut count = 0u64;
        let outcome = segment::split(bytes, |header, offload, head, body| {
            count += 1;
            let way = *way.get_or_insert_with(|| self.way(now, header));
            match way {
                Some(way) => self.enter(now, way, header, offload, [head, body]),
                None => self.tally.unroutable += 1,
            }
        });
        self.tally.super_packets += u64::from(count > 1);
        self.tally.read += count;
        if let Err(Malformed::Short | Malformed::NotIp | Malformed::Length | Malformed::Offload) = outcome {
            self.tally.read += 1;
            self.tally.malformed += 1;
        }
    }

    /// Flow, sender and receiver of a packet, if it goes from one side to the other.
    fn way(&mut self, now: u64, header: &Header) -> Option<(u32, u32, u32)> {
        let (from, to) = (self.routes.host(header.source)?, self.routes.host(header.destination)?);
        let is_across = self.hosts[from as usize].side != self.hosts[to as usize].side;
        is_across.then(|| (self.flows.of(now, header), from, to))
    }

    /// One packet crosses the link of its sender.
    fn enter(
        &mut self,
        now: u64,
        (flow, from, to): (u32, u32, u32),
        header: &Header,
        offload: Offload,
        parts: [&[u8]; 2],
    ) {
        self.tally.odd += u64::from(header.is_odd);
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let access = &mut self.hosts[from as usize];
        let slot = &mut self.slots[number as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(&offload.bytes());
        slot.bytes.extend_from_slice(parts[0]);
        slot.bytes.extend_from_slice(parts[1]);
        slot.ecn = header.ecn;
        slot.flow = flow;
        slot.read = now;
        slot.link = u8::from(access.side == Side::Right);
        slot.to = to;
        slot.tcp = header.tcp;
        slot.payload = header.payload as u32;
        slot.class = Class(self.flows.class(flow).unwrap_or(self.classes[usize::from(header.dscp)]));
        let way = self.flows.way(flow);
        way.link = slot.link;
        way.sends(header);
        let bytes = (slot.bytes.len() - OFFLOAD) as u32 + self.overhead;
        let sent = access.up.as_mut().map_or(now, |wire| wire.transmit(now, bytes));
        let arrival = sent + access.delay;
        self.agenda.file(arrival, Kind::Arrival, number);
    }

    /// When [`Engine::advance`] must be called so that no packet is late.
    pub fn next_due(&self) -> Option<u64> {
        self.agenda.next_due()
    }

    /// Handle what is due up to `now`. `write` gets a device's number, the bytes for it, and when they were due;
    /// it says how late they were, or nothing if the device did not take them.
    pub fn advance(&mut self, now: u64, write: &mut impl FnMut(u32, &[u8], u64) -> Option<u64>) {
        while let Some((time, kind, _, number)) = self.agenda.next(now) {
            self.now = time;
            match kind {
                Kind::Warmup => {
                    self.is_counting = true;
                    self.queues.open_window(time);
                    self.flows.open_window();
                    self.lateness = Histogram::default();
                    self.standstill = 0;
                }
                Kind::Departure => self.serve(number as usize, time),
                Kind::Timer => {
                    let link = number as usize;
                    self.queues.on_timer(link, time);
                    if let Some(next) = self.queues.next_timer(link) {
                        self.agenda.file(next.max(time + 1), Kind::Timer, number);
                    }
                }
                Kind::Arrival => self.offer(number, time),
                Kind::Delivery => self.deliver(number, time, write),
                Kind::Sample => {
                    self.queues.sample(time);
                    self.agenda.file(time + self.interval, Kind::Sample, 0);
                }
            }
        }
        self.now = self.now.max(now);
    }

    /// A packet reaches the bottleneck's queue.
    fn offer(&mut self, number: u32, now: u64) {
        let slot = &self.slots[number as usize];
        let (link, flow) = (usize::from(slot.link), slot.flow);
        let bytes = (slot.bytes.len() - OFFLOAD) as u32 + self.overhead;
        let packet = PacketDesc { token: number, flow, bytes, ecn: slot.ecn, class: slot.class };
        self.flows.way(flow).counts.offered += 1;
        let mut witness = Witness {
            slots: &self.slots,
            flows: &mut self.flows,
            free: &mut self.free,
            tally: &mut self.tally,
        };
        self.queues.enqueue(link, now, packet, &mut |token, outcome| witness.tell(token, outcome));
        if !self.queues.is_busy(link) {
            self.serve(link, now);
        }
    }

    /// A link may send its next packet.
    fn serve(&mut self, link: usize, now: u64) {
        let mut witness = Witness {
            slots: &self.slots,
            flows: &mut self.flows,
            free: &mut self.free,
            tally: &mut self.tally,
        };
        let transmission = self.queues.serve(link, now, &mut |token, outcome| witness.tell(token, outcome));
        let Some(transmission) = transmission else { return };
        self.agenda.file(transmission.end, Kind::Departure, link as u32);
        let number = transmission.packet.token;
        let slot = &mut self.slots[number as usize];
        if transmission.packet.ecn == Ecn::Ce && slot.ecn != Ecn::Ce {
            packet::mark(&mut slot.bytes[OFFLOAD..]);
        }
        if self.loss[link] > 0.0 && self.luck[link].uniform() < self.loss[link] {
            self.tally.lost += 1;
            self.flows.way(slot.flow).counts.lost += 1;
            self.free.push(number);
            return;
        }
        let access = &mut self.hosts[slot.to as usize];
        let bytes = transmission.packet.bytes;
        let sent = access
            .down
            .as_mut()
            .map_or(transmission.arrival, |wire| wire.transmit(transmission.arrival, bytes));
        let due = sent + access.delay;
        self.agenda.file(due, Kind::Delivery, number);
    }

    fn deliver(&mut self, number: u32, due: u64, write: &mut impl FnMut(u32, &[u8], u64) -> Option<u64>) {
        let slot = &self.slots[number as usize];
        match write(self.hosts[slot.to as usize].device, &slot.bytes, due) {
            Some(late) => {
                self.tally.delivered += 1;
                self.lateness.add(late);
                self.flows.way(slot.flow).receives(slot.tcp, slot.payload, due - slot.read);
            }
            None => self.tally.undelivered += 1,
        }
        self.free.push(number);
    }

    /// For `time`, ns, up to now the machine did nothing.
    pub fn stood_still(&mut self, time: u64) {
        self.standstill += time;
    }

    /// What happened so far outside the queues.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The queues, for a look while it runs.
    pub fn queues(&self) -> &QueueSet {
        &self.queues
    }

    /// It is over: the record up to `end`, up to which everything was handled.
    ///
    /// # Errors
    /// Packets that appeared or vanished.
    pub fn finish(mut self, end: u64) -> Result<Outcome, RunError> {
        let inside = (self.slots.len() - self.free.len()) as u64;
        let t = self.tally;
        let known = t.delivered + t.dropped + t.lost + t.malformed + t.unroutable + t.undelivered + inside;
        if t.read != known {
            return Err(RunError::Conservation(format!("gateway: {} read, {known} accounted for", t.read)));
        }
        let measured = self.measured.unwrap_or_else(|| {
            let carried = |link| self.queues.totals(link).departed_bytes;
            u8::from(carried(1) > carried(0))
        });
        let window = (self.warmup.min(end), end);
        let (flows, ends) = (self.flows.columns(measured), self.flows.ends());
        if !self.is_counting {
            self.queues.open_window(end);
        }
        let record = Record {
            flows,
            drops: self.drops,
            events: self.agenda.filed(),
            ..self.queues.record(window, usize::from(measured))?
        };
        let (lateness_edges_ns, lateness_counts) = self.lateness.since(&Histogram::default());
        Ok(Outcome {
            record,
            ends,
            lateness_edges_ns,
            lateness_counts,
            standstill_ns: self.standstill,
            tally: self.tally,
        })
    }
}

/// Counts what a queue does to packets, and clears away those that it drops.
struct Witness<'a> {
    slots: &'a [Slot],
    flows: &'a mut Flows,
    free: &'a mut Vec<u32>,
    tally: &'a mut Tally,
}

impl Witness<'_> {
    fn tell(&mut self, token: u32, outcome: PacketOutcome) {
        let counts = &mut self.flows.way(self.slots[token as usize].flow).counts;
        match outcome {
            PacketOutcome::Marked => counts.marked += 1,
            PacketOutcome::Dropped(..) => {
                counts.dropped += 1;
                self.tally.dropped += 1;
                self.free.push(token);
            }
        }
    }
}

impl Access {
    fn new(host: &Host) -> Access {
        let wire = || host.rate.map(UnboundedLink::new);
        Access { device: host.device, side: host.side, up: wire(), down: wire(), delay: host.delay }
    }
}
