//! The fast path: the packet cycle in a row, without an event for each step.
//!
//! Most packets arrive at the measured queue, leave it and make a round trip ([`crate::path::RoundTrip`]):
//! over links to the receiver, back as an acknowledgement, and the packet that the sender transmits next is
//! in flight to the queue. This loop calls the steps of the cycle (see [`super`]) one after the other, with
//! the measured queue and the flow of the packet. It leaves everything else to the general engine
//! ([`SlowPathExit`]). [`crate::path::eligibility`] decides which runs use it.

use super::{
    Clock, QueueLog, Queues, State,
    clients::Clients,
    cycle::{ActiveFlow, dequeue, enqueue, must_wait, transmit_allowed},
    dispatch, forwarding,
};
use crate::{
    engine::{Event, EventKind, FlowTimer, OLDEST, Service},
    flow::{Answer, Arrival, Connection, Endpoint, FlowRoute, Group, Hosts},
    packet::{Packet, block_count},
    path::{AckSize, Links, Network, Route},
    plan,
    queue::{Port, QueueOps, QueueStats},
    tcp::{self, AckView, Sender},
};
use sojourn_aqm::{IgnoresContents, Span, Time, codel::CoDel, droptail::DropTail, red::Red};

/// Why the loop ends: what is left to the general engine.
enum SlowPathExit {
    /// An event without a packet.
    Event(Event),
    /// A packet arrives at the end of another link.
    Arrival(Event, Packet),
    /// A packet has left the measured queue, and makes no round trip.
    Left(Time, Packet),
    /// An acknowledgement arrives at a sender that cannot react yet, or whose timer expires before.
    Ack(Time, Packet),
}

/// The loop for a kind of queue.
type Cycles = fn(&mut State) -> SlowPathExit;

/// The loop of a run, and when it is interrupted.
pub(super) struct FastLoop {
    run_cycles: Cycles,
    /// The time of the next [`EventKind::Poll`], if there is one.
    next_poll: Time,
}

impl FastLoop {
    /// The loop for the measured queue of `queues` and the connections of `groups`.
    pub(super) fn new(queues: &mut Queues, groups: &[Group]) -> FastLoop {
        let port = &mut queues.ports[queues.log.measured as usize];
        let any = |has: fn(&plan::Tcp) -> bool| groups.iter().filter_map(Group::tcp).any(has);
        let run_cycles = if any(|tcp| tcp.options.delayed_ack > Span::ZERO) {
            cycles::<true, true>(port)
        } else if any(|tcp| tcp.options.sack) {
            cycles::<true, false>(port)
        } else {
            cycles::<false, false>(port)
        };
        FastLoop { run_cycles, next_poll: Time::ZERO }
    }

    /// Handle about `many` events before the end; how many there were. If the loop handles many more before
    /// it ends, an [`EventKind::Poll`] ends it the next time.
    pub(super) fn run(&mut self, state: &mut State, clients: &mut Clients, many: u64) -> u64 {
        let measured = state.queues.log.measured;
        let (mut events, mut is_poll, from) = (0, false, state.clock.peek(measured).time());
        while events < many && !is_poll {
            let before = handled(&state.queues);
            let exit = (self.run_cycles)(state);
            events += handled(&state.queues) - before;
            match exit {
                SlowPathExit::Event(event) if event.kind() == EventKind::End => break,
                SlowPathExit::Event(event) if event.kind() == EventKind::Poll => {
                    is_poll = event.time() == self.next_poll;
                }
                SlowPathExit::Event(event) => {
                    events += 1;
                    dispatch::handle(state, clients, event);
                }
                SlowPathExit::Arrival(event, packet) => {
                    events += 1;
                    dispatch::on_event(state, clients, event, packet);
                }
                SlowPathExit::Left(at, packet) => forwarding::leave_queue(state, at, packet),
                SlowPathExit::Ack(at, packet) => forwarding::react(state, at, &packet),
            }
        }
        let clock = &mut state.clock;
        let (now, end) = (clock.peek(measured).time(), clock.end);
        if now < end && (is_poll || events > 2 * many) {
            // Poll after about `many` events at the rate of these; after at most twice their time, and not at
            // once.
            let span = u128::from((now - from).0) * u128::from(many) / u128::from(events.max(many / 2));
            self.next_poll = (now + Span((span as u64).max(1))).min(end);
            clock.calendar.push_timer(Event::new(self.next_poll, OLDEST, EventKind::Poll, 0));
        }
        events
    }
}

/// How many packets have arrived at the measured queue, how many transmissions have ended there, and the
/// samples of it alone.
fn handled(queues: &Queues) -> u64 {
    let QueueStats { counters, busy, .. } = &queues.measured().stats;
    let recorder = &queues.log.recorder;
    let samples = if recorder.has_one() { recorder.samples() } else { 0 };
    counters.arrivals + counters.departures - u64::from(*busy) + samples
}

