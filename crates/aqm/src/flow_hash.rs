//! The hash of flows to queues, with a seed that is drawn at the first packet unless it is set.

use crate::{FlowId, Random, Stream};

/// Maps flows to queues.
#[derive(Clone, Debug)]
pub(crate) struct FlowHash {
    queues: u64,
    /// The seed; `None` until the first packet.
    perturbation: Option<u32>,
}

impl FlowHash {
    pub(crate) fn new(queues: u32, perturbation: Option<u32>) -> FlowHash {
        FlowHash { queues: u64::from(queues), perturbation }
    }

    /// The queue of a flow.
    pub(crate) fn of(&mut self, flow: FlowId, rng: &mut dyn Random) -> usize {
        let drawn = || (rng.uniform() * f64::from(u32::MAX)) as u32;
        let perturbation = u64::from(*self.perturbation.get_or_insert_with(drawn));
        let key = (perturbation << 32) | u64::from(flow.0);
        (Stream::new(key, "flow queue").bits() % self.queues) as usize
    }
}
