//! The options of TCP endpoints, as both ends read them; [`super::schema`] has the defaults and the presets.
//!
//! A rule in which the RFCs, ns-2 and Linux differ is an option if it changes a metric by more than one per
//! cent.

use crate::nanoseconds;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{Span, Time};

/// Declare an option that takes one of several words: an enum whose variants are named by these words.
macro_rules! choice {
    (
        $(#[$doc:meta])*
        pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The words, in the order of the variants.
            pub(super) const WORDS: &[&str] = &[$($word),*];

            /// The variant that is named by `word`, which is one of [`Self::WORDS`].
            pub(super) fn named(word: &str) -> $name {
                match word {
                    $($word => $name::$variant,)*
                    _ => unreachable!("the schema allows no other word"),
                }
            }
        }
    };
}

choice! {
    /// Congestion control; the first four also select the loss recovery, unless `sack` overrides it.
    pub enum Variant {
        /// Fast retransmit without fast recovery: every loss is followed by slow start.
        Tahoe = "tahoe",
        /// RFC 5681: a fast recovery retransmits one packet.
        Reno = "reno",
        /// RFC 6582: partial ACKs retransmit one packet per round trip.
        Newreno = "newreno",
        /// RFC 6675: recovery by selective acknowledgements.
        Sack = "sack",
        /// RFC 9438.
        Cubic = "cubic",
        /// RFC 8257.
        Dctcp = "dctcp",
        /// BBR version 1, as in Linux 6.1.
        Bbr = "bbr",
        /// As in Linux 6.1.
        Vegas = "vegas",
        /// Westwood+, as in Linux 6.1.
        Westwood = "westwood",
        /// RFC 6817, by one-way delays.
        Ledbat = "ledbat",
        /// draft-irtf-iccrg-ledbat-plus-plus.
        LedbatPlusPlus = "ledbat++",
        /// draft-briscoe-iccrg-prague-congestion-control, as in its implementation for Linux.
        Prague = "prague",
    }
}

choice! {
    /// What a congestion event takes a share of.
    pub enum Halve {
        /// FlightSize, in whole packets (RFC 5681, section 3.1, equation 4).
        Flight = "flight",
        /// The window, not rounded (ns-2).
        Window = "window",
    }
}

choice! {
    /// How the retransmission timeout is computed.
    pub enum Timer {
        /// RFC 6298 in exact time.
        Rfc6298 = "rfc6298",
        /// Samples in clock ticks, integer averages (ns-2, BSD).
        Ticks = "ticks",
        /// Linux: min_rto is a floor of the deviation, and timers expire at clock ticks.
        Linux = "linux",
    }
}

choice! {
    /// Which SACK-based loss recovery.
    pub enum Scoreboard {
        /// RFC 6675: SetPipe and NextSeg.
        Rfc6675 = "rfc6675",
        /// ns-2 Sack1: a pipe counter; each hole is retransmitted once.
        Sack1 = "sack1",
    }
}

choice! {
    /// The response to ECN echoes.
    pub enum Marks {
        /// At most one reduction per window of data; at a window of one packet the sender waits for the
        /// retransmission timer (RFC 3168, section 6.1.2).
        Rfc3168 = "rfc3168",
        /// ns-2: a mark after a timeout reduces the window again; repeated marks at a window of one packet or
        /// less double the timeout and keep it doubled; a loss or timeout after the reduction for a mark
        /// causes no second one, and that timeout is not counted; retransmissions carry CWR too.
        Ns2 = "ns2",
    }
}

choice! {
    /// How recovery ends.
    pub enum Exit {
        /// The window becomes ssthresh, or FlightSize + 1 if that is less, to avoid a burst (RFC 6582,
        /// section 3.2, step 3).
        Deflate = "deflate",
        /// The window stays at its reduced size, and the ACK that ends recovery increases it (ns-2).
        Grow = "grow",
    }
}

