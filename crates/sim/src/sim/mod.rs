//! The event loop: what happens when, and what follows from it.
//!
//! A packet is carried from event to event; between two events it crosses every link that it can be told
//! the time for (see [`crate::path::Step`]). So a data packet through one congested queue costs three
//! events: it arrives at the queue, its transmission ends, its acknowledgement reaches the sender.

mod endpoints;
mod fast_path;

use crate::traffic::WebSessions;
use crate::{
    engine::RtoScan,
    engine::{CalendarQueue, Event, EventKind, MAX_EVENT_TIME, Service},
    error::{PlanError, RunError},
    flow::FlowIndex,
    flow::Group,
    flow::Pools,
    flow::{Endpoint, Flow, WarmupSnapshot, offered},
    packet::{Carries, Packet, Sacks},
    path::{NO_INDEX, Network, Route},
    plan::{self, Plan},
    queue::Port,
    queue::{LossContext, LossLog},
    record::{CwndColumns, DropColumns, ObjectColumns, PageColumns, Record, Recorder, Window},
    tcp::Segment,
};
use sojourn_aqm::Time;
use std::{
    num::NonZero,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

/// How the outside watches and stops a run.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it to stop the run.
    pub cancel: AtomicBool,
    /// Virtual time reached.
    pub now_ns: AtomicU64,
}

/// Events between two looks at [`Control`].
const EVENTS_PER_BATCH: u64 = 2048;
/// So many events at least lie between two adaptations of the calendar, but at first, when what is pending changes.
const ADAPTS: u64 = 32_768;
/// In a `Source` or `Stop` event: the number is a group's, not a flow's.
pub(crate) const OF_GROUP: u32 = 1 << 25;

/// A run that has not started.
pub struct Simulation {
    pub(crate) end: u64,
    pub(crate) warmup: u64,
    /// What is due, and the packets that are on a link towards somebody who waits for them.
    pub(crate) calendar: CalendarQueue<Packet>,
    /// The end of transmission at the measured queue: nearly always among the next events, so beside the others.
    pub(crate) service: Service,
    pub(crate) network: Network,
    pub(crate) groups: Vec<Group>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) rto_scan: RtoScan,
    /// Of those that were there when the window opened.
    before: Vec<WarmupSnapshot>,
    /// How many rows the record has for sources that are there from the beginning, and the rows of others.
    pub(crate) rows: FlowIndex,
    pub(crate) web: WebSessions,
    pub(crate) objects: ObjectColumns,
    pub(crate) recorder: Recorder,
    pub(crate) measured: u32,
    /// Up to here a sender meets nothing but acknowledgements and its timer: no warm-up ends, no traffic stops.
    pub(crate) horizon: u64,
    /// When traffic stops, the window opens and the run ends, latest first.
    horizons: Vec<u64>,
    pub(crate) loss_log: LossLog,
    pub(crate) trace_cwnd: bool,
    pub(crate) cwnd: CwndColumns,
    /// When an event for a next_poll outside is due, if one was filed.
    pub(crate) next_poll: u64,
    /// Segments that a sender has just released; kept to save allocations.
    pub(crate) released: Vec<Segment>,
    pub(crate) sacks: Sacks,
    /// What connections have set aside in trouble and need no more; kept likewise.
    pub(crate) pool: Pools,
}

impl Simulation {
    /// Check `plan` and set everything up.
    ///
    /// # Errors
    /// The first key that makes the plan impossible.
    pub fn new(plan: &Plan, seed: u64) -> Result<Simulation, PlanError> {
        Simulation::build(plan, seed, false)
    }

