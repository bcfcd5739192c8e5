//! The graph: nodes, one-way links and queues. A dumbbell is a graph too.

use super::{
    FixedPath, NO_INDEX, RoundTrip, Route, Step, Wires, eligibility,
    fixed_path::Sizes,
    lookahead::{self, Feeder, Feeders, Lookahead},
    route::{AckPolicy, Routes},
    shortest::ShortestPaths,
};
use crate::{
    error::PlanError,
    link::{Entry, Link, LinkKind, RateTrace},
    plan::{self, Access, Plan, Topology, Traffic},
    queue::{HostPairs, Port, QueueContext},
    record::SlowPathReason,
};
use sojourn_aqm::{Span, units};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Links, and the steps of all routes.
pub(crate) struct Network {
    pub(crate) each: Vec<Link>,
    pub(crate) kinds: Vec<LinkKind>,
    pub(crate) fixed_path: FixedPath,
    pub(crate) steps: Vec<Step>,
    /// The link on which packets arrive whose ACKs may be delayed ahead of the clock, or [`NO_INDEX`].
    pub(crate) delayed_on: u32,
    pub(crate) round_trips: Vec<RoundTrip>,
    pub(crate) wires: Wires,
}

/// What a plan describes: the network, its queues, and the routes of the traffic.
pub(crate) struct Layout {
    pub(crate) network: Network,
    pub(crate) ports: Vec<Port>,
    /// Routes of each traffic group, then of the requests of each group that has some. Source i takes entry i
    /// mod n; of web traffic, client c and server s have entry c n + s, with n servers.
    pub(crate) routes: Vec<Vec<Route>>,
    /// How many of each traffic group's nodes send, where every pair has a route.
    pub(crate) senders: Vec<u32>,
    /// Why no packet makes a round trip, where none does.
    pub(crate) obstacle: SlowPathReason,
}

impl Layout {
    /// Build the network of `plan`. With `plain`, every step is an event: the reference that the
    /// shortcuts are tested against.
    ///
    /// # Errors
    /// Unknown or unreachable nodes, links without rate, bad specs.
    pub(crate) fn new(plan: &Plan, seed: u64, plain: bool) -> Result<Layout, PlanError> {
        let mut graph = Graph::default();
        let ends = match &plan.topology {
            Topology::Dumbbell(dumbbell) => graph.dumbbell(dumbbell, &plan.traffic)?,
            Topology::Graph(links) => {
                for (i, link) in links.iter().enumerate() {
                    graph.link(
                        &link.from,
                        &link.to,
                        link.rate,
                        link.delay,
                        link.queue.clone(),
                        &format!("link {}", i + 1),
                    )?;
                    graph.capacities.extend(link.capacity.clone().map(|capacity| (i as u32, capacity)));
                    graph
                        .impairments
                        .extend(link.impairment.clone().map(|impairment| (i as u32, impairment)));
                }
                plan.traffic.iter().map(|t| graph.ends(t)).collect::<Result<_, _>>()?
            }
        };
        let mut demands: Vec<(&Traffic, Ends)> = plan.traffic.iter().zip(ends).collect();
        let senders =
            demands.iter().map(|(_, ends)| ends.iter().take_while(|e| e.1 == ends[0].1).count() as u32);
        let senders = senders.collect();
        for i in 0..demands.len() {
            let (group, ends) = &demands[i];
            if group.kind.request().is_some() {
                let flipped = ends.iter().map(|(from, to)| (*to, *from)).collect();
                demands.push((group, flipped));
            }
        }
        Ok(Layout { senders, ..graph.build(plan, &demands, seed, plain)? })
    }

