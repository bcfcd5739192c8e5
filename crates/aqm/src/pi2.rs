//! **PI2 (De Schepper et al. 2016; RFC 9332)** is a PI controller on the queueing delay whose output p' is
//! *squared* to the drop probability: the rate of senders like Reno and CUBIC is inversely proportional to
//! the square root of that probability, so that the control loop is linear in p' and needs no gain table.
//!
//! The square replaces PIE's table of divisors, which approximates it. `dualpi2` couples the same controller
//! to a second queue for scalable senders.
//!
//! # When it decides
//! Every `t_update`, with d the time for which the head has been queued (0 if the queue is empty): p' <- p' +
//! alpha (d - target) + beta (d - d_old), limited to [0, 1]. Each departing packet is signalled with
//! probability p = p'^2, by two random numbers that must both be below p'; cause `early`. ECN-capable packets
//! are marked while p < `p_c_max`, and dropped from there on. With `coupled`, as in the paper, packets with
//! ECT(1), the sign of scalable senders, are marked with probability k p' instead, so that both kinds share
//! the link.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | gains | from `rtt_max`: 0.15 and 3 per second | Linux: 0.16 and 3.2, every 16 ms | RFC 9332's rule; Linux rounds |
//! | draw | two random numbers | RFC 9332, appendix A: a counter that sums p (`draw counter`) | RFC 9332's specification; the counter avoids bursts of signals, but can synchronize with periodic traffic |
//! | where it signals | at departure | Linux: optionally at arrival (`at arrival`) | RFC 9332 |
//! | short queues | no exception | Linux: no signal up to 2 packets of the MTU (`spare 3028B`) | RFC 9332 |
//! | ECT(1) | marked with k p' | `dualpi2`: its own queue; RFC 3168: as ECT(0) (`coupled off`) | the paper's single queue |
//! | overload | from p = `p_c_max` on, ECT(1) is dropped with probability p, too | the paper: marks saturate at k p' = 1 | RFC 9332, 4.2 |
//!
//! # References
//! K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe: PI2: A Linearized AQM for both Classic and Scalable
//! TCP, CoNEXT 2016. RFC 9332. Linux `sch_dualpi2.c`.

use crate::{
    Algorithm, Aqm, Cause, Ecn, PacketView, Param, Probe, QueueView, Random, Range, Span, SpecError, Ticks,
    Time, Verdict, common,
    config::{Fields, choice, config, meaning},
    schema,
    units::Size,
};
use alloc::boxed::Box;

choice! {
    /// How a signal of a given probability is decided.
    pub enum Draw {
        /// At random.
        Random = "random",
        /// Whenever the sum of the probabilities passes 1.
        Counter = "counter",
    }
}

choice! {
    /// Where the signal is given.
    pub enum At {
        /// On departure.
        Departure = "departure",
        /// On arrival.
        Arrival = "arrival",
    }
}

config! {
    /// The parameters of the controller that `pi2` and `dualpi2` share.
    pub struct Control {
        /// Target queueing delay
        target: Span = Param::fixed("15ms")
            .unit("s")
            .range(Range::NOT_NEGATIVE)
            .source("RFC 9332, appendix A.1")
            .tc("target");
        /// Largest RTT at which the control loop must be stable
        rtt_max: Span = Param::fixed("100ms")
            .unit("s")
            .range(common::PERIOD)
            .source("RFC 9332, appendix A.1")
            .tc("max_rtt");
        /// Time between two updates of p'
        t_update: Option<Span> = Param::derived("the smaller of target and rtt_max / 3")
            .unit("s")
            .range(common::PERIOD)
            .source("RFC 9332, appendix A.1")
            .linux("16ms")
            .tc("tupdate");
        /// Gain of the difference between delay and target
        alpha: Option<f64> = Param::derived("0.1 t_update / rtt_max^2")
            .unit("1/s")
            .range(common::GAIN)
            .source("RFC 9332, appendix A.1")
            .linux("0.16")
            .tc("alpha");
        /// Gain of the change of the delay
        beta: Option<f64> = Param::derived("0.3 / rtt_max")
            .unit("1/s")
            .range(common::GAIN)
            .source("RFC 9332, appendix A.1")
            .linux("3.2")
            .tc("beta");
        /// Coupling: scalable packets are signalled with k p', classic ones with p'^2
        k: f64 = Param::fixed("2")
            .range(Range { min: 1.0, max: 100.0, above: false, below: false })
            .source("RFC 9332, appendix A.1")
            .tc("coupling_factor");
        /// Classic probability from which ECN-capable packets are dropped too
        p_c_max: Option<f64> = Param::derived("1 / k^2").range(Range::SHARE).source("RFC 9332, appendix A.1");
        /// Signals at random, or whenever the sum of the probabilities passes 1
        draw: Draw = Param::fixed("random").source("RFC 9332, appendix A.1");
    }
}

