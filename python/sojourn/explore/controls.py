"""What can be changed on the live page, and how a change alters the plan and the scenario file.

The page does not interpret scenarios: each control lists the places of the plan that it sets, with the
values. `tests/explore` compares plans and files that the page made with those made from the scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from sojourn import _core
from sojourn.errors import InputError
from sojourn.spec.plan import FORWARD, queues
from sojourn.spec.scenario import Scenario
from sojourn.spec.schema import Queue, Traffic
from sojourn.spec.units import number

#: A place in the plan or in the scenario file: keys and indices from the top.
Path = list[str | int]

#: Nanoseconds in a second, and bit/s in a Mbit/s.
SECOND, MEGABIT = 1_000_000_000, 1_000_000
#: Factor from the scenario's own value to both ends of a slider.
REACH = 20


@dataclass(frozen=True, slots=True)
class Control:
    """One slider, menu or check box.

    Attributes
    ----------
    id : str
        Its name in the page's address.
    label, doc : str
        What it says, and what it means.
    kind : str
        ``number`` or ``choice`` (a flag is a choice of ``off`` and ``on``).
    unit : str
        Of a number: ``bit/s``, ``ns``, ``packets`` or nothing for a count.
    value : number or str
        As in the scenario.
    range : list of number
        Least and largest number.
    targets : list of [path, factor]
        Places of the plan that a number sets, times a factor and rounded down.
    options : dict of str to list of [path, value]
        Places of the plan that each choice sets.
    toml : path
        The key in the scenario file.
    """

    id: str
    label: str
    doc: str
    kind: str
    value: float | str
    toml: Path
    unit: str = ""
    range: list[float] = field(default_factory=list)
    targets: list[list[Any]] = field(default_factory=list)
    options: dict[str, list[list[Any]]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the control as the page reads it."""
        return asdict(self)


def controls(scenario: Scenario) -> list[Control]:
    """Return the controls of a scenario: its link, its queue, its traffic."""
    return [*_link(scenario), *_queue(scenario), *_traffic(scenario)]


def dependent(scenario: Scenario) -> dict[str, Any]:
    """Return what else follows from the controls.

    ``hosts``: places of the plan with the rates of hosts' links that are ten times as fast as the bottleneck;
    ``limits``: places with limits of other queues that are times in the scenario, and these in ns;
    ``senders``: places with the ECN of TCP, which is used if any queue or algorithm marks; ``marks``: whether
    a queue other than the measured one marks.
    """
    hosts: list[Path] = []
    dumbbell = scenario.dumbbell
    if dumbbell is not None:
        for side in ("access", "server"):
            if getattr(dumbbell, side).rate is None:
                hosts.append(["topology", "dumbbell", side, "rate"])
        for i, one in enumerate(scenario.senders):
            if one.access is not None and one.access.rate is None:
                hosts.append(["traffic", i, "access", "rate"])
    off, on = (_with_ecn(scenario, ecn).plan("droptail") for ecn in (False, True))
    where = measured_path(scenario)
    senders = [path for path, _ in difference(off, on) if path[: len(where)] != where]
    others = [queue for name, queue in queues(scenario).items() if name != scenario.measured]
    marks = any(queue.ecn or _core.spec_info(str(queue.aqm))["ecn"] for queue in others)
    return {"hosts": hosts, "limits": list(_reverse_limit(scenario)), "senders": senders, "marks": marks}


def _reverse_limit(scenario: Scenario) -> Iterator[list[Any]]:
    dumbbell = scenario.dumbbell
    reverse = dumbbell.reverse_queue if dumbbell else None
    if reverse is not None and reverse.limit.endswith("s") and scenario.measured == FORWARD:
        yield [["topology", "dumbbell", "reverse_queue", "limit"], number("span", reverse.limit)]


def measured_path(scenario: Scenario) -> Path:
    """Return the place of the measured queue in the plan.

    Raises
    ------
    InputError
        If the scenario's algorithms belong to every queue, which the page cannot show.
    """
    if scenario.measure is not None and scenario.measure.aqms == "everywhere":
        raise InputError("measure.aqms", "= everywhere cannot be explored", "one measured queue")
    if scenario.dumbbell is not None:
        key = "queue" if scenario.measured == FORWARD else "reverse_queue"
        return ["topology", "dumbbell", key]
    links = scenario.plan()["topology"]["graph"]
    names = [f"{link['from']}-{link['to']}" for link in links]
    return ["topology", "graph", names.index(scenario.measured), "queue"]


def difference(a: Any, b: Any, path: Path | None = None) -> Iterator[list[Any]]:
    """Yield path and value of everything in `b` that is not the same in `a`.

    Examples
    --------
    >>> list(difference({"x": [1, 2], "y": 3}, {"x": [1, 5], "y": 3}))
    [[['x', 1], 5]]
    """
    path = path or []
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            yield from difference(a[key], b[key], [*path, key])
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from difference(x, y, [*path, i])
    elif a != b:
        yield [path, b]


