//! The contract of algorithms, checked over the whole registry: a new algorithm is tested once it is listed.

use crate::support::{context, table};
use sojourn_aqm::conformance::{Event, Harness};
use sojourn_aqm::{
    Algorithm, Aqm, Cause, Class, Contents, Context, Conventions, DefaultValue, FlowId, Hooks, Kind, Limit,
    PacketView, Param, QUEUE_WORDS, QueueView, Random, Range, Span, Spec, SpecError, Time, Verdict, registry,
};

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

const WEEK: Span = Span(604_800_000_000_000);

/// Check one spec: its canonical form, and the algorithm on ordinary and on extreme links.
pub(crate) fn check(spec: &str) {
    reads_back(spec);
    for context in contexts() {
        if let Ok(harness) = harness_of(spec, context, 1) {
            same_seed_same_decisions(spec, &harness);
            a_clone_continues(spec, &harness);
            time_may_stop_or_jump(spec, &harness);
            omitted_calls_have_no_effect(spec, context, &harness);
        }
    }
}

/// A harness around `spec`.
pub(crate) fn harness_of(spec: &str, context: Context, seed: u64) -> Result<Harness, SpecError> {
    Harness::new(Spec::parse(spec)?, context, seed)
}

/// Assert that no rule was violated.
pub(crate) fn unbroken(spec: &str, harness: &Harness) {
    assert!(harness.violations.is_empty(), "{spec}: {:?}", harness.violations);
}

/// Links and limits from ordinary to extreme.
pub(crate) fn contexts() -> Vec<Context> {
    let ordinary = context().with_limit(Limit::Packets(1000)).with_ecn(true);
    vec![
        ordinary,
        ordinary.with_ecn(false),
        ordinary.with_conventions(Conventions::Ns2),
        ordinary.with_conventions(Conventions::Ns2).with_ecn(false).with_limit(Limit::Bytes(100_000)),
        ordinary.with_link_rate(1),
        ordinary.with_link_rate(10_000_000_000_000),
        ordinary.with_limit(Limit::Packets(1)),
        ordinary.with_limit(Limit::Bytes(1)),
        ordinary.with_limit(Limit::Bytes(1_000_000_000_000)).with_mean_packet(1),
        ordinary.with_limit(Limit::Packets(u32::MAX)).with_mean_packet(65_536),
    ]
}

fn reads_back(spec: &str) {
    let parsed = Spec::parse(spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
    let canonical = parsed.to_string();
    let again = Spec::parse(&canonical).unwrap_or_else(|e| panic!("{canonical}: {e}"));
    assert_eq!(again.to_string(), canonical);
    let values = |s: &Spec| s.values.iter().map(|(p, v)| (p.name, v.clone())).collect::<Vec<_>>();
    assert_eq!(values(&again), values(&parsed), "{spec}");
    assert_eq!((again.limit, again.overflow), (parsed.limit, parsed.overflow), "{spec}");
}

fn same_seed_same_decisions(spec: &str, harness: &Harness) {
    let mut first = harness.clone();
    first.run(600, 0.5);
    let rebuilt = |seed| harness_of(spec, first.context(), seed).expect("it could be built before");
    let mut second = rebuilt(1);
    second.run(600, 0.5);
    assert_eq!(first.log, second.log, "{spec}");
    unbroken(spec, &first);
}

fn a_clone_continues(spec: &str, harness: &Harness) {
    let mut original = harness.clone();
    original.run(300, 0.5);
    let mut copy = original.clone();
    original.run(300, 0.5);
    let after = original.log.clone();
    original.run(300, 0.5); // must not change the copy
    copy.run(300, 0.5);
    assert_eq!(copy.log, after);
    unbroken(spec, &original);
}

fn time_may_stop_or_jump(spec: &str, harness: &Harness) {
    let mut harness = harness.clone();
    harness.run(200, 0.0);
    harness.advance(WEEK);
    harness.run(200, 0.5);
    for _ in 0..300 {
        harness.depart();
    }
    harness.advance(WEEK);
    harness.run(50, 1000.0);
    harness.run(200, 0.0);
    unbroken(spec, &harness);
}

/// An algorithm that is called for every packet, even for hooks that it omits, and never with `on_fit`.
struct AllHooks(Box<dyn Aqm>);

impl Aqm for AllHooks {
    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        self.0.on_offered(now, packet, queue);
    }
    fn on_arrival(&mut self, t: Time, p: &PacketView, q: &QueueView, rng: &mut dyn Random) -> Verdict {
        self.0.on_arrival(t, p, q, rng)
    }
    fn on_departure(&mut self, t: Time, p: &PacketView, q: &QueueView, rng: &mut dyn Random) -> Verdict {
        self.0.on_departure(t, p, q, rng)
    }
    fn on_drop(&mut self, now: Time, packet: &PacketView, cause: Cause, queue: &QueueView) {
        self.0.on_drop(now, packet, cause, queue);
    }
    fn on_refused(&mut self, now: Time, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) {
        self.0.on_refused(now, packet, queue, rng);
    }
    fn on_idle(&mut self, now: Time) {
        self.0.on_idle(now);
    }
    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }
    fn on_timer(&mut self, now: Time, queue: &QueueView, rng: &mut dyn Random) {
        self.0.on_timer(now, queue, rng);
    }
    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        self.0.probe(field);
    }
    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(AllHooks(self.0.clone_box()))
    }
}

