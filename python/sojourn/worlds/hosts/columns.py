"""The counters of the network and the hosts as the columns of a record.

The network (the gateway, or the recorder of a kernel) measures the queue and every connection; the hosts
measure when objects complete and how often retransmission timers expire. Values that neither measures are
`UNKNOWN` (null in data frames): window cuts, time-outs of nginx's connections, and all time-outs on kernels
older than 6.7.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from sojourn import _core
from sojourn.record import TYPES, UNKNOWN, numbers
from sojourn.record.columns import HISTOGRAMS
from sojourn.spec.plan import BACKWARD, FORWARD
from sojourn.worlds.hosts.counters import over
from sojourn.worlds.hosts.testbed import PORT, Layout, Tuple5

#: Prefixes of the stored counters of a namespace.
KEPT = ("Tcp", "Udp", "Ip")
#: Counters that are summed over the connections of a session.
SUMS = (
    "queue_arrivals",
    "queue_drops",
    "queue_marks",
    "sent_packets",
    "retransmitted_packets",
    "dropped_packets",
    "received_packets",
    "delay_ns",
    "goodput_bytes",
)
Hosts = Mapping[tuple[str, int], Mapping[str, Any]]
Rows = dict[tuple[int, int], dict[str, int]]

_KINDS = {"I": "<u4", "Q": "<u8", "B": "u1"}


def columns(found: Layout, network: Mapping[str, Any], hosts: Hosts) -> dict[str, Any]:
    """Return the columns of a run.

    Parameters
    ----------
    found : Layout
        The layout of the run.
    network : mapping
        Its record, with ``ends``, the 5-tuple of each of its flows, and ``counters``, the rows that it adds
        to those of the hosts.
    hosts : mapping
        The results of each namespace.
    """
    rows = _rows(found)
    known = {**found.tuples, **_sessions(hosts)}
    table = {name: numbers(network["flows"][name], code) for name, code in TYPES["flows"].items()}
    for i, ends in enumerate(network["ends"]):
        row = rows.get(known.get(tuple(ends), (-1, -1)))
        if row is not None:
            for name in SUMS:
                row[name] += table[name][i]
            row["delay_max_ns"] = max(row["delay_max_ns"], table["delay_max_ns"][i])
    for (number, _), row in rows.items():
        if "udp_cbr" in found.plan["traffic"][number]["kind"]:  # datagrams count with their size on the wire
            row["goodput_bytes"] += row["received_packets"] * (28 + found.overhead)
    _timeouts(found, rows, hosts)
    objects, pages = _transfers(found, hosts)
    delivered = _deliveries(found, rows, hosts)
    several = found.dumbbell["reverse_queue"] is not None
    kept = slice(None if several else 1)
    return {
        "window": network["window"],
        "events": network["events"],
        "queues": [
            {**queue, "name": name}
            for queue, name in zip(network["queues"], (FORWARD, BACKWARD), strict=True)
        ][kept],
        "series": {**network["series"], "queues": network["series"]["queues"][kept]},
        "drops": network["drops"] if found.plan["trace"]["drops"] else dict.fromkeys(TYPES["drops"], b""),
        "cwnd": dict.fromkeys(TYPES["cwnd"], b""),
        "flows": packed(rows.values(), "flows"),
        "objects": packed(objects, "objects"),
        "pages": packed(pages, "pages"),
        **delivered,
        **({"links": network["links"]} if "links" in network else {}),
        **{name: network[name] for name in HISTOGRAMS if name in network},
        "hosts": {
            **{
                f"{side}{number}": {
                    **{k: v for k, v in one["counters"].items() if k.startswith(KEPT)},
                    "standstill_ns": one["standstill_ns"],
                }
                for (side, number), one in sorted(hosts.items())
            },
            **_sockets(found, hosts),
            **network["counters"],
        },
    }


def _sockets(found: Layout, hosts: Hosts) -> dict[str, dict[str, int]]:
    """Return the kernel's counters of each long connection, by traffic and number: ``ftp.0``."""
    every = sorted((tuple(one["flow"]), one) for host in hosts.values() for one in host["tcp"])
    return {
        f"{found.plan['traffic'][traffic]['name']}.{index}": over(one["before"], one["after"])
        for (traffic, index), one in every
        if one["after"] is not None and "tcp" in found.plan["traffic"][traffic]["kind"]
    }