def _link(scenario: Scenario) -> Iterator[Control]:
    dumbbell = scenario.dumbbell
    if dumbbell is None:
        return
    top: Path = ["topology", "dumbbell"]
    two_way = dumbbell.reverse_rate is not None
    if dumbbell.capacity is None:
        label = "Rate down" if two_way else "Rate"
        yield _number(
            "rate", label, "Rate of the bottleneck.", "bit/s", number("rate", dumbbell.rate),
            [[[*top, "rate"], 1]], ["dumbbell", "rate"], ends=(0.1 * MEGABIT, 2_000 * MEGABIT),
        )  # fmt: skip
    if dumbbell.reverse_rate is not None:
        yield _number(
            "up", "Rate up", "Rate of the bottleneck in the other direction.", "bit/s",
            number("rate", dumbbell.reverse_rate), [[[*top, "reverse_rate"], 1]],
            ["dumbbell", "reverse_rate"], ends=(0.1 * MEGABIT, 2_000 * MEGABIT),
        )  # fmt: skip
    key, factor = ("delay", 1.0) if dumbbell.delay is not None else ("rtt", 0.5)
    label = "One-way delay" if key == "delay" else "Base round trip"
    value = number("span", dumbbell.delay or dumbbell.rtt or "0s")
    yield _number(
        key, label, "Propagation delay of the bottleneck, without queues.", "ns",
        value, [[[*top, "delay"], factor]], ["dumbbell", key], ends=(SECOND // 10_000, SECOND),
    )  # fmt: skip


def _queue(scenario: Scenario) -> Iterator[Control]:
    queue, where, toml = _measured(scenario)
    limit: Path = [*where, "limit"]
    doc = "Size of the buffer; an algorithm's own `limit` replaces it."
    if queue.limit.endswith("p") and "kp" not in queue.limit:
        value = float(queue.limit.removesuffix("p"))
        yield _number(
            "limit", "Buffer", doc, "packets", value, [[limit, 1]], [*toml, "limit"], ends=(2, 100_000)
        )
    elif queue.limit.endswith("s") and scenario.dumbbell is not None and scenario.measured == FORWARD:
        yield _number(
            "limit", "Buffer", doc, "ns", number("span", queue.limit), [[limit, 1]], [*toml, "limit"],
            ends=(SECOND // 1000, 5 * SECOND),
        )  # fmt: skip
    yield Control(
        "ecn", "ECN", "Mark packets of ECN-capable senders instead of dropping them.", "choice",
        "on" if queue.ecn else "off", [*toml, "ecn"],
        options={word: [[[*where, "ecn"], word == "on"]] for word in ("off", "on")},
    )  # fmt: skip


def _traffic(scenario: Scenario) -> Iterator[Control]:
    for i, one in enumerate(scenario.senders):
        place: Path = ["traffic", i]
        yield _number(
            f"n{i}", _who(one), f"Number of sources of the traffic '{one.name}'.", "", one.count,
            [[[*place, "count"], 1]], [*_file(scenario, one), "count"], ends=(0, max(50, 4 * one.count)),
        )  # fmt: skip
    for i, one in enumerate(scenario.senders):
        if one.kind == "tcp":
            yield _variant(scenario, i, one)


def _variant(scenario: Scenario, i: int, traffic: Traffic) -> Control:
    names = next(one["choices"] for one in _core.tcp_schema() if one["name"] == "variant")
    base = scenario.plan()["traffic"][i]
    options = {}
    toml = [*_file(scenario, traffic), "variant"]
    plans = {}
    for name in names:
        try:
            plans[name] = changed(scenario, toml, name).plan()["traffic"][i]
        except InputError:  # an option of the scenario, such as HyStart, excludes this one
            continue
    paths = {tuple(path) for plan in plans.values() for path, _ in difference(base, plan)}
    for name, plan in plans.items():
        options[name] = [[["traffic", i, *path], _at(plan, list(path))] for path in sorted(paths, key=str)]
    chosen = _at(base, ["kind", "tcp", "options", "variant"])
    doc = f"Congestion control of the traffic '{traffic.name}'."
    return Control(
        f"cc{i}", f"{traffic.name}: senders", doc, "choice", chosen, toml, options=options
    )  # fmt: skip


def _number(
    id: str,
    label: str,
    doc: str,
    unit: str,
    value: float,
    targets: list[list[Any]],
    toml: Path,
    ends: tuple[float, float],
) -> Control:
    least, most = ends
    if unit and value > 0:  # a logarithmic slider around the scenario's own value
        least, most = max(least, value / REACH), min(max(most, value), value * REACH)
    return Control(id, label, doc, "number", value, toml, unit, [least, most], targets)


def _file(scenario: Scenario, traffic: Traffic) -> Path:
    """Return the table of a traffic in the file; the plan lacks those without sources."""
    return ["traffic", next(i for i, one in enumerate(scenario.traffic) if one is traffic)]


def _who(traffic: Traffic) -> str:
    return f"{traffic.name} ({traffic.kind})"


def _measured(scenario: Scenario) -> tuple[Queue, Path, Path]:
    """Return the measured queue, its place in the plan, and that in the file."""
    queue = queues(scenario)[scenario.measured]
    where = measured_path(scenario)
    if scenario.dumbbell is not None:
        return queue, where, ["queue"] if scenario.measured == FORWARD else ["dumbbell", "reverse_queue"]
    for i, link in enumerate(scenario.link):
        if f"{link.from_}-{link.to}" == scenario.measured:
            return queue, where, ["link", i, "queue"]
        if link.duplex and f"{link.to}-{link.from_}" == scenario.measured:
            return queue, where, ["link", i, "reverse_queue"]
    raise AssertionError(scenario.measured)


def changed(scenario: Scenario, path: Path, value: Any) -> Scenario:
    """Return the scenario with one key of the file changed."""
    data = scenario.model_dump(by_alias=True, exclude_none=True)
    at: Any = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return Scenario.of(data, scenario.where)


def _with_ecn(scenario: Scenario, ecn: bool) -> Scenario:
    return changed(scenario, [*_measured(scenario)[2], "ecn"], ecn)


def _at(tree: Any, path: Path) -> Any:
    for key in path:
        tree = tree[key]
    return tree
