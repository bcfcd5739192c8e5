"""Provenance of a reproduction: versions, command, host, seeds, time; ``manifest.json`` beside the results.

It is written at the start (status ``running``, with the command that continues the work) and at the end
(``complete``).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.papers.campaign import Campaign
from sojourn.papers.paper import Paper
from sojourn.papers.result import Reproduction
from sojourn.papers.selection import Selection, command
from sojourn.runner import layout
from sojourn.runner.manifest import machine, write_manifest

NAME = "manifest.json"


def facts(paper: Paper, selection: Selection, campaign: Campaign) -> dict[str, Any]:
    """Return the content of the manifest for the current state."""
    seeds = sorted({int(str(row["seed"])) for row in campaign.rows})
    return {
        "sojourn": _core.VERSION,
        "core": _core.CORE_VERSION,
        "paper": paper.id,
        "experiment": selection.experiment,
        "world": selection.world,
        "quick": selection.quick,
        "command": command(paper, selection),
        "seeds": [seeds[0], seeds[-1]] if seeds else [],
        "runs": len(campaign.runs),
        "fresh_runs": campaign.fresh,
        **machine(),
    }


def begin(directory: Path, paper: Paper, selection: Selection, campaign: Campaign) -> None:
    """Write the manifest at the start."""
    write_manifest(directory, {**facts(paper, selection, campaign), "status": "running"})
    layout.write(directory, "reproduce")


def finish(result: Reproduction) -> None:
    """Write the manifest at the end."""
    known = facts(result.paper, result.selection, result.campaign)
    known["id"] = result.id
    times = {
        "finished": time.time(),
        "wall_s": round(result.seconds, 3),
        "cpu_s": round(result.cpu_seconds, 3),
    }
    write_manifest(result.directory, {**known, "status": "complete", **times})
