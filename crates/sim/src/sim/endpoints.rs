//! What hosts do: receive and acknowledge, start, stop, time out, shape.
//!
//! These functions touch the flows and the calendar, and no link or queue. Packets that a host sends are
//! returned, and the segments that a sender releases are left in [`Hosts::released`]; [`super::forwarding`]
//! takes both from there.

use super::{Clock, clients};
use crate::{
    engine::{CalendarQueue, Event, EventKind, FlowTimer, OF_GROUP, RtoScan},
    flow::{Arrival, Endpoint, Flow, FlowRoute, Hosts, Task, Udp, Writer},
    packet::{Carries, Packet, Report},
    path::{Network, Route},
    plan::{self, validate::MAX_PACKET_BYTES},
    tcp::{self, Ack, ColdStatePool, Segment},
    traffic::exponential,
};
use sojourn_aqm::{Span, Time};

/// What a receiver sends when a packet has arrived.
pub(super) enum Reply {
    /// Nothing, now.
    Nothing,
    /// An acknowledgement or an echo, which has taken the packet's place.
    Packet,
    /// An acknowledgement that was delayed, and then one that has taken the packet's place.
    DelayedAndAck(Packet),
}

/// A packet reaches its receiver at `at`; `is_ahead`: ahead of the clock.
#[inline]
pub(super) fn receive(
    hosts: &mut Hosts,
    clock: &mut Clock,
    at: Time,
    packet: &mut Packet,
    is_ahead: bool,
) -> Reply {
    let flow = &mut hosts.flows[packet.flow as usize];
    let in_window = flow.counts.receive(&mut flow.losses, at, Time(packet.stamp), clock.window);
    let group = &hosts.groups[flow.group as usize];
    if hosts.arrivals.counts_tcp && in_window && group.tcp().is_some() {
        hosts.arrivals.add_tcp_delay(flow.group, at - Time(packet.stamp));
    }
    let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else {
        if let Endpoint::Udp(udp) = &mut flow.endpoint {
            let (sent, group) = (Time(packet.stamp), flow.group);
            let is_first =
                udp.delivery.receive(packet.number, sent, at, in_window, group, &mut hosts.arrivals);
            udp.goodput += u64::from(packet.bytes) * u64::from(in_window && is_first);
            udp.received += u64::from(packet.bytes) * u64::from(is_first);
            let group = &hosts.groups[group as usize];
            if group.echoes {
                (packet.step, packet.carries) = (packet.step + 1, Carries::Echo);
                (packet.ecn, packet.class) = (group.ecn, group.class);
                return Reply::Packet;
            }
        }
        return Reply::Nothing;
    };
    if tcp.options.delayed_ack > Span::ZERO || hosts.applications.task(packet.flow) != Task::Nothing {
        return receive_and_decide(hosts, &mut clock.calendar, at, is_ahead, packet, in_window);
    }
    let (applications, pool) = (&mut hosts.applications, &mut hosts.pools.receivers);
    connection.receive::<true>(group, tcp, packet, in_window, applications, pool);
    let route = Route { first: packet.step + 1, host: packet.host };
    let backward = FlowRoute { flow: packet.flow, route };
    *packet = connection.ack(backward, group.class, tcp, at, &mut hosts.reports);
    Reply::Packet
}

/// The same where the acknowledgement may be delayed, or a task ends with the last packet.
#[inline(never)]
fn receive_and_decide(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    at: Time,
    is_ahead: bool,
    packet: &mut Packet,
    in_window: bool,
) -> Reply {
    let flow = &mut hosts.flows[packet.flow as usize];
    let group = &hosts.groups[flow.group as usize];
    let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else {
        return Reply::Nothing;
    };
    let number = packet.flow;
    let route = Route { first: packet.step + 1, host: packet.host };
    let backward = FlowRoute { flow: number, route };
    let delayed = connection
        .answers_twice(tcp, packet)
        .then(|| connection.ack(backward, group.class, tcp, at, &mut hosts.reports));
    let (applications, pool) = (&mut hosts.applications, &mut hosts.pools.receivers);
    let arrival = Arrival { packet, at };
    let (received, until) = connection.receive_and_decide(tcp, arrival, in_window, applications, pool);
    if let Some(time) = until {
        let event = Event::new(time, time - at, EventKind::DelayedAck, number);
        if is_ahead {
            hosts.delayed_acks.push(calendar, tcp.options.delayed_ack, event);
        } else {
            calendar.push(event);
        }
    } else {
        *packet = connection.ack(backward, group.class, tcp, at, &mut hosts.reports);
    }
    if hosts.applications.task(number) != Task::Nothing && received.is_new && connection.has_all() {
        clients::delivered(hosts, calendar, at, number);
    }
    match delayed {
        _ if until.is_some() => Reply::Nothing,
        None => Reply::Packet,
        Some(delayed) => Reply::DelayedAndAck(delayed),
    }
}

