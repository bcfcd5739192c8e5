//! The vectors TV2, TV3 and TV4, and ns-2's Reno, row by row.

use super::*;
use crate::tcp::initial_window;

/// NewReno of TV2: one retransmission per round trip.
const NEWRENO: &str = "
ACK 1 | 16.0625 | 8 | no | 17 | 16
3rd dup ACK 1 | 11 | 8 | yes | 2 (rtx) | 16
dup ACK 1 no. 9 | 17 | 8 | yes | 18 | 17
dup ACK 1 no. 10 | 18 | 8 | yes | 19 | 18
dup ACK 1 no. 11 | 19 | 8 | yes | 20 | 19
dup ACK 1 no. 12 | 20 | 8 | yes | 21 | 20
dup ACK 1 no. 13 | 21 | 8 | yes | 22 | 21
dup ACK 1 no. 14 | 22 | 8 | yes | 23 | 22
partial ACK 4 | 20 | 8 | yes | 5 (rtx), 24 | 20
dup ACK 4 no. 1 | 21 | 8 | yes | 25 | 21
dup ACK 4 no. 2 | 22 | 8 | yes | 26 | 22
dup ACK 4 no. 3 | 23 | 8 | yes | 27 | 23
dup ACK 4 no. 4 | 24 | 8 | yes | 28 | 24
dup ACK 4 no. 5 | 25 | 8 | yes | 29 | 25
dup ACK 4 no. 6 | 26 | 8 | yes | 30 | 26
ACK 23, leave recovery | 8 | 8 | no | 31 | 8
ACK 24 | 8.125 | 8 | no | 32 | 8
";

/// Reno of TV2: RFC 5681 allows a second fast retransmit in the same window.
const RENO: &str = "
ACK 1 | 16.0625 | 8 | no | 17 | 16
3rd dup ACK 1 | 11 | 8 | yes | 2 (rtx) | 16
dup ACK 1 no. 9 | 17 | 8 | yes | 18 | 17
dup ACK 1 no. 10 | 18 | 8 | yes | 19 | 18
dup ACK 1 no. 11 | 19 | 8 | yes | 20 | 19
dup ACK 1 no. 12 | 20 | 8 | yes | 21 | 20
dup ACK 1 no. 13 | 21 | 8 | yes | 22 | 21
dup ACK 1 no. 14 | 22 | 8 | yes | 23 | 22
ACK 4, leave recovery | 8 | 8 | no | - | 19
3rd dup ACK 4 | 12 | 9 | yes | 5 (rtx) | 19
ACK 23, leave recovery | 9 | 9 | no | 24, 25, 26, 27, 28, 29, 30, 31, 32 | 9
ACK 24 | 9.11111111 | 9 | no | 33 | 9
ACK 25 | 9.22086721 | 9 | no | 34 | 9
ACK 26 | 9.32931688 | 9 | no | 35 | 9
ACK 27 | 9.43650586 | 9 | no | 36 | 9
ACK 28 | 9.54247729 | 9 | no | 37 | 9
ACK 29 | 9.64727188 | 9 | no | 38 | 9
";

/// A window of 16, ssthresh 8, packets 1 to 16 in flight, of which 2 and 5 are lost.
fn two_losses(o: TcpOptions) -> Path {
    let mut path = Path::new(o, 16, u32::MAX, &[2, 5]);
    path.start();
    path.next(); // of the SYN
    path.sender.ssthresh = 8.0;
    assert_eq!(path.outstanding(), 16);
    path
}

