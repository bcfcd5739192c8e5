//! RACK loss detection (RFC 8985): a packet is lost if a packet sent later was delivered and a round trip
//! plus the reordering window has passed since it was sent. The time of the last transmission is kept for
//! every packet, so a lost retransmission is detected too.
//!
//! The reordering window is that of RFC 8985, section 6.2, step 4, before reordering was seen: a quarter of
//! the minimum RTT, and 0 in recovery or once three packets are sacked. DSACK, which would widen it where a
//! link reorders packets, is not implemented.

use super::scoreboard::DUP_THRESH;
use crate::packet::Sack;
use sojourn_aqm::{Span, Time};
use std::collections::VecDeque;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// Retransmitted since it was last marked lost, and in flight (Linux: TCPCB_SACKED_RETRANS).
const RETRANSMITTED: u8 = 4;
/// Retransmitted at least once: gives no RTT sample (Karn's algorithm; Linux: TCPCB_EVER_RETRANS).
const EVER_RETRANSMITTED: u8 = 8;

#[derive(Clone, Copy, Debug, Default)]
struct SentPacket {
    /// Time of the last transmission.
    sent: Time,
    flags: u8,
}

/// The packets from the first unacknowledged one to the last one sent, in a ring: a power of two of places.
#[derive(Clone, Debug, Default)]
struct Outstanding {
    places: Vec<SentPacket>,
    una: u32,
    nxt: u32,
}

impl Outstanding {
    fn len(&self) -> u32 {
        self.nxt - self.una
    }

    #[inline(always)]
    fn get(&self, sequence: u32) -> SentPacket {
        self.places[sequence as usize & self.places.len().wrapping_sub(1)]
    }

    #[inline(always)]
    fn get_mut(&mut self, sequence: u32) -> &mut SentPacket {
        let mask = self.places.len().wrapping_sub(1);
        &mut self.places[sequence as usize & mask]
    }

    /// The next packet is sent.
    #[inline(always)]
    fn push(&mut self, sent: Time) {
        if self.len() as usize == self.places.len() {
            self.grow();
        }
        *self.get_mut(self.nxt) = SentPacket { sent, flags: 0 };
        self.nxt += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger =
            Outstanding { places: vec![SentPacket::default(); 2 * self.places.len().max(8)], ..*self };
        for sequence in self.una..self.nxt {
            *larger.get_mut(sequence) = self.get(sequence);
        }
        *self = larger;
    }
}

/// State of RACK. Its time does not depend on the number of packets in flight: those that were sent once are
/// in order of time as they are in order of sequence numbers, and those sent again are in a list of their
/// own (Linux has one list, `tsorted_sent_queue`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    packets: Outstanding,
    /// All packets below are sacked, lost, or were retransmitted: none is lost by its first transmission.
    first_unsettled: u32,
    /// Retransmissions in order of time; entries that are not the last transmission of their packet are
    /// stale.
    retransmissions: VecDeque<(Time, u32)>,
    /// The blocks of the last ACK that had some: most ACKs repeat most of them.
    last_sack: Sack,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// How often packets were marked lost.
    lost: u32,
    /// The delivered packet that was sent last: RACK.xmit_ts and RACK.end_seq.
    latest_delivered: Option<(Time, u32)>,
    /// RACK.rtt
    rtt: Span,
    /// RACK.min_RTT
    min_rtt: Option<Span>,
    /// No packet below awaits retransmission.
    retransmit_hint: u32,
}

/// What an ACK delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) packets: u32,
    /// When the packet that gives the RTT sample was sent, if there is one.
    pub(crate) sample: Option<Time>,
    /// When the last of the delivered packets was sent, if it gives a sample: the RTT without the time that
    /// the receiver may have delayed the ACK (Linux: ca_rtt_us).
    pub(crate) latest: Option<Time>,
    /// Of the delivered packets, if there are some, the one sent last: when, and which.
    pub(crate) newest: (Time, u32),
}

/// What RACK_detect_loss found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detected {
    /// Packets newly marked lost.
    pub(crate) lost: u32,
    /// When to check again for packets that may only be reordered (the reordering timer).
    pub(crate) reo_timeout: Option<Time>,
}

