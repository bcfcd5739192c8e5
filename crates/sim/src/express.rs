//! The express: how most packets go round, in straight code.
//!
//! Most simulated packets come to the measured queue, leave it, and make a lap ([`crate::net::Lap`]): over links that
//! hold up nobody for long to the receiver, back as an acknowledgement, and what their sender answers is on its way to
//! the queue. This loop does what [`Simulation::queue_up`], [`Simulation::depart`], [`Simulation::carry`],
//! [`Simulation::receive`] and [`Simulation::react`] do one after the other, with queue and flow at hand all the time.
//! Whatever is out of the ordinary it leaves to them.

use crate::{
    connection::Connection,
    engine::{Calendar, Event, Kind, Service},
    flow::Agent,
    net::{Clerk, Gate, Hop, Lap, Link, LinkKind, Network, Packet, Port, Route},
    plan::Tcp,
    simulation::Simulation,
    tcp::{self, Ack, Segment},
};
use sojourn_aqm::{Aqm, codel::CoDel, droptail::DropTail, red::Red};
use std::marker::PhantomData;

/// What is out of the ordinary, at some time.
enum Rare {
    /// As many packets left the queue as were asked for.
    Enough,
    /// An event that is not of this way, and the packet that comes with it.
    Event(Event, Packet),
    /// The measured queue has something to tell.
    Told,
    /// A packet that has left the measured queue comes to the end of its link then, and makes no lap.
    Left(u64, Packet),
    /// An acknowledgement comes then to a sender that cannot answer it yet, or whose timer expires before.
    Answer(u64, Packet),
}

/// The measured queue as the loop sees it.
trait Queue {
    fn offer(&mut self, now: u64, packet: &mut Packet);
    fn take(&mut self, now: u64) -> Option<&Packet>;
    fn on_idle(&mut self, now: u64);
    fn clerk(&self) -> &Clerk;
    /// Packets that wait.
    fn len(&self) -> u32;
    /// Whether departures may leave something to tell.
    fn drops_late(&self) -> bool;
}

/// Which kind of queue it is: there is a loop for each, so that what nearly everybody simulates is settled when that is
/// compiled.
trait Which {
    type Queue<'a>: Queue;
    fn of(port: &mut Port) -> Option<Self::Queue<'_>>;
}

/// One line with this algorithm, which must not look at who waits.
struct One<A>(PhantomData<A>);

/// Any.
struct Any;

impl Simulation {
    /// Handle the next events before the end, about `many`; how many there were.
    pub(crate) fn run_express(&mut self, many: u64) -> u64 {
        let port = &mut self.network.ports[self.measured as usize];
        let go_round = if One::<Red>::of(port).is_some() {
            Simulation::go_round::<One<Red>>
        } else if One::<DropTail>::of(port).is_some() {
            Simulation::go_round::<One<DropTail>>
        } else if One::<CoDel>::of(port).is_some() {
            Simulation::go_round::<One<CoDel>>
        } else {
            Simulation::go_round::<Any>
        };
        let mut events = 0;
        while events < many {
            let arrivals = self.arrivals();
            let (departures, now, rare) = go_round(self, many - events);
            events += departures + (self.arrivals() - arrivals);
            if !self.network.ports[self.measured as usize].clerk.fates.is_empty() {
                self.tell(self.measured, now);
            }
            match rare {
                Rare::Enough | Rare::Told => {}
                Rare::Event(event, _) if event.kind() == Kind::End => break,
                Rare::Event(event, packet) => {
                    events += 1;
                    self.on_event(event, packet);
                }
                Rare::Left(at, mut packet) => {
                    if self.leave(at, &mut packet) {
                        self.carry(at, packet);
                    }
                }
                Rare::Answer(at, packet) => self.react(at, &packet),
            }
        }
        events
    }

    /// How many packets have come to the measured queue.
    fn arrivals(&self) -> u64 {
        self.network.ports[self.measured as usize].clerk.counters.arrivals
    }

