//! Checks the numbers of a plan before anything is built. Names and routes are checked when the network is
//! built.

use crate::{
    error::PlanError,
    plan::{
        Access, Capacity, Draw, ExtraDelay, Impairment, Loss, Medium, Plan, QueueConfig, Sink, Tcp, Topology,
        TrafficKind, Video, Web,
    },
};
use sojourn_aqm::{Span, Time};

/// Flows of a run.
pub(crate) const MAX_FLOWS: u64 = 5_000_000;
/// Datagrams of a source, which are counted with 32 bits.
const MAX_PACKETS: u64 = 2_000_000_000;
/// Samples of a run, and random rates of a link.
const MAX_SAMPLES: u64 = 50_000_000;
/// 200 days: below [`crate::engine::MAX_EVENT_TIME`], and sums of a few times do not overflow.
pub(crate) const MAX_TIME: Span = Span(17_280_000_000_000_000);
/// The largest exponential draw, in units of its mean: -ln of the smallest 1 - u.
const MAX_EXPONENTIAL: f64 = 37.0;
/// The largest normal draw, in standard deviations: the square root of twice the above.
const MAX_NORMAL: f64 = 9.0;
/// The delay of a link, or a timer: a day.
const MAX_DELAY: Span = Span(MAX_TIME.0 / 200);
/// The number of phases, each of which has a copy of the counters.
const MAX_PHASES: usize = 1000;
/// The size of a packet on the wire.
pub(crate) const MAX_PACKET_BYTES: u64 = 1 << 24;

