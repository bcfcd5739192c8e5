"""The folder of a comparison of two worlds: a results folder for each of them, and the numbers of both.

``simulated`` and the other world's name are folders of the kind `run`; ``simulated-1``, ... have simulated
runs of copies of the scenario (`sojourn.study.compare_worlds.packets.simulate`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.errors import InputError, refuse_damaged
from sojourn.results import Results
from sojourn.runner import layout
from sojourn.runner.manifest import command_line, machine, manifest_of, write_manifest
from sojourn.runner.ownership import KIND_COMPARED, PARTS, entering
from sojourn.spec.scenario import Scenario
from sojourn.worlds import DEFAULT

#: The file with the numbers.
WORLDS = "worlds.json"


@dataclass(frozen=True)
class Compared:
    """Two worlds, compared.

    Attributes
    ----------
    directory : Path
        The folder.
    world : str
        The other world.
    simulated : sequence of Results
        Simulated packets: of the scenario, and of copies of it.
    other : Results
        Results of the other world.
    command : str
        The command that compared them.
    data : mapping
        The numbers of `WORLDS`.
    """

    directory: Path
    world: str
    simulated: Sequence[Results]
    other: Results
    command: str
    data: Mapping[str, Any]


def copy_of(directory: Path, number: int = 0) -> Path:
    """Return the folder of the simulated runs of a copy of the scenario; 0 is the scenario itself."""
    return directory / (f"{DEFAULT}-{number}" if number else DEFAULT)


def begin(directory: Path, scenario: Scenario, world: str, command: Sequence[str]) -> None:
    """Enter the folder, and describe it; the runs are not yet in it.

    Raises
    ------
    InputError
        If it belongs to another study.
    """
    text = scenario.to_toml()
    with entering(directory, KIND_COMPARED, scenario.name, text, world):
        facts = {
            "name": scenario.name,
            "world": world,
            PARTS: [],
            "version": _core.VERSION,
            "core_version": _core.CORE_VERSION,
            "command": command_line(command),
            "status": "running",
            **machine(),
        }
        write_manifest(directory, facts)
        files.write(directory / "scenario.toml", text)
        layout.write(directory, KIND_COMPARED)


def finish(
    directory: Path, simulated: Sequence[Results], other: Results, data: Mapping[str, Any]
) -> Compared:
    """Write the numbers, and complete the manifest; the runs are in the folder."""
    manifest = manifest_of(directory)
    parts = [one.directory for one in (*simulated, other) if one.directory is not None]
    files.write(directory / WORLDS, json.dumps(data, indent=2) + "\n")
    manifest |= {PARTS: [part.name for part in parts], "aqms": other.aqms, "status": "complete"}
    write_manifest(directory, manifest)
    return Compared(directory, manifest["world"], simulated, other, manifest["command"], data)


@refuse_damaged
def reopen(directory: Path) -> Compared:
    """Read the folder of a finished comparison.

    Raises
    ------
    InputError
        If it is not complete, or damaged.
    """
    manifest = manifest_of(directory)
    if manifest["status"] != "complete":
        raise InputError(str(directory), "is not complete", f"finish it with: {manifest['command']}")
    data = json.loads(files.read_text(directory / WORLDS) or "{}")
    *simulated, other = [Results.open(directory / name) for name in manifest[PARTS]]
    return Compared(directory, manifest["world"], simulated, other, manifest["command"], data)
