//! **REM (Random Exponential Marking; Athuraliya, Low, Li and Yin 2001)** computes a *price* of the link that
//! increases while the input rate exceeds the link rate or the queue exceeds its target, and signals with
//! probability 1 - phi^(-price).
//!
//! In the exponential form the prices of a path add up: a packet passes several links unmarked with
//! probability phi^(-sum of prices), so that a sender can estimate the price of its path.
//!
//! # When it decides
//! Every `period`, with x the packets that arrived in it (averaged with `w_in`), c the packets that the link
//! can send in it, and q the queue: price <- max(0, price + gamma (x + alpha (q - b_star) - c)). `form queue`
//! measures no rate: price <- max(0, price + gamma (q - (1 - alpha) q_old - alpha b_star)). Each arrival is
//! then signalled with p = 1 - phi^(-price); the cause is `early`. A `b_star` in bytes selects byte mode: x
//! and q are counted in mean packets of bytes and p is scaled by packet size / `mean_packet`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | mean packet | the true size | ns-2: 1000 B unless set | a wrong size shifts the equilibrium: with packets of 500 B it would halve c |
//! | where it marks | on arrival | ns-2: at the head when it leaves (`mark_at departure`) | one rule for drops and marks; preset `ns2` |
//! | packet without ECN while `ecn` is on | dropped on arrival with p | ns-2: passes untouched | RFC 3168: a signal to it is a drop; otherwise flows without ECN would get no signal |
//! | `limit B` with preset `ns2` | B - 1 queued packets | ns-2: same, but it enqueues the packet and then removes it | the same packet is dropped |
//! | bound of the price | none (`price_max` sets one) | some texts limit p near 1 | the paper; after a long overload the price takes as long to decrease as it took to increase |
//! | random test | u < p | ns-2: u <= p | u is in [0, 1): no signal at p = 0 |
//!
//! # References
//! S. Athuraliya, S. Low, V. Li, Q. Yin: REM: Active Queue Management, IEEE Network 15(3), 2001. ns-2
//! `queue/rem.cc`.

use crate::{
    Algorithm, Aqm, Cause, Context, Ecn, IgnoresContents, PacketView, Param, Probe, QueueView, Random, Range,
    Span, SpecError, Ticks, Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    units::{Bytes, Size},
};
use alloc::boxed::Box;

choice! {
    /// What the price follows.
    pub enum Form {
        /// Rate and queue, both measured.
        Rate = "rate",
        /// The queue alone: its change replaces the rate.
        Queue = "queue",
    }
}

choice! {
    /// Where a mark is decided and set.
    pub enum MarkAt {
        /// On arrival.
        Arrival = "arrival",
        /// On departure.
        Departure = "departure",
    }
}

