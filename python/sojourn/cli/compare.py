"""``sojourn compare``: which algorithm is better on a scenario, and how sure is that."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sojourn.api import default_directory, plan
from sojourn.cli.common import (
    Dask,
    File,
    Json,
    Out,
    Serial,
    Workers,
    executor,
    note,
    print_json,
    progress,
    resumable,
)
from sojourn.cli.run import write_report
from sojourn.errors import InputError
from sojourn.spec.scenario import load
from sojourn.study.compare import compare as compare_algorithms


def compare(
    file: File,
    aqm: Annotated[
        list[str],
        typer.Option(
            "--aqm", metavar="SPEC", help="Algorithm at the measured queue; two or more.", show_default=False
        ),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="SPEC",
            help="What the others are compared with [default: the first].",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="What is compared, with that of --sort; several [default: utilization, goodput, queue, "
            "delay and its p99, drops, marks, fairness].",
            show_default=False,
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            metavar="METRIC",
            help="Order of the table, best first [default: the first --metric, or mean_delay_s].",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="Number of seeds.")] = 10,
    seed_from: Annotated[int, typer.Option("--seed-from", metavar="K", help="The first seed.")] = 1,
    until_ci: Annotated[
        str | None,
        typer.Option(
            "--until-ci",
            metavar="SHARE",
            help="Add seeds until each interval is this narrow, like 5%.",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="METRIC",
            help="What --until-ci watches; several [default: that of --sort].",
            show_default=False,
        ),
    ] = None,
    most_seeds: Annotated[int, typer.Option("--most-seeds", metavar="N", help="Limit of --until-ci.")] = 200,
    out: Out = None,
    json: Json = False,
    workers: Workers = None,
    serial: Serial = False,
    dask: Dask = None,
) -> None:
    """Compare algorithms on a scenario, paired by seed; say what is better, worse, or not shown to differ."""
    from sojourn.cli.table import show_comparison

    scenario = load(file)
    share = None if until_ci is None else _share(until_ci)
    specs = list(dict.fromkeys(point.spec for point in plan(scenario, aqm, seeds, seed_from)))
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
            out=out if out is not None else default_directory(scenario, specs),
            progress=move,
            command=["sojourn", *sys.argv[1:]],
            metrics=metric or (),
        )
    for warning in comparison.results.warnings:
        note(f"sojourn: warning: {warning}")
    if json:
        print_json(comparison.to_json())
    else:
        show_comparison(comparison)
    if comparison.looks:
        note(_took(comparison.looks, most_seeds, comparison.level))
    note(f"report: {write_report(comparison.results)}")


def _share(text: str) -> float:

    number, percent, rest = text.partition("%")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if rest or not value > 0:
        raise InputError("until-ci", f"= {text!r} is no share", "like 5% or 0.05")
    return value / 100 if percent else value


def _took(looks: tuple[int, ...], most: int, level: float) -> str:
    after = ", ".join(map(str, looks))
    why = "the limit" if looks[-1] == most else "narrow enough"
    return (
        f"seeds: {looks[-1]} ({why}); looked after {after}; "
        f"intervals of {100 * level:.2f} % keep 95 % over all looks"
    )
