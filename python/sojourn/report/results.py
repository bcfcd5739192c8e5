"""The report of ``sojourn run``: metrics, traces over time, parameters, provenance."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from sojourn import plots, worlds
from sojourn.format import quantity
from sojourn.metrics import METRICS, display, label, shown
from sojourn.plots.theme import labels
from sojourn.report import live
from sojourn.report.document import (
    Block,
    Code,
    Column,
    Columns,
    Document,
    Fact,
    Facts,
    Figure,
    Note,
    Section,
    Table,
    Text,
)
from sojourn.report.lab import lab
from sojourn.report.over_time import Registry, known_algorithms, over_time, set_values
from sojourn.report.verdict import of_runs
from sojourn.spec.scenario import Scenario
from sojourn.spec.senders import senders
from sojourn.stats import mean_ci


class ResultsLike(Protocol):
    """The part of `sojourn.results.Results` that a report reads.

    Also read if present: ``scenario`` (name, note, source, conventions, ``to_toml()``), ``manifest`` (a
    mapping), ``notes`` (sequence of str), and ``distribution("delay")`` (columns aqm, seed, delay_s, count:
    lower edges and counts).
    """

    @property
    def runs(self) -> pl.DataFrame:
        """Columns aqm, seed, run_id and one per metric."""

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about the runs."""

    def summary(self) -> pl.DataFrame:
        """Columns aqm, metric, unit, mean, ci95, n."""

    def trace(self, what: str = "queue", aqm: str | None = None, seed: int | None = None) -> pl.DataFrame:
        """Columns aqm, seed, time_s and the values."""


def for_results(results: ResultsLike, registry: Registry | None = None) -> Document:
    """Build the report of one scenario under several algorithms and seeds.

    Parameters
    ----------
    results
        The results of ``sojourn.run`` or of ``Results.open(directory)``.
    registry
        Algorithms by name, as ``sojourn._core.algorithms()`` describes them; read from there if ``None``.

    Returns
    -------
    Document
        To be passed to `sojourn.report.render` or `sojourn.report.write`.
    """
    scenario = getattr(results, "scenario", None)
    manifest: Mapping[str, Any] = getattr(results, "manifest", None) or {}
    specs = list(dict.fromkeys(results.runs["aqm"].to_list()))
    seeds = results.runs["seed"].unique().sort().to_list()
    summary = results.summary()
    name = str(getattr(scenario, "name", "") or manifest.get("name") or "Results")
    real_time = worlds.find(manifest.get("world", worlds.DEFAULT)).real_time
    sections = [
        Section("Results", [*_results(results, summary, specs), *_warnings(results)]),
        Section("Over time", over_time(results, specs, seeds, registry)),
        Section("Queueing delay", _waiting(results, specs, seeds, real_time)),
        Section("Completion times", _completion_times(results, specs)),
        Section("What if", lab(results, manifest)),
        Section("What was run", _what(scenario, specs, seeds, getattr(results, "fast_path", None))),
        Section("All metrics", _all_metrics(summary, specs)),
        Section("Parameters", parameters(specs, registry, str(getattr(scenario, "conventions", "")))),
        Section("How to repeat it", _repeat(results, scenario, manifest, seeds)),
    ]
    return Document(
        title=name,
        subtitle=str(getattr(scenario, "note", "") or ""),
        command=_command(manifest),
        kind="Run",
        verdict=of_runs(summary, specs),
        blocks=[section for section in sections if section.blocks],
        highlights=[
            (str(len(specs)), "algorithm" if len(specs) == 1 else "algorithms"),
            (str(len(seeds)), "seed" if len(seeds) == 1 else "seeds"),
            (str(results.runs.height), "run" if results.runs.height == 1 else "runs"),
        ],
        footer=f"Sojourn {manifest['version']}" if manifest.get("version") else "",
    )


#: Metrics that a table has side by side; with more, and `FEW` algorithms at most, each metric is a row.
MOST_COLUMNS, FEW = 9, 5


