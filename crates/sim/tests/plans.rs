//! Random plans: small, short, and with many ties.
//!
//! Rates, sizes and delays have few values that divide each other, so that packets of different paths often
//! arrive at the same nanosecond: ties are where the fast path is most likely to be wrong.

use crate::support::{MBIT, MS, SECOND, options, queue, tcp, traffic};
use proptest::{collection::vec, option, prelude::*, sample::select};
use sojourn_aqm::{Conventions, Kind, Span, Time, registry};
use sojourn_sim::{
    Plan,
    plan::{
        Access, Capacity, Draw, Dumbbell, Ecn, ExtraDelay, Impairment, Link, Loss, Medium, QueueConfig, Sink,
        Stagger, Tcp, Topology, Trace, Traffic, TrafficKind, Video, Web,
    },
    tcp::schema,
};

/// A plan of 1 to 3 s.
pub(crate) fn any_plan() -> impl Strategy<Value = Plan> {
    (
        prop_oneof![dumbbell_and_traffic(), graph_and_traffic()],
        (500u64..3000).prop_map(Span::from_millis),
        prop_oneof![Just(0u64), 1..400u64].prop_map(|ms| Time(ms * MS)),
        option::of(select([10, 33, 100].map(Span::from_millis).to_vec())),
        (any::<bool>(), any::<bool>(), any::<bool>()),
    )
        .prop_map(|((topology, traffic), duration, warmup, interval, (ns2, cwnd, delays))| Plan {
            duration,
            warmup,
            measure: matches!(topology, Topology::Graph(_)).then(|| "R0-R1".to_owned()),
            topology,
            traffic,
            drain: None,
            phases: Vec::new(),
            trace: Trace { interval, drops: true, cwnd, delays, ..Trace::default() },
            conventions: if ns2 { Conventions::Ns2 } else { Conventions::Rfc },
            algorithms: Vec::new(),
        })
}

fn rate() -> impl Strategy<Value = u64> + Clone {
    select(vec![MBIT, 2 * MBIT, 3 * MBIT, 10 * MBIT])
}

fn host_rate() -> impl Strategy<Value = u64> + Clone {
    select(vec![2 * MBIT, 10 * MBIT, 100 * MBIT])
}

fn delay() -> impl Strategy<Value = Span> + Clone {
    select([0, 1, 2, 10].map(Span::from_millis).to_vec())
}

/// Every algorithm with its defaults, and some with settings that act within a second.
pub(crate) fn specs() -> impl Strategy<Value = String> + Clone {
    let busy = [
        "droptail",
        "droptail overflow head",
        "droptail overflow random",
        "red min_th 2p max_th 6p max_p 0.2 w_q 0.1",
        "gred min_th 1p max_th 3p max_p 0.5 w_q 0.5 overflow head",
        "red min_th 2p max_th 4p max_p 1 w_q 1 wait",
        "pi q_ref 2p a 0.02 b 0.0199",
        "rem b_star 2p gamma 0.1",
        "avq gamma 0.9",
        "gkvq theta 0.8",
        "gkvq form until_empty theta 0.8",
        "fq_codel target 1ms interval 10ms flows 4",
        "fq_codel memory 3kB drop_batch 1",
        "fq_pie target 1ms max_burst 0s flows 2",
        "cake bandwidth 800kbit/s tins besteffort rtt 20ms",
        "cake bandwidth 5Mbit/s tins diffserv4 isolation dual-dsthost overhead 18 mpu 64B framing atm ingress",
        "cake memory 4kB isolation hosts",
        "dualpi2 target 1ms rtt_max 10ms",
        "drr aqm codel w_1 3 quantum 500B",
        "drr aqm pie classes 2",
        "prio aqm red evict lowest",
        "prio evict lowest classes 2 aqm_1 (fq_codel flows 4 target 1ms interval 10ms)",
        "drr classes 2 precedences 3 aqm_0 (rio min_out 1p max_out 3p max_p_out 0.5 w_q 0.5) aqm_1 (bio max_in 3p)",
        "rio min_out 1p max_out 3p max_p_out 0.5 min_in 3p max_in 5p w_q 0.5",
        "bio max_in 6p d_i_out 0.2 d_i_in 0.1 in_hold 1ms out_hold 1ms",
    ];
    let schedulers = registry::SCHEDULERS.iter().map(|discipline| discipline.algorithm.name);
    let all = registry::names().into_iter().chain(schedulers).chain(busy).map(str::to_owned);
    select(all.collect::<Vec<_>>())
}

