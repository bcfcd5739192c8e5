//! Parameters that several algorithms share, described once.

use crate::{
    DefaultValue::Derived, DefaultValue::Value as Fixed, Kind, Limit, Param, Range, Settings, SpecError,
    units::Size,
};

/// Whether this algorithm marks.
pub(crate) const ECN: Param = Param::new(
    "ecn",
    Kind::Flag,
    Derived("the queue's `ecn`"),
    "Mark ECN-capable packets instead of dropping them",
)
.source("RFC 3168")
.tc("ecn");

/// Mean packet size, the bridge between bytes and packets.
pub(crate) const MEAN_PACKET: Param = Param::new(
    "mean_packet",
    Kind::Size,
    Derived("the true mean packet size on the wire"),
    "Mean packet size in bytes: turns a rate or a byte count into packets",
)
.unit("B")
.range(PACKET_BYTES)
.source("the scenario");

/// The link rate that an algorithm believes in.
pub(crate) const RATE: Param = Param::new(
    "rate",
    Kind::Rate,
    Derived("the configured link rate"),
    "Link rate C that the algorithm works with",
)
.unit("bit/s")
.source("the scenario");

/// What a packet size may be, in bytes.
pub(crate) const PACKET_BYTES: Range = Range { min: 1.0, max: 4_294_967_295.0, above: false, below: false };

/// What a timer's period may be, in seconds.
pub(crate) const PERIOD: Range = Range { min: 1e-6, max: 1e6, above: false, below: false };

/// What a controller's gain may be.
pub(crate) const GAIN: Range = Range { min: 0.0, max: 1e9, above: false, below: false };

/// A packet size that must be written in bytes: `mean_packet 500` would silently mean 500 packets.
pub(crate) fn packet_bytes(settings: &Settings, name: &str) -> Result<f64, SpecError> {
    match settings.size(name) {
        Some(Size::Packets(_)) => Err(settings.error(name, "is not in bytes", "bytes, like 1000B")),
        _ => Ok(settings.packet_bytes(name)),
    }
}

/// What a virtual queue counts.
pub(crate) const VIRTUAL_MODE: Param = Param::new(
    "mode",
    Kind::Choice(&["byte", "packet"]),
    Fixed("byte"),
    "Whether a packet enters the virtual queue with its own size or with that of a mean packet",
)
.source("a link sends bytes");

/// The buffer limit as a size.
pub(crate) fn limit(settings: &Settings) -> Size {
    match settings.context.limit {
        Limit::Packets(n) => Size::Packets(f64::from(n)),
        Limit::Bytes(n) => Size::Bytes(n as f64),
    }
}

/// `size` in bytes or in packets, for packets of `mean_packet` bytes.
pub(crate) fn amount(size: Size, bytes: bool, mean_packet: f64) -> f64 {
    match (size, bytes) {
        (Size::Packets(n), true) => n * mean_packet,
        (Size::Bytes(n), false) => n / mean_packet,
        (size, _) => size.plain(),
    }
}
