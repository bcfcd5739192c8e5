//! ARED: its vectors, its options and its timer.

use crate::contract;
use crate::support::{Bench, at, context, ect, near, packet, table};
use sojourn_aqm::{Cause, Conventions, Verdict};

const PAPER: &str = "ared min_th 5kB max_th 15kB w_q 1"; // in bytes, to give avg its decimals

/// ARED on a busy link with a full weight, so that the average is the queue.
fn busy(spec: &str) -> Bench {
    let mut bench = Bench::new(spec, context());
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
    bench
}

/// An arrival sets the average to `avg` thousand bytes.
fn see(bench: &mut Bench, now: f64, avg: f64) {
    let queue = bench.queue_bytes((avg * 1000.0).round() as u64);
    bench.aqm.on_offered(at(now), &packet(1000), &queue);
    assert_eq!(bench.probe("avg"), avg * 1000.0);
}

#[test]
fn v1_adapts_max_p_every_half_second() {
    let mut bench = busy(&format!("{PAPER} max_p 0.02"));
    for row in table("ared_v1").rows() {
        see(&mut bench, row.number("t"), row.number("avg"));
        assert_eq!(bench.tick(&bench.queue(0)), at(row.number("t")));
        row.check("max_p after", bench.probe("max_p"));
    }
}

#[test]
fn v2_tests_the_bounds_before_the_step() {
    for row in table("ared_v2").rows() {
        let mut bench = busy(&format!("{PAPER} max_p {}", row.word("max_p")));
        see(&mut bench, 0.1, row.number("avg"));
        bench.tick(&bench.queue(0));
        row.check("after", bench.probe("max_p"));
    }
}

#[test]
fn v3_derives_its_parameters() {
    for row in table("ared_v3").rows() {
        let rate = row.word("link").replace(' ', "").replace("Mbit/s", "").parse::<f64>().expect("a rate");
        let mean_packet = row.whole("packet");
        let link = context().with_link_rate((rate * 1e6) as u64).with_mean_packet(mean_packet);
        let mut bench = Bench::new("ared", link);
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(1_000_000));
        row.check("w_q", bench.probe("avg") / 1e6);
        let (min, max) = (row.number("min_th"), row.number("max_th"));
        let mut bench = Bench::new("ared w_q 1", link);
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        for q in [min.ceil() + 1.0, max.floor() - 1.0] {
            bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(q as u32));
            near(bench.probe("p"), 0.1 * (q - min) / (max - min), "p");
        }
    }
}

#[test]
fn v4_hysteresis_counts_periods_in_a_row() {
    let mut bench = busy(&format!("{PAPER} hysteresis 3"));
    for row in table("ared_v4").rows() {
        see(&mut bench, row.number("t"), row.number("avg"));
        bench.tick(&bench.queue(0));
        row.check("max_p after", bench.probe("max_p"));
    }
}

#[test]
fn min_th_follows_the_target_delay() {
    // 10 Mbit/s carry 62.5 packets of 1000 B in 50 ms: thresholds 31.25 and 93.75.
    let mut bench = busy("ared target_delay 50ms w_q 1");
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(50));
    near(bench.probe("p"), 0.1 * 18.75 / 62.5, "p");
}

#[test]
fn the_steps_are_parameters() {
    for (spec, avg, max_p) in [
        ("max_p 0.3 alpha 0.05", 14.0, 0.35),
        ("max_p 0.3 alpha 0.5", 14.0, 0.375),
        ("max_p 0.3 beta 0.5", 6.0, 0.15),
        ("max_p 0.7", 14.0, 0.7),
        ("max_p 0.7 top 1", 14.0, 0.71),
        ("max_p 0.999 top 1 alpha 0.1", 14.0, 1.0),
        ("max_p 0.3 bottom 0.3", 6.0, 0.3),
    ] {
        let mut bench = busy(&format!("{PAPER} {spec} interval 100ms"));
        see(&mut bench, 0.05, avg);
        assert_eq!(bench.tick(&bench.queue(0)), at(0.1));
        near(bench.probe("max_p"), max_p, spec);
    }
}

