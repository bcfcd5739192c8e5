//! From a plan to time zero: the groups of flows, and the first events.

use super::{Clock, State, clients::Clients, endpoints, queues::flow_sample};
use crate::{
    engine::{CalendarQueue, Event, EventKind, OF_GROUP, OLDEST},
    error::PlanError,
    flow::{Endpoint, Group, Hosts},
    packet::Packet,
    path::Route,
    plan::{self, Plan, Tcp},
};
use sojourn_aqm::Time;

/// What the flows of each traffic share, and then those of the requests of each traffic that has some.
pub(super) fn groups(
    plan: &Plan,
    routes: Vec<Vec<Route>>,
    senders: &[u32],
    seed: u64,
) -> Result<Vec<Group>, PlanError> {
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
        if let (Some(payload), Some(tcp)) = (traffic.kind.request(), traffic.kind.tcp()) {
            groups[i].requests = groups.len() as u32;
            let back = routes.next().unwrap_or_default();
            let tcp = Tcp { payload, payloads: None, ..tcp.clone() };
            groups.push(Group::of_requests(traffic, tcp, i as u32, back, seed)?);
        }
    }
    Ok(groups)
}

/// Schedule the events from which all others follow: the start of every source, the ends of traffic and of
/// the run, the warm-up, the first samples and timers.
pub(super) fn schedule_first_events(plan: &Plan, state: &mut State, clients: &mut Clients) {
    let State { clock, network, queues, hosts } = state;
    let Clock { calendar, window, .. } = clock;
    let count = plan.traffic.iter().map(|traffic| traffic.count as usize).sum();
    let least = hosts.groups.iter().map(|group| group.full.bytes).filter(|bytes| *bytes > 0).min();
    let in_flight = least.map_or(0, |bytes| network.bdp_packets(queues.measured(), bytes));
    calendar.expect(count, 2 * count + in_flight);
    calendar.push_timer(Event::new(window.end, OLDEST, EventKind::End, 0));
    if window.start > Time::ZERO {
        calendar.push_timer(Event::new(window.start, OLDEST, EventKind::Warmup, 0));
    }
    for (phase, number) in plan.phases.iter().zip(1..) {
        for time in [phase.from, phase.to] {
            calendar.push_timer(Event::new(time, OLDEST, EventKind::Warmup, number));
        }
    }
    queues.log.recorder.schedule_next(Time::ZERO, calendar);
    if let Some(flows) = &queues.log.flows {
        calendar.push(flow_sample(Time::ZERO + flows.interval));
    }
    for (port, number) in queues.ports.iter().zip(0..) {
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
                clients.web.add_session(hosts, calendar, number, index, start);
            }
        } else if !hosts.groups[number as usize].has_sessions() {
            for (index, start) in starts {
                add_source(hosts, calendar, number, index, start);
            }
            // No further flow of this group needs its routes, which may be very many.
            hosts.groups[number as usize].routes = Vec::new();
        }
        if let Some(stop) = traffic.stop {
            calendar.push_timer(Event::new(stop, OLDEST, EventKind::Stop, OF_GROUP | number));
        }
    }
    // Their flows come after those of all sources.
    for (number, traffic) in (0..).zip(&plan.traffic) {
        if let plan::TrafficKind::Video(video) = &traffic.kind {
            for (index, start) in (0..).zip(hosts.groups[number as usize].starts.clone()) {
                clients.videos.add_client(hosts, calendar, video, number, index, start);
            }
        }
    }
}

/// Add the flow of source `index` of group `number`, and the event of its first packet.
fn add_source(hosts: &mut Hosts, calendar: &mut CalendarQueue<Packet>, number: u32, index: u32, start: Time) {
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
