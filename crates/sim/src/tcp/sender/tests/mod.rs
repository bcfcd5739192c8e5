//! Sender and receiver joined by a wire that keeps order and does to packets what a test says.

mod ends;
mod marks;
mod model;
mod rack;
mod sack;
mod short;
mod timer;
mod vectors;
mod written;

use super::*;
use crate::tcp::{ReassemblyPool, Receiver, schema};
use proptest::test_runner::{Config, RngSeed};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// The same random cases in every run; `PROPTEST_RNG_SEED=N` and `PROPTEST_CASES=N` go exploring.
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

/// Options of a preset, some of them set.
fn options(preset: &str, set: &[(&str, &str)]) -> TcpOptions {
    let set: Vec<_> = set.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
    schema::resolve(preset, &set).unwrap()
}

/// The two ends and what lies between them. Every packet that arrives is acknowledged at once.
struct Path {
    o: TcpOptions,
    window: u32,
    now: u64,
    sender: Sender,
    receiver: Receiver,
    pool: ColdStatePool,
    /// Packets and copies (0: sent for the first time) that the wire loses, and that it marks.
    lose: BTreeSet<(u32, u32)>,
    mark: BTreeSet<(u32, u32)>,
    copies: BTreeMap<u32, u32>,
    acks: VecDeque<Ack>,
    /// Number of the last duplicate among those of its kind.
    duplicates: u32,
    last: u32,
}

/// What an acknowledgement or the timer made of the sender.
#[derive(Clone, Debug)]
struct Turn {
    /// Highest packet acknowledged, and which duplicate this is (0: it acknowledges something new).
    ack: i64,
    duplicate: u32,
    sent: Vec<Segment>,
}

impl Turn {
    fn sequences(&self) -> Vec<u32> {
        self.sent.iter().map(|s| s.sequence).collect()
    }
}

impl Path {
    /// `window`: the initial window; `lose`: packets whose first copy is lost.
    fn new(o: TcpOptions, window: u32, end: u32, lose: &[u32]) -> Path {
        Path {
            sender: Sender::new(&o, end, |_| Stream::new(0, "")),
            o,
            window,
            now: 0,
            receiver: Receiver::default(),
            pool: ColdStatePool::default(),
            lose: lose.iter().map(|sequence| (*sequence, 0)).collect(),
            mark: BTreeSet::new(),
            copies: BTreeMap::new(),
            acks: VecDeque::new(),
            duplicates: 0,
            last: 0,
        }
    }

    fn start(&mut self) -> Turn {
        let mut out = Vec::new();
        self.sender.start(&self.o, self.window, self.now, &mut out);
        self.carry(-1, 0, out)
    }

    /// The next acknowledgement arrives, a millisecond after the last; `None` if none is on its way.
    fn next(&mut self) -> Option<Turn> {
        let ack = self.acks.pop_front()?;
        self.now += MS;
        Some(self.deliver(ack))
    }

    fn deliver(&mut self, ack: Ack) -> Turn {
        if ack.next == self.last {
            self.duplicates += 1;
        } else {
            (self.last, self.duplicates) = (ack.next, 0);
        }
        let mut out = Vec::new();
        let window = self.window;
        self.sender.on_ack(&self.o, || window, ack, self.now, (&mut out, &mut self.pool));
        self.carry(i64::from(ack.next) - 1, self.duplicates, out)
    }

    /// Every acknowledgement on its way arrives, and those that follow from it.
    fn drain(&mut self) -> Vec<Turn> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// The timer, which must be set, expires.
    fn expire(&mut self) -> Turn {
        self.now = self.sender.deadline().expect("the timer is set");
        let mut out = Vec::new();
        self.sender.on_timeout(&self.o, self.now, &mut out);
        self.carry(-1, 0, out)
    }

    /// What was sent arrives, or does not.
    fn carry(&mut self, ack: i64, duplicate: u32, sent: Vec<Segment>) -> Turn {
        for segment in &sent {
            let copy = self.copies.entry(segment.sequence).or_insert(0);
            let this = (segment.sequence, *copy);
            assert_eq!(segment.is_retransmission, *copy > 0, "packet {this:?} says what it is");
            *copy += 1;
            if self.lose.contains(&this) {
                continue;
            }
            let (signals, pool) = ((self.mark.contains(&this), segment.cwr), &mut ReassemblyPool::default());
            self.receiver.receive(&self.o, segment.sequence, signals, pool);
            let reported = self.receiver.reported().filter(|_| self.o.sack);
            let sack = reported.copied().unwrap_or_default();
            self.acks.push_back(Ack { next: self.receiver.next(), echo: self.receiver.echo(), sack });
        }
        Turn { ack, duplicate, sent }
    }

    /// Window and threshold, the window as it stands inflated.
    fn windows(&self) -> (f64, f64) {
        (self.sender.effective_window(&self.o), self.sender.ssthresh)
    }

    fn outstanding(&self) -> u32 {
        self.sender.nxt - self.sender.una
    }
}
