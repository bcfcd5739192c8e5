//! **FQ-PIE** is FQ-CoDel's round of flow queues with a PIE on each instead of a CoDel.
//!
//! PIE decides when a packet arrives, so a flow's queue is kept short before it is stored, not after it has waited.
//!
//! # When it decides
//! Queues, turns and lists are those of `fq_codel`. The PIE of the flow's queue decides on each arrival; all of them
//! update at the same moments. A packet for which there is no room under the limit or `memory` is refused, cause
//! `overflow`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | who leaves at the limit | the arrival | `fq_codel`: from the head of the longest queue | Linux's fq_pie |
//! | updates | all queues at once | Linux: 2048 queues at a time | a machine's timer must not take long, a model's may |
//! | PIE's defaults | of RFC 8033 | Linux: de-randomised, decay 1/64 | as in `pie` |
//!
//! # References
//! Linux `sch_fq_pie.c`. RFC 8033. RFC 8290.

use crate::{
    fq_codel::{ECN, FLOWS, FlowQueues, MEMORY, PERTURBATION, PROBES, QUANTUM, TURN},
    pie::{self, Pie},
    scheduler::{Discipline, is_a_scheduler},
};
use alloc::boxed::Box;

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "fq_pie",
        title: "Flow queueing with PIE",
        alias_of: None,
        source: "Linux sch_fq_pie.c; RFC 8033",
        params: &[
            FLOWS,
            QUANTUM,
            MEMORY,
            TURN,
            PERTURBATION,
            pie::TARGET,
            pie::T_UPDATE,
            pie::ALPHA,
            pie::BETA,
            pie::MAX_BURST,
            pie::MARK_ECNTH,
            pie::DELAY,
            pie::DQ_THRESHOLD,
            pie::STEP_CAP,
            pie::DECAY,
            pie::DERANDOMIZE,
            pie::JUMP,
            crate::common::MEAN_PACKET,
            ECN,
        ],
        probes: PROBES,
        ns2_limit_counts_service: false,
        file: include_str!("fq_pie.rs"),
        build: is_a_scheduler,
    },
    build: |settings| {
        let pie = Pie::new(settings)?;
        Ok(Box::new(FlowQueues::new(&pie, settings, None)?))
    },
};
