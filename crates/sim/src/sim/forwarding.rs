//! Forwarding of a packet: over links, through queues, and to a host, whose reaction follows at once. It ends
//! where the packet, or what the host sends in turn, must wait for an event.

use super::{
    Clock, State,
    cycle::{self, ActiveFlow},
    endpoints::{self, Reply},
};
use crate::{
    engine::{Event, EventKind, MAX_BURST_INDEX, MAX_EVENT_TIME, OF_GROUP, Service, TieKey},
    flow::Endpoint,
    link::{Contention, Entry, Fate, Medium, Turn},
    packet::{Carries, Packet},
    path::{Links, NO_INDEX, Network},
    queue::QueueOps,
    tcp::Segment,
};
use sojourn_aqm::Time;

/// `packet` reaches the end of the link of its step at `now`, as an event.
#[inline(always)]
pub(super) fn arrive(state: &mut State, now: Time, mut packet: Packet) {
    let step = &state.network.steps[packet.step as usize];
    if step.last {
        return arrive_at_host(state, now, packet);
    }
    packet.step += 1;
    if step.queue == NO_INDEX {
        forward(state, now, packet);
    } else {
        enqueue_at(state, now, step.queue, &mut packet);
    }
}

fn arrive_at_host(state: &mut State, now: Time, mut packet: Packet) {
    if packet.carries == Carries::Ack {
        if let Endpoint::Tcp(connection) = &mut state.hosts.flows[packet.flow as usize].endpoint {
            connection.sender.pending_acks = connection.sender.pending_acks.saturating_sub(1);
        }
        acknowledge(state, now, &packet);
    } else if packet.carries == Carries::Echo {
        endpoints::on_echo(&mut state.hosts, &state.clock, now, &packet);
    } else if receive(state, now, &mut packet) {
        forward(state, now, packet);
    }
}

/// `packet` enters the link of its step at `at`, and crosses links until it must wait for an event.
#[inline]
pub(super) fn forward(state: &mut State, mut at: Time, mut packet: Packet) {
    loop {
        let Network { each, kinds, fixed_path, steps, .. } = &mut state.network;
        let step = &mut steps[packet.step as usize];
        let entry = kinds[step.hop.tx_time.kind as usize].entry;
        if entry != Entry::Transmitter {
            return enter(state, at, entry, &mut packet);
        }
        let mut links = Links { each, kinds, fixed_path };
        at = links.cross_step(step, packet.host, at, packet.bytes);
        if step.eventless && !step.last {
            packet.step += 1;
        } else if !leave_link(state, at, &mut packet) {
            return;
        }
    }
}

/// `packet` has left a queue and reaches the end of its link at `arrival`.
#[inline]
pub(super) fn leave_queue(state: &mut State, arrival: Time, mut packet: Packet) {
    if leave_link(state, arrival, &mut packet) {
        forward(state, arrival, packet);
    }
}

/// `packet` reaches the end of the link of its step at `arrival`. True: it enters its next link at once, or
/// its acknowledgement, which has taken its place, does. An echo reaches its source as an event.
#[inline(always)]
fn leave_link(state: &mut State, arrival: Time, packet: &mut Packet) -> bool {
    let step = &state.network.steps[packet.step as usize];
    if !step.eventless {
        schedule_arrival(&state.network, &mut state.clock, arrival, packet);
        return false;
    }
    if !step.last {
        packet.step += 1;
        return true;
    }
    if packet.carries == Carries::Ack {
        react(state, arrival, packet);
        return false;
    }
    receive(state, arrival, packet)
}

/// Schedule the arrival of `packet`, the last one sent on the link of its step, as an event.
#[inline]
fn schedule_arrival(network: &Network, clock: &mut Clock, arrival: Time, packet: &Packet) {
    let event = arrival_of(network, arrival, packet);
    clock.calendar.push_with(|waiting| {
        *waiting = *packet;
        event
    });
}

