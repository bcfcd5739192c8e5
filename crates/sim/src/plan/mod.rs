//! What the simulator is asked to do: a scenario with every unit resolved to plain numbers.
//!
//! The Python side writes it as JSON; a [`Plan`] is checked once more by [`crate::Simulation::new`], so
//! that a run that starts can finish. Times are nanoseconds, rates bit/s, sizes bytes.

pub(crate) mod validate;

use crate::tcp::TcpOptions;
use serde::{Deserialize, Deserializer, de::Error};
use sojourn_aqm::{Algorithm, Conventions};

/// A whole scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// End of the run.
    pub duration: u64,
    /// Statistics start here.
    pub warmup: u64,
    /// Links and queues.
    pub topology: Topology,
    /// Who sends.
    pub traffic: Vec<Traffic>,
    /// Name of the measured queue; the dumbbell's bottleneck or the only queue if absent.
    #[serde(default)]
    pub measure: Option<String>,
    /// What to record besides the counters.
    #[serde(default)]
    pub trace: Trace,
    /// Whose defaults algorithms have.
    #[serde(default, deserialize_with = "conventions")]
    pub conventions: Conventions,
    /// Algorithms beside the registry's, from whoever runs the plan.
    #[serde(skip)]
    pub algorithms: Vec<&'static Algorithm>,
}

/// Read the name of a preset.
///
/// # Errors
/// A word that names none.
pub fn conventions<'de, D: Deserializer<'de>>(input: D) -> Result<Conventions, D::Error> {
    let name = String::deserialize(input)?;
    let unknown = || D::Error::custom(format_args!("conventions = {name:?} is not a preset"));
    Conventions::find(&name).ok_or_else(unknown)
}

/// Recording.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Sample queues and probes this often; absent: no series.
    #[serde(default)]
    pub interval: Option<u64>,
    /// Record every drop at the measured queue.
    #[serde(default)]
    pub drops: bool,
    /// Record every change of every sender's window.
    #[serde(default)]
    pub cwnd: bool,
}

/// The graph, or a builder of it.
#[allow(clippy::large_enum_variant, reason = "there is one in a run")]
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// Clients - R1 - bottleneck - R2 - servers.
    Dumbbell(Dumbbell),
    /// Any graph of one-way links.
    Graph(Vec<Link>),
}

/// The classic topology; both directions exist.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Bottleneck rate.
    pub rate: u64,
    /// Bottleneck propagation delay, one way.
    pub delay: u64,
    /// Client side.
    pub access: Access,
    /// Server side.
    pub server: Access,
    /// What R1 -> R2 can carry, where that changes with time: instead of `rate`.
    #[serde(default)]
    pub capacity: Option<Capacity>,
    /// The queue R1 -> R2.
    pub queue: QueueConfig,
    /// The queue R2 -> R1; absent: never full.
    #[serde(default)]
    pub reverse_queue: Option<QueueConfig>,
}

/// The links between hosts and one router.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Rate of each.
    pub rate: u64,
    /// Delays; host j uses entry j mod n.
    pub delays: Vec<u64>,
    /// Number of hosts, flow i on host i mod nodes; absent: every flow has its own host.
    #[serde(default)]
    pub nodes: Option<u32>,
}

/// A one-way link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Where it starts.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Its rate.
    pub rate: u64,
    /// Its propagation delay.
    pub delay: u64,
    /// What it can carry, where that changes with time: instead of `rate`.
    #[serde(default)]
    pub capacity: Option<Capacity>,
    /// A queue with a limit; absent: the link never loses a packet.
    #[serde(default)]
    pub queue: Option<QueueConfig>,
}

/// A rate that changes with time.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Capacity {
    /// Drawn anew at regular times.
    Redraw {
        /// How often.
        every: u64,
        /// In bit/s.
        rate: Draw,
    },
    /// One rate after the other.
    Steps {
        /// How long each lasts, and bit/s.
        steps: Vec<(u64, u64)>,
        /// From the beginning again after the last; else that one stays.
        repeats: bool,
    },
}

/// A finite queue and its algorithm.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueConfig {
    /// Buffer limit, as in a spec (`100p`, `120kB`); the algorithm spec's own `limit` wins.
    pub limit: String,
    /// The algorithm spec.
    pub aqm: String,
    /// Whether ECN-capable packets are marked.
    #[serde(default)]
    pub ecn: bool,
}

/// A group of sources alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Its name in results.
    pub name: String,
    /// What it does.
    pub kind: TrafficKind,
    /// How many sources (for `tcp_short`: hosts are still taken in turn, flows come by the arrival rate;
    /// for `web`: sessions).
    #[serde(default = "one")]
    pub count: u32,
    /// From the server side to the client side (dumbbell only).
    #[serde(default)]
    pub reverse: bool,
    /// Own access links instead of the dumbbell's.
    #[serde(default)]
    pub access: Option<Access>,
    /// Sending hosts in a graph, taken in turn.
    #[serde(default)]
    pub from: Vec<String>,
    /// Receiving hosts in a graph, taken in turn.
    #[serde(default)]
    pub to: Vec<String>,
    /// When each source starts.
    pub start: Draw,
    /// On and off times are Pareto with this shape; absent: exponential.
    #[serde(default)]
    pub pareto: Option<f64>,
    /// Sizes on the wire of datagrams, drawn for each; absent: the one of its kind.
    #[serde(default)]
    pub sizes: Option<Draw>,
    /// Starts are spread in steps: a ramp.
    #[serde(default)]
    pub stagger: Option<Stagger>,
    /// When they all stop; absent: never.
    #[serde(default)]
    pub stop: Option<u64>,
    /// Traffic class of its packets.
    #[serde(default)]
    pub class: u8,
    /// The spec of the marker at the edge of each source; absent: packets keep the class.
    #[serde(default)]
    pub marker: Option<String>,
    /// ECN field of datagrams; TCP has its own option.
    #[serde(default)]
    pub ecn: Ecn,
}

