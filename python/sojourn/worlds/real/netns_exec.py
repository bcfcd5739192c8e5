"""A command in a network namespace that leaves no processes behind.

The command runs under an init process in its own PID namespace. When the command ends, init ends, and the
kernel kills the remaining processes of the namespace; when this process is killed, the kernel kills init and
thereby all of them. The init of a server ends when the server fails or its last process ends: many servers
continue in a process of their own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.terminal import show
from sojourn.worlds.hosts.mounts import mount_proc
from sojourn.worlds.hosts.namespace import CLONE_NEWNS, CLONE_NEWPID, Namespace, call, die_with_parent
from sojourn.worlds.real.caller import Caller

#: A shell's exit codes for a command that does not exist, or cannot be run.
NOT_FOUND, NOT_EXECUTABLE = 127, 126
#: The last lines of a server's standard error that are kept, and the longest part of a line, in bytes.
LINES, LONGEST_LINE = 5, 1000
#: States in /proc/net: a TCP socket that listens, a UDP socket that is bound and not connected.
_LISTENING = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}


@dataclass(frozen=True)
class Command:
    """The command to run, and how.

    Parameters
    ----------
    words : sequence of str
        The command and its arguments.
    environment : mapping
        Its complete environment.
    user : Caller, optional
        The user to run it as; that of this process if None.
    is_server : bool
        Whether it has neither a terminal nor input and output; the last lines of its standard error are kept.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    user: Caller | None = None
    is_server: bool = False


class NamespacedProcess:
    """A command that runs in a network namespace, and its children."""

    def __init__(self, namespace: Namespace, command: Command) -> None:
        self.code: int | None = None
        self.errors: deque[str] = deque(maxlen=LINES)
        self._failed: OSError | None = None
        self._pid = 0
        self._ready = threading.Event()
        self._arguments = (namespace, command)
        # PR_SET_PDEATHSIG acts on the death of the thread that forked init; so that thread waits until init
        # ends.
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failed:
            raise self._failed

    def signal(self, number: int) -> None:
        """Send a signal to init, which passes it on to the command."""
        if self._thread.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def kill(self) -> None:
        """Kill all processes of the namespace."""
        self.signal(signal.SIGKILL)

    def is_listening(self) -> bool:
        """Return whether a process of the namespace waits for connections or datagrams."""
        listening: set[str] = set()
        opened: set[str] = set()
        for place in self._processes():
            with contextlib.suppress(OSError):  # it has ended
                opened |= {os.readlink(one) for one in (place / "fd").iterdir()}  # noqa: PTH115 - no path
                listening |= set(_listening(place / "net"))
        return not opened.isdisjoint(listening)

    def _processes(self) -> Iterator[Path]:
        """Yield the folder in /proc of each process of the namespace, except init."""
        own = _inode(Path(f"/proc/{self._pid}/ns/pid"))
        for place in Path("/proc").iterdir():
            if place.name.isdigit() and place.name != str(self._pid) and own == _inode(place / "ns/pid"):
                yield place

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit code as a shell does (128 + signal); None if it still runs after `timeout`."""
        self._thread.join(timeout)
        return self.code

    def _watch(self) -> None:
        namespace, command = self._arguments
        read, write = os.pipe()
        try:
            namespace.enter()
            call("unshare", CLONE_NEWPID | CLONE_NEWNS)
            self._pid = os.fork()
        except OSError as error:
            self._failed = error
            self._ready.set()
            return
        if self._pid == 0:
            try:
                os._exit(_init(command, write))
            finally:
                os._exit(1)
        os.close(write)
        self._ready.set()
        with os.fdopen(read, "rb") as errors:  # it ends with init, the last process that may write
            while line := errors.readline(LONGEST_LINE):
                if text := line.decode(errors="replace").strip():
                    self.errors.append(text)
        _, status = os.waitpid(self._pid, 0)
        self.code = _code(status)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _listening(net: Path) -> Iterator[str]:
    """Yield the names of the sockets that listen, as links to open files have them (``socket:[12345]``)."""
    for name, state in _LISTENING.items():
        with contextlib.suppress(FileNotFoundError):  # without IPv6
            for line in (net / name).read_text(encoding="ascii").splitlines()[1:]:
                words = line.split()
                if words[3] == state:
                    yield f"socket:[{words[9]}]"


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _init(command: Command, errors: int) -> int:
    """Act as process 1: start the command, reap children, and return the command's exit code.

    A server that succeeds may have left processes: the code is then that of the last one.
    """
    die_with_parent()
    if command.is_server:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(2):
            os.dup2(nothing, stream)
        os.dup2(errors, 2)
    with contextlib.suppress(OSError):  # not allowed in some containers: /proc then shows all processes
        mount_proc()
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # the terminal sends them to the command, too
    # The kernel discards signals to init without a handler, so forwarded signals are blocked until then.
    forwarded = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_SETMASK, forwarded)
    pid = os.fork()
    if pid == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _become(command)

    def forward(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT if number == signal.SIGUSR1 else number)

    for number in forwarded:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    code = 0
    while True:
        try:
            gone, status = os.wait()
        except ChildProcessError:
            return code
        if gone == pid and (not command.is_server or _code(status) != 0):
            return _code(status)
        code = _code(status)


def _become(command: Command) -> None:
    """Replace this process by the command."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    code = NOT_EXECUTABLE
    try:
        if command.user is not None:
            command.user.become()
        os.execvpe(command.words[0], list(command.words), command.environment)
    except FileNotFoundError:
        code = NOT_FOUND
        show(f"sojourn: {command.words[0]}: command not found", sys.stderr)
    except OSError as error:
        show(f"sojourn: {command.words[0]}: {(error.strerror or str(error)).lower()}", sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)
