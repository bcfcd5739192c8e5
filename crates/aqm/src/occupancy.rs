//! How many packets of each class and each flow wait: counted as they come and go, not looked for whenever
//! somebody asks. Hardly any algorithm asks, so counting begins with the first question.

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
    /// A packet begins to wait.
    #[inline]
    pub fn enter(&mut self, flow: FlowId, class: Class) {
        if let Some(counts) = self.counts.get_mut() {
            counts.enter(flow, class);
        }
    }

    /// A packet waits no longer.
    #[inline]
    pub fn leave(&mut self, flow: FlowId, class: Class) {
        if let Some(counts) = self.counts.get_mut() {
            counts.leave(flow, class);
        }
    }

    /// How many of `class` wait; `waiting` lists everybody, for the first question.
    pub fn of_class<I: Iterator<Item = (FlowId, Class)>>(
        &self,
        class: Class,
        waiting: impl FnOnce() -> I,
    ) -> u32 {
        self.ask(waiting, |counts| counts.classes.get(usize::from(class.0)).copied())
    }

    /// How many of `flow` wait; `waiting` lists everybody, for the first question.
    pub fn of_flow<I: Iterator<Item = (FlowId, Class)>>(
        &self,
        flow: FlowId,
        waiting: impl FnOnce() -> I,
    ) -> u32 {
        self.ask(waiting, |counts| counts.flows.get(flow.0 as usize).copied())
    }

    fn ask<I: Iterator<Item = (FlowId, Class)>>(
        &self,
        waiting: impl FnOnce() -> I,
        read: impl FnOnce(&Counts) -> Option<u32>,
    ) -> u32 {
        let mut counts = self.counts.borrow_mut();
        let counts = counts.get_or_insert_with(|| {
            let mut counts = Box::<Counts>::default();
            waiting().for_each(|(flow, class)| counts.enter(flow, class));
            counts
        });
        read(counts).unwrap_or(0)
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
    fn counts_are_those_of_a_look_at_everybody() {
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
                continue; // nobody asks for a while
            }
            let everybody = || waiting.iter().copied();
            for class in [0, 1, 2, 3, 255].map(Class) {
                let seen = everybody().filter(|packet| packet.1 == class).count();
                assert_eq!(occupancy.of_class(class, everybody) as usize, seen, "{class:?}");
            }
            for flow in (0..10).map(FlowId) {
                let seen = everybody().filter(|packet| packet.0 == flow).count();
                assert_eq!(occupancy.of_flow(flow, everybody) as usize, seen, "{flow:?}");
            }
        }
    }
}
