//! The route of every flow.
//!
//! The arrival time of a packet at the end of a link without a finite queue is known when it enters the link.
//! If the next link is fed by this one alone, packets enter it in the same order whether they are handed over
//! on arrival or before, so the step needs no event ([`Step::eventless`], see `lookahead`). The
//! same holds for a receiver that acknowledges at once, and for a sender that reacts to nothing but
//! acknowledgements and its timer, if no other flow uses its first link. Where two links feed one, or a queue
//! decides, the packet waits for its time.

use super::{
    RoundTrip,
    lookahead::{Feeder, Feeders, Lookahead, find_eventless, number_round_trips},
};
use crate::{
    error::PlanError,
    link::{LinkKind, TxTime},
    plan,
    record::SlowPathReason,
};
use sojourn_aqm::Span;
use std::collections::BTreeMap;

/// A link of a route: its number, relative to the first link of the host where the bits of `own` are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hop {
    pub(super) link: u32,
    pub(super) own: u32,
    /// The transmission time of packets.
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
    /// The route ends at the end of this link.
    pub(crate) last: bool,
    /// The end of this link needs no event.
    pub(crate) eventless: bool,
    /// The queue at its end, or [`NO_INDEX`].
    pub(crate) queue: u32,
    /// The [`RoundTrip`] that begins at its end, or [`NO_INDEX`].
    pub(crate) round_trip: u32,
    /// The link is part of the fixed path.
    pub(crate) on_fixed_path: bool,
}

/// No queue, no round trip.
pub(crate) const NO_INDEX: u32 = u32::MAX;

impl Step {
    /// The number of the link for packets of `host`.
    #[inline(always)]
    pub(crate) fn link(&self, host: u32) -> u32 {
        self.hop.link(host)
    }
}

/// The route of a flow's packets; the steps of its acknowledgements follow the last step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Index into [`super::Network::steps`].
    pub(crate) first: u32,
    /// The first link of its host.
    pub(crate) host: u32,
}

/// How packets are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AckPolicy {
    /// Not at all (datagrams).
    None,
    /// When they arrive; datagrams that are returned, too.
    Immediate,
    /// Perhaps later (delayed acknowledgements).
    Delayed,
}

impl AckPolicy {
    pub(super) fn of(traffic: &plan::Traffic) -> AckPolicy {
        match &traffic.kind {
            kind if kind.tcp().is_some_and(|tcp| tcp.options.delayed_ack > Span::ZERO) => AckPolicy::Delayed,
            kind if kind.tcp().is_some() || traffic.echo => AckPolicy::Immediate,
            _ => AckPolicy::None,
        }
    }
}

/// A route: where its links forward, its links back, and those of the next route begin.
pub(super) struct RoutePlan {
    pub(super) forward: u32,
    pub(super) backward: u32,
    end: u32,
    pub(super) ack_policy: AckPolicy,
    /// Whether its sender only reacts.
    pub(super) sender: Result<(), SlowPathReason>,
    /// Its sender was declared after its receiver.
    is_later: bool,
}

/// Routes while the network is built.
pub(super) struct Routes<'a> {
    /// The kind of each link.
    kinds: &'a [u32],
    /// The links of every route, one route behind the other.
    links: Vec<u32>,
    plans: Vec<RoutePlan>,
    /// Every distinct (from, to, acknowledgement policy) is one route.
    known: BTreeMap<(u32, u32, AckPolicy), u32>,
    /// The links on which packets arrive whose ACKs may be delayed.
    pub(super) delayed_on: Feeders,
    /// Of each link: what feeds it, and how many flows begin on it.
    pub(super) feeders: Vec<Feeders>,
    pub(super) senders: Vec<u32>,
}

