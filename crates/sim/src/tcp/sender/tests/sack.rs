//! SACK recovery (RFC 6675), computed by hand.

use super::*;

fn sack(set: &[(&str, &str)]) -> TcpOptions {
    let mut all = vec![("variant", "sack"), ("syn", "off")];
    all.extend(set);
    options("rfc", &all)
}

/// Ten packets, 1 and 3 lost. Per ACK: the packets sent, and pipe.
#[test]
fn two_holes_are_retransmitted_while_pipe_is_below_the_window() {
    let mut path = Path::new(sack(&[]), 10, u32::MAX, &[1, 3]);
    path.start();
    let rows: [(&[u32], u32); 15] = [
        (&[10, 11], 11), // 0: slow start
        (&[12], 11),     // 2: limited transmit
        (&[13], 11),     // 4: again
        // 5: the third duplicate; (13 - 2) / 2 = 5. 1 is lost and retransmitted, 3 is not lost yet: 1 + 1 +
        // 8.
        (&[1], 10),
        (&[], 8),   // 6: now 3 is lost; 7 to 13 are in flight, and 1
        (&[], 7),   // 7
        (&[], 6),   // 8
        (&[], 5),   // 9
        (&[3], 5),  // 10: pipe is 4, which allows the other hole
        (&[14], 5), // 11: then new data
        (&[15], 5), // 12
        (&[16], 5), // 13
        (&[17], 5), // 1: acknowledges up to 2; 3 and 14 to 16 are in flight
        (&[18], 5), // 3: ends recovery; 14 to 17 are in flight
        (&[19], 5),
    ];
    for (i, (sent, pipe)) in rows.into_iter().enumerate() {
        let turn = path.next().unwrap();
        assert_eq!(turn.sequences(), sent, "ACK {i}");
        let in_pipe = path.sender.try_scoreboard().map(|scoreboard| scoreboard.pipe(path.sender.nxt));
        assert_eq!(in_pipe.unwrap_or(path.outstanding()), pipe, "ACK {i}");
        assert_eq!(path.sender.is(Flags::RECOVERY), (3..13).contains(&i), "ACK {i}");
        if i >= 3 {
            assert!((5.0..5.3).contains(&path.sender.cwnd) && path.sender.ssthresh == 5.0);
        }
    }
    assert_eq!((path.sender.tally().retransmitted, path.sender.tally().cuts), (2, 1));
}

/// NextSeg, rule 3: without new data, a hole that may not be lost is retransmitted.
#[test]
fn without_new_data_an_uncertain_hole_is_retransmitted() {
    let mut path = Path::new(sack(&[]), 8, 8, &[1, 6]);
    path.start();
    let sent: Vec<_> = path.drain().iter().map(Turn::sequences).collect();
    // 0, 2, 3; 4: third duplicate, 7 / 2 = 3; 5: pipe 3; 7: pipe 2 (the copy of 1, and 6), so 6. The first
    // retransmission acknowledges up to 5, and rule 4, taken literally, sends 6 a second time.
    let rows: [&[u32]; 9] = [&[], &[], &[], &[1], &[], &[6], &[6], &[], &[]];
    assert_eq!(sent, rows);
    assert!(path.sender.is_done());
    assert_eq!(path.sender.tally().timeouts, 0);
}

/// NextSeg, rule 4: the last packet, whose loss no SACK can show, is retransmitted once after the first
/// retransmission has been acknowledged.
#[test]
fn the_last_packet_is_rescued_once() {
    let mut path = Path::new(sack(&[]), 8, 8, &[1, 7]);
    path.start();
    let sent: Vec<_> = path.drain().iter().map(Turn::sequences).collect();
    // 0, 2, 3; 4: third duplicate, 7 / 2 = 3, 1 is retransmitted; 5, 6: pipe is 2, but rule 4 does not apply
    // to 7 yet; 1: acknowledges 6.
    let rows: [&[u32]; 8] = [&[], &[], &[], &[1], &[], &[], &[7], &[]];
    assert_eq!(sent, rows);
    assert!(path.sender.is_done());
    assert_eq!(path.sender.tally().timeouts, 0);

    let mut path = Path::new(sack(&[]), 8, 8, &[1, 7]);
    path.lose.insert((7, 1));
    path.start();
    path.drain();
    assert_eq!(path.copies[&7], 2, "once");
    path.expire();
    path.drain();
    assert!(path.sender.is_done());
}