    /// As [`Simulation::new`], but every step of every packet is an event: the reference that shows
    /// the shortcuts to be exact.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn plain(plan: &Plan, seed: u64) -> Result<Simulation, PlanError> {
        Simulation::build(plan, seed, true)
    }

    fn build(plan: &Plan, seed: u64, plain: bool) -> Result<Simulation, PlanError> {
        plan::validate::check(plan)?;
        let mut network = Network::new(plan, seed, plain)?;
        let measured = network.measured(plan)?;
        let groups = groups(plan, std::mem::take(&mut network.routes), &network.senders, seed)?;
        let mut simulation = Simulation {
            end: plan.duration,
            warmup: plan.warmup,
            calendar: CalendarQueue::new(),
            service: Service::NONE,
            recorder: Recorder::new(
                plan.trace.interval.unwrap_or(0),
                Some(plan.duration),
                network.ports.len(),
            ),
            rows: FlowIndex::new(&groups),
            network,
            groups,
            flows: Vec::new(),
            rto_scan: RtoScan::default(),
            before: Vec::new(),
            web: WebSessions::default(),
            objects: ObjectColumns::default(),
            measured,
            horizon: 0,
            horizons: [plan.warmup, plan.duration]
                .into_iter()
                .chain(plan.traffic.iter().filter_map(|t| t.stop))
                .collect(),
            loss_log: LossLog {
                counting: plan.warmup == 0,
                traced: plan.trace.drops,
                columns: DropColumns::default(),
            },
            trace_cwnd: plan.trace.cwnd,
            cwnd: CwndColumns::default(),
            next_poll: 0,
            released: Vec::new(),
            sacks: Sacks::default(),
            pool: Pools::default(),
        };
        simulation.horizons.sort_unstable_by(|a, b| b.cmp(a));
        simulation.move_horizon(0);
        simulation.file_first_events(plan);
        Ok(simulation)
    }

    /// Run to the end.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] if `control` says so, [`RunError::Conservation`] if packets were lost count
    /// of.
    pub fn run(mut self, control: &Control) -> Result<Record, RunError> {
        let mut events = 0u64;
        let mut until_adapted = EVENTS_PER_BATCH;
        while self.peek().time() < self.end {
            control.now_ns.store(self.peek().time(), Ordering::Relaxed);
            if control.cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            if events >= until_adapted {
                self.calendar.adapt();
                until_adapted = events + events.min(ADAPTS) + 16 * self.calendar.capacity() as u64;
            }
            events += self.run_some();
        }
        self.recorder.sample_at_end(self.end, &mut self.network.ports);
        for port in &mut self.network.ports {
            port.pass(self.end);
        }
        if self.web.is_full {
            return Err(RunError::TooManyFlows(plan::validate::MAX_FLOWS));
        }
        self.conserved()?;
        control.now_ns.store(self.end, Ordering::Relaxed);
        Ok(self.into_record(events))
    }

    /// The next event.
    pub(crate) fn peek(&self) -> Event {
        self.calendar.peek().min(self.service.event(self.measured))
    }

    /// Handle the next [`EVENTS_PER_BATCH`] events before the end; how many there were.
    fn run_some(&mut self) -> u64 {
        let has_express =
            !self.network.round_trips.is_empty() && !self.network.ports[self.measured as usize].varies;
        if has_express {
            return self.run_fast_path(EVENTS_PER_BATCH);
        }
        for done in 0..EVENTS_PER_BATCH {
            let event = self.peek();
            if event.time() >= self.end {
                return done;
            }
            if event == self.service.event(self.measured) {
                self.service = Service::NONE;
                self.depart(event.time(), self.measured);
            } else {
                let packet = *self.calendar.pop();
                self.on_event(event, packet);
            }
        }
        EVENTS_PER_BATCH
    }

    /// Something is due, perhaps that `packet` comes to the end of its link.
    #[inline(always)]
    pub(crate) fn on_event(&mut self, event: Event, mut packet: Packet) {
        let now = event.time();
        if !event.is_arrival() {
            return self.handle(event);
        }
        let step = &self.network.steps[packet.step as usize];
        if step.last {
            return self.arrive(now, packet);
        }
        packet.step += 1;
        if step.queue == NO_INDEX {
            self.carry(now, packet);
        } else {
            self.queue_up(now, step.queue, &mut packet);
        }
    }

    fn file_first_events(&mut self, plan: &Plan) {
        let count = plan.traffic.iter().map(|traffic| traffic.count as usize).sum();
        self.flows.reserve_exact(count);
        let least = self.groups.iter().map(|group| group.full.bytes).filter(|bytes| *bytes > 0).min();
        let bdp_packets = least.map_or(0, |bytes| self.network.bdp_packets(self.measured, bytes));
        self.calendar.expect(count, 2 * count + bdp_packets);
        self.rto_scan.reserve(count);
        self.calendar.push_timer(Event::new(self.end, u64::MAX, EventKind::End, 0));
        if self.warmup > 0 {
            self.calendar.push_timer(Event::new(self.warmup, u64::MAX, EventKind::Warmup, 0));
        }
        if plan.trace.interval.is_some() {
            self.recorder.file_next(0, &mut self.calendar);
        }
        for port in 0..self.network.ports.len() as u32 {
            if let Some(time) = self.network.ports[port as usize].next_timer() {
                self.calendar.push(Event::new(time.0, time.0, EventKind::AqmTimer, port));
            }
        }
        for (group, traffic) in plan.traffic.iter().enumerate() {
            let starts = (0..).zip(self.groups[group].starts.clone());
            if let plan::TrafficKind::TcpShort { .. } = traffic.kind {
                let mut start = self.groups[group].demand.stream("start").indexed(0);
                let start = traffic.start.value(&mut start) as u64;
                self.file_next_arrival(group as u32, start);
            } else if let plan::TrafficKind::Web(_) = traffic.kind {
                for (index, start) in starts {
                    self.add_session(group as u32, index, start);
                }
            } else {
                for (index, start) in starts {
                    let flow = self.add_flow(group as u32, index, start, None);
                    let mut first = start;
                    match &mut self.flows[flow as usize].endpoint {
                        Endpoint::Udp(udp) => first = udp.source.first(start),
                        Endpoint::Tcp(connection) => {
                            if let Some((writer, _)) = connection.writer() {
                                first = writer.first(start);
                            }
                        }
                    }
                    self.calendar.push_timer(Event::new(first, first, EventKind::Source, flow));
                }
                self.groups[group].routes = Vec::new(); // nobody else comes, and there may be very many
            }
            if let Some(stop) = traffic.stop {
                self.calendar.push_timer(Event::new(
                    stop,
                    u64::MAX,
                    EventKind::Stop,
                    OF_GROUP | group as u32,
                ));
            }
        }
    }

    pub(crate) fn handle(&mut self, event: Event) {
        let (now, number) = (event.time(), event.number());
        match event.kind() {
            EventKind::End | EventKind::Poll | EventKind::Arrival => {
                unreachable!("nothing to handle, or with a packet")
            }
            EventKind::Departure => self.depart_far(now, number),
            EventKind::AqmTimer => {
                let port = self.queue_at(number, now);
                port.on_timer(now);
                if let Some(next) = port.next_timer() {
                    let (time, age) = (next.0.max(now + 1), next.0 - now.min(next.0));
                    self.calendar.push(Event::new(time, age, EventKind::AqmTimer, number));
                }
            }
            EventKind::Retransmit => self.on_retransmission_event(now, number),
            EventKind::RtoScan => self.rto_scan.scan(&mut self.calendar, &mut self.flows, now),
            EventKind::DelayedAck => {
                if let Endpoint::Tcp(connection) = &mut self.flows[number as usize].endpoint
                    && connection.receiver.held() == NonZero::new(now)
                {
                    connection.receiver.hold(None);
                    let answer = self.answer(number);
                    self.carry(now, answer);
                }
            }
            EventKind::Release => self.on_release(now, number),
            EventKind::Stop => self.on_stop(now, number),
            EventKind::Source => self.on_source(now, number),
            EventKind::Page => self.on_page(now, number),
            EventKind::Object => self.on_object(now, number),
            EventKind::Paced => self.on_paced(now, number),
            EventKind::Warmup => self.open_window(now),
            EventKind::Sample => {
                self.recorder.sample(now, &mut self.network.ports);
                self.recorder.file_next(now, &mut self.calendar);
            }
        }
    }

    /// Take `packet` onward from the link of its step, which it enters at `at`, until it must wait.
    #[inline]
    pub(crate) fn carry(&mut self, mut at: u64, mut packet: Packet) {
        loop {
            let Network { steps, links, kinds, fixed_path, .. } = &mut self.network;
            let step = &mut steps[packet.step as usize];
            if let Some(port) = kinds[step.hop.tx_time.kind as usize].port {
                return self.queue_up_far(at, port, &mut packet);
            }
            if step.on_fixed_path {
                fixed_path.flush(links);
            }
            at = links[step.link(packet.host) as usize].cross(&mut step.hop.tx_time, kinds, at, packet.bytes);
            if step.on_fixed_path {
                fixed_path.refresh(links);
            }
            if step.eventless && !step.last {
                packet.step += 1;
            } else if !self.leave(at, &mut packet) {
                return;
            }
        }
    }

    /// `packet` reaches the end of its link at `arrival`, perhaps that of its way: whether it, or its answer, goes
    /// on at once, and does not come back then.
    #[inline]
    pub(crate) fn leave(&mut self, arrival: u64, packet: &mut Packet) -> bool {
        let step = &self.network.steps[packet.step as usize];
        if !step.eventless {
            self.wait(arrival, packet);
            return false;
        }
        if !step.last {
            packet.step += 1;
            return true;
        }
        if packet.carries == Carries::Ack {
            self.react(arrival, packet);
            return false;
        }
        self.receive(arrival, packet)
    }

    /// `packet`, sent last on the link of its step, comes back to somebody at `arrival`.
    #[inline]
    pub(crate) fn wait(&mut self, arrival: u64, packet: &Packet) {
        let step = &self.network.steps[packet.step as usize];
        let link = step.link(packet.host);
        let place = self.network.links[link as usize].burst_index();
        self.calendar.push_with(|waiting| {
            *waiting = *packet;
            Event::arrival(arrival.min(MAX_EVENT_TIME), step.hop.tx_time.tie_key(), place, link)
        });
    }

    /// `packet` comes to a queue, and goes right through if nothing is in its way.
    #[inline(always)]
    pub(crate) fn queue_up(&mut self, now: u64, port: u32, packet: &mut Packet) {
        let queue = self.queue_at(port, now);
        queue.enqueue(now, packet);
        let is_idle = !queue.stats.busy;
        if !queue.stats.outcomes.is_empty() {
            self.report_outcomes(port, now);
        }
        if is_idle {
            self.serve_idle(port, now);
        }
    }

    #[inline(never)]
    fn queue_up_far(&mut self, now: u64, port: u32, packet: &mut Packet) {
        self.queue_up(now, port, packet);
    }

    #[inline(never)]
    fn depart_far(&mut self, now: u64, port: u32) {
        self.depart(now, port);
    }

    /// The transmitter of `port` has finished a packet.
    #[inline(always)]
    fn depart(&mut self, now: u64, port: u32) {
        if !self.serve(port, now) {
            self.network.ports[port as usize].on_idle(now);
        }
    }

    /// The queue of `port`, which knows what its link carries now, should that change with time.
    #[inline(always)]
    fn queue_at(&mut self, port: u32, now: u64) -> &mut Port {
        let queue = &mut self.network.ports[port as usize];
        if queue.varies
            && let Some(rate) = self.network.kinds[queue.kind as usize].rate_at(now)
        {
            queue.set_link_rate(rate);
        }
        queue
    }

    /// Let the transmitter of `port` take its next packet; whether there was one.
    #[inline(always)]
    fn serve(&mut self, port: u32, now: u64) -> bool {
        let queue = self.queue_at(port, now);
        let sent = queue.dequeue(now).copied();
        let link = queue.link;
        if !queue.stats.outcomes.is_empty() {
            self.report_outcomes(port, now);
        }
        let Some(mut packet) = sent else { return false };
        let Network { steps, links, kinds, .. } = &mut self.network;
        let step = &mut steps[packet.step as usize];
        let sent = links[link as usize].transmit(&mut step.hop.tx_time, kinds, now, packet.bytes);
        let arrival = step.hop.tx_time.arrival(sent);
        if port == self.measured {
            self.service = Service { time: sent, since: now };
            self.flows[packet.flow as usize].counts.queue_left += 1;
        } else {
            self.calendar.push(Event::new(sent, sent - now, EventKind::Departure, port));
        }
        if self.leave(arrival, &mut packet) {
            self.carry(arrival, packet);
        }
        true
    }

    #[inline(never)]
    fn serve_idle(&mut self, port: u32, now: u64) {
        self.serve(port, now);
    }

    /// A queue tells what it has done to packets.
    pub(crate) fn report_outcomes(&mut self, port: u32, now: u64) {
        let queue = &mut self.network.ports[port as usize];
        let context = LossContext { now, is_measured: port == self.measured, waiting: queue.backlog().0 };
        self.loss_log.record(context, &mut queue.stats, &mut self.flows, &mut self.sacks);
    }

    /// It is `now`, and something begins or ends for all.
    pub(crate) fn move_horizon(&mut self, now: u64) {
        while self.horizons.pop_if(|time| *time <= now).is_some() {}
        self.horizon = self.horizons.last().copied().unwrap_or(0).min(self.end);
    }

    fn open_window(&mut self, now: u64) {
        self.move_horizon(now);
        self.loss_log.counting = true;
        for port in &mut self.network.ports {
            port.pass(now);
        }
        self.recorder.open_window(&mut self.network.ports);
        let before = |(flow, offered): (&Flow, u32)| WarmupSnapshot {
            offered,
            dropped: flow.losses.dropped,
            tally: flow.tally(),
        };
        let offered = offered(&self.flows, &self.network.ports[self.measured as usize]);
        self.before = self.flows.iter().zip(offered).map(before).collect();
    }

    pub(crate) fn parts(self) -> Parts {
        Parts {
            window: Window { start: Time(self.warmup), end: Time(self.end) },
            // Nobody crosses them any more, and the record needs room.
            network: Network { links: Vec::new(), ..self.network },
            groups: self.groups,
            flows: self.flows,
            before: self.before,
            rows: self.rows,
            pages: self.web.columns,
            objects: self.objects,
            recorder: self.recorder,
            measured: self.measured,
            drops: self.loss_log.columns,
            cwnd: self.cwnd,
        }
    }

    fn conserved(&self) -> Result<(), RunError> {
        let flying = self.calendar.pending().filter(|(event, _)| event.kind() == EventKind::Arrival);
        crate::record::conserved(&self.network, &self.flows, flying.map(|(_, packet)| packet))
    }

    fn into_record(self, events: u64) -> Record {
        self.parts().record(events)
    }
}

