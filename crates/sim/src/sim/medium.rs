//! Transmission on a link that has to get its medium first: single packets while they are granted, or
//! aggregates, whose packets leave the queue together and arrive together.

use super::{
    State, cycle,
    forwarding::{leave_queue, send_next},
};
use crate::{
    engine::{Event, EventKind, MAX_BURST_INDEX, MAX_EVENT_TIME, OF_GROUP, Service, TieKey},
    link::{Contention, Medium, Turn},
    packet::Packet,
    path::Links,
    queue::QueueOps,
};
use sojourn_aqm::Time;

/// The transmitter of queue `number` is free, or packets that wait for a grant may have one now.
#[cold]
#[inline(never)]
pub(super) fn transmit(state: &mut State, now: Time, number: u32) {
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
