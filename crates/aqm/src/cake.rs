//! **CAKE (Linux `sch_cake.c`)** is the queue of a home router in one: a shaper that knows the framing of the
//! link, priority tins, queues of flows with fairness between hosts, and a COBALT on each queue.
//!
//! # When it decides
//! The class of a packet, as a DiffServ codepoint, selects its tin, and in the tin its flow a queue: one of
//! 1024, in sets of eight, so that flows share a queue only if a set is full. A queue that becomes active is
//! sparse and is served before bulk ones; a queue that has used its deficit is bulk and gets a new one per
//! round, divided by the number of bulk queues of its host. An empty queue stays in a third list until its
//! COBALT has come to rest. A departure takes the tin of highest priority that is within its share of the
//! rate, else the tin that will be first; without a shaper, tins share the link by weight. COBALT then
//! passes, marks or drops the head (cause `early`), but it never drops the last packet of a queue. Above
//! `memory` or the limit, packets are dropped at the head of the longest queue (cause `overflow`), of which
//! its COBALT learns.
//!
//! With a `bandwidth`, each packet moves the time of the next one by the time that it occupies on the link,
//! with `overhead`, `mpu` and cells. While packets wait, unused time is not lost, so delays of the link
//! behind are made up for; when none waits, it is.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | hosts | ends of the flow's route in the topology; a gateway has one pair | Linux: IP addresses, before NAT with `nat` | the simulator has hosts, not addresses |
//! | hash | of the flow's or host's number and `perturbation`, which is drawn at the first packet | Linux: of the header, with a secret of the system | flows have numbers here; collisions have to differ between the seeds of a study |
//! | class | is the codepoint; 64 and above are best effort | Linux: the header, or a mark of the firewall | classes are numbers here |
//! | deficit of a round | quantum / bulk queues of the host, rounded up or down at random | Linux: the same of quantum - 1/65536 | a rounding error of the kernel's table |
//! | `overhead` | added to the size on the wire | Linux: added to the size without the link's header | sizes on the wire are those of IP packets by default |
//! | `memory` | bytes on the wire | Linux: bytes of buffers | the size of a buffer depends on Linux's implementation |
//! | ingress mode | drops are charged to the shaper | Linux also: COBALT tolerates 2 packets per bulk queue | the tolerance changes with each packet; the shaper is what the mode is for |
//! | COBALT | as in `cobalt`, with CAKE's tests for slow links | `cobalt` lists the differences | one definition |
//! | `diffserv8`, `precedence`, `ack-filter`, `wash`, `autorate-ingress` | refused | Linux has them | not implemented; packets here show no acknowledgement number |
//!
//! # References
//! Linux `sch_cake.c`. T. Høiland-Jørgensen, D. Täht, J. Morton: Piece of CAKE, LANMAN 2018. M. MacGregor,
//! W. Shi: Deficits for bursty latency-critical flows: DRR++, ICON 2000.

use crate::{
    Context, PacketView, Param, Probe, Random, Range, Scheduler, Span, SpecError, Stream, Time, Token,
    Verdict,
    cobalt::{self, Cobalt},
    common,
    config::{Fields, choice, config, meaning},
    droptail::DropTail,
    scheduler::{Bank, Discipline, End, EventSink, Outcome, is_a_scheduler},
    units::Bytes,
};
use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};

/// Queues of a tin, and queues of a set.
const QUEUES: usize = 1024;
const WAYS: usize = 8;
/// The largest packet of an Ethernet, on which the targets of slow tins depend, in bytes.
const MTU: u64 = 1514;
/// The smallest quantum of a slow tin, in bytes.
const LEAST_QUANTUM: u64 = 300;
/// The least rate that a tin is computed with, in bit/s.
const LEAST_RATE: u64 = 512;
/// The limit without `memory`: at least this many bytes.
const LEAST_MEMORY: u64 = 4 << 20;
/// Packets of the largest size that Linux's own limit allows.
const LINUX_LIMIT: u64 = 10_240;

choice! {
    /// How classes become tins.
    pub enum Tins {
        /// One tin.
        BestEffort = "besteffort",
        /// Best effort, bulk, and voice.
        Diffserv3 = "diffserv3",
        /// Best effort, bulk, video, and voice.
        Diffserv4 = "diffserv4",
    }
}

