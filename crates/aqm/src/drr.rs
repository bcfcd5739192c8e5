//! **DRR (Deficit Round Robin; Shreedhar and Varghese 1996)** serves DiffServ classes in turn, each with a
//! number of bytes in proportion to its weight, in constant time per packet and independently of packet
//! sizes.
//!
//! A class whose next packet is longer than its remaining credit keeps this credit (its deficit) for the next
//! turn.
//!
//! # When it decides
//! Classes with packets form a round. At its turn a class gets weight x quantum bytes of credit and sends
//! while its head is no larger than its credit; an empty class leaves the round and loses its credit. The
//! algorithm or scheduler of a class decides on its own queue. If an arrival exceeds the limit that all
//! classes share, packets are dropped at the tail of the queue with the most bytes until the arrival fits,
//! cause `overflow`; if that queue is the arrival's own, or all queues are empty, the arrival is dropped.
//! With `limits class`, each class has the whole limit for itself, and the arrival is dropped.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | what a class is | the packet's DiffServ class | the paper: a flow | `fq_codel` is for flows |
//! | victim of an overflow | the last packet of the longest queue | Linux: the arrival, at its class's own limit (`limits class`) | the paper's buffer stealing: a class within its share loses no packet |
//! | packets that a class's algorithm drops at departure | use no credit | Linux: same | only bytes sent on the link use credit |
//! | class with a scheduler | sends while its credit is positive; a negative credit remains for the next turn | not defined | the size of the next packet is not known before it is chosen |
//!
//! # References
//! M. Shreedhar, G. Varghese: Efficient Fair Queuing Using Deficit Round-Robin, IEEE/ACM ToN 4(3), 1996.
//! Linux `sch_drr.c`.

use crate::{
    Context, PacketView, Param, Random, Range, Scheduler, SpecError, Time, Token,
    bands::{self, Bands, Limits},
    common,
    config::{Fields, config, meaning},
    scheduler::{Discipline, EventSink, is_a_scheduler},
    schema,
    units::Bytes,
};
use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};

const WEIGHT: Param = Param::fixed("1")
    .range(Range { min: 0.001, max: 1000.0, above: false, below: false })
    .source("Shreedhar and Varghese 1996");

config! {
    /// The parameters of DRR.
    pub struct Config {
        [
            /// The classes.
            bands: bands::Config;
        ]
        /// Bytes added to the deficit of a class of weight 1 per round
        quantum: Bytes = Param::fixed("1500B")
            .unit("B")
            .range(common::PACKET_BYTES)
            .source("Shreedhar and Varghese 1996: the largest packet")
            .tc("quantum");
        /// Whether all classes share the limit, or each one has it for itself
        limits: Limits = Param::fixed("shared").source("Shreedhar and Varghese 1996").linux("class");
        #[doc = meaning!(weight)]
        w_0: f64 = WEIGHT;
        #[doc = meaning!(weight)]
        w_1: f64 = WEIGHT;
        #[doc = meaning!(weight)]
        w_2: f64 = WEIGHT;
        #[doc = meaning!(weight)]
        w_3: f64 = WEIGHT;
        #[doc = meaning!(weight)]
        w_4: f64 = WEIGHT;
        #[doc = meaning!(weight)]
        w_5: f64 = WEIGHT;
        #[doc = meaning!(weight)]
        w_6: f64 = WEIGHT;
        #[doc = meaning!(weight)]
        w_7: f64 = WEIGHT;
    }
}

const fn own(name: &str) -> Param {
    schema::entry(Config::PARAMS, name)
}

const fn of_bands(name: &str) -> Param {
    schema::entry(bands::Config::PARAMS, name)
}

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "drr",
        title: "Deficit Round Robin",
        alias_of: None,
        source: "Shreedhar and Varghese 1996",
        params: &[
            of_bands("classes"),
            own("quantum"),
            own("w_0"),
            own("w_1"),
            own("w_2"),
            own("w_3"),
            own("w_4"),
            own("w_5"),
            own("w_6"),
            own("w_7"),
            of_bands("precedences"),
            own("limits"),
            of_bands("aqm"),
            of_bands("aqm_0"),
            of_bands("aqm_1"),
            of_bands("aqm_2"),
            of_bands("aqm_3"),
            of_bands("aqm_4"),
            of_bands("aqm_5"),
            of_bands("aqm_6"),
            of_bands("aqm_7"),
            of_bands("ecn"),
        ],
        probes: &[],
        ns2_limit_counts_service: false,
        file: include_str!("drr.rs"),
        instance: crate::Instance::NONE,
        build: is_a_scheduler,
    },
    build: |s| s.schedule(|config| Drr::new(config, &s.context)),
};

