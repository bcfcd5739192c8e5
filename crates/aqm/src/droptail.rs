//! **DropTail (FIFO; RFC 2309, section 2)** accepts every packet until the buffer is full. It is not active
//! queue management, but the baseline for all comparisons.
//!
//! # When it decides
//! Never. The queue itself drops a packet that does not fit: in packet mode (`limit 100p`) if 100 packets are
//! queued, in byte mode (`limit 120kB`) if the arrival would exceed the limit. `overflow head` drops packets
//! at the head instead, so that senders detect the loss earlier, `overflow random` randomly chosen queued
//! packets.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | `limit B` | B queued packets, without the one in service | ns-2: B - 1 | a limit is the maximum number of queued packets; preset `ns2` has ns-2's meaning |
//! | byte mode | limit in bytes | ns-2: `limit_` x mean packet size | a byte limit should count bytes |
//!
//! # References
//! RFC 2309, section 2; ns-2 `queue/drop-tail.cc`; Linux `pfifo`, `bfifo`.

use crate::{Algorithm, Aqm, Hooks, IgnoresContents, Settings, SpecError};
use alloc::boxed::Box;

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "droptail",
    title: "DropTail (FIFO)",
    alias_of: None,
    source: "RFC 2309",
    params: &[],
    probes: &[],
    ns2_limit_counts_service: true,
    file: include_str!("droptail.rs"),
    instance: crate::instance!(DropTail),
    build,
};

/// DropTail has no state; the queue enforces its own limit.
#[derive(Clone, Debug)]
pub struct DropTail;

fn build(_settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    Ok(Box::new(DropTail))
}

impl IgnoresContents for DropTail {}

impl Aqm for DropTail {
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
