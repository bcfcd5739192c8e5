"""Loads algorithms from ``file.py:Class`` and registers them with the core.

A file is executed only if it is permitted (`sojourn.algorithms.permission`), once per version; errors in it
are reported before a run starts, like a misspelt parameter. Specs of a file that is not permitted are parsed
with the description in a manifest; without one they remain text. A class without a file (in a notebook) has
the name ``python:Class`` and can run in this process only.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sojourn import _core
from sojourn.algorithms import shared_state
from sojourn.algorithms.base import Aqm
from sojourn.algorithms.description import described, facts, refusal, stand_in
from sojourn.algorithms.execution import class_of
from sojourn.algorithms.permission import REMEDY, is_permitted, permit
from sojourn.algorithms.sources import Code, collect, read_source, variables_of
from sojourn.errors import InputError, from_core
from sojourn.files.untrusted import reason
from sojourn.spec.aqm_spec import Spec, canonical, short_path
from sojourn.warning_codes import coded

HERE = "python"
FORM = "a built-in algorithm (see 'sojourn list'), or file.py:Class"


@dataclass(frozen=True)
class Own:
    """A registered class.

    Attributes
    ----------
    name : str
        Its name in specs.
    cls : type
        The class.
    code : Code
        Its files and environment.
    stamp : tuple or None
        The stamp of the code when it was read; None if the files are not looked at again.
    modules : tuple of module
        The module of the file, and the local modules that it imported.
    before : mapping
        The state that its runs share, as it was after loading (`shared_state`).
    generators : mapping
        The states of the shared generators of random numbers then.
    """

    name: str
    cls: type[Aqm]
    code: Code
    stamp: tuple[Any, ...] | None
    modules: tuple[types.ModuleType, ...] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    generators: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_file(self) -> bool:
        """Whether the class is in a file, so that another process can load it."""
        return bool(self.code.path)


_known: dict[str, Own] = {}
#: Descriptions of classes in manifests: see `remember`.
_remembered: dict[str, Mapping[str, Any]] = {}


def find(name: str) -> Own:
    """Return the class called `name`, loaded and registered; again if its file has changed.

    Raises
    ------
    SpecError
        If the file or class does not exist, is not an algorithm, or may not be executed.
    """
    known = _known.get(name)
    if known is not None and known.stamp is None:
        return known
    path = file_of(name)
    permitted = is_permitted(path)
    if known is None and not permitted:
        raise refusal(name, "names Python code", REMEDY)
    if known is not None and known.code.stamp == known.stamp:
        return known
    try:
        source = read_source(path)
    except (OSError, ValueError) as error:
        raise refusal(path, f"cannot be read: {reason(error)}", FORM) from None
    except InputError as error:
        raise refusal(path, error.problem, error.allowed) from None
    if known is not None and (same := _collected(name, source, known.cls)).identity == known.code.identity:
        _known[name] = replace(known, stamp=same.stamp)
        return known
    if not permitted:
        raise refusal(name, "names Python code that has changed since it was permitted", REMEDY)
    return _take(name, source)


def look(name: str) -> Literal["loaded", "described", "named"]:
    """Return whether the class called `name` is loaded, described in a manifest, or only named.

    It is loaded now if its file is permitted.

    Raises
    ------
    SpecError
        If the name has the wrong form, or the permitted file is wrong.
    """
    known = _known.get(name)
    if known is not None and known.stamp is None:
        return "loaded"
    if name not in _remembered or not name.startswith(f"{HERE}:"):
        path = file_of(name)
        if is_permitted(path) or (known is not None and _is_current(known, path)):
            find(name)
            return "loaded"
    return "described" if name in _remembered else "named"


def file_of(name: str) -> str:
    """Return the file of a class by its name in specs."""
    path, _, cls = name.rpartition(":")
    if not path.endswith(".py") or not cls.isidentifier():
        raise refusal(name, "is not an algorithm", FORM)
    return path


def _is_current(known: Own, path: str) -> bool:
    """Return whether the files and the environment of a loaded class are unchanged."""
    if known.code.stamp == known.stamp:
        return True
    try:
        return _collected(known.name, read_source(path), known.cls).identity == known.code.identity
    except (OSError, ValueError, InputError, _core.SpecError):
        return False


def remember(code: object) -> None:
    """Register the descriptions of classes in a manifest, to parse their specs without executing code.

    Parameters
    ----------
    code : object
        The manifest's ``code``, as `describe` wrote it; entries of another form are ignored.
    """
    for name, one in code.items() if isinstance(code, Mapping) else ():
        if _remembered.get(name) == one or not isinstance(one, Mapping) or len(name.split()) != 1:
            continue
        try:
            _core.describe(name, stand_in(one))
        except (_core.SpecError, KeyError, TypeError, ValueError):
            continue
        _remembered[name] = one


def entry(name: str) -> Mapping[str, Any] | None:
    """Return the entry of a class in a manifest, if one was registered."""
    return _remembered.get(name)


def describe(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return hashes, environment and description of classes, for a manifest."""
    return {name: facts(code_of(name), described(name, _known[name].cls)) for name in names if name in _known}


def code_of(name: str) -> Code:
    """Return the files and the environment of a class that is loaded."""
    return find(name).code


def adopt(name: str, code: Code) -> None:
    """Register `name` from this code, even if its file has changed.

    Raises
    ------
    InputError
        If its modules or data files on this machine differ from the code.
    """
    if changed := code.changed():
        raise InputError(name, f"cannot be run: {', '.join(changed)} changed since the study began")
    cls, modules = class_of(name, code)
    _register(name, cls, code, None, modules)


