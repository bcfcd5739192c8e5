//! The route of every flow, and how far a packet may run ahead on it.
//!
//! A packet that enters a link which never loses can be told its arrival time at once. If the next link
//! is fed by this one alone, packets meet it in the same order whether they are handed over at their
//! arrival or already now, so the step needs no event: [`Step::ahead`]. The same holds for a receiver
//! that answers at once, and for a sender that hears of nothing but its acknowledgements and its own timer, if
//! its packets have their first link to themselves. Where two feeds meet, or a queue decides, the packet waits
//! for its time.

use super::{Chain, LinkKind, Pace};
use crate::{error::PlanError, plan};
use std::{collections::BTreeMap, ops::Range};

/// A link of a route; where the bits of `own` are set, counted from the first of the host's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hop {
    link: u32,
    own: u32,
    /// How long packets take.
    pub(crate) pace: Pace,
}

impl Hop {
    /// A link that belongs to no host.
    #[cfg(test)]
    pub(super) fn shared(link: u32, pace: Pace) -> Hop {
        Hop { link, own: 0, pace }
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
    pub(crate) ahead: bool,
    /// The queue that comes behind it, or [`NOWHERE`].
    pub(crate) queue: u32,
    /// The [`Lap`] that begins at its end, or [`NOWHERE`].
    pub(crate) lap: u32,
    /// The link is one of the [`Chain`]'s.
    pub(crate) chained: bool,
}

/// No queue, no lap.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What is left of a way where nothing from here up to the sender's reaction needs an event, and the sender's next
/// packet waits behind its first link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lap {
    /// Up to the receiver, back to the last link, and that, with the last step of the way back.
    pub(crate) there: Box<[Hop]>,
    pub(crate) back: Box<[Hop]>,
    pub(crate) down: Hop,
    pub(crate) last: u32,
    /// What larger acknowledgements than usual, which report blocks, take on that link.
    pub(crate) larger: Pace,
    /// The step and the link on which the sender's next packet leaves.
    pub(crate) begins: u32,
    pub(crate) first: Hop,
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
    /// Index into [`Network::steps`].
    pub(crate) first: u32,
    /// The first link of its own host.
    pub(crate) host: u32,
}

/// Who hands packets to a link: a host in its own time, or one other link in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feed {
    Clock,
    Link(u32),
}

/// Who feeds a link: nobody, always the same, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeds {
    None,
    Only(Feed),
    Several,
}

impl Feeds {
    fn add(&mut self, feed: Feed) {
        *self = match *self {
            Feeds::None => Feeds::Only(feed),
            Feeds::Only(known) if known == feed => Feeds::Only(feed),
            _ => Feeds::Several,
        };
    }
}

/// How a packet is answered at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    /// Not at all (datagrams).
    None,
    /// In the moment that it arrives.
    AtOnce,
    /// Perhaps later (delayed acknowledgements).
    Later,
}

impl Answer {
    pub(super) fn of(kind: &plan::Kind) -> Answer {
        match kind {
            kind if kind.tcp().is_some_and(|tcp| tcp.options.delayed_ack > 0) => Answer::Later,
            kind if kind.tcp().is_some() => Answer::AtOnce,
            _ => Answer::None,
        }
    }
}

/// How far packets run ahead of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Not at all: every step is an event.
    Never,
    /// Up to where somebody waits for them, but senders react by the clock.
    OverLinks,
    /// Senders react ahead, too.
    WithSenders,
}

/// A route that was laid: where its way there begins, its way back, and what is behind that.
struct Laid {
    forward: u32,
    backward: u32,
    end: u32,
    answer: Answer,
    /// Its sender was declared after its receiver.
    is_later: bool,
}