impl Rack {
    /// Packet `sequence` is sent or retransmitted (section 6.1).
    #[inline]
    pub(crate) fn on_send(&mut self, sequence: u32, now: Time) {
        if sequence == self.packets.nxt {
            self.packets.push(now);
        } else {
            self.on_retransmit(sequence, now);
        }
    }

    fn on_retransmit(&mut self, sequence: u32, now: Time) {
        let packet = self.packets.get_mut(sequence);
        packet.sent = now;
        self.retrans_out += u32::from(packet.flags & RETRANSMITTED == 0);
        packet.flags |= RETRANSMITTED | EVER_RETRANSMITTED;
        self.retransmissions.push_back((now, sequence));
    }

    /// Whether no outstanding packet is sacked or lost, or was retransmitted: a retransmission counts until
    /// it is delivered or lost.
    #[inline]
    pub(crate) fn is_clean(&self) -> bool {
        self.sacked_out + self.lost_out + self.retrans_out == 0
    }

    /// An ACK up to `next`, at most the last packet sent, while [`Rack::is_clean`]. `next` is above the first
    /// unacknowledged packet.
    #[inline]
    pub(crate) fn on_clean_ack(&mut self, next: u32, now: Time) -> Delivery {
        let una = std::mem::replace(&mut self.packets.una, next);
        let (first, last) = (self.packets.get(una).sent, self.packets.get(next - 1).sent);
        if self.latest_delivered.is_none_or(|latest| (last, next - 1) > latest) {
            self.latest_delivered = Some((last, next - 1));
            self.rtt = now - last;
        }
        let delivery = Delivery {
            packets: next - una,
            sample: Some(first),
            latest: Some(last),
            newest: (last, next - 1),
        };
        self.take_min_rtt(&delivery, now);
        delivery
    }

    fn take_min_rtt(&mut self, delivery: &Delivery, now: Time) {
        if let Some(sent) = delivery.sample {
            self.min_rtt = Some(self.min_rtt.map_or(now - sent, |min_rtt| min_rtt.min(now - sent)));
        }
    }

    /// An ACK up to `next` with SACK blocks `sack` (section 6.2, steps 1 and 2).
    pub(crate) fn on_ack(&mut self, next: u32, sack: &Sack, now: Time) -> Delivery {
        let next = next.min(self.packets.nxt);
        if next > self.packets.una && self.is_clean() && sack[0].1 == 0 {
            return self.on_clean_ack(next, now);
        }
        let mut delivery = Delivery::default();
        let mut is_ambiguous = false;
        while self.packets.una < next {
            let sequence = self.packets.una;
            let packet = self.packets.get(sequence);
            self.packets.una += 1;
            self.uncount(packet.flags);
            if packet.flags & SACKED == 0 {
                is_ambiguous |= packet.flags & EVER_RETRANSMITTED != 0;
                delivery.sample = delivery.sample.or(Some(packet.sent));
                delivery.latest = Some(packet.sent);
                self.deliver(sequence, packet, now, &mut delivery);
            }
        }
        if is_ambiguous {
            (delivery.sample, delivery.latest) = (None, None);
        }
        if sack[0].1 > 0 {
            self.take_blocks(sack, is_ambiguous, now, &mut delivery);
        }
        self.take_min_rtt(&delivery, now);
        delivery
    }

    fn take_blocks(&mut self, sack: &Sack, is_ambiguous: bool, now: Time, delivery: &mut Delivery) {
        let Outstanding { una, nxt, .. } = self.packets;
        for &(first, end) in sack {
            let (mut sequence, end) = (first.max(una), end.min(nxt));
            while sequence < end {
                if let Some(known) =
                    self.last_sack.iter().find(|known| (known.0..known.1).contains(&sequence))
                {
                    sequence = known.1;
                    continue;
                }
                let packet = self.packets.get(sequence);
                if packet.flags & SACKED == 0 {
                    self.uncount(packet.flags);
                    self.packets.get_mut(sequence).flags = packet.flags & EVER_RETRANSMITTED | SACKED;
                    self.sacked_out += 1;
                    if packet.flags & EVER_RETRANSMITTED == 0 && !is_ambiguous {
                        delivery.sample = delivery.sample.or(Some(packet.sent));
                        delivery.latest = Some(packet.sent);
                    }
                    self.deliver(sequence, packet, now, delivery);
                }
                sequence += 1;
            }
        }
        self.last_sack = sack.map(|(first, end)| (first, end.min(nxt)));
    }