choice! {
    /// What has a queue of its own, and between what there is fairness besides.
    pub enum Isolation {
        /// One queue.
        Flowblind = "flowblind",
        /// A queue for each source host.
        Srchost = "srchost",
        /// A queue for each destination host.
        Dsthost = "dsthost",
        /// A queue for each pair of hosts.
        Hosts = "hosts",
        /// A queue for each flow.
        Flows = "flows",
        /// The same, and source hosts share equally.
        DualSrchost = "dual-srchost",
        /// The same, and destination hosts share equally.
        DualDsthost = "dual-dsthost",
        /// The same, and both do.
        TripleIsolate = "triple-isolate",
    }
}

impl Isolation {
    fn by_source(self) -> bool {
        matches!(self, Isolation::DualSrchost | Isolation::TripleIsolate)
    }
    fn by_destination(self) -> bool {
        matches!(self, Isolation::DualDsthost | Isolation::TripleIsolate)
    }
}

choice! {
    /// How the link divides packets.
    pub enum Framing {
        /// Not at all.
        NoAtm = "noatm",
        /// Into cells of 53 bytes with a payload of 48.
        Atm = "atm",
        /// One more byte for each 64 bytes begun.
        Ptm = "ptm",
    }
}

choice! {
    /// Whether acknowledgements that a later one makes redundant are dropped.
    pub enum AckFilter {
        /// They are not.
        Off = "off",
    }
}

config! {
    /// The parameters of CAKE.
    pub struct Config {
        /// Rate of the shaper
        bandwidth: Option<u64> = Param::derived("unlimited: no shaper")
            .unit("bit/s")
            .range(Range { min: 512.0, max: 1e13, above: false, below: false })
            .source("Linux sch_cake.c")
            .tc("bandwidth");
        /// How the codepoint, which is the class, selects a tin
        tins: Tins = Param::fixed("diffserv3").source("Linux sch_cake.c");
        /// What has a queue of its own, and which hosts share equally
        isolation: Isolation = Param::fixed("triple-isolate").source("Linux sch_cake.c");
        /// Round-trip time of most flows: COBALT's interval
        rtt: Span = Param::fixed("100ms").unit("s").range(common::PERIOD).source("Linux sch_cake.c").tc("rtt");
        /// COBALT's target
        target: Option<Span> = Param::derived("rtt / 20")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("iproute2 q_cake.c")
            .tc("target");
        /// Bytes that the link adds to each packet
        overhead: f64 = Param::fixed("0")
            .unit("B")
            .range(Range { min: -64.0, max: 256.0, above: false, below: false })
            .source("Linux sch_cake.c")
            .tc("overhead");
        /// Least size of a packet on the link, with its overhead
        mpu: Bytes = Param::fixed("0B")
            .unit("B")
            .range(Range { min: 0.0, max: 256.0, above: false, below: false })
            .source("Linux sch_cake.c")
            .tc("mpu");
        /// How the link divides packets
        framing: Framing = Param::fixed("noatm").source("Linux sch_cake.c");
        /// Packets that are dropped count in the shaper, as on the receiving side of the bottleneck
        ingress: bool = Param::fixed("off").source("Linux sch_cake.c").tc("ingress");
        /// Whether redundant acknowledgements are dropped: not implemented
        ack_filter: AckFilter = Param::fixed("off").source("Linux sch_cake.c");
        /// Limit in bytes, besides the queue's limit
        memory: Option<Bytes> = Param::derived("4 x bandwidth x rtt, at least 4 MiB")
            .unit("B")
            .range(Range { min: 1.0, max: 1e15, above: false, below: false })
            .source("Linux sch_cake.c")
            .tc("memlimit");
        /// Seed of the hash of flows to queues
        perturbation: Option<u32> = Param::derived("drawn from the run's random numbers")
            .range(Range { min: 0.0, max: 1e9, above: false, below: false })
            .source("RFC 8290, 5.2.1");
        #[doc = meaning!(ecn)]
        ecn: bool = Param::fixed("on").source("Linux sch_cake.c");
    }
}

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "cake",
        title: "Common Applications Kept Enhanced",
        alias_of: None,
        source: "Linux sch_cake.c; Høiland-Jørgensen, Täht and Morton 2018",
        params: Config::PARAMS,
        probes: &[
            Probe { name: "sparse", unit: "queues", doc: "active queues that have not used their deficit" },
            Probe { name: "bulk", unit: "queues", doc: "active queues that have" },
            Probe { name: "decaying", unit: "queues", doc: "empty queues whose COBALT is not at rest" },
            Probe { name: "collisions", unit: "", doc: "times that a flow found its set of queues full" },
        ],
        ns2_limit_counts_service: false,
        file: include_str!("cake.rs"),
        instance: crate::Instance::NONE,
        build: is_a_scheduler,
    },
    build: |s| s.schedule(|config| Cake::new(config, &s.context)),
};

