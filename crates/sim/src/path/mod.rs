//! The paths that packets take: the graph of nodes and links, shortest paths in it, and the route of every flow.

mod fixed_path;
mod graph;
mod route;
mod shortest;

pub(crate) use fixed_path::FixedPath;
pub(crate) use graph::Network;
pub(crate) use route::{Hop, NO_INDEX, RoundTrip, Route, Step};
