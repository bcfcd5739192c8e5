//! Virtual time: events and their order ([`event`]), the queue of pending events ([`calendar_queue`]), the
//! lazy scan of retransmission timers ([`rto_scan`]), and the timers of delayed ACKs ([`delayed_acks`]).

mod calendar_queue;
mod delayed_acks;
mod event;
mod heap;
mod rto_scan;

pub(crate) use calendar_queue::CalendarQueue;
pub(crate) use delayed_acks::DelayedAcks;
pub(crate) use event::{
    Event, EventKind, MAX_BURST_INDEX, MAX_EVENT_TIME, OF_GROUP, OLDEST, Service, TieKey,
};
pub(crate) use rto_scan::{FlowTimer, RtoEvent, RtoScan, Timers};
