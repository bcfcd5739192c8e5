//! CHOKe: its vectors on a queue that contains packets, and each of its rules by hand.

use crate::support::{Bench, Scripted, at, context, ect, near, packet, table};
use sojourn_aqm::{Aqm, Cause, Class, Contents, Ecn, FlowId, PacketView, QueueView, Stream, Time, Verdict};

/// The flows of the queued packets, head first.
#[derive(Clone)]
struct Line(Vec<u32>);

impl Contents for Line {
    fn at(&self, position: u32) -> Option<PacketView> {
        self.0.get(position as usize).map(|flow| of(*flow))
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        self.0.iter().filter(|f| **f == flow.0).count() as u32
    }
    fn of_class(&self, _: Class) -> u32 {
        0
    }
}

impl Line {
    fn view(&self) -> QueueView<'_> {
        let packets = self.0.len() as u32;
        let bytes = 1000 * u64::from(packets);
        QueueView::new(packets, bytes, context().limit, 10_000_000, self)
    }
    fn named(&self) -> String {
        self.0.iter().map(|flow| char::from(b'A' + *flow as u8)).collect()
    }
}

fn of(flow: u32) -> PacketView {
    packet(1000).with_flow(FlowId(flow))
}

/// An arrival that draws `numbers`; the queue executes the verdict.
fn arrive(aqm: &mut dyn Aqm, line: &mut Line, packet: PacketView, numbers: &[f64]) -> Verdict {
    let mut rng = Scripted::new(numbers);
    aqm.on_offered(Time(1), &packet, &line.view());
    let verdict = aqm.on_arrival(Time(1), &packet, &line.view(), &mut rng);
    rng.assert_used("arrival");
    match verdict {
        Verdict::DropBoth { victim, .. } => {
            line.0.remove(victim as usize);
        }
        Verdict::Drop(_) => {}
        Verdict::Pass | Verdict::Mark(_) => line.0.push(packet.flow.0),
    }
    verdict
}

/// CHOKe whose average is the queue, on a busy link.
fn choke(options: &str) -> Bench {
    let mut bench = Bench::new(&format!("choke w_q 1 min_th 2p max_th 4p max_p 0.5 {options}"), context());
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
    bench
}

#[test]
fn v1_run() {
    let mut bench = choke("");
    let mut line = Line(Vec::new());
    for row in table("choke_v1").rows() {
        let flow = u32::from(row.word("flow").as_bytes()[0] - b'A');
        let q = line.0.len() as f64;
        row.check("q = avg", q);
        // The middle of the random numbers that select this position.
        let mut numbers: Vec<f64> = row.option("picked").map(|k| (k + 0.5) / q).into_iter().collect();
        numbers.extend(row.draws());
        let verdict = arrive(&mut *bench.aqm, &mut line, of(flow), &numbers);
        match row.word("result") {
            "accept" => assert_eq!(verdict, Verdict::Pass),
            "both dropped" => {
                let victim = row.whole("picked");
                assert_eq!(verdict, Verdict::DropBoth { victim, cause: Cause::FlowLimit });
            }
            other => panic!("{other}"),
        }
        row.check("p_a", bench.probe("p_a"));
        row.check("count", bench.probe("count"));
        assert_eq!(line.named(), row.word("queue after"));
    }
}

/// V2: drops of a flow with half of the queue, where RED drops one in ten.
#[test]
fn v2_the_share_of_drops_is_the_share_of_the_queue() {
    let line = Line(vec![0, 1, 0, 1]);
    let mut rng = Stream::new(1, "choke");
    let trials = 100_000;
    let mut drops = 0;
    for _ in 0..trials {
        // p_b = 0.1 on the first packet that is tested.
        let mut bench = Bench::new("choke w_q 1 min_th 2p max_th 12p max_p 0.5", context());
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        bench.aqm.on_offered(at(0.0), &of(0), &line.view());
        let verdict = bench.aqm.on_arrival(at(0.0), &of(0), &line.view(), &mut rng);
        drops += u32::from(verdict != Verdict::Pass);
    }
    let share = f64::from(drops) / f64::from(trials);
    assert!((share - 0.55).abs() < 5.0 * (0.55 * 0.45 / f64::from(trials)).sqrt(), "{share}");
}