/// The rows of a vector: ACKs that do more than inflate the window.
fn table(path: &mut Path, rows: usize) -> String {
    let mut table = String::from("\n");
    while table.lines().count() <= rows {
        let before = (path.sender.ssthresh, path.sender.is(Flags::RECOVERY));
        let turn = path.next().expect("ACKs are in flight");
        let (cwnd, ssthresh) = path.windows();
        let in_recovery = path.sender.is(Flags::RECOVERY);
        if turn.duplicate > 0 && turn.sent.is_empty() && before == (ssthresh, in_recovery) {
            continue;
        }
        let event = match (turn.duplicate, before.1, in_recovery) {
            (3, false, true) => format!("3rd dup ACK {}", turn.ack),
            (0, true, true) => format!("partial ACK {}", turn.ack),
            (0, true, false) => format!("ACK {}, leave recovery", turn.ack),
            (0, ..) => format!("ACK {}", turn.ack),
            (number, ..) => format!("dup ACK {} no. {number}", turn.ack),
        };
        let name = |s: &Segment| format!("{}{}", s.sequence, if s.is_retransmission { " (rtx)" } else { "" });
        let sent = turn.sent.iter().map(name).collect::<Vec<_>>().join(", ");
        let sent = if sent.is_empty() { "-" } else { &sent };
        let cwnd = (cwnd * 1e8).round() / 1e8;
        let recovery = if in_recovery { "yes" } else { "no" };
        let outstanding = path.outstanding();
        table += &format!("{event} | {cwnd} | {ssthresh} | {recovery} | {sent} | {outstanding}\n");
    }
    table
}

#[test]
fn newreno_retransmits_one_packet_per_round_trip() {
    let mut path = two_losses(options("rfc", &[("limited_transmit", "off")]));
    assert_eq!(table(&mut path, NEWRENO.lines().count() - 1), NEWRENO);
}

#[test]
fn reno_leaves_recovery_at_the_first_new_ack() {
    let mut path = two_losses(options("rfc", &[("variant", "reno"), ("limited_transmit", "off")]));
    assert_eq!(table(&mut path, RENO.lines().count() - 1), RENO);
}

/// Tahoe of TV2: each loss costs half of ssthresh and a slow start from one packet, and packets are sent
/// again from the first missing one on, also those that the receiver has.
const TAHOE: &str = "
ACK 1 | 16.0625 | 8 | no | 17 | 16
dup ACK 1 no. 3 | 1 | 8 | no | 2 (rtx) | 1
ACK 4 | 2 | 8 | no | 5 (rtx), 6 (rtx) | 2
ACK 17 | 3 | 8 | no | 18, 19, 20 | 3
ACK 18 | 4 | 8 | no | 21, 22 | 4
ACK 19 | 5 | 8 | no | 23, 24 | 5
";

#[test]
fn tahoe_goes_back_and_starts_slowly() {
    let mut path = two_losses(options("rfc", &[("variant", "tahoe"), ("limited_transmit", "off")]));
    assert_eq!(table(&mut path, TAHOE.lines().count() - 1), TAHOE);
}

/// As observed in ns-2.35: two losses in a window of 16 give 8, 8.125 on the partial ACK, then a timeout.
#[test]
fn reno_of_ns_2_waits_for_its_timer_at_the_second_loss() {
    let mut path = Path::new(options("ns2", &[("variant", "reno")]), 16, u32::MAX, &[1, 4]);
    path.start();
    path.next(); // of the SYN
    path.sender.ssthresh = 8.0;
    let mut repaired = Vec::new();
    let mut windows = vec![path.sender.cwnd];
    while let Some(turn) = path.next() {
        repaired.extend(turn.sent.iter().filter(|s| s.is_retransmission).map(|s| s.sequence));
        if windows.last() != Some(&path.sender.cwnd) {
            windows.push(path.sender.cwnd);
        }
    }
    assert_eq!(
        (repaired, windows),
        (vec![1], vec![16.0, 8.0, 8.125]),
        "no fast retransmit for the second loss"
    );
    let turn = path.expire();
    assert_eq!((turn.sequences(), path.windows()), (vec![4], (1.0, 4.0)));
    assert_eq!(path.sender.tally().timeouts, 1);
}

