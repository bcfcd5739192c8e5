"""The other readings of the paper: what its text leaves open, each tried in place of the assumption.

Readings of TCP, of the traffic and of the links change every arm; readings of an algorithm change its own.
In GFC-2 a changed algorithm is again in every queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sojourn.papers.changes import Change, Data, rewritten
from sojourn.papers.experiment import Arm, Reading
from sojourn.papers.ldc2002.experiments import everywhere
from sojourn.spec.scenario import Scenario

GFC2, WEB, FTP, SWEEP = "ldc-tab3-4-gfc2", "ldc-simple-web-900", "ldc-tab5-ftp-weights", "ldc-sensitivity"
PICTURES = frozenset(
    {"ldc-fig1-blue-trace", "ldc-fig2-red-trace", "ldc-fig4-load-vs-queue", "ldc-fig8-target-delay"}
)
_WITH_WEB = PICTURES | {GFC2, WEB, SWEEP}
_SIMULATED = _WITH_WEB | {FTP}


def readings() -> list[Reading]:
    """Return every other reading."""
    return [*_tcp(), *_traffic(), *_links(), *_algorithms(), *_metrics()]


def parameters(algorithm: str, changes: Callable[[Scenario], Mapping[str, str]]) -> Change:
    """Return a change of an algorithm's parameters in every queue that uses it."""

    def apply(arm: Arm) -> Arm | None:
        if arm.algorithm != algorithm:
            return None
        changed = arm.having(**changes(arm.scenario))
        return everywhere(changed) if changed.spec != arm.spec else None

    return apply


def _tcp() -> list[Reading]:
    def conventions(name: str) -> Change:
        return lambda arm: everywhere(arm.within(arm.scenario.with_(conventions=name)))

    def window(data: Data) -> None:
        data["tcp"] = {**data["tcp"], "receiver_window": 1000}

    return [
        Reading(
            "ns2", "TCP and RED of ns-2.35", conventions("ns2"), experiments=_SIMULATED, assumption="A-LDC-26"
        ),
        Reading(
            "library TCP",
            "TCP and RED as in the RFCs and papers (conventions rfc)",
            conventions("rfc"),
            experiments=_SIMULATED,
            assumption="A-LDC-26",
        ),
        Reading(
            "window 1000",
            "receiver window of 1000 packets",
            rewritten(window),
            experiments=_SIMULATED,
            assumption="A-LDC-2",
        ),
    ]


def _traffic() -> list[Reading]:
    def each(kind: str, **changes: str) -> Callable[[Data], None]:
        def change(data: Data) -> None:
            data["traffic"] = [{**t, **changes} if t["kind"] == kind else t for t in data["traffic"]]

        return change

    def header(data: Data) -> None:
        data["traffic"] = [{**t, "header": "40B"} if "header" in t else t for t in data["traffic"]]

    return [
        Reading(
            "+ 40 bytes",
            "40 bytes of header in addition to 1000",
            rewritten(header),
            experiments=_SIMULATED,
            assumption="A-LDC-1",
        ),
        Reading(
            "Pareto objects",
            "web objects Pareto instead of Lomax, same mean and shape",
            rewritten(each("web", size="pareto 12kB 1.2")),
            experiments=_WITH_WEB,
            assumption="A-LDC-3",
        ),
        Reading(
            "gap from the end",
            "the time between pages counts from the end of the previous page",
            rewritten(each("web", page_gap_from="end")),
            experiments=_WITH_WEB,
            assumption="A-LDC-3",
        ),
        Reading(
            "UDP 210 B",
            "UDP packets of 210 B, the default of ns-2",
            rewritten(each("udp-cbr", size="210B")),
            experiments=_WITH_WEB,
            assumption="A-LDC-4",
        ),
    ]


def _links() -> list[Reading]:
    slow = {"rate": "1Mbit/s", "delay": "1ms"}

    def access(data: Data) -> None:
        if "dumbbell" in data:
            hosts = data["dumbbell"]
            hosts["access"] = {
                "rate": slow["rate"],
                "delays": [slow["delay"]],
                "nodes": hosts["access"]["nodes"],
            }
            hosts["server"] = {**slow, "nodes": hosts["server"]["nodes"]}
        for link in data.get("link") or []:
            if "queue" not in link:
                link.update(slow)

    def right_to_left(data: Data) -> None:
        data["traffic"] = [
            {**t, "from": t["to"].replace("d", "s"), "to": t["from"].replace("s", "d")}
            if t["kind"] == "web"
            else t
            for t in data["traffic"]
        ]
        known = {(link["from"], link["to"]) for link in data["link"]}
        host = next(link for link in data["link"] if link["from"] == "s1")
        for router in range(1, 8):
            for ends in ((f"s{router}", f"R{router}"), (f"R{router}", f"d{router}")):
                if ends not in known:
                    data["link"].append({**host, "from": ends[0], "to": ends[1]})

    return [
        Reading(
            "access 1 Mbit/s",
            "access links of 1 Mbit/s and 1 ms",
            rewritten(access),
            experiments=PICTURES | {GFC2, WEB},
            assumption="A-LDC-5",
        ),
        Reading(
            "servers at receivers",
            "web data of GFC-2 run from right to left, against UDP and FTP",
            rewritten(right_to_left),
            experiments=frozenset({GFC2}),
            assumption="A-LDC-17",
        ),
    ]


def _algorithms() -> list[Reading]:
    def ten_packets(scenario: Scenario) -> Mapping[str, str]:
        # about ten packet times on the measured link: 0.8 s at 0.1 Mbit/s, 80 ms at 1 Mbit/s, 1.6 s on R3-R4
        if scenario.dumbbell is None:
            return {"tau": "1.6s"}
        return {"tau": "0.8s" if scenario.dumbbell.rate.startswith("0.1") else "80ms"}

    return [
        Reading(
            "tau 10 packets",
            "LDC's interval is about ten packet times of the measured link",
            parameters("ldc", ten_packets),
            experiments=(_SIMULATED - {SWEEP}),
            assumption="A-LDC-27",
        ),
        Reading(
            "FRED many-flow",
            "FRED accepts two packets of every flow above max_th",
            parameters("fred", lambda _scenario: {"many_flow": "on"}),
            experiments=frozenset({GFC2, WEB}),
            assumption="A-LDC-10",
        ),
        Reading(
            "gentle to buffer",
            "RED's gentle slope reaches 1 at the buffer limit",
            parameters("red", lambda _scenario: {"gentle_end": "limit"}),
            experiments=frozenset({GFC2, WEB, "ldc-fig2-red-trace"}),
            assumption="A-LDC-28",
        ),
    ]


def _metrics() -> list[Reading]:
    return [
        Reading(
            "averaged delay",
            "Fig. 8 shows the averaged queue over C",
            metrics={
                "queueing_delay_max": "averaged_delay_max",
                "queueing_delay_above_target": "averaged_delay_above_target",
            },
            experiments=frozenset({"ldc-fig8-target-delay"}),
            quick=frozenset({"ldc-fig8-target-delay"}),
            assumption="A-LDC-15",
        )
    ]