    fn uncount(&mut self, flags: u8) {
        self.sacked_out -= u32::from(flags & SACKED != 0);
        self.lost_out -= u32::from(flags & LOST != 0);
        self.retrans_out -= u32::from(flags & RETRANSMITTED != 0);
    }

    /// Section 6.2, step 2: update RACK.rtt and the latest delivered packet.
    fn deliver(&mut self, sequence: u32, packet: SentPacket, now: Time, delivery: &mut Delivery) {
        delivery.packets += 1;
        delivery.newest = delivery.newest.max((packet.sent, sequence));
        let rtt = now - packet.sent;
        if packet.flags & EVER_RETRANSMITTED != 0 && self.min_rtt.is_some_and(|min_rtt| rtt < min_rtt) {
            return; // too early for the retransmission: the ACK is for the original
        }
        if self.latest_delivered.is_none_or(|latest| (packet.sent, sequence) > latest) {
            self.latest_delivered = Some((packet.sent, sequence));
            self.rtt = rtt;
        }
    }

    /// Section 6.2, step 5 (RACK_detect_loss): mark packets lost that were sent before the latest delivered
    /// one, at least a round trip and the reordering window ago.
    pub(crate) fn detect_loss(&mut self, is_recovering: bool, srtt_ns: f64, now: Time) -> Detected {
        let mut detected = Detected { lost: 0, reo_timeout: None };
        let Some((sent, sequence)) = self.latest_delivered else { return detected };
        let reo_wnd = if is_recovering || self.sacked_out >= DUP_THRESH {
            Span::ZERO
        } else {
            self.min_rtt.map_or(Span::ZERO, |min_rtt| (min_rtt / 4).min(Span(srtt_ns as u64)))
        };
        self.detect_first_transmissions(sent, sequence, reo_wnd, now, &mut detected);
        self.detect_retransmissions(sent, sequence, reo_wnd, now, &mut detected);
        detected
    }

    /// The part of packets that were sent once.
    #[inline]
    fn detect_first_transmissions(
        &mut self,
        latest_sent: Time,
        latest_sequence: u32,
        reo_wnd: Span,
        now: Time,
        detected: &mut Detected,
    ) {
        let mut sequence = self.first_unsettled.max(self.packets.una);
        let mut all_settled = true;
        while sequence < self.packets.nxt {
            let packet = self.packets.get(sequence);
            if packet.flags == 0 {
                if (packet.sent, sequence) >= (latest_sent, latest_sequence) {
                    break;
                }
                let timeout = packet.sent + self.rtt + reo_wnd;
                if timeout > now {
                    detected.reo_timeout = detected.reo_timeout.max(Some(timeout));
                    all_settled = false;
                } else {
                    self.mark_lost(sequence);
                    detected.lost += 1;
                }
            }
            sequence += 1;
            if all_settled {
                self.first_unsettled = sequence;
            }
        }
    }

    /// The part of retransmissions.
    #[inline]
    fn detect_retransmissions(
        &mut self,
        latest_sent: Time,
        latest_sequence: u32,
        reo_wnd: Span,
        now: Time,
        detected: &mut Detected,
    ) {
        let mut i = 0;
        while let Some(&(sent, sequence)) = self.retransmissions.get(i) {
            let is_stale = sequence < self.packets.una || {
                let packet = self.packets.get(sequence);
                packet.sent != sent
                    || packet.flags & SACKED != 0
                    || packet.flags & (LOST | RETRANSMITTED) == LOST
            };
            if !is_stale && (sent, sequence) >= (latest_sent, latest_sequence) {
                break;
            }
            let timeout = sent + self.rtt + reo_wnd;
            if !is_stale && timeout > now {
                detected.reo_timeout = detected.reo_timeout.max(Some(timeout));
                i += 1;
                continue;
            }
            if !is_stale {
                self.mark_lost(sequence);
                detected.lost += 1;
            }
            if i == 0 {
                self.retransmissions.pop_front();
            } else {
                i += 1;
            }
        }
    }

