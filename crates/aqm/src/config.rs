//! [`config!`](crate::config) makes an algorithm's typed configuration and its text schema from one list.
//!
//! An entry of the list is a field of the configuration: its meaning, name, type, and the rest of its
//! [`Param`]. The macro generates the struct, [`Default`] and `under` (the values that the schema has as
//! text), the reader of a parsed [`Spec`], and the check of every value against the range of its parameter.

use crate::{
    Conventions, DefaultValue, Kind, Param, Settings, Span, Spec, SpecError, Value, allowed,
    units::{Bytes, Size},
};
use alloc::borrow::ToOwned;

/// The fields of a typed configuration, one entry each: `/// meaning`, `name: type = Param;`. In brackets
/// before them: configurations of other algorithms that this one contains.
macro_rules! config {
    (
        $(#[$attr:meta])*
        pub struct $config:ident {
            $([$(#[doc = $inner_doc:expr] $inner:ident: $inner_type:ty;)*])?
            $(#[doc = $doc:expr] $name:ident: $type:ty = $param:expr;)*
        }
    ) => {
        $(#[$attr])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $config {
            $($(#[doc = $inner_doc] pub $inner: $inner_type,)*)?
            $(#[doc = $doc] pub $name: $type,)*
        }

        impl $config {
            /// The schema of the fields, in their order.
            pub const PARAMS: &'static [$crate::Param] =
                &[$($param.named(stringify!($name), $doc, <$type as $crate::config::Field>::KIND)),*];

            /// The defaults under `conventions`.
            pub fn under(conventions: $crate::Conventions) -> $config {
                let values = $crate::config::Values::under(conventions);
                $crate::config::Fields::read(&values).expect("defaults are valid")
            }
        }

        impl $crate::config::Fields for $config {
            fn read(values: &$crate::config::Values) -> Result<$config, $crate::SpecError> {
                Ok($config {
                    $($($inner: $crate::config::Fields::read(values)?,)*)?
                    $($name: values.read(const { &$crate::schema::entry($config::PARAMS, stringify!($name)) })?,)*
                })
            }

            fn check(&self) -> Result<(), $crate::SpecError> {
                $($($crate::config::Fields::check(&self.$inner)?;)*)?
                $(
                    let param = const { &$crate::schema::entry($config::PARAMS, stringify!($name)) };
                    $crate::config::check(param, &self.$name)?;
                )*
                Ok(())
            }
        }

        impl Default for $config {
            fn default() -> $config {
                $config::under($crate::Conventions::Rfc)
            }
        }
    };
}
pub(crate) use config;

/// An enum with a word for each variant in a spec.
macro_rules! choice {
    (
        $(#[$attr:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $(#[$attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $crate::config::Field for $name {
            const KIND: $crate::Kind = $crate::Kind::Choice(&[$($word),*]);
            fn take(value: &$crate::Value) -> Result<$name, $crate::config::Unfit> {
                match value {
                    $($crate::Value::Choice($word) => Ok($name::$variant),)*
                    other => $crate::config::wrong_kind(other),
                }
            }
            fn value(&self) -> Option<$crate::Value> {
                Some($crate::Value::Choice(match self { $($name::$variant => $word,)* }))
            }
        }
    };
}
pub(crate) use choice;

/// The meanings of parameters that several configurations share. A macro, because `#[doc]` takes no
/// constants.
macro_rules! meaning {
    (ecn) => {
        "Mark ECN-capable packets instead of dropping them"
    };
    (mean_packet) => {
        "Mean packet size in bytes: converts a rate or a byte count to packets"
    };
    (rate) => {
        "Link rate C that the algorithm assumes"
    };
    (virtual_mode) => {
        "Whether a packet counts in the virtual queue with its own size or with that of a mean packet"
    };
    (max_th) => {
        "Average queue at which the probability reaches max_p; above it every packet is signalled (see gentle)"
    };
    (min_th) => {
        "Average queue below which no packet is signalled"
    };
    (max_p) => {
        "Base probability just below max_th"
    };
    (w_q) => {
        "Weight of the current queue in the average"
    };
    (wait) => {
        "After a signal wait for at least 1/p_b packets, so that gaps are 1/p_b to 2/p_b packets"
    };
    (max_packet) => {
        "Byte mode: packet size to which the full base probability applies (S_max)"
    };
    (ecn_forced) => {
        "Whether ECN-capable packets are marked or dropped where every packet is signalled"
    };
    (mark_p) => {
        "Base probability p_b from which ECN-capable packets are dropped instead of marked; 1: never"
    };
    (aqm_of_class) => {
        "Algorithm or scheduler of the class with this number"
    };
    (weight) => {
        "Weight of the class with this number"
    };
    (cir) => {
        "Committed information rate"
    };
    (cbs) => {
        "Committed burst size: depth of the token bucket"
    };
    (pir) => {
        "Peak information rate, cir or more"
    };
    (window) => {
        "Length of the window over which the rate is averaged"
    };
    (colour_aware) => {
        "Never assign a better colour than the packet arrives with"
    };
    (gentle) => {
        "Above max_th the probability rises linearly from max_p to 1 instead of jumping to 1"
    };
    (gentle_end) => {
        "Where the gentle line reaches 1: twice max_th, or the buffer limit"
    };
    (gentle_line) => {
        "Where the gentle line begins: at the current max_p, or at the initial max_p"
    };
    (count) => {
        "Whether the counter counts a packet before its test (FJ93's listing) or after it (FJ93's text)"
    };
    (listing) => {
        "Arrival procedure: the paper's, or ns-2.35's with its small differences"
    };
}
pub(crate) use meaning;

/// A configuration that can be read from values and checked.
pub(crate) trait Fields: Sized {
    /// # Errors
    /// A value that does not fit the type of its field.
    fn read(values: &Values) -> Result<Self, SpecError>;
    /// # Errors
    /// A value outside the range of its parameter.
    fn check(&self) -> Result<(), SpecError>;
}

/// Why a value does not fit a field: the problem, and what is allowed.
pub(crate) type Unfit = (&'static str, &'static str);

/// The type of a field.
pub(crate) trait Field: Sized {
    /// The kind of parameter that it holds.
    const KIND: Kind;
    /// The value as this type.
    fn take(value: &Value) -> Result<Self, Unfit>;
    /// The value of a field for a derived parameter that is not set.
    fn derived(_ecn: bool) -> Option<Self> {
        None
    }
    /// The value as the schema has it; `None` if it is derived.
    fn value(&self) -> Option<Value>;
}

/// Panic: a value has the kind of its parameter, which is the kind of its field.
pub(crate) fn wrong_kind(value: &Value) -> ! {
    unreachable!("{value} is of another kind than its field")
}

macro_rules! field {
    ($type:ty, $kind:ident, $from:expr, $to:expr $(, $derived:expr)?) => {
        impl Field for $type {
            const KIND: Kind = Kind::$kind;
            fn take(value: &Value) -> Result<$type, Unfit> {
                match value {
                    Value::$kind(inner) => $from(inner),
                    other => wrong_kind(other),
                }
            }
            fn value(&self) -> Option<Value> {
                Some(Value::$kind($to(self)))
            }
            $(fn derived(ecn: bool) -> Option<$type> {
                $derived(ecn)
            })?
        }
    };
}

field!(f64, Number, |x: &f64| Ok(*x), |x: &f64| *x);
field!(u32, Integer, |i: &i64| Ok(*i as u32), |i: &u32| i64::from(*i));
field!(bool, Flag, |on: &bool| Ok(*on), |on: &bool| *on, Some); // the only derived flag is `ecn`
field!(Span, Span, |span: &Span| Ok(*span), |span: &Span| *span);
field!(u64, Rate, |rate: &u64| Ok(*rate), |rate: &u64| *rate);
field!(Size, Size, |size: &Size| Ok(*size), |size: &Size| *size);
field!(
    Bytes,
    Size,
    |size: &Size| match size {
        Size::Bytes(bytes) => Ok(Bytes(*bytes)),
        // `mean_packet 500` would silently mean 500 packets.
        Size::Packets(_) => Err(("is not in bytes", "bytes, like 1000B")),
    },
    |bytes: &Bytes| Size::Bytes(bytes.0)
);
field!(Spec, Spec, |spec: &alloc::boxed::Box<Spec>| Ok((**spec).clone()), |spec: &Spec| {
    alloc::boxed::Box::new(spec.clone())
});

impl<T: Field> Field for Option<T> {
    const KIND: Kind = T::KIND;
    fn take(value: &Value) -> Result<Option<T>, Unfit> {
        T::take(value).map(Some)
    }
    fn derived(_: bool) -> Option<Option<T>> {
        Some(None)
    }
    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(T::value)
    }
}

/// The values of a configuration: those of a spec where it sets them, else of the conventions, else the
/// defaults.
pub(crate) struct Values<'a> {
    spec: Option<&'a Spec>,
    conventions: Conventions,
    /// The queue's `ecn`.
    ecn: bool,
}

impl Values<'_> {
    /// No spec.
    pub(crate) fn under(conventions: Conventions) -> Values<'static> {
        Values { spec: None, conventions, ecn: false }
    }

    /// The value of `param`, unless it is derived. The algorithm of a spec may have a default of its own for
    /// it.
    pub(crate) fn get(&self, param: &Param) -> Option<Value> {
        if let Some((_, value)) =
            self.spec.and_then(|spec| spec.values.iter().find(|(one, _)| one.name == param.name))
        {
            return Some(value.clone());
        }
        let param = self.spec.and_then(|spec| spec.algorithm.param(param.name)).unwrap_or(param);
        let word = match (param.under(self.conventions), param.default) {
            (Some(word), _) | (None, DefaultValue::Value(word)) => word,
            (None, DefaultValue::Derived(_)) => return None,
        };
        Some(Value::parse(param, word).expect("a default is in its own range"))
    }

    /// The value of `param` as the type of its field.
    pub(crate) fn read<T: Field>(&self, param: &Param) -> Result<T, SpecError> {
        match self.get(param) {
            Some(value) => {
                T::take(&value).map_err(|(problem, allowed)| SpecError::about(param.name, problem, allowed))
            }
            None => Ok(T::derived(self.ecn).expect("the field of a derived parameter is an option")),
        }
    }
}

impl<'a> From<&Settings<'a>> for Values<'a> {
    fn from(settings: &Settings<'a>) -> Values<'a> {
        let Settings { spec, context } = *settings;
        Values { spec: Some(spec), conventions: context.conventions, ecn: context.ecn }
    }
}

/// Refuse a value outside the range of its parameter.
pub(crate) fn check(param: &Param, field: &impl Field) -> Result<(), SpecError> {
    match field.value() {
        Some(value) if !value.fits(param) => {
            let problem = alloc::format!("= {value} is out of range");
            Err(SpecError { key: param.name.to_owned(), problem, allowed: allowed(param), nearest: None })
        }
        _ => Ok(()),
    }
}
