//! Memory for traces is reserved before rows are written: if there is not enough, the run ends with an error.
//! A vector that grows on its own would abort the process.

use super::{CwndColumns, DropColumns, FlowSeriesColumns, PacketColumns};
use crate::error::RunError;

/// The new capacity for `more` rows after the first `rows`: unchanged if they fit, otherwise doubled up to
/// `limit`, and never too small for them.
fn grown(rows: usize, capacity: usize, more: usize, limit: usize) -> usize {
    if capacity - rows >= more { capacity } else { (2 * capacity).min(limit).max(rows + more) }
}

macro_rules! reserve {
    ($columns:ty, $first:ident: $t:ty, [$($name:ident: $u:ty),*]) => {
        impl $columns {
            const ROW: u64 = (size_of::<$t>() $(+ size_of::<$u>())*) as u64;

            /// Reserve memory for `more` rows in every column; returns the bytes that the columns take.
            pub(crate) fn reserve(&mut self, more: usize, limit: Option<u64>) -> Result<u64, RunError> {
                let (rows, capacity) = (self.$first.len(), self.$first.capacity());
                let most = limit.map_or(usize::MAX, |limit| (limit / Self::ROW) as usize);
                let wanted = grown(rows, capacity, more, most);
                if wanted > capacity {
                    let refused = |_| RunError::Memory(capacity as u64 * Self::ROW);
                    if wanted > most {
                        return Err(RunError::Memory(most as u64 * Self::ROW));
                    }
                    self.$first.try_reserve_exact(wanted - rows).map_err(refused)?;
                    $(self.$name.try_reserve_exact(wanted - rows).map_err(refused)?;)*
                }
                Ok(wanted as u64 * Self::ROW)
            }
        }
    };
}
reserve!(DropColumns, time_ns: u64, [flow: u32, sequence: u32, cause: u8, arrival: u64, queue_packets: u32]);
reserve!(CwndColumns, time_ns: u64, [flow: u32, cwnd: f64, ssthresh: f64]);
reserve!(
    PacketColumns,
    time_ns: u64,
    [
        event: u8, reason: u8, arrival: u64, flow: u32, connection: u32, sequence: u32, kind: u8, bytes: u32,
        ecn: u8, flag: u8, class: u8, queue_packets: u32
    ]
);
reserve!(
    FlowSeriesColumns,
    time_ns: u64,
    [flow: u32, connection: u32, goodput_bytes: u64, carried_bytes: u64, cwnd: f64, srtt_ns: f64]
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_grows_up_to_its_limit_and_never_by_itself() {
        let (mut columns, limit) = (CwndColumns::default(), Some(1000 * CwndColumns::ROW));
        let error = loop {
            match columns.reserve(100, limit) {
                Err(error) => break error,
                Ok(bytes) => assert!(bytes <= 1000 * CwndColumns::ROW),
            }
            let capacity = columns.flow.capacity();
            for _ in 0..100 {
                columns.time_ns.push(0);
                columns.flow.push(0);
            }
            assert_eq!(columns.flow.capacity(), capacity);
        };
        assert_eq!((columns.flow.len(), error), (1000, RunError::Memory(1000 * CwndColumns::ROW)));
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        let mut columns = DropColumns::default();
        assert_eq!(columns.reserve(usize::MAX >> 4, None), Err(RunError::Memory(0)));
    }
}
