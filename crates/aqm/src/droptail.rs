//! **DropTail** accepts every packet until the buffer is full: no active queue management at all, the
//! baseline that every algorithm must beat.
//!
//! # When it decides
//! Never. The queue itself refuses what does not fit: in packet mode (`limit 100p`) when as many wait,
//! in byte mode (`limit 120kB`) when the arrival would exceed the limit. `overflow head` drops from the
//! front instead (a fresher signal), `overflow random` any waiting packet.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | what `limit B` counts | B packets wait, the one in service not counted | ns-2: B - 1 wait | a limit says how much may wait; preset `ns2` does as ns-2 |
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

/// No state: the queue's limit is all there is.
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
