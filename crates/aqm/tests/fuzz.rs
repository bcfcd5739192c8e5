//! Random settings within their ranges, random links, random traffic: the contract at every step.
//!
//! The seed is fixed, so that a failure is reproducible; PROPTEST_CASES and PROPTEST_RNG_SEED widen the
//! search.

use crate::{contract, schedulers};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::RngSeed};
use sojourn_aqm::{
    Algorithm, Class, Context, Conventions, Ecn, FlowId, Kind, Limit, PacketView, Param, Span, Spec, Time,
    Verdict,
    conformance::{Event, Harness},
    registry, units,
};

fn cases(number: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if asked { default.cases } else { number },
        rng_seed: if std::env::var_os("PROPTEST_RNG_SEED").is_some() {
            default.rng_seed
        } else {
            RngSeed::Fixed(1)
        },
        failure_persistence: None,
        ..default
    }
}

/// From `low` to `high`, with equal probability of each order of magnitude.
fn magnitude(low: f64, high: f64) -> impl Strategy<Value = f64> + Clone {
    (libm::log(low)..=libm::log(high)).prop_map(move |x| libm::exp(x).clamp(low, high))
}

/// A value in the parameter's range, with the ends that belong to it.
fn value(param: &'static Param) -> BoxedStrategy<String> {
    let range = param.range;
    let (low, high) = (range.min.max(0.0), range.max.min(1e6));
    let number = prop_oneof![
        3 => low..=high,
        3 => magnitude(1e-9, high.max(1e-9)),
        1 => select(vec![low, high, 1.0]),
    ]
    .prop_map(move |x| if range.holds(x) { x } else { f64::midpoint(low, high) });
    let with = |low: f64, high: f64, units: &'static [(&'static str, f64)]| {
        (magnitude(low, high), select(units))
            .prop_map(move |(x, (unit, factor))| {
                // The value itself if it is in the range, else the nearest end, or a value next to that.
                let near = [x * factor, range.min, range.max, range.min * 1.001, range.max * 0.999];
                let x = near.into_iter().find(|x| x.is_finite() && range.holds(*x)).unwrap_or(1.0);
                format!("{}{unit}", x / factor)
            })
            .boxed()
    };
    match param.kind {
        Kind::Number => number.prop_map(|x| x.to_string()).boxed(),
        Kind::Integer => (low as i64..=high.min(2000.0) as i64).prop_map(|n| n.to_string()).boxed(),
        Kind::Flag => select(vec!["on", "off"]).prop_map(str::to_owned).boxed(),
        Kind::Span => with(1.0, 1e6, &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)]),
        Kind::Rate => with(1.0, 1e4, &[("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9)]),
        Kind::Size => with(0.01, 1e5, &[("p", 1.0), ("B", 1.0), ("kB", 1e3)]),
        Kind::Spec => select(vec!["red", "codel", "pie", "(red min_th 2p max_th 9p)", "(pi2 target 5ms)"])
            .prop_map(str::to_owned)
            .boxed(),
        Kind::Choice(words) => select(words).prop_map(str::to_owned).boxed(),
    }
}

/// One of `entries`, with a third of its parameters set.
fn settings(entries: Vec<&'static Algorithm>) -> impl Strategy<Value = String> {
    select(entries).prop_flat_map(|algorithm| {
        let words = algorithm.params.iter().map(|param| {
            let word = value(param).prop_map(|value| format!(" {} {value}", param.name));
            proptest::option::weighted(0.3, word)
        });
        words.collect::<Vec<_>>().prop_map(|words| {
            words.into_iter().flatten().fold(algorithm.name.to_owned(), |spec, word| spec + &word)
        })
    })
}

fn links() -> impl Strategy<Value = Context> {
    let limit = prop_oneof![
        3 => (1u32..300).prop_map(Limit::Packets),
        1 => any::<u32>().prop_map(|n| Limit::Packets(n.max(1))),
        2 => magnitude(1.0, 1e12).prop_map(|n| Limit::Bytes(n as u64)),
    ];
    let rate = prop_oneof![2 => Just(10_000_000), 1 => magnitude(1.0, 1e13).prop_map(|x| x as u64)];
    let mean = prop_oneof![2 => Just(1000u32), 1 => 1u32..=65_536];
    (rate, limit, mean, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(link_rate, limit, mean_packet, ecn, ns2, other)| {
            let conventions = match (ns2, other) {
                (true, false) => Conventions::Ns2,
                (true, true) => Conventions::Ns2_2001,
                (false, true) => Conventions::Linux,
                (false, false) => Conventions::Rfc,
            };
            Context::new(link_rate, limit)
                .with_mean_packet(mean_packet)
                .with_ecn(ecn)
                .with_conventions(conventions)
        },
    )
}

/// An event at a queue.
#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Arrive(PacketView, u8),
    Depart(u8),
}