def packed(rows: Iterable[Mapping[str, int]], table: str) -> dict[str, bytes]:
    """Return rows as the columns of a table."""
    import numpy as np

    kept = list(rows)
    return {
        name: np.array([row[name] for row in kept], dtype=_KINDS[code]).tobytes()
        for name, code in TYPES[table].items()
    }


def _rows(found: Layout) -> Rows:
    """Return a zeroed row for every flow, and for every session of web traffic."""
    starts = {
        (flow["flow"][0], flow["flow"][1]): flow["start"]
        for job in found.jobs.values()
        for flow in (*job["tcp"], *job["udp"])
    }
    starts |= {
        (one["traffic"], index): start
        for job in found.jobs.values()
        for one in job["web"]
        for index, _, start in one["sessions"]
    }
    fresh = {**dict.fromkeys(TYPES["flows"], 0), "window_cuts": UNKNOWN}
    rows: Rows = {}
    for (number, index), start in sorted(starts.items()):
        one = found.plan["traffic"][number]
        place = {"traffic": number, "index": index, "crosses": int(not one["reverse"]), "start_ns": start}
        timed = UNKNOWN if "web" in one["kind"] else 0
        rows[number, index] = {**fresh, **place, "timeouts": timed}
    return rows


def _sessions(hosts: Hosts) -> dict[Tuple5, tuple[int, int]]:
    """Return the session of every connection of web traffic, in the direction of its data."""
    return {
        ("tcp", server, PORT + one["traffic"], client, port): (one["traffic"], session)
        for host in hosts.values()
        for one in host["web"]
        for session, client, port, server in one["connections"]
    }


def _deliveries(found: Layout, rows: Rows, hosts: Hosts) -> dict[str, dict[str, bytes]]:
    """Return what the receivers of datagrams observed: delays, jitter, losses, late ones, round trips."""
    sources = {(ends[1], ends[2], ends[4]): flow for ends, flow in found.tuples.items() if ends[0] == "udp"}
    empty = [b"", b"", b""]
    arrived = dict.fromkeys(sources.values(), empty)
    for host in hosts.values():
        for port, peer, source, columns in host["delivered"]:
            if (peer, source, port) in sources:
                arrived[sources[peer, source, port]] = [base64.b64decode(one) for one in columns]
    echoes = {
        tuple(one["flow"]): [base64.b64decode(part) for part in one["echoes"]]
        for host in hosts.values()
        for one in host["udp"]
    }
    flows = [
        (flow[0], row, [*arrived[flow], *echoes.get(flow, empty)[1:]])
        for row, flow in enumerate(rows)
        if flow in arrived
    ]
    return _core.deliveries(json.dumps(found.plan), flows) if flows else {}


def _timeouts(found: Layout, rows: Rows, hosts: Hosts) -> None:
    for host in hosts.values():
        for one in host["tcp"]:
            over = one["ended"] is not None and one["ended"] < found.plan["warmup"]
            if one["after"] is not None and not over:
                end, start = one["after"]["total_rto"], (one["before"] or {}).get("total_rto", 0)
                rows[tuple(one["flow"])]["timeouts"] = UNKNOWN if end is None else end - start


def _transfers(found: Layout, hosts: Hosts) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Return objects and pages; finite flows are objects."""
    of_object, of_page = list(TYPES["objects"])[1:], list(TYPES["pages"])[1:]
    objects: list[dict[str, int]] = []
    pages: list[dict[str, int]] = []
    for host in hosts.values():
        for one in host["web"]:
            for names, mine, all_ in ((of_object, one["objects"], objects), (of_page, one["pages"], pages)):
                all_ += [{"traffic": one["traffic"], **dict(zip(names, row, strict=True))} for row in mine]
    ends = {tuple(one["flow"]): one["ended"] for host in hosts.values() for one in host["tcp"]}
    for job in found.jobs.values():
        for flow in job["tcp"]:
            number, index = flow["flow"]
            if "tcp_short" in found.plan["traffic"][number]["kind"]:
                end = ends[number, index]
                row = [index, flow["start"], UNKNOWN if end is None else end, flow.get("bytes", 0)]
                objects.append({"traffic": number, **dict(zip(of_object, row, strict=True))})
    for rows in (objects, pages):
        rows.sort(key=lambda row: (row["traffic"], row["start_ns"], row["index"]))
    return objects, pages
