//! Packets that links lose, delay and duplicate are counted, and do not depend on the algorithm.
//!
//! Mutants that are detected: lost acknowledgements count as lost data; copies are not counted; counters
//! include the warm-up; the wire of the other direction is used.

use crate::support::{MBIT, MS, SECOND, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::{Span, Time};
use sojourn_sim::{
    FastPath, Plan, Record, SlowPathReason,
    plan::{Draw, Dumbbell, ExtraDelay, Impairment, Loss, Topology, TrafficKind},
};

fn with(impairment: Impairment) -> Option<Impairment> {
    Some(Impairment { one_of: 1, ..impairment })
}

/// 1000 datagrams a second for 20 s over an idle link.
fn datagrams(impairment: Impairment, aqm: &str) -> Record {
    let kind = TrafficKind::UdpCbr { rate: 8 * MBIT, size: 1000, jitter: 0.0 };
    let dumbbell = Dumbbell { impairment: with(impairment), ..dumbbell(queue("100p", aqm)) };
    run(&plan(dumbbell, vec![traffic("cbr", 1, kind)], 20 * SECOND), 1)
}

/// Two long connections.
fn connections(dumbbell: Dumbbell, warmup: Time) -> Plan {
    let kind = TrafficKind::Tcp(tcp(960, options("rfc", &[("variant", "sack")])));
    Plan { warmup, ..plan(dumbbell, vec![traffic("ftp", 2, kind)], 20 * SECOND) }
}

/// 2 % of 20,000: 400, with a deviation of 19.8. A loss behind the last arrival is not known to the receiver.
#[test]
fn lost_datagrams_are_counted_at_the_link_and_at_the_receiver() {
    let record = datagrams(Impairment { loss: Loss::Random(0.02), ..Impairment::default() }, "droptail");
    let (links, lost) = (&record.links, record.links.lost_packets[0]);
    assert_eq!((links.name[0].as_str(), links.lost_bytes[0]), ("R1-R2", 1000 * lost));
    assert!((340..460).contains(&lost), "{lost} of {}", links.packets[0]);
    assert!(record.deliveries.lost_packets[0].abs_diff(lost) <= 1);
    assert_eq!(record.queues[0].drops.iter().sum::<u64>(), 0);
}

#[test]
fn every_algorithm_loses_the_same_packets() {
    let loss = Loss::GilbertElliott { p: 0.01, r: 0.3, good: 0.0, bad: 1.0 };
    let impairment = Impairment { loss, ..Impairment::default() };
    let [one, other] = ["droptail", "pie"].map(|aqm| datagrams(impairment.clone(), aqm));
    assert!(one.links.lost_packets[0] > 100);
    assert_eq!(one.losses.count, other.losses.count);
    assert_eq!(one.losses.length, other.losses.length);
}

#[test]
fn copies_and_overtaking_packets_reach_the_receiver() {
    let delay = Some(ExtraDelay::Drawn(Draw::Constant((10 * MS) as f64)));
    let impairment = Impairment { delay, reorder: 0.1, duplicate: 0.05, ..Impairment::default() };
    let record = datagrams(impairment, "droptail");
    let received = record.flows.received_packets[0];
    let copies = record.links.copied_packets[0];
    assert!((900..1100).contains(&copies), "{copies} copies");
    assert!(received > record.links.packets[0], "{received}");
    let first = record.flows.goodput_bytes[0] / 1000;
    assert_eq!(received - first, copies, "a copy is no goodput");
    // An overtaking packet is ahead of the 10 packets before it.
    let reordered = record.deliveries.reordered_packets[0];
    assert!((10_000..16_000).contains(&reordered), "{reordered}");
}

/// Only data cross R1-R2 and only acknowledgements R2-R1: the loss of the latter costs no data.
#[test]
fn a_direction_has_its_own_impairments() {
    let lossy = || with(Impairment { loss: Loss::Random(0.03), ..Impairment::default() });
    let bell = || dumbbell(queue("100p", "droptail"));
    let forward = run(&connections(Dumbbell { impairment: lossy(), ..bell() }, Time::ZERO), 1);
    let reverse = run(&connections(Dumbbell { reverse_impairment: lossy(), ..bell() }, Time::ZERO), 1);
    assert_eq!((forward.links.name[0].as_str(), reverse.links.name[0].as_str()), ("R1-R2", "R2-R1"));
    assert!(forward.links.lost_packets[0] > 50 && reverse.links.lost_packets[0] > 50);
    let sum = |column: &[u64]| column.iter().sum::<u64>();
    let missing = |record: &Record| {
        let flows = &record.flows;
        sum(&flows.sent_packets) - sum(&flows.received_packets) - sum(&flows.dropped_packets)
    };
    // Packets in flight are missing, too.
    assert!(missing(&forward).abs_diff(forward.links.lost_packets[0]) < 150);
    assert!(missing(&reverse) < 150, "{}", missing(&reverse));
    assert_eq!(forward.fast_path, FastPath::No(SlowPathReason::ImpairedLink));
}

#[test]
fn losses_of_the_warm_up_are_not_counted() {
    let lossy = with(Impairment { loss: Loss::Random(0.03), ..Impairment::default() });
    let bell = Dumbbell { impairment: lossy, ..dumbbell(queue("100p", "droptail")) };
    let whole = run(&connections(bell.clone(), Time::ZERO), 1);
    let half = run(&connections(bell, Time(10 * SECOND)), 1);
    assert!(half.links.packets[0] < whole.links.packets[0]);
    assert!(half.links.lost_packets[0] < whole.links.lost_packets[0]);
    assert!(half.links.packets[0].abs_diff(half.queues[0].departures) <= 40, "those on the link");
}

/// An impairment that does nothing changes nothing but the path that the run takes.
#[test]
fn an_impairment_without_effect_changes_no_result() {
    let bell = || dumbbell(queue("20p", "red"));
    let plain = run(&connections(bell(), Time::ZERO), 1);
    let mut other = run(
        &connections(Dumbbell { reverse_impairment: with(Impairment::default()), ..bell() }, Time::ZERO),
        1,
    );
    other.links = plain.links.clone();
    assert_eq!(crate::support::difference(&plain, &other), None);
}

#[test]
fn links_of_a_graph_are_impaired_too() {
    let mut plan = crate::refusals::graph();
    let Topology::Graph(links) = &mut plan.topology else { unreachable!() };
    links[2].impairment = with(Impairment { loss: Loss::Random(0.1), ..Impairment::default() });
    plan.duration = Span(5 * SECOND);
    let record = run(&plan, 1);
    assert_eq!(record.links.name, ["R2-b"]);
    assert!(record.links.lost_packets[0] > 0);
}
