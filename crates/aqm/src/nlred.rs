//! **NLRED (Nonlinear RED; Zhou, Yeung and Li 2006)** replaces RED's linear probability by a quadratic one:
//! lower above `min_th`, steeper towards `max_th`.
//!
//! It signals fewer packets at a short average queue, and more near the upper threshold. The parabola ends at
//! 1.5 `max_p`, so that its mean between the thresholds is that of RED's line, which it intersects at two
//! thirds of the distance between them.
//!
//! # When it decides
//! On arrival, as `red`. Between the thresholds p_b = 1.5 max_p ((avg - min_th)/(max_th - min_th))^2, from
//! which RED's counter computes p_a, cause `early`. From max_th on every packet is signalled (`forced`);
//! `gentle` rises from 1.5 max_p to 1 instead.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | start of the gentle line | 1.5 max_p | ns-3: max_p | otherwise the probability would decrease at max_th |
//! | upper bound of max_p | 2/3 | not specified | 1.5 max_p is a probability |
//!
//! # References
//! K. Zhou, K. L. Yeung, V. O. K. Li: Nonlinear RED: A simple yet efficient active queue management scheme,
//! Computer Networks 50(18), 2006. ns-3 `red-queue-disc.cc` (NLRED).

use crate::{
    Algorithm, Kind, Param, Range,
    red::{self, Red},
    schema,
};

const MAX_P: Param = Param::fixed("0.1").range(Range::SHARE).source("Floyd 1997").named(
    "max_p",
    "Two thirds of the base probability just below max_th; up to 2/3",
    Kind::Number,
);

const fn of_red(name: &str) -> Param {
    schema::entry(red::Config::PARAMS, name)
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "nlred",
    title: "Nonlinear RED",
    alias_of: None,
    source: "Zhou, Yeung and Li 2006",
    params: &[
        of_red("min_th"),
        of_red("max_th"),
        MAX_P,
        of_red("w_q"),
        of_red("gentle"),
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
    file: include_str!("nlred.rs"),
    instance: crate::instance!(Red),
    build: |s| s.build(|config| Red::nonlinear(config, &s.context)),
};
