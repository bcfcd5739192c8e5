//! **FQ-CoDel (RFC 8290)** hashes flows to many queues, serves them by deficit round robin, new flows first,
//! and runs a CoDel on each: a sparse flow has almost no queueing delay, and a flow with a backlog delays
//! mainly itself.
//!
//! # When it decides
//! A packet is enqueued in the queue to which its flow hashes. A queue that becomes active is appended to the
//! list of new queues with a credit of one `quantum`. A departure serves the first queue of the new list, or,
//! if that list is empty, of the old list. A queue without credit receives a quantum and moves to the end of
//! the old list; otherwise its CoDel chooses a packet, whose bytes are subtracted from the credit. An empty
//! queue of the new list moves to the end of the old list (so that it is not new again at once); an empty
//! queue of the old list becomes inactive. Above the limit or `memory`, packets are dropped at the head of
//! the queue with the most bytes until half of its bytes or `drop_batch` packets are gone; cause `overflow`.
//! With `ce_threshold 1ms ce_select ect1`, as L4S asks of a queue for flows (RFC 9331), packets with ECT(1)
//! that waited longer than 1 ms are marked, cause `forced`, and classic packets are left to CoDel.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | end of a turn | at a credit of 0 or below | RFC 8290, 4.2: below 0 (`turn below_zero`) | Linux, and the RFC's description of Linux |
//! | limit | the queue's `limit` | RFC 8290: 10240 packets | one buffer in front of one link |
//! | CoDel's backlog | of the flow's queue | Linux: of all queues (`backlog all`) | RFC 8289: bytes of this queue; with windows of few packets Linux drops several times as many |
//! | drops above the limit | not counted by CoDel | Linux: each raises the `count` of the queue's CoDel (`overflow count`) | RFC 8290, 4.1 |
//! | hash | of the flow's number and `perturbation`, which is drawn at the first packet | RFC 8290: of five fields of the header | flows have numbers here; collisions have to differ between the seeds of a study |
//! | `memory` | bytes on the wire | Linux: bytes of buffers | the size of a buffer depends on Linux's implementation |
//!
//! # References
//! RFC 8290. Linux `sch_fq_codel.c`.

use crate::{
    Aqm, Context, PacketView, Param, Probe, Random, Range, Scheduler, SpecError, Time, Token,
    codel::{self, CoDel},
    config::{Fields, choice, config, meaning},
    flow_hash::FlowHash,
    scheduler::{Bank, Discipline, End, EventSink, is_a_scheduler},
    schema,
    units::Bytes,
};
use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};

choice! {
    /// The backlog in CoDel's test for at most `max_packet` bytes.
    pub enum Backlog {
        /// That of the flow's queue (RFC 8289).
        Own = "own",
        /// That of all queues (Linux).
        All = "all",
    }
}

choice! {
    /// What a packet dropped above the limit means to the CoDel of its queue.
    pub enum Overflow {
        /// Nothing.
        Ignore = "ignore",
        /// One more drop in `count` (Linux).
        Count = "count",
    }
}

choice! {
    /// When a turn ends.
    pub enum Turn {
        /// With the credit at 0 (Linux).
        Zero = "zero",
        /// With the credit below 0 (RFC 8290, 4.2).
        BelowZero = "below_zero",
    }
}

choice! {
    /// Which ECN-capable packets `ce_threshold` marks.
    pub enum CeSelect {
        /// All.
        Any = "any",
        /// Those with ECT(1), the identifier of L4S.
        Ect1 = "ect1",
    }
}

