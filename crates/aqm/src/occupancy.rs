//! [`Occupancy`]: the number of queued packets of each class and each flow. Few algorithms read it, so
//! counting begins with the first read.

use crate::{Class, FlowId};
use alloc::{boxed::Box, vec::Vec};
use core::cell::RefCell;

/// The counts of one queue.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    counts: RefCell<Option<Box<Counts>>>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    classes: Vec<u32>,
    flows: Vec<u32>,
}

impl Counts {
    #[inline(never)]
    fn enter(&mut self, flow: FlowId, class: Class) {
        *slot(&mut self.classes, class.0.into()) += 1;
        *slot(&mut self.flows, flow.0 as usize) += 1;
    }

    #[inline(never)]
    fn leave(&mut self, flow: FlowId, class: Class) {
        *slot(&mut self.classes, class.0.into()) -= 1;
        *slot(&mut self.flows, flow.0 as usize) -= 1;
    }
}

impl Occupancy {
    /// A packet was queued.
    #[inline]
    pub fn enter(&mut self, flow: FlowId, class: Class) {
        if let Some(counts) = self.counts.get_mut() {
            counts.enter(flow, class);
        }
    }

    /// A packet left the queue.
    #[inline]
    pub fn leave(&mut self, flow: FlowId, class: Class) {
        if let Some(counts) = self.counts.get_mut() {
            counts.leave(flow, class);
        }
    }

    /// Queued packets of `class`; `queued` lists all packets, for the first read.
    pub fn of_class<I: Iterator<Item = (FlowId, Class)>>(
        &self,
        class: Class,
        queued: impl FnOnce() -> I,
    ) -> u32 {
        self.read(queued, |counts| counts.classes.get(usize::from(class.0)).copied())
    }

    /// Queued packets of `flow`; `queued` lists all packets, for the first read.
    pub fn of_flow<I: Iterator<Item = (FlowId, Class)>>(
        &self,
        flow: FlowId,
        queued: impl FnOnce() -> I,
    ) -> u32 {
        self.read(queued, |counts| counts.flows.get(flow.0 as usize).copied())
    }

    fn read<I: Iterator<Item = (FlowId, Class)>>(
        &self,
        queued: impl FnOnce() -> I,
        of: impl FnOnce(&Counts) -> Option<u32>,
    ) -> u32 {
        let mut counts = self.counts.borrow_mut();
        let counts = counts.get_or_insert_with(|| {
            let mut counts = Box::<Counts>::default();
            queued().for_each(|(flow, class)| counts.enter(flow, class));
            counts
        });
        of(counts).unwrap_or(0)
    }
}

/// The count at `index`, 0 if it is new.
fn slot(counts: &mut Vec<u32>, index: usize) -> &mut u32 {
    if index >= counts.len() {
        counts.resize(index + 1, 0);
    }
    &mut counts[index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, Stream};
    use alloc::collections::VecDeque;

    #[test]
    fn counts_are_those_of_the_queue() {
        let mut rng = Stream::new(1, "occupancy");
        let mut pick = |n: u32| (rng.uniform() * f64::from(n)) as u32;
        let (mut occupancy, mut waiting) = (Occupancy::default(), VecDeque::new());
        for step in 0..20_000 {
            if pick(2) == 0 {
                let packet = (FlowId(pick(9)), Class([0, 0, 1, 3, 255][pick(5) as usize]));
                occupancy.enter(packet.0, packet.1);
                waiting.push_back(packet);
            } else if !waiting.is_empty() {
                let (flow, class) = waiting.remove(pick(waiting.len() as u32) as usize).expect("it waits");
                occupancy.leave(flow, class);
            }
            if step < 100 {
                continue; // not read at first
            }
            let all = || waiting.iter().copied();
            for class in [0, 1, 2, 3, 255].map(Class) {
                let seen = all().filter(|packet| packet.1 == class).count();
                assert_eq!(occupancy.of_class(class, all) as usize, seen, "{class:?}");
            }
            for flow in (0..10).map(FlowId) {
                let seen = all().filter(|packet| packet.0 == flow).count();
                assert_eq!(occupancy.of_flow(flow, all) as usize, seen, "{flow:?}");
            }
        }
    }
}
