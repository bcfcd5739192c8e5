"""What identifies the classes of a plan, whose code is part of a run's id, without executing them."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from sojourn import _core
from sojourn.algorithms.loader import code_of, entry, file_of, look
from sojourn.algorithms.sources import collect, identity_of, read_source
from sojourn.errors import InputError

#: Identities of classes that a manifest states: see `identified_by`.
_stated: ContextVar[Mapping[str, str]] = ContextVar("stated", default={})  # noqa: B039 - never changed


def names_in(plan_json: str) -> list[str]:
    """Return the names of the classes that a plan uses."""
    found = {text for text in re.findall(r'"aqm":("(?:[^"\\]|\\.)*")', plan_json) if ":" in text}
    return sorted({name for text in found for name in _core.classes_in(json.loads(text))})


def identity(name: str) -> str:
    """Return the hash of the files and the environment of a class, without executing it.

    That of a class that is not loaded is the one in a manifest (`remember`), or covers its file only.
    """
    if name in (stated := _stated.get()):
        return stated[name]
    if look(name) == "loaded":
        return code_of(name).identity
    if (known := entry(name)) is not None:
        return identity_in(known)
    try:
        return collect(path := file_of(name), read_source(path)).identity
    except (OSError, ValueError, InputError):
        return ""


def identity_in(stated: Mapping[str, Any]) -> str:
    """Return the identity of a class by its entry in a manifest."""
    environment = stated.get("environment")
    known = environment if isinstance(environment, Mapping) else {}
    return identity_of(str(stated.get("sha256", "")), known)


@contextlib.contextmanager
def identified_by(code: object) -> Iterator[None]:
    """Identify classes within the block by what a manifest states, not by their files."""
    found = {}
    for name, one in code.items() if isinstance(code, Mapping) else ():
        if isinstance(one, Mapping):
            found[name] = identity_in(one)
    outer = _stated.set(found)
    try:
        yield
    finally:
        _stated.reset(outer)


def digests(plan_json: str, identities: Mapping[str, str] | None = None) -> list[str]:
    """Return a hash of every class that a plan uses, since the result depends on it.

    Parameters
    ----------
    plan_json : str
        The plan.
    identities : mapping, optional
        Identities of its classes; those of the loaded classes if None.
    """
    return [
        f"{name} {(identity(name) if identities is None else identities[name])[:16]}"
        for name in names_in(plan_json)
    ]