    fn mark_lost(&mut self, sequence: u32) {
        let flags = &mut self.packets.get_mut(sequence).flags;
        self.lost_out += u32::from(*flags & LOST == 0);
        self.lost += u32::from(*flags & (LOST | RETRANSMITTED) != LOST);
        self.retrans_out -= u32::from(*flags & RETRANSMITTED != 0);
        *flags = *flags & !RETRANSMITTED | LOST;
        self.retransmit_hint = self.retransmit_hint.min(sequence);
    }

    /// Section 6.3 (RACK_mark_losses_on_RTO): the first packet is lost, and all that were sent more than a
    /// round trip ago.
    pub(crate) fn mark_losses_on_rto(&mut self, now: Time) {
        for sequence in self.packets.una..self.packets.nxt {
            let packet = self.packets.get(sequence);
            let is_recent = sequence > self.packets.una && packet.sent + self.rtt > now;
            if packet.flags & SACKED == 0 && !is_recent {
                self.mark_lost(sequence);
            }
        }
    }

    /// Packets in flight (Linux: tcp_packets_in_flight).
    pub(crate) fn pipe(&self) -> u32 {
        self.packets.len() - self.sacked_out - self.lost_out + self.retrans_out
    }

    /// The lowest packet that is lost and not retransmitted.
    pub(crate) fn next_lost(&mut self) -> Option<u32> {
        if self.lost_out == 0 {
            return None;
        }
        let from = self.retransmit_hint.max(self.packets.una);
        let is_waiting = |flags: u8| flags & (LOST | RETRANSMITTED) == LOST;
        let lost = (from..self.packets.nxt).find(|sequence| is_waiting(self.packets.get(*sequence).flags));
        self.retransmit_hint = lost.unwrap_or(u32::MAX);
        lost
    }

    /// How often packets were marked lost, in all.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether a lost packet is not retransmitted yet.
    pub(crate) fn awaits_retransmission(&self) -> bool {
        self.lost_out > self.retrans_out
    }

