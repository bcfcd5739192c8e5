//! Tests of the gateway without devices: one binary, one module per file.
//!
//! `mutants.md` lists mutants and the tests that detect them.

mod engine;
mod packets;
mod segments;
mod support;
