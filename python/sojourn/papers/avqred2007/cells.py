"""The measured counterpart of each printed number."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sojourn.papers.avqred2007.arithmetic import COLUMNS, IMPROVEMENTS, target_packets
from sojourn.papers.avqred2007.experiments import TWIN
from sojourn.papers.avqred2007.measures import TABLE2
from sojourn.papers.avqred2007.ranking import RankCell, Ranking
from sojourn.papers.avqred2007.settings import OTHERS, SETTINGS
from sojourn.papers.avqred2007.testbed import OURS, Testbed
from sojourn.papers.published import Cell, Counterpart
from sojourn.papers.terms import Derived, Quantity

_COLUMNS = {value: name for name, value in COLUMNS.items()}
_ROWS = {value: name for name, value in IMPROVEMENTS.items()}


def cell(row: Mapping[str, str], experiment: str = TWIN) -> Counterpart:
    """Return the counterpart of a row of ``published.csv`` in the runs of `experiment`."""
    bed, where, metric = Testbed(experiment), row["table_or_figure"], row["metric"]
    if where == "Table 2":
        setting = row["parameter_set"]
        if (metric, row["statistic"]) in _COLUMNS:
            return Cell(bed.of(_COLUMNS[metric, row["statistic"]], setting))
        term, ranking = bed.of("utilisation", setting), Ranking(experiment, SETTINGS)
        return RankCell(term, ranking=ranking, setting=setting, is_place=metric == "rank_H")
    if (where, metric) in _ROWS:
        return Cell(bed.improvement(_ROWS[where, metric], row["algorithm"]))
    if where == "Table 6":
        return Cell(bed.overall(row["algorithm"]))
    if where == "Abstract":
        return Cell(_extreme(bed, min if row["statistic"] == "min" else max))
    if metric == "connection_birth_rate":
        return Cell(Quantity("births_per_s", OURS, experiment))
    if metric == "target_queue_size":
        return target_packets()
    return "a setting of the runs"


def _extreme(bed: Testbed, pick: Callable[[list[float]], float]) -> Derived:
    """Return the least or largest overall improvement over the six algorithms."""
    six = [bed.overall(against) for against in OTHERS]
    of, width = tuple(quantity for one in six for quantity in one.of), 2 * len(TABLE2)

    def value(*values: float) -> float:
        found = [one.function(*values[i * width : (i + 1) * width]) for i, one in enumerate(six)]
        return pick([x for x in found if x is not None])

    return Derived("overall improvement", of, value, "%")
