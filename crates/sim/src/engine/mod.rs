//! Virtual time: the pending events in order ([`event`]), the queue that holds them ([`calendar_queue`]), and the lazy scan
//! of retransmission timers ([`rto_scan`]).

mod calendar_queue;
mod event;
mod heap;
mod rto_scan;

pub(crate) use calendar_queue::CalendarQueue;
pub(crate) use event::{Event, EventKind, LAST, LATEST, OF_GROUP, Service, TieKey};
pub(crate) use rto_scan::{RtoEvent, RtoScan};
