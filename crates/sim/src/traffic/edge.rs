//! Markers at the network edge: a marker meters the packets of one source and sets their classes.
//!
//! A class number encodes an AF class and one of three drop precedences (RFC 2597): packets of class 3 n + d
//! arrive at the marker with precedence d and leave it with class 3 n plus the precedence that the marker
//! chooses.

use crate::{error::PlanError, plan::Traffic, traffic::Demand};
use sojourn_aqm::{Class, Context, Limit, Random, Spec, Stream, Time, marker::Marker};

const PRECEDENCES: u8 = 3;

/// The marker specification of a group of sources.
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
    /// The marker of `plan`, if it has one.
    ///
    /// # Errors
    /// An invalid spec, or one whose values are missing or inconsistent.
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
        let marker = self.spec.marker(CONTEXT).expect("built in Edge::new");
        EdgeMarker { marker, rng: Box::new(self.rng.indexed(index)) }
    }
}

impl EdgeMarker {
    /// The class of a packet of `bytes` from a source of class `class`.
    pub(crate) fn mark(&mut self, now: Time, bytes: u32, class: Class) -> Class {
        let precedence = class.0 % PRECEDENCES;
        let marked = self.marker.mark(now, bytes, Class(precedence), &mut *self.rng);
        Class(class.0 - precedence + marked.0)
    }
}

/// A marker does not depend on a link.
const CONTEXT: Context = Context::new(1, Limit::Packets(1));
