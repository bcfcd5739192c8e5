//! Invalid plans are refused before the run, with the offending key; all other plans can be built.

use crate::{
    plans::any_plan,
    support::{MBIT, MS, SECOND, access, cases, dumbbell, options, plan, queue, run, tcp, traffic},
};
use proptest::{collection::vec, prelude::*, sample::select};
use sojourn_aqm::{Span, Time};
use sojourn_sim::{
    Plan, PlanError, Simulation,
    plan::{Access, Draw, Dumbbell, ExtraDelay, Impairment, Link, Loss, Phase, Tcp, Topology, TrafficKind},
};

/// A dumbbell with TCP, short TCP, constant and on/off datagrams, on/off TCP.
fn good() -> Plan {
    let tcp = || tcp(960, options("rfc", &[]));
    let short =
        TrafficKind::TcpShort { arrivals: 1.0, size: Some(Draw::Constant(1e4)), lifetime: None, tcp: tcp() };
    let groups = vec![
        traffic("ftp", 2, TrafficKind::Tcp(tcp())),
        traffic("short", 1, short),
        traffic("cbr", 1, TrafficKind::UdpCbr { rate: MBIT, size: 573, jitter: 0.0 }),
        traffic(
            "onoff",
            1,
            TrafficKind::UdpOnoff { rate: MBIT, size: 573, on: Span(SECOND), off: Span(SECOND) },
        ),
        traffic(
            "bursts",
            1,
            TrafficKind::TcpOnoff { rate: MBIT, on: Span(SECOND), off: Span(SECOND), tcp: tcp() },
        ),
    ];
    plan(dumbbell(queue("20p", "red")), groups, SECOND)
}

/// Two hosts, two routers, one queue.
pub(crate) fn graph() -> Plan {
    let link = |from: &str, to: &str| Link {
        from: from.to_owned(),
        to: to.to_owned(),
        rate: 10 * MBIT,
        delay: Span(MS),
        capacity: None,
        impairment: None,
        queue: None,
    };
    let mut links = vec![link("a", "R1"), link("R1", "R2"), link("R2", "b"), link("b", "R2")];
    links.extend([link("R2", "R1"), link("R1", "a")]);
    links[1].queue = Some(queue("20p", "red"));
    let mut plan = good();
    plan.topology = Topology::Graph(links);
    for group in &mut plan.traffic {
        (group.from, group.to) = (vec!["a".to_owned()], vec!["b".to_owned()]);
    }
    plan
}

fn refusal(plan: &Plan) -> PlanError {
    match Simulation::new(plan, 1) {
        Ok(_) => panic!("not refused: {plan:#?}"),
        Err(error) => error,
    }
}

/// Make the plan invalid; the error must name `key`.
fn refused(key: &str, mut plan: Plan, spoil: impl FnOnce(&mut Plan)) {
    spoil(&mut plan);
    let error = refusal(&plan);
    assert_eq!(error.key, key, "{error}");
    assert!(!error.problem.is_empty());
    assert!(error.to_string().starts_with(key));
}

fn bell(plan: &mut Plan) -> &mut Dumbbell {
    match &mut plan.topology {
        Topology::Dumbbell(dumbbell) => dumbbell,
        Topology::Graph(_) => unreachable!("a dumbbell"),
    }
}

fn links(plan: &mut Plan) -> &mut Vec<Link> {
    match &mut plan.topology {
        Topology::Graph(links) => links,
        Topology::Dumbbell(_) => unreachable!("a graph"),
    }
}

fn tcp_of(plan: &mut Plan) -> &mut Tcp {
    match &mut plan.traffic[0].kind {
        TrafficKind::Tcp(tcp) => tcp,
        _ => unreachable!("the first group is TCP"),
    }
}

/// Replace the kind of one group.
fn short(plan: &mut Plan, arrivals: f64, size: Option<Draw>, lifetime: Option<Draw>) {
    let tcp = tcp_of(plan).clone();
    plan.traffic[1].kind = TrafficKind::TcpShort { arrivals, size, lifetime, tcp };
}

fn cbr(rate: u64, size: u32, jitter: f64) -> impl FnOnce(&mut Plan) {
    move |p| p.traffic[2].kind = TrafficKind::UdpCbr { rate, size, jitter }
}

