"""``sojourn shell``: a program, or an interactive shell, behind an emulated link."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from sojourn import files
from sojourn.cli.common import note, permit_code, print_json, warn
from sojourn.cli.complete import specs
from sojourn.cli.emit import write_exports
from sojourn.cli.options import Export, Json, Out
from sojourn.cli.output import Column, Output, Table
from sojourn.cli.run import write_report
from sojourn.errors import SojournError
from sojourn.metrics import METRICS, shown
from sojourn.results import Results
from sojourn.study.shell_progress import Progress
from sojourn.study.shell_session import Session, begin, new_id, undo
from sojourn.warning_codes import coded
from sojourn.worlds.real.caller import given_to_caller
from sojourn.worlds.real.shell import QUEUES, Request, run


def shell(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND",
            help="Program to run behind the link [default: your shell].",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str,
        typer.Option(
            "--rate",
            metavar="RATE|FILE",
            help="Rate of the link (required): 20mbit, or a trace in mahimahi's format.",
        ),
    ] = "",
    delay: Annotated[str, typer.Option("--delay", metavar="TIME", help="Propagation delay, one way.")] = "0s",
    aqm: Annotated[
        str,
        typer.Option(
            "--aqm",
            metavar="SPEC",
            help='Algorithm of both queues, like "pie target 15ms".',
            autocompletion=specs,
        ),
    ] = "droptail",
    limit: Annotated[
        str,
        typer.Option(
            "--limit", metavar="SIZE", help="Buffer of each queue: 100p, 120kB; a limit in SPEC overrides it."
        ),
    ] = "1000p",
    ecn: Annotated[
        bool, typer.Option("--ecn", help="Mark ECN-capable packets instead of dropping them.")
    ] = False,
    up_rate: Annotated[
        str | None,
        typer.Option(
            "--up-rate",
            metavar="RATE|FILE",
            help="Rate from COMMAND outwards [default: that of --rate].",
            show_default=False,
        ),
    ] = None,
    up_aqm: Annotated[
        str | None,
        typer.Option(
            "--up-aqm",
            metavar="SPEC",
            help="Algorithm from COMMAND outwards [default: that of --aqm].",
            show_default=False,
        ),
    ] = None,
    up_delay: Annotated[
        str | None,
        typer.Option(
            "--up-delay",
            metavar="TIME",
            help="Delay from COMMAND outwards [default: that of --delay].",
            show_default=False,
        ),
    ] = None,
    up_limit: Annotated[
        str | None,
        typer.Option(
            "--up-limit",
            metavar="SIZE",
            help="Buffer from COMMAND outwards [default: that of --limit].",
            show_default=False,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="SHARE",
            help="Share of packets lost at random in each direction, like 1%.",
            show_default=False,
        ),
    ] = None,
    impair: Annotated[
        list[str] | None,
        typer.Option(
            "--impair",
            metavar="KEY=VALUE",
            help="Jitter, loss, reordering, copies, as in a scenario's impairment: 'jitter=normal 5ms 1ms'; "
            "repeatable.",
            show_default=False,
        ),
    ] = None,
    up_impair: Annotated[
        list[str] | None,
        typer.Option(
            "--up-impair",
            metavar="KEY=VALUE",
            help="The same from COMMAND outwards [default: that of --impair]; repeatable.",
            show_default=False,
        ),
    ] = None,
    peer: Annotated[
        str | None,
        typer.Option(
            "--peer",
            metavar="COMMAND",
            help='Also run this command at the outside end, like "iperf3 -s".',
            show_default=False,
        ),
    ] = None,
    mtu: Annotated[
        int,
        typer.Option(
            "--mtu", metavar="BYTES", help="Maximum size of an IP packet, bytes; no IPv6 below 1280."
        ),
    ] = 1500,
    access: Annotated[
        str,
        typer.Option(
            "--access",
            metavar="RATE",
            help="Rate of the links between the two ends and the queues [default: unlimited].",
            show_default=False,
        ),
    ] = "",
    no_offload: Annotated[
        bool,
        typer.Option("--no-offload", help="Let the kernel hand over single packets, not bursts of 64 kB."),
    ] = False,
    warmup: Annotated[
        str, typer.Option("--warmup", metavar="TIME", help="Leave the first seconds out of statistics.")
    ] = "0s",
    no_awake: Annotated[
        bool,
        typer.Option("--no-awake", help="Let idle processors of a virtual machine sleep during COMMAND."),
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the algorithms' random numbers.")
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no status line while it runs.")] = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Store the record, but write no report.")
    ] = False,
    out: Out = None,
    json: Json = False,
    export: Export = None,
) -> None:
    """Run a program, or your shell, behind an emulated link. It gets its own network namespace.

    The variable SOJOURN_OUTSIDE is the address of the link's outside end. The exit code is that of COMMAND.
    """
    permit_code(False, [aqm, up_aqm or ""])
    losses = [] if loss is None else [f"loss={loss}"]
    down = [*(impair or ()), *losses]
    up = [*up_impair, *losses] if up_impair else down
    request = Request(
        rate=rate,
        up_rate=up_rate or rate,
        delay=delay,
        aqm=aqm,
        up_aqm=up_aqm or aqm,
        limit=limit,
        ecn=ecn,
        up_delay=up_delay or delay,
        up_limit=up_limit or limit,
        impair=down,
        up_impair=up,
        mtu=mtu,
        seed=seed,
        access=access,
        offload=not no_offload,
        warmup=warmup,
    ).checked()
    started = time.time()
    run_id = new_id(request, started)
    folder = begin(out, run_id, request, note)  # errors up to here precede the start of the program
    record = None
    try:
        with given_to_caller(folder):
            progress = Progress(folder, QUEUES, note)
        code, record = run(request, command or [], peer, quiet, not no_awake, note, progress.update)
    finally:
        if record is None:
            undo(folder)
            if out is None:
                files.remove_folder(folder)
    if record is not None:
        session = Session(request, record, command or [], run_id, started)
        warn(session.warnings)
        output = of_session(session)
        output.print(sys.stderr)
        results = session.write(folder, note)
        note(f"{'record' if no_report else 'report'}: {_described(results, no_report)}")
        if json:
            print_json(output.data)
        with given_to_caller(*map(Path, export or ())):
            write_exports(output, export)
    raise SystemExit(code)


def _described(results: Results, no_report: bool) -> Path:
    """Write the report, unless there is none or the disk is full; return where the result is."""
    assert results.directory is not None
    if no_report:
        return results.directory
    try:
        with given_to_caller(results.directory):
            return write_report(results)
    except SojournError as error:
        warn([coded("W27", str(error))])
        return results.directory


def of_session(session: Session) -> Output:
    """Return the metrics of both queues of the link."""
    found = session.by_queue()
    columns = [Column("queue", "")]
    columns += [
        Column(one.name, one.label, one.display, one.digits)
        for one in map(METRICS.__getitem__, shown("link"))
    ]
    rows = [(name.replace("-", " to "), *values.values()) for name, values in found.items()]
    tables = [Table("queues", "Queues of the link", columns, rows, turned=True)]
    wires = session.record.rows("links")
    if wires["link"]:
        named = {"packets": "packets", "lost_packets": "lost", "copied_packets": "arrived twice"}
        columns = [Column("wire", ""), *(Column(name, text) for name, text in named.items())]
        impaired = zip(QUEUES, (session.request.up_impair, session.request.impair), strict=True)
        names = [name.replace("-", " to ") for name, words in impaired if words]
        rows = list(zip(names, *(wires[key] for key in named), strict=True))
        tables.append(Table("wires", "Wires of the link", columns, rows, turned=True))
    return Output(f"Link of {session.note}", tables, session.to_json())