/// Check the numbers of `plan`.
///
/// # Errors
/// The first key whose value is refused.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    if plan.duration == Span::ZERO || plan.duration > MAX_TIME {
        return Err(
            PlanError::new("duration", "is zero or too long").allowed("more than 0s, at most 200 days")
        );
    }
    if plan.warmup >= Time::ZERO + plan.duration {
        return Err(PlanError::new("warmup", "is not before the end").allowed("less than duration"));
    }
    let drain = plan.drain.unwrap_or(Span::ZERO);
    if drain > MAX_TIME {
        return Err(PlanError::new("drain", "is too long").allowed("at most 200 days"));
    }
    for (key, interval) in [("trace.interval", plan.trace.interval), ("trace.flows", plan.trace.flows)] {
        if let Some(interval) = interval
            && (interval == Span::ZERO || plan.duration.0 / interval.0 > MAX_SAMPLES)
        {
            return Err(
                PlanError::new(key, "gives no samples or too many").allowed("more than duration / 50000000")
            );
        }
    }
    for (i, phase) in plan.phases.iter().enumerate() {
        let key = format!("phase.{}", phase.name);
        if plan.phases[..i].iter().any(|other| other.name == phase.name) {
            return Err(PlanError::new(key, "is used twice").allowed("a different name for each"));
        }
        if phase.from >= phase.to || phase.to > Time::ZERO + plan.duration {
            return Err(PlanError::new(key, "is not in the run").allowed("from < to <= duration"));
        }
    }
    if plan.phases.len() > MAX_PHASES {
        return Err(PlanError::new("phase", "is given too often").allowed("at most 1000"));
    }
    if plan.traffic.is_empty() {
        return Err(PlanError::new("traffic", "is missing").allowed("at least one [[traffic]]"));
    }
    for (i, group) in plan.traffic.iter().enumerate() {
        let key = format!("traffic.{}", group.name);
        if plan.traffic[..i].iter().any(|other| other.name == group.name) {
            return Err(PlanError::new(key, "is used twice").allowed("a different name for each"));
        }
        if group.count == 0 {
            return Err(PlanError::new(format!("{key}.count"), "is zero").allowed("1 or more"));
        }
        draw(&format!("{key}.start"), group.start, false)?;
        if group.pareto.is_some_and(|shape| !(shape > 1.0 && shape <= 100.0)) {
            return Err(
                PlanError::new(format!("{key}.pareto"), "is out of range").allowed("1 < shape <= 100")
            );
        }
        if let Some(sizes) = group.sizes {
            draw(&format!("{key}.size"), sizes, true)?;
        }
        if let Some(stagger) = &group.stagger {
            draw(&format!("{key}.stagger.every"), stagger.every, false)?;
            if stagger.by == 0 {
                return Err(PlanError::new(format!("{key}.stagger.by"), "is zero").allowed("1 or more"));
            }
        }
        match group.sink {
            Some(Sink::JitterBuffer { talkspurt: 0, .. }) => {
                return Err(PlanError::new(format!("{key}.sink.talkspurt"), "is zero").allowed("1 or more"));
            }
            Some(Sink::JitterBuffer { margin: time, .. } | Sink::Deadline(time)) => {
                delay(&format!("{key}.sink"), time)?;
            }
            None => {}
        }
        if let Some(own) = &group.access {
            access(&format!("{key}.access"), own)?;
        }
        let whole = plan.duration + drain;
        let lasts = group.stop.map_or(whole, |stop| stop.since(Time::ZERO)).min(whole);
        match &group.kind {
            TrafficKind::Tcp(tcp) => connection(&key, tcp)?,
            TrafficKind::TcpOnoff { rate, on, off, tcp } => {
                connection(&key, tcp)?;
                on_off(&key, *on, *off)?;
                datagrams(&key, *rate, tcp.payload + tcp.header, mean_on(lasts, *on, *off))?;
            }
            TrafficKind::TcpShort { arrivals, size, lifetime, tcp } => {
                connection(&key, tcp)?;
                if !(arrivals.is_finite()
                    && MAX_EXPONENTIAL * 1e9 / arrivals < MAX_TIME.0 as f64
                    && *arrivals > 0.0)
                {
                    return Err(PlanError::new(format!("{key}.arrivals"), "is not a positive rate")
                        .allowed("like 10/s"));
                }
                if arrivals * lasts.as_secs_f64() > MAX_FLOWS as f64 {
                    return Err(PlanError::new(format!("{key}.arrivals"), "gives too many flows")
                        .allowed("at most 5 million in a run"));
                }
                match (size, lifetime) {
                    (Some(size), None) => draw(&format!("{key}.size"), *size, true)?,
                    (None, Some(lifetime)) => draw(&format!("{key}.lifetime"), *lifetime, true)?,
                    _ => {
                        return Err(PlanError::new(key, "needs either size or lifetime")
                            .allowed("exactly one of them"));
                    }
                }
            }
            TrafficKind::Web(web) => pages(&key, web)?,
            TrafficKind::Video(video) => segments(&key, video)?,
            TrafficKind::UdpCbr { rate, size, jitter } => {
                datagrams(&key, *rate, *size, lasts)?;
                if !(0.0..1.0).contains(jitter) {
                    return Err(
                        PlanError::new(format!("{key}.jitter"), "is out of range").allowed("0 <= jitter < 1")
                    );
                }
            }
            TrafficKind::UdpPoisson { rate, size } => datagrams(&key, *rate, *size, lasts)?,
            TrafficKind::UdpOnoff { rate, size, on, off } => {
                on_off(&key, *on, *off)?;
                datagrams(&key, *rate, *size, mean_on(lasts, *on, *off))?;
            }
        }
    }
    let flows: u64 = plan.traffic.iter().map(|t| u64::from(t.count)).sum();
    if flows > MAX_FLOWS {
        return Err(PlanError::new("traffic", format!("has {flows} sources")).allowed("at most 5 million"));
    }
    match &plan.topology {
        Topology::Dumbbell(d) => {
            delay("dumbbell.delay", d.delay)?;
            capacity("dumbbell.capacity", d.capacity.as_ref(), plan.duration)?;
            d.impairment.iter().try_for_each(|one| one.check("dumbbell.impairment"))?;
            d.reverse_impairment.iter().try_for_each(|one| one.check("dumbbell.reverse_impairment"))?;
            medium("dumbbell.medium", Some(&d.queue))?;
            medium("dumbbell.reverse_medium", d.reverse_queue.as_ref())?;
            access("dumbbell.access", &d.access)?;
            access("dumbbell.server", &d.server)
        }
        Topology::Graph(links) => links.iter().enumerate().try_for_each(|(i, link)| {
            delay(&format!("link {}.delay", i + 1), link.delay)?;
            capacity(&format!("link {}.capacity", i + 1), link.capacity.as_ref(), plan.duration)?;
            medium(&format!("link {}.medium", i + 1), link.queue.as_ref())?;
            link.impairment.iter().try_for_each(|one| one.check(&format!("link {}.impairment", i + 1)))
        }),
    }
}

