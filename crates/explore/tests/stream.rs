//! The parts of a stream, joined, are the curves of the view, and the view is that of a run without slices.
//!
//! Mutant that is detected: a bin that is sent before it is complete.

use serde_json::{Value, json};
use sojourn_explore::{Stream, describe};
use sojourn_sim::{Control, Plan, Simulation, tcp::schema};

/// Interval of the samples of flows, ns.
const FLOWS: u64 = 100_000_000;

/// TCP at 20 Mbit/s, with samples every `interval` ns.
fn plan(interval: u64) -> Plan {
    let options = schema::resolve("rfc", &[]).unwrap();
    let hosts = json!({"rate": 200_000_000, "delays": [5_000_000]});
    serde_json::from_value(json!({
        "duration": 12_000_000_000u64, "warmup": 2_000_000_000u64,
        "topology": {"dumbbell": {"rate": 20_000_000, "delay": 5_000_000, "access": hosts, "server": hosts,
            "queue": {"limit": "60p", "aqm": "codel"}}},
        "traffic": [{"name": "ftp", "count": 10, "start": {"uniform": [0.0, 4.0]},
            "kind": {"tcp": {"payload": 1448, "header": 52, "ack": 52, "options": options}}}],
        "trace": {"interval": interval, "drops": true, "cwnd": true, "flows": FLOWS},
    }))
    .unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Add the values of a part to those before; a curve that appears later has nothing before.
fn join(curves: &mut Value, part: &Value) {
    for key in ["queue", "queue_max", "delay", "throughput", "drops", "arrivals"] {
        assert_eq!(curves[key].as_array().unwrap().len() as u64, part["from"].as_u64().unwrap());
        curves[key].as_array_mut().unwrap().extend(part[key].as_array().unwrap().iter().cloned());
    }
    for key in ["probes", "windows", "rates"] {
        for new in part[key].as_array().unwrap() {
            let known = curves[key].as_array_mut().unwrap();
            let place = known.iter().position(|one| one["name"] == new["name"]).unwrap_or_else(|| {
                let before = vec![Value::Null; part["from"].as_u64().unwrap() as usize];
                known.push(json!({"name": new["name"], "values": before}));
                known.len() - 1
            });
            let values = known[place]["values"].as_array_mut().unwrap();
            values.extend(new["values"].as_array().unwrap().iter().cloned());
        }
    }
}

fn parts_are_the_view(interval: u64) {
    let plan = plan(interval);
    let record = Simulation::new(&plan, 1).unwrap().run(&Control::default()).unwrap();
    let whole = describe(&plan, &record);
    let mut stream = Stream::new(plan, 1, None).unwrap();
    let mut joined = json!({"queue": [], "queue_max": [], "delay": [], "throughput": [], "drops": [],
        "arrivals": [], "probes": [], "windows": [], "rates": []});
    let mut parts = 0;
    while !stream.advance().unwrap() {
        let part = parsed(&stream.part());
        assert_eq!(part["total"], parsed(&whole)["total"]);
        join(&mut joined, &part);
        parts += 1;
    }
    assert!(parts >= 4, "{parts}");
    join(&mut joined, &parsed(&stream.part()));
    assert_eq!(stream.finish().unwrap(), whole, "also the hash of the record");
    let view = parsed(&whole);
    let bins = joined["queue"].as_array().unwrap().len();
    assert!(bins + 1 >= view["queue"].as_array().unwrap().len(), "but for a last sample at the end");
    for key in ["queue", "queue_max", "delay", "throughput", "drops", "arrivals"] {
        assert_eq!(joined[key].as_array().unwrap()[..], view[key].as_array().unwrap()[..bins], "{key}");
    }
    for key in ["probes", "windows", "rates"] {
        for one in view[key].as_array().unwrap() {
            let found = joined[key].as_array().unwrap().iter().find(|other| other["name"] == one["name"]);
            let values = found.unwrap()["values"].as_array().unwrap();
            assert_eq!(values[..], one["values"].as_array().unwrap()[..bins], "{key} {}", one["name"]);
        }
    }
}

#[test]
fn parts_joined_are_the_view() {
    parts_are_the_view(20_000_000);
}

#[test]
fn also_if_a_bin_has_several_samples_and_the_last_one_fewer() {
    parts_are_the_view(7_000_000);
}

/// So the first picture does not wait for the run.
#[test]
fn the_first_part_comes_after_a_slice() {
    let mut stream = Stream::new(plan(20_000_000), 1, None).unwrap();
    assert!(!stream.advance().unwrap());
    let part = parsed(&stream.part());
    let (bins, total) = (part["queue"].as_array().unwrap().len(), part["total"].as_u64().unwrap());
    assert!(bins > 10 && (bins as u64) < total / 2, "{bins} of {total}");
}

#[test]
fn rates_are_what_the_queue_carried_for_each_flow() {
    let mut plan = plan(FLOWS);
    plan.traffic[0].count = 3;
    let record = Simulation::new(&plan, 1).unwrap().run(&Control::default()).unwrap();
    let view = parsed(&describe(&plan, &record));
    for (number, curve) in view["rates"].as_array().unwrap().iter().enumerate() {
        assert_eq!(curve["name"], format!("flow {number}"));
        let values = curve["values"].as_array().unwrap();
        // The first 2 s are the warm-up; a value is that of the interval before.
        let window = values[21..].iter().map(|rate| rate.as_f64().unwrap() * FLOWS as f64 / 8e9);
        let samples = &record.flow_series;
        let rows = (0..samples.flow.len()).filter(|i| samples.flow[*i] == number as u32);
        let in_window = rows.filter(|i| (2_100_000_000..12_000_000_000).contains(&samples.time_ns[*i]));
        let expected: u64 = in_window.map(|i| samples.carried_bytes[i]).sum();
        assert!(expected > 1_000_000);
        assert!((window.sum::<f64>() - expected as f64).abs() < 1.0, "flow {number}");
    }
    assert_eq!(view["rates"].as_array().unwrap().len(), 3);
}
