"""The description of a class: for the core, checked; and in a manifest, to read specs without the code."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from sojourn import _core
from sojourn.algorithms.base import HANDLERS, Aqm
from sojourn.algorithms.param import Param
from sojourn.algorithms.sources import Code

#: Keys of the core's description of a class that a manifest does not store.
_UNUSED: dict[str, Any] = {"file": "", "overridden": [], "draws_in_timer": False, "exports": []}
TEXTS = ("title", "source", "doc")
#: The number of arguments of an `on_timer` that takes no random numbers.
WITHOUT_RANDOM = 2
#: Attributes that the simulator sets, and parameters of the queue.
RESERVED = ("ecn", "link", "limit", "overflow")


def facts(code: Code, description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a class as JSON; a bound of infinity is None.

    Parameters
    ----------
    code : Code
        Its files and environment.
    description : mapping
        Its description for the core.
    """
    params = [
        {key: None if value in (math.inf, -math.inf) else value for key, value in param.items()}
        for param in description["params"]
    ]
    texts = {key: description[key] for key in TEXTS}
    probes = [list(probe) for probe in description["probes"]]
    parts = {
        path: {"kind": part.kind, "name": part.name, "sha256": part.sha256}
        for path, part in code.parts.items()
    }
    return {
        "sha256": code.sha256,
        "files": parts,
        "environment": dict(code.environment),
        **texts,
        "params": params,
        "probes": probes,
    }


def stand_in(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description for the core; KeyError, TypeError or ValueError if it has another form.

    Examples
    --------
    >>> stand_in({"title": "T", "source": "", "doc": "", "params": [], "probes": [["p", "", ""]]})["probes"]
    [('p', '', '')]
    """
    params = [
        {**param, "min": _bound(param["min"], -math.inf), "max": _bound(param["max"], math.inf)}
        for param in facts["params"]
    ]
    texts = {key: facts[key] for key in TEXTS}
    return {**texts, **_UNUSED, "params": params, "probes": [tuple(probe) for probe in facts["probes"]]}


def _bound(value: float | None, infinite: float) -> float:
    return infinite if value is None else value


def described(name: str, cls: type[Aqm]) -> dict[str, Any]:
    """Return the core's description of a class; raise if it is invalid."""
    if cls.__init__ is not Aqm.__init__:
        raise refusal(
            f"{name}.__init__", "would not be called in a run", "start(self) for the state of a run"
        )
    overridden = [word for word in HANDLERS if getattr(cls, word) is not getattr(Aqm, word)]
    if cls.probes and "probe" not in overridden:
        overridden.append("probe")
    if not any(word.startswith("on_") for word in overridden):
        raise refusal(name, "has no handler", "one of " + ", ".join(HANDLERS))
    for word in overridden:
        if word != "on_timer" or not _takes(cls.on_timer, WITHOUT_RANDOM):
            _check_arguments(f"{name}.{word}", getattr(cls, word), HANDLERS[word])
    _check_arguments(f"{name}.start", cls.start, 0)
    for word, other in (("next_timer", "on_timer"), ("on_timer", "next_timer")):
        if word in overridden and other not in overridden:
            raise refusal(f"{name}.{word}", f"has no {other}", "both or none")
    if "probe" in overridden and not cls.probes:
        raise refusal(f"{name}.probe", "has no names", 'probes = {"p": "what p means"}')
    near = [word for word in vars(cls) if word.startswith("on_") and word not in HANDLERS]
    for word in near:
        raise refusal(f"{name}.{word}", "is never called", ", ".join(HANDLERS), word, HANDLERS)
    code = getattr(getattr(cls, overridden[0]), "__code__", None)
    doc = inspect.cleandoc(cls.__doc__ or "") if cls.__doc__ != Aqm.__doc__ else ""
    return {
        "title": cls.title or doc.partition("\n")[0].rstrip(".") or cls.__name__,
        "source": cls.source or name.rpartition(":")[0],
        "doc": doc,
        "file": getattr(code, "co_filename", ""),
        "overridden": overridden,
        "params": [_checked(name, param).described() for param in _params(cls)],
        "probes": [
            (key, *(("", meaning) if isinstance(meaning, str) else meaning))
            for key, meaning in cls.probes.items()
        ],
        "draws_in_timer": _takes(cls.on_timer, HANDLERS["on_timer"]),
        "exports": list(cls.exports),
    }


def _check_arguments(place: str, handler: Any, count: int) -> None:
    if not _takes(handler, count):
        wanted = list(inspect.signature(getattr(Aqm, place.rpartition(".")[2])).parameters)
        raise refusal(place, "has other parameters than the handler", f"({', '.join(wanted)})")


def _takes(handler: Any, count: int) -> bool:
    """Return whether a handler takes `count` arguments besides the instance, as far as Python knows."""
    try:
        inspect.signature(handler).bind(*range(count + 1))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _params(cls: type[Aqm]) -> Iterable[Param]:
    found: dict[str, Param] = {}
    for base in reversed(cls.__mro__):
        found.update({key: value for key, value in vars(base).items() if isinstance(value, Param)})
    return found.values()


def _checked(name: str, param: Param) -> Param:
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", param.name) or param.name in RESERVED:
        raise refusal(
            f"{name}.{param.name}", "cannot be the name of a parameter", "another word in snake_case"
        )
    return param


def refusal(
    key: str, problem: str, allowed: str = "", word: str = "", candidates: Iterable[str] = ()
) -> _core.SpecError:
    """Return the error that the core would raise for an invalid spec."""
    error = _core.SpecError(" ".join(f"{key} {problem}".split()))
    error.key, error.problem, error.allowed = key, problem, allowed
    error.nearest = _core.nearest(word, list(candidates)) if word else None
    return error
