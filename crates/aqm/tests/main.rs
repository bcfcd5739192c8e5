//! Tests of the algorithms from outside: one binary, one module a file.

mod support;
mod vectors;
