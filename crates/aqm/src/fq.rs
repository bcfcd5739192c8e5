//! **FQ (Fair Queue of Linux; Dumazet 2013)** has a queue for each flow, serves them by deficit round robin,
//! new flows first, and holds a flow back that exceeds `maxrate`. It is the queue below Linux's senders; in a
//! router it isolates flows and has no other congestion signal than the length of a flow's queue.
//!
//! # When it decides
//! A packet is enqueued in the queue of its flow; if that has `flow_limit` packets, it is dropped, cause
//! `flow-limit`. A queue that becomes active goes to the end of the list of new queues; its credit is
//! `initial_quantum` at first, and at least a `quantum` after `refill_delay` without packets. A departure
//! serves the first queue of the new list, or, if that list is empty, of the old list. A queue without credit
//! receives a quantum and moves to the end of the old list. An empty queue of the new list moves to the end
//! of the old list, if that has any; otherwise an empty queue becomes inactive.
//!
//! With `maxrate`, a flow that has used its credit waits for the time of a quantum at this rate, without a
//! place in the lists; then it goes to the end of the old list. At up to `low_rate_threshold` it waits after
//! each packet. A packet that is sent after more than `ce_threshold` is marked if it is ECN-capable, cause
//! `forced`. Above the limit the arrival is dropped, cause `overflow`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | pacing of senders | by TCP's own timer (`pacing = true`) | Linux: TCP sets a rate or a time of departure for each packet of the same host | a queue in a router does not see them |
//! | flows | hashed to `flows` queues | Linux: forwarded packets the same (`orphan_mask`), sockets of the host exactly | a router |
//! | limit | the queue's `limit` | Linux: 10000 packets | one buffer in front of one link |
//! | inactive queues | kept | Linux: freed after 3 s if there are thousands | they hold a credit only |
//! | `ce_threshold` | with `ecn` | Linux: also without | one switch for all algorithms |
//!
//! # References
//! E. Dumazet: pkt_sched: fq: Fair Queue packet scheduler, Linux 3.12, 2013. Linux 6.1 `sch_fq.c`.

use crate::{
    Cause, Context, Ecn, Outcome, PacketView, Param, Probe, Random, Range, Scheduler, Span, SpecError, Time,
    Token, common,
    config::{Fields, config, meaning},
    droptail::DropTail,
    flow_hash::FlowHash,
    scheduler::{Bank, Discipline, End, EventSink, is_a_scheduler},
    schema,
    units::Bytes,
};
use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};

const SOURCE: &str = "Linux sch_fq.c";

