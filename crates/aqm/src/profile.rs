//! The markers in specs: `token_bucket cir 1Mbit/s cbs 15kB`. Parameters have the RFCs' names; a profile is
//! part of a service agreement, so that its rates and bursts have no defaults.

use crate::{
    Algorithm, Param, Range, Settings, Span, SpecError,
    config::{config, meaning},
    marker::{Marker, SrTcm, TokenBucket, TrTcm, Tsw},
    units::Bytes,
};
use alloc::boxed::Box;

/// A marker in the registry: its description and its constructor.
pub struct Profile {
    /// Name, parameters, documentation. Its `build` returns an error: a marker is not an algorithm.
    pub algorithm: Algorithm,
    /// Check the settings and build an instance.
    pub build: fn(&Settings) -> Result<Box<dyn Marker>, SpecError>,
}

const AGREED: &str = "must be given: it is part of the profile";
const POSITIVE: Range = Range { min: 1.0, max: 1e15, above: false, below: false };

const fn rate(source: &'static str) -> Param {
    Param::derived(AGREED).unit("bit/s").range(POSITIVE).source(source)
}
const fn burst(source: &'static str) -> Param {
    Param::derived(AGREED).unit("B").range(POSITIVE).source(source)
}

const CIR: Param = rate("RFC 2697; RFC 2698; RFC 2859");
const CBS: Param = burst("RFC 2697; RFC 2698");
const PIR: Param = rate("RFC 2698; RFC 2859");
const WINDOW: Param = Param::fixed("1s")
    .unit("s")
    .range(Range { min: 1e-6, max: 1e6, above: false, below: false })
    .source("ns-2 dsPolicy.cc");
const COLOUR_AWARE: Param = Param::fixed("off").source("RFC 2697 and 2698 define both modes");

config! {
    /// The parameters of `token_bucket`.
    pub struct BucketWords {
        #[doc = meaning!(cir)]
        cir: Option<u64> = CIR;
        #[doc = meaning!(cbs)]
        cbs: Option<Bytes> = CBS;
    }
}

config! {
    /// The parameters of `srtcm`.
    pub struct SrTcmWords {
        #[doc = meaning!(cir)]
        cir: Option<u64> = CIR;
        #[doc = meaning!(cbs)]
        cbs: Option<Bytes> = CBS;
        /// Excess burst size: depth of the second bucket
        ebs: Option<Bytes> = burst("RFC 2697");
        #[doc = meaning!(colour_aware)]
        colour_aware: bool = COLOUR_AWARE;
    }
}

config! {
    /// The parameters of `trtcm`.
    pub struct TrTcmWords {
        #[doc = meaning!(cir)]
        cir: Option<u64> = CIR;
        #[doc = meaning!(cbs)]
        cbs: Option<Bytes> = CBS;
        #[doc = meaning!(pir)]
        pir: Option<u64> = PIR;
        /// Peak burst size
        pbs: Option<Bytes> = burst("RFC 2698");
        #[doc = meaning!(colour_aware)]
        colour_aware: bool = COLOUR_AWARE;
    }
}

config! {
    /// The parameters of `tsw2cm`.
    pub struct Tsw2Words {
        #[doc = meaning!(cir)]
        cir: Option<u64> = CIR;
        #[doc = meaning!(window)]
        window: Span = WINDOW;
    }
}

config! {
    /// The parameters of `tsw3cm`.
    pub struct Tsw3Words {
        #[doc = meaning!(cir)]
        cir: Option<u64> = CIR;
        #[doc = meaning!(pir)]
        pir: Option<u64> = PIR;
        #[doc = meaning!(window)]
        window: Span = WINDOW;
    }
}

/// Token bucket.
pub static TOKEN_BUCKET: Profile = Profile {
    algorithm: entry(
        "token_bucket",
        "Token bucket: in or out of profile",
        "Clark and Fang 1998",
        BucketWords::PARAMS,
    ),
    build: |s| {
        s.mark(|words: BucketWords| {
            Ok(TokenBucket::new(agreed_rate("cir", words.cir)?, agreed("cbs", words.cbs)?))
        })
    },
};
/// srTCM.
pub static SRTCM: Profile = Profile {
    algorithm: entry("srtcm", "Single rate three colour marker", "RFC 2697", SrTcmWords::PARAMS),
    build: |s| {
        s.mark(|words: SrTcmWords| {
            let (cbs, ebs) = (agreed("cbs", words.cbs)?, agreed("ebs", words.ebs)?);
            Ok(SrTcm::new(agreed_rate("cir", words.cir)?, cbs, ebs, words.colour_aware))
        })
    },
};
/// trTCM.
pub static TRTCM: Profile = Profile {
    algorithm: entry("trtcm", "Two rate three colour marker", "RFC 2698", TrTcmWords::PARAMS),
    build: |s| {
        s.mark(|words: TrTcmWords| {
            let (cir, pir) = rates(words.cir, words.pir)?;
            let (cbs, pbs) = (agreed("cbs", words.cbs)?, agreed("pbs", words.pbs)?);
            Ok(TrTcm::new(cir, cbs, pir, pbs, words.colour_aware))
        })
    },
};
/// TSW with two colours.
pub static TSW2CM: Profile = Profile {
    algorithm: entry("tsw2cm", "Time sliding window, two colours", "Clark and Fang 1998", Tsw2Words::PARAMS),
    build: |s| s.mark(|words: Tsw2Words| Ok(Tsw::two_colour(agreed_rate("cir", words.cir)?, words.window))),
};
/// TSW with three colours.
pub static TSW3CM: Profile = Profile {
    algorithm: entry("tsw3cm", "Time sliding window, three colours", "RFC 2859", Tsw3Words::PARAMS),
    build: |s| {
        s.mark(|words: Tsw3Words| {
            let (cir, pir) = rates(words.cir, words.pir)?;
            Ok(Tsw::three_colour(cir, pir, words.window))
        })
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
        instance: crate::Instance::NONE,
        build: |settings| Err(settings.spec.is_not("an algorithm")),
    }
}

fn agreed_rate(name: &str, rate: Option<u64>) -> Result<u64, SpecError> {
    rate.ok_or_else(|| SpecError::about(name, "is missing", "a rate with its unit, like 1Mbit/s"))
}

fn agreed(name: &str, bytes: Option<Bytes>) -> Result<u64, SpecError> {
    match bytes {
        Some(Bytes(bytes)) => Ok(bytes as u64),
        None => Err(SpecError::about(name, "is missing", "bytes, like 15kB")),
    }
}

/// Committed and peak rate.
fn rates(cir: Option<u64>, pir: Option<u64>) -> Result<(u64, u64), SpecError> {
    let (cir, pir) = (agreed_rate("cir", cir)?, agreed_rate("pir", pir)?);
    if pir < cir {
        return Err(SpecError::about("pir", "is below cir", "cir or more"));
    }
    Ok((cir, pir))
}
