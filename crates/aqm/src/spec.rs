//! Algorithm specs: `tc`'s grammar (`red min_th 15 max_th 45 ecn`), parsed against the schema.
//!
//! A [`Spec`] is what a person writes, checked and made canonical; [`Settings`] is what a constructor
//! reads: the spec, then ns-2's value if that preset is on, then the default.

use crate::{
    Algorithm, Aqm, Context, DefaultValue, Kind, Limit, Param, Scheduler, Span, registry, transmission,
    units::{self, Size},
};
use alloc::{borrow::ToOwned, boxed::Box, format, string::String, string::ToString, vec::Vec};
use core::fmt;

/// Who leaves when the buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The arriving packet.
    #[default]
    Tail,
    /// The packets at the head, until the arrival fits.
    Head,
    /// Randomly chosen waiting packets, until the arrival fits.
    Random,
}

/// The words that any spec may carry and that the queue, not the algorithm, obeys.
pub const QUEUE_WORDS: [&str; 2] = ["limit", "overflow"];
const OVERFLOWS: [(&str, Overflow); 3] =
    [("tail", Overflow::Tail), ("head", Overflow::Head), ("random", Overflow::Random)];

/// What is wrong with a spec: which word, why, what is allowed, the nearest match.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecError {
    /// The offending word: an algorithm, a parameter, or `red.min_th`.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub allowed: String,
    /// The nearest valid word, if the key is a misspelt one.
    pub nearest: Option<String>,
}

impl SpecError {
    /// An error about parameter `name` of the algorithm in `settings`.
    pub fn of(settings: &Settings, name: &str, problem: String, allowed: &str) -> SpecError {
        SpecError {
            key: format!("{}.{name}", settings.spec.algorithm.name),
            problem,
            allowed: allowed.to_owned(),
            nearest: None,
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.key, self.problem)?;
        if let Some(nearest) = &self.nearest {
            write!(f, " (did you mean {nearest}?)")?;
        }
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        Ok(())
    }
}