config! {
    /// The parameters of FQ.
    pub struct Config {
        /// Number of queues to which flows are hashed
        flows: u32 = Param::fixed("1024")
            .unit("queues")
            .range(Range { min: 1.0, max: 65_536.0, above: false, below: false })
            .source(SOURCE)
            .tc("orphan_mask");
        /// Maximum number of packets in a queue
        flow_limit: u32 = Param::fixed("100")
            .unit("packets")
            .range(Range { min: 1.0, max: 1e6, above: false, below: false })
            .source(SOURCE)
            .tc("flow_limit");
        /// Bytes added to the credit of a queue per round
        quantum: Bytes = Param::fixed("3028B")
            .unit("B")
            .range(Range { min: 1.0, max: 1e9, above: false, below: false })
            .source("Linux sch_fq.c: two full packets")
            .tc("quantum");
        /// Credit of a queue at its first packet
        initial_quantum: Bytes = Param::fixed("15140B")
            .unit("B")
            .range(Range { min: 1.0, max: 1e9, above: false, below: false })
            .source("Linux sch_fq.c: ten full packets")
            .tc("initial_quantum");
        /// Rate limit of each flow
        maxrate: Option<u64> = Param::derived("unlimited")
            .unit("bit/s")
            .range(Range { min: 8.0, max: 1e13, above: false, below: false })
            .source(SOURCE)
            .tc("maxrate");
        /// Time without packets after which a queue has a quantum again
        refill_delay: Span = Param::fixed("40ms")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source(SOURCE)
            .tc("refill_delay");
        /// Rate up to which a flow waits after each packet
        low_rate_threshold: u64 = Param::fixed("550kbit/s")
            .unit("bit/s")
            .range(Range { min: 0.0, max: 1e13, above: false, below: false })
            .source(SOURCE)
            .tc("low_rate_threshold");
        /// Delay above which ECN-capable packets are marked
        ce_threshold: Option<Span> = Param::derived("no marks")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source(SOURCE)
            .tc("ce_threshold");
        /// Seed of the hash of flows to queues
        perturbation: Option<u32> = Param::derived("drawn from the run's random numbers")
            .range(Range { min: 0.0, max: 1e9, above: false, below: false })
            .source("Linux: the hash of a flow has a random seed");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

const fn own(name: &str) -> Param {
    schema::entry(Config::PARAMS, name)
}

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "fq",
        title: "Fair Queue of Linux",
        alias_of: None,
        source: "Linux sch_fq.c",
        params: &[
            own("flows"),
            own("flow_limit"),
            own("quantum"),
            own("initial_quantum"),
            own("maxrate"),
            own("refill_delay"),
            own("low_rate_threshold"),
            own("ce_threshold"),
            own("perturbation"),
            own("ecn"),
        ],
        probes: &[
            Probe { name: "new", unit: "queues", doc: "queues that have just become active" },
            Probe { name: "old", unit: "queues", doc: "active queues that have had a turn" },
            Probe { name: "throttled", unit: "queues", doc: "queues held back by `maxrate`" },
        ],
        ns2_limit_counts_service: false,
        file: include_str!("fq.rs"),
        instance: crate::Instance::NONE,
        build: is_a_scheduler,
    },
    build: |s| s.schedule(|config| Fq::new(config, &s.context)),
};

/// Where a queue is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// On neither list since this time; `None`: it never was.
    Inactive { since: Option<Time> },
    /// On one of the lists.
    Listed,
    /// Held back until its time.
    Throttled,
}

/// The state of a queue.
#[derive(Clone, Copy, Debug)]
struct Flow {
    place: Place,
    /// Bytes that it may still send.
    credit: i64,
    /// Before this time it sends nothing; zero: it has not been limited yet.
    next: Time,
}

/// The rate limit of each flow.
#[derive(Clone, Copy, Debug)]
struct MaxRate {
    bits_per_second: u64,
    /// A flow waits after each packet instead of after each quantum.
    is_low: bool,
}

impl MaxRate {
    /// The time of `bytes` at this rate, at most 1 s.
    fn time_of(self, bytes: i64) -> Span {
        let exact = u128::from(bytes as u64) * 8_000_000_000 / u128::from(self.bits_per_second);
        Span((exact as u64).min(1_000_000_000))
    }
}

/// Queues of flows, served in rounds, each up to a maximum rate.
#[derive(Clone)]
pub struct Fq {
    bank: Bank,
    hash: FlowHash,
    flows: Vec<Flow>,
    flow_limit: u32,
    quantum: i64,
    max_rate: Option<MaxRate>,
    refill_delay: Span,
    /// Delay above which packets are marked.
    ce_threshold: Option<Span>,
    /// Queues that have just become active, and the other active queues, both in the order of service.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Queues that are held back; those with the earliest time last.
    throttled: Vec<u32>,
}

