"""``sojourn stability`` and ``sojourn design``: margins of the linear loop, maps of them, published rules."""

from __future__ import annotations

import math
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn import files
from sojourn.cli.common import note, permit_code
from sojourn.cli.emit import emit
from sojourn.cli.options import Export, Json, path_of
from sojourn.cli.output import Column, Output, Table
from sojourn.errors import InputError, unknown
from sojourn.format import Scale
from sojourn.rules import Rule, pi
from sojourn.spec.units import Wrong, number

if TYPE_CHECKING:
    from sojourn.report.document import Fact
    from sojourn.worlds.fluid.linear import Loop

Flows = Annotated[
    str, typer.Option("--flows", metavar="N", help="Number of long TCP flows, or a range 10:1000.")
]
Capacity = Annotated[
    str, typer.Option("--rate", metavar="RATE", help="Rate of the link, or a range 1Mbit/s:1Gbit/s.")
]
Rtt = Annotated[
    str,
    typer.Option("--rtt", metavar="TIME", help="Round-trip time without queueing, or a range 10ms:500ms."),
]
Packet = Annotated[str, typer.Option("--packet", metavar="SIZE", help="Size of a packet on the wire.")]
OneFlows = Annotated[str, typer.Option("--flows", metavar="N", help="Smallest number of long TCP flows.")]
OneRate = Annotated[str, typer.Option("--rate", metavar="RATE", help="Rate of the link.")]
OneRtt = Annotated[
    str, typer.Option("--rtt", metavar="TIME", help="Longest round-trip time without queueing.")
]
#: Algorithms whose gains depend on the drop probability.
GAIN_STEPS = ("pie", "fq_pie")
STEPS = "steps in the map: PIE's gains change in steps with the drop probability (RFC 8033, section 5.1)"
#: Labels of the axes of a map.
AXES = {"flows": "Flows", "rate": "Link rate (Mbit/s)", "rtt": "Round-trip time without queueing (ms)"}
#: Endings of what ``--out`` writes.
FORMATS = (".svg", ".html")
#: Points of a map at which the loop has no equilibrium, by the key of the JSON.
NO_POINT = "no operating point"
#: Results that are not numbers.
HEADLINES = ("stable", "behaviour")
#: Key, label and unit of the other results.
FACTS = {
    "queue p": ("queue_packets", "queue", "packets"),
    "p": ("probability", "probability", ""),
    "window p": ("window_packets", "window", "packets"),
    "rtt s": ("rtt_s", "round-trip time", "s"),
    "gain margin": ("gain_margin", "gain margin", ""),
    "phase margin": ("phase_margin_degrees", "phase margin", "degrees"),
    "delay margin s": ("delay_margin_s", "delay margin", "s"),
    "crossover rad/s": ("crossover_rad_per_s", "crossover", "rad/s"),
    "stable, but rings": ("rings", "stable, but rings", ""),
    NO_POINT: ("no_operating_point", "no operating point", ""),
}
#: Below this phase margin, in degrees, a stable loop rings (docs/fluid.md).
RINGS = 60.0


def _packets(name: str, words: str) -> Any:
    return typer.Option(name, metavar="P", help=words, show_default=False)


