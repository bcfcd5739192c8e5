"""Data for programs: JSON, CSV and Parquet, with values in SI units."""

from __future__ import annotations

import io
import json

from sojourn.cli.output import Output


class Json:
    """The object of ``--json``."""

    name = "JSON"
    suffix = ".json"
    one_table = False

    def write(self, output: Output) -> bytes:
        """Return the object as text."""
        return (json.dumps(output.data, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


class Csv:
    """A table with a header line; unknown values are empty."""

    name = "CSV"
    suffix = ".csv"
    one_table = True

    def write(self, output: Output) -> bytes:
        """Return the table."""
        return output.tables[0].frame().write_csv().encode()


class Parquet:
    """A table with types."""

    name = "Parquet"
    suffix = ".parquet"
    one_table = True

    def write(self, output: Output) -> bytes:
        """Return the table."""
        buffer = io.BytesIO()
        output.tables[0].frame().write_parquet(buffer)
        return buffer.getvalue()
