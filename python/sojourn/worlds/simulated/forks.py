"""Starts worker processes by forks of one process that has imported this package, in milliseconds.

The server (`sojourn.worlds.simulated.worker`) is started with the first worker and ends with this process. It
has never executed a user's code, so every worker starts without any: nothing that a class, or a module that
it imports, keeps can reach the runs of a later call. A worker gets the environment, working directory, module
path and standard error that this process has when the worker starts.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Longest answer of the server, in bytes.
ANSWER = 64


class Server:
    """The process that forks workers; one request at a time."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = [sys.executable, "-m", "sojourn.worlds.simulated.worker", str(theirs.fileno())]
        # The process group of its own keeps Ctrl-C from it: this process handles it.
        self._process = subprocess.Popen(
            words,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,
            env=_environment(),
            process_group=0,
        )
        theirs.close()

    def ask(self, request: str, handles: Sequence[int] = ()) -> int:
        """Return the server's answer to a request.

        Raises
        ------
        OSError
            If the server has ended, or cannot fork.
        """
        try:
            socket.send_fds(self._socket, [request.encode()], handles)
            word, _, number = self._socket.recv(ANSWER).decode().partition(" ")
        except BaseException:
            self.forget()  # an answer that is still to come is not one to the next request
            raise
        if word == "error":
            raise OSError(int(number), os.strerror(int(number)))
        if not word:
            raise ConnectionError("the process that forks workers has ended")
        return int(number)

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more requests."""
        return self._socket.fileno() < 0

    def forget(self) -> None:
        """Close the connection, after which the server ends."""
        self._socket.close()

    def close(self) -> None:
        """End the server."""
        self.forget()
        self._process.wait()


class Worker:
    """A process that `start` has forked.

    Attributes
    ----------
    pid : int
        Its number.
    returncode : int or None
        How it ended, as in `subprocess.Popen`; None as long as that is not known.
    """

    def __init__(self, server: Server, pid: int) -> None:
        self._server, self.pid = server, pid
        self.returncode: int | None = None

    def kill(self) -> None:
        """Kill it, and wait until it has ended."""
        self._end("kill")

    def wait(self) -> int:
        """Wait until it has ended; return how."""
        return self._end("wait")

    def _end(self, request: str) -> int:
        if self.returncode is None:
            try:
                with _lock:
                    self.returncode = self._server.ask(f"{request} {self.pid}")
            except OSError:  # its parent has ended, and with it the answer
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                self.returncode = -signal.SIGKILL
        return self.returncode


_server: Server | None = None
_lock = threading.Lock()


def start() -> tuple[Worker, Connection]:
    """Start a worker; return it with the connection to it."""
    from multiprocessing import Pipe

    global _server
    ours, theirs = Pipe()
    handles = (theirs.fileno(), 2)
    with _lock:
        if _server is not None and _server.is_closed:
            _server.close()
            _server = None
        _server = _server or Server()
        try:
            pid = _server.ask("fork", handles)
        except ConnectionError:  # something has ended it
            _server.close()
            _server = Server()
            pid = _server.ask("fork", handles)
        worker = Worker(_server, pid)
    theirs.close()
    # A worker that has died is noticed when its answer is read.
    with contextlib.suppress(OSError):
        ours.send((_environment(), os.getcwd(), _path()))  # noqa: PTH109 - a text is sent
    return worker, ours


def _path() -> list[str]:
    """Return the module path: an empty entry is the working directory."""
    return [one or os.getcwd() for one in sys.path]  # noqa: PTH109 - a text is wanted


def _environment() -> dict[str, str]:
    """Return the environment of a worker: it must find the same package and modules."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(_path())}


@atexit.register
def _close() -> None:
    if _server is not None:
        _server.close()


def _reset() -> None:
    """Forget the server in a fork of this process, which would take answers to the other."""
    global _server, _lock
    if _server is not None:
        _server.forget()
    _server, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_reset)
