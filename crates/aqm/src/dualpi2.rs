//! **DualPI2 (RFC 9332)** gives scalable senders (L4S) a separate queue with a very short delay, and couples
//! its marking to that of the classic queue so that both kinds of flows get about the same rate.
//!
//! One PI controller computes p' from the queueing delay. Classic packets are dropped or marked with
//! probability p'^2, scalable packets are marked with k p': the rate of a scalable sender is inversely
//! proportional to the probability itself, that of a classic sender to its square root.
//!
//! # When it decides
//! Packets with ECT(1) or CE wait in the L queue, the others in the C queue. Every `t_update` the controller
//! of `pi2` updates p' with the longer of the delays of the two heads. L has priority, but while both queues
//! have packets C gets the share `w_c` of the bytes. A departing L packet is marked with the larger of k p'
//! and a linear function of its own delay (the ramp), which applies only if more than `th_len` packets are
//! queued behind it. A departing C packet is signalled with p'^2, by a mark while p'^2 < `p_c_max`. If k p'
//! reaches 1, L packets are also dropped with p'^2. The cause is `early`. A packet that does not fit is
//! dropped, cause `overflow`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | delay of the controller | the longer one of L and C | RFC 9332, figure 6: that of C (`follows classic`) | RFC 9332, figure 8: the controller also reacts to an overload of L |
//! | gains | from `rtt_max` | Linux: 0.16 and 3.2, every 16 ms | RFC 9332's rule |
//! | ramp | 0.8 to 1.2 ms | Linux: a step at 1 ms (`min_th 1ms range 0s`) | RFC 9332; a step marks in bursts |
//! | C's share | 1/16 of the bytes | Linux: 10 % | RFC 9332 leaves it to the operator; its example |
//! | protection of C | weighted round robin | RFC 9332 also: a time-shifted FIFO | it has no second delay to configure |
//! | overload | L packets are dropped | Linux: may limit p' instead (`overload cap`) | RFC 9332 |
//! | draw | random | RFC 9332, appendix A: counters (`draw counter`) | as in `pi2` |
//!
//! # References
//! RFC 9332. RFC 9331. Linux `sch_dualpi2.c`.

use crate::{
    Cause, Context, Ecn, PacketView, Param, Probe, Random, Range, Scheduler, Span, SpecError, Time, Token,
    config::{Fields, choice, config},
    droptail::DropTail,
    pi2::{Control, Controller, Decision, of_control},
    scheduler::{Bank, Discipline, End, EventSink, Outcome, is_a_scheduler},
    schema,
    units::Size,
};
use alloc::{boxed::Box, vec};

choice! {
    /// Whose delay the controller follows.
    pub enum Follows {
        /// The longer of both.
        Both = "both",
        /// The delay of C.
        Classic = "classic",
    }
}

choice! {
    /// What happens if k p' reaches 1.
    pub enum Overload {
        /// L packets are also dropped.
        Drop = "drop",
        /// p' is limited to 1/k.
        Cap = "cap",
    }
}

config! {
    /// The parameters of DualPI2.
    pub struct Config {
        [
            /// The controller.
            control: Control;
        ]
        /// Delay of L at which its ramp begins
        min_th: Span = Param::fixed("800us")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("RFC 9332, appendix A.1")
            .linux("1ms")
            .tc("step_thresh");
        /// Delay from the beginning of the ramp to its end
        range: Span = Param::fixed("400us")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("RFC 9332, appendix A.1")
            .linux("0s");
        /// The ramp does not apply while at most this many packets are queued behind the head
        th_len: Size = Param::fixed("1p")
            .unit("packets")
            .range(Range::NOT_NEGATIVE)
            .source("RFC 9332, appendix A.1");
        /// Share of the bytes that C gets while both queues have packets
        w_c: f64 = Param::fixed("0.0625")
            .range(Range::FRACTION)
            .source("RFC 9332, appendix A.1: 1/16")
            .linux("0.1")
            .tc("classic_protection");
        /// Whose delay the controller follows: the longer, or that of C
        follows: Follows = Param::fixed("both").source("RFC 9332, figure 8");
        /// If k p' reaches 1: also drop L packets, or limit p' to 1/k
        overload: Overload = Param::fixed("drop").source("RFC 9332, 4.2.3").tc("drop_on_overload");
    }
}

const fn own(name: &str) -> Param {
    schema::entry(Config::PARAMS, name)
}

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "dualpi2",
        title: "Dual-queue coupled PI squared (L4S)",
        alias_of: None,
        source: "RFC 9332",
        params: &[
            of_control("target"),
            of_control("rtt_max"),
            of_control("t_update"),
            of_control("alpha"),
            of_control("beta"),
            of_control("k"),
            of_control("p_c_max"),
            of_control("draw"),
            own("min_th"),
            own("range"),
            own("th_len"),
            own("w_c"),
            own("follows"),
            own("overload"),
        ],
        probes: &[
            Probe { name: "p_prime", unit: "", doc: "the controller's probability p'" },
            Probe { name: "c.p", unit: "", doc: "signalling probability of C, p'^2" },
            Probe { name: "l.p", unit: "", doc: "coupled marking probability of L, k p'" },
            Probe { name: "c.packets", unit: "packets", doc: "queued packets of C" },
            Probe { name: "l.packets", unit: "packets", doc: "queued packets of L" },
        ],
        ns2_limit_counts_service: false,
        file: include_str!("dualpi2.rs"),
        instance: crate::Instance::NONE,
        build: is_a_scheduler,
    },
    build: |s| s.schedule(|config| DualPi2::new(config, &s.context)),
};

const L: usize = 0;
const C: usize = 1;

