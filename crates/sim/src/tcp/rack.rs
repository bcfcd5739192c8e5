//! RACK (RFC 8985): a packet is lost if one that was sent later has arrived and a round trip has passed. Every
//! packet carries the time of its last transmission, so a repair that is lost again is noticed too.
//!
//! Nothing reorders packets of a flow here, so the reordering window is what RFC 8985 (6.2) gives before any
//! reordering was seen: a quarter of the smallest round trip, and none once three packets have arrived
//! above a hole or repair is under way. Duplicate SACKs, which would widen it, are not modelled.

use super::scoreboard::THRESHOLD;
use crate::packet::Sack;
use std::collections::VecDeque;

const SACKED: u8 = 1;
/// Counts as lost.
const LOST: u8 = 2;
/// Was sent again since it last counted as lost, and is on its way.
const REPAIRED: u8 = 4;
/// Was ever sent again: no round-trip sample (Karn).
const AGAIN: u8 = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    at: u64,
    flags: u8,
}

/// Every packet from the first unacknowledged one on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    base: u32,
    packets: VecDeque<Sent>,
    /// Transmissions in order of time; one that is not the packet's last counts no more.
    order: VecDeque<(u64, u32)>,
    sacked: u32,
    lost: u32,
    repaired: u32,
    /// The delivered packet that was sent last (RACK.xmit_ts, RACK.end_seq), and its round trip.
    newest: Option<(u64, u32)>,
    rtt: u64,
    min_rtt: Option<u64>,
    /// Below this no packet waits for repair.
    repaired_below: u32,
}

/// What an acknowledgement delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) packets: u32,
    /// When the packet was sent that gives a round-trip sample.
    pub(crate) sample: Option<u64>,
}

impl Rack {
    /// Packet `sequence` leaves, for the first time or again.
    pub(crate) fn sent(&mut self, sequence: u32, now: u64) {
        let i = (sequence - self.base) as usize;
        if i == self.packets.len() {
            self.packets.push_back(Sent { at: now, flags: 0 });
        } else {
            let packet = &mut self.packets[i];
            packet.at = now;
            self.repaired += u32::from(packet.flags & REPAIRED == 0);
            packet.flags |= REPAIRED | AGAIN;
        }
        self.order.push_back((now, sequence));
    }

    /// An acknowledgement up to `next` with these blocks.
    pub(crate) fn acknowledge(&mut self, next: u32, sack: &Sack, now: u64) -> Delivery {
        let mut delivery = Delivery::default();
        let mut is_ambiguous = false;
        while self.base < next {
            let Some(packet) = self.packets.pop_front() else { break };
            let sequence = self.base;
            self.base += 1;
            self.uncount(packet.flags);
            if packet.flags & SACKED == 0 {
                is_ambiguous |= packet.flags & AGAIN != 0;
                delivery.sample = delivery.sample.or(Some(packet.at));
                self.deliver(sequence, packet, now, &mut delivery);
            }
        }
        if is_ambiguous {
            delivery.sample = None;
        }
        for &(first, end) in sack.iter().filter(|(first, end)| first < end) {
            let known = self.base + self.packets.len() as u32;
            for sequence in first.max(self.base)..end.min(known) {
                let i = (sequence - self.base) as usize;
                let packet = self.packets[i];
                if packet.flags & SACKED != 0 {
                    continue;
                }
                self.uncount(packet.flags);
                self.packets[i].flags = packet.flags & AGAIN | SACKED;
                self.sacked += 1;
                if packet.flags & AGAIN == 0 && !is_ambiguous {
                    delivery.sample = delivery.sample.or(Some(packet.at));
                }
                self.deliver(sequence, packet, now, &mut delivery);
            }
        }
        if let Some(sent) = delivery.sample {
            self.min_rtt = Some(self.min_rtt.map_or(now - sent, |least| least.min(now - sent)));
        }
        delivery
    }

