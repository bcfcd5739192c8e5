//! Samples of the delivery rate: how many packets were delivered in the time since an acknowledged packet was
//! sent (draft-cheng-iccrg-delivery-rate-estimation; Linux: `tcp_rate.c`). Times are in whole microseconds,
//! as in Linux.
//!
//! The sample is that of the packet sent last among those that an ACK delivers. Its interval is the longer
//! one of two: that in which the packets were sent, and that in which their ACKs arrived.

use sojourn_aqm::{Span, Time};
use std::collections::VecDeque;

/// The state of the connection when a packet was sent.
#[derive(Clone, Copy, Debug, Default)]
struct Snapshot {
    /// When the packet was sent that gave the last sample before (P.first_sent_time).
    first_sent: Time,
    /// Packets delivered, and when the last of them was (P.delivered, P.delivered_time).
    delivered: u32,
    delivered_at: Time,
    is_app_limited: bool,
}

/// What an ACK delivers, for a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    /// Of the packets delivered, the one sent last: when, and which.
    pub(crate) newest: Option<(Time, u32)>,
    pub(crate) packets: u32,
    /// Packets newly detected as lost.
    pub(crate) losses: u32,
    pub(crate) rtt: Option<Span>,
}

/// A sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RateSample {
    /// Packets delivered in the interval; `None`: the ACK delivers no packet.
    pub(crate) delivered: Option<u32>,
    /// The interval in microseconds; `None`: it is shorter than the shortest round trip, so not valid.
    pub(crate) interval_us: Option<u64>,
    /// Packets that were delivered when the sampled packet was sent.
    pub(crate) prior_delivered: u32,
    /// The sender had nothing to send at some time in the interval.
    pub(crate) is_app_limited: bool,
    /// Packets that this ACK delivers.
    pub(crate) acked: u32,
    pub(crate) losses: u32,
    pub(crate) rtt_us: Option<u64>,
}

/// Counters of a connection, and the snapshots of its outstanding packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    snapshots: VecDeque<Snapshot>,
    /// The first packet with a snapshot.
    una: u32,
    /// Packets delivered, the SYN included (C.delivered), and when the last of them was.
    pub(crate) delivered: u32,
    pub(crate) delivered_at: Time,
    first_sent: Time,
    /// Samples are limited by the application until this number of packets is delivered; 0: they are not.
    app_limited: u32,
    min_rtt_us: Option<u64>,
}

/// Microseconds from `earlier` to `later`, both truncated.
pub(crate) fn us_between(earlier: Time, later: Time) -> u64 {
    (later.0 / 1000).saturating_sub(earlier.0 / 1000)
}

impl RateSampler {
    /// Packet `sequence` is sent; `is_idle`: no packet is outstanding.
    pub(crate) fn on_send(&mut self, sequence: u32, is_idle: bool, now: Time) {
        if is_idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let RateSampler { first_sent, delivered, delivered_at, .. } = *self;
        let snapshot =
            Snapshot { first_sent, delivered, delivered_at, is_app_limited: self.is_app_limited() };
        let i = (sequence - self.una) as usize;
        if i == self.snapshots.len() {
            self.snapshots.push_back(snapshot);
        } else {
            self.snapshots[i] = snapshot;
        }
    }

