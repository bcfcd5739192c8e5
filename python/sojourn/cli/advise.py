"""``sojourn advise``: the queue to configure for a home link, what it gains, and the script for Linux."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sojourn import files
from sojourn.cli.common import executor, note, progress, resumable
from sojourn.cli.emit import emit
from sojourn.cli.options import Export, Json, Out, Serial, Workers
from sojourn.cli.output import Column, Estimates, Output, Table, written
from sojourn.cli.rank_table import Standing
from sojourn.format import Scale
from sojourn.runner.manifest import command_line
from sojourn.runner.point import digest
from sojourn.study.advise.model import LABELS, TODAY, USES, Link
from sojourn.study.advise.run import Advice
from sojourn.study.advise.run import advise as run_advise
from sojourn.study.advise.script import check_interface, setup_script, undo_script

#: Files of the results folder.
SCRIPT, UNDO, SCENARIO = "queue.sh", "queue-undo.sh", "home.toml"


def advise(
    down: Annotated[str, typer.Option("--down", metavar="RATE", help="Rate towards the home, like 100mbit.")],
    up: Annotated[str, typer.Option("--up", metavar="RATE", help="Rate from the home, like 20mbit.")],
    rtt: Annotated[str, typer.Option("--rtt", metavar="TIME", help="Base round-trip time.")] = "30ms",
    use: Annotated[
        str, typer.Option("--use", metavar="USES", help="What counts; any of these, with commas.")
    ] = ",".join(USES),
    buffer: Annotated[
        str,
        typer.Option(
            "--buffer", metavar="TIME", help="Today's buffers, as a time at the link's rate: an assumption."
        ),
    ] = "200ms",
    nic: Annotated[
        str, typer.Option("--nic", metavar="NAME", help="The router's interface towards the Internet.")
    ] = "eth0",
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", help="Seeds of the choice, and of the confirmation.")
    ] = 8,
    out: Out = None,
    json: Json = False,
    export: Export = None,
    workers: Workers = None,
    serial: Serial = False,
) -> None:
    """Recommend queues for a home link. Compare what tc can configure; write the script for Linux."""
    check_interface(nic)
    link = Link(down, up, rtt, buffer, [one.strip() for one in use.split(",") if one.strip()])
    parts = (str(link.down_rate), str(link.up_rate), rtt, buffer, ",".join(link.uses))
    folder = out if out is not None else Path("results") / f"home-advise-{digest(*parts, length=8)}"
    command = ["sojourn", *sys.argv[1:]]
    with resumable(), executor(workers, serial, None) as maker, progress("home") as move:
        found = run_advise(link, seeds, folder, command, maker, move)
    script = None if found.recommended.name == TODAY else setup_script(link, found.recommended, nic)
    emit(of_advice(found, script, undo_script(nic)), json, export)
    for path in write_advice(found, folder, script, undo_script(nic), command_line(command)):
        note(f"wrote {path}")


def of_advice(found: Advice, script: str | None, undo: str) -> Output:
    """Return the gains, the comparison of the setups, and the script."""
    link, best = found.link, found.recommended
    data: dict[str, Any] = {
        "link": {"down_bps": link.down_rate, "up_bps": link.up_rate, "rtt_s": link.seconds,
                 "uses": list(link.uses), "buffer": link.buffer},
        "recommended": {"setup": best.name, "down": best.down.spec, "up": best.up.spec,
                        "down_shaper_bps": best.down.rate, "up_shaper_bps": best.up.rate},
        "setups": [
            {"setup": name, "score": found.standings.scores[name], "down": found.setups[name].down.spec,
             "up": found.setups[name].up.spec,
             "measures": {aim.metric: found.standings.mean(name, aim.metric) for aim in found.standings.aims}}
            for name in found.standings.order
        ],
        "gains": [
            {"measure": one.aim.metric, "today": one.today._asdict(),
             "recommended": one.recommended._asdict(), "difference": one.effect._asdict(),
             "p_holm": one.p_holm, "verdict": one.verdict}
            for one in found.gains
        ],
        "seeds": [found.seeds[0], found.seeds[-1]],
        "held_out_seeds": [found.fresh[0], found.fresh[-1]],
        "script": script,
        "undo": undo,
    }  # fmt: skip
    notes = ["", *sentences(found)]
    if script is not None:
        notes += ["", *script.splitlines()]
    return Output(f"Advice for {link.down} down, {link.up} up", tables(found), data, notes)


def sentences(found: Advice) -> list[str]:
    """Return the recommendation in words."""
    best, fresh = found.recommended, found.fresh
    if best.name == TODAY:
        said = ["Keep the setup of today: none of the others is shown to be better."]
    else:
        said = [f"Recommended: {best.name}, both directions shaped to {_mbit(best.down.rate)} and "
                f"{_mbit(best.up.rate)}."]  # fmt: skip
        better = [LABELS[one.aim.metric][0] for one in found.gains if one.verdict == "better"]
        worse = [LABELS[one.aim.metric][0] for one in found.gains if one.verdict == "worse"]
        said.append(f"Better on held-out seeds {fresh[0]} to {fresh[-1]}: {', '.join(better) or 'nothing'}.")
        if worse:
            said.append(f"Worse: {', '.join(worse)}.")
    said += [f"Not compared, as some run has no value: {one}." for one in found.missing]
    said.append(
        f"Assumed: 4 downloads, 1 upload, 3 people who browse and a call at the same time; buffers of "
        f"{found.link.buffer} today; TCP CUBIC without ECN."
    )
    return said


def _mbit(rate: int) -> str:
    return f"{rate / 1e6:g} Mbit/s"


def tables(found: Advice) -> list[Table]:
    """Return the gains on held-out seeds, and the standings of the setups."""
    columns = [
        Column("measure", ""),
        Column("unit", "unit"),
        Estimates("today", "today"),
        Estimates("recommended", found.recommended.name),
        Estimates("difference", "difference"),
        Column("p_holm", "p (Holm)", digits=2),
        Column("verdict", "verdict"),
    ]
    rows = []
    for one in found.gains:
        label, unit, factor = LABELS[one.aim.metric]
        effect = one.effect
        half = None if effect.high is None or effect.mean is None else effect.high - effect.mean
        change = type(one.today)(effect.mean, half, effect.n)
        scaled = [
            each._replace(
                mean=None if each.mean is None else factor * each.mean,
                ci95=None if each.ci95 is None else factor * each.ci95,
            )
            for each in (one.today, one.recommended, change)
        ]
        rows.append((label, unit, *scaled, one.p_holm, one.verdict))
    gains = Table("gains", "What changes, on held-out seeds", columns, rows)
    standing = [Column("setup", "")]
    for aim in found.standings.aims:
        label, unit, factor = LABELS[aim.metric]
        standing.append(Standing(aim.metric, f"{label} {'↑' if aim.higher else '↓'}", Scale(factor, unit)))
    standing.append(Column("score", "score"))
    ranked = [
        [
            name,
            *(
                (found.standings.mean(name, aim.metric), *found.standings.records[name][aim.metric])
                for aim in found.standings.aims
            ),
            found.standings.scores[name],
        ]
        for name in found.standings.order
    ]
    title = "Setups by significant wins minus losses (+wins -losses), each use with the same weight"
    return [Table("setups", title, standing, ranked), gains]


def write_advice(found: Advice, folder: Path, script: str | None, undo: str, command: str) -> list[Path]:
    """Write scripts, scenario and report; return their paths."""
    from sojourn import report

    wrote = []
    if script is not None:
        wrote = [folder / SCRIPT, folder / UNDO]
        files.write(folder / SCRIPT, script)
        files.write(folder / UNDO, undo)
    files.write(folder / SCENARIO, found.recommended.scenario(found.link).to_toml())
    blocks = [written(table, table.title) for table in tables(found)]
    document = report.for_advice(found, blocks, sentences(found), script, undo, command)
    return [*wrote, folder / SCENARIO, report.write(document, folder / "report.html")]
