"""Compares the files of a results folder with the description in its ``schema.json``."""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.runner.layout import SCHEMA

PLAIN = {
    "uint8": pl.UInt8,
    "uint32": pl.UInt32,
    "uint64": pl.UInt64,
    "int64": pl.Int64,
    "float64": pl.Float64,
    "text": pl.String,
    "bool": pl.Boolean,
}


def pattern(path: str) -> str:
    """Return the glob of a path: a word in capitals stands for any text."""
    return re.sub(r"\b[A-Z_]{2,}\b(?!\.md)", "*", path)


def any_name(column: dict[str, Any]) -> str:
    """Return the glob of a column's name."""
    return re.sub("[A-Z]{2,}", "*", column["name"])


def check_type(described: dict[str, Any], kind: pl.DataType, where: str) -> None:
    text = described["type"]
    if text.startswith("list of "):
        assert isinstance(kind, pl.List), (where, kind)
        check_type({**described, "type": text.removeprefix("list of ")}, kind.inner, where)  # type: ignore[arg-type]
    elif text == "struct":
        assert isinstance(kind, pl.Struct), (where, kind)
        check_columns(described["fields"], {one.name: one.dtype for one in kind.fields}, where)  # type: ignore[misc]
    else:
        assert kind == PLAIN[text] or kind == pl.Null, (where, kind)


def check_columns(described: list[dict[str, Any]], columns: dict[str, pl.DataType], where: str) -> None:
    """Compare the columns of a file with their description, and the description with the columns."""
    fixed = {one["name"]: one for one in described if "*" not in any_name(one)}
    dynamic = [one for one in described if "*" in any_name(one)]
    for name, kind in columns.items():
        if name in fixed:
            check_type(fixed[name], kind, f"{where}: {name}")
        else:
            globs = [one for one in dynamic if fnmatch.fnmatchcase(name, any_name(one))]
            assert globs, f"{where}: {name} is not described"
            if "KEY" in {one["name"] for one in globs}:
                assert kind in (pl.Int64, pl.Float64, pl.String), (where, name)
            else:
                check_type(max(globs, key=lambda one: len(one["name"])), kind, f"{where}: {name}")
    missing = [name for name, one in fixed.items() if name not in columns and not one.get("optional")]
    assert not missing, f"{where} lacks {missing}"


def check_folder(folder: Path, kind: str) -> set[str]:
    """Check every file of a folder against its ``schema.json``; return the described files that exist."""
    described = json.loads((folder / SCHEMA).read_text())
    assert described["kind"] == kind
    seen = set()
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        name = path.relative_to(folder).as_posix()
        if name.startswith("confirm/") or (kind in ("compare-worlds", "evaluate") and "/" in name):
            continue
        # The most specific description is that with the longest pattern.
        matches = [one for one in described["files"] if fnmatch.fnmatchcase(name, pattern(one["path"]))]
        assert matches, f"{name} is not described"
        found = max(matches, key=lambda one: len(one["path"]))
        seen.add(found["path"])
        columns: dict[str, pl.DataType] = {}
        if found["format"] == "Parquet":
            columns = dict(pl.read_parquet_schema(path))
        elif found["format"] == "CSV":
            assert pl.read_csv(path).columns == [one["name"] for one in found["columns"]], name
        elif found["format"] == "JSON":
            json.loads(path.read_text())
        if columns:
            check_columns(found["columns"], columns, name)
    assert described["metrics"]["mean_delay_s"]["unit"] == "s"
    return seen
