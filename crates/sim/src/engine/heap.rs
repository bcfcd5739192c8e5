//! A 4-ary min-heap.

const WIDTH: usize = 4;
/// A smaller capacity is never reduced.
const MIN_SHRUNK: usize = 1024;

/// Items, of which the smallest can be removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap<T> {
    items: Vec<T>,
}

impl<T: Copy + Ord> Heap<T> {
    pub(crate) fn new() -> Heap<T> {
        Heap { items: Vec::new() }
    }

    pub(crate) fn peek(&self) -> Option<T> {
        self.items.first().copied()
    }

    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
        let mut hole = self.items.len() - 1;
        while hole > 0 {
            let parent = (hole - 1) / WIDTH;
            if self.items[parent] <= item {
                break;
            }
            self.items[hole] = self.items[parent];
            hole = parent;
        }
        self.items[hole] = item;
    }

    /// Allocate memory for `additional` items.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.items.reserve_exact(additional);
    }

    /// All items, in arbitrary order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        self.items.iter().copied()
    }

    /// Remove the smallest item. Half of the memory is freed when three quarters are unused, since a run with
    /// many flows needs most at its start.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let smallest = self.peek();
        let capacity = self.items.capacity();
        if capacity > MIN_SHRUNK && self.items.len() < capacity / 4 {
            self.items.shrink_to(capacity / 2);
        }
        if let Some(last) = self.items.pop()
            && !self.items.is_empty()
        {
            self.replace_top(last);
        }
        smallest
    }

    /// Replace the smallest item.
    fn replace_top(&mut self, item: T) {
        let items = self.items.as_mut_slice();
        let mut hole = 0;
        loop {
            let first = hole * WIDTH + 1;
            let smallest = match items.get(first..) {
                Some(&[a, b, c, d, ..]) => {
                    let child = |item, index| Child { item, index };
                    let (ab, cd) = (child(a, 0).min(child(b, 1)), child(c, 2).min(child(d, 3)));
                    ab.min(cd)
                }
                Some(&[a, ref rest @ ..]) => {
                    let others = rest.iter().zip(1..).map(|(item, index)| Child { item: *item, index });
                    others.fold(Child { item: a, index: 0 }, Child::min)
                }
                _ => break,
            };
            if item <= smallest.item {
                break;
            }
            items[hole] = smallest.item;
            hole = first + smallest.index;
        }
        items[hole] = item;
    }
}

/// An item and its index among the children of its parent.
struct Child<T> {
    item: T,
    index: usize,
}

impl<T: Ord> Child<T> {
    /// The child with the smaller item; `self` if they are equal.
    #[inline(always)]
    fn min(self, other: Child<T>) -> Child<T> {
        if other.item < self.item { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::Heap;
    use proptest::prelude::*;
    use std::collections::BinaryHeap;

    proptest! {
        #[test]
        fn agrees_with_the_standard_heap(steps in proptest::collection::vec((0u8..3, any::<u16>()), 0..400)) {
            let mut ours = Heap::new();
            let mut model = BinaryHeap::new();
            for (step, x) in steps {
                match step {
                    0 => { ours.push(x); model.push(std::cmp::Reverse(x)); }
                    1 => prop_assert_eq!(ours.pop(), model.pop().map(|r| r.0)),
                    _ if !model.is_empty() => { ours.replace_top(x); model.pop(); model.push(std::cmp::Reverse(x)); }
                    _ => {}
                }
                prop_assert_eq!(ours.peek(), model.peek().map(|r| r.0));
            }
        }
    }
}
