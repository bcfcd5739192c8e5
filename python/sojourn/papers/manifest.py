"""How a reproduction was made: versions, command, host, seeds, time; ``manifest.json`` beside the results."""

from __future__ import annotations

import json
import platform
import time
from typing import TYPE_CHECKING, Any

from sojourn import _core

if TYPE_CHECKING:
    from sojourn.papers.reproduction import Reproduction


def facts(result: Reproduction) -> dict[str, Any]:
    """Return what the manifest holds."""
    seeds = sorted({int(str(row["seed"])) for row in result.campaign.rows})
    return {
        "sojourn": _core.VERSION,
        "core": _core.CORE_VERSION,
        "paper": result.paper.id,
        "experiment": result.selection.experiment,
        "world": result.selection.world,
        "quick": result.selection.quick,
        "command": result.command,
        "status": "complete",
        "seeds": [seeds[0], seeds[-1]] if seeds else [],
        "runs": len(result.campaign.runs),
        "fresh_runs": result.campaign.fresh,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node(),
        "finished": time.time(),
        "wall_s": round(result.seconds, 3),
    }


def manifest(result: Reproduction) -> str:
    """Return the manifest as JSON."""
    return json.dumps(facts(result), indent=1) + "\n"
