//! **FRED (Flow RED)** is RED that counts the waiting packets of each flow: a flow that has few is never at
//! risk, one that has more than its share is refused, and one that keeps asking for more is remembered.
//!
//! RED drops from all flows in the same proportion, whether or not they slow down. FRED knows from the queue
//! alone who takes too much, and needs a record only for flows that have packets waiting.
//!
//! # When it decides
//! On arrival from flow i with q_i packets waiting. Its share is avgcq = max(1, avg / flows with packets
//! waiting). Refused, cause `flow-limit`, and a strike counted, if q_i >= maxq = `min_th`; or avg >= max_th
//! and q_i > 2 avgcq; or q_i >= avgcq after two strikes. Else, between the thresholds, a flow with q_i >=
//! max(`min_q`, avgcq) meets RED's p_a (`early`); at avg >= max_th every packet is dropped (`forced`).
//! `many_flow` lets every flow have two packets there instead: maxq = 2 and the two rules for avg >= max_th
//! are off. A flow without waiting packets is forgotten with its strikes.
//!
//! The average moves with each packet that is let in (which it counts) and with each that leaves; an arrival
//! at an idle link lets it decay first.
//!
//! # Differences
//! | what | here | elsewhere | why |
//! |---|---|---|---|
//! | blocks of the listing above max_th | base form B and C, many-flow form A | J-Sim, a port to ns-3: A, B and C together (`many_flow blocks_bc`) | with C on, A can admit no packet; the paper offers A as an extension |
//! | average | with each accepted packet, itself counted, and each departure | J-Sim: again before the decision; a port to ns-3: not counting the packet | the paper's listing, as far as it can be established |
//! | a packet dropped at an idle link | the link idles on | the listing is silent | else a fast sender that is refused would keep the average up forever |
//! | when idling begins | when the transmitter finds nothing | the listing: when the last packet leaves the queue | a link that sends its last packet is not idle |
//! | units | packets (bytes are divided by the mean packet) | - | the rules for flows count packets |
//! | flows | exact, as many as have packets waiting | J-Sim: 200, by hash; a Linux module: 10 | collisions merge flows |
//! | min_th | a quarter of the buffer | the paper: at most one bandwidth-delay product | a queue does not know the delay |
//! | ECN | mark in the random region only | the paper has no marks | a flow over its limit ignores signals |
//! | overflow | no strike | the paper is silent | the buffer was full, not the flow's share |
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
        /// Average queue below which nothing is dropped at random, and the limit of each flow
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
        /// Queued packets that a flow may have without random drops below max_th; 4 for large buffers
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
        Probe { name: "p", unit: "", doc: "base probability p_b that belongs to avg, for flows at risk" },
        Probe {
            name: "p_a",
            unit: "",
            doc: "probability that the last arrival met, 0 where it was not tested",
        },
        Probe { name: "count", unit: "packets", doc: "packets since the last drop; -1 below min_th" },
        Probe { name: "n_active", unit: "flows", doc: "flows with packets waiting" },
        Probe { name: "avgcq", unit: "packets", doc: "share of one flow" },
        Probe { name: "qlen_i", unit: "packets", doc: "waiting packets of the flow that was here last" },
        Probe { name: "strike_i", unit: "", doc: "strikes of the flow that was here last" },
    ],
    ns2_limit_counts_service: false,
    file: include_str!("fred.rs"),
    instance: crate::instance!(Fred),
    build: |s| s.build(|config| Fred::new(config, &s.context)),
};

/// The record of a flow with queued packets.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Its waiting packets.
    qlen: u32,
    /// How often it was over its limit.
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
    /// Average of the waiting queue.
    average: Average,
    /// Packets since the last drop.
    count: i64,
    /// A record for each flow with packets waiting, no more.
    flows: FlowTable<Record>,
    /// Share of one flow.
    avgcq: f64,
    /// Packets waiting when the last arrival was offered: fewer at a drop mean that a waiting one was the
    /// victim.
    offered_to: u32,
    /// Probability that the last arrival met.
    p_a: f64,
    /// Flow of the last arrival or departure.
    last: FlowId,
}

impl Fred {
    /// FRED at an empty queue of `link`.
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
            let problem = "is what the base form does anyway";
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
