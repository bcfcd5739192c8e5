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
//!
//! One datagram of 28 bytes through a gateway of 10 Mbit/s and 5 ms, in virtual time:
//!
//! ```
//! use sojourn_gateway::{Engine, Offload, Plan};
//!
//! let link = |from: &str, to: &str| serde_json::json!({
//!     "from": from, "to": to, "rate": 10_000_000, "delay": 5_000_000,
//!     "queue": {"limit": "20p", "aqm": "codel"},
//! });
//! let plan: Plan = serde_json::from_value(serde_json::json!({
//!     "devices": [{"name": "left", "fd": -1}, {"name": "right", "fd": -1}],
//!     "hosts": [
//!         {"name": "a", "device": 0, "side": "left", "addresses": ["10.0.0.0/24"]},
//!         {"name": "b", "device": 1, "side": "right", "addresses": ["10.0.1.0/24"]},
//!     ],
//!     "forward": link("left", "right"), "backward": link("right", "left"),
//!     "rules": [{"name": "all"}], "mean_packet": 1500,
//! }))?;
//! let mut engine = Engine::new(&plan)?;
//! let ip = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0x65, 0xd0, 10, 0, 0, 1, 10, 0, 1, 1];
//! let udp = [0, 1, 0, 2, 0, 8, 0, 0];
//! engine.take(0, &[&Offload::default().bytes()[..], &ip, &udp].concat());
//!
//! let mut written = Vec::new();
//! engine.advance(10_000_000, &mut |device, _, due| {
//!     written.push((device, due));
//!     Some(0)
//! });
//! assert_eq!(written, [(1, 5_022_400)]); // ns
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
