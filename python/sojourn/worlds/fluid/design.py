"""Published design rules for controller gains; `linear` computes the resulting margins.

PI's rule is `sojourn.rules.pi`; here are those of RED, PI2 and PIE, in the same form. N is the smallest
number of flows, R the longest round-trip time (queueing included), C the link rate in packets/s.
"""

from __future__ import annotations

import math

from sojourn.errors import InputError
from sojourn.rules import Rule


def red(flows: float, capacity: float, rtt: float, min_th: float, max_th: float, max_p: float = 0.1) -> Rule:
    """Return RED's w_q for given thresholds (Hollot, Misra, Towsley and Gong, INFOCOM 2001, proposition 1).

    With w_g = min(2N/(R^2 C), 1/R)/10 and the slope L of the line, the filter's pole K makes the loop
    gain 1 at w_g: L (R C)^3/(2N)^2 = sqrt(w_g^2/K^2 + 1); then w_q = 1 - exp(-K/C). The counter signals
    twice p_b (see `sojourn.worlds.fluid.marking.spread`), so L = 2 max_p/(max_th - min_th).

    Examples
    --------
    >>> red(60, 3750, 0.246, 150, 700)
    'red min_th 150p max_th 700p max_p 0.1 w_q 0.000000712192876'
    """
    _check(flows=flows, capacity=capacity, rtt=rtt)
    if not 0 < min_th < max_th:
        raise InputError(
            "red.max_th", f"= {max_th:g} is not above min_th = {min_th:g}", "0 < min_th < max_th"
        )
    slope = 2 * max_p / (max_th - min_th)
    crossover = 0.1 * min(2 * flows / (rtt**2 * capacity), 1 / rtt)
    gain = slope * (rtt * capacity) ** 3 / (2 * flows) ** 2
    pole = crossover / math.sqrt(gain**2 - 1) if gain > 1 else math.inf
    weight = 1.0 if math.isinf(pole) else -math.expm1(-pole / capacity)
    spec = f"red min_th {min_th:g}p max_th {max_th:g}p max_p {max_p:g} w_q {weight:.9g}"
    values = {"l": slope, "w_g": crossover, "w_q": weight}
    return Rule(
        spec, values, "Hollot, Misra, Towsley and Gong, A Control Theoretic Analysis of RED (INFOCOM 2001)"
    )


def pi2(rtt: float, target: float = 0.015) -> Rule:
    """Return PI2's gains for the longest round-trip time (RFC 9332, appendix A.1)."""
    _check(rtt=rtt, target=target)
    t_update = min(target, rtt / 3)
    values = {"t_update": t_update, "alpha": 0.1 * t_update / rtt**2, "beta": 0.3 / rtt}
    return Rule(
        f"pi2 target {1e3 * target:.9g}ms rtt_max {1e3 * rtt:.9g}ms", values, "RFC 9332, appendix A.1"
    )


def pie(target: float = 0.015) -> Rule:
    """Return PIE's gains: independent of the link (RFC 8033, 4.2) and scaled with p instead."""
    _check(target=target)
    values = {"t_update": 0.015, "alpha": 0.125, "beta": 1.25}
    return Rule(f"pie target {1e3 * target:.9g}ms", values, "RFC 8033, 4.2", printed=True)


def _check(**numbers: float) -> None:
    for name, value in numbers.items():
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"design: {name}", f"= {value:g} is out of range", "a positive number")
