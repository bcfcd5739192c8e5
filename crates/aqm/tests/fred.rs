//! FRED: its vectors, its two forms, and the deletion of records.

use crate::contract;
use crate::support::{Bench, Row, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, FlowId, Limit, PacketView, Spec, Verdict};

/// A packet of the flow called `name`.
fn of(name: &str) -> PacketView {
    packet(1000).with_flow(FlowId(name.bytes().map(u32::from).sum()))
}

/// A queue with FRED that holds the accepted packets.
struct Queue {
    bench: Bench,
    waiting: u32,
}

impl Queue {
    fn new(spec: &str) -> Queue {
        Queue { bench: Bench::new(spec, context()), waiting: 0 }
    }

    fn arrive(&mut self, packet: &PacketView, numbers: &[f64]) -> Verdict {
        let verdict = self.bench.arrive(at(0.0), packet, &self.bench.queue(self.waiting), numbers);
        self.waiting += u32::from(!matches!(verdict, Verdict::Drop(_)));
        verdict
    }

    fn depart(&mut self, packet: &PacketView) {
        self.waiting -= 1;
        let queue = self.bench.queue(self.waiting);
        let mut rng = Scripted::new(&[]);
        assert_eq!(self.bench.aqm.on_departure(at(0.0), packet, &queue, &mut rng), Verdict::Pass);
    }

    /// One line of the tables.
    fn row(&mut self, row: &Row) {
        let packet = of(row.word("flow"));
        if row.word("result") == "depart" {
            self.depart(&packet);
        } else {
            let verdict = self.arrive(&packet, &row.draws());
            let expected = match row.word("result") {
                "accept" => Verdict::Pass,
                "drop: flow limit" => Verdict::Drop(Cause::FlowLimit),
                "drop: random" => Verdict::Drop(Cause::Early),
                "drop: avg >= max_th" => Verdict::Drop(Cause::Forced),
                other => panic!("{other}"),
            };
            assert_eq!(verdict, expected);
        }
        assert_eq!(f64::from(self.waiting), row.number("q"));
        for column in ["avg", "avgcq", "qlen_i", "strike_i", "count"] {
            row.check(column, self.bench.probe(column));
        }
        row.check("N_active", self.bench.probe("n_active"));
        if !row.draws().is_empty() {
            row.check("p_a", self.bench.probe("p_a"));
        }
    }
}

#[test]
fn v1_and_v2_base_form() {
    let mut queue = Queue::new("fred w_q 0.5 min_th 3p max_th 6p max_p 0.2 min_q 2p");
    for name in ["fred_v1", "fred_v2"] {
        table(name).rows().for_each(|row| queue.row(&row));
    }
}

#[test]
fn v3_many_flow_form() {
    let mut queue = Queue::new("fred w_q 1 min_th 2p max_th 4p max_p 0.5 min_q 2p many_flow");
    table("fred_v3").rows().for_each(|row| queue.row(&row));
    // With the base form's rules, no packet is accepted from max_th on.
    let mut queue = Queue::new("fred w_q 1 min_th 2p max_th 4p max_p 0.5 min_q 2p many_flow blocks_bc");
    for flow in ["A", "B", "C", "D"] {
        assert_eq!(queue.arrive(&of(flow), &[]), Verdict::Pass);
    }
    assert_eq!(queue.arrive(&of("E"), &[]), Verdict::Drop(Cause::Forced));
}

#[test]
fn marks_only_at_random() {
    let capable = |name| ect(1000).with_flow(of(name).flow);
    let mut queue = Queue::new("fred ecn w_q 1 min_th 4p max_th 8p max_p 1 min_q 1p");
    for flow in ["A", "B", "B", "C"] {
        assert_eq!(queue.arrive(&capable(flow), &[]), Verdict::Pass);
    }
    assert_eq!(queue.arrive(&capable("B"), &[0.0]), Verdict::Pass); // p_b = 0
    assert_eq!(queue.arrive(&capable("C"), &[]), Verdict::Pass); // below its share
    // p_b = 1/2, and two packets since the last signal: p_a = 1, cause early. A marked packet counts as
    // queued, a dropped one does not.
    let mut other = Queue { bench: Bench { aqm: queue.bench.aqm.clone(), ..queue.bench }, waiting: 6 };
    assert_eq!(other.arrive(&of("B"), &[0.9]), Verdict::Drop(Cause::Early));
    assert_eq!((other.bench.probe("qlen_i"), other.bench.probe("avg")), (3.0, 6.0));
    assert_eq!(queue.arrive(&capable("B"), &[0.9]), Verdict::Mark(Cause::Early));
    assert_eq!((queue.bench.probe("qlen_i"), queue.bench.probe("avg")), (4.0, 7.0));
    assert_eq!((queue.bench.probe("count"), other.bench.probe("count")), (0.0, 0.0));
    assert_eq!(queue.arrive(&capable("B"), &[]), Verdict::Drop(Cause::FlowLimit));
    assert_eq!(queue.arrive(&capable("D"), &[]), Verdict::Pass);
    assert_eq!(queue.arrive(&capable("D"), &[]), Verdict::Drop(Cause::Forced));
}

