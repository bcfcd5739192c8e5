"""The counters of a running shell, stored in its folder: after ``kill -9`` they are what is left of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn import files
from sojourn.errors import SojournError
from sojourn.warning_codes import coded
from sojourn.worlds.real.gateway import Live

FILE = "progress.csv"
COLUMNS = (
    "seconds",
    "queue",
    "arrivals",
    "drops",
    "marks",
    "departures",
    "departed_bytes",
    "mean_delay_s",
    "waiting",
)
#: The longest time between two entries, s; the first are after 1, 2, 4, ... s.
INTERVAL = 60.0


class Progress:
    """The file of a running shell, one row per queue and time; `note` prints that it is not writable."""

    def __init__(self, folder: Path, queues: Sequence[str], note: Callable[[str], None]) -> None:
        self._file = folder / FILE
        self._queues = queues
        self._note = note
        self._due = 1.0
        files.write(self._file, ",".join(COLUMNS) + "\n")

    def update(self, live: Live) -> None:
        """Add the counters since the start, if an entry is due."""
        if live.seconds < self._due:
            return
        self._due = live.seconds + min(live.seconds, INTERVAL)
        rows = []
        for name, one in zip(self._queues, live.queues, strict=True):
            mean = one["delay_sum_ns"] / one["departures"] / 1e9 if one["departures"] else ""
            counts = (one[column] for column in COLUMNS[2:-2])
            rows.append(",".join(map(str, (live.seconds, name, *counts, mean, one["waiting"]))))
        try:
            files.append(self._file, "\n".join(rows))
        except SojournError as error:
            problem = f"{error}; further counters are not stored until the end"
            self._note(f"sojourn: warning: {coded('W27', problem)}")
            self._due = float("inf")


def last_seconds(folder: Path) -> float | None:
    """Return the time of the last entry in a folder, in seconds since the start; None if there is none."""
    lines = (files.read(folder / FILE) or b"").decode(errors="replace").splitlines()
    for line in reversed(lines[1:]):
        try:
            return float(line.partition(",")[0])
        except ValueError:
            continue
    return None
