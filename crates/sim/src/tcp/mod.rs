//! TCP endpoints: a sender and a receiver that follow [`TcpOptions`], and the schema of these options.

mod congestion;
mod options;
mod pacing;
mod prr;
mod rack;
mod rate;
mod receiver;
mod rto;
pub mod schema;
mod scoreboard;
mod sender;

pub use options::{
    CubicForm, Ect, Exit, Halve, HyStartForm, LossDetection, Marks, Recovery, Scoreboard, TcpOptions, Timer,
    Variant,
};
pub(crate) use receiver::{EcnBits, ReassemblyPool, Received, Receiver};
pub(crate) use sender::{Ack, AckView, ColdStatePool, Segment, Sender, Tally};

/// The most boxes in a pool: enough where a few dozen flows recover in turn, and little memory where
/// thousands do.
const POOL_SIZE: usize = 64;

/// The initial window in packets: as configured, or by the payload of a full packet (RFC 5681, section 3.1).
pub(crate) fn initial_window(options: &TcpOptions, payload: u32) -> u32 {
    match options.initial_window {
        0 if payload > 2190 => 2,
        0 if payload > 1095 => 3,
        0 => 4,
        set => set,
    }
}
