//! The demand of sources. It is drawn from (seed, name of the traffic, purpose, index) only, so two
//! algorithms under one seed meet the same demand.

mod abr;
mod edge;

pub(crate) use abr::next_rate;
pub(crate) use edge::{Edge, EdgeMarker};

use crate::{
    plan::validate::MAX_TIME,
    plan::{Draw, Traffic, TrafficKind},
};
use sojourn_aqm::{Random, Span, Stream, Time};
use std::ops::Range;

/// The random streams of a traffic group.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    seed: u64,
    name: String,
}

impl Demand {
    pub(crate) fn new(seed: u64, name: &str) -> Demand {
        Demand { seed, name: name.to_owned() }
    }

    /// The stream of `purpose`; `.indexed(i)` is that of source or event i.
    pub(crate) fn stream(&self, purpose: &str) -> Stream {
        Stream::new(self.seed, &format!("traffic/{}/{purpose}", self.name))
    }
}

impl Draw {
    /// Draw a value, at least 0.
    pub(crate) fn value(self, stream: &mut Stream) -> f64 {
        match self {
            Draw::Constant(x) => x,
            Draw::Uniform(low, high) => low + (high - low) * stream.uniform(),
            Draw::Exponential(mean) => exponential(mean, stream),
            Draw::Normal(mean, deviation) => mean + deviation * normal(stream),
            Draw::Pareto(mean, shape) => pareto(mean * (shape - 1.0) / shape, shape, stream),
            Draw::Lomax(mean, shape) => {
                let scale = mean * (shape - 1.0);
                pareto(scale, shape, stream) - scale
            }
        }
        .max(0.0)
    }

    /// Draw a duration, at most the length of the longest run.
    pub(crate) fn span(self, stream: &mut Stream) -> Span {
        Span(self.value(stream).min(MAX_TIME.0 as f64) as u64)
    }

    /// Draw an integer, rounded up, at least 1.
    pub(crate) fn count(self, stream: &mut Stream) -> u64 {
        self.value(stream).ceil().max(1.0) as u64
    }
}

/// The start times of the sources of a group, except those that arrive during the run. Each is drawn, plus
/// the start of the step of the ramp.
#[derive(Clone, Debug)]
pub(crate) struct Starts {
    start: Draw,
    starts: Stream,
    /// The ramp; without one all sources belong to the first step.
    every: Draw,
    by: u32,
    gaps: Stream,
    /// The current step, and when it starts.
    step: u32,
    at: Time,
    /// The remaining sources.
    left: Range<u32>,
}

impl Starts {
    pub(crate) fn new(traffic: &Traffic, demand: &Demand) -> Starts {
        let ramp = traffic.stagger.as_ref();
        let (every, by) = ramp.map_or((Draw::Constant(0.0), u32::MAX), |ramp| (ramp.every, ramp.by));
        let is_short = matches!(traffic.kind, TrafficKind::TcpShort { .. }); // flows arrive during the run
        let left = if is_short { 0..0 } else { 0..traffic.count };
        let [starts, gaps] = ["start", "stagger"].map(|purpose| demand.stream(purpose));
        Starts { start: traffic.start, starts, every, by, gaps, step: 0, at: Time::ZERO, left }
    }

    /// The number of sources.
    pub(crate) fn sources(&self) -> u32 {
        self.left.len() as u32
    }
}

impl Iterator for Starts {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        let index = self.left.next()?;
        while self.step < index / self.by {
            self.at = (self.at + self.every.span(&mut self.gaps.indexed(u64::from(self.step))))
                .min(Time::ZERO + MAX_TIME);
            self.step += 1;
        }
        Some(self.at + self.start.span(&mut self.starts.indexed(u64::from(index))))
    }
}

/// An exponential draw with this mean.
pub(crate) fn exponential(mean: f64, stream: &mut Stream) -> f64 {
    -mean * libm::log(1.0 - stream.uniform())
}

/// A standard normal draw, by the transform of Box and Muller.
fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.uniform()));
    radius * libm::cos(std::f64::consts::TAU * stream.uniform())
}

/// A Pareto draw: P(X > x) = (scale / x)^shape for x >= `scale`.
fn pareto(scale: f64, shape: f64, stream: &mut Stream) -> f64 {
    scale * libm::pow(1.0 - stream.uniform(), -1.0 / shape)
}

