//! The simulation: its state, and the run from the first event to the record.
//!
//! # Life of a packet
//!
//! Time passes from event to event. Between two events a packet crosses every link at whose far end its
//! arrival time is already known ([`crate::path::Step::eventless`]). So a data packet through one congested
//! queue costs three events: it arrives at the queue, its transmission ends, its acknowledgement reaches the
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
//! The [`State`] of a run has four parts: time, the network, the queues, the hosts. Functions take the parts
//! that they touch:
//!
//! - [`dispatch`]: the next event, and what it is about
//! - [`forwarding`]: packets between hosts; this touches all four parts
//! - [`endpoints`]: what hosts do with packets and timers, without links and queues
//! - [`web`], [`video`]: what clients request
//! - [`fast_path`]: a loop that calls the same steps in a row for flows that qualify ([`eligibility`]), and
//!   leaves everything else to `dispatch` and `forwarding`
//!
//! [`Simulation::plain`] uses neither the fast path nor lookahead: tests compare its records with those of
//! both.

mod clients;
mod clock;
mod cycle;
mod dispatch;
mod endpoints;
mod fast_path;
mod forwarding;
mod queues;
mod setup;
mod video;
mod web;

use crate::{
    engine::EventKind,
    error::{PlanError, RunError},
    flow::Hosts,
    measure::{self, RunResult, Traces},
    path::{Layout, Network, eligibility},
    plan::{Plan, validate},
    queue::{Observations, States},
    record::{CwndColumns, DropColumns, FastPath, FlowSeriesColumns, PacketColumns, QueueSeries, Record},
};
use clients::Clients;
use clock::Clock;
use fast_path::FastLoop;
use queues::{QueueLog, Queues};
use sojourn_aqm::{Span, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress and cancellation of a run, shared with other threads.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it to stop the run.
    pub cancel: AtomicBool,
    /// Virtual time reached.
    pub now_ns: AtomicU64,
    /// Bytes that the traces of drops and congestion windows may take; `None`: no limit.
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
    state: State,
    clients: Clients,
    fast_path: FastPath,
    /// The longest time after the window in which its transfers may finish.
    drain: Span,
}

/// A run that has started. It may be simulated in slices, between which one sees what it has recorded so far.
pub struct Running {
    simulation: Simulation,
    events: EventLoop,
}

/// What a run has recorded so far at its measured queue.
pub struct Progress<'a> {
    /// Samples, if they are recorded.
    pub series: Option<&'a QueueSeries>,
    /// Drops, if they are recorded.
    pub drops: &'a DropColumns,
    /// Changes of congestion windows, if they are recorded. They may be ahead of virtual time. The column
    /// `flow` has numbers of connections: see [`Running::row`].
    pub cwnd: Option<&'a CwndColumns>,
    /// Samples of flows, if they are recorded. The column `flow` has numbers of connections, too.
    pub flows: Option<&'a FlowSeriesColumns>,
}

