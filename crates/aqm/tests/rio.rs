//! RIO: its vectors on a queue with classes, and each of its rules by hand.

use crate::support::{Bench, Row, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Class, Contents, FlowId, PacketView, QueueView, Time, Verdict};

/// A number of queued packets of each class, each of 500 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Waiting(pub(crate) [u32; 3]);

impl Contents for Waiting {
    fn at(&self, position: u32) -> Option<PacketView> {
        let ends = [self.0[0], self.0[0] + self.0[1], self.0[0] + self.0[1] + self.0[2]];
        let class = ends.iter().position(|end| position < *end)?;
        Some(packet(500).with_class(Class(class as u8)))
    }
    fn of_flow(&self, _: FlowId) -> u32 {
        0
    }
    fn of_class(&self, class: Class) -> u32 {
        self.0.get(usize::from(class.0)).copied().unwrap_or(0)
    }
}

impl Waiting {
    /// The view of these packets.
    pub(crate) fn view(&self) -> QueueView<'_> {
        let packets = self.0.iter().sum();
        let bytes = 500 * u64::from(packets);
        QueueView::new(packets, bytes, context().limit, 10_000_000, self)
    }
}

/// A packet of `class`.
pub(crate) fn of(class: u8) -> PacketView {
    packet(500).with_class(Class(class))
}

const EMPTY: Waiting = Waiting([0; 3]);

/// RIO on a link that has just become busy; `warm` have arrived at the empty queue.
fn rio(options: &str, warm: &[u8]) -> Bench {
    let mut bench = Bench::new(&format!("rio {options}"), context());
    for class in warm {
        bench.aqm.on_offered(at(0.0), &of(*class), &EMPTY.view());
    }
    bench
}

fn arrive(bench: &mut Bench, packet: PacketView, waiting: Waiting, numbers: &[f64]) -> Verdict {
    bench.arrive(at(1.0), &packet, &waiting.view(), numbers)
}

const SMALL: &str = "w_q 0.5 min_in 4p max_in 8p max_p_in 0.2 min_out 2p max_out 4p max_p_out 0.5";

fn v1_row(bench: &mut Bench, row: &Row) -> Verdict {
    let (q_in, q_total) = (row.whole("q_in"), row.whole("q_total"));
    let (class, count) = if row.word("colour") == "in" { (0, "count_in") } else { (1, "count_out") };
    let verdict = arrive(bench, of(class), Waiting([q_in, q_total - q_in, 0]), &row.draws());
    row.check("avg_in", bench.probe("avg_in"));
    row.check("avg_total", bench.probe("avg_out"));
    row.check("p_b", bench.probe("p"));
    row.check("p_a", bench.probe("p_a"));
    row.check_signal("drop", verdict);
    row.check("count of colour", bench.probe(count));
    verdict
}

#[test]
fn v1_the_in_average_counts_in_packets_and_the_out_average_all() {
    let mut bench = rio(SMALL, &[0]);
    for row in table("rio_v1").rows() {
        let cause = if row.option("u").is_some() { Cause::Early } else { Cause::Forced };
        let verdict = v1_row(&mut bench, &row);
        assert!(matches!(verdict, Verdict::Pass) || verdict == Verdict::Drop(cause));
    }
}

#[test]
fn v2_three_precedences() {
    let mut bench = rio("precedences 3 w_q 1 max_p_out 0.5", &[0]);
    for row in table("rio_v2").rows() {
        let (class, avg) = match row.word("colour") {
            "green" => (0, "avg_in"),
            "yellow" => (1, "avg_yellow"),
            _ => (2, "avg_out"),
        };
        let waiting = Waiting([10, 10, 10]);
        bench.aqm.on_offered(at(1.0), &of(class), &waiting.view());
        let mut rng = sojourn_aqm::Stream::new(1, "rio");
        bench.aqm.on_arrival(at(1.0), &of(class), &waiting.view(), &mut rng);
        row.check("avg used", bench.probe(avg));
        row.check("p_b", bench.probe("p"));
    }
}

