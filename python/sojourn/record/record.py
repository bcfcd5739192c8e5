"""A record: all measurements of one run, as columns; nothing is derived.

The core returns plain numbers and little-endian bytes; ``Record`` provides them as numpy arrays and polars
frames. Metrics read only the record, so they do not depend on the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sojourn.record.tables import CARRIES, CAUSES, ECN, EVENTS, TYPES, UNFINISHED, UNKNOWN

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

_NUMPY = {"I": "<u4", "Q": "<u8", "d": "<f8", "B": "u1"}
_SERIES_NAMES = {
    "packets": "queue_packets",
    "bytes": "queue_bytes",
    "mean_packets": "queue_mean",
    "mean_square_packets": "queue_mean_square",
    "arrivals": "arrivals",
    "drops": "drops",
    "departed_bytes": "departed_bytes",
}


def numbers(column: bytes, code: str) -> list[Any]:
    """Return a column of the core as a list of Python numbers."""
    return memoryview(column).cast(code).tolist()  # type: ignore[call-overload,no-any-return]


def array(column: bytes, code: str) -> NDArray[np.generic]:
    """Return a column of the core as a numpy array, without copying."""
    import numpy as np

    return np.frombuffer(column, dtype=_NUMPY[code])


def transport(kind: str) -> str:
    """Return the transport of a kind of traffic: ``tcp``, ``udp``, or ``other`` for other protocols.

    Examples
    --------
    >>> transport("web"), transport("udp_cbr"), transport("other")
    ('tcp', 'udp', 'other')
    """
    if kind == "other":
        return "other"
    return "udp" if kind.startswith("udp") else "tcp"


class Record:
    """The measurements of one run.

    Parameters
    ----------
    data : mapping
        As the core returns it (see ``sojourn._core.Batch``).
    plan : mapping
        The plan that was run: it has the names of the traffic.
    """

    def __init__(self, data: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
        self.data = data
        self.plan = plan

    @property
    def window(self) -> tuple[float, float]:
        """Start and end of the measured window in seconds."""
        start, end = self.data["window"]
        return start / 1e9, end / 1e9

    @property
    def seconds(self) -> float:
        """Length of the window."""
        start, end = self.data["window"]
        return float(end - start) / 1e9

    @property
    def fast_path(self) -> str | None:
        """Whether the simulator took its fast path: ``yes``, or ``no`` with the reason; None if unknown.

        Results do not depend on it.
        """
        try:  # `get` would not load a stored record
            path: str | None = self.data["fast_path"]
        except KeyError:
            return None
        return path

    @property
    def queues(self) -> list[dict[str, Any]]:
        """Counters of every queue, the measured one first."""
        return list(self.data["queues"])

    @property
    def exports(self) -> dict[str, dict[str, Any]]:
        """What the algorithm of each queue exported at the end of the run: queue, name, value."""
        try:  # `get` would not load a stored record
            found: dict[str, dict[str, Any]] = self.data["exports"]
        except KeyError:
            return {}
        return found

    @property
    def phases(self) -> list[dict[str, Any]]:
        """Counters of the measured queue in each phase of the scenario."""
        try:  # `get` would not load a stored record
            return list(self.data["phases"])
        except KeyError:
            return []

    @property
    def traffic(self) -> list[dict[str, Any]]:
        """Name, kind, transport and direction of each traffic."""
        return [
            {
                "name": one["name"],
                "kind": next(iter(one["kind"])),
                "transport": transport(next(iter(one["kind"]))),
                "reverse": one["reverse"],
            }
            for one in self.plan["traffic"]
        ]

    def _repr_html_(self) -> str:
        from sojourn.notebook import of_record

        return of_record(self)

    def column(self, table: str, name: str) -> list[Any]:
        """Return one column of ``flows``, ``objects``, ``pages``, ``drops`` or ``cwnd`` as Python numbers."""
        return numbers(self.data[table][name], TYPES[table][name])

    def array(self, table: str, name: str) -> NDArray[Any]:
        """Return one column of such a table as a numpy array, without copying."""
        return array(self.data[table][name], TYPES[table][name])

    def _table(self, table: str) -> dict[str, NDArray[np.generic]]:
        return {name: self.array(table, name) for name in TYPES[table]}

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow (web traffic: per session): traffic, transport, index, counters over the window.

        Values that the world cannot determine are null.
        """
        import polars as pl

        frame = pl.DataFrame(self._table("flows"))
        known = [
            pl.when(pl.col(name) != UNKNOWN).then(name).alias(name)
            for name, t in frame.schema.items()
            if t == pl.UInt64
        ]
        return self._named(frame.with_columns(known)).with_columns(
            goodput_bps=pl.col("goodput_bytes").cast(pl.Float64) * 8 / self.seconds
        )

    def rows(self, table: str) -> dict[str, list[Any]]:
        """Return the columns of a table that only some records have, as numbers; empty if it is missing."""
        return {name: column.tolist() for name, column in self.arrays(table).items()}

    @property
    def deliveries(self) -> pl.DataFrame:
        """One row per source of datagrams: traffic, index, losses, jitter, packets that were too late.

        ``jitter_s`` is the mean difference between the one-way delays of consecutive arrivals (RFC 3550,
        section 6.4.1); ``playout_s`` the mean time from sending to use, null without a time of use; ``rtt_s``
        and ``max_rtt_s`` the mean and the largest round-trip time of the packets that came back (``echoes``).
        """
        import polars as pl

        def mean(total: str, count: str) -> pl.Expr:
            return pl.when(pl.col(count) > 0).then(pl.col(total) / pl.col(count) / 1e9)

        frame = pl.DataFrame(self.arrays("deliveries"))
        known = self.flows.select("traffic", "index", "received_packets").with_row_index("flow")
        return frame.join(known, on="flow", how="left", maintain_order="left").select(
            "traffic",
            "index",
            "received_packets",
            "lost_packets",
            "loss_periods",
            "reordered_packets",
            pl.when(pl.col("received_packets") > 0).then(pl.col("delay_min_ns") / 1e9).alias("min_owd_s"),
            mean("jitter_ns", "jitter_pairs").alias("jitter_s"),
            "late_packets",
            "unusable_periods",
            mean("playout_ns", "playout_packets").alias("playout_s"),
            "echoes",
            mean("round_trip_ns", "echoes").alias("rtt_s"),
            pl.when(pl.col("echoes") > 0).then(pl.col("round_trip_max_ns") / 1e9).alias("max_rtt_s"),
        )

    @property
    def segments(self) -> pl.DataFrame:
        """One row per segment of a video, in the order of the requests: traffic, client (``index``), bitrate.

        ``start_s`` is the request, ``end_s`` the arrival of the last byte, ``play_s`` the begin of its
        playing; null if the run ended first.
        """
        import polars as pl

        frame = pl.DataFrame(self.arrays("segments"))
        times = [
            pl.when(pl.col(f"{name}_ns") != UNFINISHED).then(pl.col(f"{name}_ns") / 1e9).alias(f"{name}_s")
            for name in ("start", "end", "play")
        ]
        return self._named(frame.with_columns(times)).drop("start_ns", "end_ns", "play_ns")

    @property
    def hosts(self) -> pl.DataFrame:
        """Counters of real hosts over the window: host, counter (as in ``nstat``), value.

        An endless connection is listed as a host, too (``ftp.0``), with its counters, and its window and
        round-trip time at the end, under the names of ``ss``.
        """
        import polars as pl

        try:
            every = self.data["hosts"]
        except KeyError:
            every = {}
        rows = [(host, *pair) for host, found in every.items() for pair in found.items()]
        return pl.DataFrame(rows, {"host": pl.String, "counter": pl.String, "value": pl.Int64}, orient="row")

    @property
    def lateness(self) -> pl.DataFrame:
        """Histogram of the lateness of real packets: lower bucket edge in ns, count; else empty."""
        return self._histogram("lateness")

    @property
    def waiting(self) -> pl.DataFrame:
        """Histogram of the waiting times of real packets before they were read; columns as of `lateness`."""
        return self._histogram("waiting")

    def _histogram(self, name: str) -> pl.DataFrame:
        import polars as pl

        try:
            found = self.data[name]
        except KeyError:
            found = None
        columns = found or {"edges_ns": b"", "counts": b""}
        return pl.DataFrame({"edge": array(columns["edges_ns"], "Q"), "count": array(columns["counts"], "Q")})

    @property
    def delays(self) -> pl.DataFrame:
        """Histogram of the queueing delays at the measured queue: delay_s (lower bucket edge), count."""
        import polars as pl

        edges, counts = (array(self.queues[0][name], "Q") for name in ("delay_edges_ns", "delay_counts"))
        return pl.DataFrame({"delay_s": edges, "count": counts}).with_columns(pl.col("delay_s") / 1e9)

    @property
    def objects(self) -> pl.DataFrame:
        """One row per finite transfer: start, end (null if the run ended first), bytes."""
        return self._timed("objects", "completion_time_s")

    @property
    def pages(self) -> pl.DataFrame:
        """One row per page of web traffic: start, end (null if the run ended first), objects, bytes."""
        return self._timed("pages", "response_time_s")

    def _timed(self, table: str, name: str) -> pl.DataFrame:
        """Return a table with start and end times, and the duration as `name`."""
        import polars as pl

        frame = pl.DataFrame(self._table(table))
        done = pl.col("end_ns") != UNFINISHED
        took = pl.when(done).then((pl.col("end_ns") - pl.col("start_ns")) / 1e9).alias(name)
        frame = frame.with_columns(
            took,
            start_s=pl.col("start_ns") / 1e9,
            end_s=pl.when(done).then(pl.col("end_ns") / 1e9),
        )
        return self._named(frame).drop("start_ns", "end_ns")

    def _named(self, frame: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        known = pl.DataFrame(
            {
                "traffic": pl.Series(range(len(self.traffic)), dtype=pl.UInt32),
                "name": [one["name"] for one in self.traffic],
                "transport": [one["transport"] for one in self.traffic],
            }
        )
        joined = frame.join(known, on="traffic", how="left", maintain_order="left").drop("traffic")
        return joined.rename({"name": "traffic"}).select(
            "traffic", "transport", "index", pl.exclude("traffic", "transport", "index")
        )

    def samples(self, name: str) -> NDArray[np.generic]:
        """Return a column of the measured queue's samples, named as in the core; empty without a series."""
        series = self.data["series"]
        column = series["queues"][0][name] if series["interval"] and series["queues"] else b""
        return array(column, TYPES["series"][name])

    def parts(self) -> tuple[NDArray[np.generic], float]:
        """Return the mean of the measured queue in each of equal parts of the run, and their length (s).

        Recorded without samples, too; empty in records of versions that did not have it.
        """
        try:  # of a stored record, without its other counters
            packets, nanoseconds = self.data["parts"]
        except KeyError:
            queue = self.data["queues"][0]
            packets, nanoseconds = queue.get("part_packets", b""), queue.get("part_ns", 0)
        return array(packets, "d"), nanoseconds / 1e9

    def series(self, queue: str | None = None) -> pl.DataFrame:
        """Return the samples of `queue` (the measured one if None), probes included.

        Empty if the scenario records no series (``trace.interval = "off"``).
        """
        import polars as pl

        names = [one["name"] for one in self.queues]
        which = 0 if queue is None else names.index(queue)
        interval = self.data["series"]["interval"]
        tables = self.data["series"]["queues"]
        if not interval or which >= len(tables):
            kinds = {"I": pl.UInt32, "Q": pl.UInt64, "d": pl.Float64}
            empty = {_SERIES_NAMES[name]: kinds[code] for name, code in TYPES["series"].items()}
            return pl.DataFrame(schema={"time_s": pl.Float64, **empty})
        table = tables[which]
        columns = {_SERIES_NAMES[name]: array(table[name], code) for name, code in TYPES["series"].items()}
        probes = {name: array(values, "d") for name, values in table["probes"].items()}
        count = len(columns["queue_packets"])
        time = pl.Series("time_s", range(1, count + 1), dtype=pl.Int64) * interval / 1e9
        return pl.DataFrame([time]).with_columns(
            **{k: pl.Series(v) for k, v in {**columns, **probes}.items()}
        )

    @property
    def drops(self) -> pl.DataFrame:
        """Every drop at the measured queue (``trace.drops = true``)."""
        import polars as pl

        causes = dict(enumerate(CAUSES))
        return pl.DataFrame(self._table("drops")).select(
            pl.col("time_ns").truediv(1e9).alias("time_s"),
            pl.exclude("time_ns", "cause"),
            pl.col("cause").replace_strict(causes, return_dtype=pl.String),
        )

    @property
    def cwnd(self) -> pl.DataFrame:
        """Every change of a congestion window (``trace.cwnd = true``)."""
        import polars as pl

        return pl.DataFrame(self._table("cwnd")).select(
            pl.col("time_ns").truediv(1e9).alias("time_s"), pl.exclude("time_ns")
        )

    @property
    def packets(self) -> pl.DataFrame:
        """Every packet event at the measured queue (``trace.packets = true``), in the order of time.

        ``event`` is enqueue, dequeue, drop or mark; ``reason`` that of a drop or mark; ``arrival`` is equal
        in all rows of a packet; ``delay_s`` is the time since it was enqueued, null if it was not.
        """
        import polars as pl

        def text(name: str, words: tuple[str, ...]) -> pl.Expr:
            codes = dict(enumerate(words))
            return pl.col(name).replace_strict(codes, default=None, return_dtype=pl.String)

        frame = pl.DataFrame(self.arrays("packets"))
        entered = pl.col("time_ns").filter(pl.col("event") == 0).first().over("arrival")
        waited = (pl.col("time_ns") - entered).truediv(1e9).alias("delay_s")
        return frame.select(
            pl.col("time_ns").truediv(1e9).alias("time_s"),
            text("event", EVENTS),
            text("reason", CAUSES),
            "arrival",
            "flow",
            "connection",
            "sequence",
            text("kind", CARRIES),
            "bytes",
            text("ecn", ECN),
            pl.col("flag") == 1,
            "class",
            "queue_packets",
            pl.when(pl.col("event") > 0).then(waited).alias("delay_s"),
        )

    @property
    def flow_series(self) -> pl.DataFrame:
        """Samples of every active flow (``trace.flows = "100ms"``).

        Columns: time_s, traffic, index, flow (row of `flows`), connection, goodput_bps (delivered in order)
        and throughput_bps (through the measured queue) since the previous sample, cwnd in packets and rtt_s
        (smoothed), which datagrams do not have.
        """
        import polars as pl

        frame = pl.DataFrame(self.arrays("flow_series"))
        seconds = self.plan["trace"].get("flows", 0) / 1e9
        rate = 8 / seconds if seconds else 0.0
        known = self.flows.select("traffic", "index").with_row_index("flow")
        return frame.join(known, on="flow", how="left", maintain_order="left").select(
            pl.col("time_ns").truediv(1e9).alias("time_s"),
            "traffic",
            "index",
            "flow",
            "connection",
            (pl.col("goodput_bytes") * rate).alias("goodput_bps"),
            (pl.col("carried_bytes") * rate).alias("throughput_bps"),
            pl.col("cwnd").fill_nan(None),
            pl.col("srtt_ns").fill_nan(None).truediv(1e9).alias("rtt_s"),
        )

    def arrays(self, table: str) -> dict[str, NDArray[Any]]:
        """Return the columns of a table that only some records have; empty columns if it is missing."""
        try:  # `get` would not load a stored record
            columns = self.data[table]
        except KeyError:
            columns = dict.fromkeys(TYPES[table], b"")
        return {name: array(columns[name], code) for name, code in TYPES[table].items()}
