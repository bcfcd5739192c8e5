"""Finds state of an algorithm in Python that outlives a run: attributes of classes, variables of modules.

Such state makes the result of a run depend on the runs before it. `snapshot` maps every variable of the
algorithm's modules, every attribute of their classes, and the generators of ``random`` and ``numpy.random``
to a hash of its value.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

RANDOM, NUMPY = "random", "numpy.random"
#: Values inside values are followed to this depth.
DEEPEST = 12


def snapshot(modules: Iterable[types.ModuleType]) -> dict[str, str]:
    """Return a hash of each variable and class attribute of these modules, by name."""
    names = {module.__name__ for module in modules}
    found = {}
    for module in modules:
        prefix = "" if module.__name__.startswith("sojourn_own_") else f"{module.__name__}."
        for name, value in list(vars(module).items()):
            if name.startswith("__") or isinstance(value, types.ModuleType):
                continue
            if isinstance(value, type):
                if value.__module__ in names:
                    for key, one in list(vars(value).items()):
                        if not key.startswith(("__", "_abc_")):
                            found[f"{prefix}{name}.{key}"] = _hash(one)
            else:
                found[f"{prefix}{name}"] = _hash(value)
    for name, state in generators().items():
        found[name] = _hash(state)
    return found


def generators() -> dict[str, Any]:
    """Return the states of the generators that all code of a process shares, if it has imported them."""
    found: dict[str, Any] = {}
    if RANDOM in sys.modules:
        found[RANDOM] = sys.modules[RANDOM].getstate()
    if NUMPY in sys.modules:
        found[NUMPY] = sys.modules[NUMPY].get_state()
    return found


def restore(states: Mapping[str, Any]) -> None:
    """Set the generators to states that `generators` returned."""
    if RANDOM in states:
        sys.modules[RANDOM].setstate(states[RANDOM])
    if NUMPY in states:
        sys.modules[NUMPY].set_state(states[NUMPY])


def _hash(value: Any) -> str:
    known = hashlib.sha256()
    _feed(known, value, 0, set())
    return known.hexdigest()


def _feed(known: Any, value: Any, depth: int, above: set[int]) -> None:
    """Add a value with its type; values that cannot be compared add their type only."""
    known.update(type(value).__qualname__.encode())
    if depth > DEEPEST or id(value) in above or isinstance(value, type | types.ModuleType):
        return
    inner: Iterable[Any]
    if isinstance(value, types.FunctionType):
        cells = [_content(cell) for cell in value.__closure__ or ()]
        inner = [value.__defaults__, value.__kwdefaults__, cells, vars(value)]
    elif isinstance(value, staticmethod | classmethod):
        inner = [value.__func__]
    elif isinstance(value, property):
        inner = [value.fget, value.fset]
    elif isinstance(value, dict):
        inner = [one for pair in value.items() for one in pair]
    elif isinstance(value, list | tuple):
        inner = value
    else:
        try:
            known.update(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        except Exception:  # noqa: BLE001 - any object may refuse
            inner = [getattr(value, "__dict__", None)]
        else:
            return
    above = above | {id(value)}
    for one in inner:
        _feed(known, one, depth + 1, above)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None