/// The arrival of `packet`, the last one sent on the link of its step.
#[inline(always)]
fn arrival_of(network: &Network, arrival: Time, packet: &Packet) -> Event {
    let step = &network.steps[packet.step as usize];
    let link = step.link(packet.host);
    let burst_index = network.each[link as usize].burst_index();
    Event::arrival(arrival.min(MAX_EVENT_TIME), step.hop.tx_time.tie_key(), burst_index, link)
}

/// `packet` arrives at a queue, and is transmitted at once if the transmitter is idle.
#[inline(always)]
fn enqueue_at(state: &mut State, now: Time, number: u32, packet: &mut Packet) {
    let State { network, queues, hosts, .. } = state;
    queues.port_at(number, &mut network.kinds, now);
    let (queue, is_measured) = (&mut queues.ports[number as usize], number == queues.log.measured);
    let losses = &mut queues.log.losses;
    if cycle::enqueue(queue, now, packet, is_measured, losses, &mut hosts.flows, &mut hosts.reports) {
        transmit_from_other(state, now, number);
    }
}

/// `packet` enters a link that begins with a queue, or an impaired wire.
#[inline(never)]
fn enter(state: &mut State, now: Time, entry: Entry, packet: &mut Packet) {
    match entry {
        Entry::Transmitter => unreachable!("handled by the caller"),
        Entry::Port(number) => enqueue_at(state, now, number, packet),
        Entry::Wire(number) => cross_wire(state, now, number, *packet),
    }
}

/// `packet` enters an impaired wire, as an event, and crosses it unless it is lost.
fn cross_wire(state: &mut State, now: Time, number: u32, packet: Packet) {
    let Fate { packet: arrival, copy } = state.network.wires.pass(number, now, &packet);
    if arrival.is_none() && packet.carries == Carries::Ack {
        state.hosts.reports.take(packet.stamp);
    }
    let mut copied = packet;
    if copy.is_some() && packet.carries == Carries::Ack {
        copied.stamp = state.hosts.reports.copy(packet.stamp);
    }
    for (packet, arrival) in [(packet, arrival), (copied, copy)] {
        match arrival {
            None => {}
            Some(arrival) if arrival == now => arrive(state, now, packet),
            Some(arrival) => {
                let (link, before) = state.network.wires.schedule(number, arrival);
                let (key, before) = (TieKey::of(arrival - now), before.min(MAX_BURST_INDEX));
                let event = Event::arrival(arrival.min(MAX_EVENT_TIME), key, before, link);
                state.clock.calendar.push_with(|waiting| {
                    *waiting = packet;
                    event
                });
            }
        }
    }
}

#[inline(never)]
pub(super) fn transmit_from_other(state: &mut State, now: Time, number: u32) {
    transmit_from(state, now, number);
}

/// The transmitter of a queue is free: it takes the next packet.
#[inline(always)]
pub(super) fn transmit_from(state: &mut State, now: Time, number: u32) {
    if state.queues.ports[number as usize].medium.is_some() {
        return transmit_on_medium(state, now, number);
    }
    send_next(state, now, number);
}

/// Transmit the next packet of a queue, if there is one: its size.
#[inline(always)]
fn send_next(state: &mut State, now: Time, number: u32) -> Option<u32> {
    let State { clock, network, queues, hosts } = state;
    queues.port_at(number, &mut network.kinds, now);
    let (queue, is_measured) = (&mut queues.ports[number as usize], number == queues.log.measured);
    let losses = &mut queues.log.losses;
    let slot = cycle::dequeue(queue, now, is_measured, losses, &mut hosts.flows, &mut hosts.reports);
    let Some(slot) = slot else {
        if let Some(time) = queue.ask_again(now) {
            let event = Event::new(time, time - now, EventKind::Departure, OF_GROUP | number);
            clock.calendar.push(event);
        }
        return None;
    };
    let packet = *queue.packet(slot);
    let Network { each, kinds, fixed_path, steps, .. } = network;
    let (mut links, hop) = (Links { each, kinds, fixed_path }, &mut steps[packet.step as usize].hop);
    let (end, arrival) = links.transmit(queue.link, hop, now, packet.bytes);
    if is_measured {
        clock.service = Service { time: end, since: now };
        hosts.flows[packet.flow as usize].counts.queue_left += 1;
    } else {
        clock.calendar.push(Event::new(end, end - now, EventKind::Departure, number));
    }
    let bytes = packet.bytes;
    leave_queue(state, arrival, packet);
    Some(bytes)
}

