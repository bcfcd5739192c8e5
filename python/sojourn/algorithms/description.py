"""The description of a class in a manifest: hash, texts and parameters, to read specs without the code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

#: Keys of the core's description of a class that a manifest does not store.
_UNUSED: dict[str, Any] = {"file": "", "overridden": [], "draws_in_timer": False, "exports": []}
TEXTS = ("title", "source", "doc")


def facts(sha256: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a class as JSON; a bound of infinity is None.

    Parameters
    ----------
    sha256 : str
        Hash of its code.
    described : mapping
        Its description for the core.
    """
    params = [
        {key: None if value in (math.inf, -math.inf) else value for key, value in param.items()}
        for param in described["params"]
    ]
    texts = {key: described[key] for key in TEXTS}
    probes = [list(probe) for probe in described["probes"]]
    return {"sha256": sha256, **texts, "params": params, "probes": probes}


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
