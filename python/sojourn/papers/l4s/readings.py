"""Other readings of what the abstracts leave open; each runs on the links of ``--quick`` only.

One value is changed at a time; `space` combines them.
"""

from __future__ import annotations

from sojourn.papers.changes import Change, Data, each, only, rewritten, within
from sojourn.papers.experiment import Arm, Reading
from sojourn.papers.l4s.experiments import QUICK, link

#: Beginning of the pairs that claims use.
JUDGED = ("Prague", "DCTCP", "CUBIC")


def readings() -> list[Reading]:
    """Return every other reading."""
    ramp = only("dualpi2", min_th="800us", range="400us")
    return [
        _reading("dctcp", "DCTCP in place of Prague", rewritten(each(_is_prague, variant="dctcp"))),
        _reading("10000p", "a buffer of 10000 packets", rewritten(_large_buffer)),
        _reading("short", "runs of 40 s, measured from 15 s", rewritten(_shorter)),
        _reading("ack each", "an ACK for each packet", rewritten(within("tcp", delayed_ack="0s"))),
        _reading("ramp", "DualPI2 with the ramp of RFC 9332", ramp),
        _reading("ecn", "classic flows with ECN", rewritten(each(_is_classic, tcp={"ecn": True}))),
    ]


def _reading(name: str, title: str, change: Change) -> Reading:
    return Reading(name, title, _on_some_links(change))


def _on_some_links(change: Change) -> Change:
    """Return a change that leaves the arms of other links, and of pairs without a claim, as they are."""

    def apply(arm: Arm) -> Arm | None:
        is_other = link(arm) != (0, 0) and (link(arm) not in QUICK or not arm.name.startswith(JUDGED))
        return None if is_other else change(arm)

    return apply


def _is_prague(source: Data) -> bool:
    return bool(source["variant"] == "prague")


def _is_classic(source: Data) -> bool:
    return str(source["name"]).startswith("classic")


def _large_buffer(data: Data) -> None:
    data["link"] = [
        {**one, "queue": {**one["queue"], "limit": "10000p"}} if "queue" in one else one
        for one in data["link"]
    ]


def _shorter(data: Data) -> None:
    data["duration"], data["warmup"] = "40s", "15s"
