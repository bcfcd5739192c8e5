//! The gateway in virtual time: its queues are those of the simulator, rates are exact even if the host is
//! late, and every packet is counted.

use crate::support::{gateway, ipv4, ipv6, plain, plan, tcp, udp};
use serde_json::json;
use sojourn_aqm::{Ecn, Span, Time};
use sojourn_gateway::{Engine, GatewayRecord, Stats, parse};
use sojourn_sim::{Control, Plan, QueueSeries, Record, Simulation};

const MS: u64 = 1_000_000;

/// A delivery: its time in ns, and the packet.
type Delivery = (u64, Vec<u8>);

/// Feed packets (time in ns, bytes), handle events every `step` ns only, and run until `end`.
fn run(
    mut engine: Engine,
    packets: &[(u64, Vec<u8>)],
    step: u64,
    end: u64,
) -> (GatewayRecord, Vec<Delivery>) {
    let mut deliveries = Vec::new();
    let mut write = |device: u32, bytes: &[u8], time: Time| {
        assert!(device < 2);
        deliveries.push((time.0, bytes[10..].to_vec()));
        Some(Span::ZERO)
    };
    let mut now = 0;
    for (time, bytes) in packets {
        while now + step <= *time {
            now += step;
            engine.advance(Time(now), &mut write);
        }
        engine.on_read(Time(*time), bytes);
    }
    engine.advance(Time(end), &mut write);
    (engine.finish(Time(end)).expect("packets are conserved"), deliveries)
}

fn datagram(payload: usize) -> Vec<u8> {
    plain(&ipv4(0, 0, 0, 17, &udp(1, 2, payload)))
}

/// 1000 bytes on the wire: 0.8 ms at 10 Mbit/s.
fn flood(count: u64, gap: u64) -> Vec<(u64, Vec<u8>)> {
    (0..count).map(|i| (i * gap, datagram(972))).collect()
}

#[test]
fn departures_are_exact_on_a_late_host() {
    let packets = flood(100, 300_000);
    let (result, deliveries) = run(gateway("droptail", json!({})), &packets, MS / 10, 200 * MS);
    let times: Vec<u64> = deliveries.iter().map(|(time, _)| *time).collect();
    let want: Vec<u64> = (1..=times.len() as u64).map(|n| n * 800_000 + 5 * MS).collect();
    assert_eq!(times, want, "back to back, then 5 ms of propagation");
    // The same on a host that handles events every 7 ms, or every 3 s.
    for step in [7 * MS, 3_000 * MS] {
        let (late, same) = run(gateway("droptail", json!({})), &packets, step, 200 * MS);
        assert_eq!(same, deliveries);
        assert_eq!(late.record.queues[0].drops, result.record.queues[0].drops);
        assert_eq!(late.record.queues[0].delay_sum_ns, result.record.queues[0].delay_sum_ns);
    }
}

/// The packets of one device are read before those of the other, which arrived meanwhile: the deliveries that
/// are possible happen, and all else in the order of the arrivals.
#[test]
fn a_direction_that_is_read_late_meets_its_own_time() {
    let back = plain(&ipv6_back());
    let forward: Vec<_> = (0..120).map(|i| (1000 + i * MS / 2, datagram(972))).collect();
    let backward: Vec<_> = (0..40).map(|i| (6 * MS + 2000 + i / 2 * 2 * MS, back.clone())).collect();
    let more = || json!({"warmup": 20 * MS, "interval": MS});
    let mut both = [forward.clone(), backward.clone()].concat();
    both.sort();
    let (ordered, expected) = run(gateway("droptail", more()), &both, MS, 90 * MS);

    let mut engine = gateway("droptail", more());
    let mut deliveries = Vec::new();
    let mut write = |_: u32, bytes: &[u8], time: Time| {
        deliveries.push((time.0, bytes[10..].to_vec()));
        Some(Span::ZERO)
    };
    for (time, bytes) in &forward {
        engine.on_read(Time(*time), bytes);
    }
    engine.catch_up(Time(6 * MS), Time(90 * MS), &mut write);
    for (time, bytes) in &backward {
        engine.on_read(Time(*time), bytes);
    }
    engine.advance(Time(90 * MS), &mut write);
    let late = engine.finish(Time(90 * MS)).expect("packets are conserved");
    deliveries.sort();
    assert_eq!(deliveries.iter().filter(|(_, packet)| packet[0] == 0x60).count(), 40);
    assert_eq!(deliveries, {
        let mut expected = expected;
        expected.sort();
        expected
    });
    same("droptail", &late.record, &ordered.record);
    let back = |record: &Record| {
        let (queue, samples) = (&record.queues[1], &record.series.queues[1].packets);
        (queue.arrivals, queue.idle_ns, queue.packet_ns, samples.clone())
    };
    assert_eq!(back(&late.record), back(&ordered.record));
}