choice! {
    /// How a loss is detected.
    pub enum LossDetection {
        /// Three duplicate ACKs (RFC 5681, section 3.2; RFC 6675, section 5).
        Dupack = "dupack",
        /// RACK-TLP: a packet sent later was delivered, and time; a probe for a lost tail (RFC 8985).
        Rack = "rack",
    }
}

choice! {
    /// Which CUBIC.
    pub enum CubicForm {
        /// RFC 9438, with real numbers.
        Rfc9438 = "rfc9438",
        /// Linux 6.1: whole packets and clock ticks, and no faster growth once the window of Reno has reached
        /// the window before the cut.
        Linux = "linux",
    }
}

choice! {
    /// Which DCTCP.
    #[derive(Default)]
    pub enum DctcpForm {
        /// RFC 8257, with real numbers.
        #[default]
        Rfc8257 = "rfc8257",
        /// Linux 6.1: whole packets and 1024ths.
        Linux = "linux",
    }
}

choice! {
    /// How the window is reduced in recovery.
    pub enum Recovery {
        /// At its start.
        Window = "window",
        /// In proportion to what is delivered (RFC 6937).
        Prr = "prr",
    }
}

impl Variant {
    /// Whether connections use selective acknowledgements by default.
    pub(super) fn uses_sack(self) -> bool {
        !matches!(self, Variant::Tahoe | Variant::Reno | Variant::Newreno)
    }

    /// Whether a loss is followed by slow start, without fast recovery. So there is nothing for selective
    /// acknowledgements, RACK or PRR to do.
    #[inline]
    pub(super) fn goes_back(self) -> bool {
        self == Variant::Tahoe
    }

    /// Whether it needs the time of every packet, so `loss_detection rack`.
    pub(super) fn needs_rack(self) -> bool {
        matches!(
            self,
            Variant::Bbr
                | Variant::Vegas
                | Variant::Westwood
                | Variant::Ledbat
                | Variant::LedbatPlusPlus
                | Variant::Prague
        )
    }

    /// Whether it has a growth of its own ([`super::congestion`]'s `grow`).
    #[inline]
    pub(super) fn grows_itself(self) -> bool {
        matches!(self, Variant::Vegas | Variant::Ledbat | Variant::LedbatPlusPlus)
    }

    /// Whether it reads the receiver's timestamps.
    #[inline]
    pub(crate) fn needs_timestamps(self) -> bool {
        self == Variant::Ledbat
    }

    /// Whether it begins in the slow start of RFC 5681.
    pub(super) fn has_slow_start(self) -> bool {
        !matches!(self, Variant::Bbr | Variant::Ledbat | Variant::LedbatPlusPlus | Variant::Prague)
    }

    /// Whether it begins with two packets, if nothing else is configured.
    pub(super) fn begins_with_two(self) -> bool {
        matches!(self, Variant::Ledbat | Variant::LedbatPlusPlus)
    }

    /// Whether it sets the window itself, for every ACK; the sender reduces it for no loss and no mark.
    #[inline]
    pub(super) fn sets_window(self) -> bool {
        matches!(self, Variant::Bbr | Variant::Prague)
    }

    /// Whether packets are sampled for the delivery rate.
    #[inline]
    pub(super) fn samples_rate(self) -> bool {
        self == Variant::Bbr
    }

    /// Whether it sets a pacing rate.
    pub(super) fn paces(self) -> bool {
        matches!(self, Variant::Bbr | Variant::Prague)
    }

    /// Whether packets wait for pacing in a queue of the host (Linux: the discipline `fq`), not in TCP.
    #[inline]
    pub(super) fn is_paced_by_queue(self) -> bool {
        self == Variant::Prague
    }

    /// Whether it responds to the share of marked packets, as a scalable congestion control of L4S (RFC 9331,
    /// section 4.3).
    pub(crate) fn is_scalable(self) -> bool {
        matches!(self, Variant::Dctcp | Variant::Prague)
    }

    /// The codepoint of ECN-capable packets by default.
    pub(super) fn ect(self) -> Ect {
        match self {
            _ if self.is_scalable() => Ect::Ect1,
            _ => Ect::Ect0,
        }
    }
}