/// The loop for the queue of `port`. `SACK`: some flows may have selective acknowledgements; `DELAYED`: some
/// acknowledgements may be delayed.
fn cycles<const SACK: bool, const DELAYED: bool>(port: &mut Port) -> Cycles {
    if port.fifo_with::<Red>().is_some() {
        run_fifo_cycles::<Red, SACK, DELAYED>
    } else if port.fifo_with::<DropTail>().is_some() {
        run_fifo_cycles::<DropTail, SACK, DELAYED>
    } else if port.fifo_with::<CoDel>().is_some() {
        run_fifo_cycles::<CoDel, SACK, DELAYED>
    } else {
        run_any_cycles::<SACK, DELAYED>
    }
}

#[inline(never)]
fn run_fifo_cycles<A: IgnoresContents, const SACK: bool, const DELAYED: bool>(
    state: &mut State,
) -> SlowPathExit {
    let State { clock, network, queues, hosts } = state;
    let Queues { ports, log } = queues;
    let port = &mut ports[log.measured as usize];
    let link = port.link;
    let mut queue = port.fifo_with::<A>().expect("the algorithm was looked up before");
    run_cycles::<_, SACK, DELAYED>(&mut queue, link, clock, network, hosts, log)
}

#[inline(never)]
fn run_any_cycles<const SACK: bool, const DELAYED: bool>(state: &mut State) -> SlowPathExit {
    let State { clock, network, queues, hosts } = state;
    let Queues { ports, log } = queues;
    let port = &mut ports[log.measured as usize];
    run_cycles::<_, SACK, DELAYED>(port, port.link, clock, network, hosts, log)
}

