"""Run a command that downloads; if the network is missing, print one line.

    python tools/online.py COMMAND [ARGUMENT ...]

The exit code is that of the command; 2 if the network is missing, or with OFFLINE=1 something in wheelhouse/.
"""

import os
import re
import subprocess
import sys

#: Messages of pip, cargo and git if a server cannot be reached.
NO_NETWORK = re.compile(
    r"connection broken by|Max retries exceeded|Temporary failure in name resolution|Network is unreachable"
    r"|[Cc]ould not resolve host|Couldn't resolve host|Failed to connect to|failed to download from"
    r"|spurious network error|download of config\.json failed"
)
#: Their messages if a file is missing that they must not download.
NO_FILE = re.compile(
    r"No matching distribution found|no matching package (?:named|found)|--offline was specified"
)
CURE = (
    "files cannot be downloaded: there is no network; on a machine with network, run `make wheelhouse` in "
    "this version of the project, copy wheelhouse/ into this folder, then: make demo OFFLINE=1"
)
MISFIT = (
    "wheelhouse/ lacks a file; it fits only the version of the project, the Python version and the kind of "
    "machine that it was made with: run `make wheelhouse` again on such a machine"
)


def reason(output: str, is_offline: bool) -> str | None:
    """Return one line about the missing network or file; None if the command failed for another reason."""
    if is_offline:
        return MISFIT if NO_FILE.search(output) else None
    return CURE if NO_NETWORK.search(output) else None


def main(command: list[str]) -> int:
    """Run `command`; return the exit code."""
    # Inherited descriptors are make's job server.
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, close_fds=False)
    missing = reason(done.stderr, bool(os.environ.get("OFFLINE"))) if done.returncode else None
    sys.stderr.write(done.stderr if missing is None else f"{missing}\n")
    return done.returncode if missing is None else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
