//! **CoDel (Controlled Delay, RFC 8289)** drops packets at the head of the queue when even the minimum
//! sojourn time has been above `target` for a whole `interval`: a queue that drains within an interval
//! absorbs a burst and causes no drops, even if it is long.
//!
//! It measures time instead of length, so that no parameter depends on the link rate. While the sojourn time
//! stays above `target`, the drop rate increases with the square root of the number of drops, which makes the
//! rate of TCP decrease linearly.
//!
//! # When it decides
//! On departure. The head is *ok to drop* if every head has waited `target` or longer for one `interval`, and
//! more than `max_packet` bytes were queued behind it. The first such head is dropped and starts the dropping
//! state, in which the next drop follows interval / sqrt(count) later, until a head is not ok to drop. If the
//! dropping state starts again within 16 intervals, it starts at the rate that the last one reached. After a
//! drop, `drop_next` moves only if the next head is still ok to drop. With ECN a mark replaces a drop, and
//! the marked packet is sent. The cause is `early`. A packet that is sent after more than `ce_threshold` is
//! marked besides, if it is ECN-capable: senders that respond to the share of marks, such as DCTCP and
//! Prague, keep the delay there. Cause `forced`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | count on entering the dropping state again | the number of drops in the last one | ns-2's patch, early Linux: count - 2 (`restart less_two`) | RFC 8289 |
//! | 1 / sqrt(count) | exact integer square root | Linux: one Newton step per drop on 16 bits (`sqrt newton`) | a Newton step lags behind count |
//! | clock | 64-bit nanoseconds | Linux: units of 1024 ns in 32 bits | no wrap-around |
//! | backlog up to which no packet is dropped | 1500 bytes | RFC's listing: 512; Linux: the device's MTU with its header, 1514 on Ethernet; ns-3: 1500 | the largest packet on Ethernet; on another link set `max_packet` |
//! | end of the first interval | ok to drop at first_above_time or later | Linux: strictly later | RFC 8289 |
//! | marks by `ce_threshold` | with `ecn` | Linux: also without; not in RFC 8289 | one switch for all algorithms |
//! | ECN | the queue's `ecn` | Linux: off in codel, on in fq_codel | one switch for all algorithms |
//!
//! # References
//! K. Nichols, V. Jacobson: Controlling Queue Delay, ACM Queue 10(5), 2012. RFC 8289. Linux `codel_impl.h`.

use crate::{
    Algorithm, Aqm, Cause, Ecn, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random, Range,
    Span, SpecError, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    units::Bytes,
};
use alloc::boxed::Box;

choice! {
    /// The count on entering the dropping state again within 16 intervals.
    pub enum Restart {
        /// The drops of the last dropping state (RFC 8289).
        Difference = "difference",
        /// `count - 2` (ns-2's patch, early Linux).
        LessTwo = "less_two",
    }
}

choice! {
    /// How interval / sqrt(count) is computed.
    pub enum Sqrt {
        /// Exactly, rounded down.
        Exact = "exact",
        /// As Linux: 16 bits after the point, one Newton step a change of count.
        Newton = "newton",
    }
}

