"""What ``sojourn tune`` prints of settings under the rank rule."""

from __future__ import annotations

from typing import Any

from sojourn.study.tune.ranking import WEIGHTS_IN_WORDS as WEIGHTS
from sojourn.study.tune.ranking import Ranking


def show_ranking(ranking: Ranking, best: int, sums: str | None = None, places: str | None = None) -> None:
    """Print settings with ranks, sums and places; the best; the ties; and what published columns say."""
    from sojourn.cli.table import print_table

    title = f"weight of a rank: {WEIGHTS[ranking.weight]}; the smallest sum is best"
    heads = [f"{o.metric} {'↑' if o.higher else '↓'}" for o in ranking.objectives]
    rows = []
    for name in ranking.order:
        cells = [
            f"{ranking.values[name][o.metric]:.6g} ({ranks[name]})"
            for o, ranks in zip(ranking.objectives, ranking.ranks, strict=True)
        ]
        rows.append((name, *cells, str(ranking.sums[name]), str(ranking.places[name])))
    print_table(title, ["", *heads, "sum", "place"], rows)
    print(f"best: {', '.join(ranking.order[:best])}")
    for tie in ranking.ties:
        print(f"tie in {tie.metric}: {', '.join(tie.order)}, in this order ({tie.because})")
    for metric, group in ranking.open_ties:
        print(f"tie in {metric}: {', '.join(group)} share the better rank")
    for column, ours in ((sums, ranking.sums), (places, ranking.places)):
        if column is None:
            continue
        moved = ranking.beside(ours, column)
        print(f"column {column}: {len(ours) - len(moved)} of {len(ours)} are ours")
        for one in moved:
            print(f"  {one.setting}: {one.ours:g}, not {one.published:g}")


def ranking_json(ranking: Ranking, best: int, sums: str | None, places: str | None) -> dict[str, Any]:
    """Return the same as data."""
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
