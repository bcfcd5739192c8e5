"""Consistency of the paper's own numbers: Tables 3 to 6, G and H, all computed from Table 2.

Each value of Table 2 is an interval: the printed value plus or minus half a unit of its last digit. Another
table is consistent if its values lie in the resulting intervals. The order of ties behind the printed G is
found by search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources

from sojourn.papers.avqred2007.measures import TABLE2
from sojourn.papers.avqred2007.settings import BEST, OTHERS, SETTINGS
from sojourn.papers.checks import Computed
from sojourn.papers.claims import Finding, Verdict, rows
from sojourn.study.tune import rank

Data = list[dict[str, str]]

#: Columns A to F in ``published.csv``: metric and statistic.
COLUMNS = {
    "utilisation": ("link_utilisation", "mean"),
    "util_std": ("link_utilisation", "std"),
    "delay": ("queueing_delay", "mean"),
    "delay_std": ("queueing_delay", "std"),
    "drops": ("packet_drops_per_100ms", "mean"),
    "drop_std": ("packet_drops_per_100ms", "std"),
}
#: Each row of Tables 3 to 5: its table, its name in ``published.csv``, the column of Table 2 it compares.
IMPROVEMENTS = {
    "utilisation": ("Table 3", "link_utilisation_increase"),
    "util_std": ("Table 3", "link_utilisation_std_decrease"),
    "delay": ("Table 4", "queueing_delay_decrease"),
    "delay_std": ("Table 4", "queueing_delay_std_decrease"),
    "drops": ("Table 5", "packet_drop_decrease"),
    "drop_std": ("Table 5", "packet_drop_std_decrease"),
}
#: "The overall improvement was computed by averaging": agreement within one unit of the last digit.
OVERALL = 0.1


@cache
def published() -> Data:
    """Return the printed numbers."""
    return rows(resources.files(__package__) / "data" / "published.csv")


@cache
def parameters() -> Data:
    """Return the printed parameters."""
    return rows(resources.files(__package__) / "data" / "parameters.csv")


def half_unit(word: str) -> float:
    """Return half a unit of the last printed digit.

    Examples
    --------
    >>> half_unit("18.91"), half_unit("428")
    (0.005, 0.5)
    """
    return 0.5 * 10.0 ** -len(word.partition(".")[2])


@cache
def table2() -> dict[str, dict[str, str]]:
    """Return Table 2 as printed: setting to column (A to F, G, H) to word."""
    names = {value: name for name, value in COLUMNS.items()}
    names |= {("rank_weight_G", "value"): "G", ("rank_H", "value"): "H"}
    found: dict[str, dict[str, str]] = {name: {} for name in SETTINGS}
    for row in published():
        if row["table_or_figure"] == "Table 2":
            found[row["parameter_set"]][names[row["metric"], row["statistic"]]] = row["value"]
    return found


def column(name: str) -> dict[str, float]:
    """Return one column of Table 2 by setting."""
    return {setting: float(words[name]) for setting, words in table2().items()}


def improvement(metric: str, ours: float, theirs: float) -> float:
    """Return the improvement by `ours` in per cent, as in Tables 3 to 5: utilisation up, all else down.

    Examples
    --------
    >>> round(improvement("utilisation", 17.4, 18.0), 2), round(improvement("delay", 6.1, 8.7), 2)
    (-3.33, 29.89)
    """
    return 100 * (ours - theirs if metric == "utilisation" else theirs - ours) / theirs


def printed(metric: str, against: str) -> str:
    """Return what Tables 3 to 6 print (``overall``: Table 6) against an algorithm."""
    name = "overall_improvement" if metric == "overall" else IMPROVEMENTS[metric][1]
    where = "Table 6" if metric == "overall" else IMPROVEMENTS[metric][0]
    (row,) = (
        r
        for r in published()
        if (r["table_or_figure"], r["metric"], r["algorithm"]) == (where, name, against)
    )
    return row["value"]


def follows(metric: str) -> Finding:
    """Judge AVQ-40 to 45: six printed changes against what rounded values of Table 2 allow."""
    fails, words = [], []
    for against in OTHERS:
        word = printed(metric, against)
        low, high = allowed(metric, against)
        slack = half_unit(word) + 1e-9
        inside = low - slack <= float(word) <= high + slack
        if not inside:
            fails.append(f"{against}: printed {word} %, possible {low:.2f} % to {high:.2f} %")
        words.append(f"{against} {_change(metric, against):.2f} (printed {word})")
    reason = "from Table 2 in %: " + ", ".join(words)
    return _found(
        not fails,
        len(OTHERS) - len(fails),
        "printed changes that Table 2 allows",
        f"{len(OTHERS)}",
        len(OTHERS),
        "; ".join([*fails, reason]),
    )


def allowed(metric: str, against: str) -> tuple[float, float]:
    """Return the smallest and largest improvement that the roundings of Table 2 allow."""
    ends = []
    for sign in (-1, 1):
        values = []
        for setting, direction in ((BEST["AVQRED"], sign), (BEST[against], -sign)):
            word = table2()[setting][metric]
            values.append(float(word) + direction * half_unit(word))
        ends.append(improvement(metric, *values))
    return min(ends), max(ends)


def _change(metric: str, against: str) -> float:
    values = column(metric)
    return improvement(metric, values[BEST["AVQRED"]], values[BEST[against]])


def overall() -> Finding:
    """Judge AVQ-46: Table 6 is the mean of the six rows of Tables 3 to 5."""
    away, words = [], []
    for against in OTHERS:
        mean = math.fsum(float(printed(metric, against)) for metric in TABLE2) / len(TABLE2)
        direct = math.fsum(_change(metric, against) for metric in TABLE2) / len(TABLE2)
        word = printed("overall", against)
        away.append(abs(mean - float(word)))
        words.append(f"{against} {mean:.2f} (printed {word}, from Table 2 {direct:.2f})")
    return _found(
        max(away) <= OVERALL + 1e-9,
        max(away),
        "largest distance from the mean of the printed rows, %",
        f"<= {OVERALL:g}",
        len(OTHERS),
        "; ".join(words),
    )


def columns() -> list[rank.Column]:
    """Return columns A to F of Table 2 for the rank rule, ties not broken."""
    return [rank.Column(column(name), name == "utilisation") for name in TABLE2]


@cache
def orders() -> list[list[dict[str, int]]]:
    """Return every order of the ties of Table 2 that gives the printed G."""
    return rank.implied_ties(columns(), {name: int(words["G"]) for name, words in table2().items()})


def broken(ranks: Sequence[Mapping[str, int]]) -> list[rank.Column]:
    """Return the columns of Table 2 with their ties broken in this order."""
    return [
        rank.Column(
            one.values,
            one.higher_is_better,
            [sorted(group, key=order.__getitem__) for group, _ in one.groups() if len(group) > 1],
        )
        for one, order in zip(columns(), ranks, strict=True)
    ]


def places(sums: Mapping[str, float]) -> dict[str, int]:
    """Return the place of each setting by its sum, 1 the smallest."""
    return {name: 1 + sum(other < own for other in sums.values()) for name, own in sums.items()}


def literal_sums() -> Finding:
    """Judge AVQ-39: G is the sum of 2^rank."""
    text = rank.weigh(broken(orders()[0]), rank.literal)
    exact = rank.weigh(broken(orders()[0]), rank.printed)
    met = sum(text[name] == int(words["G"]) for name, words in table2().items())
    other = sum(exact[name] == int(words["G"]) for name, words in table2().items())
    none = rank.implied_ties(columns(), column_of_sums(), rank.literal)
    way = "no order within ties gives it" if not none else "some order within ties gives it"
    reason = (
        f"2^rank: {way}; weights 0, 2, 4, 6, 8 and then 2^(rank - 2): {other} of {len(text)}, by "
        f"{len(orders())} orders within ties"
    )
    return _found(met == len(text), met, "values of G that are met", f"{len(text)}", len(text), reason)


def column_of_sums() -> dict[str, int]:
    """Return the printed G by setting."""
    return {name: int(words["G"]) for name, words in table2().items()}


def order_of_sums() -> Finding:
    """Judge AVQ-47: H is the order of G."""
    wanted = {name: int(words["H"]) for name, words in table2().items()}
    found = places(column_of_sums())
    met = sum(found[name] == wanted[name] for name in wanted)
    text = places(rank.weigh(broken(orders()[0]), rank.literal))
    shared = places(rank.weigh(columns(), rank.printed))
    moved = sum(shared[name] != wanted[name] for name in wanted)
    first = min(shared, key=shared.__getitem__)
    reason = (
        f"by 2^rank {sum(text[n] == wanted[n] for n in wanted)} places are as printed too; were ties to "
        f"share the better rank, {moved} places would change and {first} would be first"
    )
    return _found(met == len(wanted), met, "places as printed", f"{len(wanted)}", len(wanted), reason)


def target() -> Finding:
    """Judge AVQ-30: 22 packets are 10 ms of 25 Mbit/s in packets of 1400 B."""
    exact = target_packets()
    (wanted,) = (float(row["value"]) for row in published() if row["metric"] == "target_queue_size")
    return _found(math.floor(exact) == wanted, exact, "packets in the target delay", f"{wanted:g}, cut", 1)


def target_packets() -> float:
    """Return the number of packets of the printed size sent in the target delay at the largest capacity."""
    known = {(row["metric"], row["statistic"]): float(row["value"]) for row in published()}
    bits = known["processing_capacity", "max"] * 1e6 * known["target_queueing_delay", "set value"] / 1e3
    return bits / 8 / known["packet_size", "set value"]


def limits() -> Finding:
    """Judge AVQ-31: the virtual queues of GKVQ and AVQ are 10 ms of their virtual capacity."""
    known = {(row["parameter_set"], row["parameter"]): row["value"] for row in parameters()}
    names = [name for name in SETTINGS if (name, "q_size") in known]
    off = [float(known[n, "q_size"]) / (float(known[n, "capacity"]) * 1e6 * 0.010 / 8) - 1 for n in names]
    worst = max(map(abs, off))
    return _found(worst < 1e-12, worst, "largest distance from 10 ms of the capacity", "0", len(names))


def _found(holds: bool, effect: float, measure: str, claimed: str, n: int, reason: str = "") -> Finding:
    verdict = Verdict.REPRODUCED if holds else Verdict.NOT_REPRODUCED
    return Finding(verdict, float(effect), n=n, measure=measure, claimed=claimed, reason=reason or "computed")


def checks() -> dict[str, Computed]:
    """Return the checks of the computed claims."""

    def one(metric: str) -> Computed:
        return Computed(lambda: follows(metric))

    found: dict[str, Callable[[], Finding]] = {
        "AVQ-30": target,
        "AVQ-31": limits,
        "AVQ-39": literal_sums,
        "AVQ-46": overall,
        "AVQ-47": order_of_sums,
    }
    six = ("utilisation", "util_std", "delay", "delay_std", "drop_std", "drops")
    return {name: Computed(find) for name, find in found.items()} | {
        f"AVQ-{40 + i}": one(metric) for i, metric in enumerate(six)
    }
