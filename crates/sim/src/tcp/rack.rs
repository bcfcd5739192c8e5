//! RACK loss detection (RFC 8985): a packet is lost if a packet sent later was delivered and a round trip
//! plus the reordering window has passed since it was sent. The time of the last transmission is kept for
//! every packet, so a lost retransmission is detected too.
//!
//! Packets of a flow are never reordered in this simulator. The reordering window is therefore that of RFC
//! 8985, section 6.2, step 4, before reordering was seen: a quarter of the minimum RTT, and 0 in recovery or
//! once three packets are sacked. DSACK, which would widen it, is not implemented.

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

/// State of RACK; every packet from the first unacknowledged one on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    una: u32,
    packets: VecDeque<SentPacket>,
    /// Transmissions in order of time; entries that are not the last transmission of their packet are stale.
    by_time: VecDeque<(Time, u32)>,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
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
    pub(crate) fn on_send(&mut self, sequence: u32, now: Time) {
        let i = (sequence - self.una) as usize;
        if i == self.packets.len() {
            self.packets.push_back(SentPacket { sent: now, flags: 0 });
        } else {
            let packet = &mut self.packets[i];
            packet.sent = now;
            self.retrans_out += u32::from(packet.flags & RETRANSMITTED == 0);
            packet.flags |= RETRANSMITTED | EVER_RETRANSMITTED;
        }
        self.by_time.push_back((now, sequence));
    }

    /// An ACK up to `next` with SACK blocks `sack` (section 6.2, steps 1 and 2).
    pub(crate) fn on_ack(&mut self, next: u32, sack: &Sack, now: Time) -> Delivery {
        let mut delivery = Delivery::default();
        let mut is_ambiguous = false;
        while self.una < next {
            let Some(packet) = self.packets.pop_front() else { break };
            let sequence = self.una;
            self.una += 1;
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
        for &(first, end) in sack.iter().filter(|(first, end)| first < end) {
            let nxt = self.una + self.packets.len() as u32;
            for sequence in first.max(self.una)..end.min(nxt) {
                let i = (sequence - self.una) as usize;
                let packet = self.packets[i];
                if packet.flags & SACKED != 0 {
                    continue;
                }
                self.uncount(packet.flags);
                self.packets[i].flags = packet.flags & EVER_RETRANSMITTED | SACKED;
                self.sacked_out += 1;
                if packet.flags & EVER_RETRANSMITTED == 0 && !is_ambiguous {
                    delivery.sample = delivery.sample.or(Some(packet.sent));
                    delivery.latest = Some(packet.sent);
                }
                self.deliver(sequence, packet, now, &mut delivery);
            }
        }
        if let Some(sent) = delivery.sample {
            self.min_rtt = Some(self.min_rtt.map_or(now - sent, |min_rtt| min_rtt.min(now - sent)));
        }
        delivery
    }

    fn uncount(&mut self, flags: u8) {
        self.sacked_out -= u32::from(flags & SACKED != 0);
        self.lost_out -= u32::from(flags & LOST != 0);
        self.retrans_out -= u32::from(flags & RETRANSMITTED != 0);
    }

    /// Section 6.2, step 2: update RACK.rtt and the latest delivered packet.
    fn deliver(&mut self, sequence: u32, packet: SentPacket, now: Time, delivery: &mut Delivery) {
        delivery.packets += 1;
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
        let Some(latest) = self.latest_delivered else { return detected };
        let reo_wnd = if is_recovering || self.sacked_out >= DUP_THRESH {
            Span::ZERO
        } else {
            self.min_rtt.map_or(Span::ZERO, |min_rtt| (min_rtt / 4).min(Span(srtt_ns as u64)))
        };
        let mut i = 0;
        while let Some(&(sent, sequence)) = self.by_time.get(i) {
            let is_stale = sequence < self.una || {
                let packet = self.packets[(sequence - self.una) as usize];
                packet.sent != sent
                    || packet.flags & SACKED != 0
                    || packet.flags & (LOST | RETRANSMITTED) == LOST
            };
            if !is_stale && (sent, sequence) >= latest {
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
                self.by_time.pop_front();
            } else {
                i += 1;
            }
        }
        detected
    }

    fn mark_lost(&mut self, sequence: u32) {
        let flags = &mut self.packets[(sequence - self.una) as usize].flags;
        self.lost_out += u32::from(*flags & LOST == 0);
        self.retrans_out -= u32::from(*flags & RETRANSMITTED != 0);
        *flags = *flags & !RETRANSMITTED | LOST;
        self.retransmit_hint = self.retransmit_hint.min(sequence);
    }

    /// Section 6.3 (RACK_mark_losses_on_RTO): the first packet is lost, and all that were sent more than a
    /// round trip ago.
    pub(crate) fn mark_losses_on_rto(&mut self, now: Time) {
        for i in 0..self.packets.len() {
            let packet = self.packets[i];
            let is_recent = i > 0 && packet.sent + self.rtt > now;
            if packet.flags & SACKED == 0 && !is_recent {
                self.mark_lost(self.una + i as u32);
            }
        }
    }

    /// Packets in flight (Linux: tcp_packets_in_flight).
    pub(crate) fn pipe(&self) -> u32 {
        self.packets.len() as u32 - self.sacked_out - self.lost_out + self.retrans_out
    }

    /// The lowest packet that is lost and not retransmitted.
    pub(crate) fn next_lost(&mut self) -> Option<u32> {
        if self.lost_out == 0 {
            return None;
        }
        let from = self.retransmit_hint.max(self.una);
        let is_waiting = |flags: u8| flags & (LOST | RETRANSMITTED) == LOST;
        let lost = (from..self.una + self.packets.len() as u32)
            .find(|sequence| is_waiting(self.packets[(sequence - self.una) as usize].flags));
        self.retransmit_hint = lost.unwrap_or(u32::MAX);
        lost
    }

    pub(crate) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }

    /// The last packet sent, unless it is sacked: what a tail loss probe retransmits.
    pub(crate) fn tail(&self) -> Option<u32> {
        let tail = self.packets.back()?;
        (tail.flags & SACKED == 0).then(|| self.una + self.packets.len() as u32 - 1)
    }

    /// When the first unacknowledged packet was sent last.
    pub(crate) fn head_sent(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.sent)
    }
}
