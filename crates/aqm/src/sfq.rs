//! **SFQ (Stochastic Fairness Queueing; McKenney 1990)** hashes flows to many queues and serves them in
//! turn: each active flow gets the same share of the link. There is no active queue management: a flow
//! that fills the buffer loses its own packets.
//!
//! # When it decides
//! A packet is enqueued in the queue to which its flow hashes. A queue that becomes active goes to the
//! end of the round with a credit of one `quantum`. At its turn it sends while its credit is positive;
//! otherwise it gets a quantum and the next queue has its turn. An empty queue leaves the round and loses
//! its credit. Above the limit the last packet of the queue with the most packets is dropped (of several,
//! the one that reached this length last; if all have one packet, that of the next queue in the round).
//! An arrival is dropped if its queue has `depth` packets, or if `flows` other queues are active. With
//! `headdrop on` the first packet of the queue is dropped instead of the last one. The cause is always
//! `overflow`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | limit | the queue's `limit` | Linux: 127 packets | one buffer in front of one link |
//! | credit | in bytes | Linux before 6.12: in units of 8 bytes, rounded up | less than 8 bytes in each packet |
//! | `perturb` | the hash is drawn once, at the first packet | Linux: `perturb 10` hashes all flows again each 10 s; off by default | another hash reorders packets |
//! | length of a queue | in packets | McKenney 1990: in bytes | Linux |
//! | hash | of the flow's number and `perturbation` | Linux: of addresses and ports | flows have numbers here |
//! | RED in each queue | none | Linux: options `redflowlimit`, `min`, `max` | `fq_codel` has an algorithm for each flow |
//!
//! # References
//! P. E. McKenney: Stochastic Fairness Queueing, IEEE INFOCOM 1990. Linux `sch_sfq.c`.

use crate::{
    Context, PacketView, Param, Probe, Random, Range, Scheduler, SpecError, Time, Token,
    config::{Fields, config},
    droptail::DropTail,
    flow_hash::FlowHash,
    scheduler::{Bank, Discipline, End, EventSink, is_a_scheduler},
    schema,
    units::Bytes,
};
use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};

config! {
    /// The parameters of SFQ.
    pub struct Config {
        /// Number of queues to which flows are hashed
        divisor: u32 = Param::fixed("1024")
            .unit("queues")
            .range(Range { min: 1.0, max: 65_536.0, above: false, below: false })
            .source("Linux sch_sfq.c")
            .tc("divisor");
        /// Maximum number of active queues
        flows: u32 = Param::fixed("128")
            .unit("queues")
            .range(Range { min: 1.0, max: 65_536.0, above: false, below: false })
            .source("Linux sch_sfq.c")
            .tc("flows");
        /// Maximum number of packets in a queue
        depth: u32 = Param::fixed("127")
            .unit("packets")
            .range(Range { min: 1.0, max: 1e6, above: false, below: false })
            .source("Linux sch_sfq.c")
            .tc("depth");
        /// Bytes added to the credit of a queue per round
        quantum: Bytes = Param::fixed("1514B")
            .unit("B")
            .range(Range { min: 256.0, max: 1e9, above: false, below: false })
            .source("Linux sch_sfq.c: the largest packet")
            .tc("quantum");
        /// Whether a queue loses its first packet instead of its last one
        headdrop: bool = Param::fixed("off").source("Linux sch_sfq.c").tc("headdrop");
        /// Seed of the hash of flows to queues
        perturbation: Option<u32> = Param::derived("drawn from the run's random numbers")
            .range(Range { min: 0.0, max: 1e9, above: false, below: false })
            .source("McKenney 1990");
    }
}

const fn own(name: &str) -> Param {
    schema::entry(Config::PARAMS, name)
}

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "sfq",
        title: "Stochastic Fairness Queueing",
        alias_of: None,
        source: "McKenney 1990; Linux sch_sfq.c",
        params: &[
            own("divisor"),
            own("flows"),
            own("depth"),
            own("quantum"),
            own("headdrop"),
            own("perturbation"),
        ],
        probes: &[
            Probe { name: "active", unit: "queues", doc: "queues with packets" },
            Probe { name: "longest", unit: "packets", doc: "packets in the longest queue" },
        ],
        ns2_limit_counts_service: false,
        file: include_str!("sfq.rs"),
        instance: crate::Instance::NONE,
        build: is_a_scheduler,
    },
    build: |s| s.schedule(|config| Sfq::new(config, &s.context)),
};

/// Queues of flows, served in rounds.
#[derive(Clone)]
pub struct Sfq {
    bank: Bank,
    flows: usize,
    depth: u32,
    quantum: i64,
    /// The end of a queue at which it loses packets.
    end: End,
    hash: FlowHash,
    /// Bytes that each queue may still send.
    credit: Vec<i64>,
    /// The active queues; the first one has its turn.
    round: VecDeque<u32>,
    lengths: Lengths,
}

