//! The express: how most packets go round, in straight code.
//!
//! Most simulated packets come to the measured queue, leave it, and make a lap ([`crate::net::Lap`]): over links that
//! hold up nobody for long to the receiver, back as an acknowledgement, and what their sender answers is on its way to
//! the queue. This loop does what [`Simulation::queue_up`], [`Simulation::depart`], [`Simulation::carry`],
//! [`Simulation::receive`] and [`Simulation::react`] do one after the other, with queue and flow at hand all the time.
//! Whatever is out of the ordinary it leaves to them.

use crate::{
    connection::{Connection, Special},
    engine::{Calendar, Event, Kind, Service},
    flow::{Agent, Flow},
    group::Group,
    losses::{Losses, Teller},
    net::{Chain, Clerk, Gate, Hop, Lap, Link, LinkKind, Network, Packet, Port, Route, Sack, Sacks, Step},
    plan::Tcp,
    simulation::Simulation,
    tcp::{self, Ack, Segment, Sender, SpareAsides, SpareReceivers},
};
use sojourn_aqm::{Aqm, codel::CoDel, droptail::DropTail, red::Red};
use std::marker::PhantomData;

/// What is out of the ordinary, at some time.
enum Rare {
    /// An event that is not of this way, and the packet that comes with it.
    Event(Event, Packet),
    /// A packet that has left the measured queue comes to the end of its link then, and makes no lap.
    Left(u64, Packet),
    /// An acknowledgement comes then to a sender that cannot answer it yet, or whose timer expires before.
    Answer(u64, Packet),
}

/// The measured queue as the loop sees it.
trait Queue {
    fn offer(&mut self, now: u64, packet: &mut Packet) -> bool;
    fn take(&mut self, now: u64) -> Option<&Packet>;
    fn on_idle(&mut self, now: u64);
    fn clerk(&mut self) -> &mut Clerk;
    /// Packets that wait.
    fn len(&self) -> u32;
    /// Whether departures may leave something to tell.
    fn drops_late(&self) -> bool;
    /// Let flows hear of packets that were dropped or marked.
    #[inline(always)]
    fn tell(&mut self, now: u64, losses: &mut Losses, flows: &mut [Flow], sacks: &mut Sacks) {
        if !self.clerk().fates.is_empty() {
            let teller = Teller { now, is_measured: true, waiting: self.len() };
            losses.tell(teller, self.clerk(), flows, sacks);
        }
    }
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
            let before = self.handled();
            let (now, rare) = go_round(self);
            events += self.handled() - before;
            if !self.network.ports[self.measured as usize].clerk.fates.is_empty() {
                self.tell(self.measured, now);
            }
            match rare {
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

    /// How many packets have come to the measured queue, and how many transmissions have ended there.
    fn handled(&self) -> u64 {
        let Clerk { counters, busy, .. } = &self.network.ports[self.measured as usize].clerk;
        counters.arrivals + counters.departures - u64::from(*busy)
    }

    /// Take packets round until something rare happens: when, what. That is soon, since while packets are under way
    /// somebody's timer runs.
    #[inline(never)]
    fn go_round<W: Which>(&mut self) -> (u64, Rare) {
        let (end, warmup, horizon, measured) = (self.end, self.warmup, self.horizon, self.measured);
        let Simulation {
            calendar,
            service,
            network,
            groups,
            flows,
            timers,
            released,
            sacks,
            spare,
            losses,
            ..
        } = self;
        let Network { links, kinds, ports, steps, laps, chain, .. } = network;
        let (links, kinds, steps, laps) = (&mut links[..], &mut kinds[..], &mut steps[..], &mut laps[..]);
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
                    return (now, Rare::Event(event, *packet));
                }
                packet.step += 1;
                if !queue.offer(now, packet) {
                    queue.tell(now, losses, flows, sacks);
                }
                if !queue.clerk().busy && queue.len() > 0 {
                    *service = Service::first(now);
                }
                continue;
            }
            let now = service.time;
            let was_busy = queue.clerk().busy;
            let Some(packet) = queue.take(now) else {
                *service = Service::NONE;
                if was_busy {
                    queue.on_idle(now);
                }
                if queue.drops_late() {
                    queue.tell(now, losses, flows, sacks);
                }
                continue;
            };
            let step = &mut steps[packet.step as usize];
            let sent = links[out].transmit(&mut step.hop.pace, kinds, now, packet.bytes);
            let mut at = step.hop.pace.arrival(sent);
            *service = Service { time: sent, since: now };
            let number = packet.flow;
            let flow = &mut flows[number as usize];
            flow.counts.queue_left += 1;
            let Some(lap) = laps.get_mut(step.lap as usize) else {
                return (now, Rare::Left(at, *packet));
            };
            let group = &groups[flow.group as usize];
            let (Agent::Tcp(connection), Some(tcp)) = (&mut flow.agent, group.tcp()) else {
                return (now, Rare::Left(at, *packet));
            };

