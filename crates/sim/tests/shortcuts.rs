//! Packets run ahead of the clock over links that never lose, and senders react ahead of it: the record must be the
//! one that a simulator leaves which makes every step of every packet an event.
//!
//! Mutants seen to fail: a timer that expires before the acknowledgement comes is forgotten, in a round trip and outside; the
//! horizon is forgotten in a round trip; an acknowledgement overtakes one that waits for the clock; a first link that several
//! flows share counts as one's own; a packet that comes to an idle queue waits for others at the same time; an arrival
//! and the end of a transmission at the same time are not told apart; a fixed path is not settled before datagrams
//! cross one of them, or not looked at after that; an acknowledgement that waits has no rank; an echo that comes with
//! a report of blocks is not heard.

use crate::{
    plans::{any_plan, round_trip_plan},
    support::{cases, difference, options, queue},
};
use proptest::prelude::*;
use sojourn_sim::{
    Control, Plan, Simulation,
    plan::{QueueConfig, Topology, TrafficKind},
    tcp::TcpOptions,
};

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
    fn round_trips_change_nothing_either(plan in round_trip_plan(), seed in 0u64..1000) {
        same(&plan, seed)?;
    }

    /// Where packets are marked and lost, and blocks reported.
    #[test]
    fn reports_of_blocks_change_nothing_either(
        mut plan in round_trip_plan(),
        limit in prop::sample::select(vec!["5p", "20p"]),
        conventions in prop::sample::select(vec!["ns2", "default"]),
        seed in 0u64..1000,
    ) {
        let Topology::Dumbbell(dumbbell) = &mut plan.topology else { unreachable!() };
        let red = "red min_th 1p max_th 15p max_p 0.2 w_q 0.1";
        dumbbell.queue = QueueConfig { ecn: true, ..queue(limit, red) };
        for traffic in &mut plan.traffic {
            if let TrafficKind::Tcp(tcp) = &mut traffic.kind {
                let (min_rto, initial_rto) = (tcp.options.min_rto, tcp.options.initial_rto);
                let sack = options(conventions, &[("variant", "sack"), ("ecn", "on")]);
                tcp.options = TcpOptions { min_rto, initial_rto, delayed_ack: 0, overhead: 0, ..sack };
            }
        }
        same(&plan, seed)?;
    }
}
