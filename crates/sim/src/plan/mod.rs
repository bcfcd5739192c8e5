//! The input of the simulator: a scenario with all units resolved. Times are nanoseconds, rates bit/s, sizes
//! bytes.
//!
//! Python writes a [`Plan`] as JSON. [`crate::Simulation::new`] checks it again, so that a run that starts
//! can finish.

pub(crate) mod validate;

use crate::{PlanError, nanoseconds, tcp::TcpOptions};
use serde::{Deserialize, Deserializer, de::Error};
use sojourn_aqm::{Algorithm, Conventions, Span, Time};

/// A whole scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Length of the run.
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    pub duration: Span,
    /// Start of the measurement window.
    #[serde(deserialize_with = "nanoseconds::time")]
    pub warmup: Time,
    /// How long at most the run continues after `duration`, until every transfer that began before has
    /// finished; absent: it ends. Nothing else is counted in this time.
    #[serde(default, deserialize_with = "nanoseconds::optional_span")]
    pub drain: Option<Span>,
    /// Parts of the run with counters of their own.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// Links and queues.
    pub topology: Topology,
    /// Groups of sources.
    pub traffic: Vec<Traffic>,
    /// Name of the measured queue; absent: the bottleneck of the dumbbell, or the only queue.
    #[serde(default)]
    pub measure: Option<String>,
    /// What to record besides the counters.
    #[serde(default)]
    pub trace: Trace,
    /// The preset that defaults of algorithms come from.
    #[serde(default, deserialize_with = "conventions")]
    pub conventions: Conventions,
    /// Algorithms in addition to those of the registry.
    #[serde(skip)]
    pub algorithms: Vec<&'static Algorithm>,
}

/// Deserialize the name of a preset. Plans stored by version 0.1 call [`Conventions::Rfc`] `default`.
///
/// # Errors
/// An unknown name.
pub fn conventions<'de, D: Deserializer<'de>>(input: D) -> Result<Conventions, D::Error> {
    let name = String::deserialize(input)?;
    let unknown = || D::Error::custom(format_args!("conventions = {name:?} is not a preset"));
    Conventions::find(if name == "default" { "rfc" } else { &name }).ok_or_else(unknown)
}

/// A part of the run with counters of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its name in the record.
    pub name: String,
    /// Its begin.
    #[serde(deserialize_with = "nanoseconds::time")]
    pub from: Time,
    /// Its end, at most that of the run.
    #[serde(deserialize_with = "nanoseconds::time")]
    pub to: Time,
}

/// Optional recording.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Interval of samples of queues and probes; absent: no samples.
    #[serde(default, deserialize_with = "nanoseconds::optional_span")]
    pub interval: Option<Span>,
    /// Record every drop at the measured queue.
    #[serde(default)]
    pub drops: bool,
    /// Record every change of every congestion window.
    #[serde(default)]
    pub cwnd: bool,
    /// Record every packet that enters or leaves the measured queue.
    #[serde(default)]
    pub packets: bool,
    /// Record the one-way delays of TCP; those of datagrams always are.
    #[serde(default)]
    pub delays: bool,
    /// Interval of samples of every flow; absent: no samples.
    #[serde(default, deserialize_with = "nanoseconds::optional_span")]
    pub flows: Option<Span>,
}

impl Trace {
    /// Whether flows or single packets are recorded, which needs each step of each packet at its own time.
    pub(crate) fn observes(&self) -> bool {
        self.packets || self.flows.is_some()
    }
}

/// The network.
#[allow(clippy::large_enum_variant, reason = "a run has one")]
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// Clients - R1 - bottleneck - R2 - servers.
    Dumbbell(Dumbbell),
    /// A graph of one-way links.
    Graph(Vec<Link>),
}

/// A dumbbell, with links in both directions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Bottleneck rate, R1 -> R2.
    pub rate: u64,
    /// Rate of R2 -> R1; absent: the same.
    #[serde(default)]
    pub reverse_rate: Option<u64>,
    /// Bottleneck propagation delay, one way.
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    pub delay: Span,
    /// Client side.
    pub access: Access,
    /// Server side.
    pub server: Access,
    /// The rate of R1 -> R2 over time, instead of `rate`.
    #[serde(default)]
    pub capacity: Option<Capacity>,
    /// What the wire R1 -> R2 does to packets.
    #[serde(default)]
    pub impairment: Option<Impairment>,
    /// The same of R2 -> R1.
    #[serde(default)]
    pub reverse_impairment: Option<Impairment>,
    /// The queue R1 -> R2.
    pub queue: QueueConfig,
    /// The queue R2 -> R1; absent: unbounded.
    #[serde(default)]
    pub reverse_queue: Option<QueueConfig>,
}

