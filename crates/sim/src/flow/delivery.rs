//! How packets reach their receivers: one-way delays, jitter, losses, and datagrams that are too late.
//!
//! Each traffic has a histogram of one-way delays and of the lengths of its losses ([`Arrivals`]); each
//! source of datagrams has counters of its own ([`Delivery`]). One-way delay is the time from the first bit
//! that the sender hands to its link to the last bit at the receiver (RFC 7679). TCP has the histogram of
//! delays only, and only if the plan asks for it: its losses are repaired.
//!
//! A datagram is lost if a later one of its flow arrives before it: then the receiver has to do without it.
//! Lost datagrams in a row are one loss period (RFC 3357); those behind the last received one are not
//! counted. A datagram that arrives again is ignored but for its delay, unless 128 later ones have arrived:
//! then it counts as a late one.

use super::playout::Playout;
use crate::record::{DelayColumns, DeliveryColumns, Histogram, LossColumns};
use sojourn_aqm::{Span, Time};
use std::collections::BTreeMap;

/// What arrived of each traffic in the measurement window.
pub(crate) struct Arrivals {
    /// By group, those of requests included.
    groups: Vec<Arrived>,
    /// Whether TCP is counted, too.
    pub(crate) counts_tcp: bool,
}

#[derive(Clone, Default)]
struct Arrived {
    delays: Histogram,
    /// Round-trip times of datagrams that came back.
    round_trips: Histogram,
    /// The number of loss periods by their length.
    losses: BTreeMap<u32, u64>,
}

impl Arrivals {
    pub(crate) fn new(groups: usize, counts_tcp: bool) -> Arrivals {
        Arrivals { groups: vec![Arrived::default(); groups], counts_tcp }
    }

    /// A packet of `group` arrives in the window.
    #[inline]
    pub(crate) fn add_delay(&mut self, group: u32, delay: Span) {
        self.groups[group as usize].delays.add(delay.0);
    }

    /// The same where TCP is counted rarely: out of the way of others.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_tcp_delay(&mut self, group: u32, delay: Span) {
        self.add_delay(group, delay);
    }

    /// The histograms of delays, round-trip times and loss periods; `traffic_of` is the traffic of a group,
    /// if it is recorded.
    pub(crate) fn columns(&self, traffic_of: impl Fn(usize) -> Option<u32>) -> ArrivalColumns {
        let ArrivalColumns { mut delays, mut round_trips, mut losses } = ArrivalColumns::default();
        for (number, group) in self.groups.iter().enumerate() {
            let Some(traffic) = traffic_of(number) else { continue };
            for (columns, histogram) in [(&mut delays, &group.delays), (&mut round_trips, &group.round_trips)]
            {
                let (edges, counts) = histogram.since(&Histogram::default());
                columns.traffic.extend(edges.iter().map(|_| traffic));
                columns.edge_ns.extend(edges);
                columns.count.extend(counts);
            }
            for (length, count) in &group.losses {
                losses.traffic.push(traffic);
                losses.length.push(u64::from(*length));
                losses.count.push(*count);
            }
        }
        ArrivalColumns { delays, round_trips, losses }
    }
}

/// What arrived of each traffic, as columns.
#[derive(Default)]
pub(crate) struct ArrivalColumns {
    pub(crate) delays: DelayColumns,
    pub(crate) round_trips: DelayColumns,
    pub(crate) losses: LossColumns,
}

/// What arrived of one source of datagrams.
#[derive(Default)]
pub(crate) struct Delivery {
    /// One beyond the highest number that arrived.
    next: u32,
    /// Which of the 128 numbers before that arrived; bit 0 is the last one.
    known: u128,
    /// The delay of the last datagram that arrived.
    last_delay: Option<Span>,
    /// When datagrams are used, if that matters.
    playout: Option<Playout>,
    counts: Counts,
}

/// Counters in the measurement window.
#[derive(Default)]
struct Counts {
    lost: u64,
    loss_periods: u64,
    reordered: u64,
    delay_min: Option<Span>,
    /// Sum of the differences of the delays of consecutive arrivals.
    jitter: u64,
    /// How many differences there are.
    pairs: u64,
    /// Datagrams that came back, and the sum and the largest of their round-trip times.
    echoes: u64,
    round_trips: u64,
    round_trip_max: Span,
}

impl Delivery {
    pub(crate) fn new(playout: Option<Playout>) -> Delivery {
        Delivery { playout, ..Delivery::default() }
    }

    /// Datagram `number` of `group`, sent at `sent`, arrives at `at`; returns whether for the first time.
    pub(crate) fn receive(
        &mut self,
        number: u32,
        sent: Time,
        at: Time,
        in_window: bool,
        group: u32,
        arrivals: &mut Arrivals,
    ) -> bool {
        let delay = at - sent;
        let before = self.last_delay.replace(delay);
        let missing = number.checked_sub(self.next);
        let is_first = self.note(number, missing);
        if in_window {
            arrivals.add_delay(group, delay);
            let counts = &mut self.counts;
            counts.delay_min = Some(counts.delay_min.map_or(delay, |least| least.min(delay)));
            if let Some(before) = before {
                counts.jitter += delay.0.abs_diff(before.0);
                counts.pairs += 1;
            }
            match missing {
                Some(0) => {}
                Some(missing) => {
                    counts.lost += u64::from(missing);
                    counts.loss_periods += 1;
                    *arrivals.groups[group as usize].losses.entry(missing).or_default() += 1;
                }
                None => counts.reordered += u64::from(is_first),
            }
        }
        let Some(missing) = missing else { return is_first };
        self.next = number + 1;
        if let Some(playout) = &mut self.playout {
            playout.receive(number, missing, delay, in_window);
        }
        true
    }

