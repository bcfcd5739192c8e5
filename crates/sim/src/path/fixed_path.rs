//! The fixed path of a dumbbell: the links that every packet crosses behind the queue, to the receiver and
//! back to the sender's own link, taken as one.
//!
//! Packets cross these links in the same order, and mostly find them idle. A data packet of the usual size
//! whose acknowledgement has the usual size is not delayed by the packet before it if that has left every
//! transmitter. Then the time across all links is a constant, and so is the time after which the next packet
//! can enter. The links are updated only when a packet has another size, follows too soon, or crosses one of
//! them alone ([`FixedPath::flush`]).

use super::Hop;
use crate::link::{Link, LinkKind};
use sojourn_aqm::{Span, Time};

/// In place of an index of a [`Larger`]: the acknowledgement has the usual size.
const USUAL: usize = usize::MAX;

/// The usual sizes of data packets and acknowledgements, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) data: u32,
    pub(super) ack: u32,
}

/// The links, and the last packet and the last acknowledgement that they do not include yet.
#[derive(Clone, Debug)]
pub(crate) struct FixedPath {
    stages: Box<[Stage]>,
    /// The number of links before the receiver.
    receiver_at: usize,
    /// The usual sizes of data and acknowledgements.
    data: u32,
    pub(crate) ack: u32,
    /// Constants: the time to the receiver, the time across all links, and the time that the slowest link is
    /// busy.
    pub(crate) to_receiver: Span,
    through: Span,
    slowest: Span,
    /// A packet that enters earlier may be delayed.
    ready: Time,
    /// When the last packet entered, if the links do not include it yet, or [`Time::NEVER`].
    entered: Time,
    /// The same of the last packet that was acknowledged when it arrived.
    acknowledged: Time,
    /// Constants for acknowledgements that are larger than usual because they report blocks, and the index of
    /// the last packet's.
    larger: Vec<Larger>,
    latest: usize,
}

/// The constants for acknowledgements of a larger size.
#[derive(Clone, Debug)]
struct Larger {
    ack: u32,
    stages: Box<[Stage]>,
    through: Span,
    /// A packet that enters at least this much later is not delayed, nor is its acknowledgement of the
    /// usual or a larger size.
    slowest: Span,
}

#[derive(Clone, Copy, Debug)]
struct Stage {
    hop: Hop,
    /// The time of a packet of the usual size up to here, and in the transmitter: whole nanoseconds,
    /// fraction.
    before: Span,
    lasts: Span,
    beyond: u32,
}

impl FixedPath {
    /// The links of `forward` and `reverse`, for packets of these sizes.
    pub(super) fn new(forward: &[Hop], reverse: &[Hop], sizes: Sizes, kinds: &[LinkKind]) -> FixedPath {
        let Sizes { data, ack } = sizes;
        let hops = forward.iter().map(|hop| (*hop, data)).chain(reverse.iter().map(|hop| (*hop, ack)));
        let (stages, through) = stages(hops, kinds);
        let to_receiver = stages.get(forward.len()).map_or(through, |stage| stage.before);
        FixedPath {
            receiver_at: forward.len(),
            data,
            ack,
            to_receiver,
            through,
            slowest: stages.iter().map(Stage::taken).max().unwrap_or(Span::ZERO),
            ready: Time(1),
            entered: Time::NEVER,
            acknowledged: Time::NEVER,
            stages,
            larger: Vec::new(),
            latest: USUAL,
        }
    }

    /// No fixed path.
    pub(super) fn none() -> FixedPath {
        FixedPath { ready: Time::NEVER, ..FixedPath::new(&[], &[], Sizes { data: 0, ack: 0 }, &[]) }
    }

    pub(crate) fn is_there(&self) -> bool {
        !self.stages.is_empty()
    }

    /// Whether a packet of `bytes` that enters at `at` is delayed nowhere, nor is its acknowledgement of the
    /// usual size.
    #[inline(always)]
    pub(crate) fn is_free(&self, at: Time, bytes: u32) -> bool {
        at >= self.ready && bytes == self.data
    }

    /// When a packet for which it is free reaches the receiver.
    #[inline(always)]
    pub(crate) fn free_arrival(&self, at: Time, bytes: u32) -> Option<Time> {
        self.is_free(at, bytes).then(|| at.add_exact(self.to_receiver))
    }

    /// A packet for which it is free goes to its receiver, which delays the acknowledgement.
    #[inline(always)]
    pub(crate) fn pass_to_receiver(&mut self, at: Time) {
        self.entered = at;
        self.ready = at.add_exact(self.slowest);
    }

