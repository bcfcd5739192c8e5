//! The profile markers: their vectors, and each of their rules by hand.

use crate::support::{Row, Scripted, at, near, table};
use sojourn_aqm::marker::{GREEN, Marker, RED, SrTcm, TokenBucket, TrTcm, Tsw, YELLOW};
use sojourn_aqm::{Class, Span, Stream, Time};

/// Bytes/s as bit/s.
fn rate(bytes: u64) -> u64 {
    8 * bytes
}

fn mark(marker: &mut dyn Marker, seconds: f64, bytes: u32) -> Class {
    marker.mark(at(seconds), bytes, GREEN, &mut Scripted::new(&[]))
}

fn class(row: &Row, column: &str) -> Class {
    match row.word(column) {
        "in" | "green" => GREEN,
        "out" | "yellow" => YELLOW,
        "red" => RED,
        other => panic!("no colour {other}"),
    }
}

#[test]
fn v1_token_bucket() {
    let mut marker = TokenBucket::new(rate(1000), 1500);
    assert_eq!(marker.tokens(), 1500.0);
    for row in table("markers_v1").rows() {
        let seen = mark(&mut marker, row.number("t"), row.whole("size"));
        assert_eq!(seen, class(&row, "colour"));
        row.check("tokens after", marker.tokens());
        let taken = if seen == GREEN { row.number("size") } else { 0.0 };
        row.check("tokens", marker.tokens() + taken);
    }
}

#[test]
fn v2_single_rate() {
    let mut marker = SrTcm::new(rate(1000), 1000, 1500, false);
    for row in table("markers_v2").rows() {
        assert_eq!(mark(&mut marker, row.number("t"), row.whole("size")), class(&row, "colour"));
        row.check("T_c", marker.tokens().0);
        row.check("T_e", marker.tokens().1);
    }
}

#[test]
fn v3_two_rates() {
    let mut marker = TrTcm::new(rate(1000), 1000, rate(2000), 1500, false);
    for row in table("markers_v3").rows() {
        assert_eq!(mark(&mut marker, row.number("t"), row.whole("size")), class(&row, "colour"));
        row.check("T_c", marker.tokens().0);
        row.check("T_p", marker.tokens().1);
    }
}

#[test]
fn v4_sliding_window() {
    let second = Span::from_millis(1000);
    let mut two = Tsw::two_colour(rate(1000), second);
    let mut three = Tsw::three_colour(rate(1000), rate(1500), second);
    for row in table("markers_v4").rows() {
        for (marker, column) in [(&mut two, "TSW2CM"), (&mut three, "TSW3CM")] {
            let mut rng = Scripted::new(&row.draws());
            let seen = marker.mark(at(row.number("t")), row.whole("size"), GREEN, &mut rng);
            rng.assert_used(column);
            assert_eq!(seen, class(&row, column));
            row.check("avg_rate", marker.rate() / 8.0);
            row.check("P(out)", 1.0 - 8000.0 / marker.rate());
        }
    }
}

/// (1 - CIR/r), and of it what is above PIR: shares of many packets at a steady rate.
#[test]
fn a_sliding_window_marks_the_excess() {
    let mut marker = Tsw::three_colour(rate(1000), rate(2000), Span::from_millis(1000));
    let mut rng = Stream::new(1, "tsw");
    let mut seen = [0u32; 3];
    for n in 1..=200_000u64 {
        // 4000 bytes/s in packets of 4 bytes.
        let class = marker.mark(Time(n * 1_000_000), 4, GREEN, &mut rng);
        seen[usize::from(class.0)] += u32::from(n > 20_000);
    }
    near(marker.rate() / 8.0, 4000.0, "rate");
    for (share, expected) in seen.iter().map(|n| f64::from(*n) / 180_000.0).zip([0.25, 0.25, 0.5]) {
        assert!((share - expected).abs() < 5.0 * (0.25f64 / 180_000.0).sqrt(), "{seen:?}");
    }
    // Below the committed rate no random number is drawn.
    assert_eq!(marker.mark(at(1e6), 4, RED, &mut Scripted::new(&[])), GREEN);
}

