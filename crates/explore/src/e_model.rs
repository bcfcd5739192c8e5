//! The E-model: how good a call sounds, from its delay and its losses (ITU-T G.107, 06/2015).
//!
//! Parameters and formulas are those of `python/sojourn/metrics/e_model.py`; `tests/explore` compares them.

use libm::{exp, exp10, log2, log10, pow, sqrt};

/// Defaults of G.107, table 3: loudness ratings and echo losses in dB, noise in dBmp and dB(A).
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
const STMR: f64 = 15.0;
const LSTR: f64 = 18.0;
const DS: f64 = 3.0;
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
const QDU: f64 = 1.0;
const NC: f64 = -70.0;
const NFOR: f64 = -64.0;
const PS: f64 = 35.0;
const PR: f64 = 35.0;
/// Delay below which delay alone does not impair a conversation (mT), ms, and the sensitivity to it (sT).
const MINIMUM_DELAY: f64 = 100.0;
const SENSITIVITY: f64 = 1.0;

/// What a codec adds (ITU-T G.113, appendix I).
#[derive(Clone, Copy)]
pub(crate) struct Codec {
    /// Equipment impairment factor without losses.
    ie: f64,
    /// Packet-loss robustness.
    bpl: f64,
    /// Time from the first sample of a packet to its sending, s.
    pub(crate) delay: f64,
}

impl Codec {
    pub(crate) fn named(name: &str) -> Option<Codec> {
        match name {
            "g711" => Some(Codec { ie: 0.0, bpl: 25.1, delay: 0.020 }),
            "g711-no-plc" => Some(Codec { ie: 0.0, bpl: 4.3, delay: 0.020 }),
            "g729a" => Some(Codec { ie: 11.0, bpl: 19.0, delay: 0.025 }),
            _ => None,
        }
    }
}

/// The mean opinion score, 1 to 4.5: `delay` from mouth to ear in s, `loss` a share, `burst_ratio` the mean
/// length of runs of lost packets over that of independent losses (annex B).
pub(crate) fn mos(delay: f64, loss: f64, burst_ratio: f64, codec: Codec) -> f64 {
    let (noise, basic) = basic();
    let ms = 1e3 * delay;
    let r = basic
        - (simultaneous(noise, basic, ms) + delayed(noise, basic, ms))
        - equipment(codec, 100.0 * loss, burst_ratio);
    match r {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

fn square(x: f64) -> f64 {
    x * x
}

/// About 1 for small x, about x for large ones.
fn bend(x: f64, sharp: f64) -> f64 {
    pow(1.0 + pow(x, sharp), 1.0 / sharp)
}

fn decibels(power: f64) -> f64 {
    10.0 * log10(power)
}

fn power(decibels: f64) -> f64 {
    exp10(decibels / 10.0)
}

/// Total noise No in dBm0p, and basic signal-to-noise ratio Ro (7.2).
fn basic() -> (f64, f64) {
    let room_of_sender = PS - SLR - DS - 100.0 + 0.004 * square(PS - (SLR + RLR) - DS - 14.0);
    let effective = PR + decibels(1.0 + power(10.0 - LSTR));
    let room_of_receiver = RLR - 121.0 + effective + 0.008 * square(effective - 35.0);
    let levels = [NC, room_of_sender, room_of_receiver, NFOR + RLR];
    let noise = decibels(levels.into_iter().map(power).sum());
    (noise, 15.0 - 1.5 * (SLR + noise))
}

/// Is: loudness, sidetone, quantizing distortion (7.3).
fn simultaneous(noise: f64, basic: f64, ms: f64) -> f64 {
    let x = SLR + RLR + 0.2 * (64.0 + noise - RLR);
    let loud = 20.0 * (bend(x / 8.0, 8.0) - x / 8.0);
    let sidetone = -decibels(power(-STMR) + exp(-ms / 4.0) * power(-TELR));
    let side = 12.0 * bend((sidetone - 13.0) / 6.0, 8.0)
        - 28.0 * bend((sidetone + 1.0) / 19.4, 35.0)
        - 13.0 * bend((sidetone - 3.0) / 33.0, 13.0)
        + 29.0;
    let q = 37.0 - 15.0 * log10(QDU);
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let (y, z) = ((basic - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0, 46.0 / 30.0 - g / 40.0);
    loud + side + 15.0 * log10(1.0 + exp10(y) + exp10(z))
}

/// Id: talker echo, listener echo, and too long a delay (7.4).
fn delayed(noise: f64, basic: f64, ms: f64) -> f64 {
    let distance = 40.0 * log10((1.0 + ms / 10.0) / (1.0 + ms / 150.0));
    let talker = TELR - distance + 6.0 * exp(-0.3 * ms * ms);
    let half = f64::midpoint(-1.5 * (noise - RLR), -(80.0 + 2.5 * (talker - 14.0)));
    let echo = (half + sqrt(square(half) + 100.0) - 1.0) * (1.0 - exp(-ms));
    let half = (basic - 10.5 * (WEPL + 7.0) * pow(2.0 * ms + 1.0, -0.25)) / 2.0;
    echo + half + sqrt(square(half) + 169.0) + too_long(ms)
}

fn too_long(ms: f64) -> f64 {
    if ms <= MINIMUM_DELAY {
        return 0.0;
    }
    let (x, sharp) = (log2(ms / MINIMUM_DELAY), 6.0 * SENSITIVITY);
    25.0 * (bend(x, sharp) - 3.0 * bend(x / 3.0, sharp) + 2.0)
}

/// The codec and lost packets (7.5): `Ie_eff`.
fn equipment(codec: Codec, percent: f64, burst_ratio: f64) -> f64 {
    if percent <= 0.0 {
        return codec.ie;
    }
    codec.ie + (95.0 - codec.ie) * percent / (percent / burst_ratio + codec.bpl)
}
