//! Algorithm specs: `tc`'s grammar (`red min_th 15 max_th 45 ecn`), parsed against the schema.
//!
//! A [`Spec`] is a parsed and checked text, and prints its canonical form. It names the algorithm or
//! scheduler of a link; each class of a scheduler has a spec of its own, in parentheses if it is more than
//! one word: `prio aqm_1 (red min_th 5p max_th 15p)`.

use crate::{
    Algorithm, Aqm, Context, Kind, Limit, Param, Scheduler, Settings, Value, allowed,
    marker::Marker,
    registry,
    units::{self, Size},
};
use alloc::{borrow::ToOwned, boxed::Box, format, string::String, vec::Vec};
use core::fmt;

/// Which packet is dropped when the buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The arriving packet.
    #[default]
    Tail,
    /// The packets at the head, until the arrival fits.
    Head,
    /// Randomly chosen queued packets, until the arrival fits.
    Random,
}

/// The words of any spec that configure the queue, not the algorithm.
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
    /// What is allowed.
    pub allowed: String,
    /// The nearest valid word, if the key is a misspelt one.
    pub nearest: Option<String>,
}

impl SpecError {
    /// An error about a parameter. [`SpecError::within`] adds the algorithm.
    pub(crate) fn about(param: &str, problem: impl Into<String>, allowed: &str) -> SpecError {
        let allowed = allowed.to_owned();
        SpecError { key: param.to_owned(), problem: problem.into(), allowed, nearest: None }
    }

