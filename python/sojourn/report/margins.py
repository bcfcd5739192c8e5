"""The report of ``sojourn stability``: the margins, the gain of the loop or a map, the assumptions."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn import _core, plots
from sojourn.format import capitalized
from sojourn.report.document import Block, Document, Fact, Facts, Figure, Section, Text

ASSUMPTIONS = (
    "TCP is Reno in congestion avoidance, with equal flows and one round-trip time; queue, windows and "
    "probability are averages, linearized at the operating point. Slow start, time-outs, bursts and the "
    "limit of the buffer are not in the model. A phase margin below 60 degrees lets the queue ring."
)


def for_loop(
    spec: str,
    behaviour: str,
    given: Mapping[str, Fact],
    found: Mapping[str, Fact],
    picture: plots.Svg | None,
    command: str,
) -> Document:
    """Build the report of one loop.

    Parameters
    ----------
    spec
        The algorithm.
    behaviour
        What the margins mean.
    given, found
        The link with its flows, and the operating point with the margins.
    picture
        The gain over frequency; None without an operating point.
    command
        The command that reproduces it.
    """
    caption = (
        "Gain of the open loop. The phase margin is the distance of the phase from \u2212180 degrees at the "
        "frequency where the size is 1."
    )
    blocks: list[Block] = [Figure(picture, caption)] if picture is not None else []
    return _document(spec, f"{capitalized(behaviour)}.", given, [*blocks, Facts(found)], command)


def for_map(
    spec: str,
    counts: Mapping[str, int],
    given: Mapping[str, Fact],
    picture: plots.Svg,
    remark: str,
    command: str,
) -> Document:
    """Build the report of a map.

    Parameters
    ----------
    spec
        The algorithm.
    counts
        Points of the map, by what the loop does there; ``points`` is the number of all.
    given
        The ranges, and what is constant.
    picture
        The map.
    remark
        What else explains the map; may be empty.
    command
        The command that reproduces it.
    """
    points = counts["points"]
    words = f"Stable at {counts['stable']:,} of {points:,} points of the map"
    ringing = counts.get("stable, but rings", 0)
    words += f"; at {ringing:,} of them the phase margin is below 60 degrees." if ringing else "."
    caption = "Phase margin in degrees. Shaded: unstable, or without an operating point."
    caption += f" {capitalized(remark)}." if remark else ""
    found: dict[str, Fact] = {name: f"{value:,}" for name, value in counts.items()}
    return _document(spec, words, given, [Figure(picture, caption), Facts(found)], command)


def _document(
    spec: str, words: str, given: Mapping[str, Fact], blocks: list[Block], command: str
) -> Document:
    return Document(
        title=f"Stability of {spec}",
        kind="Linear loop",
        command=command,
        verdict=words,
        blocks=[
            Section("The loop", blocks),
            Section("Link and flows", [Facts(given)]),
            Section("Assumptions", [Text(ASSUMPTIONS)]),
        ],
        footer=f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}",
    )
