//! Single packets and flows are recorded completely, and recording them changes nothing else.
//!
//! Mutants that are detected: in `queue/observed.rs`, a packet that is dropped as it arrives counts as
//! enqueued, marks or drops at departure are left out, acknowledgements count as carried; in
//! `measure/flow_series.rs`, totals instead of differences, the SYN counts as payload, the last sample is
//! missing; in `path/graph.rs`, packets cross links ahead of the clock although flows are sampled.

use crate::{
    plans::any_plan,
    support::{MBIT, MS, SECOND, cases, difference, dumbbell, options, plan, queue, run, tcp, traffic},
};
use proptest::prelude::*;
use sojourn_aqm::{Cause, Span, Time};
use sojourn_sim::{
    Control, FastPath, FlowSeriesColumns, PacketColumns, Plan, Record, RunError, Simulation, SlowPathReason,
    plan::{Trace, TrafficKind},
};
use std::collections::{BTreeMap, BTreeSet};

const ENQUEUE: u8 = 0;
const DEQUEUE: u8 = 1;
const DROP: u8 = 2;
const MARK: u8 = 3;

fn traced(plan: &Plan) -> Plan {
    let trace = Trace { packets: true, flows: Some(Span::from_millis(50)), ..plan.trace.clone() };
    Plan { trace, ..plan.clone() }
}

fn untraced(record: &Record) -> Record {
    Record { packets: PacketColumns::default(), flow_series: FlowSeriesColumns::default(), ..record.clone() }
}

/// Rows of an event, by reason.
fn count(packets: &PacketColumns, event: u8) -> [u64; Cause::ALL.len()] {
    let mut found = [0; Cause::ALL.len()];
    for (_, reason) in packets.event.iter().zip(&packets.reason).filter(|(one, _)| **one == event) {
        found[*reason as usize] += 1;
    }
    found
}

