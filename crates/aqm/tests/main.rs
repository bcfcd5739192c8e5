//! Tests of the algorithms from outside: one binary, one module a file.

mod ared;
mod avqred;
mod bio;
mod blue;
mod choke;
mod cobalt;
mod codel;
mod contract;
mod feng_ared;
mod fred;
mod ldc;
mod nlred;
mod options;
mod oracle_avqred;
mod oracle_fred;
mod oracle_red;
mod oracle_sred;
mod pi2;
mod pie;
mod rio;
mod sfb;
mod specs;
mod sred;
mod support;
mod vectors;
mod world;
