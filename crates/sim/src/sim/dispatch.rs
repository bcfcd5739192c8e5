//! The general engine: the next event, and what it is about.

use super::{
    Simulation, World,
    cycle::{dequeue, enqueue},
};
use crate::{
    engine::{Event, EventKind, MAX_EVENT_TIME, Service},
    packet::{Carries, Packet},
    path::{Links, NO_INDEX, Network},
    queue::{Port, QueueOps},
};
use sojourn_aqm::{Span, Time};

impl Simulation {
    /// The next event.
    pub(super) fn peek(&self) -> Event {
        let clock = &self.world.clock;
        clock.calendar.peek().min(clock.service.event(self.world.measured))
    }

    /// Handle the next `many` events before the end; how many there were.
    pub(super) fn run_events(&mut self, many: u64) -> u64 {
        for done in 0..many {
            let event = self.peek();
            let World { clock, measured, .. } = &mut self.world;
            if event.time() >= clock.end {
                return done;
            }
            if event == clock.service.event(*measured) {
                clock.service = Service::NONE;
                let measured = *measured;
                self.transmit_from(event.time(), measured);
            } else {
                let packet = *clock.calendar.pop();
                self.on_event(event, packet);
            }
        }
        many
    }

    /// Handle `event`: `packet` is the one that arrives with it, if one does.
    #[inline(always)]
    pub(super) fn on_event(&mut self, event: Event, mut packet: Packet) {
        let now = event.time();
        if !event.is_arrival() {
            return self.handle(event);
        }
        let step = &self.world.network.steps[packet.step as usize];
        if step.last {
            return self.arrive(now, packet);
        }
        packet.step += 1;
        if step.queue == NO_INDEX {
            self.forward(now, packet);
        } else {
            self.enqueue_at(now, step.queue, &mut packet);
        }
    }

    /// Handle an event without a packet.
    pub(super) fn handle(&mut self, event: Event) {
        let (now, number) = (event.time(), event.number());
        match event.kind() {
            EventKind::End | EventKind::Poll | EventKind::Arrival => {
                unreachable!("handled by the caller")
            }
            EventKind::Departure => self.transmit_from_other(now, number),
            EventKind::AqmTimer => {
                let port = self.port_at(number, now);
                port.on_timer(now);
                if let Some(next) = port.next_timer() {
                    let (time, age) = (next.max(now + Span(1)), next - now);
                    self.world.clock.calendar.push(Event::new(time, age, EventKind::AqmTimer, number));
                }
            }
            EventKind::Retransmit => self.on_retransmission_event(now, number),
            EventKind::RtoScan => {
                let World { clock, hosts, .. } = &mut self.world;
                hosts.rto_scan.scan(&mut clock.calendar, &mut hosts.flows[..], now);
            }
            EventKind::DelayedAck => self.on_delayed_ack(now, number),
            EventKind::Release => self.on_release(now, number),
            EventKind::Stop => self.on_stop(now, number),
            EventKind::Source => self.on_source(now, number),
            EventKind::Page => {
                let World { clock, hosts, .. } = &mut self.world;
                if let Some(request) = self.web.on_page(hosts, &mut clock.calendar, now, number) {
                    self.start_sender(now, request);
                }
            }
            EventKind::Object => {
                let World { clock, hosts, .. } = &mut self.world;
                self.web.on_object(hosts, &mut clock.calendar, now, number);
            }
            EventKind::Paced => self.on_paced(now, number),
            EventKind::Warmup if number == 0 => self.open_window(now),
            EventKind::Warmup => {
                let World { log, measured, .. } = &mut self.world;
                log.recorder.mark_phase(now, number as usize - 1, &mut self.ports[*measured as usize]);
            }
            EventKind::Sample => {
                let World { clock, log, .. } = &mut self.world;
                log.recorder.sample_all(now, &mut self.ports, &mut clock.calendar);
            }
        }
    }

