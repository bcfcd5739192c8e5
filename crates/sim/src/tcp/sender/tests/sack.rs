//! Recovery by selective acknowledgements (RFC 6675), worked out by hand.

use super::*;

fn sack(set: &[(&str, &str)]) -> TcpOptions {
    let mut all = vec![("variant", "sack"), ("syn", "off")];
    all.extend(set);
    options("default", &all)
}

/// Ten packets, 1 and 3 lost. Per acknowledgement: what is sent, and SetPipe where it decides.
#[test]
fn two_holes_are_repaired_in_order_while_the_pipe_is_below_the_window() {
    let mut path = Path::new(sack(&[]), 10, u32::MAX, &[1, 3]);
    path.start();
    let rows: [(&[u32], u32); 15] = [
        (&[10, 11], 11), // 0: slow start
        (&[12], 11),     // 2: limited transmit
        (&[13], 11),     // 4: again
        // 5: the third; 13 - 2 are halved to 5. 1 is lost and sent again, 3 may still come: 1 + 1 + 8.
        (&[1], 10),
        (&[], 8),   // 6: now 3 is lost, 7 to 13 are on their way, and 1
        (&[], 7),   // 7
        (&[], 6),   // 8
        (&[], 5),   // 9
        (&[3], 5),  // 10: four, so there is room for the other hole
        (&[14], 5), // 11: then for new packets
        (&[15], 5), // 12
        (&[16], 5), // 13
        (&[17], 5), // 1: acknowledges up to 2; 3 and 14 to 16 are on their way
        (&[18], 5), // 3: all that was outstanding has come; 14 to 17 are on their way
        (&[19], 5),
    ];
    for (i, (sent, pipe)) in rows.into_iter().enumerate() {
        let turn = path.next().unwrap();
        assert_eq!(turn.sequences(), sent, "acknowledgement {i}");
        let in_pipe = path.sender.known().map(|scoreboard| scoreboard.pipe(path.sender.nxt));
        assert_eq!(in_pipe.unwrap_or(path.outstanding()), pipe, "acknowledgement {i}");
        assert_eq!(path.sender.is(Flags::RECOVERY), (3..13).contains(&i), "acknowledgement {i}");
        if i >= 3 {
            assert!((5.0..5.3).contains(&path.sender.cwnd) && path.sender.ssthresh == 5.0);
        }
    }
    assert_eq!((path.sender.tally().retransmitted, path.sender.tally().cuts), (2, 1));
}

/// NextSeg (3): with nothing new to send, a hole that may not be lost is sent again.
#[test]
fn without_new_data_an_uncertain_hole_is_filled() {
    let mut path = Path::new(sack(&[]), 8, 8, &[1, 6]);
    path.start();
    let sent: Vec<_> = path.drain().iter().map(Turn::sequences).collect();
    // 0, 2, 3; 4: third duplicate, 7 / 2 = 3; 5: pipe 3; 7: pipe 2 (1 again, 6 perhaps), so 6. The first
    // repair acknowledges up to 5, and the letter of the rescue rule has 6 sent once more.
    let rows: [&[u32]; 9] = [&[], &[], &[], &[1], &[], &[6], &[6], &[], &[]];
    assert_eq!(sent, rows);
    assert!(path.sender.is_done());
    assert_eq!(path.sender.tally().timeouts, 0);
}

