//! Whether a run took the fast path, or why not; [`crate::path::eligibility`] decides.

use std::fmt;

/// Whether a run took the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastPath {
    /// It did.
    Yes,
    /// It did not: the reason.
    No(SlowPathReason),
    /// Real packets were measured, not simulated.
    #[default]
    None,
}

/// Why a run takes the general engine. If flows have different reasons, the last in this order is kept: that
/// flow comes closest to the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SlowPathReason {
    /// The run uses the reference engine.
    Reference,
    /// Changes of congestion windows are recorded in the order of time.
    WindowTrace,
    /// Single packets or samples of flows are recorded.
    PacketTrace,
    /// The rate of the measured link changes with time.
    VaryingRate,
    /// The measured queue has a shaper.
    Shaper,
    /// The measured link has to get its medium.
    Medium,
    /// Packets are lost, delayed or duplicated on a link.
    ImpairedLink,
    /// Datagrams have no acknowledgements.
    Datagrams,
    /// Connections come and go, or the application limits the sending rate.
    Application,
    /// A shaper limits the rate of a connection.
    RateCap,
    /// A sender waits before it sends (`overhead`).
    SendJitter,
    /// A sender paces its packets.
    Pacing,
    /// Acknowledgements report more than packets that arrived.
    Feedback,
    /// Receivers at the ends of several links may delay acknowledgements.
    DelayedAcks,
    /// Several flows send on the same first link.
    SharedAccess,
    /// The sender's own link has a queue.
    QueueAtSender,
    /// Behind the measured queue, up to the sender, is another queue or a link that other packets enter.
    SharedPath,
}

impl SlowPathReason {
    /// In a few words.
    pub fn text(self) -> &'static str {
        match self {
            SlowPathReason::Reference => "the reference engine",
            SlowPathReason::WindowTrace => "traced congestion windows",
            SlowPathReason::PacketTrace => "traced packets or flows",
            SlowPathReason::VaryingRate => "a capacity that varies",
            SlowPathReason::Shaper => "a queue with a shaper",
            SlowPathReason::Medium => "a medium by contention or grants",
            SlowPathReason::ImpairedLink => "an impaired link",
            SlowPathReason::Datagrams => "no TCP traffic",
            SlowPathReason::Application => "no long-lived connections",
            SlowPathReason::RateCap => "a rate cap",
            SlowPathReason::SendJitter => "send jitter",
            SlowPathReason::Pacing => "paced packets",
            SlowPathReason::Feedback => "timestamps or accurate ECN feedback",
            SlowPathReason::DelayedAcks => "delayed acknowledgements of several hosts",
            SlowPathReason::SharedAccess => "flows that share an access link",
            SlowPathReason::QueueAtSender => "a queue on the sender's own link",
            SlowPathReason::SharedPath => "a shared link or a queue behind the measured one",
        }
    }
}

impl fmt::Display for FastPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FastPath::Yes => f.write_str("yes"),
            FastPath::No(reason) => write!(f, "no, {}", reason.text()),
            FastPath::None => f.write_str("no, real packets"),
        }
    }
}
