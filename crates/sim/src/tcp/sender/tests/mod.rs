//! A sender and a receiver, and between them a path that keeps the order of packets and loses and marks those
//! that a test selects.

mod ends;
mod marks;
mod model;
mod paced;
mod rack;
mod sack;
mod short;
mod timer;
mod vectors;
mod written;

use super::*;
use crate::tcp::{EcnBits, ReassemblyPool, Receiver, schema};
use proptest::test_runner::{Config, RngSeed};
use sojourn_aqm::Span;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const MS: Span = Span::from_millis(1);
const S: Span = Span::from_millis(1000);

/// The same random cases in every run, unless `PROPTEST_RNG_SEED=N` or `PROPTEST_CASES=N` is set.
fn cases(number: u32) -> Config {
    let set = |name: &str| std::env::var_os(name).is_some();
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if !set("PROPTEST_CASES") {
        config.cases = number;
    }
    if !set("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

/// The options of a preset, with some set.
fn options(preset: &str, set: &[(&str, &str)]) -> TcpOptions {
    let set: Vec<_> = set.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
    schema::resolve(preset, &set).unwrap()
}

/// The two ends and the path between them. Every packet that arrives is acknowledged at once.
struct Path {
    o: TcpOptions,
    window: u32,
    now: Time,
    sender: Sender,
    receiver: Receiver,
    pool: ColdStatePool,
    /// Packets that are lost: sequence number and number of the copy (0: the original).
    lose: BTreeSet<(u32, u32)>,
    /// Packets that are marked.
    mark: BTreeSet<(u32, u32)>,
    /// Copies of each packet sent so far.
    copies: BTreeMap<u32, u32>,
    acks: VecDeque<Ack>,
    /// When the sender, which paces, sends again.
    paced: Option<Time>,
    /// Duplicates of the last ACK so far.
    duplicates: u32,
    last_ack: u32,
}

/// What the sender did on an ACK or when its timer expired.
#[derive(Clone, Debug)]
struct Turn {
    /// The highest packet acknowledged; -1: the timer expired, or the start.
    ack: i64,
    /// Which duplicate it is; 0: it acknowledges new data.
    duplicate: u32,
    sent: Vec<Segment>,
}

impl Turn {
    fn sequences(&self) -> Vec<u32> {
        self.sent.iter().map(|s| s.sequence).collect()
    }
}

impl Path {
    /// `window`: the initial window; `lose`: packets whose original is lost.
    fn new(o: TcpOptions, window: u32, end: u32, lose: &[u32]) -> Path {
        Path {
            sender: Sender::new(&o, 1000, end, |_| Stream::new(0, "")),
            o,
            window,
            now: Time::ZERO,
            receiver: Receiver::default(),
            pool: ColdStatePool::default(),
            lose: lose.iter().map(|sequence| (*sequence, 0)).collect(),
            mark: BTreeSet::new(),
            copies: BTreeMap::new(),
            acks: VecDeque::new(),
            paced: None,
            duplicates: 0,
            last_ack: 0,
        }
    }

    fn start(&mut self) -> Turn {
        let mut out = Vec::new();
        self.sender.start(&self.o, self.window, self.now, &mut out);
        self.carry(-1, 0, out)
    }

    /// The next ACK arrives, a millisecond after the last, unless the sender's pacing allows a packet before;
    /// `None` if nothing happens before the retransmission timer expires.
    fn next(&mut self) -> Option<Turn> {
        if let Some(at) = self.paced
            && (self.acks.is_empty() || at < self.now + MS)
        {
            (self.now, self.paced) = (self.now.max(at), None);
            let mut out = Vec::new();
            self.sender.end_wait(&self.o, self.now, &mut out);
            return Some(self.carry(-1, 0, out));
        }
        let ack = self.acks.pop_front()?;
        self.now += MS;
        Some(self.deliver(ack))
    }

    fn deliver(&mut self, ack: Ack) -> Turn {
        self.deliver_to(ack, |sender, o, window, now, out, pool| {
            sender.on_ack(o, || window, ack, now, out, pool);
        })
    }

    /// The same, but no fast path is taken.
    fn deliver_generally(&mut self, ack: Ack) -> Turn {
        self.deliver_to(ack, |sender, o, window, now, out, pool| {
            sender.ack_general(o, window, ack, now, out, pool);
        })
    }

    fn deliver_to(
        &mut self,
        ack: Ack,
        act: impl FnOnce(&mut Sender, &TcpOptions, u32, Time, &mut Vec<Segment>, &mut ColdStatePool),
    ) -> Turn {
        if ack.next == self.last_ack {
            self.duplicates += 1;
        } else {
            (self.last_ack, self.duplicates) = (ack.next, 0);
        }
        let mut out = Vec::new();
        act(&mut self.sender, &self.o, self.window, self.now, &mut out, &mut self.pool);
        self.carry(i64::from(ack.next) - 1, self.duplicates, out)
    }

    /// All ACKs in flight arrive, and those that result from them.
    fn drain(&mut self) -> Vec<Turn> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// The timer expires; it must be running.
    fn expire(&mut self) -> Turn {
        self.now = self.sender.deadline().expect("the timer is running");
        let mut out = Vec::new();
        self.sender.on_timeout(&self.o, self.now, &mut out);
        self.carry(-1, 0, out)
    }

    /// Packets cross the path.
    fn carry(&mut self, ack: i64, duplicate: u32, sent: Vec<Segment>) -> Turn {
        self.paced = self.sender.take_send_timer().or(self.paced);
        for segment in &sent {
            let copy = self.copies.entry(segment.sequence).or_insert(0);
            let this = (segment.sequence, *copy);
            assert_eq!(segment.is_retransmission, *copy > 0, "packet {this:?}");
            *copy += 1;
            if self.lose.contains(&this) {
                continue;
            }
            let ecn = EcnBits { ce: self.mark.contains(&this), cwr: segment.cwr };
            self.receiver.receive(&self.o, segment.sequence, ecn, &mut ReassemblyPool::default());
            let blocks = self.receiver.sack_blocks().filter(|_| self.o.sack);
            let sack = blocks.copied().unwrap_or_default();
            self.acks.push_back(Ack {
                next: self.receiver.next(),
                ece: self.receiver.ece() && !self.o.accurate_ecn,
                sack,
                sent: self.now,
                marks: self.receiver.marks(),
            });
        }
        Turn { ack, duplicate, sent }
    }

    /// The window, inflation included, and ssthresh.
    fn windows(&self) -> (f64, f64) {
        (self.sender.effective_window(&self.o), self.sender.ssthresh)
    }

    fn outstanding(&self) -> u32 {
        self.sender.nxt - self.sender.una
    }
}