/// Routes, while they are laid.
pub(super) struct Routes<'a> {
    /// The kind of each link.
    kinds: &'a [u32],
    /// The links of every route, one route behind the other.
    links: Vec<u32>,
    laid: Vec<Laid>,
    /// Every distinct (from, to, how it is answered) is laid once.
    known: BTreeMap<(u32, u32, Answer), u32>,
    /// Of each link: who feeds it, and how many flows begin on it.
    feeds: Vec<Feeds>,
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
            feeds: vec![Feeds::None; kinds.len()],
            senders: vec![0; kinds.len()],
        }
    }

    /// The number of the route between `ends` for so many flows more; `ways`: its links there and back.
    pub(super) fn lay(
        &mut self,
        ends: (u32, u32),
        answer: Answer,
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
        self.lay_links(&there, Feed::Clock);
        let backward = self.links.len() as u32;
        match answer {
            Answer::None => {}
            Answer::AtOnce => self.lay_links(&back, Feed::Link(there[there.len() - 1])),
            Answer::Later => {
                self.senders[back[0] as usize] += 2;
                self.lay_links(&back, Feed::Clock);
            }
        }
        let number = self.laid.len() as u32;
        self.known.insert((ends.0, ends.1, answer), number);
        let end = self.links.len() as u32;
        self.laid.push(Laid { forward, backward, end, answer, is_later: ends.0 > ends.1 });
        Ok(number)
    }

    fn lay_links(&mut self, links: &[u32], mut feed: Feed) {
        for link in links {
            self.feeds[*link as usize].add(feed);
            feed = Feed::Link(*link);
        }
        self.links.extend(links);
    }

    /// Find out which steps of the `way` that was `laid` need no event.
    fn run_ahead(&self, laid: &Laid, way: &mut [Step], kinds: &[LinkKind], senders_react: bool) {
        let has_queue = |step: &Step| kinds[step.hop.pace.kind as usize].port.is_some();
        let is_fed_by = |link: u32, feed: Feed| self.feeds[link as usize] == Feeds::Only(feed);
        let follows = |step: &Step, next: &Step| {
            !has_queue(next) && is_fed_by(next.hop.link, Feed::Link(step.hop.link))
        };
        let end = way.len();
        for i in 1..end {
            way[i - 1].ahead =
                (!way[i - 1].last || laid.answer == Answer::AtOnce) && follows(&way[i - 1], &way[i]);
        }
        let backward = (laid.backward - laid.forward) as usize;
        if laid.answer == Answer::None {
            way[end - 1].ahead = true;
        }
        let first = way[0].hop.link;
        let is_alone = self.senders[first as usize] == 1 && is_fed_by(first, Feed::Clock);
        // Else it would go round without end.
        let waits_somewhere = way[..backward].iter().any(|step| !step.ahead);
        let may_react = laid.answer != Answer::None && is_alone && waits_somewhere;
        if !may_react || has_queue(&way[0]) || !senders_react {
            return;
        }
        way[end - 1].ahead = true;
        if !way[0].ahead && laid.answer == Answer::AtOnce {
            let mut laps = way[backward..].iter().all(|step| step.ahead);
            for step in way[..backward].iter_mut().rev() {
                laps &= step.ahead;
                step.lap = if laps { 0 } else { NOWHERE }; // numbered once equal ways are one
            }
        }
    }

    /// The steps, equal ones once, their laps, and the routes: many differ in the links of the host that was declared
    /// last.
    pub(super) fn share(self, kinds: &[LinkKind], ahead: Ahead) -> (Vec<Step>, Vec<Lap>, Vec<Route>) {
        let mut shared: Vec<Step> = Vec::new();
        let mut known: BTreeMap<Vec<Step>, u32> = BTreeMap::new();
        let routes = self.laid.iter().map(|laid| {
            let step = |i: u32| {
                let link = self.links[i as usize];
                let mut pace = Pace::default();
                pace.kind = self.kinds[link as usize];
                let hop = Hop { link, own: 0, pace };
                let last = i + 1 == laid.backward || i + 1 == laid.end;
                Step { hop, last, ahead: false, queue: NOWHERE, lap: NOWHERE, chained: false }
            };
            let mut way: Vec<Step> = (laid.forward..laid.end).map(step).collect();
            if ahead != Ahead::Never {
                self.run_ahead(laid, &mut way, kinds, ahead == Ahead::WithSenders);
            }
            let answers = (laid.backward - laid.forward) as usize;
            let arrives = answers - 1;
            let own = match (laid.is_later, laid.answer) {
                (true, Answer::None) => [0, 0],
                (true, _) => [0, way.len() - 1],
                (false, Answer::None) => [arrives, arrives],
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
                shared[i - 1].queue = kinds[shared[i].hop.pace.kind as usize].port.unwrap_or(NOWHERE);
            }
        }
        for Step { hop, .. } in &mut shared {
            hop.pace = Pace::new(hop.pace.kind, kinds);
        }
        let mut laps = Vec::new();
        for first in known.into_values() {
            number_laps(&mut shared, first as usize, &mut laps);
        }
        (shared, laps, routes)
    }
}