def stability(
    spec: Annotated[
        str, typer.Argument(metavar="SPEC", help="The algorithm, like 'pi q_ref 50'.", show_default=False)
    ],
    flows: Flows = "40",
    rate: Capacity = "10Mbit/s",
    rtt: Rtt = "100ms",
    packet: Packet = "500B",
    limit: Annotated[
        float | None,
        typer.Option("--limit", metavar="P", help="Buffer in packets [default: none].", show_default=False),
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="Signals are marks, not drops.")] = False,
    points: Annotated[
        int, typer.Option("--points", metavar="K", help="Points of the map along each axis.")
    ] = 100,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File of the map, or of the loop's gain: .svg, or .html for a report "
            "[default of a map: stability.svg].",
            show_default=False,
            parser=path_of("--out", "a file with the ending .svg or .html"),
        ),
    ] = None,
    json: Json = False,
    export: Export = None,
) -> None:
    """Show operating point and margins of TCP and a queue. With two ranges (10:1000), draw a map."""
    permit_code(False, [spec])
    given = {"flows": flows, "rate": rate, "rtt": rtt}
    ranges = [name for name, word in given.items() if ":" in word]
    if len(ranges) not in (0, 2):
        raise InputError(
            f"--{ranges[0]}",
            "is the only range" if len(ranges) == 1 else "is a third range",
            "two ranges for a map, or none",
        )
    if not 2 <= points <= 1000:
        raise InputError("--points", f"= {points} is out of range", "2 to 1000")
    size = _number("bytes", packet, "--packet")
    values = {name: _ends(name, word, size) for name, word in given.items()}
    if ranges:
        out = out or Path("stability.svg")
    if out is not None:
        _can_be_written(out)
        if out.suffix.lower() not in FORMATS:
            allowed = f"names like {out.with_suffix('.svg').name} and {out.with_suffix('.html').name}"
            raise InputError("--out", f"= {out} is neither an SVG nor an HTML file", allowed)
    if ranges and out is not None:
        found = _map(spec, values, ranges, points, size, limit, ecn, out)
    else:
        found = _point(spec, values, size, limit, ecn, out)
    _emit(f"Stability of {spec}", found, json, export)


def _emit(title: str, found: dict[str, Any], json: bool, export: list[Path] | None) -> None:
    columns = []
    for name in found:
        key, label, unit = FACTS.get(name, (name.replace(" ", "_"), name, ""))
        columns.append(Column(key, label, Scale(1.0, unit), 6 if "spec" in found else 4))
    table = Table("margins", title, columns, [tuple(found.values())], keys=0, turned=True)
    emit(Output(title, [table], found), json, export)


def _behaviour(stable: bool, phase: float | None, has_point: bool) -> str:
    """Return what the margins mean.

    Examples
    --------
    >>> _behaviour(True, 9.0, True)
    'stable, but rings: the phase margin is below 60 degrees'
    """
    if not has_point:
        return f"{NO_POINT}: no queue length gives the signals that keep the flows at the rate of the link"
    if not stable:
        return "oscillates: the loop is unstable"
    if phase is not None and phase < RINGS:
        return f"stable, but rings: the phase margin is below {RINGS:g} degrees"
    return "stable"


def _number(kind: str, word: str, option: str) -> float:
    try:
        value = float(word) if kind == "count" else float(number(kind, word))
    except Wrong as error:
        raise InputError(option, error.problem, error.allowed) from None
    except ValueError:
        raise InputError(option, f"= {word!r} is not a number", "like 40 or 10:1000") from None
    if not 0 < value < float("inf"):
        raise InputError(option, f"= {word!r} is not positive", "more than 0")
    return value


def _ends(name: str, word: str, packet: float) -> list[float]:
    """Return one value or the two ends of a range, in flows, packets/s or seconds."""
    kind, factor = {"flows": ("count", 1.0), "rate": ("rate", 8 * packet), "rtt": ("span", 1e9)}[name]
    ends = [_number(kind, part, f"--{name}") / factor for part in word.split(":")]
    if len(ends) > 2 or (len(ends) == 2 and ends[0] >= ends[1]):
        raise InputError(f"--{name}", f"= {word!r} is not a range", "LOW:HIGH")
    return ends


def _can_be_written(file: Path) -> None:
    """Refuse, before a map is computed, a file that cannot be written; create no file."""
    try:
        if file.is_file():
            file.open("ab").close()
        elif file.is_dir():
            raise IsADirectoryError(21, "is a directory")
        elif not file.exists():
            tempfile.TemporaryFile(dir=file.parent).close()
    except OSError as error:
        problem = f"cannot be written: {(error.strerror or str(error)).lower()}"
        raise InputError(
            str(file), problem, "a file in a folder that may be written, with --out FILE"
        ) from None


