"""The other readings of the testbed: what the paper leaves open, each tried in place of the assumption.

Readings of the traffic and of the links change every setting. To limit their cost they run for 150 s; the
reading "150 s", which changes nothing else, is the control that isolates the effect of the duration. They
also apply to the short queues and the neighbours of the settings, which have further readings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sojourn.papers.avqred2007.experiments import (
    JUDGED,
    PLAIN,
    QUICK,
    SHIFT,
    SHIFTING,
    SMALL,
    TUNING,
    TWIN,
    lasting,
    moving,
)
from sojourn.papers.avqred2007.settings import TABLE1, scaled
from sojourn.papers.changes import Change, Data, only
from sojourn.papers.experiment import Arm, Reading

_HERE = frozenset({TWIN, SMALL, TUNING})


def readings() -> list[Reading]:
    """Return every reading of the testbed."""
    return [*_places(), *_algorithms(), *_short_queues(), _nearer(), _shift(), *_metrics()]


def everywhere(change: Callable[[Data], None]) -> Change:
    """Return a change applied to the data of an arm's shortened scenario."""

    def apply(arm: Arm) -> Arm:
        data = arm.scenario.model_dump(by_alias=True, exclude_none=True)
        change(data)
        return lasting(QUICK, arm.within(arm.scenario.with_(**data)))

    return apply


def _places() -> list[Reading]:
    def wide(data: Data) -> None:
        data["dumbbell"]["capacity"] = {"every": "4ms", "rate": "uniform 13Mbit/s 25Mbit/s"}
        data["dumbbell"]["rate"] = "25Mbit/s"

    def legs(data: Data) -> None:
        """Set the round-trip time to the sum of the printed parts: 4 + (20 to 40) + (40 to 80) ms."""
        bell = data["dumbbell"]
        bell["access"]["delays"] = [f"{20 + 2 * i + 1}ms" for i in range(10)]
        bell["server"]["delays"] = [f"{12 + 0.5 * i + 0.25:g}ms" for i in range(20)]

    def http(**changes: Any) -> Callable[[Data], None]:
        def change(data: Data) -> None:
            traffic = {**data["traffic"][0], **changes}
            data["traffic"] = [{key: value for key, value in traffic.items() if value is not None}]

        return change

    def tcp(**changes: Any) -> Callable[[Data], None]:
        def change(data: Data) -> None:
            http(tcp={**data["traffic"][0]["tcp"], **changes})(data)

        return change

    def reading(name: str, title: str, change: Callable[[Data], None], assumption: str = "") -> Reading:
        return Reading(name, title, everywhere(change), experiments=_HERE, assumption=assumption)

    return [
        reading("150 s", "only the length, 150 s: the control of those below", lambda _data: None, "A-AVQ-7"),
        reading("13 to 25 Mbit/s", "capacity uniform in 13 to 25 Mbit/s, drawn every 4 ms", wide, "A-AVQ-1"),
        reading("RTT 64 to 124 ms", "round trips as the printed legs add up", legs, "A-AVQ-2"),
        reading("11 kB objects", "connections transfer 11 kB, none is aborted",
                http(size="11kB", patience=None), "A-AVQ-3"),
        reading("no aborts", "connections end with their page only", http(patience=None), "A-AVQ-3"),
        reading("initial RTO 1 s", "TCP's first time-out of RFC 6298", tcp(initial_rto="1s"), "A-AVQ-26"),
    ]  # fmt: skip


def _algorithms() -> list[Reading]:
    def reading(name: str, title: str, change: Change, assumption: str) -> Reading:
        return Reading(name, title, change, experiments=_HERE, assumption=assumption)

    return [
        reading("AVQ gamma 1", "AVQ's desired utilisation is 1", only("avq", gamma="1"), "A-AVQ-11"),
        reading("ARED n 3", "ARED adapts after 3 intervals of 0.5 s, not 10",
                lambda arm: only("ared", hysteresis="3")(arm) if arm.name != PLAIN else None, "A-AVQ-9"),
        reading("ARED max_p 0.5", "ARED's max_p is at most 0.5, as in Floyd et al. (2001)",
                only("ared", top="0.5"), "A-AVQ-9"),
        Reading("AVQRED gamma 0.95", "AVQRED has the desired utilisation named in the text: 95 %",
                only("avqred", gamma="0.95"), experiments=_HERE | {SHIFT}, assumption="A-AVQ-12"),
        reading("AVQRED as printed", "AVQRED's listing to the letter", only("avqred", listing="literal"),
                "A-AVQ-12"),
    ]  # fmt: skip


def _short_queues() -> list[Reading]:
    def judged(change: Change) -> Change:
        return lambda arm: change(arm) if arm.name in JUDGED else None

    def reading(name: str, title: str, change: Change) -> Reading:
        return Reading(name, title, judged(change), experiments=frozenset({SMALL}), assumption="A-AVQ-27")

    return [
        *(
            reading(f"{size} packets", f"a short queue has room for {size} packets, not 15",
                    lambda arm, limit=f"{size}p": arm.having(limit=limit))  # type: ignore[misc]
            for size in (8, 30)
        ),
        reading("short queues 900 s", "short queues for 15 minutes, as long as the paper's runs",
                lambda arm: lasting("900s", arm)),
    ]  # fmt: skip


def _shift() -> Reading:
    def change(arm: Arm) -> Arm | None:
        return arm.within(moving(arm.scenario, every="2s")) if arm.name.endswith(SHIFTING) else None

    title = "the capacity shifts every 2 s, not 10 s"
    return Reading("shifts every 2 s", title, change, experiments=frozenset({SHIFT}), assumption="A-AVQ-29")


def _nearer() -> Reading:
    def change(arm: Arm) -> Arm | None:
        """Halve the distance of a neighbour ("RED2 max_p x0.5") from its setting."""
        setting, *rest = arm.name.split()
        if not rest:
            return None
        parameter, factor = rest
        nearer = (1 + float(factor.removeprefix("x"))) / 2
        return arm.having(**{parameter: scaled(TABLE1[setting][1][parameter], nearer)})

    title = "neighbours of the settings: three and five quarters of each parameter"
    return Reading("nearer neighbours", title, change, experiments=frozenset({TUNING}), assumption="A-AVQ-28")


def _metrics() -> list[Reading]:
    return [
        Reading(
            "windows of 1 s",
            "deviations over windows of 1 s",
            metrics={"util_std": "util_std[1s]", "drop_std": "drop_std[1s]"},
            experiments=_HERE,
            quick=_HERE,
            assumption="A-AVQ-5",
        )
    ]
