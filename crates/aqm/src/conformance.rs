//! A queue with random traffic that checks the contract of an algorithm.
//!
//! The queue executes verdicts, refuses packets that do not fit and runs timers; after every call it checks
//! the rules and records each violated one as a [`Violation`], once per rule. The contract tests run every
//! entry of the registry with it, `sojourn.testing.check_aqm` the algorithms of users.

use crate::{
    Aqm, Cause, Class, Contents, Context, Ecn, FlowId, Limit, PacketView, QueueView, Random, Span, Spec,
    SpecError, Stream, Time, Value, Verdict,
};
use alloc::{boxed::Box, collections::VecDeque, format, string::String, vec::Vec};

/// An event, comparable between runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The verdict on an arrival.
    Arrival(Verdict),
    /// An arrival did not fit.
    Overflow,
    /// The verdict on a departure.
    Departure(Verdict),
    /// The link found the queue empty.
    Idle,
    /// A timer expired at this time.
    Timer(Time),
}

/// A violated rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its name: `ecn`, `ecn-off`, `overflow`, `victim`, `timer`, `probes`, `finite`, `probability`.
    pub rule: &'static str,
    /// What was observed.
    pub what: String,
}

struct Waiting<'a>(&'a VecDeque<PacketView>);

impl Contents for Waiting<'_> {
    fn at(&self, position: u32) -> Option<PacketView> {
        self.0.get(position as usize).copied()
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        self.0.iter().filter(|p| p.flow == flow).count() as u32
    }
    fn of_class(&self, class: Class) -> u32 {
        self.0.iter().filter(|p| p.class == class).count() as u32
    }
}

/// An algorithm, its queue and its time.
#[derive(Clone)]
pub struct Harness {
    /// The algorithm.
    pub aqm: Box<dyn Aqm>,
    /// The events so far.
    pub log: Vec<Event>,
    /// The rules violated so far, each once.
    pub violations: Vec<Violation>,
    /// Largest number of packets that one departure dropped.
    pub most_drops: u32,
    spec: Spec,
    context: Context,
    ecn: bool,
    now: Time,
    queue: VecDeque<PacketView>,
    bytes: u64,
    busy: bool,
    /// Random numbers of the traffic, and of the algorithm.
    traffic: Stream,
    rng: Stream,
}

impl Harness {
    /// The algorithm of `spec` at an empty queue on the link of `context`.
    ///
    /// # Errors
    /// If it cannot be built for that link.
    pub fn new(spec: Spec, context: Context, seed: u64) -> Result<Harness, SpecError> {
        Ok(Harness::around(spec.build(context)?, spec, context, seed))
    }

    /// As [`Harness::new`], with an instance that the caller has made.
    pub fn around(aqm: Box<dyn Aqm>, spec: Spec, context: Context, seed: u64) -> Harness {
        let own = spec.values.iter().find(|(param, _)| param.name == "ecn").map(|(_, value)| value.clone());
        Harness {
            aqm,
            ecn: own.map_or(context.ecn, |value| value == Value::Flag(true)),
            log: Vec::new(),
            violations: Vec::new(),
            most_drops: 0,
            spec,
            context,
            now: Time::ZERO,
            queue: VecDeque::new(),
            bytes: 0,
            busy: false,
            traffic: Stream::new(seed, "traffic"),
            rng: Stream::new(seed, "algorithm"),
        }
    }

    /// The link.
    pub fn context(&self) -> Context {
        self.context
    }

    /// Queued packets.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// `steps` random events, about three arrivals to two departures. The time between two events is uniform
    /// between 0 and 2 `pace` packet times; one event in ten happens at the time of the last one.
    pub fn run(&mut self, steps: usize, pace: f64) {
        for _ in 0..steps {
            let u = self.traffic.uniform();
            if u < 0.9 {
                let packet_ns = self.context.packet_time().0 as f64;
                self.advance(Span((2.0 * u / 0.9 * pace * packet_ns) as u64));
            }
            if self.traffic.uniform() < 0.6 {
                let packet = self.draw_packet();
                self.arrive(packet);
            } else {
                self.depart();
            }
        }
    }

    fn draw_packet(&mut self) -> PacketView {
        const SIZES: [u32; 8] = [1, 40, 576, 1000, 1000, 1000, 1500, 65_536];
        const ECNS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let mut pick = |n: usize| (self.traffic.uniform() * n as f64) as usize;
        let (bytes, ecn, flow, class) = (SIZES[pick(8)], ECNS[pick(4)], pick(5) as u32, pick(3) as u8);
        PacketView::new(bytes, self.now).with_ecn(ecn).with_flow(FlowId(flow)).with_class(Class(class))
    }

    /// Call the algorithm with a view of the current queue.
    fn ask<T>(&mut self, call: impl FnOnce(&mut dyn Aqm, Time, &QueueView, &mut Stream) -> T) -> T {
        let contents = Waiting(&self.queue);
        let view = QueueView {
            packets: self.queue.len() as u32,
            bytes: self.bytes,
            limit: self.context.limit,
            link_rate: self.context.link_rate,
            contents: &contents,
        };
        let answer = call(&mut *self.aqm, self.now, &view, &mut self.rng);
        self.check_probes();
        answer
    }

