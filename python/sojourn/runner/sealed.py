"""Sealed tables: Parquet files that contain a hash of their own content, which every read verifies.

The metadata of the file has two entries: ``sojourn.sealed``, the name of the table, and ``sojourn.sha256``,
the SHA-256 of the file with zeros in place of the hash. A file with neither entry was written by another
program, or by Sojourn 0.1, and is not verified. A changed bit cannot remove both entries.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

NAME, HASH = "sojourn.sealed", "sojourn.sha256"
ZEROS = "0" * 64
#: What precedes the hash in the metadata, in Thrift's compact protocol: key, type and length of the value.
ENTRY = HASH.encode() + b"\x18@"


class Damaged(Exception):  # noqa: N818 - a finding, which the caller handles
    """The content of a file has changed since it was written."""


class Table(NamedTuple):
    """A table that was read; with `is_sealed` its hash was verified."""

    frame: pl.DataFrame
    is_sealed: bool


def seal(frame: pl.DataFrame, name: str = "") -> bytes:
    """Return a table as the content of a sealed Parquet file.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    name : str
        Its name, such as the id of a run: a file under another file's name does not verify.
    """
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=3, metadata={NAME: name, HASH: ZEROS})
    content = buffer.getvalue()
    return _with_hash(content, content.rindex(ZEROS.encode()))


def verify(content: bytes, name: str = "") -> bool:
    """Check the hash of a file; return False if it has none.

    Raises
    ------
    Damaged
        If the content has changed, or was written under another name.
    """
    place = content.rfind(ENTRY) + len(ENTRY)  # the metadata is at the end
    if place < len(ENTRY):
        if NAME.encode() in content or HASH.encode() in content:
            raise Damaged("its hash is damaged")
        return False
    if _with_hash(content, place) != content:
        raise Damaged("its content does not match its hash")
    if NAME.encode() + b"\x18" + bytes([len(name)]) + name.encode() not in content:
        raise Damaged("it belongs to another table")
    return True


def table(content: bytes, name: str = "", wanted: Callable[[str], bool] | None = None) -> Table:
    """Verify and decode a file.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        As given to `seal`.
    wanted : callable, optional
        Whether a column is needed; all if None. All columns of a file without a hash are decoded.

    Raises
    ------
    Damaged
        If the hash does not match, or the content is not Parquet.
    """
    import polars as pl

    is_sealed = verify(content, name)
    try:
        if wanted is None or not is_sealed:
            return Table(pl.read_parquet(io.BytesIO(content)), is_sealed)
        columns = [one for one in pl.read_parquet_schema(io.BytesIO(content)) if wanted(one)]
        return Table(pl.read_parquet(io.BytesIO(content), columns=columns), is_sealed)
    except (ValueError, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise Damaged(f"it is not Parquet: {error}") from None


def _with_hash(content: bytes, place: int) -> bytes:
    before, after = content[:place], content[place + len(ZEROS) :]
    return before + hashlib.sha256(before + ZEROS.encode() + after).hexdigest().encode() + after
