"""Errors that a host meets while it sends and receives.

An error of the network (a time-out or a reset) is a result of the congestion that is measured. Any other
error, such as a refused connection or a wrong answer of a server, shows that the testbed is broken.
"""

from __future__ import annotations

import errno
import time
from typing import Any

#: Errors that loss in the network can cause.
OF_NETWORK = {errno.ETIMEDOUT, errno.ECONNRESET, errno.EPIPE}
#: Errors of each kind that are reported in words; further ones are only counted.
MAX_WORDS = 20


class BrokenTestbed(Exception):  # noqa: N818 - a state, not a misuse
    """The host cannot continue: a part of it has ended, or could not be started."""


def how_ended(code: int) -> str:
    """Return a return code of ``subprocess`` in words.

    Examples
    --------
    >>> how_ended(-9), how_ended(3)
    ('killed by signal 9', 'exit code 3')
    """
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


class Faults:
    """The errors of one host until `end` (ns of the monotonic clock); then the others close, too."""

    def __init__(self) -> None:
        self.end: int | None = None
        self._words: dict[str, list[str]] = {"network": [], "testbed": []}
        self._counts = dict.fromkeys(self._words, 0)

    def add(self, where: str, error: OSError) -> None:
        """Record an error; `where` describes the connection or server."""
        if self.end is not None and time.monotonic_ns() >= self.end:
            return
        kind = "network" if error.errno in OF_NETWORK else "testbed"
        self._counts[kind] += 1
        if len(self._words[kind]) < MAX_WORDS:
            self._words[kind].append(f"{where}: {error.strerror or error}")

    def results(self) -> dict[str, dict[str, Any]]:
        """Return count and first words of each kind, as JSON."""
        return {kind: {"count": self._counts[kind], "first": self._words[kind]} for kind in self._words}
