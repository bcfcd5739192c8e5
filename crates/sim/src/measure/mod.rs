//! Measuring a run: samples of the queues, losses of the flows, and the [`crate::record::Record`] at the end.
//!
//! This module depends on queues and flows; those depend on the counters and columns of [`crate::record`]
//! only.

mod datagrams;
mod flow_series;
mod loss_log;
mod observed;
mod recorder;
mod result;

pub use datagrams::{DatagramColumns, ReceivedDatagrams, datagram_columns};
pub(crate) use flow_series::FlowSeries;
pub(crate) use loss_log::{LossContext, LossLog};
pub use observed::ObservedQueue;
pub(crate) use recorder::Recorder;
pub(crate) use result::{RunResult, Traces, conserved, port_conserves, warmup_snapshots};
