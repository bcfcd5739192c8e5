//! What hosts do: receive and acknowledge, send what a window allows, start, stop, time out.

use super::{
    Simulation, World,
    cycle::{self, ActiveFlow},
    web,
};
use crate::{
    engine::{CalendarQueue, Event, EventKind, FlowTimer, OF_GROUP, RtoScan},
    flow::{Endpoint, Flow, FlowRoute, Hosts, Task, Udp, Writer},
    packet::{Carries, Packet},
    path::{Links, Network, Route},
    plan::{self, validate::MAX_PACKET_BYTES},
    tcp::{self, Ack, ColdStatePool, Segment},
    traffic::exponential,
};
use sojourn_aqm::{Span, Time};

impl Simulation {
    /// A packet reaches a host, as an event.
    pub(super) fn arrive(&mut self, now: Time, mut packet: Packet) {
        if packet.carries == Carries::Ack {
            if let Endpoint::Tcp(connection) = &mut self.world.hosts.flows[packet.flow as usize].endpoint {
                connection.sender.pending_acks = connection.sender.pending_acks.saturating_sub(1);
            }
            self.acknowledge(now, &packet);
        } else if self.receive(now, &mut packet) {
            self.forward(now, packet);
        }
    }

    /// An acknowledgement will reach its sender at `at`, ahead of the clock. Until then nothing else can
    /// happen to the sender but that its timer expires, so it reacts already now. Beyond the horizon the
    /// acknowledgement waits.
    #[inline]
    pub(super) fn react(&mut self, at: Time, packet: &Packet) {
        let World { hosts, clock, .. } = &mut self.world;
        let Endpoint::Tcp(connection) = &mut hosts.flows[packet.flow as usize].endpoint else { return };
        if cycle::must_wait(&connection.sender, at, clock.horizon) {
            connection.sender.pending_acks += 1;
            return self.world.schedule_arrival(at, packet);
        }
        while let Endpoint::Tcp(connection) = &self.world.hosts.flows[packet.flow as usize].endpoint
            && let Some(deadline) = connection.sender.deadline()
            && deadline <= at
        {
            self.time_out(deadline, packet.flow);
        }
        self.acknowledge(at, packet);
    }

    /// An acknowledgement reaches its sender.
    #[inline]
    fn acknowledge(&mut self, now: Time, packet: &Packet) {
        let (next, ece, sack) = (packet.number, packet.flag, self.world.hosts.sacks.take(packet.stamp));
        self.with_sender(packet.flow, now, |sender, tcp, (out, pool)| {
            let window = || tcp::initial_window(&tcp.options, tcp.payload);
            sender.on_ack(&tcp.options, window, Ack { next, ece, sack }, now, out, pool);
        });
    }

    /// A packet reaches its receiver at `at`, perhaps ahead of the clock. True: an acknowledgement leaves at
    /// once, and has taken the packet's place.
    #[inline]
    pub(super) fn receive(&mut self, at: Time, packet: &mut Packet) -> bool {
        let World { hosts, clock, .. } = &mut self.world;
        let flow = &mut hosts.flows[packet.flow as usize];
        let in_window = flow.counts.receive(&mut flow.losses, at, Time(packet.stamp), clock.window);
        let group = &hosts.groups[flow.group as usize];
        let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else {
            if let Endpoint::Udp(udp) = &mut flow.endpoint {
                udp.goodput += u64::from(packet.bytes) * u64::from(in_window);
            }
            return false;
        };
        if tcp.options.delayed_ack > Span::ZERO || hosts.applications.task(packet.flow) != Task::Nothing {
            return self.receive_and_decide(at, packet, in_window);
        }
        let (applications, pool) = (&mut hosts.applications, &mut hosts.pools.receivers);
        connection.receive::<true>(group, tcp, packet, in_window, applications, pool);
        let route = Route { first: packet.step + 1, host: packet.host };
        let backward = FlowRoute { flow: packet.flow, route };
        *packet = connection.ack(backward, group.class, tcp, &mut hosts.sacks);
        true
    }

