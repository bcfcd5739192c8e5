"""The state of an algorithm in Python that is stored with the results of a run, as JSON."""

from __future__ import annotations

import json
from typing import Any

from sojourn.algorithms.base import Aqm

#: Largest value, in characters of JSON.
MOST_CHARACTERS = 16_000_000


def exported(instance: Aqm, name: str) -> str:
    """Return an attribute of an instance as JSON; arrays and numbers of numpy are lists and numbers.

    Raises
    ------
    ValueError
        If it is missing, not representable in JSON, not finite, or too long.

    Examples
    --------
    >>> class Learner(Aqm):
    ...     pass
    >>> learner = Learner.__new__(Learner)
    >>> learner.table = {"idle": [0.5, 1]}
    >>> exported(learner, "table")
    '{"idle":[0.5,1]}'
    """
    try:
        value = getattr(instance, name)
    except AttributeError:
        raise ValueError("is not an attribute at the end of the run") from None
    try:
        text = json.dumps(value, allow_nan=False, default=_plain, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"cannot be stored: {error}") from None
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"is too long: {len(text)} characters")
    return text


def _plain(value: Any) -> Any:
    """Return an array or a number of numpy as a list or a number of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is not JSON")
