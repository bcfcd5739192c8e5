//! What the flows of a traffic group share: TCP options, demand, routes.

use super::connection::full_packet;
use crate::{
    error::PlanError,
    packet::Packet,
    path::Route,
    plan::{self, Draw, Sink, Tcp, Traffic, TrafficKind, Web},
    tcp::Segment,
    traffic::{Demand, Edge, Starts},
};
use sojourn_aqm::{Class, Ecn, Span, Stream, Time};

/// A traffic group. Web traffic and video have a second one for their requests.
pub(crate) struct Group {
    pub(crate) kind: TrafficKind,
    /// The configuration of its connections, if its flows are TCP.
    tcp: Option<Tcp>,
    /// Index of its traffic in the plan.
    pub(crate) traffic: u32,
    pub(crate) class: Class,
    /// Its connections have an [`super::Application`].
    has_applications: bool,
    /// A full data packet of its connections: the template of most packets.
    pub(crate) full: Packet,
    /// The markers at the edge of the network, if there are some.
    pub(crate) edge: Option<Edge>,
    /// The ECN codepoint of datagrams.
    pub(crate) ecn: Ecn,
    pub(crate) demand: Demand,
    pub(crate) routes: Vec<Route>,
    /// Nodes that send (web traffic: the servers).
    pub(crate) senders: u32,
    /// Web traffic and video: the group of the requests.
    pub(crate) requests: u32,
    /// Web requests: the response starts when the client has the ACK of the request, not when the server
    /// receives it.
    pub(crate) responds_late: bool,
    /// Shape parameter of Pareto on and off times.
    pub(crate) pareto: Option<f64>,
    /// When the receiver uses datagrams.
    pub(crate) sink: Option<Sink>,
    /// Whether the receiver returns datagrams.
    pub(crate) echoes: bool,
    /// Sizes of datagrams in bytes, if they vary.
    pub(crate) sizes: Option<Draw>,
    is_request: bool,
    /// Delays of packets before the senders' links.
    jitter: Stream,
    /// No new data are sent from this time on.
    pub(crate) stop: Time,
    /// When the sources start that exist from the start of the run.
    pub(crate) starts: Starts,
    /// Row and flow of the first of them ([`crate::flow::index`]); the others follow.
    pub(crate) first_row: u32,
    pub(crate) first_flow: u32,
    /// Flows so far (not used for web traffic).
    pub(crate) count: u32,
}

impl Group {
    /// # Errors
    /// A marker's spec is invalid.
    pub(crate) fn new(
        plan: &Traffic,
        traffic: u32,
        routes: Vec<Route>,
        senders: u32,
        seed: u64,
    ) -> Result<Group, PlanError> {
        let mut tcp = plan.kind.tcp().cloned();
        if let (Some(_), Some(tcp)) = (plan.kind.request(), &mut tcp) {
            tcp.options.syn = false; // the request opens the connection
        }
        let demand = Demand::new(seed, &plan.name);
        let class = Class(plan.class);
        let edge = Edge::new(plan, &demand)?;
        let is_bulk = matches!(plan.kind, TrafficKind::Tcp(_));
        let is_plain = |tcp: &Tcp| is_bulk && tcp.payloads.is_none() && tcp.max_rate.is_none();
        let has_applications = tcp.as_ref().is_some_and(|tcp| edge.is_some() || !is_plain(tcp));
        Ok(Group {
            kind: plan.kind.clone(),
            full: tcp.as_ref().map(|tcp| full_packet(tcp, class)).unwrap_or_default(),
            tcp,
            has_applications,
            traffic,
            senders,
            requests: 0,
            responds_late: false,
            pareto: plan.pareto,
            sink: plan.sink,
            echoes: plan.echo,
            sizes: plan.sizes,
            is_request: false,
            jitter: demand.stream("send_jitter"),
            class,
            ecn: match plan.ecn {
                plan::Ecn::Off => Ecn::NotEct,
                plan::Ecn::Ect0 => Ecn::Ect0,
                plan::Ecn::Ect1 => Ecn::Ect1,
            },
            edge,
            starts: Starts::new(plan, &demand),
            demand,
            routes,
            stop: plan.stop.unwrap_or(Time::NEVER),
            first_row: 0,
            first_flow: 0,
            count: 0,
        })
    }

    /// The group of the requests of `plan`, which are sent over connections `tcp`.
    ///
    /// # Errors
    /// See [`Group::new`].
    pub(crate) fn of_requests(
        plan: &Traffic,
        tcp: Tcp,
        traffic: u32,
        routes: Vec<Route>,
        seed: u64,
    ) -> Result<Group, PlanError> {
        let group = Group::new(plan, traffic, routes, 1, seed)?;
        Ok(Group {
            kind: TrafficKind::Tcp(tcp.clone()),
            full: full_packet(&tcp, group.class),
            tcp: Some(tcp),
            responds_late: matches!(plan.kind, TrafficKind::Web(Web { respond_late: true, .. })),
            is_request: true,
            ..group
        })
    }

    /// Flows that exist from the start of the run.
    pub(crate) fn first_flows(&self) -> u32 {
        if self.has_sessions() { 0 } else { self.starts.sources() }
    }

    /// Whether its sources are clients that send requests: their flows come later than those of other
    /// sources.
    pub(crate) fn has_sessions(&self) -> bool {
        self.kind.request().is_some()
    }

    /// Whether its sources are web sessions.
    pub(crate) fn is_web(&self) -> bool {
        matches!(self.kind, TrafficKind::Web(_))
    }

    /// Whether its flows carry requests only.
    pub(crate) fn is_requests(&self) -> bool {
        self.is_request
    }

    /// Whether its connections have an [`super::Application`].
    #[inline(always)]
    pub(crate) fn has_applications(&self) -> bool {
        self.has_applications
    }

    /// When `segment` of flow `number`, sent at `at`, reaches the sender's link. It depends on nothing that
    /// happened before, so that the order in which flows are handled does not matter.
    #[inline(always)]
    pub(crate) fn jittered(&self, number: u32, segment: Segment, at: Time) -> Time {
        match &self.tcp {
            Some(tcp) if tcp.options.send_jitter > Span::ZERO => {
                let packet = (u64::from(number) << 32) | u64::from(segment.sequence);
                let bits = u128::from(self.jitter.indexed(packet).bits());
                let longest = u128::from(tcp.options.send_jitter.0);
                at + Span(((bits * longest) >> 64) as u64)
            }
            _ => at,
        }
    }

    /// The configuration of its connections, if its flows are TCP.
    pub(crate) fn tcp(&self) -> Option<&Tcp> {
        self.tcp.as_ref()
    }
}
