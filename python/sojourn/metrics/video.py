"""Metrics of adaptive video: what its viewers notice, from the times at which segments are played."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.metrics.registry import MEGABITS, PERCENT, Value, metric
from sojourn.metrics.tables import Table, ratio
from sojourn.record import UNFINISHED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUALITY = "Dobrian et al.: Understanding the impact of video quality on user engagement, SIGCOMM 2011"


#: Playing that has not begun, in ns: later than any time of a run.
NEVER = 2**62


@dataclass(frozen=True)
class Segments:
    """The segments of some clients: those of a client in a row, in the order of the requests. Times in ns."""

    #: Of the client, from 0 on.
    client: NDArray[np.int64]
    start: NDArray[np.int64]
    play: NDArray[np.int64]
    length: NDArray[np.int64]
    bitrate: NDArray[np.int64]

    @property
    def clients(self) -> int:
        """Number of clients that have requested a segment."""
        return int(self.client[-1]) + 1 if len(self.client) else 0

    @property
    def is_played(self) -> NDArray[np.bool_]:
        """Whether its playing began before the end of the run."""
        return self.play < NEVER

    @property
    def follows(self) -> NDArray[np.bool_]:
        """Whether a segment is of the same client as the one before; without the first one."""
        same: NDArray[np.bool_] = self.client[1:] == self.client[:-1]
        return same

    def stalls(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return begin and end of each stall; the end of one that is not over is `NEVER`."""
        begin, until = (self.play + self.length)[:-1], self.play[1:]
        found = self.follows & self.is_played[:-1] & (begin < until)
        return begin[found], until[found]


@metric(
    "startup_delay_s",
    "startup delay",
    "s",
    "video",
    formula=(
        "mean over the clients whose first request is in the window of (begin of playing - first request); "
        "a client that has not begun to play counts with its time until the end"
    ),
    source=QUALITY,
    better="lower",
    views=("traffic", "feel"),
    position=170,
)
def startup_delay(t: Table) -> Value:
    """Return the mean time from the first request of a client to the begin of playing."""
    import numpy as np

    (begin, end), found = t.span, _segments(t)
    is_first = np.concatenate(([True], ~found.follows))[: len(found.client)]
    counts = is_first & (begin <= found.start) & (found.start < end)
    waited = np.minimum(found.play, end) - found.start
    return ratio(int(waited[counts].sum()) / 1e9, int(counts.sum()))


@metric(
    "stalls",
    "stalls",
    "",
    "video",
    formula=(
        "stalls that began in the window, divided by the clients; a stall is a time between two segments in "
        "which none is played, and lasts to the end if the next one is not played"
    ),
    source=QUALITY,
    better="lower",
    views=("traffic",),
    position=172,
)
def stalls(t: Table) -> Value:
    """Return how often playing stalls, per client."""
    (begin, end), found = t.span, _segments(t)
    at, _ = found.stalls()
    return ratio(int(((begin <= at) & (at < end)).sum()), found.clients)


@metric(
    "stall_time_s",
    "time of stalls",
    "s",
    "video",
    formula="time of stalls in the window, divided by the clients",
    source=QUALITY,
    better="lower",
)
def stall_time(t: Table) -> Value:
    """Return how long playing stalls, per client."""
    found = _segments(t)
    return ratio(_inside(t, *found.stalls()).sum() / 1e9, found.clients)


@metric(
    "stall_ratio",
    "stalled time",
    "",
    "video",
    formula="time of stalls / (time of stalls + time of playing), in the window, of all clients",
    source=QUALITY,
    better="lower",
    display=PERCENT,
    views=("traffic", "feel"),
    position=174,
)
def stall_ratio(t: Table) -> Value:
    """Return the share of stalls in the time after the startup (the rebuffering ratio)."""
    found = _segments(t)
    stalled = int(_inside(t, *found.stalls()).sum())
    return ratio(stalled, stalled + int(_played(t, found).sum()))


@metric(
    "bitrate_bps",
    "video bitrate",
    "bit/s",
    "video",
    formula="mean bitrate of what is played in the window, by time of playing, of all clients",
    source=QUALITY,
    better="higher",
    display=MEGABITS,
    views=("traffic", "feel"),
    position=176,
)
def bitrate(t: Table) -> Value:
    """Return the mean bitrate that is played."""
    found = _segments(t)
    played = _played(t, found)
    return ratio(float((found.bitrate * (played / 1e9)).sum()), int(played.sum()) / 1e9)


@metric(
    "bitrate_switches",
    "switches of the bitrate",
    "",
    "video",
    formula=(
        "segments whose playing begins in the window and whose bitrate is not that of the segment before, "
        "divided by the clients"
    ),
    source=QUALITY,
    better="lower",
    views=("traffic",),
    position=178,
)
def switches(t: Table) -> Value:
    """Return how often the bitrate that is played changes, per client."""
    (begin, end), found = t.span, _segments(t)
    changes = found.follows & (found.bitrate[1:] != found.bitrate[:-1])
    return ratio(int((changes & (begin <= found.play[1:]) & (found.play[1:] < end)).sum()), found.clients)


def _segments(t: Table) -> Segments:
    """Return the segments of these traffics."""
    import numpy as np

    rows = t.record.arrays("segments")
    plans = [traffic["kind"].get("video", {}) for traffic in t.record.plan["traffic"]]
    kept = np.isin(rows["traffic"], list(t.traffic))
    of: dict[str, NDArray[Any]] = {name: column[kept] for name, column in rows.items()}
    order = np.lexsort((of["index"], of["traffic"]))
    traffic, index, start, play, bitrate = (
        of[name][order] for name in ("traffic", "index", "start_ns", "play_ns", "bitrate_bps")
    )
    is_next = (traffic[1:] != traffic[:-1]) | (index[1:] != index[:-1])
    lengths = np.array([plan.get("segment", 0) for plan in plans], dtype=np.int64)
    return Segments(
        np.concatenate(([0], np.cumsum(is_next)))[: len(index)],
        start.astype(np.int64),
        np.where(play == UNFINISHED, NEVER, play).astype(np.int64),
        lengths[traffic],
        bitrate.astype(np.int64),
    )


def _played(t: Table, found: Segments) -> NDArray[np.int64]:
    """Return how long each segment is played in the window, ns."""
    return _inside(t, found.play, found.play + found.length)


def _inside(t: Table, start: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the parts of some times in the window, ns."""
    import numpy as np

    begin, end = t.span
    inside: NDArray[np.int64] = np.maximum(0, np.minimum(stop, end) - np.maximum(start, begin))
    return inside