/// The tin of a codepoint: best effort is 0, bulk 1; voice is 2 of `diffserv3`, video 2 and voice 3 of
/// `diffserv4`.
fn tin_of(tins: Tins, class: u8) -> usize {
    const LE: u8 = 1;
    const CS1: u8 = 8;
    match (tins, class) {
        (Tins::BestEffort, _) => 0,
        (_, LE | CS1) => 1,
        // TOS4, VA, EF, CS6, CS7
        (Tins::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
        // TOS4, CS2 to CS3 with AF2x and AF3x, AF4x
        (Tins::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
        // CS4, CS5, VA, EF, CS6, CS7
        (Tins::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
        _ => 0,
    }
}

/// The right shift of rate and weight of each tin, by its number.
fn shifts(tins: Tins) -> &'static [u32] {
    match tins {
        Tins::BestEffort => &[0],
        Tins::Diffserv3 => &[0, 4, 2],
        Tins::Diffserv4 => &[0, 4, 1, 2],
    }
}

/// A clock that packets move by the time they take at a rate, without rounding errors that accumulate.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    at: Time,
    /// A fraction of a nanosecond, in units of 1 / rate.
    fraction: u64,
}

impl Clock {
    /// A packet of `bytes` takes its time at `rate`, `factor` halves of it.
    fn advance(&mut self, bytes: u64, rate: u64, halves: u64) {
        let work = bytes * halves * 4_000_000_000 + self.fraction;
        self.at += Span(work / rate);
        self.fraction = work % rate;
    }

    fn set(&mut self, at: Time) {
        *self = Clock { at, fraction: 0 };
    }
}

/// Sets of eight slots, each with the tag of who has it.
#[derive(Clone, Debug)]
struct Sets {
    tags: Vec<u32>,
}

/// A slot of a set: already that of the hash, newly taken, or shared with others because the set is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Known(usize),
    Taken(usize),
    Shared(usize),
}

impl Sets {
    fn new() -> Sets {
        Sets { tags: vec![0; QUEUES] }
    }

    /// The slot of `hash`; those with `is_free` may be taken.
    fn find(&mut self, hash: u32, is_free: impl Fn(usize) -> bool) -> Slot {
        let first = hash as usize % QUEUES;
        let set = first - first % WAYS;
        let slots = || (0..WAYS).map(|i| set + (first + i) % WAYS);
        let found = match slots().find(|slot| self.tags[*slot] == hash) {
            Some(slot) => Slot::Known(slot),
            None => slots().find(|slot| is_free(*slot)).map_or(Slot::Shared(first), Slot::Taken),
        };
        let (Slot::Known(slot) | Slot::Taken(slot) | Slot::Shared(slot)) = found;
        self.tags[slot] = hash;
        found
    }
}

/// What a queue is in the rounds of its tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// In no list.
    #[default]
    Idle,
    Sparse,
    /// Sparse and empty with its deficit used up: in the list of bulk queues, and not counted as one.
    SparseWait,
    Bulk,
    /// Empty, and its COBALT not at rest.
    Decaying,
}

/// A queue of a tin.
#[derive(Clone, Debug)]
struct Flow {
    state: State,
    deficit: i64,
    source: usize,
    destination: usize,
    cobalt: Cobalt,
}

