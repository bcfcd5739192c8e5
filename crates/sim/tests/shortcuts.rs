//! Packets cross links without finite queues ahead of the clock, and senders react ahead of it. The record
//! must equal that of the plain simulator, in which every step of every packet is an event.
//!
//! Mutants that are detected: a timer that expires before the acknowledgement arrives is ignored, in a round
//! trip and outside; the horizon is ignored in a round trip; an acknowledgement overtakes one that waits for
//! the clock; a first link that several flows share counts as private; a packet that arrives at an idle queue
//! is not served before other events of that time; an arrival and the end of a transmission at the same time
//! are equal; a fixed path is not flushed before datagrams cross one of its links, or not refreshed
//! afterwards; an acknowledgement that waits has no tie key; an ECN echo together with SACK blocks is
//! ignored; a delayed acknowledgement is sent after a packet that arrives later or at the same time, or takes
//! the links of the fixed path before it is sent; its timer has no event.

use crate::{
    plans::{any_plan, round_trip_plan},
    support::{cases, difference, options, queue},
};
use proptest::prelude::*;
use sojourn_aqm::Span;
use sojourn_sim::{
    Control, Plan, Simulation,
    plan::{QueueConfig, Topology, TrafficKind},
    tcp::TcpOptions,
};

/// The records of both are equal, and the simulator with shortcuts has no more events.
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
    prop_assert!(
        fast.events <= plain.events,
        "{} events, {} in the plain simulator",
        fast.events,
        plain.events
    );
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

    /// With marks, losses, and SACK blocks.
    #[test]
    fn reports_of_blocks_change_nothing_either(
        mut plan in round_trip_plan(),
        limit in prop::sample::select(vec!["5p", "20p"]),
        conventions in prop::sample::select(vec!["ns2", "rfc"]),
        seed in 0u64..1000,
    ) {
        let Topology::Dumbbell(dumbbell) = &mut plan.topology else { unreachable!() };
        let red = "red min_th 1p max_th 15p max_p 0.2 w_q 0.1";
        dumbbell.queue = QueueConfig { ecn: true, ..queue(limit, red) };
        for traffic in &mut plan.traffic {
            if let TrafficKind::Tcp(tcp) = &mut traffic.kind {
                let (min_rto, initial_rto) = (tcp.options.min_rto, tcp.options.initial_rto);
                let sack = options(conventions, &[("variant", "sack"), ("ecn", "on")]);
                tcp.options = TcpOptions { min_rto, initial_rto, delayed_ack: Span::ZERO, overhead: Span::ZERO, ..sack };
            }
        }
        same(&plan, seed)?;
    }
}
