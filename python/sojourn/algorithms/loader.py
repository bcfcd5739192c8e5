"""Loads algorithms from ``file.py:Class`` and registers them with the core.

Only this module executes a user's code.

A file is executed only if it is permitted (`sojourn.algorithms.permission`), once per version; errors in it
are reported before a run starts, like a misspelt parameter. Specs of a file that is not permitted are parsed
with the description in a manifest; without one they remain text. A class without a file (in a notebook) has
the name ``python:Class`` and can run in this process only.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sojourn import _core
from sojourn.algorithms.base import HANDLERS, Aqm
from sojourn.algorithms.description import facts, stand_in
from sojourn.algorithms.param import Param
from sojourn.algorithms.permission import REMEDY, is_permitted, permit
from sojourn.errors import InputError, from_core
from sojourn.files.untrusted import MOST_CODE, read_bytes, reason
from sojourn.spec.aqm_spec import Spec, canonical, short_path

HERE = "python"
#: The form of a metric in a file.
FUNCTION = "def NAME(record): ..., in a Python file"
FORM = "a built-in algorithm (see 'sojourn list'), or file.py:Class"
#: The number of arguments of an `on_timer` that takes no random numbers.
WITHOUT_RANDOM = 2
#: Attributes that the simulator sets, and parameters of the queue.
RESERVED = ("ecn", "link", "limit", "overflow")

Stamp = tuple[int, int]


@dataclass(frozen=True)
class Own:
    """A registered class: its `source` is None if it is in no file."""

    name: str
    cls: type[Aqm]
    source: bytes | None
    sha256: str
    stamp: Stamp | None


_known: dict[str, Own] = {}
#: Descriptions of classes in manifests: see `remember`.
_remembered: dict[str, Mapping[str, Any]] = {}
_loading = 0


def within_load() -> bool:
    """Return whether a user's file is being executed."""
    return _loading > 0


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
    path = _file_of(name)
    permitted = is_permitted(path)
    if known is None and not permitted:
        raise _refusal(name, "names Python code", REMEDY)
    try:
        status = Path(path).stat()
        stamp = status.st_mtime_ns, status.st_size
        if known is not None and known.stamp == stamp:
            return known
        source = read_bytes(path, MOST_CODE)
    except (OSError, ValueError) as error:
        raise _refusal(path, f"cannot be read: {reason(error)}", FORM) from None
    except InputError as error:
        raise _refusal(path, error.problem, error.allowed) from None
    if known is not None and known.source == source:
        return known
    if not permitted:
        raise _refusal(name, "names Python code that has changed since it was permitted", REMEDY)
    return _take(name, source, stamp)


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
        path = _file_of(name)
        if is_permitted(path) or (known is not None and _is_current(known, path)):
            find(name)
            return "loaded"
    return "described" if name in _remembered else "named"


def _file_of(name: str) -> str:
    path, _, cls = name.rpartition(":")
    if not path.endswith(".py") or not cls.isidentifier():
        raise _refusal(name, "is not an algorithm", FORM)
    return path


def _is_current(known: Own, path: str) -> bool:
    """Return whether the file of a loaded class is unchanged."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return False
    return known.stamp == (status.st_mtime_ns, status.st_size) or known.sha256 == _sha256(path)


def _sha256(path: str) -> str:
    """Return the hash of a file, empty if it cannot be read."""
    try:
        return hashlib.sha256(read_bytes(path, MOST_CODE)).hexdigest()
    except (OSError, ValueError, InputError):
        return ""


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


def describe(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return hash and description of classes, for a manifest."""
    return {name: facts(sha256_of(name), _described(_known[name])) for name in names if name in _known}


def function_of(name: str) -> tuple[Callable[..., Any], str]:
    """Return the function called ``FILE.py:NAME``, and the hash of its file.

    Raises
    ------
    InputError
        If the file may not be executed, cannot be loaded, or has no such function.
    """
    path, _, wanted = name.rpartition(":")
    if not is_permitted(path):
        raise InputError(f"metric {name!r}", "names Python code", REMEDY)
    try:
        source = read_bytes(path, MOST_CODE)
        module = _execute(path, source)
    except (OSError, ValueError) as error:
        raise InputError(path, f"cannot be read: {reason(error)}", FUNCTION) from None
    except _core.SpecError as error:
        raise from_core(error) from None
    function = vars(module).get(wanted)
    if not callable(function) or isinstance(function, type):
        there = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        near = _core.nearest(wanted, there)
        raise InputError(path, f"has no function {wanted!r}", ", ".join(there) or FUNCTION, near)
    return function, hashlib.sha256(source).hexdigest()


def adopt(name: str, source: bytes) -> None:
    """Register `name` from this `source`, even if its file has changed."""
    _take(name, source, None)


def _take(name: str, source: bytes, stamp: Stamp | None) -> Own:
    path, _, wanted = name.rpartition(":")
    module = _execute(path, source)
    cls = vars(module).get(wanted)
    if not isinstance(cls, type):
        there = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, Aqm) and value is not Aqm
        ]
        problem = f"has no class {wanted!r}"
        raise _refusal(path, problem, ", ".join(there) or "a subclass of sojourn.Aqm", wanted, there)
    if not issubclass(cls, Aqm):
        raise _refusal(name, "is not an algorithm", "a subclass of sojourn.Aqm")
    return _register(Own(name, cls, source, hashlib.sha256(source).hexdigest(), stamp))


