//! Exact integrals over time of the backlog of a queue (packets, their square, bytes) and of its
//! transmitter's idleness.
//!
//! Each quantity is constant between changes, so its integral up to t is its value times t, less the sum of T
//! Δ over all changes by Δ at T. Only this sum is maintained, so time that passes without a change costs
//! nothing.

use sojourn_aqm::{Span, Time};

/// Integrals from the start of the run, times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Integrals {
    pub(super) packets: u128,
    pub(super) squared: u128,
    pub(super) bytes: u128,
    pub(super) idle: Span,
}

/// The queued packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
}

/// The sums of -T Δ. Initially the queue is empty and the transmitter is idle.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    packets: i128,
    squared: i128,
    bytes: i128,
    idle: i128,
}

impl Changes {
    /// A packet enters the queue, which holds `others`: the square grows by 2 `others` + 1.
    #[inline(always)]
    pub(super) fn enter(&mut self, now: Time, others: u32, bytes: u32) {
        self.packets -= i128::from(now.0);
        self.squared -= product(now, 2 * u64::from(others) + 1);
        self.bytes -= product(now, bytes.into());
    }

    /// A packet leaves the queue, which then holds `others`.
    #[inline(always)]
    pub(super) fn leave(&mut self, now: Time, others: u32, bytes: u32) {
        self.packets += i128::from(now.0);
        self.squared += product(now, 2 * u64::from(others) + 1);
        self.bytes += product(now, bytes.into());
    }

    /// The backlog changes from `before` to `after`: a scheduler may enqueue, drop or dequeue several packets
    /// at once.
    pub(super) fn change(&mut self, now: Time, before: Backlog, after: Backlog) {
        let [old, new] = [before, after].map(|backlog| i64::from(backlog.packets));
        let times = |change: i64| i128::from(now.0.cast_signed()) * i128::from(change);
        self.packets += times(old - new);
        self.squared += times((old - new) * (old + new));
        self.bytes += times(before.bytes.cast_signed() - after.bytes.cast_signed());
    }

    /// The transmitter becomes busy or idle.
    pub(super) fn set_busy(&mut self, now: Time, busy: bool) {
        self.idle += if busy { i128::from(now.0) } else { -i128::from(now.0) };
    }

    /// The integrals up to `now`, with this backlog.
    pub(super) fn up_to(&self, now: Time, packets: u32, bytes: u64, busy: bool) -> Integrals {
        let packets = u64::from(packets);
        Integrals {
            packets: (self.packets + product(now, packets)) as u128,
            squared: (self.squared + product(now, packets * packets)) as u128,
            bytes: (self.bytes + product(now, bytes)) as u128,
            idle: Span((self.idle + product(now, u64::from(!busy))) as u64),
        }
    }
}

#[inline(always)]
fn product(time: Time, value: u64) -> i128 {
    (u128::from(time.0) * u128::from(value)) as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Steps: time passes, and a packet enters or leaves, a scheduler changes several packets, or the
    /// transmitter changes.
    fn steps() -> impl Strategy<Value = Vec<(u64, u8, u32)>> {
        prop::collection::vec((prop_oneof![Just(0), 0u64..1 << 50], 0u8..4, 1u32..100_000), 0..60)
    }

    proptest! {
        #[test]
        fn sums_at_changes_are_integrals_over_time(steps in steps()) {
            let (mut changes, mut integrals) = (Changes::default(), Integrals::default());
            let (mut now, mut queued, mut busy) = (Time::ZERO, Vec::<u32>::new(), false);
            for (span, what, bytes) in steps {
                let level = |queued: &[u32]| Backlog {
                    packets: queued.len() as u32,
                    bytes: queued.iter().map(|b| u64::from(*b)).sum(),
                };
                let before = level(&queued);
                let times = |value: u64| u128::from(span) * u128::from(value);
                integrals.packets += times(before.packets.into());
                integrals.squared += times(u64::from(before.packets).pow(2));
                integrals.bytes += times(before.bytes);
                integrals.idle += Span(span) * u64::from(!busy);
                now += Span(span);
                prop_assert_eq!(changes.up_to(now, before.packets, before.bytes, busy), integrals);
                match what {
                    0 => {
                        changes.enter(now, before.packets, bytes);
                        queued.push(bytes);
                    }
                    1 => if let Some(bytes) = queued.pop() {
                        changes.leave(now, before.packets - 1, bytes);
                    },
                    2 => {
                        queued.truncate(queued.len() / 2);
                        queued.push(bytes);
                        changes.change(now, before, level(&queued));
                    }
                    _ => {
                        busy = !busy;
                        changes.set_busy(now, busy);
                    }
                }
            }
        }
    }
}
