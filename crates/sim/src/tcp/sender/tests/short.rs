//! The fast paths for an ACK that SACKs one more packet, and for one of new data with RACK, against the
//! general processing.

use super::*;
use proptest::{prelude::*, test_runner::TestRunner};
use std::cell::Cell;

const CASES: [(&str, &[(&str, &str)]); 11] = [
    ("ns2", &[("variant", "sack")]),
    ("ns2", &[("variant", "sack"), ("limited_transmit", "on"), ("limited_retransmit", "on")]),
    ("ns2", &[("variant", "sack"), ("ecn", "on")]),
    ("rfc", &[("variant", "cubic"), ("scoreboard", "sack1")]),
    ("rfc", &[("variant", "sack"), ("scoreboard", "sack1"), ("receiver_window", "12"), ("syn", "off")]),
    ("rfc", &[("variant", "sack")]),
    ("linux", &[]),
    ("linux", &[("variant", "dctcp"), ("ecn", "on"), ("receiver_window", "12")]),
    ("linux", &[("variant", "reno"), ("recovery", "window"), ("hystart", "rfc9406")]),
    ("rfc", &[("loss_detection", "rack"), ("ecn", "on"), ("syn", "off")]),
    ("linux", &[("pacing", "on")]),
];

/// Packets, ACKs and retransmissions are lost, in bursts too, packets are marked, timers expire, and some
/// transfers are abandoned. If the fast path handles an ACK, the sender sends the same packets and has the
/// same state as after the general processing; if not, its state has not changed. (Mutants: flags that
/// exclude it are ignored; retransmissions are taken for new data; the third duplicate is taken for any; the
/// limit or pipe is counted differently; blocks after the first are ignored; with RACK: packets
/// that are sacked, lost or retransmitted, a probe or the state of Linux are ignored; the window grows
/// before it limits the sender.)
#[test]
fn the_fast_paths_agree_with_general_processing() {
    let taken = [const { Cell::new(0) }; CASES.len()];
    let strategy = (
        0..CASES.len(),
        2u32..40,
        40u32..200,
        (prop::collection::btree_set((0u32..120, 0u32..4), 0..60), 0u32..100, 0u32..30),
        prop::collection::btree_set((0u32..120, 0u32..2), 0..3),
        (prop::collection::btree_set(0usize..300, 0..20), 0usize..2000),
    );
    let check = |(case, window, end, (lose, first, many), mark, (lost_acks, abandoned)): (
        usize,
        _,
        _,
        (BTreeSet<_>, _, _),
        _,
        (BTreeSet<usize>, _),
    )| {
        let mut path = Path::new(options(CASES[case].0, CASES[case].1), window, end, &[]);
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
            if lost_acks.contains(&(step / 3)) {
                continue;
            }
            if step == abandoned {
                path.sender.abandon();
            }
            let (mut fast, mut pool) = (path.sender.clone(), ColdStatePool::default());
            let limit = match ack.sack[0].1 {
                _ if ack.ece => None,
                0 => fast.rack_fast_path(&path.o, ack.next, ack.sent, path.now),
                _ => fast.sack_fast_path(&path.o, ack.next, &ack.sack, &mut pool),
            };
            if let Some(limit) = limit {
                let sent: Vec<_> = std::iter::from_fn(|| fast.emit_next(limit, path.now)).collect();
                prop_assert_eq!(&sent, &path.deliver_generally(ack).sent, "{:?}", ack);
                taken[case].set(taken[case].get() + 1);
                if fast.uses_rack() {
                    // The packet that is timed has no use with RACK, and only the fast path notes it.
                    prop_assert_eq!(fast.rto.timeout(), path.sender.rto.timeout());
                    fast.rto = path.sender.rto.clone();
                }
            } else {
                prop_assert_eq!(format!("{fast:?}"), format!("{:?}", path.sender), "{:?}", ack);
                path.deliver(ack);
                continue;
            }
            prop_assert_eq!(format!("{fast:?}"), format!("{:?}", path.sender), "{:?}", ack);
        }
        Ok(())
    };
    TestRunner::new(cases(3000)).run(&strategy, check).unwrap();
    for (count, least) in taken.iter().zip([5000, 5000, 2000, 0, 2000, 200, 2000, 2000, 2000, 2000, 0]) {
        assert!(count.get() >= least, "{:?}", taken.each_ref().map(Cell::get));
    }
}