    /// The same where the acknowledgement may be delayed, or a task ends with the last packet.
    fn receive_and_decide(&mut self, at: Time, packet: &mut Packet, in_window: bool) -> bool {
        let World { hosts, clock, .. } = &mut self.world;
        let flow = &mut hosts.flows[packet.flow as usize];
        let group = &hosts.groups[flow.group as usize];
        let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else { return false };
        let (number, sequence, cwr) = (packet.flow, packet.number, packet.flag);
        let route = Route { first: packet.step + 1, host: packet.host };
        let backward = FlowRoute { flow: number, route };
        let turns = connection.receiver.changes_dctcp_ce(&tcp.options, packet.is_marked());
        let was_held = connection.receiver.delayed_ack().is_some();
        let earlier =
            (turns && was_held).then(|| connection.ack(backward, group.class, tcp, &mut hosts.sacks));
        let (applications, pool) = (&mut hosts.applications, &mut hosts.pools.receivers);
        let received = connection.receive_any(tcp, packet, in_window, applications, pool);
        let mut waits = false;
        if tcp.options.delayed_ack > Span::ZERO {
            let is_syn = tcp.options.syn && sequence == 0;
            let may_wait = received.in_order && !is_syn && !turns && connection.receiver.may_delay_ack();
            let at_once = cwr && tcp.options.quick_acks > 0; // the sender's window may be very small
            waits = may_wait && !at_once && !was_held;
            let time = tcp.options.expiry(at, tcp.options.delayed_ack);
            connection.receiver.set_delayed_ack(waits.then_some(time));
            if waits {
                clock.calendar.push(Event::new(time, time - at, EventKind::DelayedAck, number));
            }
        }
        if !waits {
            connection.receiver.on_ack_sent();
            *packet = connection.ack(backward, group.class, tcp, &mut hosts.sacks);
        }
        if hosts.applications.task(number) != Task::Nothing && received.is_new && connection.has_all() {
            web::delivered(hosts, &mut clock.calendar, at, number);
        }
        if let Some(earlier) = earlier {
            self.forward(at, earlier);
        }
        !waits
    }

