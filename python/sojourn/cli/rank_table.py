"""The output of settings under the rank rule, for ``sojourn tune``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.cli.output import Column, Stored, Table
from sojourn.metrics import display, label
from sojourn.study.significance import Standings
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


@dataclass(frozen=True)
class Standing(Column):
    """A column of means, each with its wins and losses: ``KEY``, ``KEY_wins`` and ``KEY_losses``."""

    def text(self, value: tuple[float, int, int]) -> str:
        """Return ``value (+wins -losses)``."""
        return f"{value[0] * self.display.factor:.5g} (+{value[1]} -{value[2]})"

    def store(self, values: Sequence[tuple[float, int, int]]) -> Stored:
        """Return means, wins and losses."""
        wins, losses = f"{self.key}_wins", f"{self.key}_losses"
        means = {self.key: [mean for mean, _, _ in values]}
        return means | {wins: [won for _, won, _ in values], losses: [lost for _, _, lost in values]}


def standings_table(standings: Standings) -> Table:
    """Return the settings, best first, with means, wins, losses and score."""
    columns = [Column("setting", "")]
    for aim in standings.aims:
        arrow = "↑" if aim.higher else "↓"
        times = "" if aim.weight == 1 else f" x{aim.weight:g}"
        columns.append(Standing(aim.metric, f"{label(aim.metric)} {arrow}{times}", display(aim.metric)))
    missing = any(standings.missed(name) for name in standings.order)
    if missing:
        columns.append(Column("misses", "misses"))
    columns += [Column("score", "score"), Column("place", "place")]
    rows = []
    for name in standings.order:
        row: list[object] = [name]
        for aim in standings.aims:
            row.append((standings.mean(name, aim.metric), *standings.records[name][aim.metric]))
        if missing:
            row.append("; ".join(map(str, standings.missed(name))) or "none")
        rows.append([*row, standings.scores[name], standings.places[name]])
    return Table(
        "ranking", "Ranked by significant wins minus losses against the other settings", columns, rows
    )


def standings_json(standings: Standings, best: int) -> dict[str, Any]:
    """Return the order of the settings as the object of ``--json``."""
    return {
        "rule": "significance",
        "best": standings.order[:best],
        "settings": [
            {
                "setting": name,
                "wins": {metric: won for metric, (won, _) in standings.records[name].items()},
                "losses": {metric: lost for metric, (_, lost) in standings.records[name].items()},
                "misses": [str(one) for one in standings.missed(name)],
                "score": standings.scores[name],
                "place": standings.places[name],
            }
            for name in standings.order
        ],
    }


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
        "rule": ranking.weight,
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