/// V3: a single flow loses every arrival from min_th on, and a queued packet with it.
#[test]
fn v3_a_single_flow_stays_at_the_threshold() {
    let mut bench = choke("ecn");
    let mut line = Line(Vec::new());
    for _ in 0..20 {
        let before = line.0.len();
        let alone = of(0).with_ecn(Ecn::Ect0);
        let numbers: &[f64] = if before >= 2 { &[0.7] } else { &[] };
        let verdict = arrive(&mut *bench.aqm, &mut line, alone, numbers);
        assert_eq!(matches!(verdict, Verdict::DropBoth { .. }), before >= 2, "dropped, although ECN-capable");
        assert!(line.0.len() <= 2);
    }
}

#[test]
fn red_decides_about_the_others() {
    let full = Line(vec![1; 4]);
    for (options, packet, verdict) in [
        ("", packet(1000), Verdict::Drop(Cause::Forced)),
        ("ecn", ect(1000), Verdict::Mark(Cause::Forced)),
        ("ecn ecn_forced drop", ect(1000), Verdict::Drop(Cause::Forced)),
        ("ecn", packet(1000), Verdict::Drop(Cause::Forced)),
    ] {
        let mut bench = choke(options);
        assert_eq!(arrive(&mut *bench.aqm, &mut full.clone(), packet, &[0.1]), verdict, "{options}");
        assert_eq!(bench.probe("count"), 0.0);
    }
    let mut bench = choke("ecn");
    let mut line = Line(vec![1; 3]);
    assert_eq!(arrive(&mut *bench.aqm, &mut line, ect(1000), &[0.1, 0.2]), Verdict::Mark(Cause::Early));
    near(bench.probe("p_a"), 0.25, "p_b at the middle");
    assert_eq!(
        arrive(&mut *bench.aqm, &mut line, of(1), &[0.0]),
        Verdict::DropBoth { victim: 0, cause: Cause::FlowLimit }
    );
    assert_eq!(bench.probe("count"), 0.0);
    bench.aqm.on_drop(at(1.0), &packet(1000), Cause::Overflow, &line.view());
    assert_eq!(bench.probe("count"), 0.0);
}

#[test]
fn several_candidates_are_compared_until_one_matches() {
    let mut bench = choke("candidates 3");
    let mut line = Line(vec![1, 1, 0]);
    let both = Verdict::DropBoth { victim: 2, cause: Cause::FlowLimit };
    assert_eq!(arrive(&mut *bench.aqm, &mut line.clone(), of(0), &[0.0, 0.5, 0.9]), both);
    assert_eq!(arrive(&mut *bench.aqm, &mut line.clone(), of(0), &[0.9]), both);
    // No match: the fourth number is RED's.
    assert_eq!(arrive(&mut *bench.aqm, &mut line, of(0), &[0.0, 0.5, 0.1, 0.99]), Verdict::Pass);
}

#[test]
fn an_empty_queue_has_no_packet_to_compare_with() {
    // The average is above min_th although the queue is empty.
    let mut bench = Bench::new("choke w_q 0.5 min_th 2p max_th 8p", context());
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(10));
    let mut line = Line(Vec::new());
    assert_eq!(arrive(&mut *bench.aqm, &mut line, of(0), &[0.9]), Verdict::Pass);
    near(bench.probe("avg"), 2.5, "avg");
}

#[test]
fn byte_mode_scales_by_size() {
    let mut bench = Bench::new("choke w_q 1 min_th 2kB max_th 4kB max_p 0.5", context());
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
    let mut line = Line(vec![1; 3]);
    arrive(&mut *bench.aqm, &mut line, of(0), &[0.1, 0.9]);
    near(bench.probe("p_a"), 0.25 / 1.5, "1000 of 1500 bytes");
}
