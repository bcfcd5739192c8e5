//! Exact packet simulation in virtual time.
//!
//! A [`Plan`] describes a run, [`Simulation`] executes it, and a [`Record`] holds the results. Modules: `sim`
//! (the packet cycle), `engine` (events), `link`, `path` and `queue` (the network), `flow`, `tcp` and
//! `traffic` (the end systems), `record` (counters). [`testbed`] offers the queues alone, for real packets.
//! The algorithms are those of `sojourn-aqm`, unchanged.

#![forbid(unsafe_code)]

mod engine;
mod error;
mod flow;
mod link;
mod packet;
mod path;
pub mod plan;
mod queue;
mod record;
mod sim;
pub mod tcp;
pub mod testbed;
mod traffic;

pub use error::{PlanError, RunError};
pub use path::{FastPath, SlowPathReason};
pub use plan::Plan;
pub use record::{
    ClassColumns, CwndColumns, DropColumns, FlowColumns, Histogram, ObjectColumns, PageColumns, QueueRecord,
    QueueSeries, Record, Series,
};
pub use sim::{Control, Simulation};