def _point(
    spec: str,
    values: dict[str, list[float]],
    packet: float,
    limit: float | None,
    ecn: bool,
    out: Path | None = None,
) -> dict[str, Any]:
    from sojourn.worlds.fluid.linear import loop, margins

    found = loop(
        spec, values["flows"], values["rate"], values["rtt"], limit or math.inf, packet, drops=not ecn
    )
    near = margins(found)

    def plain(value: Any) -> float | None:
        return float(value[0]) if math.isfinite(value[0]) else None

    phase, has_point = plain(near.phase), math.isfinite(found.q[0])
    result = {
        "stable": bool(near.stable[0]) if has_point else None,
        "behaviour": _behaviour(bool(near.stable[0]), phase, has_point),
        "queue p": plain(found.q),
        "p": plain(found.p),
        "window p": plain(found.window),
        "rtt s": plain(found.rtt),
        "gain margin": plain(near.gain),
        "phase margin": phase,
        "delay margin s": plain(near.delay),
        "crossover rad/s": plain(near.crossover),
    }
    if out is not None:
        _draw_loop(spec, found, result, _given(values, packet, limit, ecn), out)
    return result


def _draw_loop(spec: str, found: Loop, result: dict[str, Any], given: dict[str, Fact], out: Path) -> None:
    """Write the gain of a loop as a picture or as a report."""
    from sojourn import plots
    from sojourn.report import write
    from sojourn.report.margins import for_loop
    from sojourn.worlds.fluid.linear import FREQUENCIES

    picture = None
    if math.isfinite(found.q[0]):
        omega = FREQUENCIES / found.rtt[0]
        picture = plots.bode(omega, found.response(omega[None, :])[0], spec=spec)
    if out.suffix.lower() == ".html":
        facts: dict[str, Fact] = {}
        for name, value in result.items():
            if name not in HEADLINES:
                _, label, unit = FACTS[name]
                facts[f"{label} ({unit})" if unit else label] = None if value is None else f"{value:.4g}"
        write(for_loop(spec, str(result["behaviour"]), given, facts, picture, _command()), out)
    elif picture is None:
        raise InputError("--out", f"= {out}: there is no operating point to draw", "a report, as .html")
    else:
        files.write(out, picture)
    note(f"loop: {out}")


def _command() -> str:
    return shlex.join(["sojourn", *sys.argv[1:]])


def _given(values: dict[str, list[float]], packet: float, limit: float | None, ecn: bool) -> dict[str, Fact]:
    """Return link and flows in words, with the ranges of a map."""
    factors = {"flows": 1.0, "rate": 8 * packet / 1e6, "rtt": 1e3}
    found: dict[str, Fact] = {
        AXES[name]: " to ".join(f"{factors[name] * end:g}" for end in ends) for name, ends in values.items()
    }
    return {
        **found,
        "Packets (bytes)": f"{packet:g}",
        "Buffer (packets)": "none" if limit is None else f"{limit:g}",
        "Signals": "marks" if ecn else "drops",
    }


def _fixed(values: dict[str, list[float]], ranges: list[str], packet: float) -> list[str]:
    """Return what a map keeps constant, in words; the rate of `values` is in packets per second."""
    flows, rate, rtt = (values[name][0] for name in ("flows", "rate", "rtt"))
    words = {
        "flows": f"{flows:g} flows",
        "rate": f"{8 * packet * rate / 1e6:g} Mbit/s",
        "rtt": f"round-trip time {1e3 * rtt:g} ms",
    }
    return [*(words[name] for name in words if name not in ranges), f"packets of {packet:g} B"]


