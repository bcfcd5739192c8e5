"""Rules by which gains are chosen, as their authors give them; `linear` says what margins come out.

N^- is the least number of flows, R^+ the largest round-trip time, queueing included, C in packets/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sojourn import rules
from sojourn.errors import InputError


@dataclass(frozen=True)
class Design:
    """A spec that a rule chose, and the numbers on the way."""

    spec: str
    values: dict[str, float]
    source: str


def pi(flows: float, rate: float, rtt: float, q_ref: float = 50.0, f_s: float = 160.0) -> Design:
    """Return PI's a and b (Hollot, Misra, Towsley and Gong, INFOCOM 2001, section IV).

    The zero z = 2N/(R^2 C) cancels TCP's slow pole, the loop gain is 1 at w_g = z; the controller K (1 +
    s/z)/s becomes a = K/z + K/(2 f_s), b = K/z - K/(2 f_s).

    Examples
    --------
    >>> {name: f"{value:.6g}" for name, value in pi(60, 3750, 0.246, 200).values.items()}
    {'z': '0.528786', 'k': '9.78108e-06', 'a': '1.85278e-05', 'b': '1.84667e-05'}
    """
    _check(flows, rate, rtt)
    rule = rules.pi(flows, rate, rtt, f_s=f_s, q_ref=f"{q_ref:g}p")
    values = {"z": rule.values["z"], "k": rule.values["K"], "a": rule.values["a"], "b": rule.values["b"]}
    return Design(str(rule), values, "Hollot et al. 2001")


def red(flows: float, rate: float, rtt: float, min_th: float, max_th: float, max_p: float = 0.1) -> Design:
    """Return RED's w_q for given thresholds (Hollot, Misra, Towsley and Gong, INFOCOM 2001, proposition 1).

    With w_g = min(2N/(R^2 C), 1/R)/10 and the slope L = max_p/(max_th - min_th), the filter's K makes the
    loop gain 1 at w_g: L (R C)^3/(2N)^2 = sqrt(w_g^2/K^2 + 1); then w_q = 1 - exp(-K/C). The counter
    signals twice p_b (see `spread`), so L is taken twice.
    """
    _check(flows, rate, rtt)
    slope = 2 * max_p / (max_th - min_th)
    crossover = 0.1 * min(2 * flows / (rtt**2 * rate), 1 / rtt)
    plain = slope * (rtt * rate) ** 3 / (2 * flows) ** 2
    pole = crossover / math.sqrt(plain**2 - 1) if plain > 1 else math.inf
    weight = 1.0 if math.isinf(pole) else -math.expm1(-pole / rate)
    spec = f"red min_th {min_th:g}p max_th {max_th:g}p max_p {max_p:g} w_q {weight:.9g}"
    return Design(spec, {"l": slope, "w_g": crossover, "k": pole, "w_q": weight}, "Hollot et al. 2001")


def pi2(rtt: float, target: float = 0.015) -> Design:
    """Return PI2's gains for the largest round-trip time (RFC 9332, appendix A.1)."""
    _check(1, 1, rtt)
    t_update = min(target, rtt / 3)
    alpha, beta = 0.1 * t_update / rtt**2, 0.3 / rtt
    spec = f"pi2 target {1e3 * target:g}ms rtt_max {1e3 * rtt:.9g}ms"
    return Design(spec, {"t_update": t_update, "alpha": alpha, "beta": beta}, "RFC 9332")


def pie(target: float = 0.015) -> Design:
    """Return PIE's gains: fixed, whatever the link (RFC 8033, 4.2); they are scaled with p instead."""
    values = {"t_update": 0.015, "alpha": 0.125, "beta": 1.25}
    return Design(f"pie target {1e3 * target:g}ms", values, "RFC 8033")


def _check(flows: float, rate: float, rtt: float) -> None:
    for name, value in (("flows", flows), ("rate", rate), ("rtt", rtt)):
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"design: {name}", f"= {value:g} is not a positive number", "more than 0")
