"""The output of settings under the rank rule, for ``sojourn tune``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.cli.output import Column, Stored, Table
from sojourn.metrics import display, label
from sojourn.study.tune.ranking import WEIGHTS_IN_WORDS as WEIGHTS
from sojourn.study.tune.ranking import Ranking


@dataclass(frozen=True)
class Ranked(Column):
    """A column of values with their ranks: ``KEY`` and ``KEY_rank``."""

    def text(self, value: tuple[float, int]) -> str:
        """Return ``value (rank)``."""
        return f"{value[0] * self.display.factor:.6g} ({value[1]})"

    def store(self, values: Sequence[tuple[float, int]]) -> Stored:
        """Return values and ranks."""
        return {self.key: [one for one, _ in values], f"{self.key}_rank": [rank for _, rank in values]}


def ranking_table(ranking: Ranking, is_of_runs: bool) -> Table:
    """Return the settings, best first, with values, ranks, sum and place.

    Values of runs are in SI units and shown with label and unit; values of a user's table are not converted.
    """
    columns = [Column("setting", "")]
    for one in ranking.objectives:
        arrow = "↑" if one.higher else "↓"
        if is_of_runs:
            columns.append(Ranked(one.metric, f"{label(one.metric)} {arrow}", display(one.metric)))
        else:
            columns.append(Ranked(one.metric, f"{one.metric} {arrow}"))
    columns += [Column("sum", "sum"), Column("place", "place")]
    rows = [
        [
            name,
            *(
                (ranking.values[name][o.metric], ranks[name])
                for o, ranks in zip(ranking.objectives, ranking.ranks, strict=True)
            ),
            ranking.sums[name],
            ranking.places[name],
        ]
        for name in ranking.order
    ]
    return Table("ranking", f"Ranked by the sum of {WEIGHTS[ranking.weight]}; the lowest wins", columns, rows)


def notes(ranking: Ranking, best: int, sums: str | None = None, places: str | None = None) -> list[str]:
    """Return the best settings, the ties, and the differences from published columns, one line each."""
    found = [f"best: {', '.join(ranking.order[:best])}"]
    for tie in ranking.ties:
        found.append(f"tie in {tie.metric}: {', '.join(tie.order)}, in this order ({tie.because})")
    for metric, group in ranking.open_ties:
        found.append(f"tie in {metric}: {', '.join(group)} share the better rank")
    for column, ours in ((sums, ranking.sums), (places, ranking.places)):
        if column is None:
            continue
        moved = ranking.beside(ours, column)
        found.append(f"column {column}: {len(ours) - len(moved)} of {len(ours)} are ours")
        found += [f"  {one.setting}: {one.ours:g}, not {one.published:g}" for one in moved]
    return found


def ranking_json(ranking: Ranking, best: int, sums: str | None, places: str | None) -> dict[str, Any]:
    """Return a ranking as the object of ``--json``."""
    ranks = {o.metric: found for o, found in zip(ranking.objectives, ranking.ranks, strict=True)}
    beside = {
        column: [one._asdict() for one in ranking.beside(ours, column)]
        for column, ours in ((sums, ranking.sums), (places, ranking.places))
        if column is not None
    }
    return {
        "weight": ranking.weight,
        "best": ranking.order[:best],
        "settings": [
            {
                "setting": name,
                "ranks": {metric: found[name] for metric, found in ranks.items()},
                "sum": ranking.sums[name],
                "place": ranking.places[name],
            }
            for name in ranking.order
        ],
        "ties": [tie._asdict() for tie in ranking.ties],
        "open_ties": [{"metric": metric, "settings": group} for metric, group in ranking.open_ties],
        "beside": beside,
    }
