"""The worker process of `sojourn.worlds.simulated.processes`.

``python -m sojourn.worlds.simulated.worker FD`` reads the sources of the user's classes once, then jobs (plan
and seed) until None or the end of the connection. For each job it sends the completed share of virtual time
ten times a second, then the record or the exception.
"""

from __future__ import annotations

import contextlib
import sys
from multiprocessing.connection import Connection
from typing import Any

from sojourn import _core
from sojourn import algorithms as own

INTERVAL = 0.1


def main(pipe: Connection) -> None:
    """Work until there is nothing more to do."""
    with contextlib.suppress(EOFError, OSError):
        for name, source in pipe.recv():
            own.adopt(name, source)
        while (job := pipe.recv()) is not None:
            pipe.send(_answer(pipe, *job))


def _answer(pipe: Connection, plan: str, seed: int) -> Any:
    batch = _core.Batch([(plan, seed)], 1)
    while True:
        for _, result in batch.poll(INTERVAL):
            return result
        pipe.send(batch.progress())


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
