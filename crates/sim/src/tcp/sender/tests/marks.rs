//! ECN (RFC 3168): one reduction per window of data, announced to the receiver by CWR.

use super::*;

fn ecn(preset: &str, set: &[(&str, &str)]) -> TcpOptions {
    let mut all = vec![("ecn", "on"), ("syn", "off")];
    all.extend(set);
    options(preset, &all)
}

/// Vector TV6: ECE at a window of 20 and ssthresh 30 halves the window and sets CWR; ECE has no effect until
/// the data that were in flight are acknowledged.
#[test]
fn a_mark_halves_the_window_once() {
    let mut path = Path::new(ecn("rfc", &[]), 20, u32::MAX, &[]);
    path.mark.insert((0, 0));
    path.start();
    path.sender.ssthresh = 30.0;
    path.next();
    assert_eq!(path.windows(), (10.0, 10.0));
    let mut with_cwr = Vec::new();
    for turn in path.drain_until(20) {
        assert_eq!(retransmissions(&turn), 0);
        with_cwr.extend(turn.sent.iter().filter(|s| s.cwr).map(|s| s.sequence));
    }
    // 0 to 9 are acknowledged before the window of 10 allows new data.
    assert_eq!(with_cwr, [20], "the first new packet only");
    assert_eq!(path.sender.tally().cuts, 1);
    assert!(path.receiver.next() > 20 && !path.receiver.ece());
}

fn retransmissions(turn: &Turn) -> usize {
    turn.sent.iter().filter(|s| s.is_retransmission).count()
}

/// ACKs with ECE do not grow the window.
#[test]
fn an_ack_with_ece_does_not_grow_the_window() {
    let mut path = Path::new(ecn("rfc", &[]), 8, u32::MAX, &[]);
    path.mark.insert((2, 0));
    path.start();
    path.next();
    path.next();
    assert_eq!(path.sender.cwnd, 10.0);
    path.next(); // 10 in flight
    assert_eq!(path.windows(), (5.0, 5.0));
    // 8 to 11 were sent before the reduction, so their ACKs have ECE too.
    for _ in 3..=11 {
        path.next();
        assert_eq!(path.sender.cwnd, 5.0);
    }
    let turn = path.next().unwrap();
    assert_eq!(turn.ack, 12, "it carried CWR");
    assert_eq!(path.sender.cwnd, 5.2);
}

#[test]
fn the_next_window_can_be_reduced_again() {
    let mut path = Path::new(ecn("rfc", &[]), 8, u32::MAX, &[]);
    path.mark.extend([(0, 0), (8, 0), (9, 0)]);
    path.start();
    path.drain_until(8);
    assert_eq!(path.sender.tally().cuts, 1, "8 is sent after the reduction, so its mark counts");
    assert_eq!(path.windows(), (4.0, 4.0));
    path.next();
    assert_eq!(path.sender.tally().cuts, 2);
    assert_eq!(path.windows(), (2.0, 2.0));
    path.next();
    assert_eq!(path.sender.tally().cuts, 2, "9 was in flight at the reduction");
}

/// A loss in a window that was reduced for a mark is retransmitted without a second reduction.
#[test]
fn a_mark_and_a_loss_in_one_window_reduce_it_once() {
    for variant in ["reno", "newreno", "sack"] {
        let set = [("variant", variant), ("limited_transmit", "off")];
        let mut path = Path::new(ecn("rfc", &set), 16, u32::MAX, &[4]);
        path.mark.insert((1, 0));
        path.start();
        path.drain_until(4);
        assert_eq!((path.sender.una, path.windows()), (4, (8.0, 8.0)), "{variant}");
        let repaired = path.drain_until(17).iter().any(|turn| turn.sequences().contains(&4));
        assert!(repaired, "{variant}");
        assert_eq!((path.sender.tally().cuts, path.sender.tally().timeouts), (1, 0), "{variant}");
        assert_eq!(path.sender.ssthresh, 8.0, "{variant}");
    }
}

/// A timeout after the fast retransmit reduces it again.
#[test]
fn a_lost_retransmission_reduces_the_window_again() {
    let set = [("limited_transmit", "off"), ("receiver_window", "30")];
    let mut path = Path::new(ecn("rfc", &set), 16, u32::MAX, &[4]);
    path.lose.insert((4, 1));
    path.mark.insert((1, 0));
    path.start();
    path.drain();
    assert_eq!((path.sender.una, path.sender.is(Flags::RECOVERY)), (4, true));
    path.expire();
    assert_eq!((path.sender.tally().cuts, path.sender.tally().timeouts), (2, 1));
}

