//! One run in the form that the live page draws: [`view`] simulates a plan and returns JSON.
//!
//! The page calls it as a WebAssembly module (`exports`), the local server as a function of the native
//! core. Both return the same bytes, and `digest` covers the whole record, not only what is drawn.

#[cfg(target_arch = "wasm32")]
mod exports;
mod summary;
mod view;

use sojourn_sim::{Control, Plan, Record, Simulation};
use std::fmt::{self, Write};
use view::View;

/// Run `plan` (JSON) with `seed`; JSON of the view, or `{"error": ...}`.
pub fn view(plan: &str, seed: u64) -> String {
    run(plan, seed).unwrap_or_else(|error| serde_json::json!({ "error": error }).to_string())
}

fn run(plan: &str, seed: u64) -> Result<String, String> {
    let plan: Plan = serde_json::from_str(plan).map_err(|why| format!("the plan cannot be read: {why}"))?;
    let simulation = Simulation::new(&plan, seed).map_err(|why| why.to_string())?;
    let record = simulation.run(&Control::default()).map_err(|why| why.to_string())?;
    Ok(describe(&plan, &record))
}

/// JSON of what the page draws of a record.
pub fn describe(plan: &Plan, record: &Record) -> String {
    let view = View::new(plan, record, digest(record));
    serde_json::to_string(&view).unwrap_or_default() // numbers and texts: this cannot fail
}

/// A hash of every number of a record, in hexadecimal: equal records have equal digests.
///
/// It is FNV-1a (64 bits) over the record's debug form, which has the shortest digits that identify each
/// floating-point number.
pub fn digest(record: &Record) -> String {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    let _ = write!(hash, "{record:?}"); // `Fnv` cannot fail
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
