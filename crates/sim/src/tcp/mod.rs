//! TCP end systems: a sender that asks [`TcpOptions`], a receiver, and the schema of the options.

mod congestion;
mod options;
mod prr;
mod rack;
mod receiver;
mod rto;
pub mod schema;
mod scoreboard;
mod sender;

pub use options::{Ect, Exit, Halve, LossDetection, Marks, Recovery, Scoreboard, TcpOptions, Timer, Variant};
pub(crate) use receiver::{ReassemblyPool, Received, Receiver};
pub(crate) use sender::{Ack, AckView, ColdStatePool, NEVER, Segment, Sender, Tally};

/// So many boxes at most are spare: enough for a few dozen flows to take turns, and nothing where there are thousands.
const POOL_SIZE: usize = 64;

/// The initial window in packets: as set, or by the payload of a full packet (RFC 5681, 3.1).
pub(crate) fn initial_window(options: &TcpOptions, payload: u32) -> u32 {
    match options.initial_window {
        0 if payload > 2190 => 2,
        0 if payload > 1095 => 3,
        0 => 4,
        set => set,
    }
}
