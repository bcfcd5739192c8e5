//! A run that is simulated in slices has the record of a whole run.
//!
//! Mutant that is detected: each slice counts its events from 0.

use crate::{
    plans::any_plan,
    support::{cases, difference},
};
use proptest::prelude::*;
use sojourn_sim::{Control, Plan, Simulation};

/// The records are equal, and the slices have shown what the record has.
fn same(plan: &Plan, seed: u64, events: u64) -> Result<(), TestCaseError> {
    let Ok(simulation) = Simulation::new(plan, seed) else { return Ok(()) }; // an algorithm may refuse a link
    let control = Control::default();
    let whole = simulation.run(&control).unwrap();
    let mut running = Simulation::new(plan, seed).unwrap().start();
    let mut drops = 0;
    while !running.advance(events, &control).unwrap() {
        let progress = running.progress();
        drops = progress.drops.time_ns.len();
        let samples = progress.series.map_or(0, |series| series.packets.len());
        prop_assert_eq!(&progress.drops.time_ns[..], &whole.drops.time_ns[..drops]);
        if let Some(series) = progress.series.filter(|_| samples > 0) {
            prop_assert_eq!(&series.packets[..], &whole.series.queues[0].packets[..samples]);
        }
    }
    prop_assert!(drops <= whole.drops.time_ns.len());
    let sliced = running.finish(&control).unwrap();
    prop_assert_eq!(format!("{whole:?}"), format!("{sliced:?}"));
    prop_assert_eq!(difference(&whole, &sliced), None);
    Ok(())
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_run_in_slices_is_the_whole_run(plan in any_plan(), seed in 0u64..1000, events in 1u64..20_000) {
        same(&plan, seed, events)?;
    }
}
