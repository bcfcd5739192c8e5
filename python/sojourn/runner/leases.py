"""Leases assign runs to processes, so that processes and machines with one directory share the work.

``leases/ID.N.lease`` is created exclusively before run ID starts, and removed when its row is stored; it
names its owner. If the owner is dead, another process takes the run over by creating number N + 1
exclusively, so that one of several succeeds. On the same machine an owner is dead if its process has ended.
On another machine (or in another PID namespace) it is dead if the file has not changed for `STALE_S`, by the
clock of the process that looks; a living owner touches its leases every `BEAT_S`. Clocks of two machines are
never compared.

A lease of a dead owner means that the run may have ended the process (out of memory, a crash). Such a run is
a suspect: it is executed last, and as long as there is one, every run gets a process of its own. After
`MOST_DEATHS` deaths a run is not executed any more, until `retry` removes its leases.
"""

from __future__ import annotations

import contextlib
import json
import platform
import re
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from sojourn import files
from sojourn.errors import SojournError
from sojourn.runner.owner import Owner, boot

FOLDER = "leases"
#: Deaths of owners or workers after which a run is not executed any more.
MOST_DEATHS = 2
#: Interval of touching a lease, and time without a touch after which its owner is considered dead, in s.
BEAT_S, STALE_S = 10.0, 60.0
#: Interval of polling a lease that another process holds, in s.
LOOK_S = 0.1
#: Attempts to create a lease.
ATTEMPTS = 5
_NAME = re.compile(r"([0-9a-z]+)\.(\d+)\.lease")
#: The lease of the directory's description has this text in place of the id of a run.
DIRECTORY = "directory"


class State(Enum):
    """A living process holds the lease; its owner is dead; the run is not executed any more."""

    HELD = "held"
    STALE = "stale"
    ENDED = "ended"


class Lease(NamedTuple):
    """The present lease of a run: its number, state, deaths of owners so far, and why it was given up."""

    number: int
    state: State
    deaths: int
    reason: str = ""