impl core::error::Error for SpecError {}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Integer`].
    Integer(i64),
    /// For [`Kind::Flag`].
    Flag(bool),
    /// For [`Kind::Span`].
    Span(Span),
    /// For [`Kind::Rate`], bit/s.
    Rate(u64),
    /// For [`Kind::Size`].
    Size(Size),
    /// For [`Kind::Choice`].
    Choice(&'static str),
}

impl Value {
    /// Read `word` as a value of `param`.
    ///
    /// # Errors
    /// What is wrong with the word, as the rest of a sentence that begins with it.
    pub fn parse(param: &Param, word: &str) -> Result<Value, String> {
        let value = match param.kind {
            Kind::Number => Value::Number(units::number(word)?),
            Kind::Integer => Value::Integer(units::integer(word)?),
            Kind::Flag => Value::Flag(match word {
                "true" | "on" | "yes" => true,
                "false" | "off" | "no" => false,
                _ => return Err("is not on or off".to_owned()),
            }),
            Kind::Span => Value::Span(units::span(word)?),
            Kind::Rate => Value::Rate(units::rate(word)?),
            Kind::Size => Value::Size(units::size(word)?),
            Kind::Choice(words) => match words.iter().find(|w| **w == word) {
                Some(word) => Value::Choice(word),
                None => return Err("is not one of the allowed words".to_owned()),
            },
        };
        if value.plain().is_some_and(|x| !param.range.holds(x)) {
            return Err("is out of range".to_owned());
        }
        Ok(value)
    }

    /// The plain number that a range is checked against.
    fn plain(&self) -> Option<f64> {
        match self {
            Value::Number(x) => Some(*x),
            Value::Integer(i) => Some(*i as f64),
            Value::Span(s) => Some(s.as_secs_f64()),
            Value::Rate(r) => Some(*r as f64),
            Value::Size(s) => Some(s.plain()),
            Value::Flag(_) | Value::Choice(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Number(x) => write!(f, "{x}"),
            Value::Integer(i) => write!(f, "{i}"),
            Value::Flag(b) => f.write_str(if *b { "on" } else { "off" }),
            Value::Span(s) => f.write_str(&units::show_span(*s)),
            Value::Rate(r) => f.write_str(&units::show_rate(*r)),
            Value::Size(s) => write!(f, "{s}"),
            Value::Choice(word) => f.write_str(word),
        }
    }
}

/// What may be written for `param`, for error messages and tables.
pub fn allowed(param: &Param) -> String {
    let r = &param.range;
    let interval = match (r.min.is_finite(), r.max.is_finite()) {
        (false, false) => String::new(),
        (true, false) => format!(" {} {}", if r.above { ">" } else { ">=" }, r.min),
        (false, true) => format!(" {} {}", if r.below { "<" } else { "<=" }, r.max),
        (true, true) => format!(
            " in {}{}, {}{}",
            if r.above { '(' } else { '[' },
            r.min,
            r.max,
            if r.below { ')' } else { ']' }
        ),
    };
    match param.kind {
        Kind::Number => format!("a number{interval}"),
        Kind::Integer => format!("a whole number{interval}"),
        Kind::Flag => "on or off (the bare word means on)".to_owned(),
        Kind::Span => "a time with its unit, like 15ms".to_owned(),
        Kind::Rate => "a rate with its unit, like 10Mbit/s".to_owned(),
        Kind::Size => "packets (15p) or bytes (15kB)".to_owned(),
        Kind::Choice(words) => words.join(" | "),
    }
}

/// A checked algorithm spec.
#[derive(Clone)]
pub struct Spec {
    /// The registry entry.
    pub algorithm: &'static Algorithm,
    /// The parameters that were set, in schema order.
    pub values: Vec<(&'static Param, Value)>,
    /// `limit`, if the spec carries one.
    pub limit: Option<Limit>,
    /// `overflow`, if the spec carries one.
    pub overflow: Option<Overflow>,
}

impl Spec {
    /// Read `text` (`"pie target 15ms limit 100p"`).
    ///
    /// # Errors
    /// The first word that is no algorithm, no parameter, or has no allowed value.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        Spec::parse_among(text, registry::ALGORITHMS.iter().copied())
    }

    /// Read `text` as a scheduler (`"fq_codel target 10ms"`).
    ///
    /// # Errors
    /// The first word that is no scheduler, no parameter, or has no allowed value.
    pub fn parse_scheduler(text: &str) -> Result<Spec, SpecError> {
        Spec::parse_among(text, registry::SCHEDULERS.iter().map(|discipline| &discipline.algorithm))
    }

    /// Read `text` as what may stand at a link: an algorithm or a scheduler.
    ///
    /// # Errors
    /// As [`Spec::parse`] and [`Spec::parse_scheduler`].
    pub fn parse_any(text: &str) -> Result<Spec, SpecError> {
        Spec::parse_with(text, &[])
    }

    /// The same, with algorithms beside the registry's that the caller brings.
    ///
    /// # Errors
    /// As [`Spec::parse_any`].
    pub fn parse_with(text: &str, others: &[&'static Algorithm]) -> Result<Spec, SpecError> {
        let schedulers = registry::SCHEDULERS.iter().map(|discipline| &discipline.algorithm);
        let known = registry::ALGORITHMS.iter().chain(others).copied();
        Spec::parse_among(text, known.chain(schedulers))
    }

    /// Whether it names a scheduler, to be built by [`Spec::schedule`].
    pub fn is_scheduler(&self) -> bool {
        registry::SCHEDULERS
            .iter()
            .any(|discipline| core::ptr::eq(&raw const discipline.algorithm, self.algorithm))
    }

    fn parse_among(
        text: &str,
        known: impl Iterator<Item = &'static Algorithm> + Clone,
    ) -> Result<Spec, SpecError> {
        let names = || known.clone().map(|algorithm| algorithm.name);
        let mut words = text.split_whitespace();
        let name = words.next().ok_or_else(|| SpecError {
            key: "the algorithm".to_owned(),
            problem: "is missing".to_owned(),
            allowed: names().collect::<Vec<_>>().join(", "),
            nearest: None,
        })?;
        let algorithm = known.clone().find(|algorithm| algorithm.name == name).ok_or_else(|| SpecError {
            key: format!("{name:?}"),
            problem: "is not an algorithm".to_owned(),
            allowed: names().collect::<Vec<_>>().join(", "),
            nearest: units::nearest(name, names()),
        })?;
        let mut spec = Spec { algorithm, values: Vec::new(), limit: None, overflow: None };
        let mut words = words.peekable();
        while let Some(key) = words.next() {
            spec.set(key, &mut words)?;
        }
        spec.values.sort_by_key(|(param, _)| algorithm.params.iter().position(|p| core::ptr::eq(p, *param)));
        Ok(spec)
    }

    fn set<'a>(
        &mut self,
        key: &str,
        words: &mut core::iter::Peekable<impl Iterator<Item = &'a str>>,
    ) -> Result<(), SpecError> {
        let error = |problem: String, allowed: String| SpecError {
            key: format!("{}.{key}", self.algorithm.name),
            problem,
            allowed,
            nearest: None,
        };
        if QUEUE_WORDS.contains(&key) {
            let word = words.next().ok_or_else(|| error("has no value".to_owned(), String::new()))?;
            if key == "limit" {
                let limit = units::limit(word).map_err(|why| {
                    error(format!("= {word} {why}"), "packets (100p) or bytes (120kB)".into())
                })?;
                if self.limit.replace(limit).is_some() {
                    return Err(error("is given twice".to_owned(), String::new()));
                }
            } else {
                let found = OVERFLOWS.iter().find(|(name, _)| *name == word).ok_or_else(|| {
                    error(format!("= {word} is not one of the allowed words"), "tail | head | random".into())
                })?;
                if self.overflow.replace(found.1).is_some() {
                    return Err(error("is given twice".to_owned(), String::new()));
                }
            }
            return Ok(());
        }
        let Some(param) = self.algorithm.param(key) else {
            let names = || self.algorithm.params.iter().map(|p| p.name).chain(QUEUE_WORDS);
            let mut wrong = error("is not a parameter".to_owned(), names().collect::<Vec<_>>().join(", "));
            wrong.nearest = units::nearest(key, names());
            return Err(wrong);
        };
        let is_flag_word = |w: &&str| matches!(*w, "true" | "on" | "yes" | "false" | "off" | "no");
        let word = match param.kind {
            Kind::Flag => words.next_if(is_flag_word).unwrap_or("on"),
            _ => words.next().ok_or_else(|| error("has no value".to_owned(), allowed(param)))?,
        };
        let value =
            Value::parse(param, word).map_err(|why| error(format!("= {word} {why}"), allowed(param)))?;
        if self.values.iter().any(|(p, _)| core::ptr::eq(*p, param)) {
            return Err(error("is given twice".to_owned(), String::new()));
        }
        self.values.push((param, value));
        Ok(())
    }

    /// Build the algorithm for a link.
    ///
    /// # Errors
    /// Values that do not fit together (`min_th >= max_th`) or do not fit the link.
    pub fn build(&self, context: Context) -> Result<Box<dyn Aqm>, SpecError> {
        (self.algorithm.build)(&Settings { spec: self, context })
    }

    /// Build the scheduler for a link.
    ///
    /// # Errors
    /// Values that do not fit together or do not fit the link; an algorithm that is no scheduler.
    pub fn schedule(&self, context: Context) -> Result<Box<dyn Scheduler>, SpecError> {
        let name = self.algorithm.name;
        match registry::SCHEDULERS.iter().find(|discipline| discipline.algorithm.name == name) {
            Some(discipline) => (discipline.build)(&Settings { spec: self, context }),
            None => Err(SpecError {
                key: name.to_owned(),
                problem: "is not a scheduler".to_owned(),
                allowed: "a scheduler".to_owned(),
                nearest: None,
            }),
        }
    }
}

impl fmt::Display for Spec {
    /// The canonical form: name, set parameters in schema order, then `limit` and `overflow`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.algorithm.name)?;
        for (param, value) in &self.values {
            match value {
                Value::Flag(true) => write!(f, " {}", param.name)?,
                _ => write!(f, " {} {value}", param.name)?,
            }
        }
        match self.limit {
            Some(Limit::Packets(n)) => write!(f, " limit {n}p")?,
            Some(Limit::Bytes(n)) => write!(f, " limit {}", Size::Bytes(n as f64))?,
            None => {}
        }
        match self.overflow {
            Some(wanted) => {
                let name = OVERFLOWS.iter().find(|(_, o)| *o == wanted).map_or("tail", |(name, _)| name);
                write!(f, " overflow {name}")
            }
            None => Ok(()),
        }
    }
}

/// What a constructor reads: the spec where it says something, else the preset, else the default.
pub struct Settings<'a> {
    /// What was written.
    pub spec: &'a Spec,
    /// The link.
    pub context: Context,
}

impl Settings<'_> {
    /// The value of `name`: as set, else ns-2's under that preset, else the default; `None` if derived.
    ///
    /// # Panics
    /// If `name` is not in the algorithm's schema, or the schema's own default does not parse: both are
    /// mistakes in the registry, which its tests find.
    pub fn get(&self, name: &str) -> Option<Value> {
        if let Some((_, value)) = self.spec.values.iter().find(|(p, _)| p.name == name) {
            return Some(value.clone());
        }
        let param = self.spec.algorithm.param(name).expect("a constructor asks for its own parameters");
        let of_2001 = param.ns2_2001.filter(|_| self.context.ns2_2001);
        let word = match (self.context.ns2, of_2001.or(param.ns2), param.default) {
            (true, Some(word), _) | (_, _, DefaultValue::Value(word)) => word,
            (_, _, DefaultValue::Derived(_)) => return None,
        };
        Some(Value::parse(param, word).expect("a default lies in its own range"))
    }

    /// A number; 0 if derived and not set.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Number(x)) => x,
            _ => 0.0,
        }
    }
    /// A number, or `derived` if not set.
    pub fn number_or(&self, name: &str, derived: f64) -> f64 {
        match self.get(name) {
            Some(Value::Number(x)) => x,
            _ => derived,
        }
    }
    /// A whole number.
    pub fn integer(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Integer(i)) => i,
            _ => 0,
        }
    }
    /// A flag.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Flag(true)))
    }
    /// The `ecn` flag of the spec, or the queue's.
    pub fn ecn(&self) -> bool {
        match self.get("ecn") {
            Some(Value::Flag(on)) => on,
            _ => self.context.ecn,
        }
    }
    /// A time span.
    pub fn span(&self, name: &str) -> Span {
        match self.get(name) {
            Some(Value::Span(s)) => s,
            _ => Span::ZERO,
        }
    }
    /// A rate in bit/s, or the link's own.
    pub fn rate(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Rate(r)) => r,
            _ => self.context.link_rate,
        }
    }
    /// An amount of queue, if set or fixed.
    pub fn size(&self, name: &str) -> Option<Size> {
        match self.get(name) {
            Some(Value::Size(s)) => Some(s),
            _ => None,
        }
    }
    /// A packet size in bytes, or the link's true mean packet size.
    pub fn packet_bytes(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Size(Size::Bytes(b))) => b,
            Some(Value::Size(Size::Packets(n))) => n * f64::from(self.context.mean_packet),
            _ => f64::from(self.context.mean_packet),
        }
    }
    /// The chosen word.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Value::Choice(word)) => word,
            _ => "",
        }
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