/// Packets of very small and very large sizes, alone and in bursts, of few or many flows; time that stops or
/// jumps by a week. A flow has one codepoint and one class, so that a scheduler has one queue for it.
fn traffic() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![
        4 => select(vec![1u32, 40, 576, 1000, 1500, 9000, 65_536]),
        1 => 1u32..100_000,
    ];
    let flow = prop_oneof![4 => 0u32..6, 1 => 0u32..10_000, 1 => any::<u32>()];
    let packet = (size, flow).prop_map(|(bytes, flow)| {
        PacketView::new(bytes, Time::ZERO)
            .with_ecn([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][flow as usize % 4])
            .with_flow(FlowId(flow))
            .with_class(Class((flow % 257) as u8))
    });
    let wait = prop_oneof![
        4 => 0u64..2_000_000,
        2 => magnitude(1.0, 3.6e12).prop_map(|x| x as u64),
        1 => Just(604_800_000_000_000),
    ];
    let burst = prop_oneof![4 => Just(1u8), 1 => 1u8..60];
    let step = prop_oneof![
        2 => wait.prop_map(Step::Wait),
        4 => (packet, burst.clone()).prop_map(|(packet, times)| Step::Arrive(packet, times)),
        3 => burst.prop_map(Step::Depart),
    ];
    vec(step, 20..150)
}

fn act(harness: &mut Harness, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Wait(ns) => harness.advance(Span(*ns)),
            Step::Arrive(packet, times) => (0..*times).for_each(|_| harness.arrive(*packet)),
            Step::Depart(times) => (0..*times).for_each(|_| harness.depart()),
        }
    }
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn algorithms_satisfy_the_contract(spec in settings(registry::ALGORITHMS.to_vec()), link in links(), steps in traffic()) {
        let parsed = Spec::parse(&spec);
        prop_assert!(parsed.is_ok(), "{spec} is within its ranges: {:?}", parsed.err());
        let Ok(mut harness) = contract::harness_of(&spec, link, 1) else { return Ok(()) };
        let (first, second) = steps.split_at(steps.len() / 2);
        act(&mut harness, first);
        let mut copy = harness.clone();
        act(&mut harness, second);
        act(&mut copy, second);
        prop_assert_eq!(&copy.log, &harness.log, "{}: a clone continues", spec);
        prop_assert!(harness.violations.is_empty(), "{spec}: {:?}", harness.violations);
        let count = |wanted: fn(&Event) -> bool| harness.log.iter().filter(|event| wanted(event)).count();
        let entered = count(|event| matches!(event, Event::Arrival(Verdict::Pass | Verdict::Mark(_))));
        let left = count(|event| {
            matches!(event, Event::Departure(_) | Event::Arrival(Verdict::DropBoth { .. }))
        });
        prop_assert_eq!(entered, left + harness.waiting(), "{}: packets are conserved", spec);
    }
}

