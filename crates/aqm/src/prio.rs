//! **Prio** serves the lowest class that has a packet: strict priority between DiffServ classes, each with a queue and an
//! algorithm of its own under one limit.
//!
//! It gives the first class the shortest possible delay and, if that class never pauses, the others nothing.
//!
//! # When it decides
//! Every departure is from the lowest-numbered class that waits; a packet of class c waits in queue min(c, classes - 1). The
//! class's algorithm decides on arrivals and departures of its own queue. A packet for which there is no room is refused, or, with
//! `evict lowest`, the last packets of the highest-numbered class above its own leave first. The cause is `overflow`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | limit | one, shared | Linux: each band's own | one buffer in front of one link |
//! | who leaves | the arrival (`evict lowest`: the least important) | Linux: the arrival | a limit without surprises |
//! | classes | the packet's class | Linux: a map of the packet's priority | the marker has already decided |
//!
//! # References
//! RFC 2475. Linux `sch_prio.c`.

use crate::{
    Aqm,
    DefaultValue::Value as Fixed,
    Kind, PacketView, Param, Random, Range, Scheduler, Settings, SpecError, Time, Token, common,
    scheduler::{Bank, Discipline, End, Told, is_a_scheduler, prefixed},
};
use alloc::{boxed::Box, vec::Vec};

pub(crate) const CLASSES: Param =
    Param::new("classes", Kind::Integer, Fixed("3"), "How many classes have a queue of their own")
        .unit("classes")
        .range(Range { min: 1.0, max: 8.0, above: false, below: false })
        .source("Linux sch_prio.c")
        .tc("bands");
pub(crate) const AQM: Param = Param::new(
    "aqm",
    Kind::Choice(&["droptail", "red", "pi", "codel", "pie", "pi2", "cobalt"]),
    Fixed("droptail"),
    "The algorithm of every class, with its defaults",
)
.source("RFC 2475 leaves it open");
const EVICT: Param = Param::new(
    "evict",
    Kind::Choice(&["arrival", "lowest"]),
    Fixed("arrival"),
    "Who leaves when the limit is reached: the arrival, or the last of a less important class",
)
.source("Linux sch_prio.c");

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "prio",
        title: "Strict priority",
        alias_of: None,
        source: "RFC 2475",
        params: &[CLASSES, AQM, EVICT, common::ECN],
        probes: &[],
        ns2_limit_counts_service: false,
        file: include_str!("prio.rs"),
        build: is_a_scheduler,
    },
    build: |settings| {
        let aqms = same(settings)?;
        Ok(Box::new(Prio::new(aqms, settings)))
    },
};

/// The algorithm of `aqm`, once for each class.
pub(crate) fn same(settings: &Settings) -> Result<Vec<Box<dyn Aqm>>, SpecError> {
    let spec = crate::Spec::parse(settings.choice("aqm"))?;
    let context = crate::Context { ecn: settings.ecn(), ..settings.context };
    (0..settings.integer("classes")).map(|_| spec.build(context)).collect()
}

/// Strict priority between queues.
#[derive(Clone)]
pub struct Prio {
    bank: Bank,
    lowest: bool,
}

impl Prio {
    /// One class for each of `aqms`, the first the most important; `evict` and the link are those of `settings`.
    pub fn new(aqms: Vec<Box<dyn Aqm>>, settings: &Settings) -> Prio {
        let lowest = settings.choice("evict") == "lowest";
        Prio { bank: Bank::new(aqms, &settings.context), lowest }
    }

    /// The least important class below `index` that waits.
    fn below(&self, index: usize) -> Option<usize> {
        (index + 1..self.bank.queues()).rev().find(|other| self.bank.packets_of(*other) > 0)
    }
}

impl Scheduler for Prio {
    fn enqueue(&mut self, now: Time, token: Token, packet: &PacketView, rng: &mut dyn Random, told: Told) {
        let index = usize::from(packet.class.0).min(self.bank.queues() - 1);
        self.bank.offer(now, index, packet);
        while self.lowest && !self.bank.fits(packet.bytes) && self.bank.could_fit(packet.bytes) {
            let Some(victim) = self.below(index) else { break };
            self.bank.evict(now, victim, End::Tail, told);
        }
        if self.bank.fits(packet.bytes) {
            self.bank.enter(now, index, token, packet, rng, told);
        } else {
            self.bank.refuse(now, index, token, packet, rng, told);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, told: Told) -> Option<Token> {
        (0..self.bank.queues()).for_each(|index| self.bank.rest(now, index));
        (0..self.bank.queues())
            .find_map(|index| self.bank.take(now, index, rng, told))
            .map(|(token, _)| token)
    }

    fn packets(&self) -> u32 {
        self.bank.packets()
    }
    fn bytes(&self) -> u64 {
        self.bank.bytes()
    }
    fn next_timer(&self) -> Option<Time> {
        self.bank.next_timer()
    }
    fn on_timer(&mut self, now: Time) {
        self.bank.on_timer(now);
    }
    fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        (0..self.bank.queues()).for_each(|index| prefixed(&self.bank, index, field));
    }
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}
