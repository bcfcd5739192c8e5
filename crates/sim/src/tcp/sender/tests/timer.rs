//! The retransmission timer: go-back-N, ssthresh, back-off, a lost SYN.

use super::*;

/// Packets 0 to `window - 1` are sent without a SYN; those in `lose` are lost.
fn sent(set: &[(&str, &str)], window: u32, lose: &[u32]) -> Path {
    let mut all = vec![("syn", "off")];
    all.extend(set);
    let mut path = Path::new(options("rfc", &all), window, u32::MAX, lose);
    path.start();
    path
}

#[test]
fn a_timeout_goes_back_to_the_first_missing_packet() {
    let mut path = sent(&[], 4, &[0, 1, 2, 3]);
    assert!(path.drain().is_empty());
    assert_eq!(path.sender.deadline(), Some(Time::ZERO + S), "before the first sample");
    let turn = path.expire();
    assert_eq!((turn.sequences(), path.windows()), (vec![0], (1.0, 2.0)));
    assert_eq!(path.next().unwrap().sequences(), [1, 2], "go-back-N in slow start");
    assert_eq!(path.windows(), (2.0, 2.0));
    let turn = path.next().unwrap();
    assert_eq!(turn.sequences(), [3], "at ssthresh: congestion avoidance");
    assert_eq!(path.next().unwrap().sequences(), [4], "new data");
}

#[test]
fn after_a_timeout_an_ack_may_skip_packets() {
    let mut path = sent(&[("limited_transmit", "off")], 4, &[0, 2]);
    path.drain(); // two duplicates: not enough
    assert_eq!(path.expire().sequences(), [0]);
    let turn = path.next().unwrap();
    assert_eq!(turn.ack, 1);
    assert_eq!(turn.sequences(), [2, 3], "2 is missing; 3 was received, but the sender does not know");
    let turn = path.next().unwrap();
    assert_eq!((turn.ack, turn.sequences()), (3, vec![4, 5]));
}

#[test]
fn ssthresh_is_kept_while_the_same_packet_times_out_again() {
    let mut path = sent(&[], 16, &(0..16).collect::<Vec<_>>());
    path.lose.extend([(0, 1), (0, 2)]);
    for timeout in 1..=3 {
        path.expire();
        assert_eq!(path.windows(), (1.0, 8.0), "timeout {timeout}");
    }
    // ns-2 reduces ssthresh at every timeout.
    let mut path = Path::new(options("ns2", &[("syn", "off")]), 16, u32::MAX, &(0..16).collect::<Vec<_>>());
    path.lose.insert((0, 1));
    path.start();
    path.expire();
    assert_eq!(path.windows(), (1.0, 8.0));
    path.expire();
    assert_eq!(path.windows(), (1.0, 2.0));
}

#[test]
fn each_timeout_doubles_the_next_up_to_max_rto() {
    let mut path = sent(&[("max_rto", "10s")], 1, &[]);
    path.lose.extend((0..8).map(|copy| (0, copy)));
    path.acks.clear(); // the original is lost too
    path.receiver = Receiver::default();
    let mut waits = Vec::new();
    for _ in 0..6 {
        let before = path.now;
        path.expire();
        waits.push((path.now - before).0 / S.0);
    }
    assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
    assert_eq!(path.sender.tally().timeouts, 6);
}

/// Karn's algorithm: the ACK of a retransmission is no sample, so back-off lasts until a new packet is timed.
#[test]
fn back_off_lasts_until_a_new_packet_is_timed() {
    let mut path = sent(&[("min_rto", "0s"), ("initial_window", "1")], 1, &[0]);
    path.expire();
    path.next();
    let wait = |path: &Path| path.sender.deadline().unwrap() - path.now;
    assert_eq!(wait(&path), S * 2, "0 was retransmitted; 1 and 2 are new");
    path.next();
    assert!(wait(&path) < S / 100, "1 was acknowledged after a millisecond");
}

#[test]
fn new_acknowledgements_restart_the_timer_and_duplicates_do_not() {
    let mut path = sent(&[], 8, &[3]);
    path.next();
    assert_eq!(path.sender.deadline(), Some(path.now + S));
    path.next();
    assert_eq!(path.sender.deadline(), Some(path.now + S));
    path.next();
    let restarted = path.now + S;
    path.next();
    path.next(); // two duplicates
    assert_eq!(path.sender.deadline(), Some(restarted));
    path.next(); // fast retransmit
    assert_eq!(path.sender.deadline(), Some(path.now + S));
}

