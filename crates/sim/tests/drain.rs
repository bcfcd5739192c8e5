//! A run that continues until its transfers have finished: the window is as without it, and the transfers end
//! as in a longer run.
//!
//! Mutants that are detected: transfers that began after the window are kept; pages are not waited for.

use crate::support::{SECOND, difference, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::{Span, Time};
use sojourn_sim::{
    Control, Plan, Record, Simulation,
    plan::{Draw, Trace, TrafficKind, Web},
};

const SEED: u64 = 3;

/// Endless flows, short ones, and pages with requests; at the end some of each are unfinished.
fn mixed(aqm: &str, duration: u64) -> Plan {
    let tcp = || tcp(960, options("rfc", &[]));
    let size = Some(Draw::Pareto(20_000.0, 1.3));
    let short = TrafficKind::TcpShort { arrivals: 20.0, size, lifetime: None, tcp: tcp() };
    let web = Web {
        pages: None,
        page_gap: Draw::Exponential(SECOND as f64 / 2.0),
        from_start: false,
        objects: Draw::Constant(3.0),
        object_gap: Draw::Constant(SECOND as f64 / 10.0),
        size: Draw::Exponential(20_000.0),
        patience: None,
        request: 100,
        respond_late: false,
        tcp: tcp(),
    };
    let groups = vec![
        traffic("ftp", 3, TrafficKind::Tcp(tcp())),
        traffic("short", 1, short),
        traffic("web", 4, TrafficKind::Web(web)),
    ];
    Plan { warmup: Time(SECOND), ..plan(dumbbell(queue("60p", aqm)), groups, duration) }
}

fn open(starts: &[u64], ends: &[u64], end: u64) -> usize {
    starts.iter().zip(ends).filter(|(start, done)| **start < end && **done == u64::MAX).count()
}

#[test]
fn the_window_is_the_same_and_every_transfer_ends_as_in_a_longer_run() {
    for (aqm, interval) in [("droptail", None), ("red", Some(Span(SECOND / 100))), ("pie", None)] {
        let end = 5 * SECOND;
        let trace = Trace { interval, drops: true, cwnd: false, ..Trace::default() };
        let plain = Plan { trace, ..mixed(aqm, end) };
        let before = run(&plain, SEED);
        let drained = run(&Plan { drain: Some(Span(100 * SECOND)), ..plain.clone() }, SEED);
        let longer = run(&mixed(aqm, 30 * SECOND), SEED);
        assert!(open(&before.objects.start_ns, &before.objects.end_ns, end) > 3, "{aqm}");
        assert!(open(&before.pages.start_ns, &before.pages.end_ns, end) > 0, "{aqm}");
        let rows = before.objects.start_ns.len();
        let starts: Vec<u64> = longer.objects.start_ns.iter().copied().filter(|at| *at < end).collect();
        assert_eq!(drained.objects.start_ns, starts, "{aqm}");
        assert_eq!(
            (drained.objects.start_ns.len(), &drained.objects.end_ns[..]),
            (rows, &longer.objects.end_ns[..rows])
        );
        assert_eq!(drained.objects.bytes, longer.objects.bytes[..rows]);
        let rows = before.pages.start_ns.len();
        assert_eq!(drained.pages.end_ns, longer.pages.end_ns[..rows]);
        assert_eq!(open(&drained.objects.start_ns, &drained.objects.end_ns, end), 0);
        let window = Record { objects: before.objects.clone(), pages: before.pages.clone(), ..drained };
        assert_eq!(difference(&window, &before), None, "{aqm}");
    }
}

#[test]
fn shortcuts_do_not_change_what_is_drained() {
    for aqm in ["droptail", "red", "codel"] {
        let plan = Plan { drain: Some(Span(100 * SECOND)), ..mixed(aqm, 4 * SECOND) };
        let plain = Simulation::plain(&plan, SEED).unwrap().run(&Control::default()).unwrap();
        assert_eq!(difference(&run(&plan, SEED), &plain), None);
    }
}

#[test]
fn a_drain_ends_at_its_limit() {
    let plan = Plan { drain: Some(Span(SECOND / 100)), ..mixed("droptail", 4 * SECOND) };
    let record = run(&plan, SEED);
    let open = open(&record.objects.start_ns, &record.objects.end_ns, 4 * SECOND);
    assert!(open > 0, "nothing was left");
    assert!(record.objects.end_ns.iter().all(|end| *end == u64::MAX || *end < 4 * SECOND + SECOND / 100));
}

/// At the end no object is under way, but the page lacks its second one.
#[test]
fn a_page_between_two_objects_is_not_over() {
    let TrafficKind::Web(web) = mixed("droptail", SECOND).traffic.remove(2).kind else { panic!("no web") };
    let web = Web {
        page_gap: Draw::Constant(100.0 * SECOND as f64),
        objects: Draw::Constant(2.0),
        object_gap: Draw::Constant(SECOND as f64),
        size: Draw::Constant(1000.0),
        ..web
    };
    let groups = vec![traffic("web", 1, TrafficKind::Web(web))];
    let plain = plan(dumbbell(queue("60p", "droptail")), groups, SECOND / 2);
    let record = run(&Plan { drain: Some(Span(100 * SECOND)), ..plain }, SEED);
    assert_eq!(record.objects.end_ns.len(), 1);
    assert!((SECOND..2 * SECOND).contains(&record.pages.end_ns[0]), "{}", record.pages.end_ns[0]);
}
