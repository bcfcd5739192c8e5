"""``sojourn compare``: differences between algorithms on a scenario, with intervals and p-values."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sojourn.api import default_directory, plan
from sojourn.cli.common import (
    executor,
    note,
    note_memory,
    permit_code,
    progress,
    resumable,
    warn,
    with_warmup,
)
from sojourn.cli.emit import emit
from sojourn.cli.options import (
    AllowCode,
    Baseline,
    CheckPhase,
    Compared,
    Dask,
    Export,
    File,
    Json,
    Metric,
    Out,
    RetryFailed,
    SeedFrom,
    Seeds,
    Serial,
    To,
    Warmup,
    Workers,
)
from sojourn.cli.run import note_phase, write_report
from sojourn.cli.summaries import of_comparison
from sojourn.errors import InputError
from sojourn.runner.leases import retry
from sojourn.spec.plan import queues
from sojourn.spec.scenario import Scenario, load
from sojourn.study.compare import Comparison
from sojourn.study.compare import compare as compare_algorithms
from sojourn.study.phase import jittered


def compare(
    file: File,
    aqm: Compared = None,
    baseline: Baseline = None,
    metric: Metric = None,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            metavar="METRIC",
            help="Metric that orders the table, best first [default: the first --metric, or mean_delay_s].",
            show_default=False,
        ),
    ] = None,
    seeds: Seeds = 10,
    seed_from: SeedFrom = 1,
    warmup: Warmup = None,
    to: To = None,
    until_ci: Annotated[
        str | None,
        typer.Option(
            "--until-ci",
            metavar="SHARE",
            help="Add seeds until the half-width of each interval is this share of the mean, like 5%.",
            show_default=False,
        ),
    ] = None,
    until_difference: Annotated[
        str | None,
        typer.Option(
            "--until-difference",
            metavar="METRIC",
            help="Add seeds until each difference from the baseline in this metric is shown.",
            show_default=False,
        ),
    ] = None,
    until_equivalent: Annotated[
        str | None,
        typer.Option(
            "--until-equivalent",
            metavar="SHARE",
            help="Add seeds until each difference is shown, or shown to be within this share of the "
            "baseline's mean, like 2%.",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="METRIC",
            help="Metric that --until-ci applies to; repeatable [default: that of --sort].",
            show_default=False,
        ),
    ] = None,
    most_seeds: Annotated[
        int, typer.Option("--most-seeds", metavar="N", help="Limit of the --until options.")
    ] = 200,
    out: Out = None,
    json: Json = False,
    export: Export = None,
    workers: Workers = None,
    serial: Serial = False,
    dask: Dask = None,
    check_phase: CheckPhase = False,
    retry_failed: RetryFailed = False,
    allow_code: AllowCode = False,
) -> None:
    """Compare algorithms on a scenario, paired by seed. Each is better, worse, or not shown to differ."""
    permit_code(allow_code, aqm or [], [baseline or ""], metric)
    scenario = load(file)
    with resumable(), executor(workers, serial, dask) as maker:
        scenario = with_warmup(scenario, warmup, aqm, maker, to)
    share = None if until_ci is None else share_of("until-ci", until_ci)
    margin = None if until_equivalent is None else share_of("until-equivalent", until_equivalent)
    aqm = aqm or usual(scenario)
    wanted = plan(scenario, aqm, seeds, seed_from)
    specs = list(dict.fromkeys(point.spec for point in wanted))
    if check_phase:
        jittered(scenario, seeds)
    folder = out if out is not None else default_directory(scenario, specs)
    note_memory(wanted, workers)
    if retry_failed:
        retry(folder)
    with resumable(), executor(workers, serial, dask) as maker, progress(scenario.name) as move:
        comparison = compare_algorithms(
            scenario,
            specs,
            baseline,
            sort,
            seeds,
            seed_from,
            share,
            on or (),
            most_seeds,
            executor=maker,
            out=folder,
            progress=move,
            command=["sojourn", *sys.argv[1:]],
            metrics=metric or (),
            until_difference=until_difference,
            until_equivalent=margin,
            announce=note,
        )
    if check_phase:
        note_phase(comparison.results, (*comparison.metrics, "jain_index"), workers)
    warn(comparison.results.warnings)
    emit(of_comparison(comparison), json, export)
    if comparison.looks:
        note(_seeds_used(comparison, share))
    elif (sentence := comparison.forecast()) is not None:
        note(sentence)
    if comparison.pairing:
        note(comparison.pairing)
    for line in comparison.results.notes:
        note(line)
    note(f"report: {write_report(comparison.results, comparison)}")
    note(f"id: {comparison.results.id}")


def share_of(option: str, text: str) -> float:
    """Return the share that an option gives, like 5% or 0.05."""
    number, percent, rest = text.partition("%")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if rest or not value > 0:
        raise InputError(option, f"= {text!r} is not a share", "like 5% or 0.05")
    return value / 100 if percent else value


def _seeds_used(comparison: Comparison, share: float | None) -> str:
    looks = comparison.looks
    after = ", ".join(map(str, looks))
    if share is not None:
        needed = comparison.needed(share)
        narrow = needed <= looks[-1]
        why = "intervals are narrow enough" if narrow else f"the limit; {needed} were needed"
        how = f"the first {comparison.first} set the number and the half-widths"
    else:
        why = "every difference is decided" if comparison.is_decided else "the limit"
        level = f"{100 * comparison.level:.2f} % intervals"
        how = f"tests after {after}, each with {level}, so that all of them together keep 95 %"
    return f"seeds: {looks[-1]} ({why}); {how}"


def usual(scenario: Scenario) -> list[str]:
    """Return the algorithms that are compared by default: the scenario's beside three that are common."""
    own = queues(scenario)[scenario.measured].aqm
    return list(dict.fromkeys(["droptail", own, "codel", "fq_codel"]))