    pub(crate) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }

    /// The last packet sent, unless it is sacked: what a tail loss probe retransmits.
    pub(crate) fn tail(&self) -> Option<u32> {
        let tail = (self.packets.len() > 0).then(|| self.packets.nxt - 1)?;
        (self.packets.get(tail).flags & SACKED == 0).then_some(tail)
    }

    /// When the first unacknowledged packet was sent last.
    pub(crate) fn head_sent(&self) -> Option<Time> {
        (self.packets.len() > 0).then(|| self.packets.get(self.packets.una).sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet, and every time at which it was sent.
    #[derive(Clone, Debug, Default)]
    struct Sent {
        times: Vec<Time>,
        is_sacked: bool,
        is_lost: bool,
        is_in_flight_again: bool,
    }

    /// RACK as RFC 8985 has it: it visits all packets for each ACK.
    #[derive(Debug, Default)]
    struct Model {
        una: u32,
        packets: Vec<Sent>,
        latest: Option<(Time, u32)>,
        rtt: Span,
        min_rtt: Option<Span>,
    }

    impl Model {
        fn outstanding(&self) -> impl Iterator<Item = (u32, &Sent)> {
            (0..).zip(&self.packets).skip(self.una as usize)
        }

        fn on_send(&mut self, sequence: u32, now: Time) {
            self.packets.resize(self.packets.len().max(sequence as usize + 1), Sent::default());
            let packet = &mut self.packets[sequence as usize];
            packet.is_in_flight_again = !packet.times.is_empty();
            packet.times.push(now);
        }

        fn on_ack(&mut self, next: u32, sack: &Sack, now: Time) -> Delivery {
            let acked = (self.una..next).filter(|sequence| !self.packets[*sequence as usize].is_sacked);
            let acked: Vec<u32> = acked.collect();
            let in_blocks = sack.iter().flat_map(|(first, end)| *first..*end);
            let sacked =
                in_blocks.filter(|sequence| *sequence >= next && !self.packets[*sequence as usize].is_sacked);
            let sacked: Vec<u32> = sacked.collect();
            self.una = next;
            let mut delivery =
                Delivery { packets: (acked.len() + sacked.len()) as u32, ..Delivery::default() };
            let is_ambiguous = acked.iter().any(|sequence| self.packets[*sequence as usize].times.len() > 1);
            for sequence in acked.into_iter().chain(sacked) {
                let packet = &mut self.packets[sequence as usize];
                let (sent, is_again) = (*packet.times.last().unwrap(), packet.times.len() > 1);
                (packet.is_sacked, packet.is_lost, packet.is_in_flight_again) =
                    (sequence >= next, false, false);
                if !is_again && !is_ambiguous {
                    delivery.sample = delivery.sample.or(Some(sent));
                    delivery.latest = Some(sent);
                }
                delivery.newest = delivery.newest.max((sent, sequence));
                let is_spurious = is_again && self.min_rtt.is_some_and(|min_rtt| now - sent < min_rtt);
                if !is_spurious && self.latest.is_none_or(|latest| (sent, sequence) > latest) {
                    (self.latest, self.rtt) = (Some((sent, sequence)), now - sent);
                }
            }
            if let Some(sent) = delivery.sample {
                self.min_rtt = Some(self.min_rtt.unwrap_or(Span(u64::MAX)).min(now - sent));
            }
            delivery
        }

        fn detect_loss(&mut self, is_recovering: bool, srtt_ns: f64, now: Time) -> (u32, Option<Time>) {
            let sacked = self.outstanding().filter(|(_, packet)| packet.is_sacked).count();
            let Some(latest) = self.latest else { return (0, None) };
            let has_no_window = is_recovering || sacked >= DUP_THRESH as usize;
            let reo_wnd = self.min_rtt.map_or(Span::ZERO, |min_rtt| (min_rtt / 4).min(Span(srtt_ns as u64)));
            let reo_wnd = if has_no_window { Span::ZERO } else { reo_wnd };
            let (mut lost, mut reo_timeout) = (0, None);
            for (sequence, packet) in (0..).zip(&mut self.packets).skip(self.una as usize) {
                let is_candidate = !packet.is_sacked && (!packet.is_lost || packet.is_in_flight_again);
                let sent = *packet.times.last().unwrap();
                if is_candidate && (sent, sequence) < latest {
                    let timeout = sent + self.rtt + reo_wnd;
                    if timeout > now {
                        reo_timeout = reo_timeout.max(Some(timeout));
                    } else {
                        (packet.is_lost, packet.is_in_flight_again) = (true, false);
                        lost += 1;
                    }
                }
            }
            (lost, reo_timeout)
        }

        fn mark_losses_on_rto(&mut self, now: Time) {
            let (una, rtt) = (self.una as usize, self.rtt);
            for (i, packet) in self.packets.iter_mut().enumerate().skip(una) {
                let is_recent = i > una && *packet.times.last().unwrap() + rtt > now;
                if !packet.is_sacked && !is_recent {
                    (packet.is_lost, packet.is_in_flight_again) = (true, false);
                }
            }
        }

        fn pipe(&self) -> u32 {
            let is_in_flight = |packet: &Sent| !packet.is_sacked && !packet.is_lost;
            let in_flight =
                |packet: &Sent| u32::from(is_in_flight(packet)) + u32::from(packet.is_in_flight_again);
            self.outstanding().map(|(_, packet)| in_flight(packet)).sum()
        }

        fn next_lost(&self) -> Option<u32> {
            let is_waiting = |packet: &Sent| packet.is_lost && !packet.is_in_flight_again;
            self.outstanding().find(|(_, packet)| is_waiting(packet)).map(|(sequence, _)| sequence)
        }
    }

    /// What happens next, after some milliseconds.
    #[derive(Clone, Debug)]
    enum Step {
        /// New packets are sent.
        Send(u32),
        /// Transmissions arrive or are lost, in the order of their times.
        Arrive(Vec<bool>),
        /// Lost packets are sent again.
        Retransmit(u32),
        Timeout,
        Probe,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (1u32..20).prop_map(Step::Send),
            5 => proptest::collection::vec(proptest::bool::weighted(0.8), 1..6).prop_map(Step::Arrive),
            3 => (1u32..8).prop_map(Step::Retransmit),
            1 => Just(Step::Timeout),
            1 => Just(Step::Probe),
        ]
    }

    proptest! {
        /// (Mutants: the packet after a known block is skipped, too.)
        #[test]
        fn agrees_with_a_walk_over_all_packets(
            steps in proptest::collection::vec((1u64..30, step(), any::<bool>()), 1..120),
        ) {
            let (mut rack, mut model) = (Rack::default(), Model::default());
            let mut now = Time::ZERO;
            // Transmissions in flight, and the blocks that the receiver reports, the latest first.
            let mut path: VecDeque<u32> = VecDeque::new();
            let mut received: Vec<bool> = Vec::new();
            let mut blocks: Vec<(u32, u32)> = Vec::new();
            for (ms, step, is_recovering) in steps {
                now += Span::from_millis(ms);
                let mut send = |sequence: u32, rack: &mut Rack, model: &mut Model| {
                    rack.on_send(sequence, now);
                    model.on_send(sequence, now);
                    path.push_back(sequence);
                };
                match step {
                    Step::Send(count) => {
                        for _ in 0..count {
                            send(model.packets.len() as u32, &mut rack, &mut model);
                        }
                        received.resize(model.packets.len(), false);
                    }
                    Step::Retransmit(count) => {
                        for _ in 0..count {
                            prop_assert_eq!(rack.next_lost(), model.next_lost());
                            let Some(lost) = model.next_lost() else { break };
                            send(lost, &mut rack, &mut model);
                        }
                    }
                    Step::Timeout => {
                        rack.mark_losses_on_rto(now);
                        model.mark_losses_on_rto(now);
                    }
                    Step::Probe => {
                        let tail = model.outstanding().last().filter(|(_, packet)| !packet.is_sacked);
                        prop_assert_eq!(rack.tail(), tail.map(|(sequence, _)| sequence));
                        if let Some(tail) = rack.tail() {
                            send(tail, &mut rack, &mut model);
                        }
                    }
                    Step::Arrive(arrives) => {
                        for arrives in arrives {
                            let Some(sequence) = path.pop_front() else { break };
                            if !arrives {
                                continue;
                            }
                            received[sequence as usize] = true;
                            let next = received.iter().position(|is| !is).unwrap_or(received.len()) as u32;
                            let below = received[..sequence as usize].iter().rev().take_while(|is| **is).count();
                            let above = received[sequence as usize..].iter().take_while(|is| **is).count();
                            let block = (sequence - below as u32, sequence + above as u32);
                            blocks.retain(|other| other.0 >= next && (other.1 < block.0 || other.0 > block.1));
                            if sequence >= next {
                                blocks.insert(0, block);
                            }
                            let mut sack = Sack::default();
                            sack.iter_mut().zip(&blocks).for_each(|(to, from)| *to = *from);
                            prop_assert_eq!(rack.on_ack(next, &sack, now), model.on_ack(next, &sack, now));
                            let detected = rack.detect_loss(is_recovering, 20e6, now);
                            let (lost, reo_timeout) = model.detect_loss(is_recovering, 20e6, now);
                            prop_assert_eq!((detected.lost, detected.reo_timeout), (lost, reo_timeout));
                        }
                    }
                }
                prop_assert_eq!(rack.pipe(), model.pipe());
                prop_assert_eq!(rack.min_rtt(), model.min_rtt);
                let head = model.outstanding().next().map(|(_, packet)| *packet.times.last().unwrap());
                prop_assert_eq!(rack.head_sent(), head);
            }
        }
    }
}
