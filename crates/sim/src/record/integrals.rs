//! Exact integrals over time of what waits at a queue (packets, their square, bytes) and of its transmitter's rest.
//!
//! Each of these is constant between changes, so its integral up to t is its value times t, less the sum of T Δ over its
//! changes by Δ at T. Only that sum is kept up: while time passes, and where nothing changes, there is nothing to do.

/// Integrals from the start up to some moment, times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Integrals {
    pub(super) packets: u128,
    pub(super) squared: u128,
    pub(super) bytes: u128,
    pub(super) idle: u64,
}

/// The sums of -T Δ. At first nothing waits and the transmitter rests.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    packets: i128,
    squared: i128,
    bytes: i128,
    idle: i128,
}

impl Changes {
    /// A packet begins to wait beside `others`: their square grows by 2 `others` + 1.
    #[inline(always)]
    pub(super) fn enter(&mut self, now: u64, others: u32, bytes: u32) {
        self.packets -= i128::from(now);
        self.squared -= product(now, 2 * u64::from(others) + 1);
        self.bytes -= product(now, bytes.into());
    }

    /// It waits no longer, `others` do.
    #[inline(always)]
    pub(super) fn leave(&mut self, now: u64, others: u32, bytes: u32) {
        self.packets += i128::from(now);
        self.squared += product(now, 2 * u64::from(others) + 1);
        self.bytes += product(now, bytes.into());
    }

    /// `before` changes to `after`, packets and bytes, by a scheduler that lets several enter or leave.
    pub(super) fn change(&mut self, now: u64, before: (u32, u64), after: (u32, u64)) {
        let [before, after] = [before, after].map(|(packets, bytes)| {
            let packets = u64::from(packets);
            [packets, packets * packets, bytes].map(|value| product(now, value))
        });
        self.packets += before[0] - after[0];
        self.squared += before[1] - after[1];
        self.bytes += before[2] - after[2];
    }

    /// The transmitter begins to work, or to rest.
    pub(super) fn work(&mut self, now: u64, busy: bool) {
        self.idle += if busy { i128::from(now) } else { -i128::from(now) };
    }

    /// The integrals up to `now`, when so much waits.
    pub(super) fn up_to(&self, now: u64, packets: u32, bytes: u64, busy: bool) -> Integrals {
        let packets = u64::from(packets);
        Integrals {
            packets: (self.packets + product(now, packets)) as u128,
            squared: (self.squared + product(now, packets * packets)) as u128,
            bytes: (self.bytes + product(now, bytes)) as u128,
            idle: (self.idle + product(now, u64::from(!busy))) as u64,
        }
    }
}

#[inline(always)]
fn product(time: u64, value: u64) -> i128 {
    (u128::from(time) * u128::from(value)) as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What happens: time passes, and a packet enters, leaves, or a scheduler does several things at once.
    fn steps() -> impl Strategy<Value = Vec<(u64, u8, u32)>> {
        prop::collection::vec((prop_oneof![Just(0), 0u64..1 << 50], 0u8..4, 1u32..100_000), 0..60)
    }

    proptest! {
        #[test]
        fn sums_at_changes_are_integrals_over_time(steps in steps()) {
            let (mut changes, mut integrals) = (Changes::default(), Integrals::default());
            let (mut now, mut waiting, mut busy) = (0, Vec::<u32>::new(), false);
            for (span, what, bytes) in steps {
                let level = |waiting: &[u32]| (waiting.len() as u32, waiting.iter().map(|b| u64::from(*b)).sum());
                let before: (u32, u64) = level(&waiting);
                let times = |value: u64| u128::from(span) * u128::from(value);
                integrals.packets += times(before.0.into());
                integrals.squared += times(u64::from(before.0).pow(2));
                integrals.bytes += times(before.1);
                integrals.idle += span * u64::from(!busy);
                now += span;
                prop_assert_eq!(changes.up_to(now, before.0, before.1, busy), integrals);
                match what {
                    0 => {
                        changes.enter(now, before.0, bytes);
                        waiting.push(bytes);
                    }
                    1 => if let Some(bytes) = waiting.pop() {
                        changes.leave(now, before.0 - 1, bytes);
                    },
                    2 => {
                        waiting.truncate(waiting.len() / 2);
                        waiting.push(bytes);
                        changes.change(now, before, level(&waiting));
                    }
                    _ => {
                        busy = !busy;
                        changes.work(now, busy);
                    }
                }
            }
        }
    }
}