/// A datagram of 1000 bytes from fd00::2 to fd00::1.
fn ipv6_back() -> Vec<u8> {
    let mut packet = ipv6(0, 17, &udp(1, 2, 952));
    let (to, from) = (packet[8..24].to_vec(), packet[24..40].to_vec());
    packet[8..24].copy_from_slice(&from);
    packet[24..40].copy_from_slice(&to);
    packet
}

#[test]
fn a_clock_that_jumps_a_day_or_goes_back_loses_nothing() {
    let day = 86_400_000 * MS;
    for aqm in ["droptail", "pie", "codel", "fq_codel"] {
        let mut engine = gateway(aqm, json!({}));
        let mut deliveries = Vec::new();
        for time in [5 * MS, day, day - 50 * MS, day + 1, 0] {
            engine.on_read(Time(time), &datagram(972));
            engine.advance(Time(time), &mut |_, _, time| {
                deliveries.push(time.0);
                Some(Span::ZERO)
            });
        }
        engine.advance(Time(day + 100 * MS), &mut |_, _, time| {
            deliveries.push(time.0);
            Some(Span::ZERO)
        });
        assert_eq!((engine.stats().read, engine.stats().delivered, deliveries.len()), (5, 5, 5), "{aqm}");
        assert!(deliveries.is_sorted() && deliveries[4] > day, "{aqm}");
        engine.finish(Time(day + 100 * MS)).expect("packets are conserved");
    }
}

/// The same datagrams in the simulator and through the gateway.
#[test]
fn a_queue_of_the_gateway_is_a_queue_of_the_simulator() {
    for aqm in
        ["red min_th 3 max_th 9 w_q 0.1", "codel target 2ms", "pie target 2ms", "pi", "fq_codel", "sfb"]
    {
        let link = |from: &str, to: &str, queue: serde_json::Value| json!({"from": from, "to": to, "rate": 10_000_000, "delay": 5 * MS, "queue": queue});
        let queue = json!({"limit": "20p", "aqm": aqm, "ecn": true});
        let plan: Plan = serde_json::from_value(json!({
            "duration": 2_000 * MS, "warmup": 500 * MS,
            "topology": {"graph": [
                {"from": "h", "to": "left", "rate": 1_000_000_000_000u64, "delay": 0},
                link("left", "right", queue.clone()),
                {"from": "right", "to": "h", "rate": 1_000_000_000_000u64, "delay": 0},
                link("right", "left", queue),
            ]},
            "measure": "left-right",
            "traffic": [{"name": "cbr", "kind": {"udp_cbr": {"rate": 12_000_000, "size": 1500}}, "from": ["h"],
                         "to": ["right"], "start": {"constant": 0.0}, "ecn": "ect0"}],
            "trace": {"interval": 10 * MS},
        }))
        .unwrap();
        let simulated = Simulation::new(&plan, 7).unwrap().run(&Control::default()).unwrap();
        // A packet per millisecond; at 1 Tbit/s it takes 12 ns from the host.
        let bytes = plain(&ipv4(2, 0, 0, 17, &udp(1, 2, 1472)));
        let packets: Vec<_> = (0..2000).map(|i| (i * MS + 12, bytes.clone())).collect();
        let more = json!({"warmup": 500 * MS, "interval": 10 * MS, "seed": 7, "mean_packet": 1500});
        let (result, _) = run(gateway(aqm, more), &packets, 33 * MS, 2_000 * MS);
        same(aqm, &simulated, &result.record);
    }
}