    /// The number of the queue that metrics are about.
    ///
    /// # Errors
    /// A name that is no queue, or none where there are several.
    pub(crate) fn measured(&self, plan: &Plan) -> Result<u32, PlanError> {
        let names = || self.ports.iter().map(|port| port.name.as_str());
        let wanted = match (&plan.measure, &plan.topology) {
            (Some(name), _) => name,
            (None, Topology::Dumbbell(_)) => "R1-R2",
            (None, Topology::Graph(_)) if self.ports.len() == 1 => return Ok(0),
            (None, Topology::Graph(_)) => {
                return Err(PlanError::new("measure.queue", "is missing, and there are several queues")
                    .allowed(names().collect::<Vec<_>>().join(", ")));
            }
        };
        names().position(|name| name == wanted).map(|i| i as u32).ok_or_else(|| PlanError {
            nearest: units::nearest(wanted, names()),
            ..PlanError::new("measure.queue", format!("= {wanted:?} is not a queue"))
                .allowed(names().collect::<Vec<_>>().join(", "))
        })
    }
}

impl Network {
    /// The links that packets of `route` cross.
    pub(crate) fn links_of(&self, route: Route) -> impl Iterator<Item = u32> {
        let steps = route.first..self.backward(route);
        steps.map(move |step| self.steps[step as usize].link(route.host))
    }

    /// About how many packets of `bytes` are on a round trip while `port` is busy: its rate times the longest
    /// delay.
    pub(crate) fn bdp_packets(&self, port: &Port, bytes: u32) -> usize {
        let delay = |step: &Step| {
            let round_trip = self.round_trips.get(step.round_trip as usize)?;
            Some(step.hop.tx_time.delay() + round_trip.delay())
        };
        let longest = self.steps.iter().filter_map(delay).max().unwrap_or(Span::ZERO);
        let rate = self.kinds[port.kind as usize].rate();
        (rate as f64 * longest.0 as f64 / (8e9 * f64::from(bytes))) as usize
    }

    /// Where acknowledgements of `route` enter.
    pub(crate) fn backward(&self, route: Route) -> u32 {
        let steps = &self.steps[route.first as usize..];
        route.first + 1 + steps.iter().position(|step| step.last).unwrap_or(0) as u32
    }
}

/// The sending and receiving node of each source of a group; source i takes entry i mod n.
type Ends = Vec<(u32, u32)>;

#[derive(Default)]
struct Graph {
    /// The number of nodes, and the names of those that have one. The hosts of a dumbbell, which may be very
    /// many, follow these.
    size: u32,
    names: Vec<String>,
    nodes: BTreeMap<String, u32>,
    /// The ends of each link, and its kind.
    ends: Vec<(u32, u32)>,
    kind_of: Vec<u32>,
    kinds: Vec<LinkKind>,
    pairs: BTreeSet<(u32, u32)>,
    queues: Vec<(u32, plan::QueueConfig)>,
    capacities: Vec<(u32, plan::Capacity)>,
    impairments: Vec<(u32, plan::Impairment)>,
}

impl Graph {
    fn node(&mut self, name: &str) -> u32 {
        if let Some(id) = self.nodes.get(name) {
            return *id;
        }
        self.nodes.insert(name.to_owned(), self.size);
        self.names.push(name.to_owned());
        self.size += 1;
        self.size - 1
    }

    fn link(
        &mut self,
        from: &str,
        to: &str,
        rate: u64,
        delay: Span,
        queue: Option<plan::QueueConfig>,
        key: &str,
    ) -> Result<(), PlanError> {
        if rate == 0 {
            return Err(no_rate(key));
        }
        if from == to {
            return Err(PlanError::new(key, format!("joins {from:?} to itself")));
        }
        let (from, to) = (self.node(from), self.node(to));
        if !self.pairs.insert((from, to)) {
            let (from, to) = (&self.names[from as usize], &self.names[to as usize]);
            return Err(PlanError::new(key, format!("is a second link from {from:?} to {to:?}")));
        }
        if let Some(queue) = queue {
            self.queues.push((self.ends.len() as u32, queue));
        }
        let kind = self.kind(rate, delay);
        self.add_link(from, to, kind);
        Ok(())
    }

    /// A new kind of link.
    fn kind(&mut self, rate: u64, delay: Span) -> u32 {
        self.kinds.push(LinkKind::new(rate, delay));
        self.kinds.len() as u32 - 1
    }

    fn add_link(&mut self, from: u32, to: u32, kind: u32) {
        self.ends.push((from, to));
        self.kind_of.push(kind);
    }

