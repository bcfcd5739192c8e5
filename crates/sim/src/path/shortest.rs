//! Shortest paths by number of hops.

use std::collections::{BTreeMap, VecDeque};

/// Routes with the fewest hops; among equals, by the order in which links were declared.
pub(super) struct ShortestPaths<'a> {
    /// The number of nodes; the ends of each link.
    size: u32,
    ends: &'a [(u32, u32)],
    /// The links out of each node, node by node, and the index of each node's first.
    out: Vec<u32>,
    first: Vec<usize>,
    /// For each source, the link by which each node is reached.
    trees: BTreeMap<u32, Vec<Option<u32>>>,
}

impl ShortestPaths<'_> {
    pub(super) fn new(size: u32, ends: &[(u32, u32)]) -> ShortestPaths<'_> {
        let mut out: Vec<u32> = (0..ends.len() as u32).collect();
        let from = |link: &u32| ends[*link as usize].0;
        out.sort_by_key(from);
        let first = (0..=size).map(|node| out.partition_point(|link| from(link) < node)).collect();
        ShortestPaths { size, ends, out, first, trees: BTreeMap::new() }
    }

    fn out(&self, node: u32) -> &[u32] {
        &self.out[self.first[node as usize]..self.first[node as usize + 1]]
    }

    /// The links from one node to another; `None` if there is no path.
    pub(super) fn route(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut head = Vec::new();
        let mut from = from;
        // A host with one link out has no choice; its router's tree serves all of its hosts.
        while let [only] = *self.out(from)
            && from != to
            && head.len() < self.size as usize
        {
            head.push(only);
            from = self.ends[only as usize].1;
        }
        if !self.trees.contains_key(&from) {
            self.trees.insert(from, self.tree(from));
        }
        let tree = &self.trees[&from];
        let behind = head.len();
        let mut at = to;
        while at != from {
            let link = tree[at as usize]?;
            head.push(link);
            at = self.ends[link as usize].0;
        }
        head[behind..].reverse();
        Some(head)
    }

    /// Breadth-first search from a node.
    fn tree(&self, from: u32) -> Vec<Option<u32>> {
        let mut reached: Vec<Option<u32>> = vec![None; self.size as usize];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for &link in self.out(node) {
                let to = self.ends[link as usize].1;
                if to != from && reached[to as usize].is_none() {
                    reached[to as usize] = Some(link);
                    queue.push_back(to);
                }
            }
        }
        reached
    }
}