fn omitted_calls_have_no_effect(spec: &str, context: Context, harness: &Harness) {
    if harness.aqm.hooks() == Hooks::ALL {
        return;
    }
    let mut spared = harness.clone();
    let parsed = Spec::parse(spec).expect("it was read before");
    let mut all = Harness::around(Box::new(AllHooks(harness.aqm.clone())), parsed, context, 1);
    for harness in [&mut spared, &mut all] {
        harness.run(600, 0.5);
    }
    assert!(spared.log == all.log, "{spec} needs a call that it says is for nothing");
    let probes = |harness: &Harness| {
        let mut seen = Vec::new();
        harness.aqm.probe(&mut |name, value| seen.push((name, value)));
        seen
    };
    assert_eq!(probes(&spared), probes(&all), "{spec}");
}

/// Contents that are empty, and count how often they are read.
#[derive(Default)]
struct Watched(AtomicU32);

impl Watched {
    fn read(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Contents for Watched {
    fn at(&self, _: u32) -> Option<PacketView> {
        self.read();
        None
    }
    fn of_flow(&self, _: FlowId) -> u32 {
        self.read();
        0
    }
    fn of_class(&self, _: Class) -> u32 {
        self.read();
        0
    }
}

/// An algorithm with a queue whose contents count the reads.
struct Reader(Box<dyn Aqm>, Arc<Watched>);

impl Aqm for Reader {
    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        self.0.on_offered(now, packet, &queue.with_contents(&*self.1));
    }
    fn on_arrival(&mut self, t: Time, p: &PacketView, q: &QueueView, rng: &mut dyn Random) -> Verdict {
        self.0.on_arrival(t, p, &q.with_contents(&*self.1), rng)
    }
    fn on_departure(&mut self, t: Time, p: &PacketView, q: &QueueView, rng: &mut dyn Random) -> Verdict {
        self.0.on_departure(t, p, &q.with_contents(&*self.1), rng)
    }
    fn on_drop(&mut self, now: Time, packet: &PacketView, cause: Cause, queue: &QueueView) {
        self.0.on_drop(now, packet, cause, &queue.with_contents(&*self.1));
    }
    fn on_refused(&mut self, now: Time, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) {
        self.0.on_refused(now, packet, &queue.with_contents(&*self.1), rng);
    }
    fn on_idle(&mut self, now: Time) {
        self.0.on_idle(now);
    }
    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }
    fn on_timer(&mut self, now: Time, queue: &QueueView, rng: &mut dyn Random) {
        self.0.on_timer(now, &queue.with_contents(&*self.1), rng);
    }
    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        self.0.probe(field);
    }
    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(Reader(self.0.clone_box(), self.1.clone()))
    }
}

