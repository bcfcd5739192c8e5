"""The file layer: every operation of a study on files and folders.

`write` replaces a file atomically and durably: temporary file, fsync, rename, fsync of the folder. `create`
makes a file that must not exist, `append` adds a line, `lock` excludes other processes. Stores, manifests,
tables and reports use these functions only, so that tests can replace the disk below them (`using`) by one
that fails, tears writes, or loses unsynchronized data (``tests/simulated_disk.py``).

A missing file is None or False. Every other failure is a `SojournError` that names the file: reading raises
`errors.unreadable`, writing `errors.disk`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import platform
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from sojourn.errors import disk as unwritable
from sojourn.errors import unreadable

T = TypeVar("T")
#: Errors of file systems without hard links.
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
#: Errors of file systems that cannot synchronize folders.
_NO_FOLDER_SYNC = {errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF}
#: End of the names of temporary files, which begin with a dot.
SUFFIX = ".tmp"
#: Errors that mean that a file does not exist; a file with too long a name cannot exist.
_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}


class Facts(NamedTuple):
    """Attributes of a file: size in bytes, time of the last change in s since 1970, kind."""

    size: int
    modified: float
    is_folder: bool


class Disk(Protocol):
    """The system calls below this layer; each raises ``OSError``."""

    def read(self, path: Path) -> bytes:
        """Return the content of a file."""

    def write(self, path: Path, content: bytes, *, exclusive: bool = False, mode: int = 0o666) -> None:
        """Create a file, or replace the content of one; with `exclusive` the file must not exist."""

    def append(self, path: Path, content: bytes) -> None:
        """Add to the end of a file in one system call; create it if it does not exist."""

    def sync(self, path: Path) -> None:
        """Return after the content of a file is on the medium."""

    def sync_folder(self, path: Path) -> None:
        """Return after the names in a folder are on the medium."""

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file; replace the target."""

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name, which must not exist."""

    def unlink(self, path: Path) -> None:
        """Remove a name of a file."""

    def make_folder(self, path: Path) -> None:
        """Create a folder, which must not exist, in an existing one."""

    def remove_folder(self, path: Path) -> None:
        """Remove a folder, which must be empty."""

    def touch(self, path: Path) -> None:
        """Set the time of the last change of a file."""

    def names(self, path: Path) -> list[str]:
        """Return the names in a folder, in any order."""

    def facts(self, path: Path) -> Facts:
        """Return size, time and kind of a file."""

    def may_write(self, path: Path) -> bool:
        """Return whether this process may create files in a folder."""

    def lock(self, path: Path) -> Callable[[], None] | None:
        """Lock a file, created if necessary; return the function that unlocks it, or None if it is locked.

        The lock ends with the process at the latest.
        """

    def now(self) -> float:
        """Return the time in s since 1970, by the clock that dates files."""

    def owner(self) -> str:
        """Return a name of this process that is unique among all machines."""


class LocalDisk:
    """The operating system's files."""

    def read(self, path: Path) -> bytes:
        """Return the content of a file; pipes and devices, which might never end, are refused."""
        with _opened(path, os.O_RDONLY | os.O_NONBLOCK) as number:
            kind = os.fstat(number).st_mode
            if stat.S_ISDIR(kind):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
            if not stat.S_ISREG(kind):
                raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
            with open(number, "rb", closefd=False) as file:
                return file.read()

    def write(self, path: Path, content: bytes, *, exclusive: bool = False, mode: int = 0o666) -> None:
        """Create a file, or replace the content of one."""
        flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if exclusive else os.O_TRUNC)
        with open(path, "wb", opener=lambda name, _: os.open(name, flags, mode)) as file:
            file.write(content)

    def append(self, path: Path, content: bytes) -> None:
        """Add to the end of a file."""
        with path.open("ab", buffering=0) as file:
            file.write(content)

    def sync(self, path: Path) -> None:
        """Synchronize a file."""
        with _opened(path, os.O_RDONLY) as number:
            os.fsync(number)

    def sync_folder(self, path: Path) -> None:
        """Synchronize a folder, if the file system can."""
        with _opened(path, os.O_RDONLY | os.O_DIRECTORY) as number:
            try:
                os.fsync(number)
            except OSError as error:
                if error.errno not in _NO_FOLDER_SYNC:
                    raise

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file."""
        source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name."""
        target.hardlink_to(source)

    def unlink(self, path: Path) -> None:
        """Remove a name of a file."""
        path.unlink()

    def make_folder(self, path: Path) -> None:
        """Create a folder."""
        path.mkdir()

    def remove_folder(self, path: Path) -> None:
        """Remove a folder."""
        path.rmdir()

    def touch(self, path: Path) -> None:
        """Set the time of the last change of a file."""
        os.utime(path)

    def names(self, path: Path) -> list[str]:
        """Return the names in a folder."""
        return [one.name for one in path.iterdir()]

    def facts(self, path: Path) -> Facts:
        """Return size, time and kind of a file."""
        found = path.stat()
        return Facts(found.st_size, found.st_mtime, stat.S_ISDIR(found.st_mode))

    def may_write(self, path: Path) -> bool:
        """Return whether this process may create files in a folder."""
        return os.access(path, os.W_OK)

    def lock(self, path: Path) -> Callable[[], None] | None:
        """Lock a file with ``flock``, which the kernel releases when the process ends."""
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(number)
            return None
        except OSError:
            os.close(number)
            raise
        return lambda: os.close(number)

    def now(self) -> float:
        """Return the time of the system's clock."""
        return time.time()

    def owner(self) -> str:
        """Return machine, process and thread: several machines may share the folder."""
        return f"{platform.node()}-{os.getpid()}-{threading.get_native_id()}"


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    number = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield number
    finally:
        os.close(number)


