"""Every file of every kind of results folder: what it holds, and its columns with types, units and codes.

`write` puts this description into a folder as ``schema.json``; ``docs/reference/files.md`` is generated from
it. The columns of records are in `sojourn.record.tables`, the units of metrics in `sojourn.metrics`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import _core, files
from sojourn.metrics import METRICS
from sojourn.record.tables import (
    CWND,
    DELIVERIES,
    DROPS,
    FLOW_SERIES,
    FLOWS,
    LINKS,
    LOSS_PERIODS,
    OBJECTS,
    ONE_WAY_DELAYS,
    PACKETS,
    PAGES,
    QUEUE,
    ROUND_TRIPS,
    SEGMENTS,
    SERIES,
    Column,
)

#: The description of a folder, in the folder.
SCHEMA = "schema.json"
#: The version of the format of `SCHEMA`.
FORMAT = 1


@dataclass(frozen=True)
class File:
    """A file, or files of the same form.

    Attributes
    ----------
    path : str
        Path in the folder; ``*`` and words in capitals stand for any text.
    format : str
        ``Parquet``, ``CSV``, ``JSON``, ``JSON lines``, ``TOML``, ``HTML``, ``Markdown``, ``SVG`` or ``text``.
    meaning : str
        What it holds; of a table, what a row is.
    columns : tuple of Column
        The columns of a table, or the keys of a JSON object.
    """

    path: str
    format: str
    meaning: str
    columns: tuple[Column, ...] = ()


def _text(name: str, meaning: str, optional: bool = False) -> Column:
    return Column(name, "text", meaning, is_optional=optional)


def _whole(name: str, meaning: str) -> Column:
    return Column(name, "int64", meaning)


def _part(name: str, meaning: str, columns: Sequence[Column]) -> Column:
    return Column(name, "struct", meaning, is_optional=True, fields=_lists(columns))


def _histogram(name: str, meaning: str) -> Column:
    fields = (
        Column("edges_ns", "list of uint64", "lower edges of buckets", "ns"),
        Column("counts", "list of uint64", "packets in each", "packets"),
    )
    return Column(name, "struct", meaning, is_optional=True, fields=fields)


RUN_ID = _text("run_id", "hash of the inputs of the run: plan, algorithm, seed, version of the core")
SPEC = _text("aqm", "algorithm, as canonical spec")
METRIC = Column(
    "METRIC",
    "float64",
    "one column per metric, null where it is unknown; `metrics` has the units, and prefixes as in "
    "`queues.NAME.`, `classes.NUMBER.`, `phases.NAME.` and `TRAFFIC.` name what it is of",
)


def _lists(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns of a table as fields of a structure of lists."""
    return tuple(
        Column(one.name, f"list of {one.type}", one.meaning, one.unit, one.codes, one.null) for one in columns
    )