/// Check the delays and the number of hosts; [`crate::path`] checks the rest.
fn access(key: &str, access: &Access) -> Result<(), PlanError> {
    access.delays.iter().try_for_each(|d| delay(&format!("{key}.delays"), *d))?;
    if access.nodes.is_some_and(|nodes| u64::from(nodes) > MAX_FLOWS) {
        return Err(PlanError::new(format!("{key}.nodes"), "is too large").allowed("at most 5 million hosts"));
    }
    Ok(())
}

fn on_off(key: &str, on: Span, off: Span) -> Result<(), PlanError> {
    for (name, span) in [("on", on), ("off", off)] {
        if span == Span::ZERO || span.0 as f64 * MAX_EXPONENTIAL > MAX_TIME.0 as f64 {
            return Err(
                PlanError::new(format!("{key}.{name}"), "is zero or too long").allowed("a time like 1s")
            );
        }
    }
    Ok(())
}

fn capacity(key: &str, capacity: Option<&Capacity>, duration: Span) -> Result<(), PlanError> {
    match capacity {
        None => Ok(()),
        Some(Capacity::Redraw { every, rate }) => {
            if *every == Span::ZERO || duration.0 / every.0 > MAX_SAMPLES {
                return Err(PlanError::new(format!("{key}.every"), "is zero or too short")
                    .allowed("more than duration / 50000000"));
            }
            draw(&format!("{key}.rate"), *rate, true)
        }
        Some(Capacity::Steps { steps, repeats }) => {
            let ends_above_zero =
                if *repeats { steps.iter().any(|s| s.1 > 0) } else { steps.last().is_some_and(|s| s.1 > 0) };
            let lasts = steps.iter().try_fold(0u64, |sum, s| sum.checked_add(s.0.0));
            let possible =
                steps.iter().all(|s| s.0 > Span::ZERO) && lasts.is_some_and(|span| Span(span) <= MAX_TIME);
            if ends_above_zero && possible {
                return Ok(());
            }
            Err(PlanError::new(key, "ends at rate 0, or has a step that is empty or too long")
                .allowed("steps longer than 0s, and a rate above 0 at the end"))
        }
    }
}

/// Check the medium of the link behind a queue.
fn medium(key: &str, queue: Option<&QueueConfig>) -> Result<(), PlanError> {
    let wrong = |name: &str, problem: &str, allowed: &str| {
        Err(PlanError::new(format!("{key}.{name}"), problem).allowed(allowed.to_owned()))
    };
    match queue.and_then(|queue| queue.medium) {
        None => Ok(()),
        Some(Medium::Contention { packets: 0, .. }) => wrong("packets", "is zero", "at least one packet"),
        Some(Medium::Contention { time: Span(0), .. }) => wrong("time", "is zero", "a positive time"),
        Some(Medium::Contention { overhead, .. }) => draw(&format!("{key}.overhead"), overhead, false),
        Some(Medium::Grants { cycle: Span(0), .. }) => wrong("cycle", "is zero", "a positive time"),
        Some(Medium::Grants { cycle, delay: after }) => {
            delay(&format!("{key}.cycle"), cycle)?;
            delay(&format!("{key}.delay"), after)
        }
    }
}

pub(super) fn impairment(key: &str, impairment: &Impairment) -> Result<(), PlanError> {
    let losses = match impairment.loss {
        Loss::None => Vec::new(),
        Loss::Random(p) => vec![("loss", p)],
        Loss::GilbertElliott { p, r, good, bad } => {
            vec![("loss.p", p), ("loss.r", r), ("loss.good", good), ("loss.bad", bad)]
        }
    };
    let others = [("reorder", impairment.reorder), ("duplicate", impairment.duplicate)];
    for (name, probability) in losses.into_iter().chain(others) {
        if !(0.0..=1.0).contains(&probability) {
            return Err(PlanError::new(format!("{key}.{name}"), "is not a probability").allowed("0 to 1"));
        }
    }
    if impairment.reorder > 0.0 && impairment.delay.is_none() {
        let problem = "has no effect: a packet overtakes others only if they are delayed";
        return Err(PlanError::new(format!("{key}.reorder"), problem).allowed("a delay"));
    }
    match &impairment.delay {
        None => Ok(()),
        Some(ExtraDelay::Drawn(drawn)) => draw(&format!("{key}.delay"), *drawn, false),
        Some(ExtraDelay::Steps(steps)) => {
            let begins = steps.first().is_some_and(|(start, _)| *start == Span::ZERO);
            if !begins || !steps.is_sorted_by(|a, b| a.0 < b.0) {
                return Err(PlanError::new(
                    format!("{key}.delay"),
                    "has no step at 0s, or steps out of order",
                )
                .allowed("steps that begin at 0s, in order"));
            }
            steps.iter().try_for_each(|step| delay(&format!("{key}.delay"), step.1))
        }
    }
}

