"""``sojourn demo``: a first result without a scenario: three queues on a home link, and a paper's figure."""

from __future__ import annotations

from pathlib import Path

from sojourn.cli.common import note, progress, resumable
from sojourn.cli.options import Out, Workers
from sojourn.cli.run import write_report
from sojourn.terminal import show

#: The folder of the result.
FOLDER = Path("results/demo")


def demo(out: Out = None, workers: Workers = None) -> None:
    """Compare three queues on a home link and re-run a paper's figure; write results/demo, or --out."""
    from sojourn import demo as first
    from sojourn import report

    folder = out or FOLDER
    with resumable(), progress("raqm2005") as move:
        found = first.simulate(folder, workers=workers, progress=move, announce=note)
    write_report(found.comparison.results, found.comparison)
    path = report.write(first.document(found, folder), folder / "report.html")
    show(first.for_whom(found.comparison).replace("**", ""))
    note(f"Open {path} in a browser.")