/// Deficit round robin between queues.
#[derive(Clone)]
pub struct Drr {
    bands: Bands,
    /// Credit of each class per turn, in bytes.
    quanta: Vec<i64>,
    /// Remaining credit of each class, in bytes.
    deficit: Vec<i64>,
    /// The classes with packets; the first one has its turn.
    circle: VecDeque<usize>,
    /// The first class has received its quantum of this turn.
    paid: bool,
}

impl Drr {
    /// DRR with empty queues in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; an algorithm for a class that does not exist, or one that cannot be built
    /// for the link.
    pub fn new(config: Config, link: &Context) -> Result<Drr, SpecError> {
        config.check()?;
        let bands = Bands::new(&config.bands, config.limits, link)?;
        let Config { quantum: Bytes(quantum), w_0, w_1, w_2, w_3, w_4, w_5, w_6, w_7, .. } = config;
        Ok(Drr {
            quanta: [w_0, w_1, w_2, w_3, w_4, w_5, w_6, w_7][..bands.count()]
                .iter()
                .map(|weight| ((quantum * weight) as i64).max(1))
                .collect(),
            deficit: vec![0; bands.count()],
            circle: VecDeque::with_capacity(bands.count()),
            paid: false,
            bands,
        })
    }

    /// The first class leaves the round.
    fn leave(&mut self) {
        if let Some(index) = self.circle.pop_front() {
            self.deficit[index] = self.deficit[index].min(0);
        }
        self.paid = false;
    }

    /// The turn of the first class ends.
    fn next(&mut self) {
        self.circle.rotate_left(1);
        self.paid = false;
    }

    /// Take all turns without a departure at once, so that a small quantum does not cost time.
    fn skip_rounds(&mut self) {
        let missing = |index: &usize| {
            let head = self.bands.head(*index).map_or(0, i64::from);
            (head - self.deficit[*index] + self.quanta[*index] - 1) / self.quanta[*index]
        };
        let rounds = self.circle.iter().map(missing).min().unwrap_or(0) - 1;
        if rounds > 0 {
            for index in &self.circle {
                self.deficit[*index] += rounds * self.quanta[*index];
            }
        }
    }
}

impl Scheduler for Drr {
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
        while self.bands.share_limit()
            && !self.bands.fits(index, packet.bytes)
            && self.bands.could_fit(packet.bytes)
        {
            let longest = self.bands.longest();
            if longest == index || self.bands.packets_of(longest) == 0 {
                break;
            }
            self.bands.evict(now, longest, events);
        }
        if !self.bands.fits(index, packet.bytes) {
            return self.bands.refuse(now, index, token, packet, rng, events);
        }
        self.bands.enter(now, index, token, packet, rng, events);
        if self.bands.packets_of(index) > 0 && !self.circle.contains(&index) {
            self.circle.push_back(index);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, events: EventSink) -> Option<(Token, u32)> {
        self.bands.rest(now);
        let mut turns = 0;
        while let Some(&index) = self.circle.front() {
            let Some(head) = self.bands.head(index) else {
                self.leave();
                continue;
            };
            let bytes = i64::from(head);
            if !self.paid {
                if turns > self.circle.len() {
                    self.skip_rounds();
                    turns = 0;
                }
                turns += 1;
                self.deficit[index] += self.quanta[index];
                self.paid = true;
            }
            if bytes > self.deficit[index] {
                self.next();
                continue;
            }
            // The algorithm may drop this head and send a longer packet: the negative credit remains for the
            // next turn.
            if let Some((token, bytes)) = self.bands.take(now, index, rng, events) {
                self.deficit[index] -= i64::from(bytes);
                if self.bands.packets_of(index) == 0 {
                    self.leave();
                }
                return Some((token, bytes));
            }
        }
        None
    }

    fn evict(&mut self, now: Time, events: EventSink) -> u64 {
        self.bands.evict(now, self.bands.longest(), events)
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
