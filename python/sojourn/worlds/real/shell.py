"""Runs a program behind an emulated link and records the activity of the link.

``Request`` describes the link, ``run`` runs a program behind it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sojourn.errors import InputError
from sojourn.files.untrusted import MOST_TRACE, read_text
from sojourn.record import Record
from sojourn.spec.aqm_spec import canonical
from sojourn.spec.impairment import of_words
from sojourn.spec.link_trace import mahimahi_steps
from sojourn.spec.units import Wrong, limit, number
from sojourn.worlds.real.caller import caller
from sojourn.worlds.real.cpu_idle import prevent_cpu_idle
from sojourn.worlds.real.gateway import Gateway, Host, Link, Live, Match
from sojourn.worlds.real.link_ends import LinkEnds, connect
from sojourn.worlds.real.netns_exec import Command, NamespacedProcess
from sojourn.worlds.real.peer import Peer, peer_words
from sojourn.worlds.real.signal_file import SignalFile
from sojourn.worlds.real.status_line import StatusLine

#: The world to which the record of a shell belongs.
SHELL_WORLD = "real"
#: The names of the two ends, and of the queues between them.
ENDS = ("inside", "outside")
QUEUES = ("inside-outside", "outside-inside")
#: The traffic to which packets are assigned; those of other protocols are "other".
TRAFFIC = (Match("tcp-flows", "tcp"), Match("udp-flows", "udp_cbr"))
#: Interval between two updates of the status line, s.
STEP = 0.25
#: Time from SIGTERM to SIGKILL, s.
KILL_DELAY = 3.0


@dataclass(frozen=True)
class Request:
    """The parameters of a link, as texts with units; those with `up` are of the outbound direction.

    `impair` are impairments, ``KEY=VALUE`` with the keys of a scenario's ``impairment``.
    `access` is the rate of the links between the ends and the queues; empty: unlimited. Without `offload` the
    kernel hands over single packets, no super-packets. Statistics start after `warmup`.
    """

    rate: str
    up_rate: str
    delay: str
    aqm: str
    up_aqm: str
    limit: str
    ecn: bool
    up_delay: str
    up_limit: str
    impair: Sequence[str]
    up_impair: Sequence[str]
    mtu: int
    seed: int
    access: str = ""
    offload: bool = True
    warmup: str = "0s"

    def checked(self) -> Request:
        """Return the request with specs in canonical form; raise ``InputError`` if it is invalid."""
        if not self.rate:
            raise InputError("--rate", "is missing", "a rate like 20mbit, or the file of a trace")
        words = [
            ("--delay", "span", self.delay),
            ("--up-delay", "span", self.up_delay),
            ("--limit", "limit", self.limit),
            ("--up-limit", "limit", self.up_limit),
            ("--warmup", "span", self.warmup),
        ]
        words += [] if not self.access else [("--access", "rate", self.access)]
        rates = (("--rate", self.rate), ("--up-rate", self.up_rate))
        words += [(option, "rate", word) for option, word in rates if not Path(word).is_file()]
        for option, kind, word in words:
            try:
                limit(word) if kind == "limit" else number(kind, word)
            except Wrong as error:
                also = ", or the file of a trace" if option in dict(rates) else ""
                raise InputError(option, error.problem, error.allowed + also) from None
        of_words(self.impair, "--impair")
        of_words(self.up_impair, "--up-impair")
        if not 68 <= self.mtu <= 65_535:
            raise InputError("--mtu", f"= {self.mtu} is out of range", "68 to 65535")
        if not 0 <= self.seed < 2**53:
            raise InputError("--seed", f"= {self.seed} is out of range", f"0 to {2**53 - 1}")
        return Request(**{**asdict(self), "aqm": canonical(self.aqm), "up_aqm": canonical(self.up_aqm)})

    @classmethod
    def of_stored(cls, facts: Mapping[str, Any]) -> Request:
        """Return the request of a stored session; older ones have one delay, limit and loss."""
        if "loss" not in facts:
            return cls(**facts)
        impair = [f"loss={facts['loss']}"] if facts["loss"] else []
        known = {key: value for key, value in facts.items() if key != "loss"}
        both = {"up_delay": facts["delay"], "up_limit": facts["limit"], "impair": impair, "up_impair": impair}
        return cls(**known, **both)

    @property
    def links(self) -> tuple[Link, Link]:
        """The two directions of the link, outbound first."""
        return (
            self._link(self.up_rate, self.up_delay, self.up_limit, self.up_aqm, self.up_impair),
            self._link(self.rate, self.delay, self.limit, self.aqm, self.impair),
        )

    def _link(self, rate: str, delay: str, limit: str, aqm: str, impair: Sequence[str]) -> Link:
        capacity: dict[str, Any] | None = None
        if Path(rate).is_file():
            steps = mahimahi_steps(read_text(rate, MOST_TRACE), rate)
            span = sum(length for length, _ in steps)
            mean = sum(length * bits for length, bits in steps) // span
            capacity, rate = {"steps": {"steps": steps, "repeats": True}}, f"{max(1, mean)}bit/s"
        return Link(rate, delay, limit, aqm, self.ecn, capacity, of_words(impair, "--impair"))


def run(
    request: Request,
    command: Sequence[str],
    peer: str | None,
    quiet: bool,
    is_awake: bool,
    note: Callable[[str], None],
    progress: Callable[[Live], None],
) -> tuple[int, Record | None]:
    """Run `command` (a shell if empty) behind a link; `progress` gets its counters, several times a second.

    While a command runs, the processors of a virtual machine are kept awake if `is_awake`; at a prompt, which
    may stay open for hours, they are not.

    Returns
    -------
    code : int
        Exit code of the command, as of a shell.
    record : Record or None
        The gateway's record; None if the command could not be started.

    Raises
    ------
    InputError
        For an invalid link, or a kernel that does not allow it; nothing has been created then.
    RunFailed
        If the peer fails before it listens; the command is not started then.
    """
    request = request.checked()
    up, down = request.links
    of_peer = peer_words(peer)
    signals = SignalFile((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    place = connect(request.mtu, request.ecn, request.offload)
    for one in place.limits:
        note(f"sojourn: {one}")
    _note_name_server(place, note)
    gateway = Gateway(
        _hosts(place, request.access),
        up,
        down,
        TRAFFIC,
        warmup=request.warmup,
        seed=request.seed,
        names=ENDS,
    )
    user = caller()
    helper: Peer | None = None
    process: NamespacedProcess | None = None
    line: StatusLine | None = None
    try:
        if of_peer:
            helper = Peer(of_peer, place.outside, user, note)
            if (stopped := helper.await_start(signals)) is not None:
                return 128 + stopped, None
        words = list(command) or [os.environ.get("SHELL", "/bin/sh")]
        process = NamespacedProcess(place.inside, Command(words, _environment(request, place), user))
        line = StatusLine(gateway, title=not command) if not quiet and sys.stderr.isatty() else None

        def update() -> None:
            if helper is not None:
                helper.check()
            if line is not None:
                line.draw()
            if (live := gateway.live()) is not None:
                progress(live)

        with prevent_cpu_idle() if command and is_awake else contextlib.nullcontext():
            stopped = _attend(process, signals, update)
    finally:
        if line is not None:
            line.close()
        signals.close()
        if process is not None:
            process.kill()
        if helper is not None:
            helper.kill()
            helper.wait()
    record = gateway.finish()
    place.close()
    code = process.wait() if stopped is None else 128 + stopped
    assert code is not None
    return code, record


def _attend(process: NamespacedProcess, signals: SignalFile, update: Callable[[], None]) -> int | None:
    """Call `update` regularly until the program has ended; return the signal that ended it, if any.

    A signal is forwarded, unless it is a Ctrl-C at the terminal, which also reaches the program. If the
    program does not end within `KILL_DELAY`, it is killed.
    """
    stopped, deadline = None, 0.0
    while process.wait(0) is None:
        got = signals.wait(STEP)
        if got is not None and not (got.number == signal.SIGINT and got.is_from_kernel):
            process.signal(signal.SIGUSR1 if got.number == signal.SIGINT else got.number)
            stopped, deadline = got.number, deadline or time.monotonic() + KILL_DELAY
        if stopped is not None and time.monotonic() > deadline:
            process.kill()
            process.wait()
        update()
    return stopped


def _hosts(place: LinkEnds, access: str) -> list[Host]:
    block = place.block
    inside, outside = [block.prefix, block.prefix6], ["0.0.0.0/0", "::/0", block.outside, block.outside6]
    return [
        Host(ENDS[0], "left", place.near, inside, rate=access or None),
        Host(ENDS[1], "right", place.far, outside, rate=access or None),
    ]


def _environment(request: Request, place: LinkEnds) -> dict[str, str]:
    return {
        **os.environ,
        "SOJOURN_OUTSIDE": place.block.outside,
        "SOJOURN_OUTSIDE6": place.block.outside6,
        "SOJOURN_LINK": f"{request.rate} {request.delay} {request.aqm}",
    }


def _note_name_server(place: LinkEnds, note: Callable[[str], None]) -> None:
    """Print a note if the name server cannot be reached from inside."""
    try:
        text = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    servers = [line.split()[1] for line in text.splitlines() if line.startswith("nameserver ")]
    if place.is_host and any(server.startswith("127.") or server == "::1" for server in servers):
        note(
            f"sojourn: the name server {servers[0]} cannot be reached from inside: use addresses, "
            "or a name server that is not on a loopback address"
        )
