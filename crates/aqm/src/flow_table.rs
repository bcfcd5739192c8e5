//! A table with a value per flow. Its size depends on the largest number of flows in it at one time, not on
//! the number of all flows so far.
//!
//! Open addressing with linear probing; removal closes the gap, so that there are no tombstones. It allocates
//! only when its number of flows reaches a new maximum.

use crate::FlowId;
use alloc::vec::Vec;

/// A map from flows to `T`.
#[derive(Clone, Debug)]
pub(crate) struct FlowTable<T> {
    /// Empty or a power of two of slots, at most half of them used.
    slots: Vec<Option<(FlowId, T)>>,
    len: usize,
}

impl<T: Copy> FlowTable<T> {
    /// An empty table without memory.
    pub(crate) const fn new() -> FlowTable<T> {
        FlowTable { slots: Vec::new(), len: 0 }
    }

    /// Number of flows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn mask(&self) -> usize {
        self.slots.len().wrapping_sub(1)
    }

    /// Where the search for `flow` begins.
    fn home(&self, flow: FlowId) -> usize {
        let mixed = u64::from(flow.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & self.mask()
    }

    /// The slot that holds `flow`, or the free slot for it. `slots` must not be empty.
    fn slot(&self, flow: FlowId) -> usize {
        let mut at = self.home(flow);
        while self.slots[at].is_some_and(|(other, _)| other != flow) {
            at = (at + 1) & self.mask();
        }
        at
    }

    /// The value of `flow`.
    pub(crate) fn get(&self, flow: FlowId) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        self.slots[self.slot(flow)].map(|(_, value)| value)
    }

    /// Set the value of `flow`.
    pub(crate) fn set(&mut self, flow: FlowId, value: T) {
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow();
        }
        let at = self.slot(flow);
        self.len += usize::from(self.slots[at].is_none());
        self.slots[at] = Some((flow, value));
    }

    /// Double the table and insert every flow again.
    fn grow(&mut self) {
        let mut old = Vec::new();
        old.resize((2 * self.slots.len()).max(16), None);
        core::mem::swap(&mut old, &mut self.slots);
        for (flow, value) in old.into_iter().flatten() {
            let at = self.slot(flow);
            self.slots[at] = Some((flow, value));
        }
    }

    /// Remove `flow`. Entries that it had displaced move back.
    pub(crate) fn remove(&mut self, flow: FlowId) {
        if self.get(flow).is_none() {
            return;
        }
        let (mask, mut gap) = (self.mask(), self.slot(flow));
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let Some((other, _)) = self.slots[at] else { break };
            let distance = |from: usize| at.wrapping_sub(from) & mask;
            if distance(self.home(other)) >= distance(gap) {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
        }
        self.slots[gap] = None;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, Stream};
    use alloc::collections::BTreeMap;

    #[test]
    fn it_is_a_map() {
        let mut rng = Stream::new(1, "flow table");
        let (mut table, mut map) = (FlowTable::new(), BTreeMap::new());
        let mut most = 0;
        for step in 0..200_000u32 {
            let spread = if step % 2 == 0 { 40.0 } else { 4e9 };
            let known = map.keys().nth((rng.uniform() * 30.0) as usize).copied();
            let flow = known.filter(|_| rng.uniform() < 0.6).unwrap_or((rng.uniform() * spread) as u32);
            if rng.uniform() < 0.5 {
                table.set(FlowId(flow), step);
                map.insert(flow, step);
            } else {
                table.remove(FlowId(flow));
                map.remove(&flow);
            }
            most = most.max(map.len());
            assert_eq!(table.get(FlowId(flow)), map.get(&flow).copied());
            assert_eq!(table.len(), map.len());
            if step % 64 == 0 {
                assert!(map.iter().all(|(flow, value)| table.get(FlowId(*flow)) == Some(*value)));
            }
        }
        assert!(table.slots.len() <= (4 * most).max(16), "the table is larger than 4 slots per flow");
    }
}