def metric_table(
    summary: pl.DataFrame,
    metrics: Sequence[str],
    caption: str = "",
    source: str = "",
) -> Table:
    """Return a summary with one algorithm per row and one metric per column, each with its interval.

    Parameters
    ----------
    summary
        Columns aqm, metric, unit, mean, ci95, as returned by ``Results.summary()``.
    metrics
        The columns; those that are unknown for every algorithm are left out.
    caption, source
        Caption and source of the table.

    Returns
    -------
    Table
        In the order of first appearance of the algorithms.
    """
    specs = pl.DataFrame({"aqm": list(dict.fromkeys(summary["aqm"].to_list()))}, schema={"aqm": pl.String})
    columns = {"aqm": Column("algorithm", kind="spec")}
    frame = specs
    for metric in metrics:
        rows = summary.filter(pl.col("metric") == metric)
        if rows["mean"].is_not_null().sum() == 0:
            continue
        half = f"{metric}_ci95"
        chosen = rows.select("aqm", pl.col("mean").alias(metric), pl.col("ci95").alias(half))
        frame = frame.join(chosen, on="aqm", how="left", maintain_order="left")
        columns[metric] = metric_column(metric, half)
    return Table(frame, caption, columns, source)


def metric_column(name: str, half_width: str = "", title: str = "") -> Column:
    """Return the column of a metric: its label, displayed unit and digits.

    Parameters
    ----------
    name
        Full name of the metric.
    half_width
        The column that holds the half-widths of its intervals.
    title
        Heading, if not the metric's label.

    Returns
    -------
    Column
        For `sojourn.report.Table`.
    """
    unit = display(name)
    return Column(title or label(name), unit.unit, half_width, unit.factor)


def _what(scenario: object, specs: Sequence[str], seeds: Sequence[int], fast_path: str | None) -> list[Block]:
    to_toml = getattr(scenario, "to_toml", None)
    if to_toml is None:
        return []
    plan = tomllib.loads(str(to_toml()))
    dumbbell, queue = plan.get("dumbbell", {}), plan.get("queue", {})
    run: dict[str, Fact] = {
        "scenario": plan.get("name"),
        "source": plan.get("source"),
        "duration": plan.get("duration"),
        "warm-up": plan.get("warmup"),
        "conventions": plan.get("conventions"),
        "seeds": _range(seeds),
        "fast path": fast_path,
    }
    link = plan.get("link")
    shell = link if isinstance(link, Mapping) else {}  # `sojourn shell` has one link and its settings
    net: dict[str, Fact] = {
        "bottleneck": ", ".join(str(dumbbell[k]) for k in ("rate", "delay") if k in dumbbell) or None,
        "links": len(link) if link and not shell else None,
        **{key.replace("_", " "): _option(value) for key, value in shell.items()},
        "buffer": queue.get("limit"),
        "measured queue": plan.get("measure", {}).get("queue"),
        "traffic": [_traffic(entry) for entry in plan.get("traffic", [])] or None,
        "TCP": senders(scenario) if isinstance(scenario, Scenario) else None,
        "algorithms": ", ".join(specs),
    }
    shown = [{k: v for k, v in facts.items() if v} for facts in (run, net)]
    return [Columns([Facts(facts) for facts in shown if facts])]


def _option(value: object) -> str:
    """Return an option of `sojourn shell` as text; empty if it is not set."""
    if value is None or value == []:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _traffic(entry: Mapping[str, Any]) -> str:
    count = entry.get("count", 1)
    words = [f"{count} ×"] if count != 1 else []
    words.append(str(entry.get("kind", "")))
    words += [str(entry[key]) for key in ("variant", "rate", "arrivals") if key in entry]
    name = entry.get("name")
    return f"{name}: {' '.join(words)}" if name else " ".join(words)