/// The timer of a delayed acknowledgement expires: the acknowledgement, unless it was sent before.
pub(super) fn on_delayed_ack(hosts: &mut Hosts, network: &Network, now: Time, number: u32) -> Option<Packet> {
    let flow = &mut hosts.flows[number as usize];
    let group = &hosts.groups[flow.group as usize];
    let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else { return None };
    if connection.receiver.delayed_ack() != Some(now) {
        return None;
    }
    connection.receiver.set_delayed_ack(None);
    let route = Route { first: network.backward(flow.route), host: flow.route.host };
    let backward = FlowRoute { flow: number, route };
    Some(connection.ack(backward, group.class, tcp, now, &mut hosts.reports))
}

/// An echo reaches the source of its datagram.
#[cold]
#[inline(never)]
pub(super) fn on_echo(hosts: &mut Hosts, clock: &Clock, now: Time, packet: &Packet) {
    let flow = &mut hosts.flows[packet.flow as usize];
    if let Endpoint::Udp(udp) = &mut flow.endpoint
        && (clock.window.start..clock.window.end).contains(&now)
    {
        udp.delivery.return_trip(now - Time(packet.stamp), flow.group, &mut hosts.arrivals);
    }
}

/// An acknowledgement reaches its sender.
#[inline]
pub(super) fn acknowledge(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    now: Time,
    packet: &Packet,
) {
    let (next, ece) = (packet.number, packet.flag);
    let Report { sack, sent, marks } = hosts.reports.take(packet.stamp);
    with_sender(hosts, calendar, now, packet.flow, |sender, tcp, (out, pool)| {
        let window = || tcp::initial_window(&tcp.options, tcp.payload);
        sender.on_ack(&tcp.options, window, Ack { next, ece, sack, sent, marks }, now, out, pool);
    });
}

/// Let a sender act; then trace its window, complete its task and update its timer.
#[inline]
fn with_sender(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    now: Time,
    number: u32,
    act: impl FnOnce(&mut tcp::Sender, &plan::Tcp, (&mut Vec<Segment>, &mut ColdStatePool)),
) {
    let Hosts { flows, groups, applications, objects, rto_scan, released, pools, cwnd, .. } = hosts;
    let flow = &mut flows[number as usize];
    let group = &groups[flow.group as usize];
    let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else { return };
    debug_assert!(released.is_empty(), "one sender at a time");
    let sender = &mut connection.sender;
    let (expires, window) = (sender.expires(), sender.cwnd());
    act(sender, tcp, (released, &mut pools.senders));
    if let Some(trace) = cwnd
        && sender.cwnd() != window
    {
        trace.time_ns.push(now.0);
        trace.flow.push(number);
        trace.cwnd.push(sender.cwnd());
        trace.ssthresh.push(sender.ssthresh());
    }
    if let Some(application) = applications.get_mut(number)
        && application.task != Task::Nothing
        && sender.is_done()
    {
        if let Task::Transfer(object) = application.task {
            objects.end_ns[object as usize] = now.0;
            objects.bytes[object as usize] = application.bytes(tcp, sender.end());
            application.task = Task::Nothing;
        } else if let Task::Request(_) = application.task {
            application.task = Task::Nothing;
            if group.responds_late {
                clients::respond(calendar, now, number);
            }
        }
    }
    let timer = FlowTimer { flow: number, event: &mut flow.rto_event };
    rto_scan.arm(calendar, timer, expires, sender.expires(), now);
    if let Some(time) = sender.take_send_timer() {
        calendar.push(Event::new(time, time - now, EventKind::Release, number));
    }
}

/// The retransmission timer of a sender expires.
pub(super) fn time_out(hosts: &mut Hosts, calendar: &mut CalendarQueue<Packet>, now: Time, number: u32) {
    with_sender(hosts, calendar, now, number, |sender, tcp, (out, _)| {
        sender.on_timeout(&tcp.options, now, out);
    });
}