/// A priority class.
#[derive(Clone)]
struct Tin {
    /// Queue i is number `QUEUES` x tin + i of the bank.
    flows: Vec<Flow>,
    sets: Sets,
    sources: Hosts,
    destinations: Hosts,
    /// The lists of sparse, bulk and decaying queues.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    decaying: VecDeque<u32>,
    sparse: u32,
    bulk: u32,
    /// The share of the rate, bit/s, and when the tin may send within it.
    rate: u64,
    clock: Clock,
    /// Bytes per round of a queue; of the tin without a shaper, and what is left of them.
    quantum: i64,
    weight: i64,
    deficit: i64,
    backlog: u64,
}

/// Hosts of one side, with the number of bulk queues of each.
#[derive(Clone, Debug)]
struct Hosts {
    sets: Sets,
    bulk: Vec<u32>,
}

impl Hosts {
    fn new() -> Hosts {
        Hosts { sets: Sets::new(), bulk: vec![0; QUEUES] }
    }

    fn find(&mut self, hash: u32) -> usize {
        let bulk = &self.bulk;
        let (Slot::Known(slot) | Slot::Taken(slot) | Slot::Shared(slot)) =
            self.sets.find(hash, |slot| bulk[slot] == 0);
        slot
    }
}

/// CAKE.
#[derive(Clone)]
pub struct Cake {
    bank: Bank,
    tins: Vec<Tin>,
    config: Config,
    rate: u64,
    memory: u64,
    perturbation: Option<u32>,
    /// When the shaper lets the next packet go, and when it does at the latest.
    next: Clock,
    failsafe: Clock,
    /// The tin served last, without a shaper.
    current: usize,
    collisions: u64,
}