def _range(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(str(seed) for seed in seeds)


def _warnings(results: ResultsLike) -> list[Block]:
    return remarks(results.warnings, getattr(results, "notes", ()))


def remarks(warnings: Sequence[str], notes: Sequence[str]) -> list[Block]:
    """Return each warning, and all notes as one remark."""
    found: list[Block] = [Note(one, "warning") for one in warnings]
    if len(notes) > 1:
        return [*found, Note("\n".join(f"- {one}" for one in notes))]
    return [*found, *(Note(one) for one in notes)]


def _results(results: ResultsLike, summary: pl.DataFrame, specs: Sequence[str]) -> list[Block]:
    """Return the picture and the table of the main metrics, those of the terminal."""
    marked = summary.filter((pl.col("metric") == "mark_ratio") & (pl.col("mean") > 0)).height > 0
    metrics = [m for m in main_metrics(results) if m != "mark_ratio" or marked]
    n = summary["n"].max()
    caption = _means(n) + " The queue is the measured one, from the end of the warm-up to the end of the run."
    found: list[Block] = []
    drawn = [m for m in shown("bars") if _known(summary, m)]
    if len(specs) > 1 and drawn:
        figure = plots.bars(summary, drawn, columns=4, title="Main metrics by algorithm")
        found.append(
            Figure(
                figure,
                f"The main metrics by algorithm. {_means(n)} On the screen: any two metrics of every run; a "
                "dot is a seed, a ring the mean.",
                live=live.points(results.runs, specs),
            )
        )
    known = [name for name in metrics if _known(summary, name)]
    if len(known) > MOST_COLUMNS and len(specs) <= FEW:
        found.append(_metric_rows(summary, specs, known, caption))
    else:
        found.append(metric_table(summary, metrics, caption))
    return found


def main_metrics(results: ResultsLike) -> list[str]:
    """Return the metrics of the main table: those of the queue, then of each kind of traffic."""
    names = list(dict.fromkeys(results.summary()["metric"].to_list()))
    traffic = [one.name for one in getattr(getattr(results, "scenario", None), "traffic", ())]
    own = [f"{name}.{one}" for name in traffic for one in shown("traffic")]
    own = [
        one
        for one in own
        if len(traffic) > 1 or METRICS[one.rpartition(".")[2]].scope in ("objects", "pages")
    ]
    return [*shown("summary"), *(one for one in own if one in names)]


def _means(n: object) -> str:
    if isinstance(n, int) and n > 1:
        return f"Means over {n} seeds with 95 % intervals (Student’s t)."
    return "One seed only: no intervals. Differences may be due to chance."


def _waiting(
    results: ResultsLike, specs: Sequence[str], seeds: Sequence[int], real_time: bool
) -> list[Block]:

    distribution = getattr(results, "distribution", None)
    if distribution is None:
        return []
    frame: pl.DataFrame = distribution("delay")
    if frame.height == 0:
        return []
    over = f"all {len(seeds)} seeds" if len(seeds) > 1 else "one seed"
    data, kept = live.delays(frame, specs, seeds)
    return [
        Figure(
            plots.histogram(frame),
            "Queueing delay (start of service minus arrival): fraction of packets with at least this delay "
            f"(CCDF), {over}.{live.in_words(kept, seeds)}",
            live=data,
        ),
        *(_late(distribution("lateness")) if real_time else ()),
    ]


def _completion_times(results: ResultsLike, specs: Sequence[str]) -> list[Block]:
    """Return the distribution of completion times, and their percentiles by class of size."""
    objects, by_size = getattr(results, "objects", None), getattr(results, "by_size", None)
    if objects is None or by_size is None or not (transfers := objects()).height:
        return []
    runs = by_size()
    rows = [
        {"aqm": spec, "size": size, "count": own["count"].sum(), "unfinished": own["unfinished"].sum()}
        | {
            key: value
            for name in ("p50_s", "p95_s")
            for key, value in zip((name, f"{name}_ci95"), _over_seeds(own[name].to_list()), strict=True)
        }
        for size in dict.fromkeys(runs["size"].to_list())
        for spec in specs
        if (own := runs.filter((pl.col("aqm") == spec) & (pl.col("size") == size))).height
    ]
    columns = {
        "size": Column("size of the transfer", kind="text"),
        "aqm": Column("algorithm", kind="spec"),
        "count": Column("transfers"),
        "unfinished": Column("unfinished"),
        "p50_s": Column("median", "ms", "p50_s_ci95", 1e3),
        "p95_s": Column("95th percentile", "ms", "p95_s_ci95", 1e3),
    }
    caption = (
        "Completion times by size: mean over the seeds of each run's percentile, with 95 % intervals. "
        "Transfers that did not finish count as the longest; a dash: a seed's percentile is one of them."
    )
    return [
        Figure(
            plots.cdf(transfers, value="completion_time_s"),
            "Completion times of the transfers of all seeds; a curve with unfinished ones ends below 100 %.",
        ),
        Table(pl.DataFrame(rows, infer_schema_length=None), caption, columns),
    ]


def _over_seeds(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return mean and half-width, None if a value is: it is larger than all that are known."""
    return (None, None) if None in values else mean_ci(values)[:2]


def _late(frame: pl.DataFrame) -> list[Block]:
    """Return a sentence about the lateness of real packets, which is part of their delays."""
    if frame.height == 0:
        return []
    sums = frame.group_by("late_s").agg(pl.col("count").sum()).sort("late_s")
    share = sums.with_columns(share=pl.col("count").cum_sum() / pl.col("count").sum())
    words = [
        f"{1e6 * share.filter(pl.col('share') >= part)['late_s'][0]:.0f} µs ({name})"
        for part, name in ((0.5, "half of them"), (0.99, "99 of 100"), (0.999, "999 of 1000"))
    ]
    return [Text(f"The gateway sent real packets late, by about {', '.join(words)}.")]


def _all_metrics(summary: pl.DataFrame, specs: Sequence[str]) -> list[Block]:
    names = [m for m in dict.fromkeys(summary["metric"].to_list()) if _known(summary, m)]
    groups = {
        "Every metric of the measured queue and all its traffic.": [n for n in names if "." not in n],
        "Metrics by traffic and by transport.": [
            n for n in names if "." in n and not n.startswith("queues.")
        ],
        "Metrics of the other queues.": [n for n in names if n.startswith("queues.")],
    }
    dash = " A dash: unknown, or not applicable."
    return [_metric_rows(summary, specs, group, caption + dash) for caption, group in groups.items() if group]


def _metric_rows(summary: pl.DataFrame, specs: Sequence[str], names: Sequence[str], caption: str) -> Table:
    """Return one metric per row, one algorithm per column."""
    titles = labels(specs)
    frame = pl.DataFrame(
        {
            "metric": names,
            "label": [label(name) for name in names],
            "unit": [display(name).unit for name in names],
            "factor": [display(name).factor for name in names],
        }
    )
    columns = {"metric": Column("metric", kind="code"), "label": Column("label")}
    for i, spec in enumerate(specs):
        mean, half = f"mean {i}", f"half {i}"
        rows = summary.filter(pl.col("aqm") == spec).select(
            "metric", pl.col("mean").alias(mean), pl.col("ci95").alias(half)
        )
        frame = frame.join(rows, on="metric", how="left", maintain_order="left").with_columns(
            pl.col(mean, half) * pl.col("factor")
        )
        columns[mean] = Column(titles[spec], half_width=half)
    return Table(frame, caption, columns, row_unit="unit")


def _known(summary: pl.DataFrame, metric: str) -> bool:
    return summary.filter((pl.col("metric") == metric) & pl.col("mean").is_not_null()).height > 0


def parameters(specs: Sequence[str], registry: Registry | None, conventions: str) -> list[Block]:
    """Return a table of the parameters of each algorithm: value, what set it, meaning, source."""
    registry = known_algorithms(registry)
    found: list[Block] = []
    titles = labels(specs)
    for spec in specs:
        name, values = set_values(spec)
        entry = registry.get(name)
        if entry is None:
            found.append(Text(f"**{titles[spec]}** (`{spec}`) is not in the registry."))
            continue
        if not entry["params"]:
            found.append(Text(f"**{titles[spec]}** (`{spec}`) has no parameters."))
            continue
        rows = [_parameter(p, values, conventions) for p in entry["params"]]
        found.append(
            Table(
                pl.DataFrame(
                    rows, schema=dict.fromkeys(("name", "value", "from", "meaning", "source"), pl.String)
                ),
                f"Parameters of {titles[spec]}, `{spec}`.",
                {
                    "name": Column("name", kind="code"),
                    "value": Column("value"),
                    "from": Column("set by"),
                    "meaning": Column("meaning"),
                    "source": Column("source of the default"),
                },
            )
        )
    return found


def _parameter(param: Mapping[str, Any], values: Mapping[str, Any], conventions: str) -> dict[str, str]:
    name = str(param["name"])
    if name in values:
        value, origin = _setting(values[name]), "the spec"
    elif conventions == "linux" and param.get("linux") is not None:
        value, origin = str(param["linux"]), "conventions linux"
    elif conventions.startswith("ns2") and param.get("ns2") is not None:
        of_2001 = param.get("ns2_2001") if conventions == "ns2-2001" else None
        value, origin = str(of_2001 or param["ns2"]), f"conventions {conventions}"
    else:
        value, origin = str(param["default"]), "derived" if param.get("derived") else "default"
    return {
        "name": name,
        "value": value,
        "from": origin,
        "meaning": str(param.get("doc") or ""),
        "source": str(param.get("source") or ""),
    }


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _command(manifest: Mapping[str, Any]) -> str:
    command = manifest.get("command", "")
    return command if isinstance(command, str) else " ".join(str(word) for word in command)


def _repeat(
    results: ResultsLike, scenario: object, manifest: Mapping[str, Any], seeds: Sequence[int]
) -> list[Block]:
    facts: dict[str, Fact] = {"seeds": [str(seed) for seed in seeds]}
    where: dict[str, Fact] = {}
    for key, value in manifest.items():
        if (
            key in {"command", "seeds", "name", "runs", "warnings", "aqms", "scenario", "status"}
            or value is None
            or value == []
        ):
            continue
        target = where if key in {"host", "platform", "cores", "python", "packages"} else facts
        if isinstance(value, Mapping):
            target.update(_fact(f"{key}: {inner}", v) for inner, v in value.items())
        else:
            target.update([_fact(key, value)])
    found: list[Block] = [Columns([Facts(facts), Facts(where)]) if where else Facts(facts)]
    to_toml = getattr(scenario, "to_toml", None)
    if to_toml is not None:
        found.append(Code(str(to_toml()), "The scenario as resolved (scenario.toml)"))
    ids = results.runs.select("aqm", "seed", "run_id") if "run_id" in results.runs.columns else None
    if ids is not None:
        columns = {
            "aqm": Column("algorithm"),
            "seed": Column(kind="seed"),
            "run_id": Column("run", kind="code"),
        }
        found.append(Table(ids, "Runs by their identity: scenario, algorithm, seed and version.", columns))
    return found


def _fact(key: str, value: object) -> tuple[str, Fact]:
    if key.endswith("_s") and isinstance(value, int | float) and not isinstance(value, bool):
        return key.removesuffix("_s").replace("_", " ") + " time", quantity(value, "s")
    return key.replace("_", " "), _scalar(value)


def _scalar(value: object) -> Fact:
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int | float):
        return value
    if isinstance(value, Sequence):
        return [str(item) for item in value]
    return str(value)
