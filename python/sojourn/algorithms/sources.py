"""What an algorithm in Python consists of: its file, local modules, data files and environment.

`collect` finds the modules by reading the imports of the file and of the modules themselves; it executes
nothing. Modules of the standard library, of installed packages and of Sojourn are not collected: the versions
of the packages are part of the environment. Data files and environment variables are those that the class
declares (``files``, ``environment``). Everything is part of the identity of a run.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, Literal

from sojourn.errors import InputError
from sojourn.files.untrusted import MOST_CODE, MOST_TRACE, read_bytes, reason

#: Folders of installed packages.
INSTALLED = ("site-packages", "dist-packages")
#: Folder of a stored copy for data files that are not below the folder of the algorithm.
OUTSIDE = "outside"
#: What marks the value of an environment variable among the versions of the environment.
VARIABLE = "$"

Kind = Literal["source", "module", "data"]


@dataclass(frozen=True)
class Part:
    """A file of an algorithm.

    Attributes
    ----------
    kind : str
        ``source`` (the file that defines the class), ``module`` or ``data``.
    name : str
        Name of the module, or of the data file as declared; empty for the source.
    content : bytes
        The content.
    path : str
        Where it was read.
    """

    kind: Kind
    name: str
    content: bytes
    path: str = ""

    @property
    def sha256(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Code:
    """All files of an algorithm, and its environment.

    Attributes
    ----------
    path : str
        The file that defines the class; empty for a class that is in no file.
    parts : mapping
        The files by their paths in a stored copy, the source first.
    environment : mapping
        Versions of Python and of imported packages; values of declared environment variables, by
        ``$NAME``.
    """

    path: str
    parts: Mapping[str, Part]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> bytes:
        """The content of the file that defines the class."""
        return next(iter(self.parts.values())).content

    @property
    def modules(self) -> list[str]:
        """The names of the local modules that it imports."""
        return [part.name for part in self.parts.values() if part.kind == "module"]

    @cached_property
    def sha256(self) -> str:
        """The hash of the file; with modules or data, the hash of the list of the hashes of all files."""
        if len(self.parts) == 1:
            return hashlib.sha256(self.source).hexdigest()
        lines = (f"{part.sha256}  {name}\n" for name, part in sorted(self.parts.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @cached_property
    def identity(self) -> str:
        """The hash of files and environment."""
        return identity_of(self.sha256, self.environment)

    @property
    def stamp(self) -> tuple[Any, ...]:
        """What changes if a file or a declared variable changes: times, sizes and values."""
        found: list[Any] = [os.environ.get(name) for name in variables_of(self.environment)]
        for part in self.parts.values():
            try:
                status = Path(part.path).stat()
            except (OSError, ValueError):
                found.append(None)
            else:
                found.append((status.st_mtime_ns, status.st_size))
        return tuple(found)

    def changed(self) -> list[str]:
        """Return the paths of the modules and data files that differ from those on this machine."""
        return [
            part.path
            for part in self.parts.values()
            if part.kind != "source" and _content(part.path) != part.content
        ]


def identity_of(sha256: str, environment: Mapping[str, str]) -> str:
    """Return the hash of an algorithm's files and environment."""
    return hashlib.sha256(f"{sha256}\0{json.dumps(environment, sort_keys=True)}".encode()).hexdigest()


def variables_of(environment: Mapping[str, str]) -> list[str]:
    """Return the environment variables in an environment."""
    return [name.removeprefix(VARIABLE) for name in environment if name.startswith(VARIABLE)]


