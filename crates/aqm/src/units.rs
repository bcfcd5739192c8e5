//! Words with units: `15ms`, `10Mbit/s`, `120kB`, `15p`. A quantity may have several spellings; it is printed
//! in one.
//!
//! kB = 1000 B, KiB = 1024 B; `10Mbit/s` = `10Mbit` = `10mbit`; a bare number is an error, except for
//! packets in an algorithm spec.

use crate::{Limit, Span, synonyms::synonym};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt;

/// An amount of queue: in packets or in bytes, never mixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Packets; an average can be a fraction.
    Packets(f64),
    /// Bytes.
    Bytes(f64),
}

impl Size {
    /// The number without its unit.
    pub fn plain(self) -> f64 {
        match self {
            Size::Packets(x) | Size::Bytes(x) => x,
        }
    }
    /// In packets of `mean` bytes.
    pub fn packets(self, mean: u32) -> f64 {
        match self {
            Size::Packets(n) => n,
            Size::Bytes(b) => b / f64::from(mean),
        }
    }
    /// In bytes, for packets of `mean` bytes.
    pub fn bytes(self, mean: u32) -> f64 {
        match self {
            Size::Packets(n) => n * f64::from(mean),
            Size::Bytes(b) => b,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Size::Packets(n) => write!(f, "{n}p"),
            Size::Bytes(b) => match scale(*b, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]) {
                Some((x, unit)) => write!(f, "{x}{unit}"),
                None => write!(f, "{b}B"),
            },
        }
    }
}

/// A number of bytes, for parameters that cannot be in packets.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Bytes(pub f64);

/// The largest unit in which `x` has few decimals and reads back as itself.
fn scale(x: f64, units: &[(f64, &'static str)]) -> Option<(f64, &'static str)> {
    units
        .iter()
        .find(|(factor, _)| x >= *factor && (x / factor * 1000.0) % 1.0 == 0.0 && x / factor * factor == x)
        .map(|(f, u)| (x / f, *u))
}

/// A real number; NaN and infinity are refused.
pub fn number(word: &str) -> Result<f64, String> {
    word.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| "is not a number".to_owned())
}

/// A whole number.
pub fn integer(word: &str) -> Result<i64, String> {
    word.parse().map_err(|_| "is not a whole number".to_owned())
}

/// Number and unit of a word: `("10", "Mbit/s")`; blanks between them do not matter.
fn split(word: &str) -> Result<(f64, &str), String> {
    let is_number = |(i, c): (usize, char)| {
        c.is_ascii_digit()
            || c == '.'
            || (c == '-' || c == '+') && (i == 0 || matches!(word.as_bytes()[i - 1], b'e' | b'E'))
            || matches!(c, 'e' | 'E')
                && word[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+')
    };
    let end = word.char_indices().find(|&at| !is_number(at)).map_or(word.len(), |(i, _)| i);
    let x = number(&word[..end])?;
    Ok((x, word[end..].trim_start()))
}

/// A time span: `ns`, `us`, `ms`, `s`, `min`, `h`.
pub fn span(word: &str) -> Result<Span, String> {
    let (x, unit) = split(word)?;
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        "" => return Err("has no unit (s, ms, us, ns, min, h)".to_owned()),
        _ => return Err(format!("has the unknown unit {unit:?} (s, ms, us, ns, min, h)")),
    };
    let ns = x * factor;
    if ns < 0.0 {
        return Err("is negative".to_owned());
    }
    if ns > 9.2e18 {
        return Err("is too long".to_owned());
    }
    Ok(Span((ns + 0.5) as u64))
}

/// A rate in bit/s: `bit`, `kbit`, `Mbit`, `Gbit`, `Tbit`, with or without `/s`; also `Mbps` and `Mb/s`.
///
/// `mbps` and `MB/s` are errors: the first is megabytes per second to tc and megabits to most people.
pub fn rate(word: &str) -> Result<u64, String> {
    let (x, unit) = split(word)?;
    let lower = unit.to_ascii_lowercase();
    let bits = ["bps", "b/s"].iter().find_map(|end| unit.strip_suffix(end));
    let factor = match (bits, lower.strip_suffix("/s").unwrap_or(&lower)) {
        (Some(""), _) | (None, "bit") => 1.0,
        (Some("k" | "K"), _) | (None, "kbit") => 1e3,
        (Some("M"), _) | (None, "mbit") => 1e6,
        (Some("G"), _) | (None, "gbit") => 1e9,
        (Some("T"), _) | (None, "tbit") => 1e12,
        (_, "") => return Err("has no unit (bit/s, kbit/s, Mbit/s, Gbit/s)".to_owned()),
        _ if matches!(lower.strip_prefix(['k', 'm', 'g']).unwrap_or(&lower), "bps" | "b" | "b/s") => {
            return Err(format!("has the unit {unit:?}, which may mean bytes (write Mbit/s)"));
        }
        _ => return Err(format!("has the unknown unit {unit:?} (bit/s, kbit/s, Mbit/s, Gbit/s)")),
    };
    let bits = x * factor;
    if bits < 1.0 {
        return Err("is less than 1 bit/s".to_owned());
    }
    if bits > 1e15 {
        return Err("is more than 1000 Tbit/s".to_owned());
    }
    Ok((bits + 0.5) as u64)
}

/// Bytes: `B`, `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB` (powers of 1024).
pub fn bytes(word: &str) -> Result<f64, String> {
    match size(word)? {
        Size::Bytes(b) => Ok(b),
        Size::Packets(_) => Err("has no unit (B, kB, KiB, MB)".to_owned()),
    }
}

/// Packets (`15p`, `15 packets`, or bare `15`) or bytes (`15kB`).
pub fn size(word: &str) -> Result<Size, String> {
    let (x, unit) = split(word)?;
    let factor = match unit {
        "" | "p" | "packet" | "packets" => {
            return if x < 0.0 { Err("is negative".to_owned()) } else { Ok(Size::Packets(x)) };
        }
        "B" | "bytes" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("has the unknown unit {unit:?} (p, B, kB, KiB, MB)")),
    };
    let bytes = x * factor;
    if bytes < 0.0 {
        return Err("is negative".to_owned());
    }
    if bytes.is_finite() { Ok(Size::Bytes(bytes)) } else { Err("is too large".to_owned()) }
}

