//! The common part of `prio` and `drr`: the mapping of classes to bands, an algorithm or another scheduler on
//! each band, and the limits.
//!
//! A class number encodes a band and a drop precedence: with `precedences` p, number c is band c / p with
//! precedence c mod p, which is the class passed to the band's algorithm. With p = 3, AF class n with drop
//! precedence d (RFC 2597) is number 3 (n - 1) + d - 1.

use crate::{
    Cause, Class, Context, Limit, PacketView, Param, Random, Range, Scheduler, Spec, SpecError, Time, Token,
    config::{choice, config, meaning},
    droptail::DropTail,
    scheduler::{Bank, End, EventSink, Outcome, prefixed},
};
use alloc::{boxed::Box, format, vec::Vec};

choice! {
    /// What the limit of the queue limits.
    pub enum Limits {
        /// The queue of each class.
        Class = "class",
        /// All classes together.
        Shared = "shared",
    }
}

const OWN: Param = Param::derived("aqm").source("RFC 2475 leaves it open");

config! {
    /// The parameters that `prio` and `drr` share.
    pub struct Config {
        /// Number of classes, each with its own queue
        classes: u32 = Param::fixed("3")
            .unit("classes")
            .range(Range { min: 1.0, max: 8.0, above: false, below: false })
            .source("Linux sch_prio.c")
            .tc("bands");
        /// Drop precedences within a class: class c is in queue c / precedences, as class c mod precedences
        precedences: u32 = Param::fixed("1")
            .range(Range { min: 1.0, max: 8.0, above: false, below: false })
            .source("RFC 2597 has 3");
        /// Algorithm or scheduler of every class that does not set its own (aqm_0 to aqm_7)
        aqm: Spec = Param::fixed("droptail").source("RFC 2475 leaves it open");
        #[doc = meaning!(aqm_of_class)]
        aqm_0: Option<Spec> = OWN;
        #[doc = meaning!(aqm_of_class)]
        aqm_1: Option<Spec> = OWN;
        #[doc = meaning!(aqm_of_class)]
        aqm_2: Option<Spec> = OWN;
        #[doc = meaning!(aqm_of_class)]
        aqm_3: Option<Spec> = OWN;
        #[doc = meaning!(aqm_of_class)]
        aqm_4: Option<Spec> = OWN;
        #[doc = meaning!(aqm_of_class)]
        aqm_5: Option<Spec> = OWN;
        #[doc = meaning!(aqm_of_class)]
        aqm_6: Option<Spec> = OWN;
        #[doc = meaning!(aqm_of_class)]
        aqm_7: Option<Spec> = OWN;
        #[doc = meaning!(ecn)]
        ecn: bool = crate::common::ECN;
    }
}

/// A queue for each class.
#[derive(Clone)]
pub(crate) struct Bands {
    /// The queues of bands with an algorithm; a band with a scheduler has a queue here that stays empty.
    bank: Bank,
    nested: Vec<Option<Box<dyn Scheduler>>>,
    /// No band has a scheduler: the bank holds all packets.
    flat: bool,
    precedences: u8,
    limit: Limit,
    limits: Limits,
}

impl Bands {
    /// Empty queues in front of `link`.
    pub(crate) fn new(config: &Config, limits: Limits, link: &Context) -> Result<Bands, SpecError> {
        let context = Context { ecn: config.ecn, ..*link };
        let Config { aqm_0, aqm_1, aqm_2, aqm_3, aqm_4, aqm_5, aqm_6, aqm_7, .. } = config;
        let (mut aqms, mut nested) = (Vec::new(), Vec::new());
        for (index, own) in [aqm_0, aqm_1, aqm_2, aqm_3, aqm_4, aqm_5, aqm_6, aqm_7].into_iter().enumerate() {
            if index >= config.classes as usize {
                if own.is_some() {
                    let (key, problem) = (format!("aqm_{index}"), "is for a class that does not exist");
                    return Err(SpecError::about(&key, problem, "below classes"));
                }
                continue;
            }
            let spec = own.as_ref().unwrap_or(&config.aqm);
            if spec.is_scheduler() {
                aqms.push(Box::new(DropTail) as _);
                let inner = spec.schedule(context)?;
                if inner.holds_back() {
                    let key = format!("aqm_{index}");
                    return Err(SpecError::about(&key, "has a shaper", "a scheduler without bandwidth"));
                }
                nested.push(Some(inner));
            } else {
                aqms.push(spec.build(context)?);
                nested.push(None);
            }
        }
        let bank = Bank::new(aqms, link);
        let flat = nested.iter().all(Option::is_none);
        Ok(Bands { bank, nested, flat, precedences: config.precedences as u8, limit: link.limit, limits })
    }

    /// The band of a packet, and its view for the band's algorithm.
    pub(crate) fn place(&self, packet: &PacketView) -> (usize, PacketView) {
        let (class, precedence) = (packet.class.0 / self.precedences, packet.class.0 % self.precedences);
        (usize::from(class).min(self.count() - 1), PacketView { class: Class(precedence), ..*packet })
    }