/// The links between hosts and one router.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Rate of each link.
    pub rate: u64,
    /// Propagation delays; host j uses entry j mod n.
    #[serde(deserialize_with = "nanoseconds::spans")]
    pub delays: Vec<Span>,
    /// Number of hosts, flow i on host i mod nodes; absent: every flow has its own host.
    #[serde(default)]
    pub nodes: Option<u32>,
}

/// A one-way link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The node it starts at.
    pub from: String,
    /// The node it ends at.
    pub to: String,
    /// Its rate.
    pub rate: u64,
    /// Its propagation delay.
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    pub delay: Span,
    /// The rate over time, instead of `rate`.
    #[serde(default)]
    pub capacity: Option<Capacity>,
    /// What its wire does to packets.
    #[serde(default)]
    pub impairment: Option<Impairment>,
    /// A queue with a limit; absent: unbounded, the link never drops a packet.
    #[serde(default)]
    pub queue: Option<QueueConfig>,
}

/// A rate that changes with time.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Capacity {
    /// A random rate for each interval.
    Redraw {
        /// Length of an interval.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        every: Span,
        /// The rate, bit/s.
        rate: Draw,
    },
    /// A sequence of rates.
    Steps {
        /// Duration of each step, and its rate.
        #[serde(deserialize_with = "nanoseconds::steps")]
        steps: Vec<(Span, u64)>,
        /// Whether the sequence repeats; otherwise the last rate stays.
        repeats: bool,
    },
}

/// What the wire of a link does to packets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Impairment {
    /// Which packets are lost.
    #[serde(default)]
    pub loss: Loss,
    /// Delay in addition to that of the link.
    #[serde(default)]
    pub delay: Option<ExtraDelay>,
    /// Whether a packet with a shorter delay waits for those before it.
    #[serde(default)]
    pub in_order: bool,
    /// The probability that a packet has no additional delay, and overtakes those that have.
    #[serde(default)]
    pub reorder: f64,
    /// Only each of this many packets may overtake: at least as many lie between two, the second included.
    #[serde(default = "one")]
    pub one_of: u32,
    /// The probability that a packet arrives twice.
    #[serde(default)]
    pub duplicate: f64,
}

impl Impairment {
    /// Check all values; `key` is the place of the impairment in its plan.
    ///
    /// # Errors
    /// The first value that is not possible.
    pub fn check(&self, key: &str) -> Result<(), PlanError> {
        validate::impairment(key, self)
    }
}

/// Which packets a wire loses.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each with this probability.
    Random(f64),
    /// By the state of a Markov chain, which may change behind each packet.
    GilbertElliott {
        /// The probability that the good state, which is the first one, changes to the bad one.
        p: f64,
        /// The probability that the bad state changes to the good one.
        r: f64,
        /// The probability of a loss in the good state.
        good: f64,
        /// The probability of a loss in the bad state.
        bad: f64,
    },
}

/// A delay that varies from packet to packet.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtraDelay {
    /// Drawn for each packet.
    Drawn(Draw),
    /// A function of time: the start of each step, and its delay. The last delay stays.
    Steps(#[serde(deserialize_with = "nanoseconds::pairs")] Vec<(Span, Span)>),
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
    /// How its link gets the medium; absent: the link has one for itself.
    #[serde(default)]
    pub medium: Option<Medium>,
}

/// How a link gets the medium that it shares with others, which are not simulated.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Medium {
    /// By contention: it sends packets in aggregates.
    Contention {
        /// The most packets of an aggregate.
        packets: u32,
        /// An aggregate that lasts this long takes no further packet.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        time: Span,
        /// The time before each aggregate, nanoseconds.
        overhead: Draw,
    },
    /// By request and grant.
    Grants {
        /// Time between two ticks, at which grants begin.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        cycle: Span,
        /// The least time from a request to its grant.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        delay: Span,
    },
}

