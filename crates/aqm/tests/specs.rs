//! No text makes the parser panic; an accepted spec has a canonical form that reads back, and runs.

use crate::contract;
use proptest::{prelude::*, sample::select, test_runner::RngSeed};
use sojourn_aqm::{Algorithm, Kind, Spec, SpecError, registry};

/// Any word, mostly invalid.
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
        Kind::Spec => {
            let inside =
                ["codel", "(red  min_th 5 max_th 9p)", "fq_codel", "(drr aqm_1 (pi))", "()", "(a", "red 5"];
            select(inside.to_vec()).prop_map(str::to_owned).boxed()
        }
    }
}

/// Everything that has a spec: algorithms, schedulers and markers.
fn everything() -> Vec<&'static Algorithm> {
    let schedulers = registry::SCHEDULERS.iter().map(|discipline| &discipline.algorithm);
    let markers = registry::MARKERS.iter().map(|profile| &profile.algorithm);
    registry::ALGORITHMS.iter().copied().chain(schedulers).chain(markers).collect()
}

/// Read `text` as a marker if it begins with one, else as an algorithm or scheduler.
fn read(text: &str) -> Result<Spec, SpecError> {
    let is_marker = registry::MARKERS.iter().any(|m| text.split(' ').next() == Some(m.algorithm.name));
    if is_marker { Spec::parse_marker(text) } else { Spec::parse_any(text) }
}