    /// The same error with the algorithm's name, unless its key has one: that of an algorithm inside a
    /// scheduler.
    pub(crate) fn within(self, algorithm: &str) -> SpecError {
        let key = if self.key.contains('.') { self.key } else { format!("{algorithm}.{}", self.key) };
        SpecError { key, ..self }
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

/// A checked algorithm spec.
#[derive(Clone)]
pub struct Spec {
    /// The registry entry.
    pub algorithm: &'static Algorithm,
    /// The parameters that were set, in schema order.
    pub values: Vec<(&'static Param, Value)>,
    /// `limit`, if the spec contains one.
    pub limit: Option<Limit>,
    /// `overflow`, if the spec contains one.
    pub overflow: Option<Overflow>,
}

impl Spec {
    /// Read `text` (`"pie target 15ms limit 100p"`).
    ///
    /// # Errors
    /// The first word that is no algorithm, no parameter, or has no allowed value.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        Spec::parse_among(text, "an algorithm", registry::ALGORITHMS.iter().copied(), &[])
    }

    /// Read `text` as a scheduler (`"fq_codel target 10ms"`).
    ///
    /// # Errors
    /// The first word that is no scheduler, no parameter, or has no allowed value.
    pub fn parse_scheduler(text: &str) -> Result<Spec, SpecError> {
        let schedulers = registry::SCHEDULERS.iter().map(|discipline| &discipline.algorithm);
        Spec::parse_among(text, "a scheduler", schedulers, &[])
    }

    /// Read `text` as an algorithm or a scheduler.
    ///
    /// # Errors
    /// As [`Spec::parse`] and [`Spec::parse_scheduler`].
    pub fn parse_any(text: &str) -> Result<Spec, SpecError> {
        Spec::parse_with(text, &[])
    }

    /// The same, with algorithms of the caller in addition to those of the registry, in the classes of a
    /// scheduler, too.
    ///
    /// # Errors
    /// As [`Spec::parse_any`].
    pub fn parse_with(text: &str, others: &[&'static Algorithm]) -> Result<Spec, SpecError> {
        let schedulers = registry::SCHEDULERS.iter().map(|discipline| &discipline.algorithm);
        let known = registry::ALGORITHMS.iter().chain(others).copied();
        Spec::parse_among(text, "an algorithm", known.chain(schedulers), others)
    }

    /// The name in `text` and those in the classes of a scheduler, known or not; no parameter is checked.
    ///
    /// ```
    /// # use sojourn_aqm::Spec;
    /// assert_eq!(Spec::names("drr classes 2 aqm_0 (mine target 5ms) aqm_1 red"), ["drr", "mine", "red"]);
    /// ```
    pub fn names(text: &str) -> Vec<&str> {
        let words = split(text).unwrap_or_else(|_| text.split_whitespace().collect());
        let Some(&first) = words.first() else { return Vec::new() };
        let scheduler = registry::SCHEDULERS.iter().find(|one| one.algorithm.name == first);
        let is_spec = |key: &str| {
            let param = scheduler.and_then(|scheduler| scheduler.algorithm.param(key));
            param.is_some_and(|param| param.kind == Kind::Spec)
        };
        let nested =
            words.windows(2).filter(|pair| is_spec(pair[0])).flat_map(|pair| Spec::names(inside(pair[1])));
        core::iter::once(first).chain(nested).collect()
    }

    /// Read `text` as a marker (`"token_bucket cir 1Mbit/s cbs 15kB"`).
    ///
    /// # Errors
    /// The first word that is no marker, no parameter, or has no allowed value.
    pub fn parse_marker(text: &str) -> Result<Spec, SpecError> {
        Spec::parse_among(text, "a marker", registry::MARKERS.iter().map(|profile| &profile.algorithm), &[])
    }

    /// Whether it names a scheduler, to be built by [`Spec::schedule`].
    pub fn is_scheduler(&self) -> bool {
        registry::SCHEDULERS.iter().any(|discipline| discipline.algorithm.name == self.algorithm.name)
    }

    fn is_marker(&self) -> bool {
        registry::MARKERS.iter().any(|profile| profile.algorithm.name == self.algorithm.name)
    }

    /// Read the spec of a scheduler's class: one word, or a spec in parentheses.
    ///
    /// # Errors
    /// As [`Spec::parse_with`]; a word of the whole queue; schedulers nested more than once.
    pub(crate) fn parse_nested(word: &str, others: &[&'static Algorithm]) -> Result<Spec, SpecError> {
        let spec = Spec::parse_with(inside(word), others)?;
        let refuse = |key: String, problem: &str, allowed: &str| {
            Err(SpecError { key, problem: problem.to_owned(), allowed: allowed.to_owned(), nearest: None })
        };
        let name = spec.algorithm.name;
        for (is_set, key) in [(spec.limit.is_some(), "limit"), (spec.overflow.is_some(), "overflow")] {
            if is_set {
                return refuse(
                    format!("{name}.{key}"),
                    "belongs to the whole queue",
                    "one limit for all classes",
                );
            }
        }
        for (_, value) in &spec.values {
            if let Value::Spec(inside) = value
                && inside.is_scheduler()
            {
                return refuse(name.to_owned(), "is a scheduler between two others", "nesting once");
            }
        }
        Ok(spec)
    }

    /// The words of the queue that this spec may contain: a scheduler chooses its own victims, a marker has
    /// no queue.
    pub fn queue_words(&self) -> &'static [&'static str] {
        if self.is_scheduler() {
            &QUEUE_WORDS[..1]
        } else if self.is_marker() {
            &[]
        } else {
            &QUEUE_WORDS
        }
    }

    /// Whether the spec, or the spec of one of its classes, turns `ecn` on.
    pub fn says_ecn(&self) -> bool {
        self.values.iter().any(|(param, value)| match value {
            Value::Flag(on) => *on && param.name == "ecn",
            Value::Spec(inside) => inside.says_ecn(),
            _ => false,
        })
    }

    fn parse_among(
        text: &str,
        what: &str,
        known: impl Iterator<Item = &'static Algorithm> + Clone,
        others: &[&'static Algorithm],
    ) -> Result<Spec, SpecError> {
        let names = || known.clone().map(|algorithm| algorithm.name);
        let mut words = split(text)?.into_iter();
        let name = words.next().ok_or_else(|| SpecError {
            key: what.replacen("an ", "the ", 1).replacen("a ", "the ", 1),
            problem: "is missing".to_owned(),
            allowed: names().collect::<Vec<_>>().join(", "),
            nearest: None,
        })?;
        let algorithm = known.clone().find(|algorithm| algorithm.name == name).ok_or_else(|| SpecError {
            key: format!("{name:?}"),
            problem: format!("is not {what}"),
            allowed: names().collect::<Vec<_>>().join(", "),
            nearest: units::nearest(name, names()),
        })?;
        let mut spec = Spec { algorithm, values: Vec::new(), limit: None, overflow: None };
        let mut words = words.peekable();
        while let Some(key) = words.next() {
            spec.set(key, &mut words, others)?;
        }
        spec.values.sort_by_key(|(param, _)| algorithm.params.iter().position(|p| core::ptr::eq(p, *param)));
        Ok(spec)
    }

    fn set<'a>(
        &mut self,
        key: &str,
        words: &mut core::iter::Peekable<impl Iterator<Item = &'a str>>,
        others: &[&'static Algorithm],
    ) -> Result<(), SpecError> {
        let error = |problem: String, allowed: String| SpecError {
            key: format!("{}.{key}", self.algorithm.name),
            problem,
            allowed,
            nearest: None,
        };
        if self.queue_words().contains(&key) {
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
            let names =
                || self.algorithm.params.iter().map(|p| p.name).chain(self.queue_words().iter().copied());
            let mut wrong = error("is not a parameter".to_owned(), names().collect::<Vec<_>>().join(", "));
            wrong.nearest = units::nearest(key, names());
            return Err(wrong);
        };
        let is_flag_word = |w: &&str| matches!(*w, "true" | "on" | "yes" | "false" | "off" | "no");
        let word = match param.kind {
            Kind::Flag => words.next_if(is_flag_word).unwrap_or("on"),
            _ => words.next().ok_or_else(|| error("has no value".to_owned(), allowed(param)))?,
        };
        let value = match param.kind {
            Kind::Spec => {
                let inside = Spec::parse_nested(word, others).map_err(|e| SpecError {
                    key: format!("{}.{key}: {}", self.algorithm.name, e.key),
                    ..e
                })?;
                Value::Spec(Box::new(inside))
            }
            _ => Value::parse(param, word).map_err(|why| error(format!("= {word} {why}"), allowed(param)))?,
        };
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
            None => Err(self.is_not("a scheduler")),
        }
    }

    /// Build the marker, which reads nothing of `context`.
    ///
    /// # Errors
    /// Values that are missing or do not fit together; an algorithm that is no marker.
    pub fn marker(&self, context: Context) -> Result<Box<dyn Marker>, SpecError> {
        let name = self.algorithm.name;
        match registry::MARKERS.iter().find(|profile| profile.algorithm.name == name) {
            Some(profile) => (profile.build)(&Settings { spec: self, context }),
            None => Err(self.is_not("a marker")),
        }
    }

    /// The error that this is not `what`.
    pub(crate) fn is_not(&self, what: &str) -> SpecError {
        SpecError {
            key: self.algorithm.name.to_owned(),
            problem: format!("is not {what}"),
            allowed: what.to_owned(),
            nearest: None,
        }
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Spec({self})")
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Spec) -> bool {
        core::ptr::eq(self.algorithm, other.algorithm)
            && (&self.values, self.limit, self.overflow) == (&other.values, other.limit, other.overflow)
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

/// The spec in the word of a class: without its parentheses.
fn inside(word: &str) -> &str {
    word.strip_prefix('(').and_then(|word| word.strip_suffix(')')).unwrap_or(word)
}

/// The words of a spec; text in parentheses is one word.
fn split(text: &str) -> Result<Vec<&str>, SpecError> {
    let (mut words, mut depth, mut start) = (Vec::new(), 0usize, None);
    let unbalanced = || SpecError {
        key: format!("{:?}", text.trim()),
        problem: "has parentheses that do not match".to_owned(),
        allowed: "a spec within a spec, like prio aqm_0 (codel target 10ms)".to_owned(),
        nearest: None,
    };
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(unbalanced)?,
            _ => {}
        }
        if depth == 0 && c.is_whitespace() {
            words.extend(start.take().map(|start: usize| &text[start..at]));
        } else {
            start = start.or(Some(at));
        }
    }
    if depth > 0 {
        return Err(unbalanced());
    }
    words.extend(start.map(|start| &text[start..]));
    Ok(words)
}
