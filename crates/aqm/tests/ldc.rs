//! LDC: its vectors, and each of its rules by hand.

use crate::support::{Bench, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Context, Limit, Verdict};

/// A link of `bytes_per_second`.
fn link(bytes_per_second: u64) -> Context {
    context().with_link_rate(8 * bytes_per_second).with_limit(Limit::Bytes(120_000))
}

/// An interval in which `bytes` arrive and at whose end `queue` bytes are queued.
fn interval(bench: &mut Bench, bytes: u32, queue: u64) {
    bench.aqm.on_offered(sojourn_aqm::Time(0), &packet(bytes), &bench.queue_bytes(queue));
    bench.tick(&bench.queue_bytes(queue));
}

#[test]
fn v1_drop_function() {
    for row in table("ldc_v1").rows() {
        // Averages with a weight of 1; targets of 1000 bytes and of the rate itself.
        let mut bench = Bench::new("ldc d_target 1s tau 1s r_target 1 w_q 1 w_r 1", link(1000));
        interval(&mut bench, (row.number("R ratio") * 1e3) as u32, (row.number("Q ratio") * 1e3) as u64);
        row.check("P_drop", bench.probe("p"));
        let (p, queue) = (bench.probe("p"), bench.queue(0));
        if p < 1.0 {
            let time = sojourn_aqm::Time(1);
            assert_eq!(bench.arrive(time, &packet(1000), &queue, &[p]), Verdict::Pass);
        }
    }
}

#[test]
fn v2_run() {
    let mut bench = Bench::new("ldc tau 100ms d_target 200ms", link(125_000));
    for row in table("ldc_v2").rows() {
        interval(&mut bench, row.whole("A"), row.number("q") as u64);
        row.check("R_avg", bench.probe("r_avg"));
        row.check("Q_avg", bench.probe("q_avg"));
        row.check("P_drop", bench.probe("p"));
        let (p, queue) = (bench.probe("p"), bench.queue(0));
        let time = sojourn_aqm::Time(0);
        let mut copy = Bench { aqm: bench.aqm.clone(), context: bench.context };
        assert_eq!(copy.arrive(time, &packet(1000), &queue, &[p]), Verdict::Pass);
        let below = p * (1.0 - 1e-12);
        assert_eq!(copy.arrive(time, &packet(1000), &queue, &[below]), Verdict::Drop(Cause::Early));
    }
}

#[test]
fn v3_short_intervals_on_a_slow_link() {
    let mut bench = Bench::new("ldc", link(12_500));
    for row in table("ldc_v3").rows() {
        let now = bench.aqm.next_timer().expect("a tick");
        assert_eq!(now.0, 2_000_000 * row.number("interval") as u64);
        interval(&mut bench, 1000 * row.whole("arrivals"), 0);
        row.check("R_avg", bench.probe("r_avg"));
        row.check("load part of P_drop", bench.probe("p_load"));
        assert_eq!(bench.probe("p_delay"), 0.0);
    }
}

#[test]
fn weights_exponent_and_targets_are_parameters() {
    // Both at half their targets; each part by hand.
    for (options, p) in [
        ("w_d 1", 0.125),
        ("w_d 0", 0.125),
        ("w_d 0.5 w_l 0.5", 0.125),
        ("w_d 1 n 1", 0.5),
        ("n 2", 0.25),
        ("w_d 1 d_target 2s", 0.25 * 0.25 * 0.25),
        ("w_d 0 r_target 0.5", 1.0),
        ("w_d 0 rate 16kbit/s", 0.25 * 0.25 * 0.25),
        ("w_d 1 w_q 0.5", 0.25 * 0.25 * 0.25),
        ("w_d 0 w_r 0.5", 0.25 * 0.25 * 0.25),
    ] {
        let base = ["d_target 1s", "r_target 1", "w_q 1", "w_r 1"];
        let kept = base.iter().filter(|word| !options.contains(word.split(' ').next().unwrap()));
        let rest: Vec<&str> = kept.copied().collect();
        let mut bench = Bench::new(&format!("ldc tau 1s {} {options}", rest.join(" ")), link(1000));
        interval(&mut bench, 500, 500);
        near(bench.probe("p"), p, options);
    }
}

#[test]
fn overflowing_arrivals_count_as_load_of_one_interval() {
    let mut bench = Bench::new("ldc tau 1s w_r 1 r_target 1 w_d 0", link(1000));
    let full = bench.queue_bytes(120_000);
    bench.aqm.on_offered(sojourn_aqm::Time(0), &packet(500), &full);
    bench.aqm.on_drop(sojourn_aqm::Time(0), &packet(500), Cause::Overflow, &full);
    bench.tick(&full);
    near(bench.probe("r_avg"), 0.5, "half the rate");
    bench.tick(&full);
    assert_eq!(bench.probe("p"), 0.0);
}

#[test]
fn ecn_capable_packets_are_marked() {
    let mut bench = Bench::new("ldc ecn tau 1s w_r 1 w_d 0", link(1000));
    interval(&mut bench, 5000, 0);
    let queue = bench.queue(0);
    let time = sojourn_aqm::Time(0);
    assert_eq!(bench.arrive(time, &ect(1000), &queue, &[0.99]), Verdict::Mark(Cause::Early));
    assert_eq!(bench.arrive(time, &packet(1000), &queue, &[0.99]), Verdict::Drop(Cause::Early));
}

#[test]
fn the_output_rate_may_be_measured() {
    let mut bench = Bench::new("ldc output measured tau 1s w_r 0.5 r_target 1 w_q 1 d_target 2s", link(1000));
    let mut rng = crate::support::Scripted::new(&[]);
    let mut second = |arrived: u32, departed: u32, waiting: u64| {
        let queue = bench.queue_bytes(waiting);
        bench.aqm.on_offered(sojourn_aqm::Time(0), &packet(arrived), &queue);
        bench.aqm.on_departure(sojourn_aqm::Time(0), &packet(departed), &queue, &mut rng);
        bench.tick(&queue);
        (bench.probe("r_avg"), bench.probe("p_delay"))
    };
    // Input and output are averaged, then divided; the output starts at the link's 1000 B/s.
    let (r, delay) = second(600, 500, 1500);
    near(r, 300.0 / 750.0, "r");
    near(delay, 0.75, "1500 B are 2 s at 750 B/s");
    let (r, _) = second(700, 50, 0);
    near(r, 500.0 / 750.0, "an idle link does not say how fast it could have sent");
}

#[test]
fn weights_that_do_not_add_up_are_refused() {
    let spec = sojourn_aqm::Spec::parse("ldc w_d 0.5 w_l 0.6").expect("each is in range");
    assert_eq!(spec.build(context()).map(|_| ()).expect_err("1.1").key, "ldc.w_l");
}