/// A lost retransmission waits for the timer, which clears the scoreboard.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut path = Path::new(sack(&[("receiver_window", "40")]), 10, u32::MAX, &[1]);
    path.lose.insert((1, 1));
    path.start();
    path.drain();
    assert_eq!((path.sender.una, path.copies[&1]), (1, 2));
    assert_eq!(path.outstanding(), 40, "new data were sent up to the receiver's window");
    let turn = path.expire();
    assert_eq!((turn.sequences(), path.sender.cwnd, path.sender.ssthresh), (vec![1], 1.0, 20.0));
    assert_eq!(path.sender.scoreboard().hole(false), None);
    let turn = path.next().unwrap();
    assert_eq!(turn.ack, 40, "all others had been received");
    assert_eq!(turn.sequences(), [41, 42]);
}

/// RFC 6675, section 5, step 2: three packets SACKed above the first hole are enough, even in one ACK.
#[test]
fn a_hole_below_three_sacked_packets_is_lost_at_once() {
    let mut path = Path::new(sack(&[]), 10, u32::MAX, &[0]);
    path.start();
    path.acks.clear(); // all ACKs but the last are lost
    let turn = path.deliver(Ack { next: 0, sack: [(1, 10), (0, 0), (0, 0)], ..Ack::default() });
    assert_eq!(turn.sequences()[0], 0);
    assert!(path.sender.is(Flags::RECOVERY));
    // 10 / 2 = 5; only 0 is in flight, so four new packets follow.
    assert_eq!(turn.sequences(), [0, 10, 11, 12, 13]);
}

/// An ACK that SACKs no new packet is not a duplicate (RFC 6675, section 2).
#[test]
fn only_new_sack_information_counts() {
    let mut path = Path::new(sack(&[("limited_transmit", "off")]), 10, u32::MAX, &[0]);
    path.start();
    path.acks.clear();
    for _ in 0..5 {
        path.deliver(Ack { next: 0, sack: [(1, 2), (0, 0), (0, 0)], ..Ack::default() });
    }
    assert!(!path.sender.is(Flags::RECOVERY));
    assert_eq!(path.sender.recovery_state.dupacks, 1);
}

/// ns-2's Sack1: pipe starts at flight - 3, each hole is retransmitted once, a partial ACK subtracts two.
#[test]
fn sack1_counts_pipe() {
    let set = [("variant", "sack"), ("syn", "off"), ("limited_transmit", "off")];
    let mut path = Path::new(options("ns2", &set), 10, u32::MAX, &[1, 3]);
    path.start();
    path.sender.ssthresh = 5.0;
    let mut turns = Vec::new();
    for _ in 0..4 {
        turns.push(path.next().unwrap().sequences());
    }
    // 0: 10 packets outstanding, cwnd 10.1; 2, 4, 5: cwnd 5.05, pipe 10 - 3 = 7, and 1 is retransmitted.
    assert_eq!(turns, [vec![10], vec![], vec![], vec![1]]);
    assert_eq!((path.sender.scoreboard().sack1_pipe, path.sender.ssthresh), (7, 5.0));
    assert!((path.sender.cwnd - 5.05).abs() < 1e-12);
    let sent: Vec<_> =
        (6..=10).map(|_| (path.next().unwrap().sequences(), path.sender.scoreboard().sack1_pipe)).collect();
    // Pipe after 6: 6; 7: 5; 8: 4, so the other hole is sent (5); 9: 4, new data (5); 10: the same.
    assert_eq!(sent, [(vec![], 6), (vec![], 5), (vec![3], 5), (vec![11], 5), (vec![12], 5)]);
    let turn = path.next().unwrap();
    assert_eq!(
        (turn.ack, turn.sequences(), path.sender.scoreboard().sack1_pipe),
        (2, vec![13, 14], 5),
        "partial: minus two"
    );
    let turn = path.next().unwrap();
    assert_eq!((turn.ack, path.sender.is(Flags::RECOVERY)), (10, false));
    assert!((path.sender.cwnd - 5.05).abs() < 1e-12, "the ACK that ends recovery does not grow the window");
}

/// After a timeout ns-2's Sack1 ignores duplicates until new data are acknowledged.
/// (Mutant: the fast path handles them.)
#[test]
fn sack1_ignores_duplicates_after_a_timeout() {
    let mut path = Path::new(options("ns2", &[("variant", "sack"), ("syn", "off")]), 10, u32::MAX, &[1]);
    path.start();
    path.next();
    let late = path.acks.pop_front().unwrap();
    path.expire();
    assert_eq!((late.next, late.sack[0]), (1, (2, 3)));
    assert!(path.deliver(late).sequences().is_empty());
    assert_eq!((path.sender.recovery_state.dupacks, path.sender.sacked()), (0, 0));
    path.deliver(Ack { next: 2, sack: [(0, 0); 3], ..Ack::default() });
    path.deliver(Ack { next: 2, sack: [(4, 5), (0, 0), (0, 0)], ..Ack::default() });
    assert_eq!((path.sender.recovery_state.dupacks, path.sender.sacked()), (1, 1));
}