    /// Note the arrival of datagram `number`, which skips `missing` ones if it is not late: whether it is the
    /// first one.
    fn note(&mut self, number: u32, missing: Option<u32>) -> bool {
        let shifted = |bits: u128, by: u32| bits.checked_shl(by).unwrap_or(0);
        if let Some(missing) = missing {
            self.known = shifted(shifted(self.known, missing), 1) | 1;
            return true;
        }
        let bit = shifted(1, self.next - 1 - number);
        let is_first = self.known & bit == 0;
        self.known |= bit;
        is_first
    }

    /// A datagram of `group` comes back in the window.
    pub(crate) fn return_trip(&mut self, round_trip: Span, group: u32, arrivals: &mut Arrivals) {
        arrivals.groups[group as usize].round_trips.add(round_trip.0);
        let counts = &mut self.counts;
        counts.echoes += 1;
        counts.round_trips += round_trip.0;
        counts.round_trip_max = counts.round_trip_max.max(round_trip);
    }

    /// Add the counters of the flow with this row.
    pub(crate) fn add_to(&self, columns: &mut DeliveryColumns, row: u32) {
        let counts = &self.counts;
        let used = self.playout.as_ref().map(Playout::counts).unwrap_or_default();
        columns.flow.push(row);
        columns.lost_packets.push(counts.lost);
        columns.loss_periods.push(counts.loss_periods);
        columns.reordered_packets.push(counts.reordered);
        columns.delay_min_ns.push(counts.delay_min.unwrap_or(Span::ZERO).0);
        columns.jitter_ns.push(counts.jitter);
        columns.jitter_pairs.push(counts.pairs);
        columns.late_packets.push(used.late);
        columns.unusable_periods.push(used.periods);
        columns.playout_ns.push(used.playout);
        columns.playout_packets.push(used.packets);
        columns.echoes.push(counts.echoes);
        columns.round_trip_ns.push(counts.round_trips);
        columns.round_trip_max_ns.push(counts.round_trip_max.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers, and delays in ms, of what arrives; the first `before` arrivals are outside the window.
    fn after(arrivals_of: &[(u32, u64)], before: usize) -> (DeliveryColumns, DelayColumns, LossColumns) {
        let (mut delivery, mut arrivals) = (Delivery::default(), Arrivals::new(1, false));
        for (i, (number, ms)) in arrivals_of.iter().enumerate() {
            let sent = Time(u64::from(*number) * 1_000_000_000);
            delivery.receive(*number, sent, sent + Span::from_millis(*ms), i >= before, 0, &mut arrivals);
        }
        let mut columns = DeliveryColumns::default();
        delivery.add_to(&mut columns, 7);
        let ArrivalColumns { delays, losses, .. } = arrivals.columns(|_| Some(3));
        (columns, delays, losses)
    }

    /// Lost: 2 and 3, then 5; 3 arrives after 4, and is lost for its receiver. Differences of delays: 20,
    /// 10, 5 and 15 ms, in the order of arrival.
    #[test]
    fn losses_and_jitter_follow_from_numbers_and_delays() {
        let (columns, delays, losses) = after(&[(0, 10), (1, 30), (4, 20), (3, 25), (6, 40)], 0);
        assert_eq!((columns.flow[0], columns.lost_packets[0], columns.loss_periods[0]), (7, 3, 2));
        assert_eq!(columns.reordered_packets[0], 1);
        assert_eq!((columns.jitter_ns[0], columns.jitter_pairs[0]), (50_000_000, 4));
        assert_eq!(columns.delay_min_ns[0], 10_000_000);
        assert_eq!((losses.traffic, losses.length, losses.count), (vec![3, 3], vec![1, 2], vec![1, 1]));
        assert_eq!((delays.count.iter().sum::<u64>(), delays.traffic[0]), (5, 3));
    }

    /// 1 arrives twice, 0 late, and then again.
    #[test]
    fn a_copy_is_neither_late_nor_lost() {
        let (columns, _, losses) = after(&[(1, 10), (1, 12), (0, 30), (0, 31), (2, 10)], 0);
        assert_eq!((columns.reordered_packets[0], columns.lost_packets[0]), (1, 1));
        assert_eq!(losses.count, vec![1]);
    }

    /// The first arrival in the window is compared with the last one before it.
    #[test]
    fn what_arrives_before_the_window_is_not_counted() {
        let (columns, delays, losses) = after(&[(1, 10), (2, 30), (4, 20)], 2);
        assert_eq!((columns.lost_packets[0], columns.jitter_ns[0]), (1, 10_000_000));
        assert_eq!((delays.count, losses.count), (vec![1], vec![1]));
    }
}
