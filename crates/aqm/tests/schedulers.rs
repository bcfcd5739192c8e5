//! The contract of schedulers, checked over the whole registry.

use crate::support::{context, packet};
use sojourn_aqm::{
    Cause, Class, Context, Conventions, DefaultValue, Ecn, FlowId, Kind, Limit, Outcome, PacketView, Random,
    Scheduler, Span, Spec, SpecError, Stream, Time, Token, registry,
};
use std::collections::BTreeMap;

pub(crate) fn try_build(spec: &str, context: Context) -> Result<Box<dyn Scheduler>, SpecError> {
    Spec::parse_scheduler(spec).and_then(|s| s.schedule(context))
}

pub(crate) fn build(spec: &str, context: Context) -> Box<dyn Scheduler> {
    try_build(spec, context).unwrap_or_else(|e| panic!("{spec}: {e}"))
}

/// What the parameter `limits` of `spec` says, or its default under the conventions.
fn is_limit_of_class(spec: &str, conventions: Conventions) -> bool {
    let is_default = match spec.split(' ').next() {
        Some("prio") => !spec.contains("evict lowest"),
        Some("drr") => conventions == Conventions::Linux,
        _ => false,
    };
    spec.contains("limits class") || is_default && !spec.contains("limits shared")
}

/// A harness around a scheduler that keeps the packets and checks every step.
#[derive(Clone)]
pub(crate) struct SchedulerHarness {
    spec: String,
    scheduler: Box<dyn Scheduler>,
    limit: Limit,
    /// Whether each class has the limit for itself.
    is_limit_of_class: bool,
    packet_ns: f64,
    now: Time,
    next: u64,
    /// Queued packets.
    waiting: BTreeMap<u64, PacketView>,
    /// The last packet of each flow and codepoint that departed.
    last: BTreeMap<(u32, u8), u64>,
    traffic: Stream,
    rng: Stream,
    pub(crate) log: Vec<(u64, &'static str)>,
}

impl SchedulerHarness {
    pub(crate) fn new(spec: &str, context: Context, seed: u64) -> Result<SchedulerHarness, SpecError> {
        Ok(SchedulerHarness {
            spec: spec.to_owned(),
            scheduler: try_build(spec, context)?,
            limit: context.limit,
            is_limit_of_class: is_limit_of_class(spec, context.conventions),
            packet_ns: context.packet_time().0 as f64,
            now: Time::ZERO,
            next: 0,
            waiting: BTreeMap::new(),
            last: BTreeMap::new(),
            traffic: Stream::new(seed, "traffic"),
            rng: Stream::new(seed, "scheduler"),
            log: Vec::new(),
        })
    }

