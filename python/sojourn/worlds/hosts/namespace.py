"""Unnamed network namespaces: an open file of this process keeps each alive.

Nothing is written to ``/run/netns``, so nothing has to be cleaned up: when the process ends, however it ends,
the kernel closes the file and removes a namespace without processes, with its devices and routes.

A thread cannot return from a namespace, so code that must run inside gets its own thread (``within``) or
process (``popen``).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
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
_NS_GET_USERNS = 0xB701  # ioctl_ns(2)


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int) -> None:
    """Call a function of the C library that returns 0, or raise ``OSError``."""
    if getattr(libc(), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def die_with_parent() -> None:
    """Make the kernel kill this process when the thread that started it ends."""
    libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def is_privileged() -> bool:
    """Return whether this process may create namespaces, and devices in its own network namespace."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    line = next((line for line in status.splitlines() if line.startswith("CapEff:")), "CapEff: 0")
    bits = int(line.split()[1], 16)
    return all(bits >> cap & 1 for cap in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN)) and _owns_network()


def _owns_network() -> bool:
    """Return whether the user namespace of this process owns its network namespace."""
    with Path("/proc/self/ns/net").open("rb") as network:
        try:
            owner = fcntl.ioctl(network, _NS_GET_USERNS)
        except OSError:  # an ancestor owns it: capabilities in this user namespace do not apply
            return False
    try:
        return os.fstat(owner).st_ino == Path("/proc/self/ns/user").stat().st_ino
    finally:
        os.close(owner)


def last_gid() -> int:
    """Return the largest group id that exists in the user namespace of this process."""
    lines = Path("/proc/self/gid_map").read_text(encoding="ascii").splitlines()
    return max(int(first) + int(count) - 1 for first, _, count in map(str.split, lines))


def become_root_of_own() -> None:
    """Enter a new user namespace in which this process is root; it must not have a second thread yet.

    Raises
    ------
    InputError
        If the kernel does not allow it; with a remedy.
    """
    uid, gid = os.getuid(), os.getgid()
    try:
        call("unshare", CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")
    except OSError as error:
        raise InputError("namespaces", f"cannot be created: {error}", _remedy(error)) from None


def _remedy(error: OSError) -> str:
    """Return the permission that this process needs to create namespaces."""
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
    return "root, or a kernel that allows unprivileged user namespaces"


def missing() -> str:
    """Return the requirement of real packets that this machine lacks, or an empty text.

    No namespace is created here, so a kernel that refuses user namespaces is not detected.
    """
    if not Path("/proc/self/ns/net").exists():
        return "this kernel has no network namespaces"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun (sudo modprobe tun)"
    if shutil.which("ip") is None:
        return "the program ip is not installed (Debian: iproute2)"
    return ""


def check() -> None:
    """Raise ``InputError`` if a requirement is ``missing``."""
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
        An open namespace (``/proc/PID/ns/net``); a new one is created if None.
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
        """Move the calling thread into the namespace; it cannot return."""
        call("setns", self.fd, CLONE_NEWNET)

    def within(self, action: Callable[[], T]) -> T:
        """Return the result of `action` inside, in a new thread (its sockets and devices stay usable)."""

        def inside() -> T:
            self.enter()
            return action()

        return _in_thread(inside)

    def popen(self, command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start `command` inside with `options` of ``Popen``; it is killed when this process ends."""

        def prepare() -> None:
            self.enter()
            die_with_parent()
            signal.pthread_sigmask(signal.SIG_SETMASK, ())

        libc()  # loaded before the fork
        return subprocess.Popen(command, preexec_fn=prepare, **options)

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `command` inside to its end and return it with its output as text.

        Raises
        ------
        RunFailed
            If it fails; with its output.
        """
        text = options.pop("input", None)
        pipe = subprocess.PIPE
        options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **options}
        with self.popen(command, **options) as process:
            out, errors = process.communicate(text)
        if process.returncode != 0:
            raise RunFailed(f"{self.name}: {' '.join(command)}: {(errors or out or '').strip()}")
        return subprocess.CompletedProcess(list(command), process.returncode, out, errors)

    def ip(self, *lines: str) -> None:
        """Run ``ip`` commands, one per line: ``addr add 10.0.0.1/24 dev left``."""
        self.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n")

    def sysctl(self, name: str, value: object) -> None:
        """Set a sysctl of the namespace: ``net.ipv4.tcp_ecn`` to 1."""
        path = Path("/proc/sys") / name.replace(".", "/")
        self.within(lambda: path.write_text(f"{value}\n", encoding="ascii"))

    def read(self, path: str) -> str:
        """Return the content of a file inside the namespace (``/proc/net/snmp``)."""
        return self.within(
            lambda: Path(path.replace("/proc/net", "/proc/thread-self/net")).read_text("ascii")
        )

    def close(self) -> None:
        """Close the file; the kernel removes the namespace when no process is left in it."""
        os.close(self.fd)


def _new() -> int:
    call("unshare", CLONE_NEWNET)
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _in_thread(action: Callable[[], T]) -> T:
    """Run `action` in a new thread; return its result or raise its exception."""
    found: list[T] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            found.append(action())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