/// A group of sources of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Its name in results.
    pub name: String,
    /// What it does.
    pub kind: TrafficKind,
    /// Number of sources (`web`: sessions; `tcp_short`: the number of flows follows from the arrival rate,
    /// and hosts are taken in turn).
    #[serde(default = "one")]
    pub count: u32,
    /// Send from the server side to the client side (dumbbell only).
    #[serde(default)]
    pub reverse: bool,
    /// Access links of this group, instead of those of the dumbbell.
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
    /// Shape of Pareto on and off times; absent: exponential.
    #[serde(default)]
    pub pareto: Option<f64>,
    /// Size of each datagram on the wire; absent: that of the kind.
    #[serde(default)]
    pub sizes: Option<Draw>,
    /// Delays the starts in steps.
    #[serde(default)]
    pub stagger: Option<Stagger>,
    /// When all sources stop; absent: never.
    #[serde(default, deserialize_with = "nanoseconds::optional_time")]
    pub stop: Option<Time>,
    /// Traffic class of its packets.
    #[serde(default)]
    pub class: u8,
    /// Spec of a marker for each source; absent: packets keep the class.
    #[serde(default)]
    pub marker: Option<String>,
    /// ECN field of datagrams; TCP has an option of its own.
    #[serde(default)]
    pub ecn: Ecn,
    /// When the receiver uses datagrams; absent: as they arrive.
    #[serde(default)]
    pub sink: Option<Sink>,
    /// Whether the receiver returns each datagram at once, as for `ping`; it has no effect on TCP.
    #[serde(default)]
    pub echo: bool,
    /// The codec of a call, for metrics; it has no effect on the run.
    #[serde(default)]
    pub codec: Option<String>,
}

/// When the receiver of datagrams uses them; those that arrive later are of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sink {
    /// This long after they were sent.
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    Deadline(Span),
    /// After an adaptive jitter buffer.
    JitterBuffer {
        /// Packets of a talkspurt, in which the delay of the buffer is constant.
        talkspurt: u32,
        /// The delay of the first talkspurt, in addition to that of the first packet.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        margin: Span,
    },
}

/// A ramp: the first `by` sources start at their time, the next `by` one `every` later, and so on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stagger {
    /// Time between two steps, drawn for each.
    pub every: Draw,
    /// Sources per step.
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
    /// TCP with unlimited data.
    Tcp(Tcp),
    /// TCP flows that arrive as a Poisson process and end.
    TcpShort {
        /// Flows per second.
        arrivals: f64,
        /// Payload bytes of each flow; absent: it sends for its `lifetime`.
        #[serde(default)]
        size: Option<Draw>,
        /// How long each flow has new data to send.
        #[serde(default)]
        lifetime: Option<Draw>,
        /// The TCP connection.
        tcp: Tcp,
    },
    /// TCP whose application writes packets at a constant rate during exponential on times.
    TcpOnoff {
        /// Rate in on times, in bits on the wire.
        rate: u64,
        /// Mean on time.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        on: Span,
        /// Mean off time.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        off: Span,
        /// The TCP connection.
        tcp: Tcp,
    },
    /// Web traffic: each object is fetched over a connection of its own.
    Web(Web),
    /// Adaptive video.
    Video(Video),
    /// Datagrams at a constant rate.
    UdpCbr {
        /// Rate of each source.
        rate: u64,
        /// Size on the wire.
        size: u32,
        /// Each gap is multiplied by a uniform draw from [1 - jitter, 1 + jitter].
        #[serde(default)]
        jitter: f64,
    },
    /// Datagrams as a Poisson process.
    UdpPoisson {
        /// Mean rate of each source.
        rate: u64,
        /// Mean size on the wire.
        size: u32,
    },
    /// Datagrams at a constant rate during exponential on times.
    UdpOnoff {
        /// Rate in on times.
        rate: u64,
        /// Size on the wire.
        size: u32,
        /// Mean on time.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        on: Span,
        /// Mean off time.
        #[serde(deserialize_with = "nanoseconds::deserialize")]
        off: Span,
    },
}