/// TV3: slow start up to ssthresh 4, then congestion avoidance, with an ACK for every packet.
#[test]
fn the_window_grows_by_one_then_by_its_inverse() {
    let windows =
        [2.0, 3.0, 4.0, 4.25, 4.48529412, 4.70824494, 4.92063831, 5.12386397, 5.31902918, 5.50703342];
    let mut path = Path::new(options("rfc", &[("syn", "off")]), 1, u32::MAX, &[]);
    path.start();
    path.sender.ssthresh = 4.0;
    for (i, window) in windows.into_iter().enumerate() {
        path.next();
        assert!((path.sender.cwnd - window).abs() < 5e-9, "{} after ACK {}", path.sender.cwnd, i + 1);
        assert_eq!(path.outstanding(), window as u32);
    }
}

/// TV4: RFC 3390 by the size of a packet, RFC 6928 on request.
#[test]
fn the_first_window_depends_on_the_packet_size() {
    let o = options("rfc", &[]);
    let windows = [536, 1000, 1095, 1096, 1460, 2190, 2191].map(|payload| initial_window(&o, payload));
    assert_eq!(windows, [4, 4, 4, 3, 3, 3, 2]);
    assert_eq!(initial_window(&options("rfc", &[("initial_window", "10")]), 1460), 10);
    assert_eq!(initial_window(&options("ns2", &[]), 1000), 2);
    assert_eq!(initial_window(&options("ns2-2001", &[]), 1000), 1);
}

/// RFC 5681, section 3.2, step 2: packets sent by limited transmit do not count in FlightSize.
#[test]
fn limited_transmit_sends_two_new_packets_that_do_not_count() {
    let mut path = two_losses(options("rfc", &[]));
    path.next();
    let turns: Vec<_> = (0..3).map(|_| path.next().unwrap()).collect();
    assert_eq!(turns[0].sequences(), [18]);
    assert_eq!(turns[1].sequences(), [19]);
    assert_eq!(turns[2].sequences(), [2], "fast retransmit");
    // 2 to 19 are outstanding, 18 packets; two came from limited transmit.
    assert_eq!(path.windows(), (11.0, 8.0));
}

/// RFC 3042: one packet beyond the window at the first duplicate, two at the second.
#[test]
fn limited_transmit_exceeds_the_window_by_two_at_most() {
    let mut path = two_losses(options("rfc", &[]));
    path.sender.cwnd = 14.0;
    path.next(); // 15 packets outstanding, 14.07 allowed
    assert_eq!(path.outstanding(), 15);
    assert_eq!(path.next().unwrap().sequences(), [0u32; 0]);
    assert_eq!(path.next().unwrap().sequences(), [17]);
}

/// The receiver's window bounds limited transmit too.
#[test]
fn limited_transmit_respects_the_receiver() {
    let mut path = two_losses(options("rfc", &[("receiver_window", "17")]));
    path.next();
    assert_eq!(path.next().unwrap().sequences(), [18]);
    assert_eq!(path.next().unwrap().sequences(), [0u32; 0], "17 are outstanding");
}

/// In recovery ns-2's NewReno sends at most two new packets per ACK.
#[test]
fn newreno_of_ns_2_sends_two_packets_per_ack() {
    // 8 and 14 duplicates, less 9 acknowledged, plus 1: a window of 14, of which 10 to 16 are outstanding.
    for (burst, sent) in [("0", vec![10, 17, 18, 19, 20, 21, 22, 23]), ("2", vec![10, 17, 18])] {
        let set = [("recovery_burst", burst), ("receiver_window", "16"), ("limited_transmit", "off")];
        let mut path = Path::new(options("ns2", &set), 16, u32::MAX, &[1, 10]);
        path.start();
        let partial =
            path.drain_while(|turn| turn.ack < 9).expect("the retransmission of 1 acknowledges up to 9");
        assert_eq!(partial.sequences(), sent, "the receiver's window was full before");
    }
}

impl Path {
    /// The first turn that does not satisfy `still`.
    fn drain_while(&mut self, still: impl Fn(&Turn) -> bool) -> Option<Turn> {
        std::iter::from_fn(|| self.next()).find(|turn| !still(turn))
    }
}
