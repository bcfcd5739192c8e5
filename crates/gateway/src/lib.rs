//! Real packets through the simulator's queues.
//!
//! A gateway connects network namespaces. It reads IP packets from TUN devices, passes them through the same
//! queues and links that `sojourn-sim` simulates, and writes them at their departure times. Everything
//! between reading and writing happens in virtual time ([`Engine`]): a packet enters at the time at which the
//! kernel reports its arrival at the device, and a departure time follows from the link clock, not from when
//! the host runs the gateway. A busy host therefore delivers packets late, but arrivals and the rate stay
//! exact, and the lateness is recorded.
//!
//! A [`Plan`] describes a gateway, [`Gateway`] runs it in a thread of its own, and a [`GatewayRecord`] holds
//! the results. Modules: `packet` (headers), `segment` (segmentation of super-packets), `routes` (the host of
//! an address), `flows` (connections), `turn` (a device's share of the gateway), `arrivals` (when packets
//! arrived) with `tap` (the kernel's reports of them), `engine` (virtual time) with
//! `events` (pending events), `cpu_idle` (prevents idle states of processors), `device` (file descriptors,
//! clock, scheduler). Only `device` and `tap` read a clock or contain `unsafe` code.
//!
//! One datagram of 28 bytes through a gateway of 10 Mbit/s and 5 ms, in virtual time:
//!
//! ```
//! use sojourn_aqm::{Span, Time};
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
//! engine.on_read(Time::ZERO, &[&Offload::default().bytes()[..], &ip, &udp].concat());
//!
//! let mut written = Vec::new();
//! engine.advance(Time(10_000_000), &mut |device, _, time| {
//!     written.push((device, time));
//!     Some(Span::ZERO)
//! });
//! assert_eq!(written, [(1, Time(5_022_400))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrivals;
mod checksum;
mod cpu_idle;
mod device;
mod engine;
mod events;
mod flows;
mod gateway;
mod goodput;
mod kernel_trace;
mod packet;
mod plan;
mod record;
mod routes;
mod segment;
mod setup;
mod tap;
mod turn;

pub use cpu_idle::IdleGuard;
pub use engine::Engine;
pub use flows::{Endpoint, Ends};
pub use gateway::{Gateway, GatewayError, Live};
pub use kernel_trace::{EventFormat, TracedEvents, TracedQueue, TracedRun, traced_record};
pub use packet::{Fragment, Header, Malformed, Ports, Tcp, mark, parse};
pub use plan::{Device, Host, Plan, Rule, Side, Tap, Transport};
pub use record::{GatewayRecord, HistogramColumns, Stats};
pub use segment::{Offload, split};