    fn record(
        waiting: &mut BTreeMap<u64, PacketView>,
        log: &mut Vec<(u64, &'static str)>,
        token: Token,
        outcome: Outcome,
    ) {
        match outcome {
            Outcome::Dropped(cause) => {
                waiting.remove(&token.0).unwrap_or_else(|| panic!("{token:?} is dropped but not queued"));
                log.push((token.0, cause.name()));
            }
            Outcome::Marked(cause) => {
                assert_ne!(cause, Cause::Overflow, "overflow is never a mark");
                let packet = waiting.get_mut(&token.0).expect("a marked packet is queued");
                assert_ne!(packet.ecn, Ecn::NotEct, "a mark on a packet without ECN");
                packet.ecn = Ecn::Ce;
                log.push((token.0, "mark"));
            }
        }
    }

    pub(crate) fn arrive(&mut self, view: PacketView) {
        let token = self.next;
        self.next += 1;
        let view = view.with_arrived(self.now);
        self.waiting.insert(token, view);
        let (waiting, log) = (&mut self.waiting, &mut self.log);
        self.scheduler.enqueue(self.now, Token(token), &view, &mut self.rng, &mut |token, outcome| {
            SchedulerHarness::record(waiting, log, token, outcome);
        });
        self.check();
    }

    pub(crate) fn depart(&mut self) -> bool {
        if let Some(time) = self.scheduler.held_until(self.now) {
            assert!(time > self.now && self.scheduler.holds_back(), "{}: it is held back", self.spec);
            self.now = time;
        }
        let before = self.waiting.len();
        let (waiting, log) = (&mut self.waiting, &mut self.log);
        let departure = self.scheduler.dequeue(self.now, &mut self.rng, &mut |token, outcome| {
            SchedulerHarness::record(waiting, log, token, outcome);
        });
        match departure {
            Some((token, bytes)) => {
                let packet = self.waiting.remove(&token.0).expect("a departing packet was queued");
                assert_eq!(packet.bytes, bytes);
                self.log.push((token.0, "departs"));
                // Within a flow (and its codepoint, which may choose the queue; and class) order is kept.
                let key = (packet.flow.0, packet.class.0);
                assert!(
                    self.last.insert(key, token.0).is_none_or(|last| last < token.0),
                    "{}: order",
                    self.spec
                );
            }
            None => assert!(self.waiting.is_empty(), "{}: {before} wait, none departs", self.spec),
        }
        assert!(before - self.waiting.len() <= before);
        self.check();
        departure.is_some()
    }

    fn check(&self) {
        let spec = &self.spec;
        assert_eq!(self.scheduler.packets() as usize, self.waiting.len(), "{spec}: packets are conserved");
        let bytes: u64 = self.waiting.values().map(|p| u64::from(p.bytes)).sum();
        assert_eq!(self.scheduler.bytes(), bytes, "{spec}: bytes are conserved");
        // The limit is that of all packets, or of each class (here: of each class number).
        let of_class = self.is_limit_of_class;
        for class in 0..if of_class { 5 } else { 1 } {
            let queued = self.waiting.values().filter(|p| !of_class || p.class.0 == class);
            let (packets, bytes) = queued.fold((0, 0), |sum, p| (sum.0 + 1, sum.1 + u64::from(p.bytes)));
            match self.limit {
                Limit::Packets(limit) => assert!(packets <= limit, "{spec}: limit"),
                Limit::Bytes(limit) => assert!(bytes <= limit, "{spec}: limit"),
            }
        }
        self.scheduler.probe(&mut |name, value| {
            assert!(value.is_finite(), "{spec}: {name} = {value}");
            let last = name.rsplit('.').next().unwrap_or(name);
            assert!(
                last != "p" && last != "p_prime" || (0.0..=1.0).contains(&value),
                "{spec}: {name} = {value}"
            );
        });
    }

    pub(crate) fn advance(&mut self, span: Span) {
        self.now += span;
        if let Some(due) = self.scheduler.next_timer().filter(|due| *due <= self.now) {
            self.scheduler.on_timer(self.now, &mut self.rng);
            assert!(self.scheduler.next_timer().is_some_and(|next| next > due && next > self.now));
        }
    }

    fn run(&mut self, steps: usize, pace: f64) {
        const SIZES: [u32; 8] = [1, 40, 576, 1000, 1000, 1000, 1500, 65_536];
        for _ in 0..steps {
            let u = self.traffic.uniform();
            self.advance(Span((2.0 * u * pace * self.packet_ns) as u64));
            if self.traffic.uniform() < 0.6 {
                let mut pick = |n: usize| (self.traffic.uniform() * n as f64) as usize;
                let flow = pick(7) as u32;
                // A flow has one codepoint and one class, so that it has one queue.
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][flow as usize % 4];
                let (bytes, class) = (SIZES[pick(8)], Class((flow % 5) as u8));
                self.arrive(packet(bytes).with_flow(FlowId(flow)).with_class(class).with_ecn(ecn));
            } else {
                self.depart();
            }
        }
    }
}

fn contexts() -> Vec<Context> {
    let ordinary = context().with_limit(Limit::Packets(200)).with_ecn(true);
    vec![
        ordinary,
        ordinary.with_ecn(false).with_limit(Limit::Bytes(100_000)),
        ordinary.with_link_rate(1),
        ordinary.with_link_rate(10_000_000_000_000),
        ordinary.with_limit(Limit::Packets(1)),
        ordinary.with_limit(Limit::Bytes(1)),
        ordinary.with_limit(Limit::Packets(u32::MAX)).with_mean_packet(65_536),
    ]
}

/// Check one spec.
fn check(spec: &str) {
    const WEEK: Span = Span(604_800_000_000_000);
    let canonical = Spec::parse_scheduler(spec).unwrap_or_else(|e| panic!("{spec}: {e}")).to_string();
    assert_eq!(Spec::parse_scheduler(&canonical).expect("it reads back").to_string(), canonical);
    for context in contexts() {
        let built =
            |spec: &str| SchedulerHarness::new(spec, context, 1).unwrap_or_else(|e| panic!("{spec}: {e}"));
        let mut harness = built(spec);
        harness.run(400, 0.5);
        let (mut copy, mut again) = (harness.clone(), built(&canonical));
        again.run(400, 0.5);
        assert_eq!(again.log, harness.log, "{spec}: same seed, same decisions");
        harness.run(200, 0.5);
        copy.run(200, 0.5);
        assert_eq!(copy.log, harness.log, "{spec}: a clone continues");
        harness.run(100, 0.0);
        harness.advance(WEEK);
        harness.run(100, 0.5);
        while harness.depart() {}
        assert_eq!(harness.scheduler.bytes(), 0);
        harness.advance(WEEK);
        harness.run(100, 0.0);
    }
}

#[test]
fn every_scheduler_satisfies_the_contract() {
    for discipline in registry::SCHEDULERS {
        let algorithm = &discipline.algorithm;
        check(algorithm.name);
        let mut all = algorithm.name.to_owned();
        for param in algorithm.params {
            match (param.kind, param.default) {
                (Kind::Choice(words), _) => {
                    words.iter().for_each(|w| check(&format!("{} {} {w}", algorithm.name, param.name)))
                }
                (Kind::Spec, _) if matches!(param.name, "aqm" | "aqm_7") => {
                    for inside in
                        ["pie", "(codel target 1ms)", "rio", "fq_codel", "(dualpi2)", "(drr aqm red)"]
                    {
                        check(
                            &format!("{} {} {inside}", algorithm.name, param.name)
                                .replace("aqm_", "classes 8 aqm_"),
                        );
                    }
                }
                (Kind::Flag, _) => check(&format!("{} {}", algorithm.name, param.name)),
                _ => {}
            }
            if let DefaultValue::Value(word) = param.default {
                all += &format!(" {} {word}", param.name);
            }
            assert!(!param.source.is_empty() && param.doc.len() > 10, "{}.{}", algorithm.name, param.name);
        }
        check(&all);
        let scheduler = build(algorithm.name, context());
        scheduler.probe(&mut |name, _| {
            let is_of_class = name.split_once('.').is_some_and(|(class, _)| class.parse::<u8>().is_ok());
            let is_declared = algorithm.probes.iter().any(|probe| probe.name == name);
            assert!(is_of_class || is_declared, "{} does not declare {name}", algorithm.name);
        });
        let doc = algorithm.doc();
        for heading in ["\n# When it decides\n", "\n# Differences\n", "\n# References\n"] {
            assert!(doc.starts_with("**") && doc.contains(heading), "{} lacks {heading:?}", algorithm.name);
        }
        assert!(Spec::parse(algorithm.name).is_err(), "a scheduler is not an algorithm on one queue");
    }
    for spec in [
        "drr w_0 0.001 quantum 1B",
        "drr classes 8 aqm red",
        "prio classes 1 aqm codel evict lowest",
        "prio evict lowest aqm_1 (fq_codel flows 4) aqm_2 (fq_pie flows 4)",
        "drr precedences 3 classes 2 aqm_0 (rio min_out 2p max_out 5p) aqm_1 (prio aqm bio)",
        "drr aqm_0 (dualpi2 target 1ms) aqm_1 (fq_codel flows 4 memory 3kB) quantum 1B",
        "fq_codel flows 1 drop_batch 1 memory 3kB",
        "fq_pie flows 2 quantum 256B",
        "dualpi2 range 0s th_len 0p w_c 0.9",
    ] {
        check(spec);
    }
}