fn any_queue() -> impl Strategy<Value = QueueConfig> + Clone {
    let limit = select(vec!["1p", "2p", "5p", "20p", "1500B", "5kB", "20kB"]);
    (limit, specs(), any::<bool>(), option::weighted(0.2, any_medium()))
        .prop_map(|(limit, aqm, ecn, medium)| QueueConfig { ecn, medium, ..queue(limit, &aqm) })
}

fn any_medium() -> impl Strategy<Value = Medium> + Clone {
    let overhead = select(vec![Draw::Constant(0.0), Draw::Uniform(0.0, 3e6), Draw::Exponential(1e6)]);
    let time = || select([1, 1000, 1_000_000, 20_000_000].map(Span).to_vec());
    prop_oneof![
        (1u32..9, time(), overhead).prop_map(|(packets, time, overhead)| Medium::Contention {
            packets,
            time,
            overhead
        }),
        (time(), time()).prop_map(|(cycle, delay)| Medium::Grants { cycle, delay }),
    ]
}

fn any_access() -> impl Strategy<Value = Access> {
    // At the last rate, the transmission time of an acknowledgement rounds to 0.
    let rate = select(vec![2 * MBIT, 10 * MBIT, 100 * MBIT, 1_000_000 * MBIT]);
    (rate, vec(delay(), 1..4), option::of(1u32..4)).prop_map(|(rate, delays, nodes)| Access {
        rate,
        delays,
        nodes,
    })
}

/// Every congestion control.
fn any_variant() -> impl Strategy<Value = &'static str> {
    let variant = schema::OPTIONS.iter().find(|option| option.param.name == "variant").unwrap();
    let Kind::Choice(words) = variant.param.kind else { unreachable!("it is one of several words") };
    select(words.to_vec())
}

fn any_tcp() -> impl Strategy<Value = Tcp> {
    (
        select(vec!["rfc", "ns2", "ns2-2001", "linux"]),
        any_variant(),
        (select(vec!["0s", "0s", "40ms", "100ms"]), any_rule()),
        select(vec!["off", "on"]),
        select(vec!["2", "6", "20", "10000"]),
        select(vec!["on", "on", "off"]),
        select(vec!["0s", "0s", "0s", "2ms"]),
        (
            select(vec![460, 960]),
            select(vec![None, None, None, Some(Draw::Uniform(100.0, 960.0))]),
            select(vec![None, None, None, Some(MBIT / 2), Some(5 * MBIT)]),
            select(vec!["0s", "0s", "1us", "3ms"]),
        ),
    )
        .prop_map(
            |(
                preset,
                variant,
                (delayed_ack, (rule, word)),
                ecn,
                window,
                syn,
                overhead,
                (payload, payloads, max_rate, send_jitter),
            )| {
                // These two need RACK, which is a rule of its own under the other presets.
                let needs_rack = matches!(rule, "hystart" | "accurate_ecn") && preset != "linux";
                let (rule, word) = if needs_rack { ("loss_detection", "rack") } else { (rule, word) };
                let paces = matches!(variant, "bbr" | "prague");
                let has_no_recovery = variant == "tahoe"
                    && matches!(rule, "loss_detection" | "recovery" | "hystart" | "accurate_ecn");
                let has_own_start = paces || variant.starts_with("ledbat");
                let is_excluded = has_no_recovery || has_own_start && rule == "hystart";
                let (rule, word) = if is_excluded { ("max_rto", "60s") } else { (rule, word) };
                let overhead = if rule == "pacing" || paces { "0s" } else { overhead };
                let set = [
                    ("variant", variant),
                    ("delayed_ack", delayed_ack),
                    ("ecn", ecn),
                    ("receiver_window", window),
                    ("syn", syn),
                    ("min_rto", "200ms"),
                    (rule, word),
                    ("overhead", overhead),
                    ("send_jitter", send_jitter),
                ];
                Tcp { max_rate, payloads, ..tcp(payload, options(preset, &set)) }
            },
        )
}