/// The transmitter of queue `number` is free, or packets that wait for a grant may have one now.
#[cold]
#[inline(never)]
fn transmit_on_medium(state: &mut State, now: Time, number: u32) {
    let port = &mut state.queues.ports[number as usize];
    let Some(mut medium) = port.medium.take() else { return };
    match &mut *medium {
        Medium::Contention(contention) => send_aggregate(state, now, number, contention),
        Medium::Grants(grants) => {
            let kind = &mut state.network.kinds[port.kind as usize];
            let rate = kind.rate_at(now).unwrap_or(kind.rate());
            match grants.turn(now, port.backlog().1, rate) {
                Turn::Wait(tick) => {
                    if let Some(time) = port.wait_until(now, tick) {
                        let event = Event::new(time, time - now, EventKind::Departure, OF_GROUP | number);
                        state.clock.calendar.push(event);
                    }
                }
                Turn::Send | Turn::Rest => {
                    if let Some(bytes) = send_next(state, now, number) {
                        grants.sent(bytes);
                    }
                }
            }
        }
    }
    state.queues.ports[number as usize].medium = Some(medium);
}

/// Send what waits, up to the limits of an aggregate.
fn send_aggregate(state: &mut State, now: Time, number: u32, contention: &mut Contention) {
    let State { clock, network, queues, hosts } = state;
    let (port, is_measured) = (&mut queues.ports[number as usize], number == queues.log.measured);
    let losses = &mut queues.log.losses;
    let mut packets: Vec<Packet> = Vec::new();
    let (mut begin, mut end, mut arrival) = (None, now, now);
    while packets.is_empty() || (port.len() > 0 && packets.len() < contention.packets as usize) {
        let slot = cycle::dequeue(port, now, is_measured, losses, &mut hosts.flows, &mut hosts.reports);
        let Some(slot) = slot else { break };
        let packet = *port.packet(slot);
        let start = *begin.get_or_insert_with(|| now + contention.overhead());
        let mut links =
            Links { each: &mut network.each, kinds: &mut network.kinds, fixed_path: &mut network.fixed_path };
        let hop = &mut network.steps[packet.step as usize].hop;
        (end, arrival) = links.transmit(port.link, hop, start, packet.bytes);
        hosts.flows[packet.flow as usize].counts.queue_left += u32::from(is_measured);
        packets.push(packet);
        if end - start >= contention.time {
            break;
        }
    }
    if packets.is_empty() {
        if let Some(time) = port.ask_again(now) {
            let event = Event::new(time, time - now, EventKind::Departure, OF_GROUP | number);
            clock.calendar.push(event);
        }
        return;
    }
    port.keep_busy(now);
    if is_measured {
        clock.service = Service { time: end, since: now };
    } else {
        clock.calendar.push(Event::new(end, end - now, EventKind::Departure, number));
    }
    for (index, packet) in (0..).zip(packets) {
        let step = &state.network.steps[packet.step as usize];
        if step.eventless {
            leave_queue(state, arrival, packet);
            continue;
        }
        let link = step.link(packet.host);
        let (key, index) = (TieKey::of(arrival - now), MAX_BURST_INDEX.min(index));
        let event = Event::arrival(arrival.min(MAX_EVENT_TIME), key, index, link);
        state.clock.calendar.push_with(|waiting| {
            *waiting = packet;
            event
        });
    }
}

