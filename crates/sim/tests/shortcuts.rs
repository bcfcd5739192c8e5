//! Packets run ahead of the clock over links that never lose, and senders react ahead of it: the record must be the
//! one that a simulator leaves which makes every step of every packet an event.
//!
//! Mutants seen to fail: a timer that expires before the acknowledgement comes is forgotten, in a lap and outside; the
//! horizon is forgotten in a lap; an acknowledgement overtakes one that waits for the clock; a first link that several
//! flows share counts as one's own; a packet that comes to an idle queue waits for others at the same time; an arrival
//! and the end of a transmission at the same time are not told apart; a chain of links is not settled before datagrams
//! cross one of them, or not looked at after that; an acknowledgement that waits has no rank.

use crate::{
    plans::{any_plan, lapping_plan},
    support::{cases, difference},
};
use proptest::prelude::*;
use sojourn_sim::{Control, Plan, Simulation};

/// What both engines leave behind is the same, and the one with shortcuts has no more events.
fn same(plan: &Plan, seed: u64) -> Result<(), TestCaseError> {
    let fast = match Simulation::new(plan, seed) {
        Ok(simulation) => simulation,
        // An algorithm may refuse a link or a limit.
        Err(error) => {
            prop_assume!(!error.key.ends_with(".aqm"));
            panic!("{error}")
        }
    };
    let plain = Simulation::plain(plan, seed).unwrap();
    let fast = fast.run(&Control::default()).unwrap();
    let plain = plain.run(&Control::default()).unwrap();
    prop_assert!(fast.events <= plain.events, "{} events, plainly {}", fast.events, plain.events);
    if let Some(difference) = difference(&fast, &plain) {
        prop_assert!(false, "{difference}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn shortcuts_change_nothing_but_the_number_of_events(plan in any_plan(), seed in 0u64..1000) {
        same(&plan, seed)?;
    }

    #[test]
    fn laps_change_nothing_either(plan in lapping_plan(), seed in 0u64..1000) {
        same(&plan, seed)?;
    }
}
