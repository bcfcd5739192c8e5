//! What hosts do: receive and acknowledge, send what a window allows, start, stop, time out.
//!
//! The half of the simulation that is about ends; [`crate::sim`] is about what lies between.

use crate::{
    engine::RtoScan,
    engine::{Event, EventKind, FlowTimer},
    flow::Source,
    flow::{Connection, Task},
    flow::{Endpoint, Flow, Udp},
    packet::{Carries, Packet},
    plan,
    plan::validate::MAX_PACKET_BYTES,
    sim::{OF_GROUP, Simulation},
    tcp::{self, Ack, ColdStatePool, Segment},
    traffic::{Datagrams, exponential},
};
use std::num::NonZero;

impl Simulation {
    /// A packet reaches a host in its own time.
    pub(crate) fn arrive(&mut self, now: u64, mut packet: Packet) {
        if packet.carries == Carries::Ack {
            if let Endpoint::Tcp(connection) = &mut self.flows[packet.flow as usize].endpoint {
                connection.sender.pending_acks = connection.sender.pending_acks.saturating_sub(1);
            }
            self.acknowledge(now, &packet);
        } else if self.receive(now, &mut packet) {
            self.carry(now, packet);
        }
    }

    /// An acknowledgement will reach its sender at `at`, ahead of the clock: since nothing else can happen to
    /// the sender before but that its timer expires, it reacts already now. Beyond the horizon it waits.
    #[inline]
    pub(crate) fn react(&mut self, at: u64, packet: &Packet) {
        let Endpoint::Tcp(connection) = &mut self.flows[packet.flow as usize].endpoint else { return };
        if at >= self.horizon || connection.sender.pending_acks > 0 {
            connection.sender.pending_acks += 1;
            return self.wait(at, packet);
        }
        while let Endpoint::Tcp(connection) = &self.flows[packet.flow as usize].endpoint
            && let Some(deadline) = connection.sender.deadline()
            && deadline <= at
        {
            self.time_out(deadline, packet.flow);
        }
        self.acknowledge(at, packet);
    }

    /// An acknowledgement reaches its sender.
    #[inline]
    fn acknowledge(&mut self, now: u64, packet: &Packet) {
        let (next, echo, sack) = (packet.number, packet.flag, self.sacks.take(packet.stamp));
        self.with_sender(packet.flow, now, |sender, tcp, out| {
            let window = || tcp::initial_window(&tcp.options, tcp.payload);
            sender.on_ack(&tcp.options, window, Ack { next, echo, sack }, now, out);
        });
    }

    /// A packet reaches its receiver at `at`, perhaps ahead of the clock; whether there is an answer, which then
    /// takes the packet's place.
    #[inline]
    pub(crate) fn receive(&mut self, at: u64, packet: &mut Packet) -> bool {
        let flow = &mut self.flows[packet.flow as usize];
        let in_window = flow.counts.receive(&mut flow.losses, (at, packet.stamp), (self.warmup, self.end));
        let group = &self.groups[flow.group as usize];
        let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else {
            if let Endpoint::Udp(udp) = &mut flow.endpoint {
                udp.goodput += u64::from(packet.bytes) * u64::from(in_window);
            }
            return false;
        };
        let (number, sequence, cwr) = (packet.flow, packet.number, packet.flag);
        let backward = (packet.step + 1, packet.host);
        let is_marked = packet.is_marked();
        let turns = connection.receiver.turns(&tcp.options, is_marked);
        let was_held = connection.receiver.held().is_some();
        let earlier = (turns && was_held)
            .then(|| connection.answer(number, backward, group.class, tcp, &mut self.sacks));
        let received =
            connection.receiver.receive(&tcp.options, sequence, (is_marked, cwr), &mut self.pool.receivers);
        if in_window {
            connection.count(tcp, sequence, received.is_new);
        }
        let mut waits = false;
        if tcp.options.delayed_ack > 0 {
            let is_syn = tcp.options.syn && sequence == 0;
            let may_wait = received.in_order && !is_syn && !turns && connection.receiver.may_delay();
            let at_once = cwr && tcp.options.quick_acks > 0; // the sender's window may be very small
            waits = may_wait && !at_once && !was_held;
            let due = tcp.options.expiry(at, tcp.options.delayed_ack);
            connection.receiver.hold(NonZero::new(if waits { due } else { 0 }));
            if waits {
                self.calendar.push(Event::new(due, due - at, EventKind::DelayedAck, number));
            }
        }
        if !waits {
            connection.receiver.acknowledges();
            *packet = connection.answer(number, backward, group.class, tcp, &mut self.sacks);
        }
        if connection.task() != Task::Nothing && received.is_new && connection.has_all() {
            self.delivered(at, number);
        }
        if let Some(earlier) = earlier {
            self.carry(at, earlier);
        }
        !waits
    }

    /// What a receiver has to say now.
    pub(crate) fn answer(&mut self, number: u32) -> Packet {
        let flow = &self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        match (&flow.endpoint, group.tcp()) {
            (Endpoint::Tcp(connection), Some(tcp)) => {
                let backward = (self.network.backward(flow.route), flow.route.host);
                connection.answer(number, backward, group.class, tcp, &mut self.sacks)
            }
            _ => unreachable!("only connections are answered"),
        }
    }