fn onoff(rate: u64, size: u32, on: u64, off: u64) -> impl FnOnce(&mut Plan) {
    move |p| p.traffic[3].kind = TrafficKind::UdpOnoff { rate, size, on: Span(on), off: Span(off) }
}

fn bursts(rate: u64, on: u64, off: u64) -> impl FnOnce(&mut Plan) {
    move |p| {
        let tcp = tcp(960, options("rfc", &[]));
        p.traffic[4].kind = TrafficKind::TcpOnoff { rate, on: Span(on), off: Span(off), tcp };
    }
}

#[test]
fn the_plans_before_the_changes_are_valid() {
    for plan in [good(), graph()] {
        Simulation::new(&plan, 1).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The latest event time is beyond the longest run, which therefore ends.
#[test]
fn the_longest_run_ends() {
    let mut longest = good();
    (longest.duration, longest.traffic) = (Span(200 * 86_400 * SECOND), longest.traffic.split_off(2));
    longest.traffic.iter_mut().for_each(|group| group.stop = Some(Time(SECOND)));
    assert!(run(&longest, 1).queues[0].arrivals > 200);
}

#[test]
fn times_are_checked() {
    refused("duration", good(), |p| p.duration = Span::ZERO);
    refused("duration", good(), |p| p.duration = Span(201 * 86_400 * SECOND));
    refused("warmup", good(), |p| p.warmup = Time::ZERO + p.duration);
    refused("drain", good(), |p| p.drain = Some(Span(u64::MAX)));
    let phase = |from, to| Phase { name: "a".to_owned(), from: Time(from), to: Time(to) };
    refused("phase.a", good(), |p| p.phases = vec![phase(5, 5)]);
    refused("phase.a", good(), |p| p.phases = vec![phase(0, p.duration.0 + 1)]);
    refused("phase.a", good(), |p| p.phases = vec![phase(0, 1), phase(1, 2)]);
    refused("phase", good(), |p| {
        p.phases = (0..1001).map(|i| Phase { name: i.to_string(), ..phase(0, 1) }).collect();
    });
    refused("trace.interval", good(), |p| p.trace.interval = Some(Span::ZERO));
    refused("trace.interval", good(), |p| {
        (p.duration, p.trace.interval) = (Span(1000 * SECOND), Some(Span(1)))
    });
    refused("dumbbell.delay", good(), |p| bell(p).delay = Span(u64::MAX));
    refused("dumbbell.access.delays", good(), |p| bell(p).access.delays.push(Span(u64::MAX)));
    refused("dumbbell.server.delays", good(), |p| bell(p).server.delays.push(Span(u64::MAX)));
    refused("link 1.delay", graph(), |p| links(p)[0].delay = Span(u64::MAX));
    refused("traffic.ftp.access.delays", good(), |p| p.traffic[0].access = Some(access(MBIT, &[u64::MAX])));
}

/// A source that is mostly off sends less than its peak rate.
#[test]
fn sources_are_limited_by_their_mean_rate() {
    let long = |plan: &mut Plan| plan.duration = Span(86_400 * SECOND);
    let with = |on, off| {
        let mut plan = good();
        long(&mut plan);
        onoff(1_000 * MBIT, 1000, on, off)(&mut plan);
        plan
    };
    Simulation::new(&with(SECOND, 99 * SECOND), 1).unwrap_or_else(|error| panic!("{error}"));
    refused("traffic.onoff.rate", with(SECOND, SECOND), |_| ());
    refused("traffic.cbr.rate", good(), |p| {
        long(p);
        p.traffic[2].kind = TrafficKind::UdpPoisson { rate: 1_000 * MBIT, size: 1000 };
    });
}

#[test]
fn links_are_checked() {
    refused("dumbbell.rate", good(), |p| bell(p).rate = 0);
    refused("dumbbell.server.rate", good(), |p| bell(p).server.rate = 0);
    refused("dumbbell.server.delays", good(), |p| bell(p).server.delays.clear());
    refused("dumbbell.access.nodes", good(), |p| bell(p).access.nodes = Some(0));
    refused("dumbbell.access.nodes", good(), |p| bell(p).access.nodes = Some(u32::MAX));
    refused("dumbbell.server.nodes", good(), |p| bell(p).server.nodes = Some(u32::MAX));
    let own = |nodes| Some(Access { nodes, ..access(MBIT, &[MS]) });
    refused("traffic.ftp.access.nodes", good(), |p| p.traffic[0].access = own(Some(0)));
    refused("traffic.ftp.access.nodes", good(), |p| p.traffic[0].access = own(Some(u32::MAX)));
    refused("traffic.ftp.access.rate", good(), |p| p.traffic[0].access = Some(access(0, &[MS])));
    refused("link 1.rate", graph(), |p| links(p)[0].rate = 0);
    refused("link 1", graph(), |p| links(p)[0].to = "a".to_owned());
    refused("link 7", graph(), |p| {
        let again = links(p)[0].clone();
        links(p).push(again);
    });
    refused("link", graph(), |p| links(p)[1].queue = None);
    refused("measure.queue", graph(), |p| links(p)[4].queue = Some(queue("5p", "droptail")));
    refused("measure.queue", good(), |p| p.measure = Some("R1-R3".to_owned()));
}

#[test]
fn impairments_are_checked() {
    type Spoil = fn(&mut Impairment);
    let spoils: [(&str, Spoil); 9] = [
        ("loss", |i| i.loss = Loss::Random(1.5)),
        ("loss", |i| i.loss = Loss::Random(f64::NAN)),
        ("loss.r", |i| i.loss = Loss::GilbertElliott { p: 0.1, r: -0.1, good: 0.0, bad: 1.0 }),
        ("loss.bad", |i| i.loss = Loss::GilbertElliott { p: 0.1, r: 0.1, good: 0.0, bad: 2.0 }),
        ("duplicate", |i| i.duplicate = -1.0),
        ("reorder", |i| i.reorder = 0.5),
        ("delay", |i| i.delay = Some(ExtraDelay::Drawn(Draw::Normal(1e6, f64::INFINITY)))),
        ("delay", |i| i.delay = Some(ExtraDelay::Steps(vec![(Span(1), Span(1))]))),
        ("delay", |i| i.delay = Some(ExtraDelay::Steps(vec![(Span(0), Span(u64::MAX))]))),
    ];
    for (key, spoil) in spoils {
        let mut impairment = Impairment::default();
        spoil(&mut impairment);
        let impairment = Some(impairment);
        refused(&format!("dumbbell.impairment.{key}"), good(), |p| bell(p).impairment = impairment.clone());
        refused(&format!("link 2.impairment.{key}"), graph(), |p| {
            links(p)[1].impairment = impairment.clone()
        });
    }
    refused("dumbbell.reverse_impairment.loss", good(), |p| {
        bell(p).reverse_impairment = Some(Impairment { loss: Loss::Random(2.0), ..Impairment::default() });
    });
}

#[test]
fn traffic_is_checked() {
    refused("traffic", good(), |p| p.traffic.clear());
    refused("traffic", good(), |p| p.traffic[0].count = 5_000_001);
    refused("traffic.ftp", good(), |p| p.traffic[1].name = "ftp".to_owned());
    refused("traffic.ftp.count", good(), |p| p.traffic[0].count = 0);
    for start in [
        Draw::Constant(-1.0),
        Draw::Constant(f64::NAN),
        Draw::Uniform(2.0, 1.0),
        Draw::Uniform(0.0, f64::INFINITY),
        Draw::Exponential(-1.0),
        Draw::Exponential(5e14),
    ] {
        refused("traffic.ftp.start", good(), |p| p.traffic[0].start = start);
    }
    refused("traffic.ftp.payload", good(), |p| tcp_of(p).payload = 0);
    refused("traffic.ftp.payload", good(), |p| tcp_of(p).payload = u32::MAX);
    refused("traffic.ftp.ack", good(), |p| tcp_of(p).ack = 0);
    refused("traffic.ftp.ack", good(), |p| tcp_of(p).ack = u32::MAX);
    let size = Some(Draw::Constant(1.0));
    for arrivals in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-12, 1e9] {
        refused("traffic.short.arrivals", good(), |p| short(p, arrivals, size, None));
    }
    refused("traffic.short", good(), |p| short(p, 1.0, size, size));
    refused("traffic.short", good(), |p| short(p, 1.0, None, None));
    refused("traffic.short.size", good(), |p| short(p, 1.0, Some(Draw::Constant(0.0)), None));
    refused("traffic.short.lifetime", good(), |p| short(p, 1.0, None, Some(Draw::Exponential(5e14))));
    let mut nothing = good();
    short(&mut nothing, 1.0, None, Some(Draw::Constant(0.0)));
    assert_eq!(refusal(&nothing).problem, "is never more than 0");
    refused("traffic.cbr.rate", good(), cbr(0, 573, 0.0));
    refused("traffic.cbr.rate", good(), cbr(u64::MAX, 573, 0.0));
    refused("traffic.cbr.rate", Plan { duration: Span(3 * SECOND), ..good() }, cbr(8000 * MBIT, 1, 0.0));
    refused("traffic.cbr.size", good(), cbr(MBIT, 0, 0.0));
    refused("traffic.cbr.size", good(), cbr(MBIT, u32::MAX, 0.0));
    refused("traffic.cbr.jitter", good(), cbr(MBIT, 573, 1.0));
    refused("traffic.cbr.jitter", good(), cbr(MBIT, 573, f64::NAN));
    refused("traffic.onoff.rate", good(), onoff(0, 573, SECOND, SECOND));
    refused("traffic.onoff.on", good(), onoff(MBIT, 573, 0, SECOND));
    refused("traffic.onoff.off", good(), onoff(MBIT, 573, SECOND, 0));
    refused("traffic.onoff.off", good(), onoff(MBIT, 573, SECOND, 500_000 * SECOND));
    refused("traffic.bursts.rate", good(), bursts(0, SECOND, SECOND));
    refused("traffic.bursts.on", good(), bursts(MBIT, 0, SECOND));
    refused("traffic.bursts.off", good(), bursts(MBIT, SECOND, 500_000 * SECOND));
    refused("traffic.ftp.from", graph(), |p| p.traffic[0].from.clear());
    refused("traffic.ftp.to", graph(), |p| p.traffic[0].to = vec!["c".to_owned()]);
    refused("traffic.ftp.to", graph(), |p| p.traffic[0].to = vec!["a".to_owned()]);
    refused("traffic.ftp", graph(), |p| drop(links(p).remove(0)));
}

#[test]
fn options_of_tcp_are_checked() {
    type Spoil = fn(&mut sojourn_sim::tcp::TcpOptions);
    let options: [(&str, Spoil); 10] = [
        ("initial_rto", |o| o.initial_rto = Span(u64::MAX)),
        ("max_rto", |o| o.max_rto = Span(u64::MAX)),
        ("min_rto", |o| o.min_rto = o.max_rto + Span(1)),
        ("delayed_ack", |o| o.delayed_ack = Span(u64::MAX)),
        ("granularity", |o| o.granularity = Span(u64::MAX)),
        ("overhead", |o| o.overhead = Span(u64::MAX)),
        ("send_jitter", |o| o.send_jitter = Span(u64::MAX)),
        ("pacing", |o| (o.pacing, o.overhead) = (true, Span(1))),
        ("receiver_window", |o| o.receiver_window = 0),
        ("sack_bytes", |o| o.sack_bytes = u32::MAX),
    ];
    for (name, spoil) in options {
        refused(&format!("traffic.ftp.tcp.{name}"), good(), |p| spoil(&mut tcp_of(p).options));
    }
}

#[test]
fn queues_are_checked_and_the_nearest_word_is_named() {
    refused("queue.limit", good(), |p| bell(p).queue.limit = "some".to_owned());
    refused("queue.limit", good(), |p| bell(p).queue.limit = "0p".to_owned());
    refused("queue.aqm", good(), |p| bell(p).queue.aqm = "rde".to_owned());
    refused("queue.aqm", good(), |p| bell(p).queue.aqm = "red min_th 10p max_th 5p".to_owned());
    refused("dumbbell.reverse_queue.aqm", good(), |p| {
        bell(p).reverse_queue = Some(queue("5p", "red min_t 5p"));
    });
    refused("link.R1-R2.queue.aqm", graph(), |p| links(p)[1].queue = Some(queue("5p", "")));
    let nearest = |mut plan: Plan, spoil: fn(&mut Plan)| {
        spoil(&mut plan);
        refusal(&plan).nearest
    };
    assert_eq!(nearest(good(), |p| bell(p).queue.aqm = "rde".to_owned()).as_deref(), Some("red"));
    assert_eq!(nearest(good(), |p| p.measure = Some("R1-R3".to_owned())).as_deref(), Some("R1-R2"));
    assert_eq!(nearest(graph(), |p| p.traffic[0].to = vec!["B".to_owned()]).as_deref(), Some("b"));
}

proptest! {
    #![proptest_config(cases(500))]

    /// Extreme numbers in random places: the plan is refused or built, never a panic.
    #[test]
    fn extreme_numbers_never_cause_a_panic(mut plan in any_plan(), places in vec((0usize..20, any::<prop::sample::Index>(), any::<bool>()), 1..4), wild in select(vec![0u64, 1, 1 << 20, 1 << 33, 1 << 62, u64::MAX])) {
        for (place, which, minus) in places {
            let float = match wild { 0 => 0.0, 1 => f64::NAN, u64::MAX => f64::INFINITY, n => n as f64 } * if minus { -1.0 } else { 1.0 };
            let group = which.index(plan.traffic.len());
            match place {
                0 => plan.duration = Span(wild),
                1 => plan.warmup = Time(wild),
                2 => plan.trace.interval = Some(Span(wild)),
                3 => plan.traffic[group].start = Draw::Constant(float),
                4 => plan.traffic[group].start = Draw::Exponential(float),
                5 => plan.traffic[group].stop = Some(Time(wild)),
                6 => plan.traffic[group].count = (wild as u32).min(1000),
                _ => match (&mut plan.traffic[group].kind, place % 4) {
                    (TrafficKind::Tcp(tcp), 0) => tcp.payload = wild as u32,
                    (TrafficKind::Tcp(tcp), 1) => tcp.header = wild as u32,
                    (TrafficKind::Tcp(tcp), 2) => tcp.options.max_rto = Span(wild),
                    (TrafficKind::Tcp(tcp), _) => tcp.options.delayed_ack = Span(wild),
                    (TrafficKind::TcpShort { arrivals, .. }, 0) => *arrivals = float,
                    (TrafficKind::TcpShort { size, .. }, 1) => *size = Some(Draw::Uniform(0.0, float)),
                    (TrafficKind::TcpShort { lifetime, .. }, 2) => *lifetime = Some(Draw::Exponential(float)),
                    (TrafficKind::TcpShort { tcp, .. }, _) => tcp.ack = wild as u32,
                    (TrafficKind::TcpOnoff { rate, .. }, 0) => *rate = wild,
                    (TrafficKind::TcpOnoff { tcp, .. }, 1) => tcp.payload = wild as u32,
                    (TrafficKind::TcpOnoff { on, .. }, 2) => *on = Span(wild),
                    (TrafficKind::TcpOnoff { off, .. }, _) => *off = Span(wild),
                    (TrafficKind::UdpCbr { rate, .. } | TrafficKind::UdpOnoff { rate, .. }, 0) => *rate = wild,
                    (TrafficKind::UdpPoisson { rate, .. }, 0 | 1) => *rate = wild,
                    (TrafficKind::UdpPoisson { size, .. }, _) => *size = wild as u32,
                    (TrafficKind::UdpCbr { size, .. } | TrafficKind::UdpOnoff { size, .. }, 1) => *size = wild as u32,
                    (TrafficKind::UdpCbr { jitter, .. }, _) => *jitter = float,
                    (TrafficKind::UdpOnoff { on, .. }, 2) => *on = Span(wild),
                    (TrafficKind::Web(web), 0) => web.page_gap = Draw::Pareto(float, float),
                    (TrafficKind::Web(web), 1) => web.size = Draw::Lomax(float, 1.5),
                    (TrafficKind::Web(web), 2) => web.request = wild as u32,
                    (TrafficKind::Web(web), _) => web.objects = Draw::Constant(float.min(1000.0)),
                    (TrafficKind::UdpOnoff { off, .. }, _) => *off = Span(wild),
                    (TrafficKind::Video(video), 0) => video.segment = Span(wild),
                    (TrafficKind::Video(video), 1) => video.startup = Span(wild),
                    (TrafficKind::Video(video), 2) => video.ladder.insert(0, wild),
                    (TrafficKind::Video(video), _) => video.buffer = Span(wild),
                },
            }
        }
        if let Err(error) = Simulation::new(&plan, 1) {
            prop_assert!(!error.key.is_empty() && !error.problem.is_empty());
        }
    }
}
