//! Tests of the simulator from outside: one binary, one module a file.
//!
//! Where deliberate mistakes were tried, the head of the file lists those that its tests found.

mod classes;
mod eligibility;
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
