"""Checks which scenarios Linux hosts can run; others are rejected before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NoReturn

from sojourn.errors import InputError
from sojourn.spec.plan import is_tcp
from sojourn.spec.scenario import Scenario
from sojourn.worlds.hosts.kernel import HEADERS, LEAST_SEGMENT, OPTIONS, VARIANTS, tcps

KINDS = ("tcp", "tcp-short", "web", "udp-cbr", "call", "game", "probe")
#: Bytes of a datagram's number and time of sending, behind its headers of IP and UDP.
HEAD = 12
MOST_SOURCES = 16000
#: Called with key, problem, and allowed values.
Refuse = Callable[[str, str, str], NoReturn]


def check(scenario: Scenario, available: Collection[str], world: str) -> None:
    """Reject a scenario that Linux hosts cannot run.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    available : collection of str
        Congestion controls of the kernel.
    world : str
        For messages: ``the real world``.

    Raises
    ------
    InputError
        With the key, and the values allowed in this world.
    """

    def refuse(key: str, problem: str, allowed: str) -> NoReturn:
        raise InputError(f"{scenario.where}: {key}", f"{problem} in {world}", allowed)

    if scenario.dumbbell is None:
        refuse("link", "is not possible", "[dumbbell]")
    if scenario.conventions.startswith("ns2"):
        refuse("conventions", f"= {scenario.conventions!r} is not possible", "rfc, linux")
    if scenario.trace.cwnd:
        refuse("trace.cwnd", "is not possible: the kernel does not report each change", "false")
    traces = (
        ("packets", scenario.trace.packets),
        ("flows", scenario.trace.flows),
        ("delays", scenario.trace.delays),
    )
    for key, wanted in traces:
        if wanted:
            refuse(f"trace.{key}", "is not possible: only the simulator records it", "leave it out")
    for key in ("medium", "reverse_medium"):
        if getattr(scenario.dumbbell, key) is not None:
            refuse(f"dumbbell.{key}", "is not possible", "leave it out")
    if scenario.phase:
        refuse("phase", "is not possible", "leave it out")
    if scenario.drain is not False:
        refuse("drain", "is not possible", "false")
    _check_tcp("tcp", scenario.tcp, refuse)
    headers: set[int] = set()
    web: dict[str, str] = {}
    controls: set[tuple[object, ...]] = set()
    for i, (one, planned) in enumerate(zip(scenario.senders, scenario.plan()["traffic"], strict=True)):
        place = f"traffic[{i + 1}]"
        if one.kind not in KINDS:
            refuse(f"{place}.kind", f"= {one.kind!r} is not possible", ", ".join(KINDS))
        if one.marker is not None:
            refuse(f"{place}.marker", "is not possible", "class = N")
        if not is_tcp(one):
            if planned["sizes"] is not None:
                refuse(f"{place}.size", f"= {one.size!r} is not possible", "one size")  # type: ignore[union-attr]
            continue
        _check_tcp(f"{place}.tcp", one.tcp, refuse)  # type: ignore[union-attr]
        tcp = tcps({"traffic": [planned]})[0]
        headers.add(tcp["header"])
        if tcp["header"] not in HEADERS or len(headers) > 1:
            words = ", ".join(f"{n}B" for n in HEADERS)
            problem = f"= {one.header!r} is not possible"  # type: ignore[union-attr]
            refuse(f"{place}.header", problem, f"one of {words}, the same in all TCP traffic")
        least = LEAST_SEGMENT - (12 if HEADERS[tcp["header"]][0] else 0)
        if not least <= tcp["payload"] <= 65000:
            problem = f"= {one.payload!r} is not possible"  # type: ignore[union-attr]
            refuse(f"{place}.payload", problem, f"{least}B to 65000B")
        if tcp.get("payloads") is not None:
            refuse(f"{place}.payload", f"= {one.payload!r} is not possible", "one size")  # type: ignore[union-attr]
        variant = tcp["options"]["variant"]
        if variant not in VARIANTS or VARIANTS[variant][0] not in available:
            known = [name for name, (control, _) in VARIANTS.items() if control in available]
            refuse(f"{place}.variant", f"= {variant!r} is not possible on this kernel", ", ".join(known))
        options = tcp["options"]
        if one.kind == "web" and web.setdefault("variant", variant) != variant:
            refuse(f"{place}.variant", f"= {variant!r} is a second variant of web traffic", web["variant"])
        mine = (str(options["ecn"]), VARIANTS[variant][1], options["initial_window"], options["min_rto"])
        controls.add(mine)
        if len(controls) > 1:
            words = "the same in all TCP traffic"
            refuse(place, "differs in ecn, initial_window, min_rto or selective acknowledgements", words)
    _check_size(scenario, refuse)


def _check_tcp(place: str, options: dict[str, Any], refuse: Refuse) -> None:
    for key in options:
        if key not in OPTIONS:
            refuse(f"{place}.{key}", "cannot be set: the kernel decides it", ", ".join(OPTIONS))


def _check_size(scenario: Scenario, refuse: Refuse) -> None:
    plan = scenario.plan()
    header = next((one["header"] for one in tcps(plan)), None)
    least = 28 + HEAD + (0 if header is None else HEADERS[header][1])
    for i, (one, planned) in enumerate(zip(scenario.senders, plan["traffic"], strict=True)):
        if one.count > MOST_SOURCES:
            refuse(f"traffic[{i + 1}].count", f"= {one.count} is too many", f"at most {MOST_SOURCES}")
        size = planned["kind"].get("udp_cbr", {}).get("size", least)
        if size < least:
            refuse(f"traffic[{i + 1}].size", f"= {size} B is too small", f"at least {least}B")