/// How often the algorithm of `spec` reads the contents of its queue.
fn reads_of(spec: &str, aqm: Box<dyn Aqm>, context: Context) -> u32 {
    let watched = Arc::new(Watched::default());
    let parsed = Spec::parse(spec).expect("it was read before");
    let mut harness = Harness::around(Box::new(Reader(aqm, watched.clone())), parsed, context, 1);
    harness.run(2000, 0.5);
    watched.0.load(Ordering::Relaxed)
}

/// The specs with every flag and every word of a choice. An algorithm without the marker reads the contents
/// with at least one of them; otherwise it should have the marker. Seen to fail: RIO with the marker, Blue
/// without.
#[test]
fn algorithms_have_the_marker_if_they_never_read_contents() {
    for algorithm in registry::ALGORITHMS {
        let words = algorithm.params.iter().flat_map(|param| match param.kind {
            Kind::Choice(words) => words.iter().map(|word| format!(" {} {word}", param.name)).collect(),
            Kind::Flag => vec![format!(" {} on", param.name), format!(" {} off", param.name)],
            _ => Vec::new(),
        });
        let (mut built, mut reads) = (0, 0);
        for spec in words.chain([String::new()]).map(|words| algorithm.name.to_owned() + &words) {
            let context = context().with_ecn(true);
            let Ok(aqm) = Spec::parse(&spec).and_then(|spec| spec.build(context)) else { continue };
            assert!((algorithm.instance.is)(&*aqm), "{spec} builds another type than `instance` states");
            built += 1;
            reads += reads_of(&spec, aqm, context);
        }
        assert!(built > 0, "{}", algorithm.name);
        let ignores = algorithm.instance.ignores_contents;
        assert_eq!(reads == 0, ignores, "{} reads {reads} times; marked: {ignores}", algorithm.name);
    }
}

#[test]
fn every_algorithm_satisfies_the_contract() {
    for algorithm in registry::ALGORITHMS {
        check(algorithm.name);
        for param in algorithm.params {
            if let Kind::Choice(words) = param.kind {
                for word in words {
                    check(&format!("{} {} {word}", algorithm.name, param.name));
                }
            }
            if param.kind == Kind::Flag {
                check(&format!("{} {}", algorithm.name, param.name));
            }
        }
    }
}

#[test]
fn documented_examples_satisfy_the_contract() {
    for spec in [
        "red min_th 15p max_th 45p max_p 0.1 w_q 0.002",
        "red min_th 10kB max_th 30kB gentle wait ecn",
        "red min_th 10kB max_th 30kB listing ns2 wait",
        "red min_th 2p max_th 10p w_q 0.1 listing ns2 wait",
        "red min_th 15 max_th 30 w_q 1 max_p 1",
        "gred min_th 1p w_q 1 gentle_end limit limit 200p overflow random",
        "pi a 0.05 b 0.01 q_ref 22kB f_s 100",
        "rem b_star 0p period 1us phi 2 gamma 1e300",
        "rem b_star 10kB form queue mark_at departure ecn",
        "avq alpha 1e300 buffer 1B",
        "gkvq rate 13Mbit/s buffer 16250B",
        "raqm alpha static m 1e300 p_min 0 q_0 1B",
        "raqm mode independent period 1ms x_min 0.001 x_max 1.999 eps 0.99",
    ] {
        check(spec);
    }
}

/// The contract is tested only if there are signals: under overload every algorithm except DropTail signals.
#[test]
fn overload_is_signalled() {
    for algorithm in registry::ALGORITHMS {
        for ecn in [true, false] {
            let ordinary = context().with_ecn(ecn).with_limit(Limit::Packets(1000));
            let mut harness = harness_of(algorithm.name, ordinary, 7).expect("defaults fit an ordinary link");
            harness.run(30_000, 0.5);
            unbroken(algorithm.name, &harness);
            let count = |wanted: fn(Verdict) -> bool| {
                let verdicts = harness.log.iter().filter_map(|event| match event {
                    Event::Arrival(verdict) | Event::Departure(verdict) => Some(*verdict),
                    _ => None,
                });
                verdicts.filter(|v| wanted(*v)).count()
            };
            let drops = count(|v| matches!(v, Verdict::Drop(_)));
            let marks = count(|v| matches!(v, Verdict::Mark(_)));
            let signals = algorithm.name != "droptail";
            assert_eq!(drops > 0, signals, "{} drops", algorithm.name);
            assert_eq!(marks > 0, signals && ecn, "{} marks", algorithm.name);
        }
    }
}

