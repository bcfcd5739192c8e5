"""Converts records to columns of a Parquet file and back, without loss.

A run is a row. Its tables (flows, objects, pages) are structs of lists, its queues a list of structs: any
reader of Parquet can unnest them. Samples over time are tables of their own, one row a sample.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn.record import TYPES, array

if TYPE_CHECKING:
    import polars as pl

TABLES = ("flows", "objects", "pages")
#: Tables that a record has only if they have rows.
PARTS = ("segments", "deliveries", "one_way_delays", "round_trips", "loss_periods", "links")
#: Histograms of real packets: how late they left, and how long they waited before they were read.
HISTOGRAMS = ("lateness", "waiting")
#: Only some runs have these: ``exports`` those of algorithms in Python that declare them, the others those in
#: the real world. ``exports`` and ``hosts`` are JSON.
RARE = ("exports", "hosts", *HISTOGRAMS)
RECORD_COLUMNS = ("window", "events", "fast_path", "queues", "phases", *TABLES, *PARTS, *RARE)
BUCKETS = ("edges_ns", "counts")
TRACE_TABLES = ("drops", "cwnd", "packets", "flow_series")


def pack(records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the counters of each record as one row of nested columns."""
    import polars as pl

    columns = {
        "window": pl.Series([list(one["window"]) for one in records], dtype=pl.List(pl.UInt64)),
        "events": pl.Series([one["events"] for one in records], dtype=pl.UInt64),
        "fast_path": pl.Series([one.get("fast_path") for one in records], dtype=pl.String),
        "queues": _queues(records, "queues"),
    }
    if any("phases" in one for one in records):
        columns["phases"] = _queues(records, "phases")
    for name in TABLES:
        fields = {key: _lists([one[name][key] for one in records], code) for key, code in TYPES[name].items()}
        columns[name] = pl.DataFrame(fields).to_struct(name)
    for name in PARTS:
        if any(name in one for one in records):
            fields = {
                key: _lists([one[name][key] if name in one else b"" for one in records], code)
                for key, code in TYPES[name].items()
            }
            columns[name] = pl.DataFrame(fields).to_struct(name)
    if any("exports" in one for one in records):
        texts = [json.dumps(one["exports"]) if "exports" in one else None for one in records]
        columns["exports"] = pl.Series(texts, dtype=pl.String)
    if any("hosts" in one for one in records):
        columns["hosts"] = pl.Series([json.dumps(one.get("hosts", {})) for one in records])
    for name in HISTOGRAMS:
        if any(name in one for one in records):
            every = [one.get(name, dict.fromkeys(BUCKETS, b"")) for one in records]
            columns[name] = pl.DataFrame(
                {key: _lists([one[key] for one in every], "Q") for key in BUCKETS}
            ).to_struct(name)
    return pl.DataFrame(columns)


def unpack(row: pl.DataFrame) -> dict[str, Any]:
    """Return the counters of one row in the core's form."""
    tables = {}
    for name in TABLES:
        columns = row[name].struct.unnest()
        tables[name] = {key: _bytes(columns[key][0]) for key in TYPES[name]}
    for name in PARTS:
        if name in row.columns:
            columns = row[name].struct.unnest()
            found = {key: _bytes(columns[key][0]) for key in TYPES[name]}
            if any(found.values()):
                tables[name] = found
    has_phases = "phases" in row.columns and row["phases"][0] is not None
    has_exports = "exports" in row.columns and row["exports"][0] is not None
    return {
        "window": tuple(row["window"][0].to_list()),
        "events": row["events"][0],
        "fast_path": row["fast_path"][0] if "fast_path" in row.columns else None,
        "queues": unpack_queues(row),
        **({"phases": unpack_queues(row, "phases")} if has_phases else {}),
        **tables,
        **({"exports": json.loads(row["exports"][0])} if has_exports else {}),
        **({"hosts": json.loads(row["hosts"][0])} if "hosts" in row.columns else {}),
        **{name: _histogram(row, name) for name in HISTOGRAMS if name in row.columns},
    }


def unpack_queues(row: pl.DataFrame, name: str = "queues") -> list[dict[str, Any]]:
    """Return the counters of the queues, or of the phases, of one row in the core's form."""
    frame = row[name][0].struct.unnest()
    lists = [key for key in TYPES["queue"] if key in frame.columns]  # earlier versions had fewer
    # Without a query: a study calls this once for each run, and planning a query takes longer than this.
    others = {key: frame[key].to_list() for key in frame.columns if key not in lists}
    return [
        {key: values[i] for key, values in others.items()} | {key: _bytes(frame[key][i]) for key in lists}
        for i in range(frame.height)
    ]