/// An algorithm, a scheduler or a marker, and some of its own parameters: often valid.
fn plausible() -> impl Strategy<Value = String> {
    (0..everything().len()).prop_flat_map(|index| {
        let algorithm = everything()[index];
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
    // A fixed seed, so that a failure is reproducible; PROPTEST_CASES and PROPTEST_RNG_SEED widen the search.
    #![proptest_config(ProptestConfig {
        cases: 4000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        let _ = (Spec::parse_any(&text), Spec::parse_marker(&text));
    }

    #[test]
    fn an_accepted_spec_reads_back_and_runs(text in plausible()) {
        if let Ok(spec) = read(&text) {
            let canonical = spec.to_string();
            let again = read(&canonical);
            prop_assert!(again.is_ok(), "{text:?} -> {canonical:?}: {:?}", again.err());
            let again = again.unwrap();
            let values = |s: &Spec| s.values.iter().map(|(p, v)| (p.name, v.clone())).collect::<Vec<_>>();
            prop_assert_eq!(values(&again), values(&spec), "{:?} -> {:?}", text, canonical);
            prop_assert_eq!(again.to_string(), canonical);
            for context in contract::contexts() {
                let _ = (spec.schedule(context), spec.marker(context));
                if let Ok(mut world) = contract::harness_of(&text, context, 1) {
                    world.run(20, 0.5);
                    contract::unbroken(&text, &world);
                }
            }
        }
    }
}

fn refused(text: &str) -> String {
    let built = read(text).and_then(|spec| {
        let context = crate::support::context();
        if spec.is_scheduler() {
            spec.schedule(context).map(|_| ())
        } else {
            spec.marker(context).map(|_| ())
        }
    });
    built.expect_err(text).to_string()
}

#[test]
fn a_nested_spec_has_one_canonical_form() {
    for (text, canonical) in [
        ("prio aqm_1 ( codel  target 10ms ) aqm codel", "prio aqm codel aqm_1 (codel target 10ms)"),
        ("drr aqm_0 (pi)", "drr aqm_0 pi"),
        ("prio aqm_0 (drr aqm_2 (red gentle min_th 5))", "prio aqm_0 (drr aqm_2 (red min_th 5p gentle))"),
    ] {
        assert_eq!(read(text).unwrap_or_else(|e| panic!("{text}: {e}")).to_string(), canonical);
    }
    assert!(read("prio aqm_1 (codel ecn)").unwrap().says_ecn() && !read("prio").unwrap().says_ecn());
}

#[test]
fn an_error_in_a_nested_spec_names_its_place() {
    for (text, part) in [
        ("prio aqm_1 (codle)", "prio.aqm_1: \"codle\" is not an algorithm (did you mean codel?)"),
        ("prio aqm_1 (codel targt 5ms)", "prio.aqm_1: codel.targt is not a parameter (did you mean target?)"),
        ("prio aqm_1 (codel target 5ms", "has parentheses that do not match"),
        ("prio aqm_1 codel)", "has parentheses that do not match"),
        ("prio aqm_1 (codel limit 5p)", "prio.aqm_1: codel.limit belongs to the whole queue"),
        ("prio aqm_1 (prio aqm (fq_codel))", "prio.aqm_1: prio is a scheduler between two others"),
        ("prio aqm_3 codel", "prio.aqm_3 is for a class that does not exist; allowed: below classes"),
        ("prio aqm_0 (red min_th 9p max_th 5p)", "red.max_th"),
        ("fq_codel overflow head", "fq_codel.overflow is not a parameter"),
        ("fq_codle", "\"fq_codle\" is not an algorithm (did you mean fq_codel?)"),
    ] {
        let seen = refused(text);
        assert!(seen.contains(part), "{text}: {seen}");
    }
}

#[test]
fn a_profile_must_be_complete() {
    for (text, part) in [
        ("token_bucket cbs 15kB", "token_bucket.cir is missing; allowed: a rate with its unit, like 1Mbit/s"),
        ("token_bucket cir 1Mbit/s", "token_bucket.cbs is missing; allowed: bytes, like 15kB"),
        ("token_bucket cir 1Mbit/s cbs 15p", "token_bucket.cbs is not in bytes"),
        ("token_bucket cir 1Mbit/s cbs 15kB limit 5p", "token_bucket.limit is not a parameter"),
        ("trtcm cir 2Mbit/s cbs 1kB pir 1Mbit/s pbs 1kB", "trtcm.pir is below cir; allowed: cir or more"),
        ("tsw3cm cir 2Mbit/s pir 1Mbit/s", "tsw3cm.pir is below cir"),
        ("tsw2cm cir 0bit/s", "tsw2cm.cir = 0bit/s is less than 1 bit/s"),
    ] {
        let seen = refused(text);
        assert!(seen.contains(part), "{text}: {seen}");
    }
    assert_eq!(
        Spec::parse_marker("token-bucket").map(|_| ()).expect_err("a hyphen").nearest.as_deref(),
        Some("token_bucket")
    );
}

/// The same instance whether it is named or constructed.
#[test]
fn a_marker_by_name_equals_the_typed_one() {
    use sojourn_aqm::{Class, Span, Stream, Time, marker::*};
    let second = Span(1_000_000_000);
    let pairs: [(&str, Box<dyn Marker>); 5] = [
        ("token_bucket cir 800kbit/s cbs 3kB", Box::new(TokenBucket::new(800_000, 3000))),
        ("srtcm cir 800kbit cbs 3kB ebs 5kB colour_aware", Box::new(SrTcm::new(800_000, 3000, 5000, true))),
        (
            "trtcm cir 800kbit cbs 3kB pir 1Mbit pbs 5kB",
            Box::new(TrTcm::new(800_000, 3000, 1_000_000, 5000, false)),
        ),
        ("tsw2cm cir 800kbit", Box::new(Tsw::two_colour(800_000, second))),
        (
            "tsw3cm cir 800kbit pir 1Mbit window 100ms",
            Box::new(Tsw::three_colour(800_000, 1_000_000, Span(second.0 / 10))),
        ),
    ];
    for (text, mut other) in pairs {
        let mut named = read(text).and_then(|s| s.marker(crate::support::context())).expect(text);
        let (mut a, mut b) = (Stream::new(1, "m"), Stream::new(1, "m"));
        let mut classes = [0; 3];
        for i in 0..5000u64 {
            // Twice the rate for half of the time.
            let now = Time((i / 500 * 1000 + i % 500) * 5_000_000);
            let class = named.mark(now, 1000, Class((i % 3) as u8), &mut a);
            assert_eq!(class, other.mark(now, 1000, Class((i % 3) as u8), &mut b), "{text}: {i}");
            classes[usize::from(class.0)] += 1;
        }
        assert!(classes[0] > 100 && classes[1] > 100, "{text}: {classes:?}");
    }
}
