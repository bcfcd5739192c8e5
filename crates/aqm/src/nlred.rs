//! **NLRED (Nonlinear RED)** bends RED's line into a parabola: milder just above `min_th`, steeper towards
//! `max_th`.
//!
//! A short average queue is no reason to drop much, one near the upper threshold is. The parabola ends at
//! 1.5 `max_p`, so that its mean between the thresholds is that of RED's line; the two cross at two thirds of the way.
//!
//! # When it decides
//! On arrival, as `red`. Between the thresholds p_b = 1.5 max_p ((avg - min_th)/(max_th - min_th))^2, spread by
//! RED's counter, cause `early`. From max_th on every packet is signalled (`forced`); `gentle` rises from
//! 1.5 max_p to 1 instead.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | start of the gentle line | 1.5 max_p | ns-3: max_p | without it the probability would fall at max_th |
//! | largest max_p | 2/3 | none stated | 1.5 max_p is a probability |
//! | everything else | as `red` | as `red` | it is the same code |
//!
//! # References
//! K. Zhou, K. L. Yeung, V. O. K. Li: Nonlinear RED: A simple yet efficient active queue management scheme, Computer
//! Networks 50(18), 2006. ns-3 `red-queue-disc.cc` (NLRED).

use crate::{
    Algorithm,
    DefaultValue::Value as Fixed,
    Kind, Param, Range, Settings, SpecError,
    aqm::Aqm,
    common,
    red::{self, Red},
    red_family::{self, Thresholds},
};
use alloc::boxed::Box;

const MAX_P: Param = Param::new(
    "max_p",
    Kind::Number,
    Fixed("0.1"),
    "Two thirds of the base probability just below max_th; up to 2/3",
)
.range(Range::SHARE)
.source("Floyd 1997");

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "nlred",
    title: "Nonlinear RED",
    alias_of: None,
    source: "Zhou, Yeung and Li 2006",
    params: &[
        red_family::MIN_TH,
        red_family::MAX_TH,
        MAX_P,
        red_family::W_Q,
        red::GENTLE,
        red::GENTLE_END,
        red_family::WAIT,
        red::COUNT,
        red::LISTING,
        red_family::MAX_PACKET,
        red_family::MEAN_PACKET,
        common::ECN,
        red_family::ECN_FORCED,
    ],
    probes: red::PROBES,
    ns2_limit_counts_service: false,
    file: include_str!("nlred.rs"),
    build,
};

fn build(settings: &Settings) -> Result<Box<dyn Aqm>, SpecError> {
    let end = 1.5 * settings.number("max_p");
    if end > 1.0 {
        return Err(settings.error("max_p", "is above 2/3: the curve ends at 1.5 max_p", "(0, 2/3]"));
    }
    let red = Red::new(settings, Thresholds::new(settings)?, settings.flag("gentle"))?;
    Ok(Box::new(red.bent(end)))
}