class Leases:
    """The leases of a directory, as one process sees and holds them.

    Use it as a context manager: at the end every lease that is held is released.
    """

    def __init__(self, directory: Path) -> None:
        self.folder = directory / FOLDER
        self._owner = Owner.here()
        self._held: dict[str, int] = {}
        #: Stamp of each lease whose owner cannot be seen, and when it was first seen with that stamp.
        self._looks: dict[str, tuple[float, float]] = {}
        #: Stamp and content of leases that were read; only a new stamp requires reading again.
        self._known: dict[str, tuple[float, dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._beating: threading.Thread | None = None
        self._end = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release what is held; remove the folder if it is empty."""
        self._end.set()
        if self._beating is not None and self._beating.ident is not None:
            self._beating.join()  # a process with a second thread cannot enter namespaces
        with contextlib.suppress(SojournError):  # an error before this one matters more
            self.release(list(self._held))
        files.remove_folder(self.folder)

    def survey(self) -> dict[str, Lease]:
        """Return the present lease of each run that has one and that this object does not hold."""
        are_dead: dict[Owner, bool | None] = {}
        judged = {
            run_id: self._judged(run_id, number, are_dead)
            for run_id, number in self._present().items()
            if run_id not in self._held
        }
        return {run_id: lease for run_id, lease in judged.items() if lease is not None}

    def look(self, run_id: str) -> Lease | None:
        """Return the present lease of one run, which this object does not hold."""
        number = self._present().get(run_id)
        return None if number is None else self._judged(run_id, number, {})

    def _present(self) -> dict[str, int]:
        """Return the highest number of each run that has a lease."""
        present: dict[str, int] = {}
        for name in files.names(self.folder):
            if found := _NAME.fullmatch(name):
                run_id, number = found[1], int(found[2])
                present[run_id] = max(number, present.get(run_id, 0))
        return present

    def _judged(self, run_id: str, number: int, are_dead: dict[Owner, bool | None]) -> Lease | None:
        """Judge a lease; `are_dead` caches the owners that were already checked in this survey."""
        path = self._path(run_id, number)
        stamp = files.modified(path)
        before, facts = self._known.get(path.name, (None, {}))
        if not facts or stamp != before:
            content = files.read(path)
            if content is None or stamp is None:
                return None  # released in the meantime
            facts = _facts(content)
            self._known[path.name] = stamp, facts
        deaths = int(facts.get("deaths", 0))
        if "reason" in facts:
            return Lease(number, State.ENDED, deaths, str(facts["reason"]))
        owner = None
        with contextlib.suppress(KeyError, TypeError):
            owner = Owner(**facts["owner"])
        if owner is not None and owner.name == self._owner.name:
            return Lease(number, State.STALE, deaths)  # left by a takeover that was undone
        if owner is not None and owner not in are_dead:
            are_dead[owner] = owner.is_dead()
        dead = None if owner is None else are_dead[owner]
        if dead is None:
            dead = stamp is not None and self._is_unchanged(path.name, stamp)
        if not dead:
            return Lease(number, State.HELD, deaths)
        if owner is not None and owner.host == platform.node() and owner.boot != boot():
            return Lease(number, State.STALE, deaths)  # the machine restarted, so the run is no suspect
        deaths += 1
        if deaths >= MOST_DEATHS:
            reason = f"the process that executed it ended, {deaths} times"
            return Lease(number, State.ENDED, deaths, reason)
        return Lease(number, State.STALE, deaths)

    def _is_unchanged(self, name: str, stamp: float) -> bool:
        """Return whether a lease has had the same stamp for `STALE_S`."""
        now = time.monotonic()
        before, since = self._looks.get(name, (None, now))
        if before != stamp:
            self._looks[name] = (stamp, now)
            return False
        return now - since > STALE_S

    def take(self, run_id: str, after: Lease | None = None) -> bool:
        """Take the lease of a run that has none, or take over the stale lease `after`.

        Returns False if another process was first.
        """
        number = 0 if after is None else after.number + 1
        deaths = 0 if after is None else after.deaths
        content = {"owner": asdict(self._owner), "deaths": deaths}
        path = self._path(run_id, number)
        if files.exists(path) or not _create(path, content):
            return False
        with self._lock:
            self._held[run_id] = number
        if self._beating is None:
            self._beating = threading.Thread(target=self._beat, name="sojourn-leases", daemon=True)
            # Without memory for the thread, other machines consider this process dead after `STALE_S`.
            with contextlib.suppress(RuntimeError):
                self._beating.start()
        return True

    def holds(self, run_id: str) -> bool:
        """Return whether this process still holds the lease of a run, and no other has taken it over."""
        number = self._held.get(run_id)
        if number is None or files.exists(self._path(run_id, number + 1)):
            return False
        owner = _facts(files.read(self._path(run_id, number)) or b"").get("owner")
        return isinstance(owner, dict) and owner.get("name") == self._owner.name

    def release(self, run_ids: Iterable[str]) -> None:
        """Release leases: their runs are stored, have failed, or are not executed."""
        for run_id in run_ids:
            with self._lock:
                number = self._held.pop(run_id, None)
            if number is not None:
                self._remove(run_id, number)

    def give_up(self, run_id: str, reason: str) -> None:
        """Record that a run is not to be executed any more, because it ended its processes."""
        with self._lock:
            number = self._held.pop(run_id)
        _create(self._path(run_id, number + 1), {"deaths": MOST_DEATHS, "reason": reason})

    def forget(self, run_id: str, lease: Lease) -> None:
        """Remove the leases of a run up to a stale one."""
        self._remove(run_id, lease.number)

    def _remove(self, run_id: str, number: int) -> None:
        for lower in range(number + 1):
            files.remove(self._path(run_id, lower), durable=False)

    def _path(self, run_id: str, number: int) -> Path:
        return self.folder / f"{run_id}.{number}.lease"

    def _beat(self) -> None:
        """Touch the held leases, so that other machines see that this process is alive."""
        while not self._end.wait(BEAT_S):
            with self._lock:
                held = list(self._held.items())
            for run_id, number in held:
                with contextlib.suppress(SojournError):
                    files.touch(self._path(run_id, number))


@contextlib.contextmanager
def describing(directory: Path) -> Iterator[None]:
    """Exclude other processes from the description of a directory (manifest, scenario) during the block."""
    files.make_folder(directory)  # an error names it, not its folder of leases
    with Leases(directory) as leases:
        while True:
            lease = leases.look(DIRECTORY)
            if (lease is None or lease.state is not State.HELD) and leases.take(DIRECTORY, lease):
                break
            time.sleep(LOOK_S / 10)
        yield


def retry(directory: Path) -> None:
    """Allow runs that were given up to be executed again; leases of living processes stay."""
    with Leases(directory) as leases:
        for run_id, lease in leases.survey().items():
            if lease.state is not State.HELD:
                leases.forget(run_id, lease)


def _create(path: Path, content: dict[str, Any]) -> bool:
    """Create a lease; return False if there is one.

    It need not survive a power cut, which also ends its owner.
    """
    for attempt in range(ATTEMPTS):
        try:
            files.make_folder(path.parent)
            return files.create(path, json.dumps(content), durable=False)
        except SojournError:
            # Another process may have removed the empty folder in between.
            if attempt == ATTEMPTS - 1:
                raise
    return False


def _facts(content: bytes) -> dict[str, Any]:
    """Return the content of a lease; empty if it is incomplete because its owner was killed or is writing."""
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
