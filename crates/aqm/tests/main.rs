//! Tests of the algorithms from outside: one binary, one module a file.

mod ared;
mod blue;
mod choke;
mod codel;
mod contract;
mod feng_ared;
mod ldc;
mod nlred;
mod options;
mod oracle_red;
mod pie;
mod sfb;
mod specs;
mod support;
mod vectors;
mod world;
