"""The report of ``sojourn tune``: the recommendation, the tried settings, and how one was chosen."""

from __future__ import annotations

import polars as pl

from sojourn import plots
from sojourn.format import capitalized
from sojourn.metrics import display, heading, label
from sojourn.report.document import Block, Code, Column, Document, Facts, Figure, Section, Table, Text
from sojourn.report.over_time import set_values
from sojourn.report.results import metric_column
from sojourn.study.significance import RELATIVE, SHARE, Standings
from sojourn.study.tune.advice import sentences
from sojourn.study.tune.model import Tuned
from sojourn.study.tune.ranking import WEIGHTS_IN_WORDS as WEIGHTS

#: Parameters that have a column of their own in the tables.
MOST_PARAMETERS = 8
RULES = {"search": "search (Optuna, tree-structured Parzen estimator)", "rank": "rank of all"}


def for_tuned(tuned: Tuned) -> Document:
    """Build the report of a tuning.

    Parameters
    ----------
    tuned
        The result of ``sojourn.study.tune.run.tune``.

    Returns
    -------
    Document
        To be passed to `sojourn.report.render` or `sojourn.report.write`.
    """
    advice: list[Block] = []
    for spec in tuned.chosen:
        lines = sentences(tuned, spec)
        listed = [f"- {one.strip()}" for one in lines[2:] if not one.startswith("In Linux:")]
        advice.append(Text("\n".join([f"**{lines[0]}**", "", lines[1], "", *listed])))
        (written,) = [one for one in lines if one.startswith("In Linux: ")] or [""]
        if written:
            advice.append(
                Code(
                    written.removeprefix("In Linux: "),
                    "In Linux (DEV: the interface whose link is the bottleneck)",
                )
            )
    plan = tuned.plan
    fresh = plan.fresh
    facts = Facts(
        {
            "rule": RULES[plan.rule],
            "settings": f"{len(tuned.trials)}",
            "seeds of each": f"{plan.seed_from} to {plan.seed_from + plan.seeds - 1}",
            "held-out seeds": f"{fresh[0]} to {fresh[-1]}",
            "compared with": tuned.comparison.baseline,
            **({"id": tuned.id} if tuned.id else {}),
        }
    )
    return Document(
        title=f"{plan.scenario.name}: recommended parameters",
        kind="Tuning",
        command=tuned.comparison.results.manifest.get("command", ""),
        blocks=[
            Section(
                "Recommendation",
                [*advice, Text("[Validation on the held-out seeds](./confirm/report.html).")],
            ),
            Section("What was tried", [facts, *_tried(tuned)]),
            Section("The choice", [_ranking(tuned)], _rule(tuned)),
        ],
    )


def _tried(tuned: Tuned) -> list[Block]:

    frame = tuned.table()
    names = [aim.metric for aim in tuned.plan.objectives]
    aims = [(name, capitalized(heading(name)), display(name).factor) for name in names]
    figure = plots.front(frame, aims, chosen=tuned.chosen[0], baseline=tuned.comparison.baseline)
    frame, parameters = _with_parameters(frame, "aqm")
    columns = {
        "trial": Column("no."),
        "aqm": Column("setting", kind="spec"),
        **parameters,
        "state": Column("", kind="text"),
        "seeds": Column("seeds"),
        **{name: metric_column(name) for name in names},
    }
    return [
        Figure(
            figure,
            "Means over the seeds of the search, by which the setting is chosen; the results above are of "
            "held-out seeds.",
        ),
        Table(frame, "Every setting", columns),
    ]


def _with_parameters(frame: pl.DataFrame, column: str) -> tuple[pl.DataFrame, dict[str, Column]]:
    """Add a column for each parameter that the settings set, if there are at most `MOST_PARAMETERS`."""
    values = [set_values(spec)[1] for spec in frame[column]]
    names = list(dict.fromkeys(name for one in values for name in one))
    if len(names) > MOST_PARAMETERS:
        return frame, {}
    added = [
        pl.Series(f"{name} of {column}", [_written(one.get(name)) for one in values], pl.String)
        for name in names
    ]
    return frame.with_columns(added), {f"{name} of {column}": Column(name, kind="text") for name in names}


def _written(value: object) -> str | None:
    if isinstance(value, bool):
        return "on" if value else "off"
    return None if value is None else str(value)


def _rule(tuned: Tuned) -> str:
    if isinstance(tuned.ranking, Standings):
        return RULE + " ".join(f" Required: {one}." for one in tuned.plan.requirements)
    text = f"Ranked by the sum of {WEIGHTS[tuned.ranking.weight]} over the objectives; the lowest wins."
    if len(tuned.plan.objectives) > 1 and tuned.plan.rule == "search":
        text += " Only settings on the Pareto front are ranked: none of them is better in every objective."
    for metric, group in tuned.ranking.open_ties:
        text += f" In {label(metric)} {', '.join(group)} tie and share the better rank."
    return text


#: The rule of `sojourn.study.significance`.
RULE = (
    "Each pair of settings is compared on the same seeds. A difference counts if it is significant after "
    f"Holm\u2019s correction over all pairs and objectives, and at least {100 * SHARE:g} percentage point "
    f"of a share or {100 * RELATIVE:g} % of another quantity. The score is the weighted number of wins minus "
    "losses."
)


def _standings(standings: Standings) -> Block:
    rows = [
        {
            "place": standings.places[name],
            "setting": name,
            **{
                f"record_{metric}": f"{won} won, {lost} lost"
                for metric, (won, lost) in standings.records[name].items()
            },
            "score": float(standings.scores[name]),
        }
        for name in standings.order
    ]
    frame, parameters = _with_parameters(pl.DataFrame(rows, infer_schema_length=None), "setting")
    columns = {
        "place": Column("place"),
        "setting": Column("setting", kind="spec"),
        **parameters,
        **{f"record_{one.metric}": Column(label(one.metric), kind="text") for one in standings.aims},
        "score": Column("score"),
    }
    return Table(frame, "Significant wins and losses", columns)


def _ranking(tuned: Tuned) -> Block:
    ranking = tuned.ranking
    if isinstance(ranking, Standings):
        return _standings(ranking)
    rows = [
        {
            "place": ranking.places[name],
            "setting": name,
            **{
                f"rank_{o.metric}": ranks[name]
                for o, ranks in zip(ranking.objectives, ranking.ranks, strict=True)
            },
            "sum": float(ranking.sums[name]),
        }
        for name in ranking.order
    ]
    frame, parameters = _with_parameters(pl.DataFrame(rows, infer_schema_length=None), "setting")
    columns = {
        "place": Column("place"),
        "setting": Column("setting", kind="spec"),
        **parameters,
        **{f"rank_{o.metric}": Column(f"rank in {label(o.metric)}") for o in ranking.objectives},
        "sum": Column("sum"),
    }
    return Table(frame, "The rank rule", columns)
