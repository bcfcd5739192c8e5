//! The short way for an acknowledgement whose only news is one packet, beside the general one.

use super::*;
use proptest::{prelude::*, test_runner::TestRunner};
use std::cell::Cell;

const WAYS: [(&str, &[(&str, &str)]); 6] = [
    ("ns2", &[("variant", "sack")]),
    ("ns2", &[("variant", "sack"), ("limited_transmit", "on"), ("limited_retransmit", "on")]),
    ("ns2", &[("variant", "sack"), ("ecn", "on")]),
    ("default", &[("variant", "cubic"), ("scoreboard", "sack1")]),
    ("default", &[("variant", "sack"), ("scoreboard", "sack1"), ("receiver_window", "12"), ("syn", "off")]),
    ("default", &[("variant", "sack")]),
];

/// Packets and acknowledgements, many in a row, and copies are lost, packets are marked, timers expire, and now and
/// then nobody wants the rest. Where the short way is one, the
/// sender is as after the general one, and sends the same; where it is none, it has done nothing.
/// (Mutants: flags that speak against it not asked; packets that were sent before taken for new ones; the third duplicate
/// taken for any; what may be sent, or was, counted otherwise; other blocks than the latest not looked at.)
#[test]
fn one_packet_more_is_answered_as_any_report() {
    let taken = [const { Cell::new(0) }; WAYS.len()];
    let strategy = (
        0..WAYS.len(),
        2u32..40,
        40u32..200,
        (prop::collection::btree_set((0u32..120, 0u32..4), 0..60), 0u32..100, 0u32..30),
        prop::collection::btree_set((0u32..120, 0u32..2), 0..3),
        (prop::collection::btree_set(0usize..300, 0..20), 0usize..2000),
    );
    let check = |(way, window, end, (lose, first, many), mark, (silent, gone)): (
        usize,
        _,
        _,
        (BTreeSet<_>, _, _),
        _,
        (BTreeSet<usize>, _),
    )| {
        let mut path = Path::new(options(WAYS[way].0, WAYS[way].1), window, end, &[]);
        (path.lose, path.mark) = (lose, mark);
        path.lose.extend((first..first + many).map(|sequence| (sequence, 0)));
        path.start();
        for step in 0..600 {
            let Some(ack) = path.acks.pop_front() else {
                if path.sender.deadline().is_none() {
                    break;
                }
                path.expire();
                continue;
            };
            path.now += MS;
            if silent.contains(&(step / 3)) {
                continue;
            }
            if step == gone {
                path.sender.abandon();
            }
            let (mut short, mut pool) = (path.sender.clone(), ColdStatePool::default());
            let limit = if ack.sack[0].1 > 0 && !ack.echo {
                short.on_one_more(&path.o, ack.next, &ack.sack, &mut pool)
            } else {
                None
            };
            if let Some(limit) = limit {
                let sent: Vec<_> = std::iter::from_fn(|| short.emit_next(limit, path.now)).collect();
                prop_assert_eq!(&sent, &path.deliver(ack).sent, "{:?}", ack);
                taken[way].set(taken[way].get() + 1);
            } else {
                prop_assert_eq!(format!("{short:?}"), format!("{:?}", path.sender), "{:?}", ack);
                path.deliver(ack);
                continue;
            }
            prop_assert_eq!(format!("{short:?}"), format!("{:?}", path.sender), "{:?}", ack);
        }
        Ok(())
    };
    TestRunner::new(cases(3000)).run(&strategy, check).unwrap();
    for (way, least) in taken.iter().zip([5000, 5000, 2000, 0, 2000, 200]) {
        assert!(way.get() >= least, "{:?}", taken.each_ref().map(Cell::get));
    }
}
