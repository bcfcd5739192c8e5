"""An in-memory disk with faults, for simulations of the study layer (`test_faults`).

`Medium` is the file system: the data that processes see, and the data that survive a power cut. A name in a
folder survives after `sync_folder`, the content of a file after `sync`; of later changes a random part
survives. `Process` is one process on it: an implementation of `sojourn.files.Disk` in which one call, chosen
by its number, fails.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sojourn.files import Facts

START = 1.8e9


class Killed(BaseException):
    """The process was killed; all its later calls fail in the same way."""


@dataclass(eq=False)
class File:
    """A file: its content, and the content that is on the medium (None: there is none)."""

    content: bytes
    durable: bytes | None = None
    modified: float = START


@dataclass(eq=False)
class Folder:
    """A folder: its names, those on the medium, and the changes since it was synchronized."""

    names: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)
    changes: list[dict[str, Node | None]] = field(default_factory=list)
    modified: float = START

    def apply(self, change: dict[str, Node | None]) -> None:
        """Make a change that is not yet on the medium."""
        self.changes.append(change)
        _apply(self.names, change)


Node = File | Folder


def _apply(names: dict[str, Node], change: dict[str, Node | None]) -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Medium:
    """A file system that several processes share."""

    def __init__(self) -> None:
        self.root = Folder()
        self.locks: dict[Path, str] = {}
        self.clock = START

    def cut_power(self, draw: random.Random) -> None:
        """Lose data that are not on the medium: each change of a folder and each content at random."""
        self.locks.clear()
        _lose(self.root, draw)

    def find(self, path: Path) -> Node:
        """Return a file or folder."""
        node: Node = self.root
        for name in path.parts[1:]:
            if not isinstance(node, Folder):
                raise _error(errno.ENOTDIR, path)
            if name not in node.names:
                raise _error(errno.ENOENT, path)
            node = node.names[name]
        return node

    def files(self, path: Path = Path("/")) -> Iterator[tuple[Path, bytes]]:
        """Yield every file with its content."""
        node = self.find(path)
        for name, one in sorted(node.names.items()) if isinstance(node, Folder) else ():
            if isinstance(one, Folder):
                yield from self.files(path / name)
            else:
                yield path / name, one.content


def _lose(folder: Folder, draw: random.Random) -> None:
    names = dict(folder.durable)
    for change in folder.changes:
        if draw.random() < 0.5:
            _apply(names, change)
    folder.names, folder.durable, folder.changes = dict(names), dict(names), []
    for node in names.values():
        if isinstance(node, Folder):
            _lose(node, draw)
        elif node.content != node.durable:
            kept = node.content[: draw.randrange(len(node.content) + 1)]
            node.content = draw.choice([node.durable or b"", kept, bytes(len(kept)), node.content])
            node.durable = node.content


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), os.fspath(path))


#: Faults of one call; ``memory`` is a MemoryError. A failing call has no effect, except that a torn write
#: writes a part.
FAULTS = (
    "EIO",
    "ENOSPC",
    "EACCES",
    "EMFILE",
    "ESTALE",
    "memory",
    "torn",
    "kill before",
    "kill after",
    "power",
    "clock",
    "other",
)
#: Faults that do not apply to calls that only read: no space, and torn writes.
READING = {"read", "names", "facts", "now", "may_write"}


class Process:
    """A process whose call number `at` fails; without `at` none does.

    Parameters
    ----------
    medium : Medium
        The file system.
    draw : Random
        Draws the effect of a fault.
    at : int or None
        Number of the call, from 0.
    fault : str
        One of `FAULTS`.
    other : callable, optional
        The action of another process at this point, for the fault ``other``.
    name : str
        Name of the process.
    """

    def __init__(
        self,
        medium: Medium,
        draw: random.Random,
        at: int | None = None,
        fault: str = "EIO",
        other: Callable[[], None] = lambda: None,
        name: str = "host-1",
    ) -> None:
        self.medium, self.draw, self.at, self.fault, self.other = medium, draw, at, fault, other
        self.name = name
        self.calls = 0
        self.is_dead = False
        self.changed = False

    def _call(
        self, operation: str, path: Path, do: Callable[[], object], tear: Callable[[], object] | None = None
    ) -> None:
        if self.is_dead:
            raise Killed
        number, self.calls = self.calls, self.calls + 1
        if number != self.at:
            do()
        elif self.fault.startswith("E") and not (self.fault == "ENOSPC" and operation in READING):
            raise _error(getattr(errno, self.fault), path)
        elif self.fault == "torn" and tear is not None:
            tear()
            raise _error(errno.EIO, path)
        elif self.fault == "memory":
            raise MemoryError
        elif self.fault in ("kill before", "kill after", "power"):
            if self.fault == "kill after":
                do()
            elif tear is not None and self.draw.random() < 0.5:
                tear()
            self._die()
        else:
            if self.fault == "clock":
                self.medium.clock += self.draw.choice([-1, 1]) * self.draw.choice([1.0, 86400.0, 4e8])
            elif self.fault == "other":
                self.other()
            do()
        self.changed |= operation not in READING

    def _die(self) -> None:
        self.is_dead = True
        self.medium.locks = {path: name for path, name in self.medium.locks.items() if name != self.name}
        if self.fault == "power":
            self.medium.cut_power(self.draw)
        raise Killed

    def read(self, path: Path) -> bytes:
        found = b""

        def do() -> None:
            nonlocal found
            node = self.medium.find(path)
            if isinstance(node, Folder):
                raise _error(errno.EISDIR, path)
            found = node.content

        self._call("read", path, do)
        return found

    def write(self, path: Path, content: bytes, *, exclusive: bool = False, mode: int = 0o666) -> None:
        def put(part: bytes) -> None:
            folder = self._folder(path)
            node = folder.names.get(path.name)
            if isinstance(node, Folder):
                raise _error(errno.EISDIR, path)
            if node is not None and exclusive:
                raise _error(errno.EEXIST, path)
            if node is None:
                node = File(b"")
                folder.apply({path.name: node})
            node.content, node.modified = part, self.medium.clock

        torn = content[: self.draw.randrange(len(content) + 1)]
        self._call("write", path, lambda: put(content), lambda: put(torn))

    def append(self, path: Path, content: bytes) -> None:
        def put(part: bytes) -> None:
            folder = self._folder(path)
            node = folder.names.get(path.name)
            if node is None:
                node = File(b"")
                folder.apply({path.name: node})
            assert isinstance(node, File)
            node.content, node.modified = node.content + part, self.medium.clock

        torn = content[: self.draw.randrange(len(content) + 1)]
        self._call("append", path, lambda: put(content), lambda: put(torn))

    def sync(self, path: Path) -> None:
        def do() -> None:
            node = self.medium.find(path)
            assert isinstance(node, File)
            node.durable = node.content

        self._call("sync", path, do)

    def sync_folder(self, path: Path) -> None:
        def do() -> None:
            node = self.medium.find(path)
            assert isinstance(node, Folder)
            node.durable, node.changes = dict(node.names), []

        self._call("sync_folder", path, do)

    def rename(self, source: Path, target: Path) -> None:
        def do() -> None:
            folder = self._folder(source)
            assert source.parent == target.parent
            if source.name not in folder.names:
                raise _error(errno.ENOENT, source)
            folder.apply({source.name: None, target.name: folder.names[source.name]})

        self._call("rename", source, do)

    def link(self, source: Path, target: Path) -> None:
        def do() -> None:
            folder = self._folder(target)
            if target.name in folder.names:
                raise _error(errno.EEXIST, target)
            folder.apply({target.name: self.medium.find(source)})

        self._call("link", target, do)

    def unlink(self, path: Path) -> None:
        def do() -> None:
            self.medium.find(path)
            self._folder(path).apply({path.name: None})

        self._call("unlink", path, do)

    def make_folder(self, path: Path) -> None:
        def do() -> None:
            if path.name in self._folder(path).names:
                raise _error(errno.EEXIST, path)
            self._folder(path).apply({path.name: Folder(modified=self.medium.clock)})

        self._call("make_folder", path, do)

    def remove_folder(self, path: Path) -> None:
        def do() -> None:
            node = self.medium.find(path)
            if not isinstance(node, Folder) or node.names:
                raise _error(errno.ENOTEMPTY, path)
            self._folder(path).apply({path.name: None})

        self._call("remove_folder", path, do)

    def touch(self, path: Path) -> None:
        def do() -> None:
            self.medium.find(path).modified = self.medium.clock

        self._call("touch", path, do)

    def names(self, path: Path) -> list[str]:
        found: list[str] = []

        def do() -> None:
            node = self.medium.find(path)
            if not isinstance(node, Folder):
                raise _error(errno.ENOTDIR, path)
            found.extend(node.names)

        self._call("names", path, do)
        self.draw.shuffle(found)
        return found

    def facts(self, path: Path) -> Facts:
        found = Facts(0, 0.0, True)

        def do() -> None:
            nonlocal found
            node = self.medium.find(path)
            size = len(node.content) if isinstance(node, File) else 0
            found = Facts(size, node.modified, isinstance(node, Folder))

        self._call("facts", path, do)
        return found

    def may_write(self, path: Path) -> bool:
        if self.is_dead:
            raise Killed
        return True

    def lock(self, path: Path) -> Callable[[], None] | None:
        if self.is_dead:
            raise Killed
        if self.medium.locks.setdefault(path, self.name) != self.name:
            return None

        def unlock() -> None:
            self.medium.locks.pop(path, None)

        return unlock

    def now(self) -> float:
        return self.medium.clock

    def owner(self) -> str:
        return self.name

    def _folder(self, path: Path) -> Folder:
        node = self.medium.find(path.parent)
        if not isinstance(node, Folder):
            raise _error(errno.ENOTDIR, path)
        return node