config! {
    /// The parameters of the flow queues that `fq_codel` and `fq_pie` share.
    pub struct Queues {
        /// Number of queues to which flows are hashed
        flows: u32 = Param::fixed("1024")
            .unit("queues")
            .range(Range { min: 1.0, max: 65_536.0, above: false, below: false })
            .source("RFC 8290, 5.2.4")
            .tc("flows");
        /// Bytes added to the deficit of a queue per round
        quantum: Bytes = Param::fixed("1514B")
            .unit("B")
            .range(Range { min: 256.0, max: 1e9, above: false, below: false })
            .source("RFC 8290, 5.2.3")
            .tc("quantum");
        /// Limit in bytes, besides the limit in packets
        memory: Bytes = Param::fixed("32MB")
            .unit("B")
            .range(Range { min: 1.0, max: 1e15, above: false, below: false })
            .source("Linux sch_fq_codel.c")
            .tc("memory_limit");
        /// A turn ends with the credit at 0 or below 0
        turn: Turn = Param::fixed("zero").source("Linux; RFC 8290, 4.2 has the other");
        /// Seed of the hash of flows to queues
        perturbation: Option<u32> = Param::derived("drawn from the run's random numbers")
            .range(Range { min: 0.0, max: 1e9, above: false, below: false })
            .source("RFC 8290, 5.2.1");
        #[doc = meaning!(ecn)]
        ecn: bool = Param::fixed("on").source("RFC 8290, 5.2.7").tc("ecn");
    }
}

config! {
    /// The parameters of FQ-CoDel.
    pub struct Config {
        [
            /// The queues; their `ecn` is that of every CoDel.
            queues: Queues;
            /// The CoDel of each queue.
            codel: codel::Config;
        ]
        /// Maximum number of packets dropped at once from the longest queue when the limit is exceeded
        drop_batch: u32 = Param::fixed("64")
            .unit("packets")
            .range(Range { min: 1.0, max: 1e6, above: false, below: false })
            .source("RFC 8290, 5.2.6")
            .tc("drop_batch");
        /// Which ECN-capable packets ce_threshold marks: any, or those with ECT(1)
        ce_select: CeSelect = Param::fixed("any").source("Linux; RFC 9331, 5.1").tc("ce_threshold_selector");
        /// CoDel's test for at most max_packet bytes sees the backlog of its own queue, or of all
        backlog: Backlog = Param::fixed("own").source("RFC 8289, 5.2").linux("all");
        /// Whether a packet dropped above the limit raises the count of its queue's CoDel
        overflow_drop: Overflow = Param::fixed("ignore").source("RFC 8290, 4.1").linux("count");
    }
}

pub(crate) const PROBES: &[Probe] = &[
    Probe { name: "new", unit: "queues", doc: "queues that have just become active" },
    Probe { name: "old", unit: "queues", doc: "active queues that have had a turn" },
];

pub(crate) const fn of_queues(name: &str) -> Param {
    schema::entry(Queues::PARAMS, name)
}

const fn of_codel(name: &str) -> Param {
    schema::entry(codel::Config::PARAMS, name)
}

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "fq_codel",
        title: "Flow queueing with CoDel",
        alias_of: None,
        source: "RFC 8290",
        params: &[
            of_queues("flows"),
            of_queues("quantum"),
            of_queues("memory"),
            schema::entry(Config::PARAMS, "drop_batch"),
            schema::entry(Config::PARAMS, "backlog"),
            schema::entry(Config::PARAMS, "overflow_drop"),
            of_queues("turn"),
            of_queues("perturbation"),
            of_codel("target"),
            of_codel("interval"),
            of_codel("max_packet"),
            of_codel("restart"),
            of_codel("sqrt"),
            of_codel("ce_threshold"),
            schema::entry(Config::PARAMS, "ce_select"),
            of_queues("ecn"),
        ],
        probes: PROBES,
        ns2_limit_counts_service: false,
        file: include_str!("fq_codel.rs"),
        instance: crate::Instance::NONE,
        build: is_a_scheduler,
    },
    build: |s| s.schedule(|config| FlowQueues::codel(config, &s.context)),
};

/// The state of a queue in the round.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Bytes that it may still send.
    credit: i64,
    /// It is on one of the lists.
    listed: bool,
}

