//! Schedulers: what every one must hold, over the whole registry, then their vectors and options.

use crate::support::{Scripted, at, context, near, packet};
use sojourn_aqm::{
    Cause, Class, Context, DefaultValue, Ecn, Fate, FlowId, Kind, Limit, PacketView, Random, Scheduler, Span,
    Spec, SpecError, Stream, Time, Token, registry,
};
use std::collections::BTreeMap;

fn try_build(spec: &str, context: Context) -> Result<Box<dyn Scheduler>, SpecError> {
    Spec::parse_scheduler(spec).and_then(|s| s.schedule(context))
}

fn build(spec: &str, context: Context) -> Box<dyn Scheduler> {
    try_build(spec, context).unwrap_or_else(|e| panic!("{spec}: {e}"))
}

/// A world around a scheduler that keeps the packets and checks every step.
#[derive(Clone)]
pub(crate) struct World {
    spec: String,
    scheduler: Box<dyn Scheduler>,
    limit: Limit,
    packet_ns: f64,
    now: Time,
    next: u64,
    /// Who waits.
    waiting: BTreeMap<u64, PacketView>,
    /// The last packet of each flow and codepoint that departed.
    last: BTreeMap<(u32, u8), u64>,
    traffic: Stream,
    rng: Stream,
    pub(crate) log: Vec<(u64, &'static str)>,
}

impl World {
    pub(crate) fn new(spec: &str, context: Context, seed: u64) -> Result<World, SpecError> {
        Ok(World {
            spec: spec.to_owned(),
            scheduler: try_build(spec, context)?,
            limit: context.limit,
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

    fn told(
        waiting: &mut BTreeMap<u64, PacketView>,
        log: &mut Vec<(u64, &'static str)>,
        token: Token,
        fate: Fate,
    ) {
        match fate {
            Fate::Dropped(cause) => {
                waiting.remove(&token.0).unwrap_or_else(|| panic!("{token:?} is dropped but not here"));
                log.push((token.0, cause.name()));
            }
            Fate::Marked(cause) => {
                assert_ne!(cause, Cause::Overflow, "overflow is never a mark");
                let packet = waiting.get_mut(&token.0).expect("a marked packet is here");
                assert_ne!(packet.ecn, Ecn::NotEct, "a mark on a packet without ECN");
                packet.ecn = Ecn::Ce;
                log.push((token.0, "mark"));
            }
        }
    }

    pub(crate) fn arrive(&mut self, view: PacketView) {
        let token = self.next;
        self.next += 1;
        let view = PacketView { arrived: self.now, ..view };
        self.waiting.insert(token, view);
        let (waiting, log) = (&mut self.waiting, &mut self.log);
        self.scheduler.enqueue(self.now, Token(token), &view, &mut self.rng, &mut |token, fate| {
            World::told(waiting, log, token, fate);
        });
        self.check();
    }

    pub(crate) fn depart(&mut self) -> bool {
        let before = self.waiting.len();
        let (waiting, log) = (&mut self.waiting, &mut self.log);
        let departure = self.scheduler.dequeue(self.now, &mut self.rng, &mut |token, fate| {
            World::told(waiting, log, token, fate);
        });
        match departure {
            Some((token, bytes)) => {
                let packet = self.waiting.remove(&token.0).expect("who departs is here");
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
        match self.limit {
            Limit::Packets(limit) => assert!(self.waiting.len() <= limit as usize, "{spec}: limit"),
            Limit::Bytes(limit) => assert!(bytes <= limit, "{spec}: limit"),
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
            self.scheduler.on_timer(self.now);
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
                self.arrive(PacketView { flow: FlowId(flow), class, ecn, ..packet(bytes) });
            } else {
                self.depart();
            }
        }
    }
}

fn contexts() -> Vec<Context> {
    let ordinary = Context { limit: Limit::Packets(200), ecn: true, ..context() };
    vec![
        ordinary,
        Context { ecn: false, limit: Limit::Bytes(100_000), ..ordinary },
        Context { link_rate: 1, ..ordinary },
        Context { link_rate: 10_000_000_000_000, ..ordinary },
        Context { limit: Limit::Packets(1), ..ordinary },
        Context { limit: Limit::Bytes(1), ..ordinary },
        Context { limit: Limit::Packets(u32::MAX), mean_packet: 65_536, ..ordinary },
    ]
}

/// Everything that can be checked about one spec.
fn check(spec: &str) {
    const WEEK: Span = Span(604_800_000_000_000);
    let canonical = Spec::parse_scheduler(spec).unwrap_or_else(|e| panic!("{spec}: {e}")).to_string();
    assert_eq!(Spec::parse_scheduler(&canonical).expect("it reads back").to_string(), canonical);
    for context in contexts() {
        let built = |spec: &str| World::new(spec, context, 1).unwrap_or_else(|e| panic!("{spec}: {e}"));
        let mut world = built(spec);
        world.run(400, 0.5);
        let (mut copy, mut again) = (world.clone(), built(&canonical));
        again.run(400, 0.5);
        assert_eq!(again.log, world.log, "{spec}: same seed, same decisions");
        world.run(200, 0.5);
        copy.run(200, 0.5);
        assert_eq!(copy.log, world.log, "{spec}: a clone continues");
        world.run(100, 0.0);
        world.advance(WEEK);
        world.run(100, 0.5);
        while world.depart() {}
        assert_eq!(world.scheduler.bytes(), 0);
        world.advance(WEEK);
        world.run(100, 0.0);
    }
}

#[test]
fn every_scheduler_holds_the_contract() {
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

/// Enqueue packets of `(flow, class, bytes)`; who is dropped.
fn enqueue(scheduler: &mut dyn Scheduler, now: f64, packets: &[(u32, u8, u32, Ecn)]) -> Vec<(u64, Fate)> {
    let mut fates = Vec::new();
    for (i, (flow, class, bytes, ecn)) in packets.iter().enumerate() {
        let view = PacketView {
            flow: FlowId(*flow),
            class: Class(*class),
            ecn: *ecn,
            arrived: at(now),
            ..packet(*bytes)
        };
        scheduler.enqueue(at(now), Token(i as u64), &view, &mut Scripted::new(&[]), &mut |t, f| {
            fates.push((t.0, f))
        });
    }
    fates
}

/// One departure with exactly these numbers drawn: who, and who was told what.
fn dequeue(scheduler: &mut dyn Scheduler, now: f64, numbers: &[f64]) -> (Option<u64>, Vec<(u64, Fate)>) {
    let (mut fates, mut rng) = (Vec::new(), Scripted::new(numbers));
    let token = scheduler.dequeue(at(now), &mut rng, &mut |t, f| fates.push((t.0, f)));
    rng.assert_used("dequeue");
    (token.map(|(t, _)| t.0), fates)
}

fn order(scheduler: &mut dyn Scheduler) -> Vec<u64> {
    std::iter::from_fn(|| dequeue(scheduler, 0.0, &[]).0).collect()
}

fn lists(scheduler: &dyn Scheduler) -> (f64, f64) {
    let mut lists = (0.0, 0.0);
    scheduler.probe(&mut |name, value| match name {
        "new" => lists.0 = value,
        _ => lists.1 = value,
    });
    lists
}

const N: Ecn = Ecn::NotEct;
const A: u32 = 0;
const B: u32 = 1;
const THIRD: u32 = 2;

#[test]
fn fq_v1_rounds_with_new_flows_first() {
    for turn in ["zero", "below_zero"] {
        let mut fq = build(&format!("fq_codel quantum 1500B turn {turn}"), context());
        let arrivals = [
            (A, 0, 1500, N),
            (A, 0, 1500, N),
            (A, 0, 1500, N),
            (B, 0, 100, N),
            (B, 0, 100, N),
            (THIRD, 0, 3000, N),
        ];
        assert!(enqueue(&mut *fq, 0.0, &arrivals).is_empty());
        assert_eq!(lists(&*fq), (3.0, 0.0));
        if turn == "below_zero" {
            // A's credit of 0 is still a turn: a second packet.
            assert_eq!(order(&mut *fq), [0, 1, 3, 4, 5, 2]);
            continue;
        }
        // Who, and how long the two lists are after it (new, old), as the vector's rows have it.
        for (token, new, old) in
            [(0, 3.0, 0.0), (3, 2.0, 1.0), (4, 2.0, 1.0), (5, 1.0, 2.0), (1, 0.0, 3.0), (2, 0.0, 2.0)]
        {
            assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, Some(token));
            assert_eq!(lists(&*fq), (new, old), "after {token}");
        }
        assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, None);
        assert_eq!(lists(&*fq), (0.0, 0.0));
    }
}

#[test]
fn fq_v2_an_emptied_new_flow_passes_through_the_old_list() {
    let mut fq = build("fq_codel", context());
    enqueue(&mut *fq, 0.0, &[(A, 0, 100, N), (B, 0, 1000, N), (B, 0, 1000, N), (B, 0, 1000, N)]);
    assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, Some(0));
    assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, Some(1)); // A was found empty: old
    assert_eq!(lists(&*fq), (1.0, 1.0));
    // A comes back, but is not new again: B's turn first.
    enqueue(&mut *fq, 0.0, &[(A, 0, 100, N)]);
    assert_eq!(lists(&*fq), (1.0, 1.0));
    assert_eq!(dequeue(&mut *fq, 0.0, &[]).0, Some(2));
}

#[test]
fn fq_v3_the_longest_loses_from_its_head() {
    let arrivals = [(A, 0, 3000, N), (B, 0, 3000, N), (B, 0, 3000, N), (B, 0, 3000, N), (THIRD, 0, 4500, N)];
    let overflow = |token| (token, Fate::Dropped(Cause::Overflow));
    let limit = Context { limit: Limit::Packets(4), ..context() };
    // Half of B's 9000 bytes: two packets; one if the batch is 1.
    for (options, gone) in [("", vec![overflow(1), overflow(2)]), ("drop_batch 1", vec![overflow(1)])] {
        let mut fq = build(&format!("fq_codel {options}"), limit);
        assert_eq!(enqueue(&mut *fq, 0.0, &arrivals), gone);
    }
    let mut fq = build("fq_codel memory 16kB", Context { limit: Limit::Packets(10_240), ..context() });
    assert_eq!(enqueue(&mut *fq, 0.0, &arrivals), [overflow(1), overflow(2)]);
    let mut fq = build("fq_pie", limit);
    assert_eq!(enqueue(&mut *fq, 0.0, &arrivals), [overflow(4)], "FQ-PIE refuses the arrival");
}

/// One flow in excess is signalled, the sparse one is not and waits for nobody.
#[test]
fn fq_signals_only_who_fills_the_queue() {
    for (spec, ecn) in [("fq_codel", N), ("fq_codel", Ecn::Ect0), ("fq_pie", N), ("fq_pie", Ecn::Ect0)] {
        let mut scheduler = build(spec, Context { limit: Limit::Packets(10_240), ..context() });
        let mut rng = Stream::new(1, spec);
        let (mut drops, mut marks, mut longest) = (0, 0, Span::ZERO);
        let mut sent = BTreeMap::new();
        for step in 0..20_000u64 {
            let now = Time(step * 800_000); // the time of 1000 bytes
            if scheduler.next_timer().is_some_and(|due| due <= now) {
                scheduler.on_timer(now);
            }
            let mut told = |token: Token, fate| {
                assert_eq!(token.0 % 2, 0, "{spec}: the sparse flow loses nothing");
                match fate {
                    Fate::Dropped(cause) => {
                        assert_eq!(cause, Cause::Early);
                        drops += 1;
                    }
                    Fate::Marked(_) => marks += 1,
                }
            };
            for copy in 0..(if step % 4 == 0 { 2 } else { 1 }) {
                let view = PacketView { ecn, arrived: now, ..packet(1000) };
                scheduler.enqueue(now, Token(4 * step + 2 * copy), &view, &mut rng, &mut told);
            }
            if step % 20 == 0 {
                let view = PacketView { flow: FlowId(1), ecn, arrived: now, ..packet(100) };
                scheduler.enqueue(now, Token(4 * step + 1), &view, &mut rng, &mut told);
                sent.insert(4 * step + 1, now);
            }
            if let Some(arrived) =
                scheduler.dequeue(now, &mut rng, &mut told).and_then(|(t, _)| sent.remove(&t.0))
            {
                longest = Span(longest.0.max(now.since(arrived).0));
            }
        }
        assert!(longest.0 <= 2_000_000, "{spec}: {longest:?}");
        assert_eq!(ecn == N, marks == 0, "{spec}: {marks} marks");
        assert!(drops + marks > 100, "{spec}: {drops} drops, {marks} marks");
    }
}

#[test]
fn drr_shares_bytes_by_weight() {
    let mut drr = build(
        "drr classes 3 w_0 3 w_2 0.5 quantum 500B",
        Context { limit: Limit::Packets(100_000), ..context() },
    );
    let mut rng = Stream::new(1, "drr");
    let mut sizes = Vec::new();
    let mut bytes = [0u64; 3];
    for i in 0..9000u64 {
        let class = (i % 3) as u8;
        let view =
            PacketView { class: Class(class), ..packet([300, 1500, 700][class as usize] + (i % 50) as u32) };
        sizes.push((class, view.bytes));
        drr.enqueue(Time::ZERO, Token(i), &view, &mut rng, &mut |_, _| panic!("nobody leaves"));
    }
    for _ in 0..2000 {
        let (token, _) = drr.dequeue(Time::ZERO, &mut rng, &mut |_, _| {}).expect("plenty waits");
        let (class, size) = sizes[token.0 as usize];
        bytes[class as usize] += u64::from(size);
    }
    let share = |class: usize| bytes[class] as f64 / bytes.iter().sum::<u64>() as f64;
    for (class, expected) in [(0, 3.0 / 4.5), (1, 1.0 / 4.5), (2, 0.5 / 4.5)] {
        assert!((share(class) - expected).abs() < 0.005, "{class}: {}", share(class));
    }
}

#[test]
fn drr_keeps_deficits_and_steals_from_the_longest() {
    // The paper's example: quantum 500; 600 has to wait for a second turn, 200 twice does not.
    let mut drr = build("drr classes 2 quantum 500B", context());
    enqueue(
        &mut *drr,
        0.0,
        &[(0, 0, 600, N), (0, 0, 300, N), (1, 1, 200, N), (1, 1, 200, N), (1, 1, 600, N)],
    );
    assert_eq!(order(&mut *drr), [2, 3, 0, 1, 4]);
    let mut drr = build("drr classes 2", Context { limit: Limit::Packets(3), ..context() });
    let fates = enqueue(
        &mut *drr,
        0.0,
        &[(0, 0, 600, N), (0, 0, 600, N), (1, 1, 100, N), (1, 1, 100, N), (0, 0, 900, N)],
    );
    // The second of class 0 leaves for class 1; class 0 is then the longest itself and is refused.
    assert_eq!(fates, [(1, Fate::Dropped(Cause::Overflow)), (4, Fate::Dropped(Cause::Overflow))]);
}

#[test]
fn prio_is_strict() {
    let mut prio = build("prio", context());
    enqueue(
        &mut *prio,
        0.0,
        &[(0, 7, 100, N), (0, 2, 100, N), (0, 1, 100, N), (0, 0, 100, N), (0, 1, 100, N)],
    );
    assert_eq!(order(&mut *prio), [3, 2, 4, 0, 1]);
    let arrivals = [(0, 1, 100, N), (0, 2, 100, N), (0, 2, 100, N), (0, 1, 100, N), (0, 2, 100, N)];
    let full = Context { limit: Limit::Packets(3), ..context() };
    for (options, gone) in [("", [3, 4]), ("evict lowest", [2, 4])] {
        let mut prio = build(&format!("prio {options}"), full);
        let fates = enqueue(&mut *prio, 0.0, &arrivals);
        assert_eq!(fates, gone.map(|token| (token, Fate::Dropped(Cause::Overflow))), "{options:?}");
    }
}

/// p' as wanted, by one update with a C head that has waited so long; C is empty afterwards.
fn dual(p_prime: f64, options: &str) -> Box<dyn Scheduler> {
    let mut dual = build(&format!("dualpi2 target 0s t_update 10ms alpha 0 beta 1 {options}"), context());
    enqueue(&mut *dual, 10.0 - p_prime, &[(0, 0, 1000, Ecn::Ect0)]);
    dual.on_timer(at(10.0));
    let (token, _) = dequeue(&mut *dual, 10.0, &[0.0, 1.0 - 1e-9]);
    assert_eq!(token, Some(0));
    dual
}

fn probe(scheduler: &dyn Scheduler, name: &str) -> f64 {
    let mut found = None;
    scheduler.probe(&mut |field, value| found = if field == name { Some(value) } else { found });
    found.unwrap_or_else(|| panic!("no probe {name}"))
}

#[test]
fn dualpi2_v1_couples_classic_and_scalable() {
    for row in crate::support::table("pi2_v1").rows() {
        let dual = dual(row.number("p'"), "");
        assert!((probe(&*dual, "p_prime") - row.number("p'")).abs() < 1e-8);
        assert!((probe(&*dual, "c.p") - row.number("p_C")).abs() < 1e-8);
        assert!((probe(&*dual, "l.p") - row.number("p_CL")).abs() < 1e-8);
    }
}

const EARLY_MARK: Fate = Fate::Marked(Cause::Early);
const EARLY_DROP: Fate = Fate::Dropped(Cause::Early);

#[test]
fn dualpi2_v3_ramp_of_the_scalable_queue() {
    let leave = |options: &str, behind: usize, delay: f64, u: f64| {
        let mut dual = build(&format!("dualpi2 {options}"), context());
        enqueue(&mut *dual, 1.0, &vec![(0, 0, 1000, Ecn::Ect1); behind + 1]);
        dequeue(&mut *dual, 1.0 + delay, &[u]).1 == [(0, EARLY_MARK)]
    };
    for (delay, below, above) in [(0.0007, -1.0, 0.0), (0.001, 0.4999, 0.5001), (0.0012, 0.9999, 2.0)] {
        assert!(below < 0.0 || leave("", 5, delay, below), "{delay}");
        assert!(above > 1.0 || !leave("", 5, delay, above), "{delay}");
    }
    assert!(!leave("", 1, 0.1, 0.0), "only one waits behind it");
    assert!(leave("", 2, 0.1, 0.999));
    assert!(leave("th_len 0p", 1, 0.1, 0.999));
    assert!(!leave("min_th 1ms range 0s", 5, 0.000999, 0.0) && leave("min_th 1ms range 0s", 5, 0.001, 0.999));
}

#[test]
fn dualpi2_signals_each_class_its_way() {
    // L: k p' by one draw. C: p'^2 by two, marked below p_c_max, dropped above or without ECN.
    for (p_prime, ecn, numbers, fate) in [
        (0.2, Ecn::Ect1, &[0.399][..], Some(EARLY_MARK)),
        (0.2, Ecn::Ect1, &[0.401], None),
        (0.2, Ecn::Ce, &[0.399], Some(EARLY_MARK)),
        (0.2, Ecn::Ect0, &[0.199, 0.1], Some(EARLY_MARK)),
        (0.2, Ecn::Ect0, &[0.201, 0.1], None),
        (0.2, N, &[0.1, 0.199], Some(EARLY_DROP)),
        // Overload: 2 p' >= 1. L is dropped with p'^2 = 0.36, who stays is marked.
        (0.6, Ecn::Ect1, &[0.359], Some(EARLY_DROP)),
        (0.6, Ecn::Ect1, &[0.361, 0.9999], Some(EARLY_MARK)),
        (0.6, Ecn::Ect0, &[0.59, 0.59], Some(EARLY_DROP)),
    ] {
        let mut dual = dual(p_prime, "");
        enqueue(&mut *dual, 10.0, &[(0, 0, 1000, ecn)]);
        let (token, fates) = dequeue(&mut *dual, 10.0, numbers);
        let place = format!("{p_prime} {ecn:?} {numbers:?}");
        assert_eq!(fates, fate.map(|fate| (0, fate)).into_iter().collect::<Vec<_>>(), "{place}");
        assert_eq!(token.is_none(), fate == Some(EARLY_DROP), "{place}");
    }
    let mut capped = dual(0.6, "overload cap");
    near(probe(&*capped, "p_prime"), 0.5, "capped at 1/k");
    enqueue(&mut *capped, 10.0, &[(0, 0, 1000, Ecn::Ect1)]);
    assert_eq!(dequeue(&mut *capped, 10.0, &[0.9999]).1, [(0, EARLY_MARK)]);
}

#[test]
fn dualpi2_follows_the_longer_delay_and_protects_classic() {
    for (follows, p_prime) in [("both", 0.3), ("classic", 0.0)] {
        let mut dual =
            build(&format!("dualpi2 target 0s alpha 0 beta 1 t_update 1s follows {follows}"), context());
        enqueue(&mut *dual, 0.7, &[(0, 0, 1000, Ecn::Ect1)]);
        dual.on_timer(at(1.0));
        assert!((probe(&*dual, "p_prime") - p_prime).abs() < 1e-9, "{follows}");
    }
    for (w_c, share) in [("0.0625", 1.0 / 16.0), ("0.25", 0.25)] {
        let roomy = Context { limit: Limit::Packets(10_000), ..context() };
        let mut dual = build(&format!("dualpi2 w_c {w_c} min_th 1s"), roomy);
        let arrivals: Vec<_> =
            (0..2000).map(|i| (0, 0, 1000, if i < 1000 { Ecn::Ect1 } else { N })).collect();
        enqueue(&mut *dual, 0.0, &arrivals);
        let mut rng = Stream::new(1, "dual");
        let sent: Vec<_> = (0..800).filter_map(|_| dual.dequeue(at(0.0), &mut rng, &mut |_, _| {})).collect();
        let classic = sent.iter().filter(|sent| sent.0.0 >= 1000).count();
        assert!((classic as f64 - 800.0 * share).abs() <= 1.0, "{classic} of 800");
        assert!(sent[0].0.0 < 1000, "L goes first");
    }
}

/// A class with fq_codel inside is served by the weights between classes, and its flows fairly within.
#[test]
fn a_scheduler_may_stand_on_a_class() {
    let roomy = Context { limit: Limit::Packets(10_000), ..context() };
    for spec in ["drr classes 2 w_0 3 aqm_1 (fq_codel quantum 1000B)", "drr classes 2 w_0 3 aqm fq_codel"] {
        let mut drr = build(spec, roomy);
        // Class 0: one flow. Class 1: flow 1 sends four times as much as flow 2.
        let arrivals: Vec<_> = (0..5000)
            .map(|i| ([0, 0, 0, 0, 0, 1, 1, 1, 1, 2][i % 10], u8::from(i % 10 >= 5), 1000, N))
            .collect();
        enqueue(&mut *drr, 0.0, &arrivals);
        let sent: Vec<_> = (0..800).filter_map(|_| dequeue(&mut *drr, 0.0, &[]).0).collect();
        let of = |flow: u32| sent.iter().filter(|i| arrivals[**i as usize].0 == flow).count() as i64;
        assert!((of(0) - 600).abs() <= 3, "{spec}: {} of class 0", of(0));
        assert!((of(1) - 100).abs() <= 3 && (of(2) - 100).abs() <= 3, "{spec}: {} and {}", of(1), of(2));
        let field = |name: &str| probe(&*drr, name);
        assert_eq!((field("0.packets") + field("1.packets")) as u32, drr.packets());
        assert_eq!(field("1.new") + field("1.old"), 2.0, "{spec}");
    }
}

/// With no room left, who leaves is the last of a queue, and fq_codel's the head of its longest flow.
#[test]
fn a_scheduler_on_a_class_gives_room() {
    let full = Context { limit: Limit::Packets(4), ..context() };
    let arrivals = [(0, 1, 100, N), (1, 1, 500, N), (0, 1, 100, N), (1, 1, 500, N), (2, 0, 100, N)];
    for (spec, gone) in [
        ("prio evict lowest aqm_1 fq_codel", 1),
        ("prio evict lowest aqm_1 fq_pie", 3),
        ("prio evict lowest aqm_1 prio", 3),
        ("prio evict lowest", 3),
        ("prio aqm_1 fq_codel", 4),
        ("drr classes 2 aqm_1 fq_codel", 1),
        ("drr classes 2 aqm_1 drr", 3),
        ("prio evict lowest aqm_1 dualpi2", 3),
    ] {
        let fates = enqueue(&mut *build(spec, full), 0.0, &arrivals);
        assert_eq!(fates, [(gone, Fate::Dropped(Cause::Overflow))], "{spec}");
    }
}

/// Six class numbers are two classes of three precedences: AF1 yellow is 1, AF2 green 3.
#[test]
fn class_numbers_hold_precedences() {
    // Each green packet passes BIO; yellow ones and red ones are dropped once one waits.
    let bio = "bio max_in 100p min_in 50p max_out 0.5p min_out 0.4p d_i_out 1";
    let mut prio = build(&format!("prio classes 2 precedences 3 aqm ({bio})"), context());
    let mut drops = Vec::new();
    let mut rng = Stream::new(1, "prio");
    for (i, class) in [0, 1, 3, 4, 2, 5, 0, 3, 9].into_iter().enumerate() {
        let view = PacketView { class: Class(class), ..packet(100) };
        prio.enqueue(at(0.0), Token(i as u64), &view, &mut rng, &mut |token, _| drops.push(token.0));
    }
    // The first of the others raises p, it meets 0 itself; 9 is one more of the last class, green.
    assert_eq!(drops, [4, 5]);
    assert_eq!(order(&mut *prio), [0, 1, 6, 2, 3, 7, 8]);
}
