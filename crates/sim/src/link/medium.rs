//! A medium that a link has to get before it transmits: by contention, as in Wi-Fi, or by request and grant,
//! as in DOCSIS and LTE.
//!
//! With contention the transmitter waits for an overhead (contention, preamble, the block ACK of the last
//! time), then sends an aggregate: the packets that wait when it begins, up to a number and a duration. All
//! of them arrive at its end. With grants the modem asks for what waits and is not granted yet, at an arrival
//! at an idle link and with each packet; a grant begins at the first tick of a cycle that is at least `delay`
//! later, and all grants of a tick together last at most a cycle.

use crate::plan;
use sojourn_aqm::{Span, Stream, Time};
use std::collections::VecDeque;

/// The state of the medium of a link.
#[derive(Clone, Debug)]
pub(crate) enum Medium {
    Contention(Contention),
    Grants(Grants),
}

impl Medium {
    /// The medium that `plan` describes, of the link called `link`.
    pub(crate) fn new(plan: plan::Medium, link: &str, seed: u64) -> Medium {
        match plan {
            plan::Medium::Contention { packets, time, overhead } => Medium::Contention(Contention {
                packets,
                time,
                overhead,
                draws: Stream::new(seed, &format!("link/{link}/medium")),
            }),
            plan::Medium::Grants { cycle, delay } => {
                Medium::Grants(Grants { cycle, delay, left: 0, granted: VecDeque::new(), total: 0 })
            }
        }
    }
}

/// Access by contention.
#[derive(Clone, Debug)]
pub(crate) struct Contention {
    /// The most packets of an aggregate.
    pub(crate) packets: u32,
    /// An aggregate that lasts this long takes no further packet.
    pub(crate) time: Span,
    overhead: plan::Draw,
    draws: Stream,
}

impl Contention {
    /// The time from now to the beginning of the next aggregate.
    pub(crate) fn overhead(&mut self) -> Span {
        self.overhead.span(&mut self.draws)
    }
}

/// Access by request and grant.
#[derive(Clone, Debug)]
pub(crate) struct Grants {
    cycle: Span,
    /// From a request to the earliest grant.
    delay: Span,
    /// Bytes that may be sent now. A packet that is longer than the rest of a grant uses a part of the next.
    left: i64,
    /// Future grants: the tick and the bytes; and the bytes of all.
    granted: VecDeque<(Time, u64)>,
    total: u64,
}

/// What a link with grants does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It sends a packet, and reports its size with [`Grants::sent`].
    Send,
    /// It waits for the grant of this time.
    Wait(Time),
    /// Nothing waits.
    Rest,
}

impl Grants {
    /// At `now` with `backlog` bytes at a link of `rate` bit/s: take the grants of this time, and ask for the
    /// rest of the backlog.
    pub(crate) fn turn(&mut self, now: Time, backlog: u64, rate: u64) -> Turn {
        while let Some((tick, bytes)) = self.granted.front()
            && *tick <= now
        {
            self.left += *bytes as i64;
            self.total -= *bytes;
            self.granted.pop_front();
        }
        if backlog == 0 {
            self.left = self.left.min(0); // what is not used is lost
            return Turn::Rest;
        }
        self.request(now, backlog, rate);
        match self.granted.front() {
            _ if self.left > 0 => Turn::Send,
            Some((tick, _)) => Turn::Wait(*tick),
            None => unreachable!("what waits is granted or asked for"),
        }
    }

    /// A packet of `bytes` was sent.
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.left -= i64::from(bytes);
    }

    /// Ask for what waits and is not granted yet. A tick that is full leaves the rest to the next one.
    fn request(&mut self, now: Time, backlog: u64, rate: u64) {
        let mut missing = (backlog as i64 - self.left - self.total as i64).max(0);
        self.total += missing as u64;
        let most = (u128::from(rate) * u128::from(self.cycle.0) / 8_000_000_000).max(1) as u64;
        let mut tick = self.tick_at(now + self.delay);
        while missing > 0 {
            match self.granted.back_mut() {
                Some((last, bytes)) if *last >= tick && *bytes < most => {
                    let more = (most - *bytes).min(missing as u64);
                    *bytes += more;
                    missing -= more as i64;
                }
                last => {
                    tick = last.map_or(tick, |(last, _)| tick.max(*last + self.cycle));
                    let bytes = most.min(missing as u64);
                    self.granted.push_back((tick, bytes));
                    missing -= bytes as i64;
                }
            }
        }
    }

    /// The first tick at `time` or later.
    fn tick_at(&self, time: Time) -> Time {
        Time(time.0.div_ceil(self.cycle.0) * self.cycle.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn grants() -> Grants {
        Grants { cycle: Span(2 * MS), delay: Span(3 * MS), left: 0, granted: VecDeque::new(), total: 0 }
    }

    fn at(ms: u64) -> Time {
        Time(ms * MS)
    }

    /// 8 Mbit/s: 2000 bytes in a cycle of 2 ms. Asked for at 1 ms, granted from 4 ms on: 2000, 2000, 1000.
    #[test]
    fn a_backlog_is_granted_tick_by_tick() {
        let mut grants = grants();
        assert_eq!(grants.turn(at(1), 5000, 8_000_000), Turn::Wait(at(4)));
        assert_eq!(grants.granted, [(at(4), 2000), (at(6), 2000), (at(8), 1000)]);
        assert_eq!(grants.turn(at(3), 5000, 8_000_000), Turn::Wait(at(4)), "nothing new to ask for");
        assert_eq!(grants.turn(at(4), 5000, 8_000_000), Turn::Send);
        grants.sent(1500);
        assert_eq!(grants.turn(Time(5_500_000), 3500, 8_000_000), Turn::Send, "500 bytes are left");
        grants.sent(1500);
        assert_eq!(grants.left, -1000);
        assert_eq!(grants.turn(at(7), 2000, 8_000_000), Turn::Send, "1000 of the tick at 6 ms");
        grants.sent(1500);
        assert_eq!(grants.turn(Time(8_500_000), 500, 8_000_000), Turn::Send, "500 of the tick at 8 ms");
        grants.sent(500);
        assert_eq!((grants.turn(at(9), 0, 8_000_000), grants.left), (Turn::Rest, 0));
    }

    /// An arrival while grants are due is asked for in addition, first in the tick that is not full.
    #[test]
    fn a_later_request_fills_the_last_tick() {
        let mut grants = grants();
        grants.turn(at(1), 1500, 8_000_000);
        assert_eq!(grants.turn(at(1), 3000, 8_000_000), Turn::Wait(at(4)));
        assert_eq!(grants.granted, [(at(4), 2000), (at(6), 1000)]);
        // At 4 ms the earliest tick is that of 8 ms, although that of 6 ms has room.
        grants.turn(at(4), 4000, 8_000_000);
        assert_eq!((grants.left, &grants.granted), (2000, &[(at(6), 1000), (at(8), 1000)].into()));
    }

    /// What is granted and not used is lost: packets were dropped in the queue.
    #[test]
    fn unused_grants_are_lost() {
        let mut grants = grants();
        grants.turn(at(1), 1500, 8_000_000);
        assert_eq!(grants.turn(at(4), 0, 8_000_000), Turn::Rest);
        assert_eq!(grants.turn(at(5), 1500, 8_000_000), Turn::Wait(at(8)));
    }
}
