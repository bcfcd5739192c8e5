//! The FIFO that owns packets makes the same calls as the conformance harness, and returns every packet once
//! and in order.

use crate::support::packet;
use sojourn_aqm::{
    Aqm, Cause, Class, Context, Ecn, FlowId, Limit, PacketView, QueueView, Random, Span, Spec, Stream, Time,
    Verdict, conformance::Harness, queue::Fifo, registry,
};
use std::sync::{Arc, Mutex};

/// An algorithm whose calls are recorded.
#[derive(Clone)]
struct Logged {
    aqm: Box<dyn Aqm>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Logged {
    fn note(&self, call: &str, now: Time, queue: Option<&QueueView>) {
        let view = queue.map(|queue| {
            let flow = queue.contents.of_flow(FlowId(1));
            (queue.packets, queue.bytes, flow, queue.contents.at(0).map(|head| head.arrived))
        });
        self.log.lock().expect("one thread").push(format!("{call} {now:?} {view:?}"));
    }
}

impl Aqm for Logged {
    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        self.note("offered", now, Some(queue));
        self.aqm.on_offered(now, packet, queue);
    }
    fn on_arrival(&mut self, t: Time, packet: &PacketView, q: &QueueView, rng: &mut dyn Random) -> Verdict {
        let verdict = self.aqm.on_arrival(t, packet, q, rng);
        self.note(&format!("{packet:?} {verdict:?}"), t, Some(q));
        verdict
    }
    fn on_departure(&mut self, t: Time, packet: &PacketView, q: &QueueView, rng: &mut dyn Random) -> Verdict {
        let verdict = self.aqm.on_departure(t, packet, q, rng);
        self.note(&format!("departs {packet:?} {verdict:?}"), t, Some(q));
        verdict
    }
    fn on_drop(&mut self, now: Time, packet: &PacketView, cause: Cause, queue: &QueueView) {
        self.note("drop", now, Some(queue));
        self.aqm.on_drop(now, packet, cause, queue);
    }
    fn on_refused(&mut self, now: Time, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) {
        self.note("refused", now, Some(queue));
        self.aqm.on_refused(now, packet, queue, rng);
    }
    fn on_idle(&mut self, now: Time) {
        self.note("idle", now, None);
        self.aqm.on_idle(now);
    }
    fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }
    fn on_timer(&mut self, now: Time, queue: &QueueView, rng: &mut dyn Random) {
        self.note("timer", now, Some(queue));
        self.aqm.on_timer(now, queue, rng);
    }
    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.probe(field);
    }
    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}

/// Random packets: a load of about 1.2 in bursts, with pauses.
fn traffic(seed: u64) -> impl Iterator<Item = (Span, Option<PacketView>)> {
    let mut rng = Stream::new(seed, "traffic");
    (0..4000).map(move |step| {
        let pause = if step % 500 == 499 { 8.0 } else { 1.0 };
        let wait = Span((rng.uniform() * pause * 800_000.0) as u64);
        let ecn = if rng.happens(0.5) { Ecn::Ect0 } else { Ecn::NotEct };
        let flow = FlowId((rng.uniform() * 3.0) as u32);
        let view = packet(1000).with_ecn(ecn).with_flow(flow).with_class(Class((flow.0 % 2) as u8));
        (wait, rng.happens(0.55).then_some(view))
    })
}

#[test]
fn every_algorithm_is_called_as_in_the_harness() {
    let link = Context::new(10_000_000, Limit::Packets(50)).with_mean_packet(1000).with_ecn(true);
    for algorithm in registry::ALGORITHMS {
        let spec = Spec::parse(algorithm.name).expect("a name");
        let [expected, found] = [(), ()].map(|()| Arc::new(Mutex::new(Vec::new())));
        let logged = |log: &Arc<Mutex<Vec<String>>>| Logged {
            aqm: spec.build(link).expect("defaults fit"),
            log: Arc::clone(log),
        };
        let mut harness = Harness::around(Box::new(logged(&expected)), spec.clone(), link, 7);
        let mut fifo = Fifo::new(logged(&found), &link, 7);
        let (mut now, mut busy, mut next, mut done) = (Time::ZERO, false, 0u32, Vec::new());
        let mut last = None;
        for (wait, arrival) in traffic(3) {
            harness.advance(wait);
            now += wait;
            let mut lost = Vec::new();
            if let Some(view) = arrival {
                harness.arrive(view);
                fifo.enqueue(now, view, next, |_, number, _| lost.push(number));
                next += 1;
            } else {
                harness.depart();
                busy = false;
            }
            if !busy {
                let sent = fifo.dequeue(now, |_, number, _| lost.push(number));
                busy = sent.is_some();
                if let Some((view, number)) = sent {
                    assert!(last < Some(number), "{}: {number} after {last:?}", algorithm.name);
                    assert!(view.arrived <= now);
                    last = Some(number);
                    done.push(number);
                }
            }
            done.extend(lost);
            assert_eq!(fifo.len(), harness.waiting(), "{}", algorithm.name);
        }
        while let Some((_, number)) = fifo.dequeue(now, |_, number, _| done.push(number)) {
            done.push(number);
        }
        assert!(fifo.is_empty() && fifo.bytes() == 0);
        done.sort_unstable();
        assert_eq!(done, (0..next).collect::<Vec<_>>(), "{}: every packet comes out once", algorithm.name);
        let (expected, found) = (expected.lock().expect("one thread"), found.lock().expect("one thread"));
        for (expected, found) in expected.iter().zip(found.iter()) {
            assert_eq!(expected, found, "{}", algorithm.name);
        }
        assert!(found.len() >= expected.len() && expected.len() > 4000, "{}", algorithm.name);
    }
}

#[test]
fn marks_are_set_and_the_tail_overflows() {
    let link = Context::new(10_000_000, Limit::Packets(2)).with_ecn(true);
    let aqm = Spec::parse("red min_th 1p max_th 2p w_q 1 max_p 1").and_then(|spec| spec.build(link));
    let mut fifo = Fifo::new(aqm.expect("a spec"), &link, 1);
    let mut lost = Vec::new();
    for (number, ecn) in [(0, Ecn::Ect0), (1, Ecn::Ect0), (2, Ecn::Ect0), (3, Ecn::NotEct)] {
        let view = PacketView::new(1500, Time::ZERO).with_ecn(ecn);
        fifo.enqueue(Time::ZERO, view, number, |_, number, cause| lost.push((number, cause)));
    }
    assert_eq!(lost, [(2, Cause::Overflow), (3, Cause::Overflow)]);
    assert_eq!((fifo.len(), fifo.bytes()), (2, 3000));
    assert_eq!(fifo.sojourn(Time(5)), Some(Span(5)));
    let sent = |fifo: &mut Fifo<_, _>| fifo.dequeue(Time(9), |_, _, _| ()).map(|(view, n)| (n, view.ecn));
    assert_eq!(sent(&mut fifo), Some((0, Ecn::Ect0)));
    assert_eq!(sent(&mut fifo), Some((1, Ecn::Ect0)));
    assert_eq!(sent(&mut fifo), None);
}
