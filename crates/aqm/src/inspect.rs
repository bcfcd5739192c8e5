//! What an algorithm costs, counted: the size of its state, and what it asks of the outside per packet.
//!
//! The instance is shown packets of a number of flows in turn, on a queue that never fills; every random
//! number that it draws and every look that it takes into the queue is counted, and so is every timer.
//! Equal counts for few and for many flows say that its work does not grow with them. Memory on the heap
//! (tables of flows) is not in the size.

use crate::{Aqm, Class, Contents, Ecn, FlowId, Limit, PacketView, QueueView, Random, Stream, Time};
use core::{cell::Cell, mem::size_of_val};

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of the instance itself.
    pub state_bytes: usize,
    /// Packets that it was shown.
    pub packets: u64,
    /// Random numbers drawn.
    pub draws: u64,
    /// Looks into the queue: at a packet, at a flow's or a class's share.
    pub looks: u64,
    /// Timers that came due.
    pub timers: u64,
}

/// Show `aqm` so many `packets` of 500 bytes, of `flows` flows in turn, as a link of `rate` bit/s carries
/// them.
pub fn cost(aqm: &mut dyn Aqm, rate: u64, flows: u32, packets: u32) -> Cost {
    let contents = Counted::default();
    let queue = QueueView {
        packets: 50,
        bytes: 25_000,
        limit: Limit::Packets(100),
        link_rate: rate,
        contents: &contents,
    };
    let mut rng = CountedStream { stream: Stream::new(1, "inspect"), draws: 0 };
    let mut counted = Cost { state_bytes: size_of_val(aqm), packets: packets.into(), ..Cost::default() };
    let spacing = crate::transmission(500, rate);
    let mut now = Time::ZERO;
    for i in 0..packets {
        now += spacing;
        while let Some(due) = aqm.next_timer().filter(|due| *due <= now) {
            aqm.on_timer(due, &queue);
            counted.timers += 1;
        }
        let flow = FlowId(i % flows.max(1));
        let packet = PacketView { bytes: 500, ecn: Ecn::NotEct, flow, class: Class(0), arrived: now };
        aqm.on_offered(now, &packet, &queue);
        aqm.on_arrival(now, &packet, &queue, &mut rng);
        aqm.on_departure(now, &packet, &queue, &mut rng);
    }
    Cost { draws: rng.draws, looks: contents.looks.get(), ..counted }
}

/// A queue of which every look is counted; it holds packets of flow 0 only.
#[derive(Default)]
struct Counted {
    looks: Cell<u64>,
}

impl Counted {
    fn look(&self) {
        self.looks.set(self.looks.get() + 1);
    }
}

impl Contents for Counted {
    fn at(&self, position: u32) -> Option<PacketView> {
        self.look();
        let packet = PacketView {
            bytes: 500,
            ecn: Ecn::NotEct,
            flow: FlowId(0),
            class: Class(0),
            arrived: Time::ZERO,
        };
        (position < 50).then_some(packet)
    }
    fn of_flow(&self, _: FlowId) -> u32 {
        self.look();
        1
    }
    fn of_class(&self, _: Class) -> u32 {
        self.look();
        50
    }
}

/// Random numbers of which every one is counted.
struct CountedStream {
    stream: Stream,
    draws: u64,
}

impl Random for CountedStream {
    fn uniform(&mut self) -> f64 {
        self.draws += 1;
        self.stream.uniform()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Spec};

    fn of(spec: &str, flows: u32) -> Cost {
        let context = Context {
            link_rate: 10_000_000,
            limit: Limit::Packets(100),
            mean_packet: 500,
            ecn: false,
            ns2: false,
            ns2_2001: false,
        };
        let mut aqm = Spec::parse(spec).and_then(|spec| spec.build(context)).expect("a valid spec");
        cost(&mut *aqm, context.link_rate, flows, 5000)
    }

    #[test]
    fn raqm_draws_once_a_packet_whatever_the_number_of_flows() {
        let few = of("raqm", 40);
        assert_eq!((few.draws, few.looks, few.timers), (5000, 0, 2));
        assert!(few.state_bytes > 0);
        assert_eq!(of("raqm", 400), few);
    }

    #[test]
    fn an_algorithm_that_looks_is_seen_to_look() {
        struct Curious;
        impl Aqm for Curious {
            fn on_offered(&mut self, _: Time, packet: &PacketView, queue: &QueueView) {
                for flow in 0..=packet.flow.0 {
                    queue.contents.of_flow(FlowId(flow));
                }
            }
            fn clone_box(&self) -> alloc::boxed::Box<dyn Aqm> {
                alloc::boxed::Box::new(Curious)
            }
        }
        let few = cost(&mut Curious, 10_000_000, 40, 4000);
        assert_eq!(few.looks, 100 * 40 * 41 / 2);
        assert!(cost(&mut Curious, 10_000_000, 400, 4000).looks > few.looks);
        assert_eq!(of("droptail", 40).draws, 0);
    }
}