impl Cake {
    /// CAKE with empty queues in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<Cake, SpecError> {
        config.check()?;
        let rate = config.bandwidth.unwrap_or(0);
        let tins = shifts(config.tins).iter().map(|shift| Tin::new(&config, rate, *shift, link));
        let tins = tins.collect::<Result<Vec<Tin>, SpecError>>()?;
        let bdp = (rate as f64 / 8.0 * config.rtt.as_secs_f64() * 4.0) as u64;
        let default = if rate > 0 { bdp.max(LEAST_MEMORY) } else { u64::MAX };
        let aqms = (0..QUEUES * tins.len()).map(|_| Box::new(DropTail) as Box<dyn crate::Aqm>);
        Ok(Cake {
            bank: Bank::new(aqms.collect(), link),
            rate,
            memory: config.memory.map_or(default.min(LINUX_LIMIT * MTU), |memory| memory.0 as u64),
            perturbation: config.perturbation,
            next: Clock::default(),
            failsafe: Clock::default(),
            current: 0,
            collisions: 0,
            tins,
            config,
        })
    }

    /// Bytes that a packet occupies on the link.
    fn adjusted(&self, bytes: u32) -> u64 {
        let with_overhead = (f64::from(bytes) + self.config.overhead).max(0.0) as u64;
        let length = with_overhead.max(self.config.mpu.0 as u64);
        match self.config.framing {
            Framing::NoAtm => length,
            Framing::Atm => length.div_ceil(48) * 53,
            Framing::Ptm => length + length.div_ceil(64),
        }
    }

    /// The queue of a packet in its tin.
    fn queue_of(&mut self, tin: usize, packet: &PacketView, rng: &mut dyn Random) -> usize {
        let drawn = || (rng.uniform() * f64::from(u32::MAX)) as u32;
        let perturbation = u64::from(*self.perturbation.get_or_insert_with(drawn)) << 32;
        let hash =
            |number: u32, what: &str| Stream::new(perturbation | u64::from(number), what).bits() as u32;
        let source = hash(packet.source.0, "source host");
        let destination = hash(packet.destination.0, "destination host");
        let mode = self.config.isolation;
        let flow = match mode {
            Isolation::Flowblind => return 0,
            Isolation::Srchost => source,
            Isolation::Dsthost => destination,
            Isolation::Hosts => source ^ destination,
            _ => hash(packet.flow.0, "flow queue"),
        };
        let tin = &mut self.tins[tin];
        let flows = &tin.flows;
        let slot = tin.sets.find(flow, |slot| flows[slot].state == State::Idle);
        let (index, is_new) = match slot {
            Slot::Known(index) => (index, tin.flows[index].state == State::Idle),
            Slot::Taken(index) => (index, true),
            Slot::Shared(index) => {
                self.collisions += 1;
                tin.count_bulk(index, mode, -1);
                (index, true)
            }
        };
        if is_new {
            if mode.by_source() {
                tin.flows[index].source = tin.sources.find(source);
            }
            if mode.by_destination() {
                tin.flows[index].destination = tin.destinations.find(destination);
            }
            tin.count_bulk(index, mode, 1);
        }
        index
    }

    /// A packet of `bytes` leaves tin `tin`, to the link or dropped; what it occupies on the link.
    fn charge(&mut self, now: Time, tin: usize, bytes: u32, is_dropped: bool) -> u64 {
        let length = self.adjusted(bytes);
        if self.rate > 0 {
            let Tin { clock, rate, .. } = &mut self.tins[tin];
            if clock.at >= now {
                // A tin above its share begins from now, unless it has to wait longer anyway.
                let mut from_now = Clock { at: now, fraction: 0 };
                from_now.advance(length, *rate, 2);
                if clock.at < from_now.at {
                    *clock = from_now;
                }
            } else {
                clock.advance(length, *rate, 2);
            }
            self.next.advance(length, self.rate, 2);
            if !is_dropped {
                self.failsafe.advance(length, self.rate, 3);
            }
        }
        length
    }

    /// Whether the shaper holds packets back.
    fn is_throttled(&self, now: Time) -> bool {
        self.rate > 0 && self.next.at > now && self.failsafe.at > now
    }

    /// The tin to serve, if one has an active queue.
    fn choose(&mut self, now: Time) -> Option<usize> {
        if self.tins.iter().all(|tin| tin.active() == 0) {
            return None;
        }
        if self.rate == 0 {
            let tins = &mut self.tins;
            while tins[self.current].deficit < 0 || tins[self.current].active() == 0 {
                let tin = &mut tins[self.current];
                if tin.deficit <= 0 {
                    tin.deficit += tin.weight;
                }
                self.current = (self.current + 1) % tins.len();
            }
            return Some(self.current);
        }
        let mut best = (u64::MAX, 0);
        for (i, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.active() > 0) {
            let wait = tin.clock.at.0.saturating_sub(now.0);
            if wait <= best.0 {
                best = (wait, i);
            }
        }
        Some(best.1)
    }

    /// Take the head of queue `index` of `tin` off the bank.
    fn pop(&mut self, tin: usize, index: usize) -> Option<(Token, PacketView)> {
        let (token, packet) = self.bank.pop(QUEUES * tin + index)?;
        self.tins[tin].backlog -= u64::from(packet.bytes);
        Some((token, packet))
    }

    /// The next packet of a queue that COBALT does not drop, or the last one of it.
    fn take(
        &mut self,
        now: Time,
        tin: usize,
        index: usize,
        rng: &mut dyn Random,
        events: EventSink,
    ) -> Option<(Token, PacketView)> {
        while let Some((token, packet)) = self.pop(tin, index) {
            let is_last = self.bank.packets_of(QUEUES * tin + index) == 0;
            let flow = &mut self.tins[tin].flows[index];
            match flow.cobalt.decide(now, &packet, rng) {
                Verdict::Mark(cause) => events(token, Outcome::Marked(cause)),
                Verdict::Drop(cause) if !is_last => {
                    events(token, Outcome::Dropped(cause));
                    if self.config.ingress {
                        let length = self.charge(now, tin, packet.bytes, true) as i64;
                        self.tins[tin].deficit -= length;
                        self.tins[tin].flows[index].deficit -= length;
                    }
                    continue;
                }
                _ => {}
            }
            return Some((token, packet));
        }
        None
    }

    /// The next packet of a tin, if its queues have any.
    fn serve(
        &mut self,
        now: Time,
        tin: usize,
        may_decay: bool,
        rng: &mut dyn Random,
        events: EventSink,
    ) -> Served {
        let mode = self.config.isolation;
        let mut may_decay = may_decay;
        loop {
            let t = &mut self.tins[tin];
            let list = if may_decay && !t.decaying.is_empty() {
                &mut t.decaying
            } else if !t.new.is_empty() {
                &mut t.new
            } else if !t.old.is_empty() {
                &mut t.old
            } else {
                &mut t.decaying
            };
            may_decay = false;
            let Some(index) = list.pop_front() else { return Served::Nothing };
            let i = index as usize;
            if t.flows[i].deficit <= 0 {
                if t.flows[i].state == State::Sparse {
                    if self.bank.packets_of(QUEUES * tin + i) > 0 {
                        t.become_bulk(i, mode);
                    } else {
                        t.flows[i].state = State::SparseWait;
                    }
                }
                let load = i64::from(t.load(i, mode));
                let (whole, rest) = (t.quantum / load, t.quantum % load);
                let extra = rest > 0 && rng.happens(rest as f64 / load as f64);
                t.flows[i].deficit += whole + i64::from(extra);
                t.old.push_back(index);
                continue;
            }
            let Some((token, packet)) = self.take(now, tin, i, rng, events) else {
                let t = &mut self.tins[tin];
                t.flows[i].cobalt.found_empty(now);
                t.rest(i, now, mode);
                return Served::Empty;
            };
            let length = self.charge(now, tin, packet.bytes, false) as i64;
            let t = &mut self.tins[tin];
            t.deficit -= length;
            t.flows[i].deficit -= length;
            // It stays first in its list.
            match t.flows[i].state {
                State::Sparse => t.new.push_front(index),
                State::Decaying => t.decaying.push_front(index),
                _ => t.old.push_front(index),
            }
            return Served::Packet(token, packet.bytes);
        }
    }

    /// The queue with the most bytes, of those in a list: tin and number.
    fn longest(&self) -> Option<(usize, usize)> {
        let active = self.tins.iter().enumerate().flat_map(|(tin, t)| {
            t.new.iter().chain(&t.old).chain(&t.decaying).map(move |index| (tin, *index as usize))
        });
        active.fold(None, |best: Option<(usize, usize)>, one| {
            let bytes = |(tin, index): (usize, usize)| self.bank.bytes_of(QUEUES * tin + index);
            if best.is_none_or(|best| bytes(one) > bytes(best)) { Some(one) } else { best }
        })
    }

    /// Drop the head of the longest queue; its bytes.
    fn shed(&mut self, now: Time, events: EventSink) -> u64 {
        let Some((tin, index)) = self.longest() else { return 0 };
        let bytes = self.bank.evict(now, QUEUES * tin + index, End::Head, events);
        self.tins[tin].backlog -= bytes;
        self.tins[tin].flows[index].cobalt.found_full(now);
        if self.config.ingress {
            self.charge(now, tin, bytes as u32, true);
        }
        bytes
    }
}