    /// Clients - R1 - R2 - servers; hosts are made as the sources of each group need them.
    fn dumbbell(&mut self, d: &plan::Dumbbell, traffic: &[Traffic]) -> Result<Vec<Ends>, PlanError> {
        self.link("R1", "R2", d.rate, d.delay, Some(d.queue.clone()), "dumbbell")?;
        self.capacities.extend(d.capacity.clone().map(|capacity| (0, capacity)));
        self.link(
            "R2",
            "R1",
            d.reverse_rate.unwrap_or(d.rate),
            d.delay,
            d.reverse_queue.clone(),
            "dumbbell",
        )?;
        self.impairments.extend(d.impairment.clone().map(|impairment| (0, impairment)));
        self.impairments.extend(d.reverse_impairment.clone().map(|impairment| (1, impairment)));
        for (key, access) in [("dumbbell.access", &d.access), ("dumbbell.server", &d.server)] {
            check_access(key, access)?;
        }
        let (r1, r2) = (self.node("R1"), self.node("R2"));
        let client = |host| [(host, r1), (r1, host)];
        let server = |host| [(r2, host), (host, r2)];
        let servers = self.hosts(&d.server, d.server.nodes.unwrap_or(1), server, "dumbbell.server")?;
        let mut shared = Vec::new();
        let ends = traffic.iter().map(|group| {
            let key = format!("traffic.{}.access", group.name);
            let access = group.access.as_ref().unwrap_or(&d.access);
            check_access(&key, access)?;
            // Flows that come and go share one host per delay by default.
            let is_web = matches!(group.kind, plan::TrafficKind::Web(_));
            let is_short = is_web || matches!(group.kind, plan::TrafficKind::TcpShort { .. });
            let hosts = match access.nodes {
                Some(nodes) => nodes,
                None if is_short => access.delays.len() as u32,
                None => group.count,
            };
            let own;
            let clients = if group.access.is_some() || access.nodes.is_none() {
                own = self.hosts(access, hosts, client, &key)?;
                &own
            } else {
                if shared.is_empty() {
                    shared = self.hosts(access, hosts, client, &key)?;
                }
                &shared
            };
            let (from, to) = if group.reverse { (&servers, clients) } else { (clients, &servers) };
            Ok(if is_web { every_pair(from, to) } else { in_turn(from, to, group, is_short) })
        });
        ends.collect()
    }

    /// Add hosts, each with two links. Equal events happen in the order in which links are added.
    fn hosts(
        &mut self,
        access: &Access,
        count: u32,
        links: impl Fn(u32) -> [(u32, u32); 2],
        key: &str,
    ) -> Result<Vec<u32>, PlanError> {
        if access.rate == 0 {
            return Err(no_rate(key));
        }
        let hosts: Vec<u32> = (self.size..self.size + count).collect();
        self.size += count;
        let mut known = BTreeMap::new();
        for (host, delay) in hosts.iter().zip(access.delays.iter().cycle()) {
            let kind = *known.entry(*delay).or_insert_with(|| self.kind(access.rate, *delay));
            links(*host).into_iter().for_each(|(from, to)| self.add_link(from, to, kind));
        }
        Ok(hosts)
    }

    /// The ends of a group in a graph topology.
    fn ends(&self, group: &Traffic) -> Result<Ends, PlanError> {
        let find = |side: &str, names: &[String]| {
            let key = format!("traffic.{}.{side}", group.name);
            if names.is_empty() {
                return Err(PlanError::new(key, "is missing").allowed(self.names.join(", ")));
            }
            names
                .iter()
                .map(|name| {
                    self.nodes.get(name).copied().ok_or_else(|| PlanError {
                        nearest: units::nearest(name, self.names.iter().map(String::as_str)),
                        ..PlanError::new(key.clone(), format!("= {name:?} is not a node"))
                            .allowed(self.names.join(", "))
                    })
                })
                .collect::<Result<Vec<u32>, _>>()
        };
        let (from, to) = (find("from", &group.from)?, find("to", &group.to)?);
        if let plan::TrafficKind::Web(_) = group.kind {
            return Ok(every_pair(&from, &to));
        }
        Ok(in_turn(&from, &to, group, matches!(group.kind, plan::TrafficKind::TcpShort { .. })))
    }

