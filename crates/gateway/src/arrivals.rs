//! When packets arrived at a device, however late they are read from it.
//!
//! The kernel reports each packet that enters a device, with the time, before the packet can be read. A
//! report has the length and the first bytes of its packet, so it is recognized even if the kernel dropped
//! packets behind the report, or lost reports.

use sojourn_aqm::{Span, Time};
use std::collections::VecDeque;

/// Bytes of a packet that a report has: the headers that differ between two packets.
pub(crate) const HEAD: usize = 48;

/// The kernel makes a report before the packet can be read; this time may pass in between.
const RECENT: Span = Span(1_000_000);

/// The kernel's report of a packet that entered a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) time: Time,
    pub(crate) length: u32,
    /// The first bytes of the packet, then zeros.
    pub(crate) head: [u8; HEAD],
}

/// The first bytes of a packet, as a report has them.
pub(crate) fn head_of(packet: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let kept = packet.len().min(HEAD);
    head[..kept].copy_from_slice(&packet[..kept]);
    head
}

/// The reports of packets that have not been read yet.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    reports: VecDeque<Report>,
    latest: Time,
    /// Whether the packets that were in the device at the start, of which there is no report, have been read.
    is_started: bool,
}

impl Arrivals {
    /// A packet has entered the device.
    pub(crate) fn add(&mut self, report: Report) {
        self.reports.push_back(report);
    }

    /// The arrival of `packet`, which was read at `now`, and whether there was a report of it. Arrivals never
    /// decrease. Without a report, it is that of the next packet, which cannot be earlier; packets before the
    /// first report arrived before the start.
    pub(crate) fn of(&mut self, packet: &[u8], now: Time) -> (Time, bool) {
        let (length, head) = (packet.len() as u32, head_of(packet));
        let is_it = |one: &Report| one.length == length && one.head == head;
        let found = self.reports.iter().position(is_it);
        let time = match found {
            // The kernel dropped the packets of the reports before it.
            Some(number) => self.reports.drain(..=number).next_back(),
            None => self.reports.front().copied(),
        };
        self.is_started |= found.is_some();
        if self.is_started {
            self.latest = self.latest.max(time.map_or(now, |one| one.time.min(now)));
        }
        (self.latest, found.is_some() || !self.is_started)
    }

    /// The device was empty at `now`: the kernel dropped the packets of all reports that are not recent.
    pub(crate) fn on_empty(&mut self, now: Time) {
        self.is_started = true;
        while self.reports.front().is_some_and(|one| one.time + RECENT < now) {
            self.reports.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8) -> [u8; 60] {
        [number; 60]
    }

    fn reports(numbers: &[u8]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for number in numbers {
            let (time, head) = (Time(u64::from(*number) * 10), head_of(&packet(*number)));
            arrivals.add(Report { time, length: 60, head });
        }
        arrivals
    }

    #[test]
    fn a_packet_has_the_time_of_its_own_report() {
        let mut arrivals = reports(&[1, 2, 3, 6]);
        let now = Time(1000);
        assert_eq!(arrivals.of(&packet(1), now), (Time(10), true));
        assert_eq!(arrivals.of(&packet(3), now), (Time(30), true), "packet 2 was dropped");
        assert_eq!(arrivals.of(&packet(2), now), (Time(60), false), "not later than the next one");
        assert_eq!(arrivals.of(&packet(6)[..59], now), (Time(60), false), "another length");
        assert_eq!(arrivals.of(&packet(6), now), (Time(60), true));
        assert_eq!(arrivals.of(&packet(7), now), (now, false), "there is no report");
    }

    #[test]
    fn packets_before_the_first_report_arrived_before_the_start() {
        let mut arrivals = reports(&[3, 4]);
        assert_eq!(arrivals.of(&packet(1), Time(100)), (Time::ZERO, true));
        assert_eq!(arrivals.of(&packet(3), Time(100)), (Time(30), true));
        assert_eq!(arrivals.of(&packet(2), Time(100)), (Time(40), false));
        let mut arrivals = Arrivals::default();
        arrivals.on_empty(Time(5));
        assert_eq!(arrivals.of(&packet(1), Time(100)), (Time(100), false), "its report was lost");
    }

    #[test]
    fn arrivals_never_decrease_and_are_not_in_the_future() {
        let mut arrivals = reports(&[5, 4]);
        assert_eq!(arrivals.of(&packet(5), Time(45)), (Time(45), true));
        assert_eq!(arrivals.of(&packet(4), Time(46)), (Time(45), true));
    }

    #[test]
    fn reports_of_dropped_packets_are_forgotten_when_the_device_is_empty() {
        let mut arrivals = reports(&[1, 1]);
        assert_eq!(arrivals.of(&packet(1), Time(50)), (Time(10), true));
        arrivals.on_empty(Time(60));
        assert_eq!(arrivals.of(&packet(1), Time(70)), (Time(10), true), "it may just not be readable yet");
        let mut arrivals = reports(&[1, 1]);
        arrivals.of(&packet(1), Time(50));
        arrivals.on_empty(Time(1_000_011));
        assert_eq!(arrivals.of(&packet(1), Time(1_000_020)), (Time(1_000_020), false));
    }
}