/// What the service of a tin gave.
enum Served {
    Packet(Token, u32),
    /// A queue was empty, and left its list.
    Empty,
    /// No queue is in a list.
    Nothing,
}

impl Tin {
    fn new(config: &Config, rate: u64, shift: u32, link: &Context) -> Result<Tin, SpecError> {
        let share = (rate >> shift).max(if rate > 0 { LEAST_RATE } else { 0 });
        let packet_time = Span((MTU * 8_000_000_000).checked_div(share).unwrap_or(0));
        let wanted = config.target.unwrap_or(Span(config.rtt.0 / 20));
        let target = wanted.max(Span(packet_time.0 * 3 / 2));
        let interval = (config.rtt + target - wanted).max(Span(target.0 * 2));
        let cobalt = cobalt::Config { target, interval, ecn: config.ecn, ..cobalt::Config::default() };
        let cobalt = Cobalt::new(cobalt, link)?.with_least_delay(Span(packet_time.0 * 4));
        let quantum = if share > 0 { ((share / 8) >> 12).clamp(LEAST_QUANTUM, MTU) } else { MTU };
        let flow = Flow { state: State::Idle, deficit: 0, source: 0, destination: 0, cobalt };
        let weight = if config.tins == Tins::BestEffort { 65_535 } else { 1024 >> shift };
        Ok(Tin {
            flows: vec![flow; QUEUES],
            sets: Sets::new(),
            sources: Hosts::new(),
            destinations: Hosts::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            sparse: 0,
            bulk: 0,
            rate: share,
            clock: Clock::default(),
            quantum: quantum as i64,
            weight,
            deficit: 0,
            backlog: 0,
        })
    }

    /// Sparse and bulk queues.
    fn active(&self) -> u32 {
        self.sparse + self.bulk
    }