RUNS = File(
    "runs/*.parquet",
    "Parquet",
    "one row per finished run: inputs, metrics and the record without its tables over time",
    (
        RUN_ID,
        SPEC,
        _text("world", "simulated, real, fluid or shell"),
        _text("core_version", "version of the core"),
        _text("metrics_version", "hash of the formulas of the metrics"),
        _text("reduced", "version of further metrics and warnings of the world; null: none"),
        _text("plan", "resolved scenario as JSON: integers in ns, bit/s and bytes"),
        _text("metrics", "names of the metrics of the row, in order, as JSON"),
        _text("traces", "names of the stored tables over time, as JSON; null: none were stored"),
        Column("seed", "uint64", "seed of all random numbers"),
        _text("hash", "SHA-256 of the row, independent of Parquet"),
        METRIC,
        Column("window", "list of uint64", "begin and end of the measured window", "ns"),
        Column("events", "uint64", "events that the simulator handled"),
        _text("fast_path", "whether the simulator took its fast path, or why not"),
        Column("queues", "list of struct", "counters of each queue, the measured one first", fields=QUEUE),
        Column(
            "phases",
            "list of struct",
            "counters of the measured queue in each phase",
            is_optional=True,
            fields=QUEUE,
        ),
        Column("flows", "struct", "one entry per flow", fields=_lists(FLOWS)),
        Column("objects", "struct", "one entry per finite transfer", fields=_lists(OBJECTS)),
        Column("pages", "struct", "one entry per page of web traffic", fields=_lists(PAGES)),
        _part("segments", "one entry per segment of a video", SEGMENTS),
        _part("deliveries", "one entry per source of datagrams", DELIVERIES),
        _part("one_way_delays", "histograms of one-way delays", ONE_WAY_DELAYS),
        _part("round_trips", "histograms of round-trip times of datagrams", ROUND_TRIPS),
        _part("loss_periods", "how many datagrams were lost in a row", LOSS_PERIODS),
        _part("links", "one entry per impaired direction of a link", LINKS),
        _text("hosts", "counters of real hosts, as JSON", optional=True),
        _histogram("lateness", "histogram of the lateness of real packets"),
        _histogram("waiting", "histogram of the time that real packets waited before they were read"),
    ),
)
QUEUE_SAMPLES = File(
    "traces/RUN_ID.parquet",
    "Parquet",
    "one row per queue and sample (`trace.interval`)",
    (
        _text("queue", "name of the queue"),
        Column("time_ns", "uint64", "time since the start of the run", "ns"),
        *SERIES,
        Column(
            "probe.NAME",
            "float64",
            "state of the algorithm: `sojourn explain ALGORITHM` has the units; `class_NUMBER_packets`: "
            "packets of a traffic class in the queue",
            is_optional=True,
        ),
    ),
)
TRACES = (
    QUEUE_SAMPLES,
    File(
        "traces/RUN_ID.drops.parquet",
        "Parquet",
        "one row per drop at the measured queue (`trace.drops`)",
        DROPS,
    ),
    File(
        "traces/RUN_ID.cwnd.parquet",
        "Parquet",
        "one row per change of a congestion window (`trace.cwnd`)",
        CWND,
    ),
    File(
        "traces/RUN_ID.packets.parquet",
        "Parquet",
        "one row per packet event at the measured queue (`trace.packets`)",
        PACKETS,
    ),
    File(
        "traces/RUN_ID.flow_series.parquet",
        "Parquet",
        "one row per sample of an active flow (`trace.flows`)",
        FLOW_SERIES,
    ),
)
SCHEMA_FILE = File(SCHEMA, "JSON", "this description")
ROWS = File(
    "rows.parquet",
    "Parquet",
    "one row per run of the result, from which its id follows",
    (RUN_ID, _text("hash", "SHA-256 of the row of the run")),
)
FAILURES = File(
    "failures.jsonl",
    "JSON lines",
    "one line per failed run",
    (
        RUN_ID,
        SPEC,
        _whole("seed", "seed of all random numbers"),
        _text("reason", "why it failed"),
        _text("repeat", "command that repeats the run"),
    ),
)
SCENARIO = File("scenario.toml", "TOML", "the scenario, for `sojourn run`")
REPORT = File("report.html", "HTML", "the report")
MANIFEST = File("manifest.json", "JSON", "versions, command, seeds, machine, status, id")
LEASES = File("leases/*", "text", "runs that a process executes now; removed when they finish")
CODE = (
    File(
        "code/*/code.json",
        "JSON",
        "one per class in Python: name, hashes of its files, versions of Python and packages",
    ),
    File("code/*/*", "text", "the files of the class: source, local modules, declared data files"),
)
DATA = (
    File(
        "data/files.json",
        "JSON",
        "the data files of the scenario, such as traces of a rate: name there, copy, SHA-256",
    ),
    File("data/*", "text", "the copies, which the scenarios of the folder read"),
)
COMMON = (RUNS, ROWS, FAILURES, LEASES, SCHEMA_FILE, *CODE, *DATA)
EXPERIMENT = (
    _text("experiment_id", "experiment of the paper"),
    _text("reading", "how an unclear point of the paper is read; empty: as assumed"),
    _text("arm", "arm of the experiment"),
    SPEC,
    _whole("seed", "seed of all random numbers"),
    _text("run_id", f"{RUN_ID.meaning}; empty: calculated"),
    METRIC,
)
_HALF = "half-width of the 95 % interval over the seeds, in the unit of the metric; null: unknown"
_KEY = Column(
    "KEY",
    "text",
    "one column per varied key: int64 or float64 if all its values are numbers without a unit, else the text "
    "of the plan",
    is_optional=True,
)
KINDS: dict[str, tuple[File, ...]] = {
    "run": (*COMMON, *TRACES, SCENARIO, MANIFEST, REPORT),
    "sweep": (
        *COMMON,
        File("sweep.toml", "TOML", "the plan, complete"),
        File("cells/*.toml", "TOML", "each combination as a scenario for `sojourn run`"),
        File(
            "runs.parquet",
            "Parquet",
            "one row per run of the complete sweep",
            (_KEY, SPEC, _whole("seed", "seed of all random numbers"), RUN_ID, METRIC),
        ),
        File(
            "summary.parquet",
            "Parquet",
            "one row per combination, algorithm and metric of the complete sweep",
            (
                _KEY,
                SPEC,
                _text("metric", "name of the metric"),
                Column("mean", "float64", "mean over the seeds, in the unit of the metric"),
                Column("ci95", "float64", _HALF),
                Column("n", "uint32", "seeds with a value"),
            ),
        ),
        MANIFEST,
        REPORT,
        File("README.md", "Markdown", "what the folder holds"),
        File("job.sh", "text", "SLURM job script"),
    ),
    "tune": (
        *COMMON,
        SCENARIO,
        File("tune.json", "JSON", "settings of the search, versions, command, status, id"),
        File(
            "trials.parquet",
            "Parquet",
            "one row per trial",
            (
                _whole("trial", "number of the trial, from 0"),
                SPEC,
                _text("state", "finished, or why it was ended earlier"),
                _whole("seeds", "number of seeds"),
                Column("METRIC", "float64", "mean of each objective over the seeds"),
                Column("on_front", "bool", "whether no other trial is at least as good in every objective"),
                Column(
                    "METRIC_by_seed", "list of float64", "values of each objective and limit, seed by seed"
                ),
            ),
        ),
        File("confirm/*", "folder", "the confirmation: a folder of the kind `run`"),
        REPORT,
    ),
    "compare-worlds": (
        SCENARIO,
        MANIFEST,
        SCHEMA_FILE,
        File(
            "worlds.json",
            "JSON",
            "the numbers of the report: metrics in both worlds, and the points of the grid",
        ),
        File("simulated*/*", "folder", "the simulated runs: folders of the kind `run`"),
        File("WORLD/*", "folder", "the runs of the other world: a folder of the kind `run`"),
        REPORT,
    ),
    "reproduce": (
        *COMMON,
        *TRACES,
        MANIFEST,
        REPORT,
        File("metrics.parquet", "Parquet", "one row per run and use of it in the paper", EXPERIMENT),
        File(
            "claims.csv",
            "CSV",
            "one row per claim of the paper and world",
            (
                _text("claim_id", "id of the claim"),
                _text("world", "where it was judged: simulated, fluid, analytic or real"),
                _text("experiment_id", "experiment of the paper"),
                _text("verdict", "reproduced, not reproduced or undecided"),
                Column("effect", "float64", "effect, in the unit of `measure`"),
                Column("ci_low", "float64", "lower end of its 95 % interval"),
                Column("ci_high", "float64", "upper end"),
                Column("published", "float64", "the same number in the paper"),
                _whole("n", "seeds"),
                _text("assumptions", "ids of the assumptions that it rests on"),
                _text("reason", "why it is undecided"),
                _text("measure", "what the effect is, with its unit"),
                _text("claimed", "what the paper claims about it"),
                Column("p", "float64", "p-value"),
                Column("p_holm", "float64", "p-value after Holm's correction"),
                Column("holm_changes", "bool", "whether the correction changes the verdict"),
                _text("sensitivity", "verdict under each other reading"),
                _text("flips", "readings under which the verdict differs"),
                _text("statement", "the claim in words"),
                _text("run_seconds", "durations of its runs, in s"),
                _whole("met", "parts of the claim that hold"),
                _whole("parts", "parts of the claim"),
                _text("cause", "reason of a contradiction, if known"),
                _text("standing", "verdict over all readings"),
            ),
        ),
        File(
            "published.csv",
            "CSV",
            "one row per number that the paper prints",
            (
                _text("table_or_figure", "where the paper prints the number"),
                _text("experiment_id", "experiment of the paper"),
                _text("algorithm", "algorithm, as named in the paper"),
                _text("parameter_set", "its setting"),
                _text("metric", "what the number is"),
                _text("unit", "its unit, also of ours"),
                _text("statistic", "mean, deviation, or another"),
                Column("published", "float64", "the number of the paper, in its unit"),
                Column("ours", "float64", "ours"),
                Column("ours_ci95", "float64", "half-width of the 95 % interval over the seeds"),
                _whole("n", "seeds"),
                Column("ratio", "float64", "ours divided by the published number"),
                _text("reason", "id of the reason why they differ by more than 25 %"),
                _text("why", "its words, or why there is no counterpart"),
                _text("note", "remark on the number"),
            ),
        ),
        File("summary.md", "Markdown", "the result in words and tables"),
        File("figures/*.svg", "SVG", "figures of the summary"),
    ),
    "search": (
        *COMMON,
        MANIFEST,
        REPORT,
        File("search.json", "JSON", "readings, their scores, and single claims"),
        File("search.md", "Markdown", "the same in words and tables"),
    ),
    "evaluate": (
        SCHEMA_FILE,
        MANIFEST,
        REPORT,
        File("evaluation.toml", "TOML", "the evaluated algorithm, and whether the runs are short"),
        File("CASE/*", "folder", "each case of a scenario, as `S6-50ms`: a folder of the kind `run`"),
        File("fair/*", "folder", "the fair comparison over target delays: a folder of the kind `run`"),
        File("sensitivity/*", "folder", "half and twice each parameter: a folder of the kind `run`"),
        File("figures/*", "PDF", "the figures of the report, with `--pdf`"),
    ),
    "shell": (
        *COMMON,
        *TRACES,
        File("link.toml", "TOML", "the link"),
        File(
            "progress.csv",
            "CSV",
            "counters of a session that is running or was killed; one row per queue and time: after 1, 2, "
            "4, ... s, then each minute",
            (
                Column("seconds", "float64", "time since the start", "s"),
                _text("queue", "name of the queue"),
                *(
                    _whole(name, f"{meaning} since the start")
                    for name, meaning in (
                        ("arrivals", "packets that arrived"),
                        ("drops", "packets that were dropped"),
                        ("marks", "packets that were marked"),
                        ("departures", "packets that departed"),
                        ("departed_bytes", "their bytes"),
                    )
                ),
                Column("mean_delay_s", "float64", "mean queueing delay of the packets that departed", "s"),
                _whole("waiting", "packets in the queue"),
            ),
        ),
        MANIFEST,
        REPORT,
    ),
}


