//! The queues of a run, and what is recorded about them.

use crate::{
    engine::{CalendarQueue, Event, EventKind},
    flow::Hosts,
    link::LinkKind,
    measure::{FlowSeries, LossLog, Recorder},
    packet::Packet,
    plan::Plan,
    queue::Port,
    record::DropColumns,
};
use sojourn_aqm::{Span, Time};

/// The queues of a run.
pub(super) struct Queues {
    pub(super) ports: Vec<Port>,
    pub(super) log: QueueLog,
}

/// What is recorded about queues. The fast path holds the measured queue apart from it.
pub(super) struct QueueLog {
    /// The number of the queue that metrics are about.
    pub(super) measured: u32,
    pub(super) recorder: Recorder,
    pub(super) losses: LossLog,
    /// Samples of flows, if they are recorded.
    pub(super) flows: Option<Box<FlowSeries>>,
}

impl Queues {
    /// The queues `ports` of a run of `plan`.
    pub(super) fn new(plan: &Plan, ports: Vec<Port>, measured: u32) -> Queues {
        let end = Time::ZERO + plan.duration;
        let recorder = match plan.trace.interval {
            Some(interval) => Recorder::new(interval, Some(end), ports.len()),
            None => Recorder::of_parts(end, ports.len()),
        };
        let counting = plan.warmup == Time::ZERO;
        let losses = LossLog { counting, traced: plan.trace.drops, columns: DropColumns::default() };
        let ports = match plan.trace.observes() {
            true => observed(ports, measured, plan.trace.packets),
            false => ports,
        };
        let flows = plan.trace.flows.map(|interval| Box::new(FlowSeries::new(interval)));
        Queues {
            ports,
            log: QueueLog { measured, recorder: recorder.with_phases(&plan.phases), losses, flows },
        }
    }

    /// A phase of the plan begins or ends.
    pub(super) fn mark_phase(&mut self, now: Time, number: usize) {
        self.log.recorder.mark_phase(now, number, &mut self.ports[self.log.measured as usize]);
    }

    /// The queue that metrics are about.
    pub(super) fn measured(&self) -> &Port {
        &self.ports[self.log.measured as usize]
    }

    /// Queue `number`, with the current rate of its link if that varies.
    #[inline(always)]
    pub(super) fn port_at(&mut self, number: u32, kinds: &mut [LinkKind], now: Time) -> &mut Port {
        let port = &mut self.ports[number as usize];
        if port.varies
            && let Some(rate) = kinds[port.kind as usize].rate_at(now)
        {
            port.set_link_rate(rate);
        }
        port
    }

    /// The measurement window opens.
    pub(super) fn open_window(&mut self, now: Time) {
        self.log.losses.counting = true;
        for port in &mut self.ports {
            port.pass(now);
        }
        self.log.recorder.open_window(&mut self.ports);
    }

    /// Take a sample of every queue, and schedule the next one.
    pub(super) fn sample(&mut self, calendar: &mut CalendarQueue<Packet>, now: Time) {
        self.log.recorder.sample_all(now, &mut self.ports, calendar);
    }

    /// Take a sample of every flow, and schedule the next one.
    pub(super) fn sample_flows(&mut self, calendar: &mut CalendarQueue<Packet>, hosts: &Hosts, now: Time) {
        if let Some(flows) = &mut self.log.flows {
            flows.sample(now, hosts, &mut self.ports[self.log.measured as usize]);
            calendar.push(flow_sample(now + flows.interval));
        }
    }

    /// Take the last sample of every flow, after the last event, and keep no further ones.
    pub(super) fn end_flows(&mut self, hosts: &Hosts, end: Time) -> Option<FlowSeries> {
        let mut flows = self.log.flows.take()?;
        if end.0.is_multiple_of(flows.interval.0) {
            flows.sample(end, hosts, &mut self.ports[self.log.measured as usize]);
        }
        Some(*flows)
    }

    /// The measurement window closes: what happens later is not recorded.
    pub(super) fn close_window(&mut self, end: Time) {
        self.log.recorder.sample_at_end(end, &mut self.ports);
        for port in &mut self.ports {
            port.pass(end);
        }
    }

    /// Record nothing more.
    pub(super) fn stop_recording(&mut self) {
        self.log.losses.traced = false;
        self.log.recorder.stop();
    }
}

/// The event of the next sample of flows; number 0 is that of queues.
pub(super) fn flow_sample(time: Time) -> Event {
    Event::new(time, Span::ZERO, EventKind::Sample, 1)
}

/// The queues, of which the measured one is observed.
fn observed(ports: Vec<Port>, measured: u32, packets: bool) -> Vec<Port> {
    let ports = ports.into_iter().zip(0..);
    ports.map(|(port, number)| if number == measured { port.observed(packets) } else { port }).collect()
}