config! {
    /// The parameters of CoDel.
    pub struct Config {
        /// Acceptable standing delay: 5 to 10 % of the interval
        target: Span = Param::fixed("5ms")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("RFC 8289, 4.4")
            .tc("target");
        /// Time for which the delay must exceed the target before the first drop: about the largest RTT
        interval: Span = Param::fixed("100ms")
            .unit("s")
            .range(common::PERIOD)
            .source("RFC 8289, 4.3")
            .tc("interval");
        /// No packet is dropped while at most this many bytes are queued behind the head
        max_packet: Bytes = Param::fixed("1500B")
            .unit("B")
            .range(common::PACKET_BYTES)
            .source("RFC 8289, 5.2; Ethernet's largest packet")
            .linux("1514B");
        /// Count on dropping again within 16 intervals: the drops of the last dropping state, or count - 2
        restart: Restart = Param::fixed("difference").source("RFC 8289, 5.5");
        /// How interval / sqrt(count) is computed: exactly, or as Linux does
        sqrt: Sqrt = Param::fixed("exact").source("RFC 8289, 5.6").linux("newton");
        /// Delay above which each ECN-capable packet is marked, for scalable senders
        ce_threshold: Option<Span> = Param::derived("no limit: only the dropping state marks")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("Linux codel_impl.h")
            .tc("ce_threshold");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

pub(crate) const PROBES: &[Probe] = &[
    Probe { name: "dropping", unit: "", doc: "1 in the dropping state" },
    Probe { name: "count", unit: "packets", doc: "drops that set the current rate" },
    Probe { name: "lastcount", unit: "packets", doc: "count at the start of the last dropping state" },
    Probe {
        name: "first_above_time",
        unit: "s",
        doc: "when the delay will have been above target for an interval; 0 while it is below",
    },
    Probe { name: "drop_next", unit: "s", doc: "time of the next drop, while dropping" },
];

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "codel",
    title: "Controlled Delay",
    alias_of: None,
    source: "RFC 8289",
    params: Config::PARAMS,
    probes: PROBES,
    ns2_limit_counts_service: false,
    file: include_str!("codel.rs"),
    instance: crate::instance!(CoDel),
    build: |settings| settings.build(CoDel::new),
};

/// interval / sqrt(count), rounded down; for count 0 as for 1.
pub(crate) fn gap(interval: Span, count: u32) -> Span {
    let interval = u128::from(interval.0);
    Span((interval * interval / u128::from(count.max(1))).isqrt() as u64)
}

/// 1 / sqrt(count) as Linux keeps it: 16 bits after the point, one Newton step a change of count.
#[derive(Clone, Debug)]
struct Newton(u16);

impl Newton {
    /// x <- x (3 - count x^2) / 2.
    fn step(&mut self, count: u32) {
        let x = u64::from(self.0) << 16;
        let square = (x * x) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
        self.0 = (rest.wrapping_mul(x) >> (32 - 2 + 1 + 16)) as u16;
    }

    fn gap(&self, interval: Span) -> Span {
        Span(((u128::from(interval.0) * u128::from(self.0)) >> 16) as u64)
    }
}

/// The position in the RFC's `deque`. Its loop runs in the queue, which passes one head after another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Not `dropping_`.
    NotDropping,
    /// `dropping_`; the head is the first of this departure.
    Dropping,
    /// The drop of the previous packet started the dropping state: this packet is sent.
    Entered,
    /// `dropping_`; the loop dropped the previous packet, and `drop_next_` has not moved yet.
    Dropped,
}

/// The state of CoDel, with the RFC's names.
#[derive(Clone, Debug)]
pub struct CoDel {
    target: Span,
    interval: Span,
    max_packet: u64,
    less_two: bool,
    /// A packet dropped because of the limit raises `count`.
    overflow_counts: bool,
    ecn: bool,
    /// A packet that waited longer is marked; the largest span: none is.
    ce_threshold: Span,
    /// Of the ECN-capable packets, only those with ECT(1).
    only_ect1: bool,
    /// Linux's inverse square root (`sqrt newton`).
    newton: Option<Newton>,
    /// When the delay will have been above target for an interval; `None` while it is below.
    first_above_time: Option<Time>,
    /// Time of the next drop.
    drop_next: Time,
    /// Drops that set the current rate.
    count: u32,
    /// Count at the start of the last dropping state.
    lastcount: u32,
    state: State,
}