/// NextSeg (4): the last packet, which nothing behind it can report, gets one chance before the timer, once
/// the first repair has proved itself.
#[test]
fn the_last_packet_is_rescued_once() {
    let mut path = Path::new(sack(&[]), 8, 8, &[1, 7]);
    path.start();
    let sent: Vec<_> = path.drain().iter().map(Turn::sequences).collect();
    // 0, 2, 3; 4: third duplicate, 7 / 2 = 3, 1 again; 5, 6: only 1 and 7 are on their way, but it is too
    // early to despair of 7; 1: acknowledges 6.
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

/// A repair that is lost itself is found by the timer only; afterwards the scoreboard is forgotten.
#[test]
fn a_lost_repair_waits_for_the_timer() {
    let mut path = Path::new(sack(&[("receiver_window", "40")]), 10, u32::MAX, &[1]);
    path.lose.insert((1, 1));
    path.start();
    path.drain();
    assert_eq!((path.sender.una, path.copies[&1]), (1, 2));
    assert_eq!(path.outstanding(), 40, "new packets went on as long as the receiver had room");
    let turn = path.expire();
    assert_eq!((turn.sequences(), path.sender.cwnd, path.sender.ssthresh), (vec![1], 1.0, 20.0));
    assert_eq!(path.sender.scoreboard().hole(false), None);
    let turn = path.next().unwrap();
    assert_eq!(turn.ack, 40, "everything else had come");
    assert_eq!(turn.sequences(), [41, 42]);
}

/// RFC 6675, 5 (2): three packets reported above the first hole are enough, even by one acknowledgement.
#[test]
fn a_hole_below_three_reported_packets_is_lost_at_once() {
    let mut path = Path::new(sack(&[]), 10, u32::MAX, &[0]);
    path.start();
    path.acks.clear(); // the acknowledgements of 1 to 9 are lost, all but the last
    let turn = path.deliver(Ack { next: 0, echo: false, sack: [(1, 10), (0, 0), (0, 0)] });
    assert_eq!(turn.sequences()[0], 0);
    assert!(path.sender.is(Flags::RECOVERY));
    // 10 / 2 = 5; only 0 is on its way, so four new packets follow it.
    assert_eq!(turn.sequences(), [0, 10, 11, 12, 13]);
}

/// A duplicate that reports nothing new is no duplicate (RFC 6675, 2).
#[test]
fn only_news_counts() {
    let mut path = Path::new(sack(&[("limited_transmit", "off")]), 10, u32::MAX, &[0]);
    path.start();
    path.acks.clear();
    for _ in 0..5 {
        path.deliver(Ack { next: 0, echo: false, sack: [(1, 2), (0, 0), (0, 0)] });
    }
    assert!(!path.sender.is(Flags::RECOVERY));
    assert_eq!(path.sender.recovery_state.dupacks, 1);
}

/// Sack1 of ns-2: pipe starts at flight - 3, each hole goes out once, a partial acknowledgement frees two.
#[test]
fn sack1_counts_its_pipe() {
    let set = [("variant", "sack"), ("syn", "off"), ("limited_transmit", "off")];
    let mut path = Path::new(options("ns2", &set), 10, u32::MAX, &[1, 3]);
    path.start();
    path.sender.ssthresh = 5.0;
    let mut turns = Vec::new();
    for _ in 0..4 {
        turns.push(path.next().unwrap().sequences());
    }
    // 0: 10 packets outstanding, cwnd 10.1; 2, 4, 5: cut to 5.05, pipe 10 - 3 = 7 and 1 goes again.
    assert_eq!(turns, [vec![10], vec![], vec![], vec![1]]);
    assert_eq!((path.sender.scoreboard().counted, path.sender.ssthresh), (7, 5.0));
    assert!((path.sender.cwnd - 5.05).abs() < 1e-12);
    let sent: Vec<_> =
        (6..=10).map(|_| (path.next().unwrap().sequences(), path.sender.scoreboard().counted)).collect();
    // 6: 6, 7: 5, 8: 4 so that the other hole goes (5); 9: 4, new (5); 10 the same.
    assert_eq!(sent, [(vec![], 6), (vec![], 5), (vec![3], 5), (vec![11], 5), (vec![12], 5)]);
    let turn = path.next().unwrap();
    assert_eq!(
        (turn.ack, turn.sequences(), path.sender.scoreboard().counted),
        (2, vec![13, 14], 5),
        "partial: minus two"
    );
    let turn = path.next().unwrap();
    assert_eq!((turn.ack, path.sender.is(Flags::RECOVERY)), (10, false));
    assert!((path.sender.cwnd - 5.05).abs() < 1e-12, "the last one of recovery opens nothing");
}

/// After a time-out ns-2's Sack1 hears no duplicate, whatever it reports, until something new is acknowledged.
/// (Mutant: they have their short way all the same.)
#[test]
fn sack1_is_deaf_after_a_timeout() {
    let mut path = Path::new(options("ns2", &[("variant", "sack"), ("syn", "off")]), 10, u32::MAX, &[1]);
    path.start();
    path.next();
    let late = path.acks.pop_front().unwrap();
    path.expire();
    assert_eq!((late.next, late.sack[0]), (1, (2, 3)));
    assert!(path.deliver(late).sequences().is_empty());
    assert_eq!((path.sender.recovery_state.dupacks, path.sender.sacked()), (0, 0));
    path.deliver(Ack { next: 2, echo: false, sack: [(0, 0); 3] });
    path.deliver(Ack { next: 2, echo: false, sack: [(4, 5), (0, 0), (0, 0)] });
    assert_eq!((path.sender.recovery_state.dupacks, path.sender.sacked()), (1, 1));
}