config! {
    /// The parameters of REM.
    pub struct Config {
        /// Step size of the price
        gamma: f64 = Param::fixed("0.001").range(Range::POSITIVE).source("Athuraliya et al. 2001");
        /// Weight of the error of the queue relative to that of the rate
        alpha: f64 = Param::fixed("0.1").range(Range::NOT_NEGATIVE).source("Athuraliya et al. 2001");
        /// Base of the exponential
        phi: f64 = Param::fixed("1.001")
            .range(Range { min: 1.0, max: f64::INFINITY, above: true, below: true })
            .source("Athuraliya et al. 2001");
        /// Target queue (ns-2: pbo)
        b_star: Size = Param::fixed("20p")
            .unit("packets or bytes")
            .range(Range::NOT_NEGATIVE)
            .source("ns-2 rem.cc, by the authors");
        /// Time T between two updates of the price
        period: Span = Param::fixed("2ms")
            .unit("s")
            .range(common::PERIOD)
            .source("ns-2 rem.cc, by the authors");
        /// Weight of the current period's arrivals; 1: no average
        w_in: f64 = Param::fixed("1").range(Range::SHARE).source("ns-2 rem.cc, by the authors");
        /// Measure rate and queue, or infer the rate from the queue's change
        form: Form = Param::fixed("rate").source("Athuraliya et al. 2001");
        #[doc = meaning!(rate)]
        rate: Option<u64> = common::RATE;
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = common::MEAN_PACKET;
        /// Where a mark is decided and set; drops are always on arrival
        mark_at: MarkAt = Param::fixed("arrival").source("Athuraliya et al. 2001").ns2("departure");
        /// Upper bound of the price; p is then at most 1 - phi^(-price_max)
        price_max: Option<f64> = Param::derived("no bound")
            .range(Range::POSITIVE)
            .source("Athuraliya et al. 2001");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "rem",
    title: "Random Exponential Marking",
    alias_of: None,
    source: "Athuraliya, Low, Li and Yin 2001",
    params: Config::PARAMS,
    probes: &[
        Probe { name: "p", unit: "", doc: "drop probability 1 - phi^(-price)" },
        Probe { name: "price", unit: "", doc: "price of the link" },
        Probe { name: "x_avg", unit: "packets", doc: "averaged arrivals of a period" },
    ],
    ns2_limit_counts_service: true,
    file: include_str!("rem.rs"),
    instance: crate::instance!(Rem),
    build: |s| s.build(|config| Rem::new(config, &s.context)),
};

/// Constant parameters.
#[derive(Clone, Debug)]
struct Constants {
    gamma: f64,
    alpha: f64,
    ln_phi: f64,
    /// Target, in packets.
    b_star: f64,
    w_in: f64,
    /// Packets that the link carries in a period.
    c: f64,
    /// `form queue`.
    queue_only: bool,
    /// Mean packet size in byte mode; `None` counts packets.
    byte_mode: Option<f64>,
    price_max: f64,
    marks_at_departure: bool,
    ecn: bool,
}

/// The state of REM.
#[derive(Clone, Debug)]
pub struct Rem {
    config: Constants,
    /// When to update the price.
    updates: Ticks,
    /// Arrivals since the last update: packets, or bytes in byte mode.
    x: u64,
    /// Averaged arrivals of a period, in packets.
    x_avg: f64,
    /// Queue at the last update, in packets.
    q_old: f64,
    /// The price of the link.
    price: f64,
    /// 1 - phi^(-price), computed with the price.
    p: f64,
}

impl Rem {
    /// REM for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config, link: &Context) -> Result<Rem, SpecError> {
        config.check()?;
        let mean_packet = common::mean_packet(config.mean_packet, link);
        let (b_star, byte_mode) = match config.b_star {
            Size::Bytes(bytes) => (bytes / mean_packet, Some(mean_packet)),
            Size::Packets(packets) => (packets, None),
        };
        let rate = config.rate.unwrap_or(link.link_rate);
        let constants = Constants {
            gamma: config.gamma,
            alpha: config.alpha,
            ln_phi: libm::log(config.phi),
            b_star,
            w_in: config.w_in,
            c: config.period.as_secs_f64() * rate as f64 / (8.0 * mean_packet),
            queue_only: config.form == Form::Queue,
            byte_mode,
            price_max: config.price_max.unwrap_or(f64::MAX),
            marks_at_departure: config.mark_at == MarkAt::Departure,
            ecn: config.ecn,
        };
        Ok(Rem {
            config: constants,
            updates: Ticks::every(config.period),
            x: 0,
            x_avg: 0.0,
            q_old: 0.0,
            price: 0.0,
            p: 0.0,
        })
    }

    /// Update the price with the mismatch of rate and queue.
    fn update_price(&mut self, q: f64) {
        let Constants { gamma, alpha, b_star, w_in, c, .. } = self.config;
        let x = self.config.byte_mode.map_or(self.x as f64, |mean| self.x as f64 / mean);
        self.x_avg = (1.0 - w_in) * self.x_avg + w_in * x;
        self.x = 0;
        let mismatch = if self.config.queue_only {
            q - (1.0 - alpha) * self.q_old - alpha * b_star
        } else {
            self.x_avg + alpha * (q - b_star) - c
        };
        self.q_old = q;
        self.price = (self.price + gamma * mismatch).clamp(0.0, self.config.price_max);
        self.p = -libm::expm1(-self.price * self.config.ln_phi);
    }

    /// Whether this packet is signalled.
    fn draw(&self, packet: &PacketView, rng: &mut dyn Random) -> bool {
        rng.happens(self.config.byte_mode.map_or(self.p, |mean| self.p * f64::from(packet.bytes) / mean))
    }

    /// Whether the decision on this packet is made at its departure.
    fn is_marked_later(&self, packet: &PacketView) -> bool {
        self.config.marks_at_departure && self.config.ecn && packet.ecn != Ecn::NotEct
    }
}

impl IgnoresContents for Rem {}

impl Aqm for Rem {
    fn on_offered(&mut self, _: Time, packet: &PacketView, _: &QueueView) {
        self.x += if self.config.byte_mode.is_some() { u64::from(packet.bytes) } else { 1 };
    }

    fn on_arrival(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        if !self.is_marked_later(packet) && self.draw(packet, rng) {
            Verdict::signal(packet, self.config.ecn, Cause::Early)
        } else {
            Verdict::Pass
        }
    }

    fn on_departure(&mut self, _: Time, packet: &PacketView, _: &QueueView, rng: &mut dyn Random) -> Verdict {
        if self.is_marked_later(packet) && self.draw(packet, rng) {
            Verdict::Mark(Cause::Early)
        } else {
            Verdict::Pass
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.updates.due())
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _: &mut dyn Random) {
        let q = self.config.byte_mode.map_or(f64::from(queue.packets), |mean| queue.bytes as f64 / mean);
        self.update_price(q);
        self.updates.advance(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.p);
        field("price", self.price);
        field("x_avg", self.x_avg);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
