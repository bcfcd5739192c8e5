//! The markers as a user names them: `token_bucket cir 1Mbit/s cbs 15kB`. Parameters have the RFCs' names; a profile is
//! what was agreed, so none of its rates and bursts has a default.

use crate::{
    Algorithm,
    DefaultValue::Derived,
    DefaultValue::Value as Fixed,
    Kind, Param, Range, Settings, SpecError, Value, common,
    marker::{Marker, SrTcm, TokenBucket, TrTcm, Tsw},
};
use alloc::boxed::Box;

/// A marker in the registry: what is known about it, as of an algorithm, and how it is built.
pub struct Profile {
    /// Name, parameters, documentation. Its `build` refuses: a marker is not an algorithm.
    pub algorithm: Algorithm,
    /// Check the settings and build an instance.
    pub build: fn(&Settings) -> Result<Box<dyn Marker>, SpecError>,
}

const AGREED: &str = "must be given: it is part of the profile";

const fn rate(name: &'static str, doc: &'static str, source: &'static str) -> Param {
    let range = Range { min: 1.0, max: 1e15, above: false, below: false };
    Param::new(name, Kind::Rate, Derived(AGREED), doc).unit("bit/s").range(range).source(source)
}
const fn burst(name: &'static str, doc: &'static str, source: &'static str) -> Param {
    let range = Range { min: 1.0, max: 1e15, above: false, below: false };
    Param::new(name, Kind::Size, Derived(AGREED), doc).unit("B").range(range).source(source)
}

const CIR: Param = rate("cir", "Committed information rate", "RFC 2697; RFC 2698; RFC 2859");
const CBS: Param = burst("cbs", "Committed burst size: the bucket's depth", "RFC 2697; RFC 2698");
const EBS: Param = burst("ebs", "Excess burst size: depth of the second bucket", "RFC 2697");
const PIR: Param = rate("pir", "Peak information rate, cir or more", "RFC 2698; RFC 2859");
const PBS: Param = burst("pbs", "Peak burst size", "RFC 2698");
const WINDOW: Param =
    Param::new("window", Kind::Span, Fixed("1s"), "Length of the window over which the rate is averaged")
        .unit("s")
        .range(Range { min: 1e-6, max: 1e6, above: false, below: false })
        .source("ns-2 dsPolicy.cc");
const COLOUR_AWARE: Param = Param::new(
    "colour_aware",
    Kind::Flag,
    Fixed("off"),
    "Never make a packet better than its traffic's class says it came",
)
.source("RFC 2697 and 2698 define both modes");

/// Token bucket.
pub static TOKEN_BUCKET: Profile = Profile {
    algorithm: entry(
        "token_bucket",
        "Token bucket: in or out of profile",
        "Clark and Fang 1998",
        &[CIR, CBS],
    ),
    build: |s| Ok(Box::new(TokenBucket::new(agreed_rate(s, "cir")?, agreed_bytes(s, "cbs")?))),
};
/// srTCM.
pub static SRTCM: Profile = Profile {
    algorithm: entry("srtcm", "Single rate three colour marker", "RFC 2697", &[CIR, CBS, EBS, COLOUR_AWARE]),
    build: |s| {
        let (cbs, ebs) = (agreed_bytes(s, "cbs")?, agreed_bytes(s, "ebs")?);
        Ok(Box::new(SrTcm::new(agreed_rate(s, "cir")?, cbs, ebs, s.flag("colour_aware"))))
    },
};
/// trTCM.
pub static TRTCM: Profile = Profile {
    algorithm: entry(
        "trtcm",
        "Two rate three colour marker",
        "RFC 2698",
        &[CIR, CBS, PIR, PBS, COLOUR_AWARE],
    ),
    build: |s| {
        let (cir, pir) = rates(s)?;
        let (cbs, pbs) = (agreed_bytes(s, "cbs")?, agreed_bytes(s, "pbs")?);
        Ok(Box::new(TrTcm::new(cir, cbs, pir, pbs, s.flag("colour_aware"))))
    },
};
/// TSW with two colours.
pub static TSW2CM: Profile = Profile {
    algorithm: entry("tsw2cm", "Time sliding window, two colours", "Clark and Fang 1998", &[CIR, WINDOW]),
    build: |s| Ok(Box::new(Tsw::two_colour(agreed_rate(s, "cir")?, s.span("window")))),
};
/// TSW with three colours.
pub static TSW3CM: Profile = Profile {
    algorithm: entry("tsw3cm", "Time sliding window, three colours", "RFC 2859", &[CIR, PIR, WINDOW]),
    build: |s| {
        let (cir, pir) = rates(s)?;
        Ok(Box::new(Tsw::three_colour(cir, pir, s.span("window"))))
    },
};

const fn entry(
    name: &'static str,
    title: &'static str,
    source: &'static str,
    params: &'static [Param],
) -> Algorithm {
    Algorithm {
        name,
        title,
        alias_of: None,
        source,
        params,
        probes: &[],
        ns2_limit_counts_service: false,
        file: include_str!("marker.rs"),
        build: |settings| Err(settings.spec.is_not("an algorithm")),
    }
}

fn agreed_rate(settings: &Settings, name: &str) -> Result<u64, SpecError> {
    match settings.get(name) {
        Some(Value::Rate(rate)) => Ok(rate),
        _ => Err(settings.error(name, "is missing", "a rate with its unit, like 1Mbit/s")),
    }
}

fn agreed_bytes(settings: &Settings, name: &str) -> Result<u64, SpecError> {
    if settings.size(name).is_none() {
        return Err(settings.error(name, "is missing", "bytes, like 15kB"));
    }
    common::packet_bytes(settings, name).map(|bytes| bytes as u64)
}

/// Committed and peak rate.
fn rates(settings: &Settings) -> Result<(u64, u64), SpecError> {
    let (cir, pir) = (agreed_rate(settings, "cir")?, agreed_rate(settings, "pir")?);
    if pir < cir {
        return Err(settings.error("pir", "is below cir", "cir or more"));
    }
    Ok((cir, pir))
}
