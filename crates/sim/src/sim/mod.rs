//! The simulation: its state, and the run from the first event to the record.
//!
//! # Life of a packet
//!
//! Time passes from event to event, and between two events a packet crosses every link whose far end it can
//! be given the time for ([`crate::path::Step::eventless`]). So a data packet through one congested queue
//! costs three events: it arrives at the queue, its transmission ends, its acknowledgement reaches the
//! sender.
//!
//! ```text
//! step                      general engine            fast path              the step itself
//! arrive at the queue       event, enqueue_at         event, in the loop     cycle::enqueue
//! leave the queue           event, transmit_from      event, in the loop     cycle::dequeue
//! transmit over its link    transmit_from             in the loop            Links::transmit
//! cross the next links      forward, link by link     RoundTrip, at once     Links::cross, FixedPath
//! reach the receiver        receive                   in the loop            Connection::receive
//! acknowledgement returns   forward, link by link     RoundTrip, at once     Links::cross, FixedPath
//! sender reacts             event or react            in the loop            Sender::react
//! next packet leaves        send                      in the loop            cycle::transmit
//! ```
//!
//! [`dispatch`] takes the next event and handles it; what hosts do is in [`endpoints`]. [`fast_path`] is a
//! loop that calls the same steps in a row for flows that qualify ([`eligibility`]), and leaves everything
//! else to `dispatch`. [`Simulation::plain`] uses neither the fast path nor lookahead: tests compare its
//! records with those of both.

mod cycle;
mod dispatch;
mod endpoints;
mod fast_path;
mod web;

use crate::{
    engine::{CalendarQueue, Event, EventKind, OF_GROUP, OLDEST, Service},
    error::{PlanError, RunError},
    flow::{Endpoint, Group, Hosts, WarmupSnapshot},
    measure::{self, LossLog, Recorder, RunResult, offered},
    packet::Packet,
    path::{FastPath, Layout, Network, Route, eligibility},
    plan::{self, Plan, validate},
    queue::Port,
    record::{CwndColumns, DropColumns, Record, Window},
};
use sojourn_aqm::{Span, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use web::WebSessions;

/// How the outside watches and stops a run.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it to stop the run.
    pub cancel: AtomicBool,
    /// Virtual time reached.
    pub now_ns: AtomicU64,
    /// Bytes that the traces of drops and congestion windows may take; None: as many as there are.
    pub trace_limit: Option<u64>,
}

/// Events between two polls of [`Control`].
const EVENTS_PER_BATCH: u64 = 2048;
/// Rows of a trace that have memory before a batch of events begins; few events write more than one.
const ROWS_PER_BATCH: usize = 4 * EVENTS_PER_BATCH as usize;
/// The least number of events between two adaptations of the calendar, except at the start, when the number
/// of pending events changes fastest.
const EVENTS_PER_ADAPTATION: u64 = 32_768;

/// A run that has not started.
pub struct Simulation {
    ports: Vec<Port>,
    world: World,
    web: WebSessions,
    fast_path: FastPath,
    /// The longest time after the window in which its transfers may finish.
    drain: Span,
}

/// Everything but the queues. The fast path holds the measured queue apart from it.
struct World {
    clock: Clock,
    network: Network,
    hosts: Hosts,
    log: Log,
    /// The queue that metrics are about, and the link behind it.
    measured: u32,
    measured_link: u32,
}

/// Virtual time.
struct Clock {
    /// Pending events, and the packets that arrive with some of them.
    calendar: CalendarQueue<Packet>,
    /// The end of the transmission at the measured queue: it is nearly always among the next events, so it is
    /// kept beside the others.
    service: Service,
    /// The window of statistics: warm-up and end.
    window: Window,
    end: Time,
    /// Before this time a sender meets nothing but acknowledgements and its timer: no warm-up ends, no
    /// traffic stops.
    horizon: Time,
    /// When traffic stops, the window opens and the run ends, latest first.
    horizons: Vec<Time>,
    /// The time of the next [`EventKind::Poll`], if there is one.
    next_poll: Time,
}

