"""``sojourn shell``: a program, or a prompt, behind a queue."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from sojourn.cli.common import Json, Out, note, print_json
from sojourn.cli.run import write_report
from sojourn.runner.ownership import require_owner
from sojourn.runner.store import Store
from sojourn.spec.toml import dumps
from sojourn.study.shell_session import Session
from sojourn.worlds.real.shell import Request, run


def shell(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND",
            help="What to run behind the link. [default: your shell]",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str,
        typer.Option(
            "--rate", metavar="RATE|FILE", help="Of the link: 20mbit, or a trace in mahimahi's format."
        ),
    ] = "",
    delay: Annotated[str, typer.Option("--delay", metavar="TIME", help="Propagation delay, one way.")] = "0s",
    aqm: Annotated[
        str,
        typer.Option("--aqm", metavar="SPEC", help='Algorithm of both queues, like "pie target 15ms".'),
    ] = "droptail",
    limit: Annotated[
        str, typer.Option("--limit", metavar="SIZE", help="Of each queue: 100p, 120kB; a limit in SPEC wins.")
    ] = "1000p",
    ecn: Annotated[
        bool, typer.Option("--ecn", help="Mark packets that can be marked, instead of dropping.")
    ] = False,
    up_rate: Annotated[
        str | None,
        typer.Option(
            "--up-rate", metavar="RATE|FILE", help="From COMMAND outwards, if it differs.", show_default=False
        ),
    ] = None,
    up_aqm: Annotated[
        str | None,
        typer.Option(
            "--up-aqm", metavar="SPEC", help="From COMMAND outwards, if it differs.", show_default=False
        ),
    ] = None,
    loss: Annotated[
        float, typer.Option("--loss", metavar="SHARE", help="Of packets lost at random, each way: 0.01.")
    ] = 0.0,
    peer: Annotated[
        str | None,
        typer.Option(
            "--peer", metavar="COMMAND", help='Run at the outside end, too: "iperf3 -s".', show_default=False
        ),
    ] = None,
    mtu: Annotated[int, typer.Option("--mtu", metavar="BYTES", help="Largest packet.")] = 1500,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the algorithms' random numbers.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line about the link while it runs.")] = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Keep the record, but draw nothing of it.")
    ] = False,
    out: Out = None,
    json: Json = False,
) -> None:
    """Run a program, or a prompt, in a network of its own behind an emulated link.

    The variable SOJOURN_OUTSIDE has the address of the link's outside end. The exit code is COMMAND's.
    """
    request = Request(
        rate=rate,
        up_rate=up_rate or rate,
        delay=delay,
        aqm=aqm,
        up_aqm=up_aqm or aqm,
        limit=limit,
        ecn=ecn,
        loss=loss,
        mtu=mtu,
        seed=seed,
    ).checked()
    if out is not None:
        require_owner(out, "shell", "shell", dumps({"link": asdict(request)}), "real")
        Store(out)  # refused before the program runs, not when its record is to be written
    started = time.time()
    code, record = run(request, command or [], peer, quiet, note)
    if record is not None:
        session = Session(request, record, command or [], started)
        results = session.write(out)
        path = results.directory if no_report else write_report(results)
        for warning in session.warnings:
            note(f"sojourn: warning: {warning}")
        for line in session.table():
            note(line)
        note(f"{'record' if no_report else 'report'}: {path}")
        if json:
            print_json(session.to_json())
    raise SystemExit(code)
