//! The route of every flow, and how far a packet may run ahead on it.
//!
//! A packet that enters a link which never loses can be told its arrival time at once. If the next link
//! is fed by this one alone, packets meet it in the same order whether they are handed over at their
//! arrival or already now, so the step needs no event: [`Step::eventless`]. The same holds for a receiver
//! that answers at once, and for a sender that hears of nothing but its acknowledgements and its own timer, if
//! its packets have their first link to themselves. Where two feeds meet, or a queue decides, the packet waits
//! for its time.

use super::FixedPath;
use crate::{
    error::PlanError,
    link::{LinkKind, TxTime},
    plan,
};
use std::{collections::BTreeMap, ops::Range};

/// A link of a route; where the bits of `own` are set, counted from the first of the host's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hop {
    link: u32,
    own: u32,
    /// How long packets take.
    pub(crate) tx_time: TxTime,
}

impl Hop {
    /// A link that belongs to no host.
    #[cfg(test)]
    pub(super) fn shared(link: u32, tx_time: TxTime) -> Hop {
        Hop { link, own: 0, tx_time }
    }

    /// The number of the link for packets of `host`.
    #[inline(always)]
    pub(crate) fn link(&self, host: u32) -> u32 {
        self.link + (host & self.own)
    }
}

/// One step of a route. Routes that differ in the links of one host only share their steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Step {
    pub(crate) hop: Hop,
    /// The route ends behind this link.
    pub(crate) last: bool,
    /// What comes behind it needs no event.
    pub(crate) eventless: bool,
    /// The queue that comes behind it, or [`NO_INDEX`].
    pub(crate) queue: u32,
    /// The [`RoundTrip`] that begins at its end, or [`NO_INDEX`].
    pub(crate) round_trip: u32,
    /// The link is one of the [`FixedPath`]'s.
    pub(crate) on_fixed_path: bool,
}

/// No queue, no round trip.
pub(crate) const NO_INDEX: u32 = u32::MAX;

/// What is left of a way where nothing from here up to the sender's reaction needs an event, and the sender's next
/// packet waits behind its first link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    /// From the queue to the receiver, and back up to the last link.
    pub(crate) forward: Box<[Hop]>,
    pub(crate) reverse: Box<[Hop]>,
    /// The last link of the way back, and its step.
    pub(crate) last_hop: Hop,
    pub(crate) last_step: u32,
    /// The transmission time there of acknowledgements that report blocks.
    pub(crate) sack_tx_time: TxTime,
    /// The step and the link on which the sender's next packet leaves.
    pub(crate) first_step: u32,
    pub(crate) first_hop: Hop,
}

impl Step {
    /// The number of the link for packets of `host`.
    #[inline(always)]
    pub(crate) fn link(&self, host: u32) -> u32 {
        self.hop.link(host)
    }
}

/// The way of a flow's packets, behind whose last step that of their acknowledgements begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Index into [`super::Network::steps`].
    pub(crate) first: u32,
    /// The first link of its own host.
    pub(crate) host: u32,
}

/// Who hands packets to a link: a host in its own time, or one other link in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Clock,
    Link(u32),
}

/// Who feeds a link: nobody, always the same, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeders {
    None,
    Only(Feeder),
    Several,
}

impl Feeders {
    fn add(&mut self, feed: Feeder) {
        *self = match *self {
            Feeders::None => Feeders::Only(feed),
            Feeders::Only(known) if known == feed => Feeders::Only(feed),
            _ => Feeders::Several,
        };
    }
}

/// How a packet is answered at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AckPolicy {
    /// Not at all (datagrams).
    None,
    /// In the moment that it arrives.
    Immediate,
    /// Perhaps later (delayed acknowledgements).
    Delayed,
}

