//! CAKE: worked examples of the shaper, of sparse and bulk queues, of fair hosts, of tins and of sets.

use crate::queueing::{A, B, N, dequeue, enqueue, probe};
use crate::schedulers::build;
use crate::support::{context, packet};
use sojourn_aqm::{Cause, FlowId, HostId, Limit, Outcome, Scheduler, Span, Spec, Stream, Time, Token};

/// CAKE with a hash that draws nothing.
fn cake(options: &str) -> Box<dyn Scheduler> {
    build(&format!("cake perturbation 0 {options}"), context().with_limit(Limit::Packets(10_000)))
}

const US: u64 = 1000;

/// How long a packet of `bytes` holds back the next one at 8 Mbit/s, a byte per microsecond: in us.
fn occupied(options: &str, bytes: u32) -> u64 {
    let mut cake = cake(&format!("bandwidth 8Mbit/s {options}"));
    enqueue(&mut *cake, 0.0, &[(A, 0, bytes, N), (A, 0, bytes, N)]);
    assert_eq!(cake.held_until(Time::ZERO), None);
    assert_eq!(dequeue(&mut *cake, 0.0, &[]).0, Some(0));
    assert_eq!(dequeue(&mut *cake, 0.0, &[]).0, None, "held back");
    cake.held_until(Time::ZERO).expect("the second packet waits").0 / US
}

/// ATM: ceil(1510 / 48) = 32 cells of 53 bytes, and ceil(50 / 48) = 2; PTM: 1522 + ceil(1522 / 64).
#[test]
fn cake_v1_a_packet_occupies_the_link_with_its_framing() {
    assert_eq!(occupied("", 1500), 1500);
    assert_eq!(occupied("overhead 18", 1500), 1518);
    assert_eq!(occupied("overhead -20", 1500), 1480);
    assert_eq!(occupied("overhead 18 mpu 84B", 40), 84);
    assert_eq!(occupied("overhead 10 framing atm", 1500), 32 * 53);
    assert_eq!(occupied("overhead 10 framing atm", 40), 2 * 53);
    assert_eq!(occupied("overhead 22 framing ptm", 1500), 1522 + 24);
}

/// 8 Mbit/s, 1000 bytes: a packet each millisecond. A late departure is made up for while packets wait; after
/// an idle time it is not.
#[test]
fn cake_v2_the_shaper_owes_time_only_while_packets_wait() {
    let mut cake = cake("bandwidth 8Mbit/s");
    let packets = [(A, 0, 1000, N); 5];
    enqueue(&mut *cake, 0.0, &packets);
    assert_eq!(dequeue(&mut *cake, 0.0, &[]).0, Some(0));
    // The next times are 1 and 2 ms, both past; the fourth packet is due at 3 ms.
    assert_eq!(dequeue(&mut *cake, 0.0025, &[]).0, Some(1));
    assert_eq!(dequeue(&mut *cake, 0.0025, &[]).0, Some(2));
    assert_eq!(dequeue(&mut *cake, 0.0025, &[]).0, None);
    assert_eq!(cake.held_until(Time(2_500_000)), Some(Time(3_000_000)));
    assert_eq!(dequeue(&mut *cake, 0.003, &[]).0, Some(3));
    assert_eq!(dequeue(&mut *cake, 0.004, &[]).0, Some(4));
    assert_eq!(cake.held_until(Time(4_000_000)), None, "nothing waits");
    enqueue(&mut *cake, 1.0, &packets);
    assert_eq!(dequeue(&mut *cake, 1.0, &[]).0, Some(0));
    assert_eq!(cake.held_until(Time(1_000_000_000)), Some(Time(1_001_000_000)));
}

/// 3 Mbit/s: 1000 bytes take 2,666,666.67 ns; three of them 8 ms.
#[test]
fn rounding_errors_do_not_accumulate() {
    let mut cake = cake("bandwidth 3Mbit/s");
    enqueue(&mut *cake, 0.0, &[(A, 0, 1000, N); 4]);
    let mut now = Time::ZERO;
    for _ in 0..3 {
        assert!(dequeue(&mut *cake, now.0 as f64 / 1e9, &[]).0.is_some());
        now = cake.held_until(now).unwrap();
    }
    assert_eq!(now, Time(8_000_000));
}

