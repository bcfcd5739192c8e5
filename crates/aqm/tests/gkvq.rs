//! The virtual queue of Gibbens and Kelly: the vectors of the reference model, and each option.

use crate::support::{Bench, Scripted, at, context, ect, link, near, packet, table};
use sojourn_aqm::{Cause, Limit, Verdict};

#[test]
fn v1_signals_the_packet_that_overflows() {
    for ecn in [false, true] {
        let spec = if ecn { "gkvq ecn rate 8kbit/s buffer 2000B" } else { "gkvq rate 8kbit/s buffer 2000B" };
        let mut bench = Bench::new(spec, link(5000, Limit::Packets(100)));
        let queue = bench.queue(0);
        for row in table("gkvq_v1").rows() {
            let packet = if ecn { ect(row.whole("size")) } else { packet(row.whole("size")) };
            let verdict = bench.arrive(at(row.number("t")), &packet, &queue, &[]);
            row.check_signal("mark/drop", verdict);
            assert_eq!(matches!(verdict, Verdict::Mark(Cause::Early)), ecn && verdict != Verdict::Pass);
            row.check("VQ after", bench.probe("vq"));
            let entered = if verdict == Verdict::Pass { row.number("size") } else { 0.0 };
            row.check("VQ drained", bench.probe("vq") - entered);
        }
    }
}

#[test]
fn v2_marks_departures_until_empty() {
    for stale in ["off", "on"] {
        let spec = format!("gkvq form until_empty mode packet theta 0.5 ecn stale_clock {stale}");
        let mut bench = Bench::new(&spec, link(2000, Limit::Packets(4)));
        let queue = bench.queue(0);
        for row in table("gkvq_v2").rows() {
            let now = at(row.number("t"));
            match row.word("event") {
                "arr" => assert_eq!(bench.arrive(now, &ect(700), &queue, &[]), Verdict::Pass),
                _ => {
                    let verdict = bench.aqm.on_departure(now, &ect(700), &queue, &mut Scripted::new(&[]));
                    row.check_signal("departing packet", verdict);
                    let unmarked = packet(700);
                    let verdict = bench.aqm.on_departure(now, &unmarked, &queue, &mut Scripted::new(&[]));
                    assert_eq!(verdict, Verdict::Pass);
                }
            }
            row.check("VQ after", bench.probe("vq") / 1000.0);
            row.check("flag", bench.probe("flag"));
        }
        // ns-2: the departure at the same time drains for the second in which the queue was empty.
        bench.aqm.on_departure(at(3.0), &ect(700), &queue, &mut Scripted::new(&[]));
        near(bench.probe("vq"), if stale == "on" { 0.0 } else { 1000.0 }, "VQ");
    }
}

#[test]
fn virtual_queues_count_packets_refused_by_the_real_buffer() {
    for spec in ["avq", "gkvq", "gkvq form until_empty"] {
        let mut bench = Bench::new(spec, context());
        for _ in 0..3 {
            bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(100));
            bench.aqm.on_drop(at(0.0), &packet(1000), Cause::Overflow, &bench.queue(100));
        }
        near(bench.probe("vq"), 3000.0, spec);
        if spec == "avq" {
            near(bench.probe("capacity") / 8.0, 1_000_000.0 - 3.0 * 0.15 * 1000.0, "C~");
        }
    }
}

#[test]
fn virtual_queues_take_their_size_from_the_limit() {
    for (spec, limit, room) in [
        ("avq", Limit::Packets(10), 10),
        ("avq", Limit::Bytes(10_000), 10),
        ("avq buffer 4p", Limit::Packets(10), 4),
        ("gkvq theta 0.5", Limit::Packets(10), 5),
        ("gkvq theta 0.5", Limit::Bytes(10_000), 5),
        ("gkvq theta 0.5 buffer 4kB", Limit::Packets(10), 4),
        ("avq mean_packet 500B", Limit::Packets(10), 5),
    ] {
        let mut bench = Bench::new(spec, context().with_limit(limit));
        let queue = bench.queue(0);
        let accepted = (0..20).filter(|_| bench.arrive(at(0.0), &packet(1000), &queue, &[]) == Verdict::Pass);
        assert_eq!(accepted.count(), room, "{spec}");
    }
}

/// The default of theta makes the virtual buffer of a limit of one packet smaller than the packet. Seen to
/// fail: without `takes_any` every packet is signalled.
#[test]
fn an_empty_virtual_queue_takes_any_packet() {
    for spec in ["gkvq", "gkvq mode packet", "gkvq mean_packet 500B"] {
        let mut bench = Bench::new(spec, context().with_limit(Limit::Packets(1)));
        let queue = bench.queue(0);
        let verdicts = [0.0, 0.0, 1.0].map(|second| bench.arrive(at(second), &packet(1000), &queue, &[]));
        assert_eq!(verdicts[0], Verdict::Pass, "{spec}");
        assert_ne!(verdicts[1], Verdict::Pass, "{spec}");
        assert_eq!(verdicts[2], Verdict::Pass, "{spec}");
    }
}

#[test]
fn drains_at_its_own_rate() {
    for (spec, left) in
        [("gkvq theta 0.5", 5000.0), ("gkvq rate 5Mbit/s", 5000.0), ("gkvq rate 10Mbit/s", 0.0)]
    {
        let mut bench = Bench::new(spec, context());
        for _ in 0..10 {
            bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        }
        bench.aqm.on_offered(at(0.008), &packet(0), &bench.queue(0)); // 8 ms at 10 Mbit/s: 10 kB
        near(bench.probe("vq"), left, spec);
    }
}