    /// Let a sender act, then send what it released and see to its timer, its end and its trace.
    #[inline]
    pub(crate) fn with_sender(
        &mut self,
        number: u32,
        now: u64,
        act: impl FnOnce(&mut tcp::Sender, &plan::Tcp, (&mut Vec<Segment>, &mut ColdStatePool)),
    ) {
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else { return };
        debug_assert!(self.released.is_empty(), "one sender at a time");
        let (before, cwnd) = (connection.sender.expires(), connection.sender.cwnd());
        act(&mut connection.sender, tcp, (&mut self.released, &mut self.pool.senders));
        if self.trace_cwnd && connection.sender.cwnd() != cwnd {
            self.cwnd.time_ns.push(now);
            self.cwnd.flow.push(number);
            self.cwnd.cwnd.push(connection.sender.cwnd());
            self.cwnd.ssthresh.push(connection.sender.ssthresh());
        }
        let mut is_answered = false;
        if connection.task() != Task::Nothing && connection.sender.is_done() {
            if let Task::Transfer(object) = connection.task() {
                self.objects.end_ns[object as usize] = now;
                self.objects.bytes[object as usize] = connection.bytes(tcp);
                connection.replace_task(Task::Nothing);
            } else if let Task::Request(_) = connection.task() {
                is_answered = group.responds_late;
                connection.replace_task(Task::Nothing);
            }
        }
        let timer = FlowTimer { flow: number, event: &mut flow.rto_event };
        self.rto_scan.arm(&mut self.calendar, timer, before, connection.sender.expires(), now);
        if let Some(due) = connection.sender.take_jitter_timer() {
            self.calendar.push(Event::new(due, due - now, EventKind::Release, number));
        }
        if !self.released.is_empty() {
            self.send_released(now, number);
        }
        if is_answered {
            self.file_response(now, number);
        }
    }

    /// What a sender has released leaves: no farther than to a queue, or to where it waits for the clock.
    fn send_released(&mut self, now: u64, number: u32) {
        for i in 0..self.released.len() {
            self.send(now, number, self.released[i]);
        }
        self.released.clear();
    }

    /// A sender hands over a packet: it goes, or waits until the connection's rate lets it.
    #[inline]
    fn send(&mut self, now: u64, number: u32, segment: Segment) {
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else { return };
        let mut packet = connection.packet((number, flow.route), (&group.full, tcp), segment, now);
        if let Some(shaper) = connection.shaper() {
            if !shaper.is_free(now) {
                if let Some(due) = shaper.wait(segment) {
                    self.calendar.push(Event::new(due, due - now, EventKind::Paced, number));
                }
                return;
            }
            shaper.leave(now, packet.bytes);
        }
        flow.mark(now, &mut packet);
        self.carry(now, packet);
    }

    /// The next packet of a connection whose rate is capped may leave.
    pub(crate) fn on_paced(&mut self, now: u64, number: u32) {
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else { return };
        let Some(segment) = connection.shaper().and_then(|shaper| shaper.waiting.pop_front()) else {
            return;
        };
        let mut packet = connection.packet((number, flow.route), (&group.full, tcp), segment, now);
        if let Some(shaper) = connection.shaper() {
            let due = shaper.leave(now, packet.bytes);
            if !shaper.waiting.is_empty() {
                self.calendar.push(Event::new(due, due - now, EventKind::Paced, number));
            }
        }
        flow.mark(now, &mut packet);
        self.carry(now, packet);
    }

    pub(crate) fn on_retransmission_event(&mut self, now: u64, number: u32) {
        let Flow { endpoint: Endpoint::Tcp(connection), rto_event, .. } = &mut self.flows[number as usize]
        else {
            return;
        };
        if !RtoScan::fires(rto_event, now) {
            return;
        }
        if connection.sender.deadline().is_some_and(|deadline| deadline <= now) {
            self.time_out(now, number);
        }
        if let Flow { endpoint: Endpoint::Tcp(connection), rto_event, .. } = &mut self.flows[number as usize]
        {
            let timer = FlowTimer { flow: number, event: rto_event };
            self.rto_scan.arm(&mut self.calendar, timer, tcp::NEVER, connection.sender.expires(), now);
        }
    }

    fn time_out(&mut self, now: u64, number: u32) {
        self.with_sender(number, now, |sender, tcp, (out, _)| sender.on_timeout(&tcp.options, now, out));
    }

    pub(crate) fn on_release(&mut self, now: u64, number: u32) {
        self.with_sender(number, now, |sender, tcp, (out, _)| sender.end_jitter(&tcp.options, now, out));
    }