def _register(own: Own) -> Own:
    described = _described(own)
    try:
        _core.register(own.name, own.cls, described)
    except _core.SpecError:
        raise
    except (TypeError, ValueError) as error:
        raise _refusal(own.name, f"has a description that cannot be read: {error}") from None
    _known[own.name] = own
    return own


def _execute(path: str, source: bytes) -> types.ModuleType:
    """Execute the file as a separate module; ``__name__`` is not ``__main__``."""
    global _loading
    module = types.ModuleType(
        "sojourn_own_" + hashlib.sha256(path.encode() + b"\0" + source).hexdigest()[:12]
    )
    module.__file__ = path
    folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - as in sys.path
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    _loading += 1
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        raise _refusal(path, f"cannot be loaded: line {error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code may raise anything
        line = _line(error, path)
        raise _refusal(path, f"cannot be loaded: {line}{type(error).__name__}: {error}") from None
    finally:
        _loading -= 1
        sys.path.remove(folder)
    return module


def _line(error: BaseException, path: str) -> str:
    found, frame = "", error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == path:
            found = f"line {frame.tb_lineno}: "
        frame = frame.tb_next
    return found


def _described(own: Own) -> dict[str, Any]:
    """Return the core's description of a class; raise if it is invalid."""
    cls, name = own.cls, own.name
    if cls.__init__ is not Aqm.__init__:
        raise _refusal(
            f"{name}.__init__", "would not be called in a run", "start(self) for the state of a run"
        )
    overridden = [word for word in HANDLERS if getattr(cls, word) is not getattr(Aqm, word)]
    if cls.probes and "probe" not in overridden:
        overridden.append("probe")
    if not any(word.startswith("on_") for word in overridden):
        raise _refusal(name, "has no handler", "one of " + ", ".join(HANDLERS))
    for word in overridden:
        if word != "on_timer" or not _takes(cls.on_timer, WITHOUT_RANDOM):
            _check_arguments(f"{name}.{word}", getattr(cls, word), HANDLERS[word])
    _check_arguments(f"{name}.start", cls.start, 0)
    for word, other in (("next_timer", "on_timer"), ("on_timer", "next_timer")):
        if word in overridden and other not in overridden:
            raise _refusal(f"{name}.{word}", f"has no {other}", "both or none")
    if "probe" in overridden and not cls.probes:
        raise _refusal(f"{name}.probe", "has no names", 'probes = {"p": "what p means"}')
    near = [word for word in vars(cls) if word.startswith("on_") and word not in HANDLERS]
    for word in near:
        raise _refusal(f"{name}.{word}", "is never called", ", ".join(HANDLERS), word, HANDLERS)
    code = getattr(getattr(cls, overridden[0]), "__code__", None)
    doc = inspect.cleandoc(cls.__doc__ or "") if cls.__doc__ != Aqm.__doc__ else ""
    return {
        "title": cls.title or doc.partition("\n")[0].rstrip(".") or cls.__name__,
        "source": cls.source or own.name.rpartition(":")[0],
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
        raise _refusal(place, "has other parameters than the handler", f"({', '.join(wanted)})")


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
        raise _refusal(
            f"{name}.{param.name}", "cannot be the name of a parameter", "another word in snake_case"
        )
    return param


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
    sha256 = hashlib.sha256(content).hexdigest() if content is not None else os.urandom(32).hex()
    return _register(Own(f"{HERE}:{cls.__name__}", cls, None, sha256, None)).name


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


def names_in(plan_json: str) -> list[str]:
    """Return the names of the classes that a plan uses."""
    found = {text for text in re.findall(r'"aqm":("(?:[^"\\]|\\.)*")', plan_json) if ":" in text}
    return sorted({name for text in found for name in _core.classes_in(json.loads(text))})


def sha256_of(name: str) -> str:
    """Return the hash of the code of a class, without executing it; empty if it is unknown."""
    if look(name) == "loaded":
        return _known[name].sha256
    if name in _remembered:
        return str(_remembered[name].get("sha256", ""))
    return _sha256(_file_of(name))


def digests(plan_json: str) -> list[str]:
    """Return a hash of every class that a plan uses, since the result depends on it."""
    return [f"{name} {sha256_of(name)[:16]}" for name in names_in(plan_json)]


def shipped(names: Iterable[str]) -> list[tuple[str, bytes]] | None:
    """Return the sources of classes, for another process; None if a class has no source."""
    found = [find(name) for name in names]
    sources = [(own.name, own.source) for own in found if own.source is not None]
    return sources if len(sources) == len(found) else None


def _refusal(
    key: str, problem: str, allowed: str = "", word: str = "", candidates: Iterable[str] = ()
) -> _core.SpecError:
    """Return the error that the core would raise for an invalid spec."""
    error = _core.SpecError(" ".join(f"{key} {problem}".split()))
    error.key, error.problem, error.allowed = key, problem, allowed
    error.nearest = _core.nearest(word, list(candidates)) if word else None
    return error


Aqm._name_of = staticmethod(name_of)