def unpack_parts(rows: pl.DataFrame) -> list[tuple[bytes, int]]:
    """Return for each row the mean of the measured queue in equal parts, and their length in ns; 0: none."""
    queues = rows["queues"].list.first().struct.unnest()
    if "part_packets" not in queues.columns:
        return [(b"", 0)] * rows.height
    packets, lengths = queues["part_packets"], queues["part_ns"]
    values = packets.explode().drop_nulls().to_numpy()
    ends = packets.list.len().cum_sum().to_list()
    if packets.null_count() or lengths.null_count() or len(values) != ends[-1]:
        raise ValueError("a mean of a part is missing")
    found = (values[begin:end].tobytes() for begin, end in itertools.pairwise([0, *ends]))
    return list(zip(found, lengths.to_list(), strict=True))


def _bytes(values: pl.Series) -> bytes:
    return values.to_numpy().tobytes()


def _histogram(row: pl.DataFrame, name: str) -> dict[str, bytes]:
    columns = row[name].struct.unnest()
    return {key: columns[key][0].to_numpy().tobytes() for key in BUCKETS}


def trace_frames(data: Mapping[str, Any]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the tables over time that hold anything: their name (empty for the samples) and rows."""
    import polars as pl

    series = data["series"]
    frames = []
    for queue, table in zip(data["queues"], series["queues"], strict=False):
        columns = _columns(table, "series")
        probes = {f"probe.{name}": pl.Series(array(values, "d")) for name, values in table["probes"].items()}
        time = pl.int_range(1, pl.len() + 1, dtype=pl.UInt64) * series["interval"]
        frame = pl.DataFrame({**columns, **probes})
        frames.append(frame.select(pl.lit(queue["name"]).alias("queue"), time.alias("time_ns"), pl.all()))
    if series["interval"] and frames:
        yield "", pl.concat(frames, how="diagonal")
    for name in TRACE_TABLES:
        if data.get(name) and data[name]["time_ns"]:
            yield name, pl.DataFrame(_columns(data[name], name))


def series_data(frame: pl.DataFrame | None, names: list[str]) -> dict[str, Any]:
    """Return the samples in the core's form."""
    import polars as pl

    if frame is None or frame.is_empty():
        return {"interval": 0, "queues": []}
    queues = []
    if not set(frame["queue"]) <= set(names):
        raise ValueError("it has samples of a queue that is not in the record")
    for name in names:
        part = frame.filter(pl.col("queue") == name)
        probes = [c for c in part.columns if c.startswith("probe.") and part[c].null_count() < len(part)]
        queues.append(
            {
                **{key: part[key].to_numpy().tobytes() for key in TYPES["series"]},
                "probes": {c.removeprefix("probe."): part[c].to_numpy().tobytes() for c in probes},
            }
        )
    return {"interval": frame["time_ns"][0], "queues": queues}


def _queues(records: Sequence[Mapping[str, Any]], which: str) -> pl.Series:
    import polars as pl

    every = [(i, queue) for i, record in enumerate(records) for queue in record.get(which, ())]
    queues = [queue for _, queue in every]
    kinds: dict[type, Any] = {str: pl.String, int: pl.UInt64, float: pl.Float64, list: pl.List(pl.UInt64)}
    columns = {
        name: pl.Series([queue[name] for queue in queues], dtype=kinds[type(value)])
        for name, value in queues[0].items()
        if name not in TYPES["queue"]
    }
    for name, code in TYPES["queue"].items():
        columns[name] = _lists([queue[name] for queue in queues], code)
    of = pl.Series([i for i, _ in every])
    found = (
        pl.DataFrame({"of": of, which: pl.DataFrame(columns).to_struct()})
        .group_by("of", maintain_order=True)
        .agg(which)
    )
    runs = pl.DataFrame({"of": pl.Series(range(len(records)), dtype=of.dtype)})
    return runs.join(found, on="of", how="left", maintain_order="left")[which]


def _lists(pieces: Sequence[bytes], code: str) -> pl.Series:
    """Return a column of lists, one per piece."""
    import numpy as np
    import polars as pl

    flat = pl.Series("list", array(b"".join(pieces), code))
    kind = pl.List(flat.dtype)
    if flat.is_empty():
        return pl.Series("list", [[]], dtype=kind).new_from_index(0, len(pieces))
    if len({len(piece) for piece in pieces}) == 1:  # without a query, as most columns of a sweep can be
        return flat.reshape((len(pieces), -1)).cast(kind)
    lengths = np.array([len(piece) for piece in pieces]) * len(flat) // sum(map(len, pieces))
    owners = np.repeat(np.arange(len(pieces)), lengths)
    full = pl.DataFrame({"of": owners, "list": flat}).group_by("of", maintain_order=True).agg("list")
    # A piece without a value is an empty list, not an unknown one.
    every = pl.DataFrame({"of": np.arange(len(pieces))})
    return every.join(full, on="of", how="left", maintain_order="left")["list"].fill_null([])


def _columns(table: Mapping[str, bytes], kind: str) -> dict[str, pl.Series]:
    import polars as pl

    return {name: pl.Series(array(table[name], code)) for name, code in TYPES[kind].items()}