    /// Count queue `index` in the bulk queues of its hosts, or no more, if it is one.
    fn count_bulk(&mut self, index: usize, mode: Isolation, by: i32) {
        let Flow { state, source, destination, .. } = self.flows[index];
        if state != State::Bulk {
            return;
        }
        let change = |count: &mut u32| *count = count.saturating_add_signed(by);
        if mode.by_source() {
            change(&mut self.sources.bulk[source]);
        }
        if mode.by_destination() {
            change(&mut self.destinations.bulk[destination]);
        }
    }

    fn become_bulk(&mut self, index: usize, mode: Isolation) {
        (self.sparse, self.bulk) = (self.sparse - 1, self.bulk + 1);
        self.flows[index].state = State::Bulk;
        self.count_bulk(index, mode, 1);
    }

    /// The bulk queues of the host of queue `index` that has more of them, at least 1.
    fn load(&self, index: usize, mode: Isolation) -> u32 {
        let Flow { source, destination, .. } = self.flows[index];
        let of_source = if mode.by_source() { self.sources.bulk[source] } else { 0 };
        let of_destination = if mode.by_destination() { self.destinations.bulk[destination] } else { 0 };
        of_source.max(of_destination).max(1)
    }

    /// Queue `index` has a new packet.
    fn activate(&mut self, index: usize, mode: Isolation) {
        match self.flows[index].state {
            State::Idle | State::Decaying => {
                self.decaying.retain(|other| *other as usize != index);
                self.new.push_back(index as u32);
                self.flows[index].state = State::Sparse;
                self.sparse += 1;
                self.flows[index].deficit = self.quantum / i64::from(self.load(index, mode));
            }
            State::SparseWait => self.become_bulk(index, mode),
            State::Sparse | State::Bulk => {}
        }
    }

    /// Queue `index`, which is in no list now, was found empty.
    fn rest(&mut self, index: usize, now: Time, mode: Isolation) {
        self.count_bulk(index, mode, -1);
        match self.flows[index].state {
            State::Bulk => self.bulk -= 1,
            State::Sparse | State::SparseWait => self.sparse -= 1,
            State::Idle | State::Decaying => {}
        }
        let is_at_rest = self.flows[index].cobalt.is_at_rest(now);
        self.flows[index].state = if is_at_rest { State::Idle } else { State::Decaying };
        if !is_at_rest {
            self.decaying.push_back(index as u32);
        }
    }
}

impl Scheduler for Cake {
    fn enqueue(
        &mut self,
        now: Time,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        let tin = tin_of(self.config.tins, packet.class.0);
        let index = self.queue_of(tin, packet, rng);
        if self.tins[tin].backlog == 0 {
            if self.tins[tin].clock.at < now {
                self.tins[tin].clock.set(now);
            }
            if self.bank.packets() == 0 && self.next.at < now {
                self.next.set(now);
                self.failsafe.set(now);
            }
        }
        if !self.bank.enter(now, QUEUES * tin + index, token, packet, rng, events) {
            return;
        }
        self.tins[tin].backlog += u64::from(packet.bytes);
        self.tins[tin].activate(index, self.config.isolation);
        while (self.bank.is_over() || self.bank.bytes() > self.memory) && self.bank.packets() > 0 {
            self.shed(now, events);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, events: EventSink) -> Option<(Token, u32)> {
        let mut may_decay = true;
        while self.bank.packets() > 0 && !self.is_throttled(now) {
            let tin = self.choose(now)?;
            match self.serve(now, tin, may_decay, rng, events) {
                Served::Packet(token, bytes) => return Some((token, bytes)),
                Served::Empty | Served::Nothing => may_decay = false,
            }
        }
        None
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
    fn holds_back(&self) -> bool {
        self.rate > 0
    }
    fn held_until(&self, now: Time) -> Option<Time> {
        (self.bank.packets() > 0 && self.is_throttled(now)).then(|| self.next.at.min(self.failsafe.at))
    }
    fn sees_hosts(&self) -> bool {
        true
    }
    fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        let sum = |of: fn(&Tin) -> usize| self.tins.iter().map(of).sum::<usize>() as f64;
        field("sparse", sum(|tin| tin.sparse as usize));
        field("bulk", sum(|tin| tin.bulk as usize));
        field("decaying", sum(|tin| tin.decaying.len()));
        field("collisions", self.collisions as f64);
    }
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}
