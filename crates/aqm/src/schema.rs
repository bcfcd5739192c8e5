//! The parameter schema: names, meanings and allowed values.
//!
//! Code, Python class, command-line help, documentation tables and validation are generated from these
//! constants, which are the only description of a parameter.

use crate::{Aqm, Conventions, Limit, Settings, Span, SpecError};
use alloc::{boxed::Box, string::String};
use core::any::Any;

/// What kind of value a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A real number.
    Number,
    /// A whole number.
    Integer,
    /// On or off; the bare name means on.
    Flag,
    /// A time span with its unit: `15ms`.
    Span,
    /// A rate with its unit: `10Mbit/s`.
    Rate,
    /// An amount of queue: packets (`15p`, or bare `15`) or bytes (`15kB`).
    Size,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// An algorithm or scheduler: its name, or its spec in parentheses.
    Spec,
}

/// The default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// This value, in the grammar of a spec.
    Value(&'static str),
    /// Computed from the link or other parameters; the text describes how.
    Derived(&'static str),
}

/// The values allowed, as an interval of the plain number (seconds, bit/s, packets or bytes).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub min: f64,
    /// Upper end.
    pub max: f64,
    /// The lower end itself is not allowed.
    pub above: bool,
    /// The upper end itself is not allowed.
    pub below: bool,
}

impl Range {
    /// Anything (flags and choices).
    pub const ANY: Range = Range { min: f64::NEG_INFINITY, max: f64::INFINITY, above: false, below: false };
    /// Greater than zero.
    pub const POSITIVE: Range = Range { min: 0.0, max: f64::INFINITY, above: true, below: true };
    /// Zero or more.
    pub const NOT_NEGATIVE: Range = Range { min: 0.0, max: f64::INFINITY, above: false, below: true };
    /// A probability, both ends included.
    pub const PROBABILITY: Range = Range { min: 0.0, max: 1.0, above: false, below: false };
    /// A weight or share: (0, 1].
    pub const SHARE: Range = Range { min: 0.0, max: 1.0, above: true, below: false };
    /// Strictly between 0 and 1.
    pub const FRACTION: Range = Range { min: 0.0, max: 1.0, above: true, below: true };

    /// Whether `x` lies inside; NaN never does.
    pub fn holds(&self, x: f64) -> bool {
        (if self.above { x > self.min } else { x >= self.min })
            && (if self.below { x < self.max } else { x <= self.max })
    }
}

/// One parameter of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The paper's symbol in ASCII snake case.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// Its unit, for tables; empty for pure numbers.
    pub unit: &'static str,
    /// Its default: that of the paper or RFC.
    pub default: DefaultValue,
    /// ns-2's value, if it differs and changes results (preset `ns2`).
    pub ns2: Option<&'static str>,
    /// ns-2's value until late 2001, if it is not `ns2` (preset `ns2-2001`).
    pub ns2_2001: Option<&'static str>,
    /// Linux's value, if it differs and changes results (preset `linux`).
    pub linux: Option<&'static str>,
    /// Allowed values.
    pub range: Range,
    /// One line of meaning.
    pub doc: &'static str,
    /// The source of the default.
    pub source: &'static str,
    /// Its name in `tc`, if Linux has it.
    pub tc: Option<&'static str>,
}

impl Param {
    /// A parameter with this default, in the grammar of a spec. [`Param::named`] completes it.
    pub(crate) const fn fixed(default: &'static str) -> Param {
        Param::new("", Kind::Flag, DefaultValue::Value(default), "")
    }
    /// A parameter computed from the link or other parameters as `from` describes. [`Param::named`] completes
    /// it.
    pub(crate) const fn derived(from: &'static str) -> Param {
        Param::new("", Kind::Flag, DefaultValue::Derived(from), "")
    }
    /// With name, meaning and kind. `doc` is the text of a comment, with the space before it.
    pub(crate) const fn named(mut self, name: &'static str, doc: &'static str, kind: Kind) -> Param {
        self.name = name;
        self.doc = doc.trim_ascii_start();
        self.kind = kind;
        self
    }
    /// A parameter with an unbounded range and no other name; refine with the `const` builders below.
    pub const fn new(name: &'static str, kind: Kind, default: DefaultValue, doc: &'static str) -> Param {
        Param {
            name,
            kind,
            unit: "",
            default,
            ns2: None,
            ns2_2001: None,
            linux: None,
            range: Range::ANY,
            doc,
            source: "",
            tc: None,
        }
    }
    /// The value that a preset has instead of the default.
    pub const fn under(&self, conventions: Conventions) -> Option<&'static str> {
        match (conventions, self.ns2_2001) {
            (Conventions::Ns2_2001, Some(word)) => Some(word),
            (Conventions::Linux, _) => self.linux,
            _ if conventions.is_ns2() => self.ns2,
            _ => None,
        }
    }

    /// With its unit.
    pub const fn unit(mut self, unit: &'static str) -> Param {
        self.unit = unit;
        self
    }
    /// With its range.
    pub const fn range(mut self, range: Range) -> Param {
        self.range = range;
        self
    }
    /// With the source of its default.
    pub const fn source(mut self, source: &'static str) -> Param {
        self.source = source;
        self
    }
    /// With ns-2's own value.
    pub const fn ns2(mut self, value: &'static str) -> Param {
        self.ns2 = Some(value);
        self
    }
    /// With ns-2's value until late 2001.
    pub const fn ns2_2001(mut self, value: &'static str) -> Param {
        self.ns2_2001 = Some(value);
        self
    }
    /// With Linux's own value.
    pub const fn linux(mut self, value: &'static str) -> Param {
        self.linux = Some(value);
        self
    }
    /// With `tc`'s name.
    pub const fn tc(mut self, name: &'static str) -> Param {
        self.tc = Some(name);
        self
    }
}

