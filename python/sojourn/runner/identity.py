"""The identity of a result: a hash of each row, and the root of the Merkle tree over them.

`row_hash` covers the content of a row: inputs, metrics and counters, in a canonical encoding that
does not depend on Parquet. The leaves of the tree are the rows of the result in the order of their run ids,
so the root does not depend on when, where or in which files they were made. ``sojourn:`` and 40 hexadecimal
digits of the root are the id by which a result can be cited.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import files
from sojourn.metrics import Metrics
from sojourn.record.columns import RECORD_COLUMNS
from sojourn.runner.sealed import Damaged, seal, table

#: The file with the leaves: run id and hash of each row of a finished result.
ROWS = "rows.parquet"
PREFIX, DIGITS = "sojourn:", 40
#: Columns of a row that are hashed besides metrics and counters, independent of whether traces are stored.
STATED = ("run_id", "aqm", "seed", "world", "core_version", "metrics_version", "reduced", "plan")


def row_hash(facts: Mapping[str, Any], metrics: Metrics, data: Mapping[str, Any]) -> str:
    """Return the hash of a row, in hexadecimal.

    Parameters
    ----------
    facts : mapping
        The columns `STATED`.
    metrics : mapping of str to float or None
        The metrics by name.
    data : mapping
        The record in the core's form; other keys than `RECORD_COLUMNS` are left out.
    """
    counters = {name: data[name] for name in RECORD_COLUMNS if data.get(name) is not None}
    for name in ("hosts", "exports"):
        if not counters.get(name):
            counters.pop(name, None)
    known = hashlib.sha256()
    values = {name: None if value is None else float(value) for name, value in metrics.items()}
    _feed(known, [{name: facts[name] for name in STATED}, values, counters])
    return known.hexdigest()


def _feed(known: Any, value: Any) -> None:
    """Add a value with its type and length, so that different values have different encodings."""
    if value is None:
        known.update(b"n")
    elif isinstance(value, float):
        known.update(b"d" + struct.pack("<d", value))
    elif isinstance(value, int):
        _add(known, b"i", str(value).encode())
    elif isinstance(value, str):
        _add(known, b"s", value.encode())
    elif isinstance(value, bytes):
        _add(known, b"b", value)
    elif isinstance(value, Mapping):
        known.update(b"m" + struct.pack("<Q", len(value)))
        for key in sorted(value):
            _feed(known, key)
            _feed(known, value[key])
    else:
        known.update(b"l" + struct.pack("<Q", len(value)))
        for one in value:
            _feed(known, one)


def _add(known: Any, kind: bytes, content: bytes) -> None:
    known.update(kind + struct.pack("<Q", len(content)))
    known.update(content)


def root(leaves: Mapping[str, str]) -> str:
    """Return the root of the Merkle tree (RFC 9162, section 2.1.1) over run ids and their hashes.

    Examples
    --------
    >>> root({"a": "1", "b": "2"}) == root({"b": "2", "a": "1"})
    True
    >>> root({"a": "1"}) == root({"a": "2"})
    False
    """
    level = [
        hashlib.sha256(b"\0" + f"{run_id} {found}".encode()).digest()
        for run_id, found in sorted(leaves.items())
    ]
    if not level:
        return hashlib.sha256().hexdigest()
    while len(level) > 1:
        pairs = [
            hashlib.sha256(b"\1" + level[i] + level[i + 1]).digest() for i in range(0, len(level) - 1, 2)
        ]
        level = pairs + level[len(pairs) * 2 :]
    return level[0].hex()


def identifier(leaves: Mapping[str, str]) -> str:
    """Return the id of a result."""
    return PREFIX + root(leaves)[:DIGITS]


def keep_rows(directory: Path, leaves: Mapping[str, str]) -> str:
    """Write the leaves of a finished result into its directory; return its id."""
    import polars as pl

    columns = {"run_id": sorted(leaves), "hash": [leaves[run_id] for run_id in sorted(leaves)]}
    schema = {"run_id": pl.String, "hash": pl.String}
    files.write(directory / ROWS, seal(pl.DataFrame(columns, schema), ROWS))
    return identifier(leaves)


def read_rows(directory: Path) -> dict[str, str] | None:
    """Return the leaves of a finished result; None if there are none.

    Raises
    ------
    Damaged
        If their file does not verify.
    """
    content = files.read(directory / ROWS)
    if content is None:
        return None
    frame, _ = table(content, ROWS)
    try:
        return dict(zip(frame["run_id"].to_list(), frame["hash"].to_list(), strict=True))
    except LookupError as error:
        raise Damaged(str(error)) from None
