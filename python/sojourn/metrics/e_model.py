"""The E-model: how good a call sounds, from its delay and its losses (ITU-T G.107, 06/2015).

R = Ro - Is - Id - Ie_eff + A, from 0 to 100; `mos` converts it to a mean opinion score from 1 to 4.5. Every
parameter but the delay, the losses and the codec has the default of G.107, table 3, with which R is 93.2. The
delay is the same for talker echo and listener echo: T = Ta and Tr = 2 Ta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Defaults of G.107, table 3: loudness ratings and echo losses in dB, noise in dBmp and dB(A).
SLR, RLR, STMR, LSTR = 8.0, 2.0, 15.0, 18.0
DS, TELR, WEPL, QDU = 3.0, 65.0, 110.0, 1.0
NC, NFOR, PS, PR = -70.0, -64.0, 35.0, 35.0
#: Delay below which delay alone does not impair a conversation (mT), in ms, and the sensitivity to it (sT).
MINIMUM_DELAY, SENSITIVITY = 100.0, 1.0


@dataclass(frozen=True)
class Codec:
    """What a codec adds to the E-model (ITU-T G.113, appendix I).

    Attributes
    ----------
    ie : float
        Equipment impairment factor without losses.
    bpl : float
        Packet-loss robustness.
    delay : float
        Time from the first sample of a packet to its sending, in s: the packet and the look-ahead.
    """

    ie: float
    bpl: float
    delay: float


CODECS = {
    "g711": Codec(0.0, 25.1, 0.020),  # with the packet-loss concealment of G.711, appendix I
    "g711-no-plc": Codec(0.0, 4.3, 0.020),
    "g729a": Codec(11.0, 19.0, 0.025),  # G.729A with voice activity detection
}


def rating(delay: float, loss: float = 0.0, burst_ratio: float = 1.0, codec: Codec = CODECS["g711"]) -> float:
    """Return the transmission rating R.

    Parameters
    ----------
    delay : float
        From mouth to ear, in s.
    loss : float
        Share of packets that are lost or too late, 0 to 1.
    burst_ratio : float
        Mean length of runs of them over that of random losses; 1 if losses are independent.
    codec : Codec
        The codec.

    Examples
    --------
    >>> round(rating(0.0), 1), round(rating(0.2), 1), round(rating(0.0, 0.02), 1)
    (93.2, 85.8, 86.2)
    """
    (noise, basic), ms = _basic(), 1e3 * delay
    impairments = _simultaneous(noise, basic, ms) + _delayed(noise, basic, ms)
    return basic - impairments - _equipment(codec, 100 * loss, burst_ratio)


def mos(r: float) -> float:
    """Return the mean opinion score of a rating (G.107, annex B).

    Examples
    --------
    >>> round(mos(93.2), 2), mos(-1.0), mos(120.0)
    (4.41, 1.0, 4.5)
    """
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)


def _powers(*levels: float) -> float:
    """Return the sum of powers that are given in dB, in dB."""
    return 10 * math.log10(math.fsum(10 ** (one / 10) for one in levels))


def _basic() -> tuple[float, float]:
    """Return the total noise No in dBm0p, and the basic signal-to-noise ratio Ro (7.2)."""
    olr = SLR + RLR
    room_of_sender = PS - SLR - DS - 100 + 0.004 * (PS - olr - DS - 14) ** 2
    effective = PR + 10 * math.log10(1 + 10 ** ((10 - LSTR) / 10))
    room_of_receiver = RLR - 121 + effective + 0.008 * (effective - 35) ** 2
    noise = _powers(NC, room_of_sender, room_of_receiver, NFOR + RLR)
    return noise, 15 - 1.5 * (SLR + noise)


def _simultaneous(noise: float, basic: float, ms: float) -> float:
    """Return Is: loudness, sidetone, quantizing distortion (7.3)."""
    olr = SLR + RLR
    x = olr + 0.2 * (64 + noise - RLR)
    loud = 20 * ((1 + (x / 8) ** 8) ** (1 / 8) - x / 8)
    sidetone = -10 * math.log10(10 ** (-STMR / 10) + math.exp(-ms / 4) * 10 ** (-TELR / 10))
    side = (
        12 * (1 + ((sidetone - 13) / 6) ** 8) ** (1 / 8)
        - 28 * (1 + ((sidetone + 1) / 19.4) ** 35) ** (1 / 35)
        - 13 * (1 + ((sidetone - 3) / 33) ** 13) ** (1 / 13)
        + 29
    )
    q = 37 - 15 * math.log10(QDU)
    g = 1.07 + 0.258 * q + 0.0602 * q**2
    y, z = (basic - 100) / 15 + 46 / 8.4 - g / 9, 46 / 30 - g / 40
    return float(loud + side + 15 * math.log10(1 + 10**y + 10**z))


def _delayed(noise: float, basic: float, ms: float) -> float:
    """Return Id: talker echo, listener echo, and too long a delay (7.4)."""
    talker = TELR - 40 * math.log10((1 + ms / 10) / (1 + ms / 150)) + 6 * math.exp(-0.3 * ms**2)
    half = (-1.5 * (noise - RLR) - (80 + 2.5 * (talker - 14))) / 2
    echo = (half + math.sqrt(half**2 + 100) - 1) * (1 - math.exp(-ms))
    half = (basic - 10.5 * (WEPL + 7) * (2 * ms + 1) ** -0.25) / 2
    listener = half + math.sqrt(half**2 + 169)
    return float(echo + listener + _too_long(ms))


def _too_long(ms: float) -> float:
    if ms <= MINIMUM_DELAY:
        return 0.0
    x, six = math.log2(ms / MINIMUM_DELAY), 6 * SENSITIVITY
    return float(25 * ((1 + x**six) ** (1 / six) - 3 * (1 + (x / 3) ** six) ** (1 / six) + 2))


def _equipment(codec: Codec, percent: float, burst_ratio: float) -> float:
    """Return Ie_eff: the codec and lost packets (7.5)."""
    if percent <= 0:
        return codec.ie
    return codec.ie + (95 - codec.ie) * percent / (percent / burst_ratio + codec.bpl)