/// What a packet may touch between two events. Each part also has what is recorded about it.
struct State {
    clock: Clock,
    network: Network,
    queues: Queues,
    hosts: Hosts,
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
        let groups = setup::groups(plan, std::mem::take(&mut layout.routes), &layout.senders, seed)?;
        let Layout { network, ports, .. } = layout;
        let queues = Queues::new(plan, ports, measured);
        let mut state = State { clock: Clock::new(plan), network, queues, hosts: Hosts::new(plan, groups) };
        let mut clients = Clients::default();
        setup::schedule_first_events(plan, &mut state, &mut clients);
        Ok(Simulation { state, clients, fast_path, drain: plan.drain.unwrap_or(Span::ZERO) })
    }

    /// Run to the end.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] if `control` says so, [`RunError::Memory`] if the traces need more than there
    /// is or than `control` allows, [`RunError::Conservation`] if packets are not conserved.
    pub fn run(self, control: &Control) -> Result<Record, RunError> {
        self.start().finish(control)
    }

    /// Start the run, to simulate it in slices.
    pub fn start(mut self) -> Running {
        let events = EventLoop::new(self.fast_path, &mut self.state);
        Running { simulation: self, events }
    }

    /// Run what is left, with the loop of the events before; the record.
    fn finish(mut self, mut events: EventLoop, control: &Control) -> Result<Record, RunError> {
        let end = self.state.clock.end;
        let mut over = events.run(&mut self.state, &mut self.clients, control, u64::MAX, |_, _| false)?;
        self.state.queues.close_window(end);
        let flows = self.state.queues.end_flows(&self.state.hosts, end);
        if let Some(error) = flows.as_ref().and_then(|flows| flows.error.clone()) {
            return Err(error);
        }
        self.check()?;
        if self.drain == Span::ZERO {
            self.state.network.each = Vec::new(); // no packet crosses them any more, and the record needs room
        }
        let mut record = self.record(flows.map(|flows| flows.columns));
        record.segments = self.clients.videos.columns(end);
        if self.drain > Span::ZERO {
            self.state.queues.stop_recording();
            self.state.clock.extend(end + self.drain);
            let (mut transfers, mut pages) = (0, 0);
            over = events.run(&mut self.state, &mut self.clients, control, u64::MAX, |hosts, clients| {
                let (objects, columns) = (&hosts.objects, &clients.web.columns);
                skip_finished(&mut transfers, &objects.start_ns, &objects.end_ns, end)
                    && skip_finished(&mut pages, &columns.start_ns, &columns.end_ns, end)
            })?;
            self.check()?;
        }
        control.now_ns.store(end.0, Ordering::Relaxed);
        for port in &mut self.state.queues.ports {
            port.on_end(over, &mut record.exports);
        }
        (record.events, record.fast_path) = (events.handled, self.fast_path);
        (record.objects, record.pages) = (self.state.hosts.objects, self.clients.web.columns);
        if self.drain > Span::ZERO {
            record.keep_transfers_before(end);
        }
        Ok(record)
    }

    /// Check that the run had enough flows and that no packet is missing.
    fn check(&self) -> Result<(), RunError> {
        if self.clients.web.is_full {
            return Err(RunError::TooManyFlows(validate::MAX_FLOWS));
        }
        let pending = self.state.clock.calendar.pending();
        let in_flight = pending.filter(|(event, _)| event.kind() == EventKind::Arrival);
        let State { network, queues, hosts, .. } = &self.state;
        measure::conserved(&queues.ports, hosts, &network.wires, in_flight.map(|(_, packet)| packet))
    }

    /// The record of the window, but for transfers and pages, which may finish later.
    fn record(&mut self, flow_series: Option<FlowSeriesColumns>) -> Record {
        let State { clock, network, queues, hosts } = &mut self.state;
        let QueueLog { measured, recorder, losses, .. } = &mut queues.log;
        let seen = queues.ports[*measured as usize].observations();
        let traces = Traces {
            drops: std::mem::take(&mut losses.columns),
            packets: seen.and_then(|seen| seen.packets.take()).unwrap_or_default(),
            flow_series: flow_series.unwrap_or_default(),
        };
        let (window, ports, measured) = (clock.window, &queues.ports[..], *measured);
        RunResult { window, network, ports, hosts, recorder, measured, traces }.record()
    }
}

impl Running {
    /// Simulate about `events` more events; whether the window is over. Slices consist of whole batches of
    /// events, so the record is that of [`Simulation::run`].
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn advance(&mut self, events: u64, control: &Control) -> Result<bool, RunError> {
        let Simulation { state, clients, .. } = &mut self.simulation;
        let events = self.events.handled.saturating_add(events);
        Ok(self.events.run(state, clients, control, events, |_, _| false)? >= state.clock.end)
    }

    /// Simulate what is left.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn finish(self, control: &Control) -> Result<Record, RunError> {
        self.simulation.finish(self.events, control)
    }

    /// What has been recorded so far.
    pub fn progress(&self) -> Progress<'_> {
        let State { queues, hosts, .. } = &self.simulation.state;
        let QueueLog { measured, recorder, losses, flows, .. } = &queues.log;
        let series = recorder.series(*measured as usize);
        let flows = flows.as_deref().map(|flows| &flows.columns);
        Progress { series, drops: &losses.columns, cwnd: hosts.cwnd.as_ref(), flows }
    }

    /// Keep the states of the measured queue's algorithm beside the log of its packets.
    pub fn keep_states(&mut self) {
        if let Some(seen) = self.observations() {
            seen.states = Some(States::default());
        }
    }

    /// The log of packets since the last call, if the plan records it, and the states kept beside it. The
    /// columns `flow` have numbers of connections.
    pub fn take_packets(&mut self) -> (PacketColumns, States) {
        let Some(seen) = self.observations() else { return Default::default() };
        let packets = seen.packets.as_mut().map(std::mem::take);
        let kept = States {
            names: seen.states.as_ref().map_or_else(Vec::new, |one| one.names.clone()),
            values: Vec::new(),
        };
        let states = seen.states.as_mut().map(|states| std::mem::replace(states, kept));
        (packets.unwrap_or_default(), states.unwrap_or_default())
    }

    fn observations(&mut self) -> Option<&mut Observations> {
        let Queues { ports, log } = &mut self.simulation.state.queues;
        ports[log.measured as usize].observations()
    }

    /// The spec of the measured queue's algorithm.
    pub fn spec(&self) -> &str {
        &self.simulation.state.queues.measured().spec
    }

    /// The number of the traffic in the plan that a connection belongs to.
    pub fn traffic(&self, connection: u32) -> u32 {
        let Hosts { flows, groups, .. } = &self.simulation.state.hosts;
        groups[flows[connection as usize].group as usize].traffic
    }

    /// The row of [`crate::FlowColumns`] that a connection belongs to.
    pub fn row(&self, connection: u32) -> u32 {
        let Hosts { flows, groups, index, .. } = &self.simulation.state.hosts;
        index.of(connection, &groups[flows[connection as usize].group as usize])
    }

    /// The integral of the measured link's rate over the window, bits.
    pub fn capacity_bits(&mut self) -> f64 {
        let State { clock, network, queues, .. } = &mut self.simulation.state;
        network.kinds[queues.measured().kind as usize].bits(clock.window.start, clock.window.end)
    }
}

