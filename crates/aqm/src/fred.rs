//! **FRED (Flow RED; Lin and Morris 1997)** is RED that counts the queued packets of each flow: packets of a
//! flow with few packets are not dropped at random, those of a flow above its share are dropped, and a flow
//! that exceeds its share repeatedly gets a stricter limit.
//!
//! RED drops packets of all flows in the same proportion, whether or not the flows respond. FRED finds
//! unresponsive flows from the queue alone, and keeps a record only for flows with queued packets.
//!
//! # When it decides
//! On arrival of a packet of flow i with q_i queued packets. The share of a flow is avgcq = max(1, avg /
//! number of flows with queued packets). The packet is dropped, cause `flow-limit`, and a strike is counted,
//! if q_i >= maxq = `min_th`; or avg >= max_th and q_i > 2 avgcq; or q_i >= avgcq after two strikes.
//! Otherwise, between the thresholds, a packet of a flow with q_i >= max(`min_q`, avgcq) is signalled with
//! RED's p_a (`early`); at avg >= max_th every packet is dropped (`forced`). With `many_flow` every flow may
//! have two packets at avg >= max_th instead: maxq = 2 there, and the two rules for avg >= max_th do not
//! apply. The record of a flow, with its strikes, is deleted when no packet of it is queued.
//!
//! The average is updated at each accepted packet, which it counts, and at each departure; at an arrival at
//! an idle link it first decays.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | blocks of the listing above max_th | base form B and C, many-flow form A | J-Sim, a port to ns-3: A, B and C together (`many_flow blocks_bc`) | with C, A admits no packet; the paper describes A as an extension |
//! | updates of the average | at each accepted packet, itself counted, and each departure | J-Sim: again before the decision; a port to ns-3: not counting the packet | the paper's listing, as far as it can be established |
//! | packet dropped at an idle link | the idle time continues | not specified | otherwise a fast sender whose packets are dropped would prevent the decay of the average |
//! | start of the idle time | when the transmitter finds the queue empty | the listing: when the last packet leaves the queue | a link that sends its last packet is not idle |
//! | units | packets (bytes are divided by the mean packet) | - | the rules for flows count packets |
//! | records | exact, one per flow with queued packets | J-Sim: 200, by hash; a Linux module: 10 | collisions merge flows |
//! | min_th | a quarter of the buffer | the paper: at most one bandwidth-delay product | the round-trip time is not a parameter of the queue |
//! | ECN | mark in the random region only | the paper has no marks | a flow above its limit does not respond to signals |
//! | overflow | no strike | not specified | the buffer was full; the flow did not exceed its share |
//!
//! # References
//! D. Lin, R. Morris: Dynamics of Random Early Detection, SIGCOMM 1997. J-Sim `FRED.java`.

use crate::{
    Algorithm, Aqm, Cause, Context, FlowId, IgnoresContents, PacketView, Param, Probe, QueueView, Random,
    Range, SpecError, Time, Verdict, common,
    config::{Fields, config, meaning},
    flow_table::FlowTable,
    red_family::{self, Average, spread},
    units::{Bytes, Size},
};
use alloc::boxed::Box;

const PAPER: &str = "Lin and Morris 1997";

config! {
    /// The parameters of FRED.
    pub struct Config {
        /// Average queue below which no packet is signalled at random, and the limit of each flow
        min_th: Option<Size> = Param::derived("a quarter of the buffer limit")
            .unit("packets or bytes")
            .range(Range::POSITIVE)
            .source(PAPER);
        /// Average queue from which every packet is dropped (see many_flow)
        max_th: Option<Size> = Param::derived("2 min_th")
            .unit("packets or bytes")
            .range(Range::POSITIVE)
            .source(PAPER);
        /// Base probability just below max_th
        max_p: f64 = Param::fixed("0.02").range(Range::SHARE).source(PAPER);
        #[doc = meaning!(w_q)]
        w_q: f64 = red_family::W_Q;
        /// Queued packets that a flow may have without random signals below max_th; 4 for large buffers
        min_q: Size = Param::fixed("2p").unit("packets or bytes").range(Range::NOT_NEGATIVE).source(PAPER);
        /// Above max_th allow every flow two packets instead of none
        many_flow: bool = Param::fixed("off").source("Lin and Morris 1997: an extension");
        /// With many_flow: keep the base form's rules for avg >= max_th as well
        blocks_bc: bool = Param::fixed("off").source(PAPER);
        #[doc = meaning!(mean_packet)]
        mean_packet: Option<Bytes> = common::MEAN_PACKET;
        #[doc = meaning!(ecn)]
        ecn: bool = common::ECN;
    }
}

