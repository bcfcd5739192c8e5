"""Temporary folders that do not outlive their process for long, however it ends.

A folder is locked by the process that uses it. After a ``kill -9`` nothing can remove it at once, but the
kernel releases the lock; the next command of the same user that needs such a folder removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: Begin of the names of all temporary folders of Sojourn.
PREFIX = "sojourn-scratch-"


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Create a temporary folder, removed at the end of the block; remove those of killed processes."""
    _remove_abandoned()
    path, handle = _create()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def _create() -> tuple[Path, int]:
    """Return a new folder, and the handle that holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Before it is locked, another process may take it for an abandoned one, and remove it.
        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            handle = _lock(path)
            if path.exists():
                return path, handle
            os.close(handle)


def _remove_abandoned() -> None:
    """Remove the temporary folders of this user that no process has locked."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            handle = _lock(path)
            shutil.rmtree(path, ignore_errors=True)
            os.close(handle)


def _lock(path: Path) -> int:
    """Lock a folder of this user; return the handle that holds the lock.

    Raises
    ------
    OSError
        If another process has locked it, or it is missing or of another user.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), os.fspath(path))
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(handle)
        raise
    return handle