fn same(aqm: &str, a: &Record, b: &Record) {
    let (x, y) = (&a.queues[0], &b.queues[0]);
    assert_eq!(a.window, b.window);
    assert_eq!((&x.name, &x.spec), (&y.name, &y.spec));
    assert_eq!(
        (x.arrivals, x.departures, x.drops, x.marks),
        (y.arrivals, y.departures, y.drops, y.marks),
        "{aqm}"
    );
    assert_eq!((x.packet_ns, x.byte_ns, x.idle_ns), (y.packet_ns, y.byte_ns, y.idle_ns), "{aqm}");
    assert_eq!((x.delay_sum_ns, &x.delay_counts), (y.delay_sum_ns, &y.delay_counts), "{aqm}");
    assert_eq!(x.capacity_bits, y.capacity_bits);
    assert_eq!(a.series.queues[0].packets, b.series.queues[0].packets, "{aqm}");
    assert_eq!(a.series.queues[0].probes, b.series.queues[0].probes, "{aqm}");
    let marked = x.marks.iter().sum::<u64>() + x.drops.iter().sum::<u64>();
    assert!(marked > 10, "{aqm} marked or dropped");
}

#[test]
fn samples_without_a_known_end_are_merged_correctly() {
    let step = MS / 10;
    let end = 25_000 * MS;
    // Bursts of 30 packets every 100 ms, every other one of class 1 from 5 s on.
    let packet = |class: u8| plain(&ipv4(class, 0, 0, 17, &udp(1, 2, 972)));
    let (plain, marked) = (packet(0), packet(46 << 2));
    let burst = |n: u64| {
        let bytes = if n > 50 && n.is_multiple_of(2) { &marked } else { &plain };
        (0..30).map(move |i| (n * 100 * MS + i * 1_000, bytes.clone()))
    };
    let packets: Vec<_> = (0..250).flat_map(burst).collect();
    let series = |more: serde_json::Value| {
        let mut plan = json!({"interval": step, "classes": [[46, 1]]});
        plan.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (result, _) = run(gateway("pie", plan), &packets, MS, end);
        result.record.series
    };
    let (all, merged) = (series(json!({"duration": end})), series(json!({})));
    assert_eq!((all.interval.0, all.queues[0].packets.len()), (step, 250_000), "the end is known");
    assert_eq!(merged.interval.0, 4 * step, "merged with 100,000 samples after 10 s, and after 20 s");
    for (x, y) in all.queues.iter().zip(&merged.queues) {
        let last = |column: &[u32]| column.iter().skip(3).step_by(4).copied().collect::<Vec<_>>();
        let sums = |column: &[u32]| column.chunks(4).map(|four| four.iter().sum()).collect::<Vec<u32>>();
        let means = |column: &[f64]| column.chunks(4).map(|four| four.iter().sum::<f64>() / 4.0).collect();
        let near = |a: Vec<f64>, b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs())
        };
        assert_eq!(y.packets, last(&x.packets));
        assert_eq!(y.bytes, x.bytes.iter().skip(3).step_by(4).copied().collect::<Vec<_>>());
        assert!(near(means(&x.mean_packets), &y.mean_packets));
        assert!(near(means(&x.mean_square_packets), &y.mean_square_packets));
        assert_eq!((&y.arrivals, &y.drops), (&sums(&x.arrivals), &sums(&x.drops)));
        assert_eq!(
            y.departed_bytes,
            x.departed_bytes.chunks(4).map(|f| f.iter().sum()).collect::<Vec<u64>>()
        );
        for ((name, x), (_, y)) in x.probes.iter().zip(&y.probes) {
            assert_eq!(*y, x.iter().skip(3).step_by(4).copied().collect::<Vec<_>>(), "{name}");
            assert!(y.capacity() <= 100_000, "{name}");
        }
        let classes = |queue: &QueueSeries| queue.class_packets.iter().map(|(n, _)| *n).collect::<Vec<_>>();
        assert_eq!(classes(y), classes(x));
        for ((_, x), (class, y)) in x.class_packets.iter().zip(&y.class_packets) {
            assert_eq!(*y, last(x), "class {class}");
            assert!(y.capacity() <= 100_000, "class {class}");
        }
        let most = [y.packets.capacity(), y.bytes.capacity(), y.mean_packets.capacity(), y.drops.capacity()];
        assert!(
            most.iter().all(|capacity| *capacity <= 100_000),
            "memory never grew beyond the limit: {most:?}"
        );
    }
    let first = &merged.queues[0];
    assert_eq!(first.arrivals.iter().sum::<u32>(), 7_500);
    assert!(
        first.drops.iter().sum::<u32>() > 100 && first.class_packets.len() == 2 && !first.probes.is_empty()
    );
}