            let host = packet.host;
            // Made anew wherever it is used: where it is used in line, nothing of it need be in memory then.
            macro_rules! way {
                () => {
                    Way {
                        number,
                        host,
                        lap: &mut *lap,
                        links: &mut *links,
                        kinds: &mut *kinds,
                        chain: &mut *chain,
                    }
                };
            }
            let (entered, is_free) = (at, chain.is_free(at, packet.bytes));
            at = if is_free { at + chain.to_receiver } else { way!().there(at, packet.bytes) };
            let in_window = flow.counts.receive(&mut flow.fates, (at, packet.stamp), (warmup, end));
            let before = connection.sender.expires();
            let is_late = |at, sender: &Sender| at >= horizon || sender.awaited > 0 || before <= at;
            let (o, is_marked) = (&tcp.options, packet.is_marked());
            if let Some(next) =
                connection.receiver.receive_usual(o, packet.number, is_marked, &mut spare.receivers)
            {
                at = if is_free && tcp.ack == chain.ack {
                    chain.pass(entered)
                } else {
                    way!().back(is_free.then_some((entered, packet.bytes)), at, tcp.ack)
                };
                at = way!().down(at, tcp.ack);
                if is_late(at, &connection.sender) {
                    let ack = way!().acknowledgement((connection, group, tcp), (tcp.ack, 0), steps);
                    return (now, Rare::Answer(at, ack));
                }
                if let Some(limit) = connection.sender.on_usual_ack(o, next, at, &mut spare.senders) {
                    while let Some(segment) = connection.sender.emit_next(limit, at) {
                        way!().send(calendar, (connection, group, tcp), segment, at);
                    }
                } else {
                    let ack = Ack { next, echo: false, sack: Sack::default() };
                    way!().react(calendar, (connection, group, tcp), ack, at, (released, &mut spare.senders));
                }
            } else {
                let (mut ack, bytes, sack) =
                    receive((connection, tcp), packet, in_window, sacks, &mut spare.receivers);
                at = if is_free && bytes == chain.ack {
                    chain.pass(entered)
                } else {
                    way!().back(is_free.then_some((entered, packet.bytes)), at, bytes)
                };
                at = way!().down(at, bytes);
                if is_late(at, &connection.sender) {
                    let ack = way!().acknowledgement((connection, group, tcp), (bytes, sack), steps);
                    return (now, Rare::Answer(at, ack));
                }
                ack.sack = sacks.take(sack);
                way!().react(calendar, (connection, group, tcp), ack, at, (released, &mut spare.senders));
            }
            timers.watch(calendar, (connection, number), before, at);
            if queue.drops_late() {
                queue.tell(now, losses, flows, sacks);
            }
        }
    }
}

/// The way of a packet from the measured queue on, round to it again.
struct Way<'a> {
    number: u32,
    host: u32,
    lap: &'a mut Lap,
    links: &'a mut [Link],
    kinds: &'a mut [LinkKind],
    chain: &'a mut Chain,
}

