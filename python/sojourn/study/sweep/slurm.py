"""The SLURM job script of a sweep: a job array whose shards share a directory and need no service."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from sojourn import files
from sojourn.errors import InputError
from sojourn.runner.code import code_of, require_permission
from sojourn.study.sweep.directory import PLAN, prepare
from sojourn.study.sweep.forecast import estimate
from sojourn.study.sweep.model import Sweep

SCRIPT = "job.sh"
#: Factor from the estimated time to the job's time limit, and its minimum in minutes.
MARGIN = 3.0
LEAST = 10

TEXT = """\
#!/bin/bash
# {runs} runs of {name} in {count} shards: about {minutes:.3g} minutes each where this was written.
# Each shard skips finished runs, so lost shards can be submitted again. The last one writes the tables.
#SBATCH --job-name={job}
#SBATCH --array=1-{count}
#SBATCH --cpus-per-task={cpus}
#SBATCH --time={limit}
#SBATCH --output={log}
exec {sojourn} sweep {plan} --out {out} {permission}\\
  --shard "$SLURM_ARRAY_TASK_ID/{count}" --workers "${{SLURM_CPUS_PER_TASK:-{cpus}}}"
"""


def write_script(
    plan: Sweep, directory: Path, count: int, workers: int | None = None, command: Sequence[str] = ()
) -> Path:
    """Create the directory of a sweep with its job script; return the script's path.

    Parameters
    ----------
    plan : Sweep
        The plan.
    directory : path
        Directory of the sweep; every node must have access to it under this name.
    count : int
        Number of shards.
    workers : int, optional
        Cores per shard; one if None.
    command : sequence of str
        The command line, for the manifest.
    """
    if not 1 <= count <= len(plan.points):
        raise InputError("sbatch", f"= {count} is out of range", f"1 to {len(plan.points)}, one run each")
    cpus = workers or 1
    require_permission(plan.points, plan.where)
    folder = directory.resolve()
    log = _quoted(Path(os.fspath(folder).replace("%", "%%")) / "slurm-%A_%a.log")
    found = estimate(plan, directory, cpus)
    prepare(plan, directory, command)
    minutes = (found.seconds or 0.0) / 60 / count
    text = TEXT.format(
        runs=found.runs,
        name=plan.scenario.name,
        count=count,
        minutes=minutes,
        job="".join(c if c.isalnum() else "-" for c in plan.scenario.name),
        cpus=cpus,
        limit=max(LEAST, math.ceil(MARGIN * minutes)),
        log=log,
        sojourn=_program(),
        plan=shlex.quote(os.fspath(folder / PLAN)),
        out=shlex.quote(os.fspath(folder)),
        permission="--allow-code " if code_of(plan.points) else "",
    )
    path = directory / SCRIPT
    files.write(path, text, executable=True)
    return path


def _quoted(path: Path) -> str:
    """Return a path for a line ``#SBATCH``; which sbatch reads itself.

    Raises
    ------
    InputError
        If the path has a character that cannot be quoted there.
    """
    text = os.fspath(path)
    if not text.isprintable() or '"' in text or "\\" in text:
        raise InputError(
            f"{text!r}:", "has a character that sbatch cannot take", "a folder without it, with --out"
        )
    return f'"{text}"'


def _program() -> str:
    """Return the command that starts this installation of Sojourn."""
    return shlex.join([sys.executable, "-m", "sojourn"])
