"""The numbers of ``sojourn compare-worlds`` as a file beside its report, with what they depend on."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.results import Results
from sojourn.runner.manifest import command_line

#: Name of the file.
WORLDS = "worlds.json"


def keep(directory: Path, world: str, runs: Mapping[str, Results], data: Mapping[str, Any]) -> None:
    """Write what the report shows: command, versions, scenario, seeds of the runs by world, numbers."""
    made = {
        "command": command_line(["sojourn", *sys.argv[1:]]),
        "version": _core.VERSION,
        "core_version": _core.CORE_VERSION,
        "world": world,
        "scenario": runs[world].scenario.to_toml(),
        "seeds": {name: one.seeds for name, one in runs.items()},
    }
    files.write(directory / WORLDS, json.dumps({**made, **data}, indent=2) + "\n")
