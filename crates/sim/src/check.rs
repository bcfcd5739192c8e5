//! Is a plan possible? Asked before anything runs.

use crate::{
    error::PlanError,
    plan::{Draw, Kind, Plan, Tcp, Topology},
};

/// More sources than this in one run is surely a slip of the pen.
const MOST_FLOWS: u64 = 5_000_000;
/// So is sampling more often than this.
const MOST_SAMPLES: u64 = 50_000_000;
/// 20 years in nanoseconds: sums of times cannot overflow below.
const LONGEST: u64 = 630_000_000_000_000_000;

/// The first thing that is wrong with the numbers of `plan` (names and routes are checked when the
/// network is built).
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    if plan.duration == 0 || plan.duration > LONGEST {
        return Err(
            PlanError::new("duration", "is zero or absurdly long").allowed("more than 0s, at most 20 years")
        );
    }
    if plan.warmup >= plan.duration {
        return Err(PlanError::new("warmup", "is not before the end").allowed("less than duration"));
    }
    if let Some(interval) = plan.trace.interval
        && (interval == 0 || plan.duration / interval > MOST_SAMPLES)
    {
        return Err(PlanError::new("trace.interval", "gives no samples or absurdly many")
            .allowed("more than duration / 50000000"));
    }
    if plan.traffic.is_empty() {
        return Err(PlanError::new("traffic", "is missing: nobody sends").allowed("one [[traffic]] at least"));
    }
    for (i, group) in plan.traffic.iter().enumerate() {
        let key = format!("traffic.{}", group.name);
        if plan.traffic[..i].iter().any(|other| other.name == group.name) {
            return Err(PlanError::new(key, "is there twice").allowed("a name for each"));
        }
        if group.count == 0 {
            return Err(PlanError::new(format!("{key}.count"), "is zero").allowed("1 or more"));
        }
        draw(&format!("{key}.start"), group.start, false)?;
        match &group.kind {
            Kind::Tcp(tcp) => packet_sizes(&key, tcp)?,
            Kind::TcpShort { arrivals, size, lifetime, tcp } => {
                packet_sizes(&key, tcp)?;
                if !(arrivals.is_finite() && *arrivals > 0.0) {
                    return Err(PlanError::new(format!("{key}.arrivals"), "is not a positive rate")
                        .allowed("like 10/s"));
                }
                let lasts = group.stop.unwrap_or(plan.duration).min(plan.duration);
                if arrivals * (lasts as f64 * 1e-9) > MOST_FLOWS as f64 {
                    return Err(PlanError::new(format!("{key}.arrivals"), "gives absurdly many flows")
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
            Kind::UdpCbr { rate, size, jitter } => {
                datagrams(&key, *rate, *size)?;
                if !(0.0..1.0).contains(jitter) {
                    return Err(
                        PlanError::new(format!("{key}.jitter"), "is out of range").allowed("0 <= jitter < 1")
                    );
                }
            }
            Kind::UdpOnoff { rate, size, on, off } => {
                datagrams(&key, *rate, *size)?;
                for (name, span) in [("on", *on), ("off", *off)] {
                    if span == 0 || span > LONGEST {
                        return Err(PlanError::new(format!("{key}.{name}"), "is zero or absurdly long")
                            .allowed("a time like 1s"));
                    }
                }
            }
        }
    }
    let flows: u64 = plan.traffic.iter().map(|t| u64::from(t.count)).sum();
    if flows > MOST_FLOWS {
        return Err(PlanError::new("traffic", format!("has {flows} sources")).allowed("at most 5 million"));
    }
    let delays: Vec<u64> = match &plan.topology {
        Topology::Dumbbell(d) => {
            d.access.delays.iter().chain(&d.server.delays).chain([&d.delay]).copied().collect()
        }
        Topology::Graph(links) => links.iter().map(|l| l.delay).collect(),
    };
    if delays.iter().any(|d| *d > LONGEST / 1000) {
        return Err(PlanError::new("delay", "is absurdly long").allowed("at most a week"));
    }
    Ok(())
}

fn draw(key: &str, draw: Draw, positive: bool) -> Result<(), PlanError> {
    let (low, high) = match draw {
        Draw::Constant(x) => (x, x),
        Draw::Uniform(low, high) => (low, high),
        Draw::Exponential(mean) => (0.0, mean),
    };
    let fine = low.is_finite() && high.is_finite() && low >= 0.0 && high >= low && high < LONGEST as f64;
    if !fine || positive && high <= 0.0 {
        return Err(PlanError::new(key, "is negative, empty or absurdly large")
            .allowed("a value, uniform LOW HIGH, or exponential MEAN"));
    }
    Ok(())
}

fn packet_sizes(key: &str, tcp: &Tcp) -> Result<(), PlanError> {
    if tcp.payload == 0 {
        return Err(PlanError::new(format!("{key}.payload"), "is zero").allowed("1B or more"));
    }
    if tcp.ack == 0 {
        return Err(PlanError::new(format!("{key}.ack"), "is zero").allowed("1B or more"));
    }
    if u64::from(tcp.payload) + u64::from(tcp.header) > 1 << 24 {
        return Err(PlanError::new(format!("{key}.payload"), "is absurdly large").allowed("at most 16 MiB"));
    }
    Ok(())
}

fn datagrams(key: &str, rate: u64, size: u32) -> Result<(), PlanError> {
    if rate == 0 {
        return Err(PlanError::new(format!("{key}.rate"), "is zero").allowed("at least 1bit/s"));
    }
    if size == 0 || size > 1 << 24 {
        return Err(
            PlanError::new(format!("{key}.size"), "is zero or absurdly large").allowed("1B to 16 MiB")
        );
    }
    if u64::from(size) * 8_000_000_000 / rate == 0 {
        return Err(
            PlanError::new(format!("{key}.rate"), "is more than a packet a nanosecond").allowed("less")
        );
    }
    Ok(())
}