impl Way<'_> {
    /// When a packet of `bytes` is at the receiver.
    #[cold]
    #[inline(never)]
    fn there(&mut self, at: u64, bytes: u32) -> u64 {
        if self.chain.is_there() {
            return self.chain.there(self.links, self.kinds, at, bytes);
        }
        cross_all(&mut self.lap.there, self.links, self.kinds, self.host, at, bytes)
    }

    /// When an acknowledgement of `bytes` is at the sender's own link; `untold`: when a packet entered the chain that this
    /// does not know of yet, and its size.
    #[cold]
    #[inline(never)]
    fn back(&mut self, untold: Option<(u64, u32)>, at: u64, bytes: u32) -> u64 {
        if let Some((entered, data)) = untold {
            if bytes > self.chain.ack {
                return self.chain.pass_larger(self.links, self.kinds, entered, bytes);
            }
            self.chain.there(self.links, self.kinds, entered, data);
        }
        if self.chain.is_there() {
            return self.chain.back(self.links, self.kinds, at, bytes);
        }
        cross_all(&mut self.lap.back, self.links, self.kinds, self.host, at, bytes)
    }

    /// When an acknowledgement of `bytes` is at the sender.
    #[inline(always)]
    fn down(&mut self, at: u64, bytes: u32) -> u64 {
        let link = &mut self.links[self.lap.down.link(self.host) as usize];
        link.cross(&mut self.lap.down.pace, self.kinds, at, bytes)
    }

    /// The acknowledgement, for a sender that cannot answer it yet; `report`: its size and blocks.
    #[inline(never)]
    fn acknowledgement(
        &self,
        (connection, group, tcp): (&Connection, &Group, &Tcp),
        report: (u32, u64),
        steps: &mut [Step],
    ) -> Packet {
        let Lap { last, down, .. } = *self.lap;
        steps[last as usize].hop = down; // should it wait, how long it took matters
        connection.answer_with(report, self.number, (last, self.host), group.class, tcp)
    }

    /// A packet leaves the sender for its first link, and is filed for the queue.
    #[inline(always)]
    fn send(
        &mut self,
        calendar: &mut Calendar<Packet>,
        (connection, group, tcp): (&mut Connection, &Group, &Tcp),
        segment: Segment,
        at: u64,
    ) {
        let Way { number, host, lap, links, kinds, .. } = self;
        let route = Route { first: lap.begins, host: *host };
        let first = lap.first.link(*host);
        let (link, pace) = (&mut links[first as usize], &mut lap.first.pace);
        calendar.push_with(
            #[inline(always)]
            |packet| {
                connection.write_marked(packet, (*number, route), (&group.full, tcp), segment, at);
                let (arrival, place) = link.cross_in_place(pace, kinds, at, packet.bytes);
                Event::arrival(arrival, pace.rank(), place, first)
            },
        );
    }

    /// An acknowledgement reaches the sender, which may have much to do.
    #[inline(never)]
    fn react(
        &mut self,
        calendar: &mut Calendar<Packet>,
        (connection, group, tcp): (&mut Connection, &Group, &Tcp),
        ack: Ack,
        at: u64,
        (released, spare): (&mut Vec<Segment>, &mut SpareAsides),
    ) {
        let window = || tcp::initial_window(&tcp.options, tcp.payload);
        connection.sender.on_ack(&tcp.options, window, ack, at, (released, spare));
        for segment in released.drain(..) {
            self.send(calendar, (connection, group, tcp), segment, at);
        }
    }
}

/// A packet that is not as nearly all are reaches the receiver: its acknowledgement but for the blocks, the size of that,
/// and where the blocks are.
#[inline(never)]
fn receive(
    (connection, tcp): (&mut Connection, &Tcp),
    packet: &Packet,
    in_window: bool,
    sacks: &mut Sacks,
    spare: &mut SpareReceivers<Box<Special>>,
) -> (Ack, u32, u64) {
    let o = &tcp.options;
    let signals = (packet.is_marked(), packet.flag);
    let received = connection.receiver.receive_any(o, packet.number, signals, spare);
    if in_window {
        connection.count(tcp, packet.number, received.is_new);
    }
    let (bytes, sack) = connection.report(tcp, sacks);
    let (next, echo) = (connection.receiver.next(), connection.receiver.echo() && o.ecn);
    (Ack { next, echo, sack: Sack::default() }, bytes, sack)
}

/// Cross the links of `hops` one after the other: when the packet is there.
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
    fn offer(&mut self, now: u64, packet: &mut Packet) -> bool {
        self.offer(now, packet)
    }
    #[inline(always)]
    fn take(&mut self, now: u64) -> Option<&Packet> {
        self.again().take(now)
    }
    fn on_idle(&mut self, now: u64) {
        self.on_idle(now);
    }
    fn clerk(&mut self) -> &mut Clerk {
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
    fn offer(&mut self, now: u64, packet: &mut Packet) -> bool {
        (**self).offer(now, packet)
    }
    #[inline(always)]
    fn take(&mut self, now: u64) -> Option<&Packet> {
        (**self).take(now)
    }
    fn on_idle(&mut self, now: u64) {
        (**self).on_idle(now);
    }
    fn clerk(&mut self) -> &mut Clerk {
        &mut self.clerk
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