    pub(crate) fn count(&self) -> usize {
        self.nested.len()
    }
    /// The bands with a scheduler.
    fn schedulers(&self) -> impl Iterator<Item = &dyn Scheduler> {
        let nested = if self.flat { &[] } else { &self.nested[..] };
        nested.iter().flatten().map(|inner| &**inner)
    }
    pub(crate) fn packets(&self) -> u32 {
        self.bank.packets() + self.schedulers().map(|inner| inner.packets()).sum::<u32>()
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bank.bytes() + self.schedulers().map(|inner| inner.bytes()).sum::<u64>()
    }
    pub(crate) fn packets_of(&self, index: usize) -> u32 {
        self.nested[index].as_ref().map_or_else(|| self.bank.packets_of(index), |inner| inner.packets())
    }
    fn bytes_of(&self, index: usize) -> u64 {
        self.nested[index].as_ref().map_or_else(|| self.bank.bytes_of(index), |inner| inner.bytes())
    }

    /// Bytes of the next packet of a band, if there is one; 1 if the band's scheduler has not chosen it yet.
    pub(crate) fn head(&self, index: usize) -> Option<u32> {
        match &self.nested[index] {
            None => self.bank.head(index).map(|packet| packet.bytes),
            Some(inner) => (inner.packets() > 0).then_some(1),
        }
    }

    /// The band with the most bytes; the first one of several.
    pub(crate) fn longest(&self) -> usize {
        let lengths = (0..self.count()).map(|index| (index, self.bytes_of(index)));
        lengths.fold((0, 0), |best, one| if one.1 > best.1 { one } else { best }).0
    }

    /// Whether `bytes` more fit into a band. A scheduler with a limit of its own decides itself.
    pub(crate) fn fits(&self, index: usize, bytes: u32) -> bool {
        match self.limits {
            Limits::Shared => self.limit.has_room(self.packets(), self.bytes(), bytes),
            Limits::Class if self.nested[index].is_some() => true,
            Limits::Class => self.limit.has_room(self.packets_of(index), self.bytes_of(index), bytes),
        }
    }
    /// Whether packets of other bands may be dropped to make room.
    pub(crate) fn share_limit(&self) -> bool {
        self.limits == Limits::Shared
    }
    /// Whether `bytes` would fit if all other packets were dropped.
    pub(crate) fn could_fit(&self, bytes: u32) -> bool {
        self.limit.has_room(0, 0, bytes)
    }

    /// Report an arrival to the estimators of the band's algorithm, even if it does not fit; a scheduler gets
    /// only arrivals that fit.
    pub(crate) fn offer(&mut self, now: Time, index: usize, packet: &PacketView) {
        if self.nested[index].is_none() {
            self.bank.offer(now, index, packet);
        }
    }

    /// Drop an arrival that does not fit.
    pub(crate) fn refuse(
        &mut self,
        now: Time,
        index: usize,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        match self.nested[index] {
            None => self.bank.refuse(now, index, token, packet, rng, events),
            Some(_) => events(token, Outcome::Dropped(Cause::Overflow)),
        }
    }

    /// An arrival that fits: the algorithm or scheduler of the band decides.
    pub(crate) fn enter(
        &mut self,
        now: Time,
        index: usize,
        token: Token,
        packet: &PacketView,
        rng: &mut dyn Random,
        events: EventSink,
    ) {
        match &mut self.nested[index] {
            None => _ = self.bank.enter(now, index, token, packet, rng, events),
            Some(inner) => inner.enqueue(now, token, packet, rng, events),
        }
    }

    /// Drop a packet of a band to free space, the last one if the band has one queue; returns its bytes.
    pub(crate) fn evict(&mut self, now: Time, index: usize, events: EventSink) -> u64 {
        match &mut self.nested[index] {
            None => self.bank.evict(now, index, End::Tail, events),
            Some(inner) => inner.evict(now, events),
        }
    }

    /// The next packet of a band, and its bytes.
    pub(crate) fn take(
        &mut self,
        now: Time,
        index: usize,
        rng: &mut dyn Random,
        events: EventSink,
    ) -> Option<(Token, u32)> {
        match &mut self.nested[index] {
            None => self.bank.take(now, index, rng, events).map(|(token, packet)| (token, packet.bytes)),
            Some(inner) => inner.dequeue(now, rng, events),
        }
    }

    /// Before a departure: call `on_idle` once for the algorithm of each band that has become empty.
    pub(crate) fn rest(&mut self, now: Time) {
        (0..self.count()).for_each(|index| self.bank.rest(now, index));
    }

    pub(crate) fn next_timer(&self) -> Option<Time> {
        let nested = self.schedulers().filter_map(|inner| inner.next_timer());
        nested.chain(self.bank.next_timer()).min()
    }

    pub(crate) fn on_timer(&mut self, now: Time, rng: &mut dyn Random) {
        self.bank.on_timer(now, rng);
        for inner in self.nested.iter_mut().flatten() {
            if inner.next_timer().is_some_and(|due| due <= now) {
                inner.on_timer(now, rng);
            }
        }
    }

    /// The run ends: what the algorithms and schedulers of all bands keep, as `INDEX.NAME`.
    pub(crate) fn on_end(&mut self, now: Time, export: &mut dyn FnMut(&str, &str)) {
        self.bank.on_end(now, export);
        for (index, inner) in self.nested.iter_mut().enumerate() {
            if let Some(inner) = inner {
                inner.on_end(now, &mut |name, value| export(&format!("{index}.{name}"), value));
            }
        }
    }

    /// The probes of every band, as `INDEX.NAME`.
    pub(crate) fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        for (index, nested) in self.nested.iter().enumerate() {
            let Some(inner) = nested else {
                prefixed(&self.bank, index, field);
                continue;
            };
            inner.probe(&mut |name, value| field(&format!("{index}.{name}"), value));
            field(&format!("{index}.packets"), f64::from(inner.packets()));
        }
    }
}