/// ns-2's Sack1: a mark on the packet that fills the last hole, after data were sent in recovery, reduces the
/// window again and extends the recovery to what has been sent. (Mutant: the recovery ends as without the
/// mark.)
#[test]
fn a_mark_at_its_end_extends_sack1s_recovery() {
    let mut path = Path::new(ecn("ns2", &[("variant", "sack")]), 16, u32::MAX, &[4, 20]);
    path.mark.insert((20, 1));
    path.start();
    path.drain_until(20);
    assert_eq!((path.sender.recover, path.sender.nxt, path.sender.tally().cuts), (26, 35, 1));
    path.drain_until(21);
    assert_eq!((path.sender.una, path.sender.recover, path.sender.tally().cuts), (29, 38, 2));
    while path.sender.una < 38 {
        assert!(path.sender.is(Flags::RECOVERY));
        path.next();
    }
    assert!(!path.sender.is(Flags::RECOVERY));
}

/// RFC 3168, section 6.1.2: a window of one packet is not halved; the next packet waits for the timer.
#[test]
fn at_a_window_of_one_the_sender_waits() {
    for preset in ["rfc", "ns2"] {
        let mut path = Path::new(ecn(preset, &[]), 1, u32::MAX, &[]);
        path.mark.insert((0, 0));
        path.start();
        let turn = path.next().unwrap();
        assert!(turn.sent.is_empty(), "{preset}");
        assert_eq!(path.outstanding(), 0);
        let turn = path.expire();
        assert_eq!(turn.sequences(), [1], "{preset}");
        assert!(turn.sent[0].cwr, "{preset}");
        assert_eq!(path.sender.cwnd, 1.0, "{preset}");
        assert_eq!(path.sender.tally().timeouts, 0, "nothing was lost");
        assert_eq!(path.next().unwrap().sequences(), [2, 3], "{preset}: slow start");
    }
}

/// ns-2 doubles the timeout at each such mark after the first.
#[test]
fn ns_2_waits_longer_at_every_mark_after_the_first() {
    let mut path = Path::new(ecn("ns2", &[("min_rto", "200ms")]), 1, u32::MAX, &[]);
    path.mark.extend([(0, 0), (1, 0), (2, 0)]);
    path.start();
    let mut waits = Vec::new();
    for _ in 0..3 {
        path.next();
        waits.push(path.sender.deadline().unwrap() - path.now);
        path.expire();
    }
    assert_eq!(waits, [MS * 200, MS * 400, MS * 800]);
}

#[test]
fn without_ecn_ece_is_ignored() {
    let mut path = Path::new(options("rfc", &[("syn", "off")]), 8, u32::MAX, &[]);
    path.start();
    path.deliver(Ack { next: 1, ece: true, ..Ack::default() });
    assert_eq!((path.sender.cwnd, path.sender.tally().cuts), (9.0, 0));
}

impl Path {
    /// Deliver ACKs until `una` is at least `sequence`.
    fn drain_until(&mut self, sequence: u32) -> Vec<Turn> {
        let mut turns = Vec::new();
        while self.sender.una < sequence {
            turns.push(self.next().expect("ACKs are in flight"));
        }
        turns
    }
}

/// RFC 9768: the receiver counts marks, so none is lost with an ACK, and no CWR is sent. (Mutants: the sender
/// takes the counter for the new marks; an older ACK lowers it; CWR is sent.)
#[test]
fn accurate_ecn_counts_marks_in_spite_of_lost_and_late_acks() {
    let set = [("loss_detection", "rack"), ("accurate_ecn", "on")];
    let mut path = Path::new(ecn("linux", &set), 20, u32::MAX, &[]);
    path.mark.extend([(3, 0), (4, 0), (5, 0), (30, 0)]);
    path.start();
    let first: Vec<Ack> = path.acks.drain(..).collect();
    assert_eq!(first[..7].iter().map(|ack| ack.marks).collect::<Vec<_>>(), [0, 0, 0, 1, 2, 3, 3]);
    assert!(first.iter().all(|ack| !ack.ece));
    let mut sent = path.deliver(first[4]).sent; // the ACKs before it are lost
    assert_eq!((path.sender.extensions().marks, path.sender.tally().cuts), (2, 1));
    sent.extend(path.deliver(first[3]).sent); // late
    assert_eq!(path.sender.extensions().marks, 2);
    sent.extend(path.deliver(first[19]).sent);
    assert_eq!((path.sender.extensions().marks, path.sender.tally().cuts), (3, 1), "the same window of data");
    while path.sender.una <= 31 {
        sent.extend(path.next().expect("no packet is lost").sent);
    }
    assert_eq!((path.sender.extensions().marks, path.sender.tally().cuts), (4, 2));
    assert!(sent.iter().all(|segment| !segment.cwr));
    let new = [4, 6, 5, 6, 7].map(|reported| path.sender.extensions().new_marks(reported));
    assert_eq!(new, [0, 2, 0, 0, 1]);
}
