"""Maps runs to the Parquet files of a directory (one row per run); each file is read and verified once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import files
from sojourn.record.columns import RECORD_COLUMNS
from sojourn.runner.sealed import Damaged, table

if TYPE_CHECKING:
    import polars as pl

#: Text columns that every row has; the others are its seed, metrics, and the columns of the record.
FACTS = ("run_id", "aqm", "world", "core_version", "metrics_version", "reduced", "plan", "metrics")


class RunIndex:
    """An index of the runs in a directory, without their records.

    Parameters
    ----------
    folder : path
        The directory.
    damaged : callable
        Called with the path of a file that does not verify, and the reason; its runs are missing.
    """

    def __init__(self, folder: Path, damaged: Callable[[Path, str], None]) -> None:
        self.folder = folder
        #: Files without a hash.
        self.unsealed: set[Path] = set()
        self._damaged = damaged
        self._frames: dict[Path, pl.DataFrame] = {}
        self._where: dict[str, tuple[Path, int]] = {}
        self._seen: set[Path] = set()
        #: The names in the directory at the last refresh.
        self._names: set[str] = set()
        self.refresh()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._where

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._where))

    def refresh(self) -> None:
        """Read the files that were added to the directory."""
        names = set(files.names(self.folder))
        for name in sorted(names - self._names):
            path = self.folder / name
            if path.suffix == ".parquet" and not name.startswith(".") and path not in self._seen:
                self._read(path)
        self._names = names

    def add(self, path: Path, frame: pl.DataFrame) -> None:
        """Add a file and its rows; a row with time series is preferred to one without."""
        self._seen.add(path)
        self._frames[path] = frame
        traced = frame["traces"].is_not_null() if "traces" in frame.columns else [False] * len(frame)
        for i, (run_id, has_traces) in enumerate(zip(frame["run_id"], traced, strict=True)):
            if has_traces or run_id not in self._where or self._where[run_id][0] == path:
                self._where[run_id] = path, i

    def remove(self, path: Path) -> None:
        """Forget the runs of a file."""
        self._frames.pop(path, None)
        self._where.clear()
        for other, frame in self._frames.items():
            self.add(other, frame)

    @property
    def files(self) -> set[Path]:
        """The files that were read."""
        return set(self._frames)

    def conflicts(self) -> dict[str, tuple[Path, Path]]:
        """Return the runs of which two files hold different rows, with the files."""
        first: dict[str, tuple[str, Path]] = {}
        found = {}
        for path, frame in self._frames.items():
            if "hash" in frame.columns:
                for run_id, known in zip(frame["run_id"], frame["hash"], strict=True):
                    other, where = first.setdefault(run_id, (known, path))
                    if other != known:
                        found[run_id] = where, path
        return found

    def path(self, run_id: str) -> Path | None:
        """Return the file of a run."""
        found = self._where.get(run_id)
        return None if found is None else found[0]

    def facts(self, run_id: str) -> dict[str, Any] | None:
        """Return the row of a run without its record, or None if it is missing or damaged."""
        if run_id not in self._where:
            # Another process may have written it in the meantime.
            path = self.folder / f"{run_id}.parquet"
            if path in self._seen or not files.exists(path):
                return None
            self._read(path)
        if run_id not in self._where:
            return None
        path, i = self._where[run_id]
        return self._frames[path].row(i, named=True)

    def _read(self, path: Path) -> None:
        self._seen.add(path)
        content = files.read(path)
        if content is None:
            return
        try:
            frame, is_sealed = table(content, wanted=lambda name: name not in RECORD_COLUMNS)
            missing = [name for name in (*FACTS, "seed", *RECORD_COLUMNS[:2]) if name not in frame.columns]
            if not is_sealed and missing:
                raise Damaged(f"it has no column {missing[0]}")
        except Damaged as error:
            self._damaged(path, str(error))
            return
        if not is_sealed:
            self.unsealed.add(path)
        self.add(path, frame)
