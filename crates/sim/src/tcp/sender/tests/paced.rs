//! Senders that pace.

use super::*;

/// By hand: the SYN takes 1 ms, and 20 packets in slow start are sent at 40 per ms. Ten leave at once, the
/// others every 25 us. (Mutants: no timer; the timer sends all; the rate is not set before sending.)
#[test]
fn what_the_window_allows_leaves_at_the_rate() {
    for set in [("variant", "newreno"), ("variant", "sack"), ("loss_detection", "rack")] {
        let mut path = Path::new(options("rfc", &[("pacing", "on"), set]), 20, u32::MAX, &[]);
        path.start();
        let first = path.next().unwrap();
        assert_eq!(first.sequences(), Vec::from_iter(1..11), "{set:?}");
        let from = path.now;
        for sequence in 11..21 {
            assert_eq!(path.next().unwrap().sequences(), [sequence], "{set:?}");
            assert_eq!(path.now, from + Span(25_000) * u64::from(sequence - 10));
        }
        assert_eq!(path.paced, None, "{set:?}");
    }
}