def collect(path: str, source: bytes, data: Sequence[str] = (), variables: Sequence[str] = ()) -> Code:
    """Return all files and the environment of an algorithm, without executing any.

    Parameters
    ----------
    path : str
        The file that defines the class; empty for a class that is in no file.
    source : bytes
        Its content.
    data : sequence of str
        Data files, relative to the folder of `path`.
    variables : sequence of str
        Names of environment variables.

    Raises
    ------
    InputError
        If a data file cannot be read.
    """
    folder = os.path.dirname(os.path.abspath(path or "class.py"))  # noqa: PTH100, PTH120 - as in sys.path
    parts = {Path(path or "class.py").name: Part("source", "", source, path)}
    packages: set[str] = set()
    for name, spec in _local(source, folder, packages):
        place = str(spec.origin)
        content = _content(place)
        if content is not None and os.path.realpath(place) != os.path.realpath(path):
            parts[_stored_path(name, place)] = Part("module", name, content, place)
    for name in data:
        place = os.path.join(folder, name)  # noqa: PTH118 - keeps an absolute name
        try:
            content = read_bytes(place, MOST_TRACE)
        except (OSError, ValueError) as error:
            raise InputError(f"data file {name!r}", f"cannot be read: {reason(error)}", place) from None
        parts[_stored_data(name)] = Part("data", name, content, place)
    environment = {"python": platform.python_version()}
    environment |= {one: found for one in sorted(packages) if (found := version_of(one))}
    environment |= {f"{VARIABLE}{one}": os.environ.get(one, "") for one in variables}
    return Code(path, parts, environment)


def _content(path: str) -> bytes | None:
    try:
        return read_bytes(path, MOST_TRACE)
    except (OSError, ValueError, InputError):
        return None


def _stored_path(name: str, path: str) -> str:
    """Return where a stored copy has a module, so that its folder can be in the module path."""
    file = Path(path).name
    words = name.split(".")
    return "/".join([*words, file] if file.startswith("__init__.") else [*words[:-1], file])


def _stored_data(name: str) -> str:
    """Return where a stored copy has a data file: in the same place if that is below the folder."""
    path = os.path.normpath(name)
    if not Path(path).is_absolute() and not path.startswith(".."):
        return path
    return f"{OUTSIDE}/{hashlib.sha256(name.encode()).hexdigest()[:8]}-{Path(path).name}"


def _local(source: bytes, folder: str, packages: set[str]) -> Iterator[tuple[str, ModuleSpec]]:
    """Yield the local modules that a source imports, directly or not; add names of packages to `packages`."""
    seen: set[str] = set()
    todo = [(source, "")]
    while todo:
        content, package = todo.pop()
        for name in _imported(content, package):
            words = name.split(".")
            for count in range(1, len(words) + 1):
                one = ".".join(words[:count])
                if one in seen:
                    continue
                seen.add(one)
                spec = _found(one, folder)
                if spec is None:
                    if count == 1 and one not in sys.stdlib_module_names and one != "sojourn":
                        packages.add(one)
                    continue
                if spec.origin is None:  # a namespace package has no file
                    continue
                yield one, spec
                if spec.origin.endswith(".py"):
                    inner = one if spec.submodule_search_locations is not None else one.rpartition(".")[0]
                    todo.append((_content(spec.origin) or b"", inner))


def _imported(source: bytes, package: str) -> Iterator[str]:
    """Yield the names that a source imports: modules, and what may be modules of packages."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            words = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*filter(None, words), *([node.module] if node.module else [])])
            if base:
                yield base
            yield from (f"{base}.{alias.name}".strip(".") for alias in node.names if alias.name != "*")


def _found(name: str, folder: str) -> ModuleSpec | None:
    """Return the spec of a local module; None if there is none of this name, or it is no local one."""
    head, _, _ = name.partition(".")
    if head in sys.stdlib_module_names or head == "sojourn":
        return None
    path: Iterable[str] = [folder, *sys.path]
    words = name.split(".")
    spec = None
    for count in range(1, len(words) + 1):
        spec = PathFinder.find_spec(".".join(words[:count]), [*path])
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    if spec is None or (spec.origin is not None and not _is_local(spec.origin)):
        return None
    return None if spec.origin is None and not all(map(_is_local, path)) else spec


def _is_local(path: str) -> bool:
    if not path.endswith((".py", *EXTENSION_SUFFIXES)) and not Path(path).is_dir():
        return False
    return not any(word in Path(path).parts for word in INSTALLED)


@functools.cache
def version_of(package: str) -> str:
    """Return the version of the distribution that provides a package; empty if there is none."""
    try:
        return metadata.version(package)
    except (metadata.PackageNotFoundError, ValueError):
        found = metadata.packages_distributions().get(package)
        return metadata.version(found[0]) if found else ""


def read_source(path: str) -> bytes:
    """Return the content of a file of code; errors as `sojourn.files.untrusted.read_bytes`."""
    return read_bytes(path, MOST_CODE)