    /// A packet for which it is free crosses it, and so does its acknowledgement: when that has crossed it.
    #[inline(always)]
    pub(crate) fn pass(&mut self, at: Time) -> Time {
        (self.entered, self.acknowledged, self.latest) = (at, at, USUAL);
        self.ready = at.add_exact(self.slowest);
        at.add_exact(self.through)
    }

    /// The same with a larger acknowledgement, of `ack` bytes. It reaches each link later than one of the
    /// usual size, so it is not delayed either. `place`: its likely index in `larger`.
    #[inline(always)]
    pub(crate) fn pass_with_sack(&mut self, kinds: &[LinkKind], at: Time, ack: u32, place: usize) -> Time {
        let is_there = self.larger.get(place).is_some_and(|larger| larger.ack == ack);
        self.latest = if is_there { place } else { self.place_of(kinds, ack) };
        let Larger { through, slowest, .. } = self.larger[self.latest];
        (self.entered, self.acknowledged) = (at, at);
        self.ready = at.add_exact(slowest);
        at.add_exact(through)
    }

    #[cold]
    #[inline(never)]
    fn place_of(&mut self, kinds: &[LinkKind], ack: u32) -> usize {
        let known = self.larger.iter().position(|larger| larger.ack == ack);
        known.unwrap_or_else(|| self.add_larger(kinds, ack))
    }

    fn add_larger(&mut self, kinds: &[LinkKind], ack: u32) -> usize {
        let size = |i| if i < self.receiver_at { self.data } else { ack };
        let hops = self.stages.iter().enumerate().map(|(i, stage)| (stage.hop, size(i)));
        let (stages, through) = stages(hops, kinds);
        let later = |(stage, usual): (&Stage, &Stage)| stage.before - usual.before + stage.taken();
        let slowest = stages.iter().zip(&self.stages).map(later).max().unwrap_or(Span::ZERO);
        self.larger.push(Larger { ack, stages, through, slowest });
        self.larger.len() - 1
    }

    /// Any packet: when it reaches the receiver. Its acknowledgement must follow, by [`FixedPath::reverse`].
    #[inline(never)]
    pub(crate) fn forward(
        &mut self,
        links: &mut [Link],
        kinds: &mut [LinkKind],
        at: Time,
        bytes: u32,
    ) -> Time {
        self.flush(links);
        let stages = self.stages[..self.receiver_at].iter_mut();
        stages.fold(at, |at, stage| stage.link(links).cross(&mut stage.hop.tx_time, kinds, at, bytes))
    }

    /// Any acknowledgement: when it has crossed its links.
    #[inline(never)]
    pub(crate) fn reverse(
        &mut self,
        links: &mut [Link],
        kinds: &mut [LinkKind],
        at: Time,
        bytes: u32,
    ) -> Time {
        let stages = self.stages[self.receiver_at..].iter_mut();
        let at =
            stages.fold(at, |at, stage| stage.link(links).cross(&mut stage.hop.tx_time, kinds, at, bytes));
        self.refresh(links);
        at
    }

    /// Bring the links up to date, before one of them is crossed alone. [`FixedPath::refresh`] must follow.
    pub(crate) fn flush(&mut self, links: &mut [Link]) {
        if self.entered == Time::NEVER {
            return;
        }
        let larger = self.larger.get(self.latest);
        let stages = larger.map_or(&self.stages, |larger| &larger.stages);
        let (forward, reverse) = stages.split_at(self.receiver_at);
        for (entered, stages) in [(self.entered, forward), (self.acknowledged, reverse)] {
            if entered == Time::NEVER {
                continue;
            }
            for stage in stages {
                let free = entered + stage.before + stage.lasts;
                *stage.link(links) = Link::taken(free, stage.beyond);
            }
        }
        (self.entered, self.acknowledged) = (Time::NEVER, Time::NEVER);
    }

    /// Compute the time from which on a packet is not delayed. A packet that reaches a link in the nanosecond
    /// in which the link becomes idle is not delayed if no fraction of that nanosecond is left.
    pub(crate) fn refresh(&mut self, links: &mut [Link]) {
        let free = self.stages.iter_mut().map(|stage| {
            let (free, fraction) = stage.link(links).free();
            let idle = free + Span(u64::from(fraction > 0 || stage.beyond > 0));
            Time(idle.0.saturating_sub(stage.before.0))
        });
        self.ready = free.max().unwrap_or(Time::ZERO);
    }
}

