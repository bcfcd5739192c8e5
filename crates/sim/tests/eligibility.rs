//! Which runs take the fast path, and why the others do not.

use crate::support::{MBIT, MS, SECOND, access, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::Span;
use sojourn_sim::{
    Control, FastPath, Plan, Simulation, SlowPathReason,
    plan::{Capacity, Draw, Dumbbell, QueueConfig, Tcp, Topology, Trace, Traffic, TrafficKind},
};

/// Connections through RED that qualify.
fn eligible() -> Plan {
    let connections = traffic("ftp", 2, TrafficKind::Tcp(tcp(960, options("default", &[]))));
    plan(dumbbell(queue("20p", "red")), vec![connections], SECOND)
}

/// The same, with options set.
fn with_options(set: &[(&str, &str)]) -> Plan {
    let connections = traffic("ftp", 2, TrafficKind::Tcp(tcp(960, options("default", set))));
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

fn path_of(plan: &Plan) -> FastPath {
    run(plan, 1).fast_path
}

#[test]
fn long_lived_connections_take_it() {
    assert_eq!(path_of(&eligible()), FastPath::Yes);
    assert_eq!(path_of(&with_options(&[("variant", "sack")])), FastPath::Yes);
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
    let connection = || tcp(960, options("default", &[]));
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
        (SlowPathReason::DelayedAcks, with_options(&[("delayed_ack", "100ms")])),
        (
            SlowPathReason::SharedAccess,
            with_dumbbell(|dumbbell| {
                let mut access = access(100 * MBIT, &[5 * MS]);
                access.nodes = Some(1);
                Dumbbell { access, ..dumbbell }
            }),
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

/// Of the reasons of several flows, that of the flow closest to the fast path.
#[test]
fn the_reason_is_that_of_the_closest_flow() {
    let mut plan = with_options(&[("delayed_ack", "100ms")]);
    let noise: Traffic = traffic("noise", 1, TrafficKind::UdpCbr { rate: MBIT, size: 573, jitter: 0.0 });
    plan.traffic.insert(0, noise);
    let path = path_of(&plan);
    assert_eq!(path, FastPath::No(SlowPathReason::DelayedAcks));
    assert_eq!(path.to_string(), "no, delayed acknowledgements");
}

#[test]
fn the_reference_engine_does_not() {
    let record = Simulation::plain(&eligible(), 1).unwrap().run(&Control::default()).unwrap();
    assert_eq!(record.fast_path, FastPath::No(SlowPathReason::Reference));
}