/// The state of DualPI2; times in seconds.
#[derive(Clone)]
pub struct DualPi2 {
    bank: Bank,
    controller: Controller,
    /// The random tests of each queue.
    draws: [Decision; 2],
    k: f64,
    p_c_max: f64,
    min_th: f64,
    range: f64,
    th_len: f64,
    w_c: f64,
    both: bool,
    cap: bool,
    /// Credit of C in weighted bytes: C is served while it is above 0.
    credit: f64,
}

impl DualPi2 {
    /// DualPI2 with two empty queues in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<DualPi2, SpecError> {
        config.check()?;
        let control = &config.control;
        Ok(DualPi2 {
            bank: Bank::new(vec![Box::new(DropTail), Box::new(DropTail)], link),
            controller: Controller::new(control),
            draws: [Decision::new(control.draw), Decision::new(control.draw)],
            k: control.k,
            p_c_max: control.p_c_max(),
            min_th: config.min_th.as_secs_f64(),
            range: config.range.as_secs_f64(),
            th_len: config.th_len.packets(link.mean_packet),
            w_c: config.w_c,
            both: config.follows == Follows::Both,
            cap: config.overload == Overload::Cap,
            credit: 0.0,
        })
    }

    /// The coupled probability k p', up to 1.
    fn coupled(&self) -> f64 {
        (self.k * self.controller.p_prime).min(1.0)
    }

    /// The ramp: L's own marking probability of a packet that has waited `delay` seconds.
    fn ramp(&self, delay: f64) -> f64 {
        if f64::from(self.bank.packets_of(L)) <= self.th_len || delay < self.min_th {
            0.0
        } else if delay >= self.min_th + self.range {
            1.0
        } else {
            (delay - self.min_th) / self.range
        }
    }

    /// The queue to serve: L, unless C has credit.
    fn turn(&mut self) -> Option<usize> {
        match (self.bank.packets_of(L) > 0, self.bank.packets_of(C) > 0) {
            (true, true) => Some(if self.credit > 0.0 { C } else { L }),
            (true, false) => Some(L),
            (false, true) => Some(C),
            (false, false) => {
                self.credit = 0.0;
                None
            }
        }
    }

    /// While both queues have packets, each byte of L adds C's share, and each byte of C is subtracted.
    fn account(&mut self, index: usize, bytes: u32) {
        let bytes = f64::from(bytes);
        if index == L && self.bank.packets_of(C) > 0 {
            self.credit += self.w_c * bytes;
        } else if index == C && self.bank.packets_of(L) > 0 {
            self.credit -= (1.0 - self.w_c) * bytes;
        }
    }

    /// The verdict on a departing packet of L; `None` sends it.
    fn decide_scalable(&mut self, delay: f64, rng: &mut dyn Random) -> Option<Outcome> {
        let coupled = self.coupled();
        if coupled >= 1.0 && !self.cap && self.draws[L].hits(self.controller.classic(), rng) {
            return Some(Outcome::Dropped(Cause::Early));
        }
        let p = self.ramp(delay).max(coupled);
        self.draws[L].hits(p, rng).then_some(Outcome::Marked(Cause::Early))
    }

    /// The verdict on a departing packet of C.
    fn decide_classic(&mut self, packet: &PacketView, rng: &mut dyn Random) -> Option<Outcome> {
        if !self.draws[C].hits_squared(self.controller.p_prime, rng) {
            return None;
        }
        let marks = packet.ecn != Ecn::NotEct && self.controller.classic() < self.p_c_max;
        Some(if marks { Outcome::Marked(Cause::Early) } else { Outcome::Dropped(Cause::Early) })
    }

    fn delay(&self, now: Time, index: usize) -> f64 {
        self.bank.head(index).map_or(0.0, |head| now.since(head.arrived).as_secs_f64())
    }
}

impl Scheduler for DualPi2 {
    fn enqueue(
        &mut self,
        now: Time,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        let index = if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) { L } else { C };
        if self.bank.fits(packet.bytes) {
            self.bank.enter(now, index, token, packet, rng, events);
        } else {
            self.bank.refuse(now, index, token, packet, rng, events);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, events: EventSink) -> Option<(Token, u32)> {
        while let Some(index) = self.turn() {
            let (token, packet) = self.bank.pop(index)?;
            let outcome = if index == L {
                self.decide_scalable(now.since(packet.arrived).as_secs_f64(), rng)
            } else {
                self.decide_classic(&packet, rng)
            };
            if let Some(outcome) = outcome {
                events(token, outcome);
            }
            if !matches!(outcome, Some(Outcome::Dropped(_))) {
                self.account(index, packet.bytes);
                return Some((token, packet.bytes));
            }
        }
        None
    }

    fn evict(&mut self, now: Time, events: EventSink) -> u64 {
        self.bank.evict(now, self.bank.longest(), End::Tail, events)
    }

    fn packets(&self) -> u32 {
        self.bank.packets()
    }
    fn bytes(&self) -> u64 {
        self.bank.bytes()
    }
    fn next_timer(&self) -> Option<Time> {
        Some(self.controller.due())
    }
    fn on_timer(&mut self, now: Time, _: &mut dyn Random) {
        let classic = self.delay(now, C);
        let delay = if self.both { classic.max(self.delay(now, L)) } else { classic };
        self.controller.update(now, delay);
        if self.cap {
            self.controller.p_prime = self.controller.p_prime.min(1.0 / self.k);
        }
    }
    fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        field("p_prime", self.controller.p_prime);
        field("c.p", self.controller.classic());
        field("l.p", self.coupled());
        field("c.packets", f64::from(self.bank.packets_of(C)));
        field("l.packets", f64::from(self.bank.packets_of(L)));
    }
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}
