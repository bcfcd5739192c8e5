//! Random changes of plans as JSON: a plan is accepted, or refused with a key and a reason, and never causes
//! a panic. The same plan gives the same result again. Accepted plans are run if they are short.

use crate::support::{cases, options};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Value, json};
use sojourn_sim::{Control, Plan, Simulation};

/// A valid plan with all kinds of traffic, short enough to be run.
fn plans() -> [Value; 2] {
    let tcp = json!({"payload": 960, "header": 40, "ack": 40, "options": options("rfc", &[])});
    let access = json!({"rate": 10_000_000, "delays": [1_000_000, 5_000_000], "nodes": 2});
    let start = json!({"uniform": [0.0, 1e7]});
    let kinds = [
        json!({"tcp": tcp}),
        json!({"tcp_short": {"arrivals": 20.0, "size": {"exponential": 5000.0}, "tcp": tcp}}),
        json!({"udp_cbr": {"rate": 100_000, "size": 500, "jitter": 0.1}}),
        json!({"udp_onoff": {"rate": 100_000, "size": 500, "on": 10_000_000, "off": 10_000_000}}),
    ];
    let traffic: Vec<Value> = kinds
        .iter()
        .enumerate()
        .map(|(i, kind)| json!({"name": format!("t{i}"), "kind": kind, "count": 2, "start": start, "class": i}))
        .collect();
    let queue = json!({"limit": "20p", "aqm": "red min_th 5p max_th 15p", "ecn": true});
    let dumbbell = json!({
        "rate": 1_000_000, "delay": 1_000_000, "access": access, "server": access, "queue": queue,
        "reverse_queue": {"limit": "9kB", "aqm": "fq_codel flows 8"},
    });
    let link = |from: &str, to: &str, queue: Value| json!({"from": from, "to": to, "rate": 1_000_000, "delay": 1_000_000, "queue": queue});
    let graph = json!([
        link("a", "r", Value::Null),
        link("r", "b", queue),
        link("b", "r", Value::Null),
        link("r", "a", Value::Null),
    ]);
    let mut ends = traffic[0].clone();
    (ends["from"], ends["to"]) = (json!(["a"]), json!(["b"]));
    let plan = |topology: Value, traffic: Value| {
        json!({
            "duration": 50_000_000, "warmup": 10_000_000, "topology": topology, "traffic": traffic,
            "trace": {"interval": 10_000_000, "drops": true, "cwnd": true}, "conventions": "rfc",
        })
    };
    [plan(json!({"dumbbell": dumbbell}), json!(traffic)), plan(json!({"graph": graph}), json!([ends]))]
}

/// All JSON pointers into `value`.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, inner)| places(inner, &format!("{here}/{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, inner)| places(inner, &format!("{here}/{i}"), found));
        }
        _ => {}
    }
}

/// Replacements of a value.
fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![
            json!(null),
            json!(true),
            json!([]),
            json!({}),
            json!(""),
            json!("100p"),
            json!("a"),
            json!("pie"),
            json!("fq_pie limit 1p"),
            json!(0),
            json!(1),
            json!(-1),
            json!(0.5),
            json!(1e300),
            json!(-1e-300),
            json!(255),
            json!(256),
            json!(65_536),
            json!(4_294_967_295u64),
            json!(4_294_967_296u64),
            json!(u64::MAX),
            json!({"constant": -1.0}),
            json!({"uniform": [5.0, 1.0]}),
            json!({"exponential": 1e300}),
            json!([0, 0]),
        ]),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|x| json!(x)),
        "\\PC{0,6}".prop_map(|text| json!(text)),
    ]
}

/// Replace, remove, or copy a value.
fn change(plan: &mut Value, slip: u8, at: Index, from: Index, value: Value) {
    let mut found = Vec::new();
    places(plan, "", &mut found);
    let (place, source) = (&found[at.index(found.len())], &found[from.index(found.len())]);
    match slip {
        0 => {
            let (parent, key) = place.rsplit_once('/').unwrap_or_default();
            match plan.pointer_mut(parent) {
                Some(Value::Object(fields)) => drop(fields.remove(key)),
                Some(Value::Array(items)) => drop(key.parse().map(|i: usize| items.remove(i))),
                _ => {}
            }
        }
        1 => {
            let copy = plan.pointer(source).expect("a pointer into the plan").clone();
            *plan.pointer_mut(place).expect("a pointer into the plan") = copy;
        }
        _ => *plan.pointer_mut(place).expect("a pointer into the plan") = value,
    }
}

fn answer(text: &str) -> Result<Simulation, String> {
    let plan: Plan = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Simulation::new(&plan, 1).map_err(|error| {
        assert!(!error.key.is_empty() && !error.problem.is_empty(), "{error}");
        error.to_string()
    })
}

proptest! {
    #![proptest_config(cases(8_000))]

    #[test]
    fn any_json_is_read_or_refused(
        which in 0usize..2,
        slips in vec((0u8..6, any::<Index>(), any::<Index>(), anything()), 1..4),
        cut in proptest::option::weighted(0.1, any::<Index>()),
    ) {
        let mut plan = plans()[which].clone();
        for (slip, at, from, value) in slips {
            change(&mut plan, slip, at, from, value);
        }
        let mut text = plan.to_string();
        if let Some(cut) = cut {
            let end = (0..=cut.index(text.len())).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
        }
        let (first, again) = (answer(&text), answer(&text));
        prop_assert_eq!(first.as_ref().err(), again.as_ref().err());
        let is_short = plan["duration"].as_u64().is_some_and(|duration| duration <= 50_000_000);
        if let (Ok(simulation), true) = (first, is_short && text.len() < 10_000) {
            let _ = simulation.run(&Control::default()).map_err(|error| panic!("{text}: {error}"));
        }
    }
}

#[test]
fn the_plans_are_valid() {
    for plan in plans() {
        let record =
            answer(&plan.to_string()).expect("a valid plan").run(&Control::default()).expect("it runs");
        assert!(record.queues[0].arrivals > 0);
    }
}

#[test]
fn the_highest_class_has_samples() {
    let mut plan = plans()[0].clone();
    plan["traffic"][2]["class"] = json!(255);
    let record = answer(&plan.to_string()).expect("a valid plan").run(&Control::default()).expect("it runs");
    assert_eq!(record.queues[0].classes.number.last(), Some(&255));
}
