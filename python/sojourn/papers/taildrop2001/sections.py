"""The taildrop paper's part of the report."""

from __future__ import annotations

from sojourn.papers.reproduction import Reproduction
from sojourn.report import Section


def sections(_result: Reproduction) -> list[Section]:
    """Return the paper's own sections, those whose runs were made."""
    return []
