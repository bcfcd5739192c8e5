//! What a gateway is asked to do, with every unit resolved. Python writes it as JSON. Times are nanoseconds, rates
//! bit/s, sizes bytes.

use serde::Deserialize;
use sojourn_aqm::{Algorithm, Conventions};
use sojourn_sim::plan::{Link, conventions};

/// A whole gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// When it ends; absent: when it is stopped.
    #[serde(default)]
    pub duration: Option<u64>,
    /// Statistics start here.
    #[serde(default)]
    pub warmup: u64,
    /// Samples this often; 0: none.
    #[serde(default)]
    pub interval: u64,
    /// Of every random number.
    #[serde(default)]
    pub seed: u64,
    /// Where packets come from and go to.
    pub devices: Vec<Device>,
    /// Who sits behind the devices.
    pub hosts: Vec<Host>,
    /// The bottleneck from left to right, with its queue.
    pub forward: Link,
    /// The same from right to left.
    pub backward: Link,
    /// The link whose queue is measured: 0 forward, 1 backward; absent: the one that carries more.
    #[serde(default)]
    pub measured: Option<u8>,
    /// Share of the packets that are lost behind the bottleneck, forward and backward.
    #[serde(default)]
    pub loss: [f64; 2],
    /// What traffic is called; the first rule that fits counts, and the last must fit everything.
    pub rules: Vec<Rule>,
    /// Class of each DiffServ code point that has one.
    #[serde(default)]
    pub classes: Vec<(u8, u8)>,
    /// Added to the length of every packet: the frame around it.
    #[serde(default)]
    pub overhead: u32,
    /// Size on the wire that algorithms count in.
    pub mean_packet: u32,
    /// Whose defaults algorithms have.
    #[serde(default, deserialize_with = "conventions")]
    pub conventions: Conventions,
    /// Real-time priority of the gateway's thread (SCHED_FIFO), 0 for none; taken where it is permitted.
    #[serde(default)]
    pub priority: u8,
    /// Algorithms beside the registry's, from whoever runs the plan.
    #[serde(skip)]
    pub algorithms: Vec<&'static Algorithm>,
}

/// A TUN device, open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its name, for messages.
    pub name: String,
    /// Its file descriptor, which the gateway duplicates.
    pub fd: i32,
}

/// Somebody behind a device: addresses with a link of their own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name, for messages.
    pub name: String,
    /// Number of its device.
    pub device: u32,
    /// On which side of the bottleneck it sits.
    pub side: Side,
    /// `10.0.0.1`, or a prefix `10.0.0.0/24`; the longest that fits counts.
    pub addresses: Vec<String>,
    /// Rate of the link between it and the bottleneck; absent: no limit.
    #[serde(default)]
    pub rate: Option<u64>,
    /// Propagation delay of that link, each way.
    #[serde(default)]
    pub delay: u64,
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

/// Which packets belong to a traffic.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name in results.
    pub name: String,
    /// Of which protocol.
    #[serde(default)]
    pub transport: Transport,
    /// First and last port of either end; empty: any.
    #[serde(default)]
    pub ports: Vec<(u16, u16)>,
    /// Prefixes of the address of either end; empty: any.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Class of its packets; absent: that of the code point.
    #[serde(default)]
    pub class: Option<u8>,
}

/// A rule's protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// All of them.
    #[default]
    Any,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}