/// At most one of the options of Linux.
fn any_rule() -> impl Strategy<Value = (&'static str, &'static str)> {
    select(vec![
        ("max_rto", "60s"),
        ("max_rto", "60s"),
        ("loss_detection", "rack"),
        ("recovery", "prr"),
        ("byte_counting", "on"),
        ("quick_acks", "3"),
        ("timer", "linux"),
        ("ect", "ect1"),
        ("cubic", "linux"),
        ("hystart", "rfc9406"),
        ("pacing", "on"),
        ("accurate_ecn", "on"),
    ])
}

fn any_kind() -> impl Strategy<Value = TrafficKind> {
    let size = select(vec![40, 500, 1000]);
    let length = prop_oneof![
        Just(Draw::Constant(5000.0)),
        Just(Draw::Exponential(8000.0)),
        Just(Draw::Constant(1.0)),
    ];
    prop_oneof![
        4 => any_tcp().prop_map(TrafficKind::Tcp),
        2 => (2.0..40.0, length, any_tcp()).prop_map(|(arrivals, size, tcp)| TrafficKind::TcpShort {
            arrivals,
            size: Some(size),
            lifetime: None,
            tcp
        }),
        1 => (2.0..20.0, any_tcp()).prop_map(|(arrivals, tcp)| TrafficKind::TcpShort {
            arrivals,
            size: None,
            lifetime: Some(Draw::Uniform(0.0, 0.3e9)),
            tcp
        }),
        1 => (rate(), any_tcp()).prop_map(|(rate, tcp)| TrafficKind::TcpOnoff { rate, on: Span(20 * MS), off: Span(30 * MS), tcp }),
        3 => any_web().prop_map(TrafficKind::Web),
        2 => any_video().prop_map(TrafficKind::Video),
        2 => (select(vec![MBIT / 4, MBIT, 2 * MBIT]), size.clone(), select(vec![0.0, 0.0, 0.5]))
            .prop_map(|(rate, size, jitter)| TrafficKind::UdpCbr { rate, size, jitter }),
        1 => (rate(), size.clone()).prop_map(|(rate, size)| TrafficKind::UdpPoisson { rate, size }),
        1 => (rate(), size).prop_map(|(rate, size)| TrafficKind::UdpOnoff { rate, size, on: Span(20 * MS), off: Span(30 * MS) }),
    ]
}

fn any_marker() -> impl Strategy<Value = Option<String>> {
    let specs = [
        "token_bucket cir 200kbit/s cbs 3kB",
        "srtcm cir 100kbit/s cbs 2kB ebs 4kB colour_aware",
        "trtcm cir 100kbit/s cbs 2kB pir 400kbit/s pbs 4kB",
        "tsw2cm cir 200kbit/s window 100ms",
        "tsw3cm cir 100kbit/s pir 300kbit/s window 100ms",
    ];
    option::weighted(0.4, select(specs.map(str::to_owned).to_vec()))
}

/// Pages with few and small objects, so that many end within the run; some start at the end of another.
fn any_web() -> impl Strategy<Value = Web> {
    let gap = select(vec![
        Draw::Constant(0.0),
        Draw::Constant(10.0 * MS as f64),
        Draw::Exponential(50.0 * MS as f64),
        Draw::Pareto(50.0 * MS as f64, 1.5),
    ]);
    let count = select(vec![Draw::Constant(1.0), Draw::Constant(3.0), Draw::Pareto(3.0, 1.2)]);
    let size = select(vec![Draw::Constant(1.0), Draw::Constant(5000.0), Draw::Lomax(4000.0, 1.2)]);
    let way =
        (any::<bool>(), any::<bool>(), any::<bool>(), option::weighted(0.3, 1u32..4), select(vec![60, 960]));
    (gap.clone(), gap, count, size, way, any_tcp()).prop_map(
        |(page_gap, object_gap, objects, size, (from_start, respond_late, patience, pages, request), tcp)| {
            Web {
                pages,
                page_gap: if from_start { Draw::Exponential(200.0 * MS as f64) } else { page_gap },
                from_start,
                patience: patience.then_some(Draw::Exponential(100.0 * MS as f64)),
                objects,
                object_gap,
                size,
                request,
                respond_late,
                tcp,
            }
        },
    )
}