/// A quantum is 1514 bytes. A sends while its deficit is above 0: at 14 a second packet, which makes it bulk;
/// then the sparse B is served, and A continues with -1486 + 1514.
#[test]
fn cake_v3_sparse_queues_are_served_before_bulk_ones() {
    let mut cake = cake("");
    enqueue(&mut *cake, 0.0, &[(A, 0, 1500, N), (A, 0, 1500, N), (A, 0, 1500, N), (B, 0, 100, N)]);
    assert_eq!((probe(&*cake, "sparse"), probe(&*cake, "bulk")), (2.0, 0.0));
    assert_eq!(dequeue(&mut *cake, 0.0, &[]).0, Some(0));
    assert_eq!(dequeue(&mut *cake, 0.0, &[]).0, Some(1));
    assert_eq!(dequeue(&mut *cake, 0.0, &[]).0, Some(3));
    assert_eq!((probe(&*cake, "sparse"), probe(&*cake, "bulk")), (1.0, 1.0));
    assert_eq!(dequeue(&mut *cake, 0.0, &[]).0, Some(2));
    assert_eq!(dequeue(&mut *cake, 0.0, &[]).0, None);
}

/// Of 800 departures, those of host 1 (one flow); host 2 has three flows, and both have one peer.
fn share_of_the_first_host(isolation: &str) -> u32 {
    let mut cake = cake(&format!("isolation {isolation}"));
    let mut rng = Stream::new(1, "cake");
    let (mut tokens, mut first) = (Vec::new(), 0);
    let arrive = |cake: &mut Box<dyn Scheduler>, rng: &mut Stream, flow: u32, token: u64| {
        let view = packet(1514).with_flow(FlowId(flow)).with_arrived(Time::ZERO);
        let view = view.with_hosts(HostId(if flow == 0 { 1 } else { 2 }), HostId(7));
        cake.enqueue(Time::ZERO, Token(token), &view, rng, &mut |_, _| panic!("no drops"));
    };
    for i in 0..40 {
        tokens.push(i % 4);
        arrive(&mut cake, &mut rng, i % 4, u64::from(i));
    }
    for _ in 0..800 {
        let (token, _) = cake.dequeue(Time::ZERO, &mut rng, &mut |_, _| {}).expect("a packet");
        let flow = tokens[token.0 as usize];
        first += u32::from(flow == 0);
        tokens.push(flow);
        let next = tokens.len() as u64 - 1;
        arrive(&mut cake, &mut rng, flow, next);
    }
    first
}

/// Half with fairness of the hosts that send; with the common peer counted too, all flows have a load of 4.
#[test]
fn cake_v4_hosts_share_equally() {
    assert!(share_of_the_first_host("dual-srchost").abs_diff(400) <= 12);
    assert!(share_of_the_first_host("flows").abs_diff(200) <= 6);
    assert!(share_of_the_first_host("dual-dsthost").abs_diff(200) <= 6);
    assert!(share_of_the_first_host("triple-isolate").abs_diff(200) <= 6);
    assert!(share_of_the_first_host("srchost").abs_diff(400) <= 6);
    assert!(share_of_the_first_host("hosts").abs_diff(400) <= 6);
}

/// Without sets, 100 flows in 1024 queues would share about 5 of them; a set is full with a ninth flow.
#[test]
fn cake_v5_flows_share_a_queue_only_if_a_set_is_full() {
    let collisions = |flows: u32| {
        let mut cake = cake("");
        let packets: Vec<_> = (0..flows).map(|flow| (flow, 0, 100, N)).collect();
        enqueue(&mut *cake, 0.0, &packets);
        probe(&*cake, "collisions")
    };
    assert_eq!(collisions(100), 0.0);
    assert_eq!(collisions(1024 / 8), 0.0);
    assert!(collisions(1200) > 100.0);
}

