"""A User Mode Linux: starts it with a job in a folder, waits for its end.

Nothing but the command line, the seed and the files that it reads decides what it does: the clock is virtual
and starts at a fixed date, addresses are not randomised, and ``preload.so`` replaces the host's random
numbers. The kernel mixes its command line into its random numbers, so that is the same for every run: the
guest finds the run's folder as ``/proc/self/cwd``.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import sojourn
from sojourn.errors import InputError, RunFailed
from sojourn.worlds.kernel.build import cache

#: Date at the start of every run, ns since 1970 (14 November 2023).
DATE = 1_700_000_000_000_000_000
ADDR_NO_RANDOMIZE = 0x0040000
#: Runs the machine. When standard input is closed, because this process has ended in any way, it kills the
#: group, with the processes of the machine.
SUPERVISOR = 'exec 3<&0; env -i "$@" 3<&- & run=$!; (read _ <&3; kill -KILL 0) & wait $run'
COMMAND_LINE = (
    "time-travel=inf-cpu",
    f"time-travel-start={DATE}",
    "uml_dir=./",
    "umid=machine",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "init=/proc/self/cwd/init",
    "con=null",
    "con0=null,fd:1",
    "con1=null",
    "ssl=null",
)


class Kernel(NamedTuple):
    """A kernel that ``make kernel`` has built."""

    folder: Path
    description: dict[str, Any]


def installed() -> Kernel | None:
    """Return the kernel of this user, or None if there is none."""
    folder = (cache() / "current").resolve()
    if not (folder / "preload.so").exists():  # there is none, or an earlier version built it
        return None
    try:
        description = json.loads((folder / "build.json").read_text(encoding="utf-8"))
    except OSError:
        return None
    return Kernel(folder, description)


def require() -> Kernel:
    """Return the kernel of this user.

    Raises
    ------
    InputError
        If there is none.
    """
    kernel = installed()
    if kernel is None:
        raise InputError("world 'kernel':", "there is no kernel yet", "`make kernel` builds it")
    return kernel


class Machine:
    """A machine that runs the job in a folder.

    Parameters
    ----------
    folder : Path
        With the job; the results are written to it.
    seed : int
        Of the kernel's random numbers.
    memory : int
        MiB.
    """

    def __init__(self, folder: Path, seed: int, memory: int) -> None:
        kernel, self.folder = require(), folder
        self.cpu_seconds = 0.0
        init = folder / "init"
        init.write_text(_script(folder), encoding="utf-8")
        init.chmod(0o755)
        environment = {
            "HOME": ".",
            "SOJOURN_SEED": str(seed),
            "LD_PRELOAD": str(kernel.folder / "preload.so"),
        }
        words = [f"{name}={value}" for name, value in environment.items()]
        program = [str(kernel.folder / "linux"), *COMMAND_LINE, f"mem={memory}M"]
        log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", SUPERVISOR, "machine", *words, *program],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_fix_addresses,
        )
        log.close()

    def finished(self) -> bool:
        """Return whether it has ended.

        Raises
        ------
        RunFailed
            If it ended without results; with the reason.
        """
        if self._process.returncode is None:
            number, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if number == 0:
                return False
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = usage.ru_utime + usage.ru_stime
            self._end()
            self._check()
        return True

    def elapsed(self) -> int:
        """Return the virtual time since the start of the traffic, ns."""
        try:
            return max(0, int((self.folder / "elapsed").read_text(encoding="ascii")))
        except (OSError, ValueError):
            return 0

    def _check(self) -> None:
        failed = sorted([*self.folder.glob("error"), *self.folder.glob("failed.*")])
        if failed:
            last = failed[0].read_text(encoding="utf-8").strip().splitlines()[-1]
            raise RunFailed(f"the kernel's hosts failed: {last}")
        if not (self.folder / "results.json").exists():
            lines = (self.folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            words = (line for line in lines if "panic" in line or "Error: " in line)
            reason = next(words, lines[-1] if lines else "no output")
            raise RunFailed(f"the kernel ended early: {reason}")

    def close(self) -> None:
        """End it, and all its processes."""
        if self._process.returncode is None:
            self._end()
            self._process.wait()

    def _end(self) -> None:
        """Kill the processes of the group: the supervisor's reader at least."""
        assert self._process.stdin is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stdin.close()


def _script(folder: Path) -> str:
    """Return the first program of the machine, which finds Python's modules where this process does."""
    path = shlex.quote(":".join(one for one in sys.path if one))
    package = Path(sojourn.__file__).parent
    # Importing the packages themselves would import everything, which is slow there.
    code = (
        "import runpy, sys, types\n"
        f"for name, path in (('sojourn', ''), ('sojourn.worlds', '/worlds')):\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        f"    sys.modules[name].__path__ = [{str(package)!r} + path]\n"
        "runpy.run_module('sojourn.worlds.kernel.guest', run_name='__main__', alter_sys=True)\n"
    )
    return (
        f"#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH={path}\n"
        f"export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1\n"
        f"exec {shlex.quote(sys.executable)} -c {shlex.quote(code)} {shlex.quote(str(folder))}\n"
    )


def _fix_addresses() -> None:
    """Before the program starts: no random addresses."""
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