    /// Add the routes, find what feeds each link, and make the queues.
    fn build(
        mut self,
        plan: &Plan,
        demands: &[(&Traffic, Ends)],
        seed: u64,
        plain: bool,
    ) -> Result<Layout, PlanError> {
        let wires = self.wires(seed);
        let mut shortest_paths = ShortestPaths::new(self.size, &self.ends);
        let mut planned = Routes::new(&self.kind_of);
        let mut routes: Vec<Vec<u32>> = Vec::new();
        for (group, ends) in demands {
            let ack_policy = AckPolicy::of(group);
            let sender = eligibility::sender(&group.kind);
            let of_group = ends.iter().enumerate().map(|(i, &(from, to))| {
                if from == to {
                    let key = format!("traffic.{}.to", group.name);
                    let problem = format!("= {:?} is where it comes from", self.names[to as usize]);
                    return Err(PlanError::new(key, problem));
                }
                let is_last_of_its_kind = i + ends.len() >= group.count as usize;
                let flows = if sender.is_ok() && is_last_of_its_kind { 1 } else { 2 };
                let mut path = |from: u32, to: u32| {
                    let links = shortest_paths.route(from, to).ok_or_else(|| {
                        let (from, to) = (&self.names[from as usize], &self.names[to as usize]);
                        let problem = format!("there is no path from {from:?} to {to:?}");
                        PlanError::new(format!("traffic.{}", group.name), problem)
                    })?;
                    Ok(wires.inserted(links))
                };
                planned.add(from, to, ack_policy, sender, flows, || Ok([path(from, to)?, path(to, from)?]))
            });
            routes.push(of_group.collect::<Result<_, _>>()?);
        }
        let mut kinds = std::mem::take(&mut self.kinds);
        for (id, capacity) in &self.capacities {
            let name = self.name_of(*id);
            kinds[self.kind_of[*id as usize] as usize].vary(RateTrace::new(capacity, &name, seed));
        }
        let mut ports = self.ports(plan, &mut kinds, seed)?;
        drop(shortest_paths);
        let ahead = match plan.trace.cwnd {
            _ if plain || plan.trace.observes() => Lookahead::None,
            true => Lookahead::Links,
            false => Lookahead::Senders,
        };
        let delayed_on = match planned.delayed_on {
            Feeders::Only(Feeder::Link(link)) => link,
            _ => NO_INDEX,
        };
        let (mut steps, round_trips, planned, obstacle) = planned.share(&kinds, ahead);
        let tcp = plan.traffic.iter().find_map(|traffic| traffic.kind.tcp());
        let fixed_path = match (&plan.topology, tcp) {
            (Topology::Dumbbell(_), Some(tcp)) => {
                let sizes = Sizes { data: tcp.payload + tcp.header, ack: tcp.ack };
                lookahead::fixed_path(&mut steps, &round_trips, sizes, &kinds)
            }
            _ => None,
        };
        let fixed_path = fixed_path.unwrap_or_else(FixedPath::none);
        let routes = routes.into_iter();
        let routes = routes.map(|group| group.into_iter().map(|number| planned[number as usize]).collect());
        let routes: Vec<Vec<Route>> = routes.collect();
        let each = vec![Link::default(); self.kind_of.len()];
        let network = Network { each, kinds, fixed_path, steps, delayed_on, round_trips, wires };
        if ports.iter().any(Port::sees_hosts) {
            let mut hosts = HostPairs::default();
            for (route, (from, to)) in routes.iter().flatten().zip(demands.iter().flat_map(|(_, ends)| ends))
            {
                hosts.add(route.host, route.first, *from, *to, network.backward(*route));
            }
            let hosts = Arc::new(hosts);
            ports.iter_mut().for_each(|port| port.show_hosts(&hosts));
        }
        Ok(Layout { network, ports, routes, senders: Vec::new(), obstacle })
    }