impl AckPolicy {
    pub(super) fn of(kind: &plan::TrafficKind) -> AckPolicy {
        match kind {
            kind if kind.tcp().is_some_and(|tcp| tcp.options.delayed_ack > 0) => AckPolicy::Delayed,
            kind if kind.tcp().is_some() => AckPolicy::Immediate,
            _ => AckPolicy::None,
        }
    }
}

/// How far packets run ahead of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookahead {
    /// Not at all: every step is an event.
    None,
    /// Up to where somebody waits for them, but senders react by the clock.
    Links,
    /// Senders react ahead, too.
    Senders,
}

/// A route that was laid: where its way there begins, its way back, and what is behind that.
struct LaidRoute {
    forward: u32,
    backward: u32,
    end: u32,
    answer: AckPolicy,
    /// Its sender was declared after its receiver.
    is_later: bool,
}

/// Routes, while they are laid.
pub(super) struct Routes<'a> {
    /// The kind of each link.
    kinds: &'a [u32],
    /// The links of every route, one route behind the other.
    links: Vec<u32>,
    laid: Vec<LaidRoute>,
    /// Every distinct (from, to, how it is answered) is laid once.
    known: BTreeMap<(u32, u32, AckPolicy), u32>,
    /// Of each link: who feeds it, and how many flows begin on it.
    feeds: Vec<Feeders>,
    senders: Vec<u32>,
}