    /// Advance the time; timers expire at their times, or late if there are too many.
    pub fn advance(&mut self, span: Span) {
        let end = self.now + span;
        let mut calls = 0;
        while let Some(due) = self.aqm.next_timer().filter(|due| *due <= end) {
            calls += 1;
            self.now = if calls < 5 { due.max(self.now) } else { end };
            self.log.push(Event::Timer(self.now));
            self.ask(|aqm, now, queue, rng| aqm.on_timer(now, queue, rng));
            if let Some(next) = self.aqm.next_timer().filter(|next| *next <= self.now) {
                self.fault("timer", || format!("timer at {due:?}, then again at {next:?}"));
                break;
            }
        }
        self.now = end;
    }

    fn fits(&self, packet: &PacketView) -> bool {
        match self.context.limit {
            Limit::Packets(n) => self.queue.len() < n as usize,
            Limit::Bytes(n) => {
                self.queue.iter().chain([packet]).map(|p| u64::from(p.bytes)).sum::<u64>() <= n
            }
        }
    }

    /// A packet arrives, now.
    pub fn arrive(&mut self, packet: PacketView) {
        let packet = PacketView { arrived: self.now, ..packet };
        let hooks = self.aqm.hooks();
        if !self.fits(&packet) {
            if hooks.arrivals {
                self.ask(|aqm, now, queue, _| aqm.on_offered(now, &packet, queue));
            }
            self.ask(|aqm, now, queue, _| aqm.on_drop(now, &packet, Cause::Overflow, queue));
            self.ask(|aqm, now, queue, rng| aqm.on_refused(now, &packet, queue, rng));
            self.log.push(Event::Overflow);
            return self.stay_idle();
        }
        let mut verdict = Verdict::Pass;
        if hooks.arrivals {
            verdict = self.ask(|aqm, now, queue, rng| aqm.on_fit(now, &packet, queue, rng));
        }
        self.check_verdict(&packet, verdict);
        match verdict {
            Verdict::Drop(_) => {}
            Verdict::DropBoth { victim, .. } => match self.queue.remove(victim as usize) {
                Some(victim) => self.bytes -= u64::from(victim.bytes),
                None => self.fault("victim", || format!("no packet is queued at {victim}")),
            },
            Verdict::Mark(_) => self.enqueue(PacketView { ecn: Ecn::Ce, ..packet }),
            Verdict::Pass => self.enqueue(packet),
        }
        self.log.push(Event::Arrival(verdict));
        if matches!(verdict, Verdict::Drop(_) | Verdict::DropBoth { .. }) {
            self.stay_idle();
        } else if !self.busy {
            self.depart();
        }
    }

    /// An arrival was dropped; an idle link stays idle.
    fn stay_idle(&mut self) {
        if !self.busy && self.queue.is_empty() {
            self.ask(|aqm, now, _, _| aqm.on_idle(now));
            self.log.push(Event::Idle);
        }
    }

    fn enqueue(&mut self, packet: PacketView) {
        self.bytes += u64::from(packet.bytes);
        self.queue.push_back(packet);
    }

    /// The transmitter takes the next packet that the algorithm does not drop.
    pub fn depart(&mut self) {
        let was_busy = core::mem::replace(&mut self.busy, false);
        let mut drops = 0;
        while let Some(packet) = self.queue.pop_front() {
            self.bytes -= u64::from(packet.bytes);
            let mut verdict = Verdict::Pass;
            if self.aqm.hooks().departures {
                verdict = self.ask(|aqm, now, queue, rng| aqm.on_departure(now, &packet, queue, rng));
            }
            self.check_verdict(&packet, verdict);
            if matches!(verdict, Verdict::DropBoth { .. }) {
                self.fault("victim", || "a departure has no second victim".into());
            }
            self.log.push(Event::Departure(verdict));
            if !matches!(verdict, Verdict::Drop(_) | Verdict::DropBoth { .. }) {
                self.busy = true;
                return;
            }
            drops += 1;
            self.most_drops = self.most_drops.max(drops);
        }
        if was_busy {
            self.ask(|aqm, now, _, _| aqm.on_idle(now));
            self.log.push(Event::Idle);
        }
    }

    fn check_verdict(&mut self, packet: &PacketView, verdict: Verdict) {
        let (Verdict::Mark(cause) | Verdict::Drop(cause) | Verdict::DropBoth { cause, .. }) = verdict else {
            return;
        };
        if cause == Cause::Overflow {
            self.fault("overflow", || "only the queue may use the cause overflow".into());
        }
        if matches!(verdict, Verdict::Mark(_)) {
            if !self.ecn {
                self.fault("ecn-off", || "a mark with ecn off".into());
            }
            if packet.ecn == Ecn::NotEct {
                self.fault("ecn", || "a mark on a packet that is not ECN-capable".into());
            }
        }
    }

    fn check_probes(&mut self) {
        let declared = self.spec.algorithm.probes;
        let mut seen = Vec::new();
        self.aqm.probe(&mut |name, value| seen.push((name, value)));
        let now = self.now;
        for (name, value) in &seen {
            if !declared.iter().any(|p| p.name == *name) {
                self.fault("probes", || format!("probe {name} is not declared"));
            }
            if !value.is_finite() {
                self.fault("finite", || format!("probe {name} = {value} at {now:?}"));
            } else if (*name == "p" || name.starts_with("p_")) && !(0.0..=1.0).contains(value) {
                self.fault("probability", || format!("probe {name} = {value} at {now:?}"));
            }
        }
        if seen.len() != declared.len() {
            self.fault("probes", || "not every declared probe is reported once".into());
        }
    }

    fn fault(&mut self, rule: &'static str, what: impl FnOnce() -> String) {
        if !self.violations.iter().any(|fault| fault.rule == rule) {
            self.violations.push(Violation { rule, what: what() });
        }
    }
}
