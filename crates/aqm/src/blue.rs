//! **BLUE (Feng, Kandlur, Saha and Shin 1999)** adapts one signalling probability to events instead of queue
//! lengths: it increases when the buffer overflows and decreases when the link becomes idle, at most once per
//! `freeze_time`.
//!
//! Losses show that the load is too high, idle times that it is too low; the queue length shows neither. The
//! probability settles at a value at which both are rare. BLUE converges slowly, because such events are few;
//! its state is two numbers.
//!
//! # When it decides
//! Each arrival is signalled with probability p_m, cause `early`. An overflow increases p_m by `d1`; with a
//! threshold `l`, so does an arrival that finds more than `l` queued, before the decision on it. A link that
//! becomes idle decreases p_m by `d2`, with `repeat_idle` repeatedly while it stays idle. A step in either
//! direction requires that more than `freeze_time` has passed since the last step.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | what increases p_m | overflow | Byun and Baras: a queue above a threshold (`l 30p`) | Feng et al. use packet loss; the origin of the threshold could not be checked in their report |
//! | freeze time | one for increases and decreases | Feng's ns-1.1 code: one for each | the published listing has one |
//! | long idle time | one decrease, at its start | ALTQ: at the first arrival after it, by 1/1000 after 50 ms, by nearly all of p after 1 s; `repeat_idle`: one decrease per `freeze_time` | the paper defines the event, not its duration |
//! | arrival dropped at an idle link | another idle event | some simulators: no event | the transmitter finds no packet; without the event p_m = 1, reached just before the link became idle, would never decrease |
//! | short queues | no exception | ALTQ exempts a queue of at most one packet | the paper has none |
//! | steps | 0.0025 up, 0.00025 down | ALTQ: 1/8 up | the paper's values; it recommends `d1` much larger than `d2` |
//!
//! # References
//! W. Feng, D. Kandlur, D. Saha, K. Shin: BLUE: A New Class of Active Queue Management Algorithms, University
//! of Michigan CSE-TR-387-99, 1999; The BLUE active queue management algorithms, IEEE/ACM ToN 10(4), 2002.
//! Threshold form as in D. J. Byun, J. S. Baras: AVQRED, 2007. ALTQ `altq_blue.c`.

use crate::{
    Algorithm, Aqm, Cause, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random, Range, Span,
    SpecError, Time, Verdict, common,
    config::{Fields, config, meaning},
    units::Size,
};
use alloc::boxed::Box;

config! {
    /// The parameters of BLUE.
    pub struct Config {
        /// Step up of the probability
        d1: f64 = Param::fixed("0.0025").range(Range::SHARE).source("Feng et al. 1999");
        /// Step down of the probability
        d2: f64 = Param::fixed("0.00025").range(Range::SHARE).source("Feng et al. 1999");
        /// Minimum time between two steps, exclusive
        freeze_time: Span = Param::fixed("100ms").unit("s").range(common::PERIOD).source("Feng et al. 1999");
        /// Queue above which an arrival also increases the probability
        l: Option<Size> = Param::derived("the buffer limit: only an overflow increases the probability")
            .unit("packets or bytes")
            .range(Range::NOT_NEGATIVE)
            .source("Feng et al. 1999");
        /// Decrease the probability once per freeze time while the link is idle
        repeat_idle: bool = Param::fixed("off").source("Feng et al. 1999: one event");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "blue",
    title: "BLUE",
    alias_of: None,
    source: "Feng, Kandlur, Saha and Shin 1999",
    params: Config::PARAMS,
    probes: &[Probe { name: "p", unit: "", doc: "signalling probability p_m" }],
    ns2_limit_counts_service: false,
    file: include_str!("blue.rs"),
    instance: crate::instance!(Blue),
    build: |settings| settings.build(Blue::new),
};

/// The state of BLUE.
#[derive(Clone, Debug)]
pub struct Blue {
    d1: f64,
    d2: f64,
    freeze_time: Span,
    /// Threshold of the queue; `None` in the overflow form.
    l: Option<Size>,
    ecn: bool,
    /// Signalling probability p_m.
    p: f64,
    /// Time of the last step of p_m; `None` before the first.
    last_update: Option<Time>,
    /// The link has been idle since the last accepted packet.
    is_idle: bool,
    /// Time of the next check whether the link is still idle (`repeat_idle`).
    look_again: Option<Time>,
}

impl Blue {
    /// BLUE for an empty queue.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config) -> Result<Blue, SpecError> {
        config.check()?;
        let Config { d1, d2, freeze_time, l, repeat_idle, ecn } = config;
        Ok(Blue {
            d1,
            d2,
            freeze_time,
            l,
            ecn,
            p: 0.0,
            last_update: None,
            is_idle: false,
            look_again: repeat_idle.then_some(Time::ZERO + freeze_time),
        })
    }

    /// Change p_m if its last change is more than a freeze time ago.
    fn step(&mut self, now: Time, by: f64) {
        if self.last_update.is_none_or(|last| now.since(last) > self.freeze_time) {
            self.p = (self.p + by).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }

    fn is_above(&self, queue: &QueueView) -> bool {
        match self.l {
            Some(Size::Packets(l)) => f64::from(queue.packets) > l,
            Some(Size::Bytes(l)) => queue.bytes as f64 > l,
            None => false,
        }
    }

    /// The earliest time of the next step of p_m.
    fn thawed(&self, now: Time) -> Time {
        let Some(last) = self.last_update.filter(|_| self.is_idle) else {
            return now + self.freeze_time;
        };
        (last + self.freeze_time).max(now) + Span(1)
    }
}

impl IgnoresContents for Blue {}

impl Aqm for Blue {
    fn hooks(&self) -> Hooks {
        Hooks::ARRIVALS
    }

    fn on_offered(&mut self, now: Time, _: &PacketView, queue: &QueueView) {
        if self.is_above(queue) {
            self.step(now, self.d1);
        }
    }

    fn on_arrival(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        let verdict =
            if rng.happens(self.p) { Verdict::signal(packet, self.ecn, Cause::Early) } else { Verdict::Pass };
        self.is_idle &= matches!(verdict, Verdict::Drop(_));
        verdict
    }

    fn on_drop(&mut self, now: Time, _: &PacketView, _: Cause, _: &QueueView) {
        self.step(now, self.d1);
    }

    fn on_idle(&mut self, now: Time) {
        self.is_idle = true;
        self.step(now, -self.d2);
    }

    fn next_timer(&self) -> Option<Time> {
        self.look_again
    }

    fn on_timer(&mut self, now: Time, _: &QueueView, _: &mut dyn Random) {
        if self.is_idle {
            self.step(now, -self.d2);
        }
        self.look_again = Some(self.thawed(now));
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
