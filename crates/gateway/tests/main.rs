//! Tests of the gateway without devices: one binary, one module a file.
//!
//! Mutants that were tried, and what found them: `mutants.md`.

mod engine;
mod packets;
mod segments;
mod support;
