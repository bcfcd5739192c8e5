//! What the wire of a link does to packets: it loses, duplicates, delays and reorders them.
//!
//! Every packet that reaches the end of a link is handed to an [`Impairer`], which answers when it arrives,
//! if it does, and when its copy does, if there is one. The order is that of Linux's `netem`: duplication is
//! decided, then loss, which takes the copy first; then each copy has a delay of its own. An impairer knows
//! neither packets nor the simulator, and takes the time as an argument, so it serves real packets, too.
//!
//! Each cause has a stream of random numbers of its own, of which packet n takes the n-th: two algorithms
//! under one seed lose the same packets of a link, counted from its first.

use crate::plan::{ExtraDelay, Impairment, Loss};
use sojourn_aqm::{Random, Span, Stream, Time};

/// The longest delay: a day.
const MAX_DELAY: Span = Span(86_400_000_000_000);

/// Where the two arrivals of a packet and its copy are: absent if it is lost, or not duplicated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// When the packet arrives.
    pub packet: Option<Time>,
    /// When its copy arrives.
    pub copy: Option<Time>,
}

/// The impairments of one direction of a link, and their state.
#[derive(Clone, Debug)]
pub(super) struct Impairer {
    plan: Impairment,
    /// The Gilbert-Elliott model is in its bad state.
    is_bad: bool,
    losses: Stream,
    duplicates: Stream,
    delays: Stream,
    overtaking: Stream,
    /// Packets delayed so far.
    delayed: u64,
    /// Packets since the last one that overtook others.
    since_overtaking: u32,
    /// The latest arrival so far.
    latest: Time,
}

impl Impairer {
    /// The impairments `plan` of the direction called `link`, whose random numbers `seed` gives.
    pub(super) fn new(plan: &Impairment, link: &str, seed: u64) -> Impairer {
        let stream = |cause: &str| Stream::new(seed, &format!("link/{link}/{cause}"));
        Impairer {
            plan: plan.clone(),
            is_bad: false,
            losses: stream("loss"),
            duplicates: stream("duplicate"),
            delays: stream("jitter"),
            overtaking: stream("reorder"),
            delayed: 0,
            since_overtaking: 0,
            latest: Time::ZERO,
        }
    }

    /// A packet reaches the end of the link at `now`, which never decreases.
    pub(super) fn pass(&mut self, now: Time) -> Fate {
        let is_duplicated = self.plan.duplicate > 0.0 && self.duplicates.happens(self.plan.duplicate);
        let is_lost = self.loses();
        let packet = (!is_lost || is_duplicated).then(|| self.arrival(now));
        let copy = (!is_lost && is_duplicated).then(|| self.arrival(now));
        Fate { packet, copy }
    }

    /// Whether the next packet is lost.
    fn loses(&mut self) -> bool {
        match self.plan.loss {
            Loss::None => false,
            Loss::Random(p) => self.losses.happens(p),
            Loss::GilbertElliott { p, r, good, bad } => {
                let was_bad = self.is_bad;
                self.is_bad ^= self.losses.happens(if was_bad { r } else { p });
                self.losses.happens(if was_bad { bad } else { good })
            }
        }
    }

    /// When a packet arrives that is not lost.
    fn arrival(&mut self, now: Time) -> Time {
        if self.overtakes() {
            return now;
        }
        let extra = match &self.plan.delay {
            None => return now,
            Some(ExtraDelay::Drawn(draw)) => draw.span(&mut self.delays.indexed(self.delayed)),
            Some(ExtraDelay::Steps(steps)) => {
                let next = steps.partition_point(|(start, _)| *start <= now.since(Time::ZERO));
                steps[next.saturating_sub(1)].1
            }
        };
        self.delayed += 1;
        let arrival = now + extra.min(MAX_DELAY);
        if !self.plan.in_order {
            return arrival;
        }
        self.latest = self.latest.max(arrival);
        self.latest
    }

