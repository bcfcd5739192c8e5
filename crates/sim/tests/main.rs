//! Tests of the simulator: one binary, one module per file.
//!
//! The head of a file lists the mutants that its tests detect, if any were tried.

mod classes;
mod drain;
mod eligibility;
mod fuzz;
mod golden;
mod impairments;

mod jitter;
mod medium;
mod ns2_single_flow;
mod oracle;
mod plans;
mod properties;
mod refusals;
mod shortcuts;
mod slices;
mod support;
mod traces;
mod video;
mod web;
