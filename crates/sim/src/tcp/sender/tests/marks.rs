//! Explicit congestion notification: one cut a window, announced to the receiver (RFC 3168).

use super::*;

fn ecn(preset: &str, set: &[(&str, &str)]) -> TcpOptions {
    let mut all = vec![("ecn", "on"), ("syn", "off")];
    all.extend(set);
    options(preset, &all)
}

/// TV6: an echo at a window of 20 and a threshold of 30 halves both, tells the receiver, and no echo before
/// the acknowledgement of what was in flight does anything.
#[test]
fn one_echo_a_window_halves_it() {
    let mut path = Path::new(ecn("default", &[]), 20, u32::MAX, &[]);
    path.mark.insert((0, 0));
    path.start();
    path.sender.ssthresh = 30.0;
    path.next();
    assert_eq!(path.windows(), (10.0, 10.0));
    let mut told = Vec::new();
    for turn in path.drain_until(20) {
        assert_eq!(path_cuts(&turn), 0);
        told.extend(turn.sent.iter().filter(|s| s.cwr).map(|s| s.sequence));
    }
    // 0 to 9 are acknowledged before the window of 10 lets something new out.
    assert_eq!(told, [20], "the next new packet, and no other");
    assert_eq!(path.sender.tally().cuts, 1);
    assert!(path.receiver.next() > 20 && !path.receiver.echo());
}

fn path_cuts(turn: &Turn) -> usize {
    turn.sent.iter().filter(|s| s.is_retransmission).count()
}

/// Echoes do not open the window; once they end it grows again.
#[test]
fn an_acknowledgement_with_an_echo_opens_nothing() {
    let mut path = Path::new(ecn("default", &[]), 8, u32::MAX, &[]);
    path.mark.insert((2, 0));
    path.start();
    path.next();
    path.next();
    assert_eq!(path.sender.cwnd, 10.0);
    path.next(); // 10 in flight
    assert_eq!(path.windows(), (5.0, 5.0));
    // 2 to 7 were echoed, and 8 to 11 were sent before the cut: their acknowledgements echo, too.
    for _ in 3..=11 {
        path.next();
        assert_eq!(path.sender.cwnd, 5.0);
    }
    let turn = path.next().unwrap();
    assert_eq!(turn.ack, 12, "it carried the news to the receiver");
    assert_eq!(path.sender.cwnd, 5.2);
}

#[test]
fn the_next_window_can_be_cut_again() {
    let mut path = Path::new(ecn("default", &[]), 8, u32::MAX, &[]);
    path.mark.extend([(0, 0), (8, 0), (9, 0)]);
    path.start();
    path.drain_until(8);
    assert_eq!(path.sender.tally().cuts, 1, "8 was sent after the cut, its mark is news");
    assert_eq!(path.windows(), (4.0, 4.0));
    path.next();
    assert_eq!(path.sender.tally().cuts, 2);
    assert_eq!(path.windows(), (2.0, 2.0));
    path.next();
    assert_eq!(path.sender.tally().cuts, 2, "9 was in flight then");
}

/// A loss in a window that was cut for a mark is repaired, not punished again.
#[test]
fn a_mark_and_a_loss_in_one_window_cut_it_once() {
    for variant in ["reno", "newreno", "sack"] {
        let set = [("variant", variant), ("limited_transmit", "off")];
        let mut path = Path::new(ecn("default", &set), 16, u32::MAX, &[4]);
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

/// ... but a time-out is, if a fast retransmit came between.
#[test]
fn a_lost_repair_cuts_again() {
    let set = [("limited_transmit", "off"), ("receiver_window", "30")];
    let mut path = Path::new(ecn("default", &set), 16, u32::MAX, &[4]);
    path.lose.insert((4, 1));
    path.mark.insert((1, 0));
    path.start();
    path.drain();
    assert_eq!((path.sender.una, path.sender.is(Flags::RECOVERY)), (4, true));
    path.expire();
    assert_eq!((path.sender.tally().cuts, path.sender.tally().timeouts), (2, 1));
}

/// ns-2's Sack1: a mark on the packet that fills the last hole, when more has been sent than the recovery was for, cuts
/// again and prolongs the recovery up to what has been sent by then. Seen to fail: it ends as it would without the mark.
#[test]
fn a_mark_at_its_end_prolongs_sack1s_recovery() {
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

/// RFC 3168, 6.1.2: a window of one packet is not halved, the next packet waits for the timer.
#[test]
fn at_a_window_of_one_the_sender_waits() {
    for preset in ["default", "ns2"] {
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
        assert_eq!(path.next().unwrap().sequences(), [2, 3], "{preset}: and all is well");
    }
}

/// ns-2 doubles its wait from the second such mark on, for as long as they go on.
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
    assert_eq!(waits, [200 * MS, 400 * MS, 800 * MS]);
}

#[test]
fn without_ecn_an_echo_means_nothing() {
    let mut path = Path::new(options("default", &[("syn", "off")]), 8, u32::MAX, &[]);
    path.start();
    path.deliver(Ack { next: 1, echo: true, sack: Sack::default() });
    assert_eq!((path.sender.cwnd, path.sender.tally().cuts), (9.0, 0));
}

impl Path {
    /// Acknowledgements up to the first that leaves `una` at `sequence` or above.
    fn drain_until(&mut self, sequence: u32) -> Vec<Turn> {
        let mut turns = Vec::new();
        while self.sender.una < sequence {
            turns.push(self.next().expect("acknowledgements do not run dry"));
        }
        turns
    }
}
