"""Completion times by class of size: short transfers feel the queue, long ones the losses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sojourn._core import canonical_unit
from sojourn.errors import InputError
from sojourn.spec.units import number

if TYPE_CHECKING:
    import polars as pl

#: Ends of the classes: in the first, an initial window of ten packets usually is enough.
EDGES = ("14kB", "100kB", "1MB")
#: Percentiles of a class.
PERCENTILES = (50, 95)


def by_size(transfers: pl.DataFrame, edges: Sequence[str] = EDGES) -> pl.DataFrame:
    """Return number and percentiles of completion times for each run and class of size.

    Parameters
    ----------
    transfers : polars.DataFrame
        Columns aqm, seed, bytes, completion_time_s (null: the run ended first).
    edges : sequence of str
        Ends of the classes, ascending; a transfer of exactly this size is in the class below.

    Returns
    -------
    polars.DataFrame
        Columns aqm, seed, size (the class), count, unfinished, p50_s and p95_s of all transfers of the class;
        a percentile that falls on an unfinished transfer is null.
    """
    import polars as pl

    ends = [number("bytes", edge) for edge in edges]
    if not ends or ends != sorted(set(ends)):
        raise InputError("edges", "are not ascending", 'sizes like "14kB", "1MB"')
    texts = [canonical_unit("bytes", edge) for edge in edges]
    names = [f"up to {texts[0]}", *(f"{a} to {b}" for a, b in pairwise(texts))]
    names.append(f"above {texts[-1]}")
    place = pl.sum_horizontal([(pl.col("bytes") > end).cast(pl.UInt32) for end in ends])
    time = pl.col("completion_time_s").cast(pl.Float64)

    def percentile(percent: int) -> pl.Expr:
        found = time.fill_null(float("inf")).quantile(percent / 100, "higher")
        return pl.when(found.is_finite()).then(found).alias(f"p{percent}_s")

    return (
        transfers.with_columns(_place=place)
        .group_by("aqm", "seed", "_place", maintain_order=True)
        .agg(pl.len().alias("count"), time.null_count().alias("unfinished"), *map(percentile, PERCENTILES))
        .sort("_place", maintain_order=True)
        .with_columns(size=pl.col("_place").replace_strict(dict(enumerate(names)), return_dtype=pl.String))
        .select("aqm", "seed", "size", "count", "unfinished", *(f"p{one}_s" for one in PERCENTILES))
    )