#[test]
fn every_mark_of_the_queue_is_in_a_header_and_no_other() {
    let packet = |class: u8| plain(&ipv4(class, 0, 0, 17, &udp(1, 2, 972)));
    let ce = |deliveries: &[Delivery]| {
        deliveries.iter().filter(|(_, p)| parse(p).unwrap().ecn == Ecn::Ce).count() as u64
    };
    for (class, can) in [(2, true), (1, true), (0, false)] {
        let packets: Vec<_> = (0..4000).map(|i| (i * 790_000, packet(class))).collect();
        let (result, deliveries) =
            run(gateway("red max_th 9 min_th 3", json!({})), &packets, 5 * MS, 4_000 * MS);
        let marks: u64 = result.record.queues[0].marks.iter().sum();
        assert_eq!(marks, ce(&deliveries), "class {class}");
        assert_eq!(marks > 10, can, "class {class}: {marks}");
        assert_eq!(result.record.flows.queue_marks, [marks]);
    }
}

#[test]
fn short_invalid_and_unroutable_packets_are_accounted_for() {
    let mut packets = Vec::new();
    for i in 0..20_000u64 {
        let bytes = match i % 8 {
            0 => plain(&[]),
            1 => plain(&[0x45]),
            2 => vec![0; (i % 10) as usize],
            3 => plain(&ipv4(0, 0, 0, 255, &[])),
            4 => plain(&ipv6(0, 59, &[])),
            5 => plain(&[0x90; 60]),
            6 => {
                let mut unroutable = ipv4(0, 0, 0, 17, &udp(1, 2, 0));
                unroutable[16] = 99;
                plain(&unroutable)
            }
            _ => plain(&ipv4(0, 0, 0, 17, &[1; 3])),
        };
        packets.push((i * 500, bytes));
    }
    let (result, deliveries) = run(gateway("red", json!({})), &packets, MS, 1_000 * MS);
    let Stats { read, delivered, dropped, malformed, unroutable, odd, .. } = result.stats;
    assert_eq!((read, malformed, unroutable, odd), (20_000, 10_000, 2_500, 2_500));
    assert_eq!(read, delivered + dropped + malformed + unroutable);
    assert_eq!(deliveries.len() as u64, delivered);
}

#[test]
fn a_device_that_accepts_nothing_does_not_stop_the_others() {
    let mut engine = gateway("droptail", json!({}));
    let back = {
        let mut packet = ipv4(0, 0, 0, 17, &udp(2, 1, 972));
        packet.copy_within(12..16, 16); // to 10.0.0.1...
        packet[12..16].copy_from_slice(&[10, 0, 1, 1]);
        plain(&packet)
    };
    let mut taken = 0;
    for i in 0..500u64 {
        engine.on_read(Time(i * MS), &datagram(972));
        engine.on_read(Time(i * MS), &back);
        engine.advance(Time(i * MS), &mut |device, _, _| {
            taken += u64::from(device == 0);
            (device == 0).then_some(Span::ZERO)
        });
    }
    let result = engine.finish(Time(500 * MS)).unwrap();
    assert_eq!(result.stats.delivered, taken);
    assert!(result.stats.undelivered >= 490 && taken >= 490);
}

#[test]
fn fragments_belong_to_the_flow_of_the_first_one() {
    let first = plain(&ipv4(0, 9, 0x2000, 17, &udp(7, 8, 992)));
    let later = plain(&ipv4(0, 9, 0x0080, 17, &[0; 200]));
    let whole = plain(&ipv4(0, 0, 0, 17, &udp(7, 8, 10)));
    let other = plain(&ipv4(0, 10, 0x0080, 17, &[0; 200]));
    let packets = [(0, first), (1, later), (2, whole), (3, other)];
    let (result, _) = run(gateway("droptail", json!({})), &packets, MS, 100 * MS);
    assert_eq!(result.record.flows.sent_packets, [3, 1]);
}

#[test]
fn only_udp_counts_as_udp() {
    let icmp = plain(&ipv4(0, 0, 0, 1, &[8, 0, 0, 0, 0, 1, 0, 1]));
    let esp = plain(&ipv4(0, 0, 0, 50, &[7; 60]));
    let unknown_fragment = plain(&ipv4(0, 10, 0x0080, 17, &[0; 200]));
    let first = plain(&ipv4(0, 9, 0x2000, 17, &udp(7, 8, 992)));
    let later = plain(&ipv4(0, 9, 0x0080, 17, &[0; 200]));
    let packets = [(0, icmp), (1, esp), (2, unknown_fragment), (3, first), (4, later), (5, datagram(10))];
    let rules = json!([
        {"name": "tcp", "transport": "tcp"}, {"name": "udp", "transport": "udp"}, {"name": "other"},
    ]);
    let (result, _) = run(gateway("droptail", json!({"rules": rules})), &packets, MS, 100 * MS);
    let flows = &result.record.flows;
    assert_eq!(flows.traffic, [2, 2, 2, 1, 1]);
    assert_eq!(flows.sent_packets, [1, 1, 1, 2, 1]);
    assert_eq!(result.ends.iter().map(|one| one.protocol).collect::<Vec<_>>(), [1, 50, 44, 17, 17]);
}

