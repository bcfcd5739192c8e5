"""The check of every claim of the paper, by its id."""

from __future__ import annotations

from sojourn.papers.checks import Check
from sojourn.papers.taildrop2001 import ftp, printed, web


def checks() -> dict[str, Check]:
    """Return all checks in the order of the claims."""
    return dict(sorted((ftp.checks() | web.checks() | printed.checks()).items()))
