"""Executes a user's file, for a class or a function in it. Only this module executes a user's code.

The file is executed as a module of its own: `sojourn.algorithms.loader` decides whether and how often.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from sojourn import _core
from sojourn.algorithms.base import Aqm
from sojourn.algorithms.description import refusal
from sojourn.algorithms.permission import REMEDY, is_permitted
from sojourn.algorithms.sources import Code, collect, read_source
from sojourn.errors import InputError, from_core
from sojourn.files.untrusted import reason

#: The form of a metric in a file.
FUNCTION = "def NAME(record): ..., in a Python file"
_loading = 0


def within_load() -> bool:
    """Return whether a user's file is being executed."""
    return _loading > 0


def class_of(name: str, code: Code) -> tuple[type[Aqm], tuple[types.ModuleType, ...]]:
    """Execute the file of a class; return the class, and the modules that belong to it."""
    path, _, wanted = name.rpartition(":")
    source = next(iter(code.parts.values()))
    module, local = _execute(source.path or path, code)
    cls = vars(module).get(wanted)
    if not isinstance(cls, type):
        there = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, Aqm) and value is not Aqm
        ]
        problem = f"has no class {wanted!r}"
        raise refusal(path, problem, ", ".join(there) or "a subclass of sojourn.Aqm", wanted, there)
    if not issubclass(cls, Aqm):
        raise refusal(name, "is not an algorithm", "a subclass of sojourn.Aqm")
    return cls, (module, *local)


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
        code = collect(path, read_source(path))
        module, _ = _execute(path, code)
    except (OSError, ValueError) as error:
        raise InputError(path, f"cannot be read: {reason(error)}", FUNCTION) from None
    except _core.SpecError as error:
        raise from_core(error) from None
    function = vars(module).get(wanted)
    if not callable(function) or isinstance(function, type):
        there = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        near = _core.nearest(wanted, there)
        raise InputError(path, f"has no function {wanted!r}", ", ".join(there) or FUNCTION, near)
    return function, code.sha256


def _execute(path: str, code: Code) -> tuple[types.ModuleType, list[types.ModuleType]]:
    """Execute the file as a separate module; return it, and the local modules that it imported.

    ``__name__`` is not ``__main__``. The local modules are imported from their files again, because they may
    have changed, and another algorithm may have modules of the same names.
    """
    global _loading
    source = code.source
    module = types.ModuleType(
        "sojourn_own_" + hashlib.sha256(path.encode() + b"\0" + source).hexdigest()[:12]
    )
    module.__file__ = path
    folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - as in sys.path
    aside = {name: sys.modules.pop(name) for name in code.modules if name in sys.modules}
    importlib.invalidate_caches()
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    _loading += 1
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        raise refusal(path, f"cannot be loaded: line {error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code may raise anything
        line = _line(error, path)
        raise refusal(path, f"cannot be loaded: {line}{type(error).__name__}: {error}") from None
    finally:
        _loading -= 1
        sys.path.remove(folder)
        local = [sys.modules[name] for name in code.modules if name in sys.modules]
        sys.modules.update(aside)
    return module, local


def _line(error: BaseException, path: str) -> str:
    found, frame = "", error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == path:
            found = f"line {frame.tb_lineno}: "
        frame = frame.tb_next
    return found
