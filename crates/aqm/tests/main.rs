//! Tests of the algorithms from outside: one binary, one module a file.

mod codel;
mod contract;
mod options;
mod oracle_red;
mod specs;
mod support;
mod vectors;
mod world;
