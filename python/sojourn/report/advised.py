"""The report of ``sojourn advise``: the recommendation, what it gains, the scripts, and the assumptions."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.report.document import Block, Code, Document, Facts, Section, Table, Text
from sojourn.study.advise.model import SHAPED
from sojourn.study.advise.run import Advice
from sojourn.study.significance import RELATIVE, SHARE

RULE = (
    "Each pair of setups is compared on the same seeds. A difference counts if it is significant after "
    "Holm\u2019s correction over all pairs and measures, and at least "
    f"{100 * SHARE:g} percentage point of a share or {100 * RELATIVE:g} % of a time. The score is the number "
    "of wins minus losses; every use has the same weight. The differences from today are from other seeds "
    "than the choice."
)
LIMITS = (
    "The simulated link has the rate of the shaper; the queue of the provider before it is not simulated, "
    "nor are bursts of the shaper, offloads of the network card and the processor of the router. A game is "
    "represented by the packets of a call."
)


def for_advice(
    found: Advice,
    tables: Sequence[Table],
    sentences: Sequence[str],
    script: str | None,
    undo: str,
    command: str,
) -> Document:
    """Build the report of an advice."""
    link, setups = found.link, tables[0]
    scripts: list[Block] = [Text("No script: nothing is to be changed.")]
    if script is not None:
        scripts = [Code(script, "queue.sh: configures both directions"), Code(undo, "queue-undo.sh")]
    facts = Facts(
        {
            "down": link.down,
            "up": link.up,
            "base round-trip time": link.rtt,
            "buffers today": link.buffer,
            "shaped to": f"{100 * SHAPED:.0f} %",
            "uses": ", ".join(link.uses),
            "seeds of the choice": f"{found.seeds[0]} to {found.seeds[-1]}",
            "held-out seeds": f"{found.fresh[0]} to {found.fresh[-1]}",
        }
    )
    settings = "\n".join(
        f"- {name}: `{one.down.spec}` down, `{one.up.spec}` up" for name, one in found.setups.items()
    )
    return Document(
        title=f"A queue for {link.down} down, {link.up} up",
        kind="Advice",
        command=command,
        blocks=[
            Section("Recommendation", [Text("\n".join(f"- {one}" for one in sentences)), *tables[1:]]),
            Section("Scripts", scripts),
            Section("What was compared", [facts, Text(settings), setups], RULE),
            Section("Limits", [Text(LIMITS)]),
        ],
    )