    pub(crate) fn on_stop(&mut self, now: u64, number: u32) {
        if number & OF_GROUP == 0 {
            if self.groups[self.flows[number as usize].group as usize].is_requests() {
                return self.give_up(now, number);
            }
            return self.with_sender(number, now, |sender, _, _| sender.stop());
        }
        self.move_horizon(now);
        let group = number & !OF_GROUP;
        if self.groups[group as usize].is_web() {
            return; // nobody asks for anything more; what was asked for still comes
        }
        for flow in 0..self.flows.len() {
            if self.flows[flow].group == group {
                self.with_sender(flow as u32, now, |sender, _, _| sender.stop());
            }
        }
    }

    pub(crate) fn on_source(&mut self, now: u64, number: u32) {
        if number & OF_GROUP != 0 {
            return self.on_new_flow(now, number & !OF_GROUP);
        }
        let flow = &mut self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
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
                stamp: now,
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
            flow.mark(now, &mut packet);
            self.calendar.push(Event::new(next, next - now, EventKind::Source, number));
            return self.carry(now, packet);
        }
        let mut is_first = true;
        if let Endpoint::Tcp(connection) = &mut flow.endpoint
            && let Some((source, written)) = connection.writer()
        {
            is_first = *written == 0;
            let (syn, bytes) =
                group.tcp().map_or((false, 0), |tcp| (tcp.options.syn, tcp.payload + tcp.header));
            *written += 1;
            let next = source.next(now, *written, bytes);
            connection.sender.write(1 + u32::from(is_first && syn));
            self.calendar.push(Event::new(next, next - now, EventKind::Source, number));
        }
        if is_first {
            return self.start_sender(now, number);
        }
        self.with_sender(number, now, |sender, tcp, (out, _)| sender.resume(&tcp.options, now, out));
    }

    pub(crate) fn start_sender(&mut self, now: u64, number: u32) {
        self.with_sender(number, now, |sender, tcp, (out, _)| {
            sender.start(&tcp.options, tcp::initial_window(&tcp.options, tcp.payload), now, out);
        });
    }

    /// A flow of a Poisson process arrives.
    fn on_new_flow(&mut self, now: u64, number: u32) {
        let group = &self.groups[number as usize];
        let plan::TrafficKind::TcpShort { size, lifetime, .. } = group.kind else { return };
        if now >= group.stop {
            return;
        }
        let index = group.count;
        let draw = |purpose: &str, draw: plan::Draw| {
            draw.value(&mut group.demand.stream(purpose).indexed(u64::from(index)))
        };
        let bytes = size.map(|size| draw("size", size).ceil().max(1.0) as u64);
        let lifetime = lifetime.map(|lifetime| draw("lifetime", lifetime) as u64);
        let flow = self.add_flow(number, index, now, bytes);
        if let Endpoint::Tcp(connection) = &mut self.flows[flow as usize].endpoint {
            connection.replace_task(Task::Transfer(self.objects.start_ns.len() as u32));
            self.objects.traffic.push(number);
            self.objects.index.push(index);
            self.objects.start_ns.push(now);
            self.objects.end_ns.push(u64::MAX);
            self.objects.bytes.push(bytes.unwrap_or(0));
        }
        if let Some(lifetime) = lifetime {
            self.calendar.push_timer(Event::new(now + lifetime, lifetime, EventKind::Stop, flow));
        }
        self.file_next_arrival(number, now);
        self.on_source(now, flow);
    }

    pub(crate) fn file_next_arrival(&mut self, number: u32, now: u64) {
        let group = &self.groups[number as usize];
        if let plan::TrafficKind::TcpShort { arrivals, .. } = group.kind {
            let mut gaps = group.demand.stream("arrival").indexed(u64::from(group.count));
            let next = now + exponential(1e9 / arrivals, &mut gaps) as u64;
            self.calendar.push(Event::new(next, next - now, EventKind::Source, OF_GROUP | number));
        }
    }

    pub(crate) fn add_flow(&mut self, number: u32, index: u32, start: u64, bytes: Option<u64>) -> u32 {
        let group = &mut self.groups[number as usize];
        let route = group.routes[index as usize % group.routes.len()];
        let paced = Datagrams::new(&group.kind, &group.demand, index, start).map(|(source, size)| {
            (group.pareto.map_or(source.clone(), |shape| source.with_pareto(shape)), size)
        });
        let marker = group.edge.as_ref().map(|edge| Box::new(edge.marker(u64::from(index))));
        let endpoint = match (group.tcp(), paced) {
            (Some(tcp), Some((writer, _))) => Endpoint::Tcp(
                Connection::written(tcp, &group.demand, u64::from(index), writer).marked_by(marker),
            ),
            (Some(tcp), None) => {
                Endpoint::Tcp(Connection::new(tcp, &group.demand, u64::from(index), bytes).marked_by(marker))
            }
            (None, Some((source, size))) => {
                Endpoint::Udp(Box::new(Udp { source, size, sent: 0, goodput: 0, marker }))
            }
            (None, None) => unreachable!("traffic is TCP or datagrams"),
        };
        let flow = self.flows.len() as u32;
        group.count += 1;
        if group.starts.sources() == 0 {
            self.rows.add_source(Source { group: number, index, start });
        }
        self.flows.push(Flow::new(endpoint, number, route));
        flow
    }
}