impl Routes<'_> {
    /// None yet, over links of these kinds.
    pub(super) fn new(kinds: &[u32]) -> Routes<'_> {
        Routes {
            kinds,
            links: Vec::new(),
            laid: Vec::new(),
            known: BTreeMap::new(),
            feeds: vec![Feeders::None; kinds.len()],
            senders: vec![0; kinds.len()],
        }
    }

    /// The number of the route between `ends` for so many flows more; `ways`: its links there and back.
    pub(super) fn lay(
        &mut self,
        ends: (u32, u32),
        answer: AckPolicy,
        flows: u32,
        ways: impl FnOnce() -> Result<[Vec<u32>; 2], PlanError>,
    ) -> Result<u32, PlanError> {
        if let Some(known) = self.known.get(&(ends.0, ends.1, answer)) {
            self.senders[self.links[self.laid[*known as usize].forward as usize] as usize] += flows;
            return Ok(*known);
        }
        let [there, back] = ways()?;
        self.senders[there[0] as usize] += flows;
        let forward = self.links.len() as u32;
        self.lay_links(&there, Feeder::Clock);
        let backward = self.links.len() as u32;
        match answer {
            AckPolicy::None => {}
            AckPolicy::Immediate => self.lay_links(&back, Feeder::Link(there[there.len() - 1])),
            AckPolicy::Delayed => {
                self.senders[back[0] as usize] += 2;
                self.lay_links(&back, Feeder::Clock);
            }
        }
        let number = self.laid.len() as u32;
        self.known.insert((ends.0, ends.1, answer), number);
        let end = self.links.len() as u32;
        self.laid.push(LaidRoute { forward, backward, end, answer, is_later: ends.0 > ends.1 });
        Ok(number)
    }

    fn lay_links(&mut self, links: &[u32], mut feed: Feeder) {
        for link in links {
            self.feeds[*link as usize].add(feed);
            feed = Feeder::Link(*link);
        }
        self.links.extend(links);
    }

    /// Find out which steps of the `way` that was `laid` need no event.
    fn run_ahead(&self, laid: &LaidRoute, way: &mut [Step], kinds: &[LinkKind], senders_react: bool) {
        let has_queue = |step: &Step| kinds[step.hop.tx_time.kind as usize].port.is_some();
        let is_fed_by = |link: u32, feed: Feeder| self.feeds[link as usize] == Feeders::Only(feed);
        let follows = |step: &Step, next: &Step| {
            !has_queue(next) && is_fed_by(next.hop.link, Feeder::Link(step.hop.link))
        };
        let end = way.len();
        for i in 1..end {
            way[i - 1].eventless =
                (!way[i - 1].last || laid.answer == AckPolicy::Immediate) && follows(&way[i - 1], &way[i]);
        }
        let backward = (laid.backward - laid.forward) as usize;
        if laid.answer == AckPolicy::None {
            way[end - 1].eventless = true;
        }
        let first = way[0].hop.link;
        let is_alone = self.senders[first as usize] == 1 && is_fed_by(first, Feeder::Clock);
        // Else it would go round without end.
        let waits_somewhere = way[..backward].iter().any(|step| !step.eventless);
        let may_react = laid.answer != AckPolicy::None && is_alone && waits_somewhere;
        if !may_react || has_queue(&way[0]) || !senders_react {
            return;
        }
        way[end - 1].eventless = true;
        if !way[0].eventless && laid.answer == AckPolicy::Immediate {
            let mut round_trips = way[backward..].iter().all(|step| step.eventless);
            for step in way[..backward].iter_mut().rev() {
                round_trips &= step.eventless;
                step.round_trip = if round_trips { 0 } else { NO_INDEX }; // numbered once equal ways are one
            }
        }
    }

    /// The steps, equal ones once, their round trips, and the routes: many differ in the links of the host that was declared
    /// last.
    pub(super) fn share(
        self,
        kinds: &[LinkKind],
        lookahead: Lookahead,
    ) -> (Vec<Step>, Vec<RoundTrip>, Vec<Route>) {
        let mut shared: Vec<Step> = Vec::new();
        let mut known: BTreeMap<Vec<Step>, u32> = BTreeMap::new();
        let routes = self.laid.iter().map(|laid| {
            let step = |i: u32| {
                let link = self.links[i as usize];
                let mut tx_time = TxTime::default();
                tx_time.kind = self.kinds[link as usize];
                let hop = Hop { link, own: 0, tx_time };
                let last = i + 1 == laid.backward || i + 1 == laid.end;
                Step {
                    hop,
                    last,
                    eventless: false,
                    queue: NO_INDEX,
                    round_trip: NO_INDEX,
                    on_fixed_path: false,
                }
            };
            let mut way: Vec<Step> = (laid.forward..laid.end).map(step).collect();
            if lookahead != Lookahead::None {
                self.run_ahead(laid, &mut way, kinds, lookahead == Lookahead::Senders);
            }
            let answers = (laid.backward - laid.forward) as usize;
            let arrives = answers - 1;
            let own = match (laid.is_later, laid.answer) {
                (true, AckPolicy::None) => [0, 0],
                (true, _) => [0, way.len() - 1],
                (false, AckPolicy::None) => [arrives, arrives],
                (false, _) => [arrives, answers],
            };
            let host = way[own[0]].hop.link.min(way[own[1]].hop.link);
            for i in own {
                let hop = &mut way[i].hop;
                if hop.own == 0 {
                    (hop.link, hop.own) = (hop.link - host, u32::MAX);
                }
            }
            let next = shared.len() as u32;
            let first = *known.entry(way).or_insert_with_key(|way| {
                shared.extend(way);
                next
            });
            Route { first, host }
        });
        let routes = routes.collect();
        for i in 1..shared.len() {
            if !shared[i - 1].last {
                shared[i - 1].queue = kinds[shared[i].hop.tx_time.kind as usize].port.unwrap_or(NO_INDEX);
            }
        }
        for Step { hop, .. } in &mut shared {
            hop.tx_time = TxTime::new(hop.tx_time.kind, kinds);
        }
        let mut round_trips = Vec::new();
        for first in known.into_values() {
            number_round_trips(&mut shared, first as usize, &mut round_trips);
        }
        (shared, round_trips, routes)
    }
}

