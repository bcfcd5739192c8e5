//! Exact packet simulation in virtual time.
//!
//! [`Plan`] says what to simulate, [`Simulation`] does it, [`Record`] is what it leaves behind. Inside:
//! `engine` (what is due), `net` (links, queues, the graph), `tcp` and `traffic` (who sends), `record`
//! (what is counted). [`queues`] are the queues alone, for a world of real packets. The algorithms come from `sojourn-aqm` unchanged.

#![forbid(unsafe_code)]

mod check;
mod connection;
mod engine;
mod error;
mod express;
mod flow;
mod group;
mod hosts;
mod losses;
mod net;
pub mod plan;
pub mod queues;
mod record;
mod rows;
mod simulation;
pub mod tcp;
mod timers;
mod traffic;
mod web;

pub use error::{PlanError, RunError};
pub use plan::Plan;
pub use record::{
    ClassColumns, CwndColumns, DropColumns, FlowColumns, Histogram, ObjectColumns, PageColumns, QueueRecord,
    QueueSeries, Record, Series,
};
pub use simulation::{Control, Simulation};