impl Sfq {
    /// Empty queues in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<Sfq, SpecError> {
        config.check()?;
        let divisor = config.divisor as usize;
        Ok(Sfq {
            bank: Bank::alike(&DropTail, divisor, link),
            flows: config.flows as usize,
            depth: config.depth,
            quantum: config.quantum.0 as i64,
            end: if config.headdrop { End::Head } else { End::Tail },
            hash: FlowHash::new(config.divisor, config.perturbation),
            credit: vec![0; divisor],
            round: VecDeque::new(),
            lengths: Lengths::new(divisor),
        })
    }

    /// Drop a packet of the longest queue; returns its bytes.
    fn shed(&mut self, now: Time, events: EventSink) -> u64 {
        let Some(first) = self.round.front().map(|first| *first as usize) else { return 0 };
        let index = if self.lengths.most > 1 { self.lengths.longest() } else { first };
        let bytes = self.bank.evict(now, index, self.end, events);
        self.lengths.set(index, self.bank.packets_of(index));
        if self.bank.packets_of(index) == 0 {
            self.round.pop_front(); // only a queue that has its turn loses its only packet
        }
        bytes
    }
}

impl Scheduler for Sfq {
    fn enqueue(
        &mut self,
        now: Time,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        let index = self.hash.of(packet.flow, rng);
        let before = self.bank.packets_of(index);
        self.bank.offer(now, index, packet);
        let is_full = before >= self.depth;
        if (before == 0 && self.round.len() >= self.flows) || (is_full && self.end == End::Tail) {
            self.bank.refuse(now, index, token, packet, rng, events);
            return;
        }
        if is_full {
            self.bank.evict(now, index, End::Head, events);
        }
        self.bank.enter(now, index, token, packet, rng, events);
        self.lengths.set(index, self.bank.packets_of(index));
        if before == 0 {
            self.credit[index] = self.quantum;
            self.round.push_back(index as u32);
        }
        while self.bank.is_over() && self.bank.packets() > 0 {
            self.shed(now, events);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, events: EventSink) -> Option<(Token, u32)> {
        loop {
            let index = *self.round.front()?;
            let place = index as usize;
            if self.credit[place] <= 0 {
                self.credit[place] += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            let (token, packet) = self.bank.take(now, place, rng, events)?;
            let left = self.bank.packets_of(place);
            self.lengths.set(place, left);
            if left == 0 {
                self.round.pop_front();
            } else {
                self.credit[place] -= i64::from(packet.bytes);
            }
            return Some((token, packet.bytes));
        }
    }

    fn evict(&mut self, now: Time, events: EventSink) -> u64 {
        self.shed(now, events)
    }

    fn packets(&self) -> u32 {
        self.bank.packets()
    }
    fn bytes(&self) -> u64 {
        self.bank.bytes()
    }
    fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        field("active", self.round.len() as f64);
        field("longest", self.lengths.most as f64);
    }
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}

/// The end of a list.
const NONE: u32 = u32::MAX;

/// Queues by their number of packets: the longest one in constant time. The queues of one length are a linked
/// list, the latest change first.
#[derive(Clone)]
struct Lengths {
    /// Length of each queue, and its neighbours in the list of that length.
    of: Vec<u32>,
    before: Vec<u32>,
    after: Vec<u32>,
    /// First queue of each length.
    first: Vec<u32>,
    /// The largest length.
    most: usize,
}

impl Lengths {
    /// `count` empty queues, which are in no list.
    fn new(count: usize) -> Lengths {
        let none = vec![NONE; count];
        Lengths { of: vec![0; count], before: none.clone(), after: none, first: vec![NONE], most: 0 }
    }

    /// The longest queue; one must have a packet.
    fn longest(&self) -> usize {
        self.first[self.most] as usize
    }

    /// The length of a queue has changed.
    fn set(&mut self, index: usize, length: u32) {
        let (old, new) = (self.of[index] as usize, length as usize);
        if old == new {
            return;
        }
        if old > 0 {
            let (before, after) = (self.before[index], self.after[index]);
            match self.after.get_mut(before as usize) {
                Some(next) => *next = after,
                None => self.first[old] = after,
            }
            if let Some(previous) = self.before.get_mut(after as usize) {
                *previous = before;
            }
        }
        self.of[index] = length;
        if new > 0 {
            if self.first.len() <= new {
                self.first.resize(new + 1, NONE);
            }
            let next = core::mem::replace(&mut self.first[new], index as u32);
            (self.before[index], self.after[index]) = (NONE, next);
            if let Some(previous) = self.before.get_mut(next as usize) {
                *previous = index as u32;
            }
        }
        self.most = self.most.max(new);
        while self.most > 0 && self.first[self.most] == NONE {
            self.most -= 1;
        }
    }
}
