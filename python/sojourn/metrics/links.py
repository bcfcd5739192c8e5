"""Metrics of impaired links: what their wires did to packets, all of them together."""

from __future__ import annotations

from sojourn.metrics.registry import PERCENT, Value, metric
from sojourn.metrics.tables import Table, ratio


@metric(
    "link_losses",
    "packets lost on links",
    "packets",
    "links",
    formula="packets lost on the wires of impaired links; they are no drops of a queue",
    source="definition",
    better="lower",
    needs_packets=True,
    views=("summary",),
    position=112,
)
def link_losses(t: Table) -> Value:
    """Return the number of packets lost on links."""
    return float(sum(t.record.rows("links")["lost_packets"]))


@metric(
    "link_loss_ratio",
    "loss on links",
    "",
    "links",
    formula="link_losses / packets that entered these wires",
    source="definition",
    better="lower",
    display=PERCENT,
    needs_packets=True,
)
def link_loss_ratio(t: Table) -> Value:
    """Return the share of packets that were lost on links."""
    links = t.record.rows("links")
    return ratio(sum(links["lost_packets"]), sum(links["packets"]))


@metric(
    "link_copies",
    "packets duplicated on links",
    "packets",
    "links",
    formula="packets that arrived twice at the end of impaired links",
    source="definition",
    needs_packets=True,
)
def link_copies(t: Table) -> Value:
    """Return the number of packets that links duplicated."""
    return float(sum(t.record.rows("links")["copied_packets"]))
