"""A User Mode Linux: starts it with a job in a folder, waits for its end.

Nothing but the command line, the seed and the files that it reads decides what it does: the clock is virtual
and starts at a fixed date, addresses are not randomised, and ``getrandom.so`` replaces the host's random
numbers. The kernel mixes its command line into its random numbers, so that is the same for every run: the
guest finds the run's folder as ``/proc/self/cwd``.
"""

from __future__ import annotations

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
ADDR_NO_RANDOMIZE, PR_SET_PDEATHSIG = 0x0040000, 1
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
        package = Path(sojourn.__file__).parent.parent
        init = folder / "init"
        init.write_text(
            f"#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH={shlex.quote(str(package))}\n"
            f"export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1\n"
            f"exec {shlex.quote(sys.executable)} -m sojourn.worlds.kernel.guest {shlex.quote(str(folder))}\n",
            encoding="utf-8",
        )
        init.chmod(0o755)
        environment = {
            "HOME": ".",
            "SOJOURN_SEED": str(seed),
            "LD_PRELOAD": str(kernel.folder / "getrandom.so"),
        }
        log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            [kernel.folder / "linux", *COMMAND_LINE, f"mem={memory}M"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_prepare,
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
            panic = next((line for line in lines if "panic" in line), lines[-1] if lines else "no output")
            raise RunFailed(f"the kernel ended early: {panic}")

    def close(self) -> None:
        """End it, and all its processes."""
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _prepare() -> None:
    """Before the program starts: no random addresses, and the end of this process ends it."""
    library = ctypes.CDLL(None)
    library.personality(ADDR_NO_RANDOMIZE)
    library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