    /// `packet` enters the link of its step at `at`, and crosses links until it must wait for an event.
    #[inline]
    pub(super) fn forward(&mut self, mut at: Time, mut packet: Packet) {
        loop {
            let Network { each, kinds, fixed_path, steps, .. } = &mut self.world.network;
            let step = &mut steps[packet.step as usize];
            if let Some(port) = kinds[step.hop.tx_time.kind as usize].port {
                return self.enqueue_at_first_link(at, port, &mut packet);
            }
            let mut links = Links { each, kinds, fixed_path };
            at = links.cross_step(step, packet.host, at, packet.bytes);
            if step.eventless && !step.last {
                packet.step += 1;
            } else if !self.leave_link(at, &mut packet) {
                return;
            }
        }
    }

    /// `packet` has left a queue and reaches the end of its link at `arrival`.
    #[inline]
    pub(super) fn leave_queue(&mut self, arrival: Time, mut packet: Packet) {
        if self.leave_link(arrival, &mut packet) {
            self.forward(arrival, packet);
        }
    }

    /// `packet` reaches the end of the link of its step at `arrival`. True: it enters its next link at once,
    /// or its acknowledgement, which has taken its place, does.
    #[inline]
    fn leave_link(&mut self, arrival: Time, packet: &mut Packet) -> bool {
        let step = &self.world.network.steps[packet.step as usize];
        if !step.eventless {
            self.world.schedule_arrival(arrival, packet);
            return false;
        }
        if !step.last {
            packet.step += 1;
            return true;
        }
        if packet.carries == Carries::Ack {
            self.react(arrival, packet);
            return false;
        }
        self.receive(arrival, packet)
    }

    /// `packet` arrives at a queue, and is transmitted at once if the transmitter is idle.
    #[inline(always)]
    fn enqueue_at(&mut self, now: Time, number: u32, packet: &mut Packet) {
        self.port_at(number, now);
        let World { hosts, log, measured, .. } = &mut self.world;
        let (queue, is_measured) = (&mut self.ports[number as usize], number == *measured);
        if enqueue(queue, now, packet, is_measured, &mut log.losses, &mut hosts.flows, &mut hosts.sacks) {
            self.transmit_from_other(now, number);
        }
    }

    #[inline(never)]
    fn enqueue_at_first_link(&mut self, now: Time, number: u32, packet: &mut Packet) {
        self.enqueue_at(now, number, packet);
    }

    #[inline(never)]
    fn transmit_from_other(&mut self, now: Time, number: u32) {
        self.transmit_from(now, number);
    }

    /// The transmitter of a queue is free: it takes the next packet.
    #[inline(always)]
    fn transmit_from(&mut self, now: Time, number: u32) {
        self.port_at(number, now);
        let World { clock, network, hosts, log, measured, .. } = &mut self.world;
        let (queue, is_measured) = (&mut self.ports[number as usize], number == *measured);
        let slot = dequeue(queue, now, is_measured, &mut log.losses, &mut hosts.flows, &mut hosts.sacks);
        let Some(slot) = slot else { return };
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
        self.leave_queue(arrival, packet);
    }

    /// The queue of `number`, with the rate that its link has now, should that vary.
    #[inline(always)]
    fn port_at(&mut self, number: u32, now: Time) -> &mut Port {
        let port = &mut self.ports[number as usize];
        if port.varies
            && let Some(rate) = self.world.network.kinds[port.kind as usize].rate_at(now)
        {
            port.set_link_rate(rate);
        }
        port
    }
}

impl World {
    /// Schedule the arrival of `packet`, the last one sent on the link of its step, as an event.
    #[inline]
    pub(super) fn schedule_arrival(&mut self, arrival: Time, packet: &Packet) {
        let step = &self.network.steps[packet.step as usize];
        let link = step.link(packet.host);
        let burst_index = self.network.each[link as usize].burst_index();
        self.clock.calendar.push_with(|waiting| {
            *waiting = *packet;
            Event::arrival(arrival.min(MAX_EVENT_TIME), step.hop.tx_time.tie_key(), burst_index, link)
        });
    }
}