/// The event of a retransmission timer; the timer may have been restarted since.
pub(super) fn on_retransmission_event(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    now: Time,
    number: u32,
) {
    let flow = &mut hosts.flows[number as usize];
    let Flow { endpoint: Endpoint::Tcp(connection), rto_event, .. } = flow else { return };
    if !RtoScan::fires(rto_event, now) {
        return;
    }
    if connection.sender.deadline().is_some_and(|deadline| deadline <= now) {
        time_out(hosts, calendar, now, number);
    }
    let Hosts { flows, rto_scan, .. } = hosts;
    if let Flow { endpoint: Endpoint::Tcp(connection), rto_event, .. } = &mut flows[number as usize] {
        let timer = FlowTimer { flow: number, event: rto_event };
        rto_scan.arm(calendar, timer, Time::NEVER, connection.sender.expires(), now);
    }
}

/// A sender that has waited may send: its jitter is over, or its pacing allows the next packet.
pub(super) fn on_release(hosts: &mut Hosts, calendar: &mut CalendarQueue<Packet>, now: Time, number: u32) {
    with_sender(hosts, calendar, now, number, |sender, tcp, (out, _)| {
        sender.end_wait(&tcp.options, now, out);
    });
}

/// A sender starts.
pub(super) fn start(hosts: &mut Hosts, calendar: &mut CalendarQueue<Packet>, now: Time, number: u32) {
    with_sender(hosts, calendar, now, number, |sender, tcp, (out, _)| {
        sender.start(&tcp.options, tcp::initial_window(&tcp.options, tcp.payload), now, out);
    });
}

/// A flow stops sending new data.
pub(super) fn stop(hosts: &mut Hosts, calendar: &mut CalendarQueue<Packet>, now: Time, number: u32) {
    with_sender(hosts, calendar, now, number, |sender, _, _| sender.stop());
}

/// All flows of a group stop sending new data. Clients send no more requests; what they have requested still
/// arrives.
pub(super) fn stop_group(hosts: &mut Hosts, calendar: &mut CalendarQueue<Packet>, now: Time, group: u32) {
    if hosts.groups[group as usize].has_sessions() {
        return;
    }
    for flow in 0..hosts.flows.len() {
        if hosts.flows[flow].group == group {
            stop(hosts, calendar, now, flow as u32);
        }
    }
}

/// A flow stops sending at once.
pub(super) fn abandon(hosts: &mut Hosts, calendar: &mut CalendarQueue<Packet>, now: Time, number: u32) {
    with_sender(hosts, calendar, now, number, |sender, _, _| sender.abandon());
}

/// A source starts, or sends the next packet; returns it if it is a datagram.
pub(super) fn on_source(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    now: Time,
    number: u32,
) -> Option<Packet> {
    let flow = &mut hosts.flows[number as usize];
    let group = &hosts.groups[flow.group as usize];
    if now >= group.stop {
        return None;
    }
    if let Endpoint::Udp(udp) = &mut flow.endpoint {
        let Udp { source, size, sent, .. } = &mut **udp;
        let bytes = group.sizes.map_or(*size, |sizes| {
            let index = u64::from(number - group.first_flow);
            let own = group.demand.stream("size").indexed(index);
            sizes.count(&mut own.indexed(*sent)).min(MAX_PACKET_BYTES) as u32
        });
        let mut packet = Packet {
            stamp: now.0,
            flow: number,
            step: flow.route.first,
            host: flow.route.host,
            bytes,
            number: *sent as u32,
            carries: Carries::Datagram,
            flag: false,
            ecn: group.ecn,
            class: group.class,
        };
        *sent += 1;
        let next = source.next(now, *sent, bytes);
        udp.mark(now, &mut packet);
        calendar.push(Event::new(next, next - now, EventKind::Source, number));
        return Some(packet);
    }
    if let Some(application) = hosts.applications.get_mut(number)
        && let Some(Writer { source, written }) = &mut application.writer
    {
        let bytes = group.tcp().map_or(0, |tcp| tcp.payload + tcp.header);
        *written += 1;
        let next = source.next(now, *written, bytes);
        calendar.push(Event::new(next, next - now, EventKind::Source, number));
        write(hosts, calendar, now, number, 1);
    } else {
        start(hosts, calendar, now, number);
    }
    None
}