/// The log agrees with the counters, if the window is the whole run.
fn agrees(record: &Record) -> Result<(), TestCaseError> {
    let (packets, queue) = (&record.packets, &record.queues[0]);
    prop_assert!(packets.time_ns.is_sorted());
    prop_assert_eq!(count(packets, DROP), queue.drops);
    prop_assert_eq!(count(packets, MARK), queue.marks);
    prop_assert_eq!(packets.arrival.iter().collect::<BTreeSet<_>>().len() as u64, queue.arrivals);
    let mut waiting = BTreeSet::new();
    let mut carried: BTreeMap<u32, u64> = BTreeMap::new();
    let last = record.flow_series.time_ns.last().copied().unwrap_or(0);
    for (row, event) in packets.event.iter().enumerate() {
        let number = packets.arrival[row];
        match *event {
            ENQUEUE => prop_assert!(waiting.insert(number)),
            DEQUEUE => prop_assert!(waiting.remove(&number)),
            DROP => {
                waiting.remove(&number);
            }
            _ => {}
        }
        if [ENQUEUE, DEQUEUE].contains(event) {
            prop_assert_eq!(waiting.len(), packets.queue_packets[row] as usize);
            prop_assert_eq!(packets.reason[row], u8::MAX);
        }
        if *event == DEQUEUE && [0, 2].contains(&packets.kind[row]) && packets.time_ns[row] <= last {
            *carried.entry(packets.flow[row]).or_default() += u64::from(packets.bytes[row]);
        }
    }
    let dequeued = packets.event.iter().filter(|event| **event == DEQUEUE).count() as u64;
    prop_assert_eq!(dequeued, queue.departures);
    let series = &record.flow_series;
    let sum = |column: &[u64]| {
        let mut found: BTreeMap<u32, u64> = BTreeMap::new();
        for (flow, bytes) in series.flow.iter().zip(column).filter(|(_, bytes)| **bytes > 0) {
            *found.entry(*flow).or_default() += bytes;
        }
        found
    };
    prop_assert_eq!(sum(&series.carried_bytes), carried);
    for (flow, bytes) in sum(&series.goodput_bytes) {
        // What has arrived out of order is goodput, but was not delivered yet.
        prop_assert!(bytes <= record.flows.goodput_bytes[flow as usize]);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn recording_packets_and_flows_changes_nothing_else(plan in any_plan(), seed in 0u64..1000) {
        let Ok(simulation) = Simulation::new(&plan, seed) else { return Err(TestCaseError::reject("refused")) };
        let alone = simulation.run(&Control::default()).unwrap();
        let record = run(&traced(&plan), seed);
        prop_assert_eq!(record.fast_path, FastPath::No(SlowPathReason::PacketTrace));
        if let Some(difference) = difference(&alone, &untraced(&record)) {
            prop_assert!(false, "{difference}");
        }
    }

    #[test]
    fn every_packet_is_in_the_log(plan in any_plan(), seed in 0u64..1000) {
        let plan = Plan { warmup: Time::ZERO, ..plan };
        prop_assume!(Simulation::new(&plan, seed).is_ok());
        agrees(&run(&traced(&plan), seed))?;
    }
}

/// 250 datagrams a second through a link of twice their rate: each is served at once.
#[test]
fn the_series_of_a_constant_flow_is_constant() {
    let cbr = traffic("cbr", 1, TrafficKind::UdpCbr { rate: MBIT, size: 500, jitter: 0.0 });
    let alone = plan(dumbbell(queue("10p", "droptail")), vec![cbr], SECOND);
    let record = run(&traced(&alone), 1);
    let series = &record.flow_series;
    let times: Vec<u64> = (1..=20).map(|i| i * 50 * MS).collect();
    assert_eq!(series.time_ns, times, "the end is a sample, too");
    assert!(series.carried_bytes[1..].iter().all(|bytes| [6000, 6500].contains(bytes)), "{series:?}");
    assert!(series.goodput_bytes[1..].iter().all(|bytes| [6000, 6500].contains(bytes)), "{series:?}");
    assert_eq!(series.goodput_bytes.iter().sum::<u64>(), record.flows.goodput_bytes[0]);
    assert!(series.cwnd.iter().chain(&series.srtt_ns).all(|value| value.is_nan()));
    let packets = &record.packets;
    assert_eq!(packets.event[..4], [ENQUEUE, DEQUEUE, ENQUEUE, DEQUEUE]);
    assert_eq!((&packets.sequence[..4], &packets.kind[..2]), (&[0, 0, 1, 1][..], &[2, 2][..]));
    assert!(packets.bytes.iter().all(|bytes| *bytes == 500));
}

/// One NewReno flow alone: its window is that of the trace of windows, its round-trip time at least that of
/// the path, and the sum of what it delivers is its goodput.
#[test]
fn the_series_of_a_connection_has_its_window_and_round_trip_time() {
    let ftp = traffic("ftp", 1, TrafficKind::Tcp(tcp(960, options("rfc", &[("syn", "on")]))));
    let mut alone = plan(dumbbell(queue("20p", "droptail")), vec![ftp], 20 * SECOND);
    alone.trace.cwnd = true;
    let record = run(&traced(&alone), 1);
    let (series, cwnd) = (&record.flow_series, &record.cwnd);
    assert_eq!(series.time_ns.len(), 400);
    for (row, time) in series.time_ns.iter().enumerate() {
        let changes = cwnd.time_ns.partition_point(|change| change < time);
        if changes > 0 {
            assert_eq!(series.cwnd[row].to_bits(), cwnd.cwnd[changes - 1].to_bits(), "row {row}");
        }
    }
    let known: Vec<f64> = series.srtt_ns.iter().copied().filter(|srtt| !srtt.is_nan()).collect();
    assert!(known.len() > 390 && known.iter().all(|srtt| *srtt > 10.0 * MS as f64), "{known:?}");
    let delivered: u64 = series.goodput_bytes.iter().sum();
    let whole = record.flows.goodput_bytes[0];
    assert!(delivered <= whole && whole - delivered < 100 * 960, "{delivered} of {whole}");
    assert_eq!(delivered % 960, 0, "the SYN has no payload");
}

#[test]
fn the_memory_of_the_log_is_limited() {
    let cbr = traffic("cbr", 1, TrafficKind::UdpCbr { rate: MBIT, size: 100, jitter: 0.0 });
    let long = plan(dumbbell(queue("10p", "droptail")), vec![cbr], 100 * SECOND);
    let control = Control { trace_limit: Some(1_000_000), ..Control::default() };
    let simulation = Simulation::new(&traced(&long), 1).unwrap();
    assert!(matches!(simulation.run(&control), Err(RunError::Memory(_))));
}
