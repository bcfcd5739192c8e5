//! The paths that packets take: the graph of nodes and links, shortest paths in it, and the route of every
//! flow.

pub(crate) mod eligibility;
mod fixed_path;
mod graph;
mod links;
mod lookahead;
mod round_trip;
mod route;
mod shortest;
mod wires;

pub(crate) use fixed_path::FixedPath;
pub(crate) use graph::{Layout, Network};
pub(crate) use links::Links;
pub(crate) use round_trip::{AckSize, RoundTrip};
pub(crate) use route::{Hop, NO_INDEX, Route, Step};
pub(crate) use wires::{Impaired, Wires};