    /// The name of a link between nodes that have names.
    fn name_of(&self, id: u32) -> String {
        let (from, to) = self.ends[id as usize];
        format!("{}-{}", self.names[from as usize], self.names[to as usize])
    }

    /// The wires of the impaired links, each as a further link, which is behind that link in every route.
    fn wires(&mut self, seed: u64) -> Wires {
        let mut wires = Wires::default();
        for (id, impairment) in std::mem::take(&mut self.impairments) {
            let (kind, link) = (self.kind(1, Span::ZERO), self.kind_of.len() as u32);
            self.kinds[kind as usize].entry =
                Entry::Wire(wires.add(id, link, &self.name_of(id), &impairment, seed));
            self.kind_of.push(kind);
        }
        wires
    }

    fn ports(&self, plan: &Plan, kinds: &mut [LinkKind], seed: u64) -> Result<Vec<Port>, PlanError> {
        let setting = QueueContext {
            mean_packet: mean_packet(&plan.traffic),
            conventions: plan.conventions,
            algorithms: &plan.algorithms,
        };
        let mut ports = Vec::new();
        for (id, queue) in &self.queues {
            let number = self.kind_of[*id as usize];
            let kind = &mut kinds[number as usize];
            let name = self.name_of(*id);
            let key = match plan.topology {
                Topology::Dumbbell(_) if name == "R1-R2" => "queue".to_owned(),
                Topology::Dumbbell(_) => "dumbbell.reverse_queue".to_owned(),
                Topology::Graph(_) => format!("link.{name}.queue"),
            };
            let mut port = Port::of(name, &key, queue, *id, kind.rate(), &setting, seed)?;
            (port.kind, port.varies) = (number, kind.varies());
            kind.entry = Entry::Port(ports.len() as u32);
            ports.push(port);
        }
        if ports.is_empty() {
            return Err(PlanError::new("link", "no link has a queue")
                .allowed("queue = { limit, aqm } on one link at least"));
        }
        Ok(ports)
    }
}

fn no_rate(key: &str) -> PlanError {
    PlanError::new(format!("{key}.rate"), "is zero").allowed("a rate of at least 1bit/s")
}

fn check_access(key: &str, access: &Access) -> Result<(), PlanError> {
    if access.delays.is_empty() {
        return Err(PlanError::new(format!("{key}.delays"), "is empty").allowed("one delay at least"));
    }
    if access.nodes == Some(0) {
        return Err(PlanError::new(format!("{key}.nodes"), "is zero").allowed("1 or more"));
    }
    Ok(())
}

/// The size on the wire that algorithms count in: of the first TCP traffic, else of the first datagrams.
fn mean_packet(traffic: &[Traffic]) -> u32 {
    let tcp = traffic.iter().find_map(|t| t.kind.tcp()).map(|tcp| tcp.payload + tcp.header);
    let udp = traffic.iter().find_map(|t| match t.kind {
        plan::TrafficKind::UdpCbr { size, .. }
        | plan::TrafficKind::UdpPoisson { size, .. }
        | plan::TrafficKind::UdpOnoff { size, .. } => Some(size),
        _ => None,
    });
    tcp.or(udp).unwrap_or(1000)
}

/// Every sender with every receiver, receiver by receiver.
fn every_pair(from: &[u32], to: &[u32]) -> Ends {
    to.iter().flat_map(|to| from.iter().map(|from| (*from, *to))).collect()
}

/// Senders with receivers, both in turn, until that repeats or every source has an entry.
fn in_turn(from: &[u32], to: &[u32], group: &Traffic, is_short: bool) -> Ends {
    let period = lcm(from.len() as u32, to.len() as u32) as usize;
    let period = if is_short { period } else { period.min(group.count as usize) };
    (0..period).map(|i| (from[i % from.len()], to[i % to.len()])).collect()
}

fn lcm(a: u32, b: u32) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y != 0 {
        (x, y) = (y, x % y);
    }
    u64::from(a.max(1)) / u64::from(x) * u64::from(b.max(1))
}