/// Queues of flows, served in rounds, each with an algorithm of its own.
#[derive(Clone)]
pub struct FlowQueues {
    bank: Bank,
    quantum: i64,
    memory: u64,
    /// Packets dropped from the longest queue at once; `None`: the arrival is dropped instead.
    batch: Option<u32>,
    below_zero: bool,
    hash: FlowHash,
    turns: Vec<Place>,
    /// Queues that have just become active, and the other active queues, both in the order of service.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl FlowQueues {
    /// FQ-CoDel with empty queues in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn codel(config: Config, link: &Context) -> Result<FlowQueues, SpecError> {
        config.check()?;
        let Config { queues, codel, drop_batch, ce_select, backlog, overflow_drop } = config;
        let mut codel = CoDel::new(codel::Config { ecn: queues.ecn, ..codel })?;
        codel.count_overflow(overflow_drop == Overflow::Count);
        codel.select_ect1(ce_select == CeSelect::Ect1);
        let mut built = FlowQueues::new(&codel, &queues, link, Some(drop_batch));
        built.bank.show_whole_backlog(backlog == Backlog::All);
        Ok(built)
    }

    /// Empty queues, each with a copy of `aqm`.
    pub(crate) fn new(aqm: &dyn Aqm, queues: &Queues, link: &Context, batch: Option<u32>) -> FlowQueues {
        let flows = queues.flows as usize;
        FlowQueues {
            bank: Bank::alike(aqm, flows, link),
            quantum: queues.quantum.0 as i64,
            memory: queues.memory.0 as u64,
            batch,
            below_zero: queues.turn == Turn::BelowZero,
            hash: FlowHash::new(queues.flows, queues.perturbation),
            turns: vec![Place::default(); flows],
            new: VecDeque::with_capacity(flows),
            old: VecDeque::with_capacity(flows),
        }
    }

    fn is_over(&self) -> bool {
        self.bank.is_over() || self.bank.bytes() > self.memory
    }

    /// Above the limit: drop up to `batch` packets, or half of the bytes, at the head of the longest queue.
    fn shed(&mut self, now: Time, batch: u32, events: EventSink) {
        let longest = self.bank.longest();
        let half = self.bank.bytes_of(longest) / 2;
        let mut gone = 0;
        for _ in 0..batch {
            gone += self.bank.evict(now, longest, End::Head, events);
            if gone >= half {
                break;
            }
        }
    }

    /// Append an active queue that is on neither list to that of new queues.
    fn list(&mut self, index: usize) {
        if !self.turns[index].listed {
            self.turns[index] = Place { credit: self.quantum, listed: true };
            self.new.push_back(index as u32);
        }
    }

    /// Whether the queue has no credit: it then gets a quantum and moves to the end of the old list.
    fn turn_is_over(&self, index: usize) -> bool {
        let credit = self.turns[index].credit;
        if self.below_zero { credit < 0 } else { credit <= 0 }
    }
}

impl Scheduler for FlowQueues {
    fn enqueue(
        &mut self,
        now: Time,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        let index = self.hash.of(packet.flow, rng);
        self.bank.offer(now, index, packet);
        let Some(batch) = self.batch else {
            if !self.bank.fits(packet.bytes) || self.bank.bytes() + u64::from(packet.bytes) > self.memory {
                self.bank.refuse(now, index, token, packet, rng, events);
            } else if self.bank.enter(now, index, token, packet, rng, events) {
                self.list(index);
            }
            return;
        };
        if self.bank.enter(now, index, token, packet, rng, events) {
            self.list(index);
            while self.is_over() && self.bank.packets() > 0 {
                self.shed(now, batch, events);
            }
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, events: EventSink) -> Option<(Token, u32)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let place = index as usize;
            if self.turn_is_over(place) {
                self.turns[place].credit += self.quantum;
            } else if let Some((token, packet)) = self.bank.take(now, place, rng, events) {
                self.turns[place].credit -= i64::from(packet.bytes);
                return Some((token, packet.bytes));
            } else if !is_new {
                self.old.pop_front();
                self.turns[place].listed = false;
                continue;
            }
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front();
            self.old.push_back(index);
        }
    }

    fn evict(&mut self, now: Time, events: EventSink) -> u64 {
        let end = if self.batch.is_some() { End::Head } else { End::Tail };
        self.bank.evict(now, self.bank.longest(), end, events)
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
    fn on_timer(&mut self, now: Time, rng: &mut dyn Random) {
        self.bank.on_timer(now, rng);
    }
    fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        field("new", self.new.len() as f64);
        field("old", self.old.len() as f64);
    }
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}