@contextlib.contextmanager
def replaced(codes: Mapping[str, Code]) -> Iterator[None]:
    """Use these versions of classes within the block, not those in their files."""
    before = {name: _known.get(name) for name in codes}
    variables = {
        key: code.environment[f"${key}"] for code in codes.values() for key in variables_of(code.environment)
    }
    environment = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    try:
        for name, code in codes.items():
            adopt(name, code)
        yield
    finally:
        for key, value in environment.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        for name, own in before.items():
            if own is None:
                _known.pop(name, None)
            else:
                _known[name] = own
                _core.register(own.name, own.cls, described(own.name, own.cls))


def renew(names: Iterable[str]) -> list[str]:
    """Load classes again whose shared state a run has changed; return one sentence for each.

    So the next run in this process begins as the first one did. A class that is in no file cannot be loaded
    again.
    """
    found = []
    for own in [_known[name] for name in names if name in _known]:
        now = shared_state.snapshot(own.modules)
        changed = [name for name in now if own.before.get(name) != now[name]]
        changed += [name for name in own.before if name not in now]
        if not changed:
            continue
        what = f"{own.name}: a run changed {', '.join(sorted(changed))}, which all runs of a process share"
        if own.has_file:
            shared_state.restore(own.generators)
            adopt(own.name, own.code)
            text = f"{what}; it was reset after each run: keep state in self, and create it in start"
        else:
            _known[own.name] = replace(own, before=now)
            text = f"{what}, so results depend on the runs before: keep state in self, and create it in start"
        found.append(coded("W10", text))
    return found


def _take(name: str, source: bytes) -> Own:
    """Load a class from its file, and register it."""
    path, _, _ = name.rpartition(":")
    cls, modules = class_of(name, collect(path, source))
    code = _collected(name, source, cls)
    return _register(name, cls, code, code.stamp, modules)


def _collected(name: str, source: bytes, cls: type[Aqm]) -> Code:
    """Return the files of a class with the data files that it declares."""
    path, _, _ = name.rpartition(":")
    return collect(path, source, *_declared(name, cls))


def _declared(name: str, cls: type[Aqm]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the data files and the environment variables that a class declares."""
    found = []
    for word in ("files", "environment"):
        value = getattr(cls, word)
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise refusal(f"{name}.{word}", f"= {value!r} is not a list of names", f'{word} = ["NAME"]')
        found.append(value)
    return found[0], found[1]


def _register(
    name: str,
    cls: type[Aqm],
    code: Code,
    stamp: tuple[Any, ...] | None,
    modules: Sequence[types.ModuleType],
) -> Own:
    cls._files = {part.name: part.path for part in code.parts.values() if part.kind == "data"}
    generators = shared_state.generators()
    own = Own(name, cls, code, stamp, tuple(modules), shared_state.snapshot(modules), generators)
    description = described(own.name, own.cls)
    try:
        _core.register(own.name, own.cls, description)
    except _core.SpecError:
        raise
    except (TypeError, ValueError) as error:
        raise refusal(own.name, f"has a description that cannot be read: {error}") from None
    _known[own.name] = own
    return own


def name_of(cls: type[Aqm]) -> str:
    """Register a class and return its name in specs."""
    for own in _known.values():
        if own.cls is cls:
            return own.name
    name = _file_name(cls)
    if name is not None:
        permit([name])  # the user has executed it
        return find(name).name
    content = _code(cls)
    name = f"{HERE}:{cls.__name__}"
    code = collect("", os.urandom(32) if content is None else content, *_declared(name, cls))
    return _register(name, cls, code, None, [_only(cls)]).name


def _only(cls: type[Aqm]) -> types.ModuleType:
    """Return a module with nothing but a class: other variables of a notebook are not its state."""
    found = types.ModuleType(cls.__module__)
    found.__dict__[cls.__name__] = cls
    return found


def _file_name(cls: type[Aqm]) -> str | None:
    """Return ``file.py:Class`` of a class at the top level of a file."""
    if "." in cls.__qualname__:
        return None
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if (
        file is None
        or getattr(module, cls.__name__, None) is not cls
        or not file.endswith(".py")
        or not Path(file).is_file()
    ):
        return None
    path = short_path(file)
    return None if any(c.isspace() for c in path) else f"{path}:{cls.__name__}"


def _code(cls: type) -> bytes | None:
    """Return the source of a class without a file, if Python can find it."""
    try:
        return inspect.getsource(cls).encode()
    except (OSError, TypeError):
        return None


def spec_of(aqm: str | Aqm | type[Aqm]) -> Spec:
    """Return the spec of a text, an `Aqm` class, or an object of one.

    Raises
    ------
    InputError
        If the algorithm does not exist, or a parameter is invalid.
    """
    if isinstance(aqm, Aqm):
        return aqm.spec
    try:
        if isinstance(aqm, type) and issubclass(aqm, Aqm):
            return Spec(name_of(aqm))
        return canonical(str(aqm))
    except _core.SpecError as error:
        raise from_core(error) from None


def shipped(names: Iterable[str]) -> list[tuple[str, Code]] | None:
    """Return the code of classes, for another process; None if a class is in no file."""
    found = [find(name) for name in names]
    return [(own.name, own.code) for own in found] if all(own.has_file for own in found) else None


Aqm._name_of = staticmethod(name_of)
