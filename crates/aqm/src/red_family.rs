//! The common part of the RED family: thresholds in one unit, the average queue, the spacing of signals.

use crate::{Context, Param, QueueView, Range, Span, SpecError, Time, common, config::choice, units::Size};

pub(crate) const MIN_TH: Param =
    Param::fixed("5p").unit("packets or bytes").range(Range::POSITIVE).source("FJ93").tc("min");
pub(crate) const MAX_TH: Param =
    Param::derived("3 min_th").unit("packets or bytes").range(Range::POSITIVE).source("Floyd 1997").tc("max");
pub(crate) const MAX_P: Param =
    Param::fixed("0.1").range(Range::SHARE).source("Floyd 1997; FJ93 had 0.02").tc("probability");
pub(crate) const W_Q: Param = Param::fixed("0.002").range(Range::SHARE).source("FJ93").tc("burst");
pub(crate) const WAIT: Param = Param::fixed("off").source("FJ93").ns2("on");
pub(crate) const MAX_PACKET: Param =
    Param::fixed("1500B").unit("B").range(common::PACKET_BYTES).source("FJ93; Ethernet's largest packet");
pub(crate) const MEAN_PACKET: Param = common::MEAN_PACKET.tc("avpkt");
pub(crate) const ECN_FORCED: Param =
    Param::fixed("mark").source("FJ93").ns2("drop").ns2_2001("mark").tc("harddrop");

choice! {
    /// Whether ECN-capable packets are marked or dropped where every packet is signalled.
    pub enum EcnForced {
        /// They are marked.
        Mark = "mark",
        /// They are dropped.
        Drop = "drop",
    }
}

/// The two thresholds, in packets or in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Thresholds {
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Byte mode: thresholds and average in bytes.
    pub(crate) bytes: bool,
}

impl Thresholds {
    /// Both in the same unit and in order; `max_th` is 3 `min_th` if it is not set.
    pub(crate) fn new(min_th: Size, max_th: Option<Size>) -> Result<Thresholds, SpecError> {
        let (max, bytes) = match (min_th, max_th) {
            (Size::Packets(min), None) => (3.0 * min, false),
            (Size::Bytes(min), None) => (3.0 * min, true),
            (Size::Packets(_), Some(Size::Packets(max))) => (max, false),
            (Size::Bytes(_), Some(Size::Bytes(max))) => (max, true),
            _ => {
                return Err(SpecError::about(
                    "max_th",
                    "is not in the unit of min_th",
                    "15p 45p or 15kB 45kB",
                ));
            }
        };
        let min = min_th.plain();
        if max <= min {
            let allowed = "max_th > min_th, better twice or more";
            return Err(SpecError::about("max_th", "is not above min_th", allowed));
        }
        Ok(Thresholds { min, max, bytes })
    }
}

/// The exponentially weighted average of the queue.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    w_q: f64,
    bytes: bool,
    /// Link rate in bit/s, and the time of a mean packet at 1 bit/s in nanoseconds: for the decay in idle
    /// times.
    rate: u64,
    packet_ns: f64,
    /// ns-2: one more step after an idle time, with the queue that the arrival finds.
    ns2: bool,
    /// Start of the idle time; `None` while the link is busy.
    pub(crate) idle_since: Option<Time>,
    /// The arrival that ended the last idle time, and the start of the part that is not yet accounted for.
    ended: Option<(Time, Time)>,
    /// The average, in packets or bytes.
    pub(crate) avg: f64,
}

impl Average {
    /// An average of 0, at an idle link.
    pub(crate) fn new(w_q: f64, mean_packet: f64, link: &Context, bytes: bool, ns2: bool) -> Average {
        Average {
            w_q,
            bytes,
            rate: link.link_rate,
            packet_ns: 8e9 * mean_packet,
            ns2,
            idle_since: Some(Time::ZERO),
            ended: None,
            avg: 0.0,
        }
    }

    /// The queue in the unit of the average.
    #[inline]
    pub(crate) fn amount(&self, queue: &QueueView) -> f64 {
        if self.bytes { queue.bytes as f64 } else { f64::from(queue.packets) }
    }

    /// Update at an arrival with `queue`; after an idle time instead (in ns-2: before) with 0 for each packet
    /// that the link could have sent.
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

    /// End the idle time that began at `since`.
    #[cold]
    #[inline(never)]
    fn decay(&mut self, since: Time, now: Time) {
        self.idle_since = None;
        let packets = self.packets_since(since, now);
        self.avg *= libm::pow(1.0 - self.w_q, packets);
        let accounted = Span((packets * self.packet_ns / self.rate as f64) as u64);
        self.ended = Some((now, since + accounted));
    }

    /// The link is idle. If that is because the arrival that ended an idle time was refused, the idle time
    /// continues with the part that is not yet accounted for: otherwise the average would never decay while
    /// drops are less than a packet time apart. (In ns-2 the idle time ends.)
    pub(crate) fn idle(&mut self, now: Time) {
        self.idle_since = match self.ended {
            Some((arrival, _)) if arrival == now && self.ns2 => None,
            Some((arrival, rest)) if arrival == now => Some(rest),
            _ => Some(now),
        };
    }

    /// The current average: while the link is idle it decays.
    pub(crate) fn at(&self, now: Time) -> f64 {
        let Some(since) = self.idle_since else { return self.avg };
        self.avg * libm::pow(1.0 - self.w_q, self.packets_since(since, now))
    }

    /// Number of mean packets that the link could have sent.
    fn packets_since(&self, since: Time, now: Time) -> f64 {
        let bits = u128::from(now.since(since).0) * u128::from(self.rate);
        libm::floor(bits as f64 / self.packet_ns)
    }
}

/// The weight with a time constant of one second (ten round trips of 100 ms) on a busy link: 1 - exp(-1/C).
pub(crate) fn automatic_weight(mean_packet: f64, link: &Context) -> f64 {
    -libm::expm1(-8.0 * mean_packet / link.link_rate as f64)
}

/// p_a from p_b: it increases with `count`, the packets since the last signal.
#[inline]
pub(crate) fn spread(p_b: f64, count: f64, wait: bool) -> f64 {
    match (wait, count * p_b) {
        (true, x) if x < 1.0 => 0.0,
        (true, x) if x < 2.0 => (p_b / (2.0 - x)).min(1.0),
        (false, x) if x < 1.0 => (p_b / (1.0 - x)).min(1.0),
        _ => 1.0,
    }
}
