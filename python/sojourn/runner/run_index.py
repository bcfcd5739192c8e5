"""Maps runs to the Parquet files of a directory (one row per run); each file is read at most once."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import files
from sojourn.record.columns import RECORD_COLUMNS

if TYPE_CHECKING:
    import polars as pl


class RunIndex:
    """An index of the runs in a directory.

    A file that cannot be read is renamed to ``FILE.damaged``; its runs are missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._where: dict[str, Path] = {}
        self._rows: dict[Path, tuple[pl.DataFrame, dict[str, int]]] = {}
        for name in files.names(folder):
            path = folder / name
            if name.startswith(".") or path.suffix != ".parquet":
                continue
            # The file of a single run is named by its id; other files are read.
            alone = re.fullmatch(r"[0-9a-f]{16}", path.stem) is not None
            self.add(path, [path.stem] if alone else self._inside(path))

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._where

    def add(self, path: Path, ids: Sequence[str]) -> None:
        """Add a file and its runs."""
        self._rows.pop(path, None)
        self._where.update(dict.fromkeys(ids, path))

    def find(self, run_id: str) -> Path | None:
        """Return the file of a run."""
        return self._where.get(run_id)

    def read(self, run_id: str) -> dict[str, Any] | None:
        """Return the row of a run without its record, or None if it is missing or damaged."""
        path = self._where.get(run_id)
        if path is None:
            # Another process may have written it in the meantime.
            path = self.folder / f"{run_id}.parquet"
            if not files.exists(path):
                return None
        import polars as pl

        try:
            if path not in self._rows:
                content = files.read(path)
                if content is None:
                    return None
                names = pl.read_parquet_schema(io.BytesIO(content))
                wanted = [name for name in names if name not in RECORD_COLUMNS]
                frame = pl.read_parquet(io.BytesIO(content), columns=wanted)
                self._rows[path] = frame, {one: i for i, one in enumerate(frame["run_id"])}
            frame, places = self._rows[path]
            return frame.row(places[run_id], named=True)
        except (KeyError, ValueError, pl.exceptions.PolarsError):
            self._mark_damaged(path)
            return None

    def _inside(self, path: Path) -> list[str]:
        import polars as pl

        content = files.read(path)
        if content is None:
            return []
        try:
            return pl.read_parquet(io.BytesIO(content), columns=["run_id"])["run_id"].to_list()
        except (ValueError, pl.exceptions.PolarsError):
            self._mark_damaged(path)
            return []

    def _mark_damaged(self, path: Path) -> None:
        self._where = {run_id: one for run_id, one in self._where.items() if one != path}
        self._rows.pop(path, None)
        files.rename(path, path.with_name(f"{path.name}.damaged"))
