//! What receivers of real datagrams observed, in the terms of a simulated run: delays, jitter, losses, and
//! datagrams that were too late, from the times at which hosts sent and received them.

use crate::{
    flow::{ArrivalColumns, Arrivals, Delivery, Playout},
    plan::Plan,
    record::{DelayColumns, DeliveryColumns, LossColumns},
};
use sojourn_aqm::Time;

/// The datagrams of one source that arrived, in the order of arrival.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedDatagrams<'a> {
    /// Index into the plan's traffic.
    pub traffic: u32,
    /// Row of the flow in [`crate::FlowColumns`].
    pub row: u32,
    /// Its number within the flow, when it was sent and when it arrived.
    pub arrivals: &'a [(u32, Time, Time)],
    /// When those that came back were sent, and when they returned.
    pub echoes: &'a [(Time, Time)],
}

/// Their columns, as in [`crate::Record`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "as in Record")]
pub struct DatagramColumns {
    pub deliveries: DeliveryColumns,
    pub delays: DelayColumns,
    pub round_trips: DelayColumns,
    pub losses: LossColumns,
}

/// The columns of `flows`; what arrives outside of the plan's measurement window only changes the state of
/// receivers. A datagram that seems to arrive before it was sent has a delay of 0.
pub fn datagram_columns(plan: &Plan, flows: &[ReceivedDatagrams]) -> DatagramColumns {
    let window = plan.warmup..Time::ZERO + plan.duration;
    let mut arrivals = Arrivals::new(plan.traffic.len(), false);
    let mut deliveries = DeliveryColumns::default();
    for flow in flows {
        let sink = plan.traffic[flow.traffic as usize].sink;
        let mut delivery = Delivery::new(sink.map(Playout::new));
        for &(number, sent, at) in flow.arrivals {
            delivery.receive(number, sent, at, window.contains(&at), flow.traffic, &mut arrivals);
        }
        for &(sent, at) in flow.echoes.iter().filter(|(_, at)| window.contains(at)) {
            delivery.return_trip(at - sent, flow.traffic, &mut arrivals);
        }
        delivery.add_to(&mut deliveries, flow.row);
    }
    let ArrivalColumns { delays, round_trips, losses } = arrivals.columns(|number| Some(number as u32));
    DatagramColumns { deliveries, delays, round_trips, losses }
}
