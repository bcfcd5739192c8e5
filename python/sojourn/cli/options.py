"""Options and arguments that several commands share, each defined once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.complete import metrics, specs, varied, worlds
from sojourn.cli.export import EXPORTERS, check
from sojourn.errors import place
from sojourn.worlds import REGISTRY


def path_of(where: str, allowed: str) -> Callable[[str], Path]:
    """Return the parser of a path given as `where`; an empty path is refused."""

    def read(text: str) -> Path:
        return place(text, where, allowed)

    return read


def export_file(text: str) -> Path:
    """Parse a file of ``--export``."""
    return check(text)


scenario_file = path_of("FILE", "a scenario file")
File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="The scenario, as TOML.", show_default=False, parser=scenario_file),
]
#: Optional algorithms, for commands that use the scenario's by default; `Compared` is for comparisons.
Aqm = Annotated[
    list[str] | None,
    typer.Option(
        "--aqm",
        metavar="SPEC",
        help='Algorithm at the measured queue, like "codel target 5ms"; repeatable '
        "[default: the scenario's].",
        show_default=False,
        autocompletion=specs,
    ),
]
Compared = Annotated[
    list[str] | None,
    typer.Option(
        "--aqm",
        metavar="SPEC",
        help="Algorithm at the measured queue; two or more [default: droptail, the scenario's, codel, "
        "fq_codel].",
        show_default=False,
        autocompletion=specs,
    ),
]
Warmup = Annotated[
    str | None,
    typer.Option(
        "--warmup",
        "--from",
        metavar="SPAN",
        help="Warm-up instead of the scenario's, like 20s; auto: chosen by a pilot, the window "
        "keeps its length.",
        show_default=False,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="SPAN",
        help="End of the run instead of the scenario's: metrics are of the time from --from to this.",
        show_default=False,
    ),
]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", help="Number of seeds.")]
SeedFrom = Annotated[int, typer.Option("--seed-from", metavar="K", help="The first seed.")]
World = Annotated[
    str,
    typer.Option(
        "--world",
        metavar="W",
        help=f"World of the runs: {', '.join(REGISTRY)}. A world without seeds runs once.",
        autocompletion=worlds,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="SPEC",
        help="Algorithm that the others are compared with [default: the first].",
        show_default=False,
        autocompletion=specs,
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help="Metric to compare or show, also one of your own, like mine.py:p999; repeatable [default: the "
        "main ones].",
        show_default=False,
        autocompletion=metrics,
    ),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "-P",
        metavar="KEY RANGE",
        help="Vary a key over a range, like: dumbbell.rate 1Mbit/s:100Mbit/s:log5 (tune: a parameter of the "
        "algorithm, like: target 1ms:50ms:log, or without a range).",
        show_default=False,
        autocompletion=varied,
    ),
]
Lists = Annotated[
    list[str] | None,
    typer.Option(
        "-L",
        metavar="KEY VALUES",
        help="Vary a key over a list, like: queue.limit 50p,100p; aqm.target 5ms,20ms; aqm red,pie "
        "(tune: a parameter, like: gentle on,off).",
        show_default=False,
        autocompletion=varied,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder of the results [default: results/NAME-ID].",
        show_default=False,
        parser=path_of("--out", "a folder"),
    ),
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code", help="Execute the Python code that FILE names; without it only that of --aqm."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Export = Annotated[
    list[Path] | None,
    typer.Option(
        "--export",
        metavar="FILE",
        help=f"Also write the tables to a file: {', '.join(EXPORTERS)}; repeatable.",
        show_default=False,
        parser=export_file,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", help="Threads [default: all cores].", show_default=False),
]
CheckPhase = Annotated[
    bool,
    typer.Option(
        "--check-phase",
        help="Repeat one seed with 1 µs of send_jitter; warn about metrics that depend on exact times.",
    ),
]
RetryFailed = Annotated[
    bool,
    typer.Option("--retry-failed", help="Also execute the runs that ended their process twice."),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Also print whether the simulator took its fast path, or why not."),
]
Serial = Annotated[bool, typer.Option("--serial", help="Execute one run after the other, in this process.")]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Run on a Dask cluster: tcp://HOST:PORT, or local.",
        show_default=False,
    ),
]