/// Write down the round trips of the route that begins at step `first`.
fn number_round_trips(steps: &mut [Step], first: usize, round_trips: &mut Vec<RoundTrip>) {
    let end =
        |from: usize| steps[from..].iter().position(|step| step.last).map_or(steps.len(), |i| from + i + 1);
    let backward = end(first);
    let behind = end(backward);
    let hops = |range: Range<usize>| steps[range].iter().map(|step| step.hop).collect();
    // Only what has waited in a queue makes a round trip.
    let begins =
        (first + 1..backward).filter(|i| steps[*i].round_trip != NO_INDEX && steps[*i - 1].queue != NO_INDEX);
    let new: Vec<_> = begins
        .map(|begin| {
            let (forward, reverse) = (hops(begin + 1..backward), hops(backward..behind - 1));
            let (last_hop, last_step) = (steps[behind - 1].hop, behind as u32 - 1);
            let (first_step, sack_tx_time) = (first as u32, last_hop.tx_time);
            let first_hop = steps[first].hop;
            (begin, RoundTrip { forward, reverse, last_hop, last_step, sack_tx_time, first_step, first_hop })
        })
        .collect();
    steps[first..backward].iter_mut().for_each(|step| step.round_trip = NO_INDEX);
    for (begin, round_trip) in new {
        steps[begin].round_trip = round_trips.len() as u32;
        round_trips.push(round_trip);
    }
}

/// The fixed path of a dumbbell, if all round trips have one in common: links that nobody else but the clock's packets cross, and
/// at whose end nobody waits. `sizes`: of data and acknowledgements.
pub(super) fn fixed_path(
    steps: &mut [Step],
    round_trips: &[RoundTrip],
    sizes: (u32, u32),
    kinds: &[LinkKind],
) -> Option<FixedPath> {
    let all = |round_trip: &RoundTrip| {
        round_trip.forward.iter().chain(&round_trip.reverse).copied().collect::<Vec<Hop>>()
    };
    let links = |hops: &[Hop]| hops.iter().map(|hop| hop.link).collect::<Vec<u32>>();
    let first = round_trips.first()?;
    let (hops, turn) = (all(first), first.forward.len());
    let is_common =
        |round_trip: &RoundTrip| round_trip.forward.len() == turn && links(&all(round_trip)) == links(&hops);
    if hops.iter().any(|hop| hop.own > 0 || kinds[hop.tx_time.kind as usize].varies())
        || !round_trips.iter().all(is_common)
    {
        return None;
    }
    for step in &mut *steps {
        step.on_fixed_path = step.hop.own == 0 && links(&hops).contains(&step.hop.link);
    }
    if steps.iter().any(|step| step.on_fixed_path && !step.eventless) {
        steps.iter_mut().for_each(|step| step.on_fixed_path = false);
        return None;
    }
    Some(FixedPath::new(&first.forward, &first.reverse, sizes, kinds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand hosts, the links of each numbered one after the other, send through the same two links.
    #[test]
    fn many_hosts_share_their_steps() {
        for answer in [AckPolicy::None, AckPolicy::Immediate] {
            let kinds: Vec<u32> = (0..3000).map(|link| u32::from(link > 0)).collect();
            let mut routes = Routes::new(&kinds);
            for host in 0..1000 {
                let (out, back) = (4 + 2 * host, 5 + 2 * host);
                routes.lay((9 + host, 1), answer, 1, || Ok([vec![out, 0, 2], vec![3, 1, back]])).unwrap();
            }
            let mut with_queue = LinkKind::new(1, 0);
            with_queue.port = Some(0);
            let (steps, _, routes) = routes.share(&[with_queue, LinkKind::new(1, 0)], Lookahead::Senders);
            assert!(steps.len() <= 6, "{} steps", steps.len());
            let ways = routes.iter().map(|route| {
                steps[route.first as usize..].iter().map(|step| step.link(route.host)).collect::<Vec<_>>()
            });
            for (way, out) in ways.zip((4..).step_by(2)) {
                let whole = [out, 0, 2, 3, 1, out + 1];
                assert_eq!(way, whole[..way.len()]);
            }
        }
    }
}
