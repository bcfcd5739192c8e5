//! The general engine: the next event, and what it is about.

use super::{
    State,
    clients::Clients,
    endpoints,
    forwarding::{arrive, forward, send_delayed_acks, send_released, transmit_from, transmit_from_other},
};
use crate::{
    engine::{Event, EventKind, OF_GROUP, Service},
    flow::{Hosts, Task},
    measure::warmup_snapshots,
    packet::Packet,
    path::Network,
};
use sojourn_aqm::{Span, Time};

/// Handle the next `many` events before the end; how many there were.
pub(super) fn run(state: &mut State, clients: &mut Clients, many: u64) -> u64 {
    let measured = state.queues.log.measured;
    for done in 0..many {
        let clock = &mut state.clock;
        let event = clock.peek(measured);
        if event.time() >= clock.end {
            return done;
        }
        if event == clock.service.event(measured) {
            clock.service = Service::NONE;
            transmit_from(state, event.time(), measured);
        } else {
            let packet = *clock.calendar.pop();
            on_event(state, clients, event, packet);
        }
    }
    many
}

/// Handle `event`: `packet` is the one that arrives with it, if one does.
#[inline(always)]
pub(super) fn on_event(state: &mut State, clients: &mut Clients, event: Event, packet: Packet) {
    if event.is_arrival() {
        arrive(state, event.time(), packet);
    } else {
        handle(state, clients, event);
    }
}

/// Handle an event without a packet.
pub(super) fn handle(state: &mut State, clients: &mut Clients, event: Event) {
    let (now, number) = (event.time(), event.number());
    let State { clock, network, queues, hosts } = state;
    let calendar = &mut clock.calendar;
    match event.kind() {
        EventKind::End | EventKind::Poll | EventKind::Arrival => unreachable!("handled by the caller"),
        EventKind::Departure if number & OF_GROUP != 0 => {
            let number = number & !OF_GROUP;
            if queues.ports[number as usize].on_ask() {
                transmit_from_other(state, now, number);
            }
        }
        EventKind::Departure => transmit_from_other(state, now, number),
        EventKind::AqmTimer => {
            let port = queues.port_at(number, &mut network.kinds, now);
            port.on_timer(now);
            if let Some(next) = port.next_timer() {
                let (time, age) = (next.max(now + Span(1)), next - now);
                calendar.push(Event::new(time, age, EventKind::AqmTimer, number));
            }
        }
        EventKind::Retransmit => {
            endpoints::on_retransmission_event(hosts, calendar, now, number);
            send_released(state, now, number);
        }
        EventKind::RtoScan => hosts.rto_scan.scan(calendar, &mut hosts.flows[..], now),
        EventKind::DelayedAck if is_ahead(hosts, network, number) => {
            send_delayed_acks(state, Event::after(event));
            state.hosts.delayed_acks.on_event(&mut state.clock.calendar, event);
        }
        EventKind::DelayedAck => {
            if let Some(ack) = endpoints::on_delayed_ack(hosts, network, now, number) {
                forward(state, now, ack);
            }
        }
        EventKind::Release => {
            endpoints::on_release(hosts, calendar, now, number);
            send_released(state, now, number);
        }
        EventKind::Stop if number & OF_GROUP != 0 => {
            endpoints::stop_group(hosts, calendar, now, number & !OF_GROUP);
            clock.move_horizon(now);
        }
        EventKind::Stop if hosts.is_request(number) => {
            if clients.web.give_up(hosts, calendar, now, number) {
                endpoints::abandon(hosts, calendar, now, number);
                endpoints::abandon(hosts, calendar, now, number + 1);
            }
        }
        EventKind::Stop => endpoints::stop(hosts, calendar, now, number),
        EventKind::Source if number & OF_GROUP != 0 => {
            if let Some(flow) = endpoints::on_new_flow(hosts, calendar, now, number & !OF_GROUP) {
                on_source(state, clients, now, flow);
            }
        }
        EventKind::Source => on_source(state, clients, now, number),
        EventKind::Page => {
            if let Some(request) = clients.web.on_page(hosts, calendar, now, number) {
                endpoints::start(hosts, calendar, now, request);
                send_released(state, now, request);
            }
        }
        EventKind::Object if number & OF_GROUP != 0 => {
            clients.videos.on_segment(hosts, calendar, now, number & !OF_GROUP);
        }
        EventKind::Object => clients.web.on_object(hosts, calendar, now, number),
        EventKind::Paced => {
            if let Some(packet) = endpoints::on_paced(hosts, calendar, now, number) {
                forward(state, now, packet);
            }
        }
        EventKind::Warmup if number > 0 => queues.mark_phase(now, number as usize - 1),
        EventKind::Warmup => {
            clock.move_horizon(now);
            queues.open_window(now);
            network.wires.open_window();
            hosts.at_warmup = warmup_snapshots(&hosts.flows, queues.measured());
        }
        EventKind::Sample if number > 0 => queues.sample_flows(calendar, hosts, now),
        EventKind::Sample => queues.sample(calendar, now),
    }
}

/// Whether the receiver of flow `number` runs ahead of the clock.
fn is_ahead(hosts: &Hosts, network: &Network, number: u32) -> bool {
    let last = network.backward(hosts.flows[number as usize].route) - 1;
    network.steps[last as usize].eventless
}

/// A source starts, or sends the next packet.
fn on_source(state: &mut State, clients: &mut Clients, now: Time, number: u32) {
    let State { clock, hosts, .. } = state;
    let videos = &mut clients.videos;
    let written = match hosts.applications.task(number) {
        Task::SegmentRequest(client) => u32::from(videos.request(hosts, now, client)),
        Task::Segment(client) => videos.packets(hosts, client),
        _ => return on_other_source(state, now, number),
    };
    if written > 0 {
        endpoints::write(hosts, &mut clock.calendar, now, number, written);
        send_released(state, now, number);
    }
}

/// The same of a source that follows no requests.
fn on_other_source(state: &mut State, now: Time, number: u32) {
    match endpoints::on_source(&mut state.hosts, &mut state.clock.calendar, now, number) {
        Some(datagram) => forward(state, now, datagram),
        None => send_released(state, now, number),
    }
}
