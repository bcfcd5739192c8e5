//! The fast path: how most packets go round, in straight code.
//!
//! Most simulated packets come to the measured queue, leave it, and make a round trip ([`crate::path::RoundTrip`]): over links that
//! hold up nobody for long to the receiver, back as an acknowledgement, and what their sender answers is on its way to
//! the queue. This loop does what [`Simulation::queue_up`], [`Simulation::depart`], [`Simulation::carry`],
//! [`Simulation::receive`] and [`Simulation::react`] do one after the other, with queue and flow at hand all the time.
//! Whatever is out of the ordinary it leaves to them, or to [`RoundTripCursor`]. What is ordinary where packets are missing depends on
//! selective acknowledgements: there is a loop with and one without.

mod queue_kind;
mod round_trip;

use crate::{
    engine::{Event, EventKind, FlowTimer, Service},
    flow::Connection,
    flow::Endpoint,
    flow::Group,
    packet::{Packet, block_count},
    path::Network,
    queue::QueueStats,
    sim::Simulation,
    tcp::Sender,
};
use queue_kind::{Any, One, QueueOps, Which};
use round_trip::{RoundTripCursor, receive};
use sojourn_aqm::{codel::CoDel, droptail::DropTail, red::Red};

/// What is out of the ordinary, at some time.
enum SlowPathExit {
    /// An event that is not of this way, with which no packet comes.
    Due(Event),
    /// The packet that comes to the end of another link then.
    Arrived(Event, Packet),
    /// A packet that has left the measured queue comes to the end of its link then, and makes no round trip.
    Left(u64, Packet),
    /// An acknowledgement comes then to a sender that cannot answer it yet, or whose timer expires before.
    Answer(u64, Packet),
}

impl Simulation {
    /// Handle the next events before the end, about `many`; how many there were. If nothing rare happens for many more,
    /// an event that is nothing else ends it the next time.
    pub(crate) fn run_fast_path(&mut self, many: u64) -> u64 {
        let port = &mut self.network.ports[self.measured as usize];
        let reports = self.groups.iter().filter_map(Group::tcp).any(|tcp| tcp.options.sack);
        let run_cycles = if One::<Red>::of(port).is_some() {
            Simulation::cycles_with::<One<Red>>(reports)
        } else if One::<DropTail>::of(port).is_some() {
            Simulation::cycles_with::<One<DropTail>>(reports)
        } else if One::<CoDel>::of(port).is_some() {
            Simulation::cycles_with::<One<CoDel>>(reports)
        } else {
            Simulation::cycles_with::<Any>(reports)
        };
        let (mut events, mut is_poll, from) = (0, false, self.peek().time());
        while events < many && !is_poll {
            let before = self.handled();
            let (now, rare) = run_cycles(self);
            events += self.handled() - before;
            if !self.network.ports[self.measured as usize].stats.outcomes.is_empty() {
                self.report_outcomes(self.measured, now);
            }
            match rare {
                SlowPathExit::Due(event) if event.kind() == EventKind::End => break,
                SlowPathExit::Due(event) if event.kind() == EventKind::Poll => {
                    is_poll = event.time() == self.next_poll
                }
                SlowPathExit::Due(event) => {
                    events += 1;
                    self.handle(event);
                }
                SlowPathExit::Arrived(event, packet) => {
                    events += 1;
                    self.on_event(event, packet);
                }
                SlowPathExit::Left(at, mut packet) => {
                    if self.leave(at, &mut packet) {
                        self.carry(at, packet);
                    }
                }
                SlowPathExit::Answer(at, packet) => self.react(at, &packet),
            }
        }
        let now = self.peek().time();
        if now < self.end && (is_poll || events > 2 * many) {
            // As long as so many took; at most twice as long as these did, and later than what is due at once.
            let span = u128::from(now - from) * u128::from(many) / u128::from(events.max(many / 2));
            self.next_poll = (now + (span as u64).max(1)).min(self.end);
            self.calendar.push_timer(Event::new(self.next_poll, u64::MAX, EventKind::Poll, 0));
        }
        events
    }

    /// How many packets have come to the measured queue, how many transmissions have ended there, and the samples of it
    /// alone.
    fn handled(&self) -> u64 {
        let QueueStats { counters, busy, .. } = &self.network.ports[self.measured as usize].stats;
        let samples = if self.recorder.has_one() { self.recorder.samples() } else { 0 };
        counters.arrivals + counters.departures - u64::from(*busy) + samples
    }