#[test]
fn every_parameter_is_described() {
    for algorithm in registry::ALGORITHMS {
        for (i, param) in algorithm.params.iter().enumerate() {
            let place = format!("{}.{}", algorithm.name, param.name);
            let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(param.name.chars().all(snake), "{place} is not in snake case");
            assert!(!QUEUE_WORDS.contains(&param.name), "{place} is a word of the queue");
            assert!(algorithm.params[..i].iter().all(|p| p.name != param.name), "{place} is listed twice");
            assert!(param.doc.len() > 10 && !param.doc.ends_with('.'), "{place}: doc {:?}", param.doc);
            assert!(!param.source.is_empty(), "{place} has no source");
            assert_ne!(param.tc, Some(""), "{place}");
            let is_open = matches!(param.kind, Kind::Flag | Kind::Choice(_) | Kind::Rate);
            assert_eq!(param.range == Range::ANY, is_open, "{place}: a number has a range");
            if matches!(param.kind, Kind::Span | Kind::Rate | Kind::Size) {
                assert!(!param.unit.is_empty(), "{place} has no unit");
            }
            match param.default {
                DefaultValue::Value(word) => fits(algorithm, param, word),
                DefaultValue::Derived(text) => {
                    assert!(text.len() > 5, "{place}: the derivation is not described")
                }
            }
            if let Some(word) = param.ns2 {
                fits(algorithm, param, word);
                assert_ne!(param.default, DefaultValue::Value(word), "{place}: ns-2's value is the default");
            }
        }
        for probe in algorithm.probes {
            assert!(!probe.doc.is_empty(), "{}: probe {}", algorithm.name, probe.name);
        }
    }
}

/// A changed default changes results: each is compared with a table compiled by hand from the sources.
#[test]
fn defaults_are_those_of_the_table() {
    let table = table("defaults");
    let mut listed = Vec::new();
    for row in table.rows() {
        let algorithm = registry::find(row.word("algorithm")).expect("an algorithm");
        let param = algorithm.param(row.word("parameter")).expect("a parameter");
        let default = match param.default {
            DefaultValue::Value(word) => word,
            DefaultValue::Derived(_) => "derived",
        };
        assert_eq!(default, row.word("default"), "{}.{}", algorithm.name, param.name);
        assert_eq!(param.ns2.unwrap_or("-"), row.word("ns2"), "{}.{}, ns2", algorithm.name, param.name);
        listed.push((algorithm.name, param.name));
    }
    let all = registry::ALGORITHMS.iter().flat_map(|a| a.params.iter().map(|p| (a.name, p.name)));
    for (row, param) in all.clone().enumerate() {
        assert_eq!(
            listed.get(row),
            Some(&param),
            "vectors/defaults.csv: every parameter, as the registry has them"
        );
    }
    assert_eq!(listed.len(), all.count());
}

/// `word` is allowed for `param`, and prints as itself.
fn fits(algorithm: &Algorithm, param: &Param, word: &str) {
    reads_back(&format!("{} {} {word}", algorithm.name, param.name));
}

/// Setting every parameter to its default changes only the text of the spec.
#[test]
fn a_spec_that_sets_all_defaults_equals_the_default() {
    for algorithm in registry::ALGORITHMS {
        let mut spec = algorithm.name.to_owned();
        for param in algorithm.params {
            if let DefaultValue::Value(word) = param.default {
                spec += &format!(" {} {word}", param.name);
            }
        }
        reads_back(&spec);
        let run = |spec: &str| {
            let mut harness = harness_of(spec, context(), 3).unwrap_or_else(|e| panic!("{spec}: {e}"));
            harness.run(2000, 0.5);
            harness.log
        };
        assert_eq!(run(&spec), run(algorithm.name));
    }
}

