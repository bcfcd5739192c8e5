"""Network namespaces without names: each is held by an open file of this process, and dies with it.

Nothing is written to ``/run/netns``, so nothing has to be cleaned up: when the process ends, however it ends,
the kernel closes the file, and a namespace that nobody is in any more vanishes with its devices and routes.

A thread enters a namespace and never comes back: what must happen inside happens in a thread of its own
(``within``) or in a child (``popen``).
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sojourn.errors import InputError, RunFailed

T = TypeVar("T")

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int) -> None:
    """Call a function of the C library that returns 0, or raise ``OSError``."""
    if getattr(libc(), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def is_privileged() -> bool:
    """Tell whether this process may make namespaces and devices in its own network namespace."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    line = next((line for line in status.splitlines() if line.startswith("CapEff:")), "CapEff: 0")
    bits = int(line.split()[1], 16)
    return all(bits >> cap & 1 for cap in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def become_root_of_own() -> None:
    """Enter a new user namespace in which this process is root; it must not have a second thread yet.

    Raises
    ------
    InputError
        If the kernel does not allow it; says what would.
    """
    uid, gid = os.getuid(), os.getgid()
    try:
        call("unshare", CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")
    except OSError as error:
        raise InputError("namespaces", f"cannot be made: {error}", _cure(error)) from None


def _cure(error: OSError) -> str:
    """Return what would let us make namespaces here."""
    if error.errno == errno.ENOSPC:
        return "root, or more user namespaces: sudo sysctl -w user.max_user_namespaces=10000"
    if os.getuid() == 0:
        return "CAP_NET_ADMIN and CAP_SYS_ADMIN (in a container: --privileged)"
    for name, wanted in (
        ("kernel.unprivileged_userns_clone", "1"),
        ("kernel.apparmor_restrict_unprivileged_userns", "0"),
    ):
        path = Path("/proc/sys") / name.replace(".", "/")
        try:
            value = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value != wanted:
            return f"root, or user namespaces: sudo sysctl -w {name}={wanted}"
    return "root, or a kernel that lets users make user namespaces"


def missing() -> str:
    """Return what keeps real packets from working here, or an empty text.

    Looks, and makes nothing: whether a user namespace is granted shows only when one is asked for.
    """
    if not Path("/proc/self/ns/net").exists():
        return "this kernel has no network namespaces"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun (sudo modprobe tun)"
    if shutil.which("ip") is None:
        return "the program ip is not there (Debian: iproute2)"
    return ""


def check() -> None:
    """Raise ``InputError`` if something is ``missing``."""
    problem = missing()
    if problem:
        raise InputError("real packets", f"are not possible: {problem}")


class Namespace:
    """A network namespace.

    Parameters
    ----------
    name : str
        For messages.
    fd : int, optional
        An open namespace (``/proc/PID/ns/net``); a new one is made if None.
    """

    def __init__(self, name: str, fd: int | None = None) -> None:
        self.name = name
        self.fd = _in_thread(_new) if fd is None else fd
        if fd is None:
            self.ip("link set lo up")

    @classmethod
    def own(cls) -> Namespace:
        """Return the namespace that this process is in."""
        return cls("host", os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC))

    def enter(self) -> None:
        """Let the calling thread enter; there is no way back."""
        call("setns", self.fd, CLONE_NEWNET)

    def within(self, action: Callable[[], T]) -> T:
        """Return what `action` returns inside, in a thread of its own (sockets and devices stay usable)."""

        def inside() -> T:
            self.enter()
            return action()

        return _in_thread(inside)

    def popen(self, command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start `command` inside (`options`: of ``subprocess.Popen``); it is killed when this process is."""

        def prepare() -> None:
            self.enter()
            libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())

        libc()  # loaded before the fork
        return subprocess.Popen(command, preexec_fn=prepare, **options)

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `command` inside to its end and return it with its output as text.

        Raises
        ------
        RunFailed
            If it fails; has what it said.
        """
        text = options.pop("input", None)
        pipe = subprocess.PIPE
        options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **options}
        with self.popen(command, **options) as process:
            out, said = process.communicate(text)
        if process.returncode != 0:
            raise RunFailed(f"{self.name}: {' '.join(command)}: {(said or out or '').strip()}")
        return subprocess.CompletedProcess(list(command), process.returncode, out, said)

    def ip(self, *lines: str) -> None:
        """Give ``ip`` commands, one a line: ``addr add 10.0.0.1/24 dev left``."""
        self.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n")

    def sysctl(self, name: str, value: object) -> None:
        """Set a sysctl of the namespace: ``net.ipv4.tcp_ecn`` to 1."""
        path = Path("/proc/sys") / name.replace(".", "/")
        self.within(lambda: path.write_text(f"{value}\n", encoding="ascii"))

    def read(self, path: str) -> str:
        """Return a file as it looks inside (``/proc/net/snmp``)."""
        return self.within(
            lambda: Path(path.replace("/proc/net", "/proc/thread-self/net")).read_text("ascii")
        )

    def close(self) -> None:
        """Let go; the namespace vanishes when nobody is in it any more."""
        os.close(self.fd)


def _new() -> int:
    call("unshare", CLONE_NEWNET)
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _in_thread(action: Callable[[], T]) -> T:
    """Return what `action` returns, or raise what it raises, in a thread of its own."""
    found: list[T] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            found.append(action())
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            failed.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