/// Videos with short segments and small buffers, so that players change the bitrate, wait and stall.
fn any_video() -> impl Strategy<Value = Video> {
    let ladder = select(vec![vec![MBIT / 2], vec![MBIT / 4, MBIT, 3 * MBIT, 20 * MBIT]]);
    let times = select(vec![(100, 400, 200, 100, 200), (50, 1000, 50, 0, 50), (40, 40, 40, 0, 40)]);
    (ladder, times, select(vec![60, 960]), any_tcp()).prop_map(|(ladder, times, request, tcp)| {
        let (segment, buffer, startup, reservoir, cushion) = times;
        let [segment, buffer, startup, reservoir, cushion] =
            [segment, buffer, startup, reservoir, cushion].map(|ms: u64| Span(ms * MS));
        let tcp = Tcp { payloads: None, ..tcp };
        Video { ladder, segment, buffer, startup, reservoir, cushion, request, tcp }
    })
}

fn any_traffic() -> impl Strategy<Value = Traffic> {
    let start = prop_oneof![
        2 => Just(Draw::Constant(0.0)),
        1 => Just(Draw::Constant(10.0 * MS as f64)),
        1 => Just(Draw::Uniform(0.0, 0.2 * SECOND as f64)),
        1 => Just(Draw::Exponential(0.1 * SECOND as f64)),
    ];
    let stop = option::weighted(0.3, (0u64..1500).prop_map(|ms| Time(ms * MS)));
    let every = select(vec![Draw::Constant(10.0 * MS as f64), Draw::Exponential(100.0 * MS as f64)]);
    let stagger = option::weighted(0.2, (every, 1u32..3).prop_map(|(every, by)| Stagger { every, by }));
    let ecn = select(vec![Ecn::Off, Ecn::Off, Ecn::Ect0, Ecn::Ect1]);
    let pareto = option::weighted(0.3, Just(1.5));
    let sizes = option::weighted(0.3, Just(Draw::Uniform(1.0, 1000.0)));
    let sinks = [Sink::Deadline(Span(20 * MS)), Sink::JitterBuffer { talkspurt: 5, margin: Span(10 * MS) }];
    let sink = option::of(select(sinks.to_vec()));
    (
        any_kind(),
        1u32..5,
        start,
        stop,
        any::<bool>(),
        (0u8..5, any_marker(), stagger, ecn, pareto, sizes, sink, any::<bool>()),
    )
        .prop_map(
            |(
                kind,
                count,
                start,
                stop,
                reverse,
                (class, marker, stagger, ecn, pareto, sizes, sink, echo),
            )| {
                Traffic {
                    start,
                    pareto,
                    sizes,
                    stagger,
                    stop,
                    reverse,
                    class,
                    marker,
                    ecn,
                    sink,
                    echo,
                    ..traffic("", count, kind)
                }
            },
        )
}

fn several() -> impl Strategy<Value = Vec<Traffic>> {
    vec(any_traffic(), 1..5).prop_map(|mut groups| {
        for (i, group) in groups.iter_mut().enumerate() {
            group.name = format!("t{i}");
        }
        groups
    })
}

fn dumbbell_and_traffic() -> BoxedStrategy<(Topology, Vec<Traffic>)> {
    let queues = (any_queue(), option::of(any_queue()));
    let impairments = (any_impairment(), any_impairment());
    let dumbbell = (rate(), delay(), any_access(), any_access(), queues, impairments).prop_map(
        |(rate, delay, access, server, (queue, reverse_queue), (impairment, reverse_impairment))| Dumbbell {
            capacity: (rate == MBIT).then_some(Capacity::Redraw {
                every: Span(7 * MS),
                rate: Draw::Uniform(0.0, 2.0 * MBIT as f64),
            }),
            reverse_rate: (rate > MBIT).then_some(rate / 2),
            rate,
            delay,
            access,
            server,
            queue,
            reverse_queue,
            impairment,
            reverse_impairment,
        },
    );
    (dumbbell, several(), vec(option::weighted(0.3, any_access()), 4))
        .prop_map(|(dumbbell, mut groups, own)| {
            for (group, own) in groups.iter_mut().zip(own) {
                group.access = own;
            }
            (Topology::Dumbbell(dumbbell), groups)
        })
        .boxed()
}

