//! **CoDel (Controlled Delay)** drops at the head when even the shortest stay in the queue has been above `target`
//! for a whole `interval`: a queue that empties now and then is a good queue, however long it gets.
//!
//! It has nothing to tune to a link: it measures time, not length. While the delay stays above `target` it drops
//! at a rate that rises with the square root of the number of drops, which makes TCP's rate fall linearly.
//!
//! # When it decides
//! On departure. A head is *ok to drop* if it and all before it have waited `target` or longer for one `interval`, and
//! more than `max_packet` bytes wait behind it. The first such head is dropped; the next drop follows
//! interval / sqrt(count) later, and so on until a head is not ok. Whoever comes back to dropping soon (within 16
//! intervals) starts at the rate reached last time. After a drop, `drop_next` moves only once the next head has been
//! seen and is still ok. A mark replaces a drop and sends the packet. The cause is `early`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | count on coming back | the drops of the last cycle | ns-2's patch, early Linux: count - 2 (`restart less_two`) | RFC 8289 |
//! | 1 / sqrt(count) | exact integer square root | Linux: one Newton step a drop on 16 bits (`sqrt newton`) | the step lags behind count and never reaches it quite |
//! | clock | 64-bit nanoseconds | Linux: units of 1024 ns in 32 bits | no wrap-around to think of |
//! | backlog that is left alone | 1500 bytes | RFC's listing starts at 512, Linux: largest packet seen; ns-3 1500 | the packet that an Ethernet carries; a link that carries other packets should say so |
//! | ECN | the queue's `ecn` | Linux: off in codel, on in fq_codel | one switch for all algorithms |
//!
//! # References
//! K. Nichols, V. Jacobson: Controlling Queue Delay, ACM Queue 10(5), 2012. RFC 8289. Linux `codel_impl.h`.

use crate::{
    Algorithm, Aqm, Cause, Hooks, IgnoresContents, PacketView, Param, Probe, QueueView, Random, Range, Span,
    SpecError, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    units::Bytes,
};
use alloc::boxed::Box;

choice! {
    /// The count on coming back to dropping within 16 intervals.
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
        /// Delay that may stand: 5 to 10 % of the interval
        target: Span = Param::fixed("5ms")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("RFC 8289, 4.4")
            .tc("target");
        /// How long the delay must stand before the first drop: about the largest RTT
        interval: Span = Param::fixed("100ms")
            .unit("s")
            .range(common::PERIOD)
            .source("RFC 8289, 4.3")
            .tc("interval");
        /// With so many bytes or fewer behind the head nothing is dropped
        max_packet: Bytes = Param::fixed("1500B")
            .unit("B")
            .range(common::PACKET_BYTES)
            .source("RFC 8289, 5.2; Ethernet's largest packet")
            .linux("1514B");
        /// Count on coming back within 16 intervals: the drops of the last cycle, or count - 2
        restart: Restart = Param::fixed("difference").source("RFC 8289, 5.5");
        /// How interval / sqrt(count) is computed: exactly, or as Linux does
        sqrt: Sqrt = Param::fixed("exact").source("RFC 8289, 5.6").linux("newton");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

pub(crate) const PROBES: &[Probe] = &[
    Probe { name: "dropping", unit: "", doc: "1 while it drops" },
    Probe { name: "count", unit: "packets", doc: "drops that set the present rate" },
    Probe { name: "lastcount", unit: "packets", doc: "count when dropping last began" },
    Probe {
        name: "first_above_time",
        unit: "s",
        doc: "when the delay will have stood for an interval; 0 while it does not stand",
    },
    Probe { name: "drop_next", unit: "s", doc: "when the next drop is due, while dropping" },
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

/// Whether it drops, and what became of the packet before, since the next head, at the same moment, is judged as the
/// RFC's loop does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// It does not drop.
    Resting,
    /// In the dropping state; the head is the first of its departure.
    Dropping,
    /// Dropping began with the packet before: this one goes.
    Begun,
    /// The loop dropped the packet before: `drop_next` is still to be moved.
    Dropped,
}

/// The state of CoDel, with the RFC's names.
#[derive(Clone, Debug)]
pub struct CoDel {
    target: Span,
    interval: Span,
    max_packet: u64,
    less_two: bool,
    ecn: bool,
    /// Linux's inverse square root, if that is wanted.
    newton: Option<Newton>,
    /// When the delay will have stood for an interval; `None` while it does not stand.
    first_above_time: Option<Time>,
    /// When the next drop is due.
    drop_next: Time,
    /// Drops that set the present rate.
    count: u32,
    /// Count when dropping last began.
    lastcount: u32,
    state: State,
}

impl CoDel {
    /// CoDel at an empty queue.
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
            ecn: config.ecn,
            newton: (config.sqrt == Sqrt::Newton).then_some(Newton(u16::MAX)),
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            state: State::Resting,
        })
    }

    /// Whether the delay has stood for an interval (the RFC's dodequeue).
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

    /// The control law: when the drop after one at `time` is due.
    fn schedule(&mut self, time: Time) {
        self.drop_next = time
            + match &self.newton {
                Some(newton) => newton.gap(self.interval),
                None => gap(self.interval, self.count),
            };
    }

    /// A head that is ok to drop or not; most need not come here.
    #[cold]
    #[inline(never)]
    fn judge(&mut self, now: Time, packet: PacketView, ok: bool) -> Verdict {
        match self.state {
            State::Begun => {
                self.state = State::Dropping;
                Verdict::Pass
            }
            _ if !ok => {
                self.state = State::Resting;
                Verdict::Pass
            }
            State::Resting => self.begin(now, &packet),
            before => {
                self.state = State::Dropping;
                if before == State::Dropped {
                    self.schedule(self.drop_next);
                }
                self.proceed(now, &packet)
            }
        }
    }

    /// Dropping begins with this packet.
    fn begin(&mut self, now: Time, packet: &PacketView) -> Verdict {
        self.state = State::Dropping;
        let recent = now.since(self.drop_next).0 < self.interval.0.saturating_mul(16);
        let again = if self.less_two {
            self.count.saturating_sub(2)
        } else {
            self.count.saturating_sub(self.lastcount)
        };
        self.count = if recent && again > 1 { again } else { 1 };
        if let Some(newton) = &mut self.newton {
            if self.count > 1 { newton.step(self.count) } else { *newton = Newton(u16::MAX) }
        }
        self.schedule(now);
        self.lastcount = self.count;
        let verdict = Verdict::signal(packet, self.ecn, Cause::Early);
        if matches!(verdict, Verdict::Drop(_)) {
            self.state = State::Begun;
        }
        verdict
    }

    /// The body of the RFC's loop: this packet goes if its time has come.
    fn proceed(&mut self, now: Time, packet: &PacketView) -> Verdict {
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        if let Some(newton) = &mut self.newton {
            newton.step(self.count);
        }
        let verdict = Verdict::signal(packet, self.ecn, Cause::Early);
        if matches!(verdict, Verdict::Mark(_)) {
            self.schedule(self.drop_next);
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
        let ok = self.ok_to_drop(now, packet, queue);
        let nothing_due = if ok {
            self.state == State::Dropping && now < self.drop_next
        } else {
            self.state == State::Resting
        };
        if nothing_due { Verdict::Pass } else { self.judge(now, *packet, ok) }
    }

    fn on_idle(&mut self, _: Time) {
        self.first_above_time = None;
        self.state = State::Resting;
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("dropping", f64::from(u8::from(self.state != State::Resting)));
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
