//! May a run take the fast path? The one place that decides, and says why not.

use super::Layout;
use crate::{
    plan::{Plan, TrafficKind},
    record::{FastPath, SlowPathReason},
};
use sojourn_aqm::Span;

/// Whether a run of `plan` takes the fast path; `is_plain`: it is the reference that the fast path is tested
/// against.
pub(crate) fn fast_path(plan: &Plan, layout: &Layout, measured: u32, is_plain: bool) -> FastPath {
    let reason = if is_plain {
        Some(SlowPathReason::Reference)
    } else if plan.trace.observes() {
        Some(SlowPathReason::PacketTrace)
    } else if plan.trace.cwnd {
        Some(SlowPathReason::WindowTrace)
    } else if layout.ports[measured as usize].varies {
        Some(SlowPathReason::VaryingRate)
    } else if layout.ports[measured as usize].holds_back() {
        Some(SlowPathReason::Shaper)
    } else if layout.ports[measured as usize].medium.is_some() {
        Some(SlowPathReason::Medium)
    } else if !layout.network.wires.is_empty() {
        Some(SlowPathReason::ImpairedLink)
    } else if layout.network.round_trips.is_empty() {
        Some(layout.obstacle)
    } else {
        None
    };
    reason.map_or(FastPath::Yes, FastPath::No)
}

/// Whether senders of this traffic do nothing but react to acknowledgements and to their timer.
pub(super) fn sender(kind: &TrafficKind) -> Result<(), SlowPathReason> {
    match kind {
        TrafficKind::UdpCbr { .. } | TrafficKind::UdpPoisson { .. } | TrafficKind::UdpOnoff { .. } => {
            Err(SlowPathReason::Datagrams)
        }
        TrafficKind::Tcp(tcp) if tcp.max_rate.is_some() => Err(SlowPathReason::RateCap),
        TrafficKind::Tcp(tcp) if tcp.options.overhead > Span::ZERO => Err(SlowPathReason::SendJitter),
        TrafficKind::Tcp(tcp) if tcp.options.pacing => Err(SlowPathReason::Pacing),
        TrafficKind::Tcp(tcp) if tcp.options.reports_feedback() => Err(SlowPathReason::Feedback),
        TrafficKind::Tcp(_) => Ok(()),
        _ => Err(SlowPathReason::Application),
    }
}