/// What the flows of each traffic share, and then those of the requests of each web traffic.
fn groups(plan: &Plan, routes: Vec<Vec<Route>>, senders: &[u32], seed: u64) -> Result<Vec<Group>, PlanError> {
    let mut groups: Vec<Group> = Vec::new();
    let mut routes = routes.into_iter();
    let (mut rows, mut flows) = (0, 0);
    for ((i, traffic), senders) in plan.traffic.iter().enumerate().zip(senders) {
        let mut group = Group::new(traffic, i as u32, routes.next().unwrap_or_default(), *senders, seed)?;
        (group.first_row, group.first_flow) = (rows, flows);
        rows += group.starts.sources();
        flows += group.first_flows();
        groups.push(group);
    }
    for (i, traffic) in plan.traffic.iter().enumerate() {
        if let plan::TrafficKind::Web(web) = &traffic.kind {
            groups[i].requests = groups.len() as u32;
            let back = routes.next().unwrap_or_default();
            groups.push(Group::of_requests(traffic, web, i as u32, back, seed)?);
        }
    }
    Ok(groups)
}

/// What is left when the clock stops.
pub(crate) struct Parts {
    pub(crate) window: Window,
    pub(crate) network: Network,
    pub(crate) groups: Vec<Group>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) before: Vec<WarmupSnapshot>,
    pub(crate) rows: FlowIndex,
    pub(crate) pages: PageColumns,
    pub(crate) objects: ObjectColumns,
    pub(crate) recorder: Recorder,
    pub(crate) measured: u32,
    pub(crate) drops: DropColumns,
    pub(crate) cwnd: CwndColumns,
}