    /// The loop for this queue; `reports`: whether some flows have selective acknowledgements.
    fn cycles_with<W: Which>(reports: bool) -> fn(&mut Simulation) -> (u64, SlowPathExit) {
        if reports { Simulation::run_cycles::<W, true> } else { Simulation::run_cycles::<W, false> }
    }

    /// Take packets round until something rare happens: when, what. That is soon, since while packets are under way
    /// somebody's timer runs. `SACK`: acknowledgements may report blocks; then other duplicates are rare.
    #[inline(never)]
    fn run_cycles<W: Which, const SACK: bool>(&mut self) -> (u64, SlowPathExit) {
        let (end, warmup, horizon, measured) = (self.end, self.warmup, self.horizon, self.measured);
        let Simulation {
            calendar,
            service,
            network,
            groups,
            flows,
            rto_scan,
            released,
            sacks,
            pool,
            loss_log,
            recorder,
            ..
        } = self;
        let Network { links, kinds, ports, steps, round_trips, fixed_path, .. } = network;
        let (links, kinds, steps, round_trips) =
            (&mut links[..], &mut kinds[..], &mut steps[..], &mut round_trips[..]);
        let (flows, groups) = (&mut flows[..], &groups[..]);
        let port = &mut ports[measured as usize];
        let out = port.link as usize;
        let mut queue = W::of(port).expect("looked up before");
        loop {
            let event = calendar.peek();
            if event.time() < service.time || event.time() == service.time && event < service.event(measured)
            {
                let now = event.time();
                let packet = calendar.pop();
                // With other events comes no packet, which is on no step.
                if steps.get(packet.step as usize).is_none_or(|step| step.queue != measured) {
                    if event.kind() == EventKind::Sample && recorder.has_one() {
                        queue.sample(now, recorder, calendar);
                        continue;
                    }
                    let is_arrival = event.is_arrival();
                    return (
                        now,
                        if is_arrival {
                            SlowPathExit::Arrived(event, *packet)
                        } else {
                            SlowPathExit::Due(event)
                        },
                    );
                }
                packet.step += 1;
                if !queue.enqueue(now, packet) {
                    queue.report_outcomes(now, loss_log, flows, sacks);
                }
                if !queue.stats().busy && queue.len() > 0 {
                    *service = Service::first(now);
                }
                continue;
            }
            let now = service.time;
            let was_busy = queue.stats().busy;
            let Some(packet) = queue.dequeue(now) else {
                *service = Service::NONE;
                if was_busy {
                    queue.on_idle(now);
                }
                if queue.drops_late() {
                    queue.report_outcomes(now, loss_log, flows, sacks);
                }
                continue;
            };
            let step = &mut steps[packet.step as usize];
            let sent = links[out].transmit(&mut step.hop.tx_time, kinds, now, packet.bytes);
            let mut at = step.hop.tx_time.arrival(sent);
            *service = Service { time: sent, since: now };
            let number = packet.flow;
            let flow = &mut flows[number as usize];
            flow.counts.queue_left += 1;
            let Some(round_trip) = round_trips.get_mut(step.round_trip as usize) else {
                return (now, SlowPathExit::Left(at, *packet));
            };
            let group = &groups[flow.group as usize];
            let (Endpoint::Tcp(connection), Some(tcp)) = (&mut flow.endpoint, group.tcp()) else {
                return (now, SlowPathExit::Left(at, *packet));
            };

            let host = packet.host;
            // Made anew wherever it is used: where it is used in line, nothing of it need be in memory then.
            macro_rules! cursor {
                () => {
                    RoundTripCursor {
                        number,
                        host,
                        round_trip: &mut *round_trip,
                        links: &mut *links,
                        kinds: &mut *kinds,
                        fixed_path: &mut *fixed_path,
                    }
                };
            }
            let (entered, is_free) = (at, fixed_path.is_free(at, packet.bytes));
            at = if is_free { at + fixed_path.to_receiver } else { cursor!().forward(at, packet.bytes) };
            let in_window = flow.counts.receive(&mut flow.losses, (at, packet.stamp), (warmup, end));
            let Connection { sender, receiver } = &mut *connection;
            let before = sender.expires();
            let is_late = |at, sender: &Sender| at >= horizon || sender.pending_acks > 0 || before <= at;
            let (o, is_marked) = (&tcp.options, packet.is_marked());
            let limit = if let Some(next) =
                receiver.receive_usual::<SACK>(packet.number, is_marked, &mut pool.receivers)
            {
                at = if is_free && tcp.ack == fixed_path.ack {
                    fixed_path.pass(entered)
                } else {
                    cursor!().reverse(is_free.then_some((entered, packet.bytes)), at, tcp.ack)
                };
                at = cursor!().last_hop(at, tcp.ack);
                if is_late(at, sender) {
                    let ack = cursor!().acknowledgement((connection, group, tcp), (tcp.ack, 0), steps);
                    return (now, SlowPathExit::Answer(at, ack));
                }
                sender.on_usual_ack(o, next, at)
            } else {
                if !SACK || !receiver.lengthen(o, packet.number, is_marked) {
                    receive((connection, tcp), packet, in_window, &mut pool.receivers);
                }
                let Connection { sender, receiver } = &mut *connection;
                let reported = if SACK && o.sack { receiver.reported() } else { None };
                let blocks = reported.map_or(0, block_count);
                let bytes = tcp.ack + blocks * o.sack_bytes;
                at = if !is_free || tcp.ack != fixed_path.ack {
                    cursor!().reverse(is_free.then_some((entered, packet.bytes)), at, bytes)
                } else if blocks > 0 {
                    fixed_path.pass_with_sack(kinds, entered, bytes, blocks as usize - 1)
                } else {
                    fixed_path.pass(entered)
                };
                at = if blocks > 0 {
                    cursor!().last_hop_sack(at, bytes)
                } else {
                    cursor!().last_hop(at, bytes)
                };
                if is_late(at, sender) {
                    let report = (bytes, sacks.put(connection.report(tcp).1));
                    let ack = cursor!().acknowledgement((connection, group, tcp), report, steps);
                    return (now, SlowPathExit::Answer(at, ack));
                }
                match reported {
                    Some(sack) if !receiver.echo() => {
                        sender.on_one_more(o, receiver.next(), sack, &mut pool.senders)
                    }
                    _ => None,
                }
            };
            if let Some(limit) = limit {
                while let Some(segment) = connection.sender.emit_next(limit, at) {
                    cursor!().send(calendar, (connection, group, tcp), segment, at);
                }
            } else {
                cursor!().react(calendar, (connection, group, tcp), at, (released, &mut pool.senders));
            }
            let timer = FlowTimer { flow: number, event: &mut flow.rto_event };
            rto_scan.arm(calendar, timer, before, connection.sender.expires(), at);
            if queue.drops_late() {
                queue.report_outcomes(now, loss_log, flows, sacks);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, tcp::schema};
    use serde_json::json;

    /// At 10 Gbit/s, where nothing rare happens for a tenth of a second, or 250,000 events; bursts of slow start are shorter
    /// than that. Seen to fail: no such look.
    #[test]
    fn the_outside_is_looked_at_often() {
        let options = schema::resolve("default", &[]).unwrap();
        let host = |rate: u64| json!({"rate": rate, "delays": [5_000_000]});
        let plan = json!({"duration": 3_000_000_000u64, "warmup": 0, "topology": {"dumbbell": {
            "rate": 10_000_000_000u64, "delay": 5_000_000, "queue": {"limit": "10000p", "aqm": "droptail"},
            "access": host(1_000_000_000), "server": host(100_000_000_000)}},
            "traffic": [{"name": "ftp", "count": 100, "start": {"constant": 0.0},
                "kind": {"tcp": {"payload": 960, "header": 40, "ack": 40, "options": options}}}]});
        let plan: Plan = serde_json::from_value(plan).unwrap();
        let run = |many: u64| {
            let mut simulation = Simulation::new(&plan, 1).unwrap();
            let mut done = Vec::new();
            while simulation.peek().time() < plan.duration && done.len() < 1_000_000 {
                done.push(simulation.run_fast_path(many));
            }
            done
        };
        let many = 2000;
        let done = run(many);
        let (all, most) = (done.iter().sum::<u64>(), *done.iter().max().unwrap());
        assert!(all > 2_000_000 && most < 30 * many, "{most} of {all}");
        let often = run(20); // all flows start at once, and that many events are due at one time
        assert!(often.len() < 400_000 && often.iter().sum::<u64>() == all, "{}", often.len());
    }
}