impl Clock {
    /// The next time after `now` at which the window opens, traffic stops or the run ends.
    fn move_horizon(&mut self, now: Time) {
        while self.horizons.pop_if(|time| *time <= now).is_some() {}
        self.horizon = self.horizons.last().copied().unwrap_or(Time::ZERO).min(self.end);
    }
}

/// What a run writes down as it goes.
struct Log {
    recorder: Recorder,
    losses: LossLog,
    traces_cwnd: bool,
    cwnd: CwndColumns,
    /// Of the flows that were there when the window opened.
    at_warmup: Vec<WarmupSnapshot>,
}

/// How far a run has come.
struct Progress {
    events: u64,
    /// The calendar adapts after this number of events.
    until_adapted: u64,
}

impl Log {
    /// Ask for the memory of the rows that the next batch of events may write.
    fn reserve(&mut self, limit: Option<u64>) -> Result<(), RunError> {
        let drops = self.losses.traced.then_some(&mut self.losses.columns);
        let cwnd = self.traces_cwnd.then_some(&mut self.cwnd);
        let mut bytes = 0;
        if let Some(columns) = drops {
            bytes += columns.reserve(ROWS_PER_BATCH, limit)?;
        }
        if let Some(columns) = cwnd {
            columns.reserve(ROWS_PER_BATCH, limit.map(|limit| limit.saturating_sub(bytes)))?;
        }
        Ok(())
    }
}

impl Simulation {
    /// Check `plan` and set everything up.
    ///
    /// # Errors
    /// The first key that makes the plan impossible.
    pub fn new(plan: &Plan, seed: u64) -> Result<Simulation, PlanError> {
        Simulation::build(plan, seed, false)
    }