/// The links that packets and acknowledgements of these sizes cross one after the other, and the time across
/// all.
fn stages(hops: impl Iterator<Item = (Hop, u32)>, kinds: &[LinkKind]) -> (Box<[Stage]>, Span) {
    let mut before = Span::ZERO;
    let stages = hops.map(|(mut hop, bytes)| {
        let (lasts, beyond, delay) = hop.tx_time.with_size(kinds, bytes);
        let stage = Stage { hop, before, lasts, beyond };
        before += lasts + delay;
        stage
    });
    (stages.collect(), before)
}

impl Stage {
    /// The time that its transmitter is busy.
    fn taken(&self) -> Span {
        self.lasts + Span(u64::from(self.beyond > 0))
    }

    fn link<'a>(&self, links: &'a mut [Link]) -> &'a mut Link {
        &mut links[self.hop.link(0) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::TxTime;
    use proptest::prelude::*;

    const SIZES: Sizes = Sizes { data: 1000, ack: 40 };

    /// Three links of these rates, the receiver behind the first.
    fn links(rates: [u64; 3]) -> (Vec<LinkKind>, Vec<Hop>, Vec<Link>) {
        let kinds: Vec<_> = rates.iter().map(|rate| LinkKind::new(*rate, Span(1000))).collect();
        let hops = (0..3).map(|link| Hop::shared(link, TxTime::new(link, &kinds))).collect();
        (kinds, hops, vec![Link::default(); 3])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        /// Packets close together and far apart, of the usual size and others, and single links crossed
        /// alone, acknowledgements that are delayed: all arrival times equal those link by link. (Mutants: a
        /// delayed acknowledgement takes its links; ready a nanosecond earlier;
        /// fractions forgotten; links not flushed or not refreshed when one is crossed alone, or after larger
        /// acknowledgements; those take no longer, or delay the next packet no longer, than usual ones.)
        #[test]
        fn agrees_with_its_links(
            rates in proptest::sample::select(vec![[8_000_000, 8_000_000, 8_000_000], [3_000_000, 7_000_000, 7_000_000], [1_000_000, 9_000_000_000, 3_000_000], [9_000_000_000, 300_000, 400_000]]),
            packets in proptest::collection::vec((0usize..11, 0u8..10), 1..60),
        ) {
            let (mut kinds, mut hops, mut each) = links(rates);
            let mut fixed_path = FixedPath::new(&hops[..1], &hops[1..], SIZES, &kinds);
            let mut joined = each.clone();
            let mut at = Time(5);
            for (gap, size) in packets {
                at += Span([0, 1, 999_999, 1_000_000, 1_066_667, 1_546_666, 1_546_667, 2_666_666, 2_666_667, 4_000_000, 9_000_000][gap]);
                let data = if size == 1 { 500 } else { SIZES.data };
                let ack = match size {
                    2 => 48,
                    3 => 56,
                    _ => SIZES.ack,
                };
                if size == 0 {
                    fixed_path.flush(&mut joined);
                    for links in [&mut each, &mut joined] {
                        links[1].cross(&mut hops[1].tx_time, &mut kinds, at, 700);
                    }
                    fixed_path.refresh(&mut joined);
                    continue;
                }
                let arrived = each[0].cross(&mut hops[0].tx_time, &mut kinds, at, data);
                if size > 7 && fixed_path.free_arrival(at, data).is_some() {
                    prop_assert_eq!(fixed_path.free_arrival(at, data), Some(arrived));
                    fixed_path.pass_to_receiver(at);
                    continue;
                }
                let mut reverse = arrived;
                for i in 1..3 {
                    reverse = each[i].cross(&mut hops[i].tx_time, &mut kinds, reverse, ack);
                }
                if fixed_path.is_free(at, data) && ack == fixed_path.ack {
                    prop_assert_eq!((at + fixed_path.to_receiver, fixed_path.pass(at)), (arrived, reverse));
                } else if fixed_path.is_free(at, data) {
                    prop_assert_eq!(fixed_path.pass_with_sack(&kinds, at, ack, usize::from(size) % 3), reverse);
                } else {
                    let forward = fixed_path.forward(&mut joined, &mut kinds, at, data);
                    prop_assert_eq!((forward, fixed_path.reverse(&mut joined, &mut kinds, forward, ack)), (arrived, reverse));
                }
            }
            fixed_path.flush(&mut joined);
            prop_assert!(each.iter().map(Link::free).eq(joined.iter().map(Link::free)));
        }
    }
}