/// The registry entry.
pub static ALGORITHM: Algorithm = Algorithm {
    name: "fred",
    title: "Flow RED",
    alias_of: None,
    source: PAPER,
    params: Config::PARAMS,
    probes: &[
        Probe { name: "avg", unit: "packets", doc: "average queue" },
        Probe { name: "p", unit: "", doc: "base probability p_b at avg, for the flows that RED tests" },
        Probe {
            name: "p_a",
            unit: "",
            doc: "signalling probability of the last arrival, 0 if it was not tested",
        },
        Probe { name: "count", unit: "packets", doc: "packets since the last drop; -1 below min_th" },
        Probe { name: "n_active", unit: "flows", doc: "flows with queued packets" },
        Probe { name: "avgcq", unit: "packets", doc: "share of one flow" },
        Probe {
            name: "qlen_i",
            unit: "packets",
            doc: "queued packets of the flow of the last arrival or departure",
        },
        Probe { name: "strike_i", unit: "", doc: "strikes of the flow of the last arrival or departure" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("fred.rs"),
    instance: crate::instance!(Fred),
    build: |s| s.build(|config| Fred::new(config, &s.context)),
};

/// The record of a flow with queued packets.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Its queued packets.
    qlen: u32,
    /// How often it exceeded its limit.
    strikes: u32,
}

/// Constant parameters, in packets.
#[derive(Clone, Debug)]
struct Constants {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    min_q: f64,
    many_flow: bool,
    /// The base form's rules for avg >= max_th are on.
    strict: bool,
    ecn: bool,
}

/// The state of FRED.
#[derive(Clone, Debug)]
pub struct Fred {
    config: Constants,
    /// Average of the queue.
    average: Average,
    /// Packets since the last drop.
    count: i64,
    /// A record for each flow with queued packets.
    flows: FlowTable<Record>,
    /// Share of one flow.
    avgcq: f64,
    /// Queued packets at the last arrival. If fewer are queued at a drop, the victim was a queued packet.
    offered_to: u32,
    /// Signalling probability of the last arrival.
    p_a: f64,
    /// Flow of the last arrival or departure.
    last: FlowId,
}

impl Fred {
    /// FRED for an empty queue in front of `link`.
    ///
    /// # Errors
    /// A value outside its range; thresholds out of order; `blocks_bc` without `many_flow`.
    pub fn new(config: Config, link: &Context) -> Result<Fred, SpecError> {
        config.check()?;
        let mean_packet = common::mean_packet(config.mean_packet, link);
        let packets = |size: Size| common::amount(size, false, mean_packet);
        let min_th = config.min_th.map_or(packets(common::limit(link)) / 4.0, packets);
        let max_th = config.max_th.map_or(2.0 * min_th, packets);
        if max_th <= min_th {
            return Err(SpecError::about("max_th", "is not above min_th", "max_th > min_th"));
        }
        let (many_flow, blocks_bc) = (config.many_flow, config.blocks_bc);
        if blocks_bc && !many_flow {
            let problem = "has no effect without many_flow";
            return Err(SpecError::about("blocks_bc", problem, "many_flow blocks_bc"));
        }
        let constants = Constants {
            min_th,
            max_th,
            max_p: config.max_p,
            min_q: packets(config.min_q),
            many_flow,
            strict: blocks_bc || !many_flow,
            ecn: config.ecn,
        };
        Ok(Fred {
            config: constants,
            average: Average::new(config.w_q, mean_packet, link, false, false),
            count: -1,
            flows: FlowTable::new(),
            avgcq: 1.0,
            offered_to: 0,
            p_a: 0.0,
            last: FlowId(0),
        })
    }

    /// Update the average with `queue` packets, and each flow's share from it.
    fn update(&mut self, now: Time, queue: u32) {
        self.average.update(now, f64::from(queue));
        let avg = self.average.avg;
        let share = if self.flows.len() > 0 { avg / self.flows.len() as f64 } else { avg };
        self.avgcq = share.max(1.0);
    }

    /// Whether a flow exceeds its limit.
    fn is_greedy(&self, flow: Record) -> bool {
        let Constants { min_th, max_th, many_flow, strict, .. } = self.config;
        let (qlen, full) = (f64::from(flow.qlen), self.average.avg >= max_th);
        let maxq = if many_flow && full { 2.0 } else { min_th };
        qlen >= maxq || strict && full && qlen > 2.0 * self.avgcq || qlen >= self.avgcq && flow.strikes > 1
    }

    /// RED's base probability p_b.
    fn base(&self) -> f64 {
        let Constants { min_th, max_th, max_p, strict, .. } = self.config;
        let avg = self.average.avg;
        if avg < min_th {
            0.0
        } else if avg < max_th {
            max_p * (avg - min_th) / (max_th - min_th)
        } else {
            f64::from(u8::from(strict))
        }
    }

    /// The outcome of a packet of a flow that is within its limits.
    fn decide(&mut self, packet: &PacketView, flow: Record, rng: &mut dyn Random) -> Verdict {
        let avg = self.average.avg;
        if avg < self.config.min_th {
            self.count = -1;
        } else if avg < self.config.max_th {
            self.count += 1;
            if f64::from(flow.qlen) >= self.config.min_q.max(self.avgcq) {
                self.p_a = spread(self.base(), self.count as f64, false);
                if rng.happens(self.p_a) {
                    self.count = 0;
                    return Verdict::signal(packet, self.config.ecn, Cause::Early);
                }
            }
        } else if self.config.strict {
            self.p_a = 1.0;
            self.count = 0;
            return Verdict::Drop(Cause::Forced);
        }
        Verdict::Pass
    }

    /// A packet of `flow` has left the queue; a flow without packets is removed.
    fn forget(&mut self, flow: FlowId) {
        match self.flows.get(flow) {
            Some(Record { qlen: 0 | 1, .. }) => self.flows.remove(flow),
            Some(record) => self.flows.set(flow, Record { qlen: record.qlen - 1, ..record }),
            None => {}
        }
    }
}

impl IgnoresContents for Fred {}

impl Aqm for Fred {
    fn on_offered(&mut self, _: Time, _: &PacketView, queue: &QueueView) {
        self.offered_to = queue.packets;
    }

    fn on_arrival(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        (self.last, self.p_a) = (packet.flow, 0.0);
        let before_idling = (self.average.avg, self.average.idle_since);
        if self.average.idle_since.is_some() {
            self.update(now, 0);
        }
        let record = self.flows.get(packet.flow).unwrap_or_default();
        if self.is_greedy(record) {
            self.flows.set(packet.flow, Record { strikes: record.strikes.saturating_add(1), ..record });
            return Verdict::Drop(Cause::FlowLimit);
        }
        let verdict = self.decide(packet, record, rng);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.flows.set(packet.flow, Record { qlen: record.qlen + 1, ..record });
            self.update(now, queue.packets.saturating_add(1));
        } else if before_idling.1.is_some() {
            // The link remains idle since the same time.
            (self.average.avg, self.average.idle_since) = before_idling;
        }
        verdict
    }

    fn on_departure(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        _: &mut dyn Random,
    ) -> Verdict {
        self.last = packet.flow;
        self.forget(packet.flow);
        self.update(now, queue.packets);
        Verdict::Pass
    }

    fn on_drop(&mut self, _: Time, packet: &PacketView, _: Cause, queue: &QueueView) {
        if queue.packets < self.offered_to {
            self.offered_to = queue.packets;
            self.forget(packet.flow);
        }
    }

    fn on_idle(&mut self, now: Time) {
        self.average.idle_since.get_or_insert(now);
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        let record = self.flows.get(self.last).unwrap_or_default();
        field("avg", self.average.avg);
        field("p", self.base());
        field("p_a", self.p_a);
        field("count", self.count as f64);
        field("n_active", self.flows.len() as f64);
        field("avgcq", self.avgcq);
        field("qlen_i", f64::from(record.qlen));
        field("strike_i", f64::from(record.strikes));
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Box::new(self.clone())
    }
}
