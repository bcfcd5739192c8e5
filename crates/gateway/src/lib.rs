//! Real packets through the simulator's queues.
//!
//! A gateway stands between network namespaces. It reads IP packets from TUN devices, takes them through the very
//! queues and links that `sojourn-sim` simulates, and writes them out when they are due. Everything between reading
//! and writing happens in virtual time ([`Engine`]): a departure is due when the link clock says so, not when the
//! host gets round to it, so a host that is late delivers late but the rate stays exact. How late it was is measured.
//!
//! [`Plan`] says what to build, [`Gateway`] runs it in a thread of its own, [`Outcome`] is what it leaves behind.
//! Inside: `packet` (headers), `segment` (the kernel's super-packets), `routes` (which host has an address), `flows`
//! (who sends), `engine` (virtual time) with its `agenda` (what is due), `awake` (processors that must not sleep),
//! `device` (file descriptors, the clock and the scheduler).
//! This is the only crate that reads a clock or needs `unsafe`, and both are in `device` alone.

mod agenda;
mod awake;
mod checksum;
mod device;
mod engine;
mod flows;
mod gateway;
mod goodput;
mod outcome;
mod packet;
mod plan;
mod routes;
mod segment;
mod setup;

pub use awake::Awake;
pub use engine::Engine;
pub use flows::Ends;
pub use gateway::{Gateway, GatewayError, Live};
pub use outcome::{Outcome, Tally};
pub use packet::{Header, Malformed, mark, parse};
pub use plan::{Device, Host, Plan, Rule, Side, Transport};
pub use segment::{Offload, split};