fn delay(key: &str, delay: Span) -> Result<(), PlanError> {
    if delay > MAX_DELAY {
        return Err(PlanError::new(key, "is too long").allowed("at most a day"));
    }
    Ok(())
}

fn draw(key: &str, draw: Draw, positive: bool) -> Result<(), PlanError> {
    let (low, high) = match draw {
        Draw::Constant(x) => (x, x),
        Draw::Uniform(low, high) => (low, high),
        Draw::Exponential(mean) => (mean.min(0.0), mean * MAX_EXPONENTIAL),
        Draw::Normal(mean, deviation) => (mean.min(deviation).min(0.0), mean + deviation * MAX_NORMAL),
        Draw::Pareto(mean, shape) | Draw::Lomax(mean, shape) => {
            if !(shape > 1.0 && shape <= 100.0) {
                return Err(PlanError::new(key, "has no mean with this shape").allowed("1 < shape <= 100"));
            }
            (mean.min(0.0), mean)
        }
    };
    let is_valid =
        low.is_finite() && high.is_finite() && low >= 0.0 && high >= low && high < MAX_TIME.0 as f64;
    let is_zero = is_valid && positive && high <= 0.0;
    if !is_valid || is_zero {
        let problem = if is_zero { "is never more than 0" } else { "is negative, empty or too large" };
        return Err(PlanError::new(key, problem)
            .allowed("a value, uniform LOW HIGH, exponential MEAN, normal MEAN DEVIATION, pareto MEAN SHAPE or lomax MEAN SHAPE"));
    }
    Ok(())
}

fn pages(key: &str, web: &Web) -> Result<(), PlanError> {
    connection(key, &web.tcp)?;
    draw(&format!("{key}.page_gap"), web.page_gap, web.from_start)?;
    draw(&format!("{key}.objects"), web.objects, true)?;
    draw(&format!("{key}.object_gap"), web.object_gap, false)?;
    draw(&format!("{key}.size"), web.size, true)?;
    if let Some(patience) = web.patience {
        draw(&format!("{key}.patience"), patience, true)?;
    }
    request(key, web.request, &web.tcp)?;
    if web.pages == Some(0) {
        return Err(PlanError::new(format!("{key}.pages"), "is zero").allowed("1 or more"));
    }
    Ok(())
}

fn request(key: &str, bytes: u32, tcp: &Tcp) -> Result<(), PlanError> {
    if bytes == 0 || u64::from(bytes) + u64::from(tcp.header) > MAX_PACKET_BYTES {
        return Err(PlanError::new(format!("{key}.request"), "is zero or too large").allowed("1B to 16 MiB"));
    }
    Ok(())
}

/// Check the player of a video and what it fetches.
fn segments(key: &str, video: &Video) -> Result<(), PlanError> {
    connection(key, &video.tcp)?;
    request(key, video.request, &video.tcp)?;
    if video.tcp.payloads.is_some() {
        return Err(PlanError::new(
            format!("{key}.payload"),
            "is drawn, but segments consist of full packets",
        )
        .allowed("a constant size"));
    }
    let ascends = video.ladder.is_sorted_by(|a, b| a < b);
    if !ascends || video.ladder.first().is_none_or(|least| *least == 0) {
        return Err(PlanError::new(format!("{key}.ladder"), "does not ascend from a bitrate above 0")
            .allowed("bitrates like 1Mbit/s, each above the one before"));
    }
    if video.segment == Span::ZERO || video.segment > MAX_DELAY {
        return Err(PlanError::new(format!("{key}.segment"), "is zero or too long").allowed("a time like 4s"));
    }
    if video.ladder.iter().any(|rate| video.packets(*rate) > MAX_PACKETS) {
        return Err(PlanError::new(format!("{key}.ladder"), "gives too many packets in a segment")
            .allowed("at most 2 billion"));
    }
    let (segment, buffer) = (video.segment.0, video.buffer.0);
    let to_start = video.startup.0.div_ceil(segment).saturating_mul(segment);
    let highest = video.reservoir.0.saturating_add(video.cushion.0);
    for (name, is_possible, allowed) in [
        ("buffer", buffer >= segment && video.buffer <= MAX_DELAY, "at least a segment, at most a day"),
        ("startup", to_start > 0 && to_start <= buffer, "more than 0s, and in whole segments at most buffer"),
        ("cushion", video.cushion > Span::ZERO, "more than 0s"),
        ("reservoir", highest <= buffer, "reservoir + cushion at most buffer"),
    ] {
        if !is_possible {
            return Err(PlanError::new(format!("{key}.{name}"), "is out of range").allowed(allowed));
        }
    }
    Ok(())
}