/// The application of a flow writes `packets`; the first ones open the connection.
pub(super) fn write(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    now: Time,
    number: u32,
    packets: u32,
) {
    let Flow { endpoint: Endpoint::Tcp(connection), group, .. } = &mut hosts.flows[number as usize] else {
        return;
    };
    let is_first = connection.sender.end() == 0;
    let syn = hosts.groups[*group as usize].tcp().is_some_and(|tcp| tcp.options.syn);
    connection.sender.write(packets + u32::from(is_first && syn));
    if is_first {
        start(hosts, calendar, now, number);
    } else {
        with_sender(hosts, calendar, now, number, |sender, tcp, (out, _)| {
            sender.resume(&tcp.options, now, out);
        });
    }
}

/// A flow of a Poisson process arrives: its number, unless the process has stopped.
pub(super) fn on_new_flow(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    now: Time,
    number: u32,
) -> Option<u32> {
    let group = &hosts.groups[number as usize];
    let plan::TrafficKind::TcpShort { size, lifetime, .. } = group.kind else { return None };
    if now >= group.stop {
        return None;
    }
    let index = group.count;
    let draw = |purpose: &str, draw: plan::Draw| {
        draw.value(&mut group.demand.stream(purpose).indexed(u64::from(index)))
    };
    let bytes = size.map(|size| draw("size", size).ceil().max(1.0) as u64);
    let lifetime = lifetime.map(|lifetime| Span(draw("lifetime", lifetime) as u64));
    let flow = hosts.add_flow(number, index, now, bytes);
    let object = hosts.add_object(number, index, now, bytes.unwrap_or(0));
    if let Some(application) = hosts.applications.get_mut(flow) {
        application.task = Task::Transfer(object);
    }
    if let Some(lifetime) = lifetime {
        calendar.push_timer(Event::new(now + lifetime, lifetime, EventKind::Stop, flow));
    }
    schedule_next_arrival(hosts, calendar, number, now);
    Some(flow)
}

/// Schedule the arrival of the next flow of group `number`.
pub(super) fn schedule_next_arrival(
    hosts: &Hosts,
    calendar: &mut CalendarQueue<Packet>,
    number: u32,
    now: Time,
) {
    let group = &hosts.groups[number as usize];
    if let plan::TrafficKind::TcpShort { arrivals, .. } = group.kind {
        let mut gaps = group.demand.stream("arrival").indexed(u64::from(group.count));
        let next = now + Span(exponential(1e9 / arrivals, &mut gaps) as u64);
        calendar.push(Event::new(next, next - now, EventKind::Source, OF_GROUP | number));
    }
}

/// A segment reaches the shaper of its connection: the packet, unless it has to wait.
pub(super) fn shape(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    now: Time,
    number: u32,
    segment: Segment,
) -> Option<Packet> {
    let shaper = hosts.applications.shaper(number)?;
    if !shaper.is_free(now) {
        if let Some(time) = shaper.wait(segment) {
            calendar.push(Event::new(time, time - now, EventKind::Paced, number));
        }
        return None;
    }
    let packet = packet_of(hosts, now, number, segment);
    if let Some(shaper) = hosts.applications.shaper(number) {
        shaper.leave(now, packet.bytes);
    }
    Some(packet)
}

/// The shaper of a connection lets its next packet leave.
pub(super) fn on_paced(
    hosts: &mut Hosts,
    calendar: &mut CalendarQueue<Packet>,
    now: Time,
    number: u32,
) -> Option<Packet> {
    let segment = hosts.applications.shaper(number)?.waiting.pop_front()?;
    let packet = packet_of(hosts, now, number, segment);
    if let Some(shaper) = hosts.applications.shaper(number) {
        let time = shaper.leave(now, packet.bytes);
        if !shaper.waiting.is_empty() {
            calendar.push(Event::new(time, time - now, EventKind::Paced, number));
        }
    }
    Some(packet)
}

/// The packet of a segment that is sent at `now`.
#[inline(always)]
pub(super) fn packet_of(hosts: &mut Hosts, now: Time, number: u32, segment: Segment) -> Packet {
    let flow = &hosts.flows[number as usize];
    let forward = FlowRoute { flow: number, route: flow.route };
    let mut packet = Packet::default();
    hosts.groups[flow.group as usize].write_packet(
        &mut packet,
        forward,
        segment,
        now,
        &mut hosts.applications,
    );
    packet
}
