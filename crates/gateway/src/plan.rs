//! The input of a gateway, with all units resolved. Python writes it as JSON. Times are nanoseconds, rates
//! bit/s, sizes bytes.

use serde::Deserialize;
use sojourn_aqm::{Algorithm, Conventions, Span, Time};
use sojourn_sim::{
    nanoseconds,
    plan::{Link, conventions},
};

/// A whole gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// When it ends; absent: when it is stopped.
    #[serde(default, deserialize_with = "nanoseconds::optional_span")]
    pub duration: Option<Span>,
    /// Start of the measurement window.
    #[serde(default, deserialize_with = "nanoseconds::time")]
    pub warmup: Time,
    /// Time between samples; 0: no samples. Without a duration, it doubles whenever there are 100,000
    /// samples.
    #[serde(default, deserialize_with = "nanoseconds::deserialize")]
    pub interval: Span,
    /// The seed of all random numbers.
    #[serde(default)]
    pub seed: u64,
    /// The devices that packets are read from and written to.
    pub devices: Vec<Device>,
    /// The hosts behind the devices.
    pub hosts: Vec<Host>,
    /// The bottleneck from left to right, with its queue and what its wire does to packets.
    pub forward: Link,
    /// The bottleneck from right to left, with the same.
    pub backward: Link,
    /// The link whose queue is measured: 0 forward, 1 backward; absent: the one that carried more bytes.
    #[serde(default)]
    pub measured: Option<u8>,
    /// Assigns packets to traffic: the first matching rule applies, and the last must match everything.
    pub rules: Vec<Rule>,
    /// Code points of DiffServ and their classes; others have class 0.
    #[serde(default)]
    pub classes: Vec<(u8, u8)>,
    /// Added to the length of every packet, for the frame.
    #[serde(default)]
    pub overhead: u32,
    /// The mean packet size on the wire that algorithms assume.
    pub mean_packet: u32,
    /// The preset of the defaults of algorithms.
    #[serde(default, deserialize_with = "conventions")]
    pub conventions: Conventions,
    /// Real-time priority (SCHED_FIFO) of the gateway thread, 0 for none; used where it is permitted.
    #[serde(default)]
    pub priority: u8,
    /// Algorithms in addition to those of the registry.
    #[serde(skip)]
    pub algorithms: Vec<&'static Algorithm>,
}

/// An open TUN device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its name, for messages.
    pub name: String,
    /// Its file descriptor, which the gateway duplicates.
    pub fd: i32,
    /// Where the kernel reports the arrival of packets; absent: a packet arrives when it is read.
    #[serde(default)]
    pub tap: Option<Tap>,
}

/// A packet socket that is not bound yet.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    /// Its file descriptor, which the gateway duplicates.
    pub fd: i32,
    /// The index of the device in the namespace of the socket.
    pub device: i32,
}

/// A host behind a device: addresses with a link of their own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name, for messages.
    pub name: String,
    /// Number of its device.
    pub device: u32,
    /// Its side of the bottleneck.
    pub side: Side,
    /// `10.0.0.1`, or a prefix `10.0.0.0/24`; the longest matching prefix applies.
    pub addresses: Vec<String>,
    /// Rate of the link between it and the bottleneck; absent: unlimited.
    #[serde(default)]
    pub rate: Option<u64>,
    /// Propagation delay of that link, one way.
    #[serde(default, deserialize_with = "nanoseconds::deserialize")]
    pub delay: Span,
}

/// A side of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Its packets go forward.
    Left,
    /// Its packets go backward.
    Right,
}

/// The packets that belong to a traffic.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name in results.
    pub name: String,
    /// The protocol.
    #[serde(default)]
    pub transport: Transport,
    /// Ranges of ports, of either end point; empty: any.
    #[serde(default)]
    pub ports: Vec<(u16, u16)>,
    /// Address prefixes, of either end point; empty: any.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Class of its packets; absent: that of the code point.
    #[serde(default)]
    pub class: Option<u8>,
}

/// The protocol of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Any protocol.
    #[default]
    Any,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}
