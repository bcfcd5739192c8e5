"""Run the command line, which signals itself when RUNS runs are on disk: ``doomed.py SIGNAL RUNS WORDS...``

The time of an external kill depends on the load of the machine. This signal is sent at the most critical
point: SIGKILL after the next file is written and before it is renamed, any other immediately after the
rename of the last file.
"""

import os
import signal
import sys
from pathlib import Path

from sojourn.cli import main
from sojourn.runner import execute


def doom(number: signal.Signals, whole: int) -> None:
    """Send this process a signal when this number of files with runs is complete."""
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
    execute.POLL_S = execute.FLUSH_S = 0.0  # one file per run, even for short runs


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a test run under nohup ignores it
    doom(signal.Signals[sys.argv[1]], int(sys.argv[2]))
    del sys.argv[1:3]  # the printed command to continue is made from argv
    main()