/// A source of datagrams, or of packets that an application writes: the times of its packets.
#[derive(Clone, Debug)]
pub(crate) enum Datagrams {
    /// A constant rate, with optional jitter of the gaps.
    Cbr {
        rate: u64,
        jitter: f64,
        /// Time of the previous packet times `rate`, so that rounding errors do not accumulate.
        last: u128,
        gaps: Stream,
    },
    /// A Poisson process; `mean` is that of the gaps, which do not depend on the sizes.
    Poisson { mean: f64, gaps: Stream },
    /// Bursts of packets one interval apart, with exponential (ns-2's EXPOO) or Pareto (its POO) lengths and
    /// idle times.
    OnOff {
        rate: u64,
        /// The packet size that bursts are counted in, and its transmission time.
        size: u32,
        interval: Span,
        /// Packets per burst, and idle time.
        length: Draw,
        idle: Draw,
        bursts: Stream,
        idles: Stream,
        /// The number of the burst, and the packets left in it.
        burst: u64,
        left: u64,
    },
}

impl Datagrams {
    /// Source `index` of a group, which starts at `start`, and the size of its packets; `None` for TCP that
    /// is not limited by its application.
    pub(crate) fn new(
        kind: &TrafficKind,
        demand: &Demand,
        index: u32,
        start: Time,
    ) -> Option<(Datagrams, u32)> {
        let own = |purpose: &str| demand.stream(purpose).indexed(u64::from(index));
        match *kind {
            TrafficKind::UdpCbr { rate, size, jitter } => {
                let last = u128::from(start.0) * u128::from(rate);
                Some((Datagrams::Cbr { rate, jitter, last, gaps: own("gap") }, size))
            }
            TrafficKind::UdpPoisson { rate, size } => {
                let mean = f64::from(size) * 8e9 / rate as f64;
                Some((Datagrams::Poisson { mean, gaps: own("gap") }, size))
            }
            TrafficKind::UdpOnoff { rate, size, on, off } => {
                Some((Datagrams::on_off(rate, size, on, off, own("burst"), own("idle")), size))
            }
            TrafficKind::TcpOnoff { rate, on, off, ref tcp } => {
                let size = tcp.payload + tcp.header;
                Some((Datagrams::on_off(rate, size, on, off, own("burst"), own("idle")), size))
            }
            TrafficKind::Tcp(_)
            | TrafficKind::TcpShort { .. }
            | TrafficKind::Web(_)
            | TrafficKind::Video(_) => None,
        }
    }

    fn on_off(rate: u64, size: u32, on: Span, off: Span, bursts: Stream, idles: Stream) -> Datagrams {
        let interval = Span((u128::from(size) * 8_000_000_000 / u128::from(rate)) as u64);
        let mean_burst = on.0 as f64 / interval.0 as f64;
        let (length, idle) = (Draw::Exponential(mean_burst), Draw::Exponential(off.0 as f64));
        Datagrams::OnOff { rate, size, interval, length, idle, bursts, idles, burst: 0, left: 0 }
    }

    /// Change on and off times to Pareto with this shape.
    pub(crate) fn with_pareto(mut self, shape: f64) -> Datagrams {
        if let Datagrams::OnOff { length, idle, .. } = &mut self {
            for draw in [length, idle] {
                if let Draw::Exponential(mean) = *draw {
                    *draw = Draw::Pareto(mean, shape);
                }
            }
        }
        self
    }

    /// The time of the first packet: `start` for a constant rate, after the first gap or idle time for other
    /// sources.
    pub(crate) fn first(&mut self, start: Time) -> Time {
        match self {
            Datagrams::Cbr { .. } => start,
            Datagrams::Poisson { mean, gaps } => start + Draw::Exponential(*mean).span(&mut gaps.indexed(0)),
            Datagrams::OnOff { .. } => self.begin_burst(start),
        }
    }

    /// The time of the packet after the one of `bytes` at `now`, which was number `count`, counted from 1.
    pub(crate) fn next(&mut self, now: Time, count: u64, bytes: u32) -> Time {
        let work = u128::from(bytes) * 8_000_000_000;
        match self {
            Datagrams::Cbr { rate, jitter, last, gaps } => {
                let mut step = work;
                if *jitter > 0.0 {
                    let factor = 1.0 + *jitter * (2.0 * gaps.indexed(count).uniform() - 1.0);
                    step = (work as f64 * factor) as u128;
                }
                *last += step;
                Time((*last / u128::from(*rate)) as u64)
            }
            Datagrams::Poisson { mean, gaps } => {
                now + Draw::Exponential(*mean).span(&mut gaps.indexed(count))
            }
            Datagrams::OnOff { rate, size, interval, left, .. } => {
                let duration =
                    if bytes == *size { *interval } else { Span((work / u128::from(*rate)) as u64) };
                let next = now + duration;
                if *left > 0 {
                    *left -= 1;
                    return next;
                }
                self.begin_burst(next)
            }
        }
    }

