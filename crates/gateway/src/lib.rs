//! Real packets through the simulator's queues.
//!
//! A gateway connects network namespaces. It reads IP packets from TUN devices, passes them through the same
//! queues and links that `sojourn-sim` simulates, and writes them at their departure times. Everything
//! between reading and writing happens in virtual time ([`Engine`]): a departure time follows from the link
//! clock, not from when the host runs the gateway. A busy host therefore delivers packets late, but the rate
//! stays exact, and the lateness is recorded.
//!
//! A [`Plan`] describes a gateway, [`Gateway`] runs it in a thread of its own, and a [`GatewayRecord`] holds
//! the results. Modules: `packet` (headers), `segment` (segmentation of super-packets), `routes` (the host of
//! an address), `flows` (connections), `engine` (virtual time) with `events` (pending events), `cpu_idle`
//! (keeps processors out of idle states), `device` (file descriptors, clock, scheduler). Only `device` reads
//! a clock or contains `unsafe` code.

mod checksum;
mod cpu_idle;
mod device;
mod engine;
mod events;
mod flows;
mod gateway;
mod goodput;
mod packet;
mod plan;
mod record;
mod routes;
mod segment;
mod setup;

pub use cpu_idle::IdleGuard;
pub use engine::Engine;
pub use flows::{Endpoint, Ends};
pub use gateway::{Gateway, GatewayError, Live};
pub use packet::{Fragment, Header, Malformed, Ports, Tcp, mark, parse};
pub use plan::{Device, Host, Plan, Rule, Side, Transport};
pub use record::{GatewayRecord, Stats};
pub use segment::{Offload, split};