/// Repeat the packet cycle until the general engine is needed. That is soon: while packets are in flight,
/// timers are scanned every tenth of a second. `queue` is the measured queue, in front of `link`. Inlined
/// where the type of the queue is known, so that its hooks are constants.
#[inline(always)]
fn run_cycles<Q: QueueOps, const SACK: bool, const DELAYED: bool>(
    queue: &mut Q,
    link: u32,
    clock: &mut Clock,
    network: &mut Network,
    hosts: &mut Hosts,
    log: &mut QueueLog,
) -> SlowPathExit {
    let Network { each, kinds, fixed_path, steps, round_trips, .. } = network;
    let (steps, round_trips) = (&mut steps[..], &mut round_trips[..]);
    let mut links = Links { each, kinds, fixed_path };
    let Hosts {
        groups, flows, applications, arrivals, rto_scan, delayed_acks, released, reports, pools, ..
    } = hosts;
    let (groups, flows) = (&groups[..], &mut flows[..]);
    let QueueLog { measured, recorder, losses, .. } = log;
    let measured = *measured;
    loop {
        let event = clock.calendar.peek();
        let mut now = clock.service.time;
        if event.time() < now || event.time() == now && event < clock.service.event(measured) {
            now = event.time();
            let packet = clock.calendar.pop();
            // The packet of an event without one is on no step.
            if steps.get(packet.step as usize).is_none_or(|step| step.queue != measured) {
                if event.kind() == EventKind::Sample && recorder.has_one() {
                    recorder.sample_one(now, queue.sampled(), &mut clock.calendar);
                    continue;
                }
                let is_arrival = event.is_arrival();
                return if is_arrival {
                    SlowPathExit::Arrival(event, *packet)
                } else {
                    SlowPathExit::Event(event)
                };
            }
            packet.step += 1;
            if !enqueue(queue, now, packet, true, losses, flows, reports) {
                continue;
            }
        }
        let Some(slot) = dequeue(queue, now, true, losses, flows, reports) else {
            clock.service = Service::NONE;
            continue;
        };
        let packet = queue.packet(slot);
        let step = &mut steps[packet.step as usize];
        let (end, at) = links.transmit(link, &mut step.hop, now, packet.bytes);
        clock.service = Service { time: end, since: now };
        let (number, host) = (packet.flow, packet.host);
        let flow = &mut flows[number as usize];
        flow.counts.queue_left += 1;
        let Some(round_trip) = round_trips.get_mut(step.round_trip as usize) else {
            return SlowPathExit::Left(at, *packet);
        };
        let group = &groups[flow.group as usize];
        let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else {
            return SlowPathExit::Left(at, *packet);
        };

        if DELAYED {
            let is_next = |arrival| arrival < delayed_acks.next();
            let is_plain = links.fixed_path.free_arrival(at, packet.bytes).is_some_and(is_next);
            if !is_plain || connection.answers_twice(tcp, packet) {
                return SlowPathExit::Left(at, *packet);
            }
        }
        let data = round_trip.cross_to_receiver(&mut links, host, at, packet.bytes);
        let in_window = flow.counts.receive(&mut flow.losses, data.arrival, Time(packet.stamp), clock.window);
        if arrivals.counts_tcp && in_window {
            arrivals.add_tcp_delay(flow.group, data.arrival - Time(packet.stamp));
        }
        let pool = &mut pools.receivers;
        let plain = if DELAYED && tcp.options.delayed_ack > Span::ZERO {
            let arrival = Arrival { packet, at: data.arrival };
            match connection.receive_and_delay(group, tcp, arrival, in_window, applications, pool) {
                Answer::Plain(next) => Some(next),
                Answer::Any => None,
                Answer::Later(until) => {
                    links.fixed_path.pass_to_receiver(at);
                    let event = Event::new(until, until - data.arrival, EventKind::DelayedAck, number);
                    delayed_acks.push(&mut clock.calendar, tcp.options.delayed_ack, event);
                    continue;
                }
            }
        } else {
            connection.receive::<SACK>(group, tcp, packet, in_window, applications, pool)
        };

        let Connection { sender, receiver } = &mut *connection;
        let expires = sender.expires();
        let reacts = |sender: &Sender, at: Time| !must_wait(sender, at, clock.horizon) && at < expires;
        let window = || tcp::initial_window(&tcp.options, tcp.payload);
        let (out, pool) = (&mut *released, &mut pools.senders);
        let (at, reaction) = if let Some(next) = plain {
            let at = round_trip.cross_to_sender(
                &mut links,
                host,
                data,
                AckSize { plain: tcp.ack, bytes: tcp.ack, blocks: 0 },
            );
            let ack = AckView { next, ece: false, sack: None, sent: Time::ZERO, marks: 0 };
            (at, reacts(sender, at).then(|| sender.react(&tcp.options, window, ack, at, out, pool)))
        } else {
            let reported = if SACK && tcp.options.sack { receiver.sack_blocks() } else { None };
            let blocks = reported.map_or(0, block_count);
            let bytes = tcp.ack + blocks * tcp.options.sack_bytes;
            let at =
                round_trip.cross_to_sender(&mut links, host, data, AckSize { plain: tcp.ack, bytes, blocks });
            let (next, ece) = (receiver.next(), receiver.ece() && tcp.options.ecn);
            let ack = AckView { next, ece, sack: reported, sent: Time::ZERO, marks: 0 };
            (at, reacts(sender, at).then(|| sender.react(&tcp.options, window, ack, at, out, pool)))
        };
        let Some(limit) = reaction else {
            let last_step = round_trip.last_step(steps, connection.ack_bytes_and_sack(tcp).0 > tcp.ack);
            let backward = FlowRoute { flow: number, route: Route { first: last_step, host } };
            let ack = connection.ack(backward, group.class, tcp, data.arrival, reports);
            return SlowPathExit::Ack(at, ack);
        };
        let (hop, first) = round_trip.first_hop();
        let route = Route { first, host };
        let mut active = ActiveFlow { number, route, connection, group, applications };
        transmit_allowed(&mut clock.calendar, &mut links, hop, &mut active, limit, released, at);
        let timer = FlowTimer { flow: number, event: &mut flow.rto_event };
        rto_scan.arm(&mut clock.calendar, timer, expires, active.connection.sender.expires(), at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Simulation, tcp::schema};
    use serde_json::json;

    /// At 10 Gbit/s, where the loop runs for a tenth of a second, or 250,000 events; bursts of slow start
    /// are shorter than that. Seen to fail: no poll.
    #[test]
    fn control_is_polled_often() {
        let options = schema::resolve("rfc", &[]).unwrap();
        let host = |rate: u64| json!({"rate": rate, "delays": [5_000_000]});
        let plan = json!({"duration": 3_000_000_000u64, "warmup": 0, "topology": {"dumbbell": {
            "rate": 10_000_000_000u64, "delay": 5_000_000, "queue": {"limit": "10000p", "aqm": "droptail"},
            "access": host(1_000_000_000), "server": host(100_000_000_000)}},
            "traffic": [{"name": "ftp", "count": 100, "start": {"constant": 0.0},
                "kind": {"tcp": {"payload": 960, "header": 40, "ack": 40, "options": options}}}]});
        let plan: Plan = serde_json::from_value(plan).unwrap();
        let run = |many: u64| {
            let Simulation { mut state, mut clients, .. } = Simulation::new(&plan, 1).unwrap();
            let mut fast_loop = FastLoop::new(&mut state.queues, &state.hosts.groups);
            let mut done = Vec::new();
            while state.clock.peek(0).time() < state.clock.end && done.len() < 1_000_000 {
                done.push(fast_loop.run(&mut state, &mut clients, many));
            }
            done
        };
        let many = 2000;
        let done = run(many);
        let (all, most) = (done.iter().sum::<u64>(), *done.iter().max().unwrap());
        assert!(all > 2_000_000 && most < 40 * many, "{most} of {all}");
        let often = run(20); // all flows start at once, and that many events have the same time
        assert!(often.len() < 400_000 && often.iter().sum::<u64>() == all, "{}", often.len());
    }
}
