//! RACK-TLP (RFC 8985) and PRR (RFC 6937), step by step.

use super::*;

fn rack(set: &[(&str, &str)]) -> TcpOptions {
    let mut all = vec![("syn", "off"), ("loss_detection", "rack"), ("variant", "reno")];
    all.extend(set);
    options("rfc", &all)
}

/// Ten packets, the first lost: it is retransmitted when the third packet above it is SACKed.
#[test]
fn three_later_packets_and_a_round_trip_make_a_loss() {
    let mut path = Path::new(rack(&[]), 10, u32::MAX, &[0]);
    path.start();
    let sent: Vec<_> = (0..3).map(|_| path.next().unwrap().sequences()).collect();
    // A new packet for each that has left the network, then the retransmission; the window is reduced at
    // once.
    assert_eq!(sent, [vec![10], vec![11], vec![0]]);
    assert_eq!((path.sender.ssthresh, path.sender.is(Flags::RECOVERY)), (6.0, true));
    assert_eq!(path.sender.tally().cuts, 1);
}

/// A lost retransmission is detected without the timer.
#[test]
fn a_lost_retransmission_is_retransmitted() {
    let mut path = Path::new(rack(&[("recovery", "prr")]), 10, u32::MAX, &[0]);
    path.lose.insert((0, 1));
    path.start();
    let mut retransmissions = 0;
    while path.sender.una == 0 {
        let turn = path.next().expect("ACKs are in flight");
        retransmissions += turn.sequences().iter().filter(|s| **s == 0).count();
    }
    assert_eq!((retransmissions, path.sender.tally().timeouts), (2, 0));
}

/// The last packets of a transfer are lost: the ACK of a probe shows it, without a timeout.
#[test]
fn a_probe_finds_a_lost_tail() {
    let mut path = Path::new(rack(&[("min_rto", "1s")]), 4, 12, &[10, 11]);
    path.start();
    path.drain();
    assert_eq!(path.sender.una, 10);
    let turn = path.expire();
    assert_eq!(turn.sequences(), [11], "the last packet, as there are no new data");
    path.drain();
    while !path.sender.is_done() {
        path.expire();
        path.drain();
    }
    assert_eq!(path.sender.tally().timeouts, 0);
}