def _map(
    spec: str,
    values: dict[str, list[float]],
    ranges: list[str],
    points: int,
    packet: float,
    limit: float | None,
    ecn: bool,
    out: Path,
) -> dict[str, Any]:
    import numpy as np

    from sojourn import plots
    from sojourn.report import write
    from sojourn.report.margins import for_map
    from sojourn.worlds.fluid.linear import loop, margins

    across, up = (np.geomspace(values[name][0], values[name][1], points) for name in ranges)
    grid = dict(zip(ranges, np.meshgrid(across, up), strict=True))
    at = {name: grid.get(name, value[0]) for name, value in values.items()}
    found = loop(spec, at["flows"], at["rate"], at["rtt"], limit or np.inf, packet, drops=not ecn)
    near = margins(found)
    shape = (points, points)
    factors = {"flows": 1.0, "rate": 8 * packet / 1e6, "rtt": 1e3}
    svg = plots.contours(
        across * factors[ranges[0]],
        up * factors[ranges[1]],
        near.phase.reshape(shape),
        near.stable.reshape(shape),
        levels=[15, 30, 45, 60, 75, 90],
        x_label=AXES[ranges[0]],
        y_label=AXES[ranges[1]],
        z_label="phase margin (degrees)",
        title=f"Stability of {spec}",
        caption=", ".join([spec, *_fixed(values, ranges, packet)]),
    )
    counts = {
        "points": points * points,
        "stable": int(near.stable.sum()),
        "stable, but rings": int((near.stable & (near.phase < RINGS)).sum()),
        NO_POINT: int(np.isnan(found.q).sum()),
    }
    remark = STEPS if spec.split()[0] in GAIN_STEPS else ""
    if out.suffix.lower() == ".html":
        write(for_map(spec, counts, _given(values, packet, limit, ecn), svg, remark, _command()), out)
    else:
        files.write(out, svg)
    note(f"map: {out}")
    if remark:
        note(remark)
    return {**counts, "map": str(out)}


def design(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="pi, red, pi2 or pie.", show_default=False)],
    flows: OneFlows = "40",
    rate: OneRate = "10Mbit/s",
    rtt: OneRtt = "100ms",
    packet: Packet = "500B",
    target: Annotated[
        float | None, _packets("--target", "With pi: target queue in packets [default: 50].")
    ] = None,
    min_th: Annotated[
        float | None, _packets("--min-th", "With red: min_th in packets [default: 20].")
    ] = None,
    max_th: Annotated[
        float | None, _packets("--max-th", "With red: max_th in packets [default: 80].")
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="Signals are marks, not drops.")] = False,
    json: Json = False,
    export: Export = None,
) -> None:
    """Choose gains by a published rule. Show their margins for the fewest flows and longest round trip."""
    from sojourn.worlds.fluid import design as rules

    size = _number("bytes", packet, "--packet")
    ends = {name: _ends(name, word, size) for name, word in (("flows", flows), ("rate", rate), ("rtt", rtt))}
    for name, values in ends.items():
        if len(values) > 1:
            raise InputError(f"--{name}", "is a range", "one value")
    n, c, r = (ends[name][0] for name in ("flows", "rate", "rtt"))
    held, low, high = target or 50.0, min_th or 20.0, max_th or 80.0
    makers: dict[str, Callable[[], Rule]] = {
        "pi": lambda: pi(n, c, r + held / c, q_ref=f"{held:g}p"),
        "red": lambda: rules.red(n, c, r + (low + high) / 2 / c, low, high),
        "pi2": lambda: rules.pi2(r + 0.015),
        "pie": rules.pie,
    }
    if rule not in makers:
        raise unknown(rule, "a rule", makers)
    for option, value, owner in (
        ("target", target, "pi"),
        ("min-th", min_th, "red"),
        ("max-th", max_th, "red"),
    ):
        if value is not None and owner != rule:
            raise InputError(f"--{option}", f"is for {owner}, not for {rule}", f"sojourn design {owner}")
        if value is not None and not 0 < value < float("inf"):
            raise InputError(f"--{option}", f"= {value:g} is not positive", "more than 0")
    made = makers[rule]()
    found: dict[str, Any] = {"spec": str(made), "source": made.source, **made.values}
    found |= _point(str(made), ends, size, None, ecn)
    _emit(f"Design of {rule}", found, json, export)
