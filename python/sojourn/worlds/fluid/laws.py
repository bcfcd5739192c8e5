"""Converts the spec of an algorithm to its law, with parameters in packets and seconds.

Parameters, defaults and presets are those of the schema; they are only converted to the units of the fluid
world.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.errors import InputError
from sojourn.spec.aqm_spec import canonical
from sojourn.worlds.fluid.delay_laws import Pi2, Pie
from sojourn.worlds.fluid.marking import Ared, Avq, Blue, Law, Ldc, Pi, Place, Raqm, Red, Rem

#: Every law by the algorithm's name.
LAWS: dict[str, type[Law]] = {
    "droptail": Law,
    "red": Red,
    "gred": Red,
    "ared": Ared,
    "pi": Pi,
    "rem": Rem,
    "avq": Avq,
    "blue": Blue,
    "ldc": Ldc,
    "raqm": Raqm,
    "pie": Pie,
    "pi2": Pi2,
}

#: The reason why an algorithm has no law.
REASONS = dict.fromkeys(
    ("codel", "cobalt"),
    "has no mean field: its drops depend on how long the delay has stayed above target and on the time "
    "since its last drop, not on a probability that is a function of the average queue",
)

#: Derived defaults, from the values so far, the place and the bytes of a packet.
_DERIVED: dict[tuple[str, str], Callable[[dict[str, Any], Place, float], Any]] = {
    ("red", "max_th"): lambda v, _place, _packet: 3 * v["min_th"],
    ("gred", "max_th"): lambda v, _place, _packet: 3 * v["min_th"],
    ("ared", "max_th"): lambda v, _place, _packet: 3 * v["min_th"],
    ("ared", "min_th"): lambda v, place, _packet: max(5.0, v["target_delay"] * float(np.max(place.rate)) / 2),
    ("ared", "w_q"): lambda _v, place, _packet: -math.expm1(-1 / float(np.max(place.rate))),
    ("ared", "bottom"): lambda v, place, packet: (
        min(0.01, 80_000 / (8 * packet * float(np.max(place.rate)))) if v["adapt"] == "arrival" else 0.01
    ),
    ("ldc", "w_l"): lambda v, _place, _packet: 1 - v["w_d"],
    ("rem", "price_max"): lambda _v, _place, _packet: math.inf,
    ("pi2", "t_update"): lambda v, _place, _packet: min(v["target"], v["rtt_max"] / 3),
    ("pi2", "alpha"): lambda v, _place, _packet: 0.1 * v["t_update"] / v["rtt_max"] ** 2,
    ("pi2", "beta"): lambda v, _place, _packet: 0.3 / v["rtt_max"],
    ("blue", "l"): lambda _v, _place, _packet: None,
}


def law(spec: str, place: Place, packet: float, conventions: str = "rfc") -> Law:
    """Return the law of an algorithm.

    Parameters
    ----------
    spec : str
        The algorithm and its parameters.
    place : Place
        The queue and its link.
    packet : float
        Mean packet size on the wire, bytes.
    conventions : str
        The preset for parameters that the spec does not set.

    Raises
    ------
    InputError
        If the spec is wrong, or its algorithm has no mean-field law.
    """
    found = canonical(spec)
    name = found.name
    if name not in LAWS:
        reason = REASONS.get(name, "has no mean-field law here")
        raise InputError(f"aqm {name!r}", f"{reason}; the fluid world cannot run it", ", ".join(LAWS))
    values = parameters(name, dict(found.values), place, packet, conventions)
    if name == "gred":
        values["gentle"] = True
    return LAWS[name](values, place)


def parameters(
    name: str, chosen: dict[str, str], place: Place, packet: float, conventions: str = "rfc"
) -> dict[str, Any]:
    """Return every parameter of an algorithm in packets, seconds and packets/s."""
    (entry,) = [one for one in _core.algorithms() if one["name"] == name]
    columns = {"ns2": ("ns2",), "ns2-2004": ("ns2",), "ns2-2001": ("ns2_2001", "ns2"), "linux": ("linux",)}
    values: dict[str, Any] = {}
    later = []
    for one in entry["params"]:
        preset = next((one[name] for name in columns.get(conventions, ()) if one[name]), None)
        word = chosen.get(one["name"], preset or (None if one["derived"] else one["default"]))
        if word is None:
            later.append(one["name"])
        else:
            values[one["name"]] = _number(one["kind"], word, packet)
    for key in later:
        derive = _DERIVED.get((name, key))
        if derive is not None:
            values[key] = derive(values, place, packet)
        elif key == "rate":
            values[key] = place.rate
    return values


def _number(kind: str, word: Any, packet: float) -> Any:
    """Return a value of a spec in the fluid world's units."""
    if kind == "size":
        value, unit = _core.parse_unit("size", str(word))
        return value if unit in ("p", "") else value / packet
    if kind == "span":
        return _core.parse_unit("span", str(word)) / 1e9
    if kind == "rate":
        return _core.parse_unit("rate", str(word)) / (8 * packet)
    if kind == "flag":
        return word in (True, "on")
    return float(word) if kind in ("number", "integer") else str(word)