#[test]
fn v3_base_probabilities() {
    for (avg, out, inside) in [(20, 0.25, 0.0), (55, 1.0, 0.01)] {
        for (class, p) in [(0, inside), (1, out)] {
            let mut bench = rio("w_q 1 max_p_out 0.5", &[0]);
            let mut rng = sojourn_aqm::Stream::new(1, "rio");
            let waiting = Waiting([avg, 0, 0]);
            bench.aqm.on_offered(at(1.0), &of(class), &waiting.view());
            bench.aqm.on_arrival(at(1.0), &of(class), &waiting.view(), &mut rng);
            near(bench.probe("p"), p, "p_b");
        }
    }
}

#[test]
fn each_coupling_averages_its_classes() {
    // The averages after one arrival of each class at 4 green, 2 yellow and 1 red packets.
    for (options, classes, averages) in [
        ("", &[0u8][..], [4.0, 0.0, 7.0]),
        ("", &[1], [0.0, 0.0, 7.0]),
        ("", &[7], [0.0, 0.0, 7.0]),
        ("precedences 3", &[0], [4.0, 6.0, 7.0]),
        ("precedences 3", &[1], [0.0, 6.0, 7.0]),
        ("precedences 3", &[2], [0.0, 0.0, 7.0]),
        ("average decoupled", &[0], [4.0, 0.0, 0.0]),
        ("average decoupled", &[1], [0.0, 0.0, 3.0]),
        ("average decoupled precedences 3", &[1], [0.0, 2.0, 0.0]),
        ("average decoupled precedences 3", &[2], [0.0, 0.0, 1.0]),
        ("average total", &[1], [7.0, 0.0, 7.0]),
        ("average total precedences 3", &[0], [7.0, 7.0, 7.0]),
        ("listing ns2", &[1], [0.0, 0.0, 0.0]),
        ("listing ns2", &[0], [4.0, 0.0, 7.0]),
    ] {
        let mut bench = rio(&format!("w_q 1 {options}"), &[0, 1, 2]);
        for class in classes {
            bench.aqm.on_offered(at(1.0), &of(*class), &Waiting([4, 2, 1]).view());
        }
        let seen = ["avg_in", "avg_yellow", "avg_out"].map(|name| bench.probe(name));
        assert_eq!(seen, averages, "{options} {classes:?}");
    }
}

#[test]
fn byte_mode_counts_bytes_of_the_classes() {
    let bytes = "w_q 1 min_in 2kB max_in 4kB max_p_in 0.2 min_out 1kB max_out 8kB max_p_out 0.5";
    let mut bench = rio(bytes, &[0, 1]);
    arrive(&mut bench, of(0), Waiting([6, 2, 0]), &[0.9]);
    assert_eq!((bench.probe("avg_in"), bench.probe("avg_out")), (3000.0, 4000.0));
    near(bench.probe("p"), 0.1, "p_b");
    near(bench.probe("p_a"), 0.1 * 500.0 / 1500.0, "scaled by size");
}

/// The average of a class without queued packets decays, even on a busy link.
#[test]
fn an_average_decays_while_its_classes_are_empty() {
    // 10 Mbit/s, 1000 bytes: 0.8 ms per packet; weight 1/2.
    for (options, gone, after) in [
        ("", Waiting([0, 3, 0]), 8.0 / 32.0), // five packet times of decay, no step
        ("", Waiting([1, 3, 0]), 4.5),        // one is still queued: an ordinary step towards 1
        ("average total", Waiting([0, 3, 0]), 5.5),
    ] {
        let mut bench = rio(&format!("w_q 0.5 {options}"), &[0]);
        for _ in 0..60 {
            bench.aqm.on_offered(at(1.0), &of(0), &Waiting([8, 0, 0]).view());
        }
        near(bench.probe("avg_in"), 8.0, "before");
        let none = &mut Scripted::new(&[]);
        bench.aqm.on_departure(at(1.0), &of(0), &gone.view(), none);
        bench.aqm.on_departure(at(1.002), &of(1), &gone.view(), none); // time advances
        bench.aqm.on_offered(Time(1_004_100_000), &of(0), &gone.view());
        near(bench.probe("avg_in"), after, options);
    }
}

