//! A small queue around an algorithm: it obeys verdicts, refuses what does not fit, keeps time, and checks
//! at every step what any algorithm must hold.

use crate::support::packet;
use sojourn_aqm::{
    Aqm, Cause, Class, Contents, Context, Ecn, FlowId, Limit, PacketView, QueueView, Random, Span, Spec,
    SpecError, Stream, Time, Value, Verdict,
};
use std::collections::VecDeque;

/// What happened, comparable between runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Arrival(Verdict),
    Overflow,
    Departure(Verdict),
    Idle,
    Timer(Time),
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
pub(crate) struct World {
    pub(crate) aqm: Box<dyn Aqm>,
    spec: Spec,
    context: Context,
    ecn: bool,
    now: Time,
    queue: VecDeque<PacketView>,
    bytes: u64,
    busy: bool,
    /// What the traffic draws, and what the algorithm draws.
    traffic: Stream,
    rng: Stream,
    pub(crate) log: Vec<Event>,
}

impl World {
    pub(crate) fn new(spec: &str, context: Context, seed: u64) -> Result<World, SpecError> {
        let spec = Spec::parse(spec)?;
        let own = spec.values.iter().find(|(param, _)| param.name == "ecn").map(|(_, value)| value.clone());
        Ok(World {
            aqm: spec.build(context)?,
            ecn: own.map_or(context.ecn, |value| value == Value::Flag(true)),
            spec,
            context,
            now: Time::ZERO,
            queue: VecDeque::new(),
            bytes: 0,
            busy: false,
            traffic: Stream::new(seed, "traffic"),
            rng: Stream::new(seed, "algorithm"),
            log: Vec::new(),
        })
    }

    pub(crate) fn context(&self) -> Context {
        self.context
    }

    /// `steps` random events: about three arrivals to two departures, `pace` packet times apart on
    /// average; now and then none at all for a while, or two at once.
    pub(crate) fn run(&mut self, steps: usize, pace: f64) {
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
        let (size, ecn, flow, class) = (SIZES[pick(8)], ECNS[pick(4)], pick(5) as u32, pick(3) as u8);
        PacketView { ecn, flow: FlowId(flow), class: Class(class), arrived: self.now, ..packet(size) }
    }

    /// Call the algorithm with a view of the queue as it is.
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

    /// Time passes; the timers that come due are called on their time, or, if they are too many, late.
    pub(crate) fn advance(&mut self, span: Span) {
        let end = self.now + span;
        let mut calls = 0;
        while let Some(due) = self.aqm.next_timer().filter(|due| *due <= end) {
            calls += 1;
            self.now = if calls < 5 { due.max(self.now) } else { end };
            self.log.push(Event::Timer(self.now));
            self.ask(|aqm, now, queue, _| aqm.on_timer(now, queue));
            let next = self.aqm.next_timer().expect("a timer does not go away");
            assert!(next > due && next > self.now, "{}: timer {due:?}, then {next:?}", self.spec);
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

    pub(crate) fn arrive(&mut self, packet: PacketView) {
        self.ask(|aqm, now, queue, _| aqm.on_offered(now, &packet, queue));
        if !self.fits(&packet) {
            self.ask(|aqm, now, queue, _| aqm.on_drop(now, &packet, Cause::Overflow, queue));
            self.ask(|aqm, now, queue, rng| aqm.on_refused(now, &packet, queue, rng));
            self.log.push(Event::Overflow);
            return;
        }
        let verdict = self.ask(|aqm, now, queue, rng| aqm.on_arrival(now, &packet, queue, rng));
        self.check_verdict(&packet, verdict);
        match verdict {
            Verdict::Drop(_) => {}
            Verdict::DropBoth { victim, .. } => {
                let victim = self.queue.remove(victim as usize).expect("it was checked");
                self.bytes -= u64::from(victim.bytes);
            }
            Verdict::Mark(_) => self.enqueue(PacketView { ecn: Ecn::Ce, ..packet }),
            Verdict::Pass => self.enqueue(packet),
        }
        self.log.push(Event::Arrival(verdict));
        if !self.busy {
            self.depart();
        }
    }

    fn enqueue(&mut self, packet: PacketView) {
        self.bytes += u64::from(packet.bytes);
        self.queue.push_back(packet);
    }

    pub(crate) fn depart(&mut self) {
        let was_busy = std::mem::replace(&mut self.busy, false);
        while let Some(packet) = self.queue.pop_front() {
            self.bytes -= u64::from(packet.bytes);
            let verdict = self.ask(|aqm, now, queue, rng| aqm.on_departure(now, &packet, queue, rng));
            self.check_verdict(&packet, verdict);
            assert!(!matches!(verdict, Verdict::DropBoth { .. }), "a departure has no second victim");
            self.log.push(Event::Departure(verdict));
            if !matches!(verdict, Verdict::Drop(_)) {
                self.busy = true;
                return;
            }
        }
        if was_busy {
            self.ask(|aqm, now, _, _| aqm.on_idle(now));
            self.log.push(Event::Idle);
        }
    }

    fn check_verdict(&self, packet: &PacketView, verdict: Verdict) {
        let cause = match verdict {
            Verdict::Pass => return,
            Verdict::Mark(cause) => {
                assert!(self.ecn, "{}: a mark with ecn off", self.spec);
                assert_ne!(packet.ecn, Ecn::NotEct, "{}: a mark on a packet without ECN", self.spec);
                cause
            }
            Verdict::Drop(cause) => cause,
            Verdict::DropBoth { victim, cause } => {
                assert!((victim as usize) < self.queue.len(), "{}: no packet at {victim}", self.spec);
                cause
            }
        };
        assert_ne!(cause, Cause::Overflow, "{}: overflow is the queue's word", self.spec);
    }

    fn check_probes(&self) {
        let declared = self.spec.algorithm.probes;
        let mut seen = 0;
        self.aqm.probe(&mut |name, value| {
            seen += 1;
            assert!(declared.iter().any(|p| p.name == name), "{}: undeclared probe {name}", self.spec);
            assert!(value.is_finite(), "{}: {name} = {value} at {:?}", self.spec, self.now);
            if name == "p" || name.starts_with("p_") {
                assert!((0.0..=1.0).contains(&value), "{}: {name} = {value}", self.spec);
            }
        });
        assert_eq!(seen, declared.len(), "{}: every declared probe is reported once", self.spec);
    }
}
