//! The rows of the record: one per source, for all of its flows.
//!
//! Sources that exist from the start of the run have the first rows, in the order of their groups, and so
//! have their flows; the row of such a flow is computed. Only flows that are created during the run have
//! theirs stored.

use crate::flow::Group;
use sojourn_aqm::Time;

/// The source of a row.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) group: u32,
    /// Its index within the group.
    pub(crate) index: u32,
    pub(crate) start: Time,
}

/// The rows of a run.
pub(crate) struct FlowIndex {
    /// Sources that exist from the start, and their flows.
    sources: u32,
    flows: u32,
    /// Sources that are created during the run.
    late: Vec<Source>,
    /// The row of each flow that is created during the run.
    late_rows: Vec<u32>,
}

impl FlowIndex {
    pub(crate) fn new(groups: &[Group]) -> FlowIndex {
        let sources = with_sources(groups).map(|(group, _)| group.starts.sources()).sum();
        let flows = with_sources(groups).map(|(group, _)| group.first_flows()).sum();
        FlowIndex { sources, flows, late: Vec::new(), late_rows: Vec::new() }
    }

    /// Add a flow that is a source of its own.
    pub(crate) fn add_source(&mut self, source: Source) {
        self.add_flow(self.sources + self.late.len() as u32);
        self.late.push(source);
    }

    /// Add a flow that counts in `row`.
    pub(crate) fn add_flow(&mut self, row: u32) {
        self.late_rows.push(row);
    }

    /// The row of flow `number` of `group`.
    pub(crate) fn of(&self, number: u32, group: &Group) -> u32 {
        match number.checked_sub(self.flows) {
            Some(late) => self.late_rows[late as usize],
            None => group.first_row + (number - group.first_flow),
        }
    }

    /// The sources in the order of their rows.
    pub(crate) fn all(&self, groups: &[Group]) -> impl Iterator<Item = Source> {
        let early = with_sources(groups).flat_map(|(group, number)| {
            let starts = group.starts.clone().zip(0..);
            starts.map(move |(start, index)| Source { group: number, index, start })
        });
        early.chain(self.late.iter().copied())
    }
}

/// The groups with sources of their own, and their numbers.
fn with_sources(groups: &[Group]) -> impl Iterator<Item = (&Group, u32)> {
    groups.iter().zip(0..).filter(|(group, _)| !group.is_requests())
}