/// RFC 6582, section 3.2, step 3: only the first partial ACK restarts the timer.
#[test]
fn newreno_is_impatient() {
    let mut path = sent(&[("limited_transmit", "off")], 16, &[1, 4, 7]);
    let mut deadlines = Vec::new();
    let mut last = Time::ZERO;
    while let Some(turn) = path.next() {
        if path.sender.is(Flags::RECOVERY) && turn.duplicate == 0 {
            deadlines.push((turn.ack, path.sender.deadline() == Some(path.now + S), last));
        }
        last = path.sender.deadline().unwrap();
        if path.sender.una > 16 {
            break;
        }
    }
    let restarted: Vec<_> = deadlines.iter().map(|(ack, restarted, _)| (*ack, *restarted)).collect();
    assert_eq!(restarted, [(3, true), (6, false)]);
}

/// RFC 5681, section 3.1: after a lost SYN the initial window is one packet. RFC 6298, section 5.7: its
/// timeout is at least three seconds.
#[test]
fn a_lost_syn_reduces_the_initial_window() {
    let mut path = Path::new(options("rfc", &[]), 4, u32::MAX, &[0]);
    assert_eq!(path.start().sequences(), [0]);
    assert_eq!(path.sender.deadline(), Some(Time::ZERO + S));
    assert_eq!(path.expire().sequences(), [0]);
    assert_eq!(path.sender.deadline(), Some(path.now + S * 2));
    assert_eq!(path.next().unwrap().sequences(), [1]);
    assert_eq!(path.sender.cwnd, 1.0);
    assert_eq!(path.sender.deadline(), Some(path.now + S * 3));
    assert_eq!(path.next().unwrap().sequences(), [2, 3], "slow start");

    let mut path = Path::new(options("ns2", &[]), 2, u32::MAX, &[0]);
    path.lose.insert((0, 1));
    path.start();
    path.expire();
    assert_eq!(path.now, Time::ZERO + S * 3);
    path.expire();
    assert_eq!(path.now, Time::ZERO + S * 9, "3 s, then 6");
    assert_eq!(path.next().unwrap().sequences(), [1]);
    assert_eq!(path.windows(), (1.0, 2.0));
}

#[test]
fn the_ack_of_the_syn_opens_the_initial_window() {
    let mut path = Path::new(options("rfc", &[]), 4, u32::MAX, &[]);
    assert_eq!(path.start().sequences(), [0]);
    assert_eq!(path.next().unwrap().sequences(), [1, 2, 3, 4]);
    assert_eq!(path.sender.cwnd, 4.0);
}

/// RFC 6582, section 3.2, step 4: duplicates for packets sent before a timeout do not start a recovery.
#[test]
fn duplicates_after_a_timeout_start_no_recovery() {
    for variant in ["reno", "newreno", "sack"] {
        let mut path = sent(&[("variant", variant)], 8, &[0]);
        let late: Vec<Ack> = path.acks.drain(..).collect();
        path.expire();
        let repair = path.acks.drain(..).collect::<Vec<_>>();
        for ack in late {
            let turn = path.deliver(ack);
            assert!(!turn.sequences().contains(&0), "{variant}");
        }
        assert!(!path.sender.is(Flags::RECOVERY), "{variant}");
        assert_eq!(path.sender.tally().cuts, 1, "{variant}");
        path.acks.extend(repair);
        path.drain_to(40);
    }
}

/// RFC 3042 sends new data only; ns-2 sends the next packet, which after a timeout is an old one.
#[test]
fn limited_transmit_after_a_timeout_sends_nothing_old() {
    for (repeats, sent) in [("off", vec![]), ("on", vec![1])] {
        let mut path = self::sent(&[("limited_retransmit", repeats)], 8, &[0]);
        let late = path.acks.pop_front().unwrap();
        path.expire();
        assert_eq!(path.deliver(late).sequences(), sent);
    }
}

impl Path {
    /// Deliver ACKs, or let the timer expire, until `una` is above `sequence`.
    fn drain_to(&mut self, sequence: u32) {
        while self.sender.una <= sequence {
            if self.next().is_none() {
                self.expire();
            }
        }
    }
}
