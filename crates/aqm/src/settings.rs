//! What a constructor reads: the spec, then the value of the conventions in force, then the default.

use crate::{Context, DefaultValue, Span, Spec, SpecError, Value, transmission, units::Size};
use alloc::string::ToString;

/// What a constructor reads: the spec where it says something, else the preset, else the default.
pub struct Settings<'a> {
    /// What was written.
    pub spec: &'a Spec,
    /// The link.
    pub context: Context,
}

/// The value of a parameter as what its kind has, `None` if derived. Read as another kind it would be taken for
/// derived, and a constructor would silently go on with 0: a mistake of its author's that the contract finds.
macro_rules! take {
    ($settings:expr, $name:expr, $kind:path) => {
        $settings.get($name).map(|value| match value {
            $kind(inner) => inner,
            other => panic!("{}.{} = {other} is read as another kind", $settings.spec.algorithm.name, $name),
        })
    };
}

impl Settings<'_> {
    /// The value of `name`: as set, else that of the conventions in force, else the default; `None` if derived.
    ///
    /// # Panics
    /// If `name` is not in the algorithm's schema, or the schema's own default does not parse: both are
    /// mistakes in the registry, which its tests find.
    pub fn get(&self, name: &str) -> Option<Value> {
        if let Some((_, value)) = self.spec.values.iter().find(|(p, _)| p.name == name) {
            return Some(value.clone());
        }
        let param = self.spec.algorithm.param(name).expect("a constructor asks for its own parameters");
        let word = match (param.under(self.context.conventions), param.default) {
            (Some(word), _) | (_, DefaultValue::Value(word)) => word,
            (_, DefaultValue::Derived(_)) => return None,
        };
        Some(Value::parse(param, word).expect("a default lies in its own range"))
    }

    /// A number; 0 if derived and not set.
    pub fn number(&self, name: &str) -> f64 {
        take!(self, name, Value::Number).unwrap_or(0.0)
    }
    /// A number, or `derived` if not set.
    pub fn number_or(&self, name: &str, derived: f64) -> f64 {
        take!(self, name, Value::Number).unwrap_or(derived)
    }
    /// A whole number.
    pub fn integer(&self, name: &str) -> i64 {
        take!(self, name, Value::Integer).unwrap_or(0)
    }
    /// A flag.
    pub fn flag(&self, name: &str) -> bool {
        take!(self, name, Value::Flag).unwrap_or(false)
    }
    /// The `ecn` flag of the spec, or the queue's.
    pub fn ecn(&self) -> bool {
        take!(self, "ecn", Value::Flag).unwrap_or(self.context.ecn)
    }
    /// A time span.
    pub fn span(&self, name: &str) -> Span {
        take!(self, name, Value::Span).unwrap_or(Span::ZERO)
    }
    /// A rate in bit/s, or the link's own.
    pub fn rate(&self, name: &str) -> u64 {
        take!(self, name, Value::Rate).unwrap_or(self.context.link_rate)
    }
    /// An amount of queue, if set or fixed.
    pub fn size(&self, name: &str) -> Option<Size> {
        take!(self, name, Value::Size)
    }
    /// A packet size in bytes, or the link's true mean packet size.
    pub fn packet_bytes(&self, name: &str) -> f64 {
        let mean_packet = f64::from(self.context.mean_packet);
        match take!(self, name, Value::Size) {
            Some(Size::Bytes(b)) => b,
            Some(Size::Packets(n)) => n * mean_packet,
            None => mean_packet,
        }
    }
    /// The chosen word.
    pub fn choice(&self, name: &str) -> &'static str {
        take!(self, name, Value::Choice).unwrap_or("")
    }
    /// What stands inside, if set or fixed.
    ///
    /// # Errors
    /// None that [`Spec::parse_any`] would not have found before.
    pub fn nested(&self, name: &str) -> Result<Option<Spec>, SpecError> {
        take!(self, name, Value::Spec).map(|text| Spec::parse_any(&text)).transpose()
    }
    /// Time of one packet of `bytes` on this link.
    pub fn transmission(&self, bytes: f64) -> Span {
        transmission(bytes as u64, self.context.link_rate)
    }
    /// An error about parameter `name`.
    pub fn error(&self, name: &str, problem: impl ToString, allowed: &str) -> SpecError {
        SpecError::of(self, name, problem.to_string(), allowed)
    }
}
