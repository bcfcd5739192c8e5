"""``sojourn rerun``: repeats every run of a folder from what is stored in it, and compares bit for bit.

Scenarios come from the plans in the rows, algorithms in Python from the stored code. Nothing outside the
folder is read and nothing is written. Unlike `verify`, which repeats a sample of what it can, a rerun is
complete or has failed: a run that cannot be repeated is one that is not confirmed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sojourn import _core
from sojourn.errors import InputError
from sojourn.runner.archive import Archive
from sojourn.runner.code import stored_facts
from sojourn.study.verify import Progress, Verification, verify, with_runs
from sojourn.worlds import Reduce


class Rerun(NamedTuple):
    """The result of `rerun`.

    Attributes
    ----------
    found : Verification
        Runs, differences, and runs that could not be repeated by reason.
    runs : int
        All runs of the folder.
    """

    found: Verification
    runs: int

    @property
    def is_equal(self) -> bool:
        """Whether all runs were repeated and are equal in every bit."""
        return self.found.repeated == self.runs and not self.found.differences

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``sojourn rerun --json``."""
        return {"equal": self.is_equal, "runs": self.runs, **self.found.to_json()}


def rerun(
    directory: str | os.PathLike[str],
    workers: int | None = None,
    measure: Reduce | None = None,
    progress: Progress | None = None,
) -> Rerun:
    """Repeat every run of a results directory, and compare bit for bit.

    Parameters
    ----------
    directory : path
        A directory of `run`, `compare`, `compare_worlds`, `sweep`, `tune`, `reproduce` or `evaluate`.
    workers : int, optional
        Threads; all cores if None.
    measure : callable, optional
        Computes the further metrics of a paper, the same as for the original runs.
    progress : callable, optional
        Called with (share, done, total).

    Raises
    ------
    InputError
        If it is not a results directory, or if all its runs are of another version of the core.
    """
    folder = Path(directory)
    archives = map(Archive, with_runs(folder))
    runs = filter(None, (archive.read(run) for archive in archives for run in archive.run_ids))
    cores = {one.core_version for one in runs}
    if cores and _core.CORE_VERSION not in cores:
        raise InputError(
            str(folder),
            f"has runs of core {', '.join(sorted(cores))}{_release(stored_facts(folder))}; "
            f"this is core {_core.CORE_VERSION}, whose results may differ",
            "the version of Sojourn that made them",
        )
    found = verify(folder, "100%", workers=workers, measure=measure, progress=progress)
    return Rerun(found, found.eligible + sum(found.skipped.values()))


def _release(facts: Mapping[str, Any]) -> str:
    """Return the version of Sojourn in a manifest, as the rest of a sentence."""
    version = facts.get("version")
    return f" (Sojourn {version})" if isinstance(version, str) else ""
