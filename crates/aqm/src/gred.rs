//! **Gentle RED (Floyd 2000)** is RED without the jump of the probability at `max_th`: above `max_th` the
//! probability increases linearly from `max_p` to 1 at twice `max_th`.
//!
//! With the jump RED is sensitive to its parameters: while the average is slightly above `max_th`, every
//! packet is signalled. All other rules are those of `red`.
//!
//! # When it decides
//! On arrival, as RED. From `max_th` to twice `max_th` the base probability is max_p + (1 - max_p)(avg -
//! max_th)/max_th, from which the same counter computes p_a, and the signal is `early`. From twice `max_th`
//! on every packet is signalled (`forced`). A buffer smaller than that overflows first.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | end of the line | 2 max_th | the buffer (`gentle_end limit`) | the published slope (1 - max_p)/max_th ends there; Brandauer et al. also write "the buffer size" |
//! | line with an adaptive max_p | starts at the current max_p | ns-2: at the initial max_p | an oversight in ns-2, without effect while max_p is constant |
//!
//! # References
//! S. Floyd: Recommendation on using the "gentle" variant of RED, note, March 2000. ns-2 `queue/red.cc`
//! (`gentle_`).

use crate::{
    Algorithm, Param,
    red::{self, Red},
    schema,
};

const fn of_red(name: &str) -> Param {
    schema::entry(red::Config::PARAMS, name)
}

/// The registry entry: `red gentle` under its own name.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "gred",
    title: "Gentle RED",
    alias_of: Some("red gentle"),
    source: "Floyd 2000",
    params: &[
        of_red("min_th"),
        of_red("max_th"),
        of_red("max_p"),
        of_red("w_q"),
        of_red("gentle_end"),
        of_red("wait"),
        of_red("count"),
        of_red("listing"),
        of_red("max_packet"),
        of_red("mean_packet"),
        of_red("ecn"),
        of_red("ecn_forced"),
        of_red("mark_p"),
    ],
    probes: red::PROBES,
    ns2_limit_counts_service: false,
    file: include_str!("gred.rs"),
    instance: crate::instance!(Red),
    build: |s| s.build(|config| Red::new(red::Config { gentle: true, ..config }, &s.context)),
};
