"""Warnings of the package on standard error, while a command runs."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

from sojourn.terminal import show

_LOG = logging.getLogger("sojourn")


class Messages(logging.Handler):
    """Prints the log of the package, such as damaged files, to standard error, each message once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        text = record.getMessage()
        if text not in self._said:
            self._said.add(text)
            show(f"sojourn: warning: {text}", sys.stderr)


@contextlib.contextmanager
def messages() -> Iterator[None]:
    """Print the log of the package until the end of the block."""
    handler = Messages()
    propagate, _LOG.propagate = _LOG.propagate, False
    _LOG.addHandler(handler)
    try:
        yield
    finally:
        _LOG.removeHandler(handler)
        _LOG.propagate = propagate
