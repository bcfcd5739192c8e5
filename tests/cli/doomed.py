"""The command line, which signals itself when RUNS runs are on disk: ``doomed.py SIGNAL RUNS WORDS...``

A kill from outside comes when the machine lets it, perhaps after the end. This one comes at a moment that is
counted, and the worst: SIGKILL when the next file is written but not yet named, others when the last has just
got its name.
"""

import os
import signal
import sys
from pathlib import Path

from sojourn.cli import main
from sojourn.runner import execute


def doom(number: signal.Signals, whole: int) -> None:
    """Send this process a signal once that many files with runs are complete."""
    rename = Path.replace
    named = 0

    def replace(self: Path, target: Path) -> Path:
        nonlocal named
        if target.parent.name != "runs":
            return rename(self, target)
        named += 1
        if number == signal.SIGKILL and named > whole:
            os.kill(os.getpid(), number)
        done = rename(self, target)
        if number != signal.SIGKILL and named == whole:
            os.kill(os.getpid(), number)
        return done

    Path.replace = replace  # type: ignore[assignment, method-assign]
    execute.POLL_S = execute.FLUSH_S = 0.0  # a file for each run, however fast they are


if __name__ == "__main__":
    doom(signal.Signals[sys.argv[1]], int(sys.argv[2]))
    del sys.argv[1:3]  # the command repeats itself when it says how to go on
    main()
