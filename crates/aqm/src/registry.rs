//! The one list of algorithms. To add one, write its file, and add its module to `lib.rs` and a line to this
//! list.

use crate::{
    Algorithm, Discipline, Profile, ared, avq, avqred, bio, blue, choke, cobalt, codel, droptail, feng_ared,
    fred, gkvq, gred, ldc, nlred, pi, pi2, pie, raqm, red, rem, rio, sfb, sred,
};
use alloc::vec::Vec;

/// Every algorithm, in the order of tables.
pub static ALGORITHMS: &[&Algorithm] = &[
    &droptail::ALGORITHM,
    &red::ALGORITHM,
    &gred::ALGORITHM,
    &ared::ALGORITHM,
    &feng_ared::ALGORITHM,
    &fred::ALGORITHM,
    &sred::ALGORITHM,
    &blue::ALGORITHM,
    &sfb::ALGORITHM,
    &rem::ALGORITHM,
    &pi::ALGORITHM,
    &avq::ALGORITHM,
    &gkvq::ALGORITHM,
    &ldc::ALGORITHM,
    &raqm::ALGORITHM,
    &avqred::ALGORITHM,
    &rio::ALGORITHM,
    &bio::ALGORITHM,
    &choke::ALGORITHM,
    &nlred::ALGORITHM,
    &codel::ALGORITHM,
    &pie::ALGORITHM,
    &pi2::ALGORITHM,
    &cobalt::ALGORITHM,
];

/// The algorithm called `name`.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|a| a.name == name).copied()
}

/// Every name.
pub fn names() -> Vec<&'static str> {
    ALGORITHMS.iter().map(|a| a.name).collect()
}

/// Every scheduler, in the order of tables.
pub static SCHEDULERS: &[&Discipline] = &[
    &crate::fq_codel::DISCIPLINE,
    &crate::fq_pie::DISCIPLINE,
    &crate::fq::DISCIPLINE,
    &crate::sfq::DISCIPLINE,
    &crate::cake::DISCIPLINE,
    &crate::dualpi2::DISCIPLINE,
    &crate::drr::DISCIPLINE,
    &crate::prio::DISCIPLINE,
];

/// Every marker, in the order of tables.
pub static MARKERS: &[&Profile] = &[
    &crate::profile::TOKEN_BUCKET,
    &crate::profile::SRTCM,
    &crate::profile::TRTCM,
    &crate::profile::TSW2CM,
    &crate::profile::TSW3CM,
];