    /// Whether the next packet overtakes those that are delayed.
    fn overtakes(&mut self) -> bool {
        if self.plan.reorder == 0.0 {
            return false;
        }
        // As in netem, only packets behind `one_of` - 1 delayed ones are candidates.
        self.since_overtaking += 1;
        let overtakes =
            self.since_overtaking >= self.plan.one_of && self.overtaking.happens(self.plan.reorder);
        if overtakes {
            self.since_overtaking = 0;
        }
        overtakes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Draw;

    const MS: u64 = 1_000_000;

    fn impaired(plan: Impairment) -> Impairer {
        Impairer::new(&Impairment { one_of: plan.one_of.max(1), ..plan }, "a-b", 1)
    }

    /// The arrivals (ms) of packets that reach the end of the link at these times (ms).
    fn arrivals(plan: Impairment, at: &[u64]) -> Vec<Option<u64>> {
        let mut impairer = impaired(plan);
        at.iter().map(|ms| impairer.pass(Time(ms * MS)).packet.map(|time| time.0 / MS)).collect()
    }

    fn constant(ms: u64) -> Option<ExtraDelay> {
        Some(ExtraDelay::Drawn(Draw::Constant((ms * MS) as f64)))
    }

    /// The state decides about a packet, and may change behind it: with certain changes, every second packet
    /// is lost.
    #[test]
    fn the_state_decides_about_a_packet_and_changes_behind_it() {
        let loss = Loss::GilbertElliott { p: 1.0, r: 1.0, good: 0.0, bad: 1.0 };
        let plan = Impairment { loss, ..Impairment::default() };
        assert_eq!(arrivals(plan, &[1, 2, 3, 4]), [Some(1), None, Some(3), None]);
    }

    /// p = 0.02 and r = 0.25: a share of p / (p + r) = 2 / 27 of the packets is lost, 1 / r = 4 in a row.
    /// With losses of 0.5 in the bad state and 0.1 in the good one: (25 * 0.1 + 2 * 0.5) / 27.
    #[test]
    fn losses_come_in_bursts() {
        let bursts = |good, bad| {
            let loss = Loss::GilbertElliott { p: 0.02, r: 0.25, good, bad };
            let plan = Impairment { loss, ..Impairment::default() };
            arrivals(plan, &[7; 200_000]).iter().map(Option::is_none).collect::<Vec<bool>>()
        };
        let lost = bursts(0.0, 1.0);
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let begins = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((count / 2e5 - 2.0 / 27.0).abs() < 0.002, "{count} lost");
        assert!((count / begins - 4.0).abs() < 0.1, "{count} lost in {begins} bursts");
        let count = bursts(0.1, 0.5).iter().filter(|lost| **lost).count() as f64;
        assert!((count / 2e5 - 3.5 / 27.0).abs() < 0.002, "{count} lost");
    }

    /// Every third packet has no delay, and overtakes the two before it.
    #[test]
    fn one_packet_of_a_gap_overtakes() {
        let plan = Impairment { delay: constant(10), reorder: 1.0, one_of: 3, ..Impairment::default() };
        let expected = [10, 11, 2, 13, 14, 5].map(Some);
        assert_eq!(arrivals(plan, &[0, 1, 2, 3, 4, 5]), expected);
    }

    /// The delay falls from 10 to 1 ms at 5 ms; the packet at 6 ms overtakes, or waits for the first one.
    #[test]
    fn packets_keep_their_order_or_do_not() {
        let steps = vec![(Span::ZERO, Span(10 * MS)), (Span(5 * MS), Span(MS))];
        let delay = Some(ExtraDelay::Steps(steps));
        let plan = |in_order| Impairment { delay: delay.clone(), in_order, ..Impairment::default() };
        assert_eq!(arrivals(plan(false), &[0, 5, 6, 20]), [10, 6, 7, 21].map(Some));
        assert_eq!(arrivals(plan(true), &[0, 5, 6, 20]), [10, 10, 10, 21].map(Some));
    }

    /// A loss takes one of two copies, as in netem.
    #[test]
    fn a_copy_survives_a_loss() {
        let now = Time(3 * MS);
        let fate =
            |loss, duplicate| impaired(Impairment { loss, duplicate, ..Impairment::default() }).pass(now);
        assert_eq!(fate(Loss::None, 1.0), Fate { packet: Some(now), copy: Some(now) });
        assert_eq!(fate(Loss::Random(1.0), 1.0), Fate { packet: Some(now), copy: None });
        assert_eq!(fate(Loss::Random(1.0), 0.0), Fate::default());
    }

    /// Other impairments, and the times of packets, do not change which packets are lost.
    #[test]
    fn losses_do_not_depend_on_other_impairments() {
        let lost = |plan: Impairment, step: u64| -> Vec<bool> {
            let mut impairer = impaired(Impairment { loss: Loss::Random(0.3), ..plan });
            (0..100).map(|i| impairer.pass(Time(i * step)).packet.is_none()).collect()
        };
        let alone = lost(Impairment::default(), MS);
        assert!(alone.iter().filter(|lost| **lost).count() > 20);
        let delay = Some(ExtraDelay::Drawn(Draw::Normal(5e6, 3e6)));
        assert_eq!(lost(Impairment { delay, reorder: 0.2, one_of: 2, ..Impairment::default() }, 7), alone);
    }

    /// Mean and deviation of 50,000 draws, far from 0.
    #[test]
    fn a_normal_delay_has_its_mean_and_deviation() {
        let delay = Some(ExtraDelay::Drawn(Draw::Normal(50e6, 5e6)));
        let mut impairer = impaired(Impairment { delay, ..Impairment::default() });
        let drawn: Vec<f64> = (0..50_000)
            .filter_map(|_| impairer.pass(Time::ZERO).packet)
            .map(|time| time.0 as f64 / 1e6)
            .collect();
        let mean = drawn.iter().sum::<f64>() / 5e4;
        let variance = drawn.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 5e4;
        assert!((mean - 50.0).abs() < 0.1 && (variance - 25.0).abs() < 0.6, "{mean} ms, {variance} ms^2");
    }
}