#[test]
fn a_dropped_packet_leaves_its_class_idle() {
    let mut bench = rio("w_q 0.5 min_in 1p max_in 2p", &[0]);
    for _ in 0..60 {
        bench.aqm.on_offered(at(1.0), &of(0), &Waiting([8, 0, 0]).view());
    }
    let none = Waiting([0, 3, 0]);
    bench.aqm.on_departure(at(1.0), &of(0), &none.view(), &mut Scripted::new(&[]));
    // One packet time later: avg 4, a certain signal; the packet is dropped, and no packet of its class is
    // queued.
    assert_eq!(bench.arrive(Time(1_000_900_000), &of(0), &none.view(), &[]), Verdict::Drop(Cause::Forced));
    near(bench.probe("avg_in"), 4.0, "one step");
    bench.aqm.on_offered(Time(1_002_600_000), &of(0), &none.view());
    near(bench.probe("avg_in"), 1.0, "two steps more");
}

#[test]
fn the_average_of_all_decays_on_an_idle_link_only() {
    let mut bench = rio("w_q 0.5", &[0]);
    for _ in 0..60 {
        bench.aqm.on_offered(at(1.0), &of(1), &Waiting([0, 8, 0]).view());
    }
    bench.aqm.on_departure(at(1.0), &of(1), &EMPTY.view(), &mut Scripted::new(&[]));
    bench.aqm.on_offered(at(1.0041), &of(1), &EMPTY.view());
    near(bench.probe("avg_out"), 4.0, "the last packet is on the link");
    bench.aqm.on_idle(at(2.0));
    bench.aqm.on_offered(at(2.0017), &of(1), &EMPTY.view());
    near(bench.probe("avg_out"), 1.0, "two packet times");
}

#[test]
fn marks_as_red_does() {
    let full = Waiting([0, 40, 0]);
    let out = |packet: PacketView| packet.with_class(Class(1));
    for (options, packet, verdict) in [
        ("ecn", out(ect(500)), Verdict::Mark(Cause::Forced)),
        ("ecn", out(packet(500)), Verdict::Drop(Cause::Forced)),
        ("ecn ecn_forced drop", out(ect(500)), Verdict::Drop(Cause::Forced)),
    ] {
        let mut bench = rio(&format!("w_q 1 {options}"), &[0]);
        assert_eq!(arrive(&mut bench, packet, full, &[]), verdict, "{options}");
    }
    let mut bench = rio("w_q 1 ecn", &[0]);
    let verdict = arrive(&mut bench, out(ect(500)), Waiting([0, 20, 0]), &[0.05]);
    assert_eq!(verdict, Verdict::Mark(Cause::Early));
}

#[test]
fn gentle_and_wait_are_those_of_red() {
    let mut bench = rio("w_q 1 gentle", &[0]);
    arrive(&mut bench, of(1), Waiting([0, 45, 0]), &[0.99]);
    near(bench.probe("p"), 0.2 + 0.8 * 0.5, "half way from 30 to 60");
    assert_eq!(arrive(&mut bench, of(1), Waiting([0, 60, 0]), &[]), Verdict::Drop(Cause::Forced));
    let mut bench = rio("w_q 1 wait", &[0]);
    for _ in 0..10 {
        assert_eq!(arrive(&mut bench, of(1), Waiting([0, 20, 0]), &[0.0]), Verdict::Pass); // p_b = 0.1
    }
    assert_eq!(arrive(&mut bench, of(1), Waiting([0, 20, 0]), &[0.0]), Verdict::Drop(Cause::Early));
}