    /// An acknowledgement has been held back long enough.
    pub(super) fn on_delayed_ack(&mut self, now: Time, number: u32) {
        let World { hosts, network, .. } = &mut self.world;
        let flow = &mut hosts.flows[number as usize];
        let group = &hosts.groups[flow.group as usize];
        if let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp())
            && connection.receiver.delayed_ack() == Some(now)
        {
            connection.receiver.set_delayed_ack(None);
            let route = Route { first: network.backward(flow.route), host: flow.route.host };
            let backward = FlowRoute { flow: number, route };
            let ack = connection.ack(backward, group.class, tcp, &mut hosts.sacks);
            self.forward(now, ack);
        }
    }

    /// Let a sender act; then trace its window, complete its task, update its timer and send what it has
    /// released.
    #[inline]
    fn with_sender(
        &mut self,
        number: u32,
        now: Time,
        act: impl FnOnce(&mut tcp::Sender, &plan::Tcp, (&mut Vec<Segment>, &mut ColdStatePool)),
    ) {
        let World { hosts, clock, log, .. } = &mut self.world;
        let Hosts { flows, groups, applications, objects, rto_scan, released, pools, .. } = hosts;
        let flow = &mut flows[number as usize];
        let group = &groups[flow.group as usize];
        let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else { return };
        debug_assert!(released.is_empty(), "one sender at a time");
        let (before, cwnd) = (connection.sender.expires(), connection.sender.cwnd());
        act(&mut connection.sender, tcp, (released, &mut pools.senders));
        if log.traces_cwnd && connection.sender.cwnd() != cwnd {
            log.cwnd.time_ns.push(now.0);
            log.cwnd.flow.push(number);
            log.cwnd.cwnd.push(connection.sender.cwnd());
            log.cwnd.ssthresh.push(connection.sender.ssthresh());
        }
        let mut is_answered = false;
        if let Some(application) = applications.get_mut(number)
            && application.task != Task::Nothing
            && connection.sender.is_done()
        {
            if let Task::Transfer(object) = application.task {
                objects.end_ns[object as usize] = now.0;
                objects.bytes[object as usize] = application.bytes(tcp, connection.sender.end());
                application.task = Task::Nothing;
            } else if let Task::Request(_) = application.task {
                is_answered = group.responds_late;
                application.task = Task::Nothing;
            }
        }
        let timer = FlowTimer { flow: number, event: &mut flow.rto_event };
        rto_scan.arm(&mut clock.calendar, timer, before, connection.sender.expires(), now);
        if let Some(time) = connection.sender.take_jitter_timer() {
            clock.calendar.push(Event::new(time, time - now, EventKind::Release, number));
        }
        if !released.is_empty() {
            self.send_released(now, number);
        }
        if is_answered {
            web::respond(&mut self.world.clock.calendar, now, number);
        }
    }

    /// Send what a sender has released.
    fn send_released(&mut self, now: Time, number: u32) {
        for i in 0..self.world.hosts.released.len() {
            self.send(now, number, self.world.hosts.released[i]);
        }
        self.world.hosts.released.clear();
    }

    /// Send a packet, or let it wait until the shaper of the connection allows it.
    #[inline]
    fn send(&mut self, now: Time, number: u32, segment: Segment) {
        let World { hosts, clock, network, .. } = &mut self.world;
        let flow = &mut hosts.flows[number as usize];
        let group = &hosts.groups[flow.group as usize];
        let Endpoint::Tcp(connection) = &mut flow.endpoint else { return };
        let applications = &mut hosts.applications;
        if applications.get(number).is_some_and(|application| application.shaper.is_some()) {
            return self.send_shaped(now, number, segment);
        }
        let Network { each, kinds, fixed_path, steps, .. } = network;
        let step = &mut steps[flow.route.first as usize];
        if !step.eventless && kinds[step.hop.tx_time.kind as usize].port.is_none() {
            let mut active = ActiveFlow { number, route: flow.route, connection, group, applications };
            let (calendar, mut links) = (&mut clock.calendar, Links { each, kinds, fixed_path });
            return cycle::transmit(calendar, &mut links, &mut step.hop, &mut active, segment, now);
        }
        let mut packet = Packet::default();
        let forward = FlowRoute { flow: number, route: flow.route };
        group.write_packet(&mut packet, forward, segment, now, applications);
        self.forward(now, packet);
    }

    /// The same for a connection with a shaper.
    fn send_shaped(&mut self, now: Time, number: u32, segment: Segment) {
        let World { hosts, clock, .. } = &mut self.world;
        let flow = &mut hosts.flows[number as usize];
        let group = &hosts.groups[flow.group as usize];
        let Some(shaper) = hosts.applications.shaper(number) else { return };
        if !shaper.is_free(now) {
            if let Some(time) = shaper.wait(segment) {
                clock.calendar.push(Event::new(time, time - now, EventKind::Paced, number));
            }
            return;
        }
        let mut packet = Packet::default();
        let forward = FlowRoute { flow: number, route: flow.route };
        group.write_packet(&mut packet, forward, segment, now, &mut hosts.applications);
        if let Some(shaper) = hosts.applications.shaper(number) {
            shaper.leave(now, packet.bytes);
        }
        self.forward(now, packet);
    }

    /// The shaper of a connection lets its next packet leave.
    pub(super) fn on_paced(&mut self, now: Time, number: u32) {
        let World { hosts, clock, .. } = &mut self.world;
        let flow = &mut hosts.flows[number as usize];
        let group = &hosts.groups[flow.group as usize];
        let shaper = hosts.applications.shaper(number);
        let Some(segment) = shaper.and_then(|shaper| shaper.waiting.pop_front()) else { return };
        let mut packet = Packet::default();
        let forward = FlowRoute { flow: number, route: flow.route };
        group.write_packet(&mut packet, forward, segment, now, &mut hosts.applications);
        if let Some(shaper) = hosts.applications.shaper(number) {
            let time = shaper.leave(now, packet.bytes);
            if !shaper.waiting.is_empty() {
                clock.calendar.push(Event::new(time, time - now, EventKind::Paced, number));
            }
        }
        self.forward(now, packet);
    }

    pub(super) fn on_retransmission_event(&mut self, now: Time, number: u32) {
        let flow = &mut self.world.hosts.flows[number as usize];
        let Flow { endpoint: Endpoint::Tcp(connection), rto_event, .. } = flow else { return };
        if !RtoScan::fires(rto_event, now) {
            return;
        }
        if connection.sender.deadline().is_some_and(|deadline| deadline <= now) {
            self.time_out(now, number);
        }
        let World { hosts, clock, .. } = &mut self.world;
        let Hosts { flows, rto_scan, .. } = hosts;
        if let Flow { endpoint: Endpoint::Tcp(connection), rto_event, .. } = &mut flows[number as usize] {
            let timer = FlowTimer { flow: number, event: rto_event };
            rto_scan.arm(&mut clock.calendar, timer, Time::NEVER, connection.sender.expires(), now);
        }
    }

    fn time_out(&mut self, now: Time, number: u32) {
        self.with_sender(number, now, |sender, tcp, (out, _)| sender.on_timeout(&tcp.options, now, out));
    }

    pub(super) fn on_release(&mut self, now: Time, number: u32) {
        self.with_sender(number, now, |sender, tcp, (out, _)| sender.end_jitter(&tcp.options, now, out));
    }

    pub(super) fn on_stop(&mut self, now: Time, number: u32) {
        let World { hosts, clock, .. } = &mut self.world;
        if number & OF_GROUP == 0 {
            if !hosts.groups[hosts.flows[number as usize].group as usize].is_requests() {
                return self.with_sender(number, now, |sender, _, _| sender.stop());
            }
            if self.web.give_up(hosts, &mut clock.calendar, now, number) {
                for flow in [number, number + 1] {
                    self.with_sender(flow, now, |sender, _, _| sender.abandon());
                }
            }
            return;
        }
        clock.move_horizon(now);
        let group = number & !OF_GROUP;
        if hosts.groups[group as usize].is_web() {
            return; // sessions request no more objects; those requested still arrive
        }
        for flow in 0..self.world.hosts.flows.len() {
            if self.world.hosts.flows[flow].group == group {
                self.with_sender(flow as u32, now, |sender, _, _| sender.stop());
            }
        }
    }

    pub(super) fn on_source(&mut self, now: Time, number: u32) {
        if number & OF_GROUP != 0 {
            return self.on_new_flow(now, number & !OF_GROUP);
        }
        let World { hosts, clock, .. } = &mut self.world;
        let flow = &mut hosts.flows[number as usize];
        let group = &hosts.groups[flow.group as usize];
        if now >= group.stop {
            return;
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
            clock.calendar.push(Event::new(next, next - now, EventKind::Source, number));
            return self.forward(now, packet);
        }
        let mut is_first = true;
        if let Endpoint::Tcp(connection) = &mut flow.endpoint
            && let Some(application) = hosts.applications.get_mut(number)
            && let Some(Writer { source, written }) = &mut application.writer
        {
            is_first = *written == 0;
            let (syn, bytes) =
                group.tcp().map_or((false, 0), |tcp| (tcp.options.syn, tcp.payload + tcp.header));
            *written += 1;
            let next = source.next(now, *written, bytes);
            connection.sender.write(1 + u32::from(is_first && syn));
            clock.calendar.push(Event::new(next, next - now, EventKind::Source, number));
        }
        if is_first {
            return self.start_sender(now, number);
        }
        self.with_sender(number, now, |sender, tcp, (out, _)| sender.resume(&tcp.options, now, out));
    }

    pub(super) fn start_sender(&mut self, now: Time, number: u32) {
        self.with_sender(number, now, |sender, tcp, (out, _)| {
            sender.start(&tcp.options, tcp::initial_window(&tcp.options, tcp.payload), now, out);
        });
    }

    /// A flow of a Poisson process arrives.
    fn on_new_flow(&mut self, now: Time, number: u32) {
        let World { hosts, clock, .. } = &mut self.world;
        let group = &hosts.groups[number as usize];
        let plan::TrafficKind::TcpShort { size, lifetime, .. } = group.kind else { return };
        if now >= group.stop {
            return;
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
            clock.calendar.push_timer(Event::new(now + lifetime, lifetime, EventKind::Stop, flow));
        }
        schedule_next_arrival(hosts, &mut clock.calendar, number, now);
        self.on_source(now, flow);
    }
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
