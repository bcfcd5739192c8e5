//! The backlog of ranges of classes, for algorithms with several drop precedences.
//!
//! The class of a packet is its drop precedence: 0 = in profile or green, 1 = out of profile or yellow, 2 =
//! red.

use crate::{Class, QueueView};

/// A range of classes, both ends included; the upper end may be unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Classes {
    pub(crate) from: u8,
    pub(crate) to: u8,
}

impl Classes {
    /// The whole backlog.
    pub(crate) const ALL: Classes = Classes { from: 0, to: u8::MAX };

    /// Whether `class` is one of them.
    pub(crate) fn hold(self, class: Class) -> bool {
        (self.from..=self.to).contains(&class.0)
    }

    /// Their backlog: in packets, which the queue counts, or in bytes, which are summed over the queue.
    pub(crate) fn backlog(self, queue: &QueueView, bytes: bool) -> f64 {
        if self == Classes::ALL {
            return if bytes { queue.bytes as f64 } else { f64::from(queue.packets) };
        }
        if bytes {
            let packets = (0..queue.packets).filter_map(|position| queue.contents.at(position));
            return packets.filter(|p| self.hold(p.class)).map(|p| u64::from(p.bytes)).sum::<u64>() as f64;
        }
        let of =
            |from: u8, to: u8| (from..to).map(|class| queue.contents.of_class(Class(class))).sum::<u32>();
        f64::from(match self.to {
            u8::MAX => queue.packets.saturating_sub(of(0, self.from)),
            to => of(self.from, to + 1),
        })
    }
}