impl Fq {
    /// Empty queues in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<Fq, SpecError> {
        config.check()?;
        let flow = Flow {
            place: Place::Inactive { since: None },
            credit: config.initial_quantum.0 as i64,
            next: Time::ZERO,
        };
        let max_rate = config.maxrate.map(|bits_per_second| MaxRate {
            bits_per_second,
            is_low: bits_per_second <= config.low_rate_threshold,
        });
        Ok(Fq {
            bank: Bank::alike(&DropTail, config.flows as usize, link),
            hash: FlowHash::new(config.flows, config.perturbation),
            flows: vec![flow; config.flows as usize],
            flow_limit: config.flow_limit,
            quantum: config.quantum.0 as i64,
            max_rate,
            refill_delay: config.refill_delay,
            ce_threshold: config.ce_threshold.filter(|_| config.ecn),
            new: VecDeque::new(),
            old: VecDeque::new(),
            throttled: Vec::new(),
        })
    }

    /// An inactive queue has a packet: it goes to the end of the new list.
    fn activate(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        let Place::Inactive { since } = flow.place else { return };
        if since.is_some_and(|since| now > since + self.refill_delay) {
            flow.credit = flow.credit.max(self.quantum);
        }
        flow.place = Place::Listed;
        self.new.push_back(index as u32);
    }

    /// Hold a queue back until its time.
    fn throttle(&mut self, index: u32) {
        let next = self.flows[index as usize].next;
        self.flows[index as usize].place = Place::Throttled;
        let place = self.throttled.partition_point(|other| self.flows[*other as usize].next > next);
        self.throttled.insert(place, index);
    }

    /// Queues whose time has come go to the end of the old list.
    fn release(&mut self, now: Time) {
        while let Some(index) = self.throttled.pop_if(|index| self.flows[*index as usize].next <= now) {
            self.flows[index as usize].place = Place::Listed;
            self.old.push_back(index);
        }
    }

    /// A packet of `bytes` leaves: the credit, and the time of the next packet at the maximum rate.
    fn pay(&mut self, now: Time, index: usize, bytes: u32) {
        let flow = &mut self.flows[index];
        flow.credit -= i64::from(bytes);
        let Some(rate) = self.max_rate else { return };
        let mut bytes = i64::from(bytes);
        if rate.is_low {
            flow.credit = 0;
        } else if flow.credit > 0 {
            return;
        } else {
            bytes = bytes.max(self.quantum);
        }
        let mut wait = rate.time_of(bytes);
        if flow.next > Time::ZERO {
            wait = wait - (now - flow.next).min(Span(wait.0 / 2)); // it was sent late
        }
        flow.next = now + wait;
    }
}

impl Scheduler for Fq {
    fn enqueue(
        &mut self,
        now: Time,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        let index = self.hash.of(packet.flow, rng);
        if !self.bank.fits(packet.bytes) {
            self.bank.refuse(now, index, token, packet, rng, events);
        } else if self.bank.packets_of(index) >= self.flow_limit {
            events(token, Outcome::Dropped(Cause::FlowLimit));
        } else {
            self.bank.enter(now, index, token, packet, rng, events);
            self.activate(now, index);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, events: EventSink) -> Option<(Token, u32)> {
        self.release(now);
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let place = index as usize;
            let flow = &mut self.flows[place];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop_front();
                self.old.push_back(index);
            } else if self.bank.packets_of(place) == 0 {
                list.pop_front();
                if is_new && !self.old.is_empty() {
                    self.old.push_back(index);
                } else {
                    flow.place = Place::Inactive { since: Some(now) };
                }
            } else if flow.next > now {
                list.pop_front();
                self.throttle(index);
            } else {
                let earliest = flow.next;
                let (token, packet) = self.bank.take(now, place, rng, events)?;
                let waited = now - packet.arrived.max(earliest);
                if packet.ecn != Ecn::NotEct && self.ce_threshold.is_some_and(|most| waited > most) {
                    events(token, Outcome::Marked(Cause::Forced));
                }
                self.pay(now, place, packet.bytes);
                return Some((token, packet.bytes));
            }
        }
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
    fn holds_back(&self) -> bool {
        self.max_rate.is_some()
    }
    fn held_until(&self, now: Time) -> Option<Time> {
        let listed = self.new.iter().chain(&self.old);
        let waiting = listed.filter(|index| self.bank.packets_of(**index as usize) > 0);
        let times = waiting.chain(self.throttled.last()).map(|index| self.flows[*index as usize].next);
        times.min().filter(|next| *next > now)
    }
    fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        field("new", self.new.len() as f64);
        field("old", self.old.len() as f64);
        field("throttled", self.throttled.len() as f64);
    }
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}