/// A buffer limit: at least one packet or one byte, whole.
pub fn limit(word: &str) -> Result<Limit, String> {
    match size(word)? {
        Size::Packets(n) if n >= 1.0 && n % 1.0 == 0.0 && n <= f64::from(u32::MAX) => {
            Ok(Limit::Packets(n as u32))
        }
        Size::Bytes(b) if b >= 1.0 && b % 1.0 == 0.0 && b < 1e15 => Ok(Limit::Bytes(b as u64)),
        Size::Packets(n) if n > f64::from(u32::MAX) => Err("is too large (2^32 packets and more)".to_owned()),
        Size::Bytes(b) if b >= 1e15 => Err("is too large (1000 TB and more)".to_owned()),
        _ => Err("is not a whole number of at least 1 packet or byte".to_owned()),
    }
}

/// `15ms`, in the largest unit that keeps it short.
pub fn show_span(span: Span) -> String {
    let ns = span.0 as f64;
    match scale(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "us")]) {
        Some((x, unit)) => format!("{x}{unit}"),
        None if span.0 == 0 => "0s".to_owned(),
        None => format!("{}ns", span.0),
    }
}

/// `10Mbit/s`, in the largest unit that keeps it short.
pub fn show_rate(rate: u64) -> String {
    match scale(rate as f64, &[(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")]) {
        Some((x, unit)) => format!("{x}{unit}"),
        None => format!("{rate}bit/s"),
    }
}

/// The candidate that was probably meant by `word`: one of which it is another name, or the one with the
/// fewest edits from it, if these are few.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let candidates: Vec<&str> = candidates.collect();
    if let Some(name) = synonym(word, &candidates) {
        return Some(name.to_owned());
    }
    let mut longer = candidates.iter().filter(|one| word.len() >= 3 && one.starts_with(word));
    if let (Some(only), None) = (longer.next(), longer.next()) {
        return Some((*only).to_owned());
    }
    // The distance is at least the difference of the lengths: most candidates need no comparison.
    let (bytes, chars) = (word.len(), word.chars().count());
    candidates
        .into_iter()
        .filter(|c| c.chars().count().abs_diff(chars) <= (bytes.max(c.len()) / 3).max(1))
        .map(|c| (edits(word, c), word.len().max(c.len()), c))
        .filter(|(d, longest, _)| d < longest && *d <= (longest / 3).max(1))
        .min_by_key(|(d, ..)| *d)
        .map(|(.., c)| c.to_owned())
}

/// Damerau-Levenshtein distance (adjacent letters may be swapped), case ignored.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_ascii_lowercase().chars().collect();
    let b: Vec<char> = b.to_ascii_lowercase().chars().collect();
    let width = b.len() + 1;
    let mut d: Vec<usize> = (0..(a.len() + 1) * width).map(|k| k / width + k % width).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (d[(i - 1) * width + j] + 1)
                .min(d[i * width + j - 1] + 1)
                .min(d[(i - 1) * width + j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(d[(i - 2) * width + j - 2] + 1);
            }
            d[i * width + j] = best;
        }
    }
    d[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_quantity_has_many_spellings() {
        for word in ["10Mbit/s", "10Mbit", "10mbit", "10000kbit/s", "1e7bit", "10 Mbit/s", "10Mbps", "10Mb/s"]
        {
            assert_eq!(rate(word), Ok(10_000_000), "{word}");
        }
        assert_eq!(span("0.1s"), span("100ms"));
        assert_eq!(size("1KiB"), size("1024B"));
        assert_eq!(size("15"), size("15p"));
    }

    #[test]
    fn invalid_words_are_refused() {
        for word in ["10", "10Mb", "-1ms", "ms", "", "nan s", "1e30s", "1 0ms"] {
            assert!(span(word).is_err(), "{word}");
        }
        for word in ["0Mbit/s", "10", "10MB", "-1Mbit", "10mbps", "10MBps", "10MB/s", "10M"] {
            assert!(rate(word).is_err(), "{word}");
        }
        for word in ["0p", "1.5p", "-1p", "0B", "100q"] {
            assert!(limit(word).is_err(), "{word}");
        }
    }

    #[test]
    fn a_printed_quantity_is_read_back() {
        for ns in [0, 1, 999, 1_000, 1_500, 5_882_353, 15_000_000, 1_000_000_000, 200_000_000_000] {
            assert_eq!(span(&show_span(Span(ns))), Ok(Span(ns)), "{ns}");
        }
        for r in [1, 999, 64_000, 1_544_000, 9_999_999, 10_000_000, 1_000_000_000_000] {
            assert_eq!(rate(&show_rate(r)), Ok(r), "{r}");
        }
    }

    #[test]
    fn a_misspelt_word_has_its_nearest_candidate() {
        let words = ["target", "interval", "limit"];
        assert_eq!(nearest("targte", words.into_iter()).as_deref(), Some("target"));
        assert_eq!(nearest("zebra", words.into_iter()), None);
        assert_eq!(nearest("Buffer", words.into_iter()).as_deref(), Some("limit"));
        assert_eq!(nearest("int", words.into_iter()).as_deref(), Some("interval"));
    }
}
