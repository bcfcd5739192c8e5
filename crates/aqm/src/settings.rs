//! [`Settings`]: the input from which an algorithm of the registry is built.

use crate::{
    Aqm, Context, Scheduler, Spec, SpecError, Value,
    config::{Fields, Values},
    marker::Marker,
};
use alloc::boxed::Box;

/// A spec and the link for which its algorithm is built.
pub struct Settings<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// The link.
    pub context: Context,
}

impl Settings<'_> {
    /// The value of `name`: as set, else that of the conventions in force, else the default; `None` if
    /// derived.
    ///
    /// # Panics
    /// If `name` is not in the algorithm's schema, or the schema's own default does not parse: both are
    /// errors in the registry, which its tests detect.
    pub fn get(&self, name: &str) -> Option<Value> {
        let param = self.spec.algorithm.param(name).expect("the name of a parameter of the algorithm");
        Values::from(self).get(param)
    }

    /// The `ecn` flag of the spec, or the queue's.
    pub fn ecn(&self) -> bool {
        self.get("ecn").map_or(self.context.ecn, |value| value == Value::Flag(true))
    }

    /// The algorithm that `new` makes of a configuration.
    pub(crate) fn build<C: Fields, A: Aqm>(
        &self,
        new: impl FnOnce(C) -> Result<A, SpecError>,
    ) -> Result<Box<dyn Aqm>, SpecError> {
        Ok(Box::new(self.make(new)?))
    }

    /// The scheduler that `new` makes of a configuration.
    pub(crate) fn schedule<C: Fields, S: Scheduler + 'static>(
        &self,
        new: impl FnOnce(C) -> Result<S, SpecError>,
    ) -> Result<Box<dyn Scheduler>, SpecError> {
        Ok(Box::new(self.make(new)?))
    }

    /// The marker that `new` makes of a configuration.
    pub(crate) fn mark<C: Fields, M: Marker + 'static>(
        &self,
        new: impl FnOnce(C) -> Result<M, SpecError>,
    ) -> Result<Box<dyn Marker>, SpecError> {
        Ok(Box::new(self.make(new)?))
    }

    fn make<C: Fields, T>(&self, new: impl FnOnce(C) -> Result<T, SpecError>) -> Result<T, SpecError> {
        C::read(&self.into()).and_then(new).map_err(|error| error.within(self.spec.algorithm.name))
    }
}