/// Sources start some at a time: the first `by` at their start, the next `by` one `every` later, and so on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stagger {
    /// From one step to the next, drawn for each.
    pub every: Draw,
    /// Sources a step.
    #[serde(default = "one")]
    pub by: u32,
}

fn one() -> u32 {
    1
}

/// What a source does.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TrafficKind {
    /// TCP with endless data.
    Tcp(Tcp),
    /// TCP flows that arrive as a Poisson process and end.
    TcpShort {
        /// Flows per second.
        arrivals: f64,
        /// Payload bytes of each; absent: it sends for its `lifetime`.
        #[serde(default)]
        size: Option<Draw>,
        /// How long each has new data to send.
        #[serde(default)]
        lifetime: Option<Draw>,
        /// The connection.
        tcp: Tcp,
    },
    /// TCP whose application writes packets at a constant rate while on, exponential on and off times.
    TcpOnoff {
        /// Rate while on, in bits on the wire.
        rate: u64,
        /// Mean on time.
        on: u64,
        /// Mean off time.
        off: u64,
        /// The connection.
        tcp: Tcp,
    },
    /// People who look at pages: each object is fetched over a connection of its own.
    Web(Web),
    /// Constant rate datagrams.
    UdpCbr {
        /// Rate of each source.
        rate: u64,
        /// Size on the wire.
        size: u32,
        /// Each gap is multiplied by uniform(1 - jitter, 1 + jitter).
        #[serde(default)]
        jitter: f64,
    },
    /// Datagrams at a constant rate while on, exponential on and off times.
    UdpOnoff {
        /// Rate while on.
        rate: u64,
        /// Size on the wire.
        size: u32,
        /// Mean on time.
        on: u64,
        /// Mean off time.
        off: u64,
    },
}

impl TrafficKind {
    /// The connection, if it is carried by TCP.
    pub(crate) fn tcp(&self) -> Option<&Tcp> {
        match self {
            TrafficKind::Tcp(tcp)
            | TrafficKind::TcpShort { tcp, .. }
            | TrafficKind::TcpOnoff { tcp, .. }
            | TrafficKind::Web(Web { tcp, .. }) => Some(tcp),
            TrafficKind::UdpCbr { .. } | TrafficKind::UdpOnoff { .. } => None,
        }
    }
}

/// Sessions of web traffic: page after page, each of some objects (HTTP/1.0).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Pages of a session; absent: without end.
    #[serde(default)]
    pub pages: Option<u32>,
    /// From the end of a page, or from its start, to the start of the next.
    pub page_gap: Draw,
    /// `page_gap` counts from the start of the page before.
    #[serde(default)]
    pub from_start: bool,
    /// Objects of a page, rounded up.
    pub objects: Draw,
    /// Between the requests for two objects of a page.
    pub object_gap: Draw,
    /// Payload bytes of an object.
    pub size: Draw,
    /// An object that has not come this long after its request is given up; absent: never.
    #[serde(default)]
    pub patience: Option<Draw>,
    /// Payload bytes of a request, which is one packet.
    pub request: u32,
    /// The server answers when its acknowledgement of the request is back at the client, as ns-2's
    /// WebTraf does, and not already when the request arrives.
    #[serde(default)]
    pub respond_late: bool,
    /// The connections.
    pub tcp: Tcp,
}

/// What datagrams say of ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// They are dropped where others are marked.
    #[default]
    Off,
    /// ECT(0).
    Ect0,
    /// ECT(1), as of L4S.
    Ect1,
}

/// A TCP connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Payload of a full packet; the mean one where `payloads` says more.
    pub payload: u32,
    /// Payload of full packets, drawn for each by its number in the flow; absent: all alike.
    #[serde(default)]
    pub payloads: Option<Draw>,
    /// Header of every data packet.
    pub header: u32,
    /// Size of a pure ACK or SYN on the wire.
    pub ack: u32,
    /// Most that a connection sends, in bits on the wire, as by a shaper behind its sender.
    #[serde(default)]
    pub max_rate: Option<u64>,
    /// How the end systems behave.
    pub options: TcpOptions,
}

/// A number drawn per source: nanoseconds, bytes, or how many.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Always this.
    Constant(f64),
    /// Uniform between the two.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto with this mean and shape: at least mean (shape - 1) / shape.
    Pareto(f64, f64),
    /// Lomax, or Pareto of the second kind, with this mean and shape: a Pareto moved to begin at 0.
    Lomax(f64, f64),
}
