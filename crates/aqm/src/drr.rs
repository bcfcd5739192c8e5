//! **DRR (Deficit Round Robin)** serves DiffServ classes in turn, each for a number of bytes in proportion to its weight, in
//! constant time per packet and fairly whatever the packet sizes.
//!
//! A class that could not use its turn up because its next packet was too long keeps what is left (its deficit)
//! for the next one.
//!
//! # When it decides
//! Classes that wait stand in a circle. At its turn a class earns weight x quantum bytes and sends while its head costs no more
//! than it has; an empty class leaves the circle and loses what is left. The class's algorithm decides on its own
//! queue. Where the shared limit is reached, the last packet of the queue with most bytes leaves until the arrival fits,
//! cause `overflow`; if that is the arrival's own, or nobody else waits, the arrival is refused.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | what a class is | the packet's DiffServ class | the paper: a flow | `fq_codel` is for flows |
//! | who leaves | the last of the longest | Linux: each class's own limit | the paper's buffer stealing |
//! | a class with nothing left to send | leaves with an algorithm's drops counted as nothing sent | same | only bytes that go on the link are paid for |
//! | turn | until the deficit is used up | Linux: same | the paper |
//!
//! # References
//! M. Shreedhar, G. Varghese: Efficient Fair Queuing Using Deficit Round-Robin, IEEE/ACM ToN 4(3), 1996. Linux `sch_drr.c`.

use crate::{
    Aqm,
    DefaultValue::Value as Fixed,
    Kind, PacketView, Param, Random, Range, Scheduler, Settings, SpecError, Time, Token, common,
    prio::{AQM, CLASSES, same},
    scheduler::{Bank, Discipline, End, Told, is_a_scheduler, prefixed},
};
use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};

const QUANTUM: Param =
    Param::new("quantum", Kind::Size, Fixed("1500B"), "Bytes that weight 1 earns at a turn")
        .unit("B")
        .range(common::PACKET_BYTES)
        .source("Shreedhar and Varghese 1996: a largest packet")
        .tc("quantum");
const fn weight(name: &'static str) -> Param {
    Param::new(name, Kind::Number, Fixed("1"), "Weight of the class with this number")
        .range(Range { min: 0.001, max: 1000.0, above: false, below: false })
        .source("Shreedhar and Varghese 1996")
}
const WEIGHTS: [&str; 8] = ["w_0", "w_1", "w_2", "w_3", "w_4", "w_5", "w_6", "w_7"];

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "drr",
        title: "Deficit Round Robin",
        alias_of: None,
        source: "Shreedhar and Varghese 1996",
        params: &[
            CLASSES,
            QUANTUM,
            weight(WEIGHTS[0]),
            weight(WEIGHTS[1]),
            weight(WEIGHTS[2]),
            weight(WEIGHTS[3]),
            weight(WEIGHTS[4]),
            weight(WEIGHTS[5]),
            weight(WEIGHTS[6]),
            weight(WEIGHTS[7]),
            AQM,
            common::ECN,
        ],
        probes: &[],
        ns2_limit_counts_service: false,
        file: include_str!("drr.rs"),
        build: is_a_scheduler,
    },
    build: |settings| {
        let aqms = same(settings)?;
        Ok(Box::new(Drr::new(aqms, settings)?))
    },
};

/// Deficit round robin between queues.
#[derive(Clone)]
pub struct Drr {
    bank: Bank,
    /// What each class earns at a turn, in bytes.
    quanta: Vec<i64>,
    /// What each class may still send, in bytes.
    deficit: Vec<i64>,
    /// The classes that wait, the one whose turn it is first.
    circle: VecDeque<usize>,
    /// The first of the circle has had its quantum.
    paid: bool,
}

impl Drr {
    /// One class for each of `aqms`; quantum, weights and link are those of `settings`.
    ///
    /// # Errors
    /// If the quantum is not in bytes.
    pub fn new(aqms: Vec<Box<dyn Aqm>>, settings: &Settings) -> Result<Drr, SpecError> {
        let quantum = common::packet_bytes(settings, "quantum")?;
        let weight = |index: usize| WEIGHTS.get(index).map_or(1.0, |name| settings.number(name));
        Ok(Drr {
            quanta: (0..aqms.len()).map(|index| ((quantum * weight(index)) as i64).max(1)).collect(),
            deficit: vec![0; aqms.len()],
            circle: VecDeque::with_capacity(aqms.len()),
            paid: false,
            bank: Bank::new(aqms, &settings.context),
        })
    }

    /// The first of the circle leaves it.
    fn leave(&mut self) {
        if let Some(index) = self.circle.pop_front() {
            self.deficit[index] = 0;
        }
        self.paid = false;
    }

    /// Its turn ends.
    fn next(&mut self) {
        self.circle.rotate_left(1);
        self.paid = false;
    }

    /// Turns that would be taken without a packet being sent, all at once: a small quantum must not cost time.
    fn skip_rounds(&mut self) {
        let missing = |index: &usize| {
            let head = self.bank.head(*index).map_or(0, |packet| i64::from(packet.bytes));
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
    fn enqueue(&mut self, now: Time, token: Token, packet: &PacketView, rng: &mut dyn Random, told: Told) {
        let index = usize::from(packet.class.0).min(self.bank.queues() - 1);
        self.bank.offer(now, index, packet);
        while !self.bank.fits(packet.bytes) && self.bank.could_fit(packet.bytes) {
            let longest = self.bank.longest();
            if longest == index || self.bank.packets_of(longest) == 0 {
                break;
            }
            self.bank.evict(now, longest, End::Tail, told);
        }
        if !self.bank.fits(packet.bytes) {
            self.bank.refuse(now, index, token, packet, rng, told);
        } else if self.bank.enter(now, index, token, packet, rng, told) && !self.circle.contains(&index) {
            self.circle.push_back(index);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut dyn Random, told: Told) -> Option<Token> {
        (0..self.bank.queues()).for_each(|index| self.bank.rest(now, index));
        let mut turns = 0;
        while let Some(&index) = self.circle.front() {
            let Some(head) = self.bank.head(index) else {
                self.leave();
                continue;
            };
            let bytes = i64::from(head.bytes);
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
            // The algorithm may drop this head and let a longer one go: what is overdrawn is paid back.
            if let Some((token, packet)) = self.bank.take(now, index, rng, told) {
                self.deficit[index] -= i64::from(packet.bytes);
                if self.bank.packets_of(index) == 0 {
                    self.leave();
                }
                return Some(token);
            }
        }
        None
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
