"""The worker processes of `sojourn.worlds.simulated.processes`, and the process that forks them.

``python -m sojourn.worlds.simulated.worker FD`` answers requests of `sojourn.worlds.simulated.forks` until
the end of the connection: ``fork``, with the connection and the standard error of a worker, ``kill PID`` and
``wait PID``.

A worker reads jobs until the end of its connection: sources of classes that it does not have yet, plan, seed,
and the bytes that the traces may take. For each job it sends the completed share of virtual time ten times a
second, then the record with warnings, or the exception.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection
from typing import Any

from sojourn import _core
from sojourn import algorithms as own
from sojourn.errors import InputError, RunFailed
from sojourn.worlds.base import Answer

INTERVAL = 0.1


def serve(requests: socket.socket) -> None:
    """Answer requests until the connection is closed; returns in each worker, too, after its last job."""
    while True:
        request, handles, _, _ = socket.recv_fds(requests, 64, 2)
        if not request:
            break
        word, _, pid = request.decode().partition(" ")
        try:
            if word == "fork":
                number = os.fork()
                if number == 0:
                    requests.close()
                    work(*handles)
                    break
            else:
                if word == "kill":
                    os.kill(int(pid), signal.SIGKILL)
                number = os.waitstatus_to_exitcode(os.waitpid(int(pid), 0)[1])
            answer = f"done {number}"
        except OSError as error:
            answer = f"error {error.errno}"
        for handle in handles:
            os.close(handle)
        requests.send(answer.encode())


def work(connection: int, standard_error: int) -> None:
    """Execute jobs until the connection is closed."""
    os.setpgid(0, 0)
    for stream in (1, 2):  # output of handlers is not a result
        os.dup2(standard_error, stream)
    os.close(standard_error)
    pipe = Connection(connection)
    with contextlib.suppress(EOFError, OSError):
        environment, folder, path = pipe.recv()
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.path[:] = [folder, *path]
    with contextlib.suppress(EOFError, OSError):
        while True:
            sources, plan, seed, trace_limit = pipe.recv()
            try:
                for name, code in sources:
                    own.adopt(name, code)
                pipe.send(_answer(pipe, plan, seed, trace_limit))
            except (InputError, _core.SpecError) as error:
                pipe.send(RunFailed(str(error)))
            except MemoryError:
                pipe.send(MemoryError("there is not enough memory to send its record"))


def _answer(pipe: Connection, plan: str, seed: int, trace_limit: int | None) -> Any:
    batch = _core.Batch([(plan, seed)], 1, trace_limit)
    while True:
        for _, result in batch.poll(INTERVAL):
            warnings = own.renew(own.names_in(plan))
            return result if isinstance(result, Exception) else Answer(result, warnings)
        pipe.send(batch.progress())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
