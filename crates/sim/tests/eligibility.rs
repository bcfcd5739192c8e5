//! Which runs take the fast path, and why the others do not.
//!
//! Mutants that are detected, in `path/eligibility.rs`: each condition of `fast_path` left out or negated;
//! the rate of the first queue's link for that of the measured one; each guard and each kind of `sender`
//! left out or negated. In `path/lookahead.rs`, `find_eventless`: the sender, a shared first link, its queue
//! or delayed acknowledgements left out.

use crate::support::{MBIT, MS, SECOND, access, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::Span;
use sojourn_sim::{
    Control, FastPath, Plan, Simulation, SlowPathReason,
    plan::{Capacity, Draw, Dumbbell, Link, QueueConfig, Tcp, Topology, Trace, Traffic, TrafficKind},
};

/// Connections through RED that qualify.
fn eligible() -> Plan {
    let connections = traffic("ftp", 2, TrafficKind::Tcp(tcp(960, options("rfc", &[]))));
    plan(dumbbell(queue("20p", "red")), vec![connections], SECOND)
}

/// The same, with options set.
fn with_options(set: &[(&str, &str)]) -> Plan {
    let connections = traffic("ftp", 2, TrafficKind::Tcp(tcp(960, options("rfc", set))));
    Plan { traffic: vec![connections], ..eligible() }
}

/// The same, with another dumbbell.
fn with_dumbbell(change: impl FnOnce(Dumbbell) -> Dumbbell) -> Plan {
    Plan { topology: Topology::Dumbbell(change(dumbbell(queue("20p", "red")))), ..eligible() }
}

/// The same, with this traffic alone.
fn with_traffic(kind: TrafficKind) -> Plan {
    Plan { traffic: vec![traffic("only", 2, kind)], ..eligible() }
}

/// A one-way link of a graph, without a queue.
fn link(from: &str, to: &str) -> Link {
    let (from, to) = (from.to_owned(), to.to_owned());
    Link { from, to, rate: 10 * MBIT, delay: Span(MS), capacity: None, impairment: None, queue: None }
}

/// One connection from `a` to `b`, in this graph.
fn with_links(links: Vec<Link>) -> Plan {
    let mut connection = traffic("ftp", 1, TrafficKind::Tcp(tcp(960, options("rfc", &[]))));
    (connection.from, connection.to) = (vec!["a".to_owned()], vec!["b".to_owned()]);
    Plan { topology: Topology::Graph(links), traffic: vec![connection], ..eligible() }
}

/// Connections from `a` to `b` and from `d` to `c` through one queue, with delayed acknowledgements.
fn with_two_receivers() -> Plan {
    let mut links = vec![link("a", "R1"), Link { queue: Some(queue("20p", "red")), ..link("R1", "R2") }];
    links.extend([link("R2", "b"), link("b", "a"), link("d", "R1"), link("R2", "c"), link("c", "d")]);
    let plan = with_links(links);
    let mut connection =
        traffic("b", 1, TrafficKind::Tcp(tcp(960, options("rfc", &[("delayed_ack", "40ms")]))));
    (connection.from, connection.to) = (vec!["a".to_owned()], vec!["b".to_owned()]);
    let mut other = Traffic { name: "c".to_owned(), ..connection.clone() };
    (other.from, other.to) = (vec!["d".to_owned()], vec!["c".to_owned()]);
    Plan { traffic: vec![connection, other], measure: Some("R1-R2".to_owned()), ..plan }
}

fn path_of(plan: &Plan) -> FastPath {
    run(plan, 1).fast_path
}

#[test]
fn long_lived_connections_take_it() {
    assert_eq!(path_of(&eligible()), FastPath::Yes);
    assert_eq!(path_of(&with_options(&[("variant", "sack")])), FastPath::Yes);
    assert_eq!(path_of(&with_options(&[("delayed_ack", "100ms")])), FastPath::Yes);
    assert_eq!(FastPath::Yes.to_string(), "yes");
}

#[test]
fn one_flow_that_qualifies_is_enough() {
    let mut mixed = eligible();
    let noise = TrafficKind::UdpCbr { rate: MBIT / 4, size: 573, jitter: 0.5 };
    mixed.traffic.push(traffic("noise", 1, noise));
    assert_eq!(path_of(&mixed), FastPath::Yes);
}

#[test]
fn each_reason_is_named() {
    let connection = || tcp(960, options("rfc", &[]));
    let cases = [
        (SlowPathReason::WindowTrace, Plan { trace: Trace { cwnd: true, ..Trace::default() }, ..eligible() }),
        (
            SlowPathReason::VaryingRate,
            with_dumbbell(|dumbbell| {
                let steps = vec![(Span(SECOND), MBIT), (Span(SECOND), 2 * MBIT)];
                Dumbbell { capacity: Some(Capacity::Steps { steps, repeats: true }), ..dumbbell }
            }),
        ),
        (SlowPathReason::Datagrams, with_traffic(TrafficKind::UdpCbr { rate: MBIT, size: 573, jitter: 0.0 })),
        (
            SlowPathReason::Datagrams,
            with_traffic(TrafficKind::UdpOnoff {
                rate: MBIT,
                size: 573,
                on: Span(SECOND),
                off: Span(SECOND),
            }),
        ),
        (
            SlowPathReason::Application,
            with_traffic(TrafficKind::TcpShort {
                arrivals: 5.0,
                size: Some(Draw::Constant(9000.0)),
                lifetime: None,
                tcp: connection(),
            }),
        ),
        (
            SlowPathReason::RateCap,
            with_traffic(TrafficKind::Tcp(Tcp { max_rate: Some(MBIT), ..connection() })),
        ),
        (SlowPathReason::SendJitter, with_options(&[("overhead", "1ms")])),
        (SlowPathReason::Pacing, with_options(&[("pacing", "on")])),
        (SlowPathReason::DelayedAcks, with_two_receivers()),
        (
            SlowPathReason::SharedAccess,
            with_dumbbell(|dumbbell| {
                let mut access = access(100 * MBIT, &[5 * MS]);
                access.nodes = Some(1);
                Dumbbell { access, ..dumbbell }
            }),
        ),
        (
            SlowPathReason::QueueAtSender,
            with_links(vec![Link { queue: Some(queue("20p", "red")), ..link("a", "b") }, link("b", "a")]),
        ),
        (
            SlowPathReason::SharedPath,
            with_dumbbell(|dumbbell| {
                let reverse: QueueConfig = queue("50p", "droptail");
                Dumbbell { reverse_queue: Some(reverse), ..dumbbell }
            }),
        ),
    ];
    for (reason, plan) in cases {
        assert_eq!(path_of(&plan), FastPath::No(reason));
    }
}

/// A reason that holds for the whole run is named before those of its flows.
#[test]
fn a_reason_of_the_run_precedes_those_of_flows() {
    let capped =
        with_traffic(TrafficKind::Tcp(Tcp { max_rate: Some(MBIT), ..tcp(960, options("rfc", &[])) }));
    let plan = Plan { trace: Trace { cwnd: true, ..Trace::default() }, ..capped };
    assert_eq!(path_of(&plan), FastPath::No(SlowPathReason::WindowTrace));
}

/// Only the measured link needs a constant rate, whichever link comes first.
#[test]
fn the_rate_of_another_link_may_vary() {
    let steps = vec![(Span(SECOND), MBIT), (Span(SECOND), 2 * MBIT)];
    let varying = Link {
        queue: Some(queue("20p", "droptail")),
        capacity: Some(Capacity::Steps { steps, repeats: true }),
        ..link("c", "d")
    };
    let measured = Link { queue: Some(queue("20p", "red")), ..link("R1", "R2") };
    let mut links = vec![varying, link("a", "R1"), measured, link("R2", "b")];
    links.extend([link("b", "R2"), link("R2", "R1"), link("R1", "a")]);
    let mut plan = Plan { measure: Some("R1-R2".to_owned()), ..with_links(links) };
    assert_eq!(path_of(&plan), FastPath::Yes);
    plan.measure = Some("c-d".to_owned());
    assert_eq!(path_of(&plan), FastPath::No(SlowPathReason::VaryingRate));
}

/// Of the reasons of several flows, that of the flow closest to the fast path.
#[test]
fn the_reason_is_that_of_the_closest_flow() {
    let mut plan = with_options(&[("overhead", "1ms")]);
    let noise: Traffic = traffic("noise", 1, TrafficKind::UdpCbr { rate: MBIT, size: 573, jitter: 0.0 });
    plan.traffic.insert(0, noise);
    let path = path_of(&plan);
    assert_eq!(path, FastPath::No(SlowPathReason::SendJitter));
    assert_eq!(path.to_string(), "no, send jitter");
}

#[test]
fn the_reference_engine_does_not() {
    let record = Simulation::plain(&eligible(), 1).unwrap().run(&Control::default()).unwrap();
    assert_eq!(record.fast_path, FastPath::No(SlowPathReason::Reference));
}
