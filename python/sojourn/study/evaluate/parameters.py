"""Parameters of algorithms in an evaluation: targets for the fair comparison, halves and doubles of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import _core
from sojourn.algorithms import costs, spec_of
from sojourn.algorithms.builtin import parameters
from sojourn.errors import SojournError
from sojourn.spec.aqm_spec import Spec
from sojourn.study.axes import quantity_of, with_parameter

#: Names of parameters that are a target of the queue or its delay, in order of preference.
TARGETS = ("target", "target_delay", "q_ref", "q_0", "b_star", "d_target")
#: Target delays of the fair comparison (RFC 7928, 4.3.1), in ms.
DELAYS = (2, 5, 10, 20, 40)
#: Packets that leave a link of 10 Mbit/s in a millisecond: a target in packets has the same delay.
PACKETS_PER_MS = 10_000_000 / 8 / 1500 / 1000


@dataclass(frozen=True)
class Variant:
    """An algorithm with one parameter changed.

    Attributes
    ----------
    base : str
        The algorithm as it is evaluated.
    name, value : str
        The parameter and its value.
    spec : str
        The canonical spec; `base` where the value is the one that it has.
    """

    base: str
    name: str
    value: str
    spec: str


def target_of(spec: str) -> str:
    """Return the name of the parameter that is a target; empty if there is none.

    Examples
    --------
    >>> target_of("pie"), target_of("pi"), target_of("red")
    ('target', 'q_ref', '')
    """
    names = [one["name"] for one in _described(spec)]
    return next((name for name in TARGETS if name in names), "")


def targets(spec: str) -> list[Variant]:
    """Return the algorithm with each target delay; empty if it has no target.

    Examples
    --------
    >>> [one.spec for one in targets("pie")][:2], targets("pi")[0].spec
    (['pie target 2ms', 'pie target 5ms'], 'pi q_ref 2p')
    """
    name = target_of(spec)
    units = {one["name"]: one["unit"] for one in _described(spec)}
    values = [f"{ms}ms" if units.get(name) == "s" else f"{ms * PACKETS_PER_MS:.0f}p" for ms in DELAYS]
    return [Variant(spec, name, value, with_parameter(spec, name, value)) for value in values] if name else []


def halves_and_doubles(spec: str) -> tuple[list[Variant], dict[str, str]]:
    """Return the algorithm with half and twice each numeric parameter, and the others with the reason.

    Examples
    --------
    >>> found, others = halves_and_doubles("codel")
    >>> [one.spec for one in found][:2], sorted(others)
    (['codel target 2.5ms', 'codel target 10ms'], ['ce_threshold', 'ecn', 'restart', 'sqrt'])
    """
    found: list[Variant] = []
    others: dict[str, str] = {}
    own = Spec(spec).values
    for one in _described(spec):
        name, stated = one["name"], own.get(one["name"], one["default"])
        quantity = quantity_of(str(stated))
        if quantity is None or isinstance(stated, bool) or one["kind"] in ("flag", "choice", "spec"):
            others[name] = f"is not a number: {stated}"
            continue
        value, unit = quantity
        for factor in (0.5, 2.0):
            word = f"{value * factor:.6g}{unit}"
            try:
                changed = with_parameter(spec, name, word)
            except SojournError as error:
                others[name] = str(error)
                continue
            found.append(Variant(spec, name, word, changed))
    return found, others


def exposed(specs: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Return every parameter that an operator can set, algorithm by algorithm."""
    return [(spec, one) for spec in specs for one in _described(spec)]


def numbers_of(spec: str) -> dict[str, Any]:
    """Return what a decision needs, counted under the load of ``sojourn bench aqm``."""
    return dict(_core.inspect(spec, costs.RATE, costs.FLOWS[1], costs.PACKETS))


def _described(spec: str) -> list[dict[str, Any]]:
    return parameters(Spec(spec_of(spec)).name)