def schema(kind: str) -> dict[str, Any]:
    """Return the description of a kind of folder as JSON data.

    Examples
    --------
    >>> [one["path"] for one in schema("tune")["files"]][:3]
    ['runs/*.parquet', 'rows.parquet', 'failures.jsonl']
    """
    return {
        "format": FORMAT,
        "kind": kind,
        "version": _core.VERSION,
        "files": [
            {
                "path": one.path,
                "format": one.format,
                "meaning": one.meaning,
                **({"columns": [_column(column) for column in one.columns]} if one.columns else {}),
            }
            for one in KINDS[kind]
        ],
        "metrics": {
            name: {"label": one.label, "unit": one.unit, "formula": one.formula, "better": one.better}
            for name, one in METRICS.items()
        },
    }


def _column(one: Column) -> dict[str, Any]:
    found: dict[str, Any] = {"name": one.name, "type": one.type, "unit": one.unit, "meaning": one.meaning}
    if one.codes:
        found["codes"] = {str(code): word for code, word in one.codes.items()}
    if one.null is not None:
        found["null"] = one.null
    if one.is_optional:
        found["optional"] = True
    if one.fields:
        found["fields"] = [_column(part) for part in one.fields]
    return found


def text(kind: str, more: Mapping[str, Any] | None = None) -> str:
    """Return the description of a kind of folder as text; `more` is added to it."""
    return json.dumps({**schema(kind), **(more or {})}, indent=1, ensure_ascii=False) + "\n"


def write(directory: Path, kind: str, more: Mapping[str, Any] | None = None) -> None:
    """Write ``schema.json`` into a folder; `more` is added to it."""
    files.write(directory / SCHEMA, text(kind, more))
