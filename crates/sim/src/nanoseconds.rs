//! Plans have times as whole nanoseconds. These functions convert them for serde, as `deserialize_with`; the
//! module itself is the `with` of a [`Span`].

use serde::{Deserialize, Deserializer, Serializer};
use sojourn_aqm::{Span, Time};

/// Write a duration.
///
/// # Errors
/// Those of `serializer`.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde requires")]
pub fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(span.0)
}

/// Read a duration.
///
/// # Errors
/// The input is not an integer of 64 bits.
pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Span, D::Error> {
    u64::deserialize(input).map(Span)
}

/// Read a moment, counted from the start of the run.
///
/// # Errors
/// As [`deserialize`].
pub fn time<'de, D: Deserializer<'de>>(input: D) -> Result<Time, D::Error> {
    u64::deserialize(input).map(Time)
}

/// Read a duration that may be absent.
///
/// # Errors
/// As [`deserialize`].
pub fn optional_span<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Span>, D::Error> {
    Ok(Option::deserialize(input)?.map(Span))
}

/// Read a moment that may be absent.
///
/// # Errors
/// As [`deserialize`].
pub fn optional_time<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Time>, D::Error> {
    Ok(Option::deserialize(input)?.map(Time))
}

/// Read a list of durations.
///
/// # Errors
/// As [`deserialize`].
pub fn spans<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Span>, D::Error> {
    Ok(Vec::deserialize(input)?.into_iter().map(Span).collect())
}

/// Read a list of durations, each with a rate.
///
/// # Errors
/// As [`deserialize`].
pub fn steps<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(Span, u64)>, D::Error> {
    Ok(Vec::deserialize(input)?.into_iter().map(|(lasts, rate)| (Span(lasts), rate)).collect())
}

/// Read a list of pairs of durations.
///
/// # Errors
/// As [`deserialize`].
pub fn pairs<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(Span, Span)>, D::Error> {
    Ok(Vec::deserialize(input)?.into_iter().map(|(one, other)| (Span(one), Span(other))).collect())
}