/// Codepoints: EF 46, CS1 8, AF41 34. At 80 Mbit/s, voice has a quarter and bulk a sixteenth.
#[test]
fn cake_v6_tins_have_priority_within_their_share() {
    let packets = [(A, 8, 1000, N), (A, 0, 1000, N), (A, 34, 1000, N), (A, 46, 1000, N)];
    let first = |options: &str, now: f64| {
        let mut cake = cake(options);
        enqueue(&mut *cake, now, &packets);
        dequeue(&mut *cake, now, &[]).0
    };
    assert_eq!(first("bandwidth 80Mbit/s", 1.0), Some(3), "voice");
    assert_eq!(first("bandwidth 80Mbit/s tins diffserv4", 1.0), Some(3));
    assert_eq!(first("bandwidth 80Mbit/s tins besteffort", 1.0), Some(0), "in the order of arrival");
    // 12 packets of both take 1.2 ms: voice has one each 0.4 ms, the rest is for best effort.
    let mut cake = cake("bandwidth 80Mbit/s");
    let both: Vec<_> = (0..24).map(|i| (A, if i < 12 { 0 } else { 46 }, 1000, N)).collect();
    enqueue(&mut *cake, 1.0, &both);
    let mut now = Time(1_000_000_000);
    let mut voice = Vec::new();
    for _ in 0..12 {
        let (token, _) = dequeue(&mut *cake, now.0 as f64 / 1e9, &[]);
        voice.push(token.unwrap() >= 12);
        now = cake.held_until(now).unwrap();
    }
    assert_eq!(voice.iter().filter(|is_voice| **is_voice).count(), 3, "{voice:?}");
}

/// The longest queue loses its head; its COBALT learns of it.
#[test]
fn cake_v7_the_longest_queue_is_dropped_at_its_head() {
    let arrivals = [(A, 0, 1000, N), (B, 0, 1000, N), (B, 0, 1000, N), (A, 0, 100, N)];
    let mut cake = cake("memory 3000B");
    let gone = enqueue(&mut *cake, 0.0, &arrivals);
    assert_eq!(gone, [(1, Outcome::Dropped(Cause::Overflow))]);
    assert_eq!((cake.packets(), cake.bytes()), (3, 2100));
    assert_eq!([0, 3].map(|_| dequeue(&mut *cake, 0.0, &[]).0), [Some(0), Some(3)]);
    assert_eq!(dequeue(&mut *cake, 0.0, &[0.9]).0, Some(2), "BLUE draws a number");
}

/// COBALT begins to signal an interval after the first head above target, here 20 ms: at 1 s the first head
/// passes, and at 2 s those that are due are dropped, but for the last one.
#[test]
fn cake_v8_the_last_packet_of_a_queue_is_not_dropped() {
    let mut cake = cake("rtt 20ms");
    enqueue(&mut *cake, 0.0, &[(A, 0, 1000, N); 4]);
    assert_eq!(dequeue(&mut *cake, 1.0, &[]).0, Some(0));
    let (token, outcomes) = dequeue(&mut *cake, 2.0, &[]);
    let early = |token| (token, Outcome::Dropped(Cause::Early));
    assert_eq!((token, outcomes), (Some(3), vec![early(1), early(2)]));
    // The sparse B is served before A is found to be empty, at the third departure.
    enqueue(&mut *cake, 2.0, &[(B, 0, 1000, N); 3]);
    assert_eq!([0, 1].map(|_| dequeue(&mut *cake, 2.0, &[]).0), [Some(0), Some(1)]);
    assert_eq!(probe(&*cake, "decaying"), 0.0);
    assert_eq!(dequeue(&mut *cake, 2.0, &[]).0, Some(2));
    assert_eq!(probe(&*cake, "decaying"), 1.0, "the count of A has not decreased to 0 yet");
}

/// 1 Mbit/s: 1514 bytes take 12.112 ms, so the target is at least 18.168 ms.
#[test]
fn the_target_of_a_slow_link_is_longer() {
    for (bandwidth, drops) in [("1Mbit/s", 0), ("100Mbit/s", 1)] {
        let mut cake = cake(&format!("bandwidth {bandwidth} tins besteffort rtt 20ms"));
        enqueue(&mut *cake, 0.0, &[(A, 0, 1000, N); 4]);
        let mut dropped = 0;
        for now in [0.015, 0.040] {
            dropped += dequeue(&mut *cake, now, &[]).1.len();
        }
        assert_eq!(dropped, drops, "{bandwidth}");
    }
}

#[test]
fn what_is_not_implemented_is_refused_by_name() {
    for spec in ["cake ack_filter aggressive", "cake tins diffserv8", "cake isolation hosts2"] {
        let error = Spec::parse_scheduler(spec).expect_err(spec).to_string();
        assert!(error.contains("off") || error.contains("diffserv4") || error.contains("hosts"), "{error}");
    }
    let nested = Spec::parse_scheduler("prio aqm (cake bandwidth 1Mbit/s)").unwrap();
    let error = nested.schedule(context()).err().expect("a shaper in a class");
    assert_eq!(error.key, "prio.aqm_0");
    assert!(build("prio aqm cake", context()).held_until(Time::ZERO + Span(1)).is_none());
}