#[test]
fn the_gentle_line_starts_at_the_current_or_at_the_initial_max_p() {
    for (line, after) in [("follow", 0.41 + 0.59 * 0.2), ("first", 0.4 + 0.6 * 0.2)] {
        let mut bench = busy(&format!("{PAPER} max_p 0.4 gentle_line {line}"));
        see(&mut bench, 0.1, 18.0);
        near(bench.probe("p"), 0.4 + 0.6 * 0.2, "before");
        bench.tick(&bench.queue(0));
        near(bench.probe("p"), after, line);
        near(bench.probe("max_p"), 0.41, "max_p");
    }
    let mut bench = busy(&format!("{PAPER} gentle off ecn"));
    let queue = bench.queue_bytes(18_000);
    assert_eq!(bench.arrive(at(0.1), &ect(1000), &queue, &[]), Verdict::Mark(Cause::Forced));
}

#[test]
fn the_timer_of_an_idle_link_uses_the_decayed_average() {
    let mut bench = Bench::new("ared min_th 5kB max_th 15kB w_q 0.5", context());
    bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
    bench.aqm.on_offered(at(0.1), &packet(1000), &bench.queue_bytes(28_000));
    bench.aqm.on_idle(at(0.2));
    bench.tick(&bench.queue(0)); // the average was 14000 when the link fell idle
    near(bench.probe("max_p"), 0.09, "max_p");
    assert_eq!(bench.probe("avg"), 14_000.0); // the timer does not change it
}

#[test]
fn ns2_adapts_at_arrivals_an_interval_after_the_last_change() {
    let mut bench = busy(&format!("{PAPER} adapt arrival"));
    assert_eq!(bench.aqm.next_timer(), None);
    for (now, avg, max_p) in [
        (0.4, 12.0, 0.1),
        (0.5, 12.0, 0.1), // more than half a second is needed
        (0.51, 10.0, 0.1),
        (0.52, 12.0, 0.11), // nothing has changed since the start
        (0.53, 12.0, 0.11),
        (1.02, 12.0, 0.11),
        (1.03, 12.0, 0.12),
        (1.60, 8.0, 0.108),
    ] {
        see(&mut bench, now, avg);
        near(bench.probe("max_p"), max_p, &format!("at {now}"));
    }
}

#[test]
fn the_floor_is_the_papers_or_ns2s() {
    for (spec, conventions, floor) in [
        ("max_p 0.0095", Conventions::Rfc, 0.0095),
        ("max_p 0.0095 adapt arrival", Conventions::Rfc, 0.0095 * 0.9),
        ("max_p 0.0095", Conventions::Ns2, 0.0095 * 0.9),
        ("max_p 0.0079", Conventions::Ns2, 0.0079),
    ] {
        let mut bench = Bench::new(&format!("{PAPER} {spec}"), context().with_conventions(conventions));
        bench.aqm.on_offered(at(0.0), &packet(1000), &bench.queue(0));
        for now in [0.6, 0.7] {
            bench.aqm.on_offered(at(now), &packet(1000), &bench.queue_bytes(8000));
        }
        if bench.aqm.next_timer().is_some() {
            bench.tick(&bench.queue(0));
        }
        near(bench.probe("max_p"), floor, spec);
    }
}

#[test]
fn inconsistent_values_are_refused() {
    for (spec, key) in [
        ("ared adapt arrival hysteresis 2", "ared.hysteresis"),
        ("ared max_th 4p", "ared.max_th"),
        ("ared max_th 40kB", "ared.max_th"),
        ("ared mean_packet 500", "ared.mean_packet"),
    ] {
        let built = sojourn_aqm::Spec::parse(spec).and_then(|s| s.build(context()));
        assert_eq!(built.map(|_| ()).expect_err(spec).key, key);
    }
}

#[test]
fn unusual_settings_satisfy_the_contract() {
    for spec in [
        "ared adapt arrival top 1 alpha 1 beta 0.01 bottom 0",
        "ared min_th 1p w_q 1 max_p 1 top 1 interval 1us hysteresis 3",
        "ared min_th 10kB listing ns2 wait gentle off",
    ] {
        contract::check(spec);
    }
}
