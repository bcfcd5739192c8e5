"""The manifest of a results directory: runs, versions, command and status."""

from __future__ import annotations

import contextlib
import json
import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.algorithms import version_of
from sojourn.errors import InputError, SojournError
from sojourn.runner.code import code_of
from sojourn.runner.data import data_of
from sojourn.runner.point import Point
from sojourn.spec.scenario import Scenario

#: The file in a results directory.
MANIFEST = "manifest.json"
#: The packages that metrics and intervals are computed with.
PACKAGES = ("numpy", "polars", "scipy")


def command_line(command: Sequence[str]) -> str:
    """Return `command` as text for a shell, to repeat or resume a run."""
    first = Path(command[0]).name if command else "sojourn"
    return shlex.join([first, *command[1:]])


def machine() -> dict[str, Any]:
    """Return where runs are made: the host, and versions of Python and of what computes metrics."""
    return {
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in PACKAGES},
        "platform": platform.platform(),
        "host": platform.node(),
    }


def manifest(
    scenario: Scenario, wanted: Sequence[Point], command: Sequence[str], world: str
) -> dict[str, Any]:
    """Return the manifest for the start of a study."""
    return {
        "name": scenario.name,
        "version": _core.VERSION,
        "core_version": _core.CORE_VERSION,
        "aqms": list(dict.fromkeys(point.spec for point in wanted)),
        "code": code_of(wanted),
        "data": data_of(wanted),
        "seeds": sorted({point.seed for point in wanted}),
        "world": world,
        "command": command_line(command),
        "status": "running",
        **machine(),
        "warnings": [],
        "runs": [{"run_id": p.run_id, "aqm": p.spec, "seed": p.seed} for p in wanted],
    }


def manifest_of(directory: Path, name: str = MANIFEST) -> dict[str, Any]:
    """Return the manifest of a results directory; empty if there is none.

    Raises
    ------
    InputError
        If it is not a JSON object.
    """
    path = directory / name
    try:
        found = json.loads(files.read_text(path) or "{}")
    except ValueError as error:
        raise InputError(str(path), f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(str(path), "is not a JSON object")
    return found


@contextlib.contextmanager
def marking_interruption(directory: Path, name: str = MANIFEST) -> Iterator[None]:
    """Set the status of a manifest to ``interrupted`` if a signal ends the block."""
    try:
        yield
    except KeyboardInterrupt:
        with contextlib.suppress(SojournError):
            write_manifest(directory, {**manifest_of(directory, name), "status": "interrupted"}, name)
        raise


def write_manifest(directory: Path, manifest: Mapping[str, Any], name: str = MANIFEST) -> None:
    """Write the manifest of a results directory."""
    files.write(directory / name, json.dumps(manifest, indent=1) + "\n")