    /// Take packets round until `many` have left the queue or something rare happens: how many have, when, what.
    #[inline(never)]
    fn go_round<W: Which>(&mut self, many: u64) -> (u64, u64, Rare) {
        let (end, warmup, horizon, measured) = (self.end, self.warmup, self.horizon, self.measured);
        let Simulation { calendar, service, network, groups, flows, timers, released, sacks, .. } = self;
        let Network { links, kinds, ports, steps, laps, chain, .. } = network;
        let (links, kinds, steps, laps) = (&mut links[..], &mut kinds[..], &mut steps[..], &mut laps[..]);
        let (flows, groups) = (&mut flows[..], &groups[..]);
        let port = &mut ports[measured as usize];
        let out = port.link as usize;
        let mut queue = W::of(port).expect("looked up before");
        let mut departures = 0;
        loop {
            let event = calendar.peek();
            if event.time() < service.time || event.time() == service.time && event < service.event(measured)
            {
                let now = event.time();
                let packet = calendar.pop();
                if !event.is_arrival() || steps[packet.step as usize].queue != measured {
                    return (departures, now, Rare::Event(event, *packet));
                }
                packet.step += 1;
                queue.offer(now, packet);
                if !queue.clerk().busy && queue.len() > 0 {
                    *service = Service { time: now, age: u64::MAX }; // before anything else
                }
                if !queue.clerk().fates.is_empty() {
                    return (departures, now, Rare::Told);
                }
                continue;
            }
            let now = service.time;
            if departures == many {
                return (departures, now, Rare::Enough);
            }
            *service = Service::NONE;
            let was_busy = queue.clerk().busy;
            departures += u64::from(was_busy);
            let Some(packet) = queue.take(now) else {
                if was_busy {
                    queue.on_idle(now);
                }
                if queue.drops_late() && !queue.clerk().fates.is_empty() {
                    return (departures, now, Rare::Told);
                }
                continue;
            };
            let step = &mut steps[packet.step as usize];
            let sent = links[out].transmit(&mut step.hop.pace, kinds, now, packet.bytes);
            let mut at = step.hop.pace.arrival(sent);
            *service = Service { time: sent, age: sent - now };
            let number = packet.flow;
            let flow = &mut flows[number as usize];
            flow.counts.queue_left += 1;
            let Some(lap) = laps.get_mut(step.lap as usize) else {
                return (departures, now, Rare::Left(at, *packet));
            };
            let group = &groups[flow.group as usize];
            let (Agent::Tcp(connection), Some(tcp)) = (&mut flow.agent, group.tcp()) else {
                return (departures, now, Rare::Left(at, *packet));
            };

            let host = packet.host;
            let (entered, is_free) =
                (at, chain.as_ref().is_some_and(|chain| chain.is_free(at, packet.bytes)));
            match chain {
                Some(chain) if is_free => at += chain.to_receiver,
                Some(chain) => at = chain.there(links, kinds, at, packet.bytes),
                None => at = cross_all(&mut lap.there, links, kinds, host, at, packet.bytes),
            }
            let in_window = flow.counts.receive(&mut flow.fates, (at, packet.stamp), (warmup, end));
            let (mut echo, mut bytes, mut sack) = (false, tcp.ack, 0);
            let (o, is_marked) = (&tcp.options, packet.is_marked());
            let usual = connection.receiver.receive_usual(o, packet.number, is_marked);
            let next = usual.unwrap_or_else(|| {
                let received = connection.receiver.receive_any(o, packet.number, is_marked, packet.flag);
                echo = connection.receiver.echo() && o.ecn;
                (bytes, sack) = connection.report(tcp, sacks);
                if in_window {
                    connection.count(tcp, packet.number, received.is_new);
                }
                connection.receiver.next()
            });
            match chain {
                Some(chain) if is_free && bytes == chain.ack => at = chain.pass(entered),
                Some(chain) => {
                    if is_free {
                        chain.there(links, kinds, entered, packet.bytes);
                    }
                    at = chain.back(links, kinds, at, bytes);
                }
                None => at = cross_all(&mut lap.back, links, kinds, host, at, bytes),
            }
            let link = &mut links[lap.down.link(host) as usize];
            at = link.cross(&mut lap.down.pace, kinds, at, bytes);

            let before = connection.sender.deadline();
            let expires_before = before.is_some_and(|deadline| deadline <= at);
            if at >= horizon || connection.sender.awaited > 0 || expires_before {
                let ack = connection.answer_with((bytes, sack), number, (lap.last, host), group.class, tcp);
                steps[lap.last as usize].hop = lap.down; // should it wait, how long it took matters
                return (departures, now, Rare::Answer(at, ack));
            }
            let mut limit = None;
            if !echo && sack == 0 {
                limit = connection.sender.on_usual_ack(&tcp.options, next, at);
            }
            if let Some(limit) = limit {
                let mut outbound = Outbound { number, host, lap, links, kinds, calendar };
                while let Some(segment) = connection.sender.emit_next(limit, at) {
                    outbound.send(connection, (&group.full, tcp), segment, at);
                }
            } else {
                let ack = Ack { next, echo, sack: sacks.take(sack) };
                let window = tcp::initial_window(&tcp.options, tcp.payload);
                connection.sender.on_other_ack(&tcp.options, window, ack, at, released);
                let mut outbound = Outbound { number, host, lap, links, kinds, calendar };
                outbound.send_all(connection, (&group.full, tcp), released, at);
            }
            timers.watch(calendar, (connection, number), before, at);
            if queue.drops_late() && !queue.clerk().fates.is_empty() {
                return (departures, now, Rare::Told);
            }
        }
    }
}

