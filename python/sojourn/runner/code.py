"""The algorithms in Python of a study: checks their permission and version, stores them with the results.

Only permitted code is loaded (`sojourn.algorithms.permission`). Code that a run needs and that is not loaded
is refused before anything runs, with the place that names it. ``code/CLASS-ID`` has the files of each class
(`sojourn.algorithms.sources`), with a list of them in ``code.json``; reading them executes nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from sojourn import _core, algorithms, files
from sojourn.algorithms import (
    REMEDY,
    Code,
    Part,
    collect,
    describe,
    digests,
    look,
    names_in,
    read_source,
)
from sojourn.errors import InputError, from_core
from sojourn.files import scratch
from sojourn.files.untrusted import MOST_SCENARIO, read_text
from sojourn.runner.archive import LOG, Stored
from sojourn.runner.point import Point, run_id
from sojourn.warning_codes import coded

#: The manifest of each kind of directory.
MANIFESTS = ("tune.json", "manifest.json")
#: The folder with the code of a study, and the list of the files of a class.
CODE, LIST = "code", "code.json"


def require_permission(points: Iterable[Point], *sources: str) -> None:
    """Raise ``InputError`` if a point needs code that may not be executed.

    Parameters
    ----------
    points : iterable of Point
        The runs.
    *sources : str
        Files that may name the code, besides those of the scenarios.
    """
    error = missing_permission(points, *sources)
    if error is not None:
        raise error


def missing_permission(points: Iterable[Point], *sources: str) -> InputError | None:
    """Return the error for code that points need and that may not be executed; None if there is none."""
    where: dict[str, str] = {}
    for plan, point in {point.plan_json: point for point in points}.items():
        for name in names_in(plan):
            where.setdefault(name, point.scenario.where)
    for name, file in where.items():
        try:
            loaded = look(name) == "loaded"
        except _core.SpecError as error:
            raise from_core(error).at(file) from None
        if not loaded:
            return refusal(name, *sources, file)
    return None


def refusal(name: str, *sources: str) -> InputError:
    """Return the error for the code `name`, with its place in one of these TOML files."""
    for file in sources:
        for line, key, spec in _places(file):
            if _is_named(name, spec):
                return InputError(f"{file}: line {line}: {key}", f"= {spec!r} names Python code", REMEDY)
    return InputError(f"aqm {name!r}", "names Python code", REMEDY)


def _places(file: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, key and text of each text in a TOML file; of equal texts, the line of the first."""
    try:
        text = read_text(file, MOST_SCENARIO)
        data = tomllib.loads(text)
    except (InputError, OSError, ValueError, RecursionError):
        return
    lines = text.splitlines()
    for key, value in _texts(data):
        found = (i for i, line in enumerate(lines, 1) if value in line and not line.lstrip().startswith("#"))
        yield next(found, 1), key, value


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _texts(one, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for i, one in enumerate(value, 1):
            yield from _texts(one, f"{key}[{i}]")


def _is_named(name: str, spec: str) -> bool:
    """Return whether a text of a file names the class `name`, whose path may have been resolved since."""
    resolved, _, wanted = name.rpartition(":")
    named = (word.rpartition(":") for word in _core.classes_in(spec))
    return any(cls == wanted and Path(resolved).name == Path(path).name for path, _, cls in named)


def code_of(points: Iterable[Point]) -> dict[str, Any]:
    """Return hash and description of every class that points use, for the manifest."""
    return describe(sorted({name for plan in {one.plan_json for one in points} for name in names_in(plan)}))


def stored(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the descriptions of classes in the manifest of a directory; empty if it cannot be read."""
    code = stored_facts(directory).get("code")
    return code if isinstance(code, dict) else {}


def stored_facts(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a directory of any kind; empty if it cannot be read."""
    for name in MANIFESTS:
        try:
            facts = json.loads(files.read_text(Path(directory) / name) or "null")
        except (ValueError, RecursionError):
            continue
        if isinstance(facts, dict):
            return facts
    return {}


def require_same(directory: str | os.PathLike[str], code: Mapping[str, Any]) -> None:
    """Raise ``InputError`` if a directory has runs of other versions of these classes."""
    for name, before in stored(directory).items():
        now = code.get(name)
        if not isinstance(before, dict) or not isinstance(now, dict):
            continue
        old, new = before.get("sha256"), now.get("sha256")
        if old and new and old != new:
            raise InputError(
                os.fspath(directory),
                f"holds runs of {name} with SHA-256 {old}; the SHA-256 of the code is now {new}",
                "the earlier code, or a folder of its own, with --out DIR",
            )
        if isinstance(then := before.get("environment"), dict) and then != now["environment"]:
            raise InputError(
                os.fspath(directory),
                f"holds runs of {name} with {_versions(then)}; now there is {_versions(now['environment'])}",
                "the earlier environment, or a folder of its own, with --out DIR",
            )


def _versions(environment: Mapping[str, Any]) -> str:
    """Return an environment as text.

    Examples
    --------
    >>> _versions({"python": "3.11.2", "$TABLE": "q.json"})
    'python 3.11.2, $TABLE=q.json'
    """
    return ", ".join(
        f"{name}={value}" if name.startswith("$") else f"{name} {value}"
        for name, value in environment.items()
    )


def keep(directory: Path, points: Iterable[Point]) -> None:
    """Write the code of all classes that points use into a directory, unless it is there."""
    names = sorted({name for plan in {one.plan_json for one in points} for name in names_in(plan)})
    for name in names:
        code = algorithms.code_of(name)
        folder = directory / CODE / f"{name.rpartition(':')[2]}-{code.identity[:16]}"
        if files.exists(folder / LIST):
            continue
        for path, part in code.parts.items():
            files.make_folder((folder / path).parent)
            files.write(folder / path, part.content)
        facts = {
            "name": name,
            "sha256": code.sha256,
            "environment": dict(code.environment),
            "files": {
                path: {"kind": part.kind, "name": part.name, "sha256": part.sha256}
                for path, part in code.parts.items()
            },
        }
        files.write(folder / LIST, json.dumps(facts, indent=1) + "\n")


def kept(directory: Path) -> tuple[dict[str, list[Code]], list[str]]:
    """Return the stored code of a directory by the names of its classes, and the problems with it.

    The hash of every file is verified; nothing is executed.
    """
    found: dict[str, list[Code]] = {}
    problems = []
    for name in files.names(directory / CODE):
        folder = directory / CODE / name
        try:
            facts = json.loads(files.read_text(folder / LIST) or "")
            parts = {}
            for path, one in facts["files"].items():
                pure = PurePosixPath(path)
                content = None if pure.is_absolute() or ".." in pure.parts else files.read(folder / path)
                if content is None:
                    raise ValueError(f"{path} is missing")
                parts[path] = Part(one["kind"], str(one["name"]), content, str(folder / path))
                if parts[path].sha256 != one["sha256"]:
                    raise ValueError(f"{path} does not match its hash")
            environment = {str(key): str(value) for key, value in facts["environment"].items()}
            code = Code(parts[next(iter(parts))].path, parts, environment)
            if code.sha256 != facts["sha256"]:
                raise ValueError("its files do not match their hash")
            found.setdefault(str(facts["name"]), []).append(code)
        except (ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
            problems.append(f"{folder} is damaged: {error}")
    return found, problems


def code_for(run: Stored, codes: Mapping[str, list[Code]]) -> dict[str, Code] | None:
    """Return the stored code that a run was made with, by its id; None if it is not there."""
    names = names_in(run.plan)
    for choice in itertools.product(*(codes.get(name, []) for name in names)):
        chosen = dict(zip(names, choice, strict=True))
        hashes = digests(run.plan, {name: code.identity for name, code in chosen.items()})
        if run_id(run.plan, run.spec, run.seed, run.world, hashes, run.core_version) == run.run_id:
            return chosen
    return None


@contextlib.contextmanager
def executing(codes: Mapping[str, Code]) -> Iterator[None]:
    """Execute runs within the block with stored code, from a copy of its files in a temporary folder."""
    with scratch.folder() as place, contextlib.ExitStack() as stack:
        copies = {}
        for number, (name, code) in enumerate(codes.items()):
            folder = place / str(number)
            parts = {}
            for path, part in code.parts.items():
                target = folder / path
                files.make_folder(target.parent)
                files.write(target, part.content)
                parts[path] = replace(part, path=str(target))
            copies[name] = Code(str(folder / next(iter(parts))), parts, code.environment)
        try:
            stack.enter_context(algorithms.replaced(copies))
        except _core.SpecError as error:
            raise from_core(error) from None
        yield


def warn_of_changes(code: object) -> list[str]:
    """Return a warning for each class of a manifest whose files are gone or have changed; log them, too."""
    found = []
    for name, one in code.items() if isinstance(code, Mapping) else ():
        path = name.rpartition(":")[0]
        if not isinstance(one, Mapping) or not path.endswith(".py"):
            continue
        problem = _change(path, one)
        if problem:
            text = f"{name}: {problem}; these are results of the stored code ({CODE}/)"
            found.append(coded("W11", text))
            LOG.warning("%s", coded("W11", text))
    return found


def _change(path: str, stated: Mapping[str, Any]) -> str:
    """Return how the files of a class differ from those in a manifest; empty if they do not."""
    listed = stated.get("files")
    data = [
        str(one.get("name"))
        for one in (listed.values() if isinstance(listed, Mapping) else ())
        if isinstance(one, Mapping) and one.get("kind") == "data"
    ]
    try:
        now = collect(path, read_source(path), data)
    except (OSError, ValueError):
        return f"{path} is gone"
    except InputError as error:
        return f"{error.where} {error.problem}"
    if now.sha256 != stated.get("sha256"):
        return f"the code has changed since (SHA-256 {stated.get('sha256')}, now {now.sha256})"
    return ""
