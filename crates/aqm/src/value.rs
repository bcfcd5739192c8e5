//! The value of a parameter: reading, check against the schema, and printing.

use crate::{
    Kind, Param, Span, Spec,
    units::{self, Size},
};
use alloc::{borrow::ToOwned, boxed::Box, format, string::String, string::ToString};
use core::fmt;

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
    /// For [`Kind::Spec`].
    Spec(Box<Spec>),
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
            Kind::Spec => Value::Spec(Box::new(Spec::parse_nested(word, &[]).map_err(|e| e.to_string())?)),
        };
        if !value.fits(param) {
            return Err("is out of range".to_owned());
        }
        Ok(value)
    }

    /// Whether it is in the range of `param`.
    pub(crate) fn fits(&self, param: &Param) -> bool {
        self.plain().is_none_or(|x| param.range.holds(x))
    }

    /// The plain number that a range is checked against.
    fn plain(&self) -> Option<f64> {
        match self {
            Value::Number(x) => Some(*x),
            Value::Integer(i) => Some(*i as f64),
            Value::Span(s) => Some(s.as_secs_f64()),
            Value::Rate(r) => Some(*r as f64),
            Value::Size(s) => Some(s.plain()),
            Value::Flag(_) | Value::Choice(_) | Value::Spec(_) => None,
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
            Value::Spec(spec) => match spec.to_string() {
                text if text.contains(' ') => write!(f, "({text})"),
                text => f.write_str(&text),
            },
        }
    }
}

/// The allowed values of `param`, for error messages and tables.
pub fn allowed(param: &Param) -> String {
    let r = &param.range;
    let end = |x: f64| match param.kind {
        Kind::Span => units::show_span(Span((x * 1e9) as u64)),
        Kind::Rate => units::show_rate(x as u64),
        _ => x.to_string(),
    };
    // No time, rate or size is below 0: that end is implied.
    let implied = matches!(param.kind, Kind::Span | Kind::Rate | Kind::Size) && r.min <= 0.0 && !r.above;
    let interval = match (r.min.is_finite() && !implied, r.max.is_finite()) {
        (false, false) => String::new(),
        (true, false) => format!(" {} {}", if r.above { ">" } else { ">=" }, end(r.min)),
        (false, true) => format!(" {} {}", if r.below { "<" } else { "<=" }, end(r.max)),
        (true, true) => format!(
            " in {}{}, {}{}",
            if r.above { '(' } else { '[' },
            end(r.min),
            end(r.max),
            if r.below { ')' } else { ']' }
        ),
    };
    match param.kind {
        Kind::Number => format!("a number{interval}"),
        Kind::Integer => format!("a whole number{interval}"),
        Kind::Flag => "on or off (the bare word means on)".to_owned(),
        Kind::Span => format!("a time{interval} with its unit, like 15ms"),
        Kind::Rate => format!("a rate{interval} with its unit, like 10Mbit/s"),
        Kind::Size => format!("packets (15p) or bytes (15kB){interval}"),
        Kind::Choice(words) => words.join(" | "),
        Kind::Spec => "an algorithm or scheduler, like codel or (codel target 10ms)".to_owned(),
    }
}
