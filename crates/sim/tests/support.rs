//! Builders of plans, and comparison of records.

use proptest::test_runner::{Config, RngSeed};
use sojourn_aqm::{Conventions, Span, Time};
use sojourn_sim::{
    Control, FastPath, Plan, Record, Simulation,
    plan::{Access, Draw, Dumbbell, Ecn, QueueConfig, Tcp, Topology, Trace, Traffic, TrafficKind},
    tcp::{TcpOptions, schema},
};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MBIT: u64 = 1_000_000;

/// The same cases in every run, so that failures are reproducible; `PROPTEST_RNG_SEED=N` and
/// `PROPTEST_CASES=N` try others.
pub(crate) fn cases(number: u32) -> Config {
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

/// The options of a preset of TCP, with overrides.
pub(crate) fn options(preset: &str, set: &[(&str, &str)]) -> TcpOptions {
    let set: Vec<_> = set.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
    schema::resolve(preset, &set).unwrap_or_else(|error| panic!("{error}"))
}

/// A connection with 40 bytes of header and 40-byte acknowledgements.
pub(crate) fn tcp(payload: u32, options: TcpOptions) -> Tcp {
    Tcp { payload, payloads: None, header: 40, ack: 40, max_rate: None, options }
}

/// A queue with a limit.
pub(crate) fn queue(limit: &str, aqm: &str) -> QueueConfig {
    QueueConfig { limit: limit.to_owned(), aqm: aqm.to_owned(), ecn: false, medium: None }
}

/// Access links, with one host per flow.
pub(crate) fn access(rate: u64, delays: &[u64]) -> Access {
    Access { rate, delays: delays.iter().copied().map(Span).collect(), nodes: None }
}

/// A group of sources that start at 0.
pub(crate) fn traffic(name: &str, count: u32, kind: TrafficKind) -> Traffic {
    Traffic {
        name: name.to_owned(),
        kind,
        count,
        reverse: false,
        access: None,
        from: Vec::new(),
        to: Vec::new(),
        start: Draw::Constant(0.0),
        pareto: None,
        sizes: None,
        stagger: None,
        stop: None,
        class: 0,
        marker: None,
        ecn: Ecn::Off,
        sink: None,
        echo: false,
        codec: None,
    }
}

/// The dumbbell of the reference traces: 100 Mbit/s and 5 ms on both sides of 10 Mbit/s and 15 ms, so that
/// the round trip takes 50 ms and the transmission of a 1000-byte packet 0.8 ms.
pub(crate) fn dumbbell(queue: QueueConfig) -> Dumbbell {
    Dumbbell {
        rate: 10 * MBIT,
        reverse_rate: None,
        delay: Span(15 * MS),
        capacity: None,
        impairment: None,
        reverse_impairment: None,
        access: access(100 * MBIT, &[5 * MS]),
        server: access(100 * MBIT, &[5 * MS]),
        queue,
        reverse_queue: None,
    }
}

/// A dumbbell and its traffic, without warm-up and traces.
pub(crate) fn plan(dumbbell: Dumbbell, traffic: Vec<Traffic>, duration: u64) -> Plan {
    Plan {
        duration: Span(duration),
        warmup: Time::ZERO,
        topology: Topology::Dumbbell(dumbbell),
        traffic,
        measure: None,
        drain: None,
        phases: Vec::new(),
        trace: Trace::default(),
        conventions: Conventions::Rfc,
        algorithms: Vec::new(),
    }
}

/// Run `plan`, which must succeed.
pub(crate) fn run(plan: &Plan, seed: u64) -> Record {
    let simulation = Simulation::new(plan, seed).unwrap_or_else(|error| panic!("{error}"));
    simulation.run(&Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// All of `record` but the number of events and the path taken, with one number per line. Two records are
/// equal if and only if their texts are: floats are printed without loss.
pub(crate) fn text(record: &Record) -> String {
    format!("{:#?}", Record { events: 0, fast_path: FastPath::None, ..record.clone() })
}

/// The first line in which two records differ, with its path.
pub(crate) fn difference(a: &Record, b: &Record) -> Option<String> {
    let (a, b) = (text(a), text(b));
    let mut way: Vec<&str> = Vec::new();
    let mut lines_of_b = b.lines();
    for (number, line) in a.lines().enumerate() {
        let other = lines_of_b.next();
        if other != Some(line) {
            let way = way.iter().map(|w| w.trim()).collect::<Vec<_>>().join(" ");
            return Some(format!("line {number}, {way} {line:?} is {other:?}"));
        }
        if line.ends_with(['{', '[', '(']) {
            way.push(line);
        } else if line.trim_start().starts_with(['}', ']', ')']) {
            way.pop();
        }
    }
    lines_of_b.next().map(|line| format!("the second one continues: {line:?}"))
}