config! {
    /// The parameters of PI2.
    pub struct Config {
        [
            /// The controller.
            control: Control;
        ]
        /// Where the signal is given
        at: At = Param::fixed("departure").source("RFC 9332, appendix A.1");
        /// No packet is signalled while at most this much is queued
        spare: Size = Param::fixed("0B")
            .unit("packets or bytes")
            .range(Range::NOT_NEGATIVE)
            .source("RFC 9332; Linux: 2 packets of the MTU");
        /// ECT(1) packets are marked with k p' instead of p'^2
        coupled: bool = Param::fixed("on").source("De Schepper et al. 2016, 5");
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

pub(crate) const fn of_control(name: &str) -> Param {
    schema::entry(Control::PARAMS, name)
}

const fn own(name: &str) -> Param {
    schema::entry(Config::PARAMS, name)
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "pi2",
    title: "PI squared",
    alias_of: None,
    source: "De Schepper et al. 2016; RFC 9332",
    params: &[
        of_control("target"),
        of_control("rtt_max"),
        of_control("t_update"),
        of_control("alpha"),
        of_control("beta"),
        of_control("k"),
        of_control("p_c_max"),
        of_control("draw"),
        own("at"),
        own("spare"),
        own("coupled"),
        own("ecn"),
    ],
    probes: &[
        Probe { name: "p", unit: "", doc: "drop probability p'^2" },
        Probe { name: "p_prime", unit: "", doc: "output p' of the controller" },
        Probe { name: "delay", unit: "s", doc: "delay at the last update" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("pi2.rs"),
    instance: crate::instance!(Pi2),
    build: |settings| settings.build(Pi2::new),
};

/// The controller that `pi2` and `dualpi2` share; times in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    target: f64,
    alpha: f64,
    beta: f64,
    /// When to update.
    updates: Ticks,
    /// Its output p'.
    pub(crate) p_prime: f64,
    /// Delay at the last update.
    pub(crate) delay_old: f64,
}

impl Controller {
    pub(crate) fn new(config: &Control) -> Controller {
        let (target, rtt_max) = (config.target, config.rtt_max);
        let t_update = config.t_update.unwrap_or(Span(target.0.min(rtt_max.0 / 3).max(1000)));
        let rtt_max = rtt_max.as_secs_f64();
        Controller {
            target: target.as_secs_f64(),
            alpha: config.alpha.unwrap_or(0.1 * t_update.as_secs_f64() / (rtt_max * rtt_max)),
            beta: config.beta.unwrap_or(0.3 / rtt_max),
            updates: Ticks::every(t_update),
            p_prime: 0.0,
            delay_old: 0.0,
        }
    }

    pub(crate) fn due(&self) -> Time {
        self.updates.due()
    }

    /// One step, with the current delay.
    pub(crate) fn update(&mut self, now: Time, delay: f64) {
        let p = self.p_prime + self.alpha * (delay - self.target) + self.beta * (delay - self.delay_old);
        self.p_prime = p.clamp(0.0, 1.0);
        self.delay_old = delay;
        self.updates.advance(now);
    }

    /// The classic probability p'^2.
    pub(crate) fn classic(&self) -> f64 {
        self.p_prime * self.p_prime
    }
}

/// Whether an event of probability p happens: by a draw, or by a counter that sums p.
#[derive(Clone, Debug)]
pub(crate) enum Decision {
    Random,
    Counter(f64),
}

impl Decision {
    pub(crate) fn new(draw: Draw) -> Decision {
        match draw {
            Draw::Random => Decision::Random,
            Draw::Counter => Decision::Counter(0.0),
        }
    }

    /// Whether an event of probability p happens.
    pub(crate) fn hits(&mut self, p: f64, rng: &mut dyn Random) -> bool {
        match self {
            Decision::Random => rng.happens(p),
            Decision::Counter(sum) => {
                *sum += p;
                let hit = *sum > 1.0;
                if hit {
                    *sum -= 1.0;
                }
                hit
            }
        }
    }

    /// Whether an event of probability p_prime^2 happens.
    pub(crate) fn hits_squared(&mut self, p_prime: f64, rng: &mut dyn Random) -> bool {
        match self {
            Decision::Random => rng.uniform().max(rng.uniform()) < p_prime,
            Decision::Counter(_) => self.hits(p_prime * p_prime, rng),
        }
    }
}

impl Control {
    /// `p_c_max`, or its derived default.
    pub(crate) fn p_c_max(&self) -> f64 {
        self.p_c_max.unwrap_or(1.0 / (self.k * self.k))
    }
}

/// The state of PI2.
#[derive(Clone, Debug)]
pub struct Pi2 {
    controller: Controller,
    draw: Decision,
    /// Coupling factor of ECT(1) packets; `None`: they are signalled as ECT(0).
    coupling: Option<f64>,
    p_c_max: f64,
    at_arrival: bool,
    /// No packet is signalled while at most this much is queued.
    spare: Size,
    ecn: bool,
}

impl Pi2 {
    /// PI2 for an empty queue.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(config: Config) -> Result<Pi2, SpecError> {
        config.check()?;
        let Config { control, at, spare, coupled, ecn } = config;
        Ok(Pi2 {
            controller: Controller::new(&control),
            draw: Decision::new(control.draw),
            coupling: coupled.then_some(control.k),
            p_c_max: control.p_c_max(),
            at_arrival: at == At::Arrival,
            spare,
            ecn,
        })
    }

    fn decide(&mut self, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) -> Verdict {
        let spared = match self.spare {
            Size::Packets(packets) => packets > 0.0 && f64::from(queue.packets) <= packets,
            Size::Bytes(bytes) => bytes > 0.0 && queue.bytes as f64 <= bytes,
        };
        if spared {
            return Verdict::Pass;
        }
        let (p_prime, marks) =
            (self.controller.p_prime, self.ecn && self.controller.classic() < self.p_c_max);
        let signalled = match self.coupling {
            Some(k) if marks && packet.ecn == Ecn::Ect1 => self.draw.hits((k * p_prime).min(1.0), rng),
            _ => self.draw.hits_squared(p_prime, rng),
        };
        if signalled { Verdict::signal(packet, marks, Cause::Early) } else { Verdict::Pass }
    }
}

/// Time for which the head of `queue` has been queued, in seconds; 0 if the queue is empty.
pub(crate) fn head_delay(now: Time, queue: &QueueView) -> f64 {
    queue.contents.at(0).map_or(0.0, |head| now.since(head.arrived).as_secs_f64())
}

impl Aqm for Pi2 {
    fn on_arrival(
        &mut self,
        _: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        if self.at_arrival { self.decide(packet, queue, rng) } else { Verdict::Pass }
    }

    fn on_departure(
        &mut self,
        _: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        if self.at_arrival { Verdict::Pass } else { self.decide(packet, queue, rng) }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.controller.due())
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _: &mut dyn Random) {
        self.controller.update(now, head_delay(now, queue));
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        field("p", self.controller.classic());
        field("p_prime", self.controller.p_prime);
        field("delay", self.controller.delay_old);
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
