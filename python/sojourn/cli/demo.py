"""``sojourn demo``: re-run the experiments of a paper with short runs, a first result without a scenario."""

from __future__ import annotations

from pathlib import Path

from sojourn.cli.common import note
from sojourn.cli.options import Out, Workers
from sojourn.cli.reproduce import reproduce

#: The paper that is re-run, and the folder of the result.
PAPER, FOLDER = "raqm2005", Path("results/demo")


def demo(out: Out = None, workers: Workers = None) -> None:
    """Re-run the RAQM paper with short runs; write the report into results/demo, or into --out."""
    folder = out or FOLDER
    reproduce(PAPER, quick=True, out=folder, workers=workers)
    note(f"Open {folder / 'report.html'} in a browser.")
