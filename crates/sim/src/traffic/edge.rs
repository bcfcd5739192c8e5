//! The edge of the network at a source: a marker measures what the source sends and gives each packet its class.
//!
//! A class number holds a class and one of three drop precedences (AF: RFC 2597): of traffic with class 3 n + d,
//! packets arrive at the marker with precedence d and leave it with class 3 n + whatever it says.

use crate::{error::PlanError, plan::Traffic, traffic::Demand};
use sojourn_aqm::{Class, Context, Limit, Random, Spec, Stream, Time, marker::Marker};

const PRECEDENCES: u8 = 3;

/// How the sources of a group are marked.
pub(crate) struct Edge {
    spec: Spec,
    rng: Stream,
}

/// The marker of one source.
pub(crate) struct EdgeMarker {
    marker: Box<dyn Marker>,
    rng: Box<dyn Random + Send>,
}

impl Edge {
    /// As `plan` says, if it does.
    ///
    /// # Errors
    /// A spec that is none, or whose values are missing or do not fit together.
    pub(crate) fn new(plan: &Traffic, demand: &Demand) -> Result<Option<Edge>, PlanError> {
        let Some(text) = &plan.marker else { return Ok(None) };
        let refused = |error| PlanError::spec(&format!("traffic.{}.marker", plan.name), error);
        let spec = Spec::parse_marker(text).map_err(refused)?;
        spec.marker(CONTEXT).map_err(refused)?;
        if plan.class > u8::MAX - PRECEDENCES {
            let key = format!("traffic.{}.class", plan.name);
            return Err(
                PlanError::new(key, "leaves no room for precedences").allowed("at most 252 with a marker")
            );
        }
        Ok(Some(Edge { spec, rng: demand.stream("marker") }))
    }

    /// The marker of source `index`.
    pub(crate) fn marker(&self, index: u64) -> EdgeMarker {
        let marker = self.spec.marker(CONTEXT).expect("it was built once before");
        EdgeMarker { marker, rng: Box::new(self.rng.indexed(index)) }
    }
}

impl EdgeMarker {
    /// The class of a packet of `bytes` of a source whose class is `class`.
    pub(crate) fn mark(&mut self, now: u64, bytes: u32, class: Class) -> Class {
        let precedence = class.0 % PRECEDENCES;
        let marked = self.marker.mark(Time(now), bytes, Class(precedence), &mut *self.rng);
        Class(class.0 - precedence + marked.0)
    }
}

/// A marker stands at no link; it is built from its own words alone.
const CONTEXT: Context = Context::new(1, Limit::Packets(1));