/// What ends slow start before a loss or a mark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HyStartForm {
    /// Nothing (RFC 5681).
    Off,
    /// The HyStart of Linux's CUBIC: longer round trips, or a train of ACKs over half a round trip.
    Linux,
    /// HyStart++: longer round trips, then growth at a quarter of the pace (RFC 9406).
    Rfc9406,
}

/// The ECN codepoint of data packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ect {
    /// ECT(0).
    Ect0,
    /// ECT(1), the identifier of L4S (RFC 9331).
    Ect1,
}

/// How lost packets are retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// One packet per fast recovery (RFC 5681, section 3.2).
    OneHole,
    /// One packet per round trip, on partial ACKs (RFC 6582).
    Partial,
    /// By the SACK scoreboard (RFC 6675).
    Sack,
}

/// The options of a connection; [`super::schema`] has meaning, default and source of each.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "described in the schema")]
pub struct TcpOptions {
    pub variant: Variant,
    pub cubic: CubicForm,
    #[serde(default)]
    pub dctcp: DctcpForm,
    pub hystart: HyStartForm,
    pub sack: bool,
    pub loss_detection: LossDetection,
    pub recovery: Recovery,
    pub byte_counting: bool,
    pub pacing: bool,
    pub ecn: bool,
    pub ect: Ect,
    #[serde(default)]
    pub accurate_ecn: bool,
    pub syn: bool,
    /// In packets; 0: by the packet size (RFC 5681, section 3.1).
    pub initial_window: u32,
    /// In packets.
    pub receiver_window: u32,
    pub limited_transmit: bool,
    pub limited_retransmit: bool,
    /// Zero: ACKs are not delayed.
    #[serde(with = "nanoseconds")]
    pub delayed_ack: Span,
    pub quick_acks: u32,
    #[serde(with = "nanoseconds")]
    pub initial_rto: Span,
    #[serde(with = "nanoseconds")]
    pub min_rto: Span,
    #[serde(with = "nanoseconds")]
    pub max_rto: Span,
    #[serde(with = "nanoseconds")]
    pub granularity: Span,
    pub timer: Timer,
    pub halve: Halve,
    pub recovery_exit: Exit,
    /// In packets; 0: no limit.
    pub recovery_burst: u32,
    pub repeat_fast_retransmit: bool,
    pub scoreboard: Scoreboard,
    pub ect_on_retransmissions: bool,
    pub marks: Marks,
    pub sack_bytes: u32,
    /// Zero: packets are sent without jitter.
    #[serde(with = "nanoseconds")]
    pub overhead: Span,
    /// Zero: packets reach the sender's link at once.
    #[serde(default, with = "nanoseconds")]
    pub send_jitter: Span,
}

impl TcpOptions {
    pub(crate) fn repair(&self) -> Repair {
        match self.variant {
            _ if self.sack => Repair::Sack,
            Variant::Reno => Repair::OneHole,
            _ => Repair::Partial,
        }
    }

    /// Whether every ACK reports more than packets that arrived and the echo of a mark.
    pub(crate) fn reports_feedback(&self) -> bool {
        self.accurate_ecn || self.variant.needs_timestamps()
    }

    /// The granularity of the retransmission clock, at least one nanosecond.
    #[inline]
    pub(crate) fn tick(&self) -> Span {
        self.granularity.max(Span(1))
    }

    /// When a timer that is set at `now` for `delay` expires; under Linux at the tick after.
    #[inline]
    pub(crate) fn expiry(&self, now: Time, delay: Span) -> Time {
        if self.timer != Timer::Linux {
            return Time(now.0 + delay.0); // on the fast path; a plan's times are too small to overflow
        }
        let tick = self.tick().0;
        let ticks = (now.0 / tick).saturating_add(delay.0.div_ceil(tick));
        Time(ticks.saturating_mul(tick)).max(now + Span(1))
    }
}