#[test]
fn goodput_counts_first_copies_and_the_row_covers_the_data() {
    let segment = |sequence: u32| plain(&ipv4(0, 0, 0, 6, &tcp(9, 80, sequence, 0x10, &[0; 500])));
    let packets: Vec<_> =
        [0, 500, 1500, 500, 1000].iter().zip(0..).map(|(s, i)| (i * MS, segment(*s))).collect();
    let (result, _) = run(gateway("droptail", json!({})), &packets, MS, 100 * MS);
    let flows = &result.record.flows;
    assert_eq!((flows.traffic[0], flows.crosses[0], flows.sent_packets[0]), (0, 1, 5));
    assert_eq!((flows.goodput_bytes[0], flows.retransmitted_packets[0]), (2000, 2));
    assert_eq!(flows.timeouts[0], u64::MAX, "only the host counts time-outs");
}

#[test]
fn sequence_numbers_wrap() {
    let segment = |sequence: u32| plain(&ipv4(0, 0, 0, 6, &tcp(9, 80, sequence, 0x10, &[0; 500])));
    let first = u32::MAX - 700;
    let packets: Vec<_> = [0u32, 500, 1000, 500]
        .iter()
        .zip(0..)
        .map(|(s, i)| (i * MS, segment(first.wrapping_add(*s))))
        .collect();
    let (result, _) = run(gateway("droptail", json!({})), &packets, MS, 100 * MS);
    let flows = &result.record.flows;
    assert_eq!((flows.goodput_bytes[0], flows.retransmitted_packets[0]), (1500, 1));
}

#[test]
fn counters_of_the_other_queue_are_separate() {
    let mut packet = ipv4(2, 0, 0, 17, &udp(1, 2, 972));
    packet[12..20].copy_from_slice(&[10, 0, 1, 1, 10, 0, 0, 1]);
    let packets: Vec<_> = (0..4000).map(|i| (i * 790_000, plain(&packet))).collect();
    let (result, _) = run(gateway("red max_th 9 min_th 3", json!({})), &packets, 5 * MS, 4_000 * MS);
    let flows = &result.record.flows;
    assert!(result.record.queues[1].marks.iter().sum::<u64>() > 10);
    assert_eq!((flows.crosses[0], flows.queue_arrivals[0], flows.queue_marks[0]), (0, 0, 0));
    assert_eq!(flows.received_packets[0], result.stats.delivered);
}

#[test]
fn code_points_and_rules_give_classes() {
    let packet = |class: u8, port: u16| plain(&ipv4(class, 0, 0, 17, &udp(port, 2, 100)));
    let packets = [(0, packet(46 << 2, 1)), (1, packet(0, 1)), (2, packet(0, 53))];
    let rules = json!([{"name": "dns", "ports": [[53, 53]], "class": 2}, {"name": "other"}]);
    let more = json!({"classes": [[46, 1]], "rules": rules});
    let (result, _) = run(gateway("droptail", more), &packets, MS, 100 * MS);
    assert_eq!(result.record.queues[0].classes.number, [0, 1, 2]);
    assert_eq!(result.record.queues[0].classes.arrivals, [1, 1, 1]);
    assert_eq!(result.record.flows.traffic, [1, 0]);
}