/// 10 ms at 1 Mbit/s, a pause, a burst; a packet of 1000 bytes takes 8 ms at 1 Mbit/s.
fn changing() -> Capacity {
    Capacity::Steps {
        steps: vec![(Span(10 * MS), MBIT), (Span(3 * MS), 0), (Span(4 * MS), 4 * MBIT)],
        repeats: true,
    }
}

/// A dumbbell whose flows qualify for the fast path: unlimited connections with a host each, an unbounded
/// reverse path, and timers that are short enough to expire while acknowledgements are in flight. Timers of
/// delayed acknowledgements expire often, too.
pub(crate) fn round_trip_plan() -> impl Strategy<Value = Plan> {
    let delays = || vec(select([0, 1, 10, 40].map(Span::from_millis).to_vec()), 1..4);
    let access = (host_rate(), delays()).prop_map(|(rate, delays)| Access { rate, delays, nodes: None });
    let server = (host_rate(), delays()).prop_map(|(rate, delays)| Access { rate, delays, nodes: None });
    let queue = (select(vec!["3p", "10p", "50p", "200p"]), specs(), any::<bool>())
        .prop_map(|(limit, aqm, ecn)| QueueConfig { ecn, ..queue(limit, &aqm) });
    let dumbbell = (rate(), option::weighted(0.3, rate()), delay(), access, server, queue).prop_map(
        |(rate, reverse_rate, delay, access, server, queue)| Dumbbell {
            rate,
            reverse_rate,
            delay,
            access,
            server,
            queue,
            capacity: None,
            impairment: None,
            reverse_impairment: None,
            reverse_queue: None,
        },
    );
    let delayed_ack = select([0, 0, 1, 5, 40].map(Span::from_millis).to_vec());
    let connection = (any_tcp(), delayed_ack).prop_map(|(mut tcp, delayed_ack)| {
        tcp.options.delayed_ack = delayed_ack;
        tcp
    });
    let flows =
        (connection, 1u32..6, select(vec!["20ms", "100ms", "200ms"]), option::weighted(0.3, 1u64..1500));
    // Occasional datagrams on the same links.
    let datagrams = option::weighted(0.4, (select(vec![MBIT / 10, MBIT]), select(vec![40, 500, 1000])));
    let groups = (vec(flows, 1..3), datagrams).prop_map(|(groups, datagrams)| {
        let group = |(i, (mut tcp, count, min_rto, stop)): (usize, (Tcp, u32, &str, Option<u64>))| {
            let short = options("rfc", &[("min_rto", min_rto), ("initial_rto", min_rto)]);
            (tcp.max_rate, tcp.options.overhead) = (None, Span::ZERO);
            (tcp.options.min_rto, tcp.options.initial_rto) = (short.min_rto, short.initial_rto);
            let start = Draw::Uniform(0.0, 0.2 * SECOND as f64);
            let name = format!("t{i}");
            Traffic {
                start,
                stop: stop.map(|ms| Time(ms * MS)),
                ..traffic(&name, count, TrafficKind::Tcp(tcp))
            }
        };
        let datagrams = datagrams.map(|(rate, size)| {
            let kind = TrafficKind::UdpCbr { rate, size, jitter: 0.0 };
            Traffic { start: Draw::Uniform(0.0, 0.2 * SECOND as f64), ..traffic("datagrams", 1, kind) }
        });
        groups.into_iter().enumerate().map(group).chain(datagrams).collect::<Vec<_>>()
    });
    (dumbbell, groups, any_plan()).prop_map(|(dumbbell, traffic, other)| Plan {
        topology: Topology::Dumbbell(dumbbell),
        traffic,
        measure: None,
        trace: Trace { cwnd: false, ..other.trace },
        ..other
    })
}