/// The entry called `name` of a schema; in a constant, an unknown name does not compile.
pub(crate) const fn entry(params: &[Param], name: &str) -> Param {
    let mut i = 0;
    while i < params.len() {
        if is_same(params[i].name.as_bytes(), name.as_bytes()) {
            return params[i];
        }
        i += 1;
    }
    panic!("no parameter has this name")
}

const fn is_same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([x, rest_of_a @ ..], [y, rest_of_b @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (rest_of_a, rest_of_b);
    }
    a.is_empty() && b.is_empty()
}

/// A state variable that [`Aqm::probe`] reports.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Its name in traces.
    pub name: &'static str,
    /// Its unit; empty for pure numbers.
    pub unit: &'static str,
    /// One line of meaning.
    pub doc: &'static str,
}

/// The link for which an algorithm is built; some defaults are derived from it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Context {
    /// Configured link rate, bit/s.
    pub link_rate: u64,
    /// Buffer limit in force.
    pub limit: Limit,
    /// True mean packet size on the wire, bytes.
    pub mean_packet: u32,
    /// Whether the queue's `ecn` is on (an algorithm's own `ecn` overrides it).
    pub ecn: bool,
    /// Whose defaults apply.
    pub conventions: Conventions,
}

impl Context {
    /// A link of `link_rate` bit/s with this buffer, packets of 1500 bytes on average, `ecn` off, the
    /// defaults of papers and RFCs.
    pub const fn new(link_rate: u64, limit: Limit) -> Context {
        Context { link_rate, limit, mean_packet: 1500, ecn: false, conventions: Conventions::Rfc }
    }
    /// With this link rate.
    pub const fn with_link_rate(self, link_rate: u64) -> Context {
        Context { link_rate, ..self }
    }
    /// With this buffer limit.
    pub const fn with_limit(self, limit: Limit) -> Context {
        Context { limit, ..self }
    }
    /// With this mean packet size.
    pub const fn with_mean_packet(self, mean_packet: u32) -> Context {
        Context { mean_packet, ..self }
    }
    /// With `ecn` on or off.
    pub const fn with_ecn(self, ecn: bool) -> Context {
        Context { ecn, ..self }
    }
    /// With the defaults of this preset.
    pub const fn with_conventions(self, conventions: Conventions) -> Context {
        Context { conventions, ..self }
    }

    /// Time of one mean packet on the link.
    pub fn packet_time(&self) -> Span {
        crate::transmission(u64::from(self.mean_packet), self.link_rate)
    }
    /// Link rate in mean packets per second.
    pub fn packets_per_second(&self) -> f64 {
        self.link_rate as f64 / (8.0 * f64::from(self.mean_packet))
    }
}

/// The type that an algorithm builds; made by [`instance!`](crate::instance).
#[derive(Clone, Copy)]
pub struct Instance {
    /// Whether the type is marked with [`IgnoresContents`](crate::IgnoresContents).
    pub ignores_contents: bool,
    /// Whether an instance is of the type.
    pub is: fn(&dyn Any) -> bool,
}

impl Instance {
    /// Of a scheduler or marker, which builds no algorithm.
    pub const NONE: Instance = Instance { ignores_contents: false, is: |_| false };
}

/// Describe a type that implements [`Aqm`]: whether it is marked with
/// [`IgnoresContents`](crate::IgnoresContents) follows from the type.
///
/// ```
/// use sojourn_aqm::{instance, red::Red, rio::Rio};
///
/// assert!(instance!(Red).ignores_contents);
/// assert!(!instance!(Rio).ignores_contents);
/// ```
#[macro_export]
macro_rules! instance {
    ($type:ty) => {{
        // The constant of the type itself, which needs the marker, takes precedence over that of the trait.
        #[allow(dead_code)]
        trait Unmarked {
            const IGNORES_CONTENTS: bool = false;
        }
        struct Of<A>(core::marker::PhantomData<A>);
        impl<A> Unmarked for Of<A> {}
        #[allow(dead_code)]
        impl<A: $crate::IgnoresContents> Of<A> {
            const IGNORES_CONTENTS: bool = true;
        }
        $crate::Instance { ignores_contents: <Of<$type>>::IGNORES_CONTENTS, is: |aqm| aqm.is::<$type>() }
    }};
}

/// An entry of the registry: the description of an algorithm and its constructor.
pub struct Algorithm {
    /// The name in specs.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// The spec that the name abbreviates: `gred` is `red gentle`.
    pub alias_of: Option<&'static str>,
    /// Paper or RFC.
    pub source: &'static str,
    /// Its parameters, in the order of tables and canonical specs.
    pub params: &'static [Param],
    /// What `probe` reports.
    pub probes: &'static [Probe],
    /// What `limit B` means in ns-2: B counts the packet in service, so that at most B - 1 packets are
    /// queued.
    pub ns2_limit_counts_service: bool,
    /// The source file, whose `//!` head is the documentation.
    pub file: &'static str,
    /// The type of its instances.
    pub instance: Instance,
    /// Check the settings and build an instance.
    pub build: fn(&Settings) -> Result<Box<dyn Aqm>, SpecError>,
}

impl core::fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        write!(f, "Algorithm({})", self.name)
    }
}

impl Algorithm {
    /// The parameter called `name`.
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|p| p.name == name)
    }

    /// The algorithm's page: the head of its source file, as Markdown.
    pub fn doc(&self) -> String {
        self.file
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .flat_map(|line| [line.trim_start_matches("//!").trim_start_matches(' '), "\n"])
            .collect()
    }
}
