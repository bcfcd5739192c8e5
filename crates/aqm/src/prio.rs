//! **Prio (strict priority; RFC 2475, Linux `sch_prio.c`)** serves the lowest-numbered DiffServ class that
//! has packets. Each class has its own queue, algorithm and limit.
//!
//! The first class has the shortest possible delay; while it has packets, the other classes get no service.
//!
//! # When it decides
//! Every departure is from the lowest-numbered class with packets; a packet of class c is in queue min(c,
//! classes - 1). The algorithm or scheduler of the class decides on arrivals and departures of its own queue.
//! A packet that does not fit into its class is dropped. With `limits shared`, all classes share one limit,
//! and packets that are never served can fill it; `evict lowest` then drops packets at the tail of the
//! highest-numbered class above that of the arrival first. The cause is `overflow`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | limit | that of each class; one for all with `limits shared` or `evict lowest` | Linux: each band's own | a class with spare capacity loses nothing because another one is overloaded |
//! | victim of an overflow | the arrival (`evict lowest`: the least important packet) | Linux: the arrival | the rule of Linux |
//! | classes | the packet's class | Linux: a map of the packet's priority | the marker has already assigned a class |
//!
//! # References
//! RFC 2475. Linux `sch_prio.c`.

use crate::{
    Context, PacketView, Param, Random, Scheduler, SpecError, Time, Token,
    bands::{self, Bands, Limits},
    config::{Fields, choice, config},
    scheduler::{Discipline, EventSink, is_a_scheduler},
    schema,
};
use alloc::boxed::Box;

choice! {
    /// Which packet is dropped when the limit is reached.
    pub enum Evict {
        /// The arrival.
        Arrival = "arrival",
        /// The last packet of a less important class.
        Lowest = "lowest",
    }
}

config! {
    /// The parameters of Prio.
    pub struct Config {
        [
            /// The classes.
            bands: bands::Config;
        ]
        /// Whether each class has the limit for itself, or all classes share it
        limits: Option<Limits> =
            Param::derived("class; with evict lowest: shared").source("Linux sch_prio.c");
        /// Which packet is dropped at a shared limit: the arrival, or the last of a less important class
        evict: Evict = Param::fixed("arrival").source("Linux sch_prio.c");
    }
}

const fn of_bands(name: &str) -> Param {
    schema::entry(bands::Config::PARAMS, name)
}

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "prio",
        title: "Strict priority",
        alias_of: None,
        source: "RFC 2475",
        params: &[
            of_bands("classes"),
            of_bands("precedences"),
            of_bands("aqm"),
            of_bands("aqm_0"),
            of_bands("aqm_1"),
            of_bands("aqm_2"),
            of_bands("aqm_3"),
            of_bands("aqm_4"),
            of_bands("aqm_5"),
            of_bands("aqm_6"),
            of_bands("aqm_7"),
            schema::entry(Config::PARAMS, "limits"),
            schema::entry(Config::PARAMS, "evict"),
            of_bands("ecn"),
        ],
        probes: &[],
        ns2_limit_counts_service: false,
        file: include_str!("prio.rs"),
        instance: crate::Instance::NONE,
        build: is_a_scheduler,
    },
    build: |s| s.schedule(|config| Prio::new(config, &s.context)),
};

/// Strict priority between queues.
#[derive(Clone)]
pub struct Prio {
    bands: Bands,
    lowest: bool,
}

impl Prio {
    /// Strict priority between empty queues in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; an algorithm for a class that does not exist, or one that cannot be built
    /// for the link.
    pub fn new(config: Config, link: &Context) -> Result<Prio, SpecError> {
        config.check()?;
        let lowest = config.evict == Evict::Lowest;
        let limits = config.limits.unwrap_or(if lowest { Limits::Shared } else { Limits::Class });
        if lowest && limits == Limits::Class {
            let problem = "= lowest, but no class takes the room of another";
            return Err(SpecError::about("evict", problem, "limits shared"));
        }
        Ok(Prio { bands: Bands::new(&config.bands, limits, link)?, lowest })
    }

    /// The least important class below `index` that has packets.
    fn below(&self, index: usize) -> Option<usize> {
        (index + 1..self.bands.count()).rev().find(|other| self.bands.packets_of(*other) > 0)
    }
}

impl Scheduler for Prio {
    fn enqueue(
        &mut self,
        now: Time,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        let (index, packet) = &self.bands.place(packet);
        let index = *index;
        self.bands.offer(now, index, packet);
        while self.lowest && !self.bands.fits(index, packet.bytes) && self.bands.could_fit(packet.bytes) {
            let Some(victim) = self.below(index) else { break };
            self.bands.evict(now, victim, events);
        }
        if self.bands.fits(index, packet.bytes) {
            self.bands.enter(now, index, token, packet, rng, events);
        } else {
            self.bands.refuse(now, index, token, packet, rng, events);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, events: EventSink) -> Option<(Token, u32)> {
        self.bands.rest(now);
        (0..self.bands.count()).find_map(|index| self.bands.take(now, index, rng, events))
    }

    fn evict(&mut self, now: Time, events: EventSink) -> u64 {
        let last = (0..self.bands.count()).rev().find(|index| self.bands.packets_of(*index) > 0);
        last.map_or(0, |index| self.bands.evict(now, index, events))
    }

    fn packets(&self) -> u32 {
        self.bands.packets()
    }
    fn bytes(&self) -> u64 {
        self.bands.bytes()
    }
    fn next_timer(&self) -> Option<Time> {
        self.bands.next_timer()
    }
    fn on_timer(&mut self, now: Time, rng: &mut dyn Random) {
        self.bands.on_timer(now, rng);
    }
    fn on_end(&mut self, now: Time, export: &mut dyn FnMut(&str, &str)) {
        self.bands.on_end(now, export);
    }
    fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        self.bands.probe(field);
    }
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}
