//! The algorithm that decides about a line.
//!
//! Those that decide about most packets that anybody simulates are known by type: what they do is compiled into the
//! queue, and nothing need be shown to them that they do not look at. All others are called through their table.

use sojourn_aqm::{Aqm, codel::CoDel, pi::Pi, red::Red};
use std::any::Any;

pub(super) enum Decider {
    Red(Red),
    CoDel(CoDel),
    Pi(Pi),
    Other(Box<dyn Aqm>),
}

impl Decider {
    pub(super) fn new(aqm: Box<dyn Aqm>) -> Decider {
        fn known<A: Aqm>(aqm: Box<dyn Aqm>) -> Result<A, Box<dyn Aqm>> {
            if (&*aqm as &dyn Any).is::<A>() {
                let aqm: Box<dyn Any> = aqm;
                return Ok(*aqm.downcast().expect("just asked"));
            }
            Err(aqm)
        }
        known(aqm)
            .map(Decider::Red)
            .or_else(|aqm| known(aqm).map(Decider::CoDel))
            .or_else(|aqm| known(aqm).map(Decider::Pi))
            .unwrap_or_else(Decider::Other)
    }

    pub(super) fn aqm(&self) -> &dyn Aqm {
        match self {
            Decider::Red(red) => red,
            Decider::CoDel(codel) => codel,
            Decider::Pi(pi) => pi,
            Decider::Other(other) => &**other,
        }
    }

    pub(super) fn aqm_mut(&mut self) -> &mut dyn Aqm {
        match self {
            Decider::Red(red) => red,
            Decider::CoDel(codel) => codel,
            Decider::Pi(pi) => pi,
            Decider::Other(other) => &mut **other,
        }
    }
}
