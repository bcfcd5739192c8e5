//! Samples of every active flow: what it delivered, what the measured queue carried for it, its window and
//! round-trip time.

use crate::{
    error::RunError,
    flow::{Endpoint, Flow, Hosts},
    queue::Port,
    record::FlowSeriesColumns,
};
use sojourn_aqm::{Span, Time};

/// The samples so far, and the state at the previous one.
pub(crate) struct FlowSeries {
    pub(crate) interval: Span,
    pub(crate) columns: FlowSeriesColumns,
    before: Vec<Progress>,
    /// Bytes that the samples may take.
    pub(crate) limit: Option<u64>,
    /// Why samples are missing. The run ends with it.
    pub(crate) error: Option<RunError>,
}

/// Totals of a flow.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// The next packet that the receiver expects.
    next: u32,
    /// Bytes of datagrams received.
    received: u64,
    /// Bytes that left the measured queue.
    carried: u64,
}

impl FlowSeries {
    pub(crate) fn new(interval: Span) -> FlowSeries {
        let columns = FlowSeriesColumns::default();
        FlowSeries { interval, columns, before: Vec::new(), limit: None, error: None }
    }

    /// Sample the flows that are active or have been since the previous sample; `measured`: the queue.
    pub(crate) fn sample(&mut self, now: Time, hosts: &Hosts, measured: &mut Port) {
        let flows = &hosts.flows;
        self.before.resize(flows.len(), Progress::default());
        if let Err(error) = self.columns.reserve(flows.len(), self.limit) {
            self.error.get_or_insert(error);
        }
        if self.error.is_some() {
            return;
        }
        let carried = measured.observations().map_or(&[][..], |seen| &seen.carried[..]);
        for (number, flow) in flows.iter().enumerate() {
            let group = &hosts.groups[flow.group as usize];
            let before = &mut self.before[number];
            let mut after = Progress { carried: carried.get(number).copied().unwrap_or(0), ..*before };
            let (is_active, goodput, cwnd, srtt) = match (&flow.endpoint, group.tcp()) {
                (Endpoint::Tcp(connection), Some(tcp)) => {
                    let sender = &connection.sender;
                    after.next = connection.receiver.next();
                    let first = u32::from(tcp.options.syn);
                    let goodput = match hosts.applications.get(number as u32) {
                        _ if group.is_requests() => 0, // as in the counters of flows
                        Some(application) => application.bytes_between(tcp, before.next, after.next),
                        None => {
                            let packets = after.next.max(first) - before.next.max(first);
                            u64::from(packets) * u64::from(tcp.payload)
                        }
                    };
                    let srtt = Some(sender.srtt_ns(&tcp.options)).filter(|srtt| *srtt > 0.0);
                    let is_active = sender.tally().sent > 0 && !sender.is_done();
                    (is_active, goodput, sender.cwnd(), srtt.unwrap_or(f64::NAN))
                }
                (Endpoint::Udp(udp), _) => {
                    after.received = udp.received;
                    (flow_sends(flow, now, group.stop), after.received - before.received, f64::NAN, f64::NAN)
                }
                (Endpoint::Tcp(_), None) => continue,
            };
            let since = after.carried - before.carried;
            *before = after;
            if !is_active && goodput == 0 && since == 0 {
                continue;
            }
            self.columns.time_ns.push(now.0);
            self.columns.flow.push(number as u32);
            self.columns.connection.push(number as u32);
            self.columns.goodput_bytes.push(goodput);
            self.columns.carried_bytes.push(since);
            self.columns.cwnd.push(cwnd);
            self.columns.srtt_ns.push(srtt);
        }
    }
}

/// Whether a source of datagrams has begun and not ended.
fn flow_sends(flow: &Flow, now: Time, stop: Time) -> bool {
    flow.tally().sent > 0 && now < stop
}
