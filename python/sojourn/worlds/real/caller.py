"""The user who called ``sudo``: programs run as this user, and results belong to this user."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Caller:
    """An ordinary user on whose behalf this process, which is root, acts."""

    name: str
    uid: int
    gid: int

    def become(self) -> None:
        """Become this user permanently."""
        os.initgroups(self.name, self.gid)
        os.setgid(self.gid)
        os.setuid(self.uid)


def caller() -> Caller | None:
    """Return the user who called sudo; None if this process is not root by sudo."""
    name = os.environ.get("SUDO_USER")
    if os.getuid() != 0 or not name or name == "root":
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Caller(name, entry.pw_uid, entry.pw_gid)


@contextlib.contextmanager
def given_to_caller(*places: Path) -> Iterator[None]:
    """Make new files at or below `places`, and new parent folders, belong to the user who called sudo."""
    user = caller()
    if user is None:
        yield
        return
    tops = [
        next((one for one in (*reversed(place.parents), place) if not one.exists()), place)
        for place in places
    ]
    before = _inodes(tops)
    try:
        yield
    finally:
        for path in _inodes(tops).items() - before.items():
            os.chown(path[0], user.uid, user.gid, follow_symlinks=False)


def _inodes(tops: Sequence[Path]) -> dict[Path, int]:
    """Return the inode number of every existing path at or below `tops`; a replaced file has another one."""
    every = (path for top in tops if top.exists() for path in (top, *top.rglob("*")))
    return {path: path.lstat().st_ino for path in every}
