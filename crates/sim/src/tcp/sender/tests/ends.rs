//! Ends of transfers: the last ACK, a sender that is stopped, and any transfer with random losses and marks.

use super::*;
use crate::tcp::options::Variant;
use proptest::prelude::*;

#[test]
fn a_transfer_ends_with_its_last_acknowledgement() {
    let mut path = Path::new(options("rfc", &[]), 4, 7, &[]);
    path.start();
    path.drain();
    assert!(path.sender.is_done());
    assert_eq!((path.sender.snd_max(), path.sender.deadline(), path.sender.tally().sent), (7, None, 7));
}

#[test]
fn a_stopped_sender_only_retransmits() {
    let mut path = Path::new(options("rfc", &[("syn", "off")]), 8, u32::MAX, &[2]);
    path.start();
    path.next();
    let top = path.sender.snd_max();
    path.sender.stop();
    assert!(!path.sender.is_done());
    let sent: Vec<u32> = path.drain().iter().flat_map(Turn::sequences).collect();
    assert_eq!(sent, [2]);
    assert!(path.sender.is_done());
    assert_eq!((path.sender.end(), path.sender.deadline()), (top, None));
}

#[test]
fn a_stopped_sender_with_nothing_in_flight_is_done() {
    let mut path = Path::new(options("rfc", &[]), 4, u32::MAX, &[]);
    path.sender.stop();
    assert!(path.sender.is_done(), "it never started");
    assert_eq!(path.start().sequences(), [0u32; 0]);

    let mut path = Path::new(options("rfc", &[]), 4, 3, &[]);
    path.start();
    path.drain();
    path.sender.stop();
    assert_eq!((path.sender.end(), path.sender.deadline()), (3, None));
}

#[test]
fn the_receivers_window_bounds_outstanding_packets() {
    let mut path = Path::new(options("rfc", &[("receiver_window", "5")]), 10, 200, &[]);
    path.start();
    while path.next().is_some() {
        assert!(path.outstanding() <= 5);
    }
    assert!(path.sender.is_done());
}

proptest! {
    #![proptest_config(cases(2000))]

    /// With any variant and any losses and marks the transfer ends, the receiver has all packets, and the
    /// sender's invariants hold.
    #[test]
    fn every_transfer_ends(variant in prop::sample::select(Variant::WORDS),
                           preset in prop::sample::select(vec!["rfc", "ns2", "ns2-2001", "linux"]),
                           rule in prop::sample::select(vec![("timer", "rfc6298"), ("loss_detection", "rack"), ("recovery", "prr"), ("recovery", "window"), ("byte_counting", "on"), ("timer", "linux"), ("pacing", "on")]),
                           receiver in prop::sample::select(vec!["1", "3", "10", "10000"]),
                           syn in prop::sample::select(vec!["on", "off"]),
                           window in 1u32..20,
                           end in 1u32..80,
                           lose in prop::collection::btree_set((0u32..80, 0u32..3), 0..60),
                           mark in prop::collection::btree_set((0u32..80, 0u32..2), 0..20)) {
        prop_assume!(!(variant == "tahoe" && matches!(rule.0, "loss_detection" | "recovery")));
        let o = options(preset, &[("variant", variant), ("receiver_window", receiver), ("syn", syn), ("ecn", "on"), rule]);
        let most = o.receiver_window;
        let mut path = Path::new(o, window, end, &[]);
        (path.lose, path.mark) = (lose, mark);
        path.start();
        let mut turns = 0;
        while !path.sender.is_done() {
            turns += 1;
            prop_assert!(turns < 5000, "the transfer does not end");
            let turn = path.next().unwrap_or_else(|| path.expire());
            let s = &path.sender;
            prop_assert!(s.una <= s.nxt && s.nxt <= s.end && s.snd_max() <= s.end);
            prop_assert!(path.outstanding() <= most, "{} outstanding", path.outstanding());
            prop_assert!(s.cwnd.is_finite() && s.cwnd > 0.0 && s.ssthresh >= 1.0);
            prop_assert!(!s.is_done() || s.deadline().is_none(), "the timer stops at the end");
            prop_assert!(s.is_done() || s.deadline().is_some() || path.paced.is_some(), "a timer runs");
            for segment in &turn.sent {
                prop_assert!(segment.sequence < s.end);
            }
        }
        prop_assert_eq!(path.receiver.next(), end);
        prop_assert_eq!(path.sender.tally().sent, path.copies.values().map(|n| u64::from(*n)).sum::<u64>());
        prop_assert_eq!(path.sender.tally().retransmitted, path.sender.tally().sent - u64::from(end));
    }
}

/// After the recovery from losses, a timeout and a mark the sender returns to the open state.
#[test]
fn a_sender_returns_to_the_open_state() {
    for set in [&[("variant", "reno")][..], &[("variant", "newreno")], &[("variant", "sack"), ("ecn", "on")]]
    {
        let mut path = Path::new(options("rfc", set), 4, u32::MAX, &[20, 40, 41]);
        path.mark.insert((60, 0));
        path.start();
        let mut not_open = 0;
        while path.sender.una < 200 {
            if path.next().is_none() {
                path.expire();
            }
            not_open += u32::from(!path.sender.is_open());
        }
        assert!(not_open > 3 && path.sender.tally().retransmitted > 2, "{set:?}: {not_open}");
        assert!(path.sender.is_open() && path.sender.cold.is_none(), "{set:?}");
    }
}