    /// An ACK of all packets below `una`, and of some above.
    pub(crate) fn on_ack(&mut self, una: u32, ack: &Delivered, now: Time) -> RateSample {
        let mut sample = RateSample { acked: ack.packets, losses: ack.losses, ..RateSample::default() };
        let RateSampler { snapshots, una: first, .. } = self;
        let snapshot = ack.newest.map(|(sent, sequence)| (sent, snapshots[(sequence - *first) as usize]));
        snapshots.drain(..(una - *first) as usize);
        *first = una;
        self.delivered += ack.packets;
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if ack.packets > 0 {
            self.delivered_at = now;
        }
        if let Some(rtt) = ack.rtt {
            let rtt_us = us_between(Time(now.0.saturating_sub(rtt.0)), now);
            sample.rtt_us = Some(rtt_us);
            self.min_rtt_us = Some(self.min_rtt_us.map_or(rtt_us, |least| least.min(rtt_us)));
        }
        if let Some((sent, snapshot)) = snapshot {
            self.first_sent = sent;
            sample.delivered = Some(self.delivered - snapshot.delivered);
            sample.prior_delivered = snapshot.delivered;
            sample.is_app_limited = snapshot.is_app_limited;
            let interval = us_between(snapshot.first_sent, sent).max(us_between(snapshot.delivered_at, now));
            let is_valid = interval > 0 && interval >= self.min_rtt_us.unwrap_or(0);
            sample.interval_us = is_valid.then_some(interval);
        }
        sample
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// The packets in flight and those sent until they are delivered give samples that are limited by the
    /// application.
    pub(crate) fn limit_by_app(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// The shortest round trip so far.
    pub(crate) fn min_rtt_us(&self) -> Option<u64> {
        self.min_rtt_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time(us * 1000)
    }

    fn delivered(sent_us: u64, sequence: u32, packets: u32, rtt_us: u64) -> Delivered {
        let (newest, rtt) = (Some((at(sent_us), sequence)), Some(Span(rtt_us * 1000)));
        Delivered { newest, packets, losses: 0, rtt }
    }

    /// By hand: ten packets in a burst at 1 ms, ACKs from 11 ms on, one per millisecond. The first ACK
    /// delivers one packet in 10 ms, the second two in 11 ms. Packet 10, sent at 11 ms when one was
    /// delivered, is acknowledged at 21 ms as the eleventh: ten packets in 10 ms.
    #[test]
    fn the_rate_is_that_of_the_bottleneck_after_a_round_trip() {
        let mut sampler = RateSampler::default();
        (0..10).for_each(|sequence| sampler.on_send(sequence, sequence == 0, at(1000)));
        let mut seen = Vec::new();
        for i in 0..11 {
            let (now, sent) = (11_000 + 1000 * u64::from(i), if i < 10 { 1000 } else { 11_000 });
            let sample = sampler.on_ack(i + 1, &delivered(sent, i, 1, now - sent), at(now));
            seen.push((sample.delivered.unwrap(), sample.interval_us.unwrap()));
            sampler.on_send(10 + i, false, at(now));
        }
        assert_eq!(
            (seen[0], seen[1], seen[9], seen[10]),
            ((1, 10_000), (2, 11_000), (10, 19_000), (10, 10_000))
        );
        assert_eq!((sampler.delivered, sampler.delivered_at, sampler.una), (11, at(21_000), 11));
    }

    /// All ACKs at once, at 12 ms, do not mean that the path delivers ten packets in 1 ms: they were sent in
    /// 9 ms.
    #[test]
    fn compressed_acks_do_not_raise_the_rate_above_that_of_sending() {
        let mut sampler = RateSampler::default();
        sampler.on_send(0, true, at(0));
        sampler.on_ack(1, &delivered(0, 0, 1, 1000), at(1000));
        (1..11).for_each(|sequence| {
            sampler.on_send(sequence, sequence == 1, at(1000 + 1000 * u64::from(sequence)))
        });
        let sample = sampler.on_ack(11, &delivered(11_000, 10, 10, 1500), at(12_500));
        assert_eq!((sample.delivered, sample.interval_us), (Some(10), Some(10_500)));
        (11..21).for_each(|sequence| {
            sampler.on_send(sequence, false, at(13_000 + 1000 * u64::from(sequence - 11)))
        });
        let sample = sampler.on_ack(21, &delivered(22_000, 20, 10, 1500), at(22_600));
        assert_eq!((sample.delivered, sample.interval_us), (Some(10), Some(11_000)), "sent from 11 to 22 ms");
    }

    /// Packet 0 is lost and sent again at 10 ms; its ACK after 1 ms is one for the original.
    #[test]
    fn an_interval_below_the_shortest_round_trip_is_not_valid() {
        let mut sampler = RateSampler::default();
        (0..3).for_each(|sequence| sampler.on_send(sequence, sequence == 0, at(0)));
        let sample = sampler.on_ack(0, &delivered(0, 2, 2, 5000), at(5000));
        assert_eq!((sample.delivered, sample.interval_us), (Some(2), Some(5000)));
        sampler.on_send(0, false, at(5000));
        let ack = Delivered { rtt: None, ..delivered(5000, 0, 1, 0) };
        let sample = sampler.on_ack(3, &ack, at(6000));
        assert_eq!((sample.delivered, sample.interval_us, sample.prior_delivered), (Some(1), Some(5000), 2));
        sampler.on_send(3, true, at(7000));
        let sample = sampler.on_ack(4, &Delivered { rtt: None, ..delivered(7000, 3, 1, 0) }, at(8000));
        assert_eq!((sample.interval_us, sampler.min_rtt_us()), (None, Some(5000)));
    }

    /// Two packets in flight when the application has no more: samples are marked until both are delivered.
    #[test]
    fn samples_are_marked_until_the_bubble_has_passed() {
        let mut sampler = RateSampler::default();
        (0..2).for_each(|sequence| sampler.on_send(sequence, sequence == 0, at(0)));
        sampler.limit_by_app(2);
        sampler.on_send(2, false, at(500));
        let marked = |sampler: &mut RateSampler, i: u32| {
            let ack = delivered(0, i, 1, 1000);
            sampler.on_ack(i + 1, &ack, at(1000 + u64::from(i))).is_app_limited
        };
        let seen = [marked(&mut sampler, 0), marked(&mut sampler, 1), marked(&mut sampler, 2)];
        assert_eq!(seen, [false, false, true]);
        assert!(!sampler.is_app_limited());
    }
}
