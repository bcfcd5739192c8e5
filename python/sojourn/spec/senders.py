"""What the senders of a scenario are, in one line: the congestion control and what changes results most."""

from __future__ import annotations

from typing import Any, cast

from sojourn.spec.plan import is_tcp, tcp_options
from sojourn.spec.schema import ScenarioFields, TcpTraffic

_NAMES = {
    "tahoe": "Tahoe",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "Reno with SACK",
    "cubic": "CUBIC",
    "dctcp": "DCTCP",
    "bbr": "BBR",
    "vegas": "Vegas",
    "westwood": "Westwood+",
    "ledbat": "LEDBAT",
    "ledbat++": "LEDBAT++",
    "prague": "Prague",
}
_HYSTART = {"linux": " with HyStart", "rfc9406": " with HyStart++"}


def senders(scenario: ScenarioFields) -> str | None:
    """Return the line; traffic with other options has a part of its own. None without TCP."""
    found: dict[str, list[str]] = {}
    for traffic in scenario.senders:
        if is_tcp(traffic):
            options = tcp_options(scenario, cast(TcpTraffic, traffic))
            found.setdefault(_line(options), []).append(traffic.name)
    if len(found) < 2:
        return next(iter(found), None)
    return "; ".join(f"{', '.join(names)}: {line}" for line, names in found.items())


def _line(options: dict[str, Any]) -> str:
    window, delay = options["initial_window"], options["delayed_ack"]
    parts = [
        _NAMES[options["variant"]] + _HYSTART.get(options["hystart"], ""),
        "SACK" if options["sack"] else "",
        "RACK-TLP" if options["loss_detection"] == "rack" else "",
        "PRR" if options["recovery"] == "prr" else "",
        "paced" if options["pacing"] and options["variant"] not in ("bbr", "prague") else "",
        f"initial window {window}" if window else "",
        f"ACKs delayed up to {_time(delay)}" if delay else "an ACK per packet",
        f"minimum RTO {_time(options['min_rto'])}",
    ]
    return ", ".join(part for part in parts if part)


def _time(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:g} s" if nanoseconds >= 1e9 else f"{nanoseconds / 1e6:g} ms"
