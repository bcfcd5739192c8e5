"""The other readings of the paper: what its text leaves open, each tried in place of the assumption.

Readings of TCP and of the topology change every arm; readings of an algorithm change only its own arms.
The first group, the target r_0 of RAQM's input rate, decides whether RAQM can hold a queue at all, so
``--quick`` includes it.
"""

from __future__ import annotations

from collections.abc import Callable

from sojourn.papers.changes import Change, everywhere, only
from sojourn.papers.experiment import Arm, Reading
from sojourn.papers.raqm2005.experiments import FIGURES
from sojourn.spec.scenario import Scenario

_FIGURES = frozenset(FIGURES)
_HYBRID = frozenset({"raqm-fig9"})
_TARGETS = frozenset({"raqm-fig8"})


def readings() -> list[Reading]:
    """Return every other reading, those of r_0 first."""
    return [*_rates(), *_gains(), *_rem(), *_tcp(), *_delays(), *_traffic(), *_metrics()]


def raqm(**parameters: str) -> Change:
    """Return a change of RAQM's parameters (not of those that an experiment varies itself)."""
    return only("raqm", **parameters)


def adaptive(**parameters: str) -> Change:
    """Return a change of adaptive RAQM's parameters; arms that vary eps or the gain keep their own."""

    def change(arm: Arm) -> Arm | None:
        varied = arm.name.startswith(("static", "adaptive eps=0.5", "adaptive eps=0.99"))
        return None if varied else raqm(**parameters)(arm)

    return change


def _rates() -> list[Reading]:
    quick = _FIGURES | _TARGETS
    return [
        Reading("r_0=0.98C", "RAQM steers to 98 % of the link rate", raqm(gamma="0.98"), quick=quick),
        Reading("r_0=0.95C", "RAQM steers to 95 % of the link rate", raqm(gamma="0.95"), quick=quick),
        Reading(
            "loss-corrected",
            "RAQM steers to C / (1 - loss ratio of the period)",
            raqm(loss_corrected="on"),
            quick=_FIGURES,
        ),
        Reading(
            "accepted-bytes",
            "RAQM counts only bytes that are not dropped",
            raqm(count="accepted"),
            quick=_FIGURES,
        ),
        Reading(
            "admitted-bytes",
            "RAQM counts the bytes that its own test accepts, including those dropped by overflow",
            raqm(count="admitted"),
            quick=quick,
        ),
        Reading(
            "queue-independent",
            "RAQM without the queue term (Eq. 3 alone)",
            raqm(mode="independent"),
            experiments=_FIGURES,
            quick=_FIGURES,
        ),
    ]


def _gains() -> list[Reading]:
    return [
        Reading("eps=0.5", "adaptive gain at half of the bound", adaptive(eps="0.5")),
        Reading("eps=0.99", "adaptive gain at 99 % of the bound", adaptive(eps="0.99")),
        Reading(
            "guard 0.001",
            "x kept in [0.001, 1.999], p_k above 1e-6",
            raqm(x_min="0.001", x_max="1.999", p_min="1e-6"),
        ),
        Reading("no floor", "p_k may fall to 0", raqm(p_min="0")),
    ]


def _rem() -> list[Reading]:
    def change(arm: Arm) -> Arm | None:
        return arm.having(mean_packet="1000B") if arm.algorithm == "rem" else None

    return [Reading("REM 1000 B", "REM assumes packets of 1000 B, the default of ns-2", change)]


def _tcp() -> list[Reading]:
    def variant(name: str) -> Change:
        def change(scenario: Scenario) -> Scenario:
            data = scenario.model_dump(by_alias=True, exclude_none=True)["traffic"]
            return scenario.with_(traffic=[{**t, "variant": name} if "variant" in t else t for t in data])

        return everywhere(change)

    def options(**changes: str | int) -> Change:
        return everywhere(lambda scenario: scenario.with_(tcp={**scenario.tcp, **changes}))

    def conventions(name: str) -> Change:
        return everywhere(lambda scenario: scenario.with_(conventions=name))

    return [
        Reading("newreno", "TCP NewReno", variant("newreno")),
        Reading("sack", "TCP SACK", variant("sack")),
        Reading("window 20", "receiver window of 20 packets", options(receiver_window=20)),
        Reading("ns2", "retransmission timer of at least 0.2 s (later ns-2)", conventions("ns2")),
        Reading("library TCP", "TCP as in the RFCs (conventions rfc)", conventions("rfc")),
    ]


def _delays() -> list[Reading]:
    def change(delay: str) -> Callable[[Scenario], Scenario]:
        def to(scenario: Scenario) -> Scenario:
            data = scenario.model_dump(by_alias=True, exclude_none=True)["dumbbell"]
            return scenario.with_(
                dumbbell={**data, "delay": delay, "server": {**data["server"], "delay": delay}}
            )

        return to

    return [
        Reading(f"core {delay}", f"core and server links of {delay} each", everywhere(change(delay)))
        for delay in ("1ms", "5ms", "20ms")
    ]


def _traffic() -> list[Reading]:
    def change(count: int) -> Callable[[Scenario], Scenario]:
        def to(scenario: Scenario) -> Scenario:
            data = scenario.model_dump(by_alias=True, exclude_none=True)["traffic"]
            return scenario.with_(traffic=[{**t, "count": count} if t["name"] == "ftp" else t for t in data])

        return to

    return [
        Reading(
            f"{count} long flows",
            f"Fig. 9 with {count} long flows",
            everywhere(change(count)),
            experiments=_HYBRID,
            quick=_HYBRID,
        )
        for count in (40, 400)
    ]


def _metrics() -> list[Reading]:
    return [
        Reading(
            "mean from 20 s",
            "mean queue of Fig. 8 over 20 s to 200 s",
            metrics={"queue_mean[0,200]": "queue_mean[20,200]"},
            experiments=_TARGETS,
            quick=_TARGETS,
        )
    ]
