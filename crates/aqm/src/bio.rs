//! **BIO (BLUE with In and Out; Okuroglu and Oktug 2001)** runs two BLUEs on one queue: the signalling
//! probability of in-profile packets follows the backlog of such packets, that of out-of-profile packets
//! follows the whole queue.
//!
//! It extends BLUE as RIO extends RED, so that out packets are dropped before in packets. The out probability
//! also depends on in packets: if these alone keep the queue above `max_out`, it rises to 1 and stays there,
//! as the authors observed.
//!
//! # When it decides
//! Class 0 is in, every other class out; q_in is the backlog of in packets, q that of all. An arrival is
//! signalled with the current p_in or p_out (`early`). Each arrival, even if it does not fit, then increases
//! p_in by `d_i_in` if it found q_in > `max_in`, and p_out by `d_i_out` if it found q > `max_out`. Each
//! departure decreases p_in by `d_d_in` if q_in < `min_in`, and p_out by `d_d_out` if q < `min_out`, where
//! the departing packet still counts; a link that becomes idle decreases both. Each of the four steps happens
//! at most once in its hold time. `drop_at_max` also drops (`forced`) every out packet that finds q at
//! `max_out` or above, and every in packet that finds q_in at `max_in` or above.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | `max_in` at the buffer limit | q_in = max_in counts as above (`in_at_max reached`) | the paper's listing: strictly above (`in_at_max above`) | q_in cannot exceed the limit: with a strict comparison p_in could never increase |
//! | out packets above `max_out` | signalled with p_out | the paper's text: dropped (`drop_at_max`) | the listing has no such rule; the text describes the authors' simulations |
//! | steps and hold time | up 0.0005 (in) and 0.01 (out), down 0.001 and 0.01; 10 ms | the printed digits are damaged and have other readings | the hold time is that of BLUE in the same paper |
//! | three precedences | the two worse ones are out | not defined | two BLUEs have two probabilities |
//!
//! # References
//! Okuroglu, Oktug: BIO: an alternative to RIO, Proc. SPIE 4524, 2001.

use crate::{
    Algorithm, Aqm, Cause, Class, Context, PacketView, Param, Probe, QueueView, Random, Range, Span,
    SpecError, Time, Verdict,
    classes::Classes,
    common,
    config::{Fields, choice, config, meaning},
    units::Size,
};
use alloc::boxed::Box;

const PAPER: &str = "Okuroglu and Oktug 2001, section 4.2";

const fn step(default: &'static str) -> Param {
    Param::fixed(default).range(Range::SHARE).source(PAPER)
}
const fn threshold(derived: &'static str) -> Param {
    Param::derived(derived).unit("packets or bytes").range(Range::POSITIVE).source(PAPER)
}
const HOLD: Param = Param::fixed("10ms").unit("s").range(Range::NOT_NEGATIVE).source(PAPER);

choice! {
    /// Whether an in backlog equal to `max_in` increases the in probability.
    pub enum AtMax {
        /// Yes.
        Reached = "reached",
        /// No, only a longer one.
        Above = "above",
    }
}