#[test]
fn each_precedence_has_its_own_counter() {
    let mut bench = rio("w_q 1 min_in 10p max_in 30p", &[0]);
    for _ in 0..3 {
        arrive(&mut bench, of(0), Waiting([20, 0, 0]), &[0.99]);
    }
    arrive(&mut bench, of(1), Waiting([20, 0, 0]), &[0.99]);
    assert_eq!((bench.probe("count_in"), bench.probe("count_out")), (2.0, 0.0));
    bench.aqm.on_drop(at(1.0), &of(0), Cause::Overflow, &Waiting([20, 0, 0]).view());
    assert_eq!((bench.probe("count_in"), bench.probe("count_out")), (0.0, 0.0));
}

#[test]
fn ns2_procedure() {
    // In: the packet at which avg crosses min is not tested, nor one at a queue of one packet; forced drops
    // restart the counter.
    let mut bench = rio("w_q 1 listing ns2 min_in 1p max_in 11p max_p_in 0.5", &[]);
    assert_eq!(arrive(&mut bench, of(0), Waiting([1, 9, 0]), &[]), Verdict::Pass);
    assert_eq!(arrive(&mut bench, of(0), Waiting([6, 0, 0]), &[]), Verdict::Pass);
    assert_eq!(bench.probe("count_in"), 1.0);
    assert_eq!(arrive(&mut bench, of(0), Waiting([6, 0, 0]), &[0.9]), Verdict::Pass);
    near(bench.probe("p_a"), 0.25 / (1.0 - 2.0 * 0.25), "count 2");
    assert_eq!(arrive(&mut bench, of(0), Waiting([11, 0, 0]), &[]), Verdict::Drop(Cause::Forced));
    assert_eq!(bench.probe("count_in"), 0.0);
    // Out: the average is that after the last in packet; a forced drop does not restart the counter.
    assert_eq!(bench.probe("avg_out"), 11.0);
    assert_eq!(arrive(&mut bench, of(1), Waiting([0, 90, 0]), &[]), Verdict::Pass); // the crossing
    arrive(&mut bench, of(1), Waiting([0, 90, 0]), &[0.99]);
    assert_eq!((bench.probe("avg_out"), bench.probe("count_out")), (11.0, 2.0));
    arrive(&mut bench, of(0), Waiting([0, 50, 0]), &[]);
    assert_eq!(arrive(&mut bench, of(1), Waiting([0, 2, 0]), &[]), Verdict::Drop(Cause::Forced));
    assert_eq!(bench.probe("count_out"), 3.0);
}

#[test]
fn ns2_averages_decay_while_the_link_is_idle() {
    let link = context().with_link_rate(8_000_000); // 1 ms per packet
    let mut bench = Bench::new("rio w_q 0.5 listing ns2", link);
    bench.aqm.on_offered(at(1.0), &of(0), &EMPTY.view());
    for _ in 0..60 {
        bench.aqm.on_offered(at(1.0), &of(0), &Waiting([8, 0, 0]).view());
    }
    bench.aqm.on_idle(at(2.0));
    // An out packet updates no average; once it is sent, the idle time of the average of all packets ends,
    // that of in packets continues.
    bench.aqm.on_offered(at(2.0015), &of(1), &EMPTY.view());
    bench.aqm.on_departure(at(2.0015), &of(1), &EMPTY.view(), &mut Scripted::new(&[]));
    bench.aqm.on_offered(at(2.0025), &of(0), &EMPTY.view());
    near(bench.probe("avg_out"), 4.0, "one step");
    near(bench.probe("avg_in"), 1.0, "two of idleness, one of its own");
}

#[test]
fn inconsistent_values_are_refused() {
    for (spec, key) in [
        ("rio min_in 70p", "rio.max_in"),
        ("rio min_out 30p", "rio.max_out"),
        ("rio min_in 4kB max_in 7kB", "rio.min_out"),
        ("rio min_out 1kB", "rio.min_out"),
        ("rio precedences 3 min_yellow 50p", "rio.max_yellow"),
    ] {
        let built = sojourn_aqm::Spec::parse(spec).and_then(|s| s.build(context()));
        assert_eq!(built.map(|_| ()).expect_err(spec).key, key);
    }
    assert!(
        sojourn_aqm::Spec::parse("rio min_yellow 50p").and_then(|s| s.build(context())).is_ok(),
        "unused"
    );
}