    fn begin_burst(&mut self, at: Time) -> Time {
        let Datagrams::OnOff { length, idle, bursts, idles, burst, left, .. } = self else {
            return at;
        };
        let length = length.value(&mut bursts.indexed(*burst));
        *left = ((length + 0.5) as u64).max(1) - 1;
        let idle = idle.span(&mut idles.indexed(*burst));
        *burst += 1;
        at + idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 573 bytes at 250 kbit/s are 18.336 ms apart.
    #[test]
    fn a_constant_source_keeps_its_rate_exactly() {
        let kind = TrafficKind::UdpCbr { rate: 250_000, size: 573, jitter: 0.0 };
        let (mut source, size) = Datagrams::new(&kind, &Demand::new(1, "cbr"), 0, Time(7)).unwrap();
        let mut at = source.first(Time(7));
        for count in 1..=1000 {
            at = source.next(at, count, 573);
        }
        assert_eq!((at, size), (Time(7 + 18_336_000_000), 573));
    }

    #[test]
    fn an_on_off_source_sends_its_mean_rate() {
        let second = Span::from_millis(1000);
        let kind = TrafficKind::UdpOnoff { rate: 80_000, size: 500, on: second, off: second };
        let mut packets = 0u64;
        for index in 0..200 {
            let (mut source, _) = Datagrams::new(&kind, &Demand::new(1, "udp"), index, Time::ZERO).unwrap();
            let mut at = source.first(Time::ZERO);
            while at < Time::ZERO + second * 100 {
                packets += 1;
                at = source.next(at, packets, 500);
            }
        }
        // 200 sources x 100 s x 40 kbit/s, less the interval that each cycle adds to its idle time.
        let expected = 200.0 * 100.0 * 40_000.0 / 4000.0;
        assert!((packets as f64 / expected - 0.985).abs() < 0.03, "{packets} {expected}");
    }

    /// By inversion: with u = 0.5 a Pareto of mean 50 and shape 2 is 35.355, a Lomax of mean 12 and shape 1.2
    /// is 1.876.
    #[test]
    fn heavy_tailed_draws_have_the_exact_median() {
        let median = |draw: Draw| {
            let mut values: Vec<f64> =
                (0..20_001).map(|i| draw.value(&mut Stream::new(1, "median").indexed(i))).collect();
            values.sort_by(f64::total_cmp);
            values[10_000]
        };
        for (draw, expected) in [
            (Draw::Pareto(50.0, 2.0), 35.355_339_1),
            (Draw::Pareto(12.0, 1.2), 3.563_594_87),
            (Draw::Lomax(12.0, 1.2), 1.876_313_85),
        ] {
            assert!((median(draw) / expected - 1.0).abs() < 0.03, "{draw:?} {}", median(draw));
        }
        let minimum =
            (0..20_000).map(|i| Draw::Pareto(50.0, 2.0).value(&mut Stream::new(1, "least").indexed(i)));
        assert!(minimum.fold(f64::MAX, f64::min) >= 25.0);
    }

    /// The idle times of a Pareto source have the same mean, and with shape 1.5 a minimum of a third of it.
    #[test]
    fn pareto_on_and_off_times_have_the_same_means_and_a_minimum() {
        let second = Span::from_millis(1000);
        let kind = TrafficKind::UdpOnoff { rate: 400_000, size: 500, on: second, off: second };
        let (mut shares, mut minimum) = (0.0, u64::MAX);
        for index in 0..300 {
            let demand = Demand::new(1, "poo");
            let mut source = Datagrams::new(&kind, &demand, index, Time::ZERO).unwrap().0.with_pareto(1.5);
            let (mut at, mut packets) = (source.first(Time::ZERO), 0u64);
            while at < Time::ZERO + second * 100 {
                packets += 1;
                let next = source.next(at, packets, 500);
                if next - at > Span::from_millis(10) {
                    minimum = minimum.min((next - at - Span::from_millis(10)).0);
                }
                at = next;
            }
            shares += packets as f64 / 10_000.0 / 300.0;
        }
        assert!((shares - 0.5).abs() < 0.05, "{shares}");
        assert!((333_333_333..340_000_000).contains(&minimum), "{minimum}");
    }

    #[test]
    fn demand_depends_on_name_and_number_only() {
        let draw = Draw::Uniform(0.0, 1e9);
        let at = |name: &str, i| draw.value(&mut Demand::new(3, name).stream("start").indexed(i));
        assert_eq!(at("a", 5), at("a", 5));
        assert_ne!(at("a", 5), at("a", 6));
        assert_ne!(at("a", 5), at("b", 5));
    }
}