fn connection(key: &str, tcp: &Tcp) -> Result<(), PlanError> {
    let o = &tcp.options;
    let sizes = [
        ("payload", u64::from(tcp.payload), u64::from(tcp.payload) + u64::from(tcp.header)),
        ("ack", u64::from(tcp.ack), u64::from(tcp.ack) + 3 * u64::from(o.sack_bytes)),
    ];
    for (name, size, on_the_wire) in sizes {
        if size == 0 {
            return Err(PlanError::new(format!("{key}.{name}"), "is zero").allowed("1B or more"));
        }
        if on_the_wire > MAX_PACKET_BYTES {
            let name = if size > MAX_PACKET_BYTES || name == "payload" { name } else { "tcp.sack_bytes" };
            return Err(
                PlanError::new(format!("{key}.{name}"), "is too large").allowed("packets up to 16 MiB")
            );
        }
    }
    if let Some(payloads) = tcp.payloads {
        draw(&format!("{key}.payload"), payloads, true)?;
    }
    if tcp.max_rate == Some(0) {
        return Err(PlanError::new(format!("{key}.max_rate"), "is zero").allowed("at least 1bit/s"));
    }
    let times = [
        ("initial_rto", o.initial_rto),
        ("max_rto", o.max_rto),
        ("delayed_ack", o.delayed_ack),
        ("granularity", o.granularity),
        ("overhead", o.overhead),
        ("send_jitter", o.send_jitter),
    ];
    for (name, time) in times {
        if time > MAX_DELAY {
            return Err(PlanError::new(format!("{key}.tcp.{name}"), "is too long").allowed("at most a day"));
        }
    }
    if o.pacing && o.overhead > Span::ZERO {
        return Err(PlanError::new(format!("{key}.tcp.pacing"), "is on, but overhead delays packets, too")
            .allowed("off, or no overhead"));
    }
    if o.min_rto > o.max_rto {
        return Err(
            PlanError::new(format!("{key}.tcp.min_rto"), "is above max_rto").allowed("at most max_rto")
        );
    }
    if o.receiver_window == 0 {
        return Err(
            PlanError::new(format!("{key}.tcp.receiver_window"), "is zero").allowed("1 packet or more")
        );
    }
    Ok(())
}

/// The mean time for which a source is on in `lasts`.
fn mean_on(lasts: Span, on: Span, off: Span) -> Span {
    let share = u128::from(lasts.0) * u128::from(on.0) / (u128::from(on.0) + u128::from(off.0));
    Span(share as u64)
}

/// Check a source that sends at `rate` for the time `sends`.
fn datagrams(key: &str, rate: u64, size: u32, sends: Span) -> Result<(), PlanError> {
    if rate == 0 {
        return Err(PlanError::new(format!("{key}.rate"), "is zero").allowed("at least 1bit/s"));
    }
    if size == 0 || u64::from(size) > MAX_PACKET_BYTES {
        return Err(PlanError::new(format!("{key}.size"), "is zero or too large").allowed("1B to 16 MiB"));
    }
    if u64::from(size) * 8_000_000_000 / rate == 0 {
        return Err(PlanError::new(format!("{key}.rate"), "is more than one packet per nanosecond")
            .allowed("at most a packet per nanosecond"));
    }
    if u128::from(rate) * u128::from(sends.0) / (u128::from(size) * 8_000_000_000) > u128::from(MAX_PACKETS) {
        return Err(PlanError::new(format!("{key}.rate"), "gives too many packets")
            .allowed("at most 2 billion from a source in a run"));
    }
    Ok(())
}