impl TrafficKind {
    /// The TCP connection, if any.
    pub(crate) fn tcp(&self) -> Option<&Tcp> {
        match self {
            TrafficKind::Tcp(tcp)
            | TrafficKind::TcpShort { tcp, .. }
            | TrafficKind::TcpOnoff { tcp, .. }
            | TrafficKind::Web(Web { tcp, .. })
            | TrafficKind::Video(Video { tcp, .. }) => Some(tcp),
            TrafficKind::UdpCbr { .. } | TrafficKind::UdpPoisson { .. } | TrafficKind::UdpOnoff { .. } => {
                None
            }
        }
    }

    /// The payload of a request, if clients send requests for the data.
    pub(crate) fn request(&self) -> Option<u32> {
        match self {
            TrafficKind::Web(Web { request, .. }) | TrafficKind::Video(Video { request, .. }) => {
                Some(*request)
            }
            _ => None,
        }
    }
}

/// Sessions of web traffic (HTTP/1.0): pages one after the other, each of several objects.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Pages of a session; absent: unlimited.
    #[serde(default)]
    pub pages: Option<u32>,
    /// Time from the end of a page, or from its start, to the start of the next.
    pub page_gap: Draw,
    /// Whether `page_gap` counts from the start of the previous page.
    #[serde(default)]
    pub from_start: bool,
    /// Objects per page, rounded up.
    pub objects: Draw,
    /// Time between the requests for two objects of a page.
    pub object_gap: Draw,
    /// Payload bytes of an object.
    pub size: Draw,
    /// The client aborts an object that has not arrived this long after its request; absent: never.
    #[serde(default)]
    pub patience: Option<Draw>,
    /// Payload bytes of a request, which is a single packet.
    pub request: u32,
    /// Whether the server responds when its acknowledgement of the request reaches the client, as in WebTraf
    /// of ns-2, and not when the request arrives.
    #[serde(default)]
    pub respond_late: bool,
    /// The TCP connections.
    pub tcp: Tcp,
}

/// Clients that play a video while they fetch it, segment by segment, each over one connection.
/// `next_rate` of `traffic/abr.rs` chooses the bitrate of each segment by the buffer of the player.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Bitrates in ascending order.
    pub ladder: Vec<u64>,
    /// Playing time of a segment.
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    pub segment: Span,
    /// The most playing time in the buffer: a segment is requested only if it fits.
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    pub buffer: Span,
    /// Playing begins, at first and after a stall, with this much in the buffer.
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    pub startup: Span,
    /// Up to this much in the buffer the lowest bitrate is chosen...
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    pub reservoir: Span,
    /// ...and from this much more on the highest.
    #[serde(deserialize_with = "nanoseconds::deserialize")]
    pub cushion: Span,
    /// Payload bytes of a request, which is a single packet.
    pub request: u32,
    /// The TCP connections.
    pub tcp: Tcp,
}

impl Video {
    /// Packets of a segment with this bitrate; all of them are full.
    pub(crate) fn packets(&self, rate: u64) -> u64 {
        let bytes = (u128::from(rate) * u128::from(self.segment.0)).div_ceil(8_000_000_000);
        bytes.div_ceil(u128::from(self.tcp.payload)).clamp(1, u128::from(u64::MAX)) as u64
    }
}

/// The ECN field of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// Not-ECT: they are dropped where others are marked.
    #[default]
    Off,
    /// ECT(0).
    Ect0,
    /// ECT(1), as for L4S.
    Ect1,
}

/// A TCP connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Payload of a full packet; with `payloads`, its mean.
    pub payload: u32,
    /// Payload of full packets, drawn by the number of the packet in its flow; absent: constant.
    #[serde(default)]
    pub payloads: Option<Draw>,
    /// Header bytes of a data packet.
    pub header: u32,
    /// Size of a pure ACK or SYN on the wire.
    pub ack: u32,
    /// Maximum rate of the connection, in bits on the wire, as by a shaper behind the sender.
    #[serde(default)]
    pub max_rate: Option<u64>,
    /// Options of both end systems.
    pub options: TcpOptions,
}

/// The distribution of a random number: nanoseconds, bytes, or a count.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// A constant.
    Constant(f64),
    /// Uniform between two bounds.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto with this mean and shape: its minimum is mean (shape - 1) / shape.
    Pareto(f64, f64),
    /// Normal with this mean and standard deviation; negative values are 0.
    Normal(f64, f64),
    /// Lomax (Pareto type II) with this mean and shape: a Pareto distribution shifted to start at 0.
    Lomax(f64, f64),
}
