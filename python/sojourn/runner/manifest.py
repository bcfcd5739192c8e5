"""The manifest of a results directory: runs, versions, command and status."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.runner.code import code_of
from sojourn.runner.point import Point
from sojourn.runner.store import Store
from sojourn.spec.scenario import Scenario


def command_line(command: Sequence[str]) -> str:
    """Return `command` as text for a shell, to repeat or resume a run."""
    first = Path(command[0]).name if command else "sojourn"
    return shlex.join([first, *command[1:]])


def manifest(
    scenario: Scenario, wanted: Sequence[Point], command: Sequence[str], world: str
) -> dict[str, Any]:
    """Return the manifest of a study that starts."""
    return {
        "name": scenario.name,
        "version": _core.VERSION,
        "core_version": _core.CORE_VERSION,
        "aqms": list(dict.fromkeys(point.spec for point in wanted)),
        "code": code_of(wanted),
        "seeds": sorted({point.seed for point in wanted}),
        "world": world,
        "command": command_line(command),
        "status": "running",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node(),
        "warnings": [],
        "runs": [{"run_id": p.run_id, "aqm": p.spec, "seed": p.seed} for p in wanted],
    }


def write_manifest(store: Store, manifest: dict[str, Any]) -> None:
    """Write ``manifest.json`` atomically."""
    write_text(store, "manifest.json", json.dumps(manifest, indent=1) + "\n")


def write_text(store: Store, name: str, text: str) -> None:
    """Write a file of a results directory atomically."""
    files.write(store.directory / name, text)
