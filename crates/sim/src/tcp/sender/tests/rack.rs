//! Loss detection by time and proportional rate reduction, step by step.

use super::*;

fn rack(set: &[(&str, &str)]) -> TcpOptions {
    let mut all = vec![("syn", "off"), ("loss_detection", "rack"), ("variant", "reno")];
    all.extend(set);
    options("default", &all)
}

/// Ten packets, the first lost: with the third that arrives above it, it is lost and goes again.
#[test]
fn three_later_packets_and_a_round_trip_make_a_loss() {
    let mut path = Path::new(rack(&[]), 10, u32::MAX, &[0]);
    path.start();
    let sent: Vec<_> = (0..3).map(|_| path.next().unwrap().sequences()).collect();
    // One new packet for each that has left the network, then the repair; ten are halved at once.
    assert_eq!(sent, [vec![10], vec![11], vec![0]]);
    assert_eq!((path.sender.ssthresh, path.sender.is(Flags::RECOVERY)), (6.0, true));
    assert_eq!(path.sender.tally().cuts, 1);
}

/// A repair that is lost again is noticed without the timer.
#[test]
fn a_lost_repair_goes_again() {
    let mut path = Path::new(rack(&[("recovery", "prr")]), 10, u32::MAX, &[0]);
    path.lose.insert((0, 1));
    path.start();
    let mut repairs = 0;
    while path.sender.una == 0 {
        let turn = path.next().expect("acknowledgements go on");
        repairs += turn.sequences().iter().filter(|s| **s == 0).count();
    }
    assert_eq!((repairs, path.sender.tally().timeouts), (2, 0));
}

/// The last packets of a transfer are lost: a probe brings the answer that shows it, no time-out is needed.
#[test]
fn a_probe_finds_a_lost_tail() {
    let mut path = Path::new(rack(&[("min_rto", "1s")]), 4, 12, &[10, 11]);
    path.start();
    path.drain();
    assert_eq!(path.sender.una, 10);
    let turn = path.expire();
    assert_eq!(turn.sequences(), [11], "the last one again, as nothing new is left");
    path.drain();
    while !path.sender.is_done() {
        path.expire();
        path.drain();
    }
    assert_eq!(path.sender.tally().timeouts, 0);
}