#[test]
fn a_flow_without_packets_is_removed_with_its_strikes() {
    let mut queue = Queue::new("fred min_th 2p");
    for _ in 0..2 {
        assert_eq!(queue.arrive(&of("A"), &[]), Verdict::Pass);
    }
    for _ in 0..5 {
        assert_eq!(queue.arrive(&of("A"), &[]), Verdict::Drop(Cause::FlowLimit));
    }
    assert_eq!(queue.bench.probe("strike_i"), 5.0);
    queue.depart(&of("A"));
    assert_eq!(
        queue.arrive(&of("A"), &[]),
        Verdict::Drop(Cause::FlowLimit),
        "with strikes, one queued packet suffices"
    );
    queue.depart(&of("A"));
    assert_eq!(queue.bench.probe("n_active"), 0.0);
    assert_eq!(queue.arrive(&of("A"), &[]), Verdict::Pass);
    assert_eq!(queue.bench.probe("strike_i"), 0.0);
}

#[test]
fn victims_of_an_overflow_leave_the_counts() {
    let mut queue = Queue::new("fred");
    for flow in ["A", "A", "B"] {
        assert_eq!(queue.arrive(&of(flow), &[]), Verdict::Pass);
    }
    // The victim is the arrival: nothing changes.
    let full = queue.bench.queue(3);
    queue.bench.aqm.on_offered(at(0.0), &of("A"), &full);
    queue.bench.aqm.on_drop(at(0.0), &of("A"), Cause::Overflow, &full);
    assert_eq!(queue.bench.probe("n_active"), 2.0);
    // The victims are queued packets: they are no longer counted.
    queue.bench.aqm.on_offered(at(0.0), &of("B"), &full);
    for (victim, left, active) in [("A", 2, 2.0), ("A", 1, 1.0), ("B", 0, 0.0)] {
        queue.bench.aqm.on_drop(at(0.0), &of(victim), Cause::Overflow, &queue.bench.queue(left));
        assert_eq!(queue.bench.probe("n_active"), active);
    }
}

#[test]
fn thresholds_follow_the_buffer_and_each_other() {
    for (limit, spec, min_th, max_th) in [
        (Limit::Packets(80), "fred", 20, 40),
        (Limit::Bytes(80_000), "fred", 20, 40),
        (Limit::Packets(80), "fred min_th 10kB", 10, 20),
        (Limit::Packets(80), "fred min_th 10kB max_th 30kB", 10, 30),
        (Limit::Packets(80), "fred min_th 10kB mean_packet 500B", 20, 40),
    ] {
        let mut bench = Bench::new(&format!("{spec} w_q 1"), context().with_limit(limit));
        for (q, p) in [(min_th, 0.0), ((min_th + max_th) / 2, 0.01), (max_th, 1.0)] {
            let flow = packet(1000).with_flow(FlowId(q));
            let queue = bench.queue(q - 1);
            bench.arrive(at(0.0), &flow, &queue, &[]);
            near(bench.probe("p"), p, spec);
        }
    }
}

#[test]
fn drops_at_an_idle_link_do_not_stop_the_decay() {
    // 10 Mbit/s: a packet takes 0.8 ms. Arrivals every 0.1 ms at avg = 8 >= max_th are all dropped, until avg
    // < 6.
    let mut queue = Queue::new("fred w_q 0.1 min_th 3p max_th 6p");
    let full = queue.bench.queue(79);
    assert_eq!(queue.bench.arrive(at(0.0), &of("A"), &full, &[]), Verdict::Pass);
    near(queue.bench.probe("avg"), 8.0, "avg");
    queue.bench.aqm.on_departure(at(0.0), &of("A"), &queue.bench.queue(8), &mut Scripted::new(&[]));
    queue.bench.aqm.on_idle(at(1.0));
    let empty = queue.bench.queue(0);
    for step in 1..24 {
        let now = at(1.0 + 1e-4 * f64::from(step));
        assert_eq!(queue.bench.arrive(now, &of("B"), &empty, &[]), Verdict::Drop(Cause::Forced), "{step}");
        queue.bench.aqm.on_idle(now);
    }
    // After three packet times: 8 x 0.9^3 = 5.83, and the accepted packet counts itself.
    assert_eq!(queue.bench.arrive(at(1.0024), &of("B"), &empty, &[]), Verdict::Pass);
    near(queue.bench.probe("avg"), 0.9 * 8.0 * 0.729 + 0.1, "avg");
}

#[test]
fn inconsistent_values_are_refused() {
    for (spec, key) in [
        ("fred min_th 10p max_th 10p", "fred.max_th"),
        ("fred min_th 10p max_th 10kB", "fred.max_th"),
        ("fred blocks_bc", "fred.blocks_bc"),
        ("fred mean_packet 500", "fred.mean_packet"),
    ] {
        let built = Spec::parse(spec).and_then(|s| s.build(context()));
        assert_eq!(built.map(|_| ()).expect_err(spec).key, key);
    }
}

#[test]
fn unusual_settings_satisfy_the_contract() {
    for spec in [
        "fred many_flow blocks_bc w_q 1 min_q 0p max_p 1 min_th 1p",
        "fred many_flow min_th 1B max_th 2B ecn",
        "fred min_th 1p w_q 1 limit 2p overflow random",
    ] {
        contract::check(spec);
    }
}
