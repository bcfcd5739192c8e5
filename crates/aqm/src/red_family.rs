//! What RED and its relatives share: thresholds in one unit, the average queue, the spread of signals.

use crate::{
    DefaultValue::Derived, DefaultValue::Value as Fixed, Kind, Param, QueueView, Range, Settings, Span,
    SpecError, Time, common, units::Size,
};

pub(crate) const MIN_TH: Param =
    Param::new("min_th", Kind::Size, Fixed("5p"), "Average queue below which nothing is dropped")
        .unit("packets or bytes")
        .range(Range::POSITIVE)
        .source("FJ93")
        .tc("min");
pub(crate) const MAX_TH: Param = Param::new(
    "max_th",
    Kind::Size,
    Derived("3 min_th"),
    "Average queue at which the probability reaches max_p; from here on every packet (see gentle)",
)
.unit("packets or bytes")
.range(Range::POSITIVE)
.source("Floyd 1997")
.tc("max");
pub(crate) const MAX_P: Param =
    Param::new("max_p", Kind::Number, Fixed("0.1"), "Base probability just below max_th")
        .range(Range::SHARE)
        .source("Floyd 1997; FJ93 had 0.02")
        .tc("probability");
pub(crate) const W_Q: Param =
    Param::new("w_q", Kind::Number, Fixed("0.002"), "Weight of the present queue in the average")
        .range(Range::SHARE)
        .source("FJ93")
        .tc("burst");
pub(crate) const WAIT: Param = Param::new(
    "wait",
    Kind::Flag,
    Fixed("off"),
    "After a signal let 1/p_b packets pass first: gaps of 1/p_b to 2/p_b packets",
)
.source("FJ93")
.ns2("on");
pub(crate) const MAX_PACKET: Param = Param::new(
    "max_packet",
    Kind::Size,
    Fixed("1500B"),
    "Byte mode: packet size that meets the full base probability (S_max)",
)
.unit("B")
.range(common::PACKET_BYTES)
.source("FJ93; Ethernet's largest packet");
pub(crate) const MEAN_PACKET: Param = common::MEAN_PACKET.tc("avpkt");
pub(crate) const ECN_FORCED: Param = Param::new(
    "ecn_forced",
    Kind::Choice(&["mark", "drop"]),
    Fixed("mark"),
    "What happens to ECN-capable packets in the certain region",
)
.source("FJ93")
.ns2("drop")
.ns2_2001("mark")
.tc("harddrop");

/// The two thresholds, in packets or in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Thresholds {
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Byte mode: thresholds and average in bytes.
    pub(crate) bytes: bool,
}

impl Thresholds {
    /// Both in the same unit and in order.
    pub(crate) fn new(settings: &Settings) -> Result<Thresholds, SpecError> {
        Thresholds::above(settings, settings.size("min_th").unwrap_or(Size::Packets(5.0)))
    }

    /// The same where the lower one is known.
    pub(crate) fn above(settings: &Settings, min: Size) -> Result<Thresholds, SpecError> {
        let (max, bytes) = match (min, settings.size("max_th")) {
            (Size::Packets(min), None) => (3.0 * min, false),
            (Size::Bytes(min), None) => (3.0 * min, true),
            (Size::Packets(_), Some(Size::Packets(max))) => (max, false),
            (Size::Bytes(_), Some(Size::Bytes(max))) => (max, true),
            _ => {
                return Err(settings.error("max_th", "is not in the unit of min_th", "15p 45p or 15kB 45kB"));
            }
        };
        if max <= min.plain() {
            return Err(settings.error(
                "max_th",
                "is not above min_th",
                "max_th > min_th, better twice or more",
            ));
        }
        Ok(Thresholds { min: min.plain(), max, bytes })
    }
}

