//! How the end systems behave: one struct, one schema, presets that set many at once.
//!
//! The default of each option is what the RFCs say; the presets are what ns-2 did at three times. A rule
//! stands here if it moves a shared metric by more than one per cent; the sender asks these fields and
//! nothing else.

use serde::{Deserialize, Serialize};

/// Congestion control; for the first three the kind of loss recovery too, unless `sack` says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// RFC 5681: one hole per fast recovery.
    Reno,
    /// RFC 6582: partial acknowledgements repair one hole a round trip.
    Newreno,
    /// RFC 6675: selective acknowledgements.
    Sack,
    /// RFC 9438.
    Cubic,
    /// RFC 8257.
    Dctcp,
}

/// What a loss halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Halve {
    /// Half of the data in flight, whole packets (RFC 5681).
    Flight,
    /// Half of the window, not rounded (ns-2).
    Window,
}

/// Whose retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    /// RFC 6298 in exact time.
    Rfc6298,
    /// Samples counted in clock ticks, integer averages (ns-2, BSD).
    Ticks,
    /// Linux: the floor holds for the deviation, and timers expire at clock ticks.
    Linux,
}

/// Whose selective-acknowledgement bookkeeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scoreboard {
    /// RFC 6675: SetPipe and NextSeg.
    Rfc6675,
    /// ns-2 Sack1: a pipe counter, each hole repaired once.
    Sack1,
}

/// How marks are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// At most one cut a window of data, whatever for; below one packet the timer paces (RFC 3168).
    Rfc3168,
    /// ns-2: a mark after a time-out cuts again; marks that go on at a window of one packet or less
    /// double the time-out and keep it doubled; a loss or time-out after a mark's cut is repaired without
    /// another, and that time-out is not counted; CWR rides on retransmissions too.
    Ns2,
}

/// How recovery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// The window becomes `ssthresh`, or flight + 1 if that is less, so that no burst leaves (RFC 5681,
    /// RFC 6582).
    Deflate,
    /// The halved window stays, and the acknowledgement that ends recovery grows it (ns-2).
    Grow,
}

/// How a loss is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LossDetection {
    /// Three duplicates (RFC 5681, RFC 6675).
    Dupack,
    /// A packet sent later has arrived, and time; a probe for a lost tail (RFC 8985).
    Rack,
}

/// How the window comes down in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// At once.
    Window,
    /// In proportion to what arrives (RFC 6937).
    Prr,
}

/// Which ECN field data packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ect {
    /// ECT(0).
    Ect0,
    /// ECT(1): this sender answers marks as L4S does.
    Ect1,
}

/// How holes are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// One hole a fast recovery (RFC 5681).
    OneHole,
    /// One hole a round trip, by partial acknowledgements (RFC 6582).
    Partial,
    /// All holes, by selective acknowledgements.
    Sack,
}

/// What both ends of a connection do; [`super::schema`] has meaning, default and source of each.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "described in the schema, the one place")]
pub struct TcpOptions {
    pub variant: Variant,
    pub sack: bool,
    pub loss_detection: LossDetection,
    pub recovery: Recovery,
    pub byte_counting: bool,
    pub ecn: bool,
    pub ect: Ect,
    pub syn: bool,
    /// 0: by the packet size, as RFC 5681 says.
    pub initial_window: u32,
    pub receiver_window: u32,
    pub limited_transmit: bool,
    pub limited_retransmit: bool,
    /// 0: never delayed.
    pub delayed_ack: u64,
    pub quick_acks: u32,
    pub initial_rto: u64,
    pub min_rto: u64,
    pub max_rto: u64,
    pub granularity: u64,
    pub timer: Timer,
    pub halve: Halve,
    pub recovery_exit: Exit,
    /// 0: no limit.
    pub recovery_burst: u32,
    pub repeat_fast_retransmit: bool,
    pub scoreboard: Scoreboard,
    pub ect_on_retransmissions: bool,
    pub marks: Marks,
    pub sack_bytes: u32,
    /// 0: no wait.
    pub overhead: u64,
}

impl TcpOptions {
    pub(crate) fn repair(&self) -> Repair {
        match self.variant {
            _ if self.sack => Repair::Sack,
            Variant::Reno => Repair::OneHole,
            _ => Repair::Partial,
        }
    }

    /// When a timer set at `now` for `delay` expires: then, or under Linux at a tick of its clock.
    #[inline]
    pub(crate) fn expiry(&self, now: u64, delay: u64) -> u64 {
        if self.timer != Timer::Linux {
            return now + delay;
        }
        let tick = self.granularity.max(1);
        (now / tick).saturating_add(delay.div_ceil(tick)).saturating_mul(tick).max(now + 1)
    }
}
