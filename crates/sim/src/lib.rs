//! Exact packet simulation in virtual time.
//!
//! A [`Plan`] describes a run, [`Simulation`] executes it, and a [`Record`] holds the results. Modules: `sim`
//! (the packet cycle), `engine` (events), `link`, `path` and `queue` (the network), `flow`, `tcp` and
//! `traffic` (the end systems), `record` (counters). [`testbed`] offers the queues alone, for real packets.
//! The algorithms are those of `sojourn-aqm`, unchanged.
//!
//! Ten seconds of datagrams at 2 Mbit/s through a RED queue in front of a link of 1 Mbit/s:
//!
//! ```
//! use sojourn_sim::{Control, Plan, Simulation};
//!
//! let hosts = serde_json::json!({"rate": 10_000_000, "delays": [1_000_000]});
//! let plan: Plan = serde_json::from_value(serde_json::json!({
//!     "duration": 10_000_000_000u64, "warmup": 0,
//!     "topology": {"dumbbell": {
//!         "rate": 1_000_000, "delay": 5_000_000, "access": hosts, "server": hosts,
//!         "queue": {"limit": "50p", "aqm": "red min_th 5p max_th 15p"},
//!     }},
//!     "traffic": [{
//!         "name": "cbr", "kind": {"udp_cbr": {"rate": 2_000_000, "size": 500}}, "start": {"constant": 0.0},
//!     }],
//! }))?;
//! let record = Simulation::new(&plan, 1)?.run(&Control::default())?;
//! let queue = &record.queues[0];
//! let drops: u64 = queue.drops.iter().sum();
//! assert_eq!(queue.arrivals, 5000);
//! assert!(drops.abs_diff(2500) < 50, "about half of them are dropped: {drops}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod engine;
mod error;
mod flow;
mod link;
mod measure;
pub mod nanoseconds;
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
pub use link::{Fate, Wire};
pub use measure::{DatagramColumns, ReceivedDatagrams, datagram_columns};
pub use plan::Plan;
pub use queue::States;
pub use record::{
    ClassColumns, CwndColumns, DelayColumns, DeliveryColumns, DropColumns, Export, FastPath, FlowColumns,
    FlowSeriesColumns, Histogram, LinkColumns, LossColumns, ObjectColumns, PacketColumns, PageColumns,
    QueueRecord, QueueSeries, Record, SegmentColumns, Series, SlowPathReason, Window,
};
pub use sim::{Control, Progress, Running, Simulation};