/// The exponentially weighted average of the waiting queue.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    w_q: f64,
    bytes: bool,
    /// Link rate in bit/s, and what a mean packet needs at 1 bit/s in nanoseconds: for idle times.
    rate: u64,
    packet_ns: f64,
    /// ns-2: one step more after idling, and it meets a queue.
    ns2: bool,
    /// Since when the link has had nothing to send; `None` while it works.
    pub(crate) idle_since: Option<Time>,
    /// The arrival that ended the last idle time, and from when on that time is not yet accounted for.
    ended: Option<(Time, Time)>,
    /// The average, in packets or bytes.
    pub(crate) avg: f64,
}

impl Average {
    /// Zero, at a link that is idle. A weight that is derived is Floyd's: a time constant of one second.
    pub(crate) fn new(settings: &Settings, bytes: bool, ns2: bool) -> Result<Average, SpecError> {
        let mean_packet = common::packet_bytes(settings, "mean_packet")?;
        Ok(Average {
            w_q: settings.number_or("w_q", automatic_weight(settings, mean_packet)),
            bytes,
            rate: settings.context.link_rate,
            packet_ns: 8e9 * mean_packet,
            ns2,
            idle_since: Some(Time::ZERO),
            ended: None,
            avg: 0.0,
        })
    }

    /// The queue in the unit of the average.
    #[inline]
    pub(crate) fn amount(&self, queue: &QueueView) -> f64 {
        if self.bytes { queue.bytes as f64 } else { f64::from(queue.packets) }
    }

    /// An arrival sees `queue`; after idling, as many packets as the link could have sent saw none.
    #[inline]
    pub(crate) fn update(&mut self, now: Time, queue: f64) {
        if let Some(since) = self.idle_since {
            self.decay(since, now);
            if !self.ns2 {
                return;
            }
        }
        self.avg += self.w_q * (queue - self.avg);
    }

    /// The idle time since then is over.
    #[cold]
    #[inline(never)]
    fn decay(&mut self, since: Time, now: Time) {
        self.idle_since = None;
        let packets = self.packets_since(since, now);
        self.avg *= libm::pow(1.0 - self.w_q, packets);
        let accounted = Span((packets * self.packet_ns / self.rate as f64) as u64);
        self.ended = Some((now, since + accounted));
    }

    /// The link has nothing to send. If that is because the arrival that ended an idle time was refused,
    /// the idle time goes on with what is not yet accounted for: else refusals closer together than a
    /// packet's time would stop the clock, and the average with it, for good. (In ns-2 it ends.)
    pub(crate) fn idle(&mut self, now: Time) {
        self.idle_since = match self.ended {
            Some((arrival, _)) if arrival == now && self.ns2 => None,
            Some((arrival, rest)) if arrival == now => Some(rest),
            _ => Some(now),
        };
    }

    /// The average as it stands: while the link idles it decays.
    pub(crate) fn at(&self, now: Time) -> f64 {
        let Some(since) = self.idle_since else { return self.avg };
        self.avg * libm::pow(1.0 - self.w_q, self.packets_since(since, now))
    }

    /// Mean packets that the link could have sent.
    fn packets_since(&self, since: Time, now: Time) -> f64 {
        let bits = u128::from(now.since(since).0) * u128::from(self.rate);
        libm::floor(bits as f64 / self.packet_ns)
    }
}

/// The weight that forgets in one second (ten round trips of 100 ms) of a busy link: 1 - exp(-1/C).
fn automatic_weight(settings: &Settings, mean_packet: f64) -> f64 {
    -libm::expm1(-8.0 * mean_packet / settings.context.link_rate as f64)
}

/// p_a from p_b: the longer ago the last signal, the likelier the next.
#[inline]
pub(crate) fn spread(p_b: f64, count: f64, wait: bool) -> f64 {
    match (wait, count * p_b) {
        (true, x) if x < 1.0 => 0.0,
        (true, x) if x < 2.0 => (p_b / (2.0 - x)).min(1.0),
        (false, x) if x < 1.0 => (p_b / (1.0 - x)).min(1.0),
        _ => 1.0,
    }
}
