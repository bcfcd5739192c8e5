"""A command in a network namespace that leaves no processes behind.

The command runs under an init process in its own PID namespace. When the command ends, init ends, and the
kernel kills the remaining processes of the namespace; when this process is killed, the kernel kills init and
thereby all of them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn.terminal import show
from sojourn.worlds.hosts.mounts import mount_proc
from sojourn.worlds.hosts.namespace import CLONE_NEWNS, CLONE_NEWPID, Namespace, call, die_with_parent
from sojourn.worlds.real.caller import Caller

#: A shell's exit codes for a command that does not exist, or cannot be run.
NOT_FOUND, NOT_EXECUTABLE = 127, 126


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
    is_silent : bool
        Whether it has neither a terminal nor input and output.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    user: Caller | None = None
    is_silent: bool = False


class NamespacedProcess:
    """A command that runs in a network namespace, and its children."""

    def __init__(self, namespace: Namespace, command: Command) -> None:
        self.code: int | None = None
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

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit code as a shell does (128 + signal); None if it still runs after `timeout`."""
        self._thread.join(timeout)
        return self.code

    def _watch(self) -> None:
        namespace, command = self._arguments
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
                os._exit(_init(command))
            finally:
                os._exit(1)
        self._ready.set()
        _, status = os.waitpid(self._pid, 0)
        self.code = _code(status)


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _init(command: Command) -> int:
    """Act as process 1: start the command, reap children, and return the command's exit code."""
    die_with_parent()
    if command.is_silent:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
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
    while True:
        gone, status = os.wait()
        if gone == pid:
            return _code(status)


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
