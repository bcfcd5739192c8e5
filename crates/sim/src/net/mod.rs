//! The network: packets, links, queues, and the graph that joins them.

mod capacity;
mod chain;
mod clerk;
mod fifo;
mod gate;
mod line;
mod link;
mod packet;
mod port;
mod routes;
mod scheduled;
mod topology;
mod ways;

pub(crate) use capacity::Capacity;
pub(crate) use chain::Chain;
pub(crate) use clerk::{Clerk, Offer};
pub(crate) use gate::Gate;
pub(crate) use link::{Link, LinkKind, Pace};
pub(crate) use packet::{Carries, Packet, Sack, Sacks, blocks};
pub(crate) use port::{Port, Setting};
pub(crate) use routes::{Hop, Lap, NOWHERE, Route, Step};
pub(crate) use topology::Network;