/// A preset equals a spec that sets the values of its column.
#[test]
fn a_preset_equals_a_spec_that_sets_its_values() {
    let run = |spec: &str, conventions| {
        let ordinary =
            context().with_conventions(conventions).with_ecn(true).with_limit(Limit::Packets(1000));
        let mut harness = harness_of(spec, ordinary, 11).expect("defaults fit");
        harness.run(10_000, 0.5);
        harness.log
    };
    for (algorithm, preset) in
        registry::ALGORITHMS.iter().flat_map(|one| Conventions::ALL.map(|preset| (one, preset)))
    {
        let values = algorithm.params.iter().filter_map(|p| Some((p.name, p.under(preset)?)));
        let values = values.map(|(name, word)| format!(" {name} {word}"));
        let written = algorithm.name.to_owned() + &values.collect::<String>();
        let (under, default) = (run(algorithm.name, preset), Conventions::Rfc);
        assert_eq!(under, run(&written, default), "{written}");
        if preset == Conventions::Ns2 && written != algorithm.name {
            assert_ne!(under, run(algorithm.name, default), "{written} changes nothing");
        }
    }
}

#[test]
fn every_algorithm_is_documented() {
    for algorithm in registry::ALGORITHMS {
        let doc = algorithm.doc();
        let name = algorithm.name;
        assert!(doc.starts_with("**"), "{name}: the page begins with the idea, in bold");
        for heading in ["\n# When it decides\n", "\n# Differences\n", "\n# References\n"] {
            assert!(doc.contains(heading), "{name} lacks {heading:?}");
        }
        let rows = doc.lines().filter(|line| line.starts_with('|')).skip(2);
        let rows: Vec<Vec<&str>> =
            rows.map(|r| r.trim_matches('|').split('|').map(str::trim).collect()).collect();
        assert!(!rows.is_empty(), "{name}: no differences at all?");
        for row in rows {
            assert!(row.len() == 4 && row.iter().all(|cell| !cell.is_empty()), "{name}: {row:?}");
            assert!(!row[3].contains("implement"), "{name}: {row:?} is not a reason");
        }
        assert!(!algorithm.title.is_empty() && !algorithm.source.is_empty());
        if let Some(alias) = algorithm.alias_of {
            Spec::parse(alias).unwrap_or_else(|e| panic!("{name} = {alias}: {e}"));
        }
    }
}

#[test]
fn an_alias_decides_as_its_target() {
    for algorithm in registry::ALGORITHMS {
        let Some(alias) = algorithm.alias_of else { continue };
        let run = |spec: &str| {
            let mut harness = harness_of(spec, context(), 5).expect("defaults fit");
            harness.run(5000, 0.5);
            harness.log
        };
        let log = run(algorithm.name);
        assert!(log.iter().any(|e| matches!(e, Event::Arrival(Verdict::Drop(Cause::Early)))));
        assert_eq!(log, run(alias));
    }
}

#[test]
fn inconsistent_values_are_refused() {
    for (spec, key) in [
        ("red min_th 15p max_th 15p", "red.max_th"),
        ("red min_th 15p max_th 45kB", "red.max_th"),
        ("red max_th 45kB", "red.max_th"),
        ("red mean_packet 500", "red.mean_packet"),
        ("red max_packet 2p", "red.max_packet"),
        ("red listing ns2 count after", "red.count"),
        ("gred max_th 1000p gentle_end limit", "gred.gentle_end"),
        ("gred gentle", "gred.gentle"),
        ("pi a 0.01 b 0.01", "pi.b"),
        ("raqm p_0 0.1 p_min 0.2", "raqm.p_min"),
        ("raqm x_min 1", "raqm.x_min"),
        ("raqm loss_corrected count accepted", "raqm.loss_corrected"),
        ("raqm loss_corrected count admitted", "raqm.loss_corrected"),
        ("rem phi 1", "rem.phi"),
    ] {
        let built = Spec::parse(spec).and_then(|s| s.build(context()));
        assert_eq!(built.map(|_| ()).expect_err(spec).key, key);
    }
}
