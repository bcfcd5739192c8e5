"""``sojourn tune``: searches parameters for a link, or ranks a table of settings by the papers' rank rule."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sojourn.algorithms.builtin import parameters
from sojourn.cli.common import executor, note, note_memory, permit_code, progress, resumable, warn
from sojourn.cli.complete import metrics
from sojourn.cli.emit import emit
from sojourn.cli.options import (
    AllowCode,
    Aqm,
    Baseline,
    Dask,
    Export,
    Json,
    Lists,
    Out,
    Ranges,
    RetryFailed,
    SeedFrom,
    Seeds,
    Serial,
    Workers,
    path_of,
    scenario_file,
)
from sojourn.cli.output import Output
from sojourn.cli.rank_table import notes, ranking_json, ranking_table, standings_json, standings_table
from sojourn.cli.run import write_report
from sojourn.cli.sweep import pair, specs_of
from sojourn.errors import InputError
from sojourn.runner.code import require_permission
from sojourn.runner.leases import retry
from sojourn.runner.point import points
from sojourn.spec.aqm_spec import Spec, canonical
from sojourn.spec.plan import measured, queues
from sojourn.spec.scenario import Scenario, load
from sojourn.study.axes import cells, listed, spaced
from sojourn.study.compare import resolve_metric
from sojourn.study.significance import Requirement, Standings
from sojourn.study.tune.advice import findings, line, sentences
from sojourn.study.tune.model import AIMS, CONFIRM, SIGNIFICANCE, Tune, Tuned
from sojourn.study.tune.ranking import Objective, Ranking, read_table, read_ties, weighted
from sojourn.study.tune.run import tune as run_tune
from sojourn.study.tune.search_space import dimensions

TABLES = (".csv", ".parquet")


def tune(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A scenario, as TOML; or a table of settings to rank, .csv or .parquet.",
            show_default=False,
            parser=scenario_file,
        ),
    ],
    aqm: Aqm = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME[:higher|lower][:WEIGHT]",
            help="Objective; repeatable [default: mean_delay_s, drop_ratio, utilization].",
            show_default=False,
            autocompletion=metrics,
        ),
    ] = None,
    ranges: Ranges = None,
    lists: Lists = None,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="RULE", help="search (Optuna), or rank (every setting of a grid or list)."
        ),
    ] = "search",
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Settings to try for each algorithm.")
    ] = 40,
    seeds: Seeds = 6,
    seed_from: SeedFrom = 1,
    confirm: Annotated[
        int, typer.Option("--confirm", metavar="N", help="Held-out seeds that validate the best.")
    ] = 20,
    best: Annotated[
        int, typer.Option("--best", metavar="N", help="Number of best settings to validate.")
    ] = 1,
    baseline: Baseline = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            metavar="LIMIT",
            help="Requirement, like 'utilization >= 99%' or 'p99_delay <= 20ms'; repeatable.",
            show_default=False,
        ),
    ] = None,
    rank: Annotated[
        str | None,
        typer.Option(
            "--rank",
            metavar="RULE",
            help="Order of the settings: significance (wins minus losses), or the sum of rank weights: "
            "literal (2^rank) or printed (0, 2, 4, 6, 8, 2^(rank - 2)) [default: significance; of a table: "
            "literal].",
            show_default=False,
        ),
    ] = None,
    ties: Annotated[
        Path | None,
        typer.Option(
            "--ties",
            metavar="FILE",
            help="With a table: the order of tied settings, as TOML.",
            show_default=False,
            parser=path_of("--ties", "a TOML file"),
        ),
    ] = None,
    sums: Annotated[
        str | None,
        typer.Option(
            "--sums",
            metavar="COLUMN",
            help="With a table: compare the rank sums with this column.",
            show_default=False,
        ),
    ] = None,
    places: Annotated[
        str | None,
        typer.Option(
            "--places",
            metavar="COLUMN",
            help="With a table: compare the places with this column.",
            show_default=False,
        ),
    ] = None,
    sampler_seed: Annotated[
        int, typer.Option("--sampler-seed", metavar="K", help="Seed of the search itself.")
    ] = 1,
    out: Out = None,
    json: Json = False,
    export: Export = None,
    workers: Workers = None,
    serial: Serial = False,
    dask: Dask = None,
    retry_failed: RetryFailed = False,
    allow_code: AllowCode = False,
) -> None:
    """Find parameters for a link. Try settings, validate the best on held-out seeds, recommend one."""
    if file.suffix in TABLES:
        for name, given in (("aqm", aqm), ("-P", ranges), ("-L", lists), ("out", out)):
            if given:
                raise InputError(
                    str(file), f"is a table: no simulation runs, so {name} has no effect", "a scenario"
                )
        if require:
            raise InputError("--require", "is for a scenario, not for a table", "only rows that meet it")
        wanted = [Objective.parse(one) for one in metric or ()]
        _rank_table(file, wanted, rank or "literal", ties, best, sums, places, json, export)
        return
    for option, value in (("ties", ties), ("sums", sums), ("places", places)):
        if value is not None:
            raise InputError(option, "is for a table of settings", "a .csv or .parquet file")

    permit_code(allow_code, aqm, [baseline or ""], specs_of(lists))
    scenario = load(file)
    aims = [weighted(_resolved(scenario, "metric", one)) for one in metric or AIMS]
    objectives = [one for one, _ in aims]
    requirements = [Requirement.parse(_resolved(scenario, "--require", one)) for one in require or ()]
    plan = _plan(scenario, aqm or [], objectives, ranges or [], lists or [], by)
    numbers = {"trials": trials, "seeds": seeds, "seed_from": seed_from, "confirm": confirm, "best": best}
    rules = {"rank": rank or SIGNIFICANCE, "weights": [one for _, one in aims], "requirements": requirements}
    plan = _with(plan, baseline, sampler_seed=sampler_seed, **rules, **numbers)
    folder = out if out is not None else plan.default_directory
    note_memory(points(scenario, plan.aqms, [seed_from]), workers, verbose=True)
    if retry_failed:
        for one in (folder, folder / CONFIRM):
            retry(one)
    with resumable(), executor(workers, serial, dask) as maker, progress(scenario.name) as move:
        tuned = run_tune(plan, folder, move, ["sojourn", *sys.argv[1:]], maker)
    warn(tuned.comparison.results.warnings)
    emit(of_tuned(tuned), json, export)
    note(f"report: {write_tuned(tuned)}")
    note(f"id: {tuned.id}")


def _plan(
    scenario: Scenario, aqms: list[str], aims: list[Objective], ranges: list[str], lists: list[str], by: str
) -> Tune:
    specs = list(dict.fromkeys(canonical(one) for one in aqms))
    specs = specs or [canonical(queues(scenario)[measured(scenario)].aqm)]
    require_permission(points(scenario, specs, [1]))
    if by != "rank":
        spans = [pair(one) if " " in one.strip() or "=" in one else (one.strip(), "") for one in ranges]
        values = [pair(one) for one in lists]
        queue = queues(scenario)[measured(scenario)]
        spaces = {str(one): dimensions(one, spans, values, queue.limit, bool(queue.ecn)) for one in specs}
        return Tune(scenario, specs, aims, spaces, rule=by)
    axes = []
    for text, make in [*((one, spaced) for one in ranges), *((one, listed) for one in lists)]:
        key, values_ = pair(text)
        if key.split(".")[0] not in ("aqm", *_parameters(specs)):
            raise InputError(
                key,
                "is not a parameter of the algorithm",
                "only parameters of the algorithm; to vary the scenario use sweep",
            )
        axes.append(make(key if key.startswith("aqm") else f"aqm.{key}", values_))
    every = dict.fromkeys(spec for cell in cells(scenario, specs, axes) for spec in cell.specs)
    return Tune(scenario, list(every), aims, {}, baseline=specs[0].split()[0] if axes else specs[0], rule=by)


def _resolved(scenario: Scenario, key: str, words: str) -> str:
    """Return an objective or a requirement with the full name of its metric."""
    name = re.split(r"[:<>=\s]", words.strip(), maxsplit=1)[0]
    return resolve_metric(scenario, key, name) + words.strip()[len(name) :]


def _parameters(specs: Sequence[Spec]) -> set[str]:
    return {one["name"] for spec in specs for one in parameters(spec.name)}


def _with(plan: Tune, baseline: str | None, **changes: object) -> Tune:
    if baseline is not None:
        changes["baseline"] = canonical(baseline)
    return replace(plan, **changes)  # type: ignore[arg-type]


def _rank_table(
    file: Path,
    wanted: list[Objective],
    weight: str,
    ties: Path | None,
    best: int,
    sums: str | None,
    places: str | None,
    json: bool,
    export: list[Path] | None,
) -> None:
    values = read_table(file)
    if not wanted:
        columns = ", ".join(next(iter(values.values())))
        raise InputError(
            "metric", "is missing: the columns to rank, each with its better direction", f"of {columns}"
        )
    ranking = Ranking(values, wanted, weight, () if ties is None else read_ties(ties))
    table = ranking_table(ranking, is_of_runs=False)
    data = ranking_json(ranking, best, sums, places)
    emit(Output(table.title, [table], data, notes(ranking, best, sums, places)), json, export)


def of_tuned(tuned: Tuned) -> Output:
    """Return the ranking of the settings, and the recommendation for each algorithm."""
    results, baseline = tuned.comparison.results, tuned.comparison.baseline
    stopped = sum(trial.state == "stopped" for trial in tuned.trials)
    what = (
        "on the Pareto front" if len(tuned.plan.objectives) > 1 and tuned.plan.rule == "search" else "ranked"
    )
    ranking, best = tuned.ranking, tuned.plan.best
    if isinstance(ranking, Standings):
        table, ranked = standings_table(ranking), standings_json(ranking, best)
        said = [f"best: {', '.join(ranking.order[:best])}"]
    else:
        table, ranked = ranking_table(ranking, is_of_runs=True), ranking_json(ranking, best, None, None)
        said = notes(ranking, best)
    said.append(f"settings: {len(tuned.trials)} tried, {stopped} stopped early, {len(ranking.order)} {what}")
    recommended = []
    for spec in tuned.chosen:
        written = line(tuned, spec)
        words = sentences(tuned, spec)
        said += ["", *words]
        recommended.append(
            {
                "aqm": spec,
                "aims": [one._asdict() for one in findings(results, spec, baseline, tuned.plan.objectives)],
                "tc": None if written is None else str(written),
                "tc_notes": [] if written is None else written.notes,
                "words": words,
            }
        )
    data = {
        "plan": tuned.plan.facts(),
        "trials": tuned.table().to_dicts(),
        "ranking": ranked,
        "recommended": recommended,
    }
    return Output(table.title, [table], data, said)


def write_tuned(tuned: Tuned) -> Path:
    """Write the report of the search and that of the confirmation."""
    from sojourn import report

    assert tuned.directory is not None
    write_report(tuned.comparison.results)
    path = tuned.directory / "report.html"
    return report.write(report.for_tuned(tuned), path)
