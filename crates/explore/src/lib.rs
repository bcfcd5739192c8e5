//! One run in the form that the live page draws, as JSON: while it is simulated ([`Stream`]), at its end, and
//! packet by packet ([`Scenes`]).
//!
//! The page calls it as a WebAssembly module (`exports`), the local server as a function of the native
//! core. Both return the same bytes, and `digest` covers the whole record, not only what is drawn.

mod counters;
mod decision;
mod e_model;
#[cfg(target_arch = "wasm32")]
mod exports;
mod packets;
mod summary;
mod view;

pub use packets::Scenes;

use serde::Serialize;
use sojourn_sim::{Control, Plan, PlanError, Record, RunError, Running, Simulation};
use std::fmt::{self, Write};
use view::{Bins, View};

/// Events of a slice: some milliseconds of processor time, so that the first picture comes at once and a run
/// that is not wanted any more ends at once.
const EVENTS_PER_SLICE: u64 = 8192;

/// A run that is shown while it is simulated.
pub struct Stream {
    plan: Plan,
    running: Running,
    control: Control,
    bins: Bins,
}

impl Stream {
    /// Set up a run of `plan`; `trace_limit`: bytes that its traces may take.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn new(plan: Plan, seed: u64, trace_limit: Option<u64>) -> Result<Stream, PlanError> {
        let mut running = Simulation::new(&plan, seed)?.start();
        let bins = Bins::new(&plan, running.capacity_bits());
        let control = Control { trace_limit, ..Control::default() };
        Ok(Stream { plan, running, control, bins })
    }

    /// Simulate the next slice; whether the run is over.
    ///
    /// # Errors
    /// As [`Running::advance`].
    pub fn advance(&mut self) -> Result<bool, RunError> {
        self.running.advance(EVENTS_PER_SLICE, &self.control)
    }

    /// JSON of the curves since the last call.
    pub fn part(&mut self) -> String {
        json(&self.bins.next(&self.running.progress(), |connection| self.running.row(connection)))
    }

    /// Simulate what is left; JSON of the whole run.
    ///
    /// # Errors
    /// As [`Running::finish`].
    pub fn finish(self) -> Result<String, RunError> {
        let record = self.running.finish(&self.control)?;
        Ok(describe(&self.plan, &record))
    }
}

/// JSON of what the page draws of a record.
pub fn describe(plan: &Plan, record: &Record) -> String {
    json(&View::new(plan, record, digest(record)))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() // numbers and texts: this cannot fail
}

/// A hash of every number of a record, in hexadecimal: equal records have equal digests.
///
/// It is FNV-1a (64 bits) over the record's debug form, which has the shortest digits that identify each
/// floating-point number.
pub fn digest(record: &Record) -> String {
    fnv(format_args!("{record:?}"))
}

/// FNV-1a (64 bits) of a text, in hexadecimal.
pub fn fnv(text: fmt::Arguments<'_>) -> String {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    let _ = hash.write_fmt(text); // `Fnv` cannot fail
    format!("{:016x}", hash.0)
}

struct Fnv(u64);

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}