proptest! {
    #![proptest_config(cases(5_000))]

    #[test]
    fn schedulers_satisfy_the_contract(
        spec in settings(registry::SCHEDULERS.iter().map(|one| &one.algorithm).collect()),
        link in links(),
        steps in traffic(),
    ) {
        let parsed = Spec::parse_scheduler(&spec);
        prop_assert!(parsed.is_ok(), "{spec} is within its ranges: {:?}", parsed.err());
        let Ok(mut harness) = schedulers::SchedulerHarness::new(&spec, link, 1) else { return Ok(()) };
        let act = |harness: &mut schedulers::SchedulerHarness, steps: &[Step]| {
            for step in steps {
                match step {
                    Step::Wait(ns) => harness.advance(Span(*ns)),
                    Step::Arrive(packet, times) => (0..*times).for_each(|_| harness.arrive(*packet)),
                    Step::Depart(times) => (0..*times).for_each(|_| _ = harness.depart()),
                }
            }
        };
        let (first, second) = steps.split_at(steps.len() / 2);
        act(&mut harness, first);
        let mut copy = harness.clone();
        act(&mut harness, second);
        act(&mut copy, second);
        prop_assert_eq!(&copy.log, &harness.log, "{}: a clone continues", spec);
        while harness.depart() {}
    }
}

/// A valid spec with a few characters changed, removed or inserted.
fn misspelt() -> impl Strategy<Value = String> {
    let entries =
        registry::ALGORITHMS.iter().copied().chain(registry::SCHEDULERS.iter().map(|s| &s.algorithm));
    let slip = (
        any::<prop::sample::Index>(),
        0..3,
        prop_oneof![Just(' '), any::<char>(), select(vec!['0', '.', '-', 'e', 'p'])],
    );
    (settings(entries.collect()), vec(slip, 1..4)).prop_map(|(spec, slips)| {
        let mut letters: Vec<char> = spec.chars().collect();
        for (place, slip, letter) in slips {
            let place = place.index(letters.len().max(1));
            match slip {
                0 if place < letters.len() => drop(letters.remove(place)),
                1 if place < letters.len() => letters[place] = letter,
                _ => letters.insert(place.min(letters.len()), letter),
            }
        }
        letters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(cases(30_000))]

    /// An accepted text has a canonical form that reads back; an error has the place and the allowed values.
    #[test]
    fn misspelt_specs_are_read_or_refused(text in misspelt()) {
        for parse in [Spec::parse as fn(&str) -> Result<Spec, _>, Spec::parse_scheduler] {
            match parse(&text) {
                Ok(spec) => {
                    let canonical = spec.to_string();
                    let again = parse(&canonical);
                    prop_assert!(again.is_ok(), "{text:?} -> {canonical:?}: {:?}", again.err());
                    let values = |s: &Spec| s.values.iter().map(|(p, v)| (p.name, v.clone())).collect::<Vec<_>>();
                    let again = again.unwrap();
                    prop_assert_eq!(values(&again), values(&spec), "{:?} -> {:?}", text, canonical);
                    prop_assert_eq!(again.to_string(), canonical, "{:?}", text);
                }
                Err(error) => prop_assert!(!error.key.is_empty() && !error.problem.is_empty(), "{text:?}"),
            }
        }
    }

    /// A word with a unit is refused, or is a quantity whose spelling reads back as the same quantity.
    #[test]
    fn words_with_units_are_read_or_refused(
        number in prop_oneof![any::<f64>().prop_map(|x| x.to_string()), any::<i64>().prop_map(|x| x.to_string()), "[0-9.e+-]{1,12}"],
        unit in prop_oneof![select(vec!["", "p", "B", "kB", "KiB", "GB", "ns", "us", "ms", "s", "min", "h", "bit", "kbit/s", "Gbit/s", "Tbit"]), select(vec!["é", "bits", " s", "S"])],
    ) {
        let word = number + unit;
        if let Ok(span) = units::span(&word) {
            prop_assert_eq!(units::span(&units::show_span(span)), Ok(span), "{:?}", word);
        }
        if let Ok(rate) = units::rate(&word) {
            prop_assert_eq!(units::rate(&units::show_rate(rate)), Ok(rate), "{:?}", word);
        }
        if let Ok(size) = units::size(&word) {
            prop_assert!(size.plain() >= 0.0, "{word:?}");
            prop_assert_eq!(units::size(&size.to_string()), Ok(size), "{:?}", word);
        }
        let _ = (units::limit(&word), units::bytes(&word), units::integer(&word));
    }
}
