"""Mounts in a separate mount namespace: only its processes see them, and they end with the last process."""

from __future__ import annotations

import ctypes
import os

from sojourn.worlds.hosts.namespace import CLONE_NEWNS, call, libc

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
_MNT_DETACH = 2
#: An existing directory, hidden while the file system is mounted on it.
_MOUNT_POINT = b"/proc"


def mount_proc() -> None:
    """Mount /proc of this process's PID namespace; it must be in a mount namespace of its own.

    Raises
    ------
    OSError
        If this process may not mount a file system.
    """
    _make_private()
    _mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def enter_unnamed_folder() -> None:
    """Change to an empty, unnamed directory in memory that only this process and its children can access.

    It is a tmpfs that is mounted and immediately detached, so it exists as long as one of them uses it. This
    process must have one thread only.

    Raises
    ------
    OSError
        If this process may not mount a file system.
    """
    call("unshare", CLONE_NEWNS)
    _make_private()
    _mount(b"tmpfs", _MOUNT_POINT, b"tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, b"mode=700,size=16m")
    os.chdir(_MOUNT_POINT)
    unmount = libc().umount2
    unmount.argtypes = [ctypes.c_char_p, ctypes.c_int]
    if unmount(_MOUNT_POINT, _MNT_DETACH) != 0:
        _raise("umount")


def _make_private() -> None:
    """Prevent mounts of this namespace from propagating to other namespaces."""
    _mount(None, b"/", None, _MS_REC | _MS_PRIVATE)


def _mount(
    source: bytes | None, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None
) -> None:
    mount = libc().mount
    mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
    if mount(source, target, kind, flags, options) != 0:
        _raise("mount")


def _raise(name: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{name}: {os.strerror(number)}")