_disk: Disk = LocalDisk()


@contextlib.contextmanager
def using(disk: Disk) -> Iterator[None]:
    """Use another disk, in this process, until the end of the block; for tests."""
    global _disk
    before, _disk = _disk, disk
    try:
        yield
    finally:
        _disk = before


def _found(read: Callable[[Path], T], path: Path) -> T | None:
    """Return the result of `read` for a path; None if the file does not exist."""
    try:
        return read(path)
    except OSError as error:
        if error.errno in _MISSING:
            return None
        raise unreadable(error, path) from None


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = None  # that of the temporary file
        raise unwritable(error, path) from None


def read(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    return _found(_disk.read, path)


def read_text(path: Path) -> str | None:
    """Return the content of a text file; None if it does not exist.

    Raises
    ------
    ValueError
        If it is not UTF-8.
    """
    found = read(path)
    return None if found is None else found.decode()


def exists(path: Path) -> bool:
    """Return whether there is a file or folder of this name."""
    return _facts(path) is not None


def is_file(path: Path) -> bool:
    """Return whether a path exists and is no folder."""
    found = _facts(path)
    return found is not None and not found.is_folder


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder."""
    found = _facts(path)
    return found is not None and found.is_folder


def size(path: Path) -> int | None:
    """Return the size of a file in bytes; None if it does not exist."""
    found = _facts(path)
    return None if found is None else found.size


def age(path: Path) -> float | None:
    """Return the time since the last change of a file in s, by the clock of this machine; None if missing."""
    found = _facts(path)
    return None if found is None else _disk.now() - found.modified


def _facts(path: Path) -> Facts | None:
    return _found(_disk.facts, path)


def names(folder: Path) -> list[str]:
    """Return the sorted names in a folder; none if it does not exist."""
    return sorted(_found(_disk.names, folder) or [])


def may_write(folder: Path) -> bool:
    """Return whether this process may create files in a folder."""
    return _disk.may_write(folder)


def now() -> float:
    """Return the time in s since 1970, by the clock that dates files; it may jump."""
    return _disk.now()


def make_folder(path: Path) -> None:
    """Create a folder and the folders above it, unless they exist."""
    with _writing(path):
        _make_folder(path)


def _make_folder(path: Path) -> None:
    try:
        if _disk.facts(path).is_folder:
            return
    except FileNotFoundError:
        _make_folder(path.parent)
    try:
        _disk.make_folder(path)
    except FileExistsError:
        if not _disk.facts(path).is_folder:
            raise
    _disk.sync_folder(path.parent)


def write(path: Path, content: bytes | str, *, executable: bool = False) -> None:
    """Replace a file atomically: after a failure or a power cut it has the old content or the new one.

    When the function has returned, the new content is on the medium.
    """
    with _writing(path), _temporary(path, content, 0o777 if executable else 0o666) as temporary:
        _disk.rename(temporary, path)
        _disk.sync_folder(path.parent)


def create(path: Path, content: bytes | str, *, durable: bool = True) -> bool:
    """Create a file with its content in one step; return False if it exists.

    With `durable` the file is on the medium when the function has returned True.

    If several processes or machines create the same file, exactly one gets True. On a file system without
    hard links, readers may see incomplete content.
    """
    with _writing(path), _temporary(path, content, durable=durable) as temporary:
        try:
            _disk.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            try:
                _disk.write(path, _bytes(content), exclusive=True)
            except FileExistsError:
                return False
            if durable:
                _disk.sync(path)
        if durable:
            _disk.sync_folder(path.parent)
        return True


def append(path: Path, line: str) -> None:
    """Add a line to a file; after an incomplete line of a killed process it begins a new one."""
    with _writing(path):
        try:
            torn = not (_disk.read(path) or b"\n").endswith(b"\n")
        except FileNotFoundError:
            torn = False
        _disk.append(path, f"{chr(10) * torn}{line}\n".encode())
        _disk.sync(path)
        _disk.sync_folder(path.parent)


def rename(source: Path, target: Path) -> None:
    """Rename a file durably; replace the target."""
    with _writing(source):
        _disk.rename(source, target)
        _disk.sync_folder(target.parent)


def remove(path: Path, *, durable: bool = True) -> None:
    """Remove a file, if it exists; with `durable` it stays removed after a power cut."""
    with _writing(path), contextlib.suppress(FileNotFoundError):
        _disk.unlink(path)
        if durable:
            _disk.sync_folder(path.parent)


def touch(path: Path) -> None:
    """Set the time of the last change of a file to now, by the clock of its file system."""
    with _writing(path):
        _disk.touch(path)


def modified(path: Path) -> float | None:
    """Return the time of the last change of a file, s since 1970 by the clock of its file system; or None."""
    found = _facts(path)
    return None if found is None else found.modified


def remove_folder(path: Path) -> bool:
    """Remove a folder if it is empty; return whether it was removed."""
    try:
        _disk.remove_folder(path)
    except OSError:
        return False
    return True


def lock(path: Path) -> Callable[[], None] | None:
    """Lock a file against other processes; return the function that unlocks it, None if it is locked.

    The file is created if necessary, and stays. The kernel releases the lock of a process that ends.
    """
    with _writing(path):
        return _disk.lock(path)


@contextlib.contextmanager
def _temporary(
    path: Path, content: bytes | str, mode: int = 0o666, *, durable: bool = True
) -> Iterator[Path]:
    """Write a temporary file beside `path`; remove it at the end, if it still exists."""
    temporary = path.with_name(f".{path.name}.{_disk.owner()}{SUFFIX}")
    try:
        _disk.write(temporary, _bytes(content), mode=mode)
        if durable:
            _disk.sync(temporary)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            _disk.unlink(temporary)


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


def remove_stale(folder: Path, seconds: float) -> None:
    """Remove the temporary files of killed processes: those that have not changed for `seconds`."""
    for name in names(folder):
        path = folder / name
        if name.startswith(".") and name.endswith(SUFFIX) and (age(path) or 0.0) > seconds:
            with contextlib.suppress(OSError):
                _disk.unlink(path)
