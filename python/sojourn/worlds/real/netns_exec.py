"""A command in a network namespace that leaves no processes behind.

The command runs under an init process in its own PID namespace. When the command ends, init ends, and the
kernel kills the remaining processes of the namespace; when this process is killed, the kernel kills init and
thereby all of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence

from sojourn.terminal import show
from sojourn.worlds.real.namespace import CLONE_NEWNS, CLONE_NEWPID, PR_SET_PDEATHSIG, Namespace, call, libc

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
#: A shell's exit codes for a command that does not exist, or cannot be run.
NOT_FOUND, NOT_EXECUTABLE = 127, 126


class NamespacedProcess:
    """A command that runs in `namespace`, and its children.

    Parameters
    ----------
    namespace : Namespace
        The network namespace.
    command : sequence of str
        The command and its arguments.
    environment : mapping
        Its whole environment.
    user : (str, int, int), optional
        Name, uid and gid to run it as; those of this process if None.
    """

    def __init__(
        self,
        namespace: Namespace,
        command: Sequence[str],
        environment: Mapping[str, str],
        user: tuple[str, int, int] | None = None,
    ) -> None:
        self.code: int | None = None
        self._failed: OSError | None = None
        self._pid = 0
        self._ready = threading.Event()
        self._arguments = (namespace, list(command), dict(environment), user)
        # PR_SET_PDEATHSIG acts on the death of the thread that forked init; so that thread waits for its end.
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
        namespace, command, environment, user = self._arguments
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
                os._exit(_init(command, environment, user))
            finally:
                os._exit(1)
        self._ready.set()
        _, status = os.waitpid(self._pid, 0)
        self.code = _code(status)


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _init(command: list[str], environment: dict[str, str], user: tuple[str, int, int] | None) -> int:
    """Act as process 1: start the command, reap children, and return the command's exit code."""
    libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _own_proc()
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # the terminal sends them to the command, too
    # The kernel discards signals to init without a handler, so forwarded signals are blocked until then.
    forwarded = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_SETMASK, forwarded)
    pid = os.fork()
    if pid == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _become(command, environment, user)

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


def _own_proc() -> None:
    """Mount /proc of the new PID namespace, if that is allowed."""
    mount = libc().mount
    mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
    mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None)
    mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None)


def _become(command: list[str], environment: dict[str, str], user: tuple[str, int, int] | None) -> None:
    """Replace this process by the command."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    code = NOT_EXECUTABLE
    try:
        if user is not None:
            name, uid, gid = user
            os.initgroups(name, gid)
            os.setgid(gid)
            os.setuid(uid)
        os.execvpe(command[0], command, environment)
    except FileNotFoundError:
        code = NOT_FOUND
        show(f"sojourn: {command[0]}: command not found", sys.stderr)
    except OSError as error:
        show(f"sojourn: {command[0]}: {(error.strerror or str(error)).lower()}", sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)
