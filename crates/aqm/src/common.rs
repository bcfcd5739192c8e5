//! Parameters that several algorithms share; their meanings are in [`crate::config`].

use crate::{
    Context, Limit, Param, Range,
    config::choice,
    units::{Bytes, Size},
};

/// Whether the algorithm marks ECN-capable packets.
pub(crate) const ECN: Param = Param::derived("the queue's `ecn`").source("RFC 3168").tc("ecn");

/// Mean packet size, which converts between bytes and packets.
pub(crate) const MEAN_PACKET: Param = Param::derived("the true mean packet size on the wire")
    .unit("B")
    .range(PACKET_BYTES)
    .source("the scenario");

/// The link rate that an algorithm assumes.
pub(crate) const RATE: Param =
    Param::derived("the configured link rate").unit("bit/s").source("the scenario");

choice! {
    /// The size with which a packet counts in a virtual queue.
    pub enum VirtualMode {
        /// Its own.
        Byte = "byte",
        /// That of a mean packet.
        Packet = "packet",
    }
}

/// Whether a virtual queue counts bytes or mean packets.
pub(crate) const VIRTUAL_MODE: Param = Param::fixed("byte").source("a link sends bytes");

/// Allowed packet sizes, in bytes.
pub(crate) const PACKET_BYTES: Range = Range { min: 1.0, max: 4_294_967_295.0, above: false, below: false };

/// Allowed periods of a timer, in seconds.
pub(crate) const PERIOD: Range = Range { min: 1e-6, max: 1e6, above: false, below: false };

/// Allowed gains of a controller.
pub(crate) const GAIN: Range = Range { min: 0.0, max: 1e9, above: false, below: false };

/// `mean_packet` in bytes, the link's if it is not set.
pub(crate) fn mean_packet(set: Option<Bytes>, link: &Context) -> f64 {
    set.map_or(f64::from(link.mean_packet), |bytes| bytes.0)
}

/// The buffer limit as a size.
pub(crate) fn limit(link: &Context) -> Size {
    match link.limit {
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
