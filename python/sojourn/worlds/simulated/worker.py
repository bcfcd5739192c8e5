"""The worker process of `sojourn.worlds.simulated.processes`.

``python -m sojourn.worlds.simulated.worker FD`` reads jobs until the end of the connection: sources of
classes that it does not have yet, plan, seed, and the bytes that the traces may take. For each job it sends
the completed share of virtual time ten times a second, then the record or the exception.
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
    """Execute jobs until the connection is closed."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            sources, plan, seed, trace_limit = pipe.recv()
            for name, source in sources:
                own.adopt(name, source)
            try:
                pipe.send(_answer(pipe, plan, seed, trace_limit))
            except MemoryError:
                pipe.send(MemoryError("there is not enough memory to send its record"))


def _answer(pipe: Connection, plan: str, seed: int, trace_limit: int | None) -> Any:
    batch = _core.Batch([(plan, seed)], 1, trace_limit)
    while True:
        for _, result in batch.poll(INTERVAL):
            return result
        pipe.send(batch.progress())


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