impl CoDel {
    /// CoDel for an empty queue.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config) -> Result<CoDel, SpecError> {
        config.check()?;
        Ok(CoDel {
            target: config.target,
            interval: config.interval,
            max_packet: config.max_packet.0 as u64,
            less_two: config.restart == Restart::LessTwo,
            overflow_counts: false,
            ecn: config.ecn,
            ce_threshold: config.ce_threshold.filter(|_| config.ecn).unwrap_or(Span(u64::MAX)),
            only_ect1: false,
            newton: (config.sqrt == Sqrt::Newton).then_some(Newton(u16::MAX)),
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            state: State::NotDropping,
        })
    }

    /// Whether a packet dropped because of the limit raises `count`, as in Linux's `fq_codel`.
    pub(crate) fn count_overflow(&mut self, yes: bool) {
        self.overflow_counts = yes;
    }

    /// Whether `ce_threshold` concerns ECT(1) only, the identifier of L4S (RFC 9331, section 4.1).
    pub(crate) fn select_ect1(&mut self, yes: bool) {
        self.only_ect1 = yes;
    }

    /// What Linux does with a packet that is sent, beyond the RFC.
    #[cold]
    #[inline(never)]
    fn mark_by_threshold(&self, packet: &PacketView, verdict: Verdict) -> Verdict {
        let is_selected = if self.only_ect1 { packet.ecn == Ecn::Ect1 } else { packet.ecn != Ecn::NotEct };
        if is_selected && verdict == Verdict::Pass { Verdict::Mark(Cause::Forced) } else { verdict }
    }

    /// The RFC's `dodequeue`: whether the delay has been above target for an interval.
    #[inline]
    fn ok_to_drop(&mut self, now: Time, packet: &PacketView, queue: &QueueView) -> bool {
        if now.since(packet.arrived) < self.target || queue.bytes <= self.max_packet {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            Some(time) => now >= time,
            None => {
                self.first_above_time = Some(now + self.interval);
                false
            }
        }
    }

    /// Time of the drop after a drop at `time`.
    fn control_law(&self, time: Time) -> Time {
        time + match &self.newton {
            Some(newton) => newton.gap(self.interval),
            None => gap(self.interval, self.count),
        }
    }

    /// The steps of the RFC's `deque` for one head, called only for heads that may change the state.
    #[cold]
    #[inline(never)]
    fn deque(&mut self, now: Time, packet: PacketView, ok_to_drop: bool) -> Verdict {
        match self.state {
            State::Entered => {
                self.state = State::Dropping;
                Verdict::Pass
            }
            _ if !ok_to_drop => {
                self.state = State::NotDropping;
                Verdict::Pass
            }
            State::NotDropping => self.enter_dropping(now, &packet),
            State::Dropping => self.drop_if_due(now, &packet),
            State::Dropped => {
                self.state = State::Dropping;
                self.drop_next = self.control_law(self.drop_next);
                self.drop_if_due(now, &packet)
            }
        }
    }

    /// Enter the dropping state with this packet.
    fn enter_dropping(&mut self, now: Time, packet: &PacketView) -> Verdict {
        let delta = if self.less_two {
            self.count.saturating_sub(2)
        } else {
            self.count.saturating_sub(self.lastcount)
        };
        let is_recent = now.since(self.drop_next).0 < self.interval.0.saturating_mul(16);
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        if let Some(newton) = &mut self.newton {
            if self.count > 1 { newton.step(self.count) } else { *newton = Newton(u16::MAX) }
        }
        self.drop_next = self.control_law(now);
        self.lastcount = self.count;
        let verdict = Verdict::signal(packet, self.ecn, Cause::Early);
        self.state = if matches!(verdict, Verdict::Drop(_)) { State::Entered } else { State::Dropping };
        verdict
    }

    /// The body of the RFC's loop.
    fn drop_if_due(&mut self, now: Time, packet: &PacketView) -> Verdict {
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        if let Some(newton) = &mut self.newton {
            newton.step(self.count);
        }
        let verdict = Verdict::signal(packet, self.ecn, Cause::Early);
        if matches!(verdict, Verdict::Mark(_)) {
            self.drop_next = self.control_law(self.drop_next);
        } else {
            self.state = State::Dropped;
        }
        verdict
    }
}

impl IgnoresContents for CoDel {}

impl Aqm for CoDel {
    #[inline]
    fn hooks(&self) -> Hooks {
        Hooks::DEPARTURES
    }

    #[inline(always)]
    fn on_departure(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        _: &mut dyn Random,
    ) -> Verdict {
        let ok_to_drop = self.ok_to_drop(now, packet, queue);
        let stays = if ok_to_drop {
            self.state == State::Dropping && now < self.drop_next
        } else {
            self.state == State::NotDropping
        };
        let verdict = if stays { Verdict::Pass } else { self.deque(now, *packet, ok_to_drop) };
        if now.since(packet.arrived) > self.ce_threshold {
            return self.mark_by_threshold(packet, verdict);
        }
        verdict
    }

    fn on_drop(&mut self, _: Time, _: &PacketView, cause: Cause, _: &QueueView) {
        if self.overflow_counts && cause == Cause::Overflow {
            self.count = self.count.saturating_add(1);
        }
    }

    fn on_idle(&mut self, _: Time) {
        self.first_above_time = None;
        self.state = State::NotDropping;
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("dropping", f64::from(u8::from(self.state != State::NotDropping)));
        field("count", f64::from(self.count));
        field("lastcount", f64::from(self.lastcount));
        field("first_above_time", self.first_above_time.unwrap_or_default().as_secs_f64());
        field("drop_next", self.drop_next.as_secs_f64());
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three steps: from 1 at count 2 to 0.5, 0.625, 0.693359375, the exact value being 0.707106781.
    #[test]
    fn newton_steps_to_sixteen_bits() {
        let mut newton = Newton(u16::MAX);
        for expected in [0.5, 0.625, 0.693_359_375] {
            newton.step(2);
            let x = f64::from(newton.0) / 65536.0;
            assert!((x - expected).abs() < 1e-4, "{x} instead of {expected}");
        }
    }
}
