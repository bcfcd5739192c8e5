//! FlowIndex of the record: one for each source, with all of its flows.
//!
//! Sources that are there from the beginning come first, in the order of their groups, and so do the flows of those that
//! are one flow each: for them nothing need be app. Only flows that come later are told theirs.

use crate::flow::Group;

/// A row.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) group: u32,
    pub(crate) index: u32,
    pub(crate) start: u64,
}

/// The rows of a run.
pub(crate) struct FlowIndex {
    /// How many sources and flows are there from the beginning.
    sources: u32,
    flows: u32,
    /// The sources that come later.
    late: Vec<Source>,
    /// The row of each flow that comes later.
    of_late: Vec<u32>,
}

impl FlowIndex {
    pub(crate) fn new(groups: &[Group]) -> FlowIndex {
        let sources = early(groups).map(|(group, _)| group.starts.sources()).sum();
        let flows = early(groups).map(|(group, _)| group.first_flows()).sum();
        FlowIndex { sources, flows, late: Vec::new(), of_late: Vec::new() }
    }

    /// A flow comes later that is a source of its own.
    pub(crate) fn add_source(&mut self, row: Source) {
        self.add_flow(self.sources + self.late.len() as u32);
        self.late.push(row);
    }

    /// A flow comes later that counts in `row`.
    pub(crate) fn add_flow(&mut self, row: u32) {
        self.of_late.push(row);
    }

    /// That of flow `number`, which is of `group`.
    pub(crate) fn of(&self, number: u32, group: &Group) -> u32 {
        match number.checked_sub(self.flows) {
            Some(late) => self.of_late[late as usize],
            None => group.first_row + (number - group.first_flow),
        }
    }

    /// All of them.
    pub(crate) fn all(&self, groups: &[Group]) -> impl Iterator<Item = Source> {
        let early = early(groups).flat_map(|(of, group)| {
            of.starts.clone().zip(0..).map(move |(start, index)| Source { group, index, start })
        });
        early.chain(self.late.iter().copied())
    }
}

/// Groups with sources of their own.
fn early(groups: &[Group]) -> impl Iterator<Item = (&Group, u32)> {
    groups.iter().zip(0..).filter(|(group, _)| !group.is_requests())
}