#[test]
fn each_host_has_its_link_and_losses_are_random() {
    let hosts = json!([
        {"name": "a", "device": 0, "side": "left", "addresses": ["10.0.0.1"], "rate": 1_000_000, "delay": 3 * MS},
        {"name": "b", "device": 1, "side": "right", "addresses": ["10.0.1.1"], "rate": 2_000_000, "delay": 7 * MS},
    ]);
    let (_, deliveries) =
        run(gateway("droptail", json!({"hosts": hosts})), &[(0, datagram(972))], MS, 100 * MS);
    // 8 ms + 3 ms + 0.8 ms + 5 ms + 4 ms + 7 ms
    assert_eq!(deliveries[0].0, 27_800_000);
    let lossy =
        gateway("droptail", json!({"impairment": {"loss": {"random": 0.25}}, "warmup": 4_000 * MS / 2}));
    let (result, deliveries) = run(lossy, &flood(4000, MS), MS, 5_000 * MS);
    assert_eq!(result.stats.lost + deliveries.len() as u64, 4000);
    assert!((900..1100).contains(&result.stats.lost), "{}", result.stats.lost);
    let links = result.record.links;
    assert_eq!(
        (links.name, links.lost_packets[0]),
        (vec!["left-right".to_owned()], result.record.flows.dropped_packets[0])
    );
    // Those that were in the queue or on the link when the window opened are in it, too.
    assert!((2000..2010).contains(&links.packets[0]), "{}", links.packets[0]);
}

/// The wire adds 10 ms up to 6 ms, and then nothing: the second packet overtakes the first one, also at the
/// link of the host, which takes packets in the order of their arrival.
#[test]
fn packets_that_overtake_cross_the_link_of_their_host_first() {
    let steps = json!([[0, 10 * MS], [6 * MS, 0]]);
    let impairment = json!({"delay": {"steps": steps}, "in_order": false});
    let packets = [(0, datagram(972)), (0, datagram(972 - 100))];
    let arrivals = |hosts: Option<serde_json::Value>| {
        let mut more = json!({"impairment": impairment});
        hosts.into_iter().for_each(|hosts| more["hosts"] = hosts);
        let (_, deliveries) = run(gateway("droptail", more.clone()), &packets, MS, 100 * MS);
        let sizes: Vec<_> = deliveries.iter().map(|(time, bytes)| (*time, bytes.len())).collect();
        let mut engine = gateway("droptail", more);
        packets.iter().for_each(|(_, bytes)| engine.on_read(Time::ZERO, bytes));
        engine.advance(Time(3 * MS), &mut |_, _, _| Some(Span::ZERO));
        assert!(engine.next_deadline().is_some_and(|time| time.0 <= sizes[0].0), "in time for the delivery");
        sizes
    };
    // 0.8 ms + 5 ms for the first, then 0.72 ms for the second.
    assert_eq!(arrivals(None), [(6_520_000, 900), (15_800_000, 1000)]);
    let hosts = json!([
        {"name": "a", "device": 0, "side": "left", "addresses": ["10.0.0.1"]},
        {"name": "b", "device": 1, "side": "right", "addresses": ["10.0.1.1"], "rate": 10_000_000},
    ]);
    assert_eq!(arrivals(Some(hosts)), [(7_240_000, 900), (16_600_000, 1000)]);
}

#[test]
fn a_copy_is_a_packet_of_its_own() {
    let more = json!({"impairment": {"duplicate": 1.0, "loss": {"random": 0.5}}});
    let (result, deliveries) = run(gateway("droptail", more), &flood(400, MS), MS, 5_000 * MS);
    let copied = result.stats.copied;
    assert!((150..250).contains(&copied), "{copied}");
    assert_eq!(deliveries.len() as u64, 400 + copied);
    assert_eq!((result.stats.lost, result.record.links.copied_packets), (0, vec![copied]));
}

#[test]
fn impossible_impairments_are_refused() {
    let mut plan = plan("droptail", json!({}));
    plan.backward.impairment =
        serde_json::from_value(json!({"loss": {"random": 1.5}})).expect("an impairment");
    let error = Engine::new(&plan).err().expect("a refusal");
    assert_eq!(
        (error.key.as_str(), error.problem.as_str()),
        ("backward.impairment.loss", "is not a probability")
    );
}

#[test]
fn a_stall_counts_in_the_window_only() {
    let mut engine = gateway("droptail", json!({"warmup": 500 * MS}));
    let mut refuse = |_: u32, _: &[u8], _: Time| None;
    engine.advance(Time(400 * MS), &mut refuse);
    engine.on_stall(Span::from_millis(200));
    engine.advance(Time(600 * MS), &mut refuse);
    engine.on_stall(Span::from_millis(30));
    engine.advance(Time(700 * MS), &mut refuse);
    engine.on_stall(Span::from_millis(5));
    assert_eq!(engine.finish(Time(1_000 * MS)).unwrap().stalled, Span::from_millis(35));
}