/// `packet` reaches its receiver at `at`. True: an acknowledgement, which has taken its place, enters the
/// next link at once.
#[inline(never)]
fn receive(state: &mut State, at: Time, packet: &mut Packet) -> bool {
    let step = &state.network.steps[packet.step as usize];
    let (is_ahead, link) = (step.eventless, step.link(packet.host));
    if is_ahead && state.hosts.delayed_acks.next() <= at && link == state.network.delayed_on {
        send_delayed_acks(state, arrival_of(&state.network, at, packet));
    }
    match endpoints::receive(&mut state.hosts, &mut state.clock, at, packet, is_ahead) {
        Reply::Nothing => false,
        Reply::Packet => true,
        Reply::DelayedAndAck(delayed) => {
            forward(state, at, delayed);
            true
        }
    }
}

/// Receivers that run ahead of the clock send the acknowledgements that they have delayed, if their timers
/// expire before `bound`.
#[cold]
#[inline(never)]
pub(super) fn send_delayed_acks(state: &mut State, bound: Event) {
    while let Some(timer) = state.hosts.delayed_acks.pop_before(bound) {
        let (hosts, network) = (&mut state.hosts, &state.network);
        if let Some(ack) = endpoints::on_delayed_ack(hosts, network, timer.time(), timer.number()) {
            forward(state, timer.time(), ack);
        }
    }
}

/// An acknowledgement will reach its sender at `at`, ahead of the clock. Until then nothing else can happen
/// to the sender but that its timer expires, so it reacts already now. Beyond the horizon the acknowledgement
/// waits.
#[inline(never)]
pub(super) fn react(state: &mut State, at: Time, packet: &Packet) {
    let State { clock, network, hosts, .. } = state;
    let Endpoint::Tcp(connection) = &mut hosts.flows[packet.flow as usize].endpoint else { return };
    if cycle::must_wait(&connection.sender, at, clock.horizon) {
        connection.sender.pending_acks += 1;
        return schedule_arrival(network, clock, at, packet);
    }
    while let Endpoint::Tcp(connection) = &state.hosts.flows[packet.flow as usize].endpoint
        && let Some(deadline) = connection.sender.deadline()
        && deadline <= at
    {
        endpoints::time_out(&mut state.hosts, &mut state.clock.calendar, deadline, packet.flow);
        send_released(state, deadline, packet.flow);
    }
    acknowledge(state, at, packet);
}

/// An acknowledgement reaches its sender.
#[inline]
fn acknowledge(state: &mut State, now: Time, packet: &Packet) {
    endpoints::acknowledge(&mut state.hosts, &mut state.clock.calendar, now, packet);
    send_released(state, now, packet.flow);
}

/// Send what the sender of flow `number` has released.
#[inline]
pub(super) fn send_released(state: &mut State, now: Time, number: u32) {
    if state.hosts.released.is_empty() {
        return;
    }
    for i in 0..state.hosts.released.len() {
        send(state, now, number, state.hosts.released[i]);
    }
    state.hosts.released.clear();
}

/// Send a packet, or let it wait until the shaper of the connection allows it.
#[inline]
fn send(state: &mut State, now: Time, number: u32, segment: Segment) {
    let State { clock, network, hosts, .. } = state;
    let flow = &mut hosts.flows[number as usize];
    let group = &hosts.groups[flow.group as usize];
    let Endpoint::Tcp(connection) = &mut flow.endpoint else { return };
    let applications = &mut hosts.applications;
    if applications.get(number).is_some_and(|application| application.shaper.is_some()) {
        if let Some(packet) = endpoints::shape(hosts, &mut clock.calendar, now, number, segment) {
            forward(state, now, packet);
        }
        return;
    }
    let Network { each, kinds, fixed_path, steps, .. } = network;
    let step = &mut steps[flow.route.first as usize];
    let has_transmitter = kinds[step.hop.tx_time.kind as usize].entry == Entry::Transmitter;
    if has_transmitter && !step.eventless {
        let mut active = ActiveFlow { number, route: flow.route, connection, group, applications };
        let mut links = Links { each, kinds, fixed_path };
        return cycle::transmit(&mut clock.calendar, &mut links, &mut step.hop, &mut active, segment, now);
    }
    let at = if has_transmitter { group.jittered(number, segment, now) } else { now };
    let packet = endpoints::packet_of(hosts, now, number, segment);
    forward(state, at, packet);
}