/// Few links lose, delay or duplicate packets; delays are those of links, so that arrivals are often equal.
pub(crate) fn any_impairment() -> impl Strategy<Value = Option<Impairment>> + Clone {
    let loss = select(vec![
        Loss::None,
        Loss::Random(0.05),
        Loss::GilbertElliott { p: 0.02, r: 0.4, good: 0.0, bad: 1.0 },
    ]);
    let delay = select(vec![
        None,
        Some(ExtraDelay::Drawn(Draw::Constant(MS as f64))),
        Some(ExtraDelay::Drawn(Draw::Uniform(0.0, 10.0 * MS as f64))),
        Some(ExtraDelay::Drawn(Draw::Normal(2.0 * MS as f64, 2.0 * MS as f64))),
        Some(ExtraDelay::Steps(vec![(Span::ZERO, Span(10 * MS)), (Span(400 * MS), Span::ZERO)])),
    ]);
    let share = || select(vec![0.0, 0.0, 0.1]);
    let impairment = (loss, delay, any::<bool>(), share(), 1u32..4, share());
    let impairment = impairment.prop_map(|(loss, delay, in_order, reorder, one_of, duplicate)| {
        let reorder = if delay.is_some() { reorder } else { 0.0 };
        Impairment { loss, delay, in_order, reorder, one_of, duplicate }
    });
    option::weighted(0.2, impairment)
}

/// Rate, delay, queue and impairment of a link.
type Way = (u64, Span, Option<QueueConfig>, Option<Impairment>);

/// Links in both directions between two nodes.
fn duplex() -> impl Strategy<Value = [Way; 2]> {
    let way = (rate(), delay(), option::weighted(0.4, any_queue()), any_impairment());
    (way.clone(), way).prop_map(|(there, back)| [there, back])
}

/// Routers in a row, optionally closed to a ring by one-way links, with hosts on one or two links each.
fn graph_and_traffic() -> BoxedStrategy<(Topology, Vec<Traffic>)> {
    let ends_of_host = (option::weighted(0.1, any_queue()), any_impairment());
    let host = (0usize..4, any::<bool>(), host_rate(), delay(), ends_of_host);
    let row = (vec(duplex(), 1..4), any_queue(), any::<bool>());
    // Senders and receivers: a split of the list of hosts, and the direction across it.
    let ends = vec((1usize..8, any::<bool>(), any::<bool>()), 4);
    (row, vec(host, 2..6), several(), ends)
        .prop_map(|((row, first, ring), hosts, mut groups, ends)| {
            let mut links = Vec::new();
            let mut add = |from: &str, to: &str, (rate, delay, queue, impairment): Way| {
                let capacity = (rate == MBIT).then(changing);
                let (from, to) = (from.to_owned(), to.to_owned());
                links.push(Link { from, to, rate, delay, capacity, impairment, queue });
            };
            let routers = row.len() + 1;
            for (i, [mut there, back]) in row.into_iter().enumerate() {
                if i == 0 {
                    there.2 = Some(first.clone());
                }
                let (a, b) = (format!("R{i}"), format!("R{}", i + 1));
                add(&a, &b, there);
                add(&b, &a, back);
            }
            if ring && routers > 2 {
                add(&format!("R{}", routers - 1), "R0", (10 * MBIT, Span(MS), None, None));
            }
            let mut names = Vec::new();
            for (i, (router, far, rate, delay, (queue, impairment))) in hosts.into_iter().enumerate() {
                let (name, mut router) = (format!("h{i}"), format!("R{}", router % routers));
                if far {
                    let middle = format!("m{i}");
                    add(&middle, &router, (rate, delay, queue.clone(), impairment.clone()));
                    add(&router, &middle, (rate, delay, None, None));
                    router = middle;
                }
                add(&name, &router, (rate, delay, queue, None));
                add(&router, &name, (rate, delay, None, impairment));
                names.push(name);
            }
            for (group, (cut, swap, to_router)) in groups.iter_mut().zip(ends) {
                let (left, right) = names.split_at(1 + cut % (names.len() - 1));
                (group.from, group.to) = (left.to_vec(), right.to_vec());
                if to_router {
                    group.to = vec!["R1".to_owned()]; // a router as a host
                }
                if swap {
                    std::mem::swap(&mut group.from, &mut group.to);
                }
            }
            (Topology::Graph(links), groups)
        })
        .boxed()
}