    /// As [`Simulation::new`], but every step of every packet is an event: the reference that shows the
    /// shortcuts to be exact.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn plain(plan: &Plan, seed: u64) -> Result<Simulation, PlanError> {
        Simulation::build(plan, seed, true)
    }

    fn build(plan: &Plan, seed: u64, is_plain: bool) -> Result<Simulation, PlanError> {
        validate::check(plan)?;
        let mut layout = Layout::new(plan, seed, is_plain)?;
        let measured = layout.measured(plan)?;
        let fast_path = eligibility::fast_path(plan, &layout, measured, is_plain);
        let groups = groups(plan, std::mem::take(&mut layout.routes), &layout.senders, seed)?;
        let Layout { network, ports, .. } = layout;
        let stops = plan.traffic.iter().filter_map(|traffic| traffic.stop);
        let window = Window { start: plan.warmup, end: Time::ZERO + plan.duration };
        let mut horizons: Vec<Time> = [window.start, window.end].into_iter().chain(stops).collect();
        horizons.sort_unstable_by(|a, b| b.cmp(a));
        let mut clock = Clock {
            calendar: CalendarQueue::new(),
            service: Service::NONE,
            window,
            end: window.end,
            horizon: Time::ZERO,
            horizons,
            next_poll: Time::ZERO,
        };
        clock.move_horizon(Time::ZERO);
        let recorder = match plan.trace.interval {
            Some(interval) => Recorder::new(interval, Some(window.end), ports.len()),
            None => Recorder::of_parts(window.end, ports.len()),
        };
        let log = Log {
            recorder: recorder.with_phases(&plan.phases),
            losses: LossLog {
                counting: plan.warmup == Time::ZERO,
                traced: plan.trace.drops,
                columns: DropColumns::default(),
            },
            traces_cwnd: plan.trace.cwnd,
            cwnd: CwndColumns::default(),
            at_warmup: Vec::new(),
        };
        let (hosts, measured_link) = (Hosts::new(plan, groups), ports[measured as usize].link);
        let world = World { clock, network, hosts, log, measured, measured_link };
        let (web, drain) = (WebSessions::default(), plan.drain.unwrap_or(Span::ZERO));
        let mut simulation = Simulation { ports, world, web, fast_path, drain };
        simulation.schedule_first_events(plan);
        Ok(simulation)
    }

    /// Run to the end.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] if `control` says so, [`RunError::Memory`] if the traces need more than there
    /// is or than `control` allows, [`RunError::Conservation`] if packets are not conserved.
    pub fn run(mut self, control: &Control) -> Result<Record, RunError> {
        let mut progress = Progress { events: 0, until_adapted: EVENTS_PER_BATCH };
        let end = self.world.clock.end;
        self.run_until_end(control, &mut progress, |_| false)?;
        self.world.log.recorder.sample_at_end(end, &mut self.ports);
        self.close(end)?;
        if self.drain == Span::ZERO {
            self.world.network.each = Vec::new(); // no packet crosses them any more, and the record needs room
        }
        let mut record = self.record();
        if self.drain > Span::ZERO {
            self.extend();
            let (mut transfers, mut pages) = (0, 0);
            self.run_until_end(control, &mut progress, |run| {
                let (objects, columns) = (&run.world.hosts.objects, &run.web.columns);
                skip_finished(&mut transfers, &objects.start_ns, &objects.end_ns, end)
                    && skip_finished(&mut pages, &columns.start_ns, &columns.end_ns, end)
            })?;
            self.close(self.world.clock.end.min(self.peek().time()))?;
        }
        control.now_ns.store(end.0, Ordering::Relaxed);
        (record.events, record.fast_path) = (progress.events, self.fast_path);
        (record.objects, record.pages) = (self.world.hosts.objects, self.web.columns);
        if self.drain > Span::ZERO {
            record.keep_transfers_before(end);
        }
        Ok(record)
    }

    /// Handle events before the end, or until `is_over`, which is asked after each batch.
    fn run_until_end(
        &mut self,
        control: &Control,
        progress: &mut Progress,
        mut is_over: impl FnMut(&Simulation) -> bool,
    ) -> Result<(), RunError> {
        while self.peek().time() < self.world.clock.end && !is_over(self) {
            control.now_ns.store(self.peek().time().min(self.world.clock.window.end).0, Ordering::Relaxed);
            if control.cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            self.world.log.reserve(control.trace_limit)?;
            if progress.events >= progress.until_adapted {
                let (calendar, events) = (&mut self.world.clock.calendar, progress.events);
                calendar.adapt();
                progress.until_adapted =
                    events + events.min(EVENTS_PER_ADAPTATION) + 16 * calendar.capacity() as u64;
            }
            progress.events += match self.fast_path {
                FastPath::Yes => self.run_fast_path(EVENTS_PER_BATCH),
                _ => self.run_events(EVENTS_PER_BATCH),
            };
        }
        Ok(())
    }

    /// Extend the integrals of the queues to `now`, and check that no packet is missing.
    fn close(&mut self, now: Time) -> Result<(), RunError> {
        for port in &mut self.ports {
            port.pass(now);
        }
        if self.web.is_full {
            return Err(RunError::TooManyFlows(validate::MAX_FLOWS));
        }
        self.conserved()
    }

    /// Move the end behind the window, so that transfers that began before can finish. Traces end here.
    fn extend(&mut self) {
        let World { clock, log, .. } = &mut self.world;
        if clock.calendar.peek().kind() == EventKind::End {
            clock.calendar.pop();
        }
        clock.end = clock.window.end + self.drain;
        clock.calendar.push_timer(Event::new(clock.end, OLDEST, EventKind::End, 0));
        clock.horizons.push(clock.end);
        clock.horizons.sort_unstable_by(|a, b| b.cmp(a));
        clock.move_horizon(clock.window.end);
        (log.losses.traced, log.traces_cwnd) = (false, false);
        log.recorder.stop();
    }

    fn schedule_first_events(&mut self, plan: &Plan) {
        let World { clock, network, hosts, log, measured, .. } = &mut self.world;
        let Clock { calendar, window, end, .. } = clock;
        let count = plan.traffic.iter().map(|traffic| traffic.count as usize).sum();
        let least = hosts.groups.iter().map(|group| group.full.bytes).filter(|bytes| *bytes > 0).min();
        let port = &self.ports[*measured as usize];
        let in_flight = least.map_or(0, |bytes| network.bdp_packets(port, bytes));
        calendar.expect(count, 2 * count + in_flight);
        calendar.push_timer(Event::new(*end, OLDEST, EventKind::End, 0));
        if window.start > Time::ZERO {
            calendar.push_timer(Event::new(window.start, OLDEST, EventKind::Warmup, 0));
        }
        for (phase, number) in plan.phases.iter().zip(1..) {
            for time in [phase.from, phase.to] {
                calendar.push_timer(Event::new(time, OLDEST, EventKind::Warmup, number));
            }
        }
        log.recorder.schedule_next(Time::ZERO, calendar);
        for (port, number) in self.ports.iter().zip(0..) {
            if let Some(time) = port.next_timer() {
                calendar.push(Event::new(time, time - Time::ZERO, EventKind::AqmTimer, number));
            }
        }
        for (number, traffic) in (0..).zip(&plan.traffic) {
            let starts = (0..).zip(hosts.groups[number as usize].starts.clone());
            if let plan::TrafficKind::TcpShort { .. } = traffic.kind {
                let mut start = hosts.groups[number as usize].demand.stream("start").indexed(0);
                let start = Time(traffic.start.value(&mut start) as u64);
                endpoints::schedule_next_arrival(hosts, calendar, number, start);
            } else if let plan::TrafficKind::Web(_) = traffic.kind {
                for (index, start) in starts {
                    self.web.add_session(hosts, calendar, number, index, start);
                }
            } else {
                for (index, start) in starts {
                    let flow = hosts.add_flow(number, index, start, None);
                    let mut first = start;
                    match &mut hosts.flows[flow as usize].endpoint {
                        Endpoint::Udp(udp) => first = udp.source.first(start),
                        Endpoint::Tcp(_) => {
                            let application = hosts.applications.get_mut(flow);
                            if let Some(writer) = application.and_then(|one| one.writer.as_mut()) {
                                first = writer.source.first(start);
                            }
                        }
                    }
                    calendar.push_timer(Event::new(first, first - Time::ZERO, EventKind::Source, flow));
                }
                // No other flow will need them, and there may be very many.
                hosts.groups[number as usize].routes = Vec::new();
            }
            if let Some(stop) = traffic.stop {
                calendar.push_timer(Event::new(stop, OLDEST, EventKind::Stop, OF_GROUP | number));
            }
        }
    }

    fn open_window(&mut self, now: Time) {
        let World { clock, hosts, log, measured, .. } = &mut self.world;
        clock.move_horizon(now);
        log.losses.counting = true;
        for port in &mut self.ports {
            port.pass(now);
        }
        log.recorder.open_window(&mut self.ports);
        let offered = offered(&hosts.flows, &self.ports[*measured as usize]);
        log.at_warmup =
            hosts.flows.iter().zip(offered).map(|(flow, offered)| flow.snapshot(offered)).collect();
    }

    fn conserved(&self) -> Result<(), RunError> {
        let pending = self.world.clock.calendar.pending();
        let flying = pending.filter(|(event, _)| event.kind() == EventKind::Arrival);
        measure::conserved(&self.ports, &self.world.hosts, flying.map(|(_, packet)| packet))
    }

    fn record(&mut self) -> Record {
        let World { clock, network, hosts, log, measured, .. } = &mut self.world;
        let result = RunResult {
            window: clock.window,
            network,
            ports: &self.ports,
            hosts,
            at_warmup: &log.at_warmup,
            recorder: &mut log.recorder,
            measured: *measured,
            drops: std::mem::take(&mut log.losses.columns),
            cwnd: std::mem::take(&mut log.cwnd),
        };
        result.record()
    }
}

/// Move `row` over what has finished or began at `end` or later; whether nothing else is left.
fn skip_finished(row: &mut usize, starts: &[u64], ends: &[u64], end: Time) -> bool {
    while *row < starts.len() && (ends[*row] != u64::MAX || starts[*row] >= end.0) {
        *row += 1;
    }
    *row == starts.len()
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