/// Where the packets of a sender go: over its own first link to the queue.
struct Outbound<'a> {
    number: u32,
    host: u32,
    lap: &'a mut Lap,
    links: &'a mut [Link],
    kinds: &'a mut [LinkKind],
    calendar: &'a mut Calendar<Packet>,
}

impl Outbound<'_> {
    /// A packet goes.
    #[inline(always)]
    fn send(&mut self, connection: &mut Connection, full: (&Packet, &Tcp), segment: Segment, at: u64) {
        let Outbound { number, host, lap, links, kinds, calendar } = self;
        let route = Route { first: lap.begins, host: *host };
        let first = lap.first.link(*host);
        let (link, pace) = (&mut links[first as usize], &mut lap.first.pace);
        calendar.push_with(
            #[inline(always)]
            |packet| {
                connection.write_marked(packet, (*number, route), full, segment, at);
                let arrival = link.cross(pace, kinds, at, packet.bytes);
                Event::arrival(arrival, pace.rank(), link.place(), first)
            },
        );
    }

    /// What an unusual acknowledgement has released.
    #[inline(never)]
    fn send_all(
        &mut self,
        connection: &mut Connection,
        full: (&Packet, &Tcp),
        released: &mut Vec<Segment>,
        at: u64,
    ) {
        for segment in &*released {
            self.send(connection, full, *segment, at);
        }
        released.clear();
    }
}

/// Cross the links of `hops` one after the other: when the packet is there.
#[inline(never)]
fn cross_all(
    hops: &mut [Hop],
    links: &mut [Link],
    kinds: &mut [LinkKind],
    host: u32,
    at: u64,
    bytes: u32,
) -> u64 {
    let cross = |at, hop: &mut Hop| links[hop.link(host) as usize].cross(&mut hop.pace, kinds, at, bytes);
    hops.iter_mut().fold(at, cross)
}

impl<A: Aqm> Queue for Gate<'_, A> {
    #[inline(always)]
    fn offer(&mut self, now: u64, packet: &mut Packet) {
        self.offer(now, packet);
    }
    #[inline(always)]
    fn take(&mut self, now: u64) -> Option<&Packet> {
        self.take(now)
    }
    fn on_idle(&mut self, now: u64) {
        self.on_idle(now);
    }
    fn clerk(&self) -> &Clerk {
        self.clerk
    }
    fn len(&self) -> u32 {
        self.len()
    }
    fn drops_late(&self) -> bool {
        self.drops_late()
    }
}

impl Queue for &mut Port {
    #[inline(always)]
    fn offer(&mut self, now: u64, packet: &mut Packet) {
        (**self).offer(now, packet);
    }
    #[inline(always)]
    fn take(&mut self, now: u64) -> Option<&Packet> {
        (**self).take(now)
    }
    fn on_idle(&mut self, now: u64) {
        (**self).on_idle(now);
    }
    fn clerk(&self) -> &Clerk {
        &self.clerk
    }
    fn len(&self) -> u32 {
        self.backlog().0
    }
    fn drops_late(&self) -> bool {
        true
    }
}

impl<A: Aqm> Which for One<A> {
    type Queue<'a> = Gate<'a, A>;
    fn of(port: &mut Port) -> Option<Gate<'_, A>> {
        port.gate_of()
    }
}

impl Which for Any {
    type Queue<'a> = &'a mut Port;
    fn of(port: &mut Port) -> Option<&mut Port> {
        Some(port)
    }
}