    fn uncount(&mut self, flags: u8) {
        self.sacked -= u32::from(flags & SACKED != 0);
        self.lost -= u32::from(flags & LOST != 0);
        self.repaired -= u32::from(flags & REPAIRED != 0);
    }

    /// A packet has arrived: perhaps none sent later has (RFC 8985, 6.2, step 2).
    fn deliver(&mut self, sequence: u32, packet: Sent, now: u64, delivery: &mut Delivery) {
        delivery.packets += 1;
        let rtt = now - packet.at;
        if packet.flags & AGAIN != 0 && self.min_rtt.is_some_and(|least| rtt < least) {
            return; // so soon: that was an earlier copy
        }
        if self.newest.is_none_or(|newest| (packet.at, sequence) > newest) {
            self.newest = Some((packet.at, sequence));
            self.rtt = rtt;
        }
    }

    /// Step 5: packets sent before the newest delivered one, a round trip and the reordering window ago, are
    /// lost. Returns how many more, and when to look again.
    pub(crate) fn detect(&mut self, is_recovering: bool, srtt: f64, now: u64) -> (u32, Option<u64>) {
        let Some(newest) = self.newest else { return (0, None) };
        let patience = if is_recovering || self.sacked >= THRESHOLD {
            0
        } else {
            self.min_rtt.map_or(0, |least| (least / 4).min(srtt as u64))
        };
        let (mut found, mut again, mut i) = (0, None, 0);
        while let Some(&(at, sequence)) = self.order.get(i) {
            let stale = sequence < self.base || {
                let packet = self.packets[(sequence - self.base) as usize];
                packet.at != at || packet.flags & SACKED != 0 || packet.flags & (LOST | REPAIRED) == LOST
            };
            if !stale && (at, sequence) >= newest {
                break;
            }
            let due = at + self.rtt + patience;
            if !stale && due > now {
                again = again.max(Some(due));
                i += 1;
                continue;
            }
            if !stale {
                self.lose(sequence);
                found += 1;
            }
            if i == 0 {
                self.order.pop_front();
            } else {
                i += 1;
            }
        }
        (found, again)
    }

    fn lose(&mut self, sequence: u32) {
        let flags = &mut self.packets[(sequence - self.base) as usize].flags;
        self.lost += u32::from(*flags & LOST == 0);
        self.repaired -= u32::from(*flags & REPAIRED != 0);
        *flags = *flags & !REPAIRED | LOST;
        self.repaired_below = self.repaired_below.min(sequence);
    }

    /// A time-out: the first packet is lost, and with it all that were sent more than a round trip ago
    /// (6.3).
    pub(crate) fn lose_all(&mut self, now: u64) {
        for i in 0..self.packets.len() {
            let packet = self.packets[i];
            let is_recent = i > 0 && packet.at + self.rtt > now;
            if packet.flags & SACKED == 0 && !is_recent {
                self.lose(self.base + i as u32);
            }
        }
    }

    /// Packets on their way.
    pub(crate) fn pipe(&self) -> u32 {
        self.packets.len() as u32 - self.sacked - self.lost + self.repaired
    }

    /// The lowest packet that is lost and was not sent again.
    pub(crate) fn next_lost(&mut self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        let from = self.repaired_below.max(self.base);
        let hole = (from..self.base + self.packets.len() as u32)
            .find(|sequence| self.packets[(sequence - self.base) as usize].flags & (LOST | REPAIRED) == LOST);
        self.repaired_below = hole.unwrap_or(u32::MAX);
        hole
    }

    /// The smallest round trip.
    pub(crate) fn min_rtt(&self) -> Option<u64> {
        self.min_rtt
    }

    /// The last packet, if it has not arrived: what a probe sends again.
    pub(crate) fn last(&self) -> Option<u32> {
        let last = self.packets.back()?;
        (last.flags & SACKED == 0).then(|| self.base + self.packets.len() as u32 - 1)
    }

    /// When the first packet was sent.
    pub(crate) fn head_sent(&self) -> Option<u64> {
        self.packets.front().map(|packet| packet.at)
    }
}