#[test]
fn colour_aware_markers_never_promote() {
    for (class_in, single, double) in [
        // The tokens after a packet of 100 bytes: (committed, excess), (committed, peak).
        (GREEN, (GREEN, (900.0, 1000.0)), (GREEN, (900.0, 900.0))),
        (YELLOW, (YELLOW, (1000.0, 900.0)), (YELLOW, (1000.0, 900.0))),
        (RED, (RED, (1000.0, 1000.0)), (RED, (1000.0, 1000.0))),
        (Class(7), (RED, (1000.0, 1000.0)), (RED, (1000.0, 1000.0))),
    ] {
        let none = &mut Scripted::new(&[]);
        let mut marker = SrTcm::new(8000, 1000, 1000, true);
        assert_eq!((marker.mark(at(0.0), 100, class_in, none), marker.tokens()), single);
        let mut marker = TrTcm::new(8000, 1000, 8000, 1000, true);
        assert_eq!((marker.mark(at(0.0), 100, class_in, none), marker.tokens()), double);
        let mut blind = SrTcm::new(8000, 1000, 1000, false);
        assert_eq!(blind.mark(at(0.0), 100, class_in, none), GREEN);
        let mut blind = TrTcm::new(8000, 1000, 8000, 1000, false);
        assert_eq!(blind.mark(at(0.0), 100, class_in, none), GREEN);
    }
    // A green packet for which the committed bucket has too few tokens is yellow; a yellow one never uses
    // that bucket.
    let mut marker = SrTcm::new(8000, 50, 1000, true);
    assert_eq!(mark(&mut marker, 0.0, 100), YELLOW);
    let mut marker = SrTcm::new(8000, 1000, 50, true);
    assert_eq!(marker.mark(at(0.0), 100, YELLOW, &mut Scripted::new(&[])), RED);
    assert_eq!(marker.tokens(), (1000.0, 50.0));
}

#[test]
fn a_packet_larger_than_the_bucket_is_never_in_profile() {
    assert_eq!(mark(&mut TokenBucket::new(rate(1000), 500), 1e6, 501), YELLOW);
    assert_eq!(mark(&mut SrTcm::new(rate(1000), 500, 600, false), 1e6, 601), RED);
    assert_eq!(mark(&mut TrTcm::new(rate(1000), 500, rate(2000), 600, false), 1e6, 601), RED);
    assert_eq!(mark(&mut TokenBucket::new(rate(1000), 500), 1e6, 500), GREEN);
}

#[test]
fn time_may_stop_jump_or_go_back() {
    let mut marker = TokenBucket::new(rate(1000), 1000);
    assert_eq!(mark(&mut marker, 10.0, 1000), GREEN);
    assert_eq!(mark(&mut marker, 10.0, 1), YELLOW);
    assert_eq!(mark(&mut marker, 5.0, 1), YELLOW);
    assert_eq!(mark(&mut marker, 10.0, 1), YELLOW, "the same five seconds add tokens only once");
    assert_eq!(mark(&mut marker, 10.001, 1), GREEN);
    let mut extreme = TokenBucket::new(u64::MAX, u64::MAX);
    let end = Time(u64::MAX);
    assert_eq!(extreme.mark(end, u32::MAX, GREEN, &mut Scripted::new(&[])), GREEN);
    let mut nothing = SrTcm::new(0, 0, 0, false);
    assert_eq!(nothing.mark(end, 1, GREEN, &mut Scripted::new(&[])), RED);
    let mut window = Tsw::two_colour(0, Span::ZERO);
    window.mark(end, u32::MAX, GREEN, &mut Scripted::new(&[0.5]));
    window.mark(end, u32::MAX, GREEN, &mut Scripted::new(&[0.5]));
    assert!(window.rate().is_finite());
}

/// Over a long time the bytes in profile are those of the committed rate, to the byte.
#[test]
fn no_token_is_lost_to_rounding() {
    let mut marker = TokenBucket::new(21_000, 1313); // 2625 bytes/s
    let mut rng = Stream::new(1, "arrivals");
    let (mut now, mut green) = (0u64, 0u64);
    while now < 1_000_000_000_000 {
        now += rng.bits() % 1_000_003;
        if marker.mark(Time(now), 7, GREEN, &mut rng) == GREEN {
            green += 7;
        }
    }
    let promised = 1313.0 + 2625.0 * now as f64 * 1e-9;
    assert!((green as f64 - (promised - marker.tokens())).abs() < 1.0, "{green} of {promised}");
}
