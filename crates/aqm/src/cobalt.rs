//! **COBALT (CoDel and BLUE alternate; Linux `sch_cake.c`)**, the algorithm of CAKE, combines a CoDel whose
//! count also decreases step by step while the delay is below target with a BLUE that drops packets of
//! unresponsive senders.
//!
//! The two are complementary: CoDel controls responsive flows, and BLUE, which reacts only to a full or an
//! empty queue, acts when CoDel's signals have no effect.
//!
//! # When it decides
//! On departure. While the delay of the head is above `target`, the head is marked or dropped once
//! `drop_next` has been reached, and `drop_next` moves by interval / sqrt(count); while it is below, count
//! decreases by one per such step. After that, BLUE drops the packet with probability p, ECN or not. p
//! increases by `p_inc` when a packet finds the buffer full and decreases by `p_dec` when a departure finds
//! the queue empty, at most once per `target`. The cause is `early`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | first signal after a pause | interval / sqrt(count) after the first head above target | CAKE: the next head, because it compares the time with the previous `drop_next` | CAKE's own comment: the spacing begins with interval / sqrt(count) |
//! | 1 / sqrt(count) | exact integer square root | CAKE: a cache and one Newton step on 32 bits | a Newton step lags behind count |
//! | slow links | target as set | CAKE: above target also means above 4 packet times; target is at least 1.5 packet times (`floor 1.5`) | CAKE has the rates of its tins; set `floor` for a slow link |
//! | BLUE at long delays | no step | ns-3: p also increases when a head has waited longer than 400 ms (`blue_delay 400ms`) | CAKE |
//! | queues | one | CAKE: a COBALT on each of its queues | the queues belong to a scheduler |
//!
//! # References
//! T. Høiland-Jørgensen, D. Täht, J. Morton: Piece of CAKE, LANMAN 2018. Linux `sch_cake.c`. ns-3
//! `CobaltQueueDisc`.

use crate::{
    Algorithm, Aqm, Cause, Context, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random,
    Range, Span, SpecError, Time, Verdict, codel, common,
    config::{Fields, config, meaning},
};
use alloc::boxed::Box;

config! {
    /// The parameters of COBALT.
    pub struct Config {
        /// Acceptable standing delay
        target: Span = Param::fixed("5ms").unit("s").range(Range::NOT_NEGATIVE).source("Linux sch_cake.c");
        /// Time to the first signal, and the scale of the spacing
        interval: Span = Param::fixed("100ms").unit("s").range(common::PERIOD).source("Linux sch_cake.c");
        /// BLUE: increase of p when the buffer is full (1/256)
        p_inc: f64 = Param::fixed("0.00390625").range(Range::PROBABILITY).source("Linux sch_cake.c");
        /// BLUE: decrease of p when a departure finds the queue empty (1/4096)
        p_dec: f64 = Param::fixed("0.000244140625").range(Range::PROBABILITY).source("Linux sch_cake.c");
        /// BLUE: p also increases when a head has waited longer than this
        blue_delay: Option<Span> = Param::derived("no limit: the delay has no effect")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("Linux sch_cake.c has none; ns-3: 400 ms");
        /// Smallest target, in transmission times of a mean packet
        floor: f64 = Param::fixed("0")
            .range(Range { min: 0.0, max: 1000.0, above: false, below: false })
            .source("Linux sch_cake.c: 1.5 of the tin's rate");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "cobalt",
    title: "COBALT (CoDel and BLUE alternate)",
    alias_of: None,
    source: "Linux sch_cake.c; Høiland-Jørgensen, Täht and Morton 2018",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "drop probability of BLUE" },
        Probe { name: "dropping", unit: "", doc: "1 while the delay is above target" },
        Probe { name: "count", unit: "packets", doc: "signals that set the current rate" },
        Probe {
            name: "drop_next",
            unit: "s",
            doc: "time of the next signal, or of the next decrease of count",
        },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("cobalt.rs"),
    instance: crate::instance!(Cobalt),
    build: |s| s.build(|config| Cobalt::new(config, &s.context)),
};

/// The state of COBALT, with CAKE's names.
#[derive(Clone, Debug)]
pub struct Cobalt {
    target: Span,
    interval: Span,
    p_inc: f64,
    p_dec: f64,
    blue_delay: Option<Span>,
    ecn: bool,
    /// A delay of at most this is not above target.
    least: Span,
    /// Drop probability of BLUE.
    p: f64,
    /// Time of the last change of p; `None` before.
    blue_timer: Option<Time>,
    /// The delay is above target.
    dropping: bool,
    /// Signals that set the current rate.
    count: u32,
    /// Time of the next signal, or of the next decrease of count.
    drop_next: Time,
}

