//! What the flows of a traffic group share: options, demand, routes.

use crate::{
    error::PlanError,
    flow::Connection,
    packet::Packet,
    path::Route,
    plan::{self, Draw, Tcp, Traffic, TrafficKind, Web},
    traffic::{Demand, Edge, Starts},
};
use sojourn_aqm::{Class, Ecn};

/// What the flows of one traffic group share.
pub(crate) struct Group {
    pub(crate) kind: TrafficKind,
    /// The TCP connection of its flows.
    tcp: Option<Tcp>,
    /// Number of its traffic in the plan: the requests of web traffic are a group of their own.
    pub(crate) traffic: u32,
    pub(crate) class: Class,
    /// What nearly all packets of its connections look like.
    pub(crate) full: Packet,
    pub(crate) edge: Option<Edge>,
    /// ECN field of datagrams.
    pub(crate) ecn: Ecn,
    pub(crate) demand: Demand,
    pub(crate) routes: Vec<Route>,
    /// How many nodes send, the group of the requests, when they are answered (web traffic).
    pub(crate) senders: u32,
    pub(crate) requests: u32,
    pub(crate) responds_late: bool,
    /// Shape of its on and off times, sizes of its datagrams.
    pub(crate) pareto: Option<f64>,
    pub(crate) sizes: Option<Draw>,
    is_request: bool,
    /// Nothing new is sent from here on.
    pub(crate) stop: u64,
    /// When sources start, and row and flow of the first one ([`crate::flow::index`]); the others follow.
    pub(crate) starts: Starts,
    pub(crate) first_row: u32,
    pub(crate) first_flow: u32,
    /// How many flows it has (web traffic: counted otherwise).
    pub(crate) count: u32,
}

impl Group {
    /// # Errors
    /// A marker that cannot be.
    pub(crate) fn new(
        plan: &Traffic,
        traffic: u32,
        routes: Vec<Route>,
        senders: u32,
        seed: u64,
    ) -> Result<Group, PlanError> {
        let mut tcp = plan.kind.tcp().cloned();
        if let (TrafficKind::Web(_), Some(tcp)) = (&plan.kind, &mut tcp) {
            tcp.options.syn = false; // the request has opened the connection
        }
        let demand = Demand::new(seed, &plan.name);
        let class = Class(plan.class);
        Ok(Group {
            kind: plan.kind.clone(),
            full: tcp.as_ref().map(|tcp| Connection::full_packet(tcp, class)).unwrap_or_default(),
            tcp,
            traffic,
            senders,
            requests: 0,
            responds_late: false,
            pareto: plan.pareto,
            sizes: plan.sizes,
            is_request: false,
            class,
            ecn: match plan.ecn {
                plan::Ecn::Off => Ecn::NotEct,
                plan::Ecn::Ect0 => Ecn::Ect0,
                plan::Ecn::Ect1 => Ecn::Ect1,
            },
            edge: Edge::new(plan, &demand)?,
            starts: Starts::new(plan, &demand),
            demand,
            routes,
            stop: plan.stop.unwrap_or(u64::MAX),
            first_row: 0,
            first_flow: 0,
            count: 0,
        })
    }

    /// The group of the requests for what web traffic `plan` sends.
    pub(crate) fn of_requests(
        plan: &Traffic,
        web: &Web,
        traffic: u32,
        routes: Vec<Route>,
        seed: u64,
    ) -> Result<Group, PlanError> {
        let tcp = Tcp { payload: web.request, payloads: None, ..web.tcp.clone() };
        let group = Group::new(plan, traffic, routes, 1, seed)?;
        Ok(Group {
            kind: TrafficKind::Tcp(tcp.clone()),
            full: Connection::full_packet(&tcp, group.class),
            tcp: Some(tcp),
            responds_late: web.respond_late,
            is_request: true,
            ..group
        })
    }

    /// How many flows are there from the beginning.
    pub(crate) fn first_flows(&self) -> u32 {
        if self.is_web() { 0 } else { self.starts.sources() }
    }

    /// Whether sources are sessions that look at pages.
    pub(crate) fn is_web(&self) -> bool {
        matches!(self.kind, TrafficKind::Web(_))
    }

    /// Whether its flows carry requests only.
    pub(crate) fn is_requests(&self) -> bool {
        self.is_request
    }

    /// The TCP connection of this group's flows.
    pub(crate) fn tcp(&self) -> Option<&Tcp> {
        self.tcp.as_ref()
    }
}