/// Write down the laps of the route that begins at step `first`.
fn number_laps(steps: &mut [Step], first: usize, laps: &mut Vec<Lap>) {
    let end =
        |from: usize| steps[from..].iter().position(|step| step.last).map_or(steps.len(), |i| from + i + 1);
    let backward = end(first);
    let behind = end(backward);
    let hops = |range: Range<usize>| steps[range].iter().map(|step| step.hop).collect();
    // Only what has waited in a queue makes a lap.
    let begins = (first + 1..backward).filter(|i| steps[*i].lap != NOWHERE && steps[*i - 1].queue != NOWHERE);
    let new: Vec<_> = begins
        .map(|begin| {
            let (there, back) = (hops(begin + 1..backward), hops(backward..behind - 1));
            let (down, last) = (steps[behind - 1].hop, behind as u32 - 1);
            let (begins, larger) = (first as u32, down.pace);
            (begin, Lap { there, back, down, last, larger, begins, first: steps[first].hop })
        })
        .collect();
    steps[first..backward].iter_mut().for_each(|step| step.lap = NOWHERE);
    for (begin, lap) in new {
        steps[begin].lap = laps.len() as u32;
        laps.push(lap);
    }
}

/// The chain of a dumbbell, if all laps have one in common: links that nobody else but the clock's packets cross, and
/// at whose end nobody waits. `sizes`: of data and acknowledgements.
pub(super) fn chain(
    steps: &mut [Step],
    laps: &[Lap],
    sizes: (u32, u32),
    kinds: &[LinkKind],
) -> Option<Chain> {
    let all = |lap: &Lap| lap.there.iter().chain(&lap.back).copied().collect::<Vec<Hop>>();
    let links = |hops: &[Hop]| hops.iter().map(|hop| hop.link).collect::<Vec<u32>>();
    let first = laps.first()?;
    let (hops, turn) = (all(first), first.there.len());
    let is_common = |lap: &Lap| lap.there.len() == turn && links(&all(lap)) == links(&hops);
    if hops.iter().any(|hop| hop.own > 0 || kinds[hop.pace.kind as usize].varies())
        || !laps.iter().all(is_common)
    {
        return None;
    }
    for step in &mut *steps {
        step.chained = step.hop.own == 0 && links(&hops).contains(&step.hop.link);
    }
    if steps.iter().any(|step| step.chained && !step.ahead) {
        steps.iter_mut().for_each(|step| step.chained = false);
        return None;
    }
    Some(Chain::new(&first.there, &first.back, sizes, kinds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand hosts, the links of each numbered one after the other, send through the same two links.
    #[test]
    fn many_hosts_share_their_steps() {
        for answer in [Answer::None, Answer::AtOnce] {
            let kinds: Vec<u32> = (0..3000).map(|link| u32::from(link > 0)).collect();
            let mut routes = Routes::new(&kinds);
            for host in 0..1000 {
                let (out, back) = (4 + 2 * host, 5 + 2 * host);
                routes.lay((9 + host, 1), answer, 1, || Ok([vec![out, 0, 2], vec![3, 1, back]])).unwrap();
            }
            let mut with_queue = LinkKind::new(1, 0);
            with_queue.port = Some(0);
            let (steps, _, routes) = routes.share(&[with_queue, LinkKind::new(1, 0)], Ahead::WithSenders);
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
