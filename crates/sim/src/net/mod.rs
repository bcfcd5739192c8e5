//! The network: packets, links, queues, and the graph that joins them.

mod link;
mod packet;
mod queue;
mod topology;

pub(crate) use link::{InFlight, Link};
pub(crate) use packet::{Body, Packet, Sack};
pub(crate) use queue::{Offer, Port};
pub(crate) use topology::{Network, Route};