impl Cobalt {
    /// COBALT for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<Cobalt, SpecError> {
        config.check()?;
        let Config { target, interval, p_inc, p_dec, blue_delay, floor, ecn } = config;
        let least = link.packet_time().as_secs_f64() * floor;
        Ok(Cobalt {
            target: target.max(Span::from_secs_f64(least)),
            interval,
            p_inc,
            p_dec,
            blue_delay,
            ecn,
            least: Span::ZERO,
            p: 0.0,
            blue_timer: None,
            dropping: false,
            count: 0,
            drop_next: Time::ZERO,
        })
    }

    /// A delay of at most `least` is not above target.
    pub(crate) fn with_least_delay(self, least: Span) -> Cobalt {
        Cobalt { least, ..self }
    }

    /// The verdict on the head of the queue.
    pub(crate) fn decide(&mut self, now: Time, packet: &PacketView, rng: &mut dyn Random) -> Verdict {
        if self.blue_delay.is_some_and(|limit| now.since(packet.arrived) > limit) {
            self.blue(now, self.p_inc);
        }
        let mut verdict = self.signal(now, packet);
        if self.p > 0.0 && rng.happens(self.p) {
            verdict = Verdict::Drop(Cause::Early);
        }
        if self.count == 0 {
            self.drop_next = now + self.interval;
        } else if now > self.drop_next && !matches!(verdict, Verdict::Drop(_)) {
            self.drop_next = now;
        }
        verdict
    }

    /// A packet was dropped because the buffer is full.
    pub(crate) fn found_full(&mut self, now: Time) {
        self.blue(now, self.p_inc);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// A departure found the queue empty.
    pub(crate) fn found_empty(&mut self, now: Time) {
        if self.p > 0.0 {
            self.blue(now, -self.p_dec);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.relax();
        }
    }

    /// Whether an empty queue needs no further calls.
    pub(crate) fn is_at_rest(&self, now: Time) -> bool {
        self.p == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// A step of BLUE, unless the last one was too recent.
    fn blue(&mut self, now: Time, step: f64) {
        if self.blue_timer.is_none_or(|last| now.since(last) > self.target) {
            self.p = (self.p + step).clamp(0.0, 1.0);
            self.blue_timer = Some(now);
        }
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Schedule the next signal, or the next decrease of count, interval / sqrt(count) after `after`.
    fn schedule(&mut self, after: Time) {
        self.drop_next = after + codel::gap(self.interval, self.count);
    }

    /// Decrease count, at the rate at which it would have increased.
    fn relax(&mut self) {
        self.count -= 1;
        self.schedule(self.drop_next);
    }

    /// Enter the dropping state above target, leave it below.
    fn follow(&mut self, now: Time, sojourn: Span) {
        let over = sojourn > self.target && sojourn > self.least;
        if over && !self.dropping {
            self.schedule(now);
            self.count = self.count.max(1);
        }
        self.dropping = over;
    }

    /// CoDel's verdict on this head.
    fn signal(&mut self, now: Time, packet: &PacketView) -> Verdict {
        let due = self.is_due(now);
        self.follow(now, now.since(packet.arrived));
        if due && self.dropping {
            self.count = self.count.saturating_add(1);
            self.schedule(self.drop_next);
            return Verdict::signal(packet, self.ecn, Cause::Early);
        }
        while self.is_due(now) {
            self.relax();
        }
        Verdict::Pass
    }
}

impl IgnoresContents for Cobalt {}

impl Aqm for Cobalt {
    fn hooks(&self) -> Hooks {
        Hooks::DEPARTURES
    }

    fn on_departure(
        &mut self,
        now: Time,
        packet: &PacketView,
        _: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        self.decide(now, packet, rng)
    }

    fn on_drop(&mut self, now: Time, _: &PacketView, _: Cause, _: &QueueView) {
        self.found_full(now);
    }

    fn on_idle(&mut self, now: Time) {
        self.found_empty(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p);
        field("dropping", f64::from(u8::from(self.dropping)));
        field("count", f64::from(self.count));
        field("drop_next", self.drop_next.as_secs_f64());
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