impl Routes<'_> {
    /// No routes yet, over links of these kinds.
    pub(super) fn new(kinds: &[u32]) -> Routes<'_> {
        Routes {
            kinds,
            links: Vec::new(),
            plans: Vec::new(),
            known: BTreeMap::new(),
            delayed_on: Feeders::None,
            feeders: vec![Feeders::None; kinds.len()],
            senders: vec![0; kinds.len()],
        }
    }

    /// The number of the route between these nodes, for `flows` more flows; `links`: its links forward and
    /// back.
    pub(super) fn add(
        &mut self,
        from: u32,
        to: u32,
        ack_policy: AckPolicy,
        sender: Result<(), SlowPathReason>,
        flows: u32,
        links: impl FnOnce() -> Result<[Vec<u32>; 2], PlanError>,
    ) -> Result<u32, PlanError> {
        if let Some(known) = self.known.get(&(from, to, ack_policy)) {
            self.senders[self.links[self.plans[*known as usize].forward as usize] as usize] += flows;
            return Ok(*known);
        }
        let [there, back] = links()?;
        self.senders[there[0] as usize] += flows;
        let forward = self.links.len() as u32;
        self.add_links(&there, Feeder::Clock);
        let backward = self.links.len() as u32;
        let arrives_on = Feeder::Link(there[there.len() - 1]);
        if ack_policy != AckPolicy::None {
            self.add_links(&back, arrives_on);
        }
        if ack_policy == AckPolicy::Delayed {
            self.senders[back[0] as usize] += 2;
            self.delayed_on.add(arrives_on);
        }
        let number = self.plans.len() as u32;
        self.known.insert((from, to, ack_policy), number);
        let end = self.links.len() as u32;
        self.plans.push(RoutePlan { forward, backward, end, ack_policy, sender, is_later: from > to });
        Ok(number)
    }

    fn add_links(&mut self, links: &[u32], mut feeder: Feeder) {
        for link in links {
            self.feeders[*link as usize].add(feeder);
            feeder = Feeder::Link(*link);
        }
        self.links.extend(links);
    }

    /// The steps without duplicates, their round trips, the routes, and the reason if there is no round trip.
    /// Many routes differ only in the links of the host that was declared last.
    pub(super) fn share(
        mut self,
        kinds: &[LinkKind],
        lookahead: Lookahead,
    ) -> (Vec<Step>, Vec<RoundTrip>, Vec<Route>, SlowPathReason) {
        if self.delayed_on == Feeders::Several {
            // A timer then expires in an order that is not known ahead of the clock.
            for plan in self.plans.iter().filter(|plan| plan.ack_policy == AckPolicy::Delayed) {
                self.feeders[self.links[plan.backward as usize] as usize].add(Feeder::Clock);
            }
        }
        let mut shared: Vec<Step> = Vec::new();
        let mut known: BTreeMap<Vec<Step>, u32> = BTreeMap::new();
        let mut obstacle = SlowPathReason::Datagrams;
        let routes = self.plans.iter().map(|plan| {
            let step = |i: u32| {
                let link = self.links[i as usize];
                let mut tx_time = TxTime::default();
                tx_time.kind = self.kinds[link as usize];
                let hop = Hop { link, own: 0, tx_time };
                let last = i + 1 == plan.backward || i + 1 == plan.end;
                Step {
                    hop,
                    last,
                    eventless: false,
                    queue: NO_INDEX,
                    round_trip: NO_INDEX,
                    on_fixed_path: false,
                }
            };
            let mut steps_of_route: Vec<Step> = (plan.forward..plan.end).map(step).collect();
            if lookahead != Lookahead::None {
                let found = find_eventless(&self, plan, &mut steps_of_route, kinds, lookahead);
                obstacle = obstacle.max(found.err().unwrap_or(obstacle));
            }
            let answers = (plan.backward - plan.forward) as usize;
            let arrives = answers - 1;
            let own = match (plan.is_later, plan.ack_policy) {
                (true, AckPolicy::None) => [0, 0],
                (true, _) => [0, steps_of_route.len() - 1],
                (false, AckPolicy::None) => [arrives, arrives],
                (false, _) => [arrives, answers],
            };
            let host = steps_of_route[own[0]].hop.link.min(steps_of_route[own[1]].hop.link);
            for i in own {
                let hop = &mut steps_of_route[i].hop;
                if hop.own == 0 {
                    (hop.link, hop.own) = (hop.link - host, u32::MAX);
                }
            }
            let next = shared.len() as u32;
            let first = *known.entry(steps_of_route).or_insert_with_key(|steps_of_route| {
                shared.extend(steps_of_route);
                next
            });
            Route { first, host }
        });
        let routes = routes.collect();
        for i in 1..shared.len() {
            if !shared[i - 1].last {
                shared[i - 1].queue = kinds[shared[i].hop.tx_time.kind as usize].port().unwrap_or(NO_INDEX);
            }
        }
        for Step { hop, .. } in &mut shared {
            hop.tx_time = TxTime::new(hop.tx_time.kind, kinds);
        }
        let mut round_trips = Vec::new();
        for first in known.into_values() {
            number_round_trips(&mut shared, first as usize, &mut round_trips);
        }
        (shared, round_trips, routes, obstacle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Entry;

    /// A thousand hosts, the links of each numbered one after the other, send through the same two links.
    #[test]
    fn many_hosts_share_their_steps() {
        for ack_policy in [AckPolicy::None, AckPolicy::Immediate] {
            let kinds: Vec<u32> = (0..3000).map(|link| u32::from(link > 0)).collect();
            let mut routes = Routes::new(&kinds);
            let datagrams = ack_policy == AckPolicy::None;
            let sender = if datagrams { Err(SlowPathReason::Datagrams) } else { Ok(()) };
            for host in 0..1000 {
                let (out, back) = (4 + 2 * host, 5 + 2 * host);
                let links = || Ok([vec![out, 0, 2], vec![3, 1, back]]);
                routes.add(9 + host, 1, ack_policy, sender, 1, links).unwrap();
            }
            let mut with_queue = LinkKind::new(1, Span::ZERO);
            with_queue.entry = Entry::Port(0);
            let (steps, _, routes, _) =
                routes.share(&[with_queue, LinkKind::new(1, Span::ZERO)], Lookahead::Senders);
            assert!(steps.len() <= 6, "{} steps", steps.len());
            let links = routes.iter().map(|route| {
                steps[route.first as usize..].iter().map(|step| step.link(route.host)).collect::<Vec<_>>()
            });
            for (steps_of_route, out) in links.zip((4..).step_by(2)) {
                let whole = [out, 0, 2, 3, 1, out + 1];
                assert_eq!(steps_of_route, whole[..steps_of_route.len()]);
            }
        }
    }
}