config! {
    /// The parameters of BIO.
    pub struct Config {
        /// Step up of the in probability
        d_i_in: f64 = step("0.0005");
        /// Step up of the out probability
        d_i_out: f64 = step("0.01");
        /// Step down of the in probability
        d_d_in: f64 = step("0.001");
        /// Step down of the out probability
        d_d_out: f64 = step("0.01");
        /// In backlog above which the in probability increases
        max_in: Option<Size> = threshold("the buffer limit");
        /// In backlog below which the in probability decreases
        min_in: Option<Size> = threshold("max_in / 2");
        /// Queue above which the out probability increases
        max_out: Option<Size> = threshold("min_in");
        /// Queue below which the out probability decreases
        min_out: Option<Size> = threshold("max_out / 3");
        /// Minimum time between two steps up, or two down, of the in probability
        in_hold: Span = HOLD;
        /// Minimum time between two steps up, or two down, of the out probability
        out_hold: Span = HOLD;
        /// Whether an in backlog equal to max_in increases the in probability
        in_at_max: Option<AtMax> = Param::derived("reached if max_in is the buffer limit or more, else above")
            .source("Okuroglu and Oktug 2001, figure 17: above");
        /// Drop out packets that find the queue at max_out, and in packets that find the in backlog at max_in
        drop_at_max: bool = Param::fixed("off").source("Okuroglu and Oktug 2001, figure 17: off");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "bio",
    title: "BLUE with In and Out",
    alias_of: None,
    source: "Okuroglu and Oktug 2001",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "signalling probability of the last arrival" },
        Probe { name: "p_in", unit: "", doc: "signalling probability of in packets" },
        Probe { name: "p_out", unit: "", doc: "signalling probability of out packets" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("bio.rs"),
    instance: crate::instance!(Bio),
    build: |s| s.build(|config| Bio::new(config, &s.context)),
};

/// One of the two BLUEs.
#[derive(Clone, Debug)]
struct Blue {
    /// The classes whose backlog it follows.
    classes: Classes,
    min: f64,
    max: f64,
    /// p also increases at a backlog equal to `max`.
    at_max: bool,
    up: f64,
    down: f64,
    hold: Span,
    /// Its signalling probability.
    p: f64,
    /// Time of the last step up; `None` before the first.
    last_inc: Option<Time>,
    /// Time of the last step down.
    last_dec: Option<Time>,
}

/// The state of BIO.
#[derive(Clone, Debug)]
pub struct Bio {
    inside: Blue,
    outside: Blue,
    bytes: bool,
    drop_at_max: bool,
    ecn: bool,
    /// Signalling probability of the current arrival.
    p: f64,
    /// The current arrival finds its backlog at the upper threshold or above.
    is_at_max: bool,
}

impl Blue {
    /// An arrival found `backlog`: step up if it is above the threshold.
    fn rise(&mut self, now: Time, backlog: f64) {
        let is_above = backlog > self.max || self.at_max && backlog == self.max;
        if is_above && self.last_inc.is_none_or(|last| now.since(last) > self.hold) {
            self.p = (self.p + self.up).min(1.0);
            self.last_inc = Some(now);
        }
    }

    /// The link is free and found `backlog`, or nothing (`None`): step down if it is below the threshold.
    fn fall(&mut self, now: Time, backlog: Option<f64>) {
        let is_below = backlog.is_none_or(|backlog| backlog < self.min);
        if is_below && self.last_dec.is_none_or(|last| now.since(last) > self.hold) {
            self.p = (self.p - self.down).max(0.0);
            self.last_dec = Some(now);
        }
    }
}

impl Bio {
    /// BIO for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; thresholds in two units or out of order.
    pub fn new(config: Config, link: &Context) -> Result<Bio, SpecError> {
        config.check()?;
        let limit = common::limit(link);
        let bytes = matches!(config.max_in.unwrap_or(limit), Size::Bytes(_));
        let size = |name, size, derived| match size {
            None => Ok(derived),
            Some(Size::Bytes(x)) if bytes => Ok(x),
            Some(Size::Packets(x)) if !bytes => Ok(x),
            Some(_) => {
                let allowed = "all in packets, or all in bytes";
                Err(SpecError::about(name, "is not in the unit of max_in", allowed))
            }
        };
        let room = common::amount(limit, bytes, f64::from(link.mean_packet));
        let max_in = size("max_in", config.max_in, room)?;
        let min_in = size("min_in", config.min_in, max_in / 2.0)?;
        let max_out = size("max_out", config.max_out, min_in)?;
        let min_out = size("min_out", config.min_out, max_out / 3.0)?;
        for (name, min, max) in [("min_in", min_in, max_in), ("min_out", min_out, max_out)] {
            if min > max {
                return Err(SpecError::about(name, "is above its upper threshold", "min <= max"));
            }
        }
        let (p, last_inc, last_dec) = (0.0, None, None);
        let inside = Blue {
            classes: Classes { from: 0, to: 0 },
            min: min_in,
            max: max_in,
            at_max: config.in_at_max.map_or(max_in >= room, |at| at == AtMax::Reached),
            up: config.d_i_in,
            down: config.d_d_in,
            hold: config.in_hold,
            p,
            last_inc,
            last_dec,
        };
        let outside = Blue {
            classes: Classes::ALL,
            min: min_out,
            max: max_out,
            at_max: false,
            up: config.d_i_out,
            down: config.d_d_out,
            hold: config.out_hold,
            ..inside.clone()
        };
        let (drop_at_max, ecn) = (config.drop_at_max, config.ecn);
        Ok(Bio { inside, outside, bytes, drop_at_max, ecn, p: 0.0, is_at_max: false })
    }

    /// The BLUE of a class.
    fn of(&self, class: Class) -> &Blue {
        if class.0 == 0 { &self.inside } else { &self.outside }
    }
}

impl Aqm for Bio {
    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        // The decision uses the probability before this arrival changes it.
        let own = self.of(packet.class);
        (self.p, self.is_at_max) = (own.p, own.classes.backlog(queue, self.bytes) >= own.max);
        for blue in [&mut self.inside, &mut self.outside] {
            blue.rise(now, blue.classes.backlog(queue, self.bytes));
        }
    }

    fn on_arrival(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        if self.drop_at_max && self.is_at_max {
            Verdict::Drop(Cause::Forced)
        } else if rng.happens(self.p) {
            Verdict::signal(packet, self.ecn, Cause::Early)
        } else {
            Verdict::Pass
        }
    }

    fn on_departure(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        _: &mut dyn Random,
    ) -> Verdict {
        let size = if self.bytes { f64::from(packet.bytes) } else { 1.0 };
        for blue in [&mut self.inside, &mut self.outside] {
            let own = if blue.classes.hold(packet.class) { size } else { 0.0 };
            blue.fall(now, Some(blue.classes.backlog(queue, self.bytes) + own));
        }
        Verdict::Pass
    }

    fn on_idle(&mut self, now: Time) {
        self.inside.fall(now, None);
        self.outside.fall(now, None);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p);
        field("p_in", self.inside.p);
        field("p_out", self.outside.p);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
