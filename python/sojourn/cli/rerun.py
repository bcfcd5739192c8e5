"""``sojourn rerun``: repeats every run of a folder from what is stored in it, and compares bit for bit."""

from __future__ import annotations

from sojourn.cli.common import note, permit_code, print_json, progress, resumable
from sojourn.cli.options import AllowCode, Json, Workers
from sojourn.cli.verify import Runs, code_lines, measure_of, note_differences
from sojourn.study.rerun import Rerun
from sojourn.study.rerun import rerun as repeat_directory
from sojourn.terminal import show


def rerun(
    directory: Runs,
    json: Json = False,
    workers: Workers = None,
    allow_code: AllowCode = False,
) -> None:
    """Repeat every run of a folder from what is stored in it. Compare bit for bit; write nothing.

    The exit code is 1 if a value differs, or if a run cannot be repeated. Stored Python code runs only with
    --allow-code.
    """
    permit_code(allow_code)
    with resumable(), progress(f"rerun {directory}") as move:
        done = repeat_directory(directory, workers, measure_of(directory), move)
    if json:
        print_json(done.to_json())
    else:
        for line in _lines(done):
            show(line)
    note_differences(done.found)
    if not done.is_equal:
        note("sojourn: the results were not confirmed")
        raise SystemExit(1)


def _lines(done: Rerun) -> list[str]:
    found = done.found
    lines = [f"repeated: {found.repeated} of {done.runs} runs", *code_lines(found)]
    lines += [f"not repeated: {count} runs {reason}" for reason, count in found.skipped.items()]
    lines.append(f"differences: {len(found.differences)}")
    if found.id:
        lines.append(f"id: {found.id}")
    return lines
