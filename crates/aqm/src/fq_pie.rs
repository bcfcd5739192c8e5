//! **FQ-PIE (Linux `sch_fq_pie.c`, RFC 8033)** is FQ-CoDel with a PIE on each flow's queue instead of a
//! CoDel.
//!
//! PIE decides when a packet arrives, so that a dropped packet never occupies the queue.
//!
//! # When it decides
//! Queues, turns and lists are those of `fq_codel`. The PIE of the flow's queue decides on each arrival; all
//! PIEs update at the same times. A packet that exceeds the limit or `memory` is dropped, cause `overflow`.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | victim of an overflow | the arrival | `fq_codel`: from the head of the longest queue | Linux's fq_pie |
//! | updates | all queues at once | Linux: 2048 queues at a time | Linux limits the duration of a timer call; virtual time needs no limit |
//! | PIE's defaults | of RFC 8033 | Linux: de-randomised, decay 1/64 | as in `pie` |
//!
//! # References
//! Linux `sch_fq_pie.c`. RFC 8033. RFC 8290.

use crate::{
    Context, Param, SpecError,
    config::{Fields, config},
    fq_codel::{FlowQueues, PROBES, Queues, of_queues},
    pie::{self, Pie},
    scheduler::{Discipline, is_a_scheduler},
    schema,
};

config! {
    /// The parameters of FQ-PIE.
    pub struct Config {
        [
            /// The queues; their `ecn` is that of every PIE.
            queues: Queues;
            /// The PIE of each queue.
            pie: pie::Config;
        ]
    }
}

const fn of_pie(name: &str) -> Param {
    schema::entry(pie::Config::PARAMS, name)
}

/// The registry entry.
pub static DISCIPLINE: Discipline = Discipline {
    algorithm: crate::Algorithm {
        name: "fq_pie",
        title: "Flow queueing with PIE",
        alias_of: None,
        source: "Linux sch_fq_pie.c; RFC 8033",
        params: &[
            of_queues("flows"),
            of_queues("quantum"),
            of_queues("memory"),
            of_queues("turn"),
            of_queues("perturbation"),
            of_pie("target"),
            of_pie("t_update"),
            of_pie("alpha"),
            of_pie("beta"),
            of_pie("max_burst"),
            of_pie("mark_ecnth"),
            of_pie("delay"),
            of_pie("dq_threshold"),
            of_pie("step_cap"),
            of_pie("decay"),
            of_pie("derandomize"),
            of_pie("mark_restarts"),
            of_pie("jump"),
            of_pie("mean_packet"),
            of_queues("ecn"),
        ],
        probes: PROBES,
        ns2_limit_counts_service: false,
        file: include_str!("fq_pie.rs"),
        instance: crate::Instance::NONE,
        build: is_a_scheduler,
    },
    build: |s| s.schedule(|config| FlowQueues::pie(config, &s.context)),
};

impl FlowQueues {
    /// FQ-PIE with empty queues in front of `link`.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn pie(config: Config, link: &Context) -> Result<FlowQueues, SpecError> {
        config.check()?;
        let Config { queues, pie } = config;
        let pie = Pie::new(pie::Config { ecn: queues.ecn, ..pie }, link)?;
        Ok(FlowQueues::new(&pie, &queues, link, None))
    }
}