/// The loop over the events of a run.
struct EventLoop {
    fast: Option<FastLoop>,
    handled: u64,
    /// The calendar adapts after this number of events.
    until_adapted: u64,
}

impl EventLoop {
    fn new(fast_path: FastPath, state: &mut State) -> EventLoop {
        let fast = match fast_path {
            FastPath::Yes => Some(FastLoop::new(&mut state.queues, &state.hosts.groups)),
            FastPath::No(_) | FastPath::None => None,
        };
        EventLoop { fast, handled: 0, until_adapted: EVENTS_PER_BATCH }
    }

    /// Handle events before the end, at least until there were `events` of them, or until `is_over`; both are
    /// evaluated after each batch. Returns the time reached.
    fn run(
        &mut self,
        state: &mut State,
        clients: &mut Clients,
        control: &Control,
        events: u64,
        mut is_over: impl FnMut(&Hosts, &Clients) -> bool,
    ) -> Result<Time, RunError> {
        let measured = state.queues.log.measured;
        loop {
            let now = state.clock.peek(measured).time();
            if now >= state.clock.end || self.handled >= events || is_over(&state.hosts, clients) {
                return Ok(now.min(state.clock.end));
            }
            control.now_ns.store(now.min(state.clock.window.end).0, Ordering::Relaxed);
            if control.cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            reserve_traces(&mut state.queues, &mut state.hosts, control.trace_limit)?;
            if self.handled >= self.until_adapted {
                let calendar = &mut state.clock.calendar;
                calendar.adapt();
                let least = self.handled.min(EVENTS_PER_ADAPTATION);
                self.until_adapted = self.handled + least + 16 * calendar.capacity() as u64;
            }
            self.handled += match &mut self.fast {
                Some(fast) => fast.run(state, clients, EVENTS_PER_BATCH),
                None => dispatch::run(state, clients, EVENTS_PER_BATCH),
            };
        }
    }
}

/// Move `row` over the transfers that have finished or began at `end` or later; whether no other is left.
fn skip_finished(row: &mut usize, starts: &[u64], ends: &[u64], end: Time) -> bool {
    while *row < starts.len() && (ends[*row] != u64::MAX || starts[*row] >= end.0) {
        *row += 1;
    }
    *row == starts.len()
}

/// Allocate memory for the rows of traces that the next batch of events may write.
fn reserve_traces(queues: &mut Queues, hosts: &mut Hosts, limit: Option<u64>) -> Result<(), RunError> {
    let mut bytes = 0;
    let left = |bytes: u64| limit.map(|limit| limit.saturating_sub(bytes));
    if queues.log.losses.traced {
        bytes += queues.log.losses.columns.reserve(ROWS_PER_BATCH, limit)?;
    }
    if let Some(columns) = &mut hosts.cwnd {
        bytes += columns.reserve(ROWS_PER_BATCH, left(bytes))?;
    }
    if let Some(flows) = &mut queues.log.flows {
        if let Some(error) = flows.error.take() {
            return Err(error);
        }
        bytes += flows.columns.reserve(hosts.flows.len(), left(bytes))?;
        flows.limit = left(0);
    }
    let seen = queues.ports[queues.log.measured as usize].observations();
    if let Some(columns) = seen.and_then(|seen| seen.packets.as_mut()) {
        columns.reserve(ROWS_PER_BATCH, left(bytes))?;
    }
    Ok(())
}
