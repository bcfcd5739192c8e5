//! Whatever a person writes, nothing panics; whatever is accepted reads back as itself and runs.

use crate::contract;
use proptest::{prelude::*, sample::select, test_runner::RngSeed};
use sojourn_aqm::{Kind, Spec, registry};

/// Any word, mostly nonsense.
fn anything() -> impl Strategy<Value = String> {
    const UNITS: &[&str] =
        &["", "p", "B", "kB", "KiB", "ms", "us", "s", "ns", "h", "bit", "Mbit/s", "Tbit", "é"];
    const WORDS: &[&str] =
        &["on", "off", "ns2", "fj93", "limit", "2max_th", "static", "queue", "packet", "tail"];
    let numbers =
        prop_oneof![any::<f64>().prop_map(|x| x.to_string()), any::<i64>().prop_map(|x| x.to_string())];
    prop_oneof![
        (numbers, select(UNITS)).prop_map(|(n, unit)| n + unit),
        select(WORDS).prop_map(str::to_owned),
        "\\PC{0,8}",
    ]
}

/// A word of the right kind, from tiny to huge, mostly in range.
fn of_kind(kind: Kind) -> BoxedStrategy<String> {
    let number = prop_oneof![
        4 => 0.0..1.0f64,
        2 => 1.0..1000.0f64,
        1 => (-320i32..308).prop_map(|e| format!("1e{e}").parse().unwrap_or(1.0)),
        1 => any::<f64>(),
    ];
    let with =
        |units: &'static [&'static str]| (number.clone(), select(units)).prop_map(|(x, u)| format!("{x}{u}"));
    match kind {
        Kind::Number => number.prop_map(|x| x.to_string()).boxed(),
        Kind::Integer => (-5i64..5000).prop_map(|n| n.to_string()).boxed(),
        Kind::Flag => select(&["on", "off", "yes", "false"][..]).prop_map(str::to_owned).boxed(),
        Kind::Span => with(&["ns", "us", "ms", "s", "min", "h"]).boxed(),
        Kind::Rate => with(&["bit", "kbit/s", "Mbit", "gbit/s", "Tbit"]).boxed(),
        Kind::Size => with(&["", "p", "B", "kB", "KiB", "MiB", "GB"]).boxed(),
        Kind::Choice(words) => select(words).prop_map(str::to_owned).boxed(),
    }
}

/// An algorithm and some of its own parameters: often valid.
fn plausible() -> impl Strategy<Value = String> {
    (0..registry::ALGORITHMS.len()).prop_flat_map(|index| {
        let algorithm = registry::ALGORITHMS[index];
        let param = |index: usize| {
            let Some(param) = algorithm.params.get(index) else {
                let limit = prop_oneof![Just("p"), Just("B"), Just("kB")];
                return (1u64..10_000_000, limit).prop_map(|(n, unit)| format!(" limit {n}{unit}")).boxed();
            };
            let value = prop_oneof![9 => of_kind(param.kind), 1 => anything()];
            value.prop_map(|value| format!(" {} {value}", param.name)).boxed()
        };
        let settings = prop::collection::vec((0..=algorithm.params.len()).prop_flat_map(param), 0..5);
        settings.prop_map(|settings| algorithm.name.to_owned() + &settings.concat())
    })
}

proptest! {
    // A fixed seed, so that a failure is everybody's; PROPTEST_CASES and PROPTEST_RNG_SEED look further.
    #![proptest_config(ProptestConfig {
        cases: 4000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        let _ = Spec::parse(&text);
    }

    #[test]
    fn what_is_accepted_reads_back_and_runs(text in plausible()) {
        if let Ok(spec) = Spec::parse(&text) {
            let canonical = spec.to_string();
            let again = Spec::parse(&canonical);
            prop_assert!(again.is_ok(), "{text:?} -> {canonical:?}: {:?}", again.err());
            let again = again.unwrap();
            let values = |s: &Spec| s.values.iter().map(|(p, v)| (p.name, v.clone())).collect::<Vec<_>>();
            prop_assert_eq!(values(&again), values(&spec), "{:?} -> {:?}", text, canonical);
            prop_assert_eq!(again.to_string(), canonical);
            for context in contract::contexts() {
                if let Ok(mut world) = contract::world_of(&text, context, 1) {
                    world.run(20, 0.5);
                    contract::unbroken(&text, &world);
                }
            }
        }
    }
}
