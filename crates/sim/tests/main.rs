//! Tests of the simulator from outside: one binary, one module a file.
//!
//! `MUTANTS.md` lists deliberate mistakes in the simulator and which of these tests found each.

mod classes;
mod fuzz;
mod golden;
mod ns2_single_flow;
mod oracle;
mod plans;
mod properties;
mod refusals;
mod shortcuts;
mod support;
mod web;
